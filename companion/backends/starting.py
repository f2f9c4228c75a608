"""Starts something on another thread, since the folder or the program may be on a disk that hangs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def begun(start: Callable[[], T], end: Callable[[T], object]) -> T:
    """What `start` makes on another thread, and raises. If nobody waits for it any more, `end` gets it there."""
    lock = threading.Lock()
    made: list[T] = []
    is_wanted = True

    def run() -> T:
        one = start()
        with lock:
            made.append(one)
            if is_wanted:
                return one
        end(one)
        return one

    try:
        return await asyncio.to_thread(run)
    except asyncio.CancelledError:
        with lock:
            is_wanted = False
            left = list(made)
        for one in left:
            await asyncio.shield(asyncio.to_thread(end, one))
        raise
