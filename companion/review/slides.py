"""Where to show lines that came or went, if they could be shown in several places: as git places them.

A block between equal lines can often be moved: a new function may be "}, {, …" or "{, …, }". Git moves such a group of
lines to a group on the other side if it can, and otherwise to the place whose indentation and blank lines make the
best beginning and end (`git diff --indent-heuristic`).
"""

from __future__ import annotations

from collections.abc import Sequence

from .compare import Change

MAX_SLIDE = 100
"""Lines that a group is moved at most from its lowest place."""
_MAX_INDENT = 200
_MAX_BLANKS = 20
_TAB = 8

# The weights of git: the higher the penalty, the worse the place.
_START_OF_TEXT = 1
_END_OF_TEXT = 21
_BLANK_LINE = -30
_BLANK_LINE_BELOW = 6
_INDENTED, _INDENTED_AFTER_BLANK = -4, 10
_OUTDENTED, _OUTDENTED_AFTER_BLANK = 24, 17
_DEDENTED, _DEDENTED_AFTER_BLANK = 23, 17
_INDENTATION = 60


def slide(found: Sequence[Change], old: Sequence[str], new: Sequence[str]) -> list[Change]:
    """The same differences, each group of lines at its best place. Groups that meet become one."""
    deleted, inserted = _sizes(found)
    _Slider(old, deleted, inserted).place()
    _Slider(new, inserted, deleted).place()
    return _changes(deleted, inserted)


Sizes = dict[int, int]
"""The number of changed lines in each group of one side, by the number of unchanged lines above the group.

That number is the same on both sides for groups that are shown beside each other.
"""


def _sizes(found: Sequence[Change]) -> tuple[Sizes, Sizes]:
    deleted: Sizes = {}
    inserted: Sizes = {}
    gone = 0
    for change in found:
        above = change.old_start - gone
        gone += change.deleted
        if change.deleted:
            deleted[above] = change.deleted
        if change.inserted:
            inserted[above] = change.inserted
    return deleted, inserted


def _changes(deleted: Sizes, inserted: Sizes) -> list[Change]:
    found: list[Change] = []
    gone = come = 0
    for above in sorted({*deleted, *inserted}):
        old_start, new_start = above + gone, above + come
        gone += deleted.get(above, 0)
        come += inserted.get(above, 0)
        found.append(Change(old_start, above + gone, new_start, above + come))
    return found


class _Slider:
    """Moves the groups of one side, from the top."""

    def __init__(self, lines: Sequence[str], sizes: Sizes, others: Sizes) -> None:
        self._lines = lines
        self._sizes = sizes
        self._others = others
        self._waiting = sorted(sizes, reverse=True)
        """The groups that are not placed yet, the next one last; each by the unchanged lines above it."""
        self._placed: list[int] = []
        self._changed = 0
        """The lines in the groups that are placed."""
        self._above = self._size = 0
        """The group that is being moved."""

    def place(self) -> None:
        """Give each group its best place."""
        while self._waiting:
            self._take()
            while True:
                size = self._size
                self._up()
                earliest = self._end
                beside = self._above if self._above in self._others else None
                beside = self._down(beside)
                if size == self._size:
                    break  # else it has met another group, and may be moved further
            if beside is not None:
                self._above = beside
            elif self._end > earliest:
                self._above -= self._end - _best_end(self._lines, self._size, earliest, self._end)
            self._sizes[self._above] = self._size
            self._placed.append(self._above)
            self._changed += self._size

    @property
    def _start(self) -> int:
        return self._above + self._changed

    @property
    def _end(self) -> int:
        return self._above + self._changed + self._size

    def _take(self) -> None:
        self._above = self._waiting.pop()
        self._size = self._sizes.pop(self._above)

    def _up(self) -> None:
        while self._start > 0 and self._lines[self._start - 1] == self._lines[self._end - 1]:
            self._above -= 1
            if self._placed and self._placed[-1] == self._above:
                met = self._sizes.pop(self._placed.pop())
                self._changed -= met
                self._size += met

    def _down(self, beside: int | None) -> int | None:
        """Move down as far as possible. The result is the lowest place beside a group of the other side."""
        while self._end < len(self._lines) and self._lines[self._start] == self._lines[self._end]:
            self._above += 1
            if self._waiting and self._waiting[-1] == self._above:
                self._size += self._sizes.pop(self._waiting.pop())
            if self._above in self._others:
                beside = self._above
        return beside


def _best_end(lines: Sequence[str], size: int, earliest: int, latest: int) -> int:
    """Where a group of that size ends best."""
    lowest = max(earliest, latest - size - 1, latest - MAX_SLIDE)
    best = lowest
    best_score: tuple[int, int] | None = None
    for end in range(lowest, latest + 1):
        top, bottom = _score(lines, end), _score(lines, end - size)
        score = top[0] + bottom[0], top[1] + bottom[1]
        if best_score is None or _compared(score, best_score) <= 0:
            best, best_score = end, score
    return best


def _compared(one: tuple[int, int], other: tuple[int, int]) -> int:
    """Below 0 if the first of two scores is better."""
    return _INDENTATION * ((one[0] > other[0]) - (one[0] < other[0])) + one[1] - other[1]


def _score(lines: Sequence[str], at: int) -> tuple[int, int]:
    """The indentation below a split above line `at`, and its penalty."""
    count = len(lines)
    indent = _indentation(lines[at]) if at < count else -1
    above, blanks_above = _next_indentation(lines, range(at - 1, -1, -1))
    below, blanks_below = _next_indentation(lines, range(at + 1, count))
    penalty = 0
    if above == -1 and not blanks_above:
        penalty += _START_OF_TEXT
    if at >= count:
        penalty += _END_OF_TEXT
    blanks_below = 1 + blanks_below if indent == -1 else 0
    blanks = blanks_above + blanks_below
    penalty += _BLANK_LINE * blanks + _BLANK_LINE_BELOW * blanks_below
    effective = indent if indent != -1 else below
    if effective != -1 and above != -1:
        if effective > above:
            penalty += _INDENTED_AFTER_BLANK if blanks else _INDENTED
        elif effective < above and below != -1 and below > effective:
            penalty += _OUTDENTED_AFTER_BLANK if blanks else _OUTDENTED
        elif effective < above:
            penalty += _DEDENTED_AFTER_BLANK if blanks else _DEDENTED
    return effective, penalty


def _next_indentation(lines: Sequence[str], rows: range) -> tuple[int, int]:
    """The indentation of the next line that is not blank, -1 for none, and the number of blank lines before it."""
    blanks = 0
    for row in rows:
        indent = _indentation(lines[row])
        if indent != -1:
            return indent, blanks
        blanks += 1
        if blanks == _MAX_BLANKS:
            return 0, blanks
    return -1, blanks


def _indentation(line: str) -> int:
    """The columns before the first character, -1 for a blank line."""
    columns = 0
    for character in line:
        if character == " ":
            columns += 1
        elif character == "\t":
            columns += _TAB - columns % _TAB
        elif not character.isspace():
            return columns
        if columns >= _MAX_INDENT:
            return _MAX_INDENT
    return -1
