"""Comments on their way to an agent: into the prompt of a CLI in a terminal, into a chat, or into the clipboard."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import sublime

from ...chats.prompt import undone_text
from ...clis.shell import below, named
from ...comments.message import markdown, message
from ...comments.message import named as named_comment
from ...ids import WindowId
from ...visible import ShownText
from ..chat.prompt import excerpt_of_lines
from ..panels import PanelItem, choose, say, to_clipboard
from ..prompts import Recipient, add_to_prompt, meant, paste, recipients
from ..terminal.terminals import Terminal

if TYPE_CHECKING:
    from ...chats.prompt import Excerpt
    from ...comments.comment import Comment
    from ..adapter import Adapter
    from ..chat.view import ChatView

IN_CLIPBOARD = "The comments are in the clipboard, and not marked as sent."
NOBODY = f"There is no CLI or chat to take the comments. {IN_CLIPBOARD}"
LOOKS_AFTER_ANSWER = 100
"""Looks at a terminal or a chat, ten in a second, until it has left its question after an answer."""
_AFTER = 100
"""Milliseconds between two looks at a chat that may still ask."""


def send(adapter: Adapter, window: sublime.Window, comments: Sequence[Comment]) -> None:
    """Send comments to the agents of their changes; the others to the CLI or the chat used last, or ask which one.

    Nothing is submitted: the person does that.
    """
    _Sending(adapter, window, 1, submits=False).begin(comments)


def send_after_answer(adapter: Adapter, window: sublime.Window, comments: Sequence[Comment]) -> None:
    """The same once an agent has got the answer to its question. To a chat they go as a prompt, or into its turn."""
    _Sending(adapter, window, LOOKS_AFTER_ANSWER, submits=True).begin(comments)


def copy(comments: Sequence[Comment]) -> None:
    """Put comments into the clipboard, as Markdown."""
    to_clipboard(ShownText(message(comments, markdown)))


def told(adapter: Adapter, window: sublime.Window, comments: Sequence[Comment]) -> list[Comment]:
    """The comments on files that an agent may be told of. The person hears of the others, which stay unsent."""
    refusals = {path: adapter.refusal(window, [path]) for path in {comment.path for comment in comments}}
    for why in filter(None, refusals.values()):
        say(window, why)
    return [comment for comment in comments if not refusals[comment.path]]


class _Sending:
    """Comments that are given out, first where it is clear who gets them. Lives on the UI thread."""

    def __init__(self, adapter: Adapter, window: sublime.Window, looks: int, *, submits: bool) -> None:
        self._adapter = adapter
        self._window = window
        self._looks = looks
        self._submits = submits
        self._found = recipients(adapter.chats, window, waits=looks > 1)

    def begin(self, comments: Sequence[Comment]) -> None:
        """Give comments to the agent of each one's change."""
        going = told(self._adapter, self._window, comments)
        if not going:
            return
        if not self._found:
            copy(going)
            say(self._window, NOBODY)
            return
        clear: dict[int, list[Comment]] = {}
        asked: list[tuple[list[Recipient], list[Comment]]] = []
        for agent in dict.fromkeys(comment.agent for comment in going):
            group = [comment for comment in going if comment.agent == agent]
            choices = meant(self._found, agent)
            if len(choices) == 1 and (not agent or choices[0].agent in {agent, ""}):
                clear.setdefault(self._found.index(choices[0]), []).extend(group)
            else:
                asked.append((choices, group))
        for at, group in clear.items():
            self._give(self._found[at], [comment for comment in going if comment in group])
        self._ask(asked)

    def _ask(self, asked: Sequence[tuple[list[Recipient], list[Comment]]]) -> None:
        if not asked:
            return
        (choices, comments), *rest = asked

        def give(recipient: Recipient) -> None:
            self._give(recipient, comments)
            self._ask(rest)

        def copied() -> None:
            copy(comments)
            say(self._window, IN_CLIPBOARD)
            self._ask(rest)

        items: list[PanelItem] = [(f"Send to {one.title}", one.folder, partial(give, one)) for one in choices]
        items.append(("Copy the comments", "", copied))
        agent = comments[0].agent
        choose(self._window, items, f"Send the comments on {agent}'s changes to" if agent else "Send the comments to")

    def _give(self, recipient: Recipient, comments: Sequence[Comment]) -> None:
        target = recipient.target
        if isinstance(target, Terminal):
            self._paste(target, recipient.name, comments)
        elif self._submits:
            _submit(self._adapter, target, comments, self._looks)
        else:
            add_to_prompt(target, _text(target, comments), _excerpts(comments))
            self._adapter.chats.go_to(target)
            self._adapter.comments.held(comments, target.agent)

    def _paste(self, target: Terminal, name: str, comments: Sequence[Comment]) -> None:
        launch = target.family.launch if target.family else None

        def shown(path: str, lines: Sequence[tuple[int, int]]) -> str:
            return named(path, target.folder, launch, lines)

        def done(why: str) -> None:
            if not why:
                self._adapter.comments.pasted(comments, name)
                return
            copy(comments)
            say(self._window, f"{why} {IN_CLIPBOARD}")

        text = message(comments, shown)
        if self._adapter.settings.of(self._window, "tell_undone") != "always":
            paste(target, self._window, ShownText(text), done, self._looks)
            return
        number = self._window.id()

        def answered(undone: list[str]) -> None:
            def told(why: str) -> None:
                done(why)
                if not why and undone:
                    self._adapter.ask_later(
                        self._window,
                        lambda companion: companion.changes.notes_sent(WindowId(number), undone),
                        lambda _: None,
                    )

            paste(target, self._window, ShownText(text + undone_text(undone)), told, self._looks)

        self._adapter.ask_later(
            self._window, lambda companion: companion.changes.undone_since(WindowId(number)), answered
        )


