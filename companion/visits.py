"""Where agents work: the places in files that they read or write. Standard library alone."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .ids import ChatId
from .platforms.files import FileRefusedError, IrregularError, MissingError, look, shown

MOST = 100
"""Files that are remembered of a window."""
LARGEST = 64 * 1024 * 1024
"""Bytes of a file that the editor opens where nobody has chosen it from the disk: it takes all of it into memory."""


@dataclass(frozen=True, slots=True)
class Visit:
    """An agent was at a place."""

    path: str
    """The absolute path on this machine."""
    line: int | None
    """From 1; None if nobody knows it."""
    agent: str
    """Its name."""
    what: str
    """What it did there, in a word: read, edit, delete, move, search, proposal or written."""
    chat: ChatId | None = None
    """The chat that it answers; None for a CLI."""


def is_elsewhere(path: str, folders: Iterable[str] = ()) -> bool:
    """Whether a path is one of another computer, where none of the folders is, or Windows' own form of any path.

    To look there would send it the person's credentials.
    """
    plain = path.replace("\\", "/")
    inside = (folder.replace("\\", "/").rstrip("/") + "/" for folder in folders if folder)
    return plain.startswith(("//", "/??/")) and not any(map(plain.startswith, inside))


def why_unopened(path: str) -> str:
    """A sentence on why the editor is not made to open a file; empty if it is a regular one of at most LARGEST bytes.

    It looks at the disk: not for an event loop nor the UI thread.
    """
    try:
        look(path, LARGEST, follows_links=True)
    except MissingError:
        return f"There is no file {shown(path)}."
    except IrregularError as error:
        return f"{shown(path)} is no file: it {error.why}."
    except FileRefusedError as error:
        return f"{error}."
    return ""


class RecentFiles:
    """The files of the agents of a window, each once, the one visited last first."""

    def __init__(self) -> None:
        self._visits: dict[str, Visit] = {}

    def add(self, visits: Iterable[Visit]) -> None:
        """Agents were there, in this order."""
        for visit in visits:
            key = os.path.normcase(visit.path)
            self._visits.pop(key, None)
            self._visits[key] = visit
        for key in list(self._visits)[:-MOST]:
            del self._visits[key]

    def __iter__(self) -> Iterator[Visit]:
        """The latest first."""
        return iter(list(self._visits.values())[::-1])

    def __len__(self) -> int:
        return len(self._visits)
