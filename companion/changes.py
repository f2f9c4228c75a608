"""Line differences between two texts, and undoing or making a single one of them.

A text is the list of its pieces between line feeds, so the last piece has no ending and a text that ends with a line
feed has an empty last piece: whether the last line feed is there is a difference like any other, and joining the
pieces gives the text to the byte. Lines count from 0; ranges are half-open; characters are code points, as Sublime
Text's points are. Functions take a text or its pieces (`lines_of`), which saves those who call several the splitting.

Lines that occur once on both sides are the anchors, and what lies between them is compared by itself, the smallest
part first. The effort is limited in proportion to the lines: where it ends, what is left of a part is one change.
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
from typing import Literal

Text = str | Sequence[str]
Side = Literal["old", "new"]
Range = tuple[int, int]

# One unit of effort is a line that is looked at, or a pair of equal lines that is: at most 0.3 µs.
_EFFORT = 1_000_000
_EFFORT_PER_LINE = 8
_EFFORT_FOR_WORDS = 20_000
# With more pairs of equal lines than this, a part is first searched for groups of lines that occur once.
_MANY_PAIRS = 5_000
_GROUPS = (4, 16, 64)  # lines

_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
_LONG_LINE = 1_000  # characters
_MAX_PARTED = 20  # changed lines above a block
_MAX_PAIRED = 2_000  # lines of a change that are compared one by one
_MAX_LIKENED = 2_500  # old lines times new lines of a change
_SIMILAR = 0.5  # of the characters that are no blanks


@dataclass(frozen=True, slots=True)
class Change:
    """The lines `old_start` to `old_end` of the old text became the lines `new_start` to `new_end` of the new one.

    One of the ranges may be empty, and then lies before its line.
    """

    old_start: int
    old_end: int
    new_start: int
    new_end: int

    @property
    def deleted(self) -> int:
        """How many lines of the old text are gone."""
        return self.old_end - self.old_start

    @property
    def inserted(self) -> int:
        """How many lines of the new text were not there."""
        return self.new_end - self.new_start

    @property
    def mirrored(self) -> Change:
        """The change from the new text to the old one."""
        return Change(self.new_start, self.new_end, self.old_start, self.old_end)

    def shifted(self, lines: int) -> Change:
        """The change so many lines further down on both sides."""
        return Change(self.old_start + lines, self.old_end + lines, self.new_start + lines, self.new_end + lines)


@dataclass(frozen=True, slots=True)
class Edit:
    """The characters `start` to `end` of a text become `text`."""

    start: int
    end: int
    text: str

    def apply(self, text: str) -> str:
        """The edited text."""
        return text[: self.start] + self.text + text[self.end :]


@dataclass(frozen=True, slots=True)
class Filler:
    """`side` needs `lines` blank lines after its line `after` to be level with the other; -1 is above its first."""

    side: Side
    after: int
    lines: int


@dataclass(frozen=True, slots=True)
class Tally:
    """How much is changed: lines, and the changes that they are in."""

    inserted: int
    deleted: int
    changes: int


def lines_of(text: Text) -> Sequence[str]:
    """The pieces of a text, at least one."""
    return text.split("\n") if isinstance(text, str) else text or [""]


def changes(old: Text, new: Text) -> list[Change]:
    """What differs, from the top: between two changes there is at least one line that is equal on both sides."""
    if old == new:
        return []
    old, new = lines_of(old), lines_of(new)
    effort = _EFFORT + _EFFORT_PER_LINE * (len(old) + len(new))
    return _part(_slide(_compare(old, new, effort), old, new), old, new)


def unchanged(found: Sequence[Change], old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """The runs of equal lines around the changes: (from in old, from in new, length)."""
    old_at = new_at = 0
    for change in [*found, Change(len(old), len(old), len(new), len(new))]:
        if length := change.old_start - old_at:
            yield old_at, new_at, length
        old_at, new_at = change.old_end, change.new_end


def tally(found: Sequence[Change], old: Text, new: Text) -> Tally:
    """The counts of `changes(old, new)`. An empty text has no lines here, so a new file has only inserted ones."""
    inserted = sum(change.inserted for change in found) if _joined(new) else 0
    deleted = sum(change.deleted for change in found) if _joined(old) else 0
    return Tally(inserted, deleted, len(found))


def change_at(found: Sequence[Change], line: int, side: Side = "new") -> Change | None:
    """The change at a line of one side: the one that holds it; else one whose lines are missing before or after it."""
    missing: Change | None = None
    for change in found:
        start, end = _range(change, side)
        if start <= line < end:
            return change
        if missing is None and start == end and line <= start <= line + 1:
            missing = change
    return missing


def revert_edit(old: Text, new: Text, change: Change) -> Edit:
    """The edit of the new text that undoes one of `changes(old, new)`. Texts that changed since need new changes."""
    return restore_edit(new, old, change.mirrored)


def revert(old: Text, new: Text, change: Change) -> str:
    """The new text with one of `changes(old, new)` undone."""
    return revert_edit(old, new, change).apply(_joined(new))


def restore_edit(old: Text, new: Text, change: Change) -> Edit:
    """The edit of the old text that makes one of `changes(old, new)`.

    With the text as it is now as the old one and the proposal as the new one, it brings back what was reverted.
    """
    lines = lines_of(old)
    text = "\n".join(lines_of(new)[change.new_start : change.new_end])
    start = sum(map(len, lines[: change.old_start])) + change.old_start
    end = start + sum(map(len, lines[change.old_start : change.old_end])) + change.deleted
    if change.deleted and change.inserted:
        return Edit(start, end - 1, text)  # the ending of the last of these lines stays
    if change.old_end == len(lines):
        # The last line has no line feed that could go with it, so the one before it does; likewise for lines after it.
        return Edit(start - 1, end - 1, f"\n{text}" if change.inserted else "")
    return Edit(start, end, f"{text}\n" if change.inserted else "")


def restore(old: Text, new: Text, change: Change) -> str:
    """The old text with one of `changes(old, new)` made."""
    return restore_edit(old, new, change).apply(_joined(old))


def fillers(found: Sequence[Change]) -> list[Filler]:
    """The blank lines that keep both sides level, from the top: at most one filler for each change, on one side."""
    filled: list[Filler] = []
    for change in found:
        lines = change.inserted - change.deleted
        if lines > 0:
            filled.append(Filler("old", change.old_end - 1, lines))
        elif lines < 0:
            filled.append(Filler("new", change.new_end - 1, -lines))
    return filled


def paired_lines(old: Text, new: Text, change: Change) -> list[tuple[int, int]]:
    """Lines of a change that became one another: (line of old, line of new), rising on both sides.

    As many old as new lines are paired one by one; else those that are alike. A very large change has no pairs.
    """
    if change.deleted == change.inserted <= _MAX_PAIRED:
        return [(change.old_start + i, change.new_start + i) for i in range(change.deleted)]
    if change.deleted * change.inserted > _MAX_LIKENED:
        return []
    olds = [_Words(line) for line in lines_of(old)[change.old_start : change.old_end]]
    news = [_Words(line) for line in lines_of(new)[change.new_start : change.new_end]]
    # best[i][j]: the most likeness that the lines from i and from j on can have together.
    likeness = [[one.likeness(other) for other in news] for one in olds]
    best = [[0.0] * (len(news) + 1) for _ in range(len(olds) + 1)]
    for i in reversed(range(len(olds))):
        for j in reversed(range(len(news))):
            best[i][j] = max(best[i + 1][j], best[i][j + 1], best[i + 1][j + 1] + likeness[i][j])
    pairs: list[tuple[int, int]] = []
    i = j = 0
    while i < len(olds) and j < len(news):
        if likeness[i][j] and best[i][j] == best[i + 1][j + 1] + likeness[i][j]:
            pairs.append((change.old_start + i, change.new_start + j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


def word_changes(old_line: str, new_line: str) -> tuple[list[Range], list[Range]]:
    """The words that differ between two lines: ranges of columns in the old one, and in the new one.

    Both are empty if the lines have too little in common: then all of both lines is the change.
    """
    long = max(len(old_line), len(new_line)) > _LONG_LINE
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
        if old_at < old_next:
            olds.append((old_at, old_next))
        if new_at < new_next:
            news.append((new_at, new_next))
        old_at, new_at = old_next + length, new_next + length
    return olds, news


def _joined(text: Text) -> str:
    return text if isinstance(text, str) else "\n".join(text)


def _range(change: Change, side: Side) -> Range:
    return (change.old_start, change.old_end) if side == "old" else (change.new_start, change.new_end)


def _compare(old: Sequence[str], new: Sequence[str], effort: int) -> list[Change]:
    a, b = _numbered(old, new)
    found: list[Change] = []
    # What isn't compared yet, by its size: one part that costs too much shall not use up the effort for all others.
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


def _numbered(a: Iterable[Hashable], b: Iterable[Hashable]) -> tuple[list[int], list[int]]:
    """Equal numbers for what is equal: they are compared and hashed faster."""
    numbers: defaultdict[Hashable, int] = defaultdict(count().__next__)
    return [numbers[line] for line in a], [numbers[line] for line in b]


def _anchors(a: list[int], b: list[int], effort: int) -> tuple[list[tuple[int, int]], int]:
    """Positions of lines that belong together, rising on both sides, and the effort that it took to find them."""
    size = len(a) + len(b)
    if size > effort or set(a).isdisjoint(b):
        return [], min(size, effort)
    if anchors := _once_in_both(a, b):
        return anchors, size
    a_counts, b_counts = Counter(a), Counter(b)
    pairs = sum(times * b_counts[line] for line, times in a_counts.items())
    spent = 2 * size
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
    return [(match.a, match.b)], spent + pairs  # its other lines are equal too, which the parts around it will see


def _fours(groups: list[int], width: int) -> Iterator[tuple[int, ...]]:
    """Groups of four groups of that width, one from each position on."""
    return zip(*(groups[i * width :] for i in range(4)), strict=False)


def _once_in_both(a: list[int], b: list[int]) -> list[tuple[int, int]]:
    a_counts, b_counts = Counter(a), Counter(b)
    b_at = {line: j for j, line in enumerate(b) if b_counts[line] == 1}
    return _rising([(i, b_at[line]) for i, line in enumerate(a) if line in b_at and a_counts[line] == 1])


def _rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The most pairs, of those that rise in their first number, that rise in their second as well."""
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


