"""Notices that the views of a diff have become wider or narrower. The editor has no event for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import sublime

WATCH = 500
"""Milliseconds between two looks."""
SOON = 50
"""Milliseconds after which the editor has laid out what it has been told to show."""


class Widths:
    """Looks at the widths of views as long as they are on the screen."""

    def __init__(
        self,
        views: Callable[[], Sequence[sublime.View]],
        is_on_screen: Callable[[], bool],
        draw: Callable[[], object],
    ) -> None:
        """`draw` is called if the widths aren't those for which the views were drawn."""
        self._views = views
        self._is_on_screen = is_on_screen
        self._draw = draw
        self._drawn: list[float] = []
        self.is_watching = False

    def drawn(self) -> None:
        """The views are drawn for the widths that they have now."""
        self._drawn = self._now()

    @property
    def fit(self) -> bool:
        """Whether the views have the widths for which they were drawn."""
        return self._drawn == self._now()

    def wake(self) -> None:
        """The views may be on the screen again."""
        if not self.is_watching:
            self._watch()
        sublime.set_timeout(self._look, SOON)

    def _watch(self) -> None:
        self.is_watching = self._look()
        if self.is_watching:
            sublime.set_timeout(self._watch, WATCH)

    def _look(self) -> bool:
        """Have the views drawn if they don't fit; whether they are on the screen."""
        is_on_screen = self._is_on_screen()
        if is_on_screen and not self.fit:
            self._draw()
        return is_on_screen

    def _now(self) -> list[float]:
        return [view.viewport_extent()[0] for view in self._views()]
