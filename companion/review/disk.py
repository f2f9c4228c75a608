"""A file on disk, as a diff shows it. Every function here reads from the disk, so none may run on an event loop."""

from __future__ import annotations

import codecs
import os
from dataclasses import dataclass, field

from .source_text import SourceText

Stamp = tuple[int, int, int] | None
"""What changes when a file is written: its inode, its size and its time in nanoseconds. None: there is no file."""


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
    except OSError:
        return None


def read_file(path: str) -> DiskFile:
    """Read a file, which need not exist. Raises OSError if it can't be read."""
    try:
        with open(path, "rb") as file:
            seen = _stamp(os.fstat(file.fileno()))
            text, is_text = _decoded(file.read())
    except (FileNotFoundError, NotADirectoryError):
        return DiskFile()
    return DiskFile(SourceText(text), exists=True, is_text=is_text, stamp=seen)


def _stamp(found: os.stat_result) -> Stamp:
    return found.st_ino, found.st_size, found.st_mtime_ns


def _decoded(data: bytes) -> tuple[str, bool]:
    """UTF-8, or UTF-16 if it has a byte order mark; otherwise Windows-1252, which is Sublime's fallback too."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return _lenient(data, "utf-16")
    try:
        return data.decode("utf-8"), b"\0" not in data
    except UnicodeDecodeError:
        text, is_known = _lenient(data, "cp1252")
        return text, is_known and b"\0" not in data


def _lenient(data: bytes, encoding: str) -> tuple[str, bool]:
    try:
        return data.decode(encoding), True
    except UnicodeDecodeError:
        return data.decode(encoding, "replace"), False
