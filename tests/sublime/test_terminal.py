"""Running a CLI in a terminal, typing into its prompt, preparing another terminal.

Terminus is played by `Terminus`, so that the tests need none and start nothing.
"""

from __future__ import annotations

import importlib
import json
import os
import shlex
from pathlib import Path
from typing import Any
from unittest import TestCase
from unittest.mock import patch

import sublime
import sublime_types

from .cli import discovery_file
from .companion_case import CompanionCase, Steps, loaded

SINGLE = {"cols": [0.0, 1.0], "rows": [0.0, 1.0], "cells": [[0, 0, 1, 1]]}
ROWS: sublime_types.WindowLayout = {
    "cols": [0.0, 1.0],
    "rows": [0.0, 0.5, 1.0],
    "cells": [[0, 0, 1, 1], [0, 1, 1, 2]],
}
ON_WINDOWS = os.name == "nt"
SETTINGS = "Terminus.sublime-settings"


class Terminus:
    """What the package Terminus does with a terminal's view, without a process in it."""

    def __init__(self, test: TestCase) -> None:
        self.opened: list[dict[str, Any]] = []
        """The arguments of each `terminus_open`."""
        self.sent: list[dict[str, Any]] = []
        """The arguments of each `terminus_send_string`."""
        self.views: list[sublime.View] = []
        self.is_there = True
        """Whether the package is installed."""
        self._run = sublime.Window.run_command
        play = lambda window, command, args=None: self._played(window, command, args)  # noqa: E731
        resources = sublime.find_resources
        own = f"Packages/Terminus/{SETTINGS}"
        found = lambda pattern: [own] * self.is_there if pattern == SETTINGS else resources(pattern)  # noqa: E731
        for patcher in (
            patch.object(sublime.Window, "run_command", play),
            patch.object(sublime, "find_resources", found),
        ):
            patcher.start()
            test.addCleanup(patcher.stop)

    def open(self, window: sublime.Window, title: str) -> sublime.View:
        """Open a terminal as the person does, by Terminus's own command."""
        self._open(window, {"title": title, "show_in_panel": False})
        return self.views[-1]

    def _played(self, window: sublime.Window, command: str, args: dict[str, Any] | None) -> None:
        if command == "terminus_open":
            self.opened.append(json.loads(json.dumps(args)))
            sublime.set_timeout(lambda: self._open(window, args or {}))
        elif command == "terminus_send_string":
            self.sent.append(args or {})
        else:
            self._run(window, command, args)

    def _open(self, window: sublime.Window, args: dict[str, Any]) -> None:
        panel = args.get("panel_name")
        view = window.create_output_panel(panel) if panel else window.new_file()
        view.set_name(args["title"])
        view.set_scratch(True)
        view.settings().set("terminus_view", True)
        view.settings().set("terminus_view.args", args)
        if panel:
            self._run(window, "show_panel", {"panel": f"output.{panel}"})
        window.focus_view(view)
        for command, arguments in args.get("post_view_hooks", []):
            view.run_command(command, arguments)
        self.views.append(view)


class TerminalCase(CompanionCase):
    """A window, a CLI that is connected to it, and Terminus."""

    def setUp(self) -> Steps:
        yield from super().setUp()
        self.terminus = Terminus(self)
        if ON_WINDOWS:  # the package itself looks for the program there
            programs = loaded("platforms.programs")
            found = lambda words, _: None if words[0].startswith("no-such") else list(words)  # noqa: E731
            patcher = patch.object(programs, "resolve", found)
            patcher.start()
            self.addCleanup(patcher.stop)

    def run_cli(self, cli: str = "qwen", **args: Any) -> Steps:
        """Run a CLI and wait for its terminal: self.terminal."""
        before = len(self.terminus.views)
        self.window.run_command("qwen_companion_run", {"cli": cli, **args})
        yield lambda: len(self.terminus.views) > before
        self.terminal = self.terminus.views[-1]

    def pick(self, caption: str) -> Steps:
        """Wait for a quick panel with that item, and pick it."""
        yield lambda: self.screen.panels and caption in self.captions()
        items, pick = self.screen.panels.pop()
        pick([item.trigger for item in items].index(caption))

    def captions(self) -> list[str]:
        """The items of the latest quick panel."""
        return [item.trigger for item in self.screen.panels[-1][0]]

    @property
    def args(self) -> dict[str, Any]:
        """What Terminus was told last."""
        return self.terminus.opened[-1]

    @property
    def mark(self) -> dict[str, Any]:
        """What the package remembers of the latest terminal."""
        mark: Any = self.terminal.settings().get("qwen_companion.terminal")
        return mark

    @property
    def line(self) -> str:
        """The command line of the CLI that was run last."""
        return " ".join(self.args["cmd"])


