"""The status report: what the editor adds to it."""

from __future__ import annotations

import getpass
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import sublime

from ... import __version__
from ...status.facts import Facts, ShownWindow, Terminal
from ...status.report import report, without_secrets

if TYPE_CHECKING:
    from ...companion import Companion

SETTING = "qwen_companion.status"
"""On the view of a report."""
TITLE = "Qwen Companion Status"
LIMIT = 3_000
"""Milliseconds after which the companion is said not to answer."""
SILENT = (
    "The companion does not run, so no CLI can connect. If a library is missing, run “Package Control: Satisfy "
    "Libraries” from the command palette; else restart Sublime Text."
)

STARTING = "The companion is starting: its libraries are being loaded. This page follows."

Ask = Callable[[Callable[["Companion"], object]], object]
"""Has something called with the companion, on its own thread."""


class StatusReport:
    """One report, from the first facts to the last. Lives on the UI thread.

    `show` gets the text as it grows, and whether it is the last.
    """

    def __init__(
        self, facts: Facts, show: Callable[[str, bool], object], is_starting: Callable[[], bool] = lambda: False
    ) -> None:
        self._show = show
        self._is_starting = is_starting
        self._facts = facts
        self._has_answer = False

    def begin(self, ask: Ask, on_ui: Callable[[Callable[[], object]], object]) -> None:
        """Show what is known, and ask for the rest."""
        facts = self._facts

        def tell(told: Facts) -> None:
            on_ui(lambda: self._told(told))

        self._show(report(replace(facts, note="Asking the companion …")), False)
        ask(lambda companion: companion.look_around(facts, tell))
        sublime.set_timeout(self._give_up, LIMIT)

    def _told(self, facts: Facts) -> None:
        self._has_answer = True
        self._show(report(facts), facts.clis is not None)

    def _give_up(self) -> None:
        if self._has_answer:
            return
        if self._is_starting():
            self._show(report(replace(self._facts, at=time.time(), note=STARTING)), False)
            sublime.set_timeout(self._give_up, LIMIT)
        else:
            self._show(report(replace(self._facts, at=time.time(), note=SILENT)), True)


def editor_facts(front: sublime.Window, settings: Sequence[object], messages: Sequence[tuple[float, str]]) -> Facts:
    """What the editor knows."""
    windows = sorted(sublime.windows(), key=lambda window: window != front)
    about = (
        ("QwenCompanion", __version__),
        ("Sublime Text", f"{sublime.version()} {sublime.channel()}"),
        (sublime.platform(), sublime.arch()),
        ("Python", platform.python_version()),
    )
    return Facts(
        at=time.time(),
        about=about,
        windows=tuple(_shown(window) for window in windows),
        settings=tuple(map(str, settings)),
        messages=tuple(messages),
    )


def shareable(text: str) -> str:
    """A report for others to see."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):
        user = ""
    return without_secrets(text, str(Path.home()), user)


def _shown(window: sublime.Window) -> ShownWindow:
    project = window.project_file_name()
    named = f" ({Path(project).stem})" if project else ""
    title = f"Window {window.id()}{named}"
    panels = [window.find_output_panel(name.removeprefix("output.")) for name in window.panels()]
    views = [*window.views(include_transient=True), *filter(None, panels)]
    terminals = tuple(terminal for view in views if (terminal := _terminal(view)))
    return ShownWindow(window.id(), title, tuple(window.folders()), terminals)


def _terminal(view: sublime.View) -> Terminal | None:
    """A tab of Terminus, which keeps the variables that it was opened with over restarts (sublime.md C)."""
    arguments = view.settings().get("terminus_view.args")
    variables = arguments.get("env") if isinstance(arguments, dict) else None
    if not isinstance(variables, dict):
        return None
    ports = {name: str(value) for name, value in variables.items() if str(name).endswith("_IDE_SERVER_PORT")}
    return Terminal(view.name() or "Terminal", ports)
