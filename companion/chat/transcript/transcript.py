"""A chat as text: what has changed in a conversation becomes edits, at a cost that goes with the change.

Each turn is a row of pieces (`pieces.py`), one for each item, with the separator before it. An item
that is the same object as before is not looked at again, and a message that grows is only appended to.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from ...conversation.snapshot import Locality, Snapshot, Unsent
from ...review.changes import Edit
from . import wording
from .pieces import Piece
from .render import MARK, Render
from .turn_text import TurnText
from .writer import Writer


class Transcript:
    """A chat's text, updated by one snapshot after the other. Not thread-safe."""

    def __init__(self) -> None:
        self.own_clients: set[str] = set()
        """The ids of the clients that are ours. Answers of others are shown as another client's."""
        self.shows_diffs = True
        """Whether what would be changed opens as a diff; if not, the question shows it in full."""
        self._header, self._tail = Piece(), Piece()
        self._turns: dict[str, TurnText] = {}
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
        edits = list(self._changes(snapshot, locality, unsent))
        if self._is_new:
            edits = [Edit(0, length, self.text)]
        render = Render(
            self._is_new,
            tuple(edits),
            self._length,
            tuple(chain.from_iterable(turn.marks.folds for turn in self._turns.values())),
            tuple(chain.from_iterable(turn.marks.links for turn in self._turns.values())),
            tuple(chain.from_iterable(turn.marks.codes for turn in self._turns.values())),
            tuple(chain.from_iterable(turn.marks.asks for turn in self._turns.values())),
            snapshot.status,
            locality,
            session,
            unsent,
        )
        self._is_new = False
        return render

    @property
    def _length(self) -> int:
        return self._tail.start + self._tail.length

    def _pieces(self) -> Iterator[Piece]:
        yield self._header
        for turn in self._turns.values():
            yield from turn.pieces
        yield self._tail

    def _changes(self, snapshot: Snapshot, locality: Locality, unsent: tuple[Unsent, ...]) -> Iterator[Edit]:
        changed = {turn.key: turn for turn in snapshot.changed}
        context = wording.Context(locality.folder, frozenset(self.own_clients), self.shows_diffs)
        if context != self._context:
            self._context = context
            for turn in self._turns.values():
                turn.forget()
        yield from _put(self._header, 0, "", wording.header(locality))
        at = self._header.length
        yield from self._reorder(snapshot.order, at)
        for key, turn in self._turns.items():
            turn.move(at)
            yield from turn.update(changed.get(key), context)
            at += turn.length
        above = wording.tail(snapshot.status, unsent)
        yield from _put(self._tail, at, "\n\n", above + "\n" + MARK if above else MARK[1:])

    def _reorder(self, order: tuple[str, ...], at: int) -> Iterator[Edit]:
        """Have the turns that there are, in their order; those that are new are empty yet."""
        if tuple(self._turns) == order:
            return
        wanted = set(order)
        stay = {key for key in self._turns if key in wanted}
        if [key for key in self._turns if key in stay] != [key for key in order if key in stay]:
            stay.clear()
        for key, turn in self._turns.items():
            if key in stay:
                at += turn.length
            elif turn.length:
                yield Edit(at, at + turn.length, "")
        before = self._turns
        self._turns = {
            key: before[key] if key in stay else TurnText(key, turn.shown if (turn := before.get(key)) else None)
            for key in order
        }


def _put(piece: Piece, at: int, lead: str, text: str) -> list[Edit]:
    piece.move(at)
    return piece.put(lead, Writer(text))
