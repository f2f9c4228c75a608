"""Checkpoints: the folder as it was when a prompt was sent, to compare with and to go back to."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf

from ..snapshots.entries import Difference, Entry, TreeSnapshot
from ..snapshots.files import WriteRefusedError
from .lines import Weave
from .round import Round, Seen, Since
from .rows import DOUBTFUL, is_text, named_lines
from .saves import ANOTHER
from .state import Checkpoint, FileState, KnownLines, origins_in, renamed_in
from .undo import RoundUndo, Write

CHECKPOINTS_KEPT = 200
EMPTY_ENTRIES: Mapping[str, Entry | None] = {}
SINCE = 30
"""The last checkpoints whose changes are told apart: each takes a comparison by git."""


class Checkpoints:
    """The checkpoints of one round."""

    def __init__(self, round_: Round, undo: RoundUndo) -> None:
        self._round = round_
        self._undo = undo
        self._objects = round_.objects
        self._changed: dict[tuple[float, float], frozenset[str]] = {}
        """What was changed in turns that are over, before the next one began: by the moments of both."""

    def add(self, agent: str, words: str, turn: str = "", seen: Seen | None = None) -> int:
        """Remember the folder as it was before something was `seen`, or as the last scan has it.

        Returns the checkpoint's number.
        """
        state = self._round.state
        number = state.next_number()
        seen = seen or Seen(before=state.now, base=state.base, at=state.moment(), known=state.known)
        there = self._objects.entries(seen.before, list(seen.known))  # what was renamed since is not there yet
        own = {path: replace(each, agents=()) for path, each in seen.known.items()}
        own |= {path: replace(each, origin="", is_parted=False) for path, each in own.items() if path not in there}
        own = {path: each for path, each in own.items() if each != FileState()}
        point = Checkpoint(number, seen.at, agent, words, seen.before, seen.base, turn, known=own)
        state.checkpoints = [*state.checkpoints, point][-CHECKPOINTS_KEPT:]
        self._round.save()
        return number

    def begin_turn(self, agent: str, words: str, turn: str, sent: int) -> None:
        """Remember the folder as it was when a prompt was sent, at a time in nanoseconds of Unix time; 0 for now.

        Call it after a scan: an agent may have written its first file before that. A turn that goes on, such as after
        a reload, has begun already.
        """
        if (begun := self.begin_of(turn)) and not begun.end:
            return
        state = self._round.state
        self._round.note_empty(self._round.store.index.empty())
        late = self._round.recent.before(sent) if sent else {}
        entries = {path: each.before for path, each in late.items()}
        disk = self._objects.with_entries(state.now, entries) if entries else state.now
        known = state.known | {path: replace(state.of(path), lines=each.lines) for path, each in late.items()}
        self.add(agent, words, turn, Seen(before=disk, base=state.base, at=state.moment(), known=known))

    def begin_new(self, agent: str, words: str) -> None:
        """Take a checkpoint; what is changed later is marked as new."""
        self._round.state.new_since = self.add(agent, words)
        self._round.save()

    def end(self, turn: str) -> None:
        """The turn of a checkpoint has ended: what is written later is not a part of it."""
        state = self._round.state
        state.checkpoints = [
            replace(each, end=state.now, end_at=state.moment()) if each.turn == turn and not each.end else each
            for each in state.checkpoints
        ]
        self._round.save()

    def of_turn(self, turn: str) -> list[tuple[str, bytes, bytes]] | None:
        """What was changed in a turn, until now if it still runs: path, old and new content of each file.

        None if there is no checkpoint of it. What isn't compared, such as a link, has no content.
        """
        point = self.begin_of(turn)
        if point is None:
            return None
        disk, at = self._end_of(point)
        found = self._objects.differences(self._round.with_saves(point, at), disk)
        contents = self._round.contents_of(found)
        known = [contents.get(each.path, (b"", b"")) for each in found]
        return [(each.path, both[0], both[1]) for each, both in zip(found, known, strict=True)]

    def key_of(self, point: Checkpoint) -> str:
        """The key of the turn that began at a checkpoint: its own, or one for what a quiet minute came before."""
        return point.turn or f"{self._round.root}:{point.number}"

    def _agents(self, point: Checkpoint, path: str) -> tuple[str, ...]:
        """Who had written what waited of a file at a checkpoint, as the first decision after it knew."""
        known = (
            each.known[path].agents for each in self._round.state.decided if each.at > point.at and path in each.known
        )
        return next(filter(None, known), self._round.state.of(path).agents or (point.agent or ANOTHER,))

    def begin_of(self, turn: str) -> Checkpoint | None:
        """The checkpoint at which a turn began."""
        return next((each for each in reversed(self._round.state.checkpoints) if self.key_of(each) == turn), None)

    def _end_of(self, point: Checkpoint) -> tuple[TreeSnapshot, float]:
        """The folder and the moment when a turn ended: without a word of that, when the next one began."""
        state = self._round.state
        if point.end:
            return point.end, point.end_at
        later = (each for each in state.checkpoints if each.at > point.at and not point.turn)
        following = next(later, None)
        return (following.disk, following.at) if following else (state.now, inf)

    def turns_of(self, paths: Iterable[str]) -> dict[str, list[Checkpoint]]:
        """The checkpoints of the prompts after which each file was changed, the last one first.

        Without what the person has saved, and without those of which nothing waits in the file, unless it is all.
        """
        state = self._round.state
        left, found, over = set(paths), dict[str, list[Checkpoint]](), dict[str, list[Checkpoint]]()
        points = state.checkpoints[: -1 - SINCE : -1]
        for point, following in zip(points, (None, *points), strict=False):
            known = found.keys() | over.keys()
            if following and (again := known & self._changed_before(following, point)):
                for path in self._waiting(point, again):
                    found.setdefault(path, []).append(point)
            if left:
                since = left & self._changed_in(point, state.now, inf)
                waiting = self._waiting(point, since)
                found |= {path: [point] for path in waiting}
                over |= {path: [point] for path in since - waiting}
                left -= since
        return over | found

    def _changed_in(self, point: Checkpoint, end: TreeSnapshot, at: float) -> set[str]:
        """The files that were changed from a checkpoint on, but for what the person has saved until then."""
        start = self._round.with_saves(point, at)
        return {path for each in self._objects.differences(start, end, renames=False) for path in each.paths}

    def _changed_before(self, following: Checkpoint, point: Checkpoint) -> frozenset[str]:
        """The files that were changed in the turn of a checkpoint before the following one."""
        key = point.at, following.at
        if (known := self._changed.get(key)) is not None:
            return known
        changed = self._changed_in(point, following.disk, following.at)
        if point.end:
            changed &= self._changed_in(point, point.end, point.end_at)
            last = self._round.state.checkpoints[-SINCE:]
            self._changed = {each: paths for each, paths in self._changed.items() if each[0] >= last[0].at}
            self._changed[key] = frozenset(changed)
        return frozenset(changed)

    def _waiting(self, point: Checkpoint, paths: Collection[str]) -> set[str]:
        """Those of some files in which something waits that was changed in the turn of a checkpoint."""
        then = self._base(point, self._round.since(point))
        before, now = (self._objects.entries(each, sorted(paths)) for each in (then, self._round.state.base))
        # If only the person's saves have changed the baseline since, nothing was kept.
        whole = {path for path in paths if before.get(path) == now.get(path)}
        return whole | self._partly(point, sorted({*paths} - whole))

    def _partly(self, point: Checkpoint, paths: Sequence[str]) -> set[str]:
        """Those of some files in which a line that was changed in the turn of a checkpoint waits for the person."""
        if not paths:
            return set()
        end, at = self._end_of(point)
        state = self._round.state
        start = self._round.with_saves(point, at)
        trees = [self._objects.entries(each, paths) for each in (start, end, state.base, state.now)]
        entries = {path: [tree.get(path) for tree in trees] for path in paths}
        texts = {path for path in paths if all(each is None or is_text(each) for each in entries[path])}
        data = self._objects.read(each.blob for path in texts for each in entries[path] if each)
        found: set[str] = set()
        for path in texts:
            if all(each is None or each.blob in data for each in entries[path]):
                begun, ended, base, now = (data[each.blob] if each else None for each in entries[path])
                if Weave.of(begun, ended).changed & Weave.of(base, now).changed:
                    found.add(path)
        return found

    def files_of_turn(self, turn: str) -> int:
        """How many files were changed in a turn that has ended, without what the person has saved meanwhile."""
        found = self.begin_of(turn)
        if found is None or found.end is None:
            return 0
        start = self._round.with_saves(found, found.end_at)
        return len(self._objects.differences(start, found.end))

    def back_to(self, point: Checkpoint) -> list[Difference]:
        """What going back to a checkpoint changes: the files as they are now, and as they are then.

        A renamed file is one. This is what is counted and named wherever somebody asks how many files that are.
        """
        return self._objects.differences(self._round.state.now, self._target(point)[0])

    def point(self, number: int) -> Checkpoint:
        """A checkpoint by its number. Raises WriteRefusedError."""
        found = next((each for each in self._round.state.checkpoints if each.number == number), None)
        if found is None:
            raise WriteRefusedError("this checkpoint is gone")
        return found

    def _target(self, point: Checkpoint, *, is_all: bool = False) -> tuple[TreeSnapshot, Since]:
        """The folder as at a checkpoint, with what the person has written since, and that.

        Lines that both have written since, or may have, are there, too, unless `is_all`.
        """
        state, weave = self._round.state, self._round.weave
        since = self._round.since(point, is_all=is_all)
        target = self._objects.with_entries(point.disk, since.disk) if since.disk else point.disk
        lines = {} if is_all else {path: each.lines for path, each in state.known.items() if each.lines}
        doubtful = {path: known for path, known in lines.items() if {*known.ops} & {*DOUBTFUL}}
        entries: dict[str, Entry | None] = {}
        for path, ours in doubtful.items():
            origin = state.origin_of(path)
            known, disk = self._objects.entry(state.base, origin), self._objects.entry(state.now, path)
            names = (path, origin, *(new for new, old in since.renamed.items() if old == origin))
            at = next((name for name in names if self._objects.entry(target, name)), path)
            before = self._objects.entry(target, at)
            if disk is None or disk == before:
                continue
            found, made = weave(known, disk, ours.ops), weave(before, disk)
            left = made.marked(found).undone() if made and found else None
            if left and (left.disk or before):
                entries[at] = Entry(disk.mode, self._objects.write(left.disk))
        return self._objects.with_entries(target, entries) if entries else target, since

    def _base(self, point: Checkpoint, since: Since, more: Mapping[str, Entry | None] = EMPTY_ENTRIES) -> TreeSnapshot:
        """The baseline of a checkpoint with what the person has written since: `more` is known by the paths on disk."""
        base = since.base | {**more}
        origins = {
            new: old for new, old in renamed_in(point.known).items() if new in since.renamed and not base.get(old)
        }
        entries = {path: entry for path, entry in base.items() if path not in {*origins, *origins.values()}}
        entries |= {old: base[new] for new, old in origins.items() if new in base}
        return self._objects.with_entries(point.base, entries) if entries else point.base

    def _at(self, point: Checkpoint, path: str) -> tuple[Entry | None, Entry | None]:
        """The baseline and the file that were at a path of the disk at a checkpoint."""
        renamed, disk = renamed_in(point.known), self._objects.entry(point.disk, path)
        is_elsewhere = path in renamed.values()
        return None if is_elsewhere else self._objects.entry(point.base, renamed.get(path, path)), disk

    def _lines(self, point: Checkpoint, path: str, after: Entry | None) -> tuple[Entry | None, KnownLines] | None:
        """The baseline of a file that a restore brings about, and its lines: whose they were at the checkpoint.

        `path` is that of then. None if it can't be compared, or nothing of it waited.
        """
        before, disk = self._at(point, path)
        if before == disk or disk is None or after is None:
            return None
        known = point.known[path].lines if path in point.known else None
        is_known = known and known[:2] == (before.blob if before else "", disk.blob)
        weave = self._round.weave(before, disk, known.ops if known and is_known else "")
        data = self._round.data(after)
        if weave is None or data is None:
            return None
        saved = weave.saved(data)
        base = before
        if saved.base != weave.base:
            base = Entry((before or after).mode, self._objects.write(saved.base))
        return base, KnownLines(base.blob if base else "", after.blob, saved.ops)

    def protected(self, number: int, sees: Callable[[str], bool]) -> list[str]:
        """What is the person's, too, or may be, in what a restore would take away: a line for each, with its file."""
        point, state = self.point(number), self._round.state
        kept, rest = self._target(point)[0], self._target(point, is_all=True)[0]
        there = {each.origin: new for new, each in state.known.items() if each.origin}
        told: list[str] = []
        for each in self._objects.differences(rest, kept, renames=False):
            origin = origins_in(point.known).get(each.path, each.path)
            sides = [(path, self._objects.entry(state.now, path)) for path in (each.path, there.get(origin, origin))]
            path, now = next((side for side in sides if side[1]), ("", None))
            if not sees(path) or now is None or now == each.after == each.before:
                continue
            entries = [each.before, each.after, now]
            if not all(is_text(entry) for entry in entries if entry):
                told.append(path)
                continue
            data = self._objects.read(entry.blob for entry in entries if entry)
            told += named_lines(path, *(data.get(entry.blob, b"") if entry else b"" for entry in entries))
        return told

    def plan(self, number: int, *, is_all: bool = False) -> tuple[list[Write], dict[str, Entry | None], list[str]]:
        """What to write so that the files are as at a checkpoint, with the person's saves since.

        Lines that both have written since, or may have, stay, unless `is_all`. Also returns the entries of the
        baseline from then, and what is left alone, a sentence each.
        """
        point = self.point(number)
        target, since = self._target(point, is_all=is_all)
        changed_since: dict[str, Entry | None] = {}
        for each in self._objects.differences(point.disk, target, renames=False):
            before, disk = self._at(point, source := since.moved.get(each.path, each.path))
            if before == disk:
                changed_since[each.path] = each.after
            elif known := self._lines(point, source, each.after):
                changed_since[each.path] = known[0]
        base = self._base(point, since, changed_since)
        writes: list[Write] = []
        left: list[str] = []
        found = self._objects.differences(self._round.state.now, target)
        with self._undo.reading((each.path, each.after) for each in found):
            for each in found:
                try:
                    writes += self._undo.writes_of(each)
                except WriteRefusedError as error:
                    left.append(str(error))
        changed = self._objects.differences(self._round.state.base, base, renames=False)
        entries = {each.path: each.after for each in changed}
        return sorted(writes, key=lambda write: write.target is not None), entries, left

    def finish_restore(self, writes: Sequence[Write], base: Mapping[str, Entry | None], number: int = 0) -> list[str]:
        """The files of a checkpoint are written: its baseline holds again. Returns what is not as it should be.

        With the checkpoint's number it is known again whose lines they were.
        """
        state = self._round.state
        known = {path: state.known[path] for path in base if path in state.known}
        operation, failed = self._undo.note(writes)
        entries = {path: entry for path, entry in base.items() if path not in failed}
        before = self._objects.entries(state.base, list(entries))
        operation.base = {path: (before.get(path), entry) for path, entry in entries.items()}
        if entries:
            state.base = self._objects.with_entries(state.base, entries)
        operation.known = known | operation.known
        point = next((each for each in state.checkpoints if each.number == number), None)
        if point:
            done = {*entries, *(write.path for write in writes)} - {*failed}
            since = self._round.since(point)
            for new, old in since.renamed.items():
                if {new, old} & done and not {new, old} & {*failed}:  # it is listed as a renamed one again
                    state.know(new, origin=old, is_parted=point.known[new].is_parted)
                    done.add(new)
            now = self._objects.entries(state.now, list(done))
            found = {path: self._lines(point, since.moved.get(path, path), now.get(path)) for path in done}
            for path, lines in found.items():
                was_created = path in point.known and point.known[path].is_created
                state.know(path, is_created=was_created or state.of(path).is_created)
                if lines:
                    state.know(path, lines=lines[1])
            for path in done & {path for each in self._round.waiting() for path in each.paths}:
                state.know(path, agents=self._agents(point, path))
        self._undo.see(operation)
        self._round.settle()
        return failed
