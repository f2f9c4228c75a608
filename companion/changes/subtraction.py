"""Taking one decision of the person out of a baseline that has changed since.

What a decision has changed in the baseline goes, line by line, and whatever else was kept, undone or saved since stays.
An agent's line that the person has edited since it was kept belongs to both; one that a later decision has changed is
that one's. Everything here blocks and runs on the folder's worker thread.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..snapshots.entries import Entry
from ..snapshots.files import WriteRefusedError, blob_id
from .lines import Weave
from .round import Round
from .state import FileState, KnownLines, Operation


@dataclass(frozen=True, slots=True)
class Subtracted:
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


class Subtraction:
    """Takes decisions out of the baseline of one round."""

    def __init__(self, round_: Round) -> None:
        self._round = round_
        self._objects = round_.objects

    def of(self, operation: Operation, rest: Collection[str] = ()) -> tuple[list[Subtracted], dict[str, str]]:
        """The files of a decision but for the `rest`, and why by path for those of which nothing can be taken back."""
        state = self._round.state
        moved = {old: new for new, old in state.renamed().items()}
        renamed = {new: each.origin for new, each in operation.known.items() if each.origin and not each.is_parted}
        origins = {new: old for new, old in renamed.items() if new in operation.files}
        names = {old: new for new, old in renamed.items()}  # a part of it was decided: its baseline stays there
        base = self._objects.entries(state.base, [*operation.files, *origins.values()])
        disk = self._objects.entries(state.now, [moved.get(path, path) for path in operation.files])
        disk |= {moved.get(path, path): before for path, (before, _) in operation.disk.items()}
        found: list[Subtracted] = []
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
    ) -> Subtracted:
        """Raises WriteRefusedError if the baseline has nothing of what was decided, or can't be compared with it."""
        (file, at, origin), (then, disk), now = places, known, entries.get(places[1])
        before = operation.base[origin][0] if origin in operation.base else entries.get(origin)
        after = operation.base[at][1] if at in operation.base else now
        if now == after and then and then[:2] == _ids(before, disk):
            return Subtracted(*places, before is None, before, then, None, ())
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
        return Subtracted(*places, before is None, base, None, lines, [each for each in (waiting, decided) if each])

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

    def apply(self, found: Collection[Subtracted]) -> None:
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

    def _noted(self, each: Subtracted, disk: Entry | None) -> Entry | None:
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
