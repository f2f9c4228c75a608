"""Undoing what agents have written, on the disk, and taking a decision back.

What to write is planned first, and written only where the disk still is what was compared. A file that is open in the
editor is written there; the bytes on the disk are looked at afterwards in any case.

What a decision has changed in the baseline goes, line by line, and whatever else was kept, undone or saved since stays.
An agent's line that the person has edited since it was kept belongs to both; one that a later decision has changed is
that one's.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from ..review.disk import Stamp, stamp
from ..snapshots import files
from ..snapshots.entries import LINK, Difference, Entry, on_disk
from ..snapshots.files import WriteRefusedError, blob_id
from ..snapshots.objects import StoredContents
from .lines import Step, Weave, each_decided, is_of_both
from .round import Round
from .rows import AS_BEFORE, MAX_NOTES, done_notes, known_lines, limited, quoted, undone_note
from .state import Chosen, FileState, KnownLines, Operation, RoundState, origins_in, renamed_in

_ALL: Chosen = ("", None)
"""All changes of a file."""
_IN_LINES = {"created", "modified", "renamed"}
"""The kinds of files whose lines are told of which a part is undone, or that only were changed."""
_WHY = {
    "rules": "{path} is git's own: change it by hand",
    "excluded": "{path} is excluded by the setting “context_exclude”, so there is no copy of it",
    "unreadable": "{path} could not be read, so there is no copy of it",
    "repository": "{path} is a repository of its own; remove it by hand",
}


@dataclass(frozen=True, slots=True)
class Write:
    """A file is to be written, or deleted if there is no `target`, provided that the disk still is as in `expected`.

    The store has the content of both the target and the `base`.
    """

    path: str
    target: Entry | None
    expected: Entry | None
    full_mode: int | None = None
    """The permissions, if they are known."""
    is_baseline: bool = False
    """Whether `expected` is what the baseline has."""
    base: Entry | None = None
    """What the baseline is to have then, if that is something else: what the person has added stays, reviewed."""
    ops: str = ""
    """Whose lines it has then, if a part of it still waits."""
    drops_base: bool = False
    """Whether the baseline is to have the file no longer."""
    whole: str = ""
    """The path of the renamed file that this is a part of: either all of its parts are written or none."""


def _about(paths: Iterable[str]) -> tuple[str, ...]:
    """How the lines for the agents about some files begin."""
    return tuple(f"{path}{mark}" for path in paths for mark in (":", ", line"))


def files_of(writes: Iterable[Write]) -> int:
    """How many files some writes are about, as a person counts them: a renamed one is one."""
    return len({write.whole or write.path for write in writes})


class RoundUndo:
    """Undo and redo in one round."""

    def __init__(self, round_: Round) -> None:
        self._round = round_
        self._objects = round_.objects
        self._subtraction = _Subtraction(round_)
        self._contents = StoredContents(self._objects, ())
        """Those that are read together as they are written."""
        self._base: dict[str, Entry | None] = {}
        """Entries of the baseline that were read together."""

    @property
    def _state(self) -> RoundState:
        return self._round.state

    def plan_changes(self, path: str, chosen: Sequence[Chosen], *, is_all: bool = False) -> list[Write]:
        """What to write to undo changes of a file. Raises WriteRefusedError.

        Lines that the person has changed, too, stay, unless `is_all`.
        """
        found = self._round.wanted(path)
        self._check_parted(found, {*found.paths})
        weave = self._round.part(found, chosen)
        steps = _undone(path, weave, chosen, is_all=is_all) if weave else []
        undone = steps[-1][-1] if steps else None
        if weave is None or undone is None or found.after is None or not (undone.disk or found.before):
            return self._plan(found, is_all=is_all)
        is_whole = undone.disk == weave.base
        if is_whole and found.renamed_from:
            return self._plan(found, is_all=is_all)
        mode = (found.before if is_whole and found.before else found.after).mode
        base = None if undone.base == weave.base else self._made(mode, undone.base)
        if is_whole and found.before:
            full_mode = self._round.store.modes.of(path, found.before, found.before)
            return [Write(path, found.before, found.after, full_mode, base=base)]
        return [Write(path, self._made(mode, undone.disk), found.after, base=base, ops=undone.ops)]

    def _made(self, mode: str, data: bytes) -> Entry:
        """A file with a content that the store has from now on."""
        return Entry(mode, self._objects.write(data))

    def plan(self, found: Sequence[Difference], *, is_all: bool = False) -> tuple[list[Write], list[str]]:
        """What to write to undo some of the files that wait, and a sentence on each that can't be undone."""
        writes: list[Write] = []
        refused: list[str] = []
        base = {each.renamed_from or each.path: each.before for each in found}
        undone = {path for each in found for path in each.paths}
        with self.reading(base.items(), base):
            for each in found:
                try:
                    self._check_parted(each, undone)
                    writes += self._plan(each, is_all=is_all)
                except WriteRefusedError as error:
                    refused.append(str(error))
        # What was created goes first: a folder may be in the place of a file.
        return sorted(writes, key=lambda write: write.target is not None), refused

    def _check_parted(self, found: Difference, undone: Collection[str]) -> None:
        """Raise WriteRefusedError if the undo of a file would delete what was elsewhere, and is not there again then.

        `undone` are the paths of what is undone with it.
        """
        old = self._state.of(found.path).origin
        if old and old not in undone and self._round.find(old):
            raise WriteRefusedError(f"{found.path} was {old} before: undo {old} first")

    def protected(self, waiting: Iterable[Difference], chosen: Sequence[Chosen] = (_ALL,)) -> list[str]:
        """What is the person's, too, or may be, in what an undo would take away: a line for each, with its file.

        The undo is of files that wait, or of changes of the one file.
        """
        told: list[str] = []
        for found in waiting:
            known = known_lines(found, self._state)
            is_created = self._state.of(found.path).is_created and found.before is not None and _ALL in chosen
            if not (is_created or is_of_both(known.ops)):
                continue
            weave = self._round.weave_of(found)
            if weave is None or weave.is_whole:
                told.append(found.path)
                continue
            own = list(dict.fromkeys(line for each in chosen for line in weave.protected(*each)))
            if is_created and found.after:
                own = sorted({*own, *weave.settled()})
            told += [f"{found.path}, line {number + 1}: {quoted([text])}" for number, text in own]
        return told

    @contextlib.contextmanager
    def reading(
        self, targets: Iterable[tuple[str, Entry | None]], base: Mapping[str, Entry | None] | None = None
    ) -> Generator[None]:
        """Read what is known of files and of what they are to be with few processes, for as long as this lasts.

        `base` has their entries in the baseline, if they are known.
        """
        listed = [(path, entry) for path, entry in targets if entry]
        self.expect(entry for _, entry in listed)
        paths = [path for path, _ in listed]
        found = self._objects.entries(self._state.base, paths) if base is None else base
        self._base = dict.fromkeys(paths) | dict(found)
        try:
            yield
        finally:
            self._base = {}

    def expect(self, targets: Iterable[Entry | None]) -> None:
        """Read the contents of these files with few processes, from now on until others are expected."""
        self._contents = StoredContents(self._objects, (entry.blob for entry in targets if entry))

    def data(self, write: Write) -> bytes | None:
        """What is to be written; None for a file that is deleted. Raises WriteRefusedError if it is damaged."""
        return self._contents.of(write.path, write.target.blob) if write.target else None

    def _plan(self, found: Difference, *, is_all: bool) -> list[Write]:
        target, is_created = found.before, self._state.of(found.path).is_created
        known = known_lines(found, self._state)
        if is_all and is_created and found.after:
            expected = None if found.renamed_from else found.after
            return [replace(self.write_of(found.renamed_from or found.path, None, expected), drops_base=True)]
        writes = self.writes_of(_reversed(found))
        if not is_all and found.after and is_of_both(known.ops):
            weave = self._round.weave_of(found)
            undone = weave.undone() if weave else None
            if undone is None:
                raise WriteRefusedError(f"{found.path} has your edit, and can't be compared")
            if undone.disk or target:
                mode = (target or found.after).mode
                made, base = self._made(mode, undone.disk), self._made(mode, undone.base)
                writes[0] = replace(writes[0], target=made, base=base)
        return writes

    def writes_of(self, wanted: Difference) -> list[Write]:
        """What to write so that a file is as after a difference: both parts of a renamed one, the new path first.

        Raises WriteRefusedError.
        """
        if not wanted.renamed_from:
            return [self.write_of(wanted.path, wanted.after, wanted.before)]
        parts = (wanted.path, wanted.after, None), (wanted.renamed_from, None, wanted.before)
        return [replace(self.write_of(*part), whole=wanted.renamed_from) for part in parts]

    def write_of(self, path: str, target: Entry | None, expected: Entry | None) -> Write:
        """What to write so that a file is as in an entry. Raises WriteRefusedError if its content isn't there."""
        for entry in (target, expected):
            if entry and entry.why in _WHY:
                raise WriteRefusedError(_WHY[entry.why].format(path=path))
        if target is None:
            return Write(path, None, expected)
        if target.blob not in self._contents and not self._objects.has(target.blob):
            raise WriteRefusedError(self._objects.why_lost(path, target.blob))
        base = self._base[path] if path in self._base else self._objects.entry(self._state.base, path)
        full_mode = self._round.store.modes.of(path, target, base)
        return Write(path, target, expected, full_mode, expected is not None and expected == base)

    def check(self, write: Write) -> bytes | None:
        """Raise WriteRefusedError unless the disk still is what was compared. Copies what the store lacks.

        Returns what is to be written.
        """
        data = self.data(write)
        if not files.is_still(self._round.root, write.path, write.expected):
            raise WriteRefusedError(f"{write.path} has changed since")
        if write.expected and write.expected.why == "large":
            self._objects.write_file(write.path)
        if not write.is_baseline:
            self._round.store.modes.leave(self._round.root, write.path)
        elif write.expected and write.full_mode and write.full_mode & 0o200:
            self._make_writable(write.path, write.expected)
        return data

    def _make_writable(self, path: str, base: Entry) -> None:
        """An undo has made a file read-only, as its baseline is: that is no wish to keep it from being taken back."""
        found = on_disk(self._round.root, path)
        if found is not None and not found & 0o222 and found == self._round.store.modes.of(path, base, base):
            files.set_mode(self._round.root, path, base.mode, found | 0o200)

    def write(self, write: Write) -> None:
        """Write a file that is not open in the editor. Raises WriteRefusedError."""
        data, target = self.check(write), write.target
        if data is None or target is None:
            files.delete(self._round.root, write.path, frozenset(self._state.empty))
            return
        before = write.expected  # as which it was just found
        if before and before.blob == target.blob and LINK not in {target.mode, before.mode}:
            files.set_mode(self._round.root, write.path, target.mode, write.full_mode)
        else:
            files.write(self._round.root, write.path, target.mode, data, write.full_mode)

    def is_written(self, write: Write) -> bool:
        """Whether the disk has the very bytes."""
        found = files.current(self._round.root, write.path)
        wanted = (write.target.mode, write.target.blob) if write.target else None
        return (found and (found[0], files.blob_id(found[1]))) == wanted

    def force(self, write: Write, saved: Stamp = None) -> None:
        """The editor has saved other bytes than it was given, by a format or a trim on save: write the bytes.

        `saved` is the file's stamp after that, None if nobody knows. Raises WriteRefusedError if somebody has written
        the file since.
        """
        data, target = self.data(write), write.target
        if target and data is not None and not self.is_written(write):
            if saved and stamp(os.path.join(self._round.root, write.path)) != saved:
                raise WriteRefusedError(f"{write.path} has changed since")
            files.write(self._round.root, write.path, target.mode, data, write.full_mode)
        elif target and write.full_mode is not None:
            with contextlib.suppress(WriteRefusedError):  # the text is there, and `finish` tells what isn't
                files.set_mode(self._round.root, write.path, target.mode, write.full_mode)

    def notes(self, writes: Sequence[Write]) -> dict[str, list[str]]:
        """For each file that is undone, as a whole or in part, the lines for the agents that changed it."""
        by_path = {write.path: write for write in writes}
        found = [each for each in self._round.waiting() if not by_path.keys().isdisjoint(each.paths)]
        rows = [row for row in self._round.listed.of(found[:MAX_NOTES], self._state) if row.agents]
        done = [by_path[row.path] for row in rows if row.kind in _IN_LINES and row.path in by_path]
        sides = {each.path: (each.expected.blob, each.target.blob) for each in done if each.expected and each.target}
        data = self._objects.read(blob for both in sides.values() for blob in both)
        told = {row.path: [undone_note(row)] for row in rows}
        for path, both in sides.items():
            if data.keys() >= {*both}:
                told[path] = done_notes(path, *(data[blob] for blob in both))
        rest = [each.path for each in found[MAX_NOTES:] if self._state.of(each.path).agents]
        return told | {path: [f"{path}: {AS_BEFORE}"] for path in rest}

    def finish(self, writes: Sequence[Write], notes: Mapping[str, Sequence[str]] = MappingProxyType({})) -> list[str]:
        """Scan what was written, and remember it so that it can be taken back. Returns what is not as it should be.

        `notes` has the lines for the agents, by path.
        """
        operation, failed = self.note(writes, notes)
        self.see(operation)
        return failed

    def note(
        self, writes: Sequence[Write], notes: Mapping[str, Sequence[str]] = MappingProxyType({})
    ) -> tuple[Operation, list[str]]:
        """Remember what was written, as the disk has it by now. `see` makes that last.

        Also returns the paths of the files that are not as they should be.
        """
        failed = self.failed(writes)
        disk = {write.path: (write.expected, write.target) for write in writes}
        operation = self._round.operation(disk, disk)
        operation.notes = limited([line for path in disk if path not in failed for line in notes.get(path, ())])
        self._round.remember(operation)
        done = [write for write in writes if write.path not in failed]
        after = {write.path: write.target for write in done}
        self._have_on_disk(after)
        self._set_base(operation, done)
        origins = {path: self._state.origin_of(path) for path in after}
        now = self._objects.entries(self._state.base, [*after, *origins.values()])
        for write in done:
            entry, base = after[write.path], now.get(origins[write.path])
            if write.ops and entry:
                lines = KnownLines(base.blob if base else "", entry.blob, write.ops)
                self._state.know(write.path, lines=lines)
            elif entry is None or entry == now.get(write.path):
                self._state.know(write.path, origin="", is_parted=False)
        self._round.stay({path: () for path, entry in after.items() if now.get(path) == entry})
        return operation, failed

    def _have_on_disk(self, after: Mapping[str, Entry | None]) -> None:
        """Files are as they were just written: to the next scan that is nobody's change."""
        self._state.now = self._objects.with_entries(self._state.now, after)
        for path in after:
            self._round.saved_at.pop(path, None)
            self._state.know(path, lines=None)

    def see(self, operation: Operation) -> None:
        """Have an operation on the disk in one step with all that follows from it, and scan."""
        self._round.part_renamed()
        self._round.save()
        self._scan_own(operation.disk)
        after = self._objects.entries(self._state.now, list(operation.disk))
        operation.disk = {path: (before, after.get(path)) for path, (before, _) in operation.disk.items()}
        self._round.save()

    def finish_as_person(self, writes: Sequence[Write]) -> list[str]:
        """The same for what was written as the person would: the baseline follows it, whoever waits for a review."""
        paths = [write.path for write in writes]
        lines = {path: self._state.of(path).lines for path in paths}
        paths += self._round.apart(paths)
        before = self._objects.entries(self._state.base, paths)
        operation, failed = self.note(writes)
        now = self._objects.entries(self._state.now, paths)
        for write in writes:
            if write.path not in failed:
                self._state.know(write.path, lines=lines[write.path])
                self._round.follow(write.path, write.expected, now.get(write.path), is_save=False)
        after = self._objects.entries(self._state.base, paths)
        operation.base = {path: (before.get(path), after.get(path)) for path in paths}
        self.see(operation)
        self._round.settle()
        return failed

    def _set_base(self, operation: Operation, writes: Iterable[Write]) -> None:
        """What was undone but for the person's lines is reviewed: the baseline has those, too."""
        entries: dict[str, Entry | None] = {write.path: None for write in writes if write.drops_base}
        entries |= {self._state.origin_of(write.path): write.base for write in writes if write.base}
        if entries:
            before = self._objects.entries(self._state.base, list(entries))
            operation.base = {path: (before.get(path), entry) for path, entry in entries.items()}
            self._state.base = self._objects.with_entries(self._state.base, entries)
            for path in entries:
                self._state.know(path, is_created=False)

    def failed(self, writes: Iterable[Write]) -> list[str]:
        """The paths of the files that are not as they should be."""
        return [write.path for write in writes if not self._is_as_it_should_be(write)]

    def _is_as_it_should_be(self, write: Write) -> bool:
        mode = on_disk(self._round.root, write.path) if write.full_mode is not None else None
        try:
            return self.is_written(write) and mode == write.full_mode
        except WriteRefusedError:  # it can't be read
            return False

    def _scan_own(self, paths: Iterable[str]) -> None:
        """Scan what was written here, which is nobody's change."""
        agents = {path: self._state.of(path).agents for path in paths}
        self._round.scan(own=agents)
        for path, names in agents.items():
            self._state.know(path, agents=names)

    def follow_going(self, path: str, chosen: Sequence[Chosen], done: Sequence[Write], *, is_all: bool) -> None:
        """Changes of a file are undone, and not noted yet: what else of it is undone when the turn ends still is."""
        if path not in self._state.going:
            return
        found = self._round.find(path)
        weave = self._round.weave_of(found) if found else None
        if weave and any(each.path == path and each.target for each in done):
            with contextlib.suppress(WriteRefusedError):
                self._round.follow_going(path, _undone(path, weave, chosen, is_all=is_all))
                return
        self._round.stay({path: ()})

    def unsent_notes(self, sees: Callable[[str], bool] = lambda _: True) -> list[str]:
        """The lines of what was undone, is not back, and was not told yet, about the files that somebody `sees`."""
        notes = [line for path, lines in self._state.unsent_notes.items() if sees(path) for line in lines]
        for operation in self._state.decided:
            hidden = {path for path in operation.paths if not sees(path)}
            if not hidden:
                notes += operation.notes
                continue
            shown, old = _about(operation.paths - hidden), tuple(f" {path}" for path in hidden)
            notes += [note for note in operation.notes if note.startswith(shown) and not note.endswith(old)]
        return notes

    def notes_sent(self, lines: Sequence[str]) -> None:
        """These lines were told."""
        for operation in self._state.decided:
            operation.notes = [line for line in operation.notes if line not in lines]
        left = {path: [line for line in each if line not in lines] for path, each in self._state.unsent_notes.items()}
        self._state.unsent_notes = {path: each for path, each in left.items() if each}
        self._round.save()

    def plan_back(self, operation: Operation) -> tuple[list[Write], list[str]]:
        """What to write to take a decision back, and a sentence for each file of which nothing can be.

        Raises WriteRefusedError if nothing of it can be taken back, such as after all of its files have changed.
        """
        self._check_origins(operation)
        found, left = self._subtraction.of(operation)
        wanted = [each for each in self._wanted_back(operation) if left.keys().isdisjoint(each.paths)]
        with self.reading((each.path, each.after) for each in wanted):
            writes = [write for each in wanted for write in self.writes_of(each)]
        changed = self._changed_since(writes)
        if len(changed) < len(writes) or (not writes and (found or not left)):
            return sorted(writes, key=lambda write: write.target is not None), [*left.values()]
        raise WriteRefusedError([*changed, *left.values()][0])

    def _check_origins(self, operation: Operation) -> None:
        """Raise WriteRefusedError if the baseline of a file that was renamed before is not where it was any more."""
        now = self._objects.entries(self._state.base, list(operation.origins)) if operation.origins else {}
        for path, before in operation.origins.items():
            there, after = now.get(path), operation.base.get(path, (None, before))[1]
            # What was kept of it is there, with what the person has saved since.
            is_kept_there = path in operation.base and there and after and path in self._still_renamed(operation)
            if there != after and not is_kept_there:
                raise WriteRefusedError(f"{path} has changed since")

    def _still_renamed(self, operation: Operation) -> Collection[str]:
        """The old paths of the files that were renamed before an operation, and still have their baselines there."""
        still = self._state.renamed()
        return {old for new, old in origins_in(operation.known).items() if still.get(new) == old}

    def _wanted_back(self, operation: Operation) -> list[Difference]:
        """The files that an operation has changed, as they were before it. One that it has renamed is one."""
        found = [Difference(path, now, then) for path, (then, now) in operation.disk.items() if then != now]
        if not any(each.before is None for each in found) or not any(each.after is None for each in found):
            return found
        snapshots = [
            self._objects.with_entries(self._state.now, entries)
            for entries in ({each.path: each.before for each in found}, {each.path: each.after for each in found})
        ]
        known = {each.path: each for each in found}
        for each in self._objects.differences(*snapshots):
            if {*each.paths} <= known.keys() and each.renamed_from:
                gone = known.pop(each.renamed_from)
                known[each.path] = Difference(each.path, gone.before, known[each.path].after, gone.path)
        return list(known.values())

    def _changed_since(self, writes: Sequence[Write]) -> list[str]:
        changed: list[str] = []
        for write in writes:
            try:
                if not files.is_still(self._round.root, write.path, write.expected):
                    changed.append(f"{write.path} has changed since")
            except WriteRefusedError as error:
                changed.append(str(error))
        return changed

    def finish_back(self, operation: Operation, writes: Sequence[Write]) -> list[str]:
        """Files of an operation are as they were before it, and so is their baseline. The rest can still come back.

        Returns what is not as it should be.
        """
        failed = self.failed(writes)
        written = {write.path for write in writes if write.path in operation.disk} - {*failed}
        rest = {path: pair for path, pair in operation.disk.items() if pair[0] != pair[1] and path not in written}
        agents = {path: self._state.of(path).agents for path in operation.files}
        subtracted, left = self._subtraction.of(operation, rest)
        self._have_on_disk({path: operation.disk[path][0] for path in written})
        back = [path for path in operation.files if path not in rest and path not in left]
        moved = {old: new for new, old in self._state.renamed().items()}  # by an agent, since the decision
        for path in back:
            then, now = operation.known.get(path, FileState()), self._state.of(path)
            both = tuple(dict.fromkeys((*then.agents, *agents[path])))
            self._state.know(path, agents=both, is_created=then.is_created or now.is_created)
            if then.origin:
                self._state.know(moved.get(path, path), origin=then.origin, is_parted=then.is_parted)
        if operation.is_edited and not rest:
            self._typed_back(operation)
        self._subtraction.apply(subtracted)
        for path, mode in operation.modes.items():
            if path in back:
                self._round.store.modes.noted(path, mode)
        if rest or left:
            operation.disk = rest
            operation.base = {path: pair for path, pair in operation.base.items() if path not in back}
            operation.notes = [note for note in operation.notes if not note.startswith(_about(back))]
        else:
            self._state.decided.remove(operation)
            self._round.put_off_no_more(operation.going)
            if operation.accepted:
                self._tell_of_accepted(operation)
        self._round.part_renamed()
        self._round.save()
        self._scan_own(back)
        self._round.save()
        return failed

    def _typed_back(self, operation: Operation) -> None:
        """What the person had typed into a proposal that they had accepted has gone with it: a restore brings none."""
        for path, (before, after) in operation.disk.items():
            typed = next(
                (each for each in reversed(self._state.saves) if (each.path, each.after) == (path, after)), None
            )
            if typed:
                renamed = {new: old for new, old in typed.renamed.items() if new == path}
                self._state.add_saves([(path, after, before)], renamed)

    def _tell_of_accepted(self, operation: Operation) -> None:
        """A proposal that was accepted is undone: its agent is told. That is no decision: the one before comes next."""
        for path, (before, after) in operation.disk.items():
            data = self._objects.read(entry.blob for entry in (after, before) if entry)
            notes = [f"{path}: {AS_BEFORE}"]
            if after and before and {after.blob, before.blob} <= data.keys():
                notes = done_notes(path, data[after.blob], data[before.blob])
            self._state.unsent_notes[path] = [*self._state.unsent_notes.get(path, ()), *notes]


