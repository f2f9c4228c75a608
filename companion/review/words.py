"""The words of lines: which ones differ between two lines, and how similar two lines are."""

from __future__ import annotations

import re
from collections import Counter
from itertools import accumulate

from .compare import compare, unchanged

Range = tuple[int, int]

_EFFORT = 20_000
_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
LONG_LINE = 1_000
"""Characters. Of longer lines only the beginnings and the ends are compared."""
_SIMILAR = 0.5  # of the characters that are not whitespace


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