class TestRun(TerminalCase):
    """qwen_companion_run."""

    def test_qwen_code_runs_in_the_folder_and_asks_before_it_edits(self) -> Steps:
        yield from self.run_cli()
        self.assertEqual(self.args["cwd"], str(self.folder))
        self.assertEqual((self.args["title"], self.args["tag"]), ("Qwen Code", "qwen"))
        self.assertIn("qwen --approval-mode default", self.line)

    def test_the_approval_mode_of_the_persons_own_settings_counts(self) -> Steps:
        """Unless the person set one."""
        self._set_approval_mode(self.folder / "home")
        with patch.object(loaded("clis.settings"), "settings_folder", lambda *_: self.folder / "home"):
            yield from self.run_cli()
        self.assertNotIn("--approval-mode", self.line)

    def test_the_approval_mode_of_a_project_does_not_count(self) -> Steps:
        """Others may have written it."""
        self._set_approval_mode(self.folder / ".qwen")
        with patch.object(loaded("clis.settings"), "settings_folder", lambda *_: self.folder / "home"):
            yield from self.run_cli()
        self.assertIn("qwen --approval-mode default", self.line)

    def _set_approval_mode(self, folder: Path) -> None:
        folder.mkdir()
        (folder / "settings.json").write_text('{"tools": {"approvalMode": "auto-edit"}}')

    def test_all_variables_of_the_window_are_in_the_environment(self) -> Steps:
        yield from self.run_cli("gemini")
        told = json.loads(discovery_file().read_text("utf-8"))
        env = self.args["env"]
        self.assertEqual(env["QWEN_CODE_IDE_SERVER_PORT"], str(told["port"]))
        self.assertEqual(env["QWEN_CODE_IDE_WORKSPACE_PATH"], str(self.folder))
        self.assertEqual(env["GEMINI_CLI_IDE_SERVER_PORT"], str(told["port"]))
        self.assertEqual(env["GEMINI_CLI_IDE_WORKSPACE_PATH"], str(self.folder))
        self.assertEqual(env["GEMINI_CLI_IDE_PID"], str(os.getppid()))
        self.assertEqual(env["TERM_PROGRAM"], "sublime")
        self.assertGreater(len(env["GEMINI_CLI_IDE_AUTH_TOKEN"]), 32)
        self.assertNotEqual(env["GEMINI_CLI_IDE_AUTH_TOKEN"], told["authToken"], "that of Qwen Code")

    def test_a_restored_tab_does_not_start_the_cli_again_and_holds_no_token(self) -> Steps:
        yield from self.run_cli("gemini")
        self.assertIs(self.args["reactivable"], False)
        kept = str(self.terminal.settings().to_dict())
        self.assertNotIn(self.args["env"]["GEMINI_CLI_IDE_AUTH_TOKEN"], kept)
        self.assertNotIn(self.args["env"]["GEMINI_CLI_IDE_AUTH_TOKEN"], " ".join(self.screen.messages))

    def test_a_shell_stays_above_the_cli(self) -> Steps:
        yield from self.run_cli()
        if ON_WINDOWS:
            self.assertEqual(self.args["cmd"][0], "cmd.exe")
        else:
            shell, *options, script = self.args["cmd"]
            self.assertTrue(os.path.isabs(shell), shell)
            self.assertEqual(options, ["-i", "-l", "-c"])
            self.assertTrue(script.endswith("; exit"), script)

    def test_gemini_cli_has_a_terminal_of_its_own(self) -> Steps:
        yield from self.run_cli()
        yield from self.run_cli("gemini")
        self.assertEqual((self.args["title"], self.args["tag"]), ("Gemini CLI", "gemini"))
        self.assertNotIn("--approval-mode", self.line)

    def test_the_last_conversation_is_resumed(self) -> Steps:
        yield from self.run_cli(resume=True)
        self.assertIn("qwen --approval-mode default --continue", self.line)
        yield from self.run_cli("gemini", resume=True)
        self.assertIn("gemini --resume latest", self.line)

    def test_the_setting_decides_what_is_run(self) -> Steps:
        self.set_setting("qwen_command", ["npx", "-y", "my qwen", "--approval-mode=auto-edit"])
        yield from self.run_cli()
        if not ON_WINDOWS:
            self.assertIn("npx -y 'my qwen' --approval-mode=auto-edit; exit", self.line)
        self.assertNotIn("default", self.line)

    def test_a_line_for_the_shell_is_run_as_it_is(self) -> Steps:
        self.set_setting("gemini_command", "FOO=1 gemini --model 'a b'")
        yield from self.run_cli("gemini")
        if not ON_WINDOWS:
            self.assertIn("; FOO=1 gemini --model 'a b'; exit", self.line)

    def test_a_missing_program_is_reported_in_one_sentence(self) -> Steps:
        self.set_setting("qwen_command", ["no-such-qwen"])
        sentence = "no-such-qwen was not found. Install it with: npm install -g @qwen-code/qwen-code"
        if ON_WINDOWS:
            self.window.run_command("qwen_companion_run", {"cli": "qwen"})
            yield lambda: self.screen.said(sentence)
        else:
            yield from self.run_cli()
            self.assertIn(sentence, self.line)
            self.assertEqual(self.args["auto_close"], "on_success", "the sentence stays")

    def test_an_unknown_cli_is_reported(self) -> None:
        self.window.run_command("qwen_companion_run", {"cli": "claude"})
        self.assertTrue(self.screen.said("no CLI “claude”", "“qwen”, “gemini”"), self.screen.messages)

    def test_with_several_folders_the_person_picks_one(self) -> Steps:
        other = self.folder / "other project"
        other.mkdir()
        self.window.set_project_data({"folders": [{"path": str(self.folder)}, {"path": str(other)}]})
        yield {"condition": lambda: str(other) in discovery_file().read_text("utf-8"), "timeout": 20_000}
        yield from self.open_view("other project/x.py")
        self.window.run_command("qwen_companion_run", {"cli": "qwen"})
        yield lambda: self.screen.panels
        self.assertEqual(self.screen.selected[-1], 1, "the folder of the active file, the innermost one")
        yield from self.pick("other project")
        yield lambda: self.terminus.opened
        self.assertEqual(self.args["cwd"], str(other))

    def test_a_dollar_sign_in_the_name_of_the_folder_is_not_expanded(self) -> Steps:
        odd = self.folder / "$file"
        odd.mkdir()
        self.window.set_project_data({"folders": [{"path": str(odd)}]})
        yield {"condition": lambda: "$file" in discovery_file().read_text("utf-8"), "timeout": 20_000}
        yield from self.run_cli()
        # Terminus expands variables.
        self.assertEqual(sublime.expand_variables(self.args["cwd"], {"file": "x"}), str(odd))
        self.assertEqual(self.mark["folder"], str(odd))

    def test_without_a_folder_a_message_asks_for_one(self) -> Steps:
        self.view.close()
        self.window.set_project_data({"folders": []})
        empty = lambda: json.loads(discovery_file().read_text("utf-8"))["workspacePath"] == ""  # noqa: E731
        yield {"condition": empty, "timeout": 20_000}
        self.window.run_command("qwen_companion_run", {"cli": "qwen"})
        yield lambda: self.screen.said("Open a folder first")
        self.assertEqual(self.terminus.opened, [])


