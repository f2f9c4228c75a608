"""The index of a store: the last look at a folder, whose times make the next look cheap."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from .git import Git, GitError, GitStoppedError, batches, joined, names_in
from .project import LinkedObjects
from .untracked import UntrackedFiles


@dataclass(slots=True)
class IndexListing:
    """How a folder differs from the index, by relative path."""

    changed: set[str] = field(default_factory=set[str])
    gone: set[str] = field(default_factory=set[str])
    """Also what is in a folder that may not be read."""
    untracked: frozenset[str] = frozenset()
    """The path of a folder with a repository of its own ends with a slash."""


class StoreIndex:
    """The index of the store in the folder `path`, for the folder `root`; `rules` is its file of ignore rules."""

    def __init__(self, path: str, root: str, rules: str, git: Git, links: LinkedObjects) -> None:
        self._path = path
        self._root = root
        self._rules = rules
        self._git = git
        self._links = links
        self._untracked = UntrackedFiles(root)

    def files(self) -> list[str]:
        """What is in the index."""
        return names_in(self._git.run("ls-files", "-z", "-c"))

    def listing(self, rules: bytes) -> IndexListing:
        """What differs now. `rules` are the ignore rules in the file. Raises GitError."""
        untracked = self._untracked.remembered(rules)
        if untracked is None:
            return self._listed("-m", "-d", "-o", "-X", self._rules)
        # This compares the times on several threads, which `ls-files` doesn't.
        suspected = names_in(self._git.run("diff-files", "-z", "--name-only"))
        if not suspected:
            return IndexListing(untracked=untracked)
        parts = list(batches(suspected))
        found = self._listed("-m", "-d", *(("--", *suspected) if len(parts) == 1 else ()))
        if not found.changed and not found.gone:  # only their times differ
            self._git.run("update-index", "-q", "--refresh", answers=(0, 1))
        found.untracked = untracked
        return found

    def _listed(self, *arguments: str) -> IndexListing:
        changed: set[str] = set()
        gone: set[str] = set()
        untracked: set[str] = set()
        groups = {b"R": gone, b"?": untracked}
        for line in self._git.run("ls-files", "-z", "-t", *arguments).split(b"\0")[:-1]:
            groups.get(line[:1], changed).add(os.fsdecode(line[2:]))
        return IndexListing(changed, gone, frozenset(untracked))

    def note(self, listing: IndexListing, rules: bytes, began: int) -> None:
        """Remember a listing after which nothing had to be brought up to date.

        `began` is the time at which it was asked for, in nanoseconds of Unix time.
        """
        every = ("-c", "-o", "--directory", "-X", self._rules)
        self._untracked.note(listing.untracked, rules, began, lambda: names_in(self._git.run("ls-files", "-z", *every)))

    def drop_ignored(self) -> None:
        """Forget the files that the rules leave out."""
        self._untracked.forget()
        if ignored := self._git.run("ls-files", "-z", "-c", "-i", "-X", self._rules):
            self._git.run("update-index", "-z", "--force-remove", "--stdin", given=ignored)

    def update(self, listing: IndexListing, remove: Collection[str], add: Sequence[str]) -> list[str]:
        """Bring it up to date. Returns the files that can't be read. Raises GitError."""
        unreadable: list[str] = []
        try:
            self._remove(remove)
            if add:
                with self._links.untouched():
                    unreadable = self._add(add)
            self._remove(unreadable)
        finally:
            if remove or unreadable or not listing.untracked.isdisjoint(add):
                self._untracked.forget()
        return unreadable

    def _remove(self, paths: Collection[str]) -> None:
        if paths:
            self._git.run("update-index", "-z", "--force-remove", "--stdin", given=joined(paths))

    def _add(self, paths: Sequence[str]) -> list[str]:
        """Add files. Returns those that can't be read: they are no reason to miss the others."""
        try:
            self._git.run("update-index", "-z", "--add", "--remove", "--replace", "--stdin", given=joined(paths))
        except GitStoppedError:
            raise
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
