"""A small mistake in the code, and the tests that should notice it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """One mistake: in `file`, below `companion/`, `old` becomes `new`. `old` must be there exactly once."""

    what: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    """Each as pytest takes it. One of tests/sublime runs in the stand-in editor; what is behind `::` is in its name."""
    reason: str = ""
    """Why it may survive."""
