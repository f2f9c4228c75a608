"""The changes of a diff: marked, reached by a key, reverted and restored one by one."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import sublime

from .companion_case import CompanionCase, Steps, diff_views, loaded, text_of

LINES = [f"line {number} is here\n" for number in range(1, 121)]
FILE = "".join(LINES)
CHANGED = [*LINES]
CHANGED[29:31] = []
CHANGED[12:12] = ["inserted one\n", "inserted two\n"]
CHANGED[2] = "line 3 was here\n"
PROPOSAL = "".join(CHANGED)
"""Line 3 is changed, two lines are new above line 13, lines 30 and 31 are gone."""
ROWS = [2, 12, 31]
"""Where the proposal has its changes; the last one is a row that lines are missing before."""
CHANGES = "qwen_companion.changes"
GAPS = "qwen_companion.gaps"


class ChangesCase(CompanionCase):
    """A diff with three changes."""

    def setUp(self) -> Steps:
        yield from super().setUp()
        self.file.write_text(FILE)
        yield lambda: text_of(self.view) == FILE

    def open_changes(self, content: str = PROPOSAL) -> Steps:
        """Open the diff and wait for its marks."""
        yield from self.open_diff(content)
        yield lambda: self.regions() and self.screen.header(self.proposal)
        # The marks are drawn in steps: changes with lines first, then those without.
        diff = loaded("sublime_text.package").adapter().diffs.find(self.proposal)
        yield lambda: len(self.rows()) == diff.counts.changes
        state: object = None
        while state != (state := self.screen.state()):
            yield 50

    def command(self, name: str) -> None:
        """Run one of the package's commands on the proposal."""
        self.proposal.run_command(f"qwen_companion_{name}")

    def row(self) -> int:
        """The row of the proposal's caret, from 0."""
        [caret] = self.proposal.sel()
        return self.proposal.rowcol(caret.b)[0]

    def rows(self) -> list[int]:
        """The rows of the proposal's changes."""
        return [self.proposal.rowcol(region.begin())[0] for region in self.regions()]

    def regions(self) -> list[sublime.Region]:
        """The regions of the proposal's changes. One is empty where lines only went."""
        return sorted(each for key in (CHANGES, GAPS) for each in self.proposal.get_regions(key))

    def put_caret(self, row: int) -> None:
        """Put the proposal's caret in a row."""
        self.proposal.sel().clear()
        self.proposal.sel().add(self.proposal.text_point(row, 3))

    def becomes(self, text: str) -> Steps:
        """Wait for the text of the proposal."""
        yield {"condition": lambda: text_of(self.proposal) == text, "timeout_message": "another text"}


def without(change: int) -> str:
    """The proposal with one of its changes reverted, counted from 0."""
    lines = [*CHANGED]
    if change == 0:
        lines[2] = LINES[2]
    elif change == 1:
        del lines[12:14]
    else:
        lines[31:31] = LINES[29:31]
    return "".join(lines)


