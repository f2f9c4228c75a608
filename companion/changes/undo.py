"""Undoing what agents have written, on the disk, and taking that back.

What to write is planned first, and written only where the disk still is what was compared. A file that is open in the
editor is written there; the bytes on the disk are looked at afterwards in any case.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ..review.disk import Stamp, stamp
from . import files, hunks
from .entries import LINK, Difference, Entry
from .files import WriteRefusedError
from .modes import on_disk
from .notes import MAX_NOTES, limited, undone_notes
from .round import Round
from .rows import is_comparable
from .state import Operation, RoundState

OPERATIONS_KEPT = 200
_WHY = {
    "excluded": "{path} is excluded by the setting “context_exclude”, so there is no copy of it",
    "unreadable": "{path} could not be read, so there is no copy of it",
    "repository": "{path} is a repository of its own; remove it by hand",
}


@dataclass(frozen=True, slots=True)
class Write:
    """A file is to be written, or deleted if `data` is None, provided that the disk still is what `expected` says."""

    path: str
    mode: str
    data: bytes | None
    expected: Entry | None
    full_mode: int | None = None
    """The permissions, if they are known."""
    is_baseline: bool = False
    """Whether `expected` is what the baseline has."""


class UnseenError(OSError):
    """What was written could not be looked at afterwards; the text says why."""

    def __init__(self, why: str, failed: Sequence[str]) -> None:
        super().__init__(why)
        self.failed = failed
        """The paths of the files that are not as they should be."""


class RoundUndo:
    """Undo and redo in one round."""

    def __init__(self, round_: Round) -> None:
        self._round = round_
        self._objects = round_.objects
        self._known: dict[str, bytes] = {}
        """Contents that were read together."""
        self._base: dict[str, Entry | None] = {}
        """Entries of the baseline that were read together."""

    @property
    def _state(self) -> RoundState:
        return self._round.state

    def plan(self, path: str, key: str = "", lines: tuple[int, int] | None = None) -> list[Write]:
        """What to write to undo a file, or one change of it. Raises WriteRefusedError."""
        found = self._round.wanted(path)
        comparable = found.before and found.after and not found.renamed_from and is_comparable(found)
        if key and comparable and found.before and found.after:
            data = self._objects.read([found.before.blob, found.after.blob])
            content = hunks.undone(data[found.before.blob], data[found.after.blob], key, lines)
            if content is None:
                raise WriteRefusedError(f"{path} has changed since")
            if content == data[found.before.blob]:
                full_mode = self._round.store.modes.of(path, found.before, found.before)
                return [Write(path, found.before.mode, content, found.after, full_mode)]
            return [Write(path, found.after.mode, content, found.after)]
        return self._plan(found)

    def plan_all(self) -> tuple[list[Write], list[str]]:
        """What to write to undo everything, and a sentence on each file that can't be undone."""
        writes: list[Write] = []
        refused: list[str] = []
        found = self._round.waiting()
        with self.reading((each.renamed_from or each.path, each.before) for each in found):
            for each in found:
                try:
                    writes += self._plan(each)
                except WriteRefusedError as error:
                    refused.append(str(error))
        # What was created goes first: a folder may be in the place of a file.
        return sorted(writes, key=lambda write: write.data is not None), refused

    @contextlib.contextmanager
    def reading(self, targets: Iterable[tuple[str, Entry | None]]) -> Generator[None]:
        """Read what is known of files and of what they are to be with few processes, for as long as this lasts."""
        listed = [(path, entry) for path, entry in targets if entry]
        self._known = self._objects.read(entry.blob for _, entry in listed)
        paths = [path for path, _ in listed]
        self._base = dict.fromkeys(paths) | self._objects.entries(self._state.base, paths)
        try:
            yield
        finally:
            self._known, self._base = {}, {}

    def _plan(self, found: Difference) -> list[Write]:
        now = found.renamed_from or found.path
        writes = [self.write_of(now, found.before, None if found.renamed_from else found.after)]
        if found.renamed_from:
            writes.append(self.write_of(found.path, None, found.after))
        return writes

    def write_of(self, path: str, target: Entry | None, expected: Entry | None) -> Write:
        """What to write so that a file is as in an entry. Raises WriteRefusedError if its content isn't there."""
        for entry in (target, expected):
            if entry and entry.why in {"excluded", "unreadable", "repository"}:
                raise WriteRefusedError(_WHY[entry.why].format(path=path))
        if target is None:
            return Write(path, "", None, expected)
        data = self._known.get(target.blob)
        data = self._objects.read([target.blob]).get(target.blob) if data is None else data
        if data is None:
            raise WriteRefusedError(f"what {path} was before is lost: it is over 10 MB and not in git")
        base = self._base[path] if path in self._base else self._objects.entry(self._state.base, path)
        full_mode = self._round.store.modes.of(path, target, base)
        return Write(path, target.mode, data, expected, full_mode, expected is not None and expected == base)

    def check(self, write: Write) -> None:
        """Raise WriteRefusedError unless the disk still is what was compared. Copies what the store lacks."""
        if not files.is_still(self._round.root, write.path, write.expected):
            raise WriteRefusedError(f"{write.path} has changed since")
        if write.expected and write.expected.why == "large":
            self._objects.write_file(write.path)
        if not write.is_baseline:
            self._round.store.modes.leave(self._round.root, write.path)
        elif write.expected and write.full_mode and write.full_mode & 0o200:
            self._make_writable(write.path, write.expected)

    def _make_writable(self, path: str, base: Entry) -> None:
        """An undo has made a file read-only, as its baseline is: that is no wish to keep it from being taken back."""
        found = on_disk(self._round.root, path)
        if found is not None and not found & 0o222 and found == self._round.store.modes.of(path, base, base):
            files.set_mode(self._round.root, path, base.mode, found | 0o200)

    def write(self, write: Write) -> None:
        """Write a file that is not open in the editor. Raises WriteRefusedError."""
        self.check(write)
        if write.data is None:
            files.delete(self._round.root, write.path, frozenset(self._state.empty))
            return
        found = files.current(self._round.root, write.path)
        if found and found[1] == write.data and LINK not in {write.mode, found[0]}:
            files.set_mode(self._round.root, write.path, write.mode, write.full_mode)
        else:
            files.write(self._round.root, write.path, write.mode, write.data, write.full_mode)

    def write_all(self, writes: Sequence[Write]) -> tuple[list[Write], list[str]]:
        """Write files that are not open in the editor, in this order.

        Returns what was written, and a sentence for each that was not.
        """
        done: list[Write] = []
        refused: list[str] = []
        for write in writes:
            try:
                self.write(write)
            except OSError as error:
                refused.append(str(error))
            else:
                done.append(write)
        return done, refused

    def is_written(self, write: Write) -> bool:
        """Whether the disk has the very bytes."""
        found = files.current(self._round.root, write.path)
        return found is None if write.data is None else found == (write.mode, write.data)

    def force(self, write: Write, saved: Stamp = None) -> None:
        """The editor has saved other bytes than it was given, by a format or a trim on save: write the bytes.

        `saved` is the file's stamp after that, None if nobody knows. Raises WriteRefusedError if somebody has written
        the file since.
        """
        if write.data is not None and not self.is_written(write):
            if saved and stamp(os.path.join(self._round.root, write.path)) != saved:
                raise WriteRefusedError(f"{write.path} has changed since")
            files.write(self._round.root, write.path, write.mode, write.data, write.full_mode)
        elif write.full_mode is not None:
            with contextlib.suppress(WriteRefusedError):  # the text is there, and `finish` tells what isn't
                files.set_mode(self._round.root, write.path, write.mode, write.full_mode)

    def notes(self, path: str = "", key: str = "", lines: tuple[int, int] | None = None) -> dict[str, list[str]]:
        """For each file that is going to be undone, or for one of them, the lines for the agents that changed it."""
        found = [each for each in self._round.waiting() if path in ("", *each.paths)]
        rows = [(each, row) for each, row in zip(found, self._round.rows_of(found), strict=True) if row.agents]
        contents = self._round.contents_of([each for each, _ in rows[:MAX_NOTES]])
        told = {row.path: undone_notes(row, contents.get(each.path), key, lines) for each, row in rows[:MAX_NOTES]}
        return told | {row.path: undone_notes(row, None) for _, row in rows[MAX_NOTES:]}

    def finish(
        self,
        writes: Sequence[Write],
        at_work: Sequence[str] = (),
        notes: Mapping[str, Sequence[str]] = MappingProxyType({}),
    ) -> list[str]:
        """Read what was written, and remember it so that it can be taken back. Returns what is not as it should be.

        `notes` has the lines for the agents, by path.
        """
        failed = self._failed(writes)
        after = {write.path: Entry(write.mode, files.blob_id(write.data)) for write in writes if write.data is not None}
        disk = {write.path: (write.expected, after.get(write.path)) for write in writes}
        agents = {path: self._state.agents[path] for path in disk if path in self._state.agents}
        told = [line for path in disk if path not in failed for line in notes.get(path, ())]
        operation = Operation(disk, agents, time.time(), notes=limited(told))
        self._state.undone = [*self._state.undone, operation][-OPERATIONS_KEPT:]
        try:
            self._round.save()  # whatever the look meets, it can be taken back
            self._look_at_own(disk, at_work)
            after = self._objects.entries(self._state.now, list(disk))
            operation.disk = {write.path: (write.expected, after.get(write.path)) for write in writes}
            self._round.save()
        except OSError as error:
            raise UnseenError(str(error), failed) from error
        return failed

    def _failed(self, writes: Iterable[Write]) -> list[str]:
        """The paths of the files that are not as they should be."""
        return [write.path for write in writes if not self._is_as_it_should_be(write)]

    def _is_as_it_should_be(self, write: Write) -> bool:
        mode = on_disk(self._round.root, write.path) if write.full_mode is not None else None
        try:
            return self.is_written(write) and mode == write.full_mode
        except WriteRefusedError:  # it can't be read
            return False

    def _look_at_own(self, paths: Iterable[str], at_work: Sequence[str]) -> None:
        """Look at what was written here, which is nobody's change."""
        known = {path: list(self._state.agents.get(path, [])) for path in paths}
        for path in known:
            self._round.recent.settling.pop(path, None)
        self._round.look(at_work)
        agents = self._state.agents | known
        self._state.agents = {path: names for path, names in agents.items() if names or path not in known}

    def untold(self) -> list[str]:
        """The lines of what was undone, is not back, and was not told yet."""
        return [line for operation in self._state.undone for line in operation.notes]

    def told(self, lines: Sequence[str]) -> None:
        """These lines were told."""
        for operation in self._state.undone:
            operation.notes = [line for line in operation.notes if line not in lines]
        self._round.save()

    def plan_redo(
        self, passed: list[str] | None = None, without: Collection[float] = ()
    ) -> tuple[Operation, list[Write]]:
        """The last operation of which something can be taken back, and what to write for that.

        `passed` gets a sentence for each that is passed over, because all of its files have changed since. `without`
        has the times of operations that were tried already. Raises WriteRefusedError if there is none to take back.
        """
        passed = [] if passed is None else passed
        for operation in reversed(self._state.undone):
            if operation.at in without:
                continue
            try:
                pairs = [(path, *pair) for path, pair in operation.disk.items() if pair[0] != pair[1]]
                with self.reading((path, before) for path, before, _ in pairs):
                    writes = [self.write_of(*each) for each in pairs]
                changed = self._changed_since(writes)
            except WriteRefusedError as error:
                passed.append(str(error))
                continue
            if len(changed) < len(writes) or not writes:
                return operation, sorted(writes, key=lambda write: write.data is not None)
            passed.append(changed[0])
        raise WriteRefusedError(passed[0] if passed else "nothing was undone")

    def _changed_since(self, writes: Sequence[Write]) -> list[str]:
        changed: list[str] = []
        for write in writes:
            try:
                if not files.is_still(self._round.root, write.path, write.expected):
                    changed.append(f"{write.path} has changed since")
            except WriteRefusedError as error:
                changed.append(str(error))
        return changed

    def finish_redo(self, operation: Operation, writes: Sequence[Write], at_work: Sequence[str] = ()) -> list[str]:
        """Files of an operation are as they were before it, and so is their baseline. The rest can still come back.

        Returns what is not as it should be.
        """
        failed = self._failed(writes)
        written = {write.path for write in writes} - {*failed}
        rest = {path: pair for path, pair in operation.disk.items() if pair[0] != pair[1] and path not in written}
        back = [path for path in operation.disk if path not in rest]
        known = dict(self._state.agents)
        try:
            self._look_at_own(back, at_work)
            self._state.agents |= {path: known.get(path) or operation.agents.get(path, []) for path in back}
            entries = {path: before for path, (before, _) in operation.base.items() if path not in rest}
            if entries:
                self._state.base = self._objects.with_entries(self._state.base, entries)
            if rest:
                operation.disk = rest
                operation.base = {path: pair for path, pair in operation.base.items() if path in rest}
                about = tuple(f"{path}{mark}" for path in back for mark in (":", ", line"))
                operation.notes = [note for note in operation.notes if not note.startswith(about)]
            else:
                self._state.undone.remove(operation)
            self._round.save()
        except OSError as error:
            raise UnseenError(str(error), failed) from error
        return failed
