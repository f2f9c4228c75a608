"""An agent's process: started, read, written to, and ended with all that it has started.

Its standard error is kept for the log, and for the message if it ends at once. Secrets of its environment are hidden.
What a command prints is kept as text: without colours, and limited from its beginning.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import logging
import os
import re
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

import psutil

from ...clis.shell import on_the_path
from ...platforms import programs
from .. import children
from ..children import MARK, begun, end_group
from .errors import AgentError, AgentStartError, EndedError

logger = logging.getLogger(__name__)

MAX_LINE = 64 * 1024 * 1024
"""Bytes of a line. A message with a file of the largest size that is shown needs about that."""
_HEAD = 1024
"""Bytes of a line that is too long that are kept, to see what it is."""


class TooLong(bytes):
    """The beginning of a line that was longer than the limit. The rest was dropped."""

    __slots__ = ()


class Lines:
    """Puts lines together. Holds no more than the limit and one piece."""

    def __init__(self, limit: int = MAX_LINE, rest: bytes = b"", *, is_dropped: bool = False) -> None:
        """`rest` has come of a line already; `is_dropped` is whether that is too long, and its rest is dropped."""
        self._limit = limit
        self._pieces = [rest]
        self._size = len(rest)
        self.is_dropped = is_dropped

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The lines that are complete now, without their ends; blank ones are left out."""
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._add(data[start:end])
            start = end + 1
            line = self._take()
            if line.strip():
                yield line
        self._add(data[start:])

    @property
    def rest(self) -> bytes:
        """What has come of a line that isn't complete."""
        return b"".join(self._pieces)

    def _add(self, piece: bytes) -> None:
        if self.is_dropped or not piece:
            return
        if self._size + len(piece) > self._limit:
            self._pieces = [b"".join(self._pieces)[:_HEAD] + piece[:_HEAD]]
            self.is_dropped = True
            return
        self._pieces.append(piece)
        self._size += len(piece)

    def _take(self) -> bytes:
        line = TooLong(self.rest) if self.is_dropped else self.rest
        self._pieces, self._size, self.is_dropped = [], 0, False
        return line


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
        self._ended = asyncio.wrap_future(code)
        self.output, self.errors = (Pipe(data) for data in unread)
        self.broken = asyncio.Event()
        """Set once it was to get something and has closed its input."""
        self._input: asyncio.WriteTransport | None = None
        self._is_input_closed = False

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
        programs.release_job(self.pid)
        self.output.close()
        self.errors.close()
        self.close_input()
        if sys.platform != "win32":
            _close_pipes(self._process)

    async def hand_over(self) -> dict[str, Any] | None:
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
        """Begin to read."""
        loop = asyncio.get_running_loop()
        for pipe, protocol in ((self._process.stdout, self.output), (self._process.stderr, self.errors)):
            if pipe:
                await loop.connect_read_pipe(lambda protocol=protocol: protocol, _ours(pipe, "rb"))
        if self._process.stdin:
            made = await loop.connect_write_pipe(lambda: _Input(self.broken), _ours(self._process.stdin, "wb"))
            self._input = made[0]


async def start_child(
    command: str | Sequence[str], folder: str, environment: Mapping[str, str], *, is_written_to: bool
) -> Child:
    """Start a process in a group of its own; a text is a line for a shell.

    Args:
        command: the program and its arguments.
        folder: where it runs.
        environment: all that it gets.
        is_written_to: whether it gets an input. If not, what it says on its standard error is a part of its output.

    Raises:
        OSError: it can't be run, or there is no such folder.
    """

    def begin() -> Popen[bytes]:
        try:
            return programs.start(
                command,
                environment,
                folder=folder,
                kind=Popen,
                is_bound=True,
                stdin=subprocess.PIPE if is_written_to else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE if is_written_to else subprocess.STDOUT,
                bufsize=0,
            )
        except OSError as error:
            if os.path.isdir(folder):
                raise
            raise OSError(error.errno, f"there is no folder {folder}") from None

    process = await begun(begin, _abandon)
    started = None
    with contextlib.suppress(psutil.Error):
        started = psutil.Process(process.pid).create_time()
    return await _connected(Child(process, started, (b"", b""), _waited(process)))


async def resume_child(left: Mapping[str, Any]) -> Child:
    """A process that `Child.hand_over` has left."""
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


