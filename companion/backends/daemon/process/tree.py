"""A process and all that it has started: found again, and ended together. Everything here blocks for a moment."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Sequence

import psutil

from ....platforms import jobs

CHILDREN_LIMIT = 0.5
"""Seconds that what a process has started has to end after it."""
KILLED_LIMIT = 0.2
"""Seconds to wait for the end of what was killed."""
LOOK = 0.01
"""Seconds between two looks whether something has ended."""


def find(pid: int, started: float | None) -> psutil.Process | None:
    """The running process with a pid; None if it has ended, or another one has its number now.

    `started` is when it was made, as a Unix time in seconds; None if nothing else can have the number yet.
    """
    try:
        process = psutil.Process(pid)
        if started is not None and abs(process.create_time() - started) > 1:
            return None
        return process if process.status() != psutil.STATUS_ZOMBIE else None
    except psutil.Error:
        return None


def is_anothers(pid: int, started: float | None) -> bool:
    """Whether another process has a pid now; `started` is when the one that had it was made, None if nobody knows."""
    try:
        made = psutil.Process(pid).create_time()
    except psutil.NoSuchProcess:
        return False
    except psutil.Error:
        return True
    return started is None or abs(made - started) > 1


def end(pid: int, started: float | None, limit: float) -> None:
    """End a process and its descendants. It has `limit` seconds to end by itself; 0 kills it at once."""
    process = find(pid, started)
    children = _descendants(process) if process else _orphans(pid, started)
    # On Windows a process can't be asked to end.
    if process and limit and sys.platform != "win32":
        with contextlib.suppress(psutil.Error):
            process.terminate()
        _await([process], limit)
        _await(children, CHILDREN_LIMIT)
    tree = [*([process] if process else []), *children]
    for left in tree:
        with contextlib.suppress(psutil.Error):
            left.kill()
    jobs.end(pid)
    _await(tree, KILLED_LIMIT)


def _descendants(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children(recursive=True)
    except psutil.Error:
        return []


def _orphans(pid: int, started: float | None) -> list[psutil.Process]:
    """What a process that has ended has left behind, on Windows, where that keeps the number of its parent.

    Elsewhere it is in the group of that process.
    """
    if sys.platform != "win32" or started is None or is_anothers(pid, started):
        return []
    left: list[psutil.Process] = []
    for each in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if each.ppid() == pid and each.create_time() >= started - 1:
                left += [each, *_descendants(each)]
    return left


def _await(processes: Sequence[psutil.Process], limit: float) -> None:
    """Wait until processes have ended. psutil's own way takes the exit codes away from whoever has started them."""
    end = time.monotonic() + limit
    while any(map(_runs, processes)) and time.monotonic() < end:
        time.sleep(LOOK)


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
