"""What a snapshot knows of a file, and how two snapshots differ."""

from __future__ import annotations

from collections.abc import Callable
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
