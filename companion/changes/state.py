"""What a round remembers, and its form on the disk.

The scans of the last minute are remembered file by file, as the word of a save may come after a scan has seen it.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from itertools import groupby
from math import inf
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from ..platforms.files import write_private
from ..snapshots.entries import Entry, Modes, TreeSnapshot
from ..snapshots.objects import EMPTY_TREE
from ..snapshots.project import Head
from .places import ROUND

_VERSION = 2
EMPTY = TreeSnapshot(EMPTY_TREE, {})
LISTED = 60.0
"""Seconds for which each save is known by itself: what a list has shown before one may be decided still."""
_TICK = 1e-6
"""Seconds between two moments, at least: a decision is known by its own."""

_SCANS = 2
"""Scans after which the word of a save has come."""
CLOCK = 20_000_000
"""Nanoseconds by which the time of a file may be too early: the system takes it from a clock that ticks."""
KEPT = 60.0
"""Seconds for which the word of a save is waited for."""
NOTHING_RENAMED: Mapping[str, str] = {}
GOES = "goes when the turn ends"
"""What is said of a change that is undone then."""
Lines = tuple[int, int] | None
"""The first and the last line of a file, if only some lines of a change are meant."""
Chosen = tuple[str, Lines]
"""A change of a file: its key, and the lines of it that are meant."""
Decision = Literal["keep", "undo"]
"""What the person decides of what is written."""


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


def origins_in(known: Mapping[str, FileState]) -> dict[str, str]:
    """The old paths of the files that agents have renamed, by the new ones."""
    return {path: each.origin for path, each in known.items() if each.origin}


def renamed_in(known: Mapping[str, FileState]) -> dict[str, str]:
    """The same, but for those that are parted: their paths in the baseline."""
    return {path: each.origin for path, each in known.items() if each.origin and not each.is_parted}


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
    command: float = 0.0
    """When the person has given the command that made this and others; 0 for a decision of its own."""
    going: dict[str, Going | None] = field(default_factory=dict[str, "Going | None"])
    """For an undo that waits for the end of a turn: what was to be undone then before it, by path."""

    @property
    def stamp(self) -> float:
        """What it has in common with all that the same command has done."""
        return self.command or self.at

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
    """Whose lines the files had, and which of them an agent had created or renamed, as far as that was known."""


@dataclass(frozen=True, slots=True)
class Save:
    """A file as it was before the person saved it, and after."""

    path: str
    before: Entry | None
    after: Entry | None
    at: float
    """Its moment: see `RoundState.moment`."""
    renamed: Mapping[str, str] = field(default_factory=dict[str, str])
    """If an agent had renamed it, its path in the baseline, by its own; the same of those that were here before.

    Those have stayed where they were from then on.
    """


def entries_of(decided: Iterable[Operation], saves: Iterable[Save]) -> list[Entry | None]:
    """The entries without which no decision is taken back and no checkpoint has what was saved since."""
    pairs = [pair for each in decided for pairs in (each.disk, each.base) for pair in pairs.values()]
    return [entry for pair in (*pairs, *((each.before, each.after) for each in saves)) for entry in pair]


@dataclass(frozen=True, slots=True)
class Sighting:
    """A file that a scan has found to be changed, and what was known of it before that scan."""

    before: Entry | None
    base: Entry | None
    """In the baseline."""
    lines: KnownLines | None
    agents: tuple[str, ...]
    """Who had changed it."""
    written: int
    """When it was written, in nanoseconds of Unix time."""
    who: tuple[str, ...] = ()
    """Who may have written it then."""
    named: str = ""
    """The agent that has said that it writes the file."""
    at: float = field(default_factory=time.monotonic)
    is_unsure: bool = False
    """Whether the person may have written it."""


@dataclass
class RecentScans:
    """The sightings of the last minute, by path, the oldest first."""

    found: dict[str, list[Sighting]] = field(default_factory=dict[str, list[Sighting]])

    def go_on(self) -> None:
        """Go on in another run of the editor: what was told in the one before is noted soon."""
        last = max((each.at for files in self.found.values() for each in files), default=0.0)
        since = time.monotonic() - last
        self.found = {path: [replace(each, at=each.at + since) for each in files] for path, files in self.found.items()}

    def last_scans(self) -> RecentScans:
        """Those of the last scans, for the next run of the editor."""
        last = sorted({each.at for found in self.found.values() for each in found})[-_SCANS:]
        kept = {path: [each for each in found if each.at in last] for path, found in self.found.items()}
        return RecentScans({path: found for path, found in kept.items() if found})

    def add(self, path: str, sighting: Sighting) -> None:
        """A scan has found a file to be changed."""
        self.found.setdefault(path, []).append(sighting)

    def of(self, path: str) -> Sequence[Sighting]:
        """The sightings of a file since its last save."""
        return self.found.get(path, ())

    def forget(self, path: str) -> None:
        """The word of a save has come."""
        self.found.pop(path, None)

    def forget_old(self) -> None:
        """Let go what nobody asks for any more."""
        limit = time.monotonic() - KEPT
        kept = {path: [each for each in found if each.at >= limit] for path, found in self.found.items()}
        self.found = {path: found for path, found in kept.items() if found}

    def before(self, since: int) -> dict[str, Sighting]:
        """The files that were written after a time in nanoseconds: the first scan that has found that."""
        late = {path: [each for each in found if each.written >= since - CLOCK] for path, found in self.found.items()}
        return {path: found[0] for path, found in late.items() if found}

    def entries(self) -> list[Entry | None]:
        """What the files were before: a word of a save is hardly later than two scans."""
        return [entry for found in self.found.values() for each in found[-2:] for entry in (each.before, each.base)]

    def copy(self) -> RecentScans:
        """The same, whatever is found or forgotten later."""
        return RecentScans({path: [*found] for path, found in self.found.items()})


@dataclass(slots=True)
class RoundState:
    """The state of a round. All paths are relative to the root, with slashes."""

    root: str
    began: float = 0.0
    """Unix time; 0 if there is no baseline."""
    base: TreeSnapshot = EMPTY
    now: TreeSnapshot = EMPTY
    """The last scan."""
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
    """Who was at work at the last scan: what is written until the next instance scans is theirs."""
    modes: Modes = field(default_factory=Modes)
    new_since: int = 0
    """The number of the checkpoint after which changes are marked as new; 0 for none."""
    unsent_notes: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """By path: lines for the agents whose accepted proposals were taken back, until they are told."""
    recent: RecentScans = field(default_factory=RecentScans)
    """On the disk it has those of the last scans: the word of a save may come after the end of the editor."""

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
        """The files that agents have renamed: see `renamed_in`."""
        return renamed_in(self.known)

    def next_number(self) -> int:
        """The number of the next checkpoint."""
        return max((each.number for each in self.checkpoints), default=0) + 1

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

    def add_saves(
        self, found: Iterable[tuple[str, Entry | None, Entry | None]], renamed: Mapping[str, str] = NOTHING_RENAMED
    ) -> None:
        """The person has saved files: the path, what it was before and what it is. For `renamed` see `Save`.

        What nobody can ask for any more is forgotten.
        """
        at, marks = self.moment(), self._marks()
        since = time.time() - LISTED
        old = (each for each in self.saves if each.at < since)
        asked = groupby(old, lambda each: bisect_left(marks, each.at))
        kept = [each for between, group in asked if between for each in _merged(group)]
        recent = (each for each in self.saves if each.at >= since)
        self.saves = [*kept, *recent, *(Save(*each, at, renamed) for each in found)]

    def restorer(self) -> Callable[[], None]:
        """Returns what makes the state as it is now: whoever has it, or an operation, has the same one still then."""
        before = replace(
            self, known={**self.known}, saves=[*self.saves], decided=[*self.decided], recent=self.recent.copy()
        )
        copies = [(self, before), *((each, replace(each)) for each in self.decided)]

        def put_back() -> None:
            for found, copy in copies:
                for each in fields(found):
                    setattr(found, each.name, getattr(copy, each.name))

        return put_back

    def write(self, store: str) -> None:
        """Write it into the folder of a store, atomically."""
        known = {"version": _VERSION} | {name: getattr(self, name) for name in _kinds(RoundState)}
        known["recent"] = self.recent.last_scans()
        write_private(os.path.join(store, ROUND), json.dumps(known, default=plain).encode())


def read_state(store: str, root: str) -> RoundState | None:
    """The state in the folder of a store; None if there is none. Raises ValueError if it is damaged, OSError."""
    try:
        with open(os.path.join(store, ROUND), encoding="utf-8") as file:
            known: dict[str, Any] = json.load(file)
        if known["version"] != _VERSION:
            raise ValueError(f"it has the form {known['version']}, and this is {_VERSION}")
        known["root"] = root
        kinds = _kinds(RoundState).items()
        state = RoundState(**{name: made(kind, known[name]) for name, kind in kinds if name in known})
    except FileNotFoundError:
        return None
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError(str(error)) from error
    state.recent.go_on()
    # Windows have other numbers by now.
    state.going = {path: each._replace(window=0) for path, each in state.going.items()}
    for operation in state.decided:
        operation.window = 0
        operation.going = {path: each and each._replace(window=0) for path, each in operation.going.items()}
    return state


def plain(value: Any) -> Any:
    """What JSON has no form for, as something that it has one for: what has fields as a list of them."""
    if isinstance(value, TreeSnapshot):
        return value.tree if value.is_made else "", value.beside
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return [getattr(value, name) for name in _kinds(value.__class__)]


def made(kind: Any, value: Any) -> Any:
    """What was something of a kind before JSON had it. Raises ValueError or TypeError if that is damaged."""
    form, of = _form(kind)
    found = value
    if type(None) in of:
        found = _made_or_none(of[0], value)
    elif form in (dict, Mapping):
        found = {key: made(of[1], each) for key, each in value.items()}
    elif form in (list, Sequence):
        found = [made(of[0], each) for each in value]
    elif of[1:] == (...,):
        found = tuple(made(of[0], each) for each in value)
    elif form is tuple:
        found = tuple(made(one, each) for one, each in zip(of, value, strict=True))
    elif kind is TreeSnapshot:
        found = TreeSnapshot(made(str, value[0]), made(dict[str, Entry], value[1]))
    elif kinds := _kinds(kind):
        found = kind(*(made(one, each) for one, each in zip(kinds.values(), value, strict=True)))
    elif kind is bytes:
        found = made(str, value).encode("latin-1")
    elif kind in (str, int, float, bool) and not isinstance(value, kind):
        raise TypeError(f"{value!r} is not of the kind {kind.__name__}")
    return found


@cache
def _form(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    """Such as `dict`, with `str` and `int`."""
    return get_origin(kind), get_args(kind)


def _made_or_none(kind: Any, value: Any) -> Any:
    if kind is KnownLines:
        with contextlib.suppress(TypeError, ValueError):  # without that, a file is compared with its baseline
            return made(kind, value)
        return None
    return None if value is None else made(kind, value)


@cache
def _kinds(kind: Any) -> dict[str, Any]:
    """Of what has fields: the kind of each."""
    if is_dataclass(kind):
        return {each.name: get_type_hints(kind)[each.name] for each in fields(kind) if each.init}
    return get_type_hints(kind) if hasattr(kind, "_fields") else {}  # a named tuple


def _merged(found: Iterable[Save]) -> list[Save]:
    """Some saves with one for all of a file's between which nobody else has written it."""
    made: list[Save] = []
    last: dict[str, int] = {}
    for each in found:
        number = last.get(each.path)
        known = NOTHING_RENAMED if number is None else made[number].renamed
        is_alike = each.renamed in ({}, known) and (each.before or not known)
        if number is None or made[number].after != each.before or not is_alike:
            last[each.path] = len(made)
            made.append(each)
        else:
            # A file that the person has deleted and made anew is what they have made.
            before = made[number].before if each.before else None
            made[number] = Save(each.path, before, each.after, each.at, known)
    return made
