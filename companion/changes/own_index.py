"""The index of the person's repository as a beginning for a store's: what it stands for need not be hashed again.

It is read as a file. An entry is taken only if it stands for the very bytes on the disk: git has seen the file as it
is by its times, its size is that of its object, and no filter may have made one from the other.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from .entries import LARGE
from .project import Repository

_HEADER = struct.Struct(">4sLL")
_FIXED = 62
"""Bytes of an entry before its name, in version 2."""
_STAT = struct.Struct(">10L20sH")
_MODES = {0o100644, 0o100755, 0o120000}
_BIT_ASSUMED, _BIT_EXTENDED, _STAGE = 0x8000, 0x4000, 0x3000
_LIMIT = 256 * 1024 * 1024
_SMALL = 1024 * 1024
_CHANGES_BYTES = re.compile(rb"filter|ident|working-tree-encoding|\[attr\]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class OwnEntry:
    """One file of an index."""

    path: str
    blob: str
    size: int
    raw: bytes
    """The entry as it is in the file, padded."""


def own_entries(found: Repository, attributes: Iterable[str], excludes: Callable[[str], bool]) -> list[OwnEntry]:
    """The entries of a repository's index that can be taken over, in its order. None is if anything is unusual.

    `attributes` are all files with attributes that may hold. Whether each object has the size is left to the caller.
    """
    if any(_CHANGES_BYTES.search(_text(each)) for each in attributes):
        return []
    path = os.path.join(found.own, "index")
    try:
        written = os.stat(path).st_mtime_ns
        with open(path, "rb") as file:
            data = file.read(_LIMIT)
        return list(_entries(data, written, excludes))
    except (OSError, ValueError, struct.error, IndexError):
        return []


def own_attributes() -> list[str]:
    """The person's and the system's files with attributes for all repositories, where they usually are."""
    home = os.path.expanduser("~")
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    return [os.path.join(base, "git", "attributes"), os.path.join(home, ".gitattributes"), "/etc/gitattributes"]


def _entries(data: bytes, written: int, excludes: Callable[[str], bool]) -> Iterator[OwnEntry]:
    kind, version, count = _HEADER.unpack_from(data)
    if (
        kind != b"DIRC"
        or version not in (2, 3)
        or hashlib.sha1(data[:-20], usedforsecurity=False).digest() != data[-20:]
    ):
        raise ValueError("this index is of another kind")
    at = _HEADER.size
    for _ in range(count):
        fields = _STAT.unpack_from(data, at)
        flags: int = fields[11]
        start = at + _FIXED + (2 if flags & _BIT_EXTENDED else 0)
        end = data.index(b"\0", start)
        begin, at = at, at + (end - at + 8) // 8 * 8
        mode, size = fields[6], fields[9]
        is_plain = not flags & (_BIT_ASSUMED | _BIT_EXTENDED | _STAGE) and mode in _MODES and size <= LARGE
        # Git itself looks at the content of a file that was written in the moment of the index, or later.
        if not is_plain or fields[2] * 1_000_000_000 + fields[3] >= written - 1_000_000_000:
            continue
        path = os.fsdecode(data[start:end])
        if not excludes(path):
            yield OwnEntry(path, fields[10].hex(), size, data[begin:at])
    while at < len(data) - 20:
        name, length = struct.unpack_from(">4sL", data, at)
        if name in (b"link", b"sdir"):  # a part of it is in another file, or is a folder
            raise ValueError("this index is not whole")
        at += 8 + length


def written_index(entries: list[OwnEntry], sizes: Mapping[str, int]) -> bytes:
    """An index of those entries whose objects have their sizes."""
    kept = [entry.raw for entry in entries if sizes.get(entry.blob) == entry.size]
    body = _HEADER.pack(b"DIRC", 2, len(kept)) + b"".join(kept)
    return body + hashlib.sha1(body, usedforsecurity=False).digest()


def _text(path: str) -> bytes:
    with contextlib.suppress(OSError), open(path, "rb") as file:
        return file.read(_SMALL)
    return b""
