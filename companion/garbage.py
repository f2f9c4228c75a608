"""The garbage collector, which stops every thread while it scans the objects of all plugins.

It belongs to all packages of the editor (docs/dev/decisions/0005-garbage-collector.md).
"""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import ModuleType
from typing import cast

HOLDER = "_qwen_companion_collector"
"""The name in `sys.modules` of what the instances before and after a reload share."""
NEVER = 1_987_654_321
"""Younger collections until a full one. There are never as many, and nobody else chooses this number."""


class _Pauses(ModuleType):
    """The pauses of this process, as plain values: the module of an instance may be gone before them."""

    def __init__(self) -> None:
        super().__init__(HOLDER)
        self.lock = threading.Lock()
        self.count = 0
        self.usual = 0
        """The last threshold, of before the first pause."""


@contextmanager
def no_collection() -> Generator[None]:
    """Pause full collections while many objects are created that aren't garbage: each would take 60 ms. On any thread.

    The collector is neither disabled nor enabled, so that another package that does so meanwhile keeps what it has
    chosen. So does one that sets the thresholds, which ends the pause.
    """
    pauses = cast("_Pauses", sys.modules.setdefault(HOLDER, _Pauses()))
    with pauses.lock:
        if not pauses.count:
            new, middle, full = gc.get_threshold()
            if full != NEVER:  # otherwise another package has read it during a pause and has set it again afterwards
                pauses.usual = full
            gc.set_threshold(new, middle, NEVER)
        pauses.count += 1
    try:
        yield
    finally:
        with pauses.lock:
            pauses.count -= 1
            new, middle, full = gc.get_threshold()
            if not pauses.count and full == NEVER:
                gc.set_threshold(new, middle, pauses.usual)
