"""Sets of regions, phantoms and selections: plain (a, b) pairs that move with edits."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from headless.changes import Change, Span


@dataclass
class RegionSet:
    """What one call of View.add_regions has added."""

    spans: list[Span]
    scope: str = ""
    icon: str = ""
    flags: int = 0
    annotations: list[str] = field(default_factory=list)
    annotation_color: str = ""
    on_navigate: Callable[[str], None] | None = None
    on_close: Callable[[], None] | None = None


@dataclass
class PhantomState:
    """A phantom in a view; `height` is what it adds below its line, in lines."""

    id: int
    key: str
    span: Span
    html: str
    layout: int
    on_navigate: Callable[[str], None] | None
    height: float


def moved(spans: list[Span], change: Change) -> list[Span]:
    """`spans` as they are after `change`; a new list only if one has moved."""
    at, move = change.at, change.move
    if all(a < at and b < at for a, b in spans):
        return spans
    return [(a, b) if a < at and b < at else (move(a), move(b)) for a, b in spans]


def replaced(spans: list[Span], at: int, end: int, inserted: int) -> list[Span]:
    """A selection after View.replace has replaced the characters from `at` to `end` by `inserted` others.

    A point in the replaced text keeps its distance from the end of it, but does not go before `at`; the start of a
    selection that begins at `at` stays there. A caret at an empty region has the inserted text selected.
    """
    delta = inserted - (end - at)

    def point(old: int) -> int:
        if old < at:
            return old
        return max(at, old + delta) if old <= end else old + delta

    result: list[Span] = []
    for a, b in spans:
        first, last = min(a, b), max(a, b)
        if first == last == at == end:
            result.append((at, at + inserted))
            continue
        new = (first if first == at and first != last else point(first)), point(last)
        result.append(new if a <= b else (new[1], new[0]))
    return result


def _touch(first: Span, second: Span) -> bool:
    """Whether two spans, in order, are to be merged: they overlap, or one is empty at an edge."""
    end, begin = max(first), min(second)
    return begin < end or (begin == end and (first[0] == first[1] or second[0] == second[1]))


def merged(spans: Iterable[Span]) -> list[Span]:
    """A selection's regions: sorted, and joined where they overlap."""
    result: list[Span] = []
    for span in sorted(spans, key=lambda s: (min(s), max(s))):
        if result and _touch(result[-1], span):
            result.append(_union(result.pop(), span))
        else:
            result.append(span)
    return result


def _union(first: Span, second: Span) -> Span:
    """One span for both, in the direction of the one that has a direction."""
    begin, end = min(*first, *second), max(*first, *second)
    a, b = first if first[0] != first[1] else second
    return (end, begin) if a > b else (begin, end)


def subtracted(spans: list[Span], hole: Span) -> list[Span]:
    """`spans` without what lies in `hole`."""
    begin, end = min(hole), max(hole)
    result: list[Span] = []
    for a, b in spans:
        first, last = min(a, b), max(a, b)
        if last < begin or end < first:
            result.append((a, b))
            continue
        for left, right in ((first, min(last, begin)), (max(first, end), last)):
            if left < right:
                result.append((left, right) if a <= b else (right, left))
    return result
