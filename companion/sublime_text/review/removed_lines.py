"""Shows the lines that are gone: all of them in the inline diff of a proposal, those of one change in a written file.

The editor's own inline diff does it. Where that shows nothing (sublimehq/sublime_text#2666, #2728 and #4747), or the
person has its gutter off in a file, phantoms of the package do.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import sublime

from ..minihtml import columns, safe
from ..own_views import VIEWS
from ..windows import select

if TYPE_CHECKING:
    from ...review.marks import Marks, Points
    from .diff_marks import Links

INLINE = "inline"
"""In the record of a proposal's view: whether its diff is inline."""
REMOVED = "qwen_companion.removed"
"""Key of the region of the one change whose removed lines are shown."""
LOOK = 150
"""Milliseconds after which the editor must show the lines that are gone."""
TRIES = 3
"""How often the editor is asked to show them."""
WIDEST_TAB = 16
"""Columns."""
MOST_LINES = 200
"""Lines that a phantom shows."""
LONGEST_LINE = 500
"""Characters of a line that a phantom shows."""

_GONE = (
    "<body><style>"
    "html {{ --gone: color(var(--background) blend(var(--redish) 85%));"
    " --word: color(var(--background) blend(var(--redish) 70%)); }}"
    "body {{ margin: 0; }}"
    "div {{ padding-right: {pad}px; background-color: var(--gone);"
    " color: color(var(--foreground) min-contrast(var(--gone) 4.5)); }}"
    "a {{ text-decoration: none; color: color(var(--bluish) min-contrast(var(--gone) 4.5)); }}"
    "span {{ background-color: var(--word); color: color(var(--foreground) min-contrast(var(--word) 4.5)); }}"
    "</style>{lines}</body>"
)


class Gap(NamedTuple):
    """A place where the layout tells whether lines are shown: two points, and the height between them if none are."""

    above: int | None
    below: int
    height: float


class RemovedLines:
    """The lines that are gone in one view: of all its changes, or of one.

    `missing` is called if the editor turns out to show nothing. Then `is_own` is true: phantoms are to show them.
    """

    def __init__(self, view: sublime.View, missing: Callable[[], object]) -> None:
        self.is_own = False
        self._view = view
        self._missing = missing
        self._is_toggled = False
        self._look: object = None

    def show(self, gap: Gap | None, at: sublime.Region | None = None) -> None:
        """Have the editor show what differs from the reference document, or that at a region, unless `is_own`.

        After an edit this is done once more. `gap` is where it is looked whether the editor does it.
        """
        self.hide()
        self._note(shown=True)
        if at is not None:
            flags = sublime.RegionFlags.HIDDEN | sublime.RegionFlags.NO_UNDO
            self._view.add_regions(REMOVED, [at], flags=flags)
        if not self.is_own:
            self._toggle(shown=True)
            if gap:
                self._look_later(gap, 1)

    def resume(self) -> None:
        """The view is that of a diff from before, which may have been shown inline."""
        own = VIEWS.of(self._view)
        self._is_toggled = bool(own and own.get(INLINE)) and not self.is_own

    def hide(self) -> None:
        """Show the text alone."""
        self._look = None
        if self._view.is_valid():
            self._note(shown=False)
            self._toggle(shown=False)
            self._view.erase_regions(REMOVED)

    @property
    def has_caret(self) -> bool:
        """Whether a caret is in the one change whose lines are shown."""
        view = self._view
        found = view.get_regions(REMOVED)
        places = [view.line(sublime.Region(each.begin(), max(each.begin(), each.end() - 1))) for each in found]
        return any(place.contains(region.b) for place in places for region in view.sel())

    def _note(self, *, shown: bool) -> None:
        if own := VIEWS.of(self._view):
            own.keep(**{INLINE: shown})

    def _toggle(self, *, shown: bool) -> None:
        if not shown and not self._is_toggled:
            return
        carets = list(self._view.sel())
        if places := self._view.get_regions(REMOVED):
            select(self._view, places[0].begin())
        else:
            self._view.run_command("select_all")
        if self._is_toggled:
            # After an edit only some changes may be shown: hide all, then show all.
            self._view.run_command("toggle_inline_diff", {"prefer_hide": True})
        if shown:
            self._view.run_command("toggle_inline_diff")
        self._is_toggled = shown
        select(self._view, *carets)

    def _look_later(self, gap: Gap, number: int) -> None:
        look = self._look = object()
        version = self._view.change_count()

        def at() -> None:
            if self._look is not look or not self._view.is_valid() or self._view.change_count() != version:
                return
            if _height(self._view, gap.above, gap.below) > gap.height + self._view.line_height() / 2:
                return
            if number == TRIES:
                self.is_own = True
                self._missing()
            else:
                self._toggle(shown=True)
                self._look_later(gap, number + 1)

        sublime.set_timeout(at, LOOK)


