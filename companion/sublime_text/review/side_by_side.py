"""Scrolls the two sides of a diff together. Sublime has no event for scrolling, so this polls."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from math import inf
from typing import TYPE_CHECKING

import sublime

if TYPE_CHECKING:
    from ...review.marks import Points

INTERVAL = 25
"""Milliseconds between two polls while the diff is on the screen."""
IDLE_INTERVAL = 100
"""Milliseconds between two polls if nothing has moved for a while."""
IDLE_POLLS = 80
"""Polls without a movement after which there are fewer."""
ECHO = 0.25
"""Seconds within which a side gets where it was sent, if the editor is slow to say so."""

Position = tuple[float, float]


class ScrollTogether:
    """Keeps two views level until one of them is closed. It polls only while they are on the screen.

    `across` maps a vertical position of the first (0) or the second (1) view to the corresponding one of the other.
    """

    def __init__(
        self,
        first: sublime.View,
        second: sublime.View,
        is_shown: Callable[[], bool],
        across: Callable[[int, float], float],
    ) -> None:
        self._views = (first, second)
        self._is_shown = is_shown
        self._across = across
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
        """Stop."""
        self._wanted = False

    def _poll(self) -> None:
        self._is_polling = False
        if not self._wanted or not all(view.is_valid() for view in self._views) or not self._is_shown():
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

    def _is_echo(self, side: int) -> bool:
        """Whether a side has only got, late, where it was sent."""
        return self._focused() != side and time.monotonic() - self._late.pop(side, -inf) < ECHO

    def _focused(self) -> int:
        window = self._views[0].window()
        return 0 if window and window.active_view() == self._views[0] else 1

    def _positions(self) -> tuple[Position, Position]:
        return self._views[0].viewport_position(), self._views[1].viewport_position()


def level(here: sublime.View, there: sublime.View, ours: Sequence[Points], theirs: Sequence[Points], y: float) -> float:
    """The vertical position in another view where it shows the same lines. The ranges are those of the changes."""
    point = here.layout_to_text((0, y))
    ended = bisect_right(ours, point, key=lambda points: points[1])
    start, other_start = (ours[ended - 1][1], theirs[ended - 1][1]) if ended else (0, 0)
    limit = theirs[ended][1] if ended < len(theirs) else there.size()
    other_point = min(other_start + point - start, limit)
    return there.text_to_layout(other_point)[1] + y - here.text_to_layout(point)[1]


def show_sideways(view: sublime.View, word: sublime.Region) -> None:
    """Scroll to a word that is out of sight to the right or to the left."""
    x, y = view.viewport_position()
    width = view.viewport_extent()[0]
    at = view.text_to_layout(word.begin())[0]
    if not x <= at < x + width:
        view.set_viewport_position((max(0.0, at - width / 2), y), animate=False)
