"""Running a CLI in a terminal, typing into its prompt, preparing another terminal.

Terminus is played by `Terminus`, so that the tests need none and start nothing.
"""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import sublime
import sublime_types

from .cli import discovery_file
from .companion_case import CompanionCase, Steps, loaded
from .terminal_case import ON_WINDOWS, SETTINGS, TerminalCase, Terminus

PREFERENCES = "Preferences.sublime-settings"
SINGLE = {"cols": [0.0, 1.0], "rows": [0.0, 1.0], "cells": [[0, 0, 1, 1]]}
ROWS: sublime_types.WindowLayout = {
    "cols": [0.0, 1.0],
    "rows": [0.0, 0.5, 1.0],
    "cells": [[0, 0, 1, 1], [0, 1, 1, 2]],
}


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
        with patch.object(loaded("clis.starting"), "settings_folder", lambda *_: self.folder / "home"):
            yield from self.run_cli()
        self.assertNotIn("--approval-mode", self.line)

    def test_the_approval_mode_of_a_project_does_not_count(self) -> Steps:
        """Others may have written it."""
        self._set_approval_mode(self.folder / ".qwen")
        with patch.object(loaded("clis.starting"), "settings_folder", lambda *_: self.folder / "home"):
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

    def test_qwen_code_is_given_the_editors_tools_only_if_the_person_has_said_so(self) -> Steps:
        start = loaded("clis.starting").Start
        looked = lambda *args: start(None, mcp="/d/mcp.json" if args[4] else "")  # noqa: E731
        with patch.object(loaded("clis.starting"), "look", looked):
            yield from self.run_cli(resume=False)
            self.assertNotIn("mcp", self.line)
            self.set_setting("agents_use_editor", True)
            yield from self.run_cli(paths=[str(self.folder)], resume=False)
            self.assertIn("qwen --approval-mode default --mcp-config /d/mcp.json", self.line)

    def test_a_conversation_of_the_folder_may_be_resumed(self) -> Steps:
        start = loaded("clis.starting").Start(None, can_resume=True)
        with patch.object(loaded("clis.starting"), "look", lambda *_: start):
            for caption, options in (("New Conversation", ""), ("Resume Conversation", " --continue")):
                before = len(self.terminus.views)
                self.window.run_command("qwen_companion_run", {"cli": "qwen", "paths": [str(self.folder)]})
                yield from self.pick(caption)
                yield lambda before=before: len(self.terminus.views) > before
                self.assertIn(f"qwen --approval-mode default{options}; exit", self.line)

    def test_the_approval_mode_of_the_persons_own_settings_is_said(self) -> Steps:
        self._set_approval_mode(self.folder / "home")
        with patch.object(loaded("clis.starting"), "settings_folder", lambda *_: self.folder / "home"):
            yield from self.run_cli()
        said = "writes without asking: its settings say “auto-edit”"
        self.assertTrue(self.screen.said(said), self.screen.messages)

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
        sentence = (
            "no-such-qwen is not on the PATH of your login shell or of Sublime Text. "
            "Install it with: npm install -g @qwen-code/qwen-code"
        )
        if ON_WINDOWS:
            self.window.run_command("qwen_companion_run", {"cli": "qwen"})
            yield lambda: self.screen.said(sentence)
        else:
            yield from self.run_cli()
            self.assertIn(sentence, self.line)
            self.assertEqual(self.args["auto_close"], "on_success", "the sentence stays")

    def test_an_unknown_cli_is_reported(self) -> None:
        self.window.run_command("qwen_companion_run", {"cli": "amp"})
        self.assertTrue(self.screen.said("no CLI “amp”", "“qwen”, “gemini”"), self.screen.messages)

    def test_with_several_folders_the_person_picks_one(self) -> Steps:
        other = self.folder / "other project"
        other.mkdir()
        self.window.set_project_data({"folders": [{"path": str(self.folder)}, {"path": str(other)}]})
        yield {"condition": lambda: str(other) in discovery_file().read_text("utf-8"), "timeout": 60_000}
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
        yield {"condition": lambda: "$file" in discovery_file().read_text("utf-8"), "timeout": 60_000}
        yield from self.run_cli()
        # Terminus expands variables.
        self.assertEqual(sublime.expand_variables(self.args["cwd"], {"file": "x"}), str(odd))
        self.assertEqual(self.mark["folder"], str(odd))

    def test_without_a_folder_a_message_asks_for_one(self) -> Steps:
        self.view.close()
        self.window.set_project_data({"folders": []})
        empty = lambda: json.loads(discovery_file().read_text("utf-8"))["workspacePath"] == ""  # noqa: E731
        yield {"condition": empty, "timeout": 60_000}
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

    def test_two_that_are_run_at_once_have_terminals_of_their_own(self) -> Steps:
        for _ in range(2):
            self.window.run_command("qwen_companion_run", {"cli": "qwen", "resume": False})
        yield lambda: len(self.terminus.views) == 2
        self.assertEqual([args["tag"] for args in self.terminus.opened], ["qwen", "qwen-2"])
        self.assertEqual([view.name() for view in self.terminus.views], ["Qwen Code", "Qwen Code 2"])

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
        other = yield from self.another_window()
        running = loaded("sublime_text.terminal.terminals").running
        self.assertEqual((len(running(self.window)), running(other)), (1, []))

    def test_a_tab_of_the_editors_last_run_is_not_running(self) -> Steps:
        yield from self.run_cli()
        self.terminal.settings().set("qwen_companion.terminal", {**self.mark, "run": "yesterday"})
        yield from self.run_cli()
        self.assertEqual(self.args["tag"], "qwen")


