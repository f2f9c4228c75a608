"""Server-sent events from bytes. Lines end as the standard says: U+2028 and its like end none."""

from __future__ import annotations

from dataclasses import dataclass, field

MAX_EVENT = 64 * 1024 * 1024
"""Bytes of one event; the daemon's own limit for a request is 10 MB, and its largest event was half a megabyte."""


class EventTooLargeError(Exception):
    """An event has more than `MAX_EVENT` bytes."""


@dataclass(slots=True)
class Decoder:
    """Takes bytes as they come and gives the data of each event once it is whole.

    The `event:` and `id:` fields say nothing that the daemon doesn't repeat in the data
    (docs/protocols/qwen-serve.md#event-stream).
    """

    _rest: bytearray = field(default_factory=bytearray)
    _searched: int = 0
    _data: list[bytes] = field(default_factory=list[bytes])
    _size: int = 0

    def feed(self, received: bytes) -> list[str]:
        """The events that are whole with these bytes. Comments and events without data are left out.

        Raises:
            EventTooLargeError: the event that comes in never ends.
        """
        self._rest += received
        events: list[str] = []
        begin = 0
        while (end := self._rest.find(b"\n", max(begin, self._searched))) >= 0:
            line = bytes(self._rest[begin:end]).removesuffix(b"\r")
            begin = end + 1
            if line.startswith(b"data:"):
                data = line[5:].removeprefix(b" ")
                self._data.append(data)
                self._size += len(data)
            elif not line and self._data:
                event, self._data, self._size = b"\n".join(self._data), [], 0
                events.append(event.decode("utf-8", "replace"))
        del self._rest[:begin]
        self._searched = len(self._rest)
        if self._size + len(self._rest) > MAX_EVENT:
            raise EventTooLargeError
        return events
