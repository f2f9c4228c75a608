"""The permissions of files, of which git only knows whether a file is a program."""

from __future__ import annotations

import contextlib
import os
import stat
from collections import Counter
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from .entries import FILE, PROGRAM, Entry


@dataclass(slots=True)
class Modes:
    """The permissions in a baseline, and those that agents have left."""

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
