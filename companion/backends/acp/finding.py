"""Files of the chat's folder, for mentions and their completion."""

from __future__ import annotations

import asyncio
import os
import re
import time
from functools import lru_cache, partial

from ...background import answered
from ...platforms.files import HangingError
from .workplace import Workplace

MAX_LOOKED_AT = 200_000
"""Files and folders."""
LIMIT = 1.5
"""Seconds."""
_LEFT_OUT = {".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv"}


class AgentFolder:
    """Looks for files in the folder of one chat."""

    def __init__(self, workplace: Workplace) -> None:
        self._workplace = workplace

    async def is_file(self, path: str) -> bool:
        """Whether the chat's folder has a file; `path` is relative to it or absolute."""
        try:
            return await answered(path, partial(os.path.isfile, os.path.join(self._workplace.folder, path)))
        except HangingError:
            return False

    async def glob(self, pattern: str, limit: int) -> list[str]:
        """The files and folders that match a pattern, relative to the chat's folder."""
        return await asyncio.to_thread(find, self._workplace.folder, pattern, limit)


def find(folder: str, pattern: str, limit: int) -> list[str]:
    """The files and folders below a folder that match a pattern, relative to it, the nearest first.

    A pattern has `**/` for any folders, `*` for any part of a name, and characters in brackets. Folders that nobody
    writes by hand are left out. It reads the disk.
    """
    wanted = _translated(pattern)
    found: list[str] = []
    looked_at, end = 0, time.monotonic() + LIMIT
    level = [""]
    while level and len(found) < limit and looked_at < MAX_LOOKED_AT:
        following: list[str] = []
        for place in level:
            try:
                with os.scandir(os.path.join(folder, place)) as entries:
                    listed = sorted(entries, key=lambda entry: entry.name)
            except OSError:
                continue
            for entry in listed:
                path = f"{place}/{entry.name}" if place else entry.name
                looked_at += 1
                if wanted.fullmatch(path):
                    found.append(path)
                if entry.is_dir(follow_symlinks=False) and entry.name not in _LEFT_OUT:
                    following.append(path)
            if time.monotonic() > end:
                return found[:limit]
        level = following
    return found[:limit]


@lru_cache(64)
def _translated(pattern: str) -> re.Pattern[str]:
    words: list[str] = []
    for part in re.finditer(r"(\*\*/)|(\*)|\[([^\]]{1,200})\]|\\(.)|(.)", pattern, re.DOTALL):
        folders, star, characters, escaped, other = part.groups()
        if folders:
            words.append(r"(?:[^/]+/)*")
        elif star:
            words.append(r"[^/]*")
        elif characters:
            words.append(f"[{re.escape(characters)}]")
        else:
            words.append(re.escape(escaped or other))
    return re.compile("".join(words), re.DOTALL)
