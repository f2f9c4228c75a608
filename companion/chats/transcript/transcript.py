"""A chat as text: what has changed in a conversation becomes edits, at a cost that goes with the change.

Each turn is a row of pieces (`pieces.py`), one for each item, with the separator before it. An item
that is the same object as before is not looked at again, and a message that grows is only appended to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...conversation.snapshot import Locality, Snapshot, Unsent
from ...review.changes import TextEdit
from . import status_text, wording
from .pieces import Piece
from .render import MARK, Kept, Render
from .turn_text import TurnText
from .writer import TranscriptMarks, Writer


class Transcript:
    """A chat's text, updated by one snapshot after the other. Not thread-safe."""

    def __init__(self) -> None:
        self.own_clients: set[str] = set()
        """The ids of the clients that are ours. Answers of others are shown as another client's."""
        self.shows_diffs = True
        """Whether what would be changed opens as a diff; if not, the question shows it in full."""
        self._header, self._tail = Piece(), Piece()
        self._order: tuple[str, ...] = ()
        self._turns: list[TurnText] = []
        self._index: dict[str, int] = {}
        """Where in them each turn is, by its key."""
        self._before = _Marks()
        self._context = wording.Context("", frozenset[str]())
        self._is_new = True

    @property
    def text(self) -> str:
        """The whole text, as the frames so far make it."""
        return "".join(piece.text for piece in self._pieces())

    def reset(self) -> None:
        """Let the next frame replace all, for a view that doesn't have what the frames before have made."""
        self._is_new = True

    def update(
        self, snapshot: Snapshot, locality: Locality, session: str = "", unsent: tuple[Unsent, ...] = ()
    ) -> Render:
        """The changes since the view before. The first view must have all turns."""
        length = self._length
        first, edits = self._change(snapshot, locality, unsent)
        if self._is_new:
            edits = [TextEdit(0, length, self.text)]
        marks = self._before.of(self._turns, first)
        render = Render(
            self._is_new,
            tuple(_merged(edits)),
            self._length,
            tuple(marks.folds),
            tuple(marks.links),
            tuple(marks.codes),
            tuple(marks.asks),
            tuple(marks.said),
            tuple(marks.running),
            snapshot.status,
            locality,
            session,
            unsent,
            self._header.length,
            Kept() if self._is_new else self._before.count,
        )
        self._is_new = False
        return render

    @property
    def _length(self) -> int:
        return self._tail.start + self._tail.length

    def _pieces(self) -> Iterator[Piece]:
        yield self._header
        for turn in self._turns:
            yield from turn.pieces
        yield self._tail

    def _change(self, snapshot: Snapshot, locality: Locality, unsent: tuple[Unsent, ...]) -> tuple[int, list[TextEdit]]:
        """Change the text. Returns from which turn on something may have changed or moved, and the edits."""
        changed = {turn.key: turn for turn in snapshot.changed}
        context = wording.Context(locality.folder, frozenset(self.own_clients), locality.agent, self.shows_diffs)
        is_other = context != self._context
        if is_other:
            self._context = context
            for turn in self._turns:
                turn.forget()
        before = self._header.length
        edits = list(_put(self._header, 0, "", status_text.header(locality)))
        first = 0 if is_other or self._header.length != before else len(self._turns)
        if snapshot.order != self._order:
            first = min(first, self._reorder(snapshot.order, edits))
        first = min((first, *(self._index[key] for key in changed if key in self._index)))
        at = self._end(first)
        for turn in self._turns[first:]:
            turn.move(at)
            edits += turn.update(changed.get(turn.key), context)
            at += turn.length
        above = status_text.tail(snapshot.status, unsent)
        edits += _put(self._tail, at, "\n\n", above + "\n" + MARK if above else MARK[1:])
        return first, edits

    def _end(self, count: int) -> int:
        """Where the first `count` turns end."""
        last = self._turns[count - 1] if count else None
        return last.start + last.length if last else self._header.length

    def _reorder(self, order: tuple[str, ...], edits: list[TextEdit]) -> int:
        """Have these turns, in their order; new ones are empty yet. Returns how many of the first stay as they are."""
        before, self._order = self._order, order
        if order[: len(before)] == before:
            stays = len(before)
            self._turns += [TurnText(key) for key in order[stays:]]
        else:
            stays = 0
            self._replace(order, edits)
        self._index.update({key: at for at, key in enumerate(order[stays:], stays)})
        return stays

    def _replace(self, order: tuple[str, ...], edits: list[TextEdit]) -> None:
        known = {turn.key: turn for turn in self._turns}
        wanted = set(order)
        stay = {key for key in known if key in wanted}
        if [key for key in known if key in stay] != [key for key in order if key in stay]:
            stay.clear()
        at = self._header.length
        for key, turn in known.items():
            if key in stay:
                at += turn.length
            elif turn.length:
                edits.append(TextEdit(at, at + turn.length, ""))
        self._turns = [
            known[key] if key in stay else TurnText(key, turn.shown if (turn := known.get(key)) else None)
            for key in order
        ]
        self._index.clear()


class _Marks:
    """The marks of the turns that stay as they are, so that a frame costs no more in a long chat."""

    def __init__(self) -> None:
        self._count = 0
        self._kept = TranscriptMarks()

    @property
    def count(self) -> Kept:
        """How many there are of those that an editor shows one by one."""
        return Kept(len(self._kept.folds), len(self._kept.links), len(self._kept.codes), len(self._kept.said))

    def of(self, turns: list[TurnText], first: int) -> TranscriptMarks:
        """The marks of all turns, of which those before `first` haven't changed."""
        if first < self._count:
            self._count, self._kept = 0, TranscriptMarks()
        self._kept.add(turn.marks for turn in turns[self._count : first])
        self._count = first
        marks = TranscriptMarks()
        marks.add((self._kept, *(turn.marks for turn in turns[first:])))
        return marks


def _merged(edits: Iterable[TextEdit]) -> Iterator[TextEdit]:
    """The edits, with adjacent insertions and deletions joined: each edit costs an editor something."""
    last: TextEdit | None = None
    parts: list[str] = []
    for edit in edits:
        if last and edit.start == edit.end == last.start + sum(map(len, parts)) and last.start == last.end:
            parts.append(edit.text)
            continue
        if last and not (edit.text or "".join(parts)) and edit.start == last.start:
            last = TextEdit(last.start, last.end + edit.end - edit.start, "")
            continue
        if last:
            yield TextEdit(last.start, last.end, "".join(parts))
        last, parts = edit, [edit.text]
    if last:
        yield TextEdit(last.start, last.end, "".join(parts))


def _put(piece: Piece, at: int, lead: str, text: str) -> list[TextEdit]:
    piece.move(at)
    return piece.put(lead, Writer(text))
