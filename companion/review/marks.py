"""The marks of a diff: the changes between two texts, as points of their views.

A point counts characters from the start of a text, as in Sublime Text; ranges are half-open. The module is pure and
thread-safe: marks are computed off the UI thread, which only draws them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from .changes import Filler as Gap
from .changes import Side as SideName
from .changes import Tally, changes, fillers, lines_of, paired_lines, tally
from .compare import Change
from .targets import restore_fingerprint, revert_fingerprint
from .words import word_changes

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
    tally: Tally
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
    changed = sum(max(change.deleted, change.inserted) for change in found)
    old_words, new_words = _words(found, old, new, old_starts, new_starts) if changed <= max_words else ([], [])
    gaps = fillers(found)
    return Marks(
        Side(
            [points_of(old_starts, change.old_start, change.old_end) for change in found],
            old_words,
            [(old_starts[max(gap.after, 0)], gap.lines) for gap in gaps if gap.side == "old"],
            is_top_missing=_is_at_top(gaps, "old"),
        ),
        Side(
            [points_of(new_starts, change.new_start, change.new_end) for change in found],
            new_words,
            [(new_starts[max(gap.after, 0)], gap.lines) for gap in gaps if gap.side == "new"],
            is_top_missing=_is_at_top(gaps, "new"),
        ),
        tally(found, old, new),
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


def _is_at_top(gaps: list[Gap], side: SideName) -> bool:
    return any(gap.side == side and gap.after < 0 for gap in gaps[:1])


def starts_of(lines: Sequence[str]) -> list[int]:
    """The point of each line, and that after the last."""
    return list(accumulate((len(line) + 1 for line in lines), initial=0))


def points_of(starts: Sequence[int], first: int, after: int) -> Points:
    """The points of some lines, half-open, by what `starts_of` gives."""
    end = starts[-1] - 1  # the last line has no line feed
    return min(starts[first], end), min(starts[after], end)


def _words(
    found: Sequence[Change], old: Sequence[str], new: Sequence[str], old_starts: list[int], new_starts: list[int]
) -> tuple[list[Points], list[Points]]:
    old_words: list[Points] = []
    new_words: list[Points] = []
    for change in found:
        for old_line, new_line in paired_lines(old, new, change):
            deleted, inserted = word_changes(old[old_line], new[new_line])
            old_words += [(old_starts[old_line] + start, old_starts[old_line] + end) for start, end in deleted]
            new_words += [(new_starts[new_line] + start, new_starts[new_line] + end) for start, end in inserted]
    return old_words, new_words
