"""What a CLI is told of the person's files."""

from __future__ import annotations

from typing import Any

import sublime

from .companion_case import CompanionCase, Steps, loaded, text_of

SECRET = "PASSWORD=hunter2\n"


class TestTold(CompanionCase):
    """The settings `context` and `context_exclude`, and those of a project."""

    def test_an_excluded_file_that_is_focused_and_selected_is_never_told(self) -> Steps:
        yield lambda: self.cli.active.get("path") == str(self.file)
        yield from self.open_view(".env", SECRET)
        self.opened.run_command("select_all")
        yield lambda: self.paths() == [str(self.file)] and not self.cli.active
        self.window.focus_view(self.view)
        yield lambda: self.cli.active.get("path") == str(self.file)
        told = repr(self.cli.received)
        self.assertNotIn(".env", told)
        self.assertNotIn("hunter2", told)

    def test_a_link_to_an_excluded_file_is_not_told_either(self) -> Steps:
        (self.folder / "secrets").mkdir()
        (self.folder / "secrets" / "a.txt").write_text(SECRET)
        (self.folder / "plain.txt").symlink_to(self.folder / "secrets" / "a.txt")
        yield lambda: self.cli.active
        yield from self.open_view("plain.txt")
        yield lambda: not self.cli.active
        self.assertEqual(self.paths(), [str(self.file)])

    def test_with_files_the_cursor_is_told_and_no_text(self) -> Steps:
        self.set_setting("context", "files")
        self.view.sel().clear()
        self.view.sel().add(sublime.Region(4, 9))
        yield lambda: self.cli.active.get("cursor") == {"line": 1, "character": 10}
        cli = self.connect()  # one that connects now is told no more
        yield lambda: cli.active.get("cursor") == {"line": 1, "character": 10}
        self.assertNotIn("greet", repr(cli.received))
        self.assertEqual(self.paths(), [str(self.file)])
        self.set_setting("context", "all")
        yield lambda: self.cli.active.get("selectedText") == "greet"

    def test_with_off_nothing_is_told_and_diffs_still_open(self) -> Steps:
        yield lambda: self.cli.active
        self.set_setting("context", "off")
        yield lambda: self.cli.context == {"openFiles": []}
        yield from self.open_diff("x = 1\n")
        yield from self.accepted()
        self.assertEqual(self.content, "x = 1\n")

    def test_a_glob_that_is_changed_applies_at_once(self) -> Steps:
        yield lambda: self.cli.active
        self.set_setting("context_exclude", ["*.py"])
        yield lambda: self.paths() == []
        self.set_setting("context_exclude", [])
        yield lambda: self.paths() == [str(self.file)]
        yield from self.open_view(".env", SECRET)
        yield lambda: self.cli.active.get("path") == str(self.folder / ".env")

    def test_a_project_makes_both_stricter(self) -> Steps:
        yield lambda: self.cli.active
        yield from self.open_view("b.txt")
        yield lambda: self.cli.active.get("path") == str(self.folder / "b.txt")
        self.set_project({"context": "files", "context_exclude": ["/app.py"]})
        yield lambda: self.paths() == [str(self.folder / "b.txt")]
        self.opened.run_command("select_all")
        yield lambda: self.cli.active.get("cursor") == {"line": 2, "character": 1}
        self.assertNotIn("selectedText", self.cli.active)

    def test_a_project_that_becomes_stricter_holds_from_the_next_movement_of_the_caret_on(self) -> Steps:
        yield lambda: self.cli.active
        before = self.cli.active["cursor"]
        self.set_project({"context": "files"})
        self.view.run_command("select_all")
        yield lambda: self.cli.active.get("cursor") != before
        self.assertNotIn("selectedText", repr(self.cli.received))

    def test_a_project_that_loosens_is_told_in_one_sentence_and_the_persons_setting_holds(self) -> Steps:
        self.set_setting("context", "files")
        self.set_project({"context": "all", "context_exclude": ["!.env"]})
        yield lambda: len(self.said()) == 2
        self.assertEqual(
            sorted(why.rpartition(": “")[2] for why in self.said()),
            [
                "context_exclude” holds “!.env”, but no glob brings a file back; the default globs are used as well.",
                "context” can only be made stricter by a project; “files” is used, not “all”.",
            ],
        )
        yield from self.open_view(".env", SECRET)
        yield lambda: not self.cli.active and self.paths() == [str(self.file)]
        self.assertNotIn("hunter2", repr(self.cli.received))

    def test_the_status_report_says_what_is_told(self) -> Steps:
        self.set_project({"context": "files", "context_exclude": ["*.key"]})
        self.window.run_command("qwen_companion_status")
        wanted = "told       names and cursor, no text; never .env*, *.pem, secrets/**, *.key"
        yield lambda: any(wanted in text_of(view) for view in self.window.views())

    def test_a_wrong_value_is_told_in_one_sentence_and_is_the_strictest(self) -> Steps:
        yield lambda: self.cli.active
        self.set_setting("context", "none")
        yield lambda: self.cli.context == {"openFiles": []}
        [why] = self.said()
        self.assertTrue(why.endswith("“context” must be “all”, “files” or “off”, not “none”; “off” is used."), why)

    def test_what_cannot_be_read_of_a_glob_stands_for_anything(self) -> Steps:
        yield lambda: self.cli.active
        self.set_setting("context_exclude", ["app[.py"])
        yield lambda: self.paths() == []
        [why] = self.said()
        self.assertTrue(
            why.endswith("“context_exclude” holds “app[.py”, which is not a glob; “app*” is used instead."), why
        )

    def paths(self) -> list[str]:
        return [file["path"] for file in self.cli.context.get("openFiles", [])]

    def set_project(self, settings: dict[str, Any]) -> None:
        folders = [{"path": str(self.folder)}]
        self.window.set_project_data({"folders": folders, "settings": {"QwenCompanion": settings}})

    def said(self) -> list[str]:
        """What this test was told of these settings."""
        return self.all_said()[self.before :]

    @staticmethod
    def all_said() -> list[str]:
        notices = loaded("sublime_text.panels").NOTICES
        return [text for _, text in notices.latest(500) if "“context" in text]

    def setUp(self) -> Steps:
        self.before = len(self.all_said())
        yield from super().setUp()
