"""The garbage collector, which holds every thread while it looks through all objects of the editor's plugins."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def no_collection() -> Generator[None]:
    """Put the collector off while many objects are made that are no garbage: it would look for some, for 50 ms."""
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
