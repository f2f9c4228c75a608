"""What a round remembers, and its form on the disk."""

from __future__ import annotations

import contextlib
import json
import os
import time
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field, replace
from itertools import groupby
from math import inf
from typing import Any, NamedTuple

from ..platforms.files import write_private
from ..snapshots.entries import Entry, TreeSnapshot
from ..snapshots.modes import Modes
from ..snapshots.objects import EMPTY_TREE
from ..snapshots.project import Head

_FILE = "round.json"
_VERSION = 2
_MORE = ("modes", "accepted", "is_edited")
"""What an operation remembers by name."""
_MODES = ("modes", "usual_modes", "left_modes")
EMPTY = TreeSnapshot(EMPTY_TREE, {})
LISTED = 60.0
"""Seconds for which each save is known by itself: what a list has shown before one may be decided still."""
_TICK = 1e-6
"""Seconds between two moments, at least: a decision is known by its own."""

GOES = "goes when the turn ends"
"""What is said of a change that is undone then."""
Lines = tuple[int, int] | None
"""The first and the last line of a file, if only some lines of a change are meant."""
Chosen = tuple[str, Lines]
"""A change of a file: its key, and the lines of it that are meant."""


class Going(NamedTuple):
    """What of a file is undone when the turn ends that runs in its folder."""

    changes: tuple[Chosen, ...] = ()
    """None for the whole file."""
    window: int = 0
    """The window in which that was decided; 0 if that was before a restart."""

    def without(self, found: Sequence[Chosen]) -> Going | None:
        """What else is undone then; None if nothing is. Of a whole file that is what waits of it by then."""
        if found and not self.changes:
            return self
        return self.only([each for each in self.changes if each not in found] if found else [])

    def only(self, found: Sequence[Chosen]) -> Going | None:
        """The same with these changes; None if there are none."""
        return self._replace(changes=tuple(found)) if found else None


class KnownLines(NamedTuple):
    """Whose lines a file has that waits: those of a weave, if its contents are still these."""

    before: str
    """The id of the baseline's content; empty without one."""
    after: str
    """The id of the file's content."""
    ops: str


@dataclass(frozen=True, slots=True)
class FileState:
    """What is known of a file that waits, besides what its baseline and the disk have."""

    agents: tuple[str, ...] = ()
    """Who was at work when it changed; empty if nobody was."""
    lines: KnownLines | None = None
    """Whose lines they are, where that is more than how the file differs from its baseline."""
    is_created: bool = False
    """Whether an agent has created it, and its baseline has nothing but what the person has added."""
    origin: str = ""
    """Of a file that an agent has renamed: its path in the baseline."""
    is_parted: bool = False
    """Whether it is listed by itself though it was renamed: an agent has put another file at its old path."""


_NOTHING = FileState()


@dataclass(slots=True)
class Operation:
    """What a decision of the person has done on the disk and to the baseline: (entry before, after) for each path."""

    disk: dict[str, tuple[Entry | None, Entry | None]]
    at: float = 0.0
    """Its moment: see `RoundState.moment`."""
    base: dict[str, tuple[Entry | None, Entry | None]] = field(
        default_factory=dict[str, tuple[Entry | None, Entry | None]]
    )
    notes: list[str] = field(default_factory=list[str])
    """A line for each change that was undone, for its agent; empty once that was told."""
    known: dict[str, FileState] = field(default_factory=dict[str, FileState])
    """What was known of them before."""
    origins: dict[str, Entry | None] = field(default_factory=dict[str, "Entry | None"])
    """What the baseline had at the old paths of those that were renamed."""
    modes: dict[str, int] = field(default_factory=dict[str, int])
    """The permissions in the baseline before, as far as they are others now."""
    accepted: str = ""
    """For a proposal that the person has accepted: its agent."""
    is_edited: bool = False
    """Whether they had edited that."""
    window: int = 0
    """The window in which it was decided; 0 if that was before a restart."""
    going: dict[str, Going | None] = field(default_factory=dict[str, "Going | None"])
    """For an undo that waits for the end of a turn: what was to be undone then before it, by path."""

    @property
    def files(self) -> set[str]:
        """The files that it has changed, or their baselines."""
        return {*self.disk, *self.base}

    @property
    def paths(self) -> set[str]:
        """The files that it is about."""
        return {*self.files, *self.going}


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The folder and its baseline when a prompt was sent."""

    number: int
    at: float
    """Its moment: see `RoundState.moment`."""
    agent: str
    words: str
    """The prompt's first words."""
    disk: TreeSnapshot
    base: TreeSnapshot
    turn: str = ""
    """The key of the chat's turn that began here."""
    end: TreeSnapshot | None = None
    """The folder when that turn ended."""
    end_at: float = 0.0
    """The moment at which it had."""
    known: Mapping[str, FileState] = field(default_factory=dict[str, FileState])
    """Whose lines the files had, and which of them an agent had created, as far as that was known."""


