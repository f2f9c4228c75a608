"""The commands of the chat that go back: rewind, edit an earlier prompt, fork."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ..panels import PanelItem, choose, say
from .commands import _ChatCommand, ask
from .html import shortened

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
        ask(adapter, chat, lambda chats: chats.history.targets(chat.id), partial(_list, adapter, chat))


def _is_idle(chat: ChatView) -> bool:
    return chat.status.last is not None and chat.status.running is None


def _list(adapter: Adapter, chat: ChatView, found: Sequence[RewindTarget]) -> None:
    choices: list[PanelItem] = [
        (
            shortened(one.text, _LENGTH),
            undone(one) or "No file was changed since then",
            partial(_ask, adapter, chat, one),
        )
        for one in found
    ]
    choose(chat.window, choices, "Go back to before this prompt")


def _ask(adapter: Adapter, chat: ChatView, to: RewindTarget) -> None:
    """Ask what to do with the prompt and with the files."""

    def rewind(*, edits: bool, undo_files: bool) -> None:
        def done(told: tuple[str, Draft]) -> None:
            sentence, draft = told
            if edits:
                chat.take_back(draft)
                chat.text.to_prompt()
            say(chat.window, sentence)

        ask(adapter, chat, lambda chats: chats.history.rewind(chat.id, to, undo_files=undo_files), done)

    files = "1 file" if to.count == 1 else f"{to.count} files"
    edit = "Edit this prompt"
    choices: list[PanelItem] = []
    if not to.rewinds and to.count:
        choices.append((f"Undo {files}", undone(to), partial(rewind, edits=False, undo_files=True)))
        choices.append((f"{edit}, and undo {files}", undone(to), partial(rewind, edits=True, undo_files=True)))
    elif not to.rewinds:
        choices.append((edit, "", partial(rewind, edits=True, undo_files=False)))
    for caption, edits in (("Rewind", False), (edit, True)) if to.rewinds else ():
        if to.count:
            choices.append((f"{caption}, and undo {files}", undone(to), partial(rewind, edits=edits, undo_files=True)))
        leaving = f"{caption}, and leave the files as they are" if to.count else caption
        choices.append((leaving, "", partial(rewind, edits=edits, undo_files=False)))
    choose(chat.window, choices, f"Back to before “{shortened(to.text, _LENGTH)}”")


def undone(to: RewindTarget) -> str:
    """What going back can undo: the files, as far as they are known, and how many lines; empty if nothing."""
    if not to.count:
        return ""
    named = list(to.files[:NAMED])
    if others := max(0, to.count - len(named)):
        named.append(f"{others} {'more' if named else 'file' if others == 1 else 'files'}")
    lines = f" (+{to.inserted} −{to.deleted})" if to.inserted or to.deleted else ""
    return f"Changed since then: {', '.join(named)}{lines}"


class QwenCompanionChatForkCommand(_ChatCommand):
    """Go on in a copy of the conversation. The original stays as it is."""

    needs = "fork"

    def makes_sense(self, chat: ChatView) -> bool:
        """Whether something was said, and no turn runs."""
        return _is_idle(chat)

    def on_chat(self, adapter: Adapter, chat: ChatView) -> None:
        """Ask the daemon, and show the copy."""
        ask(adapter, chat, lambda chats: chats.history.fork(chat.id), lambda _: None)