def _slide(found: list[Change], old: Sequence[str], new: Sequence[str]) -> list[Change]:
    """Moves lines that came or went to where a block starts.

    The same texts often differ by other lines as well: a new block may be "}, {, …" or "{, …, }".
    """
    settled: list[Change] = []
    for at, change in enumerate(found):
        if change.deleted and change.inserted:
            settled.append(change)
            continue
        side: Side = "new" if change.inserted else "old"
        lines = new if change.inserted else old
        start, end = _range(change, side)
        # One equal line is left between this change and the next.
        lowest = _range(settled[-1], side)[1] + 1 if settled else 0
        highest = _range(found[at + 1], side)[0] - 1 if at + 1 < len(found) else len(lines)
        up = down = 0
        while start - up > lowest and lines[start - up - 1] == lines[end - up - 1]:
            up += 1
        while end + down < highest and lines[start + down] == lines[end + down]:
            down += 1
        best = 0
        if up or down:
            # The empty piece after the last line feed is no line to a reader, so it stays out of a change.
            if end + down == len(lines) and not lines[-1]:
                down -= 1
            indentations = [_indentation(line) for line in lines[start - up : start + down + 1]]
            best = max(range(-up, down + 1), key=lambda by: (-indentations[by + up], by))
        settled.append(change.shifted(best))
    return settled


