"""After a key has kept or undone a change, the next one comes, and nothing else moves."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import sublime

from .companion_case import Steps, text_of
from .test_changes_review import LINES, ChangesCase

LIMIT = 60_000


class OnwardCase(ChangesCase):
    """A file with three changes in front, and another one with one."""

    def setUp(self) -> Steps:
        (yield from super().setUp())
        self.path, self.other = self.folder / "code.txt", self.folder / "other.txt"
        self.path.write_text(LINES, newline="")
        self.other.write_text(LINES, newline="")
        yield from self.begin_anew()
        written = LINES.replace("line 3\n", "x\n").replace("line 11\nline 12\nline 13\n", "x\ny\nz\n")
        self.path.write_text(written.replace("line 25\n", ""), newline="")
        self.other.write_text(LINES.replace("line 7\n", "seven\n"), newline="")
        yield from self.waits(code=("modified", 3), other=("modified", 1))
        self.code = self.window.open_file(str(self.path))
        yield from self.marked(self.code, 3)
        self.window.focus_view(self.code)

    def row(self, view: sublime.View | None = None) -> int:
        """The row of the only caret, from 1."""
        [caret] = (view or self.code).sel()
        return (view or self.code).rowcol(caret.b)[0] + 1

    def comes(self, line: int) -> Steps:
        """Wait until the caret is in a line, alone, and the line is on the screen."""
        shown = lambda: self.code.visible_region().contains(self.code.sel()[0].b)  # noqa: E731
        yield {"condition": lambda: len(self.code.sel()) == 1 and self.row() == line and shown(), "timeout": LIMIT}


class TestOnward(OnwardCase):
    """By keys."""

    def test_the_next_change_comes_after_one_was_kept(self) -> Steps:
        """Down the file, and around at its end as long as something waits there."""
        self.put_caret(self.code, 12)
        self.code.run_command("qwen_companion_keep_change")
        yield from self.comes(25)
        yield from self.waits(code=("modified", 2), other=("modified", 1))
        self.code.run_command("qwen_companion_keep_change")
        yield from self.comes(3)
        yield from self.waits(code=("modified", 1), other=("modified", 1))
        self.assertEqual(self.window.active_view(), self.code)

    def test_another_decision_counts_while_one_is_under_way(self) -> Steps:
        """The same one again doesn't: nobody has seen yet what comes next."""
        keep = self.slowed("decide_changes", "decisions", "keep")
        self.put_caret(self.code, 3)
        self.code.run_command("qwen_companion_keep_change")
        self.code.run_command("qwen_companion_keep_change")
        self.put_caret(self.code, 25)
        self.code.run_command("qwen_companion_keep_change")
        self.put_caret(self.code, 12)
        self.code.run_command("qwen_companion_undo_change")
        text = LINES.replace("line 3\n", "x\n").replace("line 25\n", "")
        yield {"condition": lambda: self.path.read_text() == text, "timeout": LIMIT}
        keep()
        yield from self.waits(other=("modified", 1))
        self.assertEqual(self.path.read_text(), text)
        self.assertFalse(any("changed meanwhile" in each for each in self.screen.messages), self.screen.messages)

    def test_a_key_in_unsaved_text_that_comes_to_nothing_is_not_lost_unsaid(self) -> Steps:
        """The person moves, or types on, before it is known where the changes are in their text."""
        for command, args in (("move", {"by": "lines", "forward": True}), ("insert", {"characters": "mine"})):
            self.screen.messages.clear()
            go = self.held()
            self.put_caret(self.code, 3)
            self.code.run_command("insert", {"characters": "typed"})
            self.code.run_command("qwen_companion_keep_change")
            self.code.run_command(command, args)
            self.assertEqual(self.screen.messages, [])
            go()
            yield lambda: self.screen.said("Nothing was decided")
        yield from self.waits(code=("modified", 3), other=("modified", 1))

    def test_the_next_change_comes_after_one_was_undone(self) -> Steps:
        """Also where lines have come back above it."""
        self.put_caret(self.code, 3)
        self.code.run_command("qwen_companion_undo_change")
        yield from self.comes(11)
        self.code.run_command("qwen_companion_undo_change")
        yield from self.comes(25)
        self.assertEqual(text_of(self.code), LINES.replace("line 25\n", ""))

    def test_the_rest_of_a_change_is_the_next_one_after_a_selected_line(self) -> Steps:
        """Line by line through a change, then to the one after it."""
        self.put_caret(self.code, 11, 11)
        self.code.run_command("qwen_companion_undo_change")
        yield from self.comes(12)
        self.put_caret(self.code, 13, 13)
        self.code.run_command("qwen_companion_keep_change")
        yield from self.comes(25)
        yield from self.waits(code=("modified", 3), other=("modified", 1))

    def test_the_changes_at_two_carets_are_both_decided_before_the_next_one_comes(self) -> Steps:
        """What is left of the file."""
        self.put_caret(self.code, 3)
        self.code.sel().add(sublime.Region(self.code.text_point(24, 0)))
        self.code.run_command("qwen_companion_undo_change")
        yield from self.comes(11)
        yield from self.waits(code=("modified", 1), other=("modified", 1))

    def test_the_next_file_comes_after_the_last_change_of_one(self) -> Steps:
        """The status bar says what still waits."""
        self.put_caret(self.code, 3)
        for line in (11, 25):
            self.code.run_command("qwen_companion_keep_change")
            yield from self.comes(line)
        self.code.run_command("qwen_companion_undo_change")
        opened = lambda: self.window.find_open_file(str(self.other))  # noqa: E731
        yield {"condition": lambda: opened() and self.window.active_view() == opened(), "timeout": LIMIT}
        other = opened()
        assert other
        yield {"condition": lambda: self.row(other) == 7, "timeout": LIMIT}
        self.assertTrue(self.screen.said("code.txt is reviewed. 1 change in 1 file still waits"))
        other.run_command("qwen_companion_keep_change")
        yield from self.waits()
        yield {"condition": lambda: self.screen.said("other.txt is reviewed. Nothing else"), "timeout": LIMIT}
        self.assertEqual(self.window.active_view(), other)

    def test_the_next_file_comes_after_a_whole_one_was_decided(self) -> Steps:
        """One key for each file."""
        opened = lambda: self.window.find_open_file(str(self.other))  # noqa: E731
        for decision, text in (("undo", LINES), ("keep", None)):
            with self.subTest(decision):
                self.window.focus_view(self.code)
                self.window.run_command(f"qwen_companion_{decision}_file")
                yield from self.waits(other=("modified", 1))
                yield {"condition": lambda: opened() and self.window.active_view() == opened(), "timeout": LIMIT}
                yield {"condition": lambda: self.row(opened()) == 7, "timeout": LIMIT}
                if text:
                    self.assertEqual(self.path.read_text(), text)
                    self.path.write_text(LINES.replace("line 3\n", "x\n"), newline="")
                    yield from self.waits(code=("modified", 1), other=("modified", 1))
                    yield from self.marked(self.code, 1)

    def test_who_has_gone_on_by_themselves_stays_where_they_are(self) -> Steps:
        """A decision takes a moment, and the focus is not taken from where somebody types by then."""
        self.code.run_command("select_all")
        self.code.run_command("qwen_companion_keep_change")
        self.window.focus_view(self.view)
        yield from self.waits(other=("modified", 1))
        yield {"condition": lambda: self.screen.said("code.txt is reviewed."), "timeout": LIMIT}
        self.assertEqual(self.window.active_view(), self.view)
        self.assertIsNone(self.window.find_open_file(str(self.other)))
        self.window.run_command("qwen_companion_go_to_diff")
        opened = lambda: self.window.find_open_file(str(self.other))  # noqa: E731
        yield {"condition": lambda: opened() and self.window.active_view() == opened(), "timeout": LIMIT}

    def test_the_next_file_is_not_opened_in_a_window_that_was_left(self) -> Steps:
        """It could come to the front with that (sublimehq/sublime_text#4407)."""
        front = yield from self.another_window()
        self.window.bring_to_front()
        yield {"condition": lambda: sublime.active_window() == self.window, "timeout": LIMIT}
        self.code.run_command("select_all")
        self.code.run_command("qwen_companion_keep_change")
        front.bring_to_front()
        yield from self.waits(other=("modified", 1))
        yield {"condition": lambda: self.screen.said("code.txt is reviewed."), "timeout": LIMIT}
        self.assertEqual(sublime.active_window(), front)
        self.assertIsNone(self.window.find_open_file(str(self.other)))

    def test_a_caret_that_was_moved_meanwhile_stays(self) -> Steps:
        """The change is kept all the same."""
        self.put_caret(self.code, 3)
        self.code.run_command("qwen_companion_keep_change")
        self.put_caret(self.code, 18)
        yield from self.waits(code=("modified", 2), other=("modified", 1))
        yield from self.marked(self.code, 2)
        yield {"condition": lambda: not self.on_screen._onward, "timeout": LIMIT}
        self.assertEqual(self.row(), 18)

    def test_a_click_leaves_the_caret_where_it_is(self) -> Steps:
        """The mouse goes its own way."""
        self.put_caret(self.code, 18)
        self.screen.click(self.code, "keep:0")
        yield from self.waits(code=("modified", 2), other=("modified", 1))
        yield from self.marked(self.code, 2)
        self.assertEqual(self.row(), 18)