@dataclass(frozen=True, slots=True)
class Save:
    """A file as it was before the person saved it, and after."""

    path: str
    before: Entry | None
    after: Entry | None
    at: float
    """Its moment: see `RoundState.moment`."""


@dataclass(slots=True)
class RoundState:
    """The state of a round. All paths are relative to the root, with slashes."""

    root: str
    began: float = 0.0
    """Unix time; 0 if there is no baseline."""
    base: TreeSnapshot = EMPTY
    now: TreeSnapshot = EMPTY
    """The last look."""
    rules: bytes = b""
    """The ignore rules when it began."""
    nested: list[str] = field(default_factory=list[str])
    """The nested repositories, which have rounds of their own."""
    empty: list[str] = field(default_factory=list[str])
    """The folders that were empty before an agent wrote there, with a slash at the end."""
    head: Head = field(default_factory=Head)
    known: dict[str, FileState] = field(default_factory=dict[str, FileState])
    """By path: what is known of the files that wait."""
    going: dict[str, Going] = field(default_factory=dict[str, Going])
    """By path: what is undone when the turn ends."""
    saves: list[Save] = field(default_factory=list[Save])
    checkpoints: list[Checkpoint] = field(default_factory=list[Checkpoint])
    decided: list[Operation] = field(default_factory=list[Operation])
    """What the person has kept, undone, restored and accepted, and can take back: the latest last."""
    working: list[str] = field(default_factory=list[str])
    """Who was at work at the last look: what is written until the next instance looks is theirs."""
    modes: Modes = field(default_factory=Modes)
    new_since: int = 0
    """The number of the checkpoint after which changes are marked as new; 0 for none."""

    def of(self, path: str) -> FileState:
        """What is known of a file."""
        return self.known.get(path, _NOTHING)

    def know(self, path: str, **changes: Any) -> None:
        """Have something else known of a file."""
        self.known[path] = replace(self.of(path), **changes)
        if self.known[path] == _NOTHING:
            del self.known[path]

    def origin_of(self, path: str) -> str:
        """The path at which the baseline has a file."""
        known = self.of(path)
        return path if known.is_parted or not known.origin else known.origin

    def renamed(self) -> dict[str, str]:
        """The old paths of the files that agents have renamed, by the new ones, but for those that are parted."""
        return {path: each.origin for path, each in self.known.items() if each.origin and not each.is_parted}

    def lines(self) -> dict[str, KnownLines]:
        """Whose lines the files have of which that is known."""
        return {path: each.lines for path, each in self.known.items() if each.lines}

    def created(self) -> set[str]:
        """The files that agents have created and the person has changed."""
        return {path for path, each in self.known.items() if each.is_created}

    def moment(self) -> float:
        """The Unix time of what is noted now: after all that was noted before it, also if the clock was put back."""
        last = max((*self._marks(), *(each.at for each in self.saves[-1:])), default=0.0)
        return max(time.time(), last + _TICK)

    def _marks(self) -> list[float]:
        """The moments since which, or until which, somebody may ask for the person's saves."""
        points = [at for each in self.checkpoints for at in (each.at, each.end_at) if at]
        return sorted([*points, *(each.at for each in self.decided)])

    def saves_between(self, first: float, last: float = inf) -> list[Save]:
        """What the person has saved from one moment to another, in as few saves as possible."""
        return _merged(each for each in self.saves if first < each.at <= last)

    def add_saves(self, found: Iterable[tuple[str, Entry | None, Entry | None]]) -> None:
        """The person has saved files: the path, what it was before and what it is.

        What nobody can ask for any more is forgotten.
        """
        at, marks = self.moment(), self._marks()
        since = time.time() - LISTED
        old = (each for each in self.saves if each.at < since)
        asked = groupby(old, lambda each: bisect_left(marks, each.at))
        kept = [each for between, group in asked if between for each in _merged(group)]
        self.saves = [*kept, *(each for each in self.saves if each.at >= since), *(Save(*each, at) for each in found)]

    def write(self, store: str) -> None:
        """Write it into the folder of a store, atomically."""
        text = json.dumps(self._plain())
        write_private(os.path.join(store, _FILE), text.encode())

    def _plain(self) -> dict[str, Any]:
        return {
            "version": _VERSION,
            "root": self.root,
            "began": self.began,
            "base": _snapshot_to(self.base),
            "now": _snapshot_to(self.now),
            "rules": self.rules.decode("latin-1"),
            "nested": self.nested,
            "empty": self.empty,
            "head": asdict(self.head),
            "known": _known_to(self.known),
            "going": _going_to(self.going),
            "saves": [[each.path, entry_to(each.before), entry_to(each.after), each.at] for each in self.saves],
            "checkpoints": [_checkpoint_to(each) for each in self.checkpoints],
            "undone": [_operation_to(each) for each in self.decided],
            "working": self.working,
            "modes": self.modes.own,
            "usual_modes": self.modes.usual,
            "left_modes": self.modes.left,
            "new_since": self.new_since,
        }


