"""Where text is on the screen: a fixed grid of 10 × 20 pixels, with phantoms and folds."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from headless import diff, variations
from headless.api.flags import PhantomLayout
from headless.window import WINDOW_SIZE, ViewState

EM_WIDTH = 10.0
LINE_HEIGHT = 20.0
GUTTER = 60.0
"""The width of the gutter, which has line numbers and icons."""


class _Rows:
    """The vertical position of each row of a view."""

    def __init__(self, view: ViewState) -> None:
        row = view.buffer.lines.row
        folds = ((row(min(span)), row(max(span))) for span in sorted(view.folds, key=min))
        self.hidden = [(first + 1, last - first) for first, last in folds if last > first]
        """For each fold over several lines: the first row it hides, and how many."""
        is_inline = view.inline_diff and variations.chosen("inline-diff") == "shown"
        # An inline diff shows deleted lines above a row; a phantom is below its row.
        added = [(each.row, len(each.old_lines)) for each in diff.hunks(view.buffer)] if is_inline else []
        added += [
            (row(min(phantom.span)) + 1, phantom.height)
            for phantom in view.phantoms.values()
            if phantom.layout != PhantomLayout.INLINE
        ]
        added.sort()
        self._rows = [at for at, _ in added]
        self._added = list(accumulate((height for _, height in added), initial=0.0))
        """The lines that are added above the first of `_rows`, the first two and so on."""
        self._firsts = [first for first, _ in self.hidden]
        self._left_out = list(accumulate((count for _, count in self.hidden), initial=0))

    def top(self, row: int) -> float:
        """The y of a row."""
        lines = row + self._added[bisect_right(self._rows, row)]
        if at := bisect_right(self._firsts, row):
            first, count = self.hidden[at - 1]
            lines -= self._left_out[at - 1] + min(count, row - first + 1)
        return lines * LINE_HEIGHT


class Metrics:
    """Positions in a view's layout, in device-independent pixels. Lines are not wrapped."""

    def viewport(self, view: ViewState) -> tuple[float, float]:
        """The size of what is on the screen: the view's part of its group, without the gutter."""
        window = view.window
        if window is None:
            return WINDOW_SIZE
        width, height = window.size
        if view.sheet and (number := window.group_of(view.sheet)) is not None:
            layout, group = window.layout, window.groups[number]
            left, top, right, bottom = layout["cells"][number]
            width *= layout["cols"][right] - layout["cols"][left]
            height *= layout["rows"][bottom] - layout["rows"][top]
            if view.sheet in group.selected:
                width /= len(group.selected)
        gutter = GUTTER if view.settings.get("gutter") is not False else 0.0
        return max(EM_WIDTH, width - gutter), max(LINE_HEIGHT, height)

    def row_top(self, view: ViewState, row: int) -> float:
        """The y of a row."""
        return _Rows(view).top(row)

    def position(self, view: ViewState, point: int) -> tuple[float, float]:
        """The layout position of a point."""
        row, col = view.buffer.rowcol(point)
        point = view.buffer.clamp(point)
        before = view.buffer.text[point - col : point]
        return len(before.expandtabs(view.tab_size)) * EM_WIDTH, self.row_top(view, row)

    def point(self, view: ViewState, x: float, y: float) -> int:
        """The point nearest to a layout position."""
        rows = _Rows(view)
        low, high = 0, view.buffer.lines.count() - 1
        while low < high:
            middle = (low + high + 1) // 2
            if rows.top(middle) <= y:
                low = middle
            else:
                high = middle - 1
        # A row that a fold hides has the position of the one that is shown for it.
        for first, count in reversed(rows.hidden):
            if first <= low < first + count:
                low = first - 1
        start, end = view.buffer.row_span(low)
        line, columns = view.buffer.text[start:end], max(0.0, x) / EM_WIDTH
        if "\t" not in line:
            return min(end, start + round(columns))
        size = view.tab_size
        for col in range(len(line)):
            if len(line[: col + 1].expandtabs(size)) > columns:
                return start + col
        return end

    def extent(self, view: ViewState) -> tuple[float, float]:
        """The size of the layout: the widest line, and all lines and phantoms."""
        count = view.buffer.lines.count()
        height = self.row_top(view, count)
        if view.settings.get("scroll_past_end") and view.sheet is not None:
            height += self.viewport(view)[1] - LINE_HEIGHT
        width = view.buffer.widest_line() * EM_WIDTH
        seen = self.viewport(view)
        return max(width, seen[0]), max(height, seen[1])

    def scroll_to(self, view: ViewState, x: float, y: float) -> None:
        """Scroll, as far as the layout reaches."""
        (width, height), seen = self.extent(view), self.viewport(view)
        left = min(max(0.0, x), max(0.0, width - seen[0]))
        top = min(max(0.0, y), max(0.0, height - seen[1]))
        view.scroll = (left, top)

    def visible(self, view: ViewState) -> tuple[int, int]:
        """The first and last point on the screen."""
        top = view.scroll[1]
        first = self.point(view, 0, top)
        last = self.point(view, 1e9, top + self.viewport(view)[1] - 1)
        return first, last

    def show(self, view: ViewState, point: int, surrounds: bool = True) -> None:
        """Scroll as little as needed to have `point` on the screen."""
        _, y = self.position(view, point)
        margin = 2 * LINE_HEIGHT if surrounds else 0.0
        left, top = view.scroll
        height = self.viewport(view)[1]
        if y - margin < top:
            self.scroll_to(view, left, y - margin)
        elif y + LINE_HEIGHT + margin > top + height:
            self.scroll_to(view, left, y + LINE_HEIGHT + margin - height)

    def show_at_center(self, view: ViewState, point: int) -> None:
        """Scroll to have `point` in the middle of the screen."""
        _, y = self.position(view, point)
        self.scroll_to(view, view.scroll[0], y + LINE_HEIGHT / 2 - self.viewport(view)[1] / 2)