class TestArrival(OnwardCase):
    """The next file opens at once; what has changed in it is told late."""

    def opened_late(self) -> Generator[Any, Any, Callable[[], Steps]]:
        """Go on to the other file: self.late. What is returned has its changes told, and waits until they are."""
        self.put_caret(self.code, 25)
        go_on = self.slowed("file")
        self.window.run_command("qwen_companion_go_to_diff")
        yield lambda: self.window.find_open_file(str(self.other))
        late = self.window.find_open_file(str(self.other))
        assert late
        self.late = late
        yield lambda: not late.is_loading() and self.window.active_view() == late
        yield 100

        def told() -> Steps:
            go_on()
            yield from self.marked(late, 1)
            yield 100

        return told

    def test_the_caret_goes_to_the_first_change_though_it_is_told_late(self) -> Steps:
        told = yield from self.opened_late()
        yield from told()
        self.assertEqual(self.row(self.late), 7)

    def test_it_goes_there_though_the_file_is_loaded_again_meanwhile(self) -> Steps:
        told = yield from self.opened_late()
        self.other.write_text(LINES.replace("line 9\n", "nine\n"), newline="")
        yield {"condition": lambda: "nine" in text_of(self.late), "timeout": LIMIT}
        yield from told()
        self.assertEqual(self.row(self.late), 9)

    def test_a_caret_that_was_moved_there_meanwhile_stays(self) -> Steps:
        told = yield from self.opened_late()
        self.put_caret(self.late, 20)
        yield from told()
        self.assertEqual(self.row(self.late), 20)

    def test_who_types_there_meanwhile_goes_on_typing(self) -> Steps:
        told = yield from self.opened_late()
        for typed in ("I ty", "pe"):
            self.late.run_command("insert", {"characters": typed})
            if typed == "I ty":
                yield from told()
        self.assertTrue(text_of(self.late).startswith("I type"))

    def test_the_caret_of_a_file_that_was_left_meanwhile_stays(self) -> Steps:
        told = yield from self.opened_late()
        self.window.focus_view(self.code)
        yield from told()
        self.assertEqual(self.row(self.late), 1)

    def test_the_caret_does_not_go_to_what_is_written_after_nothing_was_found(self) -> Steps:
        """The file was reviewed in another window."""
        told = yield from self.opened_late()
        self.on_screen._mark(self.late, self.on_screen.listings.row_in(self.late), None)
        yield from told()
        self.assertEqual(self.row(self.late), 1)

    def test_a_file_that_was_left_meanwhile_is_not_shown_beside_its_baseline(self) -> Steps:
        """That took the focus from where somebody typed."""
        go_on = self.slowed("file")
        [row] = [row for row in self.on_screen.listings.of(self.window).rows if row.path == "other.txt"]
        self.on_screen.open_line(self.window, row, 7, beside=True)
        late = self.window.active_view()
        assert late
        self.window.focus_view(self.code)
        yield 100
        go_on()
        yield from self.marked(late, 1)
        yield 100
        self.assertEqual((self.window.active_view(), self.baselines()), (self.code, []))
