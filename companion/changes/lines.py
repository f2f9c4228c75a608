"""The changes of one file, the lines that its bytes are, and who has written each.

A file's bytes are read as characters of one byte each, in pieces that keep their line endings: joined again, they are
the same bytes, whatever the encoding. A view of the editor has the same lines.

A weave has the lines of the baseline and those of the file in one sequence. A line that is in both is settled. One that
is only in the baseline was taken away by an agent, one that is only in the file was written by one. The weave follows
each write: what the person saves is settled at once, wherever it stands, and so is never a part of a change.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from ..review.changes import changes, fingerprint, paired_lines
from ..review.compare import Change
from ..snapshots.files import WriteRefusedError
from .state import Chosen, Lines

MAX_COMPARED = 5 * 1024 * 1024
"""Bytes. A larger file is kept or undone as a whole."""
_PARTS = 6
"""Of a key: its two places, its lines and their number, which of its equals it is, and how many there are."""
_ENDING = re.compile(r"\r\n|\r|\n")
_MARKS = ("\N{ZERO WIDTH NO-BREAK SPACE}", codecs.BOM_UTF8.decode("latin-1"))
_ONLY_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
BASE, DISK = 1, 2
EDITED = 4
"""The person has changed this line of an agent's."""
DOUBT = 8
"""Nobody knows whether the person or an agent has written this line, or has taken it away."""
_MINE = 16
"""The person's; only until the weave is put in order."""
_TAKEN = 32
"""No line of either side any more: only until it is known what that means for those around it."""
_SETTLED = BASE | DISK
_PROTECTED = EDITED | DOUBT
_SIGNS = {"=": _SETTLED, "-": BASE, "+": DISK, "~": DISK | EDITED, "?": DISK | DOUBT, "!": BASE | DOUBT}
_SIGN_OF = {flags: sign for sign, flags in _SIGNS.items()}
_OF_BOTH = {sign for sign, flags in _SIGNS.items() if flags & _PROTECTED}
_OPS = re.compile(r"([=+~?!-])(\d{1,9})")
_LAST = re.compile(r"(?:\r\n|\r|\n)$")
UNKNOWN = "~"
"""In place of what is known of lines: both have changed the file, and nobody knows who has changed which of them."""
_CLOSED = re.compile(r"[,;](?=[)\]}]|$)")

