"""The folders that are open in the windows of the editor. Nothing in them is run by its name (`programs`)."""

from __future__ import annotations

import os
import stat
import threading
import unicodedata
from collections.abc import Iterator, Sequence

from .paths import RealPaths

MOST_LINKS = 40
"""Links in one path, as Linux counts them."""


class OpenFolders:
    """The folders of all windows, as the companion tells them. A question may come from any thread.

    A folder in which the person's home is, such as the home itself or the root of the disk, counts as no project: all
    of the person's own programs are below it.
    """

    def __init__(self) -> None:
        self._by_window: dict[int, tuple[str, ...]] = {}
        self._real = RealPaths(_identified)
        self._lock = threading.Lock()

    def set(self, window: int, folders: Sequence[str]) -> None:
        """A window has these folders now."""
        with self._lock:
            self._by_window[window] = tuple(folders)

    def remove(self, window: int) -> None:
        """A window was closed."""
        with self._lock:
            self._by_window.pop(window, None)

    def holds(self, path: str) -> bool:
        """Whether an absolute path is in one of the folders, or leads through one of them. It looks at the disk.

        Spellings that differ in upper and lower case are one: they are on many disks.
        """
        texts, identities = self._known()
        if not texts:
            return False
        for step, found in _steps(path):
            if found and stat.S_ISDIR(found.st_mode) and (found.st_dev, found.st_ino) in identities:
                return True
            if any(_is_below(step, text) for text in texts):
                return True
        return False

    def _known(self) -> tuple[set[str], set[tuple[int, int]]]:
        """The folders, each as it is named and as it is without links, and which ones they are on their disks."""
        home = os.path.expanduser("~")
        with self._lock:
            folders = {folder for folders in self._by_window.values() for folder in folders}
            if not folders:
                return set(), set()
            # While a disk hangs, its folder is known by its name.
            found = self._real.of({home, *folders})
        homes = {home, found[home].partition("\0")[0]}
        texts: set[str] = set()
        identities: set[tuple[int, int]] = set()
        for folder in folders:
            real, _, identity = found[folder].partition("\0")
            if any(_is_below(each, text) for each in homes for text in (folder, real)):
                continue
            texts |= {folder, real}
            if identity:
                device, inode = identity.split(":")
                identities.add((int(device), int(inode)))
        return texts, identities


def _identified(folder: str) -> str:
    """What a folder leads to, and the numbers by which its disk knows it; links and spellings have the same ones."""
    real = os.path.realpath(folder)
    try:
        found = os.stat(real)
    except OSError:
        return real
    return f"{real}\0{found.st_dev}:{found.st_ino}"


def _steps(path: str) -> Iterator[tuple[str, os.stat_result | None]]:
    """Each file, folder and link that the system passes on the way to a path, and what it is, unless nobody can tell.

    The path itself comes first: a part of it that leads up counts as well.
    """
    yield os.path.normpath(path), None
    drive, rest = os.path.splitdrive(path)
    at, links = drive + os.sep, 0
    names = _names(rest)
    while names:
        name = names.pop()
        at = os.path.dirname(at) if name == os.pardir else os.path.join(at, name)
        try:
            found = os.lstat(at)
        except (OSError, ValueError):
            yield at, None
            continue
        yield at, found
        # Whoever may change a link decides what is behind it.
        if links < MOST_LINKS and (target := _target(at, found)):
            links += 1
            drive, rest = os.path.splitdrive(target)
            at = drive + os.sep if os.path.isabs(target) else os.path.dirname(at)
            names += _names(rest)


def _target(path: str, found: os.stat_result) -> str:
    """What a link leads to, or on Windows a junction; empty for anything else."""
    if not stat.S_ISLNK(found.st_mode) and not getattr(found, "st_reparse_tag", 0):
        return ""
    try:
        return os.readlink(path).removeprefix("\\\\?\\")
    except OSError:
        return ""


def _names(path: str) -> list[str]:
    """The names of a path, the last one first."""
    separated = path.replace(os.altsep, os.sep) if os.altsep else path
    return [name for name in reversed(separated.split(os.sep)) if name not in {"", os.curdir}]


def _is_below(path: str, folder: str) -> bool:
    """Whether a path is a folder or in it, by its text. Neither case nor the composition of letters matters."""
    inner, outer = (unicodedata.normalize("NFC", os.path.normpath(each)).casefold() for each in (path, folder))
    return inner == outer or inner.startswith(outer.rstrip(os.sep) + os.sep)


OPEN_FOLDERS = OpenFolders()
"""The one that the companion tells, and that is asked for each program."""
