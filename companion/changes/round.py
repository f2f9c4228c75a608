"""A round of one folder: what agents have written since a baseline and nobody has reviewed yet.

The baseline follows the person: what they save goes into it line by line, and so does what they keep. What remains
between the baseline and the disk is to be reviewed. Everything here blocks and runs on the folder's own worker thread,
one call at a time. What a call needs to survive the editor is in the store's `round.json` before the call returns.
"""

from __future__ import annotations

import contextlib
import os
import time
import weakref
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from typing import NamedTuple, TypeVar

from ..snapshots import project
from ..snapshots.copies import GROWTH
from ..snapshots.entries import Difference, Entry, TreeSnapshot
from ..snapshots.files import WriteRefusedError, blob_id
from ..snapshots.git import GitCrashedError
from ..snapshots.project import Head, Repository
from ..snapshots.store import DamagedError, Scan, Store
from .lines import (
    UNKNOWN,
    Hunks,
    Pieces,
    Step,
    Weave,
    by_key,
    differences,
    each_decided,
    followed,
    is_among,
    is_of_both,
)
from .rows import ChangeRow, Rows, is_comparable, is_text, known_lines
from .state import (
    EMPTY,
    Checkpoint,
    Chosen,
    FileState,
    Going,
    KnownLines,
    Operation,
    RecentScans,
    RoundState,
    Save,
    Sighting,
    entries_of,
    origins_in,
    read_state,
    renamed_in,
)

T = TypeVar("T")

FORMATTING = 5_000_000_000
"""Nanoseconds after a save in which a formatter may write the file: nobody knows then whose a change of it is."""
OPERATIONS_KEPT = 200
EMPTY_LINES: Mapping[str, KnownLines] = {}
MAX_ALIKE = 10_000
"""Pairs of files that are compared after a scan, to find those that were renamed and replaced."""
MAX_ALIKE_LINES = 1_000_000
"""Lines that are looked up for that: under a second."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Seen:
    """What a scan has found."""

    changed: tuple[str, ...] = ()
    """The paths that have changed since the scan before and are not the person's saves."""
    moved_by: str = ""
    """What has moved `HEAD` or the index, such as "checkout"; empty if nothing has."""
    by_git: tuple[str, ...] = ()
    """Those of the changed paths that came with that, and that no agent has named."""
    before: TreeSnapshot = EMPTY
    """The scan before."""
    after: TreeSnapshot = EMPTY
    """This scan."""
    base: TreeSnapshot = EMPTY
    """The baseline before it."""
    at: float = 0.0
    """Its moment: see `RoundState.moment`."""
    began: float = 0.0
    """When the round began."""
    known: Mapping[str, FileState] = field(default_factory=dict[str, FileState])
    """What was known of the files before it."""


class Since(NamedTuple):
    """The files of a checkpoint that the person has saved since, with that: by their path on its disk."""

    disk: dict[str, Entry | None]
    base: dict[str, Entry | None]
    """Those of its baseline, of a renamed file by its new path."""
    moved: dict[str, str]
    """What is elsewhere now than it was on its disk, because the person has saved another file there."""
    renamed: dict[str, str]
    """The renamed files that still are so."""