class TestMoving(ChangesCase):
    """The caret goes from change to change."""

    def test_next_goes_down_and_from_the_last_change_to_the_first(self) -> Steps:
        """Next change."""
        yield from self.open_changes()
        self.assertEqual(self.rows(), ROWS)
        seen = []
        for _ in range(4):
            self.command("next_change")
            seen.append(self.row())
        self.assertEqual(seen, [*ROWS, ROWS[0]])
        self.assertTrue(self.screen.said("Change 1 of 3, from the top again"))
        self.assertEqual(len([message for message in self.screen.messages if "Change" in message]), 1)
        self.assertEqual(self.window.active_view(), self.proposal)

    def test_previous_goes_up_and_from_the_first_change_to_the_last(self) -> Steps:
        """Previous change."""
        yield from self.open_changes()
        seen = []
        for _ in range(4):
            self.command("previous_change")
            seen.append(self.row())
        self.assertEqual(seen, [*ROWS[::-1], ROWS[-1]])

    def test_a_change_far_below_is_scrolled_to(self) -> Steps:
        """Reachable by a key."""
        yield from self.open_changes("".join([*LINES[:-1], "another end\n"]))
        self.assertFalse(self.proposal.visible_region().contains(self.regions()[0]))
        self.command("next_change")
        yield lambda: self.proposal.visible_region().contains(self.regions()[0])

    def test_a_changed_word_far_to_the_right_is_scrolled_to_on_both_sides(self) -> Steps:
        """Both sides scroll sideways together."""
        long = [f"{' '.join(f'word{at}' for at in range(80))} end\n"]
        self.file.write_text("".join([*LINES[:9], *long]))
        yield lambda: "word79" in text_of(self.view)
        yield from self.open_changes("".join([*LINES[:9], long[0].replace("end", "END")]))
        self.window.focus_view(self.proposal)
        self.command("next_change")
        self.assertEqual(self.row(), 9)
        yield lambda: self.proposal.viewport_position()[0] > 0
        yield lambda: self.original.viewport_position()[0] == self.proposal.viewport_position()[0]

    def test_the_links_of_the_header_move_too(self) -> Steps:
        """The header carries previous and next."""
        yield from self.open_changes()
        self.screen.click(self.proposal, "previous")
        self.assertEqual(self.row(), ROWS[-1])
        self.screen.click(self.proposal, "next")
        self.assertEqual(self.row(), ROWS[0])

    def test_without_a_change_the_caret_stays(self) -> Steps:
        """Nothing to go to."""
        yield from self.open_changes()
        self.edit(self.proposal, FILE)
        yield lambda: not self.regions()
        self.put_caret(5)
        self.command("next_change")
        self.assertEqual(self.row(), 5)


