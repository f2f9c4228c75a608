"""The command that checks the editor, and the listener that hears what happens in the scratch window."""

from __future__ import annotations

from typing import Any

import sublime
import sublime_plugin

from ... import __version__
from ...platforms.reasons import reason_of
from .. import package
from ..editor_facts import EDITOR, write
from ..page import Page
from ..panels import say
from .bench import Bench
from .report import TITLE, report
from .run import EditorCheck, Outcome
from .scratch import CHECK_SETTING

Args = dict[str, Any] | None
SETTING = "qwen_companion.check_report"
"""Set on the view of a report."""
REPORT_FILE = "editor-check.txt"
"""The latest report, in the cache beside the answers."""


class QwenCompanionCheckEditorCommand(sublime_plugin.WindowCommand):
    """Try what the package assumes about the editor, and show which of it holds."""

    def run(self) -> None:
        """Open a scratch window, run the probes and show the report."""
        adapter = package.adapter()
        if adapter is None:
            return
        if adapter.check:
            say(self.window, "The editor is being checked already.")
            return
        check = adapter.check = EditorCheck(adapter.scratch, self.window, self._done)
        adapter.ask(lambda companion: companion, lambda _: check.answered())
        say(self.window, "Checking the editor. A window opens and closes again.")
        check.start()

    def _done(self, outcome: Outcome) -> None:
        if adapter := package.adapter():
            adapter.check = None
        about = (
            f"Sublime Text {sublime.version()} {sublime.channel()}, {sublime.platform()} {sublime.arch()}, "
            f"QwenCompanion {__version__}"
        )
        text = report(outcome, about)
        try:
            EDITOR.keep({} if outcome.failed else outcome.answers)
            write(REPORT_FILE, text)
        except OSError as error:
            why = reason_of(error)
            text += f"\nThe answers count until Sublime Text is restarted: they could not be written ({why}).\n"
        if self.window.is_valid():
            Page(self.window, SETTING, TITLE).show(text)
        if outcome.failed:
            say(self.window, f"The check failed: {outcome.failed}.")


class QwenCompanionCheckEditCommand(sublime_plugin.TextCommand):
    """Edit a view of the check."""

    def run(self, edit: sublime.Edit, text: str, start: int | None = None, end: int = 0) -> None:
        """Replace what is from `start` to `end`; insert at the beginning without them."""
        if self.view.settings().get(CHECK_SETTING) and start is None:
            self.view.insert(edit, 0, text)
        elif self.view.settings().get(CHECK_SETTING) and start is not None:
            self.view.replace(edit, sublime.Region(start, end), text)

    def is_visible(self) -> bool:
        """It is not shown in menus."""
        return False


class QwenCompanionCheckListener(sublime_plugin.EventListener):
    """Tells a running check what happens in its window."""

    def on_activated(self, view: sublime.View) -> None:
        """A view got the focus."""
        _tell("on_activated", view)

    def on_load(self, view: sublime.View) -> None:
        """A file is loaded."""
        _tell("on_load", view)

    def on_modified(self, view: sublime.View) -> None:
        """A view was edited."""
        _tell("on_modified", view)

    def on_text_command(self, view: sublime.View, command_name: str, args: Args) -> tuple[str, Args] | None:
        """A text command is about to run."""
        bench = _bench()
        if not bench or view.window() != bench.window:
            return None
        bench.told("on_text_command", view, command_name)
        other = bench.rewritten(command_name)
        return (other, {}) if other else None

    def on_window_command(self, window: sublime.Window, command_name: str, args: Args) -> None:
        """A window command is about to run."""
        bench = _bench()
        if bench and window == bench.window:
            bench.told("on_window_command", None, command_name)


def _bench() -> Bench | None:
    adapter = package.adapter()
    return adapter.check.bench if adapter and adapter.check else None


def _tell(name: str, view: sublime.View, command: str = "") -> None:
    bench = _bench()
    if bench and view.window() == bench.window:
        bench.told(name, view, command)
