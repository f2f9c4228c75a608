"""What Check Editor has found out chooses the fallbacks.

Each is tried with the answer yes, with the answer no, and while nobody knows.
"""

from __future__ import annotations

import math
import re
from typing import Any
from unittest.mock import patch

import sublime

from .changes_case import FILE, PROPOSAL, ChangesCase
from .companion_case import CompanionCase, Steps, diff_views, loaded, text_of

FILLERS = "qwen_companion.fillers"
LINK = "↩ restore 2 lines"
GONE_WITH_LINK = f"line 30 is hereline 31 is here{LINK}"
PANEL = "output.companion_fallbacks"


class TestFocus(CompanionCase):
    """Windows, panels, groups and selected tabs."""

    def setUp(self) -> Steps:
        yield from super().setUp()
        self.focus = loaded("sublime_text.package").adapter().focus
        self.windows = loaded("sublime_text.windows")

    def replaced(self, name: str, call: Any) -> Any:
        """Replace a method of a window until the test is over. The result is the method itself."""
        original = getattr(sublime.Window, name)
        self.enterContext(patch.object(sublime.Window, name, call))
        return original

    def show_panel(self) -> Steps:
        """Show a panel that has the focus, then focus a tab: self.panel."""
        self.panel = self.window.create_output_panel(PANEL.partition(".")[2])
        self.window.run_command("show_panel", {"panel": PANEL})
        self.window.focus_view(self.panel)
        yield lambda: self.focused() == self.panel
        self.before = self.focus.before(self.window, self.panel)
        self.window.focus_view(self.view)
        yield lambda: self.focused() == self.view

    def test_the_focus_moves_in_a_window_behind_only_if_that_raises_none(self) -> Steps:
        yield from self.another_window()
        asked: list[sublime.View] = []
        self.replaced("focus_view", lambda _, view: asked.append(view))
        self.focus.give(self.window, self.view)
        self.know(focus_stays_in_window=False)
        self.focus.give(self.window, self.view)
        self.assertEqual(asked, [])
        self.know(focus_stays_in_window=True)
        self.focus.give(self.window, self.view)
        self.assertEqual(asked, [self.view])
        yield 0

    def test_a_panel_is_looked_at_again_unless_it_is_known_to_get_the_focus(self) -> Steps:
        yield from self.show_panel()
        self.replaced("focus_view", lambda *_: None)
        waits = lambda: self.window.id() in self.focus._awaited  # noqa: E731
        self.know(panel_gets_focus=True)
        self.focus.give(self.window, self.panel)
        self.assertFalse(waits())
        self.know(panel_gets_focus=False)
        self.focus.give(self.window, self.panel)
        self.assertTrue(waits())
        yield lambda: not waits()
        self.know()
        self.focus.give(self.window, self.panel)
        self.assertTrue(waits())
        yield lambda: not waits()

    def test_a_panel_gets_the_focus_back_where_nothing_tells_which_one_is_shown(self) -> Steps:
        yield from self.show_panel()
        asked: list[sublime.View] = []
        self.replaced("focus_view", lambda _, view: asked.append(view))
        self.replaced("active_panel", lambda _: None)
        self.before.restore()
        self.know(active_panel=True)
        self.before.restore()
        self.assertEqual(asked, [])
        self.know(active_panel=False)
        self.before.restore()
        self.assertEqual(asked, [self.panel])

    def test_tabs_that_lose_their_place_beside_the_focused_one_are_selected_again(self) -> Steps:
        yield from self.open_view("other.py")
        both = [self.view, self.opened]

        def alone(window: sublime.Window, view: sublime.View) -> None:
            original(window, view)
            window.select_sheets([view.sheet()])  # pyright: ignore[reportArgumentType]

        original = self.replaced("focus_view", alone)

        def left() -> int:
            self.select(both)
            self.windows.focus_view(self.window, self.view)
            return len(self.selected())

        self.know(focus_keeps_selection=True)
        self.assertEqual(left(), 1)
        self.know(focus_keeps_selection=False)
        self.assertEqual(left(), 2)
        self.know()
        self.assertEqual(left(), 2)

    def test_only_one_group_is_named_where_the_others_keep_their_tabs(self) -> Steps:
        yield from self.split()
        asked: list[list[sublime.Sheet]] = []
        original = self.replaced(
            "select_sheets", lambda window, sheets: (asked.append(sheets), original(window, sheets))
        )
        mine = self.window.sheets_in_group(1)

        def named() -> int:
            asked.clear()
            self.windows.show_in_group(self.window, 1, mine)
            return len(asked[0])

        self.know(select_leaves_other_groups=True)
        self.assertEqual(named(), 2)
        self.know(select_leaves_other_groups=False)
        self.assertEqual(named(), 3)
        self.know()
        self.assertEqual(named(), 3)

    def test_the_tabs_of_a_diff_are_selected_alone_where_several_groups_at_once_do_not_work(self) -> Steps:
        yield from self.split()
        asked: list[int] = []

        def first_group(window: sublime.Window, sheets: list[sublime.Sheet]) -> None:
            asked.append(len(sheets))
            original(window, [sheet for sheet in sheets if sheet.group() == sheets[0].group()])

        original = self.replaced("select_sheets", first_group)
        other, mine = self.window.sheets_in_group(1)[0], [self.added.sheet()]

        def shown() -> tuple[list[int], list[sublime.Sheet]]:
            original(self.window, [other])
            asked.clear()
            self.windows.show_in_group(self.window, 1, mine)
            return asked, self.window.selected_sheets_in_group(1)

        self.know(select_keeps_groups=True)
        self.assertEqual(shown(), ([2], [other]))
        self.know(select_keeps_groups=False)
        self.assertEqual(shown(), ([2, 1], mine))
        self.know()
        self.assertEqual(shown(), ([2, 1], mine))

    def test_a_side_of_a_diff_is_closed_by_the_editor_only_if_that_closes_one_tab(self) -> Steps:
        yield from self.open_diff(PROPOSAL)
        self.window.focus_view(self.original)
        listener, ours = loaded("sublime_text.listeners").QwenCompanionListener(), "qwen_companion_close_diff_view"
        told = lambda: listener.on_window_command(self.window, "close", None)  # noqa: E731
        self.assertEqual(told(), (ours, {}))
        self.know(close_closes_one=False)
        self.assertEqual(told(), (ours, {}))
        self.know(close_closes_one=True)
        self.assertIsNone(told())

    def split(self) -> Steps:
        """Two groups: a tab on the left, two on the right, of which the last one is self.added."""
        self.window.set_layout({"cols": [0.0, 0.5, 1.0], "rows": [0.0, 1.0], "cells": [[0, 0, 1, 1], [1, 0, 2, 1]]})
        for index in range(2):
            yield from self.open_view(f"right{index}.py")
            self.window.set_view_index(self.opened, 1, index)
        self.added = self.opened
        first = self.window.sheets_in_group(1)[0]
        self.window.select_sheets([first])
        yield lambda: self.window.selected_sheets_in_group(1) == [first]


