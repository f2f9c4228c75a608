"""The files that wait, as rows of a list, and what is told an agent of those that were undone: one line for each."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ..review.changes import Count
from ..snapshots.entries import Difference, Entry
from ..snapshots.objects import StoreObjects
from ..visible import visible_name
from .lines import Hunks, Pieces, Weave, differences
from .places import absolute
from .state import GOES, Going, KnownLines, RoundState, Save

_CACHED = 20_000
_AT_ONCE = 100
_NOTES = {
    "excluded": "changed, excluded",
    "repository": "a new repository",
    "large": "over 10 MB",
    "rules": "ignore rules of git, changed",
    "unsaved": "its old text was not saved",
}
EDITED = "~"
"""In what is known of lines: both have changed them."""
DOUBTFUL = "?!"
"""In what is known of lines: nobody knows who has changed them."""
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


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """A file with changes that wait."""

    root: str
    path: str
    """Relative to the root, with slashes."""
    kind: str
    """Created, deleted, modified, renamed, mode, link, binary, large, excluded, unreadable or repository."""
    agents: tuple[str, ...]
    """Who was at work when it changed; empty if nobody was."""
    inserted: int
    deleted: int
    changes: int
    """How many changes there are to review: 1 for a file that is reviewed as a whole."""
    note: str
    renamed_from: str
    before: str
    """Identifies what is in the baseline."""
    after: str
    """Identifies what is on the disk."""
    is_new: bool = False
    """Whether it has changed since comments were sent."""
    going: Going | None = None
    """What of it is undone when the turn ends; None if nothing is."""

    @property
    def full_path(self) -> str:
        """The absolute path."""
        return absolute(self.path, self.root)

    @property
    def count(self) -> Count:
        """How much of it there is to review."""
        return Count(1, self.inserted, self.deleted, self.changes)

    @property
    def version(self) -> str:
        """Identifies both contents and the changes between them."""
        return f"{self.before} {self.after} {self.count.changes_in_files} {self.count.lines}"


class Rows:
    """Makes the rows of a round. A file is compared once, as long as neither side of it changes."""

    def __init__(self, objects: StoreObjects) -> None:
        self._objects = objects
        self._counted: dict[KnownLines, Hunks] = {}

    def of(self, found: Sequence[Difference], state: RoundState, new: Collection[str] = ()) -> list[ChangeRow]:
        """The rows of some differences, in their order. `new` are the paths that are marked as new."""
        self._count(found, state)
        return [self._row(each, state, is_new=any(path in new for path in each.paths)) for each in found]

    def _row(self, each: Difference, state: RoundState, *, is_new: bool) -> ChangeRow:
        known = known_lines(each, state)
        counted = self._counted.get(known)
        is_created = state.of(each.path).is_created and bool(each.before and each.after)
        kind, note = ("created", "") if is_created and counted and counted.is_text else _kind(each, counted)
        agents = tuple(dict.fromkeys(name for path in each.paths for name in state.of(path).agents))
        if any(sign in known.ops for sign in DOUBTFUL):
            agents = (f"you or {' or '.join(agents) or 'another program'}",)
        going = state.going.get(each.path)
        edited = "with your edit" if is_created or EDITED in known.ops else ""
        note = " · ".join(filter(None, (note, edited, GOES if going else "")))
        inserted, deleted = (counted.inserted, counted.deleted) if counted else (0, 0)
        by_hunk = (kind in ("modified", "renamed") or is_created) and counted is not None
        before, after = identified(each.before), identified(each.after)
        changes = max(len(counted.found), 1) if by_hunk and counted else 1
        counts, sides = (inserted, deleted, changes), (before, after)
        return ChangeRow(state.root, each.path, kind, agents, *counts, note, each.renamed_from, *sides, is_new, going)

    def _count(self, found: Sequence[Difference], state: RoundState) -> None:
        """Compare the contents of files that were not compared before."""
        if len(self._counted) > _CACHED:
            self._counted.clear()
        todo = [each for each in found if is_comparable(each) and known_lines(each, state) not in self._counted]
        for start in range(0, len(todo), _AT_ONCE):
            part = [(each, known_lines(each, state)) for each in todo[start : start + _AT_ONCE]]
            data = self._objects.read(blob for _, known in part for blob in known[:2] if blob)
            for _, known in part:
                weave = Weave.of(data.get(known.before), data.get(known.after), known.ops)
                self._counted[known] = weave.hunks()

    def contents_of(self, found: Sequence[Difference], state: RoundState) -> dict[str, tuple[bytes, bytes, Hunks]]:
        """Both contents of files and their changes, by path; those that are not there to compare are left out."""
        comparable = [(each.path, known_lines(each, state)) for each in found if is_comparable(each)]
        self._count(found, state)
        data = self._objects.read(blob for _, known in comparable for blob in known[:2] if blob)
        return {
            path: (data.get(known.before, b""), data.get(known.after, b""), self._counted[known])
            for path, known in comparable
        }


def identified(entry: Entry | None) -> str:
    """Identifies one side of a file."""
    return f"{entry.mode} {entry.blob}" if entry else ""


def is_as_listed(each: Difference, row: ChangeRow, saves: Sequence[Save]) -> bool:
    """Whether a file is on the disk as its row said, but for what the person has saved since."""
    at = identified(each.after)
    for save in reversed(saves):
        if at == row.after:
            break
        if save.path == each.path and identified(save.after) == at:
            at = identified(save.before)
    return at == row.after and each.renamed_from == row.renamed_from


def known_lines(each: Difference, state: RoundState) -> KnownLines:
    """Whose lines a file has: what is known of that, if it is of these very contents."""
    before, after = each.before.blob if each.before else "", each.after.blob if each.after else ""
    known = state.of(each.path).lines
    return known if known and known[:2] == (before, after) else KnownLines(before, after, "")


def is_text(entry: Entry) -> bool:
    """Whether the store has the bytes of a file."""
    return not entry.why and not entry.is_link


def is_comparable(each: Difference) -> bool:
    """Whether the store has the bytes of both sides."""
    entries = [entry for entry in (each.before, each.after) if entry]
    return all(is_text(entry) for entry in entries)


def _kind(each: Difference, counted: Hunks | None) -> tuple[str, str]:
    """What has become of a file, in a word and in a note for what the word doesn't say."""
    before, after = each.before, each.after
    for entry in (after, before):
        if entry and entry.why:
            return entry.why, _NOTES.get(entry.why, "can't be read")
    if any(entry and entry.is_link for entry in (before, after)):
        return "link", "created" if before is None else "deleted" if after is None else "changed"
    binary = "binary" if counted and not counted.is_text else ""
    if each.renamed_from:
        return "renamed", f"from {each.renamed_from}"
    if before is None or after is None:
        return ("created" if before is None else "deleted"), binary
    mode = "" if before.mode == after.mode else f"{before.mode[-3:]} → {after.mode[-3:]}"
    if before.blob == after.blob:
        return "mode", mode
    is_mark = counted is not None and counted.is_text and not counted.found
    return binary or "modified", " · ".join(filter(None, ("byte order mark" if is_mark else "", mode)))


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
