"""A chat as text: what has changed in a conversation becomes edits, at a cost that goes with the change.

Each turn is a row of pieces, one for each item, with the separator before it. An item
that is the same object as before is not looked at again, and a message that grows is only appended to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from ...conversation.snapshot import ChatNotice, Item, Locality, Message, Snapshot, Tool, Turn, Unsent
from ...review.changes import TextEdit
from ...review.compare import common_head
from . import wording
from .markdown import Scanner
from .plain import GAP, YOU, flat, foreign, presentable
from .render import MARK, Code, Fold, Link, Mark, Render, TranscriptMarks, TurnStart, Writer


class Piece:
    """A part of a chat's text: a lead that separates it from the piece before, a body, and a suffix.

    Its marks count from the beginning of the chat's text. The edits of its methods apply one after the other, to a
    text that is up to date before this piece.
    """

    def __init__(self) -> None:
        self.start = 0
        self.lead = ""
        self.suffix = ""
        self.marks = TranscriptMarks()
        self._parts: list[str] = []
        self._size = 0

    @property
    def length(self) -> int:
        """In characters."""
        return len(self.lead) + self._size + len(self.suffix)

    @property
    def text(self) -> str:
        """The whole of it."""
        return "".join((self.lead, *self._parts, self.suffix))

    def move(self, start: int) -> None:
        """Begin at another point."""
        if by := start - self.start:
            self.start = start
            moved = TranscriptMarks()
            moved.add((self.marks,), by)
            self.marks = moved

    def put(self, lead: str, writer: Writer) -> list[TextEdit]:
        """Replace the piece by what has been written."""
        edits = self._replace(lead, writer.text, "")
        self.marks = TranscriptMarks()
        self.marks.add((writer.marks,), self.start + len(lead))
        return edits

    def _replace(self, lead: str, body: str, suffix: str) -> list[TextEdit]:
        before = self.text
        self.lead, self._parts, self._size, self.suffix = lead, [body], len(body), suffix
        return _change(before, lead + body + suffix, self.start)

    def _append(self, text: str) -> list[TextEdit]:
        if not text:
            return []
        at = self.start + len(self.lead) + self._size
        self._parts.append(text)
        self._size += len(text)
        return [TextEdit(at, at, text)]

    def _finish(self, suffix: str) -> list[TextEdit]:
        edits = _change(self.suffix, suffix, self.start + len(self.lead) + self._size)
        self.suffix = suffix
        return edits


QUOTE = "> "
"""The beginning of each line of a quoted message, which distinguishes it from anything else."""
_KEPT = 2
"""Line feeds at a message's end that the blank line after it replaces."""


class MessagePiece(Piece):
    """A message, which grows at its end. An update costs as much as the new text.

    The text is kept as it is, except line feeds at its ends that the lead or the blank line behind it already have,
    and the blanks in tables. Line endings become line feeds, since an editor has no others.
    """

    def __init__(self, key: str, *, is_quoted: bool = False, is_scanned: bool = False) -> None:
        super().__init__()
        self._key = key
        self._is_quoted = is_quoted
        self._is_scanned = is_scanned
        self._clear("", "")

    def grow(self, text: str, lead: str, suffix: Writer, *, is_finished: bool) -> list[TextEdit]:
        """Replace or extend the piece by a message that isn't blank; `suffix` comes behind it.

        The lead of a quoted message ends with its first line, behind which the rest is folded.
        """
        if self._size and lead == self.lead and text.startswith(self._said):
            return self._grow(text, suffix, is_finished)
        before = self.text
        self._clear(lead, text)
        self._grow(text, suffix, is_finished)
        return _change(before, self.text, self.start)

    def _clear(self, lead: str, text: str) -> None:
        self.lead, self.suffix, self.marks = lead, "", TranscriptMarks()
        self._parts, self._size = [], 0
        self._scanner = Scanner(self._key)
        self._said = ""
        self._open = ""
        """The end of the body that may still be shown in another way."""
        self._certain = 0, 0
        """How many of the links and codes are final, whatever text follows."""
        begin = len(text) - len(text.lstrip("\r\n"))
        self._taken = begin if self._is_quoted else min(begin, len(lead) - len(lead.rstrip("\n")))
        """How many characters of the message were read."""

    def _grow(self, text: str, suffix: Writer, is_finished: bool) -> list[TextEdit]:
        new = self._take(text)
        if self._is_quoted:
            new = f"\n{new}" if not self._size and new else new
            new = new.replace("\n", f"\n{QUOTE}")
        body = self.start + len(self.lead)
        links, codes = self._certain
        self.marks.clear(Link, links)
        self.marks.clear(Code, codes)
        end = ""
        if self._is_scanned:
            shown, marks = self._scanner.feed(new)
            edits = self._go_on(shown, self._scanner.open)
            self.marks.add((marks,), body)
            self._certain = self.marks.count(Link), self.marks.count(Code)
            if is_finished:
                shown, end, marks = self._scanner.end(text.count("\n", self._taken))
                edits += self._go_on("", shown)
                self.marks.add((marks,), body)
        else:
            edits = self._append(new)
        edits += self._finish(end + suffix.text)
        self.marks.add((suffix.marks,), body + self._size + len(end))
        if self._is_quoted and self._size:
            self.marks.clear(Fold)
            self.marks.put(Fold(body, self.start + self.length, self._key))
        return edits

    def _go_on(self, final: str, still_open: str) -> list[TextEdit]:
        """Replace what was open by a text that is final, and one that may still be shown in another way."""
        before, after = self._open, final + still_open
        at = self.start + len(self.lead) + self._size
        if before:
            self._parts.pop()
        self._parts += [part for part in (final, still_open) if part]
        self._size += len(after) - len(before)
        self._open = still_open
        if after.startswith(before):
            new = after[len(before) :]
            return [TextEdit(at, at, new)] if new else []
        return _change(before, after, at - len(before))

    def _take(self, text: str) -> str:
        """The new part of a text that has grown, as far as it can be shown."""
        self._said = text
        end = len(text)
        least = self._taken if self._is_quoted else max(self._taken, end - _KEPT)
        while end > least and text[end - 1] in "\r\n":
            end -= 1
        # The other half may still come.
        while end > self._taken and (text[end - 1] == "\r" or "\ud800" <= text[end - 1] <= "\udbff"):
            end -= 1
        new = presentable(text[self._taken : end])
        if not self._is_quoted:
            line = max(text.rfind("\n", 0, self._taken), text.rfind("\r", 0, self._taken)) + 1
            new = foreign(new, presentable(text[line : self._taken]))
        self._taken = max(end, self._taken)
        return new