def _part(found: list[Change], old: Sequence[str], new: Sequence[str]) -> list[Change]:
    """Parts changed lines from a block that came or went right after them, for each to be undone by itself.

    They are one change where the block's end could as well be its beginning: what ends in blank lines may be said to
    begin with them, and then touches the line above.
    """
    parted: list[Change] = []
    for at, change in enumerate(found):
        few = min(change.deleted, change.inserted)
        if 0 < few <= _MAX_PARTED and change.deleted != change.inserted:
            side: Side = "old" if change.deleted > few else "new"
            start, end = _range(change, side)
            lines = old if side == "old" else new
            highest = _range(found[at + 1], side)[0] - 1 if at + 1 < len(found) else len(lines) - 1
            down = 0
            while end + down < highest and lines[start + few + down] == lines[end + down]:
                down += 1
            if down and _became(old, new, change, few):
                lead = Change(change.old_start, change.old_start + few, change.new_start, change.new_start + few)
                rest = Change(lead.old_end, change.old_end, lead.new_end, change.new_end)
                parted += [lead, rest.shifted(down)]
                continue
        parted.append(change)
    return parted


def _became(old: Sequence[str], new: Sequence[str], change: Change, lines: int) -> bool:
    """Whether each of the first lines of a change is like its counterpart."""
    return all(_Words(old[change.old_start + i]).likeness(_Words(new[change.new_start + i])) for i in range(lines))


def _indentation(line: str) -> int:
    text = line.lstrip()
    return len(line) - len(text) if text else _LONG_LINE  # a change starts with a blank line only if it has to


def _weight(text: str) -> int:
    return len("".join(text.split()))


class _Words:
    """The words of a line, to tell how much of them another line has."""

    def __init__(self, line: str) -> None:
        line = line[:_LONG_LINE]
        self._counts = Counter(token for token in _TOKEN.findall(line) if not token.isspace())
        self._weight = _weight(line)

    def likeness(self, other: _Words) -> float:
        """From `_SIMILAR` to 1; 0 for lines that are less alike."""
        total = self._weight + other._weight
        if 2 * min(self._weight, other._weight) < _SIMILAR * total or not total:
            return 0
        shared = sum(len(word) * min(times, other._counts[word]) for word, times in self._counts.items())
        return likeness if (likeness := 2 * shared / total) >= _SIMILAR else 0


def _same_words(old_line: str, new_line: str) -> list[tuple[int, int, int]]:
    """What both lines have: (column in old, column in new, length)."""
    old, new = _TOKEN.findall(old_line), _TOKEN.findall(new_line)
    found = _compare(old, new, _EFFORT_FOR_WORDS)
    old_columns, new_columns = ([0, *accumulate(map(len, tokens))] for tokens in (old, new))
    same = [
        (old_columns[i], new_columns[j], old_columns[i + length] - old_columns[i])
        for i, j, length in unchanged(found, old, new)
    ]
    # A blank between two changed words would only break the mark in two.
    return [
        (i, j, length)
        for i, j, length in same
        if i == j == 0
        or (i + length == len(old_line) and j + length == len(new_line))
        or not old_line[i : i + length].isspace()
    ]


def _same_ends(old: str, new: str) -> list[tuple[int, int, int]]:
    head = _common_head(old, new)
    tail = _common_head(old[head:][::-1], new[head:][::-1])
    return [(0, 0, head), (len(old) - tail, len(new) - tail, tail)]


def _common_head(old: str, new: str) -> int:
    """How many characters both lines start with."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
