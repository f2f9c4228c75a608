"""The private store of one folder: snapshots of it, as trees of a bare git repository.

The store has an index, which is the last look at the folder, and whose times make the next look cheap. Files are listed
by `git ls-files`, filtered here and added by `git update-index`: what the settings exclude is never read, and a file
over 10 MB never copied. All of this blocks; it runs on the worker thread of the folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from ..platforms.files import make_private_folders
from .entries import FILE, LARGE, LINK, PROGRAM, REPOSITORY, Entry, TreeSnapshot
from .git import Git, GitError, GitStoppedError, names_in
from .modes import Modes
from .objects import EMPTY_TREE, SCRATCH, StoreObjects
from .own_index import own_entries, written_index
from .project import LinkedObjects, Repository, repository
from .store_index import StoreIndex

MANY_FILES = 200_000
MANY_BYTES = 5 * 1024**3
_ATTRIBUTES = "* -text -filter -ident -working-tree-encoding -diff -merge\n"
_RULES = "rules"
_IGNORED_DEPTH = 2
_IGNORED_SEARCHED = 2_000
"""Ignored folders that are searched for repositories: a large one, such as of packages, must not hold up a round."""


class TooLargeError(Exception):
    """A folder has so much in it that the person is asked first."""

    def __init__(self, files: int, size: int) -> None:
        super().__init__(f"{files:,} files, {size / 1024**3:.1f} GB")


class DamagedError(GitError):
    """The store can't be read."""


@dataclass(frozen=True, slots=True)
class Look:
    """What a look found."""

    snapshot: TreeSnapshot
    fresh: tuple[str, ...] = ()
    """The paths that differ from the look before and were written since a time."""
    written: Mapping[str, int] = field(default_factory=dict[str, int])
    """When they were written, in nanoseconds of Unix time."""