class Round:
    """The round of one folder. `excludes` gives the files with ignore rules of the person's own."""

    def __init__(self, store: Store, excludes: Callable[[], Sequence[str]]) -> None:
        self.store = store
        self.objects = store.objects
        self.root = store.root
        self.state = RoundState(store.root)
        self._excludes = excludes
        self.listed = Rows(store.objects)
        self.dropped = 0
        """How many of the oldest checkpoints were dropped because the store had too much in it."""
        self._bounded = (("", 0), 0)
        """For a baseline of which so many files are to be copied: the bytes that the store may have."""
        self.began_at = 0
        """When the baseline was taken from the disk, in nanoseconds of Unix time; 0 if another run did it."""
        self.saved_at: dict[str, int] = {}
        """When the person has saved a file last, in nanoseconds of Unix time."""
        self.named: Mapping[str, str] = {}
        """The agents that have named the files they write, by the files' paths, as `os.path.normcase` has them."""
        self.at_work: Mapping[str, int] = {}
        """Who is at work, and since when they may have written, in nanoseconds of Unix time."""
        self.deciding = 0
        """The window in which something is being decided."""
        self.command = 0.0
        """When the person has given the command for that, if it decides more than one thing; else 0."""
        self.renaming = ""
        """The file or the folder for which the person types another name in the side bar."""
        self.pinned: dict[int, str] = {}
        """The trees that are needed besides, by whoever needs one."""
        self.writing: Sequence[Entry | None] = ()
        """What is being written by a decision that isn't noted yet."""
        self._found: list[Seen] = []
        """What the scans have found that was not taken yet."""
        self._held: weakref.WeakSet[Seen] = weakref.WeakSet()
        """What they have found that somebody still asks about, such as a question about git without an answer."""
        self._is_begun = False
        """Whether the round has begun, and its trees are not noted yet."""
        self.scanned_at = 0
        """When the last scan began, in nanoseconds of Unix time."""

    def open(self) -> bool:
        """Go on with the round in the store. Returns False if there is none. Raises DamagedError."""
        try:
            found = read_state(self.store.path, self.root)
        except ValueError as error:
            raise DamagedError(f"the round can't be read: {error}") from error
        last = self.store.open(found.now if found else None)
        if found is None:
            return False
        if not found.now.is_made:  # nor is any other one: they are all as the round began
            found.base = found.now = last
            found.checkpoints = [
                replace(each, disk=last, base=last, end=each.end and last) for each in found.checkpoints
            ]
        self.store.resume(found.base, found.modes)
        self.state = found
        return True

    @property
    def recent(self) -> RecentScans:
        """What the last scans have found."""
        return self.state.recent

    @property
    def is_open(self) -> bool:
        """Whether there is a baseline."""
        return self.state.began > 0

    def save(self) -> None:
        """Write the state down: what a command has done must survive the end of the editor."""
        self.state.modes = self.store.modes
        self.state.write(self.store.path)

    def begin(self, *, may_be_large: bool = False) -> list[str]:
        """Take what is on the disk as the baseline.

        Returns the files that were written while it was made: what was changed in them before counts as unchanged.
        Raises TooLargeError, GitError.
        """
        began_at = time.time_ns()
        began = self.store.begin(list(self._excludes()), may_be_large=may_be_large, since=began_at)
        now, head = began.snapshot, project.head(self.in_repository()[0])
        self._found.clear()  # it belongs to the round before, and so does this
        self.state = RoundState(self.root, time.time(), now, now, began.rules, began.nested, began.empty, head)
        self.state.working = list(self.at_work)
        self.save()
        self._is_begun, self.scanned_at, self.began_at = True, began_at, began_at
        return began.fresh

    def complete(self) -> None:
        """Note the trees of a round that has just begun, before anything else of it changes."""
        if self._is_begun and self.state.now.tree:
            self.save()
            self._is_begun = False
            self.prune()

    def in_repository(self) -> tuple[Repository | None, str]:
        """The repository that the folder is in, or is, and the folder's path in its work tree, empty if it is that."""
        top = project.top(self.root)
        inside = os.path.relpath(self.root, top or self.root).replace(os.sep, "/")
        return (project.repository(top) if top else None), "" if inside == "." else inside

    def take(self) -> list[Seen]:
        """What the scans since the last call have found, whoever has asked for them. Each is handed out once."""
        found, self._found = self._found, []
        return found

    def scan(self, own: Collection[str] = (), *, is_again: bool = False) -> Seen:
        """See what has changed since the last scan, by those who were at work then, and those who have come since.

        Whoever has come since has written nothing that was written before. What was written to the `own` paths is
        nobody's change. A git that a signal has ended is run again, unless this `is_again`.
        """
        try:
            with self.all_or_nothing():
                return self._scan(own)
        except GitCrashedError:
            if is_again:
                raise
        return self.scan(own, is_again=True)

    @contextlib.contextmanager
    def all_or_nothing(self) -> Generator[None]:
        """If what is done meanwhile can't be written down, all that is known is as before. Raises OSError."""
        state, scanned_at = self.state, self.scanned_at
        put_back = state.restorer()
        try:
            yield
        except OSError:  # the next scan finds it all again
            self.state = state
            put_back()
            self.scanned_at = scanned_at
            self.store.unlock()
            raise

    def decide(self, work: Callable[[], T]) -> T:
        """Have something that the person decides as a whole, or not at all. Raises OSError."""
        modes = self.store.modes
        before = {**modes.own}, {**modes.usual}, {**modes.left}
        try:
            with self.all_or_nothing():
                return work()
        except OSError:
            modes.own, modes.usual, modes.left = before
            raise

    def _scan(self, own: Collection[str]) -> Seen:
        self.complete()
        before, base, at_scan = self.state.now, self.state.base, self.state.moment()
        known_before = dict(self.state.known)
        scanned_at, self.scanned_at = self.scanned_at, time.time_ns()
        came, working = {**self.at_work}, list(self.at_work)
        if not scanned_at:  # those who were at work when the instance before this one scanned last
            came |= dict.fromkeys(self.state.working, 0)
        self._have_working(list(came))
        scanned = self._scan_store()
        self.note_empty(self.store.index.untracked.long_empty)
        self.state.now = scanned.snapshot
        if scanned.corrected:
            before = self.objects.with_entries(before, scanned.corrected)
            base = self.state.base = self.objects.with_entries(self.state.base, scanned.corrected)
        head, self.state.head = self.state.head, project.head(self.in_repository()[0])
        if before == self.state.now:
            self._have_working(working)
            if scanned.corrected:
                self._note_scan(scanned.corrected)
            return Seen((), "", (), before, before, base, at_scan, self.state.began)
        changed: list[str] = []
        self.recent.forget_old()
        found = self.objects.differences(before, self.state.now, renames=False)
        # A new file that the person has saved is no file that an agent has moved there.
        renamed = {old: new for old, new in self._renamed(before, found).items() if new not in own}
        sources = {new: next(each.before for each in found if each.path == old) for old, new in renamed.items()}
        by_person = self._rename(renamed, sources)
        in_base = self.objects.entries(self.state.base, [each.path for each in found])
        for each in found:
            if each.path in by_person or (each.after is None and renamed.get(each.path) in by_person):
                continue
            if each.path not in own:
                changed.append(each.path)
            agent, at = (
                self.named.get(os.path.normcase(each.path), ""),
                scanned.written.get(each.path) or self.store.written_at(each.path),
            )
            known = self.state.of(each.path)
            who = (agent,) if agent else self._writers(came, each.path, max(scanned_at, at))
            self.recent.add(
                each.path,
                Sighting(each.before, in_base.get(each.path), known.lines, known.agents, at, who, agent, scanned.at),
            )
            sides = None if each.path in renamed else sources.get(each.path, each.before), each.after
            self.written(each.path, *sides, who, max(scanned_at, at), is_named=bool(agent))
            if each.after == in_base.get(each.path) and not self.state.of(each.path).origin:
                self.state.know(each.path, agents=())  # nothing of it waits
        self.part_renamed()
        self.state.working = working
        self._note_scan(scanned.corrected, (each.path for each in found if each.after is None))
        moved_by, by_git = self._moved(
            head, [path for path in changed if os.path.normcase(path) not in self.named], scanned_at
        )
        more = self.state.now, base, at_scan, self.state.began, known_before
        seen = Seen(tuple(changed), moved_by, tuple(by_git), before, *more)
        self._held.add(seen)
        if changed or by_person:
            self._found.append(seen)
        self.renaming = "" if by_person else self.renaming
        self.prune()
        return seen

    def _note_scan(self, corrected: Iterable[str], gone: Iterable[str] = ()) -> None:
        """Write down what a scan has found. Only then may the store forget what was wrong in the baseline."""
        self._forget_modes(gone)
        self.save()
        self.store.copies.corrected(corrected)

    def _have_working(self, names: Sequence[str]) -> None:
        """Note who may have written what the next scan finds, also one of another run of the editor."""
        if self.state.working != names:
            self.state.working = list(names)
            self.save()

    def _writers(self, came: Mapping[str, int], path: str, at: int) -> tuple[str, ...]:
        """Those who may have changed a file at a time, or later than its own time says, as a moved or deleted one."""
        if any(since > at for since in came.values()):
            at = max(at, self.store.changed_at(path))
        return tuple(name for name, since in came.items() if since <= at)

    def note_empty(self, folders: Collection[str]) -> None:
        """These folders have no file in them, and no undo of what an agent writes there removes them."""
        if not {*folders} <= {*self.state.empty}:
            self.state.empty = sorted({*self.state.empty, *folders})
            self.save()

    def _scan_store(self) -> Scan:
        """What a scan finds. It looks again if the person gave a file its new name meanwhile.

        What is gone and what is new are looked for at the same time: it may have seen neither name, or both.
        """
        scanned = self.store.scan(self.state.rules)
        if not self.renaming or os.path.lexists(os.path.join(self.root, self.renaming)):
            return scanned
        again = self.store.scan(self.state.rules)
        return replace(again, written={**scanned.written, **again.written})

    def _renamed(self, before: TreeSnapshot, found: Sequence[Difference]) -> dict[str, str]:
        """The files that were renamed since a scan, among those that differ: the new path of each old one.

        At that, another file may be by now.
        """
        come = [each for each in found if not each.before]
        if not come or len(come) == len(found):
            return {}
        alike = () if all(each.after for each in found) else self.objects.differences(before, self.state.now)
        renamed = {each.renamed_from: each.path for each in alike if each.renamed_from}
        come = [each for each in come if each.path not in renamed.values()]
        return renamed | self._replaced([each for each in found if each.before and each.after], come)

    def _replaced(self, changed: Sequence[Difference], come: Sequence[Difference]) -> dict[str, str]:
        """Those of some files that have the text of another one, whose new path is that of a file that has come.

        Git finds none of them. A copied file has its text still, whatever was changed in it.
        """
        if not changed or len(changed) * len(come) > MAX_ALIKE:
            return {}
        entries = {entry for each in (*changed, *come) for entry in (each.before, each.after) if entry}
        data = self.objects.read(entry.blob for entry in entries if is_text(entry))
        counted = {blob: Counter(Pieces(text).lines) for blob, text in data.items() if text}
        lines = {entry: counted[entry.blob] for entry in entries if entry.blob in counted}
        replaced = [old for old in changed if not _are_alike(lines, old.before, old.after)]
        if len(replaced) * sum(len(lines[new.after]) for new in come if new.after in lines) > MAX_ALIKE_LINES:
            return {}
        found: dict[str, str] = {}
        for old in replaced:
            like = [new for new in come if _are_alike(lines, old.before, new.after)]
            if new := next((each for each in like if each.path not in found.values()), None):
                found[old.path] = new.path
        return found

    def _rename(self, renamed: Mapping[str, str], before: Mapping[str, Entry | None]) -> set[str]:
        """Files have other names: what is known of them is of these by now. Returns those that the person has given.

        Then the baseline has the other name, too. So it has if an agent has created the file, whose name is its own.
        `before` has what the files were, by their new paths.
        """
        if not renamed:
            return set()
        state = self.state
        by_person = {new for old, new in renamed.items() if self._is_persons(old, new)}
        now = self.objects.entries(state.now, [*renamed.values()])
        for old, new in renamed.items():
            if new in by_person:
                origin = state.origin_of(old)
                state.add_saves([(old, now.get(new), None)], {old: origin} if origin != old else {})
                state.add_saves([(new, None, now.get(new))], self.apart([new]))
        self._leave(by_person)
        places = {old: state.origin_of(old) for old in renamed}
        base = self.objects.entries(state.base, [*places.values(), *renamed.values()])
        left = {each.origin for each in state.known.values() if each.is_parted}
        known = state.known
        state.known = _moved(known, renamed)
        state.going = _moved(state.going, renamed)
        for operation in state.decided:
            operation.going = _moved(operation.going, renamed)
        entries: dict[str, Entry | None] = {}
        for old, new in renamed.items():
            place, is_created = places[old], old in known and known[old].is_created
            ours = base.get(place)
            if place == old and ours and (new in by_person or (is_created and new not in base)):
                entries = {old: None} | entries | {new: ours}
            elif ours and not state.of(new).is_parted:
                state.know(new, origin="" if place == new or old in left else place)
        if entries:
            state.base = self.objects.with_entries(state.base, entries)
            self._keep_modes(entries)
        base = self.objects.entries(state.base, [state.origin_of(new) for new in renamed.values()])
        for new, source in before.items():
            self._reline(new, base.get(state.origin_of(new)), source)
        return by_person

    def _is_persons(self, old: str, new: str) -> bool:
        """Whether a file has the name now that the person was typing for it in the side bar, or for a folder of it."""
        folder, rest = self.renaming.rpartition("/")[0], old.removeprefix(self.renaming)
        is_there = self.renaming and f"{old}/".startswith(f"{self.renaming}/") and new.endswith(rest)
        return bool(is_there and new.removesuffix(rest).rpartition("/")[0] == folder)

    def part_renamed(self) -> None:
        """A renamed file has no baseline while another file is at its old path, or was where it is now.

        Once that isn't so any more, it is a renamed one again. What is known of its lines stays so.
        """
        state = self.state
        moved = origins_in(state.known)
        if not moved:
            return
        now = self.objects.entries(state.now, [*moved, *moved.values()])
        base = self.objects.entries(state.base, [*moved, *moved.values()])
        for new, old in moved.items():
            is_apart = old in now or new in base or old not in base
            if is_apart and new not in now:  # whatever comes there later is another file
                state.know(new, origin="", is_parted=False)
            elif is_apart != state.of(new).is_parted and (is_apart or old not in state.renamed().values()):
                state.know(new, is_parted=is_apart)
                self._reline(new, base.get(state.origin_of(new)), now.get(new))

    def _reline(self, path: str, ours: Entry | None, disk: Entry | None, *, is_second: bool = False) -> None:
        """What is known of the lines of a file that was renamed stays so with another baseline.

        With `is_second` it had that of another file before, in which only what the person had saved was its own.
        """
        known = self.state.of(path).lines
        if known and disk and known[:2] != ((blob := ours.blob if ours else ""), disk.blob):
            weave = self._lines(path, Entry("", known.before) if known.before else None, disk)
            if weave and known.before != blob:
                plain = self.weave(ours, disk)
                weave = plain.marked(weave.alone() if is_second else weave) if plain else None
            lines = KnownLines(blob, disk.blob, weave.ops) if weave else _uncompared(known, ours, disk)
            self.state.know(path, lines=lines)

    def apart(self, paths: Collection[str]) -> dict[str, str]:
        """The files that an agent has renamed and whose old path is one of these, or that of another one of them."""
        moved = origins_in(self.state.known)
        found: dict[str, str] = {}
        while more := {
            new: old
            for new, old in moved.items()
            if (old in paths or old in found) and new not in paths and new not in found
        }:
            found |= more
        return found

    def _leave(self, paths: Collection[str]) -> dict[str, str]:
        """The baseline is going to have other files at these paths: one that was renamed has its own at its own path.

        Else an undo of it would delete it, and its text would be nowhere. Returns their old paths by the new ones.
        """
        state, left = self.state, self.apart(paths)
        for new, old in reversed(left.items()):  # those first whose old path another one of them has
            ours = self.objects.entry(state.base, old)
            if ours and self.objects.entry(state.now, new):
                is_second = self.objects.entry(state.base, new) is not None
                state.base = self.objects.with_entries(state.base, {new: ours})
                self._keep_modes([new])
                self._reline(new, ours, self.objects.entry(state.now, new), is_second=is_second)
            state.know(new, origin="", is_parted=False)
        return left

    def _forget_modes(self, gone: Iterable[str]) -> None:
        """Forget the permissions of deleted files, unless an undo or a checkpoint can bring them back."""
        left = self.store.modes.left
        paths = {path for path in gone if path in left}
        paths.difference_update(*(each.disk for each in self.state.decided))
        for disk in {each.disk.tree: each.disk for each in self.state.checkpoints}.values():
            if paths:
                paths -= self.objects.entries(disk, list(paths)).keys()
        for path in paths:
            del left[path]

    def _moved(self, before: Head, paths: Sequence[str], since: int) -> tuple[str, Sequence[str]]:
        """What has moved `HEAD` or the index since a scan, and which of some changed paths came with that."""
        after = self.state.head
        if before.stash != after.stash:
            return "stash", paths
        if before.commit != after.commit and after.moved_by != "commit":
            return after.moved_by or "git", paths
        found, below = self.in_repository()
        if not found or not paths or not since or before.index in ("", after.index) or before.commit != after.commit:
            return "", ()
        # What git has written is what the index says by now, and was in the repository before: `git add` makes it new.
        indexed = self.objects.indexed(found, below, paths)
        now = self.objects.entries(self.state.now, paths)
        same = [path for path in paths if indexed.get(path) == (now[path].blob if path in now else None)]
        return "the index", [
            path for path in same if path not in now or not project.is_made_since(found, now[path].blob, since)
        ]

    def waiting(self) -> list[Difference]:
        """What differs between the baseline and the last scan."""
        found = {each.path: each for each in self.objects.differences(self.state.base, self.state.now)}
        for new, old in self.state.renamed().items():
            gone, come = found.get(old), found.get(new)
            if gone and come and gone.after is None and come.before is None and come.after:
                found[new] = Difference(new, gone.before, come.after, old)
                del found[old]
        return list(found.values())

    def rows(self) -> list[ChangeRow]:
        """The files that wait, by path."""
        before = self.new_since()
        new = self.objects.differences(before, self.state.now) if before else ()
        return self.listed.of(self.waiting(), self.state, {path for each in new for path in each.paths})

    def new_since(self) -> TreeSnapshot | None:
        """The folder at the checkpoint after which changes are new, with the person's saves since; None without one."""
        number = self.state.new_since
        point = next((each for each in self.state.checkpoints if each.number == number), None) if number else None
        return self.with_saves(point) if point else None

    def new_changes(self, path: str, found: Hunks) -> Iterator[str]:
        """The keys of a file's changes that were made since the checkpoint after which changes are new."""
        before = self.new_since()
        sides = [self.objects.entry(each, path) if each else None for each in (before, self.state.now)]
        blobs = [entry.blob if entry and is_text(entry) else "" for entry in sides]
        data = self.objects.read(filter(None, blobs))
        is_known = sides[0] == sides[1] or all(blob in data for blob in blobs)  # else it has come, gone, or no text
        since = differences(*(Pieces(data.get(blob, b"")).lines for blob in blobs))
        for each in found.found:
            start, end = each.change.new_start, each.change.new_end
            if not is_known or any(start <= one.new_end and one.new_start <= end for one in since):
                yield each.key

    def with_saves(self, point: Checkpoint, last: float = inf) -> TreeSnapshot:
        """The folder at a checkpoint with the person's saves since, or with those until another moment."""
        entries = self.since(point, last).disk
        return self.objects.with_entries(point.disk, entries) if entries else point.disk

    def since(self, point: Checkpoint, last: float = inf, *, is_all: bool = False) -> Since:
        """What the person has saved since a checkpoint: with `is_all`, without what they changed of an agent's lines.

        Where they have saved a file over the path of one that an agent had renamed, that one stays under its new name.
        """
        saves, known = self.state.saves_between(point.at, last), origins_in(point.known)
        if not saves:
            return Since({}, {}, {}, known)
        there = {old: new for new, old in known.items()}
        paths = sorted({*known, *there}.union(*({each.path, *each.renamed, *each.renamed.values()} for each in saves)))
        disk = dict.fromkeys(paths) | self.objects.entries(point.disk, paths)
        base = dict.fromkeys(paths) | self.objects.entries(point.base, paths)
        for new, old in renamed_in(point.known).items():
            base[new], base[old] = base[old], None
        moved: dict[str, str] = {}
        for each in saves:
            left = [(new, old) for new, old in each.renamed.items() if new != each.path]
            for new, old in reversed(left):
                if old in there:
                    base[there[old]] = base[there[old]] or base[old]
                    del there[old]
                    continue
                if disk[old]:
                    if disk[new] and (at := self._moved_to(point, new)):
                        disk[at], base[at], moved[at] = disk[new], base[new], moved.get(new, new)
                    disk[new], moved[new] = disk[old], moved.get(old, old)
                base[new] = base[old]
            origin = each.renamed.get(each.path, each.path)
            names = (each.path, origin, there.get(origin)) if each.before and not left else ()
            path = next((name for name in names if name and disk[name]), each.path)
            for side in (disk, base):
                side[path] = self._with_save(side[path], each, is_all=is_all)
        return Since(disk, base, moved, {new: old for old, new in there.items()})

    def _moved_to(self, point: Checkpoint, path: str) -> str:
        """Where a file of a checkpoint is now, at whose path is another file; empty if it is nowhere."""
        found = self.objects.differences(point.disk, self.objects.with_entries(self.state.now, {path: None}))
        return next((each.path for each in found if each.renamed_from == path), "")

    def _with_save(self, ours: Entry | None, save: Save, *, is_all: bool) -> Entry | None:
        """A file of a snapshot with what the person has changed in a save, and nothing else."""
        before, after = save.before, save.after
        if ours in (before, after) or before is None or after is None:
            return after
        if ours is None and is_all:  # an agent has created it
            return None
        weave, data = self.weave(ours, before), self.data(after)
        if weave is None or data is None:
            return after
        merged = weave.saved(data).undone(is_all=is_all)
        made = merged.disk if merged else data
        return self._entry(made, ours, before, after) if made or ours else None

    def _entry(self, data: bytes, ours: Entry | None, before: Entry, after: Entry) -> Entry:
        mode = ours.mode if ours and before.mode == after.mode else after.mode
        return Entry(mode, self.objects.write(data))

    def contents(self, path: str) -> tuple[bytes, bytes, Hunks] | None:
        """The baseline's and the last scan's content of a file that waits, and its changes; None if nothing does."""
        found = self.find(path)
        return self.listed.contents_of([found], self.state).get(path) if found else None

    def contents_of(self, found: Sequence[Difference]) -> dict[str, tuple[bytes, bytes, Hunks]]:
        """Both contents of some files and their changes, by path; those are left out that can't be compared."""
        return self.listed.contents_of(found, self.state)

    def committed(self, path: str, *, in_index: bool) -> bytes | None:
        """A file as the person's own repository has it, in its index or in HEAD; None if it has none."""
        found, below = self.in_repository()
        if found is None:
            return None
        name = f"{below}/{path}" if below else path
        return self.objects.committed(found, project.head(found).commit, name, in_index=in_index)

    def find(self, path: str) -> Difference | None:
        """How a file differs from the baseline; None if it doesn't."""
        return next((each for each in self.waiting() if path in each.paths), None)

    def _change_rules(self, path: str, before: Entry | None, after: Entry | None) -> None:
        """The person has saved a file with ignore rules: they hold at once."""
        data = self.objects.read(entry.blob for entry in (before, after) if entry)
        old, new = (data.get(entry.blob, b"") if entry else b"" for entry in (before, after))
        made = project.replaced_rules(self.state.rules, path, old, new)
        if made != self.state.rules:
            self.complete()
            changed = self.store.change_rules(self.state.rules, made)
            self.state.rules = made
            self.state.base = self.objects.with_entries(self.state.base, changed)
            self.state.now = self.objects.with_entries(self.state.now, changed)

    def prune(self) -> None:
        """Free what nothing needs any more in the store, once that is worth the time, and if it can be freed.

        Over the bound of the store the oldest checkpoints go; `dropped` says how many.
        """
        with contextlib.suppress(OSError):  # whatever comes next tries it again
            self._prune()

    def _prune(self) -> None:
        store, state = self.store.copies, self.state
        entries = [*entries_of(state.decided, state.saves), *self.recent.entries(), *self.writing]
        entries += [entry for each in self._alive() for entry in each.beside.values()]
        blobs = {entry.blob for entry in entries if entry}  # a large file's, too, if it was undone
        known = [found.lines for each in state.decided for found in each.known.values() if found.lines]
        blobs |= {blob for lines in known for blob in lines[:2] if blob}
        size = store.prune({each.tree for each in self._alive()}, blobs)
        large = {entry.blob for entry in entries if entry and entry.why == "large"}
        if size > GROWTH and state.checkpoints and size > self._bound() + sum(self.objects.sizes(large).values()):
            count = (len(state.checkpoints) + 1) // 2
            state.checkpoints = state.checkpoints[count:]
            self.dropped += count
            self.save()
            store.prune({each.tree for each in self._alive()}, blobs, grown=0)

    def _bound(self) -> int:
        """Bytes that the store may have. To ask git for the size of each file takes longer than a scan."""
        copies, tree = self.store.copies, self.state.base.tree
        if self._bounded[0] != (tree, copies.left):
            self._bounded = (tree, copies.left), copies.bound(self.objects.blobs(tree).values())
        return self._bounded[1]

    def _alive(self) -> list[TreeSnapshot]:
        """The snapshots that something needs."""
        points = [found for each in self.state.checkpoints for found in (each.disk, each.base, each.end) if found]
        points += [found for each in self._held for found in (each.before, each.after, each.base)]
        points += [TreeSnapshot(tree, {}) for tree in self.pinned.values()]
        return [self.state.base, self.state.now, *points]

    def weave_of(self, found: Difference) -> Weave | None:
        """The lines of a file that waits; None if its contents aren't there to compare."""
        if not is_comparable(found):
            return None
        return self.weave(found.before, found.after, known_lines(found, self.state).ops)

    def weave(self, before: Entry | None, after: Entry | None, ops: str = "") -> Weave | None:
        """The lines of a baseline and a file; None if the store lacks one of them."""
        sides = [entry for entry in (before, after) if entry]
        data = self.objects.read(entry.blob for entry in sides) if all(map(is_text, sides)) else {}
        if any(entry.blob not in data for entry in sides):
            return None
        old, new = (data[entry.blob] if entry else None for entry in (before, after))
        return Weave.of(old, new, ops)

    def data(self, entry: Entry | None) -> bytes | None:
        """The bytes of a file; None if it has no text, or the store lacks it."""
        return self.objects.read([entry.blob]).get(entry.blob) if entry and is_text(entry) else None

    def _lines(self, path: str, ours: Entry | None, disk: Entry | None) -> Weave | None:
        """The lines of a file with a baseline and a content on the disk, by what is known of them."""
        known = self.state.of(path).lines
        if known is None or known.before != (ours.blob if ours else ""):
            return self.weave(ours, disk)
        if known.after == (disk.blob if disk else ""):
            return self.weave(ours, disk, known.ops)
        weave = self.weave(ours, Entry("", known.after) if known.after else None, known.ops)
        data = self.data(disk)
        return weave.written(data) if weave and (data is not None or disk is None) else None

    def written(
        self,
        path: str,
        before: Entry | None,
        after: Entry | None,
        agents: Iterable[str],
        at: int = 0,
        *,
        is_named: bool = False,
    ) -> None:
        """Somebody else than the person has written a file, at a time in nanoseconds of Unix time.

        Nobody knows that, without an agent that names the file, if a formatter may have been at work after a save.
        """
        origin = self.state.origin_of(path)
        known = self.state.of(path)
        known = replace(known, agents=tuple(dict.fromkeys((*known.agents, *agents))))
        for each in {path, origin} if after is None else {path}:
            self.state.know(each, agents=known.agents)
        is_doubtful = not is_named and after is not None and 0 < at <= self.saved_at.get(path, 0) + FORMATTING
        if known.lines is None and not is_doubtful:
            return
        ours = self.objects.entry(self.state.base, origin)
        weave = self._lines(path, ours, before)
        data = self.data(after)
        if weave is None:
            self.state.know(path, lines=_uncompared(known.lines, ours, after))
            return
        self._note(path, origin, weave.written(data, is_doubtful=is_doubtful), ours, after, before or after)

    def _note(
        self, path: str, at: str, weave: Weave, ours: Entry | None, after: Entry | None, before: Entry | None
    ) -> None:
        """A file has these lines by now, and its baseline, which is at a path of its own if it was renamed."""
        base = ours
        if (
            ours is None and self.state.of(path).is_parted
        ):  # its baseline is at its old path, so it can't have these lines
            weave = weave.alone()
        if ours is None or blob_id(weave.base) != ours.blob:
            is_empty = not weave.base and (ours is None or self.state.of(path).is_created)
            known = after or before or ours
            base = None if is_empty or known is None else self._entry(weave.base, ours, before or known, known)
        if base != ours:
            if ours is None:
                self.state.know(at, is_created=True)
            self.state.base = self.objects.with_entries(self.state.base, {at: base})
        is_known = after and base != after
        lines = KnownLines(base.blob if base else "", after.blob, weave.ops) if after and is_known else None
        self.state.know(path, lines=lines)

    def follow(
        self,
        path: str,
        before: Entry | None,
        after: Entry | None,
        *,
        is_save: bool = True,
        proposed: Entry | None = None,
    ) -> None:
        """The person has changed a file, or has accepted a change of it without a save: it is in the baseline.

        What they have changed in what was `proposed` is theirs, as what they save is.
        """
        if before == after:
            return
        at, ours = path, self.objects.entry(self.state.base, path)
        if ours is None and self.state.origin_of(path) != path:
            at = self.state.origin_of(path)
            ours = self.objects.entry(self.state.base, at)
        elif ours is None and before and (found := self.find(path)) and found.renamed_from:
            at, ours = found.renamed_from, found.before
            self.state.know(path, origin=at)
        renamed = {path: at} if at != path else {}
        if ours == after:
            pass  # it is there already
        elif ours == before or before is None or after is None:
            if at == path:
                renamed = self._leave([path])
            self.state.base = self.objects.with_entries(self.state.base, {at: after})
            self.state.know(path, lines=None)
            self._keep_modes([at] if before is None or after is None else [])
        else:
            weave = self._lines(path, ours, before)
            data = self.data(after)
            if weave is None or data is None:
                lines = KnownLines(ours.blob if ours else "", after.blob, UNKNOWN)
                self.state.know(path, lines=lines)
            else:
                self._note(path, at, weave.saved(data, is_edited=is_save), ours, after, before)
        if is_save or proposed not in (None, after):
            self.state.add_saves([(path, before if is_save else proposed, after)], renamed)
        if is_save and path.rpartition("/")[2] == project.IGNORE:
            # The baseline has what the person has written there, and none of an agent's rules that wait.
            self._change_rules(path, ours, self.objects.entry(self.state.base, at))

    def follow_all(self) -> None:
        """What waits was written while nobody was at work: it is the person's, as what they save is."""
        found = self.objects.differences(self.state.base, self.state.now, renames=False)
        self._found.clear()  # nobody is to be asked about it
        self.state.add_saves((each.path, each.before, each.after) for each in found)
        self.state.base = self.state.now
        self._keep_modes(each.path for each in found if each.before is None or each.after is None)
        for each in found:
            if each.path.rpartition("/")[2] == project.IGNORE:
                self._change_rules(each.path, each.before, each.after)
        self.settle()

    def remember(self, operation: Operation) -> None:
        """The person has decided something that can be taken back: in the order of the decisions."""
        self.state.decided.append(operation)
        self.state.decided.sort(key=lambda each: each.at)
        del self.state.decided[:-OPERATIONS_KEPT]

    def operation(self, disk: Mapping[str, tuple[Entry | None, Entry | None]], paths: Iterable[str]) -> Operation:
        """A decision about some files, with what is known of them before."""
        state, about = self.state, {*paths}
        about.update(self.apart(about))
        operation = Operation({**disk}, at=state.moment())
        operation.known = {path: each for path, each in state.known.items() if path in about}
        if old := [*origins_in(operation.known).values()]:
            operation.origins = dict.fromkeys(old) | self.objects.entries(state.base, old)
        operation.window, operation.command = self.deciding, self.command
        return operation

    def keep_changes(self, path: str, chosen: Sequence[Chosen]) -> None:
        """Take changes of a file over, or the parts of them that some lines are."""
        found = self.wanted(path)
        weave = self.part(found, chosen)
        steps = each_decided(path, weave, chosen, lambda lines, one: lines.kept(*one)) if weave else []
        kept = steps[-1][-1] if steps else None
        is_all = weave is not None and kept is not None and kept.base == weave.disk
        if kept is None or found.after is None or (is_all and found.renamed_from):
            self.keep(found.paths)
            return
        mode = found.before.mode if found.before and not is_all else found.after.mode
        entry = Entry(mode, self.objects.write(kept.base))
        known = KnownLines(entry.blob, found.after.blob, kept.ops)
        self.follow_going(path, steps)
        if found.before is None:
            self._keep_modes([path])
        self._keep({found.renamed_from or path: entry}, [path] if is_all else [], {path: known})

    def located(self, path: str, chosen: Sequence[Chosen]) -> list[Chosen]:
        """Those of some changes of a file that are still there."""
        contents = self.contents(path)
        changes = contents[2].found if contents else ()
        return [each for each in chosen if by_key(changes, each[0])]

    def part(self, found: Difference, chosen: Sequence[Chosen]) -> Weave | None:
        """The lines of a file of which changes are decided, or some lines of them; None if that is the whole file.

        Raises WriteRefusedError unless the changes are there, and the file can be decided in parts.
        """
        if ("", None) in chosen:
            return None
        weave = self.weave_of(found)
        changes = weave.hunks().found if weave else ()
        meant = [(by_key(changes, key), lines) for key, lines in chosen]
        if not meant or not all(each for each, _ in meant):
            raise WriteRefusedError(f"{found.path} has changed since")
        is_all = len({each[0].key for each, lines in meant if each and lines is None}) == len(changes)
        if is_all and (found.before is None or found.after is None or found.renamed_from):
            return None
        if found.after is None:
            raise WriteRefusedError(f"{found.path} can only be kept or undone as a whole")
        if found.renamed_from:  # it stays a renamed file, however much of it is decided
            self.state.know(found.path, origin=found.renamed_from, is_parted=False)
        return weave

    def keep(self, paths: Collection[str]) -> None:
        """Take all of these files over."""
        entries = self.objects.entries(self.state.now, list(paths))
        self._keep({path: entries.get(path) for path in paths}, paths)

    def _keep(
        self, entries: Mapping[str, Entry | None], whole: Collection[str], lines: Mapping[str, KnownLines] = EMPTY_LINES
    ) -> None:
        """Have other entries in the baseline; `whole` are the files that are there as on the disk."""
        if not entries:
            return
        apart = list(self.apart(entries))
        before = self.objects.entries(self.state.base, [*entries, *apart])
        operation = self.operation({}, entries)
        renamed = self.state.renamed()
        self._leave(entries.keys() - {renamed.get(path) for path in lines})  # of those a part is decided
        after = {**entries, **self.objects.entries(self.state.base, apart)} if apart else entries
        operation.base = {path: (before.get(path), entry) for path, entry in after.items()}
        modes = {path: self.store.modes.of(path, before[path], before[path]) for path in whole if path in before}
        operation.modes = {path: mode for path, mode in modes.items() if mode is not None}
        self.state.base = self.objects.with_entries(self.state.base, entries)
        for path, known in lines.items():
            self.state.know(path, lines=known)
        self.stay(dict.fromkeys(whole, ()))
        self._keep_modes(whole)
        self.remember(operation)
        self.settle()

    def put_off(self, window: int, found: Mapping[str, Sequence[Chosen]]) -> None:
        """Have these changes of files, none for a whole one, undone when the turn ends. That can be taken back."""
        before = self.state.going
        more: dict[str, Going] = {}
        for path, each in found.items():
            known = before[path].changes if path in before else ()
            more[path] = Going(tuple(dict.fromkeys((*known, *each))) if each else (), window)
        self._have_going(before | more)
        known = {path: before.get(path) for path in more}
        self.remember(Operation({}, at=self.state.moment(), going=known, window=window, command=self.command))
        self.save()

    def put_off_no_more(self, before: Mapping[str, Going | None]) -> None:
        """Of some files of which something is undone when the turn ends, have undone then what was before."""
        going = self.state.going
        found = before.keys() & going.keys()
        back = {path: known for path in found if (known := before[path])}
        self._have_going({path: each for path, each in going.items() if path not in found} | back)

    def stay(self, found: Mapping[str, Sequence[Chosen]]) -> None:
        """Have these changes of files, none for a whole one, undone no more when the turn ends."""
        self._leave_going({path: partial(Going.without, found=each) for path, each in found.items()})

    def follow_going(self, path: str, steps: Sequence[Step]) -> None:
        """Changes of a file are undone no more when the turn ends, and what else was still is."""

        def left(going: Going) -> Going | None:
            changes = going.changes
            for step in steps:
                changes = followed(changes, step)
            return going.only(changes) if going.changes else going

        self._leave_going({path: left})

    def not_going(self, wanted: Mapping[str, Sequence[Chosen]]) -> dict[str, Sequence[Chosen]]:
        """Those of some changes of files, none for a whole one, that are not undone when the turn ends."""
        return {path: found for path, found in wanted.items() if not self._is_going(path, found)}

    def _is_going(self, path: str, found: Sequence[Chosen]) -> bool:
        going = self.state.going.get(path)
        if going is None or not going.changes or not found:
            return going is not None and not going.changes
        contents = self.contents(path)
        changes = contents[2].found if contents else ()
        return all(is_among(each, going.changes, changes) for each in found)

    def _leave_going(self, ways: Mapping[str, Callable[[Going], Going | None]]) -> None:
        """Have what is left undone when the turn ends, also if an undo is taken back."""

        def left(going: Mapping[str, Going | None]) -> dict[str, Going | None]:
            return {path: ways[path](each) if each and path in ways else each for path, each in going.items()}

        for operation in self.state.decided:
            operation.going = left(operation.going)
        self._have_going({path: each for path, each in left(self.state.going).items() if each})

    def _have_going(self, going: Mapping[str, Going]) -> None:
        """Have this undone when the turn ends. An undo is no decision any more once nothing of it waits for that."""
        self.state.going = {**going}
        self.state.decided = [each for each in self.state.decided if not each.going or _waits(each.going, going)]

    def _keep_modes(self, paths: Iterable[str]) -> None:
        for path in paths:
            self.store.modes.keep(self.root, path)

    def settle(self) -> None:
        """Forget who changed files of which nothing waits any more."""
        self.part_renamed()
        waiting = {path for each in self.waiting() for path in each.paths}
        self.state.known = {path: known for path, known in self.state.known.items() if path in waiting}
        for path, known in [*self.state.known.items()]:
            if known.origin and known.origin not in waiting:
                self.state.know(path, origin="", is_parted=False)
        self._have_going({path: each for path, each in self.state.going.items() if path in waiting})
        self.save()
        self.prune()

    def wanted(self, path: str) -> Difference:
        """How a file differs from the baseline. Raises WriteRefusedError if it doesn't."""
        found = self.find(path)
        if found is None:
            raise WriteRefusedError(f"nothing of {path} waits for a review")
        return found


