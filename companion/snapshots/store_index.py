"""The index of a store: the last scan of a folder, whose times make the next scan cheap.

The files that it lacks are remembered while none of the folders changes: a file can't come or go without changing the
times of its folder, so a scan of a quiet tree needs no listing of it. The untracked cache of git relies on the same
(`git help update-index`), but `git ls-files` doesn't use that.
"""

from __future__ import annotations

import math
import os
import re
import stat
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import islice

from ..platforms.files import rename
from .entries import REPOSITORY
from .git import Git, GitError, GitStoppedError, batches, few_batches, joined, names_in

UNTOUCHED = 60_000_000_000
"""Nanoseconds after which an empty folder is none that an agent has just made for a file."""
SETTLED = 2_000_000_000
"""Nanoseconds after which one more change moves the times of a folder: some file systems count steps of two seconds."""
PERIOD = 20.0
"""Seconds after which everything is listed again: not every file system keeps the times of folders."""
PAUSE = 20.0
"""Seconds between two listings of the folders, which cost as much as a scan: some trees change all the time."""
MANY_FOLDERS = 20_000

_NOBODY = "x.qwen-companion"
"""The name of no file."""
_ELSEWHERE = frozenset({".", "..", ".git"})
"""The parts of a name, besides an empty one, that none of a file in the folder has."""
_NO_INDEX = "none.index"
"""The name of no index: what a survey has found is in none."""
_PLAIN = re.compile(r"H(?<![^\0]H) 1[02]0... [^ ]+ 0\t([^\0]+)\0")
"""A file in the index as `git ls-files -z -v -s` has it, but one at which git was told not to look, or in conflict."""


@dataclass(slots=True)
class IndexListing:
    """How a folder differs from the index, by relative path."""

    changed: set[str] = field(default_factory=set[str])
    gone: set[str] = field(default_factory=set[str])
    """Also what is in a folder that may not be read."""
    untracked: AbstractSet[str] = frozenset()
    """The path of a folder with a repository of its own ends with a slash."""


@dataclass(frozen=True, slots=True)
class Survey:
    """A folder beside an index, as one run of git sees it."""

    names: Sequence[str]
    """The files of the index."""
    rest: AbstractSet[str]
    """Those that may not be as on the disk: changed, gone, in conflict, or such that git was told not to look at."""
    repositories: Sequence[str]
    """The repositories below that the index has."""
    others: Sequence[str]
    """What the index lacks, whatever the ignore rules say. A folder of which it has nothing ends with a slash."""
    for_git: Sequence[str]
    """Those of the files that may be for git itself, such as `.gitignore`."""


