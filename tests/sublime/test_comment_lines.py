"""The lines that a comment is about: which they are, and where they are after edits."""

from __future__ import annotations

from pathlib import Path

import sublime

from .companion_case import CompanionCase, Steps, loaded, text_of
from .test_review_tab import ReviewCase

WORDS = "use the helper in money.py"


class TestCommentLines(CompanionCase):
    """One window with a file whose lines are alike."""

    def setUp(self) -> Steps:
        yield from super().setUp()
        self.panel = loaded("sublime_text.package").adapter().comments
        self.addCleanup(lambda: self.panel.delete(list(self.panel.comments)))
        (self.folder / "alike.py").write_text("".join(f"def f{at}():\n    pass\n\n" for at in range(20)))
        yield from self.open_view("alike.py")

    def comment_at(self, row: int, words: str = WORDS) -> None:
        self.caret(row)
        self.opened.run_command("qwen_companion_comment", {"text": words})

    def caret(self, row: int, column: int = 0) -> None:
        self.opened.sel().clear()
        self.opened.sel().add(self.opened.text_point(row, column))

    def test_a_line_that_is_edited_keeps_its_comment_though_another_line_has_the_same_text(self) -> None:
        self.comment_at(4)
        self.caret(4, 8)
        self.opened.run_command("insert", {"characters": "_it_on"})
        [comment] = self.panel.settled(self.window)
        self.assertEqual((comment.first, comment.has_changed), (5, True))
        self.opened.run_command("undo")
        [comment] = self.panel.settled(self.window)
        self.assertEqual((comment.first, comment.has_changed), (5, False))

    def test_a_line_that_moved_on_the_disk_takes_its_comment_along(self) -> Steps:
        self.comment_at(3)
        path = self.folder / "alike.py"
        path.write_text("# one\n# two\n" + path.read_text())
        self.opened.run_command("revert")
        yield lambda: [each.first for each in self.panel.settled(self.window)] == [6]
        [comment] = self.panel.settled(self.window)
        self.assertFalse(comment.has_changed)

    def test_an_empty_text_deletes_the_comment_of_the_line(self) -> None:
        self.comment_at(1, "one")
        self.comment_at(4, "two")
        self.comment_at(1, " \n")
        self.assertEqual([each.words for each in self.panel.unsent(self.window)], ["two"])
        self.comment_at(7, "")
        self.assertEqual([each.words for each in self.panel.unsent(self.window)], ["two"])

    def test_a_comment_on_a_huge_selection_is_still_there_after_a_restart(self) -> Steps:
        text = "\n".join(f"x{at} = '{'é' * 100}'" for at in range(60_000))
        (self.folder / "huge.py").write_text(text)
        yield from self.open_view("huge.py")
        self.opened.run_command("select_all")
        self.opened.run_command("qwen_companion_comment", {"text": WORDS})
        [comment] = self.panel.settled(self.window)
        self.assertEqual((comment.first, comment.last, comment.has_changed), (1, 60_000, False))
        store = self.panel.kept._store
        yield lambda: [each.words for each in store.load(str(self.folder))] == [WORDS]
        [kept] = store.load(str(self.folder))
        self.assertEqual((kept.first, kept.last), (1, 60_000))
        self.window.run_command("qwen_companion_copy_comments")
        self.assertIn("huge.py lines 1-60000", sublime.get_clipboard())
        self.assertIn("… 59980 more lines", sublime.get_clipboard())

    def test_each_of_several_carets_has_the_comment(self) -> None:
        """And two on one line have one."""
        self.caret(4)
        for row, column in ((10, 0), (10, 2)):
            self.opened.sel().add(self.opened.text_point(row, column))
        self.opened.run_command("qwen_companion_comment", {"text": WORDS})
        found = self.panel.unsent(self.window)
        self.assertEqual([(each.first, each.words) for each in found], [(5, WORDS), (11, WORDS)])


