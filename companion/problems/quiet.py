"""Waits until a language server has looked at what has changed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from .shown import ShownProblems

LONGEST = 5.0
"""Seconds that anything waits for a server."""
STEP = 0.1
"""Seconds between two looks."""
QUIET = 0.7
"""Seconds without anything new after which a server has said what it has to say."""


async def settled(
    read: Callable[[], Awaitable[ShownProblems | None]], longest: float = LONGEST
) -> tuple[ShownProblems | None, bool]:
    """The problems as soon as nothing new comes, and whether that is so; at most `longest` seconds later.

    A file that has just been changed is waited for. Raises what `read` raises.
    """
    import asyncio  # noqa: PLC0415 - the UI thread imports this module, and must not wait for that one

    loop = asyncio.get_running_loop()
    end = loop.time() + min(max(longest, 0.0), LONGEST)
    last = await read()
    since = loop.time()
    while last is not None and (last.awaited or loop.time() - since < QUIET):
        if (left := end - loop.time()) <= 0:
            return last, False
        await asyncio.sleep(min(STEP, left))
        now = await read()
        if now is None or not now.is_same(last) or len(now.awaited) != len(last.awaited):
            since = loop.time()
        last = now
    return last, True
