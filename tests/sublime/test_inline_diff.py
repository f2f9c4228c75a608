"""An inline diff where the editor's own shows nothing: phantoms of the package show the lines that are gone."""

from __future__ import annotations

import re
from typing import Any
from unittest.mock import patch

import sublime

from .changes_case import FILE, PROPOSAL, ChangesCase
from .companion_case import Steps, diff_views, loaded
from .own import value

FILLERS = "qwen_companion.fillers"
LINK = "↩ restore 2 lines"
GONE_WITH_LINK = f"line 30 is hereline 31 is here{LINK}"


class TestInlineDiff(ChangesCase):
    """sublimehq/sublime_text#2666, #2728 and #4747: the editor's own inline diff shows nothing."""

    def setUp(self) -> Steps:
        yield from super().setUp()
        self.set_setting("diff_layout", "inline")
        self.set_limit("sublime_text.review.diff_marks", "LOOK", 20)
        self.toggled = 0
        run = sublime.View.run_command

        def nothing(view: sublime.View, name: str, args: Any = None) -> None:
            if name == "toggle_inline_diff":
                self.toggled += 1
            else:
                run(view, name, args)

        self.enterContext(patch.object(sublime.View, "run_command", nothing))

    def open_inline(self, content: str = PROPOSAL) -> Steps:
        """Open a diff, and wait until the package shows what is gone: self.proposal."""
        yield from self.done(self.cli.call("openDiff", filePath=str(self.file), newContent=content))
        yield lambda: diff_views(self.window, "proposal")
        [self.proposal] = diff_views(self.window, "proposal")
        yield lambda: self.rows() and self.screen.header(self.proposal)
        diff = loaded("sublime_text.package").adapter().diffs.find(self.proposal)
        yield lambda: diff._removed.is_own

    @property
    def shown(self) -> list[str]:
        """What the phantoms of the package show."""
        return self.screen.phantoms(self.proposal, FILLERS)

    def test_phantoms_show_the_lines_that_are_gone_after_the_editor_was_asked_a_few_times(self) -> Steps:
        yield from self.open_inline()
        yield lambda: len(self.shown) == 2
        self.assertEqual(sorted(self.shown), ["line 3 is here", GONE_WITH_LINK])
        self.assertGreater(self.toggled, 1)
        self.assertTrue(value(self.proposal, "inline"))

    def test_the_phantoms_are_as_wide_as_the_view_whatever_they_show(self) -> Steps:
        """sublimehq/sublime_text#3261: a phantom may be as wide as its content only."""
        yield from self.open_inline()
        yield lambda: len(self.shown) == 2
        diff = loaded("sublime_text.package").adapter().diffs.find(self.proposal)
        lines = loaded("sublime_text.review.diff_marks").gone_lines(
            self.proposal, diff._marks, diff.review.original, None
        )
        width, em = self.proposal.viewport_extent()[0], self.proposal.em_width()
        gone = [(start, end) for start, end in diff._marks.original.lines if start < end]
        for (_, content), (start, end) in zip(lines, gone, strict=True):
            longest = max(map(len, diff.review.original[start:end].splitlines()))
            [pad] = [int(found) for found in re.findall(r"padding-right: (\d+)px", content)]
            self.assertAlmostEqual(pad + longest * em, width, delta=3 * em)

    def test_the_words_that_are_gone_are_marked_in_the_phantoms(self) -> Steps:
        yield from self.open_inline()
        diff = loaded("sublime_text.package").adapter().diffs.find(self.proposal)
        lines = loaded("sublime_text.review.diff_marks").gone_lines(
            self.proposal, diff._marks, diff.review.original, None
        )
        self.assertEqual([re.findall("<span>(.*?)</span>", content) for _, content in lines], [["is"], []])

    def test_no_width_of_tabs_that_a_project_sets_fills_the_memory_or_hides_the_lines(self) -> Steps:
        yield from self.open_inline()
        gone_html = loaded("sublime_text.review.diff_marks").gone_html
        usual = gone_html(self.proposal, "\t" * 20 + "gone")
        for width in (1_000_000, "abc", 0, -3, 4.5, None):
            self.proposal.settings().set("tab_size", width)
            self.assertEqual(gone_html(self.proposal, "\t" * 20 + "gone"), usual, width)

    def test_a_phantom_with_wide_characters_is_not_wider_than_the_view(self) -> Steps:
        """They take two columns each; a phantom that is too wide would let the view scroll sideways."""
        self.file.write_text("first\n" + "中" * 30 + "\nlast\n")
        yield from self.open_inline("first\nlast\n")
        yield lambda: len(self.shown) == 1
        diff = loaded("sublime_text.package").adapter().diffs.find(self.proposal)
        [(_, content)] = loaded("sublime_text.review.diff_marks").gone_lines(
            self.proposal, diff._marks, diff.review.original, None
        )
        [pad] = [int(found) for found in re.findall(r"padding-right: (\d+)px", content)]
        self.assertLessEqual(pad + 60 * self.proposal.em_width(), self.proposal.viewport_extent()[0])

    def test_a_proposal_of_too_many_changes_for_phantoms_is_shown_without_them(self) -> Steps:
        self.set_limit("review.marks", "MAX_LINKS", 1)
        self.set_limit("sublime_text.review.diff_marks", "MAX_DECORATED", 1)
        lines = [f"line {number}\n" for number in range(40)]
        self.file.write_text("".join(lines))
        lines[35], lines[25] = "other\n", "other\n"
        del lines[15], lines[5]
        yield from self.open_inline("".join(lines))
        self.assertEqual(len(self.rows()), 4)
        self.assertEqual(self.shown, [])
        yield lambda: "Too many changes: no links and no removed lines." in self.screen.header(self.proposal)
        self.assertFalse(self.proposal.settings().get("mini_diff"))

    def test_the_editor_is_not_asked_again_once_it_has_shown_nothing(self) -> Steps:
        yield from self.open_inline()
        yield lambda: len(self.shown) == 2
        before = self.toggled
        self.put_caret(2)
        self.command("undo_change")
        yield lambda: self.shown == [GONE_WITH_LINK]
        self.assertEqual(self.toggled, before)

    def test_the_phantoms_follow_the_edits_and_go_with_the_inline_layout(self) -> Steps:
        yield from self.open_inline()
        yield lambda: len(self.shown) == 2
        self.put_caret(2)
        self.command("undo_change")
        yield lambda: self.shown == [GONE_WITH_LINK]
        self.command("toggle_diff_layout")
        yield (lambda: diff_views(self.window, "original") and self.shown == [LINK])
        self.command("toggle_diff_layout")
        yield lambda: self.shown == [GONE_WITH_LINK]

    def test_hostile_and_long_lines_are_text_and_cut(self) -> Steps:
        long = [f"<b>&{number}</b>\t{'x' * 2_000}\n" for number in range(300)]
        self.file.write_text("".join(["first\n", *long, "last\n"]))
        yield from self.open_inline("first\nlast\n")
        yield lambda: len(self.shown) == 1
        self.assertIn("<b>&0</b> ", self.shown[0])
        self.assertIn("… 100 more", self.shown[0])
        self.assertLess(len(self.shown[0]), 200 * 600)

    def test_what_is_gone_at_the_end_or_the_beginning_is_shown_too(self) -> Steps:
        for text, gone in (
            (FILE.partition("\n")[2], "line 1 is here"),
            (FILE[: FILE.index("line 120")], "line 120 is here"),
        ):
            yield from self.open_inline(text)
            yield lambda gone=gone: self.shown == [f"{gone}↩ restore 1 line"]
            self.command("reject_diff")
            yield from self.closed()
