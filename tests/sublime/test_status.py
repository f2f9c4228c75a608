"""The status bar, the status report, and settings that change, as a person sees them."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import sublime

from .cli import discovery_file
from .companion_case import CompanionCase, Steps, at_once, loaded, text_of
from .own import kind_of, tabs, value

KEY = "zz_qwen_companion"
BETTER = 'def greet(name):\n    print(f"hi {name}")\n'


class TestStatusBar(CompanionCase):
    def status(self) -> str:
        view = self.window.active_view()
        assert view
        return view.get_status(KEY)

    def test_it_shows_who_is_connected_and_what_waits(self) -> Steps:
        yield lambda: self.status() == "Qwen Code"
        yield from self.open_diff(BETTER)
        yield lambda: self.status() == "Qwen Code · 1 diff (F8)"
        self.proposal.run_command("qwen_companion_reject_diff")
        yield from self.closed()
        yield lambda: self.status() == "Qwen Code"

    def test_it_shows_that_nobody_is_connected_if_that_is_wanted(self) -> Steps:
        self.cli.close()
        yield {"condition": lambda: self.status() == "", "timeout": 60_000}
        self.set_setting("show_status", "always")
        yield {"condition": lambda: self.status() == "QwenCompanion: no CLI is connected", "timeout": 60_000}

    def test_it_counts_two_clis_of_a_kind(self) -> Steps:
        yield from self.done(self.connect().connected)
        yield lambda: self.status() == "Qwen Code ×2"

    def test_a_view_that_gets_the_focus_shows_it(self) -> Steps:
        yield lambda: self.status() == "Qwen Code"
        other = self.window.new_file()
        self.window.focus_view(other)
        yield lambda: other.get_status(KEY) == "Qwen Code"

    def test_it_can_be_turned_off(self) -> Steps:
        yield lambda: self.status() == "Qwen Code"
        self.set_setting("show_status", "never")
        yield lambda: not self.status()
        self.set_setting("show_status", "always")
        yield lambda: self.status() == "Qwen Code"

    def test_it_can_be_shown_only_while_a_cli_is_connected(self) -> Steps:
        self.set_setting("show_status", "connected")
        yield lambda: self.status() == "Qwen Code"
        self.cli.close()
        yield {"condition": lambda: self.status() == "", "timeout": 60_000}
        self.set_setting("show_status", "always")
        yield lambda: self.status() == "QwenCompanion: no CLI is connected"

    def test_a_window_without_a_folder_and_a_cli_shows_nothing(self) -> Steps:
        self.set_setting("show_status", "always")
        self.cli.close()
        yield {"condition": lambda: self.status() == "QwenCompanion: no CLI is connected", "timeout": 60_000}
        self.window.set_project_data({"folders": []})
        self.set_setting("show_status", "connected")
        self.set_setting("show_status", "always")
        yield lambda: self.status() == ""

    def test_a_window_that_has_closed_is_counted_no_more_even_if_its_status_comes_late(self) -> Steps:
        status = loaded("status.facts").WindowStatus
        bar = loaded("sublime_text.status").StatusBar(loaded("sublime_text.package").adapter())
        other = yield from self.another_window()
        at_once(bar.show_status, other.id(), status((), 1))
        self.assertIn("1 diff in another window", self.status())
        other.run_command("close_window")
        yield lambda: not other.is_valid()
        bar.forget(other)
        at_once(bar.show_status, other.id(), status((), 2))
        self.assertNotIn("another window", self.status())

    def test_its_texts(self) -> None:
        module, status = loaded("sublime_text.status"), loaded("status.facts").WindowStatus
        self.assertEqual(module.status_text(None), "QwenCompanion: off")
        self.assertEqual(module.status_text(status((), 2)), "2 diffs (F8)")
        self.assertEqual(module.status_text(status(("A", "B", "A"), 1)), "A ×2, B · 1 diff (F8)")
        silent = status(("A", "B", "A"), unasking=("A",))
        self.assertEqual(module.status_text(silent), "A ×2 · doesn't ask, B")


class TestMessages(CompanionCase):
    def setUp(self) -> Steps:
        yield from super().setUp()
        self.adapter = loaded("sublime_text.package").adapter()
        self.notices = self.adapter.messenger
        self.notices.seen(self.window)

    def status(self) -> str:
        view = self.window.active_view()
        assert view
        return view.get_status(KEY)

    def log(self) -> str:
        panel = self.window.find_output_panel("QwenCompanion")
        return text_of(panel) if panel else ""

    def test_what_needs_an_action_stays_in_the_status_bar_until_it_is_seen(self) -> Steps:
        self.adapter.messenger.say("Do something.", self.window.id())
        self.adapter.messenger.say("Do something.", self.window.id())
        yield lambda: self.status() == "Qwen Code · ⚠ 1 message: Show Log"
        self.adapter.messenger.say("Do more.")
        yield lambda: self.status() == "Qwen Code · ⚠ 2 messages: Show Log"
        other = self.window.new_file()
        self.window.focus_view(other)
        yield lambda: other.get_status(KEY) == "Qwen Code · ⚠ 2 messages: Show Log"
        self.window.run_command("qwen_companion_show_log")
        yield lambda: self.status() == "Qwen Code"

    def test_the_log_has_every_message_with_its_time_and_goes_on(self) -> Steps:
        self.adapter.messenger.mention("Something happened.", self.window.id())
        self.adapter.messenger.say("Do something.", self.window.id())
        yield lambda: self.screen.said("Do something.")
        self.window.run_command("qwen_companion_show_log")
        self.assertEqual(self.window.active_panel(), "output.QwenCompanion")
        self.assertRegex(self.log(), r"(?m)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d    Something happened\.$")
        self.assertRegex(self.log(), r"(?m)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  ! Do something\.$")
        self.adapter.messenger.mention("More happened.", self.window.id())
        yield lambda: self.log().endswith("More happened.\n")
        panel = self.window.find_output_panel("QwenCompanion")
        assert panel
        self.assertTrue(panel.is_read_only())

    def test_the_rest_goes_by_itself(self) -> Steps:
        self.adapter.messenger.mention("Something happened.", self.window.id())
        yield lambda: self.screen.said("Something happened.")
        self.assertNotIn("message", self.status())

    def test_a_setting_that_was_corrected_asks_for_nothing_any_more(self) -> Steps:
        self.set_setting("diff_layout", "both")
        yield lambda: "1 message" in self.status()
        self.set_setting("diff_layout", "inline")
        yield lambda: self.status() == "Qwen Code"

    def test_a_message_for_another_window_is_not_shown_in_this_one(self) -> Steps:
        other = yield from self.another_window()
        self.adapter.messenger.say("Do something.", other.id())
        yield lambda: self.screen.said("Do something.")
        self.assertNotIn("message", self.status())


class TestReport(CompanionCase):
    def report(self) -> Steps:
        """Open the report and wait for all of it: self.view and self.text."""
        self.window.run_command("qwen_companion_status")
        [self.view] = tabs(self.window, "status")
        self.assertIn("Asking the companion", text_of(self.view))
        yield {"condition": lambda: "\nLibraries\n" in text_of(self.view), "timeout": 60_000}
        self.text = text_of(self.view)

    def test_it_describes_the_window(self) -> Steps:
        yield from self.open_diff(BETTER)
        yield from self.report()
        for part in (
            f"Sublime Text {sublime.version()}",
            f"Window {self.window.id()}, this one",
            str(self.cli.port),
            str(self.folder),
            f"{discovery_file()}: ours",
            "Qwen Code since ",
            f"{self.file} (Qwen Code)",
            "mcp ",
        ):
            self.assertIn(part, self.text)

    def test_its_view_is_scratch_and_read_only_and_there_once(self) -> Steps:
        yield from self.report()
        self.assertTrue(self.view.is_scratch())
        self.assertTrue(self.view.is_read_only())
        self.assertIsNone(self.view.file_name())
        first = self.view.id()
        yield from self.report()
        self.assertEqual(self.view.id(), first)

    def test_a_report_view_may_be_closed_at_once(self) -> Steps:
        self.window.run_command("qwen_companion_status")
        for view in self.window.views():
            if kind_of(view) == "status":
                view.close()
        yield 500

    def test_the_copy_has_no_secrets(self) -> Steps:
        sublime.set_clipboard("")
        self.window.run_command("qwen_companion_copy_report")
        yield {"condition": lambda: "\nLibraries\n" in sublime.get_clipboard(), "timeout": 60_000}
        copied = sublime.get_clipboard()
        token = self.cli.headers["authorization"].partition(" ")[2]
        self.assertNotIn(token, copied)
        home = str(Path.home())
        if len(home) > 1:
            self.assertNotIn(home + os.sep, copied)
        self.assertIn("~", copied)

    def test_a_companion_that_does_not_run_is_reported(self) -> Steps:
        self.set_limit("sublime_text.status", "LIMIT", 50)
        shown: list[tuple[Any, bool]] = []
        adapter = loaded("sublime_text.package").adapter()
        adapter.messenger.tell("The library “mcp” is missing.", None)
        with patch.object(adapter.thread, "post"):
            adapter.reports.make(self.window, lambda *seen: shown.append(seen))
        yield lambda: len(shown) == 2
        last, is_last = shown[1]
        text = loaded("status.findings").report(last)
        self.assertTrue(is_last)
        self.assertIn("The companion does not answer", text)
        self.assertIn("The library “mcp” is missing.", text)

    def test_a_terminal_with_an_old_port_is_reported(self) -> Steps:
        terminal = self.window.new_file()
        arguments = {"env": {"QWEN_CODE_IDE_SERVER_PORT": "1"}, "cmd": ["bash"]}
        terminal.settings().update({"terminus_view": True, "terminus_view.args": arguments})
        yield from self.report()
        self.assertIn("has the port 1 of an earlier session. Close it, open a new one", self.text)

    def test_a_terminal_in_a_panel_with_an_old_port_is_reported(self) -> Steps:
        panel = self.window.create_output_panel("Terminus")
        arguments = {"env": {"GEMINI_CLI_IDE_SERVER_PORT": "2"}, "cmd": ["bash"]}
        panel.settings().update({"terminus_view": True, "terminus_view.args": arguments})
        yield from self.report()
        self.assertIn("has the port 2 of an earlier session.", self.text)


class TestLiveReport(CompanionCase):
    """The report is live while it is visible, and its remedies can be clicked and picked by key."""

    KEY = "qwen_companion.remedies"

    def setUp(self) -> Steps:
        yield from super().setUp()
        self.set_limit("sublime_text.status", "INTERVAL", 50)
        self.set_limit("sublime_text.status", "HIDDEN_INTERVAL", 50)

    def open(self) -> Steps:
        self.window.run_command("qwen_companion_status")
        [self.report] = tabs(self.window, "status")
        yield {"condition": lambda: "\nLibraries\n" in text_of(self.report), "timeout": 60_000}

    def wait_for(self, part: str) -> Steps:
        yield {"condition": lambda: part in text_of(self.report), "timeout": 60_000}

    def test_a_missing_library_is_a_finding_at_once_and_repair_is_a_link(self) -> Steps:
        adapter = loaded("sublime_text.package").adapter()
        why = "The library “mcp” is missing; run “Qwen: Repair Libraries”."
        adapter.thread.stop_reason = loaded("status.facts").Stop(why, is_of_libraries=True)
        try:
            self.window.run_command("qwen_companion_status")
            [self.report] = tabs(self.window, "status")
            self.assertIn(why, text_of(self.report))
            self.assertNotIn("Asking the companion", text_of(self.report))
            links = self.screen.phantoms(self.report, self.KEY)
            self.assertTrue(any("Repair Libraries" in text for text in links), links)
        finally:
            adapter.thread.stop_reason = None
        yield {"condition": lambda: why not in text_of(self.report), "timeout": 60_000}

    def test_it_follows_what_happens(self) -> Steps:
        yield from self.open()
        self.set_setting("diff_layout", "both")
        yield from self.wait_for("“diff_layout” must be")
        self.set_setting("diff_layout", "inline")
        findings = lambda: text_of(self.report).partition("\nWindow ")[0]  # noqa: E731
        yield {"condition": lambda: "diff_layout" not in findings(), "timeout": 60_000}

    def test_a_report_behind_another_tab_is_not_renewed_until_it_is_seen(self) -> Steps:
        yield from self.open()
        self.window.focus_view(self.view)
        yield 300
        before = self.report.change_count()
        self.set_setting("diff_layout", "both")
        yield 500
        self.assertEqual(self.report.change_count(), before)
        self.window.focus_view(self.report)
        yield from self.wait_for("“diff_layout” must be")

    def test_nothing_moves_while_the_person_selects_or_nothing_has_changed(self) -> Steps:
        yield from self.open()
        yield 500
        before = self.report.change_count()
        self.report.sel().clear()
        self.report.sel().add(sublime.Region(3, 9))
        self.set_setting("diff_layout", "both")
        yield 500
        self.assertEqual(self.report.change_count(), before)
        self.report.sel().clear()
        yield from self.wait_for("“diff_layout” must be")

    def hanging_disk(self) -> threading.Event:
        """Have every look at the disk wait until the event is set."""
        survey, answers = loaded("status.survey"), threading.Event()
        self.addCleanup(answers.set)
        look = survey._look
        hung = patch.object(survey, "_look", lambda *about: answers.wait() and look(*about))
        hung.start()
        self.addCleanup(hung.stop)
        self.set_limit("status.survey", "DISK", 0.1)
        return answers

    def test_a_report_that_can_not_be_renewed_says_so_until_it_is(self) -> Steps:
        yield from self.open()
        answers = self.hanging_disk()
        yield from self.wait_for("A disk does not answer.")
        self.assertNotIn("Running CLIs", text_of(self.report))
        answers.set()
        yield {"condition": lambda: "Running CLIs" in text_of(self.report), "timeout": 60_000}
        self.assertNotIn("A disk does not answer.", text_of(self.report))

    def test_a_report_is_copied_once_while_a_disk_does_not_answer(self) -> Steps:
        answers = self.hanging_disk()
        sublime.set_clipboard("")
        self.window.run_command("qwen_companion_copy_report")
        yield lambda: "A disk does not answer." in sublime.get_clipboard()
        sublime.set_clipboard("")
        answers.set()
        yield 500
        self.assertEqual(sublime.get_clipboard(), "")

    def test_a_remedy_is_a_link_and_a_key(self) -> Steps:
        self.set_setting("diff_layout", "both")
        yield from self.open()
        yield from self.wait_for("“diff_layout” must be")
        yield lambda: any("Open Settings" in text for text in self.screen.phantoms(self.report, self.KEY))
        ran: list[str] = []
        original = sublime.Window.run_command

        def run(window: sublime.Window, command: str, args: Any = None) -> None:
            if command == "edit_settings":
                ran.append(args["base_file"])
            else:
                original(window, command, args)

        with patch.object(sublime.Window, "run_command", run):
            self.screen.click(self.report, "0")
            self.assertEqual(len(ran), 1)
            point = text_of(self.report).index("“diff_layout” must be")
            self.report.sel().clear()
            self.report.sel().add(point)
            self.report.run_command("qwen_companion_status_remedy", {"at_caret": True})
            self.assertEqual(len(ran), 2)
            self.report.run_command("qwen_companion_status_remedy")
            self.screen.pick("Open Settings")
            yield lambda: len(ran) == 3
        self.assertIn("QwenCompanion.sublime-settings", ran[0])

    def test_enter_of_vintage_is_enter_in_a_report_and_nowhere_else(self) -> Steps:
        """The keymap of Vintage is loaded after ours, and has Enter go down a line."""
        yield from self.open()
        listener = loaded("sublime_text.listeners").QwenCompanionListener()
        enter = {"motion": "move", "motion_args": {"by": "lines", "forward": True, "extend": True}}
        answer = listener.on_text_command(self.report, "set_motion", enter)
        self.assertEqual(answer, ("qwen_companion_status_remedy", {"at_caret": True}))
        self.assertIsNone(listener.on_text_command(self.report, "set_motion", {**enter, "linewise": True}))
        self.assertIsNone(listener.on_text_command(self.view, "set_motion", enter))

    def test_the_commands_of_a_cli_are_copied(self) -> None:
        module, findings = loaded("sublime_text.status"), loaded("status.findings")
        for text in ("/ide", "--permission-mode default"):
            module.remedies(findings.Finding("…", types=text))[0].apply(self.window)
            self.assertEqual(sublime.get_clipboard(), text)
            self.assertTrue(self.screen.said(text, "was copied"))
        self.assertEqual(module.remedies(findings.Finding("…")), ())
        offered = module.remedies(findings.Finding("…", offers=(findings.SHOW_TERMINAL,)))
        self.assertEqual([each.caption for each in offered], ["Show Terminal"])

    def test_a_closed_report_ends(self) -> Steps:
        yield from self.open()
        adapter = loaded("sublime_text.package").adapter()
        self.report.close()
        yield lambda: adapter.reports.of(self.report) is None


class TestDocumentation(CompanionCase):
    """qwen_companion_documentation."""

    def test_a_page_of_the_package_is_opened(self) -> Steps:
        opened: list[Any] = []
        original = sublime.Window.run_command

        def run(window: sublime.Window, command: str, args: Any = None) -> None:
            if command == "open_file":
                opened.append(args)
            else:
                original(window, command, args)

        self.window.run_command("qwen_companion_documentation")
        items, pick = self.screen.panels[-1]
        self.assertIn(("README.md", "QwenCompanion"), [(item.details, item.trigger) for item in items])
        names = [
            "README.md",
            "start.md",
            "review.md",
            "chat.md",
            "talk.md",
            "other-clis.md",
            "why.md",
            "trouble.md",
            "privacy.md",
            "reference.md",
            "agents.md",
            "compatibility.md",
            "compare.md",
        ]
        self.assertEqual([item.details for item in items][: len(names)], names)
        [at] = [at for at, item in enumerate(items) if item.details == "compatibility.md"]
        with patch.object(sublime.Window, "run_command", run):
            pick(at)
            yield lambda: opened
        self.assertEqual(opened, [{"file": "${packages}/QwenCompanion/docs/compatibility.md"}])


class TestSettings(CompanionCase):
    def set_in_project(self, values: Any) -> None:
        data = self.window.project_data() or {}
        data["settings"] = {"QwenCompanion": values}
        self.window.set_project_data(data)

    def test_a_wrong_value_is_reported_once_and_the_default_is_used(self) -> Steps:
        before = loaded("sublime_text.panels").NOTICES.text()
        self.set_setting("diff_layout", "both")
        said = "“diff_layout” must be “auto”, “side_by_side” or “inline”, not “both”; the default is used."
        yield lambda: self.screen.said("QwenCompanion.sublime-settings", said)
        self.set_setting("max_marked_lines", 99)
        yield from self.open_diff(BETTER)
        self.assertTrue(self.original.is_valid())
        log = loaded("sublime_text.panels").NOTICES.text()
        self.assertEqual(log.count(said) - before.count(said), 1)
        self.window.run_command("qwen_companion_copy_report")
        yield {"condition": lambda: said in sublime.get_clipboard(), "timeout": 60_000}

    def test_a_wrong_value_is_shown_until_it_is_corrected(self) -> Steps:
        notices = loaded("sublime_text.package").adapter().messenger

        def shown() -> bool:
            return any("diff_layout" in one.text for one in notices.within(self.window))

        self.set_setting("diff_layout", "both")
        yield shown
        self.set_setting("diff_layout", "inline")
        yield lambda: not shown()

    def test_a_file_with_a_syntax_error_takes_nothing_back_that_was_excluded(self) -> Steps:
        file = Path(sublime.packages_path(), "User", "QwenCompanion.sublime-settings")
        before = file.read_bytes() if file.exists() else None
        yield lambda: self.cli.context.get("openFiles")
        try:
            file.write_text('{"context": "off", "context_exclude": ["*.py"]}', encoding="utf-8")
            yield lambda: not self.cli.context.get("openFiles")
            file.write_text('{"context": "off" "context_exclude": ["*.py"]}', encoding="utf-8")
            said = "it has a syntax error; what it said before holds until it is mended."
            yield lambda: self.screen.said("QwenCompanion.sublime-settings", said)
            self.window.focus_view(self.window.open_file(str(self.file)))
            yield 500
            self.assertFalse(self.cli.context.get("openFiles"))
            file.write_text('{"context": "all", "context_exclude": []}', encoding="utf-8")
            yield lambda: self.cli.context.get("openFiles")
        finally:
            file.unlink() if before is None else file.write_bytes(before)
        yield 500

    def test_a_file_that_the_editor_has_read_half_written_excludes_what_it_says(self) -> None:
        settings = loaded("sublime_text.package").adapter().settings
        with self.own_settings('{"context": "off", "context_exclude": ["plans/**"]}'):
            with patch.object(settings._file, "get", return_value=None):  # the defaults, as of a broken file
                settings._changed()
            told = settings.sharing(self.window)
            self.assertEqual((told.level, told.exclude), ("off", ("plans/**",)))
        settings._changed()

    def test_nothing_is_written_over_a_file_with_a_syntax_error(self) -> None:
        broken = '{"context_exclude": ["plans/**"] "chat_enabled": false}'
        with self.own_settings(broken) as file:
            self.assertFalse(loaded("sublime_text.package").adapter().settings.keep("chat_enabled", True))
            self.assertEqual(file.read_text("utf-8"), broken)

    @contextlib.contextmanager
    def own_settings(self, text: str) -> Generator[Path]:
        """Have a settings file of the person's own, which the editor has not looked at."""
        file = Path(sublime.packages_path(), "User", "QwenCompanion.sublime-settings")
        before = file.read_bytes() if file.exists() else None
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        try:
            yield file
        finally:
            file.unlink() if before is None else file.write_bytes(before)

    def test_a_project_has_its_own_layout(self) -> Steps:
        self.set_in_project({"diff_layout": "inline"})
        call = self.cli.call("openDiff", filePath=str(self.file), newContent=BETTER)
        yield from self.done(call)
        yield lambda: any(value(view, "inline") for view in self.window.views())

    def test_a_project_without_diffs_leaves_other_windows_theirs(self) -> Steps:
        self.set_in_project({"show_diffs": False})
        yield {"condition": lambda: self._shows_diffs() is False, "timeout": 60_000}
        cli = self.connect()
        yield from self.done(cli.connected)
        tools = cli.tools()
        yield from self.done(tools)
        self.assertEqual(tools.result(), [])
        self.set_in_project({})
        yield {"condition": self._shows_diffs, "timeout": 60_000}

    def test_a_wrong_value_in_a_project_is_reported(self) -> Steps:
        self.set_in_project({"debug": True})
        yield {"condition": lambda: self.screen.said("“debug” can't be set for a project."), "timeout": 60_000}

    def _shows_diffs(self) -> bool:
        settings = loaded("sublime_text.package").adapter().settings
        return settings.by_window()[self.window.id()].show_diffs


