"""Checkpoints: the folder as it was when a prompt was sent, to compare with and to go back to."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from .entries import Entry, TreeSnapshot
from .files import WriteRefusedError
from .round import Round
from .state import Checkpoint
from .undo import RoundUndo, Write

CHECKPOINTS_KEPT = 200


class Checkpoints:
    """The checkpoints of one round."""

    def __init__(self, round_: Round, undo: RoundUndo) -> None:
        self._round = round_
        self._undo = undo
        self._objects = round_.objects

    def add(
        self, agent: str, words: str, turn: str = "", before: tuple[TreeSnapshot, TreeSnapshot, int] | None = None
    ) -> int:
        """Remember the folder as the last look has it, or as it was `before`: the disk, the baseline, the saves.

        Returns the checkpoint's number.
        """
        state = self._round.state
        number = state.checkpoints[-1].number + 1 if state.checkpoints else 1
        disk, base, saves = before or (state.now, state.base, len(state.saves))
        point = Checkpoint(number, time.time(), agent, words, disk, base, saves, turn)
        state.checkpoints = [*state.checkpoints, point][-CHECKPOINTS_KEPT:]
        self._round.save()
        return number

    def begin_turn(self, agent: str, words: str, turn: str, sent: int) -> None:
        """Remember the folder as it was when a prompt was sent, at a time in nanoseconds of Unix time; 0 for now.

        Call it after a look: an agent may have written its first file before that.
        """
        state = self._round.state
        late = self._round.recent.before(sent) if sent else {}
        disk = self._objects.with_entries(state.now, late) if late else state.now
        self.add(agent, words, turn, (disk, state.base, len(state.saves)))

    def begin_new(self, agent: str, words: str) -> None:
        """Take a checkpoint; what is changed later is marked as new."""
        self._round.state.new_since = self.add(agent, words)
        self._round.save()

    def end(self, turn: str) -> None:
        """The turn of a checkpoint has ended: what is written later is not a part of it."""
        state = self._round.state
        state.checkpoints = [
            replace(each, end=state.now, end_saves=len(state.saves)) if each.turn == turn and not each.end else each
            for each in state.checkpoints
        ]
        self._round.save()

    def of_turn(self, turn: str) -> list[tuple[str, bytes, bytes]] | None:
        """What was changed in a turn of a chat, until now if it still runs: path, old and new content of each file.

        None if there is no checkpoint of it. What isn't compared, such as a link, has no content.
        """
        point = self.begin_of(turn)
        if point is None:
            return None
        state = self._round.state
        disk, saves = (point.end, point.end_saves) if point.end else (state.now, len(state.saves))
        found = self._objects.differences(self._round.with_saves(point.disk, point.saves, saves)[0], disk)
        contents = self._round.contents_of(found)
        known = [contents.get(each.path, (b"", b"")) for each in found]
        return [(each.path, both[0], both[1]) for each, both in zip(found, known, strict=True)]

    def begin_of(self, turn: str) -> Checkpoint | None:
        """The checkpoint at which a turn of a chat began."""
        return next((each for each in reversed(self._round.state.checkpoints) if each.turn == turn), None)

    def files_of_turn(self, turn: str) -> int:
        """How many files were changed in a turn that has ended, without what the person has saved meanwhile."""
        found = self.begin_of(turn)
        if found is None or found.end is None:
            return 0
        start = self._round.with_saves(found.disk, found.saves, found.end_saves)[0]
        return len(self._objects.differences(start, found.end))

    def paths_since(self, point: Checkpoint) -> list[str]:
        """The files that going back to a checkpoint would write."""
        target, conflicts = self._round.with_saves(point.disk, point.saves, len(self._round.state.saves))
        found = self._objects.differences(self._round.state.now, target, renames=False)
        return [each.path for each in found if each.path not in conflicts]

    def point(self, number: int) -> Checkpoint:
        """A checkpoint by its number. Raises WriteRefusedError."""
        found = next((each for each in self._round.state.checkpoints if each.number == number), None)
        if found is None:
            raise WriteRefusedError("this checkpoint is gone")
        return found

    def files_since(self, point: Checkpoint) -> int:
        """How many files differ from a checkpoint."""
        return len(self._objects.differences(point.disk, self._round.state.now))

    def plan(self, number: int) -> tuple[list[Write], dict[str, Entry | None], list[str]]:
        """What to write so that the files are as at a checkpoint, with the person's saves since.

        Also returns the entries of the baseline from then, and what is left alone, a sentence each.
        """
        point = self.point(number)
        target, conflicts = self._round.with_saves(point.disk, point.saves, len(self._round.state.saves))
        base, _ = self._round.with_saves(point.base, point.saves, len(self._round.state.saves))
        writes: list[Write] = []
        left = [f"{path} has your edits in the same lines" for path in conflicts]
        found = self._objects.differences(self._round.state.now, target, renames=False)
        found = [each for each in found if each.path not in conflicts]
        with self._undo.reading((each.path, each.after) for each in found):
            for each in found:
                try:
                    writes.append(self._undo.write_of(each.path, each.after, each.before))
                except WriteRefusedError as error:
                    left.append(str(error))
        entries: dict[str, Entry | None] = {
            each.path: each.after
            for each in self._objects.differences(self._round.state.base, base, renames=False)
            if each.path not in conflicts
        }
        return sorted(writes, key=lambda write: write.data is not None), entries, left

    def finish_restore(
        self, writes: Sequence[Write], base: Mapping[str, Entry | None], at_work: Sequence[str] = ()
    ) -> list[str]:
        """The files of a checkpoint are written: its baseline holds again. Returns what is not as it should be."""
        failed = self._undo.finish(writes, at_work)
        entries = {path: entry for path, entry in base.items() if path not in failed}
        before = self._objects.entries(self._round.state.base, list(entries))
        self._round.state.undone[-1].base = {path: (before.get(path), entry) for path, entry in entries.items()}
        if entries:
            self._round.state.base = self._objects.with_entries(self._round.state.base, entries)
        self._round.settle()
        return failed
