"""A command that edits as a test says, and a listener that notes what happens. `EditorCase` loads them as a plugin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sublime
import sublime_plugin

Args = dict[str, Any] | None
EVENTS: list[tuple[str, int, str]] = []
"""What has happened: the name of the event, the view's id or 0, and the command's name or ""."""
REACTIONS: list[Callable[[], object]] = []
"""What the next `on_modified` does, once."""
INSTEAD: dict[str, str] = {}
"""Text commands, and what is put in their places."""


class QwenCompanionTryEditCommand(sublime_plugin.TextCommand):
    """Edit a view."""

    def run(self, edit: sublime.Edit, text: str, start: int | None = None, end: int = 0) -> None:
        """Replace what is from `start` to `end`; insert at the beginning without them."""
        if start is None:
            self.view.insert(edit, 0, text)
        else:
            self.view.replace(edit, sublime.Region(start, end), text)


class QwenCompanionTryListener(sublime_plugin.EventListener):
    """Notes events."""

    def on_activated(self, view: sublime.View) -> None:
        """A view got the focus."""
        EVENTS.append(("on_activated", view.id(), ""))

    def on_load(self, view: sublime.View) -> None:
        """A file is loaded."""
        EVENTS.append(("on_load", view.id(), ""))

    def on_modified(self, view: sublime.View) -> None:
        """A view was edited."""
        EVENTS.append(("on_modified", view.id(), ""))
        if REACTIONS:
            REACTIONS.pop()()

    def on_text_command(self, view: sublime.View, command_name: str, args: Args) -> tuple[str, dict[str, Any]] | None:
        """A text command is about to run."""
        EVENTS.append(("on_text_command", view.id(), command_name))
        other = INSTEAD.pop(command_name, None)
        return (other, {}) if other else None

    def on_window_command(self, window: sublime.Window, command_name: str, args: Args) -> None:
        """A window command is about to run."""
        EVENTS.append(("on_window_command", 0, command_name))
