"""Names and texts that would press keys where they are pasted, on their way to a terminal and to the clipboard."""

from __future__ import annotations

import unittest
from typing import Any
from unittest.mock import patch

import sublime

from .companion_case import Steps, loaded
from .terminal_case import EMPTY_PROMPT, ON_WINDOWS, TerminalCase

ENDS_PASTE = "x\x1b[201~\rtouch PWNED\r.py"
NAMES = (ENDS_PASTE, "x\x9b201~\n!ls\n.py", "a\udcff.py", "b\u202e\u2066c.py", "d\u2028@.env e.py", "\x7f\x03.py")


class HostileCase(TerminalCase):
    """Each file's name is hostile; a CLI shows an empty prompt."""

    def setUp(self) -> Steps:
        if ON_WINDOWS:
            raise unittest.SkipTest("no file has such a name there")
        yield from super().setUp()
        sublime.set_clipboard("")
        self.panel = loaded("sublime_text.package").adapter().comments
        self.addCleanup(lambda: self.panel.delete(list(self.panel.comments)))

    def comment_on(self, name: str) -> None:
        """A comment on a file that the editor may not even open."""
        comment = loaded("comments").Comment
        with patch.object(type(self.panel), "unsent", lambda *_: (self.hostile,)):
            self.hostile = comment(str(self.folder / name), 1, ("x = 1\x1b[201~\r!id\r",), "why\x9b201~?\x03")
            self.window.run_command("qwen_companion_send_comments")

    def assert_harmless(self, text: str) -> None:
        self.assertEqual([each for each in text if not each.isprintable() and each not in "\n\t"], [])
        self.assertIsNone(next((line for line in text.split("\n") if line.startswith("touch")), None))


class TestIntoATerminal(HostileCase):
    """A prompt takes comments, problems and actions."""

    def setUp(self) -> Steps:
        yield from super().setUp()
        yield from self.run_cli(shows=EMPTY_PROMPT)

    def test_comments_on_files_with_hostile_names_press_no_key(self) -> Steps:
        for name in NAMES:
            self.terminus.sent.clear()
            self.comment_on(name)
            yield lambda: self.terminus.sent
            self.assert_harmless(self.terminus.sent[0]["string"])

    def test_problems_of_such_files_press_no_key(self) -> Steps:
        for name in NAMES:
            self.terminus.sent.clear()
            self.problems_of(name)
            yield lambda: self.terminus.sent
            self.assert_harmless(self.terminus.sent[0]["string"])

    def problems_of(self, name: str) -> None:
        package = loaded("problems")
        at = package.Position(1, 1, 1)
        found = [package.Diagnostic(str(self.folder / name), at, at, "error", "no\x1b[201~\r!id", "s\x9b", "c\r")]
        sending: Any = loaded("sublime_text.problems")
        sending._give(loaded("sublime_text.package").adapter(), self.window, found)

    def test_a_question_that_begins_with_a_mark_is_a_message(self) -> Steps:
        with patch.object(sublime.Window, "show_input_panel", lambda *args: args[3]("!touch PWNED") or self.view):
            self.window.focus_view(self.view)
            self.window.run_command("qwen_companion_action", {"name": "Ask…"})
        yield lambda: self.terminus.sent
        self.assertTrue(self.terminus.sent[0]["string"].startswith("- !touch PWNED\n"))


class TestIntoTheClipboard(HostileCase):
    """Nobody takes it, so it is copied, and perhaps pasted into a shell."""

    def test_comments_on_files_with_hostile_names_are_shown(self) -> Steps:
        for name in NAMES:
            sublime.set_clipboard("")
            self.comment_on(name)
            yield sublime.get_clipboard
            self.assert_harmless(sublime.get_clipboard())
            self.assertIn("why\\x9b201~?\\x03", sublime.get_clipboard())

    def test_the_environment_of_a_folder_with_such_a_name_is_one_line_for_each_variable(self) -> Steps:
        variables = {"QWEN_CODE_IDE_WORKSPACE_PATH": f"/p/{ENDS_PASTE}\nrm -rf ~\n"}
        asked = lambda _, answer: answer((("/p",), variables))  # noqa: E731
        with patch.object(loaded("sublime_text.package").adapter(), "ask", asked):
            self.window.run_command("qwen_companion_copy_environment", {"shell": "sh"})
        yield sublime.get_clipboard
        self.assert_harmless(sublime.get_clipboard())
        self.assertEqual(sublime.get_clipboard().count("\n"), 1)

    def test_what_is_cut_in_a_prompt_stays_as_it_is(self) -> None:
        lines = [sublime.Region(0, self.view.size())]
        self.view.run_command("append", {"characters": "a\u200db"})
        lines = [sublime.Region(0, self.view.size())]
        loaded("sublime_text.panels").lines_to_clipboard(self.view, lines)
        self.assertEqual(sublime.get_clipboard(), self.view.substr(lines[0]))
