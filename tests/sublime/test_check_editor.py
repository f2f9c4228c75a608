"""The check of the editor, and the answers that choose the fallbacks."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import sublime

from .cli import discovery_file
from .companion_case import CompanionCase, Steps, loaded, text_of

SETTING = "qwen_companion.check_report"
VARIABLES = ("QWEN_CODE_IDE_SERVER_PORT", "GEMINI_CLI_IDE_SERVER_PORT", "QWEN_CODE_IDE_WORKSPACE_PATH")


class CheckCase(CompanionCase):
    """A window, and the answers of a check that are forgotten at the end."""

    def setUp(self) -> Steps:
        yield from super().setUp()
        self.facts = loaded("sublime_text.editor_facts")
        self.addCleanup(self.facts.EDITOR.keep, {})
        self.run_module = loaded("sublime_text.check.run")

    def reports(self) -> list[sublime.View]:
        """The views of reports."""
        return [view for view in self.window.views() if view.settings().get(SETTING)]

    def check(self, each_look: Callable[[], object] = lambda: None) -> Steps:
        """Run the check and wait for its report: self.report."""
        self.window.run_command("qwen_companion_check_editor")

        def is_done() -> bool:
            each_look()
            return bool(self.reports() and text_of(self.reports()[0]))

        yield {"condition": is_done, "timeout": 60_000}
        self.report = text_of(self.reports()[0])

    def section(self, title: str) -> str:
        """A part of the report."""
        return self.report.partition(f"\n{title}\n")[2].partition("\n\n")[0]

    def keep_report(self) -> None:
        """Put the latest real report back after the test: continuous integration uploads it."""
        path = Path(sublime.cache_path(), "QwenCompanion", "editor-check.txt")
        before = path.read_text("utf-8") if path.exists() else None
        self.addCleanup(lambda: path.write_text(before, "utf-8") if before else path.unlink(missing_ok=True))

    def use_probes(self, **changes: Any) -> None:
        """Run a few probes only, some of them changed."""
        self.keep_report()
        probes = {probe.__name__: probe for probe in self.run_module.PROBES}
        for name, probe in changes.items():
            probe.__name__ = name
        self.enterContext(patch.object(self.run_module, "PROBES", (*changes.values(), probes["replace_keeps_carets"])))


class TestCheck(CheckCase):
    """qwen_companion_check_editor."""

    def test_a_report_to_copy_says_what_holds_and_what_the_package_does_otherwise(self) -> Steps:
        yield from self.check()
        print(self.report)
        [view] = self.reports()
        self.assertTrue(view.is_scratch())
        self.assertTrue(view.is_read_only())
        self.assertEqual(view.window(), sublime.active_window())
        self.assertIn(f"Sublime Text {sublime.version()} {sublime.channel()}", self.report)
        for name in loaded("sublime_text.assumptions").ASSUMPTIONS:
            self.assertIn(f"  {name}: ", self.report)
        for name, untold in loaded("sublime_text.assumptions").UNTOLD.items():
            self.assertIn(f"  {name}: {untold.claim}\n      Always: {untold.otherwise}", self.report)
        self.assertNotIn("Not known", self.report)
        self.assertNotIn("The check failed", self.report)
        self.assertIn("  companion_answers: ", self.section("Holds"))
        kept = Path(sublime.cache_path(), "QwenCompanion", "editor-check.txt").read_text("utf-8")
        self.assertEqual(kept, self.report)

    def test_the_companion_does_not_serve_the_scratch_window(self) -> Steps:
        files, variables = [discovery_file()], {name: os.environ.get(name) for name in VARIABLES}
        folder = discovery_file().parent
        before = {path.name for path in folder.iterdir()}
        windows: set[int] = set()

        def look() -> None:
            windows.update(window.id() for window in sublime.windows())
            self.assertEqual({path.name for path in folder.iterdir()}, before)
            self.assertEqual({name: os.environ.get(name) for name in VARIABLES}, variables)

        known = {window.id() for window in sublime.windows()}
        yield from self.check(look)
        self.assertEqual(len(windows - known), 1, "there was a scratch window")
        served: list[object] = []
        loaded("sublime_text.package").adapter().ask(lambda companion: set(companion._windows), served.append)
        yield lambda: served
        self.assertEqual(served[0], known)
        self.assertEqual([discovery_file()], files)

    def test_nothing_of_the_persons_is_touched(self) -> Steps:
        self.edit(self.view, "unsaved\n")
        tabs, folder = self.window.views(), sorted(os.listdir(self.folder))
        windows = sublime.windows()
        yield from self.check()
        yield lambda: sublime.windows() == windows
        self.assertEqual(self.window.views(), [*tabs, *self.reports()])
        self.assertEqual(text_of(self.view), "unsaved\n")
        self.assertTrue(self.view.is_dirty())
        self.assertEqual(sorted(os.listdir(self.folder)), folder)
        self.assertEqual(sublime.active_window(), self.window)

    def test_a_second_check_waits_for_the_first(self) -> Steps:
        self.window.run_command("qwen_companion_check_editor")
        yield from self.check()
        self.assertTrue(self.screen.said("being checked already"))

    def test_a_probe_that_fails_is_reported_with_its_place_and_counts_as_unknown(self) -> Steps:
        def broken(bench: Any) -> Any:
            yield 0
            raise ValueError("no such thing")

        def broken_wait(bench: Any) -> Any:
            yield lambda: 1 / 0

        self.use_probes(filler_height=broken, viewport_at_once=broken_wait)
        yield from self.check()
        unknown = self.section("Not known")
        self.assertIn("Seen: ValueError: no such thing (broken, line ", unknown)
        self.assertIn("Seen: ZeroDivisionError: division by zero", unknown)
        self.assertIn("  replace_keeps_carets: ", self.report.replace(unknown, ""))
        self.assertFalse(self.facts.EDITOR.holds("filler_height"))

    def test_a_check_without_a_window_says_so_and_the_fallbacks_stay_careful(self) -> Steps:
        self.keep_report()
        self.facts.EDITOR.keep({"filler_height": True})
        self.set_limit("sublime_text.check.run", "WINDOW_LIMIT", 0.05)
        with patch.object(sublime, "run_command", lambda *_: None):
            yield from self.check()
        self.assertIn("The check failed: the scratch window did not open.", self.report)
        self.assertTrue(self.screen.said("The check failed"))
        self.assertFalse(self.facts.EDITOR.holds("filler_height"))

    def test_a_scratch_window_that_is_closed_ends_the_check(self) -> Steps:
        def closing(bench: Any) -> Any:
            bench.window.run_command("close_window")
            yield 0
            return loaded("sublime_text.check.bench").ProbeResult(True)

        self.use_probes(filler_height=closing)
        yield from self.check()
        self.assertIn("Seen: the scratch window was closed.", self.section("Not known"))
        self.assertIsNone(loaded("sublime_text.package").adapter().check)

    def test_answers_that_cannot_be_written_count_until_the_restart(self) -> Steps:
        self.use_probes()
        with patch.object(self.facts.os, "replace", side_effect=PermissionError("denied")):
            yield from self.check()
        self.assertIn("could not be written (denied)", self.report)


class TestFacts(CheckCase):
    """The answers choose the fallbacks from then on, for this build."""

    def fresh(self) -> Any:
        """The facts as the next start of the editor reads them."""
        return self.facts.EditorFacts()

    def test_the_answers_are_kept(self) -> Steps:
        yield from self.check()
        held = {name for name in loaded("sublime_text.assumptions").ASSUMPTIONS if self.facts.EDITOR.holds(name)}
        self.assertIn("companion_answers", held)
        self.assertEqual({name for name in held if self.fresh().holds(name)}, held)

    def test_the_answers_of_another_build_or_a_damaged_file_count_for_nothing(self) -> None:
        path = Path(sublime.cache_path(), "QwenCompanion", "editor.json")
        self.facts.EDITOR.keep({"filler_height": True})
        good = path.read_text("utf-8")
        self.assertTrue(self.fresh().holds("filler_height"))
        for bad in (good.replace(sublime.version(), "1"), "{", "[]", '{"answers": 1}', good.replace("true", '"yes"')):
            path.write_text(bad, "utf-8")
            self.assertFalse(self.fresh().holds("filler_height"), bad)
        path.unlink()
        self.assertFalse(self.fresh().holds("filler_height"))

    def test_an_unknown_name_is_an_error(self) -> None:
        with self.assertRaises(KeyError):
            self.facts.EDITOR.holds("nonsense")