class TestReverting(ChangesCase):
    """Partial acceptance is the wish that is repeated most (coder/claudecode.nvim#80, anthropics/claude-code#31395)."""

    def test_the_change_at_the_caret_is_reverted_and_no_other(self) -> Steps:
        """Whatever kind of change it is."""
        yield from self.open_changes()
        for change, row in enumerate(ROWS):
            self.put_caret(row)
            self.command("revert_change")
            yield from self.becomes(without(change))
            self.proposal.run_command("undo")
            self.assertEqual(text_of(self.proposal), PROPOSAL)
            yield lambda: self.rows() == ROWS

    def test_the_link_at_a_change_reverts_it(self) -> Steps:
        """Each change has an annotation with a link."""
        yield from self.open_changes()
        self.assertEqual(self.screen.annotations(self.proposal), ["↩ revert", "↩ revert"])
        fillers = self.screen.phantoms(self.proposal, "qwen_companion.fillers")
        self.assertEqual(fillers, ["↩ restore 2 lines"])
        self.screen.click(self.proposal, self.screen.links(self.proposal)[1])
        yield from self.becomes(without(1))
        yield lambda: len(self.screen.annotations(self.proposal)) == 2
        self.screen.click(self.proposal, self.screen.links(self.proposal)[-1])
        yield lambda: text_of(self.proposal).count("\n") == len(LINES)
        self.proposal.run_command("undo")
        yield from self.accepted()
        self.assertEqual(self.content, without(1))

    def test_a_reverted_change_stays_visible_with_a_link_that_restores_it(self) -> Steps:
        yield from self.open_changes()
        for change, row in enumerate(ROWS):
            self.put_caret(row)
            self.command("revert_change")
            yield from self.becomes(without(change))
            yield lambda: len(self.screen.restores(self.proposal)) == 1
            [region] = self.proposal.get_regions("qwen_companion.reverted")
            self.assertEqual(self.proposal.rowcol(region.begin())[0], row)
            self.screen.click(self.proposal, self.screen.restores(self.proposal)[0])
            yield from self.becomes(PROPOSAL)
            yield lambda: self.screen.restores(self.proposal) == []
            yield lambda: self.rows() == ROWS

    def test_what_the_person_types_is_no_reverted_change(self) -> Steps:
        yield from self.open_changes()
        self.put_caret(60)
        self.proposal.run_command("insert", {"characters": "typed"})
        yield lambda: len(self.rows()) == 4
        yield 100
        self.assertEqual(self.screen.restores(self.proposal), [])

    def test_an_edit_leaves_the_fillers_that_stay_the_same(self) -> Steps:
        """Each phantom that is changed moves the text (sublimehq/sublime_text#5894)."""
        yield from self.open_changes()
        changed: list[str] = []
        add, erase = sublime.View.add_phantom, sublime.View.erase_phantom_by_id

        def added(view: sublime.View, key: str, *args: Any) -> int:
            changed.append(key)
            return add(view, key, *args)

        def erased(view: sublime.View, number: int) -> None:
            changed.append("erased")
            erase(view, number)

        with patch.multiple(sublime.View, add_phantom=added, erase_phantom_by_id=erased):
            self.put_caret(60)
            self.proposal.run_command("insert", {"characters": "one\ntwo\n"})
            yield lambda: len(self.rows()) == 4
            yield 100
        self.assertEqual([key for key in changed if key == "qwen_companion.fillers"], ["qwen_companion.fillers"])

    def test_a_reverted_change_can_be_restored(self) -> Steps:
        """Restore brings back what was proposed."""
        yield from self.open_changes()
        for change, row in enumerate(ROWS):
            self.put_caret(row)
            self.command("revert_change")
            yield from self.becomes(without(change))
            self.command("restore_change")
            yield from self.becomes(PROPOSAL)
            yield lambda: self.rows() == ROWS

    def test_undo_after_a_revert_takes_back_exactly_that(self) -> Steps:
        """A revert is one step of the undo history."""
        yield from self.open_changes()
        self.proposal.run_command("append", {"characters": "# mine\n"})
        self.put_caret(ROWS[1])
        self.command("revert_change")
        yield from self.becomes(without(1) + "# mine\n")
        self.proposal.run_command("undo")
        self.assertEqual(text_of(self.proposal), PROPOSAL + "# mine\n")
        self.proposal.run_command("redo")
        self.assertEqual(text_of(self.proposal), without(1) + "# mine\n")
        self.proposal.run_command("undo")
        self.proposal.run_command("undo")
        self.assertEqual(text_of(self.proposal), PROPOSAL)

    def test_with_every_change_reverted_the_accepted_text_is_the_file_byte_for_byte(self) -> Steps:
        """Reverting every change gives the original."""
        yield from self.open_changes()
        for _ in ROWS:
            before = len(self.rows())
            self.command("next_change")
            self.command("revert_change")
            yield lambda before=before: len(self.rows()) < before
        self.assertEqual(text_of(self.proposal), FILE)
        yield from self.accepted()
        self.assertEqual(self.content.encode(), FILE.encode())

    def test_off_a_change_nothing_is_reverted_and_that_is_said(self) -> Steps:
        """The change at the caret."""
        yield from self.open_changes()
        self.put_caret(6)
        self.command("revert_change")
        yield lambda: self.screen.said("no change at the caret")
        self.assertEqual(text_of(self.proposal), PROPOSAL)

    def test_the_line_after_a_selected_line_feed_does_not_count(self) -> Steps:
        """Whole lines are selected up to the beginning of the next one, which may be changed."""
        yield from self.open_changes()
        self.proposal.sel().clear()
        self.proposal.sel().add(sublime.Region(*(self.proposal.text_point(row, 0) for row in (ROWS[1] - 1, ROWS[1]))))
        self.command("revert_change")
        yield lambda: self.screen.said("no change at the caret")
        self.assertEqual(text_of(self.proposal), PROPOSAL)

    def test_a_revert_that_an_edit_has_overtaken_is_computed_again(self) -> Steps:
        """The text may change while the edits are computed; the command is not dropped."""
        yield from self.open_changes()
        self.put_caret(ROWS[0])
        self.command("revert_change")
        self.proposal.run_command("append", {"characters": "# mine\n"})
        yield from self.becomes(without(0) + "# mine\n")

    def test_commands_that_are_typed_fast_are_all_done(self) -> Steps:
        """Next, revert, next, revert: the second was dropped."""
        yield from self.open_changes()
        for _ in range(3):
            self.command("next_change")
            self.command("revert_change")
        yield from self.becomes(FILE)
        for _ in range(3):
            self.proposal.run_command("undo")
        self.assertEqual(text_of(self.proposal), PROPOSAL)

    def test_every_change_at_a_caret_or_in_a_selection_is_reverted_in_one_step(self) -> Steps:
        """Of three carets only the first counted, of a selection over two changes nothing."""
        yield from self.open_changes()
        for regions in (
            [sublime.Region(self.proposal.text_point(row, 2)) for row in ROWS],
            [sublime.Region(self.proposal.text_point(0, 0), self.proposal.text_point(40, 0))],
            [sublime.Region(self.proposal.text_point(40, 0), self.proposal.text_point(2, 1))],
        ):
            self.proposal.sel().clear()
            self.proposal.sel().add_all(regions)
            self.command("revert_change")
            yield from self.becomes(FILE)
            self.proposal.run_command("undo")
            self.assertEqual(text_of(self.proposal), PROPOSAL)
            yield lambda: self.rows() == ROWS

    def test_the_carets_of_the_left_side_count_when_it_has_the_focus(self) -> Steps:
        """Revert from the left side used the caret of the right side."""
        yield from self.open_changes()
        self.put_caret(ROWS[0])
        self.original.sel().clear()
        self.original.sel().add(self.original.text_point(29, 0))
        self.original.run_command("qwen_companion_revert_change")
        yield from self.becomes(without(2))
        self.original.run_command("qwen_companion_restore_change")
        yield from self.becomes(PROPOSAL)

    def test_the_last_link_reverts_the_last_change(self) -> Steps:
        """Without a last newline it reverted the wrong one of two deletions."""
        self.file.write_text("a\nX\nb\nY")
        yield lambda: text_of(self.view) == "a\nX\nb\nY"
        yield from self.open_changes("a\nb")
        for number, text in enumerate(("a\nX\nb", "a\nb\nY")):
            yield lambda: len(self.screen.links(self.proposal)) == 2
            self.screen.click(self.proposal, self.screen.links(self.proposal)[number])
            yield from self.becomes(text)
            self.proposal.run_command("undo")
            yield lambda: len(self.screen.links(self.proposal)) == 2 and text_of(self.proposal) == "a\nb"
            yield 300

    def test_a_link_that_is_out_of_date_does_nothing_and_says_so(self) -> Steps:
        """Annotations that stay or get mixed up (sublimehq/sublime_text#5511, #5566)."""
        yield from self.open_changes()
        stale = self.screen.links(self.proposal)[1]
        navigate = self.screen.navigate(self.proposal)
        self.proposal.run_command("insert", {"characters": "typed\n"})
        yield lambda: len(self.screen.links(self.proposal)) == 4
        before = text_of(self.proposal)
        navigate(stale)
        yield lambda: self.screen.said("link is out of date")
        navigate(self.screen.links(self.proposal)[1] + "0")
        yield lambda: len([m for m in self.screen.messages if "link is out of date" in m]) == 2
        self.assertEqual(text_of(self.proposal), before)


