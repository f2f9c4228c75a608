"""Work in the background of the event loop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

logger = logging.getLogger(__name__)


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
