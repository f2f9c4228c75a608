"""The differences between two sequences of lines or words.

An item that occurs exactly once on both sides is an anchor. The parts between the anchors are compared separately, the
smallest first. The effort is limited: when it is used up, the rest of a part becomes one change.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from heapq import heappop, heappush
from itertools import count

# In a part with more pairs of equal lines than this, groups of lines that occur once are tried first.
_MANY_PAIRS = 5_000
_GROUPS = (4, 16, 64)  # lines
_MAX_CELLS = 200_000_000
"""Items of one side times items of the other for which the longest common subsequence is computed: about 25 MB."""


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
