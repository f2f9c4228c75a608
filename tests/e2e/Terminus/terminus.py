"""A stand-in for the package Terminus: opens a view without a process, and writes down what it was asked to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

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


class TerminusShowScreenCommand(sublime_plugin.WindowCommand):
    """Have the latest terminal show what the program in it shows."""

    def run(self, text: str) -> None:
        """Replace the text of the view."""
        view = self.window.find_output_panel((self.window.active_panel() or "").removeprefix("output."))
        if view:
            view.run_command("select_all")
            view.run_command("right_delete")
            view.run_command("append", {"characters": text})
