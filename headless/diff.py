"""The incremental diff: how a buffer differs from its reference document, line by line."""

from __future__ import annotations

import bisect
import difflib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from headless.buffer import TextBuffer
from headless.changes import Span

MAX_LINES = 1_000
"""difflib takes seconds for more lines: they are divided first, and what can't be is one hunk."""


@dataclass(frozen=True)
class Hunk:
    """`count` lines, beginning at `row`, that replace the reference document's text `old`."""

    row: int
    count: int
    old: str

    @property
    def kind(self) -> str:
        """`inserted`, `deleted` or `modified`, as the gutter marks it."""
        if not self.count:
            return "deleted"
        return "modified" if self.old else "inserted"

    @property
    def old_lines(self) -> list[str]:
        """The lines of `old`, without line endings."""
        return self.old.removesuffix("\n").split("\n") if self.old else []


def hunks(buffer: TextBuffer) -> list[Hunk]:
    """What has changed since the reference document; nothing if there is none."""
    return [] if buffer.reference is None else list(_hunks(buffer.reference, buffer.text))


@lru_cache(maxsize=8)
def _hunks(reference: str, text: str) -> tuple[Hunk, ...]:
    if reference == text:
        return ()
    old, new = _lines(reference), _lines(text)
    # The equal beginning and end are cut off first: difflib is slow, and most of a file is unchanged.
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    found: list[Hunk] = []
    for (old_start, new_start), (old_end, new_end) in _parts(old, new, head, tail):
        if max(old_end - old_start, new_end - new_start) > MAX_LINES:
            found.append(Hunk(new_start, new_end - new_start, "".join(old[old_start:old_end])))
            continue
        matcher = difflib.SequenceMatcher(None, old[old_start:old_end], new[new_start:new_end], autojunk=False)
        found += [
            Hunk(new_start + j1, j2 - j1, "".join(old[old_start + i1 : old_start + i2]))
            for tag, i1, i2, j1, j2 in matcher.get_opcodes()
            if tag != "equal"
        ]
    return tuple(found)


def _parts(
    old: Sequence[str], new: Sequence[str], head: int, tail: int
) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """What is between the equal beginning and end, as ranges of (old, new) to compare.

    A large text is divided at the lines that are in each of the two once, where they come in the same order.
    """
    start, end = (head, head), (len(old) - tail, len(new) - tail)
    if max(end[0] - start[0], end[1] - start[1]) > MAX_LINES:
        at_new = {line: at for at, line in enumerate(new[head : end[1]], head)}
        times_old, times_new = Counter(old[head : end[0]]), Counter(new[head : end[1]])
        pairs = [
            (at, at_new[line])
            for at, line in enumerate(old[head : end[0]], head)
            if times_old[line] == times_new[line] == 1
        ]
        for pair in _increasing(pairs):
            yield start, pair
            start = (pair[0] + 1, pair[1] + 1)
    yield start, end


def _increasing(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest part of the pairs in which the second numbers increase, too."""
    ends: list[int] = []
    """For each length, the smallest second number that so long a part ends with."""
    at: list[int] = []
    before: list[int] = []
    for number, (_, second) in enumerate(pairs):
        length = bisect.bisect_left(ends, second)
        before.append(at[length - 1] if length else -1)
        ends[length : length + 1] = [second]
        at[length : length + 1] = [number]
    found: list[tuple[int, int]] = []
    number = at[-1] if at else -1
    while number >= 0:
        found.append(pairs[number])
        number = before[number]
    return found[::-1]


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def hunk_at(found: list[Hunk], row: int) -> Hunk | None:
    """The hunk at a row; one with nothing but deleted lines belongs to the rows above and below it."""
    for hunk in found:
        if hunk.row <= row < hunk.row + hunk.count:
            return hunk
    return next((h for h in found if not h.count and row in (h.row, h.row - 1)), None)


def span(buffer: TextBuffer, hunk: Hunk) -> Span:
    """Where the hunk's lines are in the buffer."""
    return buffer.lines.start(hunk.row), buffer.lines.start(hunk.row + hunk.count)
