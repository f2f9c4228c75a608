"""A process and our ends of its pipes, which the next instance of the package can take over."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any

import psutil

from ...platforms import jobs, programs
from ..starting import begun

if sys.platform == "win32":
    # Its pipes can be read by the loop, those of `subprocess` can't.
    from asyncio.windows_utils import Popen
else:
    from subprocess import Popen

MAX_UNREAD = 256 * 1024
"""Bytes of a pipe that wait for us; more stay in the pipe."""
LEAVE_LIMIT = 0.2
"""Seconds that what is still to be written may take before a child is left."""
MOST_IN_PIPE = 1024 * 1024
"""Bytes that a pipe holds at most: Linux's `pipe-max-size`."""
QUIET = 0.05
"""Seconds between two looks whether something is left in the pipe of a process that has ended."""
QUIET_LOOKS = 2
"""Looks in a row that must find nothing before the pipe counts as empty."""


class Pipe(asyncio.Protocol):
    """What a process prints. Nothing is read ahead of MAX_UNREAD."""

    def __init__(self, unread: bytes = b"") -> None:
        self._data = bytearray(unread)
        self._count = 0
        """How many bytes have come."""
        self._over = asyncio.Event()
        self._news = asyncio.Event()
        self._transport: asyncio.ReadTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The pipe is open."""
        assert isinstance(transport, asyncio.ReadTransport)  # noqa: S101 - it is for reading
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Something was printed. Reading pauses while too much of it waits."""
        self._data += data
        self._count += len(data)
        if len(self._data) >= MAX_UNREAD and self._transport:
            self._transport.pause_reading()
        self._news.set()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the reason makes no difference
        """Nobody can print any more."""
        self._over.set()
        self._news.set()

    async def over(self) -> None:
        """Wait until nobody can print any more, or it is closed. There may still be something to read."""
        await self._over.wait()

    async def settled(self) -> None:
        """Wait until everything was read that a process had printed before it ended.

        What it has started may keep the pipe open for as long as it likes, and print.
        """
        first = count = self._count
        looks = 0
        # Between the first of these looks and the last one, all that was in the pipe would have come.
        while looks < QUIET_LOOKS and self._count - first <= MOST_IN_PIPE and not self._over.is_set():
            looks = looks + 1 if not self._data and self._count == count else 0
            count = self._count
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(QUIET):
                    await self._over.wait()

    async def read(self) -> bytes:
        """What has come; waits if nothing has. Empty at the end."""
        while not self._data and not self._over.is_set():
            self._news.clear()
            await self._news.wait()
        data = self.take()
        if self._transport and not self._transport.is_closing():
            self._transport.resume_reading()
        return data

    def take(self) -> bytes:
        """What has come, without waiting."""
        data = bytes(self._data)
        self._data.clear()
        return data

    def close(self) -> None:
        """Read no more."""
        if self._transport:
            self._transport.close()


class _Input(asyncio.BaseProtocol):
    """What we write to a process. `broken` is set once something can't be written."""

    def __init__(self, broken: asyncio.Event) -> None:
        self._broken = broken

    def connection_lost(self, exc: Exception | None) -> None:
        """Its input is closed, after an error or at its end."""
        if exc:
            self._broken.set()


