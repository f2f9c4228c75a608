"""A stand-in for the package Terminus: opens a view without a process, and writes down what it was asked to do."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import sublime
import sublime_plugin

LOG = "terminus.jsonl"
"""In the person's home: a line [command, arguments] for each call."""


def _write(command: str, args: dict[str, Any]) -> None:
    with (Path.home() / LOG).open("a", encoding="utf-8") as file:
        file.write(json.dumps([command, args]) + "\n")


class TerminusOpenCommand(sublime_plugin.WindowCommand):
    """Open a terminal."""

    def run(self, **args: Any) -> None:
        """Do what concerns the view."""
        view = self.window.create_output_panel(args["panel_name"])
        view.set_name(args["title"])
        view.settings().update({"terminus_view": True, "gutter": False, "line_numbers": False})
        self.window.run_command("show_panel", {"panel": f"output.{args['panel_name']}"})
        self.window.focus_view(view)
        for command, arguments in args["post_view_hooks"]:
            view.run_command(command, arguments)
        _write("open", args)


class TerminusSendStringCommand(sublime_plugin.WindowCommand):
    """Send a text to a terminal."""

    def run(self, **args: Any) -> None:
        """Only write it down."""
        _write("send", args)


_hosted: dict[int, SimpleNamespace] = {}
"""By the id of a view: what Terminus itself knows about a terminal."""


def _foreground(pid: int) -> int:
    """The group in the foreground of a process's terminal. The test has opened that, so there is no descriptor here."""
    found = subprocess.run(["ps", "-o", "tpgid=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return int(found.stdout or 0)


class _Finder:
    @staticmethod
    def find_terminal(window: sublime.Window, tag: str | None = None) -> SimpleNamespace | None:
        return next(reversed(_hosted.values()), None)


_terminal: Any = ModuleType("terminal")
_terminal.Terminal = SimpleNamespace(from_id=_hosted.get)
_commands: Any = ModuleType("commands")
_commands.TerminusFindTerminalMixin = _Finder
sys.modules[f"{__name__}.terminal"] = _terminal
sys.modules[f"{__name__}.commands"] = _commands


class TerminusShowScreenCommand(sublime_plugin.WindowCommand):
    """Have the latest terminal show what the program in it shows."""

    def run(self, text: str, pid: int) -> None:
        """Replace the text of the view. `pid` is the process that the test's terminal was opened with."""
        view = self.window.find_output_panel((self.window.active_panel() or "").removeprefix("output."))
        if view:
            processes: Any = importlib.import_module("QwenCompanion.companion.clis.processes")
            processes.foreground = _foreground
            process = SimpleNamespace(pid=pid, fd=pid)
            _hosted[view.id()] = SimpleNamespace(process=process, bracketed_paste_mode_enabled=lambda: True)
            view.run_command("select_all")
            view.run_command("right_delete")
            view.run_command("append", {"characters": text})