class TestWhere(TerminalCase):
    """The setting terminal_location."""

    def test_a_panel_below_the_text_by_default(self) -> Steps:
        yield from self.run_cli()
        self.assertEqual(self.args["panel_name"], "Qwen Code")
        self.assertEqual(self.terminal, self.window.find_output_panel("Qwen Code"))
        self.assertEqual(self.focused(), self.terminal)

    def test_a_tab_opens(self) -> Steps:
        self.set_setting("terminal_location", "tab")
        yield from self.run_cli()
        self.assertNotIn("panel_name", self.args)
        self.assertIs(self.args["show_in_panel"], False)
        self.assertEqual(self.window.num_groups(), 1)
        self.assertEqual(self.window.active_view(), self.terminal)

    def test_a_split_is_beside_the_text_and_goes_with_the_terminal(self) -> Steps:
        self.set_setting("terminal_location", "split")
        yield from self.run_cli()
        self.assertEqual(self.window.get_view_index(self.terminal), (1, 0))
        self.assertEqual(self.window.get_view_index(self.view), (0, 0))
        self.terminal.close()
        yield lambda: self.window.layout() == SINGLE
        self.assertEqual(self.window.get_view_index(self.view), (0, 0))

    def test_a_split_stays_as_long_as_something_else_is_in_it(self) -> Steps:
        self.set_setting("terminal_location", "split")
        yield from self.run_cli()
        yield from self.open_view("other.py")
        self.assertEqual(self.window.get_view_index(self.opened)[0], 1)
        self.terminal.close()
        yield 200
        self.assertEqual(self.window.num_groups(), 2)

    def test_a_layout_that_the_person_has_chosen_since_stays(self) -> Steps:
        self.set_setting("terminal_location", "split")
        yield from self.run_cli()
        self.window.set_layout(ROWS)
        self.terminal.close()
        yield 200
        self.assertEqual(self.window.layout(), ROWS)

    def test_the_persons_own_groups_stay(self) -> Steps:
        self.set_setting("terminal_location", "split")
        self.window.set_layout(ROWS)
        yield from self.run_cli()
        self.assertEqual(self.window.layout(), ROWS)
        self.assertEqual(self.window.get_view_index(self.terminal)[0], 1)
        self.terminal.close()
        yield 200
        self.assertEqual(self.window.layout(), ROWS)