def _abandon(process: Popen[bytes]) -> None:
    """End a process that nobody wants any more. Blocks for a moment."""
    with contextlib.suppress(OSError):
        process.kill()
    programs.end_job(process.pid)
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
    code.set_running_or_notify_cancel()  # nobody who waits for it can cancel it
    wait = threading.Thread(target=lambda: code.set_result(process.wait()), name="qwen-companion-child", daemon=True)
    wait.start()
    return code


STOP_LIMIT = 2.0
"""Seconds that an agent has to end by itself."""
CLOSE_LIMIT = 0.5
"""Seconds that it has once its standard input is closed."""
SHUT_LIMIT = 2.0
"""Seconds that an agent has to end after it has closed its input or its output."""
DRAIN_LIMIT = 10.0
"""Seconds within which the last words of an agent that has ended are read."""
KEPT_LINES = 20
"""Lines of the standard error that are kept."""
MAX_ERROR_LINE = 300
"""Characters of such a line in a message or in the log."""
MAX_UNSENT = 128 * 1024 * 1024
"""Bytes for an agent that reads nothing."""
_TURN = 0.01
"""Seconds that reading may keep the loop from everything else."""
_ERROR = re.compile(r"(\w+ )?\w*(Error|Exception)\b.*:")
_TROUBLE = re.compile(
    r"error|exception|fatal|fail|panic|abort|crash|denied|refused|invalid|missing|unable|unknown|unsupported"
    r"|out of memory|no such|not found|no longer|can(no|')?t\b|could( not|n't)|must ",
    re.IGNORECASE,
)
"""Words of a line that may say why a program has ended. Others are what it says while it works."""
_NPM = re.compile(r"npm (?:error|ERR!) (?!code |errno |syscall |path |A complete log )")
"""What npm says first of all this is what went wrong; advice and the place of its log follow."""
_KILLED = (9, 15)
"""The signals by which somebody else ends a program: SIGKILL and SIGTERM."""
_SECRETS = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_SHORTEST_SECRET = 6


