"""The commands of the chat that go back: rewind, edit an earlier prompt, fork, take the suggestion."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sublime
import sublime_plugin

from .. import package
from ..panels import PanelItem, choose, say
from .commands import _ChatCommand

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...chats.history import RewindTarget
    from ...chats.prompt import Draft
    from ..adapter import Adapter
    from .view import ChatView

NAMED = 5
"""Files that are named; more are counted."""
_LENGTH = 100
"""Characters of a prompt in the list."""


class QwenCompanionChatRewindCommand(_ChatCommand):
    """Go back to an earlier prompt: forget it and what came of it, or write it anew. The files can go back too."""

    def makes_sense(self, chat: ChatView) -> bool:
        """Whether something was said, and no turn runs."""
        return _is_idle(chat)

    def on_chat(self, adapter: Adapter, chat: ChatView) -> None:
        """List the prompts with what going back would undo, and ask which."""
        chat_id = chat.id
        adapter.ask_later(
            chat.window,
            lambda companion: companion.chats.history.targets(chat_id),
            lambda found: _list(adapter, chat, found),
        )


def _is_idle(chat: ChatView) -> bool:
    return chat.render is not None and chat.render.status.last is not None and chat.render.status.running is None


def _list(adapter: Adapter, chat: ChatView, found: Sequence[RewindTarget]) -> None:
    choices: list[PanelItem] = [
        (_line(one.text), undone(one) or "No file was changed since then", lambda one=one: _ask(adapter, chat, one))
        for one in found
    ]
    choose(chat.window, choices, "Go back to before this prompt")


def _ask(adapter: Adapter, chat: ChatView, to: RewindTarget) -> None:
    """Ask what to do with the prompt and with the files."""

    def rewind(*, edits: bool, undo_files: bool) -> None:
        chat_id = chat.id

        def done(told: tuple[str, Draft]) -> None:
            sentence, draft = told
            if edits:
                chat.take_back(draft)
                chat.text.to_prompt()
            say(chat.window, sentence)

        adapter.ask_later(
            chat.window, lambda companion: companion.chats.history.rewind(chat_id, to, undo_files=undo_files), done
        )

    choices: list[PanelItem] = []
    if not to.rewinds and to.count:
        edit = f"Edit this prompt, and undo {_counted(to)}"
        choices = [
            (f"Undo {_counted(to)}", undone(to), lambda: rewind(edits=False, undo_files=True)),
            (edit, undone(to), lambda: rewind(edits=True, undo_files=True)),
        ]
    elif not to.rewinds:
        choices = [("Edit this prompt", "", lambda: rewind(edits=True, undo_files=False))]
    for caption, edits in (("Rewind", False), ("Edit this prompt", True)) if to.rewinds else ():
        if to.count:
            choices += [
                (
                    f"{caption}, and undo {_counted(to)}",
                    undone(to),
                    lambda edits=edits: rewind(edits=edits, undo_files=True),
                ),
                (
                    f"{caption}, and leave the files as they are",
                    "",
                    lambda edits=edits: rewind(edits=edits, undo_files=False),
                ),
            ]
        else:
            choices.append((caption, "", lambda edits=edits: rewind(edits=edits, undo_files=False)))
    choose(chat.window, choices, f"Back to before “{_line(to.text)}”")


def undone(to: RewindTarget) -> str:
    """What going back can undo: the files, as far as they are known, and how many lines; empty if nothing."""
    if not to.count:
        return ""
    named = list(to.files[:NAMED])
    if others := max(0, to.count - len(named)):
        named.append(f"{others} {'more' if named else 'file' if others == 1 else 'files'}")
    lines = f" (+{to.inserted} −{to.deleted})" if to.inserted or to.deleted else ""
    return f"Changed since then: {', '.join(named)}{lines}"


def _counted(to: RewindTarget) -> str:
    return "1 file" if to.count == 1 else f"{to.count} files"


def _line(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LENGTH else f"{text[: _LENGTH - 1]}…"


class QwenCompanionChatForkCommand(_ChatCommand):
    """Go on in a copy of the conversation. The original stays as it is."""

    needs = "fork"

    def makes_sense(self, chat: ChatView) -> bool:
        """Whether something was said, and no turn runs."""
        return _is_idle(chat)

    def on_chat(self, adapter: Adapter, chat: ChatView) -> None:
        """Ask the daemon, and show the copy."""
        chat_id = chat.id
        adapter.ask_later(chat.window, lambda companion: companion.chats.history.fork(chat_id), lambda _: None)


class QwenCompanionChatSuggestionCommand(sublime_plugin.TextCommand):
    """Take the suggested prompt, which is shown in grey, into the input."""

    def run(self, edit: sublime.Edit) -> None:
        """The person may edit it before it is sent."""
        adapter = package.adapter()
        chat = adapter.chats.find(self.view) if adapter else None
        if chat and (suggestion := chat.suggestion):
            chat.text.write(suggestion)

    def is_visible(self) -> bool:
        """Not in a menu."""
        return False
