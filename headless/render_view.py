"""The picture of one view: lines with their marks, phantoms and annotations."""

from __future__ import annotations

import bisect
import html
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from headless import diff, minicss, variations
from headless.api.flags import PhantomLayout, RegionFlags
from headless.highlight import Highlighter
from headless.metrics import LINE_HEIGHT, Metrics
from headless.state import notes
from headless.window import ViewState

_UNDERLINES = {
    RegionFlags.DRAW_SOLID_UNDERLINE: "solid",
    RegionFlags.DRAW_STIPPLED_UNDERLINE: "dotted",
    RegionFlags.DRAW_SQUIGGLY_UNDERLINE: "wavy",
}
_DIFF_COLOURS = {"inserted": "greenish", "modified": "orangish", "deleted": "redish"}


def _fill(colour: str) -> str:
    return f"color-mix(in srgb, {colour} 20%, transparent)"


@dataclass
class Marks:
    """What is drawn on characters, as (start, end, CSS), and on whole rows."""

    spans: list[tuple[int, int, str]] = field(default_factory=list)
    rows: dict[int, str] = field(default_factory=dict)
    icons: dict[int, str] = field(default_factory=dict)


OUTLINE = "outline: "
_SIDES = {"t": "0 1px", "b": "0 -1px", "l": "1px 0", "r": "-1px 0"}


def _outlined(css: str, is_first: bool, is_last: bool) -> str:
    """The CSS of one piece of an outline. Letters name its sides; `l` and `r` are drawn at the outline's ends only."""
    if not css.startswith(OUTLINE):
        return css
    sides, colour = css.removeprefix(OUTLINE).split(maxsplit=1)
    drawn = [
        _SIDES[side] for side in sides if (is_first or side != "l") and (is_last or side != "r") and side in _SIDES
    ]
    # As high as the row, so that the lines of several rows meet.
    return "padding: 2.5px 0; box-shadow: " + (", ".join(f"inset {side} {colour}" for side in drawn) or "none")


def _outline(rows: list[tuple[int, int, int]]) -> Iterator[tuple[int, int, str]]:
    """The pieces of a line around a region, each with the sides that it has.

    `rows` are where each of its rows begins in the text, and the first and last column of the region in it.
    """
    for at, (start, first, last) in enumerate(rows):
        above, below = (rows[n][1:] if 0 <= n < len(rows) else (0, 0) for n in (at - 1, at + 1))
        cuts = sorted({first, last, *(cut for cut in (*above, *below) if first < cut < last)})
        for left, right in pairwise(cuts):
            sides = "" if above[0] <= left and right <= above[1] else "t"
            sides += "" if below[0] <= left and right <= below[1] else "b"
            sides += ("l" if left == first else "") + ("r" if right == last else "")
            yield start + left, start + right, sides or "-"