class AgentProcess:
    """An agent at work. Make one with `start`."""

    def __init__(self, agent: str, process: Child, secrets: list[str], lines: Lines, *, has_answered: bool) -> None:
        self.agent = agent
        self._process = process
        self._secrets = secrets
        self._errors: deque[str] = deque(maxlen=KEPT_LINES)
        self._why = ""
        """Why it was ended by us."""
        self._killing: asyncio.Task[None] | None = None
        self._listening = asyncio.create_task(self._listen())
        self._watching = asyncio.create_task(self._watch())
        self.has_answered = has_answered
        """Whether it has shaken hands."""
        self._lines = lines
        self._ready: deque[bytes] = deque()

    def hide(self, secret: str) -> None:
        """Show a secret neither in the log nor in a message. A short one would hide ordinary words, and stays."""
        self._secrets += _long([secret])

    @property
    def said(self) -> str:
        """The last line that it has printed besides the protocol; empty if there is none."""
        return next((line for line in reversed(self._errors) if line), "")

    @property
    def pid(self) -> int:
        """The number of its process."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether it runs, as far as is known."""
        return self._process.returncode is None

    async def lines(self) -> AsyncGenerator[bytes]:
        """What it prints, line by line, until it ends. Lets the loop do other things, however much there is."""
        clock = asyncio.get_running_loop().time
        since = clock()
        while data := await self._process.output.read():
            self._ready.extend(self._lines.feed(data))
            while self._ready:
                line = self._ready.popleft()
                if not self.has_answered and not line.lstrip().startswith(b"{"):
                    self._note(line)  # it may say why it can't speak the protocol
                yield line
                if clock() - since > _TURN:
                    await asyncio.sleep(0)
                    since = clock()
        if rest := self._lines.rest:
            yield rest

    def write(self, line: bytes) -> None:
        """Send a line. An agent that has ended, or that reads nothing, gets none."""
        if self._process.unsent > MAX_UNSENT:
            self.end("it doesn't read what it is sent")
            return
        self._process.write(line)

    def end(self, why: str) -> None:
        """End it at once, because of what it does. `why` is for the person, in words that follow “has ended”."""
        logger.warning("%s is ended: %s", self.agent, why)
        self._why = why
        if self._killing is None:
            # With all that it has started: the process may be a batch file's interpreter, which is not the agent.
            self._killing = asyncio.create_task(asyncio.to_thread(end_group, self.pid, self._process.started, 0))

    async def ended(self) -> EndedError | AgentStartError:
        """Wait for its end. Returns what to tell the person."""
        code = await self._process.wait()
        # What it has started may keep the pipe open.
        await asyncio.wait([self._listening], timeout=CLOSE_LIMIT)
        is_killed = self.has_answered and -code in _KILLED
        said = "" if is_killed else _telling(self._errors, is_start=not self.has_answered).rstrip(".")
        how = self._why or said or (f"it has returned {code}" if code >= 0 else f"it was ended by {signal_name(code)}")
        return EndedError(self.agent, how) if self.has_answered else AgentStartError(self.agent, how)

    async def stop(self, limit: float = STOP_LIMIT) -> None:
        """End it and all that it has started; after `limit` seconds without asking."""
        self._process.close_input()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(CLOSE_LIMIT, limit)):
                await self._process.wait()
        if self._killing:
            await self._killing
        await asyncio.to_thread(children.end, self.pid, self._process.started, limit)
        await self._process.wait()
        await self._ignore()
        self._process.close()

    def take_ready(self) -> list[bytes]:
        """The lines that have come and that nobody has read, once nobody reads any more; only once."""
        found = list(self._ready)
        self._ready.clear()
        return found

    async def hand_over(self) -> dict[str, Any] | None:
        """Let go of it, running as it is, once nobody reads any more. Returns what `take_over` needs.

        None if that is impossible; then it is still ours.
        """
        if (left := await self._process.hand_over()) is None:
            return None
        await self._ignore()
        return {
            "child": left,
            "secrets": list(self._secrets),
            "line": (self._lines.rest, self._lines.is_dropped),
        }

    async def _ignore(self) -> None:
        """Neither listen to it nor watch it any more."""
        for task in (self._listening, self._watching):
            task.cancel()
        await asyncio.wait([self._listening, self._watching])

    async def _watch(self) -> None:
        """See that it ends as a whole: its process, its output and its input."""
        process = self._process
        ways = [asyncio.create_task(way) for way in (process.wait(), process.output.over(), process.broken.wait())]
        ended, over, _ = ways
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait([ended], timeout=SHUT_LIMIT)
            if not ended.done():
                self.end(f"it has closed its {'output' if over.done() else 'input'}")
                await ended
        finally:
            for way in ways:
                way.cancel()
        # What it has started may keep its pipes open, and print.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_LIMIT):
                await process.output.settled()
        process.output.close()

    async def _listen(self) -> None:
        lines = Lines(limit=64 * 1024)
        while data := await self._process.errors.read():
            for line in lines.feed(data):
                self._note(line)
        self._note(lines.rest)

    def _note(self, line: bytes) -> None:
        words = without_colours(line.decode("utf-8", "replace")).strip()
        # The longest first: one may begin with another.
        for secret in sorted(self._secrets, key=len, reverse=True):
            words = words.replace(secret, "…")
        self._errors.append(words[:MAX_ERROR_LINE])
        if words:
            logger.debug("%s: %s", self.agent, words[:MAX_ERROR_LINE])


async def start(
    agent: str, command: Sequence[str], folder: str, environment: Mapping[str, str], install: str = ""
) -> AgentProcess:
    """Start an agent in a folder.

    Args:
        agent: its name, for messages.
        command: the program and its arguments.
        folder: an absolute path.
        environment: all that it gets.
        install: the command that installs it, for the message if it is missing.

    Raises:
        AgentError: there is no such program, or it can't be run.
    """
    found = await asyncio.to_thread(programs.resolve, command, environment)
    if found is None:
        program, how = command[0], f" ({install})" if install else ""
        why = f"there is no “{program}”" if os.path.dirname(program) else f"“{program}” is not {on_the_path()}"
        raise AgentError(f"{agent} can't be started: {why}.", f"Install it{how}, or correct its command.")
    try:
        marked = {**environment, MARK: str(os.getpid())}
        process = await start_child(found, folder, marked, is_written_to=True)
    except OSError as error:
        raise AgentStartError(agent, error.strerror or "it can't be run") from None
    secrets = _long(value for name, value in environment.items() if _SECRETS.search(name))
    started = AgentProcess(agent, process, secrets, Lines(), has_answered=False)
    try:
        if process.started is not None:
            await asyncio.to_thread(children.record, process.pid, process.started)
    except BaseException:
        await asyncio.shield(started.stop(0))
        raise
    return started


async def take_over(left: Mapping[str, Any], agent: str) -> AgentProcess:
    """An agent, by its name, that `AgentProcess.hand_over` has left."""
    rest, is_dropped = left["line"]
    lines = Lines(rest=rest, is_dropped=is_dropped)
    return AgentProcess(agent, await resume_child(left["child"]), left["secrets"], lines, has_answered=True)


