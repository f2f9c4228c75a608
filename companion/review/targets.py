"""Which changes a command refers to, and the edits of the proposal that it makes."""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from .changes import Range, Side, TextEdit, changes, lines_of, restore_edits, revert_edits, slack
from .compare import Change, unchanged
from .slides import MAX_SLIDE

Action = Literal["revert", "restore", "undo", "redo"]
"""*undo* reverts, and restores where there is nothing to revert; *redo* restores, and reverts otherwise."""
_TRIED: dict[Action, tuple[Action, ...]] = {"undo": ("revert", "restore"), "redo": ("restore", "revert")}


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