class TestRunAgain(TerminalCase):
    """A CLI of the family is running in the window."""

    def test_the_running_one_is_shown_or_another_is_run(self) -> Steps:
        yield from self.run_cli()
        first = self.terminal
        self.window.focus_view(self.view)
        self.window.run_command("qwen_companion_run", {"cli": "qwen"})
        self.assertEqual(self.captions(), ["Show Qwen Code", "Run Another Qwen Code"])
        yield from self.pick("Show Qwen Code")
        yield lambda: self.focused() == first and self.window.active_panel() == "output.Qwen Code"
        self.assertEqual(len(self.terminus.opened), 1)
        self.window.run_command("qwen_companion_run", {"cli": "qwen"})
        yield from self.pick("Run Another Qwen Code")
        yield lambda: len(self.terminus.views) == 2
        # The same tag would end the first.
        self.assertEqual((self.args["tag"], self.args["panel_name"]), ("qwen-2", "Qwen Code 2"))

    def test_one_that_has_ended_is_not_running(self) -> Steps:
        yield from self.run_cli()
        self.terminal.settings().set("terminus_view.finished", True)
        yield from self.run_cli()
        self.assertEqual(self.args["tag"], "qwen")

    def test_one_that_was_started_before_a_reload_is_running(self) -> Steps:
        yield from self.run_cli()
        anew = importlib.reload(loaded("sublime_text.terminal.terminals"))
        self.assertEqual([one.tag for one in anew.running(self.window)], ["qwen"])

    def test_one_of_another_window_is_not_running_in_this_one(self) -> Steps:
        yield from self.run_cli()
        sublime.run_command("new_window")
        yield lambda: sublime.active_window() != self.window
        other = sublime.active_window()
        self.addCleanup(other.run_command, "close_window")
        running = loaded("sublime_text.terminal.terminals").running
        self.assertEqual((len(running(self.window)), running(other)), (1, []))

    def test_a_tab_of_the_editors_last_run_is_not_running(self) -> Steps:
        yield from self.run_cli()
        self.terminal.settings().set("qwen_companion.terminal", {**self.mark, "run": "yesterday"})
        yield from self.run_cli()
        self.assertEqual(self.args["tag"], "qwen")


class TestWithoutTerminus(CompanionCase):
    """The package Terminus is missing."""

    def test_the_person_is_offered_to_install_it_or_to_use_another_terminal(self) -> Steps:
        with patch.object(sublime, "find_resources", lambda _: [f"Packages/User/{SETTINGS}"]):
            self.window.run_command("qwen_companion_run", {"cli": "qwen"})
        self.assertTrue(self.screen.said("Terminus is not installed"), self.screen.messages)
        items, pick = self.screen.panels[-1]
        self.assertEqual([item.trigger for item in items], ["Install Terminus…", "Copy Terminal Environment…"])
        pick(1)
        yield lambda: len(self.screen.panels) == 2
        self.assertEqual([item.trigger for item in self.screen.panels[-1][0]], ["sh, bash, zsh", "fish", "PowerShell"])

    def test_package_control_installs_it_after_one_question(self) -> Steps:
        asked: list[str] = []
        installed: list[Any] = []
        original = sublime.Window.run_command

        def run(window: sublime.Window, command: str, args: Any = None) -> None:
            if command == "advanced_install_package":
                installed.append(args)
            else:
                original(window, command, args)

        for answer in (False, True):
            with (
                patch.object(sublime, "find_resources", lambda _: []),
                patch.object(sublime.Window, "run_command", run),
                patch.object(sublime, "ok_cancel_dialog", lambda text, *_, a=answer: (asked.append(text), a)[1]),
            ):
                self.window.run_command("qwen_companion_run", {"cli": "qwen"})
                self.screen.pick("Install Terminus…")
                yield 100
            self.assertEqual(installed, [{"packages": ["Terminus"]}] if answer else [])
        self.assertEqual(len(asked), 2)