class ViewPicture:
    """Draws as many rows of a view as fit, from its scroll position on."""

    def __init__(self, view: ViewState, highlighter: Highlighter, rows: int, focused: bool) -> None:
        self._view = view
        self._highlighter = highlighter
        self._buffer = view.buffer
        self._scheme = highlighter.scheme
        self._focused = focused
        lines = view.buffer.lines
        self._folds = [fold for fold in sorted((min(a, b), max(a, b)) for a, b in view.folds) if fold[0] < fold[1]]
        hidden = {row for a, b in self._folds for row in range(lines.row(a) + 1, lines.row(b) + 1)}
        shown = [row for row in range(lines.count()) if row not in hidden]
        metrics, top = Metrics(), view.scroll[1]
        begin = max(0, bisect.bisect_right(shown, top, key=lambda row: metrics.row_top(view, row)) - 1)
        # How much of the first row, and of the phantoms below it, is scrolled away.
        self._cut = top - metrics.row_top(view, shown[begin])
        self._rows = shown[begin : begin + rows]
        end = metrics.extent(view)[1] - metrics.viewport(view)[1]
        self._is_at_end = top > 0 and top >= end and not view.settings.get("scroll_past_end")
        self._first, self._last = self._rows[0], self._rows[-1] + 1
        self._bounds = lines.start(self._first), lines.start(self._last)
        self._hunks = diff.hunks(self._buffer)
        is_inline = view.inline_diff and variations.chosen("inline-diff") == "shown"
        self._gone = {hunk.row: hunk.old_lines for hunk in self._hunks} if is_inline else {}
        self._cut += len(self._gone.get(self._first, ())) * LINE_HEIGHT
        self._phantoms = self._phantoms_by_row()
        self._annotations = self._annotations_by_row()

    def page(self) -> str:
        """The view's box."""
        marks = self._marks()
        rows = "".join(self._deleted_rows(row) + self._row(row, marks) for row in self._rows)
        if self._cut > 0:
            rows = f'<div style="margin-top: -{self._cut:g}px">{rows}</div>'
        digits = max(2, len(str(self._buffer.lines.count())))
        kind = " focused" if self._focused else ""
        kind += " wrapped" if self._view.settings.get("word_wrap") is True else ""
        kind += " unnumbered" if self._view.settings.get("line_numbers") is False else ""
        # Lines that are wrapped make the picture higher than the layout knows.
        kind += " ended" if self._is_at_end else ""
        kind += " bare" if self._view.settings.get("gutter") is False else ""
        return f'<div class="view{kind}" style="--digits: {digits}">{rows}</div>'

    # -- marks ---------------------------------------------------------------------------------

    def _marks(self) -> Marks:
        marks = Marks()
        self._mark_syntax(marks)
        for regions in self._view.regions.values():
            if regions.scope and not regions.flags & RegionFlags.HIDDEN:
                colour = self._scheme.foreground(regions.scope)
                for span in self._seen(regions.spans):
                    fill = self._scheme.background(regions.scope) or _fill(colour)
                    self._mark_region(marks, span, colour, fill, regions.flags)
                    if regions.icon:
                        marks.icons[self._buffer.lines.row(min(span))] = colour
        self._mark_diff(marks)
        self._mark_selection(marks)
        return marks

    def _seen(self, spans: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        first, last = self._bounds
        return (s for s in spans if max(s) >= first and min(s) <= last)

    def _mark_syntax(self, marks: Marks) -> None:
        if len(self._buffer) < 500_000:
            syntax = str(self._view.settings.own.get("syntax", ""))
            for start, end, css in self._highlighter.styles(self._buffer.text, syntax):
                if end > self._bounds[0] and start < self._bounds[1]:
                    marks.spans.append((start, end, css))

    def _mark_region(self, marks: Marks, span: tuple[int, int], colour: str, fill: str, flags: int) -> None:
        start, end = min(span), max(span)
        underline = next((line for flag, line in _UNDERLINES.items() if flags & flag), None)
        if underline:
            css = f"text-decoration: underline {underline} {colour}"
            marks.spans.append((start, end, css))
        if not flags & RegionFlags.DRAW_NO_FILL:
            for row, whole, part in self._by_row(start, end):
                if whole:
                    marks.rows[row] = fill
                else:
                    marks.spans.append((*part, f"background: {fill}"))
        elif not flags & RegionFlags.DRAW_NO_OUTLINE and not underline:
            lines = self._buffer.lines
            parts = ((lines.start(row), part) for row, _, part in self._by_row(start, end))
            rows = [(begin, part[0] - begin, part[1] - begin) for begin, part in parts]
            for first, last, sides in _outline(rows):
                marks.spans.append((first, last, f"{OUTLINE}{sides} {colour}"))

    def _by_row(self, start: int, end: int) -> Iterator[tuple[int, bool, tuple[int, int]]]:
        """The part of a span on each row, and whether that is the whole row and its newline."""
        lines = self._buffer.lines
        for row in range(max(lines.row(start), self._first), min(lines.row(end) + 1, self._last)):
            first, last = self._buffer.row_span(row)
            next_row = last + 1 if row + 1 < lines.count() else last
            part = max(start, first), min(end, last)
            whole = start <= first and end >= next_row and (end > first or next_row > last)
            whole = whole and variations.chosen("newline-fills-row") == "yes"
            if whole or part[0] < part[1]:
                yield row, whole and end > start, part

    def _mark_diff(self, marks: Marks) -> None:
        if self._view.settings.get("mini_diff") is False:
            return
        for hunk in self._hunks:
            colour = self._scheme.colours[_DIFF_COLOURS[hunk.kind]]
            for row in range(hunk.row, hunk.row + max(1, hunk.count)):
                marks.icons.setdefault(row, colour)
                if hunk.row in self._gone and hunk.count:
                    marks.rows[row] = _fill(self._scheme.colours["greenish"])

    def _mark_selection(self, marks: Marks) -> None:
        colour = self._scheme.colours["selection"]
        for a, b in self._seen(self._view.selection):
            if a != b:
                marks.spans.append((min(a, b), max(a, b), f"background: {colour}"))
            elif self._focused and self._view.settings.own.get("highlight_line") is not False:
                row = self._buffer.lines.row(b)
                marks.rows.setdefault(row, self._scheme.colours["line_highlight"])

    # -- rows ----------------------------------------------------------------------------------

    def _row(self, row: int, marks: Marks) -> str:
        start, end = self._buffer.row_span(row)
        background = f' style="background: {marks.rows[row]}"' if row in marks.rows else ""
        icon = f' style="--mark: {marks.icons[row]}"' if row in marks.icons else ""
        boxes = "".join(
            f'<div class="note" style="border-color: {colour}">{content}</div>'
            for content, colour in self._annotations.get(row, ())
        )
        aside = f'<div class="notes">{boxes}</div>' if boxes else ""
        number = f'<span class="number"{icon}>{row + 1}</span>'
        text = self._unfolded(start, end, marks)
        line = f'<div class="row"{background}>{number}<pre>{text}</pre>{aside}</div>'
        return line + "".join(self._phantoms.get(row, ()))

    def _unfolded(self, start: int, end: int, marks: Marks) -> str:
        """A line, with a mark for each fold; after a fold over several lines, the rest of its last line follows."""
        pieces = []
        for first, last in self._folds:
            if start <= first <= end:
                pieces += [self._text(start, first, marks), '<i class="fold">…</i>']
                start, end = last, max(end, self._buffer.row_span(self._buffer.lines.row(last))[1])
        return "".join([*pieces, self._text(start, end, marks)])

    def _deleted_rows(self, row: int) -> str:
        """The reference document's lines for the hunk at a row, as the inline diff shows them."""
        css = f"background: {_fill(self._scheme.colours['redish'])}"
        lines = self._gone.get(row, [])
        number = '<span class="number"></span>'
        return "".join(f'<div class="row" style="{css}">{number}<pre>{html.escape(line)}</pre></div>' for line in lines)

    def _text(self, start: int, end: int, marks: Marks) -> str:
        """The characters of a line, split wherever the style changes."""
        on_line = [m for m in marks.spans if m[0] < end and m[1] > start]
        inline = self._inline_phantoms(start, end)
        carets = {b for _, b in self._view.selection if start <= b <= end and self._focused}
        cuts = {start, end, *carets, *inline}
        for first, last, _ in on_line:
            cuts.update(cut for cut in (first, last) if start < cut < end)
        pieces = []
        ordered = sorted(cuts)
        for at, following in zip(ordered, [*ordered[1:], end], strict=True):
            pieces.append(inline.get(at, ""))
            if at in carets:
                pieces.append('<i class="caret"></i>')
            text = html.escape(self._buffer.text[at:following])
            css = "; ".join(
                _outlined(css, at == first, following == last)
                for first, last, css in on_line
                if first <= at and last > at
            )
            if text:
                pieces.append(f'<span style="{css}">{text}</span>' if css else text)
        return "".join(pieces)

    # -- minihtml ------------------------------------------------------------------------------

    def _inline_phantoms(self, start: int, end: int) -> dict[int, str]:
        return {
            min(p.span): f'<span class="inline">{minicss.scoped(p.html, f"p{p.id}")}</span>'
            for p in self._view.phantoms.values()
            if p.layout == PhantomLayout.INLINE and start <= min(p.span) <= end
        }

    def _phantoms_by_row(self) -> dict[int, list[str]]:
        found: dict[int, list[str]] = {}
        for phantom in self._view.phantoms.values():
            if phantom.layout == PhantomLayout.INLINE:
                continue
            row, col = self._buffer.rowcol(min(phantom.span))
            indent = col if phantom.layout == PhantomLayout.BELOW else 0
            box = minicss.scoped(phantom.html, f"p{phantom.id}")
            css = f"--indent: {indent}; height: {phantom.height * LINE_HEIGHT:g}px"
            found.setdefault(row, []).append(f'<div class="phantom" style="{css}">{box}</div>')
        return found

    def _annotations_by_row(self) -> dict[int, list[tuple[str, str]]]:
        found: dict[int, list[tuple[str, str]]] = {}
        for number, note in enumerate(notes(self._view)):
            row = self._buffer.lines.row(min(note["region"]))
            box = minicss.scoped(note["html"], f"n{self._view.id}-{number}")
            colour = minicss.colours(note["color"]) or self._scheme.colours["accent"]
            found.setdefault(row, []).append((box, html.escape(colour, quote=True)))
        return found
