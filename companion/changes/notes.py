"""What is told an agent of its changes that were undone: one line for each."""

from __future__ import annotations

from collections.abc import Sequence

from ..visible import visible_name
from .hunks import Pieces, differences
from .rows import ChangeRow

MAX_NOTES = 50
"""Lines for one command. The rest is one line with their number."""
_MAX_QUOTED = 60
"""Characters of a line of code."""
AS_BEFORE = "the file is as before"
_WHOLE = {
    "created": "the new file was deleted again",
    "deleted": "the deleted file was brought back",
    "renamed": "the file was renamed back to {from_}",
    "mode": "its permissions are as before",
    "link": "the link is as before",
}


def undone_note(row: ChangeRow) -> str:
    """The line for a file of which no lines are told."""
    return f"{row.path}: {_WHOLE.get(row.kind, AS_BEFORE).format(from_=row.renamed_from)}"


def named_lines(path: str, before: bytes, after: bytes, disk: bytes) -> list[str]:
    """In what two contents of a file differ, line by line, each with its number on the disk if it is there."""
    old, new, now = (Pieces(each).lines for each in (before, after, disk))
    gone = {at for change in differences(new, now) for at in range(change.old_start, change.old_end)}
    there = {at for change in differences(new, now) for at in range(change.new_start, change.new_end)}
    numbers = dict(
        zip(
            (at for at in range(len(new)) if at not in gone),
            (n for n in range(len(now)) if n not in there),
            strict=True,
        )
    )
    told: list[str] = []
    for change in differences(old, new):
        for at in range(change.new_start, change.new_end):
            where = f", line {numbers[at] + 1}" if at in numbers else ""
            told.append(f"{path}{where}: {quoted([new[at]])}")
        if not change.inserted:
            told += [f"{path}: {quoted([text])}" for text in old[change.old_start : change.old_end]]
    return told


def done_notes(path: str, before: bytes, after: bytes) -> list[str]:
    """The lines for a file that an undo has written: what was really taken away and brought back."""
    old, new = Pieces(before).lines, Pieces(after).lines
    told: list[str] = []
    for change in differences(old, new):
        where = f"{path}, line {change.old_start + 1}"
        if change.deleted > 1:
            where = f"{path}, lines {change.old_start + 1}–{change.old_end}"
        if change.deleted:
            told.append(f"{where}: {quoted(old[change.old_start : change.old_end])} was undone")
        else:
            told.append(f"{where}: the removal of {quoted(new[change.new_start : change.new_end])} was undone")
    return limited(told)


def limited(notes: Sequence[str]) -> list[str]:
    """Not more than `MAX_NOTES`, and a line that says how many more there are."""
    if len(notes) <= MAX_NOTES:
        return list(notes)
    return [*notes[:MAX_NOTES], f"{len(notes) - MAX_NOTES} more changes were undone"]


def quoted(lines: Sequence[str]) -> str:
    """The first of some lines, shortened, and how many more there are."""
    text = _readable(lines[0]).strip() if lines else ""
    short = text if len(text) <= _MAX_QUOTED else f"{text[:_MAX_QUOTED]}…"
    more = f" and {len(lines) - 1} more line{'s' * (len(lines) > 2)}" if len(lines) > 1 else ""
    return f"“{visible_name(short.expandtabs(1))}”{more}"


def _readable(line: str) -> str:
    try:
        return line.encode("latin-1").decode("utf-8", "replace")  # a piece has a character for each byte
    except UnicodeEncodeError:
        return line  # it is UTF-16
