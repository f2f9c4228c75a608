"""The files of a folder that the index of its store lacks, remembered while none of its folders changes.

A file can't come or go without changing the times of its folder, so a look at a quiet tree needs no listing of it. The
untracked cache of git relies on the same (`git help update-index`), but `git ls-files` doesn't use that.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator

SETTLED = 2_000_000_000
"""Nanoseconds after which one more change moves the times of a folder: some file systems count steps of two seconds."""
PERIOD = 20.0
"""Seconds after which everything is listed again: not every file system keeps the times of folders."""
PAUSE = 20.0
"""Seconds between two listings of the folders, which cost as much as a look: some trees change all the time."""
MANY_FOLDERS = 20_000


class UntrackedFiles:
    """What the last listing of the folder `root` has found."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._names: frozenset[str] = frozenset()
        self._rules = b""
        self._times: dict[str, tuple[int, ...]] = {}
        """What tells of a change in each folder that was listed; empty if nothing is remembered."""
        self._noted = -math.inf
        """When that was noted, in seconds of the monotonic clock."""

    def forget(self) -> None:
        """Have everything listed at the next look."""
        self._times = {}

    def remembered(self, rules: bytes) -> frozenset[str] | None:
        """What a listing with these ignore rules would find now; None if that isn't known.

        Paths are relative, with slashes; that of a folder with a repository of its own ends with one.
        """
        if rules != self._rules or time.monotonic() - self._noted > PERIOD:
            self._times = {}
        if any(self._times_of(folder) != times for folder, times in self._times.items()):
            self._times = {}
        return self._names if self._times else None

    def note(self, names: Collection[str], rules: bytes, began: int, listed: Callable[[], Iterable[str]]) -> None:
        """Remember what a listing has found that began at a time, in nanoseconds of Unix time.

        `listed` returns all files, but an untracked folder in their place, which ends with a slash.
        """
        if self._times or time.monotonic() - self._noted <= PAUSE:
            return
        self._noted = time.monotonic()
        folders = {""}
        for path in listed():
            _add_parents(path, folders)
            if path.endswith("/") and path not in names:
                for folder in _folders_in(self._root, path[:-1]):
                    folders.add(folder)
                    if len(folders) > MANY_FOLDERS:
                        return
        if len(folders) > MANY_FOLDERS:
            return
        times = {folder: self._times_of(folder) for folder in folders}
        if all(found and max(found[:2]) < began - SETTLED for found in times.values()):
            self._names, self._rules, self._times = frozenset(names), rules, times

    def _times_of(self, folder: str) -> tuple[int, ...]:
        try:
            found = os.lstat(os.path.join(self._root, folder))
        except OSError:
            return ()
        return found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_dev, found.st_mode


def _add_parents(path: str, folders: set[str]) -> None:
    while (path := path.rpartition("/")[0]) and path not in folders:
        folders.add(path)


def _folders_in(root: str, folder: str) -> Iterator[str]:
    for at, _, _ in os.walk(os.path.join(root, folder)):
        yield os.path.relpath(at, root).replace(os.sep, "/")
