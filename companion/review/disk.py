"""A file on disk, as a diff shows it, and its text on the way to a view and back: unedited, it stays byte for byte.

What reads a file may not run on an event loop.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property

from ..platforms.files import FileRefusedError, FolderEntry, MissingError, UnreadableError, look, read
from .changes import changes
from .compare import unchanged

BOM = "\ufeff"
_NAMES = {"\n": "LF", "\r\n": "CRLF", "\r": "CR"}
_ENDING = re.compile(r"\r\n|\r|\n")

READ_LIMIT = 64 * 1024 * 1024
"""Bytes. A larger file is not read."""

Stamp = tuple[int, int, int] | None
"""What changes when a file is written: its inode, its size and its time in nanoseconds. None: there is no file."""


@dataclass(frozen=True)
class SourceText:
    """A text with its line endings and its byte order mark."""

    source: str

    @cached_property
    def shown(self) -> str:
        """The text as a view has it: no byte order mark, and only line feeds."""
        return self.source.removeprefix(BOM).replace("\r\n", "\n").replace("\r", "\n")

    @cached_property
    def endings(self) -> list[str]:
        """The line endings, from the top."""
        feeds, returns = self.source.count("\n"), self.source.count("\r")
        # To find those of one kind in 100,000 lines would hold all threads up for a tenth of a second.
        if not returns or (returns == feeds and self.source.count("\r\n") == feeds):
            return ["\r\n" if returns else "\n"] * feeds
        return _ENDING.findall(self.source)

    @cached_property
    def has_mark(self) -> bool:
        """Whether it has a byte order mark."""
        return self.source.startswith(BOM)

    def restore(self, edited: str, file: SourceText | None = None) -> str:
        """The text for an edited view. Unedited lines keep their endings, and the byte order mark is kept.

        Lines that were reverted to those of the `file` keep the file's endings, if this text has such endings too. A
        text that equals the file again is returned byte for byte as the file.
        """
        if edited == self.shown:
            return self.source
        if file and edited == file.shown:
            return file.source
        return self.adapt(edited, file)

    def adapt(self, edited: str, other: SourceText | None = None) -> str:
        """A text with the byte order mark and the line endings of this one, as far as it has any.

        Lines that only the `other` text has keep their endings there, if this text has such endings too.
        """
        endings, own = set(self.endings), self
        if not endings and other:
            endings, own = set(other.endings), other
        if endings - {"\n"}:
            sources = [(own.shown, own.endings)]
            if other and other is not own and set(other.endings) <= endings:
                sources.insert(0, (other.shown, other.endings))
            edited = _with_endings(sources, edited)
        return BOM + edited if self.has_mark else edited


def endings_change(old: SourceText, new: SourceText, *, counts: bool = True) -> str:
    """What else differs than the text, such as "LF → CRLF in 120 lines"; empty for nothing.

    Only lines with the same text on both sides count. To find them takes long in a large file: without `counts` it is
    only said that the endings differ.
    """
    said: list[str] = []
    if new.has_mark and not old.has_mark:
        said.append("byte order mark added")
    elif old.has_mark and not new.has_mark:
        said.append("byte order mark removed")
    if old.endings != new.endings and not (set(old.endings) == set(new.endings) and len(set(old.endings)) == 1):
        said += (
            ["other line endings"] * (set(old.endings) != set(new.endings) and bool(old.endings and new.endings))
            if not counts
            else [
                f"{_NAMES[one]} → {_NAMES[other]} in {count} line{'s' * (count != 1)}"
                for (one, other), count in _changed_endings(old, new).most_common()
            ]
        )
    return ", ".join(said)


def _changed_endings(old: SourceText, new: SourceText) -> Counter[tuple[str, str]]:
    lines, new_lines = old.shown.split("\n"), new.shown.split("\n")
    counts: Counter[tuple[str, str]] = Counter()
    for at, new_at, length in unchanged(changes(lines, new_lines), lines, new_lines):
        counts.update(zip(old.endings[at : at + length], new.endings[new_at : new_at + length], strict=False))
    return Counter({pair: count for pair, count in counts.items() if pair[0] != pair[1]})


def _with_endings(sources: list[tuple[str, list[str]]], edited: str) -> str:
    """Give `edited` the endings of the `sources`, (text, endings) each. A later source takes precedence."""
    endings = sources[-1][1]
    usual = Counter(endings).most_common(1)[0][0]
    if len(set(endings)) == 1:
        return edited.replace("\n", usual)
    new = edited.split("\n")
    # The last piece has no ending. Changed lines get the most frequent one.
    restored = [usual] * (len(new) - 1)
    for shown, endings in sources:
        old = shown.split("\n")
        for old_at, new_at, length in unchanged(changes(old, new), old, new):
            for i in range(length):
                if old_at + i < len(endings) and new_at + i < len(restored):
                    restored[new_at + i] = endings[old_at + i]
    for at in range(1, len(restored)):
        if restored[at] == "\n" and restored[at - 1] == "\r" and not new[at]:
            restored[at] = "\r\n"  # otherwise the two would be read as one
    return "".join(line + ending for line, ending in zip(new, [*restored, ""], strict=True))


@dataclass(frozen=True, slots=True)
class Encodings:
    """How the editor decodes a file, in Sublime's names. UTF-8 and byte order marks are recognized without them."""

    own: str = ""
    """The encoding of a view that has the file open."""
    fallback: str = "Western (Windows 1252)"
    """The setting `fallback_encoding`."""


