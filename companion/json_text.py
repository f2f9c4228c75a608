"""JSON that somebody else has written. Standard library only.

A parser makes an object of each part of a text, and holds up all threads until it is done: 8 MB of empty lists take a
second. So the parts are counted before anything is parsed.
"""

from __future__ import annotations

import json
from typing import Any

MOST_PARTS = 500_000
"""Values of lists and objects in one text: parsing them takes about 0.2 s. A real message has a few thousand."""


class TooManyPartsError(ValueError):
    """A text has more parts than are parsed."""

    def __init__(self) -> None:
        super().__init__("it has too many parts")


def check(text: bytes | str, most: int = MOST_PARTS) -> None:
    """Raise TooManyPartsError if a text has more parts than that; whether it is JSON doesn't matter."""
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    if _signs(data) <= most:
        return
    # Most of the signs may be in the text of a file.
    data = data.replace(rb"\\", b"").replace(rb"\"", b"")
    if data.count(b'"') > 4 * most or _signs(b"".join(data.split(b'"')[::2])) > most:
        raise TooManyPartsError


def read(text: bytes | str, most: int = MOST_PARTS, **options: Any) -> object:
    """What a JSON text says; `options` are those of `json.loads`.

    Raises:
        ValueError: it isn't JSON; a TooManyPartsError if nobody has tried.
        RecursionError: it is nested too deeply.
    """
    check(text, most)
    return json.loads(text, **options)


def _signs(data: bytes) -> int:
    return data.count(b",") + data.count(b"[") + data.count(b"{")