class Store:
    """Snapshots of the folder `root` in the folder `path`. `excludes` says whether a relative path is never read."""

    def __init__(self, path: str, root: str, git: Git, excludes: Callable[[str], bool]) -> None:
        self.path = path
        self.root = root
        self._git = git
        self.excludes = excludes
        self._beside: dict[str, Entry] = {}
        self._stats: dict[str, tuple[int, ...]] = {}
        """The stat of each file beside, for which its entry was made."""
        self._tree = ""
        self._known = 0, 0
        """How many files, and bytes of them, were taken from the person's index."""
        self._ignored: list[str] = []
        """The folders that the ignore rules leave out."""
        self._attributes: list[str] = []
        """The files with attributes in the folder."""
        self._links = LinkedObjects(path)
        self.objects = StoreObjects(path, root, git, self._links)
        self._index = StoreIndex(path, root, os.path.join(path, _RULES), git, self._links)
        self._written: dict[str, int] = {}
        """When the files of the last look were written, in nanoseconds."""
        self._failed: dict[str, tuple[int, ...]] = {}
        self.modes = Modes()

    def open(self) -> None:
        """Make the store if there is none. Raises DamagedError if there is one that can't be read."""
        make_private_folders(self.path)
        if not os.path.isdir(os.path.join(self.path, "objects")):
            self._git.run("init", "-q", "--template=")
        make_private_folders(os.path.join(self.path, "info"))
        self._write_file(os.path.join("info", "attributes"), _ATTRIBUTES.encode())
        for lock in ("index.lock", f"{SCRATCH}.lock", "HEAD.lock"):  # left by a run that was killed
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(self.path, lock))
        try:
            self._tree = self.objects.write_tree("index")
        except GitStoppedError:
            raise
        except GitError as error:
            raise DamagedError(str(error)) from error
        self._links.open()

    def rules(self, make: Callable[[Iterable[str]], bytes], above: bytes) -> bytes:
        """The ignore rules as they are now, from the `.gitignore` files that hold; `above` are those of elsewhere."""
        self._write_file(_RULES, above)
        standard = ("--exclude-per-directory=.gitignore", "-X", os.path.join(self.path, _RULES))
        found = names_in(self._git.run("ls-files", "-z", "-c", "-o", *standard))
        ignored = names_in(self._git.run("ls-files", "-z", "-o", "-i", "--directory", *standard))
        self._attributes = [name for name in found if name.rpartition("/")[2] == ".gitattributes"]
        self._ignored = [name.rstrip("/") for name in ignored if name.endswith("/")]
        inside = [f"{name}/.gitignore" for name in self._ignored]
        names = {name for name in (*found, *ignored) if name.rpartition("/")[2] == ".gitignore"}
        names |= {name for name in inside if os.path.isfile(os.path.join(self.root, name))}
        return make(names)

    def ignored_repositories(self) -> list[str]:
        """The repositories in what the ignore rules leave out, which have rules of their own. Call `rules` before."""
        found: list[str] = []
        todo = [(path, 0) for path in sorted(self._ignored)][:_IGNORED_SEARCHED]
        for path, depth in todo:
            full = os.path.join(self.root, path)
            if os.path.lexists(os.path.join(full, ".git")):
                found += [path] if repository(full) else []
            elif depth < _IGNORED_DEPTH:
                with contextlib.suppress(OSError), os.scandir(full) as entries:
                    below = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
                    todo += [(f"{path}/{name}", depth + 1) for name in below][: _IGNORED_SEARCHED - len(todo)]
        return found

    def begin_with(self, found: Repository, attributes: Iterable[str]) -> bool:
        """Begin with the index of the person's repository, of which the folder is the work tree.

        `attributes` are files with attributes of the person's own. Returns whether the store has its objects now.
        """
        if self._tree != EMPTY_TREE:
            return False  # what the last look has seen is better
        self._links.link(found)
        inside = [os.path.join(self.root, name) for name in self._attributes]
        files = [*attributes, *inside, os.path.join(found.common, "info", "attributes")]
        entries = own_entries(found, files, self.excludes)
        # A file with attributes that is gone may have held when the others were written.
        if not entries or any(e.path.endswith(".gitattributes") and e.path not in self._attributes for e in entries):
            return True
        asked = "".join(f"{blob}\n" for blob in dict.fromkeys(entry.blob for entry in entries)).encode()
        printed = self._git.run("cat-file", "--batch-check=%(objectname) %(objectsize)", given=asked)
        sizes = dict(_sized(printed))
        self._write_file("index", written_index(entries, sizes))
        self._git.run("update-index", "-q", "--refresh", answers=(0, 1))
        self._known = len(entries), sum(entry.size for entry in entries)
        self._tree = ""
        return True

    def note_modes(self) -> None:
        """Find the permissions of all files of the last look, as those of a baseline."""
        self.modes.begin(self.root, (*self._index.files(), *self._beside))

    def drop_ignored(self, rules: bytes) -> None:
        """Forget the files that the rules leave out by now."""
        self._write_file(_RULES, rules)
        self._index.drop_ignored()

    def empty_folders(self, rules: bytes) -> list[str]:
        """The folders without a file in them, after a look. Each ends with a slash."""
        self._write_file(_RULES, rules)
        listed = self._git.run("ls-files", "-z", "-o", "--directory", "-X", os.path.join(self.path, _RULES))
        return [name for name in names_in(listed) if name.endswith("/")]

    def look(
        self, rules: bytes, *, objects: Repository | None = None, may_be_large: bool = True, since: int = 0
    ) -> Look:
        """Look at the folder, and copy what has changed since the last look into the store.

        `objects` is the repository whose objects are used instead of copies, `since` a time in nanoseconds. Raises
        TooLargeError, GitError.
        """
        began = time.time_ns()
        self._write_file(_RULES, rules)
        listing = self._index.listing(rules)
        gone = {path for path in listing.gone if not self._is_hidden(path)}
        indexed = listing.changed - gone
        seen = indexed | listing.untracked
        nested = {name for name in seen if name.endswith("/")}
        seen -= nested | gone
        self._written.clear()
        add, beside, stats = self._sorted(seen, gone, listing.untracked, may_be_large=may_be_large)
        if objects:
            self._links.link(objects)
        # A file may have grown over the limit, or can't be read any more.
        remove = gone | (indexed & beside.keys())
        if remove or add:
            self._tree = ""  # until the index is written as a whole
            unreadable = self._unreadable(self._index.update(listing, remove, add))
        else:
            unreadable = {}
            self._index.note(listing, rules, began)
        self._written |= {path: self.written_at(path) for path in add}  # it may have been written while it was read
        self._tree = self._tree or self.objects.write_tree("index")
        beside |= unreadable
        for path in self._beside.keys() - beside.keys() - set(add):
            if self._is_hidden(path):
                beside[path] = self._beside[path]
                if path in self._stats:
                    stats[path] = self._stats[path]
        beside |= {name.rstrip("/"): Entry(REPOSITORY, "", "repository") for name in nested}
        self._beside, self._stats = beside, stats
        fresh = tuple(sorted(path for path, at in self._written.items() if at >= since)) if since else ()
        return Look(TreeSnapshot(self._tree, dict(beside)), fresh, dict(self._written))

    def _sorted(
        self, seen: set[str], gone: set[str], new: AbstractSet[str], *, may_be_large: bool
    ) -> tuple[list[str], dict[str, Entry], dict[str, tuple[int, ...]]]:
        """The paths to add, and what is known of the others. Paths that are no files any more join the `gone` ones.

        Of what is seen, `new` was in no look before.
        """
        add: list[str] = []
        beside: dict[str, Entry] = {}
        stats: dict[str, tuple[int, ...]] = {}
        size = 0
        for path in seen:
            full = os.path.join(self.root, path)
            try:
                found = os.lstat(full)
            except PermissionError:
                continue
            except OSError:
                gone.add(path)
                continue
            is_link = stat.S_ISLNK(found.st_mode)
            if not is_link and not stat.S_ISREG(found.st_mode):
                gone.add(path)
                continue
            size += found.st_size
            self._written[path] = found.st_mtime_ns
            key = (found.st_size, found.st_mtime_ns, found.st_ino, found.st_mode)
            if path in new:
                self.modes.seen(path, found.st_mode)
            mode = LINK if is_link else PROGRAM if found.st_mode & 0o100 else FILE
            if self.excludes(path):
                beside[path], stats[path] = Entry(mode, f"{found.st_size}-{found.st_mtime_ns}", "excluded"), key
            elif not is_link and found.st_size > LARGE:
                known = self._beside.get(path) if self._stats.get(path) == key else None
                beside[path], stats[path] = known or _large(full, mode), key
            elif self._failed.get(path) == key:
                beside[path], stats[path] = Entry(mode, f"{found.st_size}-{found.st_mtime_ns}", "unreadable"), key
            else:
                add.append(path)
        files, size = len(seen) + self._known[0], size + self._known[1]
        if not may_be_large and (files > MANY_FILES or size > MANY_BYTES):
            raise TooLargeError(files, size)
        self._known = 0, 0
        return sorted(add), beside, stats

    def _is_hidden(self, path: str) -> bool:
        """Whether a file is in a folder that may not be read, where nobody can tell what has become of it."""
        try:
            os.lstat(os.path.join(self.root, path))
        except PermissionError:
            return True
        except OSError:
            return False
        return False

    def _unreadable(self, paths: Iterable[str]) -> dict[str, Entry]:
        found: dict[str, Entry] = {}
        for path in paths:
            with contextlib.suppress(OSError):
                stated = os.lstat(os.path.join(self.root, path))
                self._failed[path] = (stated.st_size, stated.st_mtime_ns, stated.st_ino, stated.st_mode)
                mode = PROGRAM if stated.st_mode & 0o100 else FILE
                found[path] = Entry(mode, f"{stated.st_size}-{stated.st_mtime_ns}", "unreadable")
        return found

    def written_at(self, path: str) -> int:
        """When a file was written, in nanoseconds of Unix time; 0 if there is none."""
        try:
            return os.lstat(os.path.join(self.root, path)).st_mtime_ns
        except OSError:
            return 0

    def _write_file(self, name: str, data: bytes) -> None:
        path = os.path.join(self.path, name)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)


def _large(path: str, mode: str) -> Entry:
    """A file that isn't copied has git's id, so that it may be found in the person's repository."""
    try:
        size = os.path.getsize(path)
        digest = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
        with open(path, "rb") as file:
            while data := file.read(1024 * 1024):
                digest.update(data)
    except OSError:
        return Entry(mode, "unreadable", "unreadable")
    return Entry(mode, digest.hexdigest(), "large")


def _sized(printed: bytes) -> Iterable[tuple[str, int]]:
    for line in printed.decode("ascii", "replace").splitlines():
        blob, _, size = line.partition(" ")
        if size.isdecimal():
            yield blob, int(size)
