"""Work in the background: tasks of the event loop, and the threads for calls that may block.

The UI thread imports it, so it imports asyncio only where a loop runs.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from .platforms.files import HangingError

if TYPE_CHECKING:
    import asyncio

P = ParamSpec("P")
T = TypeVar("T")

logger = logging.getLogger(__name__)

DISK = 10.0
"""Seconds that somebody waits for a file whose disk may hang."""


async def answered(path: str, look: Callable[[], T], limit: float = DISK) -> T:
    """What a look at a file gives, on another thread. Raises HangingError if it takes so many seconds.

    The thread is left to the disk (`Executor`), so `look` must only read.
    """
    import asyncio  # noqa: PLC0415 - it would stall the UI thread

    try:
        async with asyncio.timeout(limit):
            return await asyncio.to_thread(look)
    except TimeoutError:
        raise HangingError(path, "is on a disk that does not answer") from None


def guarded(do: Callable[..., object], *args: object) -> None:
    """Do one of several things: its failure, which is logged, is no reason to leave out the others."""
    try:
        do(*args)
    except Exception:
        logger.exception("Unexpected")


class LoopTasks:
    """Begins tasks, and logs what they raise."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[object]] = set()
        self._is_over = False

    def __call__(self, work: Coroutine[Any, Any, object]) -> asyncio.Future[object]:
        """Begin something in the next turn of the loop. After the end nothing begins: what is returned is cancelled."""
        import asyncio  # noqa: PLC0415 - it would stall the UI thread

        loop = asyncio.get_running_loop()
        if self._is_over:
            # Timers go on while the loop waits for its threads, and that may have been its last turn.
            work.close()
            never = loop.create_future()
            never.cancel()
            return never
        task = loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
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


# The threads for calls that may block, such as one that looks at a file on a network that hangs.
#
# asyncio's own executor has a few threads for everybody and waits for each of them at the end: six files on a disk that
# hangs would stop all that needs a thread, and the end of the loop.

MOST = 512
"""Threads. Each call that hangs takes one; further calls wait then."""
IDLE = 30.0
"""Seconds after which a thread that nobody needs ends."""
END = 2.0
"""Seconds that the end waits for the calls that have begun."""


class Executor(ThreadPoolExecutor):
    """An executor whose calls begin at once. One that hangs holds up neither others nor the end.

    asyncio takes nothing but a subclass of this base, of which no more than the interface is used.
    """

    def __init__(self) -> None:
        super().__init__(thread_name_prefix="qwen-companion-blocking")
        self._changed = threading.Condition()
        self._calls: deque[Callable[[], None]] = deque()
        self._free = 0
        """Threads that wait for a call."""
        self._count = 0
        self._is_over = False

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Begin a call on a thread that is free, or on a new one. Raises RuntimeError after the end."""
        future: Future[T] = Future()

        def call() -> None:
            if future.set_running_or_notify_cancel():
                try:
                    result = fn(*args, **kwargs)
                except BaseException as error:  # noqa: BLE001 - it is raised where the result is awaited
                    future.set_exception(error)
                else:
                    future.set_result(result)

        with self._changed:
            if self._is_over:
                raise RuntimeError("cannot schedule new futures after shutdown")
            self._calls.append(call)
            if self._free >= len(self._calls) or self._count >= MOST:
                self._changed.notify()
            else:
                self._count += 1
                threading.Thread(target=self._work, name=self._thread_name_prefix, daemon=True).start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the threads; waits for what has begun, but no longer than END seconds for what hangs."""
        end = time.monotonic() + END
        with self._changed:
            self._is_over = True
            if cancel_futures:
                self._calls.clear()
            self._changed.notify_all()
            while wait and self._count and (left := end - time.monotonic()) > 0:
                self._changed.wait(left)

    def _work(self) -> None:
        while call := self._next():
            call()
            del call  # its result may be large
        with self._changed:
            self._count -= 1
            self._changed.notify_all()

    def _next(self) -> Callable[[], None] | None:
        with self._changed:
            self._free += 1
            self._changed.wait_for(lambda: self._calls or self._is_over, IDLE)
            self._free -= 1
            return self._calls.popleft() if self._calls else None
