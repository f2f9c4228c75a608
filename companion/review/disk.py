"""A file on disk, as a diff shows it. Every function here uses the disk, so none may run on an event loop."""

from __future__ import annotations

import codecs
import contextlib
import os
from dataclasses import dataclass, field

from ..platforms.files import FileRefusedError, FolderEntry, MissingError, UnreadableError, look, read
from .source_text import SourceText

READ_LIMIT = 64 * 1024 * 1024
"""Bytes. A larger file is not read."""

Stamp = tuple[int, int, int] | None
"""What changes when a file is written: its inode, its size and its time in nanoseconds. None: there is no file."""


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


def stamp(path: str) -> Stamp:
    """The stamp of the file at a path. It stays the same as long as the file does."""
    try:
        return _stamp(os.stat(path))
    except (OSError, ValueError):
        return None


def refusal(path: str) -> str | None:
    """Why a diff of this path can't be shown, such as "is a folder"; None if it can."""
    try:
        look(path, READ_LIMIT, follows_links=True)
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
    return DiskFile(SourceText(text), exists=True, is_text=is_text, stamp=_stamp(found))


def read_bytes(path: str, at: FolderEntry | None = None) -> tuple[bytes, os.stat_result]:
    """The content of a regular file of at most 64 MB, and what the system says of it. Raises FileRefusedError.

    What a path leads to is what a person sees and a CLI writes, so links are followed.
    """
    content = at.read(READ_LIMIT) if at else read(path, READ_LIMIT, follows_links=True)
    return content.data, content.found


def holds(path: str, text: str, encodings: Encodings) -> bool:
    """Whether a file can be read and has this text, whatever its line endings, byte order mark and encoding are.

    A CLI may write another encoding than the one in which the editor has read the file.
    """
    shown = SourceText(text).shown
    for each in (encodings, Encodings()):
        with contextlib.suppress(OSError):
            found = read_file(path, each)
            if found.exists and found.source.shown == shown:
                return True
    return False


def has_bytes(path: str, text: str) -> bool:
    """Whether a file can be read and is exactly this text in UTF-8."""
    with contextlib.suppress(OSError, UnicodeEncodeError):
        data, _ = read_bytes(path)
        return data == text.encode()
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