class TestMarks(ChangesCase):
    """What both sides show."""

    def test_changed_lines_and_words_are_marked_on_both_sides(self) -> Steps:
        """Lines, and the changed words inside a line."""
        yield from self.open_changes()
        lines = [self.proposal.substr(region) for region in self.regions()]
        self.assertEqual(lines, ["line 3 was here\n", "inserted one\ninserted two\n", ""])
        lines = [self.original.substr(region) for region in self.original.get_regions(CHANGES)]
        self.assertEqual(lines, ["line 3 is here\n", "line 30 is here\nline 31 is here\n"])
        for view, word in ((self.original, "is"), (self.proposal, "was")):
            self.assertEqual([view.substr(r) for r in view.get_regions("qwen_companion.words")], [word])

    def test_the_header_counts_changes_and_lines(self) -> Steps:
        """The header counts."""
        yield from self.open_changes()
        self.assertIn("Qwen Code: +3 −3 in 3 changes", self.screen.header(self.proposal))
        self.put_caret(ROWS[1])
        self.command("revert_change")
        yield lambda: "+1 −3 in 2 changes" in self.screen.header(self.proposal)

    def test_the_marks_follow_the_persons_edits(self) -> Steps:
        """Recomputed as the person edits."""
        yield from self.open_changes()
        self.proposal.sel().clear()
        self.proposal.sel().add(self.proposal.text_point(70, 0))
        self.window.focus_view(self.proposal)
        self.proposal.run_command("insert", {"characters": "typed\n"})
        yield lambda: self.rows() == [*ROWS, 70]
        self.assertEqual(self.proposal.substr(self.regions()[3]), "typed\n")
        self.proposal.run_command("undo")
        yield lambda: self.rows() == ROWS

    def test_stale_marks_are_not_drawn(self) -> Steps:
        """Marks of a text that has been edited since would be at wrong lines."""
        yield from self.open_changes()
        diffs = loaded("sublime_text.package").adapter().diffs
        review = diffs.find(self.proposal).review
        stale = loaded("review.marks").marks(FILE, PROPOSAL.replace("line 90 is", "line 90 was"))
        diffs.show_marks(review, stale, self.proposal.change_count() - 1)
        yield 100
        self.assertEqual(self.rows(), ROWS)
        diffs.show_marks(review, stale, self.proposal.change_count())
        yield lambda: self.rows() == [*ROWS, 89]

    def test_a_diff_that_nobody_edits_is_compared_once(self) -> Steps:
        """Filling a view is an edit to the editor only."""
        self.set_limit("sublime_text.diff.fill", "CHUNK", 500)
        with patch.object(loaded("review.reviews"), "marks", wraps=loaded("review.reviews").marks) as compared:
            yield from self.open_changes()
            yield 300
            self.assertEqual(compared.call_count, 1)
            self.put_caret(70)
            self.proposal.run_command("insert", {"characters": "typed\n"})
            yield lambda: len(self.rows()) == 4
            self.proposal.run_command("undo")
            yield lambda: self.rows() == ROWS
            self.assertEqual(compared.call_count, 3)

    def test_an_equal_line_is_as_high_on_both_sides(self) -> Steps:
        """Fillers keep both sides level, and follow the edits."""
        yield from self.open_changes()
        self._assert_level()
        self.proposal.sel().clear()
        self.proposal.sel().add(self.proposal.text_point(50, 0))
        self.proposal.run_command("insert", {"characters": "one\ntwo\nthree\n"})
        yield lambda: len(self.rows()) == 4
        yield 100
        self._assert_level()
        self.put_caret(ROWS[2])
        self.command("revert_change")
        yield lambda: len(self.rows()) == 3
        yield 100
        self._assert_level()

    def test_scrolling_one_side_scrolls_the_other(self) -> Steps:
        """Both sides scroll together."""
        yield from self.open_changes()
        for view, other, row in ((self.original, self.proposal, 60), (self.proposal, self.original, 20)):
            y = view.text_to_layout(view.text_point(row, 0))[1]
            view.set_viewport_position((0.0, y), animate=False)
            if self._fillers_are_exact():
                yield lambda other=other, y=y: abs(other.viewport_position()[1] - y) < 1
            else:
                line = view.substr(view.line(view.text_point(row, 0)))
                yield lambda other=other, line=line: self._first_line(other) == line
            self.assertLess(abs(view.viewport_position()[1] - y), 1)

    def test_more_changes_than_can_be_decorated_are_said_to_be_so(self) -> Steps:
        """Without fillers and links, the diff says what it lacks; a revert by key is there all the same."""
        self.set_limit("sublime_text.diff.marks", "MAX_DECORATED", 2)
        yield from self.open_changes()
        lacks = "Too many changes: no links and no alignment."
        self.assertIn(lacks, self.screen.header(self.proposal))
        self.assertEqual(self.screen.annotations(self.proposal), [])
        self.command("toggle_diff_layout")
        self.assertIn("Too many changes: no links.", self.screen.header(self.proposal))
        self.command("toggle_diff_layout")
        self.put_caret(ROWS[1])
        self.command("revert_change")
        yield from self.becomes(without(1))
        yield lambda: "in 2 changes" in self.screen.header(self.proposal)
        self.assertNotIn("Too many", self.screen.header(self.proposal))

    def test_without_fillers_the_same_lines_scroll_together(self) -> Steps:
        """Scrolling one side scrolls the other, and sides of many changes are of other heights."""
        self.set_limit("sublime_text.diff.marks", "MAX_DECORATED", 2)
        yield from self.open_changes()
        row_of = lambda view: view.rowcol(view.layout_to_text(view.viewport_position()))[0]  # noqa: E731
        sides = {self.original: LINES, self.proposal: PROPOSAL.splitlines(keepends=True)}
        for view, line in (
            (self.original, LINES[60]),
            (self.proposal, LINES[20]),
            (self.proposal, LINES[33]),
            (self.original, LINES[0]),
        ):
            other = self.original if view == self.proposal else self.proposal
            row = sides[view].index(line)
            view.set_viewport_position((0.0, view.text_to_layout(view.text_point(row, 0))[1]), animate=False)
            yield lambda other=other, line=line: sides[other][row_of(other)] == line
            yield 100
            self.assertEqual((row_of(view), row_of(other)), (row, sides[other].index(line)))

    def test_sublimes_own_hunk_commands_work_on_the_proposal(self) -> Steps:
        """The original is the reference document. They need `mini_diff`, as the inline diff does."""
        yield from self.open_changes()
        self.command("toggle_diff_layout")
        yield lambda: not self.original.is_valid()
        self.proposal.run_command("next_modification")
        self.assertEqual(self.row(), ROWS[0])
        self.proposal.run_command("revert_hunk")
        yield from self.becomes(without(0))

    def _fillers_are_exact(self) -> bool:
        """Whether this editor draws phantoms as high as they say. If not, the sides scroll by their content."""
        diff = loaded("sublime_text.package").adapter().diffs.find(self.proposal)
        return diff._proposal_marks.are_fillers_exact and diff._original_marks.are_fillers_exact

    @staticmethod
    def _first_line(view: sublime.View) -> str:
        """The first line on the screen."""
        x, y = view.viewport_position()
        return view.substr(view.line(view.layout_to_text((x, y + view.line_height() / 2))))

    def _assert_level(self) -> None:
        if not self._fillers_are_exact():
            return  # how it looks differs then; how the sides scroll is tested
        for number in (1, 5, 11, 20, 29, 35, 60, 100, 120):
            line = f"line {number} is here\n"
            heights = [view.text_to_layout(text_of(view).index(line))[1] for view in (self.original, self.proposal)]
            self.assertAlmostEqual(*heights, delta=1, msg=line)


