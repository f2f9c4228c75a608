"""Comments on their way to an agent: into the prompt of a CLI in a terminal, into a chat, or into the clipboard."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import sublime

from ...clis.shell import mention
from ...comments.message import markdown, message
from ..panels import PanelItem, choose, say
from ..terminal import terminals
from ..terminal.terminals import Terminal

if TYPE_CHECKING:
    from ...comments.comment import Comment
    from ..adapter import Adapter
    from ..chat.view import ChatView

LOOK = 100
"""Milliseconds between two looks at a terminal."""
LOOKS = 30
"""Looks at a terminal until a paste counts as not taken."""
_PROMPT = "Type your message"
"""What Qwen Code and Gemini CLI show in an empty prompt (docs/protocols/qwen-ide.md#prompt). A question hides it."""
_SCREEN = 60
"""Lines at the end of a terminal's text among which the prompt is."""
NOBODY = "No CLI and no chat is there to take the comments. They are in the clipboard, and not marked as sent."


def send(adapter: Adapter, window: sublime.Window, comments: Sequence[Comment], looks: int = 1) -> None:
    """Send comments to the agent of their change; else to the CLI or the chat used last, or ask which one.

    A CLI in a terminal has as many looks to show its empty prompt.
    """
    if why := adapter.refusal(window, [comment.path for comment in comments]):
        say(window, why)
        return
    targets = _targets(adapter, window, {comment.agent for comment in comments} - {""}, looks)
    items: list[PanelItem] = [(title, detail, partial(give, comments)) for title, detail, give in targets]
    if not items:
        copy(comments)
        say(window, NOBODY)
    elif len(items) == 1:
        items[0][2]()
    else:
        choose(window, items, "Who gets the comments")


def copy(comments: Sequence[Comment]) -> None:
    """Put comments into the clipboard, as Markdown."""
    sublime.set_clipboard(message(comments, markdown))


def has_empty_prompt(view: sublime.View) -> bool:
    """Whether a terminal shows the empty prompt of a CLI. A text there, or a question, hides it."""
    text = view.substr(sublime.Region(0, view.size())).rstrip()
    return any(_PROMPT in line for line in text.split("\n")[-_SCREEN:])


Give = Callable[[Sequence["Comment"]], object]


def _targets(adapter: Adapter, window: sublime.Window, agents: set[str], looks: int) -> list[tuple[str, str, Give]]:
    """Who could be meant: those of the agents if there are any, else all; the one used last alone if that is clear."""
    running = terminals.running(window)
    chats = adapter.chats.within(window)
    own_terminals = [one for one in running if one.family and one.family.name in agents]
    own_chats = [chat for chat in chats if chat.agent in agents]
    if own_terminals or own_chats:
        running, chats = own_terminals, own_chats
    found: list[tuple[str, str, Give]] = [
        (f"Send to {one.title}", one.folder, partial(_into_terminal, adapter, window, one, looks))
        for one in running[:1]
    ]
    last = adapter.chats.last(window)
    for chat in [last] if last and last in chats else chats[:1]:
        give = partial(_into_chat, adapter, chat)
        found.append((f"Send to the chat with {chat.agent}", chat.folder, give))
    return found


def _into_chat(adapter: Adapter, chat: ChatView, comments: Sequence[Comment]) -> None:
    """Add the comments to the chat's prompt, where the person sees them and sends them."""
    prompt = chat.text.prompt
    blank = "" if not prompt or prompt.endswith("\n") else "\n"
    chat.text.write(f"{prompt}{blank}{message(comments, partial(_named, chat.folder, None))}\n")
    adapter.chats.go_to(chat)
    adapter.comments.sent(comments)


def _into_terminal(
    adapter: Adapter, window: sublime.Window, target: Terminal, looks: int, comments: Sequence[Comment]
) -> None:
    """Paste the comments into the CLI's prompt as one text, if it is empty. The person presses Enter."""
    if not target.view.is_valid() or not has_empty_prompt(target.view):
        if looks > 1:
            sublime.set_timeout(lambda: _into_terminal(adapter, window, target, looks - 1, comments), LOOK)
            return
        copy(comments)
        say(window, f"{target.title} shows no empty prompt, so nothing was typed. The comments are in the clipboard.")
        return
    launch = target.family.launch if target.family else None
    text = message(comments, lambda path, lines: mention(path, target.folder, launch, lines) or os.path.basename(path))
    terminals.send(target, window, text)
    _when_taken(target, lambda is_taken: _pasted(adapter, window, target, comments, is_taken=is_taken))


def _pasted(
    adapter: Adapter, window: sublime.Window, target: Terminal, comments: Sequence[Comment], *, is_taken: bool
) -> None:
    if is_taken:
        adapter.comments.sent(comments)
        return
    copy(comments)
    say(window, f"{target.title} has not taken the comments. They are in the clipboard, and not marked as sent.")


def _when_taken(target: Terminal, done: Callable[[bool], object], looks: int = LOOKS) -> None:
    """Look until the prompt isn't empty any more."""

    def look() -> None:
        if not target.view.is_valid():
            done(False)
        elif not has_empty_prompt(target.view):
            done(True)
        elif looks <= 1:
            done(False)
        else:
            _when_taken(target, done, looks - 1)

    sublime.set_timeout(look, LOOK)


def _named(folder: str, launch: None, path: str, lines: Sequence[tuple[int, int]]) -> str:
    return mention(path, folder, launch, lines) or markdown(os.path.basename(path), lines)
