"""Reads which libraries are installed from their `.dist-info` folders, as Package Control does.

It makes Package Control reinstall one by removing that folder.
"""

from __future__ import annotations

import csv
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

_DIST_INFO = re.compile(r"([^-]+)-([^-]+)\.dist-info", re.IGNORECASE)
NATIVE = (".pyd", ".so", ".dll", ".dylib")
"""The suffixes of files that the system loads and may lock."""


@dataclass(frozen=True, slots=True)
class Library:
    """An installed library."""

    name: str
    version: str
    folder: str
    """The path of its `.dist-info` folder."""

    @property
    def root(self) -> str:
        """The folder that contains its files."""
        return os.path.dirname(self.folder)

    def files(self) -> list[str]:
        """Return the paths of its files relative to `root`, with slashes, without compiled bytecode.

        Raises OSError if its RECORD can't be read.
        """
        with open(os.path.join(self.folder, "RECORD"), encoding="utf-8", newline="") as record:
            names = [row[0] for row in csv.reader(record) if row]
        return [name for name in names if not name.startswith(("..", "/")) and not name.endswith(".pyc")]

    def modules(self) -> set[str]:
        """Return the names of its top-level modules."""
        try:
            tops = {name.partition("/")[0] for name in self.files()}
        except OSError:
            return set()
        return {top.partition(".")[0] for top in tops if not top.endswith((".dist-info", ".data"))}

    def is_whole(self) -> bool:
        """Return whether all of its files exist."""
        wanted: dict[str, set[str]] = {}
        try:
            for name in self.files():
                folder, _, file = name.rpartition("/")
                wanted.setdefault(folder, set()).add(file)
            return all(files <= set(os.listdir(os.path.join(self.root, folder))) for folder, files in wanted.items())
        except OSError:
            return False

    def needs(self, name: str) -> str | None:
        """Return the only version of another library that it accepts, if it names one."""
        try:
            with open(os.path.join(self.folder, "METADATA"), encoding="utf-8") as metadata:
                text = metadata.read()
        except OSError:
            return None
        told = re.search(rf"^Requires-Dist: *{re.escape(name)} *\(?== *([^\s;)]+)", text, re.MULTILINE)
        return told[1] if told else None


def canonical(name: str) -> str:
    """Return a library's name in the form that dependencies.json uses."""
    return re.sub(r"[-_.]+", "-", name).lower()


def installed(names: Iterable[str], paths: Sequence[str] | None = None) -> dict[str, list[Library]]:
    """Return the libraries that are found on `sys.path`, or on other paths, by name.

    A name has several if an older `.dist-info` was left behind. Then it is unknown which version the files have.
    """
    wanted = set(names)
    found: dict[str, list[Library]] = {}
    for path in dict.fromkeys(sys.path if paths is None else paths):
        here: dict[str, list[Library]] = {}
        for library in _in(path or os.curdir):
            if library.name in wanted and library.name not in found:
                here.setdefault(library.name, []).append(library)
        found |= here
    return found


def _in(path: str) -> Iterator[Library]:
    try:
        entries = sorted(os.listdir(path))
    except OSError:
        return
    for entry in entries:
        if match := _DIST_INFO.fullmatch(entry):
            yield Library(canonical(match[1]), match[2], os.path.join(path, entry))


def in_use(library: Library) -> bool:
    """Return whether a file of the library can't be replaced, as on Windows while it is loaded."""
    try:
        natives = [name for name in library.files() if name.endswith(NATIVE)]
    except OSError:
        return False
    for name in natives:
        try:
            with open(os.path.join(library.root, name), "r+b"):
                pass
        except FileNotFoundError:
            continue
        except OSError:
            return True
    return False


def forget(names: Iterable[str]) -> tuple[list[str], list[str]]:
    """Remove the `.dist-info` of each library, so that Package Control finds it missing.

    Returns the names of the libraries whose files are in use, and of those whose folder can't be removed.
    """
    busy: list[str] = []
    kept: list[str] = []
    for name, libraries in installed(names).items():
        for library in libraries:
            if in_use(library):
                busy.append(name)
            try:
                shutil.rmtree(library.folder)
            except OSError:
                kept.append(name)
    return busy, kept