class TestWithoutTerminus(CompanionCase):
    """The package Terminus is missing or disabled."""

    def setUp(self) -> Steps:
        yield from super().setUp()
        self.installed: list[str] = []
        self.install: Callable[[str], object] = self.installed.append
        self.has_package_control(there=True)
        control = loaded("sublime_text.package_control")
        self.enterContext(patch.object(control, "install", self._install))

    def _install(self, name: str) -> None:
        self.install(name)

    def has_package_control(self, *, there: bool) -> None:
        self.enterContext(patch.object(loaded("sublime_text.package_control"), "is_there", lambda: there))

    def test_without_package_control_either_the_editor_is_asked_to_install_that(self) -> Steps:
        self.has_package_control(there=False)
        ran: list[str] = []
        with (
            patch.object(sublime, "find_resources", lambda _: []),
            patch.object(sublime.Window, "run_command", lambda _window, command, _args=None: ran.append(command)),
        ):
            loaded("sublime_text.terminal.terminal_commands").QwenCompanionRunCommand(self.window).run("qwen")
            self.screen.pick("Install Package Control…")
            yield lambda: "install_package_control" in ran
        self.assertTrue(
            self.screen.said("Terminus is not installed, and Package Control is missing"), self.screen.messages
        )
        self.assertEqual(self.installed, [])

    def test_a_disabled_package_control_is_enabled(self) -> Steps:
        self.has_package_control(there=False)
        preferences = self.disable("Package Control")
        with patch.object(sublime, "find_resources", lambda _: []):
            self.window.run_command("qwen_companion_run", {"cli": "qwen"})
        self.assertTrue(self.screen.said("Terminus is not installed, and Package Control is disabled"))
        self.screen.pick("Enable Package Control")
        yield lambda: preferences.get("ignored_packages") == []

    def test_an_installation_that_does_not_come_is_told(self) -> Steps:
        for limit, value in (("STEP", 1), ("INSTALL_LOOKS", 2)):
            self.set_limit("sublime_text.terminal.terminals", limit, value)
        with (
            patch.object(sublime, "find_resources", lambda _: []),
            patch.object(sublime, "ok_cancel_dialog", lambda *_: True),
        ):
            self.window.run_command("qwen_companion_run", {"cli": "qwen"})
            self.screen.pick("Install Terminus…")
            yield lambda: self.screen.said("Terminus is not installed yet. Sublime's console may say why")

    def test_the_person_is_offered_to_install_it_or_to_use_another_terminal(self) -> Steps:
        with patch.object(sublime, "find_resources", lambda _: [f"Packages/User/{SETTINGS}"]):
            self.window.run_command("qwen_companion_run", {"cli": "qwen"})
        self.assertTrue(self.screen.said("Terminus is not installed"), self.screen.messages)
        items, pick = self.screen.panels[-1]
        self.assertEqual([item.trigger for item in items], ["Install Terminus…", "Copy Terminal Environment…"])
        pick(1)
        yield lambda: len(self.screen.panels) == 2
        self.assertEqual([item.trigger for item in self.screen.panels[-1][0]], ["sh, bash, zsh", "fish", "PowerShell"])

    def disable(self, *names: str | int) -> sublime.Settings:
        """Have these packages disabled; a slip of the person may be among them. Returns the editor's settings."""
        preferences = sublime.load_settings(PREFERENCES)
        before = preferences.get("ignored_packages")
        self.addCleanup(lambda: (preferences.set("ignored_packages", before), sublime.save_settings(PREFERENCES)))
        preferences.set("ignored_packages", list(names))
        return preferences

    def test_a_disabled_terminus_is_enabled_and_not_installed(self) -> Steps:
        """To install it again would change nothing."""
        for limit, value in (("STEP", 1), ("LOADING", 0)):
            self.set_limit("sublime_text.terminal.terminals", limit, value)
        preferences, terminus = self.disable("Terminus", "Vintage", 7), Terminus(self)
        self.window.run_command("qwen_companion_run", {"cli": "qwen"})
        self.assertTrue(self.screen.said("Terminus is disabled", "“Package Control: Enable Package”"))
        self.assertFalse(self.screen.said("not installed"))
        items, _ = self.screen.panels[-1]
        self.assertEqual([item.trigger for item in items], ["Enable Terminus", "Copy Terminal Environment…"])
        self.screen.pick("Enable Terminus")
        yield lambda: terminus.opened
        self.assertEqual((preferences.get("ignored_packages"), self.installed), (["Vintage", 7], []))

    def test_a_disabled_terminus_that_is_not_there_is_offered_to_be_installed(self) -> Steps:
        for limit, value in (("STEP", 1), ("ENABLE_LOOKS", 2)):
            self.set_limit("sublime_text.terminal.terminals", limit, value)
        self.disable("Terminus")
        with patch.object(sublime, "find_resources", lambda _: []):
            self.window.run_command("qwen_companion_run", {"cli": "qwen"})
            self.screen.pick("Enable Terminus")
            yield lambda: self.screen.said("Terminus is not installed")
        self.assertEqual(self.screen.panels[-1][0][0].trigger, "Install Terminus…")

    def test_package_control_installs_it_after_one_question(self) -> Steps:
        asked: list[str] = []
        for answer in (False, True):
            with (
                patch.object(sublime, "find_resources", lambda _: []),
                patch.object(sublime, "ok_cancel_dialog", lambda text, *_, a=answer: (asked.append(text), a)[1]),
            ):
                self.window.run_command("qwen_companion_run", {"cli": "qwen"})
                self.screen.pick("Install Terminus…")
                yield 100
            self.assertEqual(self.installed, ["Terminus"] if answer else [])
        self.assertEqual(len(asked), 2)

    def test_the_cli_runs_once_it_is_installed(self) -> Steps:
        self.set_limit("sublime_text.terminal.terminals", "LOADING", 0)
        terminus = Terminus(self)
        terminus.is_there = False
        self.install = lambda _: sublime.set_timeout(lambda: setattr(terminus, "is_there", True), 100)
        with patch.object(sublime, "ok_cancel_dialog", lambda *_: True):
            self.window.run_command("qwen_companion_run", {"cli": "qwen"})
            self.screen.pick("Install Terminus…")
            yield lambda: terminus.opened
        self.assertIn("qwen", " ".join(terminus.opened[0]["cmd"]))

    def test_each_cli_runs_once_if_the_person_has_terminus_installed_several_times(self) -> Steps:
        """Nothing is to be seen yet, so they ask again, and for another CLI, too."""
        for limit, value in (("STEP", 1), ("LOADING", 0)):
            self.set_limit("sublime_text.terminal.terminals", limit, value)
        terminus = Terminus(self)
        terminus.is_there = False
        with patch.object(sublime, "ok_cancel_dialog", lambda *_: True):
            for cli in ("qwen", "qwen", "gemini"):
                self.window.run_command("qwen_companion_run", {"cli": cli})
                self.screen.pick("Install Terminus…")
            yield lambda: len(self.installed) == 3
            terminus.is_there = True
            yield lambda: len(terminus.opened) > 1
            yield 300  # for a third one, which there must not be
        self.assertEqual({each["title"] for each in terminus.opened}, {"Qwen Code", "Gemini CLI"})
        self.assertEqual(len(terminus.opened), 2)

    def test_a_terminal_that_does_not_open_is_told(self) -> Steps:
        """The package is on the disk, and does not run yet."""
        self.set_limit("sublime_text.terminal.terminals", "OPENING", 1)
        terminus = Terminus(self)
        with patch.object(terminus, "_open", lambda *_: None):
            self.window.run_command("qwen_companion_run", {"cli": "qwen"})
            yield lambda: terminus.opened
            yield lambda: self.screen.said("Terminus has opened no terminal for Qwen Code yet")

    def test_a_terminal_that_opens_is_not_told(self) -> Steps:
        self.set_limit("sublime_text.terminal.terminals", "OPENING", 1000)
        terminus = Terminus(self)
        self.window.run_command("qwen_companion_run", {"cli": "qwen"})
        yield lambda: terminus.views
        yield 1200
        self.assertFalse(self.screen.said("has opened no terminal"))

    def test_a_terminal_that_opens_after_a_reload_is_not_told(self) -> Steps:
        """Only the next instance of the package hears of it."""
        self.set_limit("sublime_text.terminal.terminals", "OPENING", 1000)
        terminals = loaded("sublime_text.terminal.terminals")
        terminus = Terminus(self)
        heard = lambda view, mark: view.settings().set(terminals.TERMINAL_SETTING, mark)  # noqa: E731
        with patch.object(terminals, "opened", heard):
            self.window.run_command("qwen_companion_run", {"cli": "qwen"})
            yield lambda: terminus.views
            yield 1200
        self.assertFalse(self.screen.said("has opened no terminal"))


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
        self.assertEqual(
            self.captions(), ["Run Qwen Code", "Run Gemini CLI", "Run Claude Code", "Run Copilot CLI", "Run OpenCode"]
        )
        yield from self.pick("Run Qwen Code")
        yield lambda: self.terminus.opened
