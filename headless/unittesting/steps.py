"""Driving generator tests: what a test yields is waited for while the UI loop turns."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from typing import Any

from headless import host

DEFAULT_TIMEOUT_MS = 4000
_timeout_ms = DEFAULT_TIMEOUT_MS
PERIOD_MS = 17
#: Yielded to wait until the worker thread has done all that it has got so far.
AWAIT_WORKER = "AWAIT_WORKER"


def set_timeout_ms(timeout: float) -> None:
    """Set the limit in milliseconds for a condition that has none of its own."""
    global _timeout_ms  # noqa: PLW0603 - the tests of a process run one after another
    _timeout_ms = timeout


def drive(steps: Any) -> tuple[()]:
    """Run a test's generator to its end; anything else has already run.

    Returns an empty tuple, so that `yield from super().setUp()` works when that has already been driven.
    """
    if not isinstance(steps, Generator):
        return ()
    try:
        wanted = next(steps)
        while True:
            try:
                value = _wait_for(wanted)
            except Exception as error:
                wanted = steps.throw(error)
            else:
                wanted = steps.send(value)
    except StopIteration:
        return ()
    finally:
        steps.close()


def _wait_for(wanted: Any) -> Any:
    options = dict(wanted) if isinstance(wanted, dict) else {"condition": wanted}
    condition = options.get("condition")
    timeout = options.get("timeout", _timeout_ms) / 1000
    period = options.get("period", PERIOD_MS) / 1000
    if condition == AWAIT_WORKER:
        condition = _worker_idle()
    if callable(condition):
        message = options.get("timeout_message") or "Condition not fulfilled"
        return _poll(condition, period, timeout, message)
    _turn_for((condition or 0) / 1000)
    return None


def _poll(condition: Callable[[], Any], period: float, timeout: float, message: str) -> Any:
    deadline = time.monotonic() + timeout
    _turn_for(period)
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{message} within {timeout:.2f} seconds")
        _turn_for(period)
    return value


def _turn_for(seconds: float) -> None:
    """Let the UI loop turn; at least once, so that what is due is done."""
    loop, end = host.app().loop, time.monotonic() + seconds
    while True:
        loop.turn(max(0.0, end - time.monotonic()))
        if time.monotonic() >= end:
            return


def _worker_idle() -> Callable[[], bool]:
    done = threading.Event()
    host.app().loop.worker.post(done.set)
    return done.is_set