class TestFillers(ChangesCase):
    """Sides that scroll by height or by content."""

    def setUp(self) -> Steps:
        yield from super().setUp()
        self.file.write_text(FILE.rstrip("\n"))  # a filler below the last row can't be measured
        yield lambda: text_of(self.view) == FILE.rstrip("\n")

    def scrolls_by_height(self) -> Steps:
        """Open a diff with new lines at the end, and see how the left side follows: self.by_height."""
        yield from self.open_changes(FILE.rstrip("\n") + "\nnew" * 60)
        top = 130 * self.proposal.line_height()
        self.proposal.set_viewport_position((0.0, top), animate=False)
        last = self.original.text_to_layout(self.original.size())[1]
        position = lambda: self.original.viewport_position()[1]  # noqa: E731
        line = self.proposal.line_height()
        yield lambda: abs(position() - top) < 1 or abs(position() - last) < 2 * line
        self.by_height = abs(position() - top) < 1

    def test_by_height_if_fillers_are_known_to_be_exact(self) -> Steps:
        self.know(filler_height=True)
        yield from self.scrolls_by_height()
        self.assertTrue(self.by_height)

    def test_by_content_if_fillers_are_known_not_to_be_exact(self) -> Steps:
        self.know(filler_height=False)
        yield from self.scrolls_by_height()
        self.assertFalse(self.by_height)

    def test_by_content_while_nobody_knows(self) -> Steps:
        self.know()
        yield from self.scrolls_by_height()
        self.assertFalse(self.by_height)

    def test_a_filler_that_can_be_measured_decides_whatever_the_check_has_found(self) -> Steps:
        layout = sublime.View.text_to_layout

        def higher(view: sublime.View, point: int) -> tuple[float, float]:
            x, y = layout(view, point)
            return x, 2 * y

        self.know(filler_height=True)
        with patch.object(sublime.View, "text_to_layout", higher):
            yield from self.open_changes()
            diff = loaded("sublime_text.package").adapter().diffs.find(self.proposal)
            yield lambda: not diff._proposal_marks.are_fillers_exact


