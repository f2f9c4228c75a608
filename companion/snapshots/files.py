"""The files of a folder, written as a snapshot has them. Every function here uses the disk.

A file is written only if it is still what was compared, and as a whole: a reader sees the old content or the new.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterable
from typing import BinaryIO, cast

from ..platforms import files
from ..platforms.files import rename
from .entries import LARGEST, LINK, PROGRAM, Entry

TEMPORARY = re.compile(r"\..+\.[0-9a-f]{8}\.qwen-companion")
"""The whole name of a file that takes another one's place as soon as it is written."""


class WriteRefusedError(OSError):
    """A file is not written; the text says why, for the person."""


def clear_temporaries(root: str, paths: Iterable[str]) -> None:
    """Remove what a process that was killed while it wrote some files has left beside them."""
    for folder in {os.path.dirname(path) for path in paths}:
        with contextlib.suppress(OSError):
            _inside(root, f"{folder}/x" if folder else "x")
            for name in os.listdir(os.path.join(root, folder)):
                if TEMPORARY.fullmatch(name):
                    os.unlink(os.path.join(root, folder, name))


def _temporary(full: str) -> str:
    folder, name = os.path.split(full)
    return os.path.join(folder, f".{name[:50]}.{os.urandom(4).hex()}.qwen-companion")


def current(root: str, path: str) -> tuple[str, bytes] | None:
    """The mode, as git's, and the content of a file or a link on the disk; None if there is none.

    Raises:
        WriteRefusedError: it is something else, or can't be read.
    """
    full = os.path.join(root, path)
    try:
        _inside(root, path)
        found = os.lstat(full)
        if stat.S_ISLNK(found.st_mode):
            return LINK, os.fsencode(os.readlink(full))
        if stat.S_ISDIR(found.st_mode):
            return None
        if not stat.S_ISREG(found.st_mode):
            raise WriteRefusedError(f"{path} is no longer a file")  # noqa: TRY301 - it needs the same look
        read = files.read(path, LARGEST, below=root)
        return _mode(read.found.st_mode), read.data
    except files.OversizeError as error:
        raise WriteRefusedError(f"{path} is too large to be read") from error
    except (FileNotFoundError, NotADirectoryError):
        return None
    except WriteRefusedError:
        raise
    except OSError as error:
        raise WriteRefusedError(f"{path} can't be read: {error.strerror}") from error


def blob_id(data: bytes) -> str:
    """Git's id of some bytes."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


class _Hash:
    """Takes what would be written to a file, and has git's id of it. Ends with an error as soon as `is_over`."""

    def __init__(self, size: int, is_over: Callable[[], bool]) -> None:
        self._is_over = is_over
        self._digest = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)

    def write(self, data: bytes) -> int:
        if self._is_over():
            raise WriteRefusedError("it was ended")
        self._digest.update(data)
        return len(data)

    @property
    def id(self) -> str:
        return self._digest.hexdigest()


def large_id(root: str, path: str, is_over: Callable[[], bool] = lambda: False) -> str:
    """What identifies a file that isn't copied: git's id, and for a very large one its size and its time.

    Raises:
        OSError: it can't be read, or `is_over` before it was read.
    """
    with files.entry(path, below=root) as entry:
        found = entry.found()
        if found.st_size > LARGEST:
            return f"{found.st_size}-{found.st_mtime_ns}"
        taken = _Hash(found.st_size, is_over)
        entry.copy(cast("BinaryIO", taken), LARGEST)
        return taken.id


def is_still(root: str, path: str, entry: Entry | None) -> bool:
    """Whether a file on the disk is what a snapshot says of it. An entry without content counts by git's id of it."""
    if entry and entry.why == "large":
        with contextlib.suppress(OSError):
            return large_id(root, path) == entry.blob
        return False
    found = current(root, path)
    if found is None or entry is None:
        return found is None and entry is None
    mode, data = found
    if entry.why in {"excluded", "unreadable"}:
        stated = os.lstat(os.path.join(root, path))
        return entry.blob == f"{stated.st_size}-{stated.st_mtime_ns}"
    return mode == entry.mode and blob_id(data) == entry.blob


