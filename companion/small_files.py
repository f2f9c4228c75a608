"""Small JSON files that anybody may have written: discovery files, lock files, records, a CLI's settings.

Everybody can write to a temporary folder, so what is read there is bounded. Standard library only. Not for an event
loop.
"""

from __future__ import annotations

import json
import os
import re
import stat
from pathlib import Path
from typing import Any, cast

from .platforms.files import is_mine

SMALL = 64 * 1024
"""Bytes of a file that is one of ours, or of another editor. A real one has less than 1 KB, and its folders."""
SETTINGS = 1024 * 1024
"""Bytes of a settings file."""
_JSON_WITH_COMMENTS = re.compile(r'"(?:[^"\\]|\\.?)*+(?:"|\Z)|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
"""What is not closed goes on to the end: else it would be tried again from each of its characters."""


def read_own(path: Path, limit: int = SMALL) -> dict[str, Any] | None:
    """The object in a file of this user of at most `limit` bytes; None for anything else, and for a link."""
    return _object(_read(path, limit, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0), is_ours=True))


def read_settings(path: Path) -> dict[str, Any]:
    """The object in a file of at most SETTINGS bytes, which may have comments; an empty one for anything else."""
    text = _read(path, SETTINGS, os.O_RDONLY, is_ours=False)
    if text is not None:
        text = _JSON_WITH_COMMENTS.sub(lambda found: found[0] if found[0].startswith('"') else " ", text)
    return _object(text) or {}


def _read(path: Path, limit: int, flags: int, *, is_ours: bool) -> str | None:
    try:
        # Opening a pipe would wait for a writer.
        descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError):
        return None
    try:
        found = os.fstat(descriptor)
        if (is_ours and not is_mine(found)) or not stat.S_ISREG(found.st_mode) or found.st_size > limit:
            return None
        with os.fdopen(descriptor, "rb", closefd=False) as file:  # it refuses a folder
            data = file.read(limit + 1)
        return data.decode("utf-8-sig") if len(data) <= limit else None
    except (OSError, ValueError):
        return None
    finally:
        os.close(descriptor)


def _object(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        body: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", body) if isinstance(body, dict) else None
