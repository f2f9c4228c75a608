"""The status reports: one for whoever asks, and those that stay on the screen."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import sublime

from ...clis.families import FAMILIES
from ...status.facts import ShownChat, Stop
from ..calls import Post
from ..notices import NOTICES
from ..own_views import VIEWS
from ..settings import SettingsFile
from .live import LiveReport
from .view import Show, begin_report, editor_facts

if TYPE_CHECKING:
    from ...companion import Companion

MESSAGES_KEPT = 20
"""How many of the latest messages a status report lists."""


class StatusReports:
    """Makes reports of this editor. Lives on the UI thread."""

    def __init__(
        self,
        settings: SettingsFile,
        post: Post,
        on_ui: Callable[[Callable[[], object]], None],
        is_starting: Callable[[], bool],
        *,
        stopped: Callable[[], Stop | None],
        chats: Callable[[sublime.Window], tuple[ShownChat, ...]],
        written: Callable[[sublime.Window], tuple[str, ...]],
    ) -> None:
        """`on_ui` calls something on the UI thread; `stopped` says why the companion doesn't run, if it doesn't.

        `chats` gives those of a window, `written` sentences about the written changes that wait there.
        """
        self._settings = settings
        self._post = post
        self._on_ui = on_ui
        self._is_starting = is_starting
        self._stopped = stopped
        self._chats = chats
        self._written = written
        self._shown: dict[int, LiveReport] = {}
        """The reports on the screen, by the ids of their views."""

    def make(self, window: sublime.Window, show: Show) -> None:
        """Make a report. `show` gets the facts so far, and whether they are complete."""
        messages = NOTICES.latest(MESSAGES_KEPT)
        facts = editor_facts(window, self._settings.problems, messages, self._chats, self._written)
        commands = [self._settings.value(f"{family.launch.key}_command") for family in FAMILIES]

        def ask(call: Callable[[Companion], object]) -> None:
            self._post(call, ("report", show))

        begin_report(facts, commands, show, ask, self._on_ui, self._is_starting, self._stopped)

    def show(self, window: sublime.Window) -> None:
        """Show a report in a tab and keep it up to date while it is visible."""
        live = LiveReport(window, lambda show: self.make(window, show), self._ended)
        if before := self._shown.get(live.view.id()):
            before.close()
        self._shown[live.view.id()] = live
        live.start()

    def of(self, view: sublime.View) -> LiveReport | None:
        """The report that a view shows."""
        return self._shown.get(view.id()) if VIEWS.is_ours(view, "status") else None

    def close(self) -> None:
        """Stop. The texts stay."""
        for live in list(self._shown.values()):
            live.close()

    def _ended(self, live: LiveReport) -> None:
        live.close()
        if self._shown.get(live.view.id()) is live:
            del self._shown[live.view.id()]
