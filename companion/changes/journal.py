"""What is about to be written into a folder, noted before its first file is touched.

An undo, a restore of a checkpoint, or taking one back writes files one after the other. The plan of it is in the store
until all of that is noted in the round: whoever opens the store after a kill finishes it. *Keep* needs none, as it only
replaces `round.json`, which is one step. Everything here blocks and runs on the folder's worker thread.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ..platforms.files import rename
from ..snapshots import files
from ..snapshots.entries import Entry, on_disk
from ..snapshots.files import WriteRefusedError
from .round import Round
from .state import Chosen, made, plain
from .undo import RoundUndo, Write

logger = logging.getLogger(__name__)

FILE = "journal.json"
_VERSION = 3


@dataclass(frozen=True, slots=True)
class Intent:
    """What is going to be written, and what is noted in the round after that."""

    kind: Literal["undo", "person", "back", "restore"]
    writes: Sequence[Write]
    path: str = ""
    """Of the undo of changes: their file, and the changes."""
    chosen: Sequence[Chosen] = ()
    is_all: bool = False
    """Whether lines that the person has changed, too, are undone with them."""
    operation: float = 0.0
    """Of taking back: the time of the operation that it takes back."""
    point: int = 0
    """Of a restore: the number of the checkpoint."""
    base: Mapping[str, Entry | None] = field(default_factory=dict[str, Entry | None])
    """Of a restore: the entries of the baseline."""
    after: float = 0.0
    """Of what is pending: the time of the last decision before it; 0 without one."""

    @property
    def entries(self) -> Sequence[Entry | None]:
        """What the store must have until all of it is noted."""
        return [*self.base.values(), *(entry for write in self.writes for entry in (write.target, write.base))]


class StoppedError(OSError):
    """The folder was let go before everything was written: the journal still has it."""


class Journal:
    """The journal of one round."""

    def __init__(self, round_: Round, undo: RoundUndo) -> None:
        self._round = round_
        self._undo = undo
        self._path = os.path.join(round_.store.path, FILE)

    def begin(self, intent: Intent) -> None:
        """Note what is going to be done; it is on the disk when this returns. Raises WriteRefusedError."""
        try:
            decided = self._round.state.decided
            about = replace(intent, after=decided[-1].at if decided else 0.0)
            known = {"version": _VERSION, "about": about}
            _write_through(self._path, json.dumps(known, default=plain).encode())
        except OSError as error:
            raise WriteRefusedError(f"it can't be noted what is to be done: {error}") from error
        self._round.writing = intent.entries

    def end(self) -> None:
        """All of it is noted in the round."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path)
        self._round.writing = ()
        self._undo.expect(())

    def pending(self) -> Intent | None:
        """What an editor that was killed had begun and not noted, without its temporary files. Raises OSError."""
        try:
            with open(self._path, "rb") as file:
                known: dict[str, Any] = json.load(file)
            if known["version"] != _VERSION:
                raise ValueError(f"it has the form {known['version']}")  # noqa: TRY301 - all that can't be read
            intent: Intent = made(Intent, known["about"])
        except FileNotFoundError:
            return None
        except (ValueError, LookupError, TypeError) as error:
            logger.warning("The journal of %s can't be read: %s", self._round.root, error)
            self.end()
            return None
        files.clear_temporaries(self._round.root, [write.path for write in intent.writes])
        if self._is_noted(intent):
            self.end()
            return None
        self._undo.expect(write.target for write in intent.writes)
        self._round.writing = intent.entries
        return intent

    def _is_noted(self, intent: Intent) -> bool:
        """Whether the round knows of it already: the editor was killed just before it removed the journal."""
        undone = self._round.state.decided
        if intent.kind == "back":
            return all(each.at != intent.operation for each in undone)
        return any(each.disk and each.at > intent.after for each in undone)

    def sorted_out(self, intent: Intent) -> tuple[list[Write], list[Write], list[str]]:
        """What was written of an intent, what is still to be written, and a sentence for each file that changed.

        Where a part of a renamed file has changed, the others are left as they are.
        """
        done: list[Write] = []
        rest: list[Write] = []
        left: list[str] = []
        for write in intent.writes:
            try:
                if self._undo.is_written(write):
                    done.append(write)
                elif files.is_still(self._round.root, write.path, write.expected):
                    rest.append(write)
                else:
                    left.append(f"{write.path} has changed since")
            except WriteRefusedError as error:
                left.append(str(error))
        possible = {write.path for write in (*done, *rest)}
        broken = {write.whole for write in intent.writes if write.whole and write.path not in possible}
        return done, [write for write in rest if write.whole not in broken], left

    def write_all(self, writes: Sequence[Write], is_over: Callable[[], bool]) -> tuple[list[Write], list[str]]:
        """Write files that are not open in the editor, in this order.

        Returns what was written, and a sentence for each that was not. Raises StoppedError as soon as `is_over`.
        """
        done: list[Write] = []
        refused: list[str] = []
        for parts in _units(writes):
            if is_over():
                raise StoppedError("the folder was let go")
            try:
                self._write(parts)
            except OSError as error:
                refused.append(str(error))
            else:
                done += parts
        return done, refused

    def _write(self, parts: Sequence[Write]) -> None:
        """Write a file, or all parts of a renamed one: if one can't be written, the others are as they were."""
        root = self._round.root
        if len(parts) == 1:
            self._undo.write(parts[0])
            return
        for write in parts:
            if not files.is_still(root, write.path, write.expected):
                raise WriteRefusedError(f"{write.path} has changed since")
        written: list[tuple[str, tuple[str, bytes] | None, int | None]] = []
        try:
            for write in parts:
                before = write.path, files.current(root, write.path), on_disk(root, write.path)
                self._undo.write(write)
                written.append(before)
        except OSError:
            for path, found, mode in reversed(written):
                if found is None:
                    files.delete(root, path, frozenset(self._round.state.empty))
                else:
                    files.write(root, path, *found, mode)
            raise


def _units(writes: Sequence[Write]) -> list[list[Write]]:
    """The files and the renamed files: what is deleted comes first, as a folder may be in the place of a file."""
    units: dict[str, list[Write]] = {}
    for write in writes:
        units.setdefault(f"{write.whole}\0" if write.whole else write.path, []).append(write)
    return sorted(units.values(), key=lambda unit: 1 if len(unit) > 1 else 2 * (unit[0].target is not None))


def _write_through(path: str, data: bytes) -> None:
    """Write a file of the store so that a loss of power doesn't lose it."""
    with open(os.open(f"{path}.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    rename(f"{path}.new", path)
    if sys.platform != "win32":
        folder = os.open(os.path.dirname(path), os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
