"""Scrolls the two sides of a diff together. Sublime has no event for scrolling, so this polls."""

from __future__ import annotations

from collections.abc import Callable

import sublime

INTERVAL = 25
"""Milliseconds between two polls while the diff is on the screen."""
HIDDEN_INTERVAL = 250
"""Milliseconds between two polls while it is not."""


class ScrollTogether:
    """Keeps two views level until one of them is closed.

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
        self._wanted = True
        self._look_later()

    def close(self) -> None:
        """Stop."""
        self._wanted = False

    def _look_later(self) -> None:
        sublime.set_timeout(self._look, INTERVAL if self._is_shown() else HIDDEN_INTERVAL)

    def _look(self) -> None:
        if not self._wanted or not all(view.is_valid() for view in self._views):
            return
        now = self._positions()
        moved = next((i for i in range(2) if now[i] != self._seen[i]), None)
        if moved is not None and (level := self._across(moved, now[moved])) != now[1 - moved]:
            other = self._views[1 - moved]
            other.set_viewport_position((other.viewport_position()[0], level), animate=False)
        self._seen = self._positions()
        self._look_later()

    def _positions(self) -> tuple[float, float]:
        return self._views[0].viewport_position()[1], self._views[1].viewport_position()[1]
