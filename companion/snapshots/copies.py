"""The files of a baseline whose ids are known before they are copied, and what becomes of those.

A round begins with the ids that the index of the person's repository has. Each is a claim until the file was read: then
its content is in the store, or the claim was wrong. A file that is changed before has its old text from the person's
repository, checked against the id, or from nowhere. All of this blocks.
"""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import stat
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice

from ..platforms import files
from .entries import LARGE, Modes
from .files import blob_id
from .git import GitError, GitStoppedError
from .objects import StoreObjects

RESERVE = 512 * 1024 * 1024
"""Bytes that stay free on the disk of the store."""
GROWTH = 32 * 1024 * 1024
"""Bytes by which a store grows before it is worth the time to free some."""
_AT_ONCE = 8 * 1024 * 1024
_FILES_AT_ONCE = 1_000
_SHORTEST = 0.01
"""Seconds below which no further part is begun: to start git takes as long."""
_MARK = "uncopied"
_NOTE = "pruned"


class FullError(GitStoppedError):
    """The disk of the store is nearly full; the text is for the person."""


class Copies:
    """What the store `path` of the folder `root` is still to copy. `excluded` says which paths are never read."""

    def __init__(
        self,
        path: str,
        root: str,
        objects: StoreObjects,
        modes: Modes,
        excluded: Callable[[Sequence[str]], AbstractSet[str]],
    ) -> None:
        self._path = path
        self._root = root
        self._objects = objects
        self._excluded = excluded
        self.modes = modes
        self._known: dict[str, str] = {}
        """The ids of the files that are not copied yet, by path."""
        self._find: Callable[[], object] | None = None
        """Finds those of a round that has just begun."""
        self._expected = 0
        """How many that are."""
        self._doubted: set[str] = set()
        """Those of them whose content is another one, or can't be read: the next scan tells which."""
        self.stopped = ""
        """Why no more is copied, for the person; empty if nothing stops the copies."""
        self._pruned = 0
        """Bytes of the store after it was pruned last."""

    @property
    def left(self) -> int:
        """How many files are still to be copied."""
        return self._expected if self._find else len(self._known) - len(self._doubted)

    @property
    def _claims(self) -> dict[str, str]:
        if self._find:
            self._find()
        return self._known

    def expect(self) -> None:
        """Ids are going to be in the index whose contents the store may lack."""
        files.write_private(os.path.join(self._path, _MARK), b"")

    def claim_later(self, find: Callable[[], object], count: int) -> None:
        """As soon as something needs them, `find` claims so many files."""
        self._find, self._expected, self._doubted = find, count, set()

    def claim(self, claims: Mapping[str, str]) -> None:
        """Copy these files later, whose ids are by path."""
        self._find, self._known, self._doubted = None, dict(claims), set()

    def open(self, index: Mapping[str, str]) -> None:
        """Find out what is still to be copied of the last scan; `index` has its ids, by path."""
        self.claim({})
        if os.path.exists(os.path.join(self._path, _MARK)):
            lacking = self._objects.lacking(index.values())
            self._known = {path: blob for path, blob in index.items() if blob in lacking}

    @property
    def claimed(self) -> AbstractSet[str]:
        """The files that are not copied yet."""
        return self._claims.keys()

    def find_lost(self, blobs: Iterable[str]) -> bool:
        """Find out which contents of a baseline were changed before they were copied, in another run of the editor.

        Returns False if others are lacking, too.
        """
        lost = self._objects.lacking(blobs) - {*self._claims.values()}
        self._objects.unsaved |= lost
        return not lost or os.path.exists(os.path.join(self._path, _MARK))

    def more(self, seconds: float) -> int:
        """Copy files for about so long, with up to two cores. Returns how many are left.

        Call it again and again while the worker is idle, with four times as long between the calls. If it can't go on,
        `stopped` says why; nothing is left half written.
        """
        end = time.monotonic() + seconds
        self.stopped = ""
        try:
            while self.left and (rest := end - time.monotonic()) > _SHORTEST:
                self._check_space(_AT_ONCE)
                self._copy_part(self._claims, rest / 2)
        except OSError as error:
            self.stopped = str(error)
            remove_unfinished(self._path)
            return self.left
        if not self._claims and not self._objects.unsaved:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(self._path, _MARK))
        return self.left

    def _copy_part(self, paths: Iterable[str], seconds: float = math.inf) -> None:
        """Copy some of these files, which are to be copied. They are read for so long; to write them takes as long.

        Those that the person has excluded meanwhile are copied no more: nobody has what they were then.
        """
        read: dict[str, bytes] = {}
        size = 0
        end = time.monotonic() + seconds
        part = list(islice((path for path in paths if path not in self._doubted), _FILES_AT_ONCE))
        excluded = self._excluded(part)
        self._objects.unsaved |= {self._claims.pop(path) for path in excluded}
        with files.held(self._root) as folder:
            for path in part:
                if path in excluded:
                    continue
                blob = self._claims[path]
                if blob not in read:
                    data = self._read(folder, path)
                    if data is None or blob_id(data) != blob:
                        self._doubted.add(path)
                        continue
                    read[blob] = data
                    size += len(data)
                if size > _AT_ONCE or time.monotonic() > end:
                    break
        if read:
            self._objects.write_all(list(read.values()))
        self._known = {path: blob for path, blob in self._known.items() if blob not in read or path in self._doubted}

    def _read(self, folder: files.HeldFolder, path: str) -> bytes | None:
        try:
            with folder.entry(os.path.join(*path.split("/"))) as entry:
                if stat.S_ISLNK(entry.found().st_mode):
                    return os.fsencode(entry.link())
                content = entry.read(LARGE)
        except OSError:
            return None
        self.modes.noted(path, content.found.st_mode)
        return content.data

    def seen(self, changed: Collection[str]) -> set[str]:
        """A scan has found that these files differ from the claims, and no others.

        Their old texts are copied from the person's repository, as far as it has them and they are not excluded.
        Returns the files of which the claims were wrong, until they are `corrected`.
        """
        wrong = self._doubted.difference(changed)
        late = {path: self._claims[path] for path in {*changed, *wrong} & self._claims.keys()}
        excluded = self._excluded([*late])
        wrong -= excluded
        for path in self.modes.unknown(late.keys() - wrong):
            self.modes.keep(self._root, path)
        wanted = {blob for path, blob in late.items() if path not in wrong}
        if others := [path for path, blob in self._claims.items() if blob in wanted and path not in late]:
            self._copy_part(others)
        wanted -= self._objects.sizes(wanted).keys()
        if found := self._objects.recovered(wanted & {late[path] for path in late.keys() - excluded}):
            self._objects.write_all(list(found.values()))
        self.corrected(late.keys() - wrong)  # what has failed before that is tried again by the next scan
        self._objects.unsaved |= wanted - found.keys() - {self._claims[path] for path in self._claims.keys() - wrong}
        return wrong

    def corrected(self, paths: Iterable[str]) -> None:
        """What these files are is known without the claims."""
        for path in paths:
            self._claims.pop(path, None)
            self._doubted.discard(path)

    def _check_space(self, size: int) -> None:
        """Raise FullError if a copy of so many bytes would leave too little of the disk."""
        if shutil.disk_usage(self._path).free < RESERVE + size:
            megabytes = RESERVE // 1024**2
            raise FullError(f"less than {megabytes} MB are free on the disk of the snapshots, so no more is copied")

    def bound(self, blobs: Iterable[str]) -> int:
        """Bytes that a store may have whose baseline has these contents: twice those, and a little for what follows."""
        return 2 * sum(self._objects.sizes(blobs, what="objectsize:disk").values()) + 2 * GROWTH

    def size(self) -> int:
        """Bytes of all objects in the store."""
        total = 0
        for folder, _, names in os.walk(os.path.join(self._path, "objects")):
            for name in names:
                with contextlib.suppress(OSError):
                    total += os.lstat(os.path.join(folder, name)).st_size
        return total

    def prune(self, trees: Iterable[str], blobs: Iterable[str], *, grown: int = GROWTH) -> int:
        """Remove each object that none of some trees and contents needs; returns how many bytes are left.

        Nothing is done unless the store has `grown` by so many bytes since the last time. Raises GitError.
        """
        note = os.path.join(self._path, _NOTE)
        if not self._pruned:
            with contextlib.suppress(OSError, ValueError), open(note, "rb") as file:
                self._pruned = int(file.read())
        if (size := self.size()) < self._pruned + grown:
            return size
        alive = {*self._objects.needed(trees), *blobs}
        alive -= self._objects.lacking(alive)
        objects = os.path.join(self._path, "objects")
        old = [os.path.join(folder, name) for folder, _, names in os.walk(objects) for name in names]
        packed = self._objects.pack(alive)
        kept = {f"{packed}.{ending}" for ending in ("pack", "idx")}
        if alive and not all(map(os.path.exists, kept)):
            raise GitError("the store could not be packed")
        for path in old:
            if path not in kept:
                with contextlib.suppress(OSError):
                    os.chmod(path, 0o600)  # Windows removes no read-only file
                    os.unlink(path)
        self._pruned = self.size()
        files.write_private(note, b"%d" % self._pruned)
        return self._pruned


def remove_unfinished(store: str) -> None:
    """Remove what a run of git has left behind that was ended while it wrote objects."""
    packs = os.path.join(store, "objects", "pack")
    with contextlib.suppress(OSError):
        for name in os.listdir(packs):
            if name.startswith("tmp_"):
                os.unlink(os.path.join(packs, name))
