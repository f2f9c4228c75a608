"""Which process is the editor, and does a process still live. psutil is imported late: see `thread`."""

from __future__ import annotations

import psutil


def wrote(pid: int, written_at: float) -> bool:
    """Whether the process that wrote a file at `written_at` (Unix seconds) with this pid still lives.

    A pid is used again sooner or later: a process younger than the file didn't write it.
    """
    try:
        process = psutil.Process(pid)
        # The system's clock ticks more coarsely than a file's time stamp.
        return process.is_running() and process.create_time() <= written_at + 2
    except psutil.NoSuchProcess:
        return False
    except psutil.Error:
        return True
