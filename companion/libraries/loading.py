"""Imports libraries without a noticeable pause of the UI thread."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Generator

from .. import garbage


@contextlib.contextmanager
def loading() -> Generator[None]:
    """Switch threads after 1 ms of Python instead of 5, or the person would notice the import as a stutter."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(0.001)
    try:
        with garbage.loading():
            yield
    finally:
        sys.setswitchinterval(usual)