Line = tuple[str, int]
"""A line with its ending, and where it is."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """One change of a file: its lines in the baseline and in the file, and what identifies it."""

    change: Change
    key: str


@dataclass(frozen=True, slots=True)
class Hunks:
    """The changes of a file. There are none of a binary one, which is kept or undone as a whole."""

    found: tuple[Hunk, ...]
    inserted: int
    deleted: int
    is_text: bool

    @property
    def plain(self) -> tuple[tuple[int, int, int, int, str], ...]:
        """From the top: the lines in the baseline and in the file, and the key of each."""
        changes = ((each.change, each.key) for each in self.found)
        return tuple((one.old_start, one.old_end, one.new_start, one.new_end, key) for one, key in changes)


class Pieces:
    """Some bytes as lines with their endings. What is no text, or too large, or only a mark, is one piece."""

    def __init__(self, data: bytes, *, is_whole: bool = False) -> None:
        self.is_whole = is_whole or _is_binary(data) or len(data) > MAX_COMPARED or data in _ONLY_MARKS
        self.codec = "latin-1" if self.is_whole else codec_of(data)
        text = data.decode(self.codec)
        self.mark = "" if self.is_whole else next((mark for mark in _MARKS if text.startswith(mark)), "")
        """The byte order mark, which is a part of no line."""
        self.lines: Sequence[str] = [text] if self.is_whole and text else split(text[len(self.mark) :])

    @property
    def form(self) -> tuple[bool, str]:
        """Files of different forms have no lines in common."""
        return self.is_whole, self.codec


def split(text: str) -> list[str]:
    """The lines of a text, with their endings."""
    ends = [found.end() for found in _ENDING.finditer(text)]
    lines = [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True)]
    return lines if lines[-1] else lines[:-1]


def codec_of(data: bytes) -> str:
    """The codec that makes characters of some bytes and the same bytes of those: UTF-16, or one byte each."""
    for mark, codec in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if data.startswith(mark) and len(data) % 2 == 0:
            try:
                if data.decode(codec).encode(codec) == data:
                    return codec
            except UnicodeError:
                return "latin-1"
    return "latin-1"


def _is_binary(data: bytes) -> bool:
    """Whether these are no lines of text."""
    return codec_of(data) == "latin-1" and b"\0" in data


def differences(old: Sequence[str], new: Sequence[str]) -> list[Change]:
    """The differences between two sequences of lines, either of which may be empty."""
    # `changes` takes nothing at all for one empty line.
    if not old or not new:
        return [Change(0, len(old), 0, len(new))] if old or new else []
    return changes(old, new)


def by_key(found: Sequence[Hunk], key: str) -> tuple[Hunk, int] | None:
    """The change with this key, wherever others have moved it; None if nobody knows which it is.

    That is so if there are more or fewer changes with these lines than when the key was made. Also returns by how many
    lines of the file it has moved since.
    """
    same = [each for each in found if _lines_of(each.key) == _lines_of(key)]
    parts = key.split("-")
    if not same or len(parts) != _PARTS or len(same) != int(parts[-1]):
        return None
    meant = same[int(parts[-2])]
    return meant, meant.change.new_start - int(parts[1])


def located(found: Sequence[Hunk], chosen: Chosen) -> tuple[int, Lines] | None:
    """The number of the change that is meant, and its lines as they are by now; None if nobody knows which it is."""
    key, lines = chosen
    if (known := by_key(found, key)) is None:
        return None
    hunk, shift = known
    return found.index(hunk), (lines[0] + shift, lines[1] + shift) if lines else None


def is_among(chosen: Chosen, known: Sequence[Chosen], found: Sequence[Hunk]) -> bool:
    """Whether a change, or lines of it, is meant by others, too. Of equal changes each is another one."""
    if chosen in known:
        return True
    place = located(found, chosen)
    return place is not None and any(located(found, each) in (place, (place[0], None)) for each in known)


Step = tuple[Chosen, "Weave", "Weave"]
"""A change that was decided, and the lines of its file before and after that."""


def followed(known: Iterable[Chosen], step: Step) -> list[Chosen]:
    """What some changes, or lines of them, mean after one was decided.

    That one is meant no more. The others have moved, and of what was meant of the same change the rest has other keys.
    """
    decided, *weaves = step
    before, after = (weave.hunks().found for weave in weaves)
    sizes = [len(Pieces(weave.disk).lines) for weave in weaves]
    by = sizes[1] - sizes[0]
    place = located(before, decided)
    if place is None:
        return [each for each in known if each != decided]
    at, done = place
    more = len(after) - len(before)
    made: list[Chosen] = []
    for each in known:
        number, lines = located(before, each) or (-1, None)
        if number == at:
            made += _rest(lines, done, after[at : at + more + 1], by)
            continue
        index = number if number < at else number + more
        now = after[index] if number >= 0 and 0 <= index < len(after) else None
        if now and _lines_of(now.key) == _lines_of(before[number].key):
            shift = now.change.new_start - before[number].change.new_start
            made.append((now.key, (lines[0] + shift, lines[1] + shift) if lines else None))
        else:
            made.append(each)
    return list(dict.fromkeys(made))


def _rest(lines: Lines, done: Lines, left: Sequence[Hunk], by: int) -> Iterator[Chosen]:
    """What is left to decide of a change, or of some of its lines, after some lines of it, or all, were decided."""
    if done is None:
        return
    if lines is None:
        yield from ((hunk.key, None) for hunk in left)
        return
    above, below = (lines[0], min(lines[1], done[0] - 1)), (max(lines[0], done[1] + 1) + by, lines[1] + by)
    for first, last in (above, below):
        for hunk in left:
            part = max(first, hunk.change.new_start), min(last, hunk.change.new_end - 1)
            if part[0] <= part[1]:
                yield hunk.key, part


def place_of(chosen: Chosen) -> int:
    """The first line of what is meant, as its key says."""
    key, lines = chosen
    start = key.split("-")[1:2]
    return lines[0] if lines else int(start[0]) if start else 0


def _keys_of(found: Sequence[tuple[Change, Sequence[str], Sequence[str]]]) -> list[str]:
    """What identifies each change of a file: with its lines in the baseline and those in the file.

    It ends with which of the changes with the same lines it is, and how many of these there are.
    """
    keys = [fingerprint(change.old_start, change.new_start, [*old, "\0", *new]) for change, old, new in found]
    count, seen = Counter(map(_lines_of, keys)), Counter[Sequence[str]]()
    made: list[str] = []
    for key in keys:
        lines = _lines_of(key)
        made.append(f"{key}-{seen[lines]}-{count[lines]}")
        seen[lines] += 1
    return made


def _lines_of(key: str) -> Sequence[str]:
    return tuple(key.split("-")[2:4])


class Weave:
    """The lines of the baseline and of the file on the disk. `marks` are the byte order marks of both."""

    def __init__(self, lines: Sequence[Line], form: tuple[bool, str], marks: tuple[str, str]) -> None:
        self._lines = list(lines)
        self._form = form
        self._marks = marks

    @classmethod
    def of(cls, before: bytes | None, after: bytes | None, ops: str = "") -> Weave:
        """The weave of a baseline and a file, None where there is none.

        `ops` is an earlier weave of these very contents. If one doesn't fit to them that knew of lines of the person,
        nobody knows which these are: none that differs is taken for an agent's alone.
        """
        old, new = Pieces(before or b""), Pieces(after or b"")
        if before and after and old.form != new.form:
            old, new = Pieces(before, is_whole=True), Pieces(after, is_whole=True)
        form = (new if after else old).form
        marks = (old.mark if before else new.mark), (new.mark if after else old.mark)
        lines = list(_restored(ops, old.lines, new.lines)) if ops else []
        if [text for text, at in lines if at & BASE] != list(old.lines) or [
            text for text, at in lines if at & DISK
        ] != list(new.lines):
            lines = _compared(old.lines, new.lines)
            if is_of_both(ops):
                marks_of = {BASE: BASE | DOUBT, DISK: DISK | EDITED}
                lines = [(text, marks_of.get(at, at)) for text, at in lines]
        return cls(lines, form, marks)

    @property
    def ops(self) -> str:
        """The weave without its lines, run by run."""
        groups = groupby(self._lines, lambda line: line[1])
        return "".join(f"{_SIGN_OF[flags]}{sum(1 for _ in group)}" for flags, group in groups)

    @property
    def base(self) -> bytes:
        """The baseline."""
        return self._bytes(BASE)

    @property
    def disk(self) -> bytes:
        """The file."""
        return self._bytes(DISK)

    def _bytes(self, side: int) -> bytes:
        text = "".join(text for text, at in self._lines if at & side)
        return (self._marks[side == DISK] + text if text else "").encode(self._form[1])

    @property
    def changed(self) -> set[tuple[str, int]]:
        """The lines that only one of both has, with the one that has them: without blank ones."""
        sides = ((text, at & (BASE | DISK)) for text, at in self._lines if text.strip())
        return {(text, side) for text, side in sides if side in (BASE, DISK)}

    @property
    def is_whole(self) -> bool:
        """Whether the file is one piece."""
        return self._form[0]

    @property
    def is_edited(self) -> bool:
        """Whether the person has changed lines of an agent's."""
        return any(at & EDITED for _, at in self._lines)

    def written(self, data: bytes | None, *, is_doubtful: bool = False) -> Weave:
        """Somebody else than the person has written the file, or deleted it.

        A line that the person has changed before is not lost with that: it is as one of the baseline from then on.
        """
        new, doubt = Pieces(data or b""), DOUBT if is_doubtful else 0
        if new.form != self._form and data and self._lines:
            return Weave.of(self.written(None).base or None, data, UNKNOWN if is_doubtful else "")

        def gone(at: int) -> int:
            return BASE if at & EDITED else (at & BASE) | doubt if at & BASE else 0

        def come(_: Sequence[Line], texts: Sequence[str]) -> list[Line]:
            return [(text, DISK | doubt) for text in texts]

        lines = self._changed(new, gone, come)
        if self.is_whole and self.is_edited and not any(at & EDITED for _, at in lines):
            edited = [text for text, at in self._lines if at & EDITED]
            lines = [line for line in lines if line[1] & DISK or line[0] in edited]
        return self._with(lines, new)

    def saved(self, data: bytes, *, is_edited: bool = True) -> Weave:
        """The person has saved the file, whose text they had as it is here, with this content.

        With `is_edited`, a line of an agent's that they have changed belongs to both; otherwise to the agent.
        """
        new = Pieces(data)
        if new.form != self._form and data and self._lines:
            return Weave.of(self.base or None, data, UNKNOWN if is_edited else "")

        def come(old: Sequence[Line], texts: Sequence[str]) -> list[Line]:
            return _authors(old, texts, EDITED if is_edited else 0)

        return self._with(self._changed(new, lambda _: 0, come), new, is_saved=True)

    def decided(self, data: bytes) -> Weave:
        """A later decision has made this of the file: a change of which it has changed a line is that one's."""
        new = Pieces(data)
        if new.form != self._form and data and self._lines:
            return Weave.of(data, data)

        def gone(at: int) -> int:
            return 0 if at == _SETTLED else _TAKEN

        def come(_: Sequence[Line], texts: Sequence[str]) -> list[Line]:
            return [(text, DISK | _MINE) for text in texts]

        lines: list[Line] = []
        for _, group in groupby(self._changed(new, gone, come), lambda line: line[1] == _SETTLED):
            run = list(group)
            is_taken = any(at == _TAKEN for _, at in run)
            lines += [(text, _SETTLED) for text, at in run if at & DISK] if is_taken else run
        return self._with(lines, new)

    def _with(self, lines: Sequence[Line], new: Pieces, *, is_saved: bool = False) -> Weave:
        """These lines, in the form of another content of the file. An empty one says nothing of it."""
        form, marks = self._form, self._marks
        if new.lines:
            is_both = not self._lines or (is_saved and new.mark != marks[1])
            form, marks = new.form, (new.mark if is_both else marks[0], new.mark)
        return Weave(_in_order(lines), form, marks)

    def _changed(
        self, new: Pieces, gone: Callable[[int], int], come: Callable[[Sequence[Line], Sequence[str]], list[Line]]
    ) -> list[Line]:
        """The lines with another content of the file. `gone` says where a line is that the file has no longer."""
        known = self._ended_as(new)
        at = [number for number, line in enumerate(known) if line[1] & DISK]
        lines: list[Line] = []
        done = 0
        for change in differences([known[number][0] for number in at], new.lines):
            start = at[change.old_start - 1] + 1 if change.old_start else 0
            end = at[change.old_end - 1] + 1 if change.deleted else start
            lines += known[done:start]
            part, done = known[start:end], end
            left = [(text, gone(flags) if flags & DISK else flags) for text, flags in part]
            lines += [line for line in left if line[1]]
            lines += come([line for line in part if line[1] & DISK], new.lines[change.new_start : change.new_end])
        return lines + known[done:]

    def _ended_as(self, new: Pieces) -> list[Line]:
        """The lines with the endings of another content, where a line of both has no baseline to stay in."""
        if not self.is_edited or any(at & BASE for _, at in self._lines):
            return self._lines
        there, like = {*new.lines}, {text.rstrip("\r\n"): text for text in new.lines}
        return [(text if text in there else like.get(text.rstrip("\r\n"), text), at) for text, at in self._lines]

    def hunks(self) -> Hunks:
        """The changes that wait."""
        if self.is_whole:
            return Hunks((), 0, 0, is_text=False)
        found = [hunk for hunk, _ in self._runs()]
        inserted = sum(hunk.change.inserted for hunk in found)
        return Hunks(tuple(found), inserted, sum(hunk.change.deleted for hunk in found), is_text=True)

    def _runs(self) -> list[tuple[Hunk, int]]:
        """Each change, and where it begins in the weave: first come the lines that are gone, then the new ones."""
        found: list[tuple[Change, Sequence[str], Sequence[str]]] = []
        starts: list[int] = []
        old = new = at = 0
        for is_settled, group in groupby(self._lines, lambda line: line[1] == _SETTLED):
            run = list(group)
            gone, come = ([text for text, flags in run if flags & side] for side in (BASE, DISK))
            if not is_settled:
                found.append((Change(old, old + len(gone), new, new + len(come)), gone, come))
                starts.append(at)
            old, new, at = old + len(gone), new + len(come), at + len(run)
        changes = (Hunk(change, key) for (change, _, _), key in zip(found, _keys_of(found), strict=True))
        return list(zip(changes, starts, strict=True))

    def kept(self, key: str, lines: Lines = None) -> Weave | None:
        """With one change taken over into the baseline; None if there is no such change.

        `lines` are the first and the last line of the file of which only the change's part is meant.
        """
        return self._decided(key, lines, lambda flags: _SETTLED if flags & DISK else 0, self._marks[1])

    def undone(self, key: str = "", lines: Lines = None, *, is_all: bool = False) -> Weave | None:
        """With one change undone, or every one; None if there is no such change.

        What is the person's too, or may be, stays and is settled, unless `is_all`.
        """
        if self.is_whole and not is_all and any(at & _PROTECTED for _, at in self._lines):
            return Weave([(text, _SETTLED) for text, at in self._lines if at & DISK], self._form, self._marks)

        def decide(flags: int) -> int:
            stays = flags & _PROTECTED and not is_all
            return _SETTLED if bool(flags & DISK) == bool(stays) else 0

        if key:
            return self._decided(key, lines, decide, self._marks[0])
        decided = [(text, at if at == _SETTLED else decide(at)) for text, at in self._lines]
        return Weave(_in_order([line for line in decided if line[1]]), self._form, (self._marks[0], self._marks[0]))

    def protected(self, key: str = "", lines: Lines = None) -> list[tuple[int, str]]:
        """The lines of a change, or of all, that both have changed or may have: the number in the file, and the text.

        A line that is gone has the number of what stands there now.
        """
        chosen = range(len(self._lines))
        if key:
            if (found := self._part(key, lines)) is None:
                return []
            start, gone, come = found
            chosen = (*range(start + gone.start, start + gone.stop), *range(start + come.start, start + come.stop))
        told: list[tuple[int, str]] = []
        number = 0
        for at, (text, flags) in enumerate(self._lines):
            if flags & _PROTECTED and at in chosen:
                told.append((number, text))
            number += bool(flags & DISK)
        return told

    def marked(self, known: Weave) -> Weave:
        """With the marks of another weave of the same file, which has another baseline."""
        disk = iter([at & _PROTECTED for _, at in known._lines if at & DISK])
        gone = {text: at & _PROTECTED for text, at in known._lines if not at & DISK}
        lines: list[Line] = []
        for text, at in self._lines:
            mark = next(disk, 0) if at & DISK else gone.get(text, 0)
            lines.append((text, at if at == _SETTLED or at & _PROTECTED else at | mark))
        return Weave(lines, self._form, self._marks)

    def alike(self, known: Weave) -> Weave:
        """With the marks that another weave has on lines of the same text."""
        marked = {(text, at & _SETTLED): at for text, at in known._lines if at & _PROTECTED}
        return Weave([(text, marked.get((text, at), at)) for text, at in self._lines], self._form, self._marks)

    def alone(self) -> Weave:
        """The file without a baseline: what was settled is marked as the person's."""
        lines = [(text, DISK | EDITED if at == _SETTLED else at) for text, at in self._lines if at & DISK]
        return Weave(lines, self._form, (self._marks[1], self._marks[1]))

    def settled(self) -> list[tuple[int, str]]:
        """The lines that both sides have: the number in the file, and the text."""
        disk = [line for line in self._lines if line[1] & DISK]
        return [(number, text) for number, (text, at) in enumerate(disk) if at == _SETTLED]

    def _decided(self, key: str, lines: Lines, decide: Callable[[int], int], mark: str) -> Weave | None:
        """With one change decided. A byte order mark is decided with the last one: it is in no line."""
        if (found := self._part(key, lines)) is None:
            return None
        start, gone, come = found
        rest = self._lines[start:]
        size = next((at for at, line in enumerate(rest) if line[1] == _SETTLED), len(rest))
        split = next((at for at, line in enumerate(rest[:size]) if line[1] & DISK), size)
        part = [(text, decide(at)) for text, at in (*rest[gone.start : gone.stop], *rest[come.start : come.stop])]
        # Between what is above it on either side, and what is below it.
        above = [*rest[: gone.start], *rest[split : come.start]]
        below = [*rest[gone.stop : split], *rest[come.stop :]]
        made = _in_order([*self._lines[:start], *above, *(line for line in part if line[1]), *below])
        is_last = all(at == _SETTLED for _, at in made)
        return Weave(made, self._form, (mark, mark) if is_last else self._marks)

    def _part(self, key: str, lines: Lines) -> tuple[int, range, range] | None:
        """Where a change begins in the weave, and its lines from there: those that are gone, and the new ones.

        With some lines of the file it is the part that they are: line by line where both sides have as many lines.
        Otherwise the lines of the file go alone, and those of the baseline only with all of them.
        """
        runs = self._runs()
        if (found := by_key([hunk for hunk, _ in runs], key)) is None:
            return None
        hunk, shift = found
        change, size = hunk.change, hunk.change.inserted
        start = next(at for each, at in runs if each is hunk)
        first, after = 0, size
        if lines:
            first = max(lines[0] + shift - change.new_start, 0)
            after = min(lines[1] + shift + 1 - change.new_start, size)
        if first == 0 and after >= size:
            gone = range(change.deleted)
        elif change.deleted == size:
            gone = range(first, after)
        else:
            gone = range(change.deleted, change.deleted) if first else range(0)
        return start, gone, range(change.deleted + first, change.deleted + after)