def read_state(store: str, root: str) -> RoundState | None:
    """The state in the folder of a store; None if there is none. Raises ValueError if it is damaged, OSError."""
    try:
        with open(os.path.join(store, _FILE), encoding="utf-8") as file:
            plain: dict[str, Any] = json.load(file)
        if plain["version"] != _VERSION:
            raise ValueError(f"it has the form {plain['version']}, and this is {_VERSION}")
        return _state_from(plain, root)
    except FileNotFoundError:
        return None
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(str(error)) from error


def _merged(found: Iterable[Save]) -> list[Save]:
    """Some saves with one for all of a file's between which nobody else has written it."""
    made: list[Save] = []
    last: dict[str, int] = {}
    for each in found:
        number = last.get(each.path)
        if number is None or made[number].after != each.before:
            last[each.path] = len(made)
            made.append(each)
        else:
            # A file that the person has deleted and made anew is what they have made.
            before = made[number].before if each.before else None
            made[number] = Save(each.path, before, each.after, each.at)
    return made


def _state_from(plain: Mapping[str, Any], root: str) -> RoundState:
    return RoundState(
        root,
        float(plain["began"]),
        _snapshot_from(plain["base"]),
        _snapshot_from(plain["now"]),
        plain["rules"].encode("latin-1"),
        list(plain["nested"]),
        list(plain["empty"]),
        Head(**plain["head"]),
        _known_from(plain["known"]),
        {path: going for path, going in _going_from(plain["going"]).items() if going},
        [Save(path, entry_from(before), entry_from(after), float(at)) for path, before, after, at in plain["saves"]],
        [_checkpoint_from(each) for each in plain["checkpoints"]],
        [_operation_from(each) for each in plain["undone"]],
        list(plain["working"]),
        Modes(*({path: int(mode) for path, mode in plain[name].items()} for name in _MODES)),
        int(plain.get("new_since", 0)),
    )


