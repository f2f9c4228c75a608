"""Work in the background of the event loop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from .platforms.files import HangingError

T = TypeVar("T")

logger = logging.getLogger(__name__)

DISK = 10.0
"""Seconds that somebody waits for a file whose disk may hang."""


async def answered(path: str, look: Callable[[], T], limit: float = DISK) -> T:
    """What a look at a file gives, on another thread. Raises HangingError if it takes so many seconds.

    The thread is left to the disk (`executor`), so `look` must only read.
    """
    try:
        async with asyncio.timeout(limit):
            return await asyncio.to_thread(look)
    except TimeoutError:
        raise HangingError(path, "is on a disk that does not answer") from None


class LoopTasks:
    """Begins tasks, and logs what they raise."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[object]] = set()
        self._is_over = False

    def __call__(self, work: Coroutine[Any, Any, object]) -> asyncio.Task[object]:
        """Begin something in the next turn of the loop; after the end it is cancelled at once."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        if self._is_over:
            task.cancel()
        return task

    def end(self) -> None:
        """Cancel everything."""
        self._is_over = True
        for task in self._tasks:
            task.cancel()

    def _done(self, task: asyncio.Task[object]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            logger.error("Unexpected: %s", error, exc_info=error)
