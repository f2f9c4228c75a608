"""Reads files on disk, such as those of a window's tabs, some of which may be on a disk that hangs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from ..exclusion import Sharing
from .context import CANDIDATES, Listed, listed
from .window_screen import OpenFile

T = TypeVar("T")
Read = Callable[[Iterable[str], Collection[str]], T]
"""Reads some paths, one after the other, without those that it gets besides."""

LIMIT = 1.5
"""Seconds after which a disk counts as one that hangs. An agent that asks for the context waits for 5."""
SLOW = 5.0
"""Seconds for many files on a disk that is slow, but answers."""
MOST = 16
"""Reads that hang at the same time. Beyond them nothing is read, and so nothing is told."""


class FileReads:
    """Leaves out each file whose disk does not answer, until it does: it may be excluded, and is told to nobody.

    A call takes three times LIMIT seconds, if it has not to wait for room or for a disk that is slow.
    """

    def __init__(self) -> None:
        self._hanging: dict[str, asyncio.Task[Any]] = {}
        """The reads that have not ended, by the paths of their files."""
        self._room = asyncio.Semaphore(MOST)

    async def listed(self, files: Sequence[OpenFile], sharing: Sharing, folders: Sequence[str]) -> Listed:
        """The files that may be told."""
        by_path = {file.path: file for file in reversed(files)}

        def read(paths: Iterable[str], hanging: Collection[str]) -> Listed:
            return listed((by_path[path] for path in paths), sharing, folders, hanging)

        found = await self._read(list(dict.fromkeys(file.path for file in files)), read)
        return found or Listed(hides_latest=True)

    async def each(self, paths: Iterable[str], read_one: Callable[[str], T]) -> dict[str, T]:
        """What a read of each path gives, in their order. Raises TimeoutError if too many disks hang."""

        def read(paths: Iterable[str], hanging: Collection[str]) -> dict[str, T]:
            return {path: read_one(path) for path in paths if path not in hanging}

        found = await self._read(list(dict.fromkeys(paths)), read)
        if found is None:
            raise TimeoutError
        return found

    async def one(self, path: str, read_one: Callable[[str], T]) -> T:
        """What a read of a path gives. Raises TimeoutError if its disk hangs."""
        found = await self.each([path], read_one)
        if path not in found:
            raise TimeoutError
        return found[path]

    async def _read(self, paths: Sequence[str], read: Read[T]) -> T | None:
        for is_again in (False, True):
            if not await self._has_room():
                break
            steps = _Steps(paths)
            task = asyncio.create_task(asyncio.to_thread(read, steps, frozenset(self._hanging)))
            task.add_done_callback(lambda _: self._room.release())
            try:
                await self._wait(task, steps)
            except asyncio.CancelledError:
                for path in paths[steps.at : steps.at + 1]:
                    self._keep_back(path, task)
                raise
            if task.done():
                return task.result()
            if not is_again:
                await self._find_hanging(paths[steps.at :], read)
        return None

    @staticmethod
    async def _wait(task: asyncio.Task[Any], steps: _Steps) -> None:
        """Wait for a read while its disk answers."""
        end = time.monotonic() + SLOW
        while not task.done() and (left := min(steps.since + LIMIT, end) - time.monotonic()) > 0:
            await asyncio.wait([task], timeout=left)

    async def _has_room(self) -> bool:
        """Wait until another read may begin, for at most LIMIT seconds."""
        try:
            async with asyncio.timeout(LIMIT):
                return await self._room.acquire()
        except TimeoutError:
            return False

    async def _find_hanging(self, paths: Sequence[str], read: Read[Any]) -> None:
        """Read each file on a thread of its own."""
        reads = {
            asyncio.create_task(asyncio.to_thread(read, [path], ())): path
            for path in paths[: 2 * CANDIDATES]
            if path not in self._hanging
        }
        if not reads:
            return
        try:
            await asyncio.wait(reads, timeout=LIMIT)
        finally:
            for task, path in reads.items():
                self._keep_back(path, task)

    def _keep_back(self, path: str, task: asyncio.Task[Any]) -> None:
        """Leave out a file until a read of it has ended, unless it has."""
        if not task.done():
            self._hanging[path] = task
            task.add_done_callback(lambda _: self._hanging.pop(path, None))


class _Steps:
    """Paths, one after the other."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = paths
        self.at = 0
        """The place of the one that is read."""
        self.since = time.monotonic()
        """When the read of it has begun."""

    def __iter__(self) -> Iterator[str]:
        for place, path in enumerate(self._paths):
            self.at, self.since = place, time.monotonic()
            yield path
