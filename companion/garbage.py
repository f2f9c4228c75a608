"""The garbage collector, which stops every thread while it scans the objects of all plugins."""

from __future__ import annotations

import gc
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
    """Load libraries. Their 100,000 objects are never garbage, so the collector leaves them out from now on.

    Else it would look through them at some later time, for 80 ms. Once in a process: a reload of this package loads no
    library, and leaves its old modules as garbage.
    """
    with no_collection():
        yield
        if not gc.get_freeze_count():
            gc.freeze()
