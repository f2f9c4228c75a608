"""What the editor has told of a file and the round has not noted yet, and its form on the disk.

A window may close, or the editor end, right after a save. What can't be noted at once is kept in the store, as a kill
gives no time, and so is what isn't noted when a folder is let go. Whoever opens the store next notes it before anything
else is looked at.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..platforms.files import write_private
from ..platforms.paths import RealPaths, real_path
from ..review.disk import Encodings
from .change_screen import SavedText
from .places import is_in, is_inside, place_of, relative
from .state import made, plain

logger = logging.getLogger(__name__)

TOLD = "told.json"


class Accepted(NamedTuple):
    """A proposal that the person has accepted."""

    before: str | None
    """None for a new file."""
    text: str
    """What they have made of it."""
    proposed: str


@dataclass(slots=True)
class Told:
    """The person has saved a file, has accepted a proposal of it, or has deleted it or a folder in the side bar."""

    path: str
    """As the editor has it; in the store the one below the root."""
    saved: SavedText = field(default_factory=SavedText)
    encodings: Encodings = field(default_factory=Encodings)
    is_deleted: bool = False
    accepted: Accepted | None = None
    is_noted: bool = field(default=False, init=False)
    """Whether a round has it, or a store for the next one."""
    is_kept: bool = field(default=False, init=False)
    """Whether the store has it until then."""

    def named(self, name: str, *, has_texts: bool) -> Told:
        """The same of a file by another name, perhaps without its texts."""
        saved = self.saved if has_texts else SavedText(since=self.saved.since, until=self.saved.until)
        return Told(name, saved, self.encodings, self.is_deleted, self.accepted if has_texts else None)

    @property
    def is_save(self) -> bool:
        """Whether the person has saved a file."""
        return not self.is_deleted and self.accepted is None


Excluding = Callable[[str, Sequence[str]], set[str]]
"""Gives those of some files of a root that are never read."""


@dataclass(frozen=True, slots=True)
class Left:
    """What is not noted yet when folders are let go."""

    told: Sequence[Told]
    """Of their files, and of other ones: that of each file the oldest first."""
    roots: Sequence[str]
    """All folders with rounds, also those that are let go."""
    excluded: Excluding

    def of(self, root: str) -> list[tuple[Told, str]]:
        """What was told of the files of a root, each with the file's path in it. On its worker thread."""
        words = [each for each in self.told if not each.is_noted]
        # A disk that hangs must not keep whoever opens the store next.
        real = {
            **RealPaths(real_path).known(each.path for each in words if not each.is_deleted),
            **RealPaths(place_of).known(each.path for each in words if each.is_deleted),
        }
        for each in words:
            if each.path not in real:
                logger.warning("What was told of %s is lost: its disk doesn't answer", each.path)
        inner = [each for each in self.roots if is_inside(each, root)]
        found = [(each, real[each.path]) for each in words if each.path in real]
        return [(each, relative(path, root)) for each, path in found if is_in(path, [root]) and not is_in(path, inner)]


class KeptWords:
    """What a store has of what was told of the files of its folder. Used on two threads."""

    def __init__(self, store: str) -> None:
        self._path = os.path.join(store, TOLD)
        self._lock = threading.Lock()
        self._words = [(each, each) for each in _read(self._path)]
        """What was told, each with its form in the store, the oldest first."""
        self._is_over = False

    @property
    def words(self) -> list[Told]:
        """What is to be noted yet, as the store has it."""
        return [kept for word, kept in self._words if not word.is_noted]

    def keep(self, words: Sequence[tuple[Told, str]], apart: Collection[str]) -> None:
        """Have these, too, each by its path in the folder, without the texts of the files `apart`. Raises OSError."""
        with self._lock:
            new = [(word, name) for word, name in words if not (word.is_noted or word.is_kept or self._is_over)]
            for word, name in new:
                self._words.append((word, word.named(name, has_texts=name not in apart)))
                word.is_kept = True
            if new:
                self._write()

    def noted(self) -> None:
        """Something was noted: the store has it no longer. Raises OSError."""
        with self._lock:
            if any(word.is_noted for word, _ in self._words):
                self._write()

    def end(self, words: Sequence[tuple[Told, str]], apart: Collection[str]) -> None:
        """Leave these for whoever opens the store next, and nothing else that was told since it was opened.

        Raises OSError.
        """
        with self._lock:
            self._is_over = True
            kept = {id(word): (word, form) for word, form in self._words}
            for word, _ in self._words:
                word.is_kept = False
            self._words = [each for each in self._words if each[0] is each[1]]
            for word, name in words:
                self._words.append(kept.get(id(word)) or (word, word.named(name, has_texts=name not in apart)))
            self._write()
            for word, _ in words:
                word.is_noted = True

    def _write(self) -> None:
        self._words = [each for each in self._words if not each[0].is_noted]
        if words := self.words:
            write_private(self._path, json.dumps(words, default=plain).encode())
        else:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._path)


def _read(path: str) -> list[Told]:
    """What was left in a store, the oldest first. Raises OSError."""
    try:
        with open(path, encoding="utf-8") as file:
            found: list[Told] = made(list[Told], json.load(file))
            return found
    except FileNotFoundError:
        return []
    except (ValueError, TypeError) as error:
        logger.warning("What was told in %s can't be read, and is lost: %s", path, error)
        os.unlink(path)
        return []
