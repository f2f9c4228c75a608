"""Draws the marks of a diff's side: changed lines and words, fillers, and a link at each change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import sublime

from ...garbage import no_collection
from ...review.marks import MAX_LINKS
from ..style import LINK_COLOUR

if TYPE_CHECKING:
    from ...review.marks import Filler, Points, Side

CHANGES = "qwen_companion.changes"
"""Key of the regions of the changes. If there are many, further keys have the suffixes .1, .2 and so on."""
AT_ONCE = 4_000
"""The number of regions that are added at once."""
WORDS = "qwen_companion.words"
FILLERS = "qwen_companion.fillers"

MAX_DECORATED = MAX_LINKS
"""With more changes than this there are no fillers and links: thousands of phantoms make an editor slow."""

_FILLER = (
    "<body><style>"
    "html.light {{ --filler: color(var(--background) blend(black 96%)); }}"
    "html.dark {{ --filler: color(var(--background) blend(white 95%)); }}"
    "body {{ margin: 0; }}"
    "div {{ padding-top: {above}px; line-height: {line}px; background-color: var(--filler); }}"
    "</style><div>&nbsp;</div></body>"
)
_LINK = f'<a style="color: {LINK_COLOUR}" href="{{href}}">{{text}}</a>'
_LINES = sublime.RegionFlags.NO_UNDO | sublime.RegionFlags.DRAW_NO_OUTLINE | sublime.RegionFlags.DRAW_EMPTY
_OUTLINED = sublime.RegionFlags.NO_UNDO | sublime.RegionFlags.DRAW_NO_FILL
_NOT_DRAWN = _LINES | sublime.RegionFlags.DRAW_NO_FILL


def are_few(side: Side) -> bool:
    """Whether the changes have fillers and links."""
    return len(side.lines) <= MAX_DECORATED


class SideMarks:
    """The marks of one side. `clicked` is called with the href of a change's link; without it there are no links.

    With `marks_gaps`, a change without lines on this side is marked by an empty region.
    """

    def __init__(
        self,
        view: sublime.View,
        scope: str,
        clicked: Callable[[str], None] | None = None,
        *,
        marks_gaps: bool = False,
    ) -> None:
        self._view = view
        self._scope = scope
        self._clicked = clicked
        self._marks_gaps = marks_gaps
        self._fillers: list[int] = []

    def steps(self, side: Side, links: Sequence[str], *, inline: bool) -> list[Callable[[], None]]:
        """The steps that draw the marks. Each is short, so that the UI thread stays responsive.

        `links` names the changes for their links.

        In an inline diff, Sublime draws the lines itself and needs no fillers.
        """
        few = are_few(side)
        lines = side.lines if self._marks_gaps else [points for points in side.lines if points[0] < points[1]]
        parts = [lines[at : at + AT_ONCE] for at in range(0, len(lines), AT_ONCE)] or [[]]
        steps: list[Callable[[], None]] = [
            lambda at=at, part=part: self._draw_lines(_key(at), part, links if few else (), inline=inline)
            for at, part in enumerate(parts)
        ]
        words = [] if inline else side.words
        fillers = side.fillers if few and not inline else []
        return [
            *steps,
            lambda: self._erase_lines(len(parts)),
            lambda: self._view.add_regions(WORDS, _regions(words), self._scope, flags=_OUTLINED),
            self._erase_fillers,
            *(lambda at=at: self._add_fillers(fillers[at : at + 100]) for at in range(0, len(fillers), 100)),
        ]

    def clear(self) -> None:
        """Remove all marks."""
        self._erase_lines(0)
        self._view.erase_regions(WORDS)
        self._erase_fillers()

    def _draw_lines(self, key: str, lines: Sequence[Points], links: Sequence[str], *, inline: bool) -> None:
        with no_collection():
            self._add_lines(key, lines, links, _NOT_DRAWN if inline else _LINES)

    def _add_lines(self, key: str, lines: Sequence[Points], names: Sequence[str], flags: sublime.RegionFlags) -> None:
        if self._clicked:
            links = [_LINK.format(href=f"revert:{name}", text="↩ revert") for name in names]
            color = self._view.style_for_scope(self._scope).get("foreground", "")
            self._view.add_regions(key, _regions(lines), self._scope, "", flags, links, color, self._clicked)
        else:
            self._view.add_regions(key, _regions(lines), self._scope, flags=flags)

    def _erase_lines(self, start: int) -> None:
        while self._view.get_regions(_key(start)):
            self._view.erase_regions(_key(start))
            start += 1

    def _erase_fillers(self) -> None:
        for phantom in self._fillers:
            self._view.erase_phantom_by_id(phantom)
        self._fillers.clear()

    def _add_fillers(self, fillers: Sequence[Filler]) -> None:
        height = self._view.line_height()
        self._fillers += [
            self._view.add_phantom(
                FILLERS,
                sublime.Region(point),
                _FILLER.format(above=(lines - 1) * height, line=height),
                sublime.PhantomLayout.BLOCK,
            )
            for point, lines in fillers
        ]


def change_regions(view: sublime.View) -> list[sublime.Region]:
    """The current regions of a proposal's changes, in order. A region is empty where lines are missing."""
    found: list[sublime.Region] = []
    part = 0
    while regions := view.get_regions(_key(part)):
        found += regions
        part += 1
    return found


def _key(part: int) -> str:
    return f"{CHANGES}.{part}" if part else CHANGES


def _regions(points: Sequence[Points]) -> list[sublime.Region]:
    return [sublime.Region(start, end) for start, end in points]