def gap_above(view: sublime.View, point: int) -> Gap:
    """Where to look for the lines above a change."""
    row = view.rowcol(point)[0]
    above = view.text_point(row - 1, 0) if row else None
    return Gap(above, point, _height(view, above, point))


def first_gap(view: sublime.View, marks: Marks, *, has_links: bool) -> Gap | None:
    """Where to look in a proposal. None if nothing is gone, or all of it is behind the last line.

    With `has_links`, a place where lines were only removed has a line of ours with a link.
    """
    found: list[int] = []
    for at, ((start, end), (gone_from, gone_to)) in enumerate(
        zip(marks.proposal.lines, marks.original.lines, strict=True)
    ):
        if has_links and at < len(marks.gone) and marks.gone[at]:
            continue  # our line is there, too
        row, column = view.rowcol(start)
        if gone_from == gone_to or (start == end and (column or start == view.size())):
            continue
        if row >= 2:  # the header is below the first row
            return Gap(view.text_point(row - 1, 0), start, view.line_height())
        found.append(start)
    return gap_above(view, found[0]) if found else None


def _height(view: sublime.View, above: int | None, below: int) -> float:
    return view.text_to_layout(below)[1] - (0.0 if above is None else view.text_to_layout(above)[1])


def gone_lines(view: sublime.View, marks: Marks, original: str, links: Links | None) -> list[tuple[int, str]]:
    """The phantoms of the lines of the original that are there no more: where, and their minihtml.

    If a change only deletes lines, the last line of its phantom has its link.
    """
    waiting = deque(links.fillers if links else ())
    found: list[tuple[int, str]] = []
    for at, ((start, _), (gone_from, gone_to)) in enumerate(
        zip(marks.proposal.lines, marks.original.lines, strict=True)
    ):
        if gone_from == gone_to:
            continue
        filler = marks.gone[at]
        link = waiting.popleft()[1] if filler and waiting else ""
        words = [
            (start - gone_from, end - gone_from) for start, end in _between(marks.original.words, gone_from, gone_to)
        ]
        html = gone_html(view, original[gone_from:gone_to].removesuffix("\n"), words, link)
        found.append((filler[0] if filler else max(0, start - 1), html))
    return found


def gone_html(view: sublime.View, text: str, words: Sequence[Points] = (), link: str = "") -> str:
    """The minihtml of lines that are gone, with words of them marked, and a link in a line of its own."""
    given = view.settings().get("tab_size")  # a project may have anything there
    tab_size = given if isinstance(given, int) and 1 <= given <= WIDEST_TAB else 4
    em = view.em_width()
    lines, at = text.split("\n"), 0
    more = [f"… {len(lines) - MOST_LINES} more"] if len(lines) > MOST_LINES else []
    shown: list[str] = []
    for line in lines[:MOST_LINES]:
        marked = [(start - at, end - at) for start, end in _between(words, at, at + len(line))]
        parts = list(_parted(line[:LONGEST_LINE], marked))
        shown.append(_line(parts, tab_size) + ("…" if len(line) > LONGEST_LINE else ""))
        at += len(line) + 1
    widest = max(columns(line[:LONGEST_LINE].expandtabs(tab_size)) for line in [*lines[:MOST_LINES], *more])
    # A phantom may be as wide as its content only (sublimehq/sublime_text#3261).
    pad = max(0, int(view.viewport_extent()[0] - (widest + 3) * em))
    html = "".join(f"<div>{line or '&nbsp;'}</div>" for line in [*shown, *more])
    return _GONE.format(pad=pad, lines=html + (f"<div>{link}</div>" if link else ""))


def _between(words: Sequence[Points], start: int, end: int) -> Sequence[Points]:
    """The words that begin between two points."""
    return words[bisect_left(words, (start, -1)) : bisect_left(words, (end, -1))]


def _parted(line: str, words: Sequence[tuple[int, int]]) -> Iterator[tuple[str, bool]]:
    """The pieces of a line, and whether each is a marked word."""
    at = 0
    for start, end in words:
        yield line[at:start], False
        yield line[start:end], True
        at = end
    yield line[at:], False


def _line(parts: Sequence[tuple[str, bool]], tab_size: int) -> str:
    """The minihtml of a line in pieces."""
    found, column = "", 0
    for text, is_word in parts:
        piece = (" " * column + text).expandtabs(tab_size)[column:]
        column += len(piece)
        html = safe(piece).replace(" ", "&nbsp;")
        found += f"<span>{html}</span>" if is_word and html else html
    return found