class StoreIndex:
    """The index of the store in the folder `path`, for the folder `root`; `rules` is its file of ignore rules."""

    def __init__(self, path: str, root: str, rules: str, git: Git) -> None:
        self._path = path
        self._root = root
        self._rules = rules
        self._git = git
        self.untracked = UntrackedFiles(root)

    def survey(self, index: str = "index") -> Survey:
        """What the folder has beside this index of the store.

        Raises GitError, also if a name in it could lead elsewhere: whoever has made the index may have chosen it.
        """
        every = ("ls-files", "-z", "-v", "-s", "-o", "--directory")
        with ThreadPoolExecutor(1) as beside:  # to look at all files takes as long as to look for others
            differing = beside.submit(self._differing, index)
            found = self._surveyed(os.fsdecode(self._git.run(*every, index=index)))
            return replace(found, rest={*found.rest}.union(*differing.result()))

    def _surveyed(self, text: str) -> Survey:
        parts = _PLAIN.split(text)  # what is between two names, and the names
        names, odd = parts[1::2], "".join(parts[::2]).split("\0")[:-1]
        rest = {line[52:] for line in odd if line[0] != "?" and line[2:8] != REPOSITORY}
        repositories = [line[52:] for line in odd if line[0] != "?" and line[2:8] == REPOSITORY]
        others = [line[2:] for line in odd if line[0] == "?"]
        names += rest
        indexed = "\0".join(["", *names, *repositories, ""])
        is_dotted = "/." in indexed or "\0." in indexed
        dotted = [name for name in (*names, *repositories) if name[:1] == "." or "/." in name] if is_dotted else []
        is_odd = "\0/" in indexed or "//" in indexed or "/\0" in indexed
        if is_odd or not all(_ELSEWHERE.isdisjoint(name.lower().split("/")) for name in dotted):
            raise GitError("a name in the index leads elsewhere")
        others += [f"{path}/" for path in repositories if os.path.isdir(os.path.join(self._root, path))]
        return Survey(names, rest, repositories, others, [name for name in dotted if ".git" in name])

    def outside(self, others: Sequence[str]) -> list[str]:
        """The files in what a survey has found that the rules don't leave out.

        The path of a folder with a repository of its own ends with a slash.
        """
        return self._found(others, "-o", index=_NO_INDEX)

    def empty(self, others: Sequence[str] = (".",)) -> set[str]:
        """The empty folders, of those in what a survey has found, or of all. Each ends with a slash."""
        outermost = [name[:-1] for name in self._found(others, "-o", "--directory") if name.endswith("/")]
        own = [name for name in outermost if not os.path.lexists(os.path.join(self._root, name, ".git"))]
        folders = (folder for name in own for folder in _empty_in(self._root, name))
        return {f"{folder}/" for folder in islice(folders, MANY_FOLDERS)}

    def _found(self, others: Sequence[str], *options: str, index: str = "index") -> list[str]:
        command = ("ls-files", "-z", *options, "-X", self._rules, "--")
        parts = few_batches(others)
        return [name for part in parts for name in names_in(self._git.run(*command, *part, index=index))]

    def standard(self, others: Sequence[str]) -> tuple[list[str], list[str]]:
        """What git leaves out of a survey's finds by the rules and those of the folders, and what it doesn't."""
        command = ("status", "--porcelain", "-z", "--ignored=matching", "-uall", "--no-renames", "--")
        lines: list[str] = []
        for part in few_batches([name for name in others if name.endswith("/")]):
            printed = self._git.run(*command, *part, index=_NO_INDEX, settings=(f"core.excludesFile={self._rules}",))
            lines += names_in(printed)
        ignored, rest = (
            [line[3:] for line in lines if (line[:2] == "!!") is is_ignored] for is_ignored in (True, False)
        )
        return ignored, rest

    def listing(self, rules: bytes) -> IndexListing:
        """What differs now. `rules` are the ignore rules in the file. Raises GitError."""
        untracked = self.untracked.remembered(rules)
        if untracked is not None:
            return IndexListing(*self._differing("index"), untracked)
        with ThreadPoolExecutor(1) as beside:
            differing = beside.submit(self._differing, "index")
            untracked = frozenset(names_in(self._git.run("ls-files", "-z", "-o", "-X", self._rules)))
            return IndexListing(*differing.result(), untracked)

    def _differing(self, index: str) -> tuple[set[str], set[str]]:
        """The files of an index that have changed, and those that are gone. One may be both."""
        # This compares the times on several threads, which `ls-files` doesn't.
        suspected = names_in(self._git.run("diff-files", "-z", "--name-only", "--ignore-submodules=all", index=index))
        if not suspected:
            return set(), set()
        self.check_attributes(suspected)
        parts = list(batches(suspected))
        paths = ("--", *suspected) if len(parts) == 1 else ()
        lines = self._git.run("ls-files", "-z", "-t", "-m", "-d", *paths, index=index).split(b"\0")[:-1]
        gone = {os.fsdecode(line[2:]) for line in lines if line[:1] == b"R"}
        changed = {os.fsdecode(line[2:]) for line in lines if line[:1] != b"R"}
        if not changed.issuperset(suspected):  # of some only the times differ
            self._git.run("update-index", "-q", "--refresh", answers=(0, 1), index=index)
        return changed, gone

    def note(self, listing: IndexListing, rules: bytes, began: int) -> None:
        """Remember a listing after which nothing had to be brought up to date.

        `began` is the time at which it was asked for, in nanoseconds of Unix time.
        """
        every = ("-c", "-o", "--directory", "-X", self._rules)
        names = listing.untracked
        self.untracked.note(names, rules, began, lambda: names_in(self._git.run("ls-files", "-z", *every)))

    def listed(self, index: str = "index") -> list[bytes]:
        """Each file of the index as `git ls-files -s` has it: its mode, its id and, from the 50th byte on, its path."""
        return self._git.run("ls-files", "-z", "-s", index=index).split(b"\0")[:-1]

    def ids(self, index: str = "index") -> dict[str, str]:
        """The ids of what is in the index, by path."""
        return ids_in(self.listed(index))

    def ignored(self) -> list[str]:
        """What is in the index although the rules leave it out."""
        return names_in(self._git.run("ls-files", "-z", "-c", "-i", "-X", self._rules))

    def drop(self, paths: Collection[str]) -> None:
        """Forget files, and what was listed."""
        self.untracked.forget()
        self._remove(paths)

    def begin(self, source: str, without: Collection[str]) -> None:
        """Begin with the copy `source` of another index, without some of its files. It is no copy any more then."""
        rename(os.path.join(self._path, source), os.path.join(self._path, "index"))
        self._remove(without)

    def forget_trees(self, folders: Iterable[str]) -> None:
        """Forget what it says of the trees of some folders, which end with a slash: another's can say anything."""
        # As git takes a name away it forgets the trees of the folders that it is in, also if it isn't there.
        self._remove([*(f"{folder}{_NOBODY}" for folder in folders), _NOBODY])

    def update(self, listing: IndexListing, remove: Collection[str], add: Sequence[str]) -> list[str]:
        """Bring it up to date. Returns the files that can't be read. Raises GitError."""
        unreadable: list[str] = []
        try:
            self._remove(remove)
            if add:
                self.check_attributes(add)
                unreadable = self._add(add)
            self._remove(unreadable)
        finally:
            if remove or unreadable or not listing.untracked.isdisjoint(add):
                self.untracked.forget()
        return unreadable

    def check_attributes(self, paths: Iterable[str]) -> None:
        """Look at the files with attributes that git opens when it reads some files, though they mean nothing here.

        Raises GitStoppedError if one has no end: git would wait for it, or read it for ever.
        """
        folders = {""}
        for folder in {path.rpartition("/")[0] for path in paths}:
            add_parents(f"{folder}/", folders)
        for folder in sorted(folders):
            path = f"{folder}/.gitattributes" if folder else ".gitattributes"
            try:
                mode = os.lstat(os.path.join(self._root, path)).st_mode
            except OSError:
                continue
            if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode) or stat.S_ISDIR(mode)):  # git follows no link there
                raise GitStoppedError(f"{path} is a pipe or a device")

    def _remove(self, paths: Collection[str]) -> None:
        if paths:
            self._git.run("update-index", "-z", "--force-remove", "--stdin", given=joined(paths))

    def _add(self, paths: Sequence[str]) -> list[str]:
        """Add files. Returns those that can't be read: they are no reason to miss the others."""
        try:
            self._git.run("update-index", "-z", "--add", "--remove", "--replace", "--stdin", given=joined(paths))
        except GitError:
            closed = {path for path in paths if not _is_readable(os.path.join(self._root, path))}
            if closed:
                rest = [path for path in paths if path not in closed]
                return [*closed, *(self._add(rest) if rest else ())]
            if len(paths) > 1:
                half = len(paths) // 2
                return [*self._add(paths[:half]), *self._add(paths[half:])]
            if not os.path.isdir(os.path.join(self._path, "objects")) or not os.path.isdir(self._root):
                raise
            return list(paths)
        return []