class TestRemovedLines(ReviewCase):
    """A line that an agent has removed, as it stands elsewhere, too."""

    def commented(self) -> Steps:
        """Comment on it in the Review."""
        self.panel = loaded("sublime_text.package").adapter().comments
        self.addCleanup(lambda: self.panel.delete(list(self.panel.comments)))
        old = "".join("same\n" if at in (5, 12) else f"line {at}\n" for at in range(1, 41))
        self.file.write_text(old)
        yield lambda: text_of(self.view) == old
        yield from self.begun()
        self.file.write_text(new := old.replace("same\n", "", 1))
        yield from self.waits(1)
        yield lambda: text_of(self.view) == new
        yield from self.review()
        yield self.has("▾ app.py", "same")
        self.go_to("same")
        self.press("c")
        caption, _, done = self.screen.inputs[-1]
        self.assertEqual(caption, "Comment on app.py:5")
        done("Why?")

    def test_a_comment_on_a_line_that_was_removed_does_not_go_to_an_equal_one(self) -> Steps:
        """Nor after an edit of the file."""
        yield from self.commented()
        for typed, first in (("", 5), ("above\n", 6)):
            self.view.sel().clear()
            self.view.sel().add(0)
            self.view.run_command("insert", {"characters": typed})
            [comment] = self.panel.settled(self.window)
            self.assertEqual((comment.first, comment.lines, comment.has_changed), (first, ("same",), False))
            sent = loaded("comments").message([comment], loaded("comments").markdown)
            self.assertEqual(sent, f"{self.file} line {first} (where this was removed)\n```\nsame\n```\nWhy?")

    def test_it_is_shown_in_the_file_where_the_line_was(self) -> Steps:
        """It can be edited and deleted there."""
        yield from self.commented()
        [comment] = self.panel.comments
        region = self.panel.views.region(self.view, comment)
        assert region
        self.assertEqual(self.view.rowcol(region.begin())[0], 4)
        [shown] = self.screen.phantoms(self.view, "qwen_companion.comments")
        self.assertEqual(shown, "¶ Why? (the lines have changed) editdelete")

    def test_a_proposal_for_the_file_does_not_take_it_to_an_equal_line(self) -> Steps:
        """It is shown in the file meanwhile, and moves with an edit."""
        yield from self.commented()
        yield from self.open_diff(f"# new\n{text_of(self.view)}")
        self.window.focus_view(self.original)
        self.panel.views.draw_file(str(self.file))
        self.assertEqual([each.first for each in self.panel.comments], [5])
        self.assertEqual(self.screen.phantoms(self.original, "qwen_companion.comments"), [])
        self.view.sel().clear()
        self.view.sel().add(0)
        self.view.run_command("insert", {"characters": "above\n"})
        self.assertEqual([each.first for each in self.panel.settled(self.window)], [6])

    def accept_one(self, path: Path) -> Steps:
        """Comment on a line that a proposal removes below two new ones, accept it, and have the CLI write it."""
        self.panel = loaded("sublime_text.package").adapter().comments
        self.addCleanup(lambda: self.panel.delete(list(self.panel.comments)))
        self.set_setting("review", "off")
        old = "".join("same\n" if at in (5, 12) else f"line {at}\n" for at in range(1, 41))
        path.write_text(old)
        yield lambda: path != self.file or text_of(self.view) == old
        new = "# one\n# two\n" + old.replace("same\n", "", 1)
        yield from self.open_diff(new, path)
        yield from self.review()
        yield self.has(f"▾ {path.name}", "same")
        self.go_to("same")
        self.press("c")
        self.screen.inputs[-1][2]("Why?")
        self.assertEqual([each.first for each in self.panel.comments], [5])
        diffs = loaded("sublime_text.package").adapter().diffs
        diffs.show(diffs.find(self.proposal))
        self.proposal.run_command("qwen_companion_accept_diff")
        yield lambda: not self.proposal.is_valid()
        path.write_text(new)
        self.opened = self.window.open_file(str(path))
        yield lambda: text_of(self.opened) == new

    def assert_below_the_new_lines(self) -> Steps:
        """It stands where the line was removed."""
        yield lambda: [each.first for each in self.panel.settled(self.window)] == [7]
        [comment] = self.panel.comments
        region = lambda: self.panel.views.region(self.opened, comment)  # noqa: E731
        yield lambda: region() and self.opened.rowcol(region().begin())[0] == 6
        self.assertFalse(comment.has_changed)

    def test_the_comment_on_a_line_that_an_accepted_proposal_has_removed_is_where_that_was(self) -> Steps:
        yield from self.accept_one(self.file)
        yield from self.assert_below_the_new_lines()

    def test_so_it_is_in_a_file_that_was_not_open_then(self) -> Steps:
        yield from self.accept_one(self.folder / "other.py")
        yield from self.assert_below_the_new_lines()

    def test_it_moves_with_lines_that_an_agent_writes_above_it(self) -> Steps:
        """Or below, at once."""
        yield from self.commented()
        self.file.write_text(new := "# one\n# two\n" + text_of(self.view).replace("line 30\n", "line thirty\n"))
        yield lambda: text_of(self.view) == new
        yield lambda: [each.first for each in self.panel.settled(self.window)] == [7]
