"""Looks at the files of a window's tabs, some of which may be on a disk that hangs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Sequence
from typing import Any, TypeVar

from ..exclusion import Told
from .context import CANDIDATES, Listed
from .port import OpenFile

T = TypeVar("T")
Look = Callable[[Sequence[OpenFile], Told, Sequence[str], Collection[str]], Listed]
"""As `context.listed`."""

LIMIT = 1.5
"""Seconds after which a disk counts as one that hangs. An agent that asks for the context waits for 5."""
MOST = 16
"""Looks that hang at the same time. Beyond them nothing is looked at, and so nothing is told."""


class TabLooks:
    """Leaves out each file whose disk does not answer, until it does: it may be excluded, and is told to nobody."""

    def __init__(self) -> None:
        self._hanging: dict[str, asyncio.Task[Listed]] = {}
        """The looks that have not ended, by the paths of their files."""
        self._running: set[asyncio.Task[Any]] = set()

    async def listed(self, look_at: Look, files: Sequence[OpenFile], told: Told, folders: Sequence[str]) -> Listed:
        """The files that may be told, after three times LIMIT seconds at most."""
        for is_again in (False, True):
            if len(self._running) >= MOST:
                break
            look = self._begin(asyncio.to_thread(look_at, files, told, folders, frozenset(self._hanging)))
            await asyncio.wait([look], timeout=LIMIT)
            if look.done():
                return look.result()
            if not is_again:
                await self._find_hanging(look_at, files, told, folders)
        return Listed(hides_latest=True)

    async def _find_hanging(self, look_at: Look, files: Sequence[OpenFile], told: Told, folders: Sequence[str]) -> None:
        """Look at each file on a thread of its own."""
        looks: list[asyncio.Task[Listed]] = []
        for file in files[: 2 * CANDIDATES]:
            if file.path not in self._hanging:
                look = asyncio.create_task(asyncio.to_thread(look_at, [file], told, folders, ()))
                self._hanging[file.path] = look
                look.add_done_callback(lambda _, path=file.path: self._hanging.pop(path))
                looks.append(look)
        if looks:
            await asyncio.wait(looks, timeout=LIMIT)

    def _begin(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task
