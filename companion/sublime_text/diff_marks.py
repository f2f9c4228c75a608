"""Draws the marks of a diff's side: changed lines and words, fillers, and a link at each change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import sublime

if TYPE_CHECKING:
    from ..marks import Filler, Points, Side

CHANGES = "qwen_companion.changes"
"""Key of the regions of the proposal's changes, one for each, in order; empty where lines are missing."""
WORDS = "qwen_companion.words"
FILLERS = "qwen_companion.fillers"

MAX_DECORATED = 2_000
"""Changes with fillers and links. A diff of more is read as a whole, and thousands of phantoms make an editor slow."""

_FILLER = (
    "<body><style>"
    "html.light {{ --filler: color(var(--background) blend(black 96%)); }}"
    "html.dark {{ --filler: color(var(--background) blend(white 95%)); }}"
    "body {{ margin: 0; }}"
    "div {{ padding-top: {above}px; line-height: {line}px; background-color: var(--filler); }}"
    "</style><div>&nbsp;</div></body>"
)
_LINK = '<a href="{href}:{index}">{text}</a>'
_LINES = sublime.RegionFlags.NO_UNDO | sublime.RegionFlags.DRAW_NO_OUTLINE | sublime.RegionFlags.DRAW_EMPTY
_OUTLINED = sublime.RegionFlags.NO_UNDO | sublime.RegionFlags.DRAW_NO_FILL
_NOT_DRAWN = _LINES | sublime.RegionFlags.DRAW_NO_FILL


class SideMarks:
    """The marks of one side. `clicked` is called with the href of a change's link."""

    def __init__(self, view: sublime.View, scope: str, clicked: Callable[[str], None] | None = None) -> None:
        self._view = view
        self._scope = scope
        self._clicked = clicked
        self._fillers: list[int] = []

    def steps(self, side: Side, *, inline: bool) -> list[Callable[[], None]]:
        """What draws the marks, in parts that each take the UI thread a moment only.

        In an inline diff, Sublime itself draws the lines and needs no fillers.
        """
        few = len(side.lines) <= MAX_DECORATED
        fillers = side.fillers if few and not inline else []
        words = [] if inline else side.words
        return [
            lambda: self._draw_lines(side.lines, few, _NOT_DRAWN if inline else _LINES),
            lambda: self._view.add_regions(WORDS, _regions(words), self._scope, flags=_OUTLINED),
            lambda: self._draw_fillers(fillers),
        ]

    def clear(self) -> None:
        """Take all marks away."""
        self._view.erase_regions(CHANGES)
        self._view.erase_regions(WORDS)
        self._draw_fillers([])

    def _draw_lines(self, lines: Sequence[Points], few: bool, flags: sublime.RegionFlags) -> None:
        if self._clicked is None:
            lines = [points for points in lines if points[0] < points[1]]
            self._view.add_regions(CHANGES, _regions(lines), self._scope, flags=flags)
            return
        links = [_LINK.format(href="revert", index=index, text="↩ revert") for index in range(len(lines) if few else 0)]
        color = self._view.style_for_scope(self._scope).get("foreground", "")
        self._view.add_regions(CHANGES, _regions(lines), self._scope, "", flags, links, color, self._clicked)

    def _draw_fillers(self, fillers: Sequence[Filler]) -> None:
        for phantom in self._fillers:
            self._view.erase_phantom_by_id(phantom)
        height = self._view.line_height()
        self._fillers = [
            self._view.add_phantom(
                FILLERS,
                sublime.Region(filler.point),
                _FILLER.format(above=(filler.lines - 1) * height, line=height),
                sublime.PhantomLayout.BLOCK,
            )
            for filler in fillers
        ]


def _regions(points: Sequence[Points]) -> list[sublime.Region]:
    return [sublime.Region(start, end) for start, end in points]