def ids_in(listed: Iterable[bytes]) -> dict[str, str]:
    """The ids of the files in a list of `git ls-files -s`, by path."""
    return {os.fsdecode(line[50:]): line[7:47].decode() for line in listed}


def _is_readable(path: str) -> bool:
    """Whether a file may be read. One that has gone is none that may not."""
    try:
        if not os.path.islink(path):
            os.close(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)))
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return True


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
        self.long_empty: set[str] = set()
        """The empty folders into which nothing has come, and gone from them, for a minute."""

    def forget(self) -> None:
        """Have everything listed at the next scan."""
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

    def note(self, names: Collection[str], rules: bytes, began: int, listed: Callable[[], Collection[str]]) -> None:
        """Remember what a listing has found that began at a time, in nanoseconds of Unix time.

        `listed` returns all files, but an untracked folder in their place, which ends with a slash.
        """
        if self._times or time.monotonic() - self._noted <= PAUSE:
            return
        self._noted = time.monotonic()
        found = listed()
        folders, empty = {""}, set[str]()
        for path in {path.rpartition("/")[0] for path in found}:
            add_parents(f"{path}/", folders)
        for path in found:
            if path.endswith("/") and path not in names:
                for folder in _folders_in(self._root, path[:-1]):
                    folders.add(folder)
                    if len(folders) > MANY_FOLDERS:
                        return
                empty.update(_empty_in(self._root, path[:-1]))
        if len(folders) > MANY_FOLDERS:
            return
        times = {folder: self._times_of(folder) for folder in folders}
        if all(found and max(found[:2]) < began - SETTLED for found in times.values()):
            self._names, self._rules, self._times = frozenset(names), rules, times
            self.long_empty = {f"{folder}/" for folder in empty & times.keys() if times[folder][0] < began - UNTOUCHED}

    def _times_of(self, folder: str) -> tuple[int, ...]:
        try:
            found = os.lstat(os.path.join(self._root, folder))
        except OSError:
            return ()
        return found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_dev, found.st_mode


def add_parents(path: str, folders: set[str]) -> None:
    """Add the folders that a file is in, but the root."""
    while (path := path.rpartition("/")[0]) and path not in folders:
        folders.add(path)


def _folders_in(root: str, folder: str) -> Iterator[str]:
    for at, _, _ in os.walk(os.path.join(root, folder)):
        yield os.path.relpath(at, root).replace(os.sep, "/")


def _empty_in(root: str, folder: str) -> Iterator[str]:
    """The folders in one, itself included, that have no file in them or below; nothing of another repository."""
    seen: list[tuple[str, list[str], list[str]]] = []
    full: set[str] = set()
    for at, folders, names in islice(os.walk(os.path.join(root, folder)), MANY_FOLDERS):
        if ".git" in folders or ".git" in names:
            full.add(at)
            folders.clear()
        else:
            seen.append((at, [os.path.join(at, name) for name in folders], names))
    for at, folders, names in reversed(seen):
        if names or not full.isdisjoint(folders) or any(map(os.path.islink, folders)):
            full.add(at)
        else:
            yield os.path.relpath(at, root).replace(os.sep, "/")
