"""What the palette and the menus show: what can be used now, and no more than a person reads."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import sublime
import sublime_plugin

from . import test_changes_review as written
from .changes_case import ChangesCase
from .chat_case import ChatCase
from .companion_case import CompanionCase, Steps, loaded
from .terminal_case import Terminus
from .test_menus import MENUS, entries

EMPTY = 18
MOST = 30
"""In a diff or a chat."""


def shown(window: sublime.Window, view: sublime.View) -> set[str]:
    """The captions of the package's entries that the palette shows while a view has the focus."""
    palette = sublime.decode_value(sublime.load_resource("Packages/QwenCompanion/Default.sublime-commands"))
    found = {entry["caption"] for entry in palette if can(entry, window, view) == (True, True)}  # type: ignore[index]
    if target := os.environ.get("QWEN_COMPANION_SHOWN"):  # scripts/shown
        frame = sys._getframe(1)
        step = frame.f_code.co_qualname
        with Path(target).open("a", encoding="utf-8") as file:
            file.write(json.dumps([step, view.name() or view.file_name() or "", sorted(found)]) + "\n")
    return found


def can(entry: dict[str, Any], window: sublime.Window, view: sublime.View) -> tuple[bool, bool]:
    """Whether the command of an entry is enabled, and whether it is visible."""
    args = entry.get("args", {})
    command = commands(window, view).get(entry["command"])
    return (True, True) if command is None else (command.is_enabled_(args), command.is_visible_(args))


def commands(window: sublime.Window, view: sublime.View) -> dict[str, Any]:
    """The package's commands by their names, made for a window and a view."""
    classes: Any = sublime_plugin
    found = [cls(view) for cls in classes.text_command_classes if _is_own(cls)]
    found += [cls(window) for cls in classes.window_command_classes if _is_own(cls)]
    return {command.name(): command for command in found}


def _is_own(cls: type) -> bool:
    return cls.__name__.startswith("QwenCompanion")


class TestNothingThere(CompanionCase):
    """A folder and Terminus; no CLI is connected, no file is open, nothing waits."""

    def test_the_palette_has_at_most_eighteen_entries(self) -> Steps:
        Terminus(self)
        self.cli.close()
        self.view.close()
        bar = loaded("sublime_text.package").adapter().status_bar
        yield {"condition": lambda: not bar.clis(self.window), "timeout": 60_000}
        found = shown(self.window, self.window.active_view() or self.window.new_file())
        # What other tests have decided before in this editor can still be taken back.
        left = {"Qwen: Delete Comments", "Qwen: Reopen Rejected Text", "Qwen: Take Back"}
        self.assertLessEqual(len(found - left), EMPTY, sorted(found))


class TestIdle(CompanionCase):
    """A folder, a file and Terminus; the chat is off, and nothing waits."""

    def setUp(self) -> Steps:
        yield from super().setUp()
        self.terminus = Terminus(self)
        self.view.sel().clear()
        self.view.sel().add(sublime.Region(0, 3))

    def test_the_palette_has_at_most_thirty_entries_in_a_file(self) -> Steps:
        found = shown(self.window, self.view)
        self.assertLessEqual(len(found), MOST, sorted(found))
        self.assertIn("Qwen: Run Qwen Code", found)
        yield 0

    def test_a_cli_that_is_not_on_the_path_and_has_never_run_is_not_in_it(self) -> Steps:
        """But for Qwen Code: *Run Qwen Code* says how to install it."""
        home = Path(tempfile.mkdtemp(prefix="companion-"))
        self.addCleanup(shutil.rmtree, home)
        runnable = loaded("sublime_text.package").adapter().runnable
        (home / ".config" / "opencode").mkdir(parents=True)
        folder = {"PATH": str(home), "HOME": str(home), "USERPROFILE": str(home)}
        patched = patch.object(loaded("sublime_text.terminal.terminals"), "_login", lambda: folder)
        patched.start()
        self.addCleanup(setattr, runnable, "_until", 0)
        self.addCleanup(patched.stop)

        def run() -> set[str]:
            if runnable._until < math.inf:  # it is not being looked
                runnable._until = 0
            return {caption for caption in shown(self.window, self.view) if caption.startswith("Qwen: Run ")}

        found = {"Qwen: Run Qwen Code", "Qwen: Run OpenCode"}
        yield lambda: run() == found
        program = home / ("claude.exe" if os.name == "nt" else "claude")
        program.touch(0o755)
        yield lambda: run() == {*found, "Qwen: Run Claude Code"}

    def test_of_the_chat_it_has_what_turns_it_on(self) -> Steps:
        found = {caption for caption in shown(self.window, self.view) if "Chat" in caption}
        self.assertEqual(found, {"Qwen: Chat"})
        yield 0

    def test_menus_have_no_entry_that_can_do_nothing(self) -> Steps:
        for menu in MENUS:
            tree: Any = sublime.decode_value(sublime.load_resource(f"Packages/QwenCompanion/{menu}.sublime-menu"))
            dead = [e["caption"] for e in entries(tree) if can(e, self.window, self.view) == (False, True)]
            self.assertEqual(dead, [], menu)
        yield 0

    def test_no_command_with_an_input_says_by_its_visibility_that_it_can_do_nothing(self) -> Steps:
        """Its key would be dead (docs/protocols/sublime.md#command-visibility)."""
        base: Any = sublime_plugin.Command
        found = [
            name
            for name, command in commands(self.window, self.view).items()
            if type(command).input is not base.input and type(command).is_visible is not base.is_visible
        ]
        self.assertEqual(found, [])
        yield 0


