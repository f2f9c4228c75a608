"""Windows' job objects: with a process ends all that it has started, also what a batch file has left behind.

The kernel ends what is in a job when the last handle of it is closed: nothing outlives the editor, however that ends.
Elsewhere the group of a process does this, and nothing here does anything.
"""

from __future__ import annotations

import logging
import struct
import sys
import threading
from typing import Any

logger = logging.getLogger(__name__)

_EXTENDED_LIMITS = 9
"""JobObjectExtendedLimitInformation"""
_KILL_ON_CLOSE = 0x2000
"""JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE"""


_SIZE = 144 if sys.maxsize > 1 << 32 else 112
"""Bytes of JOBOBJECT_EXTENDED_LIMIT_INFORMATION"""
_AT_FLAGS = 16
"""Where its BasicLimitInformation.LimitFlags are, after two times of 8 bytes."""
_PROCESS_MEMORY = 0x100
"""JOB_OBJECT_LIMIT_PROCESS_MEMORY"""
_AT_MEMORY = 112 if sys.maxsize > 1 << 32 else 96
"""Where its ProcessMemoryLimit is, after its BasicLimitInformation and its IoInfo of 48 bytes."""


class _Jobs:
    """The jobs of the processes that were started, by their numbers. From any thread."""

    def __init__(self) -> None:
        self._handles: dict[int, int] = {}
        self._lock = threading.Lock()

    def add(self, pid: int, handle: int) -> None:
        with self._lock:
            before, self._handles[pid] = self._handles.get(pid), handle
        if before is not None:
            _close(before)

    def take(self, pid: int) -> int | None:
        with self._lock:
            return self._handles.pop(pid, None)


_JOBS = _Jobs()


def bind(pid: int, process: int, memory: int = 0) -> None:
    """Put a process that has just started into a job of its own. `process` is its handle. Does nothing elsewhere.

    Each process in the job may have `memory` bytes, or any number of them if that is 0.

    Where that fails, the descendants are found by the numbers of their parents.
    """
    if sys.platform != "win32":
        return
    kernel = _kernel()
    job = kernel.CreateJobObjectW(None, None)
    if not job:
        logger.debug("There is no job for the process %d", pid)
        return
    if _limit(job, _KILL_ON_CLOSE, memory) and kernel.AssignProcessToJobObject(job, process):
        _JOBS.add(pid, job)
    else:
        logger.debug("The process %d is in no job of ours", pid)
        kernel.CloseHandle(job)


def end(pid: int) -> None:
    """End all that is left in the job of a process, whether that has ended or not."""
    if sys.platform == "win32" and (job := _JOBS.take(pid)) is not None:
        _kernel().TerminateJobObject(job, 1)
        _kernel().CloseHandle(job)


def release(pid: int) -> None:
    """Let go of what a process has left behind: it runs on."""
    if sys.platform == "win32" and (job := _JOBS.take(pid)) is not None:
        _close(job)


def _close(job: int) -> None:
    if _limit(job, 0):
        _kernel().CloseHandle(job)


def _limit(job: int, flags: int, memory: int = 0) -> bool:
    limits = bytearray(_SIZE)
    struct.pack_into("<I", limits, _AT_FLAGS, flags | (_PROCESS_MEMORY if memory else 0))
    struct.pack_into("<Q" if sys.maxsize > 1 << 32 else "<I", limits, _AT_MEMORY, memory)
    return bool(_kernel().SetInformationJobObject(job, _EXTENDED_LIMITS, bytes(limits), _SIZE))


def _kernel() -> Any:
    """The functions of `kernel32`. Handles have the size of a pointer; ctypes takes numbers for 32 bits."""
    import ctypes  # noqa: PLC0415 - nobody else needs it

    windows: Any = ctypes
    kernel = windows.WinDLL("kernel32", use_last_error=True)
    kernel.CreateJobObjectW.restype = ctypes.c_void_p
    kernel.CreateJobObjectW.argtypes = ctypes.c_void_p, ctypes.c_wchar_p
    kernel.SetInformationJobObject.argtypes = ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_uint32
    kernel.AssignProcessToJobObject.argtypes = ctypes.c_void_p, ctypes.c_void_p
    kernel.TerminateJobObject.argtypes = ctypes.c_void_p, ctypes.c_uint32
    kernel.CloseHandle.argtypes = (ctypes.c_void_p,)
    return kernel
