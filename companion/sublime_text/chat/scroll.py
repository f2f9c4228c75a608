"""Keeps what the person reads where it is on the screen, whatever comes in above it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import sublime

from ..windows import is_visible
from . import html

if TYPE_CHECKING:
    from ...chats.transcript.render import Render


class Scroll:
    """Where a chat's view is scrolled to before a render changes its text."""

    def __init__(self, view: sublime.View, top: int) -> None:
        """`top` is where the first turn begins: what comes in there comes in above it."""
        self._view = view
        self._position = view.viewport_position()
        self._point = max(view.visible_region().begin(), top)
        """In the first line that stays."""
        self._below = view.text_to_layout(self._point)[1] - self._position[1]
        """How far that line is below the upper edge."""

    def restore(self, render: Render) -> None:
        """Scroll to the same text, after the render is shown."""
        if render.replaces_all:
            self._view.set_viewport_position(self._position, False)
            return
        point = self._point
        for edit in render.edits:
            if edit.end <= point:
                point += len(edit.text) - (edit.end - edit.start)
        if point != self._point:
            y = self._view.text_to_layout(point)[1] - self._below
            self._view.set_viewport_position((self._position[0], y), False)


LOOKS = 250
"""Milliseconds between two looks: no event tells that a view is scrolled."""
BELOW = "qwen_companion.chat_below"


class ScrollWatch:
    """Asks for earlier turns when the person scrolls up to the first one, and says when there is new text below."""

    def __init__(self, view: sublime.View, act: Callable[[str], None]) -> None:
        """`act` is called with the href of what the person wants."""
        self._view = view
        self._act = act
        self._top: int | None = None
        """Where the first turn begins, if there are earlier ones."""
        self._was_away = True
        """Whether the view was scrolled down since the last page was asked for."""
        self._below: int | None = None
        """Where the new text begins that the person hasn't seen."""
        self._is_ticking = False

    def shown(self, render: Render, *, follows: bool, length: int) -> None:
        """A render is on the screen. `follows`: whether the view shows its end; `length` is that of the text before."""
        self._top = render.top if render.status.has_earlier else None
        if render.replaces_all or any(edit.start <= render.top and edit.text for edit in render.edits):
            self._was_away = True
            self._below = None if render.replaces_all else self._below
        if follows:
            self._below = None
        elif not render.replaces_all and self._below is None and _grows(render, length):
            self._below = render.length
        if not self._is_ticking and (self._top is not None or self._below is not None):
            self._is_ticking = True
            sublime.set_timeout(self._tick, LOOKS)
        self._mark()

    def close(self) -> None:
        """The chat is released."""
        self._top = self._below = None
        self._view.erase_regions(BELOW)

    def _tick(self) -> None:
        self._is_ticking = self._view.is_valid() and (self._top is not None or self._below is not None)
        if not self._is_ticking:
            return
        sublime.set_timeout(self._tick, LOOKS)
        if not is_visible(self._view):
            return
        seen = self._view.visible_region()
        if self._top is not None and seen.begin() > self._top:
            self._was_away = True
        elif self._top is not None and self._was_away:
            self._was_away = False
            self._act("show_earlier")
        self._mark()

    def _mark(self) -> None:
        """Say at the right edge of the last line on the screen that there is new text below."""
        if self._below is None:
            self._view.erase_regions(BELOW)
            return
        seen = self._view.visible_region()
        if seen.end() >= self._below:
            self._below = None
            self._view.erase_regions(BELOW)
            return
        # The line before the last one is on the screen as a whole.
        row = self._view.rowcol(seen.end())[0]
        at = max(seen.begin(), self._view.text_point(max(0, row - 1), 0))
        if [region.begin() for region in self._view.get_regions(BELOW)] != [at]:
            self._view.add_regions(
                BELOW,
                [sublime.Region(at)],
                annotations=[html.BELOW],
                on_navigate=self._act,
                flags=sublime.RegionFlags.HIDDEN,
            )


def _grows(render: Render, length: int) -> bool:
    """Whether a render has text behind what was there."""
    return render.length > length and any(edit.text for edit in render.edits if edit.start > render.top)
