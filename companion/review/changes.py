"""Line differences between two texts, and undoing or making a single one of them.

A text is split at its line feeds. The last piece has no ending, so a text that ends with a line feed has an empty last
piece. A missing last line feed is therefore a difference like any other, and joining the pieces gives the same text
back. Lines count from 0; ranges are half-open; characters are code points, as Sublime Text's points are. Functions
take a text or its pieces (`lines_of`): a caller of several functions splits the text once.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

from .compare import Change, compare, shortest
from .slides import MAX_SLIDE, slide
from .words import Words

Text = str | Sequence[str]
Side = Literal["old", "new"]
Range = tuple[int, int]

# One unit of effort is one line, or one pair of equal lines, that is examined. It takes at most 0.3 µs.
_EFFORT = 1_000_000
_EFFORT_PER_LINE = 8
_MAX_PAIRED = 2_000  # lines of a change that are compared one by one
_MAX_LIKENED = 2_500  # old lines times new lines of a change


@dataclass(frozen=True, slots=True)
class TextEdit:
    """The characters `start` to `end` of a text become `text`."""

    start: int
    end: int
    text: str

    def apply(self, text: str) -> str:
        """The edited text."""
        return text[: self.start] + self.text + text[self.end :]


@dataclass(frozen=True, slots=True)
class Count:
    """How much there is to review, as everything that shows a number counts it.

    Files are those that a person counts: a renamed one is one, whatever paths it has had.
    """

    files: int = 0
    inserted: int = 0
    deleted: int = 0
    changes: int = 0

    def __add__(self, other: Count) -> Count:
        """Both together. They have no file in common, or whoever adds them counts the files."""
        return Count(
            self.files + other.files,
            self.inserted + other.inserted,
            self.deleted + other.deleted,
            self.changes + other.changes,
        )

    def __str__(self) -> str:
        """Such as “3 files, +20 −4”."""
        return f"{counted(self.files, 'file')}, {self.lines}"

    @property
    def lines(self) -> str:
        """Such as “+20 −4”."""
        return f"+{self.inserted:,} −{self.deleted:,}"

    @property
    def changes_in_files(self) -> str:
        """Such as “2 changes in 1 file”."""
        return f"{counted(self.changes, 'change')} in {counted(self.files, 'file')}"


def counted(number: int, what: str) -> str:
    """Such as “1 file” and “1,200 files”."""
    return f"{number:,} {what}{'s' * (number != 1)}"


def lines_of(text: Text) -> Sequence[str]:
    """The pieces of a text, at least one."""
    return text.split("\n") if isinstance(text, str) else text or [""]


def changes(old: Text, new: Text) -> list[Change]:
    """The differences, from the top. At least one line that is equal on both sides is between two changes."""
    if old == new:
        return []
    old, new = lines_of(old), lines_of(new)
    if not old[-1] and not new[-1]:
        old, new = old[:-1], new[:-1]  # the empty piece after the last line feed is no line to a reader
    effort = _EFFORT + _EFFORT_PER_LINE * (len(old) + len(new))
    return slide(shortest(compare(old, new, effort), old, new, effort), old, new)


def carried(ranges: Sequence[Range], found: Sequence[Change]) -> list[Range]:
    """Where ranges of lines of the old text are in the new one, by `changes(old, new)`.

    Lines that were inserted just above or below a range are not in it.
    """
    starts = [change.old_start for change in found]

    def place(line: int, at: int) -> int:
        """Where the place above a line is, by the last difference above it, or at it."""
        if at < 0:
            return line
        change = found[at]
        if line >= change.old_end:
            return line + change.new_end - change.old_end
        return min(change.new_start + line - change.old_start, change.new_end)

    places: list[Range] = []
    for start, end in ranges:
        first = place(start, bisect_right(starts, start) - 1)
        places.append((first, first if start == end else max(first, place(end, bisect_left(starts, end) - 1))))
    return places


def count_of(found: Sequence[Change], old: Text, new: Text) -> Count:
    """How much `changes(old, new)` are in a file. An empty text has no lines: a new file has only inserted ones."""
    inserted = sum(change.inserted for change in found) if lines_of(new) != [""] else 0
    deleted = sum(change.deleted for change in found) if lines_of(old) != [""] else 0
    return Count(1, inserted, deleted, len(found))


def revert_edits(old: Text, new: Text, chosen: Sequence[Change]) -> list[TextEdit]:
    """The edits of the new text that undo some of `changes(old, new)`. The texts must not have changed since."""
    return restore_edits(new, old, [change.mirrored for change in chosen])


def restore_edits(old: Text, new: Text, chosen: Sequence[Change]) -> list[TextEdit]:
    """The edits of the old text that make some of `changes(old, new)`, in their order.

    With the current text as the old one and the proposal as the new one, they restore what was reverted.
    """
    lines, new_lines = lines_of(old), lines_of(new)
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    return [_edit(starts, new_lines, change) for change in chosen]


def _edit(starts: Sequence[int], new: Sequence[str], change: Change) -> TextEdit:
    """The edit that makes a change. `starts` has where each line of the text starts, and one more."""
    text = "\n".join(new[change.new_start : change.new_end])
    start, end = starts[change.old_start], starts[change.old_end]
    if change.deleted and change.inserted:
        return TextEdit(start, end - 1, text)  # the ending of the last of these lines stays
    if change.old_end == len(starts) - 1:
        # The last line has no line feed that could go with it, so the one before it does; likewise for lines after it.
        return TextEdit(start - 1, end - 1, f"\n{text}" if change.inserted else "")
    return TextEdit(start, end, f"{text}\n" if change.inserted else "")


def in_one(edits: Sequence[TextEdit], text: str) -> TextEdit:
    """One edit of a text that does the same as these, which are given from the top."""
    parts: list[str] = []
    at = start = edits[0].start
    for edit in edits:
        parts += text[at : edit.start], edit.text
        at = edit.end
    return TextEdit(start, at, "".join(parts))


def fillers(found: Sequence[Change]) -> list[Range]:
    """The blank lines that keep the old side level with the new one, from the top: below which line, and how many.

    −1 means above the first line. Of the `mirrored` changes they are those of the new side.
    """
    return [
        (change.old_end - 1, change.inserted - change.deleted) for change in found if change.inserted > change.deleted
    ]


def paired_lines(old: Text, new: Text, change: Change) -> list[tuple[int, int]]:
    """The pairs of corresponding lines in a change: (old line, new line), ascending on both sides.

    If there are as many old lines as new ones, they are paired in order. Otherwise similar lines are paired. A very
    large change has no pairs.
    """
    if change.deleted == change.inserted <= _MAX_PAIRED:
        return [(change.old_start + i, change.new_start + i) for i in range(change.deleted)]
    if change.deleted * change.inserted > _MAX_LIKENED:
        return []
    olds = [Words(line) for line in lines_of(old)[change.old_start : change.old_end]]
    news = [Words(line) for line in lines_of(new)[change.new_start : change.new_end]]
    # best[i][j]: the highest total likeness of pairs among the lines from i and from j on.
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


def slack(start: int, end: int, lines: Sequence[str]) -> Range:
    """How many lines up and down a run of lines could be moved with the same meaning: equal lines surround it."""
    up = down = 0
    while up < MAX_SLIDE and start - up > 0 and end > start and lines[start - up - 1] == lines[end - up - 1]:
        up += 1
    while down < MAX_SLIDE and end + down < len(lines) and end > start and lines[start + down] == lines[end + down]:
        down += 1
    return up, down
