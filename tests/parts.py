"""The parts of a back end that a test counts on."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


def has(part: T | None) -> T:
    """A part that is there."""
    assert part is not None
    return part
