"""The parts of a back end that a test counts on."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from typing import TypeVar

from companion.backends.agent import Agent

T = TypeVar("T")
A = TypeVar("A", bound=Agent)


def has(part: T | None) -> T:
    """A part that is there."""
    assert part is not None
    return part


@contextlib.asynccontextmanager
async def closing(agent: A) -> AsyncGenerator[A]:
    """An agent that is closed in the end."""
    try:
        yield agent
    finally:
        await agent.close()
