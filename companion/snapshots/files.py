"""The files of a folder, written as a snapshot has them. Every function here uses the disk.

A file is written only if it is still what was compared, and as a whole: a reader sees the old content or the new.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import tempfile
from collections.abc import Callable, Generator, Iterable
from typing import BinaryIO, cast

from ..platforms import files
from ..platforms.files import FolderEntry
from .entries import LARGEST, LINK, PROGRAM, Entry

TEMPORARY = re.compile(r"\..+\.[0-9a-f]{8}\.qwen-companion")
"""The whole name of a file that takes another one's place as soon as it is written."""


_IS_WINDOWS = os.name == "nt"
_GITS_ON_WINDOWS = re.compile(r"(?:\.git|git~\d+)[ .]*(?::.*)?", re.IGNORECASE)


class WriteRefusedError(OSError):
    """A file is not written; the text says why, for the person."""


def is_gits_own(path: str) -> bool:
    """Whether a path is in a folder of git's own, by any name that the system takes for `.git`."""
    if not _IS_WINDOWS:
        return ".git" in path.lower().split("/")
    return any(map(_GITS_ON_WINDOWS.fullmatch, path.replace("\\", "/").split("/")))


def clear_temporaries(root: str, paths: Iterable[str]) -> None:
    """Remove what a process that was killed while it wrote some files has left beside them."""
    for folder in {os.path.dirname(path) for path in paths}:
        with contextlib.suppress(OSError):
            for name in filter(TEMPORARY.fullmatch, os.listdir(os.path.join(root, folder))):
                with _held(root, f"{folder}/{name}" if folder else name, "deleted") as at:
                    at.unlink()


@contextlib.contextmanager
def _held(
    root: str, path: str, what: str, passed: tuple[type[OSError], ...] = (), *, makes_folders: bool = False
) -> Generator[FolderEntry]:
    """Hold the folder of a file: none is behind a link, or in `.git`. The root has no links.

    Raises WriteRefusedError, which says what can't be done; other errors that are `passed` are as they were.
    """
    full = os.path.join(root, path)
    if not full.startswith(os.path.join(root, "")) or is_gits_own(path):
        raise WriteRefusedError(f"{path} is not below {root}")
    try:
        with files.place(full, makes_folders=makes_folders) as at:
            yield at
    except (WriteRefusedError, *passed):
        raise
    except files.LinkedError as error:
        raise WriteRefusedError(f"{path} {error.why}") from error
    except OSError as error:
        raise WriteRefusedError(f"{path} can't be {what}: {error.strerror or error}") from error


def current(root: str, path: str) -> tuple[str, bytes] | None:
    """The mode, as git's, and the content of a file or a link on the disk; None if there is none.

    Raises:
        WriteRefusedError: it is something else, or can't be read.
    """
    try:
        with _held(root, path, "read", (FileNotFoundError, files.LinkedError)) as at:
            found = at.found()
            if stat.S_ISLNK(found.st_mode):
                return LINK, os.fsencode(at.link())
            if stat.S_ISDIR(found.st_mode):
                return None
            read = at.read(LARGEST)
            return _mode(read.found.st_mode), read.data
    except (FileNotFoundError, files.LinkedError):  # what is behind a link is in no folder of the root
        return None


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


@contextlib.contextmanager
def copied(root: str, path: str, folder: str) -> Generator[str]:
    """Have a copy of a file in a folder of ours; gives its path. Raises WriteRefusedError."""
    with _held(root, path, "copied") as at, tempfile.NamedTemporaryFile(dir=folder, delete=False) as copy:
        try:
            with copy:
                if at.found().st_size > LARGEST:
                    raise WriteRefusedError(
                        f"{path} is over 256 MB, so it could not be brought back: remove it by hand"
                    )
                at.copy(cast("BinaryIO", copy), LARGEST)
            yield copy.name
        finally:
            os.unlink(copy.name)


def write(root: str, path: str, mode: str, data: bytes, full_mode: int | None = None) -> None:
    """Write a file or a link; `full_mode` has its permissions if they are known. Raises WriteRefusedError."""
    with _held(root, path, "written", makes_folders=True) as at:
        permissions = None if mode == LINK else _permissions(at, path, mode, full_mode)
        temporary = at.beside(f".{os.path.basename(path)[:50]}.{os.urandom(4).hex()}.qwen-companion")
        try:
            if mode == LINK:
                temporary.create_link(os.fsdecode(data))
            else:
                # A new file gets what the process's umask leaves of these.
                temporary.create(data, 0o777 if mode == PROGRAM else 0o666, permissions)
            temporary.rename(at)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise


def set_mode(root: str, path: str, mode: str, full_mode: int | None = None) -> None:
    """Make a file a program, or no longer, or give it these permissions. Raises WriteRefusedError."""
    with _held(root, path, "given its mode") as at:
        at.chmod(_with_mode(at.found().st_mode, mode) if full_mode is None else full_mode)


def delete(root: str, path: str, keeps: frozenset[str] = frozenset()) -> None:
    """Delete a file, and the folders that are empty then; `keeps` stay, with a slash each. Raises WriteRefusedError."""
    with contextlib.suppress(FileNotFoundError), _held(root, path, "deleted", (FileNotFoundError,)) as at:
        at.unlink()
    folder = os.path.dirname(path)
    with contextlib.suppress(OSError):
        while folder and f"{folder}/" not in keeps:
            with files.place(os.path.join(root, folder)) as at:
                at.rmdir()
            folder = os.path.dirname(folder)


def _mode(found: int) -> str:
    return PROGRAM if found & 0o100 else "100644"


def _with_mode(found: int, mode: str) -> int:
    """The permissions of a file that becomes a program, or no longer is one."""
    return stat.S_IMODE(found | (found & 0o444) >> 2 if mode == PROGRAM else found & ~0o111)


def _permissions(at: FolderEntry, path: str, mode: str, full_mode: int | None) -> int | None:
    """The permissions for a file that is about to be written; None for those of any new file."""
    try:
        found = at.found()
    except OSError:
        return full_mode
    if not stat.S_ISREG(found.st_mode):
        return full_mode
    try:
        at.refuse_write(found)
    except files.FileRefusedError as error:
        raise WriteRefusedError(f"{path} {error.why}") from error
    return _with_mode(found.st_mode, mode) if full_mode is None else full_mode