class Child:
    """A process. Make one with `start` or `take_over`, and close or leave it."""

    def __init__(
        self, process: Popen[bytes], started: float | None, unread: Sequence[bytes], code: Future[int]
    ) -> None:
        """`code` gets what the process returns."""
        self._process = process
        self.started = started
        """When it was made, as a Unix time in seconds; None if it had ended already."""
        self._code = code
        self.output, self.errors = (Pipe(data) for data in unread)
        self.broken = asyncio.Event()
        """Set once it was to get something and has closed its input."""
        self._input: asyncio.WriteTransport | None = None
        self._is_input_closed = False
        self._ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """What it has returned; None as long as it is not known to have ended."""
        return self._process.returncode

    @property
    def unsent(self) -> int:
        """Bytes that it hasn't read yet."""
        return self._input.get_write_buffer_size() if self._input else 0

    def write(self, data: bytes) -> None:
        """Send it something, unless it has closed its input."""
        if self._input is None or self._is_input_closed:
            return
        if self._input.is_closing():
            self.broken.set()
        else:
            self._input.write(data)

    def close_input(self) -> None:
        """Say that nothing more comes."""
        self._is_input_closed = True
        if self._input:
            self._input.close()
        if self._process.stdin and sys.platform != "win32":
            self._process.stdin.close()

    def kill(self) -> None:
        """End it at once."""
        with contextlib.suppress(OSError):
            self._process.kill()

    async def wait(self) -> int:
        """Wait for its end. Returns what it has returned."""
        return await asyncio.shield(self._ended)

    def close(self) -> None:
        """Let go of the pipes, and of what it has left behind."""
        jobs.release(self.pid)
        self.output.close()
        self.errors.close()
        self.close_input()
        if sys.platform != "win32":
            for pipe in (self._process.stdout, self._process.stderr):
                if pipe:
                    pipe.close()

    async def leave(self) -> dict[str, Any] | None:
        """Let go of it, running as it is. Returns what `take_over` needs; None if that is impossible here.

        Whoever reads from it must have stopped.
        """
        # On Windows a pipe belongs to the loop that has read from it.
        if sys.platform == "win32":
            return None
        if not await self._is_sent():
            return None
        self.output.close()
        self.errors.close()
        if self._input:
            self._input.close()
        return {
            "process": self._process,
            "started": self.started,
            "unread": (self.output.take(), self.errors.take()),
            "code": self._code,
        }

    async def _is_sent(self) -> bool:
        clock = asyncio.get_running_loop().time
        end = clock() + LEAVE_LIMIT
        while self.unsent and clock() < end:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.005)
        return not self.unsent

    async def connect(self) -> None:
        """Begin to read, and to wait for the end."""
        loop = asyncio.get_running_loop()
        self._code.add_done_callback(lambda code: _tell(code.result(), loop, self._ended))
        for pipe, protocol in ((self._process.stdout, self.output), (self._process.stderr, self.errors)):
            if pipe:
                await loop.connect_read_pipe(lambda protocol=protocol: protocol, _ours(pipe, "rb"))
        if self._process.stdin:
            made = await loop.connect_write_pipe(lambda: _Input(self.broken), _ours(self._process.stdin, "wb"))
            self._input = made[0]


async def start(
    command: str | Sequence[str],
    folder: str,
    environment: Mapping[str, str],
    *,
    has_input: bool = False,
    joins_errors: bool = False,
) -> Child:
    """Start a process in a group of its own; a text is a line for a shell.

    Args:
        command: the program and its arguments.
        folder: where it runs.
        environment: all that it gets.
        has_input: whether it is written to.
        joins_errors: whether what it says on its standard error is a part of its output.

    Raises:
        OSError: it can't be run.
    """

    def begin() -> Popen[bytes]:
        return programs.start(
            command,
            environment,
            folder=folder,
            kind=Popen,
            is_bound=True,
            stdin=subprocess.PIPE if has_input else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if joins_errors else subprocess.PIPE,
            bufsize=0,
        )

    process = await begun(begin, _end)
    started = None
    with contextlib.suppress(psutil.Error):
        started = psutil.Process(process.pid).create_time()
    return await _connected(Child(process, started, (b"", b""), _waited(process)))


async def take_over(left: Mapping[str, Any]) -> Child:
    """A process that `Child.leave` has left."""
    return await _connected(Child(left["process"], left["started"], left["unread"], left["code"]))


def close_left(left: Mapping[str, Any]) -> tuple[int, float | None]:
    """Close the pipes of a process that nobody takes over. Returns its number and its start. From any thread."""
    process: Popen[bytes] = left["process"]
    _close_pipes(process)
    return process.pid, left["started"]


def _close_pipes(process: Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe:
            pipe.close()


def _end(process: Popen[bytes]) -> None:
    """End a process that nobody wants any more. Blocks for a moment."""
    with contextlib.suppress(OSError):
        process.kill()
    jobs.end(process.pid)
    _close_pipes(process)
    process.wait()


async def _connected(child: Child) -> Child:
    try:
        await child.connect()
    except BaseException:
        child.kill()
        child.close()
        raise
    return child


def _ours(pipe: Any, mode: str) -> Any:
    """A pipe for a loop, which closes it in the end. The process keeps its own end, so that it can be left."""
    return pipe if sys.platform == "win32" else os.fdopen(os.dup(pipe.fileno()), mode, 0)


def _waited(process: Popen[bytes]) -> Future[int]:
    """What a process returns. The one thread that waits for it goes on over reloads."""
    code: Future[int] = Future()
    wait = threading.Thread(target=lambda: code.set_result(process.wait()), name="qwen-companion-child", daemon=True)
    wait.start()
    return code


def _tell(code: int, loop: asyncio.AbstractEventLoop, ended: asyncio.Future[int]) -> None:
    def tell() -> None:
        if not ended.done():
            ended.set_result(code)

    with contextlib.suppress(RuntimeError):  # the loop has gone: the process was left
        loop.call_soon_threadsafe(tell)
