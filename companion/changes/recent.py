"""What the looks of the last minute have found, file by file: the word of a save may come after a look has seen it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from .entries import Entry

CLOCK = 20_000_000
"""Nanoseconds by which the time of a file may be too early: the system takes it from a clock that ticks."""
KEPT = 60.0
"""Seconds for which the word of a save is waited for."""


@dataclass(frozen=True, slots=True)
class Below:
    """A file that was written while its buffer had unsaved edits."""

    agents: tuple[str, ...]
    before: bytes
    after: bytes


@dataclass(frozen=True, slots=True)
class Sighting:
    """A file that a look has found to be changed."""

    before: Entry | None
    after: Entry | None
    agents: Sequence[str]
    """Who had changed it before that look."""
    loaded: str | None
    """The text that the editor had loaded since the look before."""
    below: Below | None
    """What was known before of its unsaved buffer."""
    written: int
    """When it was written, in nanoseconds of Unix time."""
    is_named: bool
    """Whether an agent has said that it writes the file."""
    at: float = field(default_factory=time.monotonic)


@dataclass(frozen=True, slots=True)
class SavedPart:
    """What the looks have seen of a save."""

    first: Sighting
    last: Sighting | None
    """The last one that is of the save, if an agent has written the file after it; None if nobody has."""


class RecentLooks:
    """The sightings of the last minute, by path, the oldest first, and what the editor has told meanwhile."""

    def __init__(self) -> None:
        self._found: dict[str, list[Sighting]] = {}
        self.below: dict[str, Below] = {}
        """The files whose buffers have unsaved edits and not what was written."""
        self.loaded: dict[str, str] = {}
        """The texts that the editor has loaded since the last look, of files that were written after it."""
        self.settling: dict[str, float] = {}
        """Files that the person has saved just now, and until when a change of them belongs to that."""

    def add(self, path: str, sighting: Sighting) -> None:
        """A look has found a file to be changed."""
        self._found.setdefault(path, []).append(sighting)

    def has(self, path: str) -> bool:
        """Whether a look has found a file to be changed, and no save of it was told since."""
        return path in self._found

    def forget(self, path: str) -> None:
        """The word of a save has come."""
        self._found.pop(path, None)

    def forget_old(self) -> None:
        """Let go what nobody asks for any more."""
        limit = time.monotonic() - KEPT
        for path, found in list(self._found.items()):
            if kept := [each for each in found if each.at >= limit]:
                self._found[path] = kept
            else:
                del self._found[path]

    def before(self, since: int) -> dict[str, Entry | None]:
        """The files that were written after a time in nanoseconds, as they were before that."""
        late = {path: [each for each in found if each.written >= since - CLOCK] for path, found in self._found.items()}
        return {path: found[0].before for path, found in late.items() if found}

    def take(self, path: str, since: int, until: int, now: int) -> SavedPart | None:
        """What is of a save between two times in nanoseconds; None if no look has seen it.

        `now` is when the file was written last. A look may have come in the middle of the save, and what is written
        until the second time belongs to it, unless an agent has named the file.
        """
        found = [each for each in self._found.pop(path, []) if each.written >= since - CLOCK]
        if not found:
            return None
        own = found[:1]
        for at, each in enumerate(found[1:], 1):
            if each.is_named or each.written > until:
                self._found[path] = found[at:]
                return SavedPart(found[0], own[-1])
            own.append(each)
        is_last = now in (0, own[-1].written) or now <= until
        return SavedPart(found[0], None if is_last else own[-1])
