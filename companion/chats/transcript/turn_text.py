"""A turn as text: a piece for each of its items, and one for its end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from ...conversation.snapshot import ChatNotice, Item, Message, Tool, Turn
from ...review.changes import TextEdit
from . import status_text, wording
from .pieces import MessagePiece, Piece
from .plain import GAP, YOU, flat
from .render import Said
from .writer import TranscriptMarks, Writer

_SHELL = f"❯{GAP}Shell\n"
_NOTHING = Writer("")


@dataclass(slots=True)
class _Slot:
    """An item's piece, and the item that it was last made from."""

    piece: Piece
    sort: object
    item: Item | None = None
    circumstances: object = None


class TurnText:
    """A turn's pieces. `shown` is the turn to make them from, if it is known."""

    def __init__(self, key: str, shown: Turn | None = None) -> None:
        self.start = 0
        self.length = 0
        self.marks = TranscriptMarks()
        self.shown: Turn | None = shown
        self.key = key
        self._slots: list[_Slot] = []
        self._ending = Piece()
        self._is_stale = True

    @property
    def pieces(self) -> Iterator[Piece]:
        """In their order."""
        return chain((slot.piece for slot in self._slots), (self._ending,))

    def forget(self) -> None:
        """Have the next update write everything again, because the context has changed."""
        self._is_stale = True
        for slot in self._slots:
            slot.item = None

    def move(self, start: int) -> None:
        """Begin at another point."""
        if by := start - self.start:
            self.start = start
            for piece in self.pieces:
                piece.move(piece.start + by)
            self._gather()

    def update(self, turn: Turn | None, context: wording.Context) -> Iterator[TextEdit]:
        """Replace the turn; None leaves it as it is. The text before it is up to date."""
        turn = turn or (self.shown if self._is_stale else None)
        if turn is None:
            return
        self.shown, self._is_stale = turn, False
        at, flow = self.start, _Flow(f"◆{GAP}{flat(context.agent)}\n")
        growing = len(turn.items) - 1
        while growing > 0 and _is_aside(turn.items[growing]):
            growing -= 1
        for index, item in enumerate(turn.items):
            key = f"{self.key}/{index}"
            slot = self._slots[index] if index < len(self._slots) else None
            if slot is None or slot.sort != _sort(item):
                if slot and slot.piece.length:
                    yield TextEdit(at, at + slot.piece.length, "")
                slot = _Slot(_piece(item, key), _sort(item))
                self._slots[index : index + 1] = [slot]
            slot.piece.move(at)
            is_running = turn.state == "running" and (not isinstance(item, Message) or index >= growing)
            circumstances = flow.lead(item, is_running=is_running), is_running
            if slot.item is not item or slot.circumstances != circumstances:
                slot.item, slot.circumstances = item, circumstances
                yield from _write(slot.piece, item, *circumstances, key, context)
            at += slot.piece.length
        if gone := sum(slot.piece.length for slot in self._slots[len(turn.items) :]):
            yield TextEdit(at, at + gone, "")
        del self._slots[len(turn.items) :]
        self._ending.move(at)
        yield from self._ending.put(*flow.ending(turn))
        self.length = at + self._ending.length - self.start
        self._gather()

    def _gather(self) -> None:
        self.marks = TranscriptMarks()
        self.marks.add(piece.marks for piece in self.pieces)


class _Flow:
    """Remembers the last item of a turn, which decides what separates the next one from it."""

    def __init__(self, heading: str) -> None:
        """`heading` is the line above what the agent says."""
        self._heading = heading
        self._side: Literal["", "user", "agent"] = ""
        self._is_line = False

    def lead(self, item: Item, *, is_running: bool) -> str:
        """The text before an item; empty for an item that isn't shown."""
        match item:
            case Message(speaker="user" | "shell" as speaker, parent=None):
                if not (item.text.strip() or item.attachments):
                    return ""
                self._side, self._is_line = "user", False
                return "\n\n" + (YOU if speaker == "user" else _SHELL)
            case Message():
                if not item.text or item.text.isspace():
                    return ""
                quoting = _quoting(item, is_running=is_running)
                return self._next("agent", is_line=bool(quoting)) + quoting
            case ChatNotice():
                return self._next(self._side, is_line=True)
            case _:
                return self._next("agent", is_line=True)

    def ending(self, turn: Turn) -> tuple[str, Writer]:
        """The separator before a turn's end, and the text of the end."""
        text = status_text.ending(turn)
        if text:
            return self._next(self._side, is_line=True), Writer(text)
        if turn.state == "running" and self._side == "user":
            return self._next("agent", is_line=True), Writer(f"◐{GAP}Working…")
        return "", _NOTHING

    def _next(self, side: Literal["", "user", "agent"], *, is_line: bool) -> str:
        heading = self._heading if side == "agent" != self._side else ""
        gap = "\n" if is_line and self._is_line and not heading else "\n\n"
        self._side, self._is_line = side, is_line
        return gap + heading


def _quoting(message: Message, *, is_running: bool) -> str:
    """The line behind which a quoted message is folded; empty for a message that isn't quoted."""
    if message.parent:
        how = {"thought": "thinks", "user": "is asked"}.get(message.speaker, "says")
        return f"▸{GAP}A sub-agent {how}"
    if message.speaker == "thought":
        return f"▸{GAP}Thinking…" if is_running else f"▸{GAP}Thought"
    return ""


def _is_aside(item: Item) -> bool:
    return not isinstance(item, Tool) and item.is_aside


def _sort(item: Item) -> object:
    """What kind of piece an item needs."""
    return (Message, item.speaker, item.parent is None) if isinstance(item, Message) else type(item)


def _piece(item: Item, key: str) -> Piece:
    if not isinstance(item, Message) or (item.speaker == "shell" and not item.parent):
        return Piece()
    is_quoted = bool(_quoting(item, is_running=False))
    return MessagePiece(key, is_quoted=is_quoted, is_scanned=item.speaker == "answer" and not is_quoted)


def _write(piece: Piece, item: Item, lead: str, is_running: bool, key: str, context: wording.Context) -> list[TextEdit]:
    writer = Writer()
    if not lead:
        return piece.put("", writer)
    match item:
        case Message():
            if isinstance(piece, MessagePiece):
                wording.write_attachments(writer, item.attachments)
                edits = piece.grow(item.text, lead, writer, is_finished=not is_running)
                if lead.endswith(YOU):
                    heading = piece.start + len(lead) - len(YOU)
                    piece.marks.said = [Said(heading, piece.start + piece.length)]
                return edits
            wording.write_shell(writer, item.text)
        case ChatNotice():
            writer.write(f"—{GAP}{flat(item.text)} —")
        case _:
            wording.write_tool(writer, item, key, context, is_running=is_running)
    return piece.put(lead, writer)