def each_decided(
    path: str, weave: Weave, chosen: Sequence[Chosen], decide: Callable[[Weave, Chosen], Weave | None]
) -> list[Step]:
    """Decide changes of a file one after the other, from the bottom as far as their keys tell.

    What is done of one gives other keys to its equals, and to the rest of it. Raises WriteRefusedError if one of them
    isn't there.
    """
    steps: list[Step] = []
    left = list(chosen)
    while left:
        each = max(left, key=place_of)
        left.remove(each)
        if (made := decide(weave, each)) is None:
            raise WriteRefusedError(f"{path} has changed since")
        steps.append((each, weave, made))
        left = followed(left, steps[-1])
        weave = made
    return steps


def is_of_both(ops: str) -> bool:
    """Whether lines of a file are the person's, too, or may be, by what is known of them."""
    return not _OF_BOTH.isdisjoint(ops)


def _compared(old: Sequence[str], new: Sequence[str]) -> list[Line]:
    """Both sides, in the order of a weave."""
    lines: list[Line] = []
    done = 0
    for change in differences(old, new):
        lines += [(text, _SETTLED) for text in old[done : change.old_start]]
        lines += [(text, BASE) for text in old[change.old_start : change.old_end]]
        lines += [(text, DISK) for text in new[change.new_start : change.new_end]]
        done = change.old_end
    return lines + [(text, _SETTLED) for text in old[done:]]


