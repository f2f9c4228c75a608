"""The commands that tell how things are."""

from __future__ import annotations

import sublime
import sublime_plugin

from .. import package
from ..page import Page
from .view import SETTING, TITLE, shareable


class QwenCompanionStatusCommand(sublime_plugin.WindowCommand):
    """Show the status report in a view."""

    def run(self) -> None:
        """The view opens at once and is filled as the facts come in."""
        if adapter := package.adapter():
            page = Page(self.window, SETTING, TITLE)
            adapter.report(self.window, lambda text, _: page.show(text))


class QwenCompanionCopyReportCommand(sublime_plugin.WindowCommand):
    """Copy the status report, without what others must not see."""

    def run(self) -> None:
        """To the clipboard once all facts are there."""
        if adapter := package.adapter():
            adapter.report(self.window, self._copy)

    def _copy(self, text: str, is_last: bool) -> None:
        if is_last:
            sublime.set_clipboard(shareable(text))
            self.window.status_message("QwenCompanion: The report is in the clipboard, without secrets.")