def _change(before: str, after: str, start: int = 0) -> list[TextEdit]:
    """The edit that turns one text into the other: what lies between their common ends, if anything."""
    if before == after:
        return []
    head = common_head(before, after)
    tail = common_head(before[head:][::-1], after[head:][::-1])
    return [TextEdit(start + head, start + len(before) - tail, after[head : len(after) - tail])]


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
        self._rows: dict[int, int] = {}
        """The last item of each row of tool calls, by its first one."""
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
        self._rows = dict(_rows(turn.items))
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
            lead = flow.lead(item, is_running=is_running)
            if index in self._rows:
                items = turn.items[index : self._rows[index] + 1]
                lead += wording.row((each for each in items if isinstance(each, Tool)), context)
            circumstances = lead, is_running
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
        if self.length:
            prompt = self._slots[0].piece.length if self._slots else 0
            self.marks.put(TurnStart(self.start + 1, self.start + max(1, prompt), self.key))
        first = {last: first for first, last in self._rows.items()}
        for index, slot in enumerate(self._slots):
            self.marks.add((slot.piece.marks,))
            if (begin := first.get(index)) is not None:
                head = self._slots[begin].piece
                start, end = head.start + len(head.lead) - 1, slot.piece.start + slot.piece.length
                self.marks.put(Fold(start, end, f"{self.key}/{begin}/row"))
        self.marks.add((self._ending.marks,))


def _rows(items: Sequence[Item]) -> Iterator[tuple[int, int]]:
    """The first and the last item of each row of tool calls, perhaps with thoughts between them, that is one line.

    What a person has to see is in none: a call that runs, has failed or has asked something.
    """
    first = last = -1
    for index, item in enumerate(items):
        if isinstance(item, Tool) and item.status == "completed" and not item.permissions and not item.terminals:
            first, last = index if first < 0 else first, index
        elif not isinstance(item, Message) or (item.text.strip() and not _quoting(item, is_running=False)):
            if first < last:
                yield first, last
            first = last = -1
    if first < last:
        yield first, last


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
        text = wording.ending(turn)
        if text:
            return self._next(self._side, is_line=True), Writer(text)
        last = turn.items[-1] if turn.items else None
        is_told = isinstance(last, ChatNotice) and not last.is_aside  # why it does not work
        if turn.state == "running" and self._side == "user" and not is_told:
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
                return piece.grow(item.text, lead, writer, is_finished=not is_running)
            wording.write_shell(writer, item.text)
        case ChatNotice():
            writer.write(f"—{GAP}{flat(item.text)} —")
        case _:
            wording.write_tool(writer, item, key, context, is_running=is_running)
    return piece.put(lead, writer)


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
        self._before = _KeptMarks()
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
        render = Render(
            replaces_all=self._is_new,
            edits=tuple(_merged(edits)),
            length=self._length,
            marks=self._before.of(self._turns, first),
            kept={} if self._is_new else self._before.counts,
            status=snapshot.status,
            locality=locality,
            session=session,
            unsent=unsent,
            top=self._header.length,
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
        edits = list(_put(self._header, 0, "", wording.header(locality)))
        first = 0 if is_other or self._header.length != before else len(self._turns)
        if snapshot.order != self._order:
            first = min(first, self._reorder(snapshot.order, edits))
        first = min((first, *(self._index[key] for key in changed if key in self._index)))
        at = self._end(first)
        for turn in self._turns[first:]:
            turn.move(at)
            edits += turn.update(changed.get(turn.key), context)
            at += turn.length
        above = wording.tail(snapshot.status, unsent)
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


class _KeptMarks:
    """The marks of the turns that stay as they are, so that a frame costs no more in a long chat."""

    def __init__(self) -> None:
        self._count = 0
        self._kept = TranscriptMarks()

    @property
    def counts(self) -> Mapping[type[Mark], int]:
        """How many there are of each kind."""
        return self._kept.counts()

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
