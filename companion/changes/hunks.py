"""The changes of one file, and a text with one of them kept or undone, byte for byte.

A file's bytes are read as characters of one byte each, in pieces that keep their line endings: joined again, they are
the same bytes, whatever the encoding. A view of the editor has the same lines.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..garbage import no_collection
from ..review.changes import changes, tally
from ..review.compare import Change
from ..review.targets import fingerprint

MAX_COMPARED = 5 * 1024 * 1024
"""Bytes. A larger file is kept or undone as a whole."""
_ENDING = re.compile(r"\r\n|\r|\n")


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


class Pieces:
    """Some bytes as lines with their endings."""

    def __init__(self, data: bytes) -> None:
        self._codec = codec = codec_of(data)
        text = data.decode(codec)
        ends = [found.end() for found in _ENDING.finditer(text)]
        starts = [0, *ends]
        self.lines: Sequence[str] = [text[start:end] for start, end in zip(starts, [*ends, len(text)], strict=True)]
        if self.lines and not self.lines[-1]:
            self.lines = self.lines[:-1]

    def joined(self, lines: Sequence[str]) -> bytes:
        """Lines as bytes again."""
        return "".join(lines).encode(self._codec)


def is_binary(data: bytes) -> bool:
    """Whether these are no lines of text."""
    return codec_of(data) == "latin-1" and b"\0" in data


def hunks(before: bytes, after: bytes) -> Hunks:
    """The changes between two contents."""
    if is_binary(before) or is_binary(after) or max(len(before), len(after)) > MAX_COMPARED:
        return Hunks((), 0, 0, is_text=False)
    if before and after and codec_of(before) != codec_of(after):
        return Hunks((), 0, 0, is_text=False)
    with no_collection():
        old, new = Pieces(before).lines, Pieces(after).lines
        keyed = _keyed(old, new)
        counted = tally([each.change for each in keyed], old, new)
    return Hunks(keyed, counted.inserted, counted.deleted, is_text=True)


def kept(before: bytes, after: bytes, key: str, lines: tuple[int, int] | None = None) -> bytes | None:
    """The baseline with one change of the file taken over; None if there is no such change.

    `lines` are the first and the last line of the file of which only the change's part is meant.
    """
    return _moved(before, after, key, lines, undoes=False)


def undone(before: bytes, after: bytes, key: str, lines: tuple[int, int] | None = None) -> bytes | None:
    """The file with one change undone; None if there is no such change."""
    return _moved(before, after, key, lines, undoes=True)


def _moved(before: bytes, after: bytes, key: str, lines: tuple[int, int] | None, *, undoes: bool) -> bytes | None:
    with no_collection():
        old, new = Pieces(before), Pieces(after)
        found = by_key(_keyed(old.lines, new.lines), key)
        if found is None:
            return None
        change, shift = found[0].change, found[1]
        if lines:
            change = _part(change, (lines[0] + shift, lines[1] + shift))
        before_part = old.lines[change.old_start : change.old_end]
        after_part = new.lines[change.new_start : change.new_end]
        if undoes:
            side = new if new.lines else old
            return side.joined([*new.lines[: change.new_start], *before_part, *new.lines[change.new_end :]])
        side = old if old.lines else new
        return side.joined([*old.lines[: change.old_start], *after_part, *old.lines[change.old_end :]])


def _keyed(old: Sequence[str], new: Sequence[str]) -> tuple[Hunk, ...]:
    return tuple(Hunk(change, _key(change, old, new)) for change in _changes(old, new))


def _changes(old: Sequence[str], new: Sequence[str]) -> list[Change]:
    # `changes` leaves out an empty last piece, which no line with its ending is.
    if not old or not new:
        return [Change(0, len(old), 0, len(new))] if old or new else []
    return changes(old, new)


def _part(change: Change, lines: tuple[int, int]) -> Change:
    """The part of a change that some lines of the file are: line by line where both sides have as many lines.

    Otherwise the lines of the file go alone, and those of the baseline only with all of them.
    """
    first, after = max(lines[0], change.new_start), min(lines[1] + 1, change.new_end)
    if first <= change.new_start and after >= change.new_end:
        return change
    if change.deleted == change.inserted:
        shift = change.old_start - change.new_start
        return Change(first + shift, after + shift, first, after)
    at = change.old_end if first > change.new_start else change.old_start
    return Change(at, at, first, after)


def by_key(found: Sequence[Hunk], key: str) -> tuple[Hunk, int] | None:
    """The change with this key, or the only one with its lines if something above has moved it.

    Also returns by how many lines of the file it has moved since its key was made.
    """
    same = [each for each in found if each.key == key]
    moved = same or [each for each in found if each.key.split("-")[2:] == key.split("-")[2:]]
    if len(moved) != 1:
        return None
    return moved[0], moved[0].change.new_start - int(key.split("-")[1])


def _key(change: Change, old: Sequence[str], new: Sequence[str]) -> str:
    lines = [*old[change.old_start : change.old_end], "\0", *new[change.new_start : change.new_end]]
    return fingerprint(change.old_start, change.new_start, lines)


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
