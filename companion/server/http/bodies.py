"""How much of requests' bodies a window holds at once."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager

from starlette.types import Message, Receive

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
    def admitted(self, headers: Mapping[str, str]) -> Generator[Callable[[int], None] | None]:
        """Keep room for a request's body until the end of the block; None if there is none.

        The function that it gives is told how long the body was, as soon as that is known: the answer may wait for a
        person.
        """
        # One that comes in chunks may become as long as any, whatever length is announced beside that.
        size = MAX_BODY if "transfer-encoding" in headers else min(int(headers.get("content-length", 0)), MAX_BODY)
        room = ROOM + ROOM_FOR_SMALL if size <= SMALL else ROOM
        if self._announced + size > room:
            yield None
            return
        kept = size

        def is_read(length: int) -> None:
            nonlocal kept
            self._announced += length - kept
            kept = length

        self._announced += kept
        try:
            yield is_read
        finally:
            self._announced -= kept


def counted_body(receive: Receive, is_read: Callable[[int], None]) -> Receive:
    """Receive as before, and say how long the body was once it is here."""
    length = 0

    async def counted() -> Message:
        nonlocal length
        message = await receive()
        if message["type"] == "http.request":
            length += len(message.get("body", b""))
            if not message.get("more_body"):
                is_read(length)
        return message

    return counted