class TestShow(TerminalCase):
    """qwen_companion_show_terminal."""

    def show(self) -> None:
        self.window.run_command("qwen_companion_show_terminal")

    def test_it_shows_the_terminal_that_had_the_focus_last_and_leaves_it_again(self) -> Steps:
        yield from self.run_cli()
        yield from self.run_cli("gemini")
        self.window.focus_view(self.view)
        yield lambda: self.focused() == self.view
        self.show()
        yield lambda: self.focused() == self.terminal and self.window.active_panel() == "output.Gemini CLI"
        self.show()
        yield lambda: self.focused() == self.view and self.window.active_panel() is None
        self.assertEqual(self.screen.panels, [], "it never asks")

    def test_a_terminal_in_a_tab_is_left_for_the_last_file(self) -> Steps:
        self.set_setting("terminal_location", "tab")
        yield from self.run_cli()
        self.show()
        yield lambda: self.focused() == self.view
        self.show()
        yield lambda: self.focused() == self.terminal

    def test_without_a_cli_one_is_offered(self) -> Steps:
        self.show()
        self.assertTrue(self.screen.said("No CLI runs in a terminal of this window"))
        self.assertEqual(self.captions(), ["Run Qwen Code", "Run Gemini CLI"])
        yield from self.pick("Run Qwen Code")
        yield lambda: self.terminus.opened


