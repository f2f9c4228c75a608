"""The editor's part of the status report."""

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
from ...clis.shell import Command
from ...ids import WindowId
from ...status.facts import Facts, ShownChat, ShownWindow, Stop, TerminalVariables
from ...status.report import without_secrets
from ..answers import expect
from ..other_packages import is_installed
from ..own_views import project_settings
from ..terminal.terminus import TERMINUS
from ..windows import is_terminal

if TYPE_CHECKING:
    from ...companion import Companion

TITLE = "QwenCompanion Status"
LIMIT = 3_000
"""Milliseconds to wait for the companion's answer."""
SILENT = "The companion does not answer, so no CLI can connect. Save your work and restart Sublime Text."
STOPPED = "The companion does not run, so no CLI can connect."

STARTING = "The companion is starting: it is loading its libraries. This page follows."

Show = Callable[[Facts, bool], object]
Ask = Callable[[Callable[["Companion"], object]], object]
"""Calls a function with the companion, on the companion thread."""


def begin_report(
    facts: Facts,
    commands: Sequence[Command],
    show: Show,
    ask: Ask,
    on_ui: Callable[[Callable[[], object]], object],
    is_starting: Callable[[], bool],
    stopped: Callable[[], Stop | None],
) -> None:
    """Show what is known, and ask the companion for the rest. To be called on the UI thread.

    `commands` are those that run the CLIs by the settings. `stopped` says why the companion doesn't run.
    `show` gets the facts so far, and whether they are complete.
    """
    answers: list[Facts] = []

    def silent() -> None:
        found = stopped()
        show(replace(facts, at=time.time(), note=STOPPED if found else SILENT, stopped=found), True)

    def answered(found: Facts) -> None:
        answers.append(found)
        show(found, found.clis is not None)

    if stopped():
        silent()
        return
    show(replace(facts, note="Asking the companion…"), False)
    ask(lambda companion: companion.look_around(facts, lambda found: on_ui(lambda: answered(found)), commands))
    expect(
        lambda: bool(answers),
        is_starting,
        patience=lambda: LIMIT,
        starting=lambda: show(replace(facts, at=time.time(), note=STARTING), False),
        silent=silent,
    )


def editor_facts(
    front: sublime.Window,
    settings: Sequence[object],
    messages: Sequence[tuple[float, str]],
    chats: Callable[[sublime.Window], tuple[ShownChat, ...]],
    written: Callable[[sublime.Window], tuple[str, ...]],
) -> Facts:
    """The facts that the editor knows; `chats` gives those of a window, `written` the written changes that wait."""
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
        windows=tuple(replace(_shown(window, chats(window)), written=written(window)) for window in windows),
        settings=tuple(map(str, settings)),
        messages=tuple(messages),
        lacks_terminus=not is_installed(TERMINUS),
    )


def shareable(text: str) -> str:
    """A report without secrets and without the user's name."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):
        user = ""
    return without_secrets(text, str(Path.home()), user)


def _shown(window: sublime.Window, chats: tuple[ShownChat, ...]) -> ShownWindow:
    project = window.project_file_name()
    named = f" ({Path(project).stem})" if project else ""
    title = f"Window {window.id()}{named}"
    panels = [window.find_output_panel(name.removeprefix("output.")) for name in window.panels()]
    views = [*window.views(include_transient=True), *filter(None, panels)]
    terminals = tuple(terminal for view in views if (terminal := _terminal(view)))
    folders, ignored = tuple(window.folders()), tuple(project_settings(window))
    return ShownWindow(WindowId(window.id()), title, folders, terminals, chats, ignored=ignored)


def _terminal(view: sublime.View) -> TerminalVariables | None:
    """A tab of Terminus, with the variables that it was opened with (docs/protocols/sublime.md#terminus).

    It keeps them over restarts.
    """
    arguments = view.settings().get("terminus_view.args") if is_terminal(view) else None
    variables = arguments.get("env") if isinstance(arguments, dict) else None
    if not isinstance(variables, dict):
        return None
    ports = {name: str(value) for name, value in variables.items() if str(name).endswith("_IDE_SERVER_PORT")}
    return TerminalVariables(view.name() or "Terminal", ports)
