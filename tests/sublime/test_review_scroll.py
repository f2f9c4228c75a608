"""How the sides of a diff keep their place: scrolling together, fillers above the caret, marks in the gutter."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest import TestCase
from unittest.mock import patch

import sublime

from .changes_case import CHANGES, FILE, ChangesCase
from .companion_case import Steps, loaded, text_of


class Side:
    """A view that is asked for its position, and that says late where it was sent if it `lags`."""

    def __init__(self, window: Window, *, lags: bool) -> None:
        self.at = (0.0, 0.0)
        self._window = window
        self._lags = lags
        self._next = self.at

    def window(self) -> Window:
        """Both sides are in one."""
        return self._window

    def is_valid(self) -> bool:
        """It is never closed."""
        return True

    def viewport_position(self) -> tuple[float, float]:
        """What the editor says."""
        return self.at

    def set_viewport_position(self, position: tuple[float, float], *, animate: bool) -> None:
        """What the package wants."""
        self._next = position
        if not self._lags:
            self.at = position

    def draw(self) -> None:
        """The editor has drawn the view."""
        self.at = self._next

    def turn_wheel(self, y: float) -> None:
        """The person scrolls."""
        self.at = self._next = (0.0, y)


class Window:
    """The window of two sides, of which the second has the focus."""

    def __init__(self, *, lags: bool) -> None:
        self.sides = (Side(self, lags=lags), Side(self, lags=lags))
        self.focused = self.sides[1]

    def active_view(self) -> Side:
        """The side with the focus."""
        return self.focused


class TestTogether(TestCase):
    """The focused side wins, a value just set is no event, idle polling backs off."""

    def setUp(self) -> None:
        self.delays: list[int] = []
        self.module = loaded("sublime_text.review.side_by_side")
        later = lambda _, delay=0: self.delays.append(delay)  # noqa: E731
        editor = SimpleNamespace(**{**vars(self.module.sublime), "set_timeout": later})  # others' timers go on
        self.enterContext(patch.object(self.module, "sublime", editor))
        self.enterContext(patch.object(self.module, "is_visible", lambda _: True))

    def begin(self, *, lags: bool) -> None:
        """Two sides that are level: self.left and self.right."""
        window = Window(lags=lags)
        self.left, self.right = window.sides
        self.window = window
        views: Any = window.sides
        self.scroll = self.module.ScrollTogether(*views, lambda: None)

    def positions(self) -> tuple[float, float]:
        """Where the sides are."""
        return self.left.at[1], self.right.at[1]

    def test_either_side_leads_the_other(self) -> None:
        self.begin(lags=False)
        self.right.turn_wheel(100.0)
        self.scroll._poll()
        self.assertEqual(self.positions(), (100.0, 100.0))
        self.left.turn_wheel(300.0)
        self.scroll._poll()
        self.assertEqual(self.positions(), (300.0, 300.0))

    def test_where_both_have_moved_the_focused_one_leads(self) -> None:
        for focused in (0, 1):
            self.begin(lags=False)
            self.window.focused = self.window.sides[focused]
            self.left.turn_wheel(100.0)
            self.right.turn_wheel(200.0)
            self.scroll._poll()
            self.assertEqual(self.positions(), (100.0, 100.0) if focused == 0 else (200.0, 200.0))

    def test_a_side_that_arrives_late_does_not_lead(self) -> None:
        self.begin(lags=True)
        self.right.turn_wheel(100.0)
        self.scroll._poll()
        self.assertEqual(self.positions(), (0.0, 100.0))
        self.right.turn_wheel(200.0)  # the person goes on before the left side has been drawn
        self.left.draw()
        self.scroll._poll()
        self.left.draw()
        self.assertEqual(self.positions(), (200.0, 200.0))

    def test_a_side_that_arrives_late_and_elsewhere_does_not_lead(self) -> None:
        self.begin(lags=True)
        self.right.turn_wheel(100.0)
        self.scroll._poll()
        self.left._next = (0.0, 90.0)  # its text ends there
        self.left.draw()
        self.scroll._poll()
        self.assertEqual(self.positions(), (90.0, 100.0))
        with patch.object(self.module, "ECHO", 0.0):
            self.left.turn_wheel(50.0)
            self.scroll._poll()
            self.right.draw()
        self.assertEqual(self.positions(), (50.0, 50.0))

    def test_a_position_that_was_just_set_is_no_event(self) -> None:
        self.begin(lags=False)
        self.right.turn_wheel(100.0)
        self.scroll._poll()
        with patch.object(self.scroll, "_follow") as followed:
            self.scroll._poll()
        followed.assert_not_called()

    def test_it_polls_less_often_while_nothing_moves(self) -> None:
        self.begin(lags=False)
        for _ in range(self.module.IDLE_POLLS):
            self.scroll._poll()
        self.assertEqual(self.delays[-2:], [self.module.INTERVAL, self.module.IDLE_INTERVAL])
        self.right.turn_wheel(10.0)
        self.scroll._poll()
        self.assertEqual(self.delays[-1], self.module.INTERVAL)
        self.assertGreater(self.module.IDLE_INTERVAL, self.module.INTERVAL)


class TestCaret(ChangesCase):
    """Phantoms above shift the text (sublimehq/sublime_text#5894)."""

    def height(self, view: sublime.View) -> float:
        """Where the line of the caret is on the screen."""
        return view.text_to_layout(view.sel()[0].b)[1] - view.viewport_position()[1]

    def test_the_line_of_the_caret_stays_where_it_is_while_fillers_change_above_it(self) -> Steps:
        self.set_limit("companion", "TICK", 0.1)
        yield from self.open_changes()
        self.window.focus_view(self.proposal)
        self.put_caret(60)
        self.proposal.show_at_center(self.proposal.sel()[0].b)
        yield lambda: self.original.viewport_position()[1] > 0
        before, at = self.height(self.proposal), self.proposal.viewport_position()
        self.file.write_text("".join(f"above {number}\n" for number in range(7)) + FILE)
        yield lambda: "changed on disk reload" in self.screen.header(self.original)
        self.screen.click(self.original, "reload")
        yield lambda: "−10 in 4 changes" in self.screen.header(self.proposal)
        yield lambda: self.proposal.viewport_position() != at
        self.assertAlmostEqual(self.height(self.proposal), before, delta=1)

    def test_the_side_without_the_focus_does_not_scroll_the_one_that_is_typed_in(self) -> Steps:
        yield from self.open_changes()
        self.original.sel().clear()
        self.original.sel().add(self.original.text_point(25, 0))
        self.window.focus_view(self.proposal)
        self.put_caret(5)
        self.proposal.run_command("insert", {"characters": "one\ntwo\nthree\n"})
        yield lambda: len(self.rows()) == 4
        seen = loaded("sublime_text.package").adapter().diffs.find(self.proposal)._scroll
        for _ in range(3):  # it has looked at both sides since
            idle = seen._idle
            yield lambda idle=idle: seen._idle != idle
        self.assertEqual(self.proposal.viewport_position()[1], 0.0)
        self.assertEqual(self.original.viewport_position()[1], 0.0)


class TestFillers(ChangesCase):
    """Sides whose fillers are as high as their lines scroll by height, all others by content."""

    def marks(self) -> tuple[Any, Any]:
        """What draws the marks of the original and of the proposal."""
        diff = loaded("sublime_text.package").adapter().diffs.find(self.proposal)
        return diff._original_marks, diff._proposal_marks

    def test_by_content_where_no_filler_can_be_measured(self) -> Steps:
        self.file.write_text(FILE.rstrip("\n"))  # a filler below the last row can't be
        yield lambda: text_of(self.view) == FILE.rstrip("\n")
        yield from self.open_changes(FILE.rstrip("\n") + "\nnew" * 60)
        self.proposal.set_viewport_position((0.0, 130 * self.proposal.line_height()), animate=False)
        last = self.original.text_to_layout(self.original.size())[1]
        yield lambda: abs(self.original.viewport_position()[1] - last) < 2 * self.proposal.line_height()

    def test_a_side_without_fillers_needs_none_to_be_measured(self) -> Steps:
        yield from self.open_changes(FILE.replace("line 60 is here\n", "line 60 is here\nnew\nnew\n"))
        original, proposal = self.marks()
        self.assertTrue(proposal.are_fillers_exact)
        if original.are_fillers_exact:
            top = 100 * self.proposal.line_height()
            self.proposal.set_viewport_position((0.0, top), animate=False)
            yield lambda: abs(self.original.viewport_position()[1] - top) < 1

    def test_a_filler_of_another_height_is_seen(self) -> Steps:
        layout = sublime.View.text_to_layout

        def higher(view: sublime.View, point: int) -> tuple[float, float]:
            x, y = layout(view, point)
            return x, 2 * y

        with patch.object(sublime.View, "text_to_layout", higher):
            yield from self.open_changes()
            self.assertEqual([each.are_fillers_exact for each in self.marks()], [False, False])


class TestGutter(ChangesCase):
    """A region that ends with a newline may not fill its row."""

    def test_changed_lines_are_marked_in_the_gutter_as_well(self) -> Steps:
        icons: dict[int, str] = {}
        add = sublime.View.add_regions

        def added(
            view: sublime.View, key: str, regions: Any, scope: str = "", icon: str = "", *args: Any, **kw: Any
        ) -> None:
            if key == CHANGES:
                icons[view.id()] = icon
            add(view, key, regions, scope, icon, *args, **kw)

        with patch.object(sublime.View, "add_regions", added):
            yield from self.open_changes(
                FILE.replace("line 7 is here\n", "\n", 1).replace("line 90 is here\n", "\n", 1)
            )
        self.assertEqual((icons[self.original.id()], icons[self.proposal.id()]), ("dot", "dot"))
