"""The files that wait for a review, as a list shows them."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from . import hunks
from .entries import Difference, Entry
from .hunks import Hunks
from .objects import StoreObjects
from .state import RoundState

_CACHED = 2_000
_AT_ONCE = 100
_NOTES = {"excluded": "changed, excluded", "repository": "a new repository", "large": "over 10 MB"}


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

    @property
    def full_path(self) -> str:
        """The absolute path."""
        return os.path.join(self.root, *self.path.split("/"))


class Rows:
    """Makes the rows of a round. A file is compared once, as long as neither side of it changes."""

    def __init__(self, objects: StoreObjects) -> None:
        self._objects = objects
        self._counted: dict[tuple[str, str], Hunks] = {}

    def of(self, found: Sequence[Difference], state: RoundState, new: Collection[str] = ()) -> list[ChangeRow]:
        """The rows of some differences, in their order. `new` are the paths that are marked as new."""
        self._count(found)
        return [self._row(each, state, is_new=any(path in new for path in each.paths)) for each in found]

    def _row(self, each: Difference, state: RoundState, *, is_new: bool) -> ChangeRow:
        counted = self._counted.get(pair_of(each))
        kind, note = _kind(each, counted)
        agents = tuple(dict.fromkeys(name for path in each.paths for name in state.agents.get(path, [])))
        if any(path in state.mixed for path in each.paths):
            note = " · ".join(filter(None, (note, "with your edits")))
        inserted, deleted = (counted.inserted, counted.deleted) if counted else (0, 0)
        by_hunk = kind == "modified" and counted is not None
        before, after = (f"{side.mode} {side.blob}" if side else "" for side in (each.before, each.after))
        changes = max(len(counted.found), 1) if by_hunk and counted else 1
        from_ = each.renamed_from
        return ChangeRow(
            state.root, each.path, kind, agents, inserted, deleted, changes, note, from_, before, after, is_new
        )

    def _count(self, found: Sequence[Difference]) -> None:
        """Compare the contents of files that were not compared before."""
        if len(self._counted) > _CACHED:
            self._counted.clear()
        todo = [each for each in found if pair_of(each) not in self._counted and is_comparable(each)]
        for start in range(0, len(todo), _AT_ONCE):
            part = todo[start : start + _AT_ONCE]
            data = self._objects.read(blob for each in part for blob in pair_of(each) if blob)
            for each in part:
                before, after = (data.get(blob, b"") for blob in pair_of(each))
                self._counted[pair_of(each)] = hunks.hunks(before, after)

    def contents(self, found: Difference) -> tuple[bytes, bytes, Hunks] | None:
        """Both contents of a file and its changes; None if they are not there to compare."""
        return self.contents_of([found]).get(found.path)

    def contents_of(self, found: Sequence[Difference]) -> dict[str, tuple[bytes, bytes, Hunks]]:
        """The same for several files, by path, with one process of git."""
        comparable = [each for each in found if is_comparable(each)]
        self._count(comparable)
        data = self._objects.read(blob for each in comparable for blob in pair_of(each) if blob)
        result: dict[str, tuple[bytes, bytes, Hunks]] = {}
        for each in comparable:
            before, after = (data.get(blob, b"") for blob in pair_of(each))
            result[each.path] = before, after, self._counted[pair_of(each)]
        return result


def pair_of(each: Difference) -> tuple[str, str]:
    """What identifies the contents of both sides; empty where there is none."""
    return each.before.blob if each.before else "", each.after.blob if each.after else ""


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
    return binary or "modified", mode
