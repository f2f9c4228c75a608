"""Pauses of a thread that computes for long, so that the threads that a person waits for get their turn.

Python switches threads after 5 ms, and whoever wants to run must wait for that each time. A pause gives way at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from time import monotonic, sleep
from typing import TypeVar

WORK = 0.002
"""Seconds of work between two pauses."""
PAUSE = 0.0002
"""Seconds of a pause."""

T = TypeVar("T")


class Pauses:
    """Makes a pause now and then. Not for a thread that others wait for."""

    def __init__(self) -> None:
        self._next = monotonic() + WORK

    def look(self) -> None:
        """Make a pause if it is time for one."""
        if monotonic() >= self._next:
            sleep(PAUSE)
            self._next = monotonic() + WORK


def with_pauses(items: Iterable[T]) -> Iterator[T]:
    """The same items, with pauses between them."""
    pauses = Pauses()
    for item in items:
        yield item
        pauses.look()
