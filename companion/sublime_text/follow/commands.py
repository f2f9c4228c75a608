"""The commands that follow an agent."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

import sublime
import sublime_plugin

from .. import package
from ..panels import PanelItem, choose

if TYPE_CHECKING:
    from ...visits import Visit

_WORDS = {"edit": "written", "written": "written", "proposal": "proposed", "search": "searched"}
"""What an agent did, where the word isn't the same."""


class QwenCompanionFollowCommand(sublime_plugin.WindowCommand):
    """Follow the agent: show where it reads and writes, beside what you do; or stop that."""

    def run(self) -> None:
        """In a chat, its agent; elsewhere, all agents of the window."""
        adapter, view = package.adapter(), self.window.active_view()
        if adapter is None:
            return
        if adapter.following.follows(self.window):
            adapter.following.stop(self.window)
            return
        chat = adapter.chats.find(view) if view else None
        adapter.following.begin(self.window, chat.id if chat else None, chat.agent if chat else "the agents")

    def is_enabled(self) -> bool:
        """Whether an agent is here."""
        return _has_agent(self.window)

    def is_visible(self) -> bool:
        """The same."""
        return _has_agent(self.window)

    def is_checked(self) -> bool:
        """Whether an agent is followed."""
        adapter = package.adapter()
        return adapter is not None and adapter.following.follows(self.window)


class QwenCompanionRecentFilesCommand(sublime_plugin.WindowCommand):
    """List the files that agents were in last, and go to one."""

    def run(self) -> None:
        """The one visited last comes first."""
        if adapter := package.adapter():
            items = [self._item(visit) for visit in adapter.following.recent(self.window)]
            choose(self.window, items, "The files of the agents")

    def is_enabled(self) -> bool:
        """Whether there are any."""
        adapter = package.adapter()
        return adapter is not None and bool(adapter.following.recent(self.window))

    def is_visible(self) -> bool:
        """The same, but not in a diff."""
        return self.is_enabled() and not package.is_in_diff(self.window.active_view())

    def _item(self, visit: Visit) -> PanelItem:
        name = os.path.basename(visit.path) + (f":{visit.line}" if visit.line else "")
        about = f"{visit.agent}, {_WORDS.get(visit.what, visit.what)} · {visit.path}"
        return name, about, partial(self._open, visit)

    def _open(self, visit: Visit) -> None:
        if adapter := package.adapter():
            adapter.following.open(self.window, visit)


def _has_agent(window: sublime.Window) -> bool:
    adapter = package.adapter()
    if adapter is None:
        return False
    return bool(adapter.chats.within(window) or adapter.status_bar.clis(window) or adapter.following.follows(window))
