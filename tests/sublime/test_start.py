"""An editor that is busy, and a companion that is still starting."""

from __future__ import annotations

import threading
import time
from typing import Any
from unittest.mock import patch

import sublime

from .companion_case import CompanionCase, Steps, diff_views, loaded


class TestBusy(CompanionCase):
    """The UI thread does something else for a long time: a modal dialog, or another package."""

    def hold_editor(self, seconds: float) -> None:
        """Hold the UI thread, longer than the companion waits for what it can do without."""
        self.set_limit("sublime_text.bridge", "LIMIT", 0.1)
        sublime.set_timeout(lambda: time.sleep(seconds))

    def test_a_diff_that_comes_meanwhile_is_shown_afterwards(self) -> Steps:
        self.hold_editor(1)
        call = self.cli.call("openDiff", filePath=str(self.file), newContent="new\n")
        yield from self.done(call)
        yield lambda: diff_views(self.window, "proposal")
        self.assertEqual(self.cli.outcomes, [])
        self.proposal = diff_views(self.window, "proposal")[0]
        yield from self.accepted()

    def test_a_cli_that_connects_meanwhile_gets_its_context_afterwards(self) -> Steps:
        self.hold_editor(1)
        cli = self.connect()
        yield from self.done(cli.connected)
        yield lambda: cli.active.get("path") == str(self.file)

    def test_a_diff_that_is_closed_meanwhile_is_not_shown(self) -> Steps:
        """The CLI gets its answer, though nobody can be asked for the text."""
        self.hold_editor(1)
        yield from self.done(self.cli.call("openDiff", filePath=str(self.file), newContent="new\n"))
        yield from self.done(self.cli.call("closeDiff", filePath=str(self.file)))
        yield 1500
        yield from self.closed()


class TestStarting(CompanionCase):
    """The libraries are being loaded: nothing is lost, and nothing claims to be broken."""

    def setUp(self) -> Steps:
        yield from super().setUp()
        self.adapter = loaded("sublime_text.package").adapter()
        self.go_on = threading.Event()
        self.addCleanup(self.go_on.set)

    def hold_companion(self) -> None:
        """Have the companion answer nothing until `go_on`, as before its start."""
        self.adapter.thread.post(lambda _: self.go_on.wait(20))
        patcher = patch.object(type(self.adapter.thread), "is_starting", property(lambda _: not self.go_on.is_set()))
        patcher.start()
        self.addCleanup(patcher.stop)

    def test_a_command_says_so_at_once_and_does_its_work_later(self) -> Steps:
        self.set_limit("sublime_text.terminal.terminal_commands", "PATIENCE", 50)
        self.hold_companion()
        sublime.set_clipboard("")
        self.window.run_command("qwen_companion_copy_environment", {"shell": "sh"})
        self.assertTrue(self.screen.said("QwenCompanion is starting"))
        yield 300
        self.assertFalse(self.screen.said("doesn't answer"))
        self.set_limit("sublime_text.terminal.terminal_commands", "PATIENCE", 20_000)
        self.go_on.set()
        yield lambda: "export QWEN_CODE_IDE_SERVER_PORT=" in sublime.get_clipboard()
        self.assertFalse(self.screen.said("doesn't answer"))

    def test_the_answer_has_the_whole_time_again_after_the_start(self) -> None:
        """Under load it said “doesn't answer” in the moment between the start and the answer."""
        module, said = loaded("sublime_text.bridge"), list[str]()
        is_starting, is_over = True, False
        with patch.object(module, "sublime") as editor:
            timer = editor.set_timeout
            module.expect(
                lambda: is_over,
                lambda: is_starting,
                patience=lambda: 7,
                starting=lambda: said.append("starting"),
                silent=lambda: said.append("silent"),
            )

            def look() -> None:
                ((call, delay), _) = timer.call_args
                timer.reset_mock()
                self.assertEqual(delay, 7)
                call()

            look()
            self.assertEqual(said, ["starting"])
            is_starting = False
            look()
            self.assertEqual(said, ["starting"])
            look()
            self.assertEqual(said, ["starting", "silent"])
            self.assertFalse(timer.called)

    def test_the_status_report_says_so_and_follows(self) -> Steps:
        self.set_limit("sublime_text.status", "LIMIT", 50)
        self.hold_companion()
        shown: list[Any] = []
        self.adapter.reports.make(self.window, lambda facts, _last: shown.append(facts))
        yield lambda: any("is starting" in facts.note for facts in shown)
        self.set_limit("sublime_text.status", "LIMIT", 20_000)
        self.go_on.set()
        yield {"condition": lambda: shown[-1].served and shown[-1].libraries, "timeout": 60_000}
        self.assertFalse(any("does not run" in facts.note for facts in shown))

    def test_a_chat_says_so_too_and_keeps_its_prompt(self) -> Steps:
        self.set_limit("sublime_text.chat.chats", "PATIENCE", 50)
        self.set_setting("chat_enabled", True)
        self.set_setting("daemon.url", "http://127.0.0.1:9")
        self.hold_companion()
        self.window.run_command("qwen_companion_chat")
        yield lambda: self.screen.said("QwenCompanion is starting")
        view = self.adapter.chats.of(self.window).view
        view.run_command("insert", {"characters": "mine"})
        self.window.run_command("qwen_companion_chat_send")
        yield 100
        self.assertIn("mine", view.substr(sublime.Region(0, view.size())))
        self.assertFalse(self.screen.said("doesn't answer"))
        self.go_on.set()

    def test_what_an_action_sends_meanwhile_is_in_the_prompt(self) -> Steps:
        self.set_setting("chat_enabled", True)
        self.set_setting("daemon.url", "http://127.0.0.1:9")
        self.hold_companion()
        self.window.run_command("qwen_companion_chat_send", {"text": "mine"})
        yield lambda: self.adapter.chats.of(self.window)
        chat = self.adapter.chats.of(self.window)
        yield 100
        self.assertEqual((chat.text.prompt, chat.waiting), ("mine", []))
        self.assertTrue(self.screen.said("QwenCompanion is starting"))
        self.go_on.set()
