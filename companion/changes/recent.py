"""What the scans of the last minute have found, file by file: the word of a save may come after a scan has seen it.

That of the last two scans is in the store, too, as the word may come after the end of the editor.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..platforms.files import write_private
from ..snapshots.entries import Entry
from .state import KnownLines, made, plain

logger = logging.getLogger(__name__)

_FILE = "recent.json"
_SCANS = 2
"""Scans after which the word of a save has come."""
CLOCK = 20_000_000
"""Nanoseconds by which the time of a file may be too early: the system takes it from a clock that ticks."""
KEPT = 60.0
"""Seconds for which the word of a save is waited for."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """A file that a scan has found to be changed, and what was known of it before that scan."""

    before: Entry | None
    base: Entry | None
    """In the baseline."""
    lines: KnownLines | None
    agents: tuple[str, ...]
    """Who had changed it."""
    written: int
    """When it was written, in nanoseconds of Unix time."""
    who: tuple[str, ...] = ()
    """Who may have written it then."""
    named: str = ""
    """The agent that has said that it writes the file."""
    at: float = field(default_factory=time.monotonic)
    is_unsure: bool = False
    """Whether the person may have written it."""


class RecentScans:
    """The sightings of the last minute, by path, the oldest first. `store` is the folder that has them."""

    def __init__(self, store: str) -> None:
        self._path = os.path.join(store, _FILE)
        self._found: dict[str, list[Sighting]] = {}

    def open(self) -> None:
        """Go on with those that another run of the editor has left: what was told there is noted soon."""
        try:
            with open(self._path, encoding="utf-8") as file:
                found: dict[str, list[Sighting]] = made(dict[str, list[Sighting]], json.load(file))
        except FileNotFoundError:
            return
        except (OSError, ValueError, TypeError) as error:
            logger.warning("What the last scans have found can't be read: %s", error)
            return
        last = max((each.at for files in found.values() for each in files), default=0.0)
        since = time.monotonic() - last
        self._found = {path: [replace(each, at=each.at + since) for each in files] for path, files in found.items()}

    def write(self) -> None:
        """Have those of the last scans in the store, before what these have found is noted there. Raises OSError."""
        last = sorted({each.at for found in self._found.values() for each in found})[-_SCANS:]
        kept = {path: [each for each in found if each.at in last] for path, found in self._found.items()}
        known = {path: found for path, found in kept.items() if found}
        write_private(self._path, json.dumps(known, default=plain).encode())

    def add(self, path: str, sighting: Sighting) -> None:
        """A scan has found a file to be changed."""
        self._found.setdefault(path, []).append(sighting)

    def of(self, path: str) -> Sequence[Sighting]:
        """The sightings of a file since its last save."""
        return self._found.get(path, ())

    def forget(self, path: str) -> None:
        """The word of a save has come."""
        self._found.pop(path, None)

    def forget_old(self) -> None:
        """Let go what nobody asks for any more."""
        limit = time.monotonic() - KEPT
        kept = {path: [each for each in found if each.at >= limit] for path, found in self._found.items()}
        self._found = {path: found for path, found in kept.items() if found}

    def before(self, since: int) -> dict[str, Sighting]:
        """The files that were written after a time in nanoseconds: the first scan that has found that."""
        late = {path: [each for each in found if each.written >= since - CLOCK] for path, found in self._found.items()}
        return {path: found[0] for path, found in late.items() if found}

    def entries(self) -> list[Entry | None]:
        """What the files were before: a word of a save is hardly later than two scans."""
        return [entry for found in self._found.values() for each in found[-2:] for entry in (each.before, each.base)]

    def all(self) -> Mapping[str, list[Sighting]]:
        """All of them, by path."""
        return {path: list(found) for path, found in self._found.items()}

    def replace(self, is_meant: Callable[[str], bool], found: Mapping[str, list[Sighting]]) -> None:
        """Have these in place of those of some paths."""
        self._found = {path: each for path, each in self._found.items() if not is_meant(path)} | {**found}