def _restored(ops: str, old: Sequence[str], new: Sequence[str]) -> Iterator[Line]:
    """The lines of an earlier weave, for as long as there are any."""
    at = {BASE: 0, DISK: 0}
    for found in _OPS.finditer(ops):
        flags = _SIGNS[found[1]]
        side, lines = (DISK, new) if flags & DISK else (BASE, old)
        for text in lines[at[side] : at[side] + int(found[2])]:
            yield text, flags
            for each in at:
                at[each] += bool(flags & each)


def _in_order(lines: Sequence[Line]) -> list[Line]:
    """What is equal on both sides of a change is settled, and so is what is the person's.

    In a change, the lines that are gone come first. What the person has added at an edge of it is no part of it.
    """
    made: list[Line] = []
    for is_settled, group in groupby(lines, lambda line: line[1] == _SETTLED):
        run = list(group)
        made += run if is_settled else _run(run)
    ended = _ended(made)
    return made if ended == made else _in_order(ended)


def _run(lines: Sequence[Line]) -> Iterator[Line]:
    old, new = ([line for line in lines if line[1] & side] for side in (BASE, DISK))
    done = 0
    for change in differences([text for text, _ in old], [text for text, _ in new]):
        yield from ((text, _SETTLED) for text, _ in old[done : change.old_start])
        done = change.old_end
        come = new[change.new_start : change.new_end]
        own = next((at for at, line in enumerate(come) if not line[1] & _MINE), len(come))
        yield from ((text, _SETTLED) for text, _ in come[:own])
        yield from _apart(old[change.old_start : change.old_end], come[own:])
    yield from ((text, _SETTLED) for text, _ in old[done:])


