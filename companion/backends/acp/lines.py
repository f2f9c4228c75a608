"""Lines out of the pieces that a pipe gives, with a limit for each line. Pure."""

from __future__ import annotations

from collections.abc import Iterator

MAX_LINE = 64 * 1024 * 1024
"""Bytes of a line. A message with a file of the largest size that is shown needs about that."""
_HEAD = 1024
"""Bytes of a line that is too long that are kept, to see what it is."""


class TooLong(bytes):
    """The beginning of a line that was longer than the limit. The rest was dropped."""

    __slots__ = ()


class Lines:
    """Puts lines together. Holds no more than the limit and one piece."""

    def __init__(self, limit: int = MAX_LINE) -> None:
        self._limit = limit
        self._pieces: list[bytes] = []
        self._size = 0
        self._dropped = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The lines that are complete now, without their ends; blank ones are left out."""
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._add(data[start:end])
            start = end + 1
            line = self._take()
            if line.strip():
                yield line
        self._add(data[start:])

    @property
    def is_dropped(self) -> bool:
        """Whether the line that isn't complete is too long, and its rest is dropped."""
        return self._dropped

    def restore(self, rest: bytes, *, is_dropped: bool) -> None:
        """Go on with a line that isn't complete."""
        self._pieces, self._size, self._dropped = [rest], len(rest), is_dropped

    @property
    def rest(self) -> bytes:
        """What has come of a line that isn't complete."""
        return b"".join(self._pieces)

    def _add(self, piece: bytes) -> None:
        if self._dropped or not piece:
            return
        if self._size + len(piece) > self._limit:
            self._pieces = [b"".join(self._pieces)[:_HEAD] + piece[:_HEAD]]
            self._dropped = True
            return
        self._pieces.append(piece)
        self._size += len(piece)

    def _take(self) -> bytes:
        line = b"".join(self._pieces)
        if self._dropped:
            line = TooLong(line)
        self._pieces, self._size, self._dropped = [], 0, False
        return line