def _submit(
    adapter: Adapter, chat: ChatView, comments: Sequence[Comment], looks: int, asked: frozenset[str] | None = None
) -> None:
    """Send comments to a chat once one of its questions is answered: into the turn that runs, or as a prompt."""
    if not chat.view.is_valid():
        copy(comments)
        say(sublime.active_window(), f"The chat was closed. {IN_CLIPBOARD}")
        return
    asks = frozenset(ask.permission.id for ask in chat.asks)
    waits = chat.render is None or bool(asks and (asked is None or asked <= asks))
    if waits and looks > 1:
        sublime.set_timeout(lambda: _submit(adapter, chat, comments, looks - 1, asked or asks), _AFTER)
        return
    adapter.comments.held(comments, chat.agent)
    if waits:
        add_to_prompt(chat, _text(chat, comments), _excerpts(comments))
        say(chat.window, f"The chat with {chat.agent} still asks. The comments are in its prompt.")
    elif chat.status.running is not None:
        # A message into a running turn is one text.
        text = message(comments, lambda path, lines: markdown(below(path, chat.folder), lines))
        adapter.chats.sender.send(chat, text, mid_turn=True)
    else:
        adapter.chats.sender.send(chat, _text(chat, comments), excerpts=_excerpts(comments))


def _text(chat: ChatView, comments: Sequence[Comment]) -> str:
    return "\n\n".join(named_comment(comment, below(comment.path, chat.folder)) for comment in comments)


def _excerpts(comments: Sequence[Comment]) -> list[Excerpt]:
    """The lines of comments, to be embedded; once for all comments on the same lines."""
    found: dict[tuple[str, str], Excerpt] = {}
    for comment in comments:
        text = "\n".join(comment.lines) + ("\n(The rest of the lines is left out.)" if comment.left_out else "")
        if text.strip():
            name = PurePath(comment.path).name
            excerpt = excerpt_of_lines(_uri(comment.path), name, comment.first, comment.last, text)
            found[excerpt.uri, text] = excerpt
    return list(found.values())


def _uri(path: str) -> str:
    try:
        return Path(path).as_uri()
    except ValueError:  # a path of another system
        return f"file://{path}"
