"""The commands of the status report."""

from __future__ import annotations

import sublime
import sublime_plugin

from .. import package
from ..page import Page
from .view import SETTING, TITLE, shareable


class QwenCompanionStatusCommand(sublime_plugin.WindowCommand):
    """Show the status report in a view."""

    def run(self) -> None:
        """Open the view at once and fill it as the facts arrive."""
        if adapter := package.adapter():
            page = Page(self.window, SETTING, TITLE)
            adapter.report(self.window, lambda text, _: page.show(text))


class QwenCompanionCopyReportCommand(sublime_plugin.WindowCommand):
    """Copy the status report without secrets."""

    def run(self) -> None:
        """Copy once the report is complete."""
        if adapter := package.adapter():
            adapter.report(self.window, self._copy)

    def _copy(self, text: str, is_last: bool) -> None:
        if is_last:
            sublime.set_clipboard(shareable(text))
            self.window.status_message("QwenCompanion: The report was copied, without secrets.")
