"""The commands of the actions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import sublime
import sublime_plugin

from ...actions import Action, read_actions
from .. import package
from ..panels import PanelItem, choose, say
from .questions import step
from .running import run, shown_view

if TYPE_CHECKING:
    from ..adapter import Adapter

UNKNOWN = "There is no action “{name}”."


def _actions(adapter: Adapter) -> tuple[Action, ...]:
    return read_actions(adapter.settings.value("actions"))[0]


class QwenCompanionActionCommand(sublime_plugin.WindowCommand):
    """Run one of your actions about what you look at; without a name, choose one."""

    def run(self, name: str | None = None, index: int | None = None) -> None:
        """`name` is that in the setting `actions`; `index` counts them, for a menu."""
        adapter = package.adapter()
        if adapter is None:
            return
        actions = _actions(adapter)
        if index is not None:
            found = actions[index : index + 1]
        elif name is not None:
            found = tuple(action for action in actions if action.name.removesuffix("…") == name.removesuffix("…"))
        else:
            items: list[PanelItem] = [
                (each.name, _detail(each), partial(run, adapter, self.window, each)) for each in actions
            ]
            choose(self.window, items, "About what you look at")
            return
        if found:
            run(adapter, self.window, found[0])
        else:
            say(self.window, UNKNOWN.format(name=name))

    def is_enabled(self, name: str | None = None, index: int | None = None) -> bool:
        """Whether the person looks at a file. Where nobody is there yet who could get a prompt, they are offered."""
        adapter = package.adapter()
        return adapter is not None and shown_view(adapter, self.window) is not None

    def is_visible(self, name: str | None = None, index: int | None = None) -> bool:
        """In a menu: whether there is an action at that place."""
        adapter = package.adapter()
        if index is None or adapter is None:
            return True
        return index < len(_actions(adapter))

    def description(self, name: str | None = None, index: int | None = None) -> str:
        """The caption in a menu."""
        adapter = package.adapter()
        actions = _actions(adapter) if adapter else ()
        return actions[index].name if index is not None and index < len(actions) else "Action…"


class QwenCompanionAskHistoryCommand(sublime_plugin.TextCommand):
    """Put an earlier question into the panel of *Ask*, or a later one."""

    def run(self, edit: sublime.Edit, by: int) -> None:
        """`by` is -1 for the one before."""
        step(self.view, by)

    def is_visible(self, by: int = 0) -> bool:
        """It is never in a menu."""
        return False


def _detail(action: Action) -> str:
    where = {"": "", "cli": "to the CLI", "chat": "to the chat", "new_chat": "to a new chat"}[action.target]
    return " · ".join(filter(None, (where, " ".join(action.prompt.split()))))
