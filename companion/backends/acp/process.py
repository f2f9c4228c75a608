"""An agent's process: started, read, written to, and ended with all that it has started.

Its standard error is kept for the log, and for the message if it ends at once. Secrets of its environment are hidden.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import signal
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from typing import Any

from ...platforms import jobs, programs
from ...platforms.processes import kill_group
from ..daemon.process import records, tree
from . import child
from .child import Child
from .errors import AgentStartError, EndedError, NoProgramError
from .lines import Lines
from .printing import without_colours

logger = logging.getLogger(__name__)

MARK = "QWEN_COMPANION_AGENT"
"""A variable by which a later start knows that a process is an agent of ours."""
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
MAX_LINE = 300
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
        how = self._why or said or _exit(code)
        return EndedError(self.agent, how) if self.has_answered else AgentStartError(self.agent, how)

    async def stop(self, limit: float = STOP_LIMIT) -> None:
        """End it and all that it has started; after `limit` seconds without asking."""
        self._process.close_input()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(CLOSE_LIMIT, limit)):
                await self._process.wait()
        if self._killing:
            await self._killing
        await asyncio.to_thread(_end, self.pid, self._process.started, limit)
        await self._process.wait()
        await self._ignore()
        self._process.close()

    def take_ready(self) -> list[bytes]:
        """The lines that have come and that nobody has read, once nobody reads any more; only once."""
        found = list(self._ready)
        self._ready.clear()
        return found

    async def leave(self) -> dict[str, Any] | None:
        """Let go of it, running as it is, once nobody reads any more. Returns what `take_over` needs.

        None if that is impossible; then it is still ours.
        """
        if (left := await self._process.leave()) is None:
            return None
        await self._ignore()
        return {
            "child": left,
            "agent": self.agent,
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
        for secret in self._secrets:
            words = words.replace(secret, "…")
        self._errors.append(words[:MAX_LINE])
        if words:
            logger.debug("%s: %s", self.agent, words[:MAX_LINE])


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
        NoProgramError: there is no such program.
        AgentStartError: it can't be run.
    """
    found, has_folder = await asyncio.to_thread(_found, command, folder, environment)
    if found is None:
        raise NoProgramError(agent, command[0], install)
    try:
        marked = {**environment, MARK: str(os.getpid())}
        process = await child.start(found, folder, marked, has_input=True)
    except OSError as error:
        why = f"there is no folder {folder}" if not has_folder else error.strerror or "it can't be run"
        raise AgentStartError(agent, why) from None
    secrets = _long(value for name, value in environment.items() if _SECRETS.search(name))
    started = AgentProcess(agent, process, secrets, Lines(), has_answered=False)
    try:
        if process.started is not None:
            await asyncio.to_thread(records.write, process.pid, process.started, "agent")
    except BaseException:
        await asyncio.shield(started.stop(0))
        raise
    return started


async def take_over(left: Mapping[str, Any]) -> AgentProcess:
    """An agent that `AgentProcess.leave` has left."""
    lines = Lines()
    rest, is_dropped = left["line"]
    lines.restore(rest, is_dropped=is_dropped)
    return AgentProcess(left["agent"], await child.take_over(left["child"]), left["secrets"], lines, has_answered=True)


def end_left(left: Mapping[str, Any]) -> None:
    """End an agent that nobody takes over, and its terminals. From any thread; blocks for a moment."""
    _end(*child.close_left(left["process"]["child"]), 0)
    for terminal in left["terminals"]["open"].values():
        end_group(*child.close_left(terminal["child"]), 0)


def _found(command: Sequence[str], folder: str, environment: Mapping[str, str]) -> tuple[list[str] | None, bool]:
    """What to start, and whether there is a folder."""
    return programs.resolve(command, environment), os.path.isdir(folder)


def end_leftovers() -> list[int]:
    """End the agents whose editor is gone, for example because it was killed. Returns their pids. Blocks."""
    left = records.leftovers("agent", lambda process: MARK in process.environ())
    for pid, started in left:
        _end(pid, started, 0)
    return [pid for pid, _ in left]


def end_group(pid: int, started: float | None, limit: float) -> None:
    """End a process that has a group of its own, and what is in that, even if the process has ended. Blocks."""
    # As long as something is in the group, no other process gets its number.
    if tree.is_anothers(pid, started):
        jobs.end(pid)  # what is in there belongs to the process that had the number before
        return
    tree.end(pid, started, limit)
    # What its children have left behind is in its group.
    kill_group(pid)


def _end(pid: int, started: float | None, limit: float) -> None:
    records.remove(pid, "agent")
    end_group(pid, started, limit)


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


def _exit(code: int) -> str:
    if code >= 0:
        return f"it has returned {code}"
    with contextlib.suppress(ValueError):
        return f"it was ended by {signal.Signals(-code).name}"
    return f"it was ended by signal {-code}"
