"""What an agent has written without a question: listed, kept and undone in the person's own file."""

from __future__ import annotations

import os
import sys
import time
import unittest
from collections.abc import Generator
from dataclasses import replace
from typing import Any
from unittest.mock import Mock, patch

import sublime

from .companion_case import CompanionCase, Steps, at_once, loaded, text_of
from .own import kind_of

LINES = "".join(f"line {number}\n" for number in range(1, 31))
PANEL = "QwenCompanion Diffs"


class ChangesCase(CompanionCase):
    """A round has begun, since a CLI is connected."""

    def setUp(self) -> Steps:
        yield from super().setUp()
        self.set_limit("changes.rounds", "PAUSE", 0.1)
        yield {"condition": self.has_begun, "timeout": 60_000}

    @property
    def on_screen(self) -> Any:
        return loaded("sublime_text.package").adapter().written

    def has_begun(self, after: float = 0) -> bool:
        """Whether the round of each folder has begun, after a point of Unix time."""
        companion = loaded("sublime_text.package").adapter().thread._running[1]
        window = companion.changes.roots.windows.get(self.window.id())
        folders = [*window.folders.values()] if window else []
        return bool(folders) and all(each.has_round and each.round.state.began > after for each in folders)

    def begin_anew(self) -> Steps:
        """Begin another round, and wait until it has begun."""
        before = time.time()
        self.window.run_command("qwen_companion_begin_round")
        yield {"condition": lambda: self.has_begun(before), "timeout": 60_000}

    def listed(self) -> dict[str, tuple[str, int]]:
        """What waits: the kind and the number of changes of each file."""
        return {row.path: (row.kind, row.changes) for row in self.on_screen.listings.of(self.window).rows}

    def baselines(self, window: sublime.Window | None = None) -> list[sublime.View]:
        """The other texts that are shown beside files."""
        views = (window or self.window).views()
        return [view for view in views if kind_of(view) == "baseline"]

    def waits(self, **expected: tuple[str, int]) -> Steps:
        """Wait until exactly this is listed, by the names without their ending."""
        named = lambda: {path.partition(".")[0]: found for path, found in self.listed().items()}  # noqa: E731
        yield {"condition": lambda: named() == expected, "timeout": 60_000}

    def marked(self, view: sublime.View, changes: int) -> Steps:
        """Wait until a view shows this number of changes."""
        regions = lambda: view.get_regions("qwen_companion.changes")  # noqa: E731
        yield {"condition": lambda: not view.is_loading() and len(regions()) == changes, "timeout": 60_000}

    def put_caret(self, view: sublime.View, line: int, to: int | None = None) -> None:
        """Put the caret into a line, counted from 1, or select lines."""
        end = view.text_point(line - 1, 0) if to is None else view.text_point(to - 1, 1)
        view.sel().clear()
        view.sel().add(sublime.Region(view.text_point(line - 1, 0), end))