def _apart(old: Sequence[Line], new: Sequence[Line]) -> Iterator[Line]:
    """A change, in parts where the person has written inside of it: a line that is gone stays with the one like it."""
    if not any(at & _MINE for _, at in new):
        yield from (*old, *new)
        return
    like = dict.fromkeys(range(len(old)), 0)
    done = [0, 0]
    for change in [*differences([_squeezed(text) for text, _ in old], [_squeezed(text) for text, _ in new]), None]:
        end = change.old_start if change else len(old)
        like |= {at: at - done[0] + done[1] for at in range(done[0], end)}
        if change:
            like |= dict.fromkeys(range(change.old_start, change.old_end), change.new_start)
            done = [change.old_end, change.new_end]
    left = 0
    for is_own, group in groupby(enumerate(new), lambda each: bool(each[1][1] & _MINE)):
        part = list(group)
        if is_own:
            yield from ((text, _SETTLED) for _, (text, _) in part)
            continue
        count = sum(1 for at in like.values() if at <= part[-1][0])
        yield from old[left:count]
        yield from (line for _, line in part)
        left = max(left, count)
    yield from old[left:]


def _ended(lines: Sequence[Line]) -> list[Line]:
    """The same where no line of either side is glued to the next one: only the last may lack an ending."""
    open_on: dict[int, int] = {}
    for side in (BASE, DISK):
        at = [number for number, line in enumerate(lines) if line[1] & side]
        for number, after in pairwise(at):
            text = lines[number][0]
            if not text.endswith(("\n", "\r")) or (text.endswith("\r") and lines[after][0].startswith("\n")):
                open_on[number] = open_on.get(number, 0) | side
    if not open_on:
        return list(lines)
    ending = next((found[0] for text, _ in lines if (found := _LAST.search(text))), "\n")
    made: list[Line] = []
    for number, (text, at) in enumerate(lines):
        sides = open_on.get(number, 0)
        if sides:
            made.append((f"{text}\n" if text.endswith("\r") else f"{text}{ending}", at & ~_SETTLED | sides))
        if left := at & _SETTLED & ~sides:
            made.append((text, at & ~_SETTLED | left))
    return made


