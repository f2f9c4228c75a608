"""Two texts beside each other, scrolled together. Sublime has no event for scrolling, so this polls.

A proposal is beside the file. A file of the person's own is beside another text of it, its baseline or what a save has
overwritten: on the left is a read-only view with that text, on the right their view.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from math import inf

import sublime

from ...review.compare import Change
from ...review.marks import Points
from ..buffers import text_of, write_all
from ..own_views import VIEWS
from ..windows import Focus, focus_view, is_visible, show_in_group
from .diff_marks import add_lines

INTERVAL = 25
"""Milliseconds between two polls while the diff is on the screen."""
IDLE_INTERVAL = 100
"""Milliseconds between two polls if nothing has moved for a while."""
IDLE_POLLS = 80
"""Polls without a movement after which there are fewer."""
ECHO = 0.25
"""Seconds within which a side gets where it was sent, if the editor is slow to say so."""
Position = tuple[float, float]
REGIONS = "qwen_companion.baseline"
ChangedPoints = tuple[Sequence[Points], Sequence[Points]]
"""The changes of both sides, from the top."""


class ScrollTogether:
    """Keeps two views level until one of them is closed. It polls only while they are on the screen.

    `changed` gives their changes; None if the same height is the same place in both.
    """

    def __init__(self, first: sublime.View, second: sublime.View, changed: Callable[[], ChangedPoints | None]) -> None:
        self._views = (first, second)
        self._changed = changed
        self._seen = self._positions()
        self._late: dict[int, float] = {}
        """When a side was sent to a position that the editor has not confirmed yet."""
        self._wanted = True
        self._is_polling = False
        self._idle = 0
        self.wake()

    def wake(self) -> None:
        """The views may be on the screen again."""
        if self._wanted and not self._is_polling and self._is_shown():
            self._is_polling = True
            self._idle = 0
            sublime.set_timeout(self._poll, INTERVAL)

    def close(self) -> None:
        """Stop, with both views open."""
        self._wanted = False

    def _is_shown(self) -> bool:
        return any(map(is_visible, self._views)) and all(view.is_valid() for view in self._views)

    def _poll(self) -> None:
        self._is_polling = False
        if not self._wanted or not self._is_shown():
            return
        self._is_polling = True
        now = self._positions()
        moved = [side for side in (0, 1) if now[side] != self._seen[side] and not self._is_echo(side)]
        if moved:
            self._follow(self._focused() if len(moved) == 2 else moved[0], now)
        self._seen = self._positions()
        self._idle = 0 if moved else self._idle + 1
        sublime.set_timeout(self._poll, INTERVAL if self._idle < IDLE_POLLS else IDLE_INTERVAL)

    def _follow(self, side: int, now: tuple[Position, Position]) -> None:
        x, y = now[side]
        level = x, self._across(side, y)
        if level != now[1 - side]:
            other = self._views[1 - side]
            other.set_viewport_position(level, animate=False)
            if other.viewport_position() == now[1 - side]:
                self._late[1 - side] = time.monotonic()

    def _across(self, side: int, y: float) -> float:
        """The vertical position in the other view that corresponds to one in the first (0) or the second (1) view."""
        if (changed := self._changed()) is None:
            return y
        here, there = self._views[side], self._views[1 - side]
        ours, theirs = changed[side], changed[1 - side]
        point = here.layout_to_text((0, y))
        ended = bisect_right(ours, point, key=lambda points: points[1])
        start, other_start = (ours[ended - 1][1], theirs[ended - 1][1]) if ended else (0, 0)
        limit = theirs[ended][1] if ended < len(theirs) else there.size()
        other_point = min(other_start + point - start, limit)
        return there.text_to_layout(other_point)[1] + y - here.text_to_layout(point)[1]

    def _is_echo(self, side: int) -> bool:
        """Whether a side has only got, late, where it was sent."""
        return self._focused() != side and time.monotonic() - self._late.pop(side, -inf) < ECHO

    def _focused(self) -> int:
        window = self._views[0].window()
        return 0 if window and window.active_view() == self._views[0] else 1

    def _positions(self) -> tuple[Position, Position]:
        return self._views[0].viewport_position(), self._views[1].viewport_position()


class Sides:
    """A text on the left of a view. `changes` are the differences between them, from the top.

    With `is_baseline` it is the baseline of the view's file, and follows that.
    """

    def __init__(
        self,
        window: sublime.Window,
        view: sublime.View,
        text: str,
        title: str,
        changes: Sequence[Change],
        *,
        is_baseline: bool,
    ) -> None:
        self.is_baseline = is_baseline
        self.right = view
        self._window = window
        group, index = window.get_view_index(view)
        self.left = window.new_file(syntax=str(view.settings().get("syntax") or ""))
        self.left.set_scratch(True)
        self.left.set_name(title)
        VIEWS.take(self.left, "baseline")
        self.show(text, changes)
        window.set_view_index(self.left, group, max(index, 0))  # a preview has no place among the tabs
        show_in_group(window, group, [sheet for each in (self.left, view) if (sheet := each.sheet())])
        focus_view(window, view)
        self.scroll = ScrollTogether(self.left, view, lambda: self._points)

    def show(self, text: str, changes: Sequence[Change]) -> None:
        """The other text, or the file, has changed."""
        if text_of(self.left) != text:
            write_all(self.left, text)
            self.left.clear_undo_stack()
        self.left.set_read_only(True)
        self._points = (
            [(self.left.text_point(each.old_start, 0), self.left.text_point(each.old_end, 0)) for each in changes],
            [(self.right.text_point(each.new_start, 0), self.right.text_point(each.new_end, 0)) for each in changes],
        )
        old, new = ([sublime.Region(*points) for points in each if points[0] < points[1]] for each in self._points)
        add_lines(self.left, REGIONS, "deleted", old, icon="")
        add_lines(self.right, REGIONS, "inserted", new, icon="")

    def has(self, view: sublime.View) -> bool:
        """Whether a view is one of the two."""
        return view in (self.left, self.right)

    def close(self, focus: Focus) -> None:
        """Show the view alone. It gets the focus only from the text: this also ends by itself."""
        self.right.erase_regions(REGIONS)
        was_here = focus.was_in(self._window, (self.left,))
        if self.left.is_valid():
            self.left.close()
        if was_here and self.right.window() == self._window:
            focus.give(self._window, self.right)


class SidesByWindow:
    """What is shown side by side, once in each window. Used on the UI thread only."""

    def __init__(self, focus: Focus) -> None:
        self._focus = focus
        self._shown: dict[int, Sides] = {}

    def show(self, view: sublime.View, text: str, title: str, changes: Sequence[Change], *, is_baseline: bool) -> None:
        """Show a text beside a view, in place of what is side by side in its window."""
        if window := view.window():
            self._close(window.id())
            self._shown[window.id()] = Sides(window, view, text, title, changes, is_baseline=is_baseline)

    def activated(self, window: sublime.Window, view: sublime.View) -> None:
        """A view got the focus: what is shown in its window may be on the screen again.

        A file that was dragged there, away from the text beside it, is shown alone.
        """
        for number, sides in list(self._shown.items()):
            if view == sides.right and number != window.id():
                self._close(number)
        if sides := self._shown.get(window.id()):
            sides.scroll.wake()

    def has(self, view: sublime.View) -> bool:
        """Whether a view is shown."""
        return any(sides.has(view) for sides in self._shown.values())

    def right_of(self, view: sublime.View) -> sublime.View:
        """The file beside which a view is shown, else the view itself."""
        return next((sides.right for sides in self._shown.values() if sides.left == view), view)

    def with_baseline(self, view: sublime.View) -> Sides | None:
        """What has a view on the right and its baseline on the left."""
        return next((sides for sides in self._shown.values() if sides.right == view and sides.is_baseline), None)

    def close_with(self, view: sublime.View) -> bool:
        """Show a view alone again, or the other one if it was closed. Returns whether it wasn't."""
        return any(self._close(number) for number, sides in list(self._shown.items()) if sides.has(view))

    def clear_leftovers(self, window: sublime.Window) -> None:
        """Sublime has restored a window's views: close the texts that no file is beside any more."""
        for view in VIEWS.within(window, "baseline"):
            if not self.has(view):
                view.close()

    def forget(self, window: sublime.Window) -> None:
        """A window closes."""
        self._shown.pop(window.id(), None)

    def close_all(self) -> None:
        """The package is unloaded."""
        for number in list(self._shown):
            self._close(number)

    def _close(self, number: int) -> bool:
        sides = self._shown.pop(number, None)
        if sides:
            sides.close(self._focus)
        return sides is not None