def _are_alike(lines: Mapping[Entry, Counter[str]], one: Entry | None, other: Entry | None) -> bool:
    """Whether two files have at least half of the lines of the longer one in common, as git says of a renamed one."""
    if one is None or other is None or one not in lines or other not in lines:
        return False
    ours, theirs = lines[one], lines[other]
    longer = max(ours.total(), theirs.total())
    return 2 * min(ours.total(), theirs.total()) >= longer and 2 * (ours & theirs).total() >= longer


def _uncompared(known: KnownLines | None, ours: Entry | None, after: Entry | None) -> KnownLines | None:
    """Whose lines a file has that can't be compared with its baseline: of both, if some were the person's before."""
    if known is None or after is None or not is_of_both(known.ops):
        return None
    return KnownLines(ours.blob if ours else "", after.blob, UNKNOWN)


def _moved(known: dict[str, T], renamed: Mapping[str, str]) -> dict[str, T]:
    """What is known by path, with the other names of some files."""
    rest = {path: each for path, each in known.items() if path not in renamed}
    return rest | {new: known[old] for old, new in renamed.items() if old in known}


def _waits(before: Mapping[str, Going | None], going: Mapping[str, Going]) -> bool:
    """Whether something else is undone when the turn ends than before an undo."""
    changes = {path: each and each.changes for path, each in before.items()}
    return any(path in going and going[path].changes != found for path, found in changes.items())
