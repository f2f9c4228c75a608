"""What the probes work with: the scratch window, its views, and the events that came for them."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from typing import Any, NamedTuple

import sublime

from .scratch import CHECK_SETTING

Wait = int | Callable[[], object]
"""What a probe yields: milliseconds to wait, or a condition to wait for, for `PATIENCE` at most."""
PATIENCE = 400
"""Milliseconds to wait for a condition. Then the probe continues, whether it is true or not."""


class ProbeResult(NamedTuple):
    """What a probe found."""

    holds: bool
    seen: str = ""
    """What it saw, for the report."""


Steps = Generator[Wait, None, ProbeResult]
"""What a probe does, up to what it has found."""
Probe = Callable[["Bench"], Steps]


class Bench:
    """The scratch window while the probes run. Lives on the UI thread."""

    def __init__(self, window: sublime.Window, front: sublime.Window, folder: str) -> None:
        self.window = window
        self.front = front
        """The window from which the check was started."""
        self.folder = folder
        """A temporary folder of the check."""
        self.events: list[tuple[str, int, str]] = []
        """The events in the window: the name, the view's id, and the command's name if it is one."""
        self.first_tabs = len(window.views())
        """Tabs that the window began with."""
        self.reaction: Callable[[], object] | None = None
        """What to do once within the next `on_modified`."""
        self.rewrite: tuple[str, str] | None = None
        """A text command, and the one to run in its place."""
        self.libraries: bool | None = None
        """Whether the companion has answered; None while nobody knows."""

    def view(self, text: str = "") -> sublime.View:
        """A new scratch view with a text."""
        view = self.window.new_file()
        view.set_scratch(True)
        settings = {"translate_tabs_to_spaces": False, "detect_indentation": False, "auto_indent": False}
        view.settings().update({**settings, CHECK_SETTING: True})
        if text:
            self.insert(view, text)
        return view

    def file(self, name: str, text: str) -> sublime.View:
        """A view of a temporary file."""
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        view = self.window.open_file(path)
        view.settings().set(CHECK_SETTING, True)
        return view

    @staticmethod
    def replace(view: sublime.View, start: int, end: int, text: str) -> None:
        """Replace a part of a view's text by `View.replace`. Raises RuntimeError if nothing happens."""
        before = view.change_count()
        view.run_command("qwen_companion_check_edit", {"start": start, "end": end, "text": text})
        if view.change_count() == before:
            raise RuntimeError("the edit changed nothing")

    @staticmethod
    def insert(view: sublime.View, text: str) -> None:
        """Put a text into an empty view by `View.insert`. Raises RuntimeError if nothing happens."""
        before = view.change_count()
        view.run_command("qwen_companion_check_edit", {"text": text})
        if view.change_count() == before:
            raise RuntimeError("the edit changed nothing")

    @staticmethod
    def text(view: sublime.View) -> str:
        """The whole text of a view."""
        return view.substr(sublime.Region(0, view.size()))

    def heard(self, view: sublime.View, *names: str) -> list[str]:
        """Those of the named events that came for a view, in order."""
        return [name for name, number, _ in self.events if number == view.id() and name in names]

    def told(self, name: str, view: sublime.View | None, command: str = "") -> None:
        """An event has come."""
        self.events.append((name, view.id() if view else 0, command))
        if name == "on_modified" and self.reaction:
            reaction, self.reaction = self.reaction, None
            reaction()

    def rewritten(self, command: str) -> str | None:
        """The command to run instead of one, or None to run that one."""
        if self.rewrite and self.rewrite[0] == command:
            return self.rewrite[1]
        return None

    def sheets(self, *views: sublime.View) -> list[sublime.Sheet]:
        """The tabs of some views."""
        return [sheet for view in views if (sheet := view.sheet())]

    def shown(self, group: int = 0) -> list[sublime.View | None]:
        """The views that a group shows."""
        return [sheet.view() for sheet in self.window.selected_sheets_in_group(group)]


def region(value: Any) -> str:
    """Regions, in words."""
    return ", ".join(f"{one.a}–{one.b}" for one in value) or "none"