def end_left(left: Mapping[str, Any]) -> None:
    """End an agent that nobody takes over, and its terminals. From any thread; blocks for a moment."""
    children.end(*close_left(left["process"]["child"]), 0)
    for terminal in left["terminals"]["open"].values():
        end_group(*close_left(terminal["child"]), 0)


def _long(secrets: Iterable[str]) -> list[str]:
    return [secret for secret in secrets if len(secret) >= _SHORTEST_SECRET]


def _telling(lines: Sequence[str], *, is_start: bool) -> str:
    """The line that says why a program has ended; empty if none does. Node.js ends with its version.

    Of a program that could not start, the last line says it if no other one does.
    """
    said = [line for line in lines if line]
    if found := next((line for line in said if _NPM.match(line)), ""):
        return found
    said = [line for line in said if "A complete log of this run" not in line]
    for words in (_ERROR.match, _TROUBLE.search):
        if at := next((at for at in range(len(said), 0, -1) if words(said[at - 1])), 0):
            # A heading means nothing without what it is for.
            return " ".join(said[at - 1 : at + 1]) if said[at - 1].endswith(":") else said[at - 1]
    return said[-1] if said and is_start else ""


def signal_name(code: int) -> str:
    """The signal that has ended a process, by the negative number that this has returned."""
    with contextlib.suppress(ValueError):
        return signal.Signals(-code).name
    return f"signal {-code}"


MAX_HELD = 4096
"""Characters of the beginning of a code that wait for the rest of it."""
_CODES = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f](?:"
    r"(?<=\x1b)(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-~])"
    r"|(?<=\x9b)[0-?]*[ -/]*[@-~])?"
)
"""ECMA-48: control characters, sequences for colours and the cursor, strings such as a title, other sequences."""
_BEGUN = re.compile(r"\x1b(?:[\]PX^_][^\x07\x1b]*\x1b?|[ -/]*)\Z|(?:\x1b\[|\x9b)[0-?]*[ -/]*\Z")
"""The beginning of such a code at the end of a text."""
_LINE_END = re.compile(r"(?<!\r)\r+\n")


def without_colours(text: str) -> str:
    """A text without the codes for colours and for the cursor."""
    return _CODES.sub("", text)


class Printing:
    """The end of what was printed, of at most `limit` bytes."""

    def __init__(self, limit: int, text: str = "", held: str = "", *, is_cut: bool = False) -> None:
        self._limit = limit
        self._text = text
        self._size = len(_encoded(text))
        self._held = held
        self._is_cut = is_cut
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    @property
    def text(self) -> str:
        """What was printed."""
        self._cut()
        return self._text

    @property
    def is_cut(self) -> bool:
        """Whether the beginning is left out."""
        self._cut()
        return self._is_cut

    @property
    def half(self) -> bytes:
        """The beginning of a character."""
        return self._decoder.getstate()[0]

    def hand_over(self) -> dict[str, Any]:
        """What makes the same again, but for `half`."""
        return {"limit": self._limit, "text": self.text, "held": self._held, "is_cut": self.is_cut}

    def add(self, data: bytes) -> None:
        """Something more was printed."""
        text = self._held + self._decoder.decode(data)
        begun = _BEGUN.search(text)
        # A line ending may come in two pieces.
        at = len(text[: begun.start() if begun else None].rstrip("\r"))
        if len(text) - at > MAX_HELD:
            at = len(text)
        self._held = text[at:]
        self._add(text[:at])

    def end(self) -> None:
        """Nothing more comes."""
        text, self._held = self._held + self._decoder.decode(b"", final=True), ""
        self._add(text)

    def _add(self, text: str) -> None:
        if "\r" in text:
            # A line that is printed again and again, such as one with a percentage, is shown as it was last.
            head, line_end, line = self._text.rpartition("\n")
            lines = _LINE_END.sub("\n", line + text).split("\n")
            self._text = head + line_end
            self._size = len(_encoded(self._text))
            text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in lines)
        text = without_colours(text)
        self._text += text
        self._size += len(_encoded(text))
        # Not each time, since that takes as long as the limit is large.
        if self._size > 2 * max(self._limit, MAX_HELD):
            self._cut()

    def _cut(self) -> None:
        if self._size > self._limit:
            self._is_cut = True
            kept = _encoded(self._text)[-self._limit :] if self._limit else b""
            self._text = kept.decode("utf-8", "ignore")
            self._size = len(_encoded(self._text))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")
