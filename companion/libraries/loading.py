"""Importing libraries beside a UI thread that must not notice."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Generator

from .. import garbage


@contextlib.contextmanager
def loading() -> Generator[None]:
    """Let the UI thread run after at most 1 ms of Python instead of 5: an import would be felt as a stutter."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(0.001)
    try:
        with garbage.loading():
            yield
    finally:
        sys.setswitchinterval(usual)