class TestSend(TerminalCase):
    """qwen_companion_send_file, …_line, …_selection."""

    def setUp(self) -> Steps:
        yield from super().setUp()
        yield from self.open_view("src/some file.py" if not ON_WINDOWS else "src/some-file.py", "".join("line\n" * 9))
        yield from self.run_cli()

    def open_view(self, name: str, text: str = "x\n") -> Steps:
        (self.folder / name).parent.mkdir(exist_ok=True)
        yield from super().open_view(name, text)

    def send(self, what: str, view: sublime.View | None = None) -> None:
        self.window.focus_view(view or self.opened)
        self.window.run_command(f"qwen_companion_send_{what}")

    def select_in_file(self, *regions: tuple[int, int]) -> None:
        self.opened.sel().clear()
        self.opened.sel().add_all([sublime.Region(*region) for region in regions])

    def texts(self) -> list[str]:
        return [args["string"] for args in self.terminus.sent]

    @property
    def name(self) -> str:
        return "@src/some-file.py" if ON_WINDOWS else r"@src/some\ file.py"

    def test_a_file_is_named_as_seen_from_the_clis_folder(self) -> None:
        self.send("file")
        self.assertEqual(self.terminus.sent, [{"string": f"{self.name} ", "bracketed": True, "tag": "qwen"}])

    def test_the_line_of_the_caret_is_sent(self) -> None:
        self.select_in_file((5, 5))
        self.send("line")
        self.select_in_file((5, 5), (21, 21))
        self.send("line")
        self.assertEqual(self.texts(), [f"{self.name} line 2 ", f"{self.name} lines 2, 5 "])

    def test_the_selected_lines_are_sent(self) -> None:
        self.select_in_file((7, 12))
        self.send("selection")
        self.assertEqual(self.texts(), [f"{self.name} lines 2-3 "])

    def test_a_selection_up_to_the_start_of_a_line_does_not_include_it(self) -> None:
        self.select_in_file((5, 15))
        self.send("selection")
        self.assertEqual(self.texts(), [f"{self.name} lines 2-3 "])

    def test_several_selections_are_sent_as_ranges_of_lines(self) -> None:
        self.select_in_file((1, 3), (10, 14), (16, 19), (35, 38))
        self.send("selection")
        self.assertEqual(self.texts(), [f"{self.name} lines 1, 3-4, 8 "])

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
        self.window.run_command("qwen_companion_send_file", {"paths": paths})
        self.assertEqual(self.texts(), [])

    def test_the_focus_goes_to_the_prompt(self) -> Steps:
        self.window.focus_view(self.opened)
        self.send("file")
        yield lambda: self.focused() == self.terminal

    def test_in_a_terminal_the_last_file_is_sent(self) -> None:
        self.window.focus_view(self.terminal)
        self.send("file", self.terminal)
        self.assertEqual(self.texts(), [f"{self.name} "])

    def test_a_tab_without_a_file_cannot_be_sent(self) -> None:
        self.opened = self.window.new_file()
        self.opened.set_scratch(True)
        self.opened.run_command("append", {"characters": "text"})
        self.send("file")
        self.assertEqual(self.texts(), [])
        self.assertTrue(self.screen.said("no file yet", "Save it first"))

    def test_a_message_says_that_unsaved_changes_are_not_sent(self) -> None:
        self.edit(self.opened, "changed")
        self.send("file")
        self.assertEqual(self.texts(), [f"{self.name} "])
        self.assertTrue(self.screen.said("unsaved changes", "as it is on the disk"))
        self.assertTrue(self.opened.is_dirty(), "saving is the person's")

    def test_a_file_outside_the_clis_folder_has_its_full_path(self) -> Steps:
        self.terminal.settings().set("qwen_companion.terminal", {**self.mark, "folder": str(self.folder / "src")})
        self.send("file", self.view)
        yield self.texts
        self.assertEqual(self.texts()[0].replace("\\", ""), f"@{str(self.file).replace(os.sep, '/')} ")

    def test_the_cli_that_had_the_focus_last_gets_it(self) -> Steps:
        first = self.terminal
        yield from self.run_cli("gemini")
        self.window.focus_view(self.opened)
        self.send("file")
        self.window.focus_view(first)
        self.window.focus_view(self.opened)
        self.send("file")
        self.assertEqual([args["tag"] for args in self.terminus.sent], ["gemini", "qwen"])

    def test_if_no_cli_ever_had_the_focus_the_person_picks_one(self) -> Steps:
        yield from self.run_cli("gemini")
        for view in self.terminus.views:
            view.settings().erase("qwen_companion.terminal_focused_at")
        self.send("file")
        self.assertEqual(sorted(self.captions()), ["Send to Gemini CLI", "Send to Qwen Code"])
        yield from self.pick("Send to Gemini CLI")
        yield lambda: self.terminus.sent
        self.assertEqual(self.terminus.sent[-1]["tag"], "gemini")

    def test_a_cli_that_has_ended_gets_nothing(self) -> None:
        self.terminal.settings().set("terminus_view.finished", True)
        self.send("file")
        self.assertEqual(self.texts(), [])
        self.assertEqual(self.captions(), ["Run Qwen Code", "Run Gemini CLI"])


class TestSendToNobody(TerminalCase):
    """No CLI was started in the window."""

    def test_the_person_is_offered_to_run_one(self) -> Steps:
        self.window.run_command("qwen_companion_send_file")
        self.assertEqual(self.captions(), ["Run Qwen Code", "Run Gemini CLI"])
        yield from self.pick("Run Gemini CLI")
        yield lambda: self.terminus.opened
        self.assertEqual(self.args["tag"], "gemini")

    def test_a_terminal_of_the_persons_own_may_get_it(self) -> Steps:
        own = self.terminus.open(self.window, "Login Shell")
        self.window.focus_view(self.view)
        self.window.run_command("qwen_companion_send_file")
        self.assertEqual(self.captions()[0], "Send to Login Shell")
        yield from self.pick("Send to Login Shell")
        yield lambda: self.terminus.sent
        self.assertEqual(self.window.active_view(), own)
        self.assertNotIn("tag", self.terminus.sent[-1], "Terminus takes the one in focus")


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
        self.set_limit("sublime_text.terminal.commands", "PATIENCE", 50)
        adapter = loaded("sublime_text.package").adapter()
        with patch.object(adapter, "ask", lambda *_: None):
            self.window.run_command("qwen_companion_copy_environment", {"shell": "sh"})
        yield lambda: self.screen.said("The companion doesn't answer")
