"""Symbols of texts and folders, as the editor's index has them: found by the usual words, whatever the syntax."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

DEFINITION = re.compile(r"^[ \t]*(?:async\s+)?(class|def|fn|func|function)\s+(\w+)", re.MULTILINE)
LARGEST = 1024 * 1024
"""The largest file that is indexed, in bytes."""
_IGNORED = {".git", ".hg", ".svn", ".venv", "__pycache__", "node_modules"}


@dataclass(frozen=True)
class Found:
    """A symbol in a text, from `start` up to `end`."""

    name: str
    start: int
    end: int
    word: str
    """What defines it, such as "class"; empty for a reference."""


def definitions(text: str) -> list[Found]:
    """What a line defines that begins with one of the usual words for a function or a class."""
    return [Found(found[2], *found.span(2), found[1]) for found in DEFINITION.finditer(text)]


def references(text: str, name: str) -> list[Found]:
    """Where a name stands, except where it is defined."""
    defined = {found.start for found in definitions(text)}
    every = re.finditer(rf"\b{re.escape(name)}\b", text)
    return [Found(name, *found.span(), "") for found in every if found.start() not in defined]


def files(folders: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The paths and texts of the files in some folders."""
    for root in folders:
        for folder, below, names in os.walk(root):
            below[:] = sorted(set(below) - _IGNORED)
            for name in sorted(names):
                path = os.path.join(folder, name)
                try:
                    if os.path.getsize(path) <= LARGEST:
                        with open(path, encoding="utf-8") as file:
                            yield path, file.read()
                except (OSError, UnicodeDecodeError):
                    continue
