"""The processes that we start: begun on another thread, written down, and ended with all that they have started.

The list on disk is for editors that were killed. A record holds numbers alone: the process that was started and that of
the editor, each with when it was made. Never a token. Everything here but `begun` blocks for a moment.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import psutil

from ..clis.discovery import is_pid, prepare_folder, write_file
from ..clis.families import DiscoveryFolder, temporary_folder
from ..json_text import read_own
from ..platforms import programs
from ..platforms.files import user_id

logger = logging.getLogger(__name__)

T = TypeVar("T")


async def begun(start: Callable[[], T], end: Callable[[T], object]) -> T:
    """What `start` makes on another thread, and raises. If nobody waits for it any more, `end` gets it there."""
    lock = threading.Lock()
    made: list[T] = []
    is_wanted = True

    def run() -> T:
        one = start()
        with lock:
            made.append(one)
            if is_wanted:
                return one
        end(one)
        return one

    try:
        return await asyncio.to_thread(run)
    except asyncio.CancelledError:
        with lock:
            is_wanted = False
            left = list(made)
        for one in left:
            await asyncio.shield(asyncio.to_thread(end, one))
        raise


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


def is_reused(pid: int, started: float | None) -> bool:
    """Whether another process has a pid now; `started` is when the one that had it was made, None if nobody knows."""
    try:
        made = psutil.Process(pid).create_time()
    except psutil.NoSuchProcess:
        return False
    except psutil.Error:
        return True
    return started is None or abs(made - started) > 1


def end_tree(pid: int, started: float | None, limit: float) -> None:
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
    programs.end_job(pid)
    _await(tree, KILLED_LIMIT)


def end_group(pid: int, started: float | None, limit: float) -> None:
    """End a process that has a group of its own, and what is in that, even if the process has ended."""
    # As long as something is in the group, no other process gets its number.
    if is_reused(pid, started):
        programs.end_job(pid)  # what is in there belongs to the process that had the number before
        return
    end_tree(pid, started, limit)
    # What its children have left behind is in its group.
    programs.kill_group(pid)


def _descendants(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children(recursive=True)
    except psutil.Error:
        return []


def _orphans(pid: int, started: float | None) -> list[psutil.Process]:
    """What a process that has ended has left behind, on Windows, where that keeps the number of its parent.

    Elsewhere it is in the group of that process.
    """
    if sys.platform != "win32" or started is None or is_reused(pid, started):
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


MARK = "QWEN_COMPANION_EDITOR"
"""A variable of a recorded process, by which a later start knows that it is ours. It has the pid of the editor."""
_DAEMON = {"serve", "--require-auth"}
"""Arguments of a recorded daemon. If the setting is a line for a shell, the process may be that shell, and macOS shows
nobody the environment of its own shells (`sysctl_procargsx` in XNU's bsd/kern/kern_sysctl.c)."""


def record(pid: int, started: float) -> None:
    """Write down a process that this one has started. Without the record it works as well."""
    own = os.getpid()
    record = {"process": [pid, started], "editor": [own, psutil.Process(own).create_time()]}
    try:
        write_file(prepare_folder(_folder()) / f"{pid}.json", json.dumps(record))
    except OSError as error:
        logger.debug("Can't write down the process %d: %s", pid, error)


def forget(pid: int) -> None:
    """A process has ended. The folder goes with the last record."""
    folder = _folder().path
    with contextlib.suppress(OSError):
        (folder / f"{pid}.json").unlink()
    with contextlib.suppress(OSError):
        folder.rmdir()


def end(pid: int, started: float | None, limit: float) -> None:
    """End a recorded process and all that it has started. It has `limit` seconds to end by itself."""
    forget(pid)
    end_group(pid, started, limit)


def orphans() -> list[tuple[int, float]]:
    """The processes whose editor is gone: the pid of each and when it was made."""
    found: list[tuple[int, float]] = []
    if not _folder().path.exists():
        return found
    try:
        # Never read another user's records: the folder must be ours.
        paths = sorted(prepare_folder(_folder()).glob("*.json"))
    except OSError:
        return []
    for path in paths:
        record = _read(path)
        if record is None:
            with contextlib.suppress(OSError):
                path.unlink()
            continue
        process, editor = record
        if not _lives(*editor):
            found.append(process)
    return found


def end_leftovers() -> list[int]:
    """End the daemons and agents whose editor is gone, for example because it was killed. Returns their pids."""
    ended: list[int] = []
    for pid, started in orphans():
        process = find(pid, started)
        with contextlib.suppress(psutil.Error, OSError):
            # Whatever a record says, nothing else is ended.
            if process and (set(process.cmdline()) >= _DAEMON or MARK in process.environ()):
                ended.append(pid)
                end_group(pid, started, 0)
        forget(pid)
    return ended


def _folder() -> DiscoveryFolder:
    user = "" if user_id() is None else f"-{user_id()}"
    return DiscoveryFolder(temporary_folder(), (f"qwen-companion{user}",))


def _read(path: Path) -> tuple[tuple[int, float], tuple[int, float]] | None:
    try:
        record = read_own(path) or {}
        process, editor = record["process"], record["editor"]
        is_usual = is_pid(process[0]) and is_pid(editor[0])
        return ((process[0], float(process[1])), (editor[0], float(editor[1]))) if is_usual else None
    except (ValueError, TypeError, LookupError, OverflowError):
        return None


def _lives(pid: int, started: float) -> bool:
    try:
        return abs(psutil.Process(pid).create_time() - started) <= 1
    except psutil.NoSuchProcess:
        return False
    except psutil.Error:
        return True
