"""The context that a CLI gets."""

from __future__ import annotations

from typing import Any

import sublime

from .companion_case import CompanionCase, Steps, loaded


class TestContext(CompanionCase):
    @property
    def paths(self) -> list[str]:
        """The files of the latest context, none before the first."""
        return [file["path"] for file in self.cli.context.get("openFiles", [])]

    def test_the_first_context_names_the_active_file_and_its_cursor(self) -> Steps:
        yield lambda: self.cli.active
        self.assertEqual(self.cli.active["path"], str(self.file))
        self.assertEqual(self.cli.active["cursor"], {"line": 1, "character": 1})
        self.assertNotIn("selectedText", self.cli.active)
        self.assertNotIn("isTrusted", self.cli.context)

    def test_a_selection_is_sent_with_its_end_as_the_cursor(self) -> Steps:
        self.view.sel().clear()
        self.view.sel().add(sublime.Region(4, 9))
        yield lambda: self.cli.active.get("selectedText") == "greet"
        self.assertEqual(self.cli.active["cursor"], {"line": 1, "character": 10})

    def test_the_character_counts_utf16_units(self) -> Steps:
        self.edit(self.view, "😀😀x")
        self.view.sel().clear()
        self.view.sel().add(2)
        yield lambda: self.cli.active.get("cursor") == {"line": 1, "character": 5}

    def test_a_large_selection_is_cut_without_splitting_a_character(self) -> Steps:
        self.edit(self.view, "x" + "😀" * 20_000)
        self.view.run_command("select_all")
        yield lambda: self.cli.active.get("selectedText")
        # 16,384 units: one for the x, and 8,191 whole pairs.
        self.assertEqual(self.cli.active["selectedText"], "x" + "😀" * 8_191)

    def test_the_files_come_in_the_order_of_their_focus(self) -> Steps:
        names = ["b.py", "c.py"]
        for name in names:
            (self.folder / name).write_text("x\n")
            view = self.window.open_file(str(self.folder / name))
            yield lambda view=view: not view.is_loading()
        self.window.focus_view(self.view)
        order = [str(self.folder / name) for name in ("app.py", "c.py", "b.py")]
        yield lambda: self.paths == order
        times = [file["timestamp"] for file in self.cli.context["openFiles"]]
        self.assertEqual(times, sorted(times, reverse=True))
        self.assertEqual([file for file in self.cli.context["openFiles"][1:] if len(file) > 2], [])

    def test_files_whose_focus_is_unknown_follow_in_the_order_of_their_tabs(self) -> Steps:
        """They were open before the package was, or were opened in the background."""
        views = []
        for name in ("d.py", "c.py", "b.py"):
            yield from self.open_view(name)
            views.append(self.opened)
        self.window.focus_view(self.view)
        yield lambda: self.cli.active.get("path") == str(self.file)
        adapter = loaded("sublime_text.package").adapter()

        def forget(companion: Any) -> None:
            for view in views[:2]:
                companion.view_closed(view.id())

        adapter.thread.post(forget)
        order = [str(self.folder / name) for name in ("app.py", "b.py", "d.py", "c.py")]
        yield lambda: self.paths == order
        self.assertEqual([file["timestamp"] for file in self.cli.context["openFiles"][2:]], [0, 0])

    def test_a_closed_file_is_no_longer_sent(self) -> Steps:
        (self.folder / "b.py").write_text("x\n")
        view = self.window.open_file(str(self.folder / "b.py"))
        yield lambda: self.cli.active.get("path") == str(self.folder / "b.py")
        view.close()
        yield lambda: self.paths == [str(self.file)]

    def test_a_file_that_is_saved_under_another_name_is_sent_with_that_name(self) -> Steps:
        """On rename; the old file still exists but is not open."""
        yield lambda: self.cli.active.get("path") == str(self.file)
        self.view.retarget(str(self.folder / "b.py"))
        self.view.run_command("save")
        yield lambda: self.paths == [str(self.folder / "b.py")]
        self.assertEqual(self.cli.active["cursor"], {"line": 1, "character": 1})
        self.assertTrue(self.file.exists())

    def test_a_renamed_file_is_sent_with_its_new_name(self) -> Steps:
        """On rename in the side bar: without a save, and with or without the focus."""
        yield from self.open_view("b.py")
        yield lambda: self.cli.active.get("path") == str(self.folder / "b.py")
        self.file.rename(self.folder / "c.py")
        self.view.retarget(str(self.folder / "c.py"))
        names = ["b.py", "c.py"]
        yield lambda: self.paths == [str(self.folder / n) for n in names]

    def test_a_view_without_a_file_leaves_the_last_file_active(self) -> Steps:
        yield lambda: self.cli.active
        terminal = self.window.new_file()
        terminal.settings().set("terminus_view", True)
        terminal.set_scratch(True)
        (self.folder / "b.py").write_text("x\n")
        yield 300
        self.assertEqual(self.cli.active["path"], str(self.file))

    def test_a_panel_leaves_the_last_file_active(self) -> Steps:
        yield lambda: self.cli.active
        panel = self.window.create_output_panel("companion_test")
        self.window.run_command("show_panel", {"panel": "output.companion_test"})
        self.window.focus_view(panel)
        yield 300
        self.assertEqual(self.cli.active["path"], str(self.file))

    def test_a_deleted_file_is_left_out(self) -> Steps:
        yield lambda: self.cli.active
        other = self.folder / "b.py"
        other.write_text("x\n")
        view = self.window.open_file(str(other))
        yield lambda: self.cli.active.get("path") == str(other)
        view.set_scratch(True)
        other.unlink()
        yield lambda: self.cli.active.get("path") == str(self.file)

    def all_sent(self) -> Steps:
        """Wait until the CLI knows a new place of the caret, and so all that was before."""
        self.view.sel().clear()
        self.view.sel().add(11)
        yield lambda: self.cli.active.get("cursor") == {"line": 1, "character": 12}

    def test_nothing_is_sent_when_nothing_has_changed(self) -> Steps:
        yield from self.all_sent()
        before = len(self.cli.received)
        self.view.sel().clear()
        self.view.sel().add(11)
        yield 300
        self.assertEqual(len(self.cli.received), before)

    def test_many_changes_at_once_are_one_update(self) -> Steps:
        yield from self.all_sent()
        before = len(self.cli.received)
        for point in range(10):
            self.view.sel().clear()
            self.view.sel().add(point)
        yield lambda: len(self.cli.received) > before
        yield 300
        self.assertEqual(len(self.cli.received), before + 1)
        self.assertEqual(self.cli.active["cursor"], {"line": 1, "character": 10})

    def test_the_setting_decides_whether_trust_is_sent(self) -> Steps:
        settings = sublime.load_settings("QwenCompanion.sublime-settings")
        settings.set("is_trusted", True)
        try:
            yield lambda: self.cli.context.get("isTrusted") is True
        finally:
            settings.set("is_trusted", None)
        yield lambda: self.cli.context and "isTrusted" not in self.cli.context
