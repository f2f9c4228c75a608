"""What the tests of this folder share: a window of their own, and what has happened in it."""

from __future__ import annotations

import importlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import sublime
import sublime_plugin
from unittesting import DeferrableTestCase  # pyright: ignore[reportMissingImports] - the package UnitTesting has it

Steps = Iterator[Any]
LIMIT = 5_000
"""Milliseconds to wait for what the editor should do."""
SETTLED = 50
"""Milliseconds after which an event that has not come is not coming."""
TRYING = f"{__package__}.trying"
SINGLE: Any = {"cols": [0.0, 1.0], "rows": [0.0, 1.0], "cells": [[0, 0, 1, 1]]}
SPLIT: Any = {"cols": [0.0, 0.5, 1.0], "rows": [0.0, 1.0], "cells": [[0, 0, 1, 1], [1, 0, 2, 1]]}


def loaded(name: str) -> ModuleType:
    """A module of the loaded package, such as "server.endpoint"."""
    return importlib.import_module(f"{(__package__ or '').partition('.')[0]}.companion.{name}")


def until(condition: Callable[[], object], otherwise: str) -> dict[str, Any]:
    """To be yielded: wait for a condition. The test fails with what was seen `otherwise`."""
    return {"condition": condition, "timeout": LIMIT, "timeout_message": otherwise}


def text_of(view: sublime.View) -> str:
    """The whole text of a view."""
    return view.substr(sublime.Region(0, view.size()))


def sheets(*views: sublime.View) -> list[sublime.Sheet]:
    """The tabs of some views."""
    return [sheet for view in views if (sheet := view.sheet())]


class EditorCase(DeferrableTestCase):
    """A window, which closes after the test."""

    @classmethod
    def setUpClass(cls) -> None:
        plugins: Any = sublime_plugin
        plugins.reload_plugin(TRYING)
        cls.trying: Any = sys.modules[TRYING]
        cls.addClassCleanup(plugins.unload_plugin, TRYING)

    def setUp(self) -> Steps:
        self.folder = tempfile.mkdtemp(prefix="real-editor-")
        self.front = sublime.active_window()
        before = {window.id() for window in sublime.windows()}
        sublime.run_command("new_window")
        fresh = lambda: [window for window in sublime.windows() if window.id() not in before]  # noqa: E731
        yield until(fresh, "no window opened")
        [self.window] = fresh()
        self.first_tabs = len(self.window.views())
        self.trying.EVENTS.clear()

    def tearDown(self) -> Steps:
        if self.window.is_valid():
            for view in self.window.views():
                view.set_scratch(True)
            self.window.run_command("close_window")
        yield until(lambda: not self.window.is_valid(), "the window did not close")
        self.front.bring_to_front()
        shutil.rmtree(self.folder, ignore_errors=True)

    def new(self, text: str = "") -> sublime.View:
        """A new scratch view with a text."""
        view = self.window.new_file()
        view.set_scratch(True)
        settings = {"translate_tabs_to_spaces": False, "detect_indentation": False, "auto_indent": False}
        view.settings().update(settings)
        if text:
            view.run_command("qwen_companion_try_edit", {"text": text})
        return view

    def open(self, name: str, text: str) -> sublime.View:
        """A view of a temporary file, which is loaded later."""
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return self.window.open_file(path)

    def panel(self) -> sublime.View:
        """The view of a panel that is shown."""
        panel = self.window.create_output_panel("qwen_companion_try")
        self.window.run_command("show_panel", {"panel": "output.qwen_companion_try"})
        return panel

    def replace(self, view: sublime.View, start: int, end: int, text: str) -> None:
        """Replace a part of a view's text by `View.replace`."""
        before = view.change_count()
        view.run_command("qwen_companion_try_edit", {"start": start, "end": end, "text": text})
        self.assertNotEqual(view.change_count(), before)

    def heard(self, view: sublime.View, *names: str) -> list[str]:
        """Those of the named events that came for a view, in order."""
        return [name for name, number, _ in self.trying.EVENTS if number == view.id() and name in names]

    def shown(self, group: int = 0) -> list[sublime.View | None]:
        """The views that a group shows."""
        return [sheet.view() for sheet in self.window.selected_sheets_in_group(group)]
