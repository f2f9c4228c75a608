"""The marks of a diff: the changes between two texts, as points of their views.

A point counts characters from the start of a text, as in Sublime Text; ranges are half-open. The module is pure and
thread-safe: marks are computed off the UI thread, which only draws them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from .changes import (
    Count,
    Range,
    changes,
    count_of,
    fillers,
    lines_of,
    paired_lines,
    restore_fingerprint,
    revert_fingerprint,
)
from .compare import Change, word_changes

Points = tuple[int, int]
Filler = tuple[int, int]
"""A point, and the number of blank lines to show below its line to keep both sides level.

There may be 50,000. The garbage collector ignores plain tuples of numbers. As many objects of another kind would make
it examine all objects of the editor's plugins, which takes 100 ms.
"""

MAX_LINKS = 2_000
"""With more changes than this there are no links at the changes."""
MAX_WORDS = 2_000
"""With more changed lines than this, only lines are marked and no words."""


@dataclass(frozen=True, slots=True)
class Side:
    """The marks of one side. `lines` has one range for each change, which is empty if this side has no lines of it."""

    lines: list[Points]
    words: list[Points]
    fillers: list[Filler]
    is_top_missing: bool = False
    """The lines that the first filler stands for are above the first line. No phantom can be there."""


@dataclass(frozen=True, slots=True)
class Reverted:
    """A change of the proposal that the person has undone."""

    points: Points
    """Where the proposal has the lines of the original again; empty where it has none."""
    fingerprint: str
    """For the link that restores it."""


@dataclass(frozen=True, slots=True)
class Marks:
    """The marks of a diff."""

    original: Side
    proposal: Side
    count: Count
    fingerprints: list[str]
    """One for each change, for its link. Empty if there are more than `MAX_LINKS` changes."""
    gone: list[Filler | None]
    """For each change that only deletes lines, its filler in the proposal; None for the others."""
    reverted: list[Reverted]
    """The changes that the person has reverted, from the top."""


def marks(original: str, proposal: str, proposed: str | None = None) -> Marks:
    """Compare two texts whose only line endings are line feeds.

    `proposed` is the proposal as it came, if it may have been edited since.
    """
    old, new = lines_of(original), lines_of(proposal)
    found = changes(old, new)
    reverted = () if proposed is None or proposed == proposal else _reverted(found, new, proposed)
    return marks_of(found, old, new, reverted=reverted)


def marks_of(
    found: Sequence[Change],
    old: Sequence[str],
    new: Sequence[str],
    *,
    reverted: Sequence[Reverted] = (),
    max_words: int = MAX_WORDS,
) -> Marks:
    """The marks of some changes between the lines of two texts. `max_words` is as `MAX_WORDS`."""
    old_starts, new_starts = starts_of(old), starts_of(new)
    old_words: list[Points] = []
    new_words: list[Points] = []
    for _, old_line, gone, new_line, come in changed_words(found, old, new, max_words):
        old_words += moved(gone, old_starts[old_line])
        new_words += moved(come, new_starts[new_line])
    return Marks(
        _side(found, old_starts, old_words),
        _side([change.mirrored for change in found], new_starts, new_words),
        count_of(found, old, new),
        [revert_fingerprint(change, new) for change in found] if len(found) <= MAX_LINKS else [],
        [
            None if change.inserted else (new_starts[max(change.new_end - 1, 0)], change.deleted)
            for change in found[: MAX_LINKS + 1]
        ],
        [*reverted],
    )


def _reverted(found: Sequence[Change], new: Sequence[str], proposed: str) -> list[Reverted]:
    """The differences from the proposal as it came that are no differences from the original."""
    back = changes(new, lines_of(proposed))
    if len(back) > MAX_LINKS:
        return []
    starts, at = starts_of(new), 0
    reverted: list[Reverted] = []
    for change in back:
        while at < len(found) and found[at].new_end < change.old_start:
            at += 1
        is_edited = at < len(found) and found[at].new_start <= change.old_end
        if not is_edited:
            points = points_of(starts, change.old_start, change.old_end)
            reverted.append(Reverted(points, restore_fingerprint(change, new)))
    return reverted


def _side(found: Sequence[Change], starts: Sequence[int], words: list[Points]) -> Side:
    """The marks of the side that the changes lead away from, by the points of its lines."""
    lines = [points_of(starts, change.old_start, change.old_end) for change in found]
    gaps = fillers(found)
    return Side(
        lines,
        words,
        [(starts[max(after, 0)], count) for after, count in gaps],
        is_top_missing=any(after < 0 for after, _ in gaps[:1]),
    )


def starts_of(lines: Sequence[str]) -> list[int]:
    """The point of each line, and that after the last."""
    return list(accumulate((len(line) + 1 for line in lines), initial=0))


def points_of(starts: Sequence[int], first: int, after: int) -> Points:
    """The points of some lines, half-open, by what `starts_of` gives."""
    end = starts[-1] - 1  # the last line has no line feed
    return min(starts[first], end), min(starts[after], end)


def changed_words(
    found: Sequence[Change], old: Sequence[str], new: Sequence[str], most: int = MAX_WORDS
) -> Iterator[tuple[int, int, list[Range], int, list[Range]]]:
    """The words that differ in lines that correspond: the number of the change, the old line and its words, the new.

    There are none if more than `most` lines have changed.
    """
    if sum(max(change.deleted, change.inserted) for change in found) > most:
        return
    for at, change in enumerate(found):
        for old_line, new_line in paired_lines(old, new, change):
            gone, come = word_changes(old[old_line], new[new_line])
            yield at, old_line, gone, new_line, come


def moved(words: Sequence[Range], by: int) -> Iterator[Points]:
    """Words of a line as points of a text, in which the line begins there."""
    return ((start + by, end + by) for start, end in words)
