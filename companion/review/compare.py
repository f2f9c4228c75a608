"""The differences between two sequences of lines or words, where git would show them, and the words that differ.

An item that occurs exactly once on both sides is an anchor. The parts between the anchors are compared separately, the
smallest first. The effort is limited: when it is used up, the rest of a part becomes one change.

A block between equal lines can often be moved: a new function may be "}, {, …" or "{, …, }". Git moves such a group of
lines to a group on the other side if it can, and otherwise to the place whose indentation and blank lines make the
best beginning and end (`git diff --indent-heuristic`).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from heapq import heappop, heappush
from itertools import accumulate, count

# In a part with more pairs of equal lines than this, groups of lines that occur once are tried first.
_MANY_PAIRS = 5_000
_GROUPS = (4, 16, 64)  # lines
_MAX_CELLS = 200_000_000
"""Items of one side times items of the other for which the longest common subsequence is computed: about 25 MB."""

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

Range = tuple[int, int]

_EFFORT = 20_000
_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
LONG_LINE = 1_000
"""Characters. Of longer lines only the beginnings and the ends are compared."""
_SIMILAR = 0.5  # of the characters that are not whitespace


@dataclass(frozen=True, slots=True)
class Change:
    """The lines `old_start` to `old_end` of the old text became the lines `new_start` to `new_end` of the new one.

    One of the ranges may be empty: then lines are missing above its line.
    """

    old_start: int
    old_end: int
    new_start: int
    new_end: int

    @property
    def deleted(self) -> int:
        """The number of lines that are gone from the old text."""
        return self.old_end - self.old_start

    @property
    def inserted(self) -> int:
        """The number of lines that are new in the new text."""
        return self.new_end - self.new_start

    @property
    def mirrored(self) -> Change:
        """The change from the new text to the old one."""
        return Change(self.new_start, self.new_end, self.old_start, self.old_end)


def unchanged(found: Sequence[Change], old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """The runs of equal lines around the changes: (from in old, from in new, length)."""
    old_at = new_at = 0
    for change in [*found, Change(len(old), len(old), len(new), len(new))]:
        if length := change.old_start - old_at:
            yield old_at, new_at, length
        old_at, new_at = change.old_end, change.new_end


def compare(old: Sequence[str], new: Sequence[str], effort: int) -> list[Change]:
    """The differences, from the top. One unit of effort is one item, or one pair of equal items, that is examined."""
    a, b = _numbered(old, new)
    found: list[Change] = []
    # The parts still to compare, by size: one expensive part must not use up the effort for all the others.
    parts = [(0, 0, len(a), 0, len(b))]
    while parts:
        _, a_start, a_end, b_start, b_end = heappop(parts)
        while a_start < a_end and b_start < b_end and a[a_start] == b[b_start]:
            a_start, b_start = a_start + 1, b_start + 1
        while a_start < a_end and b_start < b_end and a[a_end - 1] == b[b_end - 1]:
            a_end, b_end = a_end - 1, b_end - 1
        anchors: list[tuple[int, int]] = []
        if a_start < a_end and b_start < b_end:
            anchors, cost = _anchors(a[a_start:a_end], b[b_start:b_end], effort)
            effort -= cost
        if not anchors:
            if a_start < a_end or b_start < b_end:
                found.append(Change(a_start, a_end, b_start, b_end))
            continue
        a_from, b_from = a_start, b_start
        for i, j in anchors:
            a_at, b_at = a_start + i, b_start + j
            if a_from < a_at or b_from < b_at:
                heappush(parts, (a_at - a_from + b_at - b_from, a_from, a_at, b_from, b_at))
            a_from, b_from = a_at + 1, b_at + 1
        heappush(parts, (a_end - a_from + b_end - b_from, a_from, a_end, b_from, b_end))
    return sorted(found, key=lambda change: (change.old_start, change.new_start))


def shortest(found: list[Change], old: Sequence[str], new: Sequence[str], effort: int) -> list[Change]:
    """The differences with the fewest lines: `found`, unless it is worth the effort to find fewer.

    Anchors read well, but a line that occurs once may have moved, and then costs more than it is worth.
    """
    if not found:
        return found
    first, last = found[0], found[-1]
    a, b = _numbered(old[first.old_start : last.old_end], new[first.new_start : last.new_end])
    equal = len(a) - sum(change.deleted for change in found)
    b_counts = Counter(b)
    if equal == sum(min(times, b_counts[line]) for line, times in Counter(a).items()):
        return found
    if len(a) * len(b) > _MAX_CELLS or _lcs_cost(a, b) > effort:
        return found
    pairs = _longest_common(a, b)
    if len(pairs) <= equal:
        return found
    fewer: list[Change] = []
    a_at = b_at = 0
    for i, j in [*pairs, (len(a), len(b))]:
        if a_at < i or b_at < j:
            fewer.append(
                Change(first.old_start + a_at, first.old_start + i, first.new_start + b_at, first.new_start + j)
            )
        a_at, b_at = i + 1, j + 1
    return fewer


def _lcs_cost(a: Sequence[int], b: Sequence[int]) -> int:
    """The effort of `_longest_common`, measured."""
    return 4 * (len(a) + len(b)) + len(a) * len(b) // 1_000


def _longest_common(a: list[int], b: list[int]) -> list[tuple[int, int]]:
    """The positions of a longest common subsequence.

    The bits of an integer stand for a row of the well-known table (Hyyrö 2004): a bit is 0 where the length grows.
    """
    places: defaultdict[int, int] = defaultdict(int)
    for j, item in enumerate(b):
        places[item] |= 1 << j
    full = (1 << len(b)) - 1
    row = full
    rows: list[int] = []
    for item in a:
        matches = row & places[item] if item in places else 0
        row = ((row + matches) | (row - matches)) & full
        rows.append(row)
    pairs: list[tuple[int, int]] = []
    i, j = len(a), len(b)
    while i and j:
        if rows[i - 1] >> (j - 1) & 1:
            j -= 1
        else:
            i -= 1
            if not i or rows[i - 1] >> (j - 1) & 1:
                j -= 1
                pairs.append((i, j))
    pairs.reverse()
    return pairs


def _numbered(a: Iterable[Hashable], b: Iterable[Hashable]) -> tuple[list[int], list[int]]:
    """A number for each item, the same for equal items. Numbers are compared and hashed faster."""
    numbers: defaultdict[Hashable, int] = defaultdict(count().__next__)
    return [numbers[line] for line in a], [numbers[line] for line in b]


def _anchors(a: list[int], b: list[int], effort: int) -> tuple[list[tuple[int, int]], int]:
    """The positions of corresponding lines, ascending on both sides, and the effort used to find them."""
    size = len(a) + len(b)
    if size > effort or set(a).isdisjoint(b):
        return [], min(size, effort)
    if anchors := _once_in_both(a, b):
        return anchors, size
    spent = 2 * size
    if len(a) * len(b) <= _MAX_CELLS and (cost := _lcs_cost(a, b)) <= effort - spent:
        return _longest_common(a, b), spent + cost
    a_counts, b_counts = Counter(a), Counter(b)
    pairs = sum(times * b_counts[line] for line, times in a_counts.items())
    if pairs > _MANY_PAIRS:
        a_groups, b_groups = a, b
        for width in _GROUPS:
            a_groups, b_groups = _numbered(_fours(a_groups, width // 4), _fours(b_groups, width // 4))
            spent += size * 2
            if anchors := _once_in_both(a_groups, b_groups):
                return anchors, spent
    if pairs > effort - spent:
        return [], spent
    match = SequenceMatcher(None, a, b, autojunk=False).find_longest_match()
    return [(match.a, match.b)], spent + pairs  # the parts around it will find its other lines


def _fours(groups: list[int], width: int) -> Iterator[tuple[int, ...]]:
    """Groups of four groups of that width, one starting at each position."""
    return zip(*(groups[i * width :] for i in range(4)), strict=False)


def _once_in_both(a: list[int], b: list[int]) -> list[tuple[int, int]]:
    a_counts, b_counts = Counter(a), Counter(b)
    b_at = {line: j for j, line in enumerate(b) if b_counts[line] == 1}
    return _rising([(i, b_at[line]) for i, line in enumerate(a) if line in b_at and a_counts[line] == 1])


def _rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest run of pairs that ascends in both numbers. The pairs are given in the order of their first number."""
    lowest: list[int] = []  # by length: the lowest second number that such a run of pairs ends with
    ends: list[int] = []  # and which pair that is
    before: list[int] = []  # for each pair, the one before it in its run
    for at, (_, j) in enumerate(pairs):
        length = bisect_left(lowest, j) if lowest and j < lowest[-1] else len(lowest)
        before.append(ends[length - 1] if length else -1)
        lowest[length : length + 1] = [j]
        ends[length : length + 1] = [at]
    run: list[tuple[int, int]] = []
    at = ends[-1] if ends else -1
    while at >= 0:
        run.append(pairs[at])
        at = before[at]
    run.reverse()
    return run


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


