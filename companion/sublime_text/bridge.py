"""Calls between the companion thread and the UI thread.

The companion calls the objects on the screen themselves, through the protocols of its rooms, which say what each method
does. `posted` and `asked` bring such a call to the UI thread.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial, wraps
from types import CoroutineType
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import sublime

P = ParamSpec("P")
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

    async def ask(self, begin: Callable[[Callable[[T], None]], object], *, waits: bool = False) -> T:
        """Begin something on the UI thread and await what it gives to `done`, on whatever thread.

        Called on the companion thread. The UI thread may be busy for a minute, with a modal dialog for example; with
        `waits` this waits as long as the editor lives. Raises what `begin` raises, TimeoutError after `LIMIT` unless it
        `waits`, and CancelledError if the bridge is closed.
        """
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
        async with asyncio.timeout(None if waits else LIMIT):
            return await future


class OnScreen(Protocol):
    """An object of the UI thread that the companion calls."""

    bridge: UiBridge


S = TypeVar("S", bound=OnScreen)


def posted(method: Callable[Concatenate[S, P], object]) -> Callable[Concatenate[S, P], None]:
    """Make a method for any thread: it runs on the UI thread, in the order of the calls, and nobody waits for it."""

    @wraps(method)
    def post(self: S, *args: P.args, **kwargs: P.kwargs) -> None:
        self.bridge.post(partial(method, self, *args, **kwargs))

    return post


def asked(
    *, waits: bool = False
) -> Callable[[Callable[Concatenate[S, P], T]], Callable[Concatenate[S, P], CoroutineType[Any, Any, T]]]:
    """Make a method for the companion thread, which awaits its result; `waits` and what it raises are as in `ask`."""

    def decorate(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], CoroutineType[Any, Any, T]]:
        @wraps(method)
        async def ask(self: S, *args: P.args, **kwargs: P.kwargs) -> T:
            return await self.bridge.ask(lambda done: done(method(self, *args, **kwargs)), waits=waits)

        return ask

    return decorate


def unsaid(_: str) -> None:
    """Tell nobody why something could not be done that no person has asked for. It is logged."""


def expect(
    is_over: Callable[[], bool],
    is_starting: Callable[[], bool],
    *,
    patience: Callable[[], int],
    starting: Callable[[], object],
    silent: Callable[[], object],
) -> None:
    """Look whether something is over after `patience` milliseconds.

    While the companion is starting, `starting` is called each time that it is not. After the start it has the whole
    time again, because it answers only then. `silent` is called once, when that has passed.
    """
    was_starting = is_starting()

    def look() -> None:
        nonlocal was_starting
        if is_over():
            return
        had_time, was_starting = not was_starting, is_starting()
        if was_starting:
            starting()
        elif had_time:
            silent()
            return
        sublime.set_timeout(look, patience())

    sublime.set_timeout(look, patience())