class TestEcho(ChangesCase):
    """A position that has just been set is no event."""

    def is_followed(self) -> Steps:
        """The right side sends the left one further than its end. Then the left one is scrolled up: self.followed."""
        self.set_limit("sublime_text.diff.scroll", "ECHO", math.inf)
        yield from self.open_changes()
        views = self.original, self.proposal
        self.window.focus_view(self.proposal)
        scroll = loaded("sublime_text.diff.scroll").ScrollTogether(
            *views, lambda: True, lambda side, y: y + 10_000 * side
        )
        self.addCleanup(scroll.close)
        loaded("sublime_text.package").adapter().diffs.find(self.proposal)._end_scrolling()
        for view in views:
            view.set_viewport_position((0.0, 1e6), animate=False)
        yield lambda: scroll._seen == scroll._positions()
        yield 200
        self.proposal.set_viewport_position((0.0, 100.0), animate=False)
        yield lambda: scroll._seen[1][1] == 100.0
        self.original.set_viewport_position((0.0, 300.0), animate=False)
        yield lambda: scroll._seen[0][1] == 300.0
        self.followed = self.proposal.viewport_position()[1] != 100.0

    def test_a_side_that_could_not_go_further_is_followed_where_positions_are_known_to_be_there_at_once(self) -> Steps:
        self.know(viewport_at_once=True)
        yield from self.is_followed()
        self.assertTrue(self.followed)

    def test_a_side_that_was_sent_may_be_late_where_positions_are_known_to_lag(self) -> Steps:
        self.know(viewport_at_once=False)
        yield from self.is_followed()
        self.assertFalse(self.followed)

    def test_a_side_that_was_sent_may_be_late_while_nobody_knows(self) -> Steps:
        self.know()
        yield from self.is_followed()
        self.assertFalse(self.followed)


