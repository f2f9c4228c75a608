"""The garbage collector, which stops every thread while it scans the objects of all plugins."""

from __future__ import annotations

import gc
import typing
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def no_collection() -> Generator[None]:
    """Disable the collector while many objects are created that aren't garbage: a scan would take 50 ms."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def loading() -> Generator[None]:
    """Load libraries. Their 100,000 objects are never garbage, so the collector leaves them out from now on (`freeze`).

    Otherwise every full collection would scan them, which stops all threads for 80 ms and more. Python can only freeze
    everything that exists: what other packages have at this moment is frozen too, and a cycle among it isn't freed
    until `thaw`. So this happens once in a process: a reload of this package loads no library, and its old modules
    stay garbage that is collected.
    """
    with no_collection():
        yield
        # They hold the classes of the instance before a reload, 2 MB of them. Python's own tests clear them like this.
        for clear in getattr(typing, "_cleanups", ()):
            clear()
        if not gc.get_freeze_count():
            gc.freeze()


def thaw() -> None:
    """Let the collector look at everything again: the package is gone. Takes microseconds; no collection follows."""
    gc.unfreeze()
