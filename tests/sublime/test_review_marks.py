"""The marks of the changes, side by side and inline."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import sublime

from .changes_case import CHANGES, FILE, LINES, PROPOSAL, ROWS, ChangesCase, without
from .companion_case import Steps, diff_views, loaded, text_of


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
        self.command("undo_change")
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
        diff = loaded("sublime_text.package").adapter().diffs.find(self.proposal)
        go_on = self.slowed("compared", "reviews.texts")
        self.put_caret(70)
        self.proposal.run_command("insert", {"characters": "typed\n"})
        yield 2 * loaded("sublime_text.review.diffs").QUIET
        self.proposal.run_command("insert", {"characters": "more"})
        with patch.object(diff, "show_marks", wraps=diff.show_marks) as shown:
            go_on()
            yield lambda: len(self.rows()) == 4
        self.assertEqual([call.args[0].count.inserted for call in shown.call_args_list], [5])

    def test_a_diff_that_nobody_edits_is_compared_once(self) -> Steps:
        """Filling a view is an edit to the editor only."""
        self.set_limit("sublime_text.review.diff_view", "CHUNK", 500)
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

    def filling(self) -> Steps:
        """A proposal that is put into its view piece by piece, which takes some turns of the editor."""
        self.set_limit("sublime_text.review.diff_view", "CHUNK", 2)
        diff = yield from self.propose(PROPOSAL)
        self.proposal = diff.proposal
        self.assertLess(self.proposal.size(), len(PROPOSAL))

    def test_what_is_typed_while_a_proposal_is_put_into_its_view_is_not_in_it(self) -> Steps:
        """Nobody could tell any more whether the editor shows the very text."""
        yield from self.filling()
        self.proposal.run_command("insert", {"characters": "typed"})
        yield lambda: len(self.rows()) == 3
        self.assertEqual(text_of(self.proposal), PROPOSAL)
        self.proposal.run_command("insert", {"characters": "typed"})
        self.assertEqual(text_of(self.proposal), f"typed{PROPOSAL}")

    def test_a_command_waits_until_the_proposal_is_in_its_view(self) -> Steps:
        """Its edits were those of the whole text."""
        yield from self.filling()
        adapter = loaded("sublime_text.package").adapter()
        change = loaded("review.changes").revert_fingerprint(
            loaded("review.changes").changes(FILE, PROPOSAL)[1], PROPOSAL.split("\n")
        )
        adapter.diffs.find(self.proposal).actions.follow("revert", change)
        yield from self.becomes(without(1))

    def test_an_equal_line_is_as_high_on_both_sides(self) -> Steps:
        """Fillers keep both sides level, and follow the edits."""
        yield from self.open_changes()
        self._assert_level()
        self.proposal.sel().clear()
        self.proposal.sel().add(self.proposal.text_point(50, 0))
        self.proposal.run_command("insert", {"characters": "one\ntwo\nthree\n"})
        yield lambda: len(self.rows()) == 4
        yield from self.turned()
        self._assert_level()
        self.put_caret(ROWS[2])
        self.command("undo_change")
        yield lambda: len(self.rows()) == 3
        yield from self.turned()
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
        self.set_limit("sublime_text.review.diff_marks", "MAX_DECORATED", 2)
        yield from self.open_changes()
        lacks = "Too many changes: no links and no alignment."
        self.assertIn(lacks, self.screen.header(self.proposal))
        self.assertEqual(self.screen.annotations(self.proposal), [])
        self.command("toggle_diff_layout")
        self.assertIn("Too many changes: no links.", self.screen.header(self.proposal))
        self.command("toggle_diff_layout")
        self.put_caret(ROWS[1])
        self.command("undo_change")
        yield from self.becomes(without(1))
        yield lambda: "in 2 changes" in self.screen.header(self.proposal)
        self.assertNotIn("Too many", self.screen.header(self.proposal))

    def test_without_fillers_the_same_lines_scroll_together(self) -> Steps:
        """Scrolling one side scrolls the other, and sides of many changes are of other heights."""
        self.set_limit("sublime_text.review.diff_marks", "MAX_DECORATED", 2)
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
        self.go()
        self.command("undo_change")
        yield from self.becomes(without(0))
        yield from self.accepted()
        self.assertEqual(self.content, without(0))
        self.assertEqual(self.selected(), [self.view])

    def test_after_an_edit_every_hunk_is_shown_again(self) -> Steps:
        """The editor may show some hunks only, and none with `mini_diff: false` (sublimehq/sublime_text#4747)."""
        self.set_limit("sublime_text.review.diff_marks", "LOOK", 60_000)
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
        yield lambda: text_of(self.original) == FILE and len(self.original.get_regions(CHANGES)) == 2
        self.assertEqual(self.selected(), [self.original, mine])
        self.assertTrue(self.original.is_read_only())
        self.assertEqual(text_of(mine), PROPOSAL + "# mine\n")
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
