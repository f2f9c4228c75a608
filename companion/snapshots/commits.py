"""The commits of the person's own repository, to compare a folder with: which there are, and what is in them.

What names a commit is read from the repository's files, so git is given nothing but ids, and runs in the store with the
repository's objects lent to it. All of it blocks.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from . import project
from .entries import LARGE, REPOSITORY, Entry
from .git import Git, GitError
from .objects import StoreObjects, is_id
from .project import Repository

LATEST = 50
"""Commits that are listed."""
_SETTINGS = ("core.commitGraph=false",)
_LINE = re.compile(r"([0-9a-f]{40}) (\d{1,12}) (.*)")
_SUBJECT = "%<(200,trunc)%s"
"""The beginning of a subject, padded."""


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit in the list."""

    id: str
    at: float
    """Unix time."""
    subject: str


class Commits:
    """The commits of the repository that a folder is in, or is."""

    def __init__(self, objects: StoreObjects, git: Git) -> None:
        self._objects = objects
        self._git = git

    def latest(self, found: Repository) -> list[Commit]:
        """The last commits of `HEAD`; of a shallow clone perhaps only one. None if there is none."""
        head = project.head(found).commit
        lent = project.lent_objects(found, [head]) if is_id(head) else []
        if not lent:
            return []
        for how in (f"--max-count={LATEST}", "--no-walk"):
            try:
                printed = self._git.run(
                    "rev-list", how, f"--format=%H %ct {_SUBJECT}", head, "--", lent=lent, settings=_SETTINGS
                )
            except GitError:
                continue
            lines = map(_LINE.fullmatch, printed.decode("utf-8", "replace").split("\n"))
            return [Commit(line[1], float(line[2]), line[3].rstrip(" ")) for line in lines if line]
        return []

    def commit_of(self, found: Repository, name: str) -> str:
        """The id of the commit that an id is of, which may be a tag's. Raises GitError."""
        lent = self._lent(found, [name])
        return self._git.run("rev-parse", "--verify", "-q", f"{name}^{{commit}}", lent=lent).decode().strip()

    def branch_point(self, found: Repository, commit: str) -> str:
        """The last commit that `HEAD` has in common with another one; empty if there is none. Raises GitError."""
        head = project.head(found).commit
        lent = self._lent(found, [head, commit])
        both = self._git.run("merge-base", head, commit, lent=lent, settings=_SETTINGS, answers=(0, 1))
        return both.decode().partition("\n")[0].strip()

    def files(self, found: Repository, commit: str, below: str) -> dict[str, Entry]:
        """The files of a commit in a folder of it, by their paths there: without other repositories. Raises GitError.

        A path that no folder can have is left out: whoever made the repository decides what is in its trees.
        """
        lent = self._lent(found, [commit])
        try:
            printed = self._git.run("ls-tree", "-r", "-z", f"{commit}:{below}", lent=lent)
        except GitError:
            if not below:
                raise
            return {}  # the folder wasn't there
        entries: dict[str, Entry] = {}
        for line in printed.split(b"\0")[:-1]:
            about, _, name = line.partition(b"\t")
            mode, _, blob = about.decode().split()
            path = os.fsdecode(name)
            if mode != REPOSITORY and _is_plain(path):
                entries[path] = Entry(mode, blob)
        return entries

    def copy(self, found: Repository, blobs: Iterable[str]) -> set[str]:
        """Have some contents in the store; returns those that nobody has, or that are too large. Raises GitError."""
        wanted = self._objects.lacking(blobs)
        lent = self._lent(found, list(wanted)) if wanted else []
        sizes = self._objects.sizes(wanted, lent) if wanted else {}
        there = {blob for blob, size in sizes.items() if size <= LARGE}
        if there:
            self._objects.pack(there, lent)
        return wanted - there

    @staticmethod
    def _lent(found: Repository, ids: Sequence[str]) -> list[str]:
        if not all(map(is_id, ids)) or not (lent := project.lent_objects(found, ids)):
            raise GitError("the repository can't be read")
        return lent


def _is_plain(path: str) -> bool:
    names = path.replace("\\", "/").split("/") if os.name == "nt" else path.split("/")
    return not any(name in {"", ".", ".."} or name.rstrip(" .").lower() == ".git" for name in names)
