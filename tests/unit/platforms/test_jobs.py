"""What is started on Windows ends with all that it has started. The kernel is a stand-in with real processes."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from companion.backends import children
from companion.platforms import programs

from ..conftest import until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there the kernel is the real one")

FIRST_HANDLE = 1 << 40
KILL_ON_JOB_CLOSE = 0x2000
_KILL: Any = getattr(signal, "SIGKILL", None)
_session_of: Any = getattr(os, "getsid", None)


class BasicLimits(ctypes.Structure):
    """JOBOBJECT_BASIC_LIMIT_INFORMATION."""

    _fields_ = (
        ("PerProcessUserTimeLimit", ctypes.c_int64),
        ("PerJobUserTimeLimit", ctypes.c_int64),
        ("LimitFlags", ctypes.c_uint32),
        ("MinimumWorkingSetSize", ctypes.c_size_t),
        ("MaximumWorkingSetSize", ctypes.c_size_t),
        ("ActiveProcessLimit", ctypes.c_uint32),
        ("Affinity", ctypes.c_size_t),
        ("PriorityClass", ctypes.c_uint32),
        ("SchedulingClass", ctypes.c_uint32),
    )


class ExtendedLimits(ctypes.Structure):
    """JOBOBJECT_EXTENDED_LIMIT_INFORMATION."""

    _fields_ = (
        ("BasicLimitInformation", BasicLimits),
        ("IoInfo", ctypes.c_uint64 * 6),
        ("ProcessMemoryLimit", ctypes.c_size_t),
        ("JobMemoryLimit", ctypes.c_size_t),
        ("PeakProcessMemoryUsed", ctypes.c_size_t),
        ("PeakJobMemoryUsed", ctypes.c_size_t),
    )


class Kernel:
    """`kernel32`, as far as jobs go. The handle of a process is its number; a job has all of its session."""

    def __init__(self) -> None:
        self.limits: dict[int, int] = {}
        self.members: dict[int, list[int]] = {}
        self.is_refusing = False

    def create(self, _attributes: object, _name: object) -> int:
        handle = FIRST_HANDLE + len(self.limits)
        self.limits[handle], self.members[handle] = 0, []
        return handle

    def limit(self, job: int, kind: int, limits: bytes, size: int) -> int:
        assert (kind, size) == (9, ctypes.sizeof(ExtendedLimits)) == (9, len(limits))
        self.limits[job] = ExtendedLimits.from_buffer_copy(limits).BasicLimitInformation.LimitFlags
        return 1

    def assign(self, job: int, process: int) -> int:
        self.members[job].append(process)
        return 0 if self.is_refusing else 1

    def terminate(self, job: int, _code: int) -> int:
        for session in self.members[job]:
            for pid in of_session(session):
                os.kill(pid, _KILL)
        return 1

    def close(self, job: int) -> int:
        if self.limits.pop(job) & KILL_ON_JOB_CLOSE:
            self.terminate(job, 0)
        return 1


def of_session(session: int) -> list[int]:
    found: list[int] = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                if _session_of(int(name)) == session:
                    found.append(int(name))
            except ProcessLookupError:
                pass
    return found


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    if not os.path.isdir("/proc/self"):
        pytest.skip("the stand-in looks for processes in /proc")
    kernel = Kernel()
    calls = {
        "CreateJobObjectW": kernel.create,
        "SetInformationJobObject": kernel.limit,
        "AssignProcessToJobObject": kernel.assign,
        "TerminateJobObject": kernel.terminate,
        "CloseHandle": kernel.close,
    }
    functions = {name: lambda *given, call=call: call(*given) for name, call in calls.items()}
    monkeypatch.setattr(ctypes, "WinDLL", lambda *_, **__: SimpleNamespace(**functions), raising=False)
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(subprocess, "CREATE_NO_WINDOW", 1, raising=False)
    monkeypatch.setattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 2, raising=False)
    return kernel


@pytest.fixture
def started(kernel: Kernel) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A batch file's interpreter and the agent that it has started, which is no child of it any more."""

    def popen(words: list[str], *, creationflags: int, **more: Any) -> subprocess.Popen[bytes]:
        assert creationflags == 3
        process: Any = subprocess.Popen(words, start_new_session=True, stdout=subprocess.PIPE, **more)
        process._handle = process.pid  # as on Windows
        return process

    words = ["/bin/sh", "-c", "sleep 600 & echo $!; sleep 600"]
    process = programs.start(words, {"PATH": os.environ["PATH"]}, kind=popen, is_bound=True)
    with process:
        child = int(process.stdout.readline())
        yield process, child
        for pid in of_session(process.pid):
            os.kill(pid, _KILL)


def runs(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_with_a_process_ends_what_it_has_left_behind(kernel: Kernel, started: tuple[subprocess.Popen[bytes], int]):
    process, child = started
    process.kill()
    process.wait()
    assert runs(child)
    programs.end_job(process.pid)
    until(lambda: not runs(child))
    assert kernel.limits == {}


def test_the_end_of_a_tree_is_that_of_its_job(kernel: Kernel, started: tuple[subprocess.Popen[bytes], int]):
    process, child = started
    children.end_tree(process.pid, None, 0)
    until(lambda: not runs(child))
    assert kernel.limits == {}


def test_the_kernel_ends_all_with_the_editor(kernel: Kernel, started: tuple[subprocess.Popen[bytes], int]):
    """It closes the handles of a process that ends, however that came."""
    process, child = started
    [job] = kernel.limits
    kernel.close(job)
    until(lambda: not runs(child) and not runs(process.pid))


def test_what_a_command_has_left_behind_runs_on_when_it_is_released(
    kernel: Kernel, started: tuple[subprocess.Popen[bytes], int]
):
    process, child = started
    process.kill()
    process.wait()
    programs.release_job(process.pid)
    assert kernel.limits == {}
    assert runs(child)


def test_a_number_that_a_later_process_has_got_is_that_ones(kernel: Kernel):
    programs.bind_to_job(1 << 22, 1 << 22)
    programs.bind_to_job(1 << 22, 1 << 22)
    assert list(kernel.limits) == [FIRST_HANDLE + 1]
    programs.release_job(1 << 22)
    assert kernel.limits == {}


def test_without_a_job_a_process_runs_all_the_same(kernel: Kernel):
    """An editor may itself be in a job that takes no others."""
    kernel.is_refusing = True
    programs.bind_to_job(1 << 22, 1 << 22)
    assert kernel.limits == {}
    programs.end_job(1 << 22)
    programs.release_job(1 << 22)


def test_on_other_systems_nothing_is_done():
    programs.bind_to_job(1, 1)
    programs.end_job(1)
    programs.release_job(1)