class Words:
    """The words of a line, to compare it with others."""

    def __init__(self, line: str) -> None:
        line = line[:LONG_LINE]
        self._counts = Counter(token for token in _TOKEN.findall(line) if not token.isspace())
        self._weight = _weight(line)

    def likeness(self, other: Words) -> float:
        """From `_SIMILAR` to 1, or 0 for lines that are less similar."""
        total = self._weight + other._weight
        if 2 * min(self._weight, other._weight) < _SIMILAR * total or not total:
            return 0
        shared = sum(len(word) * min(times, other._counts[word]) for word, times in self._counts.items())
        return likeness if (likeness := 2 * shared / total) >= _SIMILAR else 0


def word_changes(old_line: str, new_line: str) -> tuple[list[Range], list[Range]]:
    """The words that differ between two lines: ranges of columns in the old line, and in the new line.

    Both lists are empty if the lines have too little in common: then the whole lines are the change.
    """
    long = max(len(old_line), len(new_line)) > LONG_LINE
    weigh = len if long else _weight
    enough = _SIMILAR * (weigh(old_line) + weigh(new_line))
    if 2 * min(weigh(old_line), weigh(new_line)) < enough:
        return [], []
    same = _same_ends(old_line, new_line) if long else _same_words(old_line, new_line)
    if 2 * sum(weigh(old_line[at : at + length]) for at, _, length in same) < enough:
        return [], []
    olds: list[Range] = []
    news: list[Range] = []
    old_at = new_at = 0
    for old_next, new_next, length in [*same, (len(old_line), len(new_line), 0)]:
        if old_line[old_at:old_next].isspace() and new_line[new_at:new_next].isspace():
            # Only the blanks that one side has more: a new indentation is one mark, not one on each side.
            kept = common_head(old_line[old_at:old_next], new_line[new_at:new_next])
            old_at, new_at = old_at + kept, new_at + kept
        if old_at < old_next:
            olds.append((old_at, old_next))
        if new_at < new_next:
            news.append((new_at, new_next))
        old_at, new_at = old_next + length, new_next + length
    return olds, news


def _weight(text: str) -> int:
    return len("".join(text.split()))


def _same_words(old_line: str, new_line: str) -> list[tuple[int, int, int]]:
    """The parts that both lines have: (column in old, column in new, length)."""
    old, new = _TOKEN.findall(old_line), _TOKEN.findall(new_line)
    found = compare(old, new, _EFFORT)
    old_columns, new_columns = ([0, *accumulate(map(len, tokens))] for tokens in (old, new))
    same = [
        (old_columns[i], new_columns[j], old_columns[i + length] - old_columns[i])
        for i, j, length in unchanged(found, old, new)
    ]
    # Unchanged whitespace between two changed words would split the mark.
    return [
        (i, j, length)
        for i, j, length in same
        if i == j == 0
        or (i + length == len(old_line) and j + length == len(new_line))
        or not old_line[i : i + length].isspace()
    ]


def _same_ends(old: str, new: str) -> list[tuple[int, int, int]]:
    head = common_head(old, new)
    tail = common_head(old[head:][::-1], new[head:][::-1])
    return [(0, 0, head), (len(old) - tail, len(new) - tail, tail)]


def common_head(old: str, new: str) -> int:
    """The number of characters that both lines start with."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
