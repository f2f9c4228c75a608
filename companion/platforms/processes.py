"""Groups, sessions and terminals of processes."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Sequence

from . import programs


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


_OUTPUTS = {"1", "2"}
"""Descriptors that a program writes to, whatever else could be done with them."""
_LSOF = "/usr/sbin/lsof"
_LSOF_LIMIT = 5.0
"""Seconds."""


def terminal_readers(pids: Sequence[int], lsof: str | None = None) -> set[int] | None:
    """Which of these processes have a terminal open that is not just their output, so that they may read from it.

    One of which the system tells nothing may. None if it can't be known at all, as on Windows. `lsof` is the program
    that is asked where there is no `/proc`.
    """
    if not pids:
        return set()
    if sys.platform == "win32":
        return None
    if sys.platform == "darwin" or lsof:
        return _told_by_lsof(pids, lsof or _LSOF)
    return {pid for pid in pids if _has_terminal(pid)}


def _has_terminal(pid: int) -> bool:
    folder = f"/proc/{pid}/fd"
    try:
        for each in os.listdir(folder):
            with contextlib.suppress(FileNotFoundError):  # it has just been closed
                if each not in _OUTPUTS and _is_terminal(os.readlink(f"{folder}/{each}")):
                    return True
    except FileNotFoundError:  # it has just ended
        return False
    except OSError:
        return True
    return False


def _told_by_lsof(pids: Sequence[int], lsof: str) -> set[int] | None:
    """`lsof` prints a line for each process, descriptor and name, which begins with p, f or n."""
    words = [lsof, "-w", "-n", "-P", "-a", "-p", ",".join(map(str, pids)), "-F", "pfn"]
    try:
        told = programs.run(words, {}, _LSOF_LIMIT).stdout.decode("utf-8", "replace")
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    readers, seen, pid, descriptor = set[int](), set[int](), 0, ""
    for line in told.splitlines():
        if line.startswith("p"):
            pid = int(line[1:])
            seen.add(pid)
        elif line.startswith("f"):
            descriptor = line[1:]
        elif descriptor.isdecimal() and descriptor not in _OUTPUTS and _is_terminal(line[1:]):
            readers.add(pid)
    return readers | (set(pids) - seen)


def _is_terminal(name: str) -> bool:
    return name.startswith(("/dev/pts/", "/dev/tty", "/dev/console"))
