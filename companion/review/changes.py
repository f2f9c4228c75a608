"""Line differences between two texts, undoing or making a single one of them, and which ones a command refers to.

A text is split at its line feeds. The last piece has no ending, so a text that ends with a line feed has an empty last
piece. A missing last line feed is therefore a difference like any other, and joining the pieces gives the same text
back. Lines count from 0; ranges are half-open; characters are code points, as Sublime Text's points are. Functions
take a text or its pieces (`lines_of`): a caller of several functions splits the text once.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal, NamedTuple

from .compare import MAX_SLIDE, Change, Words, compare, shortest, slide, unchanged

Text = str | Sequence[str]
Side = Literal["old", "new"]
Range = tuple[int, int]

# One unit of effort is one line, or one pair of equal lines, that is examined. It takes at most 0.3 µs.
_EFFORT = 1_000_000
_EFFORT_PER_LINE = 8
_MAX_PAIRED = 2_000  # lines of a change that are compared one by one
_MAX_LIKENED = 2_500  # old lines times new lines of a change

Action = Literal["revert", "restore", "undo", "redo"]
"""*undo* reverts, and restores where there is nothing to revert; *redo* restores, and reverts otherwise."""
_TRIED: dict[Action, tuple[Action, ...]] = {"undo": ("revert", "restore"), "redo": ("restore", "revert")}


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


@dataclass(frozen=True, slots=True)
class Target:
    """The changes to revert or to restore: those at some lines, or those with some fingerprints."""

    action: Action
    lines: tuple[Range, ...] = ()
    """The first and the last line of each caret or selection."""
    side: Side = "new"
    """The side of the lines: "old" for the original, "new" for the proposal."""
    fingerprints: tuple[str, ...] = ()


def fingerprint(start: int, end: int, lines: Sequence[str]) -> str:
    """Identifies a change by its range on the side that stays as it is, and by its lines on the side that is edited."""
    digest = hashlib.blake2b("\n".join(lines).encode("utf-8", "surrogatepass"), digest_size=6)
    return f"{start}-{end}-{digest.hexdigest()}-{len(lines)}"


def revert_fingerprint(change: Change, new: Sequence[str]) -> str:
    """The fingerprint of one of the changes from the original to the proposal."""
    return fingerprint(change.old_start, change.old_end, new[change.new_start : change.new_end])


def restore_fingerprint(change: Change, old: Sequence[str]) -> str:
    """The fingerprint of one of the changes from the edited proposal to the one that the CLI sent."""
    return fingerprint(change.new_start, change.new_end, old[change.old_start : change.old_end])


class Revert(NamedTuple):
    """Changes of a proposal that the person has reverted at once. Its texts are as a view shows them."""

    at: float
    """Unix time."""
    before: str
    after: str


def taken_back(revert: Revert, text: str) -> tuple[list[TextEdit], bool]:
    """The edits of a text, from the top, that take a revert back, and whether it was edited where they would be.

    Lines that are there again need neither.
    """
    before, after, now = map(lines_of, (revert.before, revert.after, text))
    since = changes(after, now)
    starts, ends = [each.old_start for each in since], [each.old_end for each in since]
    chosen: list[Change] = []
    is_edited = False
    for change in changes(after, before):
        start, end = change.old_start, change.old_end
        first = bisect_left(ends, start)
        lines = before[change.new_start : change.new_end]
        near = [(each, now[each.new_start : each.new_end]) for each in since[first : bisect_right(starts, end)]]
        if not near:
            moved = since[first - 1].new_end - since[first - 1].old_end if first else 0
            chosen.append(Change(start + moved, end + moved, change.new_start, change.new_end))
        elif [(each.old_start, each.old_end, there) for each, there in near] != [(start, end, lines)]:
            is_edited = True
    return restore_edits(now, before, chosen), is_edited


def edits_of(target: Target, original: str, shown: str, text: str) -> tuple[Action, list[TextEdit]]:
    """What a target does, "revert" or "restore", and the edits of `text` for that, from the top.

    `shown` is the proposal as it came, `text` as it is now.
    """
    for action in _TRIED.get(target.action, (target.action,)):
        edits = _reverts(target, original, text) if action == "revert" else _restores(target, original, shown, text)
        if edits:
            return action, edits
    return target.action, []


def _reverts(target: Target, original: str, text: str) -> list[TextEdit]:
    originals, now = lines_of(original), lines_of(text)
    found = changes(originals, now)
    if target.fingerprints:
        chosen = [change for change in found if revert_fingerprint(change, now) in target.fingerprints]
    else:
        chosen = touched(found, target.lines, target.side, originals if target.side == "old" else now)
    return revert_edits(originals, now, chosen)


def _restores(target: Target, original: str, shown: str, text: str) -> list[TextEdit]:
    now, proposed = lines_of(text), lines_of(shown)
    found = changes(now, proposed)
    if target.fingerprints:
        chosen = [change for change in found if restore_fingerprint(change, now) in target.fingerprints]
    else:
        lines = target.lines if target.side == "new" else _across(target.lines, lines_of(original), now)
        chosen = touched(found, lines, "old", now)
    return restore_edits(now, proposed, chosen)


def touched(found: Sequence[Change], ranges: Sequence[Range], side: Side, lines: Sequence[str]) -> list[Change]:
    """The changes that carets or selections touch, from the top.

    A change that has lines on this side is touched if one of them is. One that has none lies between two lines: it is
    touched by the line below it, and by the line above it if that touches nothing else. The last resort is a change
    that could just as well be at the line.
    """
    chosen: set[Change] = set()
    spans = [(change, *_range(change, side)) for change in found]
    starts, ends = [start for _, start, _ in spans], [end for _, _, end in spans]
    for first, last in ranges:
        near = spans[bisect_left(ends, first) : bisect_right(starts, last + 1)]
        hit = [change for change, start, end in near if start <= last and end > first and start < end]
        hit += [change for change, start, end in near if start == end and first <= start <= last]
        if first < last == len(lines) - 1:
            hit += [change for change, start, end in near if start == end == last + 1]
        if not hit:
            hit = [change for change, start, end in near if start == end == last + 1]
        if not hit:
            near = spans[bisect_left(ends, first - MAX_SLIDE) : bisect_right(starts, last + 1 + MAX_SLIDE)]
            hit = [change for change, *_ in near if _could_touch(change, first, last, side, lines)]
        chosen.update(hit)
    return [change for change in found if change in chosen]


def _could_touch(change: Change, first: int, last: int, side: Side, lines: Sequence[str]) -> bool:
    start, end = _range(change, side)
    up, down = slack(start, end, lines)
    return start - up <= last + 1 and end + down >= first and bool(up or down)


def _range(change: Change, side: Side) -> Range:
    return (change.old_start, change.old_end) if side == "old" else (change.new_start, change.new_end)


def _across(ranges: Sequence[Range], old: Sequence[str], new: Sequence[str]) -> list[Range]:
    """The lines of the new text that correspond to lines of the old one."""
    runs = list(unchanged(changes(old, new), old, new))

    def line(at: int) -> int:
        before = bisect_right(runs, at, key=lambda run: run[0])
        if not before:
            return 0
        old_at, new_at, length = runs[before - 1]
        return new_at + min(at - old_at, length)

    return [(line(first), line(last)) for first, last in ranges]
