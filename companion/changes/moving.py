"""What one root knows of a folder, for another root that is going to have it.

Roots come and go with the folders of the windows, and one of the two is always in the other. What waits in the inner
one moves with whose lines it is, and so does what was before: the person's saves, the decisions that can be taken back,
and the checkpoints. Everything here blocks and runs on the worker thread of the round that it is given.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from ..snapshots.entries import Difference, Entry, TreeSnapshot
from .checkpoints import CHECKPOINTS_KEPT
from .places import is_in, relative
from .round import Round
from .state import CLOCK, Checkpoint, FileState, Operation, RecentScans, RoundState, Save, entries_of, origins_in

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Moved:
    """What a round knows of the inner one of two roots. Its paths and snapshots are of that one."""

    state: RoundState
    """But for the baseline."""
    waiting: Mapping[str, Entry | None]
    """The files that wait, as the baseline has them."""
    scanned_at: int
    """When the last scan began, in nanoseconds of Unix time."""
    saved_at: Mapping[str, int]
    store: str
    """Has the objects of all that."""


class _Paths:
    """Brings what has paths of a root to those of another one."""

    def __init__(self, source: str, target: str) -> None:
        self._target = target
        self._below = f"{relative(target, source)}/" if target != source and is_in(target, [source]) else ""
        self._above = f"{relative(source, target)}/" if target != source and is_in(source, [target]) else ""

    @property
    def inside(self) -> str:
        """The path of the inner root in the outer one, empty if they are one."""
        return (self._below or self._above).rstrip("/")

    def path(self, path: str) -> str:
        """A path; empty if the other root hasn't that."""
        return self._above + path.removeprefix(self._below) if path.startswith(self._below) else ""

    def keys(self, found: Mapping[str, T]) -> dict[str, T]:
        """What is by path."""
        return {new: value for path, value in found.items() if (new := self.path(path))}

    def names(self, found: Iterable[str]) -> list[str]:
        """Some paths."""
        return [new for path in found if (new := self.path(path))]

    def pairs(self, found: Mapping[str, str]) -> dict[str, str]:
        """Paths by path."""
        return {new: old for new, path in self.keys(found).items() if (old := self.path(path))}

    def known(self, found: Mapping[str, FileState]) -> dict[str, FileState]:
        """What is known of files."""
        origins = {path: self.path(each.origin) if each.origin else "" for path, each in found.items()}
        moved = {
            path: replace(each, origin=origins[path], is_parted=each.is_parted and bool(origins[path]))
            for path, each in found.items()
        }
        return self.keys(moved)

    def saves(self, found: Iterable[Save]) -> list[Save]:
        """Saves."""
        known = [(each, new) for each in found if (new := self.path(each.path))]
        return [replace(each, path=new, renamed=self.pairs(each.renamed)) for each, new in known]

    def notes(self, found: Iterable[str], path: str) -> list[str]:
        """The lines for the agents about a file."""
        new, about = self.path(path), (f"{path}:", f"{path}, line")
        return [new + note.removeprefix(path) for note in found if new and note.startswith(about)]

    def operation(self, found: Operation) -> Operation:
        """What a decision has done there."""
        notes = [note for path in found.paths for note in self.notes(found.notes, path)]
        return replace(
            found,
            disk=self.keys(found.disk),
            base=self.keys(found.base),
            known=self.known(found.known),
            origins=self.keys(found.origins),
            modes=self.keys(found.modes),
            notes=notes,
            going=self.keys(found.going),
        )

    def checkpoint(self, found: Checkpoint, snapshot: Callable[[TreeSnapshot], TreeSnapshot]) -> Checkpoint:
        """A checkpoint. `snapshot` gives a snapshot there for one."""
        return replace(
            found,
            disk=snapshot(found.disk),
            base=snapshot(found.base),
            end=snapshot(found.end) if found.end else None,
            known=self.known(found.known),
        )

    def state(self, found: RoundState, snapshot: Callable[[TreeSnapshot], TreeSnapshot]) -> RoundState:
        """What a round knows, but for its baseline. `snapshot` gives a snapshot there for one."""
        notes = {new: self.notes(lines, path) for path, lines in found.unsent_notes.items() if (new := self.path(path))}
        return RoundState(
            self._target,
            now=snapshot(found.now),
            empty=self.names(found.empty),
            known=self.known(found.known),
            going=self.keys(found.going),
            saves=self.saves(found.saves),
            checkpoints=[self.checkpoint(each, snapshot) for each in found.checkpoints],
            decided=[made for each in found.decided if (made := self.operation(each)).paths],
            new_since=found.new_since,
            unsent_notes=notes,
            recent=RecentScans(self.keys(found.recent.copy().found)),
        )


def handed_over(round_: Round, target: str) -> Moved:
    """What a round knows of another root, which is in its own or has it. Call it after a scan."""
    state, objects, root = round_.state, round_.objects, round_.root
    inner = max(root, target, key=len)
    paths = _Paths(root, inner)
    found = objects.differences(state.base, state.now, renames=False)
    waiting = paths.keys({each.path: each.before for each in found} | _come(round_, paths))
    trees: dict[str, str] = {}

    def part(snapshot: TreeSnapshot) -> TreeSnapshot:
        if snapshot.tree not in trees:
            trees[snapshot.tree] = objects.subtree(snapshot.tree, paths.inside)
        return TreeSnapshot(trees[snapshot.tree], paths.keys(snapshot.beside))

    known = paths.state(state, part)
    return Moved(known, waiting, round_.scanned_at, paths.keys(round_.saved_at), round_.store.path)