def _authors(old: Sequence[Line], new: Sequence[str], edited: int) -> list[Line]:
    """Lines that the person has put in the place of others."""
    if not any(at != _SETTLED for _, at in old):
        return [(text, DISK | _MINE) for text in new]
    made: list[Line] = []
    ours, theirs = [_squeezed(text) for text, _ in old], [_squeezed(text) for text in new]
    done = 0
    for change in differences(ours, theirs):
        made += _same(old[done : change.old_start], new[len(made) : change.new_start])
        done = change.old_end
        made += _replaced(old[change.old_start : done], new[change.new_start : change.new_end], edited)
    return made + _same(old[done:], new[len(made) :])


def _same(old: Sequence[Line], new: Sequence[str]) -> list[Line]:
    """Lines in which nothing but the form is another: an agent's is still its own."""
    return [(text, DISK | _MINE if at == _SETTLED else at) for text, (_, at) in zip(new, old, strict=True)]


def _replaced(old: Sequence[Line], new: Sequence[str], edited: int) -> list[Line]:
    if (
        old
        and all(at != _SETTLED for _, at in old)
        and _squeezed("".join(t for t, _ in old)) == _squeezed("".join(new))
    ):
        return [(text, old[0][1]) for text in new]
    before = [text for text, _ in old]
    if len(old) == len(new):
        pairs = dict(zip(range(len(new)), range(len(old)), strict=True))
    else:
        pairs = {one: other for other, one in paired_lines(before, new, Change(0, len(old), 0, len(new)))}
        alone = [at for at, line in enumerate(old) if line[1] != _SETTLED and at not in pairs.values()]
        pairs |= dict(zip([at for at in range(len(new)) if at not in pairs], alone, strict=False))
    made: list[Line] = []
    for number, text in enumerate(new):
        is_theirs = number in pairs and old[pairs[number]][1] != _SETTLED
        made.append((text, DISK | edited if is_theirs else DISK | _MINE))
    return made


def _squeezed(text: str) -> str:
    """A text without what a formatter changes: blanks, line endings, kinds of quotes, commas before a bracket."""
    return _CLOSED.sub("", "".join(text.split()).replace("'", '"'))
