"""Users and groups of processes."""

from __future__ import annotations

import contextlib
import os
import signal
import sys


def user_id() -> int | None:
    """The number of this user; None on Windows, which has none."""
    return None if sys.platform == "win32" else os.getuid()


def kill_group(leader: int) -> None:
    """Kill what is left in the group that a process leads or has led. Windows has no such groups."""
    if sys.platform != "win32":
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(leader, signal.SIGKILL)