class TestInline(ChangesCase):
    """One view with Sublime's own inline diff (coder/claudecode.nvim#82)."""

    def test_the_setting_opens_one_view(self) -> Steps:
        """A setting chooses."""
        self.set_setting("diff_layout", "inline")
        yield from self._open_inline()
        self.assertEqual(diff_views(self.window, "original"), [])
        self.assertEqual(self.selected(), [self.view, self.proposal])
        self.assertIn("+3 −3 in 3 changes", self.screen.header(self.proposal))
        self.command("next_change")
        self.command("revert_change")
        yield from self.becomes(without(0))
        yield from self.accepted()
        self.assertEqual(self.content, without(0))
        self.assertEqual(self.selected(), [self.view])

    def test_after_an_edit_every_hunk_is_shown_again(self) -> Steps:
        """The editor may show some hunks only, and none with `mini_diff: false` (sublimehq/sublime_text#4747)."""
        self.know(inline_diff_shown=True)
        self.set_setting("diff_layout", "inline")
        yield from self._open_inline()
        self.assertIs(self.proposal.settings().get("mini_diff"), True)
        yield 300
        ran: list[Any] = []
        run = sublime.View.run_command

        def spy(view: sublime.View, name: str, args: Any = None) -> None:
            if name == "toggle_inline_diff":
                ran.append(args)
            run(view, name, args)

        with patch.object(sublime.View, "run_command", spy):
            self.put_caret(60)
            self.proposal.run_command("insert", {"characters": "typed"})
            carets = list(self.proposal.sel())
            yield lambda: len(self.rows()) == 4
            yield 100
        self.assertEqual(ran, [{"prefer_hide": True}, None])
        self.assertEqual(list(self.proposal.sel()), carets)

    def test_a_new_file_is_said_to_be_new(self) -> Steps:
        """The header warns when it is new."""
        self.set_setting("diff_layout", "inline")
        yield from self._open_inline(self.folder / "new.py")
        yield lambda: "New file" in self.screen.header(self.proposal)

    def test_the_command_switches_both_ways_and_keeps_text_and_undo(self) -> Steps:
        """A command toggles."""
        yield from self.open_changes()
        self.proposal.run_command("append", {"characters": "# mine\n"})
        mine = self.proposal
        self.command("toggle_diff_layout")
        yield lambda: not self.original.is_valid()
        self.assertEqual((self.selected(), text_of(mine)), ([mine], PROPOSAL + "# mine\n"))
        mine.run_command("undo")
        self.assertEqual(text_of(mine), PROPOSAL)
        mine.run_command("redo")
        self.command("toggle_diff_layout")
        yield lambda: diff_views(self.window, "original")
        [self.original] = diff_views(self.window, "original")
        yield lambda: text_of(self.original) == FILE
        yield 300
        self.assertEqual(self.selected(), [self.original, mine])
        self.assertTrue(self.original.is_read_only())
        self.assertEqual(text_of(mine), PROPOSAL + "# mine\n")
        self.assertEqual(len(self.original.get_regions(CHANGES)), 2)
        mine.run_command("undo")
        self.assertEqual(text_of(mine), PROPOSAL)
        self.assertEqual(self.cli.outcomes, [])
        yield from self.accepted()
        self.assertEqual(self.content, PROPOSAL)
        self.assertEqual(self.selected(), [self.view])

    def test_the_layout_of_one_diff_is_not_that_of_the_next(self) -> Steps:
        """The setting chooses, the command toggles the one diff."""
        yield from self.open_changes()
        self.command("toggle_diff_layout")
        (self.folder / "b.py").write_text("x = 0\n")
        yield from self.open_diff("x = 1\n", self.folder / "b.py")
        self.assertEqual(len(diff_views(self.window, "original")), 1)

    def _open_inline(self, path: object = None) -> Steps:
        call = self.cli.call("openDiff", filePath=str(path or self.file), newContent=PROPOSAL)
        yield from self.done(call)
        yield lambda: diff_views(self.window, "proposal")
        [self.proposal] = diff_views(self.window, "proposal")
        yield lambda: self.regions() and self.screen.header(self.proposal)


