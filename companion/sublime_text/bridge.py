"""Calls from the companion thread to the UI thread."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TypeVar

import sublime

T = TypeVar("T")

LIMIT = 5.0
"""Seconds to wait for the UI thread where its answer isn't necessary."""


class UiBridge:
    """Runs functions on the UI thread, in the order of the calls, until it is closed."""

    def __init__(self) -> None:
        self._closed = False

    def close(self) -> None:
        """Stop calling the editor: its API may be gone."""
        self._closed = True

    def post(self, function: Callable[[], object]) -> None:
        """Run a function on the UI thread, without waiting for it."""
        if not self._closed:
            sublime.set_timeout(lambda: None if self._closed else function())

    async def call(self, function: Callable[[], T], limit: float | None = None) -> T:
        """Run a function on the UI thread and await its result; called on the companion thread.

        The UI thread may be busy for a minute, with a modal dialog for example. Without a limit this waits as long as
        the editor lives. Raises what the function raises, TimeoutError after `limit` seconds, and CancelledError if
        the bridge is closed.
        """
        return await self.ask(lambda done: done(function()), limit)

    async def ask(self, begin: Callable[[Callable[[T], None]], object], limit: float | None = None) -> T:
        """Begin something on the UI thread and await what it gives to `done`, on whatever thread; raises as `call`."""
        import asyncio  # noqa: PLC0415 - this module is imported on the UI thread, which asyncio would stall

        if self._closed:
            raise asyncio.CancelledError
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def settle(set_result: Callable[[], None]) -> None:
            if not future.done():
                set_result()

        def answer(set_result: Callable[[], None]) -> None:
            with contextlib.suppress(RuntimeError):  # the companion has stopped in between
                loop.call_soon_threadsafe(settle, set_result)

        def run() -> None:
            try:
                begin(lambda result: answer(lambda: future.set_result(result)))
            except Exception as error:  # noqa: BLE001 - it is raised where the result is awaited
                failure = error
                answer(lambda: future.set_exception(failure))

        self.post(run)
        async with asyncio.timeout(limit):
            return await future
