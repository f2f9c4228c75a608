"""As much of the library `sublime_aio` as the suites of scripts/fidelity need."""

from __future__ import annotations

from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any

from headless.unittesting.cases import AsyncTestCase


def run_coroutine(coro: Coroutine[Any, Any, Any]) -> Future[Any]:
    """Run a coroutine in an event loop of another thread."""
    return AsyncTestCase.run_coroutine(coro)