class TestInline(ChangesCase):
    """An inline diff where the editor's own may show nothing (sublimehq/sublime_text#2666, #2728, #4747)."""

    def setUp(self) -> Steps:
        yield from super().setUp()
        self.set_setting("diff_layout", "inline")
        self.toggled = 0
        run = sublime.View.run_command

        def nothing(view: sublime.View, name: str, args: Any = None) -> None:
            if name == "toggle_inline_diff":
                self.toggled += 1
            else:
                run(view, name, args)

        self.enterContext(patch.object(sublime.View, "run_command", nothing))

    def open_inline(self, content: str = PROPOSAL) -> Steps:
        """Open a diff, and wait for its marks: self.proposal and self.inline."""
        yield from self.done(self.cli.call("openDiff", filePath=str(self.file), newContent=content))
        yield lambda: diff_views(self.window, "proposal")
        [self.proposal] = diff_views(self.window, "proposal")
        yield lambda: self.rows() and self.screen.header(self.proposal)
        self.inline = loaded("sublime_text.package").adapter().diffs.find(self.proposal)._inline

    @property
    def shown(self) -> list[str]:
        """What the phantoms of the package show."""
        return self.screen.phantoms(self.proposal, FILLERS)

    def test_phantoms_show_the_lines_that_are_gone_after_the_editor_was_asked_a_few_times(self) -> Steps:
        self.know()
        yield from self.open_inline()
        yield lambda: len(self.shown) == 2
        self.assertEqual(sorted(self.shown), ["line 3 is here", GONE_WITH_LINK])
        self.assertGreater(self.toggled, 1)
        self.assertTrue(self.proposal.settings().get("qwen_companion.inline"))

    def test_the_phantoms_are_as_wide_as_the_view_whatever_they_show(self) -> Steps:
        """sublimehq/sublime_text#3261: a phantom may be as wide as its content only."""
        self.know(inline_diff_shown=False)
        yield from self.open_inline()
        yield lambda: len(self.shown) == 2
        diff = loaded("sublime_text.package").adapter().diffs.find(self.proposal)
        lines = loaded("sublime_text.diff.inline").gone_lines(self.proposal, diff._marks, diff.review.original, None)
        width, em = self.proposal.viewport_extent()[0], self.proposal.em_width()
        gone = [(start, end) for start, end in diff._marks.original.lines if start < end]
        for (_, content), (start, end) in zip(lines, gone, strict=True):
            longest = max(map(len, diff.review.original[start:end].splitlines()))
            [pad] = [int(found) for found in re.findall(r"padding-right: (\d+)px", content)]
            self.assertAlmostEqual(pad + longest * em, width, delta=3 * em)

    def test_a_phantom_with_wide_characters_is_not_wider_than_the_view(self) -> Steps:
        """They take two columns each; a phantom that is too wide would let the view scroll sideways."""
        self.know(inline_diff_shown=False)
        self.file.write_text("first\n" + "中" * 30 + "\nlast\n")
        yield from self.open_inline("first\nlast\n")
        yield lambda: len(self.shown) == 1
        diff = loaded("sublime_text.package").adapter().diffs.find(self.proposal)
        [(_, content)] = loaded("sublime_text.diff.inline").gone_lines(
            self.proposal, diff._marks, diff.review.original, None
        )
        [pad] = [int(found) for found in re.findall(r"padding-right: (\d+)px", content)]
        self.assertLessEqual(pad + 60 * self.proposal.em_width(), self.proposal.viewport_extent()[0])

    def test_the_editor_is_not_asked_where_its_own_is_known_to_show_nothing(self) -> Steps:
        self.know(inline_diff_shown=False)
        yield from self.open_inline()
        yield lambda: len(self.shown) == 2
        self.assertEqual(self.toggled, 0)

    def test_the_layout_is_not_looked_at_where_the_editors_own_is_known_to_show_all(self) -> Steps:
        self.know(inline_diff_shown=True)
        yield from self.open_inline()
        yield lambda: self.shown == [LINK]
        self.assertGreater(self.toggled, 0)
        self.assertEqual((self.inline._look, self.inline.is_own), (None, False))

    def test_the_phantoms_follow_the_edits_and_go_with_the_inline_layout(self) -> Steps:
        self.know(inline_diff_shown=False)
        yield from self.open_inline()
        yield lambda: len(self.shown) == 2
        self.put_caret(2)
        self.command("revert_change")
        yield lambda: self.shown == [GONE_WITH_LINK]
        self.command("toggle_diff_layout")
        yield (lambda: diff_views(self.window, "original") and self.shown == [LINK])
        self.command("toggle_diff_layout")
        yield lambda: self.shown == [GONE_WITH_LINK]

    def test_hostile_and_long_lines_are_text_and_cut(self) -> Steps:
        self.know(inline_diff_shown=False)
        long = [f"<b>&{number}</b>\t{'x' * 2_000}\n" for number in range(300)]
        self.file.write_text("".join(["first\n", *long, "last\n"]))
        yield from self.open_inline("first\nlast\n")
        yield lambda: len(self.shown) == 1
        self.assertIn("<b>&0</b> ", self.shown[0])
        self.assertIn("… 100 more", self.shown[0])
        self.assertLess(len(self.shown[0]), 200 * 600)

    def test_what_is_gone_at_the_end_or_the_beginning_is_shown_too(self) -> Steps:
        self.know()
        for text, gone in (
            (FILE.partition("\n")[2], "line 1 is here"),
            (FILE[: FILE.index("line 120")], "line 120 is here"),
        ):
            yield from self.open_inline(text)
            yield lambda gone=gone: self.shown == [f"{gone}↩ restore 1 line"]
            self.command("reject_diff")
            yield from self.closed()
