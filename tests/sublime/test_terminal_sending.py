"""What is sent to a CLI in a terminal."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import sublime

from .cli import discovery_file
from .companion_case import CompanionCase, Steps, loaded
from .terminal_case import EMPTY_PROMPT, GEMINI_PROMPT, ON_WINDOWS, TerminalCase, prompt_with


@contextlib.contextmanager
def stopped() -> Iterator[None]:
    """Have a companion that does not run: its libraries are missing."""
    adapter, stop = loaded("sublime_text.package").adapter(), loaded("status.facts").Stop
    with (
        patch.object(adapter, "ask", lambda *_: None),
        patch.object(adapter.thread, "stop_reason", stop("Repair the libraries.", is_of_libraries=True)),
    ):
        yield


class TestSend(TerminalCase):
    """qwen_companion_send."""

    def setUp(self) -> Steps:
        yield from super().setUp()
        yield from self.open_view("src/some file.py" if not ON_WINDOWS else "src/some-file.py", "".join("line\n" * 9))
        yield from self.run_cli(shows=EMPTY_PROMPT)

    def open_view(self, name: str, text: str = "x\n") -> Steps:
        (self.folder / name).parent.mkdir(exist_ok=True)
        yield from super().open_view(name, text)

    def send(self, what: str, view: sublime.View | None = None) -> None:
        self.window.focus_view(view or self.opened)
        self.window.run_command("qwen_companion_send", {"what": what} if what else {})

    def select_in_file(self, *regions: tuple[int, int]) -> None:
        self.opened.sel().clear()
        self.opened.sel().add_all([sublime.Region(*region) for region in regions])

    def texts(self) -> list[str]:
        return [args["string"] for args in self.terminus.sent]

    @property
    def name(self) -> str:
        return "@src/some-file.py" if ON_WINDOWS else r"@src/some\ file.py"

    def test_a_file_is_named_as_seen_from_the_clis_folder(self) -> Steps:
        self.send("file")
        yield lambda: len(self.texts()) == 1
        self.assertEqual(self.terminus.sent, [{"string": f"{self.name} ", "bracketed": True, "tag": "qwen"}])

    def test_a_second_file_is_sent_behind_the_first(self) -> Steps:
        self.send("file")
        yield lambda: len(self.texts()) == 1
        self.terminal.run_command("select_all")
        self.terminal.run_command("right_delete")
        self.terminal.run_command("append", {"characters": prompt_with(self.texts()[0])})
        sublime.set_clipboard("")
        self.send("file", self.view)
        yield lambda: len(self.texts()) == 2
        self.assertEqual(self.texts(), [f"{self.name} ", "@app.py "])
        self.assertEqual(sublime.get_clipboard(), "")

    def test_the_line_of_the_caret_is_sent(self) -> Steps:
        self.set_limit("sublime_text.actions", "LOOKS", 1)  # nothing comes into this prompt
        self.select_in_file((5, 5))
        self.send("line")
        yield lambda: len(self.texts()) == 1
        self.select_in_file((5, 5), (21, 21))
        self.send("line")
        yield lambda: len(self.texts()) == 2
        self.assertEqual(self.texts(), [f"{self.name} line 2 ", f"{self.name} lines 2, 5 "])

    def test_the_selected_lines_are_sent(self) -> Steps:
        self.select_in_file((7, 12))
        self.send("selection")
        yield lambda: len(self.texts()) == 1
        self.assertEqual(self.texts(), [f"{self.name} lines 2-3 "])

    def test_a_selection_up_to_the_start_of_a_line_does_not_include_it(self) -> Steps:
        self.select_in_file((5, 15))
        self.send("selection")
        yield lambda: len(self.texts()) == 1
        self.assertEqual(self.texts(), [f"{self.name} lines 2-3 "])

    def test_several_selections_are_sent_as_ranges_of_lines(self) -> Steps:
        self.select_in_file((1, 3), (10, 14), (16, 19), (35, 38))
        self.send("selection")
        yield lambda: len(self.texts()) == 1
        self.assertEqual(self.texts(), [f"{self.name} lines 1, 3-4, 8 "])

    def test_what_is_selected_is_sent_or_else_the_file(self) -> Steps:
        self.set_limit("sublime_text.actions", "LOOKS", 1)
        self.select_in_file((7, 12))
        self.send("")
        self.select_in_file((7, 7))
        self.send("")
        yield lambda: len(self.texts()) == 2
        self.assertEqual(self.texts(), [f"{self.name} lines 2-3 ", f"{self.name} "])

    def test_without_a_selection_nothing_is_sent(self) -> None:
        self.send("selection")
        self.assertEqual(self.texts(), [])
        self.assertTrue(self.screen.said("Nothing is selected"))

    def test_an_excluded_file_is_not_sent(self) -> Steps:
        yield from self.open_view("keys/a.pem", "KEY\n")
        self.opened.run_command("select_all")
        for what in ("file", "line", "selection"):
            self.screen.messages.clear()
            self.send(what)
            self.assertTrue(self.screen.said("a.pem stays here: the setting “context_exclude” excludes it."))
        paths = [str(self.file), str(self.folder / "keys" / "a.pem")]
        self.window.run_command("qwen_companion_send", {"paths": paths})
        self.assertEqual(self.texts(), [])

    def test_the_focus_goes_to_the_prompt(self) -> Steps:
        self.window.focus_view(self.opened)
        self.send("file")
        yield lambda: self.focused() == self.terminal

    def test_in_a_terminal_the_last_file_is_sent(self) -> Steps:
        self.window.focus_view(self.terminal)
        self.send("file", self.terminal)
        yield lambda: len(self.texts()) == 1
        self.assertEqual(self.texts(), [f"{self.name} "])

    def test_a_tab_without_a_file_cannot_be_sent(self) -> None:
        self.opened = self.window.new_file()
        self.opened.set_scratch(True)
        self.opened.run_command("append", {"characters": "text"})
        self.send("file")
        self.assertEqual(self.texts(), [])
        self.assertTrue(self.screen.said("no file yet", "Save it first"))

    def test_a_message_says_that_unsaved_changes_are_not_sent(self) -> Steps:
        self.edit(self.opened, "changed")
        self.send("file")
        yield lambda: len(self.texts()) == 1
        self.assertEqual(self.texts(), [f"{self.name} "])
        self.assertTrue(self.screen.said("unsaved changes", "as it is on the disk"))
        self.assertTrue(self.opened.is_dirty(), "saving is the person's")

    def test_a_cli_that_is_told_by_its_connection_gets_no_unsaved_changes_either(self) -> Steps:
        """Claude Code and OpenCode, for which nothing is typed."""
        self.edit(self.opened, "changed")
        adapter = loaded("sublime_text.package").adapter()
        mark = {**self.mark, "cli": "claude"}
        self.terminal.settings().set("qwen_companion.terminal", mark)
        with patch.object(adapter, "ask", lambda _question, answer: answer((1, []))):
            self.send("file")
        self.assertEqual(self.texts(), [])
        self.assertTrue(self.screen.said("unsaved changes", "as it is on the disk"))
        yield

    def test_while_the_companion_does_not_run_the_terminal_is_tried_all_the_same(self) -> Steps:
        """Also for those that are told by their connection."""
        self.terminal.settings().set("qwen_companion.terminal", {**self.mark, "cli": "claude"})
        with stopped():
            self.send("file")
            yield lambda: self.screen.said("shows no prompt")

    def test_a_file_outside_the_clis_folder_has_its_full_path(self) -> Steps:
        self.terminal.settings().set("qwen_companion.terminal", {**self.mark, "folder": str(self.folder / "src")})
        self.send("file", self.view)
        yield self.texts
        self.assertEqual(self.texts()[0].replace("\\", ""), f"@{str(self.file).replace(os.sep, '/')} ")

    def test_the_cli_that_had_the_focus_last_gets_it(self) -> Steps:
        first = self.terminal
        yield from self.run_cli("gemini", shows=GEMINI_PROMPT)
        self.window.focus_view(self.opened)
        self.send("file")
        yield self.texts
        self.window.focus_view(first)
        self.window.focus_view(self.opened)
        self.send("file")
        yield lambda: len(self.texts()) == 2
        self.assertEqual([args["tag"] for args in self.terminus.sent], ["gemini", "qwen"])

    def test_a_project_neither_hides_a_terminal_nor_makes_one(self) -> Steps:
        terminals = loaded("sublime_text.terminal.terminals")
        tags = [each.tag for each in terminals.running(self.window)]
        own = [each.view for each in terminals.others(self.window)]
        for posed in ("a text", ["run"], {"run": "x", "cli": "qwen", "split": True}, {"once": "x"}, True):
            data = {**(self.window.project_data() or {}), "settings": {"qwen_companion.terminal": posed}}
            self.window.set_project_data(data)
            yield 0
            self.assertEqual([each.tag for each in terminals.running(self.window)], tags, posed)
            self.assertEqual([each.view for each in terminals.others(self.window)], own, posed)
            self.assertFalse(terminals.is_running("x"))
            terminals.activated(self.opened)
            self.assertFalse(self.opened.settings().has("qwen_companion.terminal_focused_at"))
        self.send("file")
        yield self.texts
        self.assertEqual(self.texts(), [f"{self.name} "])

    def test_if_no_cli_ever_had_the_focus_the_person_picks_one(self) -> Steps:
        yield from self.run_cli("gemini", shows=GEMINI_PROMPT)
        for view in self.terminus.views:
            view.settings().erase("qwen_companion.terminal_focused_at")
        self.send("file")
        self.assertEqual(sorted(self.captions()), ["Send to Gemini CLI", "Send to Qwen Code"])
        yield from self.pick("Send to Gemini CLI")
        yield lambda: self.terminus.sent
        self.assertEqual(self.terminus.sent[-1]["tag"], "gemini")

    def test_a_cli_that_has_ended_gets_nothing(self) -> Steps:
        self.terminal.settings().set("terminus_view.finished", True)
        self.send("file")
        yield lambda: self.screen.panels
        self.assertEqual(self.texts(), [])
        self.assertEqual(
            self.captions(), ["Run Qwen Code", "Run Gemini CLI", "Run Claude Code", "Run Copilot CLI", "Run OpenCode"]
        )


class TestSendToNobody(TerminalCase):
    """No CLI was started in the window."""

    def test_the_person_is_offered_to_run_one(self) -> Steps:
        self.window.run_command("qwen_companion_send", {"what": "file"})
        yield lambda: self.screen.panels
        self.assertEqual(
            self.captions(), ["Run Qwen Code", "Run Gemini CLI", "Run Claude Code", "Run Copilot CLI", "Run OpenCode"]
        )
        yield from self.pick("Run Gemini CLI")
        yield lambda: self.terminus.opened
        self.assertEqual(self.args["tag"], "gemini")

    def test_the_person_is_offered_to_run_one_while_the_companion_does_not_run(self) -> None:
        with stopped():
            self.window.run_command("qwen_companion_send", {"what": "file"})
            self.assertIn("Run Qwen Code", self.captions())

    def test_a_terminal_of_the_persons_own_may_get_it(self) -> Steps:
        own = self.terminus.open(self.window, "Login Shell")
        own.run_command("append", {"characters": EMPTY_PROMPT})
        self.window.focus_view(self.view)
        self.window.run_command("qwen_companion_send", {"what": "file"})
        yield lambda: self.screen.panels
        self.assertEqual(self.captions()[0], "Send to Login Shell")
        yield from self.pick("Send to Login Shell")
        yield lambda: self.terminus.sent
        self.assertEqual(self.window.active_view(), own)
        self.assertNotIn("tag", self.terminus.sent[-1], "Terminus takes the one in focus")

    def test_of_the_files_of_a_menu_the_one_whose_name_cannot_be_typed_is_said(self) -> Steps:
        other = self.folder / "other.py"
        other.write_text("x\n")
        with patch.object(loaded("companion").Companion, "mention", lambda *_: (1, [str(other)])):
            self.window.run_command("qwen_companion_send", {"paths": [str(self.file), str(other)]})
            yield lambda: self.screen.said("A file can't be sent: its name")
        self.assertEqual(self.terminus.sent, [])


class TestCopyEnvironment(CompanionCase):
    """qwen_companion_copy_environment."""

    def copy(self, shell: str) -> Steps:
        """Copy it for a shell: self.copied."""
        sublime.set_clipboard("")
        self.window.run_command("qwen_companion_copy_environment", {"shell": shell})
        yield sublime.get_clipboard
        self.copied = sublime.get_clipboard()

    def test_commands_for_sh_are_copied(self) -> Steps:
        yield from self.copy("sh")
        words = [shlex.split(line) for line in self.copied.splitlines()]
        self.assertEqual({tuple(line[:-1]) for line in words}, {("export",)})
        values = dict(line[-1].split("=", 1) for line in words)
        port = str(json.loads(discovery_file().read_text("utf-8"))["port"])
        self.assertEqual(values["QWEN_CODE_IDE_SERVER_PORT"], port)
        self.assertEqual(values["GEMINI_CLI_IDE_SERVER_PORT"], port)
        self.assertEqual(values["QWEN_CODE_IDE_WORKSPACE_PATH"], str(self.folder))
        self.assertIn("GEMINI_CLI_IDE_AUTH_TOKEN", values)
        self.assertNotIn("TERM_PROGRAM", values, "it is not our terminal")

    def test_commands_for_fish_and_powershell_are_copied(self) -> Steps:
        yield from self.copy("fish")
        self.assertIn("set -gx QWEN_CODE_IDE_SERVER_PORT '", self.copied)
        yield from self.copy("powershell")
        self.assertIn("$env:QWEN_CODE_IDE_SERVER_PORT = '", self.copied)

    def test_the_message_names_the_shell_and_no_token(self) -> Steps:
        yield from self.copy("sh")
        self.assertTrue(self.screen.said("Copied for sh, bash, zsh", Path(self.folder).name))
        token = shlex.split(self.copied.partition("GEMINI_CLI_IDE_AUTH_TOKEN=")[2])[0]
        self.assertNotIn(token, " ".join(self.screen.messages))

    def test_without_a_shell_the_person_is_asked(self) -> Steps:
        sublime.set_clipboard("")
        self.window.run_command("qwen_companion_copy_environment")
        [(items, pick)] = self.screen.panels
        self.assertEqual([item.trigger for item in items], ["sh, bash, zsh", "fish", "PowerShell"])
        pick(1)
        yield lambda: "set -gx" in sublime.get_clipboard()

    def test_an_unknown_shell_is_reported(self) -> None:
        self.window.run_command("qwen_companion_copy_environment", {"shell": "cmd"})
        self.assertTrue(self.screen.said("The shell “cmd” is unknown"))

    def test_a_companion_that_does_not_answer_is_reported(self) -> Steps:
        self.set_limit("sublime_text.terminal.terminal_commands", "PATIENCE", 50)
        adapter = loaded("sublime_text.package").adapter()
        with patch.object(adapter, "ask", lambda *_: None):
            self.window.run_command("qwen_companion_copy_environment", {"shell": "sh"})
        yield lambda: self.screen.said("The companion doesn't answer")
