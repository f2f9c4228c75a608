"""Users, groups and sessions of processes."""

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


def foreground(terminal: int) -> int | None:
    """The group of processes that reads what is typed into a pseudo-terminal; None if there is none, or on Windows.

    `terminal` is the descriptor of our end of it.
    """
    if sys.platform == "win32":
        return None
    try:
        return os.tcgetpgrp(terminal)
    except OSError:
        return None


def group_and_session(pid: int) -> tuple[int, int] | None:
    """The group of a process and its session; None if it has ended, or on Windows."""
    if sys.platform == "win32":
        return None
    try:
        return os.getpgid(pid), os.getsid(pid)
    except OSError:
        return None
