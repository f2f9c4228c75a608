"""The changes of one file, and the lines that its bytes are.

A file's bytes are read as characters of one byte each, in pieces that keep their line endings: joined again, they are
the same bytes, whatever the encoding. A view of the editor has the same lines.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..review.changes import changes, fingerprint
from ..review.compare import Change
from .state import Chosen, Lines

MAX_COMPARED = 5 * 1024 * 1024
"""Bytes. A larger file is kept or undone as a whole."""
_PARTS = 6
"""Of a key: its two places, its lines and their number, which of its equals it is, and how many there are."""
_ENDING = re.compile(r"\r\n|\r|\n")
_MARKS = ("\N{ZERO WIDTH NO-BREAK SPACE}", codecs.BOM_UTF8.decode("latin-1"))
_ONLY_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


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
        self.is_whole = is_whole or is_binary(data) or len(data) > MAX_COMPARED or data in _ONLY_MARKS
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


def is_binary(data: bytes) -> bool:
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


def followed(
    known: Iterable[Chosen], decided: Chosen, before: Sequence[Hunk], after: Sequence[Hunk], by: int
) -> list[Chosen]:
    """What some changes, or lines of them, mean after one was decided, which made the file longer by some lines.

    That one is meant no more. The others have moved, and of what was meant of the same change the rest has other keys.
    """
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


def keys_of(found: Sequence[tuple[Change, Sequence[str], Sequence[str]]]) -> list[str]:
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