def _undone(path: str, weave: Weave, chosen: Sequence[Chosen], *, is_all: bool) -> list[Step]:
    return each_decided(path, weave, chosen, lambda lines, one: lines.undone(*one, is_all=is_all))


def _reversed(found: Difference) -> Difference:
    """The difference that undoes one."""
    now, before = (found.renamed_from, found.path) if found.renamed_from else (found.path, "")
    return Difference(now, found.after, found.before, before)


@dataclass(frozen=True, slots=True)
class _Subtracted:
    """A file of a decision, and its baseline without what the decision has changed there."""

    path: str
    """Where an agent has moved it since: where it was then if none has."""
    at: str
    """Where the baseline has it."""
    origin: str
    """Where the baseline had it before the decision."""
    is_new: bool
    """Whether the baseline had it nowhere."""
    base: Entry | None
    exact: KnownLines | None
    """Whose lines it has then, if it is as before the decision."""
    lines: Weave | None
    """The lines of the baseline then and now; None if nobody asks for them."""
    known: Sequence[Weave]
    """What else is known of lines of the file."""


class _Subtraction:
    """Takes decisions out of the baseline of one round."""

    def __init__(self, round_: Round) -> None:
        self._round = round_
        self._objects = round_.objects

    def of(self, operation: Operation, rest: Collection[str] = ()) -> tuple[list[_Subtracted], dict[str, str]]:
        """The files of a decision but for the `rest`, and why by path for those of which nothing can be taken back."""
        state = self._round.state
        moved = {old: new for new, old in state.renamed().items()}
        renamed = renamed_in(operation.known)
        origins = {new: old for new, old in renamed.items() if new in operation.files}
        names = {old: new for new, old in renamed.items()}  # a part of it was decided: its baseline stays there
        base = self._objects.entries(state.base, [*operation.files, *origins.values()])
        disk = self._objects.entries(state.now, [moved.get(path, path) for path in operation.files])
        disk |= {moved.get(path, path): before for path, (before, _) in operation.disk.items()}
        found: list[_Subtracted] = []
        left: dict[str, str] = {}
        for path in operation.files:
            if path in rest or path in origins.values():
                continue
            origin, file = origins.get(path, path), moved.get(path, path)
            places = file, path if path in operation.base else origin, origin
            try:
                then = operation.known.get(names.get(path, path), FileState()).lines
                found.append(self._subtracted(operation, path, places, base, (then, disk.get(file))))
            except WriteRefusedError as error:
                left |= dict.fromkeys((path, origin), str(error))
        return found, left

    def _subtracted(
        self,
        operation: Operation,
        path: str,
        places: tuple[str, str, str],
        entries: Mapping[str, Entry | None],
        known: tuple[KnownLines | None, Entry | None],
    ) -> _Subtracted:
        """Raises WriteRefusedError if the baseline has nothing of what was decided, or can't be compared with it."""
        (file, at, origin), (then, disk), now = places, known, entries.get(places[1])
        before = operation.base[origin][0] if origin in operation.base else entries.get(origin)
        after = operation.base[at][1] if at in operation.base else now
        if now == after and then and then[:2] == _ids(before, disk):
            return _Subtracted(*places, before is None, before, then, None, ())
        decided, waiting = self._then(then), self._known(file, now)
        base, lines, is_changed = before, None, before != after
        if now != after:
            if now is None or after is None or not is_changed:  # another file is there by now, or none
                before = after = base = now
            else:
                lines = self._evolved(operation, path, at, now, self._taken(before, after, then, decided))
                base = self._base(lines, before, after, now)
        if is_changed and base == now and at == origin and path not in operation.disk:
            raise WriteRefusedError(f"{path} has changed since")
        if waiting or then:
            lines = lines or self._taken(before, after, then, decided)
            if lines is None or (then and decided is None):
                raise WriteRefusedError(f"{path} has changed since")
        return _Subtracted(*places, before is None, base, None, lines, [each for each in (waiting, decided) if each])

    def _evolved(self, operation: Operation, path: str, at: str, now: Entry, lines: Weave | None) -> Weave:
        """The lines of a baseline before a decision and after it, with what has become of it since."""
        if lines is None:
            raise WriteRefusedError(f"{path} has changed since")
        for entry, is_decided in self._since(operation, at, now):
            if (data := self._round.data(entry)) is None:
                raise WriteRefusedError(f"{path} has changed since")
            lines = lines.decided(data) if is_decided else lines.saved(data)
        return lines

    def _since(self, operation: Operation, at: str, now: Entry) -> Iterator[tuple[Entry | None, bool]]:
        """What the baseline of a file was since a decision, and whether another decision has made it that."""
        for each in self._round.state.decided:
            if each.at > operation.at and at in each.base:
                before, after = each.base[at]
                yield before, False
                yield after, True
        yield now, False

    def _taken(
        self, before: Entry | None, after: Entry | None, then: KnownLines | None, decided: Weave | None
    ) -> Weave | None:
        """The lines of a baseline before a decision and after it. What was known of them is known again."""
        if then and then[:2] == _ids(before, after):
            return self._round.weave(before, after, then.ops)
        lines = self._round.weave(before, after)
        return lines.alike(decided) if lines and decided else lines

    def _then(self, known: KnownLines | None) -> Weave | None:
        if known is None:
            return None
        before, after = (Entry("", blob) if blob else None for blob in known[:2])
        return self._round.weave(before, after, known.ops)

    def _known(self, path: str, base: Entry | None) -> Weave | None:
        if (known := self._round.state.of(path).lines) is None:
            return None
        disk = self._objects.entry(self._round.state.now, path)
        return self._round.weave(base, disk, known.ops) if known[:2] == _ids(base, disk) else None

    def _base(self, lines: Weave, before: Entry | None, after: Entry, now: Entry) -> Entry | None:
        """The baseline of some lines; `before` and `after` a decision had it these permissions."""
        if before is None and not lines.base:
            return None
        mode = before.mode if before and now.mode == after.mode else now.mode
        return Entry(mode, self._objects.write(lines.base))

    def apply(self, found: Collection[_Subtracted]) -> None:
        """Have these in the baseline, with whose lines they are. The disk has its files as they are to be already."""
        state = self._round.state
        disk = self._objects.entries(state.now, [each.path for each in found])
        entries: dict[str, Entry | None] = {}
        for each in found:
            base = self._noted(each, disk.get(each.path))
            origin = each.origin
            is_moved = each.path != origin and state.origin_of(each.path) == origin
            if each.is_new and is_moved:  # an agent has created it: its name is its own
                state.know(each.path, origin="")
                origin = each.path
            if each.is_new and base:
                state.know(origin, is_created=True)
            entries |= {each.at: None, each.origin: None, origin: base}
        state.base = self._objects.with_entries(state.base, entries) if entries else state.base

    def _noted(self, each: _Subtracted, disk: Entry | None) -> Entry | None:
        """Note whose lines a file has. Returns its baseline, with lines of the person that an agent has removed."""
        state, base = self._round.state, each.base
        if each.exact:
            state.know(each.path, lines=each.exact)
        data = self._round.data(disk)
        if each.exact or each.lines is None or disk is None or data is None:
            return base
        lines = each.lines.written(data)
        for known in each.known:
            lines = lines.marked(known.written(data))
        if lines.base and (base is None or blob_id(lines.base) != base.blob):
            base = Entry((base or disk).mode, self._objects.write(lines.base))
        state.know(each.path, lines=KnownLines(*_ids(base, disk), lines.ops))
        return base


def _ids(before: Entry | None, after: Entry | None) -> tuple[str, str]:
    return before.blob if before else "", after.blob if after else ""