def write(root: str, path: str, mode: str, data: bytes, full_mode: int | None = None) -> None:
    """Write a file or a link; `full_mode` has its permissions if they are known. Raises WriteRefusedError."""
    full = os.path.join(root, path)
    try:
        _inside(root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        if mode == LINK:
            _link(full, data)
        else:
            _file(full, path, mode, data, full_mode)
    except WriteRefusedError:
        raise
    except OSError as error:
        raise WriteRefusedError(f"{path} can't be written: {error.strerror or error}") from error


def set_mode(root: str, path: str, mode: str, full_mode: int | None = None) -> None:
    """Make a file a program, or no longer, or give it these permissions. Raises WriteRefusedError."""
    full = os.path.join(root, path)
    try:
        _inside(root, path)
        found = os.lstat(full).st_mode
        readers = (found & 0o444) >> 2
        wanted = (found | readers if mode == PROGRAM else found & ~0o111) & 0o7777
        _chmod(full, wanted if full_mode is None else full_mode)
    except WriteRefusedError:
        raise
    except OSError as error:
        raise WriteRefusedError(f"the mode of {path} can't be changed: {error.strerror}") from error


def delete(root: str, path: str, keeps: frozenset[str] = frozenset()) -> None:
    """Delete a file, and the folders that are empty then; `keeps` stay, with a slash each. Raises WriteRefusedError."""
    try:
        _inside(root, path)
        os.unlink(os.path.join(root, path))
    except FileNotFoundError:
        pass
    except WriteRefusedError:
        raise
    except OSError as error:
        raise WriteRefusedError(f"{path} can't be deleted: {error.strerror}") from error
    folder = os.path.dirname(path)
    with contextlib.suppress(OSError):
        while folder and f"{folder}/" not in keeps:
            os.rmdir(os.path.join(root, folder))
            folder = os.path.dirname(folder)


def _mode(found: int) -> str:
    return PROGRAM if found & 0o100 else "100644"


def _inside(root: str, path: str) -> None:
    """Nothing is read or written through a link that leads out of the folder, or is `.git`."""
    parts = path.split("/")
    if os.path.isabs(path) or ".." in parts or ".git" in [part.lower() for part in parts]:
        raise WriteRefusedError(f"{path} is not below {root}")
    at = root
    for part in parts[:-1]:
        at = os.path.join(at, part)
        if os.path.islink(at):
            raise WriteRefusedError(f"{path} is behind a link")


def _link(full: str, data: bytes) -> None:
    temporary = _temporary(full)
    os.symlink(os.fsdecode(data), temporary)
    try:
        rename(temporary, full)
    except OSError:
        os.unlink(temporary)
        raise


def _file(full: str, path: str, mode: str, data: bytes, full_mode: int | None) -> None:
    permissions = _permissions(full, path, mode, full_mode)
    temporary = _temporary(full)
    # A new file gets what the process's umask leaves of these.
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o777 if mode == PROGRAM else 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        if permissions is not None:
            _chmod(temporary, permissions)
        rename(temporary, full)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _chmod(full: str, permissions: int) -> None:
    """Set the permissions if they are others: whoever may write a file may not always do that, nor has every disk them.

    Raises OSError.
    """
    if stat.S_IMODE(os.lstat(full).st_mode) != permissions:
        os.chmod(full, permissions)


def _permissions(full: str, path: str, mode: str, full_mode: int | None) -> int | None:
    """The permissions for a file that is about to be written; None for those of any new file."""
    try:
        found = os.lstat(full).st_mode
    except OSError:
        return full_mode
    if not stat.S_ISREG(found):
        return full_mode
    if not found & 0o222 or not os.access(full, os.W_OK):
        raise WriteRefusedError(f"{path} is read-only")
    if full_mode is not None:
        return full_mode
    found = stat.S_IMODE(found)
    return found | (found & 0o444) >> 2 if mode == PROGRAM else found & ~0o111
