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
from .state import CLOCK, Checkpoint, FileState, Going, Operation, Save, Sighting, entries_of

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Moved:
    """What a round knows of the inner one of two roots. Its paths and snapshots are of that one."""

    inner: str
    now: TreeSnapshot
    """The last scan."""
    scanned_at: int
    """When that began, in nanoseconds of Unix time."""
    waiting: Mapping[str, Entry | None]
    """The files that wait, as the baseline has them."""
    known: Mapping[str, FileState]
    going: Mapping[str, Going]
    unsent_notes: Mapping[str, list[str]]
    saves: list[Save]
    decided: list[Operation]
    checkpoints: list[Checkpoint]
    new_since: float
    """The time of the checkpoint after which changes are new; 0 without one."""
    recent: Mapping[str, list[Sighting]]
    saved_at: Mapping[str, int]
    empty: list[str]
    """The folders that were empty before an agent wrote there."""
    store: str
    """Has the objects of all that."""


class _Paths:
    """Brings what has paths of a root to those of another one."""

    def __init__(self, source: str, target: str) -> None:
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

    operations = [paths.operation(each) for each in state.decided]
    checkpoints = [paths.checkpoint(each, part) for each in state.checkpoints]
    return Moved(
        inner,
        part(state.now),
        round_.scanned_at,
        waiting,
        paths.known(state.known),
        paths.keys(state.going),
        _untold(state.unsent_notes, paths),
        paths.saves(state.saves),
        [each for each in operations if each.paths],
        checkpoints,
        next((each.at for each in state.checkpoints if each.number == state.new_since), 0.0),
        paths.keys(round_.recent.all()),
        paths.keys(round_.saved_at),
        paths.names(state.empty),
        round_.store.path,
    )


def _come(round_: Round, paths: _Paths) -> dict[str, Entry | None]:
    """What the files were that agents have moved to where the other root has them, from where it has none.

    They can't be moved back there. An undo of a new file would remove them, and their texts would be nowhere.
    """
    origins = {path: each.origin for path, each in round_.state.known.items() if each.origin}
    origins |= {each.path: each.renamed_from for each in round_.waiting() if each.renamed_from}
    come = {new: old for new, old in origins.items() if paths.path(new) and not paths.path(old)}
    before = round_.objects.entries(round_.state.base, [*come.values()]) if come else {}
    return {new: before[old] for new, old in come.items() if old in before}


def take_over(round_: Round, moved: Moved) -> None:
    """Have what another round knows of a folder in this one, and nothing else of that folder. Call it after a scan."""
    state, objects = round_.state, round_.objects
    paths = _Paths(moved.inner, round_.root)
    trees = {each.tree for point in moved.checkpoints for each in (point.disk, point.base, point.end) if each}
    objects.copy_from(moved.store, {moved.now.tree, *trees}, _blobs(moved))
    is_below = _below(paths.inside)
    beside = {path: entry for path, entry in state.now.beside.items() if not is_below(path)}
    grafted: dict[str, str] = {}

    def whole(part: TreeSnapshot) -> TreeSnapshot:
        """The folder as it is now, but for that part: what is beside it was not looked at then."""
        if part.tree not in grafted:
            grafted[part.tree] = objects.grafted(state.now.tree, paths.inside, part.tree)
        return TreeSnapshot(grafted[part.tree], beside | paths.keys(part.beside))

    checkpoints = [paths.checkpoint(each, whole) for each in moved.checkpoints]
    meanwhile = objects.differences(whole(moved.now), state.now, renames=False)
    if since := {each.path: each.before for each in meanwhile if _is_change(round_, each, moved.scanned_at)}:
        state.now = objects.with_entries(state.now, since)  # the scan below takes it as what it is
    waiting = paths.keys(moved.waiting)
    found = objects.differences(state.base, state.now, renames=False)
    entries: dict[str, Entry | None] = {each.path: each.after for each in found if is_below(each.path)} | waiting
    if entries:
        state.base = objects.with_entries(state.base, entries)
    state.known = {path: each for path, each in state.known.items() if not is_below(path)} | paths.known(moved.known)
    state.going = {path: each for path, each in state.going.items() if not is_below(path)} | paths.keys(moved.going)
    state.unsent_notes |= _untold(moved.unsent_notes, paths)
    round_.recent.replace(is_below, paths.keys(moved.recent))
    round_.recent.write()
    round_.saved_at |= paths.keys(moved.saved_at)
    round_.began_at = 0  # of that folder the other round had the baseline
    state.empty = sorted({*state.empty, *paths.names(moved.empty)})
    _add_history(round_, moved, paths, checkpoints)
    if since:
        round_.scan()
    round_.settle()


def _untold(found: Mapping[str, Iterable[str]], paths: _Paths) -> dict[str, list[str]]:
    return {new: paths.notes(lines, path) for path, lines in found.items() if (new := paths.path(path))}


def _is_change(round_: Round, each: Difference, since: int) -> bool:
    """Whether a file has changed since a scan of another round, and it isn't the ignore rules that differ."""
    if each.before is None:
        return round_.store.written_at(each.path) >= since - CLOCK
    return each.after is not None or not os.path.lexists(os.path.join(round_.root, each.path))


def _add_history(round_: Round, moved: Moved, paths: _Paths, checkpoints: Iterable[Checkpoint]) -> None:
    """What the person has saved and decided, and the checkpoints, as far as they aren't known here."""
    state = round_.state
    own = {(each.path, each.at) for each in state.saves}
    state.saves += [each for each in paths.saves(moved.saves) if (each.path, each.at) not in own]
    state.saves.sort(key=lambda each: each.at)
    for each in moved.decided:
        operation = paths.operation(each)
        known = next((other for other in state.decided if other.at == each.at), None)
        if known is None:
            state.decided.append(operation)
            continue
        known.disk |= operation.disk
        known.base |= operation.base
        known.known |= operation.known
        known.modes |= operation.modes
        known.origins |= operation.origins
        known.going |= operation.going
    state.decided.sort(key=lambda each: each.at)
    known_at = {each.at for each in state.checkpoints}
    new = [each for each in checkpoints if each.at not in known_at]
    first = state.checkpoints[-1].number + 1 if state.checkpoints else 1
    for number, each in enumerate(new, first):
        state.checkpoints.append(replace(each, number=number))
    state.checkpoints = state.checkpoints[-CHECKPOINTS_KEPT:]
    since = [each.number for each in state.checkpoints if each.at == moved.new_since]
    state.new_since = since[0] if since else state.new_since


def _below(inside: str) -> Callable[[str], bool]:
    return (lambda path: path.startswith(f"{inside}/")) if inside else (lambda _: True)


def _blobs(moved: Moved) -> set[str]:
    snapshots = [each for point in moved.checkpoints for each in (point.disk, point.base, point.end) if each]
    entries = [*entries_of(moved.decided, moved.saves), *moved.waiting.values()]
    entries += [entry for each in snapshots for entry in each.beside.values()]
    entries += [entry for found in moved.recent.values() for each in found for entry in (each.before, each.base)]
    files = [*moved.known.values(), *(known for each in moved.decided for known in each.known.values())]
    known = {blob for each in files if each.lines for blob in each.lines[:2] if blob}
    return known | {entry.blob for entry in entries if entry}
