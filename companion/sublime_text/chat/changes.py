"""The command that lists what a turn has changed, with the diffs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sublime

from ..page import Page
from ..panels import PanelItem, changed_file, choose
from .commands import _ChatCommand, ask
from .html import shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...chats.changes import ChangedFile, TurnChanges
    from ..adapter import Adapter
    from .view import ChatView

MORE = "The daemon knows of changes of more files since this prompt."
BY_TOOLS = "As the agent's tools have told it: the files were not looked at here."


class QwenCompanionChatChangesCommand(_ChatCommand):
    """List all files that a turn has changed, and show their diffs."""

    def makes_sense(self, chat: ChatView) -> bool:
        """Whether something was said."""
        return chat.status.last is not None

    def on_chat(self, adapter: Adapter, chat: ChatView) -> None:
        """List those of the latest turn that has changed any."""
        ask(adapter, chat, lambda chats: chats.changes.by_turn(chat.id), lambda found: _list(chat, found, 0))


def _list(chat: ChatView, found: Sequence[TurnChanges], at: int) -> None:
    turn = found[at]
    items = [changed_file(file.name.rpartition("/")[2], file.path, file.inserted, file.deleted) for file in turn.files]
    total = f"{'1 file' if len(turn.files) == 1 else f'{len(turn.files)} files'}, +{turn.inserted} −{turn.deleted}"
    told = MORE if turn.is_untold else BY_TOOLS if turn.by_tools else ""
    items.append(sublime.QuickPanelItem("All of them", told, total))
    if len(found) > 1:
        items.append(sublime.QuickPanelItem("Another turn…"))

    def picked(index: int) -> None:
        if index > len(turn.files):
            sublime.set_timeout(lambda: _list_turns(chat, found))
        elif index >= 0:
            _show(chat, turn, turn.files[index] if index < len(turn.files) else None)

    placeholder = f"Changed after “{shortened(turn.text)}”"
    chat.window.show_quick_panel(items, picked, placeholder=placeholder)


def _list_turns(chat: ChatView, found: Sequence[TurnChanges]) -> None:
    choices: list[PanelItem] = [
        (
            shortened(turn.text) or "Without a prompt",
            ", ".join(file.name for file in turn.files),
            lambda at=at: _list(chat, found, at),
        )
        for at, turn in enumerate(found)
    ]
    marks = [f"+{turn.inserted} −{turn.deleted}" for turn in found]
    choose(chat.window, choices, "The turns that have changed files", annotations=marks)


def _show(chat: ChatView, turn: TurnChanges, file: ChangedFile | None) -> None:
    """Show the diffs of a turn in a tab, at one of the files."""
    page = Page(chat.window, "changes of a turn", "Qwen Companion: Changes of a Turn")
    page.record.keep(turn=turn.turn)
    if syntax := next(iter(sublime.find_syntax_by_scope("source.diff")), None):
        page.view.assign_syntax(syntax)
    about = f"{BY_TOOLS}\n\n" if turn.by_tools else ""
    page.show(about + "\n".join(each.diff for each in turn.files))
    before = turn.files[: turn.files.index(file)] if file else ()
    at = len(about) + sum(len(each.diff) + 1 for each in before)
    page.view.sel().clear()
    page.view.sel().add(at)
    page.view.show_at_center(at) if file else page.view.show(0)
