"""JSON that somebody else has written, as a text or in a small file: discovery files, lock files, a CLI's settings.

A parser makes an object of each part of a text, and holds up all threads until it is done: 8 MB of empty lists take a
second. So the parts are counted before anything is parsed. Standard library only; what reads a file is not for an event
loop.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any, cast

from .platforms.files import entry, is_mine

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


SMALL = 64 * 1024
"""Bytes of a file that is one of ours, or of another editor. A real one has less than 1 KB, and its folders."""
SETTINGS = 1024 * 1024
"""Bytes of a settings file."""
_JSON_WITH_COMMENTS = re.compile(r'"(?:[^"\\]|\\.?)*+(?:"|\Z)|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
"""What is not closed goes on to the end: else it would be tried again from each of its characters."""
_JSON_WITH_LAST_COMMAS = re.compile(r'"(?:[^"\\]|\\.?)*+(?:"|\Z)|,(?=\s*+[}\]])', re.DOTALL)


def read_own(path: Path, limit: int = SMALL) -> dict[str, Any] | None:
    """The object in a file of this user of at most `limit` bytes; None for anything else, and for a link."""
    return _object(_read(path.name, limit, below=str(path.parent), is_ours=True))


def remove_if(path: Path, name: str, values: Collection[str]) -> None:
    """Remove such a file if its object has one of these values by a name: else it is somebody else's by now."""
    if (read_own(path) or {}).get(name) in values:
        with contextlib.suppress(OSError):
            path.unlink()


def read_settings(path: Path, *, below: str = "") -> dict[str, Any]:
    """The object in a file of at most SETTINGS bytes, or an empty one. It may have comments, and a comma at its end.

    The person's own settings may be links; in a project no link is followed `below` its folder.
    """
    text = _read(str(path), SETTINGS, below=below, follows_links=not below)
    if text is not None:
        for signs in (_JSON_WITH_COMMENTS, _JSON_WITH_LAST_COMMAS):
            text = signs.sub(lambda found: found[0] if found[0].startswith('"') else " ", text)
    return _object(text) or {}


def as_object(value: object) -> dict[str, Any]:
    """A value as an object; empty where it is anything else."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """A value as a list; empty where it is anything else."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def as_request_id(value: object) -> int | str | None:
    """A value if it is the id of a JSON-RPC request; None for anything else, such as `true`, which Python has for 1."""
    return value if isinstance(value, str) or type(value) is int else None


def as_text(value: object) -> str:
    """A value as a text; empty where it is anything else."""
    return value if isinstance(value, str) else ""


def setting(values: object, key: str, default: object = None) -> object:
    """The value of a key such as "ide.enabled"."""
    for part in key.split("."):
        values = as_object(values).get(part)
    return default if values is None else values


def _read(path: str, limit: int, *, below: str, follows_links: bool = False, is_ours: bool = False) -> str | None:
    try:
        with entry(path, below=below, follows_links=follows_links) as at:
            content = at.read(limit)
        return None if is_ours and not is_mine(content.found) else content.data.decode("utf-8-sig")
    except (OSError, ValueError):
        return None


def _object(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        body = read(text)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", body) if isinstance(body, dict) else None