def _operation_to(operation: Operation) -> list[Any]:
    disk, base = _pairs_to(operation.disk), _pairs_to(operation.base)
    more = {name: getattr(operation, name) for name in _MORE} | {"going": _going_to(operation.going)}
    more["origins"] = {path: entry_to(entry) for path, entry in operation.origins.items()}
    return [disk, operation.at, base, operation.notes, _known_to(operation.known), more]


def _operation_from(value: Any) -> Operation:
    disk, at, base, notes, known, more = value
    origins = {path: entry_from(entry) for path, entry in more["origins"].items()}
    named, going = {name: more[name] for name in _MORE}, _going_from(more["going"])
    done = _pairs_from(disk), at, _pairs_from(base), list(notes), _known_from(known)
    return Operation(*done, **named, going=going, origins=origins)


def _known_to(known: Mapping[str, FileState]) -> dict[str, Any]:
    return {path: [*astuple(each)] for path, each in known.items()}


def _known_from(value: Mapping[str, Any]) -> dict[str, FileState]:
    return {
        path: FileState(tuple(agents), _lines_from(lines), is_created, origin, is_parted)
        for path, (agents, lines, is_created, origin, is_parted) in value.items()
    }


def _lines_from(value: Any) -> KnownLines | None:
    """What can be read of it: without that, a file is compared with its baseline."""
    with contextlib.suppress(TypeError, ValueError):
        before, after, ops = value
        return KnownLines(str(before), str(after), str(ops))
    return None


def _checkpoint_to(point: Checkpoint) -> list[Any]:
    disk, base = _snapshot_to(point.disk), _snapshot_to(point.base)
    end = _snapshot_to(point.end) if point.end else None
    known = [point.number, point.at, point.agent, point.words, disk, base]
    return [*known, point.turn, end, point.end_at, _known_to(point.known)]


def _checkpoint_from(value: Any) -> Checkpoint:
    number, at, agent, words, disk, base, turn, end, end_at, known = value
    before, ended = (_snapshot_from(disk), _snapshot_from(base)), _snapshot_from(end) if end else None
    return Checkpoint(number, at, agent, words, *before, turn, ended, end_at, _known_from(known))


def _going_to(going: Mapping[str, Going | None]) -> dict[str, Any]:
    return {path: each and each.changes for path, each in going.items()}


def _going_from(value: Mapping[str, Any]) -> dict[str, Going | None]:
    return {path: None if each is None else Going(tuple(map(_chosen_from, each))) for path, each in value.items()}


def _chosen_from(value: Any) -> Chosen:
    key, lines = value
    return str(key), (int(lines[0]), int(lines[1])) if lines else None


def entry_to(entry: Entry | None) -> list[str] | None:
    """An entry as JSON."""
    return [entry.mode, entry.blob, entry.why] if entry else None


def entry_from(value: Any) -> Entry | None:
    """The entry of some JSON."""
    return Entry(*value) if value else None


def _snapshot_to(snapshot: TreeSnapshot) -> list[Any]:
    tree = snapshot.tree if snapshot.is_made else ""
    return [tree, {path: entry_to(entry) for path, entry in snapshot.beside.items()}]


def _snapshot_from(value: Any) -> TreeSnapshot:
    tree, beside = value
    return TreeSnapshot(str(tree), {path: Entry(*entry) for path, entry in beside.items()})


def _pairs_to(pairs: Mapping[str, tuple[Entry | None, Entry | None]]) -> dict[str, Any]:
    return {path: [entry_to(one), entry_to(other)] for path, (one, other) in pairs.items()}


def _pairs_from(value: Mapping[str, Any]) -> dict[str, tuple[Entry | None, Entry | None]]:
    return {path: (entry_from(one), entry_from(other)) for path, (one, other) in value.items()}
