"""The person's own repository: read as files, never by git, and never written to.

A store links the repository's objects instead of copying them: a link costs no space and stays when the repository
collects its garbage, is rebased or is removed.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Generator
from dataclasses import dataclass

from ..platforms.files import make_private_folders, rename

_PACK = re.compile(r"pack-[0-9a-f]{40}\.(pack|idx)$")
_LOOSE = re.compile(r"[0-9a-f]{38}$")
_HEX = frozenset("0123456789abcdef")
_SMALL = 64 * 1024
"""Bytes of a file of git's that names something. More are not read."""
_MAX_LOOSE = 100_000
_MAX_ALTERNATES = 10


@dataclass(frozen=True, slots=True)
class Repository:
    """The folders of a repository."""

    own: str
    """That of this work tree, with HEAD and the index."""
    common: str
    """That of all its work trees, with the objects and the refs."""


@dataclass(frozen=True, slots=True)
class Head:
    """What `HEAD` says at the moment, and what moved it last."""

    commit: str = ""
    moved_by: str = ""
    """The first word of the last line in HEAD's log, such as "commit" or "checkout"."""
    stash: str = ""
    index: str = ""
    """Identifies what is in the index: the stat of its file."""


def repository(folder: str) -> Repository | None:
    """The repository whose work tree a folder is; None if it has none."""
    at = os.path.join(folder, ".git")
    if os.path.isfile(at):
        pointer = _text(at)
        if not pointer.startswith("gitdir:"):
            return None
        at = os.path.normpath(os.path.join(folder, pointer[7:].strip()))
    if not os.path.isfile(os.path.join(at, "HEAD")):
        return None
    common = _text(os.path.join(at, "commondir")).strip()
    return Repository(at, os.path.normpath(os.path.join(at, common)) if common else at)


def top(folder: str) -> str | None:
    """The folder itself or the nearest one above it that is a work tree."""
    at = folder
    while True:
        if os.path.lexists(os.path.join(at, ".git")) and repository(at):
            return at
        above = os.path.dirname(at)
        if above == at:
            return None
        at = above


def head(found: Repository | None) -> Head:
    """Where `HEAD` is."""
    if found is None:
        return Head()
    commit = _text(os.path.join(found.own, "HEAD")).strip()
    for _ in range(5):
        if not commit.startswith("ref:"):
            break
        commit = _ref(found, commit[4:].strip())
    return Head(commit, _moved_by(found), _ref(found, "refs/stash"), _stat(os.path.join(found.own, "index")))


def is_made_since(found: Repository, blob: str, at: int) -> bool:
    """Whether an object was added to the repository since a time in nanoseconds, as `git add` does with new content."""
    for folder in object_folders(found):
        with contextlib.suppress(OSError):
            return os.stat(os.path.join(folder, blob[:2], blob[2:])).st_mtime_ns >= at
    return False


def _stat(path: str) -> str:
    try:
        found = os.stat(path)
    except OSError:
        return ""
    return f"{found.st_size}-{found.st_mtime_ns}-{found.st_ino}"


def _ref(found: Repository, name: str) -> str:
    for base in dict.fromkeys((found.own, found.common)):
        if text := _text(os.path.join(base, *name.split("/"))).strip():
            return text
    with contextlib.suppress(OSError), open(os.path.join(found.common, "packed-refs"), "rb") as file:
        for line in file:
            words = line.split()
            if len(words) == 2 and words[1] == os.fsencode(name):
                return words[0].decode("ascii", "replace")
    return ""


def _moved_by(found: Repository) -> str:
    with contextlib.suppress(OSError), open(os.path.join(found.own, "logs", "HEAD"), "rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - 4096))
        lines = file.read().decode("utf-8", "replace").splitlines()
        message = lines[-1].partition("\t")[2] if lines else ""
        return re.split(r"[^a-z-]", message, maxsplit=1)[0]
    return ""


def object_folders(found: Repository) -> list[str]:
    """The folders with the repository's objects: its own, and those that it borrows from."""
    folders = [os.path.join(found.common, "objects")]
    for folder in folders:
        for line in _text(os.path.join(folder, "info", "alternates")).splitlines():
            path = os.path.normpath(os.path.join(folder, line.strip()))
            if line.strip() and not line.startswith("#") and path not in folders and len(folders) < _MAX_ALTERNATES:
                folders.append(path)
    return folders


class LinkedObjects:
    """Brings a repository's objects into a store, as links where the file system can link them."""

    def __init__(self, store: str) -> None:
        self._objects = os.path.join(store, "objects")
        self._times: dict[str, tuple[int, int]] = {}
        """When each linked file was read and written, in nanoseconds."""

    def open(self) -> None:
        """Find the links that are in the store already."""
        for folder, _, names in os.walk(self._objects):
            for name in names:
                self._note(os.path.join(folder, name))

    def link(self, found: Repository) -> None:
        """Link all packs, and the objects outside packs. What can't be linked or copied is left out."""
        for folder in object_folders(found):
            pack, own = os.path.join(folder, "pack"), os.path.join(self._objects, "pack")
            names = [name for name in _names(pack) if _PACK.match(name)]
            # The index comes last: a pack counts from then on.
            for name in sorted(names, key=lambda name: name.endswith(".idx")):
                if name.endswith(".idx") and not os.path.exists(os.path.join(own, f"{name[:-4]}.pack")):
                    continue
                self._bring(os.path.join(pack, name), os.path.join(own, name))
            count = 0
            for part in _names(folder):
                if len(part) != 2 or not _HEX.issuperset(part):
                    continue
                for name in _names(os.path.join(folder, part)):
                    if _LOOSE.match(name) and count < _MAX_LOOSE:
                        count += 1
                        self._bring(os.path.join(folder, part, name), os.path.join(self._objects, part, name))

    def _bring(self, source: str, target: str) -> None:
        if os.path.exists(target):
            return
        with contextlib.suppress(OSError):
            make_private_folders(os.path.dirname(target))
            try:
                os.link(source, target, follow_symlinks=False)
            except (OSError, NotImplementedError):
                shutil.copyfile(source, f"{target}.new")
                rename(f"{target}.new", target)
            self._note(target)

    def _note(self, path: str) -> None:
        with contextlib.suppress(OSError):
            found = os.stat(path)
            if found.st_nlink > 1:
                self._times[path] = found.st_atime_ns, found.st_mtime_ns

    @contextlib.contextmanager
    def untouched(self) -> Generator[None]:
        """Git marks an object that it comes across again as fresh, by its time. The person's files keep theirs."""
        try:
            yield
        finally:
            for path, (read, written) in self._times.items():
                with contextlib.suppress(OSError):
                    if os.stat(path).st_mtime_ns != written:
                        os.utime(path, ns=(read, written))


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _text(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read(_SMALL).decode("utf-8", "surrogateescape")
    except OSError:
        return ""