class TestKeys(ChangesCase):
    """The keys are active in a diff only."""

    def test_the_context_of_the_keys_is_a_diff(self) -> Steps:
        """Each binding with a context of our own."""
        listener = loaded("sublime_text.listeners").QwenCompanionListener()
        equal, not_equal = sublime.QueryOperator.EQUAL, sublime.QueryOperator.NOT_EQUAL
        yield from self.open_changes()
        for view, is_diff in ((self.view, False), (self.proposal, True), (self.original, True)):
            for operator, operand in ((equal, True), (not_equal, False)):
                answer = listener.on_query_context(view, "qwen_companion.diff", operator, operand, False)
                self.assertEqual(answer, is_diff)
                answer = listener.on_query_context(view, "qwen_companion.diff", operator, not operand, False)
                self.assertEqual(answer, not is_diff)
        self.assertIsNone(listener.on_query_context(self.proposal, "another.key", equal, True, False))

    def test_f7_moves_in_a_diff_and_nowhere_else(self) -> Steps:
        """None active elsewhere."""
        try:
            from headless import host, keymap  # noqa: PLC0415 - Sublime's API has no way to press a key
        except ImportError:
            return self.skipTest("keys can be pressed in the headless editor alone")
        press = lambda view, key: keymap.press(host.app(), host.app().views[view.id()], [key])  # noqa: E731
        yield from self.open_changes()
        keys = ["f7", "shift+f7", "primary+f7", "primary+shift+f7", "shift+escape", "primary+s"]
        ours = [press(self.view, key) for key in keys]
        self.assertEqual([name for name in ours if name and name.startswith("qwen_companion")], [])
        self.assertEqual(press(self.proposal, "f7"), "qwen_companion_next_change")
        self.assertEqual(self.row(), ROWS[0])
        self.assertEqual(press(self.proposal, "primary+f7"), "qwen_companion_revert_change")
        yield from self.becomes(without(0))
        self.assertEqual(press(self.proposal, "primary+s"), "qwen_companion_accept_diff")
        yield from self.written()
        self.assertEqual(self.content, without(0))