class TestInDiff(ChangesCase):
    """A diff with all that can be in one."""

    def test_the_palette_has_at_most_thirty_entries(self) -> Steps:
        Terminus(self)
        yield from self.open_changes()
        yield from self.open_diff("other = 1\r\n", self.folder / "b.py")
        self.proposal.sel().clear()
        self.proposal.sel().add(0)
        self.proposal.run_command("qwen_companion_comment", {"text": "why?"})
        self.window.focus_view(self.proposal)
        found = shown(self.window, self.proposal)
        self.assertLessEqual(len(found), MOST, sorted(found))
        self.assertIn("Qwen: Accept Diff", found)
        self.assertIn("Qwen: Send Comments", found)


class TestInTheWorstDiff(written.ChangesCase):
    """A diff with all that can be said of one, beside another one, a rejected text, comments and written changes."""

    def test_the_palette_has_at_most_thirty_entries(self) -> Steps:
        Terminus(self)
        self.file.write_text(written.LINES)
        (other := self.folder / "other.py").write_text(written.LINES)
        yield from self.begin_anew()
        other.write_text(written.LINES.replace("line 3\n", "line three\n"))
        yield from self.waits(other=("modified", 1))
        yield from self.open_diff("rejected = 1\n", self.folder / "c.py")
        self.edit(self.proposal, "mine")
        self.proposal.run_command("qwen_companion_reject_diff")
        yield from self.closed()
        yield from self.open_diff("other = 1\n", self.folder / "b.py")
        proposed = written.LINES.replace("line 2\n", "line two\n").replace("\n", "\r\n")
        yield from self.open_diff(proposed.replace("line 9\r", "line nine\r"))
        self.edit(self.view, "unsaved")
        self.file.write_text(written.LINES.replace("line 20\n", "line twenty\n"))
        diff = loaded("sublime_text.package").adapter().diffs.find(self.proposal)
        self.window.focus_view(self.proposal)
        yield {"condition": lambda: diff.review.can_reload and diff.warnings, "timeout": 30_000}
        self.put_caret(self.proposal, 2)
        self.proposal.run_command("qwen_companion_undo_change")
        self.put_caret(self.proposal, 9)
        self.proposal.run_command("qwen_companion_comment", {"text": "why?"})
        found = shown(self.window, self.proposal)
        for name in ("Reopen Rejected Text", "Toggle Diff Layout"):
            self.assertIn(f"Qwen: {name}", found)
        self.assertIn("Qwen: Send Comments", found)
        self.assertLessEqual(len(found), MOST, sorted(found))
        self.assertNotIn("Qwen: Keep All Changes", found)
        self.window.focus_view(self.view)
        self.assertIn("Qwen: Keep All Changes", shown(self.window, self.view))


class TestInChat(ChatCase):
    """A chat that works, and one that has done so and asks."""

    def test_the_palette_has_at_most_thirty_entries(self) -> Steps:
        Terminus(self)
        values = self.view_values
        self.set_setting("chat_enabled", False)
        every: dict[str, Any] = {
            "models": (values.Choice("m", "M"),),
            "modes": (values.Choice("default", "Default"),),
            "efforts": (values.Choice("high", "High"),),
            "has_earlier": True,
            "permissions": (self.permission("allow_once", "allow_always", "reject_once"),),
        }
        states: list[dict[str, Any]] = [{"running": "turn"}, {"last": "completed"}, {"last": "failed"}]
        for state in states:
            self.show(self.message("Done."), **every, **state)
            self.window.focus_view(self.view)
            found = shown(self.window, self.view)

            self.assertLessEqual(len(found), MOST, sorted(found))
            self.assertIn("Qwen: Chat: Switch Model…", found)
        yield 0