class TestOneLine(CompanionCase):
    """What fits into the status bar."""

    def shown(self, message: str) -> str:
        loaded("sublime_text.panels").NOTICES.add(message, self.window)
        return self.screen.messages[-1]

    def test_a_short_message_is_shown_as_it_is(self) -> None:
        self.assertEqual(self.shown("There is no change."), "QwenCompanion: There is no change.")

    def test_a_long_one_begins_with_its_remedy_and_the_log_has_all_of_it(self) -> None:
        message = "What agents write in a-folder isn't listed: the disk of the snapshots is full. Free some space."
        shown = self.shown(message)
        self.assertTrue(shown.startswith("QwenCompanion: Free some space. What agents write"), shown)
        self.assertTrue(shown.endswith("… (Show Log)"), shown)
        self.assertLessEqual(len(shown), 80)
        self.assertIn(message, loaded("sublime_text.panels").NOTICES.text())

    def test_no_message_is_longer_than_the_line(self) -> None:
        for message in ("x" * 500, f"{'x' * 200}. {'y' * 200}.", "a. " * 200, "“One” is wrong. “Two” is right. " * 9):
            self.assertLessEqual(len(self.shown(message)), 80)

    def test_an_item_leaves_out_its_last_parts_and_says_so(self) -> None:
        fit = loaded("sublime_text.panels").parts_in_one_line
        self.assertEqual(fit(["a", "", "b"]), "a · b")
        self.assertEqual(fit(["a" * 70, "b" * 20, "c"]), f"{'a' * 70} · …")
        self.assertEqual(len(fit(["a" * 100])), 80)
