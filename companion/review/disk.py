"""A file on disk, as a diff shows it. Every function here uses the disk, so none may run on an event loop."""

from __future__ import annotations

import codecs
import contextlib
import os
import stat
from dataclasses import dataclass, field

from ..platforms.files import FolderEntry
from .source_text import SourceText

READ_LIMIT = 64 * 1024 * 1024
"""Bytes. A larger file is not read."""
_AT_ONCE = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_TOO_LARGE = "is larger than 64 MB"
_SEPARATORS = os.sep + (os.altsep or "")

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


class UnreadableError(OSError):
    """What is at a path can't be shown in a diff. The text says what it is."""


def refusal(path: str) -> str | None:
    """Why a diff of this path can't be shown, such as "is a folder"; None if it can."""
    tidy = path.rstrip(_SEPARATORS)
    if tidy != path and os.path.isfile(tidy):
        return "ends like a folder, but is a file"  # the CLIs would write it, unseen: the system finds nothing there
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None  # there is no such file, or reading it will tell
    return _refusal(found)


def read_file(path: str, encodings: Encodings | None = None, at: FolderEntry | None = None) -> DiskFile:
    """Read a file, which need not exist.

    Args:
        path: where it is.
        encodings: how it is decoded.
        at: its place, if the folder was looked at and must be that one.

    Raises:
        OSError: it can't be read; UnreadableError if it must not be.
    """
    try:
        data, found = read_bytes(path, at)
    except (FileNotFoundError, NotADirectoryError):
        return DiskFile()
    text, is_text = decoded(data, encodings or Encodings())
    return DiskFile(SourceText(text), exists=True, is_text=is_text, stamp=_stamp(found))


def read_bytes(path: str, at: FolderEntry | None = None) -> tuple[bytes, os.stat_result]:
    """The content of a regular file of at most 64 MB, and what the system says of it. Raises OSError."""
    # A FIFO would make `open` wait for a writer, so it is not opened at all, or without waiting.
    if at is None and (why := refusal(path)):
        raise UnreadableError(f"{path} {why}")
    descriptor = at.open() if at else os.open(path, os.O_RDONLY | _AT_ONCE)
    try:
        found = os.fstat(descriptor)
        if why := _refusal(found):
            raise UnreadableError(f"{path} {why}")
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read(READ_LIMIT + 1)
    finally:
        os.close(descriptor)
    if len(data) > READ_LIMIT:
        raise UnreadableError(f"{path} {_TOO_LARGE}")
    return data, found


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


def _refusal(found: os.stat_result) -> str | None:
    if stat.S_ISDIR(found.st_mode):
        return "is a folder"
    if not stat.S_ISREG(found.st_mode):
        return "is not a regular file"
    return _TOO_LARGE if found.st_size > READ_LIMIT else None


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