class TestWritten(ChangesCase):
    """One file with two changes of an agent."""

    def setUp(self) -> Steps:
        (yield from super().setUp())
        self.path = self.folder / "code.txt"
        self.path.write_text(LINES, newline="")
        yield from self.begin_anew()
        self.path.write_text(LINES.replace("line 3\n", "line three\n").replace("line 20\n", ""), newline="")
        yield from self.waits(code=("modified", 2))

    def opened_at_first(self, changes: int = 2) -> Steps:
        """Go to the first change: self.code."""
        self.on_screen.go(self.window, None)
        yield {"condition": lambda: self.window.find_open_file(str(self.path)), "timeout": 60_000}
        code = self.window.find_open_file(str(self.path))
        assert code
        self.code = code
        yield from self.marked(code, changes)

    def test_a_file_is_not_decided_while_an_older_version_of_it_is_marked(self) -> Steps:
        """The companion is slow to tell the changes of what an agent has just written."""
        yield from self.opened_at_first()
        go_on = self.slowed("file")
        [before] = self.on_screen.listings.of(self.window).rows
        self.path.write_text(text := self.path.read_text() + "unseen\n", newline="")
        yield lambda: self.on_screen.listings.of(self.window).rows[0].after != before.after
        for decision in ("keep", "undo"):
            self.screen.messages.clear()
            self.window.run_command(f"qwen_companion_{decision}_file")
            self.assertTrue(self.screen.said("This file is being compared again."))
        go_on()
        yield lambda: self.on_screen._views[self.code.id()].changes.text == text
        self.assertEqual(self.path.read_text(), text)
        yield lambda: self.on_screen._views[self.code.id()].shows(self.on_screen.listings.of(self.window).rows[0])
        self.window.run_command("qwen_companion_keep_file")
        yield from self.waits()

    def test_marks_that_could_not_be_told_come_when_the_view_gets_the_focus(self) -> Steps:
        failures = self.fails("changes", "file", OSError("git was ended"))
        code = self.window.open_file(str(self.path))
        yield lambda: failures
        yield 200
        self.assertFalse(code.get_regions("qwen_companion.changes"))
        self.window.focus_view(self.view)
        self.window.focus_view(code)
        yield from self.marked(code, 2)

    def test_what_was_removed_is_shown_where_the_person_goes_and_hidden_when_they_leave(self) -> Steps:
        """By the editor, or by us where it shows nothing. The status bar names the keys."""
        yield from self.opened_at_first()
        line = lambda number: self.code.text_to_layout(self.code.text_point(number - 1, 0))[1]  # noqa: E731
        height = self.code.line_height()
        yield {"condition": lambda: line(3) - line(2) > 1.5 * height, "timeout": 60_000}
        status = lambda: self.code.get_status("zy_qwen_companion_keys")  # noqa: E731
        self.assertTrue(status().startswith("Change 1 of 2 · Keep "), status())
        self.window.run_command("qwen_companion_go_to_diff")
        yield {"condition": lambda: line(20) - line(19) > 1.5 * height, "timeout": 60_000}
        self.assertTrue(status().startswith("Change 2 of 2 · "), status())
        self.put_caret(self.code, 10)
        yield lambda: line(20) - line(19) < 1.5 * height and not status()
        self.assertEqual(self.code.sel()[0], sublime.Region(self.code.text_point(9, 0)))

    def test_a_preview_is_marked_and_gone_on_in_as_any_tab(self) -> Steps:
        """A click in the side bar shows one, which is none of the window's views for the editor."""
        for view in self.window.views():
            view.close()
        self.code = self.window.open_file(str(self.path), sublime.NewFileFlags.TRANSIENT)
        yield from self.marked(self.code, 2)
        self.assertEqual(self.window.views(), [])
        self.window.run_command("qwen_companion_go_to_diff")
        self.assertEqual(self.window.active_view(), self.code)
        self.window.run_command("qwen_companion_keep_all_changes")
        yield from self.waits()
        yield from self.marked(self.code, 0)

    def test_the_first_change_of_the_only_file_comes_after_the_last_and_that_is_said(self) -> Steps:
        """As in a proposal."""
        yield from self.opened_at_first()
        yield lambda: self.code.rowcol(self.code.sel()[0].b)[0] == 2
        rows: list[int] = []
        for previous in (False, False, True):
            self.window.run_command("qwen_companion_go_to_diff", {"previous": previous})
            rows.append(self.code.rowcol(self.code.sel()[0].b)[0])
        self.assertEqual(rows, [19, 2, 19])
        self.assertTrue(self.screen.said("Change 1 of 2, from the top again"))
        self.assertTrue(self.screen.said("Change 2 of 2, from the bottom again"))

    def test_the_words_that_were_removed_are_marked_where_the_editor_shows_no_diff(self) -> Steps:
        """The person has the gutter's diff off."""
        self.code = self.window.open_file(str(self.path))
        self.code.settings().set("mini_diff", False)
        yield from self.marked(self.code, 2)
        self.on_screen.go(self.window, None)
        gone, come = "qwen_companion.fillers", "qwen_companion.words"
        yield lambda: self.screen.phantoms(self.code, gone) == ["line 3"]
        self.assertEqual([self.code.substr(region) for region in self.code.get_regions(come)], ["three"])
        self.window.focus_view(self.view)
        yield lambda: self.screen.phantoms(self.code, gone) == []
        self.assertEqual(self.code.get_regions(come), [])
        self.assertIs(self.code.settings().get("mini_diff"), False)

    def test_one_change_is_kept_and_the_other_one_undone_in_the_real_file(self) -> Steps:
        """The command goes to the first change, which is in the person's own file."""
        yield from self.opened_at_first()
        yield lambda: self.code.rowcol(self.code.sel()[0].b)[0] == 2
        self.code.run_command("qwen_companion_keep_change")
        yield from self.waits(code=("modified", 1))
        yield from self.marked(self.code, 1)
        yield {"condition": lambda: self.code.rowcol(self.code.sel()[0].b)[0] == 19, "timeout": 60_000}
        self.code.run_command("qwen_companion_undo_change")
        yield from self.waits()
        self.assertEqual(self.path.read_text(), LINES.replace("line 3\n", "line three\n"))
        yield lambda: text_of(self.code) == self.path.read_text()
        yield from self.marked(self.code, 0)
        self.assertFalse(self.code.is_dirty())
        self.assertFalse(self.code.is_scratch() or self.code.is_read_only())

    def test_an_undo_is_one_step_of_the_buffers_undo(self) -> Steps:
        """The person can take it back in the editor as well."""
        yield from self.opened_at_first()
        self.put_caret(self.code, 3)
        self.code.run_command("qwen_companion_undo_change")
        yield lambda: "line 3\n" in text_of(self.code)
        self.code.run_command("undo")
        self.assertIn("line three\n", text_of(self.code))

    def test_a_file_is_undone_and_brought_back(self) -> Steps:
        """Undo File and Take Back."""
        self.window.run_command("qwen_companion_undo_file", {"path": str(self.path)})
        yield from self.waits()
        self.assertEqual(self.path.read_text(), LINES)
        self.window.run_command("qwen_companion_take_back")
        yield from self.waits(code=("modified", 2))

    def test_they_are_mine_is_offered_while_git_may_have_been_used_by_the_person(self) -> Steps:
        command = loaded("sublime_text.review.review_commands").QwenCompanionTheyAreMineCommand(self.window)
        self.assertFalse(command.is_visible())
        written = loaded("sublime_text.package").adapter().written
        at_once(written.show_changes, self.window.id(), replace(written.listings.of(self.window), by_git=1))
        self.assertTrue(command.is_visible())
        companion = Mock()
        with patch.object(loaded("sublime_text.package").adapter().thread, "post", lambda ask: ask(companion)):
            self.window.run_command("qwen_companion_they_are_mine")
        companion.decisions.they_are_mine.assert_called_once_with(self.window.id())
        yield 1

    def test_what_the_person_deletes_in_the_side_bar_is_not_listed(self) -> Steps:
        self.window.run_command("delete_file", {"files": [str(self.path)], "prompt": False})
        yield from self.waits()
        self.assertFalse(self.path.exists())

    def test_escape_instead_of_a_name_in_the_side_bar_leaves_the_file_to_whoever_renames_it(self) -> Steps:
        companion = loaded("sublime_text.package").adapter().thread._running[1]
        [folder] = companion.changes.roots.folders.values()
        listener = loaded("sublime_text.listeners").QwenCompanionListener()
        listener.on_post_window_command(self.window, "rename_path", {"paths": [str(self.path)]})
        yield lambda: folder.round.renaming
        self.window.run_command("hide_panel", {"cancel": True})
        yield lambda: not folder.round.renaming
        self.path.rename(self.path.with_name("other.txt"))
        yield from self.waits(other=("renamed", 2))

    def test_what_the_person_saves_is_not_listed(self) -> Steps:
        """Their edit beside the agent's changes is theirs."""
        yield from self.opened_at_first()
        point = self.code.text_point(9, 0)
        self.code.sel().clear()
        self.code.sel().add(point)
        self.code.run_command("insert", {"characters": "mine "})
        self.code.run_command("save")
        yield lambda: "mine" in self.path.read_text()
        yield from self.waits(code=("modified", 2))
        self.window.run_command("qwen_companion_undo_file", {"path": str(self.path)})
        yield from self.waits()
        self.assertEqual(self.path.read_text(), LINES.replace("line 10\n", "mine line 10\n"))

    def test_nothing_is_written_if_the_question_about_the_persons_own_lines_is_closed(self) -> Steps:
        """Each button does what it says, and Cancel nothing. Enter is Keep Mine."""
        self.set_limit("sublime_text.messenger", "QUIET", 0.0)
        yield from self.opened_at_first()
        self.put_caret(self.code, 3)
        self.code.run_command("insert", {"characters": "mine, "})
        self.code.run_command("save")
        yield lambda: "mine" in self.path.read_text()
        text = self.path.read_text()
        marked = self.on_screen._views[self.code.id()]
        yield {"condition": lambda: marked.row.note and marked.changes.text == text, "timeout": 60_000}
        asked: list[str] = []
        answers = [sublime.DialogResult.CANCEL, sublime.DialogResult.YES]

        def answer(question: str, yes: str, no: str) -> sublime.DialogResult:
            asked.append(f"{question} {yes} {no}")
            return answers[len(asked) - 1]

        with patch.object(sublime, "yes_no_cancel_dialog", answer):
            self.window.run_command("qwen_companion_undo_file")
            yield lambda: len(asked) == 1
            yield lambda: self.screen.said("Nothing was written: the question was closed without an answer.")
            self.assertEqual(self.path.read_text(), text)
            self.assertEqual(self.listed(), {"code.txt": ("modified", 2)})
            self.window.run_command("qwen_companion_undo_file")
            yield from self.waits()
        self.assertEqual(self.path.read_text(), LINES.replace("line 3\n", "line 3\nmine, line three\n"))
        self.assertTrue(asked[0].endswith("Keep it? Keep Mine Undo Those Too"), asked)

    def test_nothing_is_undone_in_a_file_with_unsaved_edits(self) -> Steps:
        """The change stays listed, and the file is not written."""
        yield from self.opened_at_first()
        self.put_caret(self.code, 3)
        before = self.path.read_bytes()
        self.code.run_command("insert", {"characters": "typed "})
        self.code.run_command("qwen_companion_undo_change")
        self.window.run_command("qwen_companion_undo_file", {"path": str(self.path)})
        yield 500
        self.assertEqual(self.path.read_bytes(), before)
        self.assertEqual(self.listed(), {"code.txt": ("modified", 2)})
        self.assertIn("typed", text_of(self.code))

    def test_what_is_typed_while_an_undo_is_on_its_way_stays_unsaved(self) -> Steps:
        """The tab had no unsaved edits when the undo began."""
        yield from self.opened_at_first()
        opened = loaded("sublime_text.package").adapter().files
        before, files = self.path.read_bytes(), opened.open_files

        async def clean() -> dict[str, bool]:
            return dict.fromkeys(await files(), False)

        patcher = patch.object(opened, "open_files", clean)
        patcher.start()
        self.addCleanup(patcher.stop)
        self.put_caret(self.code, 3)
        self.code.run_command("insert", {"characters": "typed "})
        self.window.run_command("qwen_companion_undo_file", {"path": str(self.path)})
        yield {"condition": lambda: self.screen.said("code.txt has unsaved edits"), "timeout": 60_000}
        self.assertEqual(self.path.read_bytes(), before)
        self.assertIn("typed", text_of(self.code))
        self.assertTrue(self.code.is_dirty())

    def opened_with(self, text: str, changes: int) -> Steps:
        """Have the agent write this, and go to its first change: self.code."""
        self.path.write_text(text, newline="")
        yield from self.waits(code=("modified", changes))
        yield from self.opened_at_first(changes)
        self.code.settings().set("auto_indent", False)

    def marked_lines(self) -> list[str]:
        """The first line of each change that is marked."""
        regions = self.code.get_regions("qwen_companion.changes")
        return [self.code.substr(self.code.line(each.begin())) for each in regions]

    def kept_lines(self) -> str:
        """The lines of the baseline that aren't in the first text."""
        marked = self.on_screen._views.get(self.code.id())
        lines = marked.changes.baseline.splitlines() if marked else []
        return " ".join(line for line in lines if f"{line}\n" not in LINES)

    def test_some_lines_are_not_kept_in_a_tab_with_unsaved_text(self) -> Steps:
        """Another one was than the selected one."""
        yield from self.opened_with(LINES.replace("line 10\n", "line 10\na1\na2\na3\n"), 1)
        self.put_caret(self.code, 12)
        self.code.run_command("insert", {"characters": "typed\n"})
        self.put_caret(self.code, 13, 13)
        self.assertEqual(self.code.substr(self.code.line(self.code.sel()[0])), "a2")
        self.code.run_command("qwen_companion_keep_change")
        yield lambda: self.screen.said("unsaved edits. Save it first")
        yield 500
        self.assertEqual((self.listed(), self.kept_lines()), ({"code.txt": ("modified", 1)}, ""))

    def test_the_selected_line_is_kept_after_some_were_cut_and_brought_back(self) -> Steps:
        """The editor's undo brings back the text, but not where the changes were in it."""
        yield from self.opened_with(LINES.replace("line 10\n", "line 10\na1\na2\na3\n"), 1)
        self.code.sel().clear()
        self.code.sel().add(sublime.Region(self.code.text_point(10, 0), self.code.text_point(12, 0)))
        self.code.run_command("right_delete")
        self.code.run_command("undo")
        self.assertEqual(self.code.substr(self.code.line(self.code.text_point(12, 0))), "a3")
        self.put_caret(self.code, 13, 13)
        self.code.run_command("qwen_companion_keep_change")
        yield lambda: self.kept_lines() == "a3"

    def cut_and_brought_back(self) -> Steps:
        """In a tab with unsaved text, delete over two of three changes, and have the editor's undo bring them back."""
        yield from self.opened_with(
            LINES.replace("line 10\n", "ten\n").replace("line 20\n", "").replace("line 28\n", "agent\n"), 3
        )
        self.put_caret(self.code, 30)
        self.code.run_command("insert", {"characters": "typed\n"})
        self.code.sel().clear()
        self.code.sel().add(sublime.Region(self.code.text_point(7, 0), self.code.text_point(24, 0)))
        self.code.run_command("right_delete")
        yield 600
        self.code.run_command("undo")
        self.assertTrue(self.code.is_dirty())

    def test_the_marks_come_back_with_what_was_cut_from_a_tab_with_unsaved_text(self) -> Steps:
        """They stayed together where it ended."""
        yield from self.cut_and_brought_back()
        yield lambda: self.marked_lines() == ["ten", "line 21", "agent"]
        self.assertTrue(self.code.is_dirty())
        self.put_caret(self.code, 10)
        self.code.run_command("qwen_companion_keep_change")
        yield lambda: self.kept_lines() == "ten"
        yield from self.waits(code=("modified", 2))

    def test_a_key_where_marks_were_left_by_what_was_cut_keeps_nothing(self) -> Steps:
        """It kept both changes, which are elsewhere."""
        yield from self.cut_and_brought_back()
        left = self.code.get_regions("qwen_companion.changes")[0]
        self.put_caret(self.code, self.code.rowcol(left.begin())[0] + 1)
        self.assertNotEqual(self.code.substr(self.code.line(self.code.sel()[0])), "ten")
        self.code.run_command("qwen_companion_keep_change")
        yield lambda: self.screen.said("There is no change at the caret.")
        yield 500
        self.assertEqual(self.listed(), {"code.txt": ("modified", 3)})

    def test_the_marks_are_not_drawn_again_while_the_person_types_between_them(self) -> Steps:
        yield from self.opened_at_first()
        marked = self.on_screen._views[self.code.id()]
        drawn = list[object]()
        draw = marked._draw_marks
        marked._draw_marks = lambda *given: (drawn.append(given), draw(*given))
        before = marked._placed
        self.put_caret(self.code, 10)
        self.code.run_command("insert", {"characters": "typed\n"})
        yield lambda: marked._placed != before
        self.assertEqual((drawn, self.marked_lines()), ([], ["line three", "line 21"]))

    def test_the_other_changes_keep_their_marks_when_one_is_kept_below_unsaved_text(self) -> Steps:
        """They were marked where the file has them, and the next key kept another one than that at the caret."""
        yield from self.opened_with(
            LINES.replace("line 10\n", "ten\n").replace("line 20\n", "twenty\n").replace("line 28\n", "agent\n"), 3
        )
        self.put_caret(self.code, 1)
        self.code.run_command("insert", {"characters": "typed\n" * 10})
        self.put_caret(self.code, 20)
        self.code.run_command("qwen_companion_keep_change")
        yield from self.waits(code=("modified", 2))
        yield lambda: self.marked_lines() == ["twenty", "agent"]
        yield lambda: self.code.rowcol(self.code.sel()[0].b)[0] == 29
        self.code.run_command("qwen_companion_keep_change")
        yield lambda: self.marked_lines() == ["agent"] and self.kept_lines() == "ten twenty"

    def test_what_is_written_below_unsaved_text_is_not_kept_in_a_tab_that_does_not_have_it(self) -> Steps:
        """Lines that were the person's own were marked as its changes, and a key kept what was not in the tab."""
        yield from self.opened_with(agents := LINES.replace("line 28\n", "agent\n"), 1)
        self.put_caret(self.code, 1)
        self.code.run_command("insert", {"characters": "typed\n" * 10})
        self.path.write_text(agents.replace("line 20\n", "unseen\n"), newline="")
        yield from self.waits(code=("modified", 2))
        yield 500
        self.assertEqual(self.marked_lines(), ["agent"])
        for row in (20, 28, 30):
            self.put_caret(self.code, row)
            self.code.run_command("qwen_companion_keep_change")
        self.window.run_command("qwen_companion_keep_file", {"path": str(self.path)})
        yield lambda: self.screen.said("written again below your unsaved text")
        self.assertEqual(self.listed(), {"code.txt": ("modified", 2)})
        self.put_caret(self.code, 38)
        self.code.run_command("qwen_companion_keep_change")
        yield from self.waits(code=("modified", 1))
        yield 500  # what waits is told before the tab has the text
        adapter = loaded("sublime_text.package").adapter()
        adapter.unsaved.do(self.code, "merge")
        yield lambda: "unseen" in text_of(self.code)
        self.on_screen.go(self.window, None)
        yield lambda: self.marked_lines() == ["unseen"]

    def test_selected_lines_are_undone(self) -> Steps:
        """Only the selected line of a change that has three."""
        self.path.write_text(LINES.replace("line 3\nline 4\nline 5\n", "x\ny\nz\n"), newline="")
        yield from self.waits(code=("modified", 1))
        self.on_screen.go(self.window, None)
        yield {"condition": lambda: self.window.find_open_file(str(self.path)), "timeout": 60_000}
        code = self.window.find_open_file(str(self.path))
        assert code
        yield from self.marked(code, 1)
        self.put_caret(code, 4, 4)
        code.run_command("qwen_companion_undo_change")
        expected = LINES.replace("line 3\nline 4\nline 5\n", "x\nline 4\nz\n")
        yield {"condition": lambda: self.path.read_text() == expected, "timeout": 60_000}

    def test_selected_lines_of_a_created_file_are_undone(self) -> Steps:
        path = self.folder / "new.txt"
        path.write_text("one\ntwo\nthree\n", newline="")
        yield from self.waits(code=("modified", 2), new=("created", 1))
        code = self.window.open_file(str(path))
        yield from self.marked(code, 1)
        self.put_caret(code, 2, 2)
        code.run_command("qwen_companion_undo_change")
        yield {"condition": lambda: path.exists() and path.read_text() == "one\nthree\n", "timeout": 60_000}

    @unittest.skipIf(sys.platform == "win32", "links need a right there")
    def test_the_next_change_is_behind_files_that_cannot_be_opened(self) -> Steps:
        """A deleted file and a link are passed, and a line says where they are decided."""
        os.symlink("z.txt", self.folder / "link.txt")
        self.file.unlink()
        (self.folder / "z.txt").write_text("new\n")
        yield from self.waits(app=("deleted", 1), code=("modified", 2), link=("link", 1), z=("created", 1))
        yield from self.opened_at_first()
        self.put_caret(self.code, 30)
        self.window.run_command("qwen_companion_go_to_diff")
        yield {"condition": lambda: self.window.find_open_file(str(self.folder / "z.txt")), "timeout": 60_000}
        self.assertIsNone(self.window.find_open_file(str(self.folder / "link.txt")))

    @unittest.skipIf(sys.platform == "win32", "links need a right there")
    def test_a_file_is_found_through_a_link_and_by_its_old_name(self) -> Steps:
        """Undo File takes each path that leads to a file that waits."""
        link = self.folder.parent / f"{self.folder.name}-link"
        os.symlink(self.folder, link)
        self.addCleanup(link.unlink)
        self.window.run_command("qwen_companion_undo_file", {"path": str(link / "code.txt")})
        yield from self.waits()
        self.path.rename(self.folder / "moved.txt")
        yield from self.waits(moved=("renamed", 1))
        self.window.run_command("qwen_companion_undo_file", {"path": str(self.path)})
        yield from self.waits()
        self.assertEqual(self.path.read_text(), LINES)

    def test_the_changes_of_a_renamed_file_are_decided_one_by_one_in_its_tab(self) -> Steps:
        """Each was refused there."""
        moved = self.folder / "moved.txt"
        self.path.rename(moved)
        yield from self.waits(moved=("renamed", 2))
        self.on_screen.go(self.window, None)
        yield {"condition": lambda: self.window.find_open_file(str(moved)), "timeout": 60_000}
        code = self.window.find_open_file(str(moved))
        assert code
        yield from self.marked(code, 2)
        code.run_command("qwen_companion_keep_change")
        yield from self.waits(moved=("renamed", 1))
        yield lambda: code.rowcol(code.sel()[0].b)[0] == 19
        code.run_command("qwen_companion_undo_change")
        yield from self.waits()
        self.assertEqual(self.path.read_text(), LINES.replace("line 3\n", "line three\n"))

    def test_the_review_has_it_beside_a_proposal(self) -> Steps:
        yield from self.open_diff("# proposed\n", self.folder / "proposed.py")
        self.window.run_command("qwen_companion_review")
        tab = loaded("sublime_text.package").adapter().review.tab(self.window).view
        yield lambda: "2 files, +2 −2: 1 proposed, 1 written" in text_of(tab)
        yield lambda: "▾\xa0code.txt" in text_of(tab) and "▾\xa0proposed.py" in text_of(tab)
        self.window.run_command("qwen_companion_keep_all_changes")
        yield lambda: "✓\xa0code.txt · +1 −2 · kept" in text_of(tab)

    def test_the_status_bar_counts_them(self) -> Steps:
        """Files and changes."""
        yield lambda: "Qwen Code: 1 file, 2 changes to review" in self.view.get_status("zz_qwen_companion")

    def test_an_accepted_proposal_does_not_come_up_again(self) -> Steps:
        """It was reviewed before it was written."""
        yield from self.open_diff("print(1)\n")
        yield from self.accepted()
        yield 700
        self.assertEqual(self.listed(), {"code.txt": ("modified", 2)})

    def test_a_created_file_is_deleted_and_comes_back(self) -> Steps:
        """Undo File and Take Back."""
        (self.folder / "new.txt").write_text("new\n")
        yield from self.waits(code=("modified", 2), new=("created", 1))
        self.window.run_command("qwen_companion_undo_file", {"path": "new.txt"})
        yield from self.waits(code=("modified", 2))
        self.assertFalse((self.folder / "new.txt").exists())
        self.window.run_command("qwen_companion_take_back")
        yield from self.waits(code=("modified", 2), new=("created", 1))
        self.assertEqual((self.folder / "new.txt").read_text(), "new\n")

    def test_what_is_undone_at_once_is_offered_to_be_taken_back(self) -> Steps:
        """Nobody is asked before: nothing of the person's goes."""
        self.window.run_command("qwen_companion_undo_all_changes")
        yield from self.waits()
        view = self.window.active_view()
        assert view
        yield lambda: "Undone: 1 file · Take Back" in view.get_status("qwen_companion.take_back")
        self.window.run_command("qwen_companion_take_back")
        yield from self.waits(code=("modified", 2))

    def test_what_is_offered_names_the_key_that_takes_it_back_where_the_person_is(self) -> Steps:
        """In the Review that of ours; elsewhere only one that they have bound without a context."""
        keys, load = loaded("sublime_text.keys"), sublime.load_resource
        theirs = ""
        read = lambda name: theirs if name == "Packages/User/Default.sublime-keymap" else load(name)  # noqa: E731
        offered = lambda: [  # noqa: E731
            each.get_status("qwen_companion.take_back").partition(" · ")[2] for each in self.window.views()
        ]
        self.addCleanup(keys.KEYS.forget)
        for bound, expected in (
            ("[]", "Take Back (in the palette)"),
            ('[{ "keys": ["primary+alt+z"], "command": "qwen_companion_take_back" }]', "Take Back Ctrl+Alt+Z"),
        ):
            theirs = bound
            with patch.object(sublime, "load_resource", read):
                keys.KEYS.forget()
                at_once(self.on_screen.offer_take_back, self.window.id(), "Undone: 1 file")
            self.assertIn(expected.replace("Ctrl+Alt+Z", "⌥⌘Z") if sublime.platform() == "osx" else expected, offered())
        keys.KEYS.forget()
        self.window.run_command("qwen_companion_review")
        yield lambda: (view := self.window.active_view()) and kind_of(view) == "review"
        at_once(self.on_screen.offer_take_back, self.window.id(), "Undone: 1 file")
        self.assertIn("Take Back z", offered())

    def test_what_was_accepted_is_taken_back(self) -> Steps:
        """Its file is as it was before, and what is listed stays listed."""
        before = self.file.read_text()
        yield from self.open_diff("print(1)\n")
        yield from self.accepted()
        view = self.window.active_view()
        assert view
        shown = lambda: [each.get_status("qwen_companion.take_back") for each in self.window.views()]  # noqa: E731
        yield lambda: any(said.startswith("Accepted ") for said in shown())
        yield lambda: self.file.read_text() == "print(1)\n"
        yield 700
        self.window.run_command("qwen_companion_take_back")
        yield lambda: self.file.read_text() == before
        self.assertEqual(self.listed(), {"code.txt": ("modified", 2)})

    def test_what_was_rejected_comes_back_in_a_tab(self) -> Steps:
        yield from self.open_diff("print(2)\n")
        self.proposal.run_command("insert", {"characters": "mine "})
        self.proposal.run_command("qwen_companion_reject_diff")
        yield lambda: not self.proposal.is_valid()
        self.window.run_command("qwen_companion_take_back")
        yield lambda: any("mine" in text_of(view) and "print(2)" in text_of(view) for view in self.window.views())

    def test_a_round_goes_on_over_a_reload_of_the_package(self) -> Steps:
        """What waits stays listed, and what is written meanwhile is the CLI's too."""
        package = loaded("sublime_text.package")
        package.unload()
        (self.folder / "meanwhile.txt").write_text("new\n")
        yield 1
        package.load()
        yield {"condition": lambda: not package.adapter().thread.is_starting, "timeout": 60_000}
        yield {"condition": lambda: len(self.listed()) == 2, "timeout": 60_000}
        self.assertEqual(self.listed(), {"code.txt": ("modified", 2), "meanwhile.txt": ("created", 1)})
        agents = {row.agents for row in self.on_screen.listings.of(self.window).rows}
        self.assertEqual(agents, {("Qwen Code",)})
        self.window.run_command("qwen_companion_undo_file", {"path": str(self.path)})
        yield from self.waits(meanwhile=("created", 1))
        self.assertEqual(self.path.read_text(), LINES)

    def test_a_file_is_shown_beside_its_baseline_and_alone_again(self) -> Steps:
        """By the key of a proposal's layout; the right side is the person's own view."""
        yield from self.opened_at_first()
        views = len(self.window.views())
        self.code.run_command("qwen_companion_toggle_diff_layout")
        left = self.baselines()
        self.assertEqual([text_of(view) for view in left], [LINES])
        self.assertTrue(left[0].is_read_only() and left[0].is_scratch())
        self.assertEqual(self.window.active_view(), self.code)
        self.assertEqual(len(self.window.views()), views + 1)
        self.assertEqual([sheet.view() for sheet in self.window.selected_sheets()], [left[0], self.code])
        yield from self.marked(self.code, 2)
        self.put_caret(self.code, 3)
        self.code.run_command("qwen_companion_keep_change")
        yield {"condition": lambda: "line three\n" in text_of(left[0]), "timeout": 60_000}
        self.code.run_command("qwen_companion_toggle_diff_layout")
        yield lambda: len(self.window.views()) == views
        self.assertEqual(self.window.active_view(), self.code)
        self.assertFalse(self.code.is_scratch() or self.code.is_read_only())

    def beside(self) -> Generator[Any, Any, sublime.View]:
        """Show self.code beside its baseline. Returns that."""
        self.code.run_command("qwen_companion_toggle_diff_layout")
        self.assertEqual(self.window.active_view(), self.code)
        yield from self.marked(self.code, 2)
        [left] = self.baselines()
        return left

    def test_the_key_of_next_change_goes_on_in_the_file_from_beside_it(self) -> Steps:
        """From its baseline it went to the first change of the first file."""
        yield from self.opened_at_first()
        left = yield from self.beside()
        self.put_caret(self.code, 3)
        self.window.focus_view(left)
        self.window.run_command("qwen_companion_go_to_diff")
        self.assertEqual(self.window.active_view(), self.code)
        self.assertEqual(self.code.rowcol(self.code.sel()[0].b)[0], 19)

    def test_the_keys_of_a_change_decide_on_it_from_what_it_has_removed_in_the_baseline(self) -> Steps:
        """They did nothing there."""
        yield from self.opened_at_first()
        left = yield from self.beside()
        self.window.focus_view(left)
        for line, has_change in ((2, False), (3, True), (20, True)):
            self.put_caret(left, line)
            self.assertEqual(loaded("sublime_text.package").is_in_change(left), has_change)
        left.run_command("qwen_companion_undo_change")
        yield from self.waits(code=("modified", 1))
        yield lambda: text_of(self.code) == LINES.replace("line 3\n", "line three\n")
        self.assertEqual(self.window.active_view(), self.code)

    def test_a_decision_in_an_unsaved_text_that_cant_be_compared_is_not_made_and_that_is_said(self) -> Steps:
        """The key did nothing."""
        self.causes("A call on another thread failed")
        yield from self.opened_at_first()
        self.put_caret(self.code, 3)
        self.code.run_command("insert", {"characters": "typed"})
        with patch.object(loaded("sublime_text.review.written_view"), "compared", side_effect=RecursionError):
            self.code.run_command("qwen_companion_keep_change")
            yield lambda: self.screen.said("can't be done")
        self.assertEqual(self.listed(), {"code.txt": ("modified", 2)})

    def test_marks_of_an_unsaved_text_that_could_not_be_compared_come_when_the_view_gets_the_focus(self) -> Steps:
        """Until something else was written, those of what had been kept stayed."""
        self.causes("A call on another thread failed")
        yield from self.opened_at_first()
        self.put_caret(self.code, 10)
        self.code.run_command("insert", {"characters": "typed\n"})
        self.put_caret(self.code, 3)
        with patch.object(loaded("sublime_text.review.written"), "compared", side_effect=RecursionError) as failing:
            self.code.run_command("qwen_companion_keep_change")
            yield from self.waits(code=("modified", 1))
            yield lambda: failing.called
            yield 300
        self.assertEqual(len(self.code.get_regions("qwen_companion.changes")), 2)
        self.window.focus_view(self.view)
        self.window.focus_view(self.code)
        yield from self.marked(self.code, 1)

    def reviewed_elsewhere(self) -> Steps:
        """The agent takes its changes back, and the baseline is shown no more."""
        self.path.write_text(LINES, newline="")
        yield from self.waits()
        yield lambda: not self.baselines()

    def test_a_comparison_that_ends_by_itself_takes_no_focus_from_another_file(self) -> Steps:
        """What was typed next went into the file that was compared."""
        yield from self.opened_at_first()
        yield from self.beside()
        notes = self.window.new_file()
        notes.set_scratch(True)
        yield from self.reviewed_elsewhere()
        self.assertEqual(self.window.active_view(), notes)

    def test_a_comparison_that_ends_by_itself_leaves_its_file_in_sight_beside_the_focus(self) -> Steps:
        yield from self.opened_at_first()
        yield from self.beside()
        self.window.set_layout({"cols": [0.0, 0.5, 1.0], "rows": [0.0, 1.0], "cells": [[0, 0, 1, 1], [1, 0, 2, 1]]})
        self.window.set_view_index(self.view, 1, 0)
        self.window.focus_view(self.view)
        yield from self.reviewed_elsewhere()
        self.assertEqual(self.window.active_view(), self.view)
        self.assertEqual(self.window.active_view_in_group(0), self.code)

    def test_a_comparison_that_ends_leads_back_to_the_file_who_was_in_its_baseline(self) -> Steps:
        yield from self.opened_at_first()
        left = yield from self.beside()
        self.put_caret(self.code, 12)
        self.window.focus_view(left)
        self.window.run_command("qwen_companion_keep_all_changes")
        yield lambda: not self.baselines()
        self.assertEqual(self.window.active_view(), self.code)
        self.assertEqual(self.code.rowcol(self.code.sel()[0].b), (11, 0))

    def test_the_tab_of_a_file_stays_open_when_its_comparison_ends(self) -> Steps:
        """Unsaved words were lost."""
        yield from self.opened_at_first()
        yield from self.beside()
        self.code.run_command("insert", {"characters": "typed"})
        yield from self.reviewed_elsewhere()
        self.assertTrue(self.code.is_valid() and self.code.is_dirty())
        self.assertEqual(self.window.active_view(), self.code)
        self.assertEqual(self.code.get_regions("qwen_companion.baseline"), [])

    def test_the_tab_of_a_file_stays_open_when_its_baseline_is_closed(self) -> Steps:
        yield from self.opened_at_first()
        left = yield from self.beside()
        self.window.focus_view(left)
        left.close()
        yield 50
        self.assertEqual(self.window.active_view(), self.code)
        self.assertEqual(self.code.get_regions("qwen_companion.baseline"), [])

    def test_the_key_that_closes_a_baseline_leaves_the_tab_of_its_file_open(self) -> Steps:
        """The editor closes all tabs that are selected (sublimehq/sublime_text#4643)."""
        yield from self.opened_at_first()
        left = yield from self.beside()
        loaded("sublime_text.windows").focus_view(self.window, left)
        self.assertEqual(len(self.window.selected_sheets()), 2)
        self.window.run_command("close")
        yield lambda: not self.baselines()
        self.assertTrue(self.code.is_valid())
        self.assertEqual(self.window.active_view(), self.code)

    def test_a_baseline_stays_beside_its_file_when_a_project_brings_views_back(self) -> Steps:
        yield from self.opened_at_first()
        left = yield from self.beside()
        loaded("sublime_text.listeners").QwenCompanionListener().on_load_project(self.window)
        yield 50
        self.assertEqual(self.baselines(), [left])

    def test_a_baseline_goes_with_the_tab_of_its_file(self) -> Steps:
        yield from self.opened_at_first()
        yield from self.beside()
        self.code.close()
        yield lambda: not self.baselines()

    def test_a_file_beside_its_baseline_is_compared_with_what_a_save_has_overwritten_instead(self) -> Steps:
        yield from self.opened_at_first()
        yield from self.beside()
        self.on_screen.overwritten.offer(self.window, str(self.path), ["Qwen Code"], "theirs\n")
        yield lambda: self.on_screen.overwritten.waits(self.code)
        self.code.run_command("qwen_companion_compare_overwritten")
        yield lambda: [text_of(view) for view in self.baselines()] == ["theirs\n"]
        self.assertEqual([view.file_name() for view in self.window.views()].count(str(self.path)), 1)
        self.baselines()[0].run_command("qwen_companion_toggle_diff_layout")
        self.assertEqual(self.window.active_view(), self.code)

    def test_a_file_that_is_dragged_to_another_window_leaves_the_text_beside_it(self) -> Steps:
        """The tab kept the marks, and scrolled with the text in the other window."""
        yield from self.opened_at_first()
        self.on_screen.overwritten.offer(self.window, str(self.path), ["Qwen Code"], "theirs\n")
        yield lambda: self.on_screen.overwritten.waits(self.code)
        self.code.run_command("qwen_companion_compare_overwritten")
        yield self.baselines
        there, of = (yield from self.another_window()), sublime.View.window
        # No command of the editor moves it there.
        with patch.object(sublime.View, "window", lambda view: there if view == self.code else of(view)):
            loaded("sublime_text.package").adapter().events.on_activated(self.code)
        self.assertEqual(self.baselines(), [])
        self.assertEqual(self.code.get_regions("qwen_companion.baseline"), [])
        self.assertTrue(self.code.is_valid())

    def test_a_file_and_its_baseline_scroll_together_again_after_another_tab_was_in_front(self) -> Steps:
        """Each stayed where it was, until they were shown anew."""
        self.set_limit("sublime_text.review.side_by_side", "INTERVAL", 5)
        yield from self.opened_at_first()
        self.code.run_command("qwen_companion_toggle_diff_layout")
        [left], right = self.baselines(), self.window.active_view()
        assert right
        for top in (40.0, 20.0):
            self.window.focus_view(self.view)
            yield 50
            self.window.select_sheets([each for view in (left, right) if (each := view.sheet())])
            self.window.focus_view(right)
            right.set_viewport_position((0.0, top), animate=False)
            yield lambda top=top: left.viewport_position()[1] == top

    def test_what_a_save_has_overwritten_can_be_compared(self) -> Steps:
        """The agent's text is beside the file; nothing is lost."""
        yield from self.opened_at_first()
        agents = self.path.read_text()
        self.on_screen.overwritten.offer(
            self.window, str(self.path), ["Qwen Code"], agents.replace("line 5", "line 5!")
        )
        yield lambda: self.screen.phantoms(self.code, "qwen_companion.overwritten")
        self.screen.click(self.code, "compare")
        yield self.baselines
        self.assertIn("line 5!", text_of(self.baselines()[0]))
        self.baselines()[0].run_command("qwen_companion_toggle_diff_layout")
        yield lambda: not self.baselines()

    def test_what_a_save_has_overwritten_is_offered_in_each_window_and_through_a_link(self) -> Steps:
        """A round knows windows, and not in which of them a file is open."""
        link = self.folder / "link.txt"
        try:
            link.symlink_to(self.path)
        except OSError:
            self.skipTest("there are no links here")
        second = yield from self.another_window()
        views = [second.open_file(str(self.path)), self.window.open_file(str(link))]
        yield lambda: not any(view.is_loading() for view in views)
        self.on_screen.overwritten.offer(self.window, str(self.path), ["Qwen Code"], "theirs\n")
        for view in views:
            yield lambda view=view: self.screen.phantoms(view, "qwen_companion.overwritten")
            self.assertTrue(self.on_screen.overwritten.waits(view))
        self.screen.click(views[0], "compare")
        yield lambda: self.baselines(second)
        self.assertEqual(text_of(self.baselines(second)[0]), "theirs\n")
        for view in views:
            self.assertEqual(self.screen.phantoms(view, "qwen_companion.overwritten"), [])
            self.assertFalse(self.on_screen.overwritten.waits(view))
        self.baselines(second)[0].run_command("qwen_companion_toggle_diff_layout")
        yield lambda: not self.baselines(second)

    def test_what_a_save_has_overwritten_is_offered_after_a_reload_of_the_package(self) -> Steps:
        yield from self.opened_at_first()
        self.on_screen.overwritten.offer(self.window, str(self.path), ["Qwen Code"], "theirs\n")
        yield lambda: self.on_screen.overwritten.waits(self.code)
        package = loaded("sublime_text.package")
        package.unload()
        yield 1
        self.assertEqual(self.screen.phantoms(self.code, "qwen_companion.overwritten"), [])
        package.load()
        yield {"condition": lambda: not package.adapter().thread.is_starting, "timeout": 60_000}
        self.assertEqual(len(self.screen.phantoms(self.code, "qwen_companion.overwritten")), 1)
        self.code.run_command("qwen_companion_compare_overwritten")
        yield self.baselines
        self.assertEqual(text_of(self.baselines()[0]), "theirs\n")
        self.assertFalse(package.adapter().written.overwritten.waits(self.code))

    def test_what_a_save_has_overwritten_waits_for_a_tab_that_was_closed(self) -> Steps:
        """The file was saved and closed before anybody knew."""
        self.causes("A call on another thread failed")
        self.on_screen.overwritten.offer(self.window, str(self.path), ["Qwen Code"], "theirs\n")
        view = self.window.open_file(str(self.path))
        yield lambda: not view.is_loading()
        self.assertTrue(self.on_screen.overwritten.waits(view))
        with patch.object(loaded("sublime_text.review.unsaved"), "changes", side_effect=RecursionError):
            view.run_command("qwen_companion_compare_overwritten")
            yield lambda: self.screen.said("can't be done")
        self.assertTrue(self.on_screen.overwritten.waits(view))
        view.run_command("qwen_companion_compare_overwritten")
        yield self.baselines
        self.assertEqual(text_of(self.baselines()[0]), "theirs\n")
        self.baselines()[0].run_command("qwen_companion_toggle_diff_layout")
        yield lambda: not self.baselines()

    def test_a_comparison_that_is_late_takes_no_focus_from_another_file(self) -> Steps:
        """It can still be asked for again."""
        yield from self.opened_at_first()
        self.on_screen.overwritten.offer(self.window, str(self.path), ["Qwen Code"], "theirs\n")
        yield lambda: self.on_screen.overwritten.waits(self.code)
        go_on = self.held()
        self.code.run_command("qwen_companion_compare_overwritten")
        self.window.focus_view(self.view)
        go_on()
        yield 300
        self.assertEqual((self.window.active_view(), self.baselines()), (self.view, []))
        self.window.focus_view(self.code)
        self.code.run_command("qwen_companion_compare_overwritten")
        yield self.baselines
        self.baselines()[0].run_command("qwen_companion_toggle_diff_layout")

    def test_the_gutter_leaves_out_what_the_person_has_typed(self) -> Steps:
        """The reference document is the baseline with their unsaved edits."""
        yield from self.opened_at_first()
        marked = self.on_screen._views[self.code.id()]
        referred: list[str] = []
        before = marked.refer_to
        marked.refer_to = lambda text: (referred.append(text), before(text))
        self.put_caret(self.code, 10)
        self.code.run_command("insert", {"characters": "mine "})
        theirs = LINES.replace("line 10\n", "mine line 10\n")
        yield lambda: referred[-1:] == [theirs]
        self.put_caret(self.code, 3)
        self.code.run_command("insert", {"characters": "both "})
        yield lambda: len(referred) > 1
        self.assertEqual(referred, [theirs, theirs])

    def test_the_first_change_opens_by_itself_only_if_that_is_wanted_and_nothing_is_typed(self) -> Steps:
        """Otherwise the focus stays."""
        written = self.on_screen
        written._typed_at = -100.0
        self.window.focus_view(self.view)
        at_once(written.turn_changed, self.window.id(), "Qwen Code", 1)
        self.assertEqual(self.window.active_view(), self.view)
        self.set_setting("open_first_change", True)
        self.view.run_command("insert", {"characters": "x"})
        self.view.run_command("undo")
        at_once(written.turn_changed, self.window.id(), "Qwen Code", 1)
        self.assertEqual(self.window.active_view(), self.view)
        written._typed_at = -100.0
        at_once(written.turn_changed, self.window.id(), "Qwen Code", 1)
        yield lambda: (view := self.window.active_view()) and view.file_name() == str(self.path)

    def test_the_first_change_does_not_open_where_the_person_is_not(self) -> Steps:
        """While they are in a panel, or in another window: that one could come to the back."""
        written = self.on_screen
        self.set_setting("open_first_change", True)
        written._typed_at = -100.0
        panel = yield from self.open_terminal_panel()
        at_once(written.turn_changed, self.window.id(), "Qwen Code", 1)
        self.assertEqual(self.focused(), panel)
        self.window.focus_view(self.view)
        yield lambda: self.focused() == self.view
        front = yield from self.another_window()
        yield lambda: sublime.active_window() == front
        at_once(written.turn_changed, self.window.id(), "Qwen Code", 1)
        self.assertEqual(sublime.active_window(), front)
        self.assertIsNone(self.window.find_open_file(str(self.path)))

    def test_who_reviews_already_is_not_told_to(self) -> Steps:
        """In the Review as in the file."""
        self.window.focus_view(self.view)
        self.window.run_command("qwen_companion_review")
        yield lambda: (view := self.window.active_view()) and kind_of(view) == "review"
        at_once(self.on_screen.turn_changed, self.window.id(), "Somebody", 1)
        self.assertFalse(self.screen.said("Somebody: 1 file changed"))
        self.window.focus_view(self.view)
        at_once(self.on_screen.turn_changed, self.window.id(), "Somebody", 1)
        self.assertTrue(self.screen.said("Somebody: 1 file changed"))

    def test_the_status_report_has_the_list(self) -> Steps:
        """A row for each file."""
        facts = self.on_screen.listings.facts(self.window)
        self.assertEqual(facts, ("code.txt: modified, +1 −2, Qwen Code, waits",))
        yield 1

    def test_a_save_over_an_agents_change_loses_nothing(self) -> Steps:
        """What was overwritten is beside the file after Compare."""
        yield from self.opened_at_first()
        self.put_caret(self.code, 10)
        self.code.run_command("insert", {"characters": "mine "})
        agents = LINES.replace("line 25\n", "line 25, the agent's\n")
        self.path.write_text(agents, newline="")
        yield from self.waits(code=("modified", 1))
        yield 300
        self.code.run_command("save")
        yield lambda: "mine" in self.path.read_text()
        yield lambda: self.on_screen.overwritten.waits(self.code)
        self.code.run_command("qwen_companion_compare_overwritten")
        yield self.baselines
        self.assertEqual(text_of(self.baselines()[0]), agents)
        self.assertFalse(self.on_screen.overwritten.waits(self.code))

    def test_a_save_without_an_edit_over_an_agents_change_loses_nothing(self) -> Steps:
        """The tab was not loaded again."""
        code = self.window.open_file(str(self.path))
        yield from self.marked(code, 2)
        code.settings().set("reload_file_on_change", False)
        self.addCleanup(code.settings().erase, "reload_file_on_change")
        agents = LINES.replace("line 25\n", "line 25, the agent's\n")
        self.path.write_text(agents, newline="")
        yield from self.waits(code=("modified", 1))
        code.run_command("save")
        yield lambda: self.on_screen.overwritten.waits(code)
        code.run_command("qwen_companion_compare_overwritten")
        yield self.baselines
        self.assertEqual(text_of(self.baselines()[0]), agents)
