"""How much of requests' bodies a window holds at once."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager

MAX_BODY = 64 * 1024 * 1024
"""Bytes. openDiff carries a whole file."""
SMALL = 1024 * 1024
"""Bytes. A body up to this size has a place even if large ones take all the room."""
ROOM = 4 * MAX_BODY
"""Bytes that all requests together may announce."""
ROOM_FOR_SMALL = 64 * 1024 * 1024
"""Bytes that small ones may announce beyond that."""


class Bodies:
    """Counts the bytes that the requests have announced which are being answered.

    They count before the first one comes, so that no request gets stuck in the middle.
    """

    def __init__(self) -> None:
        self._announced = 0

    @contextmanager
    def admitted(self, headers: Mapping[str, str]) -> Generator[bool]:
        """Whether there is room for a request's body, which is kept until the end of the block."""
        # One that comes in chunks may become as long as any, whatever length is announced beside that.
        size = MAX_BODY if "transfer-encoding" in headers else min(int(headers.get("content-length", 0)), MAX_BODY)
        room = ROOM + ROOM_FOR_SMALL if size <= SMALL else ROOM
        if self._announced + size > room:
            yield False
            return
        self._announced += size
        try:
            yield True
        finally:
            self._announced -= size