@dataclass(frozen=True)
class DiskFile:
    """The text of a file. `is_text` is False for binary content and for unknown encodings."""

    source: SourceText = field(default_factory=lambda: SourceText(""))
    exists: bool = False
    is_text: bool = True
    stamp: Stamp = None
    is_utf8: bool = False
    """Whether it was read, and its bytes are this text in UTF-8."""


def stamp(path: str) -> Stamp:
    """The stamp of the file at a path. It stays the same as long as the file does."""
    try:
        return _stamp(os.stat(path))
    except (OSError, ValueError):
        return None


def refusal(path: str) -> str | None:
    """Why a diff of this path can't be shown, such as "is a folder"; None if it can."""
    try:
        look(path, READ_LIMIT)
    except (MissingError, UnreadableError):
        return None  # it is a new file, or reading it will tell
    except FileRefusedError as error:
        return error.why
    return None


def read_file(path: str, encodings: Encodings | None = None, at: FolderEntry | None = None) -> DiskFile:
    """Read a file, which need not exist.

    Args:
        path: where it is.
        encodings: how it is decoded.
        at: its place, if the folder was looked at and must be that one.

    Raises:
        FileRefusedError: it can't be read.
    """
    try:
        data, found = read_bytes(path, at)
    except MissingError:
        return DiskFile()
    text, is_text = decoded(data, encodings or Encodings())
    is_utf8 = text.encode("utf-8", "surrogatepass") == data
    return DiskFile(SourceText(text), exists=True, is_text=is_text, stamp=_stamp(found), is_utf8=is_utf8)


def read_bytes(path: str, at: FolderEntry | None = None) -> tuple[bytes, os.stat_result]:
    """The content of a regular file of at most 64 MB, and what the system says of it. Raises FileRefusedError.

    What a path leads to is what a person sees and a CLI writes, so links are followed.
    """
    content = at.read(READ_LIMIT) if at else read(path, READ_LIMIT, follows_links=True)
    return content.data, content.found


def holds(path: str, text: str, encodings: Encodings, *, exactly: bool = False) -> bool:
    """Whether a file can be read and has this text, whatever its line endings, byte order mark and encoding are.

    With `exactly` its line endings and its mark are compared, too. A CLI may write another encoding than the one in
    which the editor has read the file.
    """
    wanted = SourceText(text)
    for each in (encodings, Encodings()):
        with contextlib.suppress(OSError):
            found = read_file(path, each)
            is_it = found.source == wanted if exactly else found.source.shown == wanted.shown
            if found.exists and is_it:
                return True
    return False


def codec_of(encoding: str) -> str | None:
    """The codec for an encoding as Sublime names it, such as "Western (Windows 1252)"; None for an unknown one."""
    if not encoding.startswith("UTF-") and "(" not in encoding:
        return None  # "Hexadecimal", "Undefined"
    name = encoding.removesuffix(" with BOM").rpartition("(")[2].rstrip(")")
    for spelling in (name, name.replace("Windows ", "cp"), name.replace("ISO ", "iso"), name.replace(" ", "")):
        with contextlib.suppress(LookupError, ValueError):
            return codecs.lookup(spelling.replace(" ", "-")).name
    return None


def encode_like(text: str, before: bytes, encodings: Encodings | None = None) -> bytes:
    """A text as bytes in the encoding of a file whose bytes were `before`; `text` has no mark of UTF-16.

    Raises:
        UnicodeEncodeError: that encoding lacks one of the characters.
    """
    for mark, codec in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if before.startswith(mark):
            return mark + text.encode(codec)
    encodings = encodings or Encodings()
    for codec in (codec_of(encodings.own), "utf-8"):
        if codec:
            with contextlib.suppress(UnicodeDecodeError):
                before.decode(codec)
                return text.encode(codec)
    return text.encode(codec_of(encodings.fallback) or "cp1252")


def _stamp(found: os.stat_result) -> Stamp:
    return found.st_ino, found.st_size, found.st_mtime_ns


def decoded(data: bytes, encodings: Encodings) -> tuple[str, bool]:
    """The text as the editor would decode it, and whether it is one."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return _lenient(data, "utf-16")
    own, fallback = codec_of(encodings.own), codec_of(encodings.fallback) or "cp1252"
    if own:
        with contextlib.suppress(UnicodeDecodeError):
            text = data.decode(own)
            return text, "\0" not in text
    try:
        return data.decode("utf-8"), b"\0" not in data
    except UnicodeDecodeError:
        text, is_known = _lenient(data, fallback)
        return text, is_known and b"\0" not in data


def _lenient(data: bytes, encoding: str) -> tuple[str, bool]:
    try:
        return data.decode(encoding), True
    except UnicodeDecodeError:
        return data.decode(encoding, "replace"), False
