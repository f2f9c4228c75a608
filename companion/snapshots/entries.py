"""What a snapshot knows of a file, also its permissions, and how two snapshots differ."""

from __future__ import annotations

import contextlib
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Literal

FILE, PROGRAM, LINK, REPOSITORY = "100644", "100755", "120000", "160000"
"""Git's modes."""
LARGE = 10 * 1024 * 1024
"""Bytes. The content of a larger file is not copied."""

LARGEST = 256 * 1024 * 1024
"""Bytes. A larger file isn't read at all: it may have no end."""

Why = Literal["", "excluded", "large", "unreadable", "repository", "rules", "unsaved"]
"""Why a snapshot lacks the content of a file: `context_exclude` matches it, it is over 10 MB, it can't be read, it is a
folder with a repository of its own, it has ignore rules and is git's own, it was changed before it was copied."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One file in a snapshot."""

    mode: str
    blob: str
    """Git's id of the content; for a file without content what identifies it: its size and its time, or its hash."""
    why: Why = field(default="", compare=False)
    """It may change without the file: a text that nobody has is known again once a tab has brought it."""

    @property
    def is_link(self) -> bool:
        """Whether it is a symbolic link; its content is what it leads to."""
        return self.mode == LINK


@dataclass(frozen=True, slots=True)
class Difference:
    """A file that differs between two snapshots. `before` or `after` is None where there is none.

    Paths are relative to the root, with slashes. A renamed file has its old path in `renamed_from`.
    """

    path: str
    before: Entry | None
    after: Entry | None
    renamed_from: str = ""

    @property
    def paths(self) -> tuple[str, ...]:
        """Both paths of a renamed file, otherwise the one."""
        return (self.renamed_from, self.path) if self.renamed_from else (self.path,)


class TreeSnapshot:
    """The state of a folder: a tree of the store, and the files whose content isn't in it.

    In a baseline it may be that a tree can't have them, since the person has written below a folder of an agent's that
    took a file's place, or a file in the place of a folder.

    The tree is an id, or what makes it as soon as something needs it: see `Store.begin`.
    """

    __slots__ = ("_tree", "beside")

    def __init__(self, tree: str | Callable[[], str], beside: dict[str, Entry]) -> None:
        self._tree = tree
        self.beside = beside

    @property
    def is_made(self) -> bool:
        """Whether there is a tree already. In a round that was read it may be none."""
        return isinstance(self._tree, str) and self._tree != ""

    @property
    def tree(self) -> str:
        """The id of the tree. Blocks, and raises GitError, if it has to be made."""
        if not isinstance(self._tree, str):
            self._tree = self._tree()
        return self._tree

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeSnapshot):
            return NotImplemented
        return self is other or (self.tree == other.tree and self.beside == other.beside)

    def __hash__(self) -> int:
        return hash(frozenset(self.beside))


@dataclass(slots=True)
class Modes:
    """The permissions in a baseline, and those that agents have left: git only knows whether a file is a program."""

    own: dict[str, int] = field(default_factory=dict[str, int])
    """By path: those of the baseline's files that are not the usual ones."""
    usual: dict[str, int] = field(default_factory=dict[str, int])
    """By git's mode: what most files of the baseline have."""
    left: dict[str, int] = field(default_factory=dict[str, int])
    """By path: what an agent's file had before it was undone, or has if it is new and that is unusual."""

    _known: set[str] | None = field(default=None, init=False)
    """The files that were looked at since the baseline was new; None in another run of the editor."""

    def begin(self, root: str, paths: Iterable[str]) -> None:
        """Begin with a new baseline. The usual permissions are those of most of these files on the disk. Blocks."""
        found = {path: mode for path in paths if (mode := on_disk(root, path)) is not None}
        counted = {kind: Counter(mode for mode in found.values() if _kind(mode) == kind) for kind in (FILE, PROGRAM)}
        self.usual = {kind: modes.most_common(1)[0][0] for kind, modes in counted.items() if modes}
        self.own, self.left, self._known = {}, {}, set()
        for path, mode in found.items():
            self.noted(path, mode)

    def noted(self, path: str, mode: int) -> None:
        """A file of the baseline has these permissions."""
        permissions = stat.S_IMODE(mode)
        if self._known is not None:
            self._known.add(path)
        if permissions == self.usual.get(_kind(permissions)):
            self.own.pop(path, None)
        else:
            self.own[path] = permissions

    def unknown(self, paths: AbstractSet[str]) -> AbstractSet[str]:
        """Those of some files of a new baseline that nobody has looked at yet."""
        return set() if self._known is None else paths - self._known

    def keep(self, root: str, path: str) -> None:
        """A file is in the baseline as it is on the disk. Blocks."""
        if (mode := on_disk(root, path)) is None:
            self.own.pop(path, None)
        else:
            self.noted(path, mode)

    def seen(self, path: str, mode: int) -> None:
        """A scan has found a new file; `mode` is that of its stat."""
        if stat.S_ISREG(mode):
            permissions = stat.S_IMODE(mode)
            if permissions == self.usual.get(_kind(permissions)):
                self.left.pop(path, None)
            else:
                self.left[path] = permissions

    def leave(self, root: str, path: str) -> None:
        """A file is about to be undone. Blocks."""
        if (mode := on_disk(root, path)) is not None:
            self.left[path] = mode

    def of(self, path: str, target: Entry, base: Entry | None) -> int | None:
        """The permissions of a file that is to be as in an entry; None if they are not known.

        `base` is its entry in the baseline.
        """
        mode = self.own.get(path, self.usual.get(target.mode)) if target == base else self.left.get(path)
        return mode if mode is not None and _kind(mode) == target.mode else None


def on_disk(root: str, path: str) -> int | None:
    """The permissions of a file; None if there is none. Blocks."""
    with contextlib.suppress(OSError):
        mode = os.lstat(os.path.join(root, path)).st_mode
        return stat.S_IMODE(mode) if stat.S_ISREG(mode) else None
    return None


def _kind(mode: int) -> str:
    return PROGRAM if mode & 0o100 else FILE