def _come(round_: Round, paths: _Paths) -> dict[str, Entry | None]:
    """What the files were that agents have moved to where the other root has them, from where it has none.

    They can't be moved back there. An undo of a new file would remove them, and their texts would be nowhere.
    """
    origins = origins_in(round_.state.known)
    origins |= {each.path: each.renamed_from for each in round_.waiting() if each.renamed_from}
    come = {new: old for new, old in origins.items() if paths.path(new) and not paths.path(old)}
    before = round_.objects.entries(round_.state.base, [*come.values()]) if come else {}
    return {new: before[old] for new, old in come.items() if old in before}


def take_over(round_: Round, moved: Moved) -> None:
    """Have what another round knows of a folder in this one, and nothing else of that folder. Call it after a scan."""
    state, objects = round_.state, round_.objects
    paths = _Paths(moved.state.root, round_.root)
    snapshots = _snapshots(moved.state.checkpoints)
    objects.copy_from(moved.store, {each.tree for each in (moved.state.now, *snapshots)}, _blobs(moved, snapshots))
    is_below = _below(paths.inside)
    beside = {path: entry for path, entry in state.now.beside.items() if not is_below(path)}
    grafted: dict[str, str] = {}

    def whole(part: TreeSnapshot) -> TreeSnapshot:
        """The folder as it is now, but for that part: what is beside it was not looked at then."""
        if part.tree not in grafted:
            grafted[part.tree] = objects.grafted(state.now.tree, paths.inside, part.tree)
        return TreeSnapshot(grafted[part.tree], beside | paths.keys(part.beside))

    def merged(ours: Mapping[str, T], theirs: Mapping[str, T]) -> dict[str, T]:
        return {path: each for path, each in ours.items() if not is_below(path)} | {**theirs}

    theirs = paths.state(moved.state, whole)
    meanwhile = objects.differences(theirs.now, state.now, renames=False)
    if since := {each.path: each.before for each in meanwhile if _is_change(round_, each, moved.scanned_at)}:
        state.now = objects.with_entries(state.now, since)  # the scan below takes it as what it is
    waiting = paths.keys(moved.waiting)
    found = objects.differences(state.base, state.now, renames=False)
    entries: dict[str, Entry | None] = {each.path: each.after for each in found if is_below(each.path)} | waiting
    if entries:
        state.base = objects.with_entries(state.base, entries)
    state.known = merged(state.known, theirs.known)
    state.going = merged(state.going, theirs.going)
    state.recent = RecentScans(merged(state.recent.found, theirs.recent.found))
    state.unsent_notes = state.unsent_notes | theirs.unsent_notes
    round_.saved_at |= paths.keys(moved.saved_at)
    round_.began_at = 0  # of that folder the other round had the baseline
    state.empty = sorted({*state.empty, *theirs.empty})
    _add_history(state, theirs)
    if since:
        round_.scan()
    round_.settle()


def _is_change(round_: Round, each: Difference, since: int) -> bool:
    """Whether a file has changed since a scan of another round, and it isn't the ignore rules that differ."""
    if each.before is None:
        return round_.store.written_at(each.path) >= since - CLOCK
    return each.after is not None or not os.path.lexists(os.path.join(round_.root, each.path))


def _add_history(state: RoundState, theirs: RoundState) -> None:
    """What the person has saved and decided, and the checkpoints, as far as they aren't known here."""
    own = {(each.path, each.at) for each in state.saves}
    state.saves += [each for each in theirs.saves if (each.path, each.at) not in own]
    state.saves.sort(key=lambda each: each.at)
    for operation in theirs.decided:
        known = next((each for each in state.decided if each.at == operation.at), None)
        if known is None:
            state.decided.append(operation)
            continue
        known.disk = known.disk | operation.disk
        known.base = known.base | operation.base
        known.known = known.known | operation.known
        known.modes = known.modes | operation.modes
        known.origins = known.origins | operation.origins
        known.going = known.going | operation.going
    state.decided.sort(key=lambda each: each.at)
    known_at = {each.at for each in state.checkpoints}
    new = [each for each in theirs.checkpoints if each.at not in known_at]
    new = [replace(each, number=number) for number, each in enumerate(new, state.next_number())]
    state.checkpoints = sorted([*state.checkpoints, *new], key=lambda each: each.at)[-CHECKPOINTS_KEPT:]
    since = {each.at for each in theirs.checkpoints if each.number == theirs.new_since}
    state.new_since = next((each.number for each in state.checkpoints if each.at in since), state.new_since)


def _below(inside: str) -> Callable[[str], bool]:
    return (lambda path: path.startswith(f"{inside}/")) if inside else (lambda _: True)


def _snapshots(points: Iterable[Checkpoint]) -> list[TreeSnapshot]:
    return [each for point in points for each in (point.disk, point.base, point.end) if each]


def _blobs(moved: Moved, snapshots: Iterable[TreeSnapshot]) -> set[str]:
    state = moved.state
    entries = [*entries_of(state.decided, state.saves), *moved.waiting.values()]
    entries += [entry for each in snapshots for entry in each.beside.values()]
    entries += [entry for found in state.recent.found.values() for each in found for entry in (each.before, each.base)]
    files = [*state.known.values(), *(known for each in state.decided for known in each.known.values())]
    known = {blob for each in files if each.lines for blob in each.lines[:2] if blob}
    return known | {entry.blob for entry in entries if entry}
