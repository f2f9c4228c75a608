"""What the editor has told of a file and the round has not noted yet, and its form on the disk.

A window may close, or the editor end, right after a save. Who lets go of the folder then leaves the word of it in the
store, and whoever opens that next notes it before anything else is looked at.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ..platforms.files import write_private
from ..platforms.paths import RealPaths, real_path
from ..review.disk import Encodings
from .change_screen import SavedText
from .places import is_in, is_inside, place_of, relative
from .state import made, plain

logger = logging.getLogger(__name__)

TOLD = "told.json"


@dataclass(slots=True)
class Told:
    """The person has saved a file, or has deleted it or a folder in the side bar."""

    path: str
    """As the editor has it; in the store the one below the root."""
    saved: SavedText = field(default_factory=SavedText)
    encodings: Encodings = field(default_factory=Encodings)
    is_deleted: bool = False
    is_noted: bool = field(default=False, init=False)
    """Whether a round has it, or a store for the next one."""

    def named(self, name: str, *, has_texts: bool) -> Told:
        """The same of a file by another name, perhaps without its texts."""
        saved = self.saved if has_texts else SavedText(since=self.saved.since, until=self.saved.until)
        return Told(name, saved, self.encodings, self.is_deleted)


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
        inner = [each for each in self.roots if is_inside(each, root)]
        found = [(each, real[each.path]) for each in words if each.path in real]
        return [(each, relative(path, root)) for each, path in found if is_in(path, [root]) and not is_in(path, inner)]


def leave(store: str, words: Sequence[Told]) -> None:
    """Have these in a store, and no other ones. Raises OSError."""
    path = os.path.join(store, TOLD)
    if words:
        write_private(path, json.dumps(words, default=plain).encode())
    else:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def left_in(store: str) -> list[Told]:
    """What was left in a store, the oldest first. Raises OSError."""
    try:
        with open(os.path.join(store, TOLD), encoding="utf-8") as file:
            found: list[Told] = made(list[Told], json.load(file))
            return found
    except FileNotFoundError:
        return []
    except (ValueError, TypeError) as error:
        logger.warning("What was told in %s can't be read: %s", store, error)
        return []
