"""A private `qwen serve` for one folder: found, started, found again after a reload, ended with all that it started."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import secrets
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil

from ...clis.environment import without_editors
from ...clis.shell import on_the_path, usual_shell, words_of
from ...platforms import programs
from ...platforms.files import real_folder
from .. import children
from ..agent import Workplace
from ..children import MARK, begun
from .address import TOKEN_VARIABLE, Address, Token
from .errors import DaemonError, ended, no_qwen, not_started, qwen_too_old

LISTEN_LIMIT = 30.0
"""Seconds until it must listen; 0.4 to 0.6 on an idle machine."""
STOP_LIMIT = 6.0
"""Seconds that it has to end by itself: 5 with listeners, 0.1 without (docs/protocols/qwen-serve.md#process)."""
VERSION_LIMIT = 10.0
"""Seconds for `node --version` and `qwen --version`."""
SHORT_VERSION_LIMIT = 3.0
"""The same for a program that was slow before."""
OLDEST_NODE = 22
OLDEST_QWEN = (0, 21, 2)
LOOK = 0.05
"""Seconds between two looks at what it has printed."""
MAX_LINE = 300
"""Characters of its own words in a message."""

_LISTENING = re.compile(rb"qwen serve listening on (http://\S+)")
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_NO_NODE = re.compile(
    r"^(?:(?>.*?\bnode\b).*(?:No such file|not found|not recognized)|(?>.*?(?:command not found|find)).*\bnode\b)",
    re.IGNORECASE | re.MULTILINE,
)
_VERSION = re.compile(r"\b(\d+)\.(\d+)\.(\d+)\b")
_NODE_WORDS = re.compile(
    r"^(?>.*?node(?:\.js)?\b).*\b(?:version|require|upgrade|unsupported)|SyntaxError", re.IGNORECASE | re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Daemon:
    """A daemon of ours that listens. Whoever keeps it over a reload keeps all of it, and shows the token to nobody."""

    pid: int
    started: float
    """When its process was made: with the pid it names one process for ever."""
    folder: str
    address: Address

    @property
    def is_running(self) -> bool:
        """Whether it is still there, and is not another process with its number."""
        return children.find(self.pid, self.started) is not None

    def end(self, limit: float = 0) -> None:
        """End it and all that it has started; after `limit` seconds without asking. Blocks."""
        children.end(self.pid, self.started, limit)


def find(command: str | Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """The command that runs Qwen Code: from the setting, a program with its arguments, a path, or a line for a shell.

    On Windows a line is a program with its arguments, too: there is no shell that could be given a folder safely.

    Raises:
        DaemonError: there is no such program.
    """
    words = [command] if isinstance(command, str) else list(command) or ["qwen"]
    found = programs.resolve(words, environment)
    if found is None and isinstance(command, str) and len(command.split()) > 1:
        if sys.platform != "win32":
            return _in_shell(command, environment)
        words = words_of(command)
        found = programs.resolve(words, environment)
    if found is None:
        raise no_qwen(words[0])
    return found


def _in_shell(line: str, environment: Mapping[str, str]) -> list[str]:
    """What runs a line of the person's shell; the arguments that follow go to the last program in it."""
    shell = usual_shell(environment)
    is_fish = os.path.basename(shell) == "fish"
    return [shell, "-l", "-c", f"{line} $argv"] if is_fish else [shell, "-l", "-c", f'{line} "$@"', shell]


async def start(
    command: Sequence[str], folder: str, environment: Mapping[str, str], *, limit: float = LISTEN_LIMIT
) -> Daemon:
    """Start a daemon for a folder and wait until it listens. It outlives us unless it is stopped.

    Args:
        command: what `find` has found.
        folder: an absolute path.
        environment: what it gets; the variables by which a CLI finds an editor are left out, since the chat's own
            permission requests show the same changes.
        limit: seconds until it must listen.

    Raises:
        DaemonError: it doesn't.
    """
    token = Token(secrets.token_hex(32))
    mine = without_editors(environment) | {TOKEN_VARIABLE: token.reveal(), MARK: str(os.getpid())}
    begin = partial(_begin, command, folder, mine)
    process, real, path = await begun(begin, lambda made: _give_up(made[0].pid, made[2]))
    try:
        url = await _listening(process, path, limit, command, environment)
        started = psutil.Process(process.pid).create_time()
    except BaseException:
        await asyncio.shield(asyncio.to_thread(_give_up, process.pid, path))
        raise
    await asyncio.shield(asyncio.to_thread(_remove, path))
    return Daemon(process.pid, started, real, Address(url, token))


def _begin(
    command: Sequence[str], folder: str, environment: Mapping[str, str]
) -> tuple[subprocess.Popen[bytes], str, str]:
    """Start it. Returns its process, its folder and the file with what it prints. Blocks."""
    folder = real_folder(folder)
    line = [*command, "serve", "--hostname", "127.0.0.1", "--port", "0", "--workspace", folder, "--no-web"]
    # A pipe would break when the plugin is reloaded, and the daemon with it.
    output, path = tempfile.mkstemp(prefix="qwen-serve-", suffix=".log")
    try:
        with os.fdopen(output, "wb") as printed:
            process = programs.start(
                [*line, "--require-auth"],
                environment,
                folder=folder,
                is_bound=True,
                stdin=subprocess.DEVNULL,
                stdout=printed.fileno(),
                stderr=subprocess.STDOUT,
            )
    except BaseException as error:
        _remove(path)
        if isinstance(error, OSError):
            raise _start_error(error, command, folder) from None
        raise
    # Somebody has to wait for it, or it stays in the list of processes.
    threading.Thread(target=process.wait, name="qwen-serve", daemon=True).start()
    # Before it listens, for it outlives an editor that is killed meanwhile.
    with contextlib.suppress(psutil.Error):
        children.record(process.pid, psutil.Process(process.pid).create_time())
    return process, folder, path


def _start_error(error: OSError, command: Sequence[str], folder: str) -> DaemonError:
    if not isinstance(error, FileNotFoundError | NotADirectoryError | PermissionError):
        return not_started(error.strerror or "it can't be run")
    return no_qwen(command[0]) if os.path.isdir(folder) else not_started(f"there is no folder {folder}")


def _give_up(pid: int, path: str) -> None:
    children.forget(pid)
    children.end_tree(pid, None, 0)
    _remove(path)


def _remove(path: str) -> None:
    """Remove what it has printed. Where the file is in use it can't be removed; it holds a few lines."""
    with contextlib.suppress(OSError):
        os.unlink(path)


async def _listening(
    process: subprocess.Popen[bytes], path: str, limit: float, command: Sequence[str], environment: Mapping[str, str]
) -> str:
    """The URL that the daemon prints once it listens."""
    end = asyncio.get_running_loop().time() + limit
    while True:
        # Before the look at what it has printed, so that its last words are seen.
        has_ended = process.poll() is not None
        printed = await asyncio.to_thread(Path(path).read_bytes)
        if listening := _LISTENING.search(printed):
            return listening[1].decode("ascii", "replace")
        if has_ended:
            words = _ESCAPES.sub("", printed.decode("utf-8", "replace"))
            if version := await _old_node(command, environment, words):
                raise DaemonError(f"Node.js {version} is too old for `qwen serve`.", "Install Node.js 22 or later.")
            if _NO_NODE.search(words):
                remedy = "Install Node.js 22 or later, or add its folder to a PATH."
                raise DaemonError(f"Qwen Code needs Node.js, which is not {on_the_path()}.", remedy)
            if old := await _old_qwen(command, environment):
                raise qwen_too_old(old)
            lines = [line.strip() for line in words.splitlines() if line.strip()]
            raise not_started(lines[-1][:MAX_LINE].rstrip(".") if lines else "")
        if asyncio.get_running_loop().time() > end:
            if old := await _old_qwen(command, environment, SHORT_VERSION_LIMIT):
                raise qwen_too_old(old)
            sentence = f"`qwen serve` didn't listen within {limit:.0f} s."
            raise DaemonError(sentence, "Run `qwen serve` in a terminal to see why.")
        await asyncio.sleep(LOOK)


async def _old_node(command: Sequence[str], environment: Mapping[str, str], words: str) -> str | None:
    """The version of a Node.js that is too old, if that may be why the daemon has ended."""
    if not _NODE_WORDS.search(words):
        return None
    is_node = os.path.basename(command[0]).partition(".")[0] == "node"
    node = command[0] if is_node else await asyncio.to_thread(programs.find, "node", environment)
    if node is None:
        return None
    version = (await _printed([node, "--version"], environment)).strip().removeprefix("v")
    major = version.partition(".")[0]
    return version if major.isdecimal() and int(major) < OLDEST_NODE else None


async def _old_qwen(command: Sequence[str], environment: Mapping[str, str], limit: float = VERSION_LIMIT) -> str | None:
    """The version of a Qwen Code that is too old to have `serve`."""
    found = _VERSION.search(await _printed([*command, "--version"], environment, limit))
    return found[0] if found and tuple(map(int, found.groups())) < OLDEST_QWEN else None


async def _printed(command: Sequence[str], environment: Mapping[str, str], limit: float = VERSION_LIMIT) -> str:
    """What a program prints; empty if it can't be run or takes too long."""
    try:
        asked = await asyncio.to_thread(programs.run, command, environment, limit)
    except (OSError, subprocess.SubprocessError):
        return ""
    return asked.stdout.decode("utf-8", "replace")


STARTING = "Starting `qwen serve`…"
RESTARTING = "`qwen serve` has ended unexpectedly. Starting it again…"
CONNECTING = "Connecting to `qwen serve`…"


Plain = tuple[int, float, str, str, str]
"""A daemon as plain data. The token is in there."""


class PrivateDaemon:
    """The private daemon of a folder of a window, if it has one. Several chats may want it at the same time."""

    def __init__(self, place: Workplace) -> None:
        """`place` is the window."""
        self.daemon: Daemon | None = None
        self.may_restart = True
        """Whether one that has ended is started again: by itself only once, then the person is asked."""
        self._has_given_up = False
        """Whether it has ended for the second time, so that no chat starts it by itself."""
        self._command: str | Sequence[str] | None = None
        """What has started it; None if another instance of the package has."""
        self._place = place
        self._lock = asyncio.Lock()

    async def address(self, folder: str, command: str | Sequence[str], connecting: Callable[[str], object]) -> Address:
        """The address of the daemon for a folder. Starts it if needed; restarts it if `command` has changed.

        `connecting` is called with what is being done.

        Raises:
            ChatError: it can't be started, or has ended for the second time.
        """
        async with self._lock:
            if self._has_given_up and not self.may_restart:
                raise ended()
            self._has_given_up = False
            # The path may lead elsewhere by now.
            real = await asyncio.to_thread(real_folder, folder)
            daemon, self.daemon = self.daemon, None
            if daemon and not daemon.is_running:
                if not self.may_restart:
                    self._has_given_up = True
                    raise ended()
                self.may_restart = False
                said = "`qwen serve` has ended unexpectedly. It is started again."
                self._place.screen.messenger.say(said, self._place.id)
                connecting(RESTARTING)
            elif daemon and daemon.folder == real and self._command in (None, command):
                self.daemon = daemon
                connecting(CONNECTING)
                return daemon.address
            else:
                if daemon:
                    await asyncio.to_thread(daemon.end, STOP_LIMIT)
                connecting(STARTING)
            environment = await self._place.login.get()
            self._command = command
            found = await asyncio.to_thread(find, command, environment)
            self.daemon = await start(found, folder, environment)
            return self.daemon.address

    def is_at(self, address: Address) -> bool:
        """Whether an address is that of the private daemon."""
        return self.daemon is not None and self.daemon.address == address

    def runs_at(self, address: Address) -> bool:
        """Whether the private daemon runs, and at this address."""
        return self.is_at(address) and self.daemon is not None and self.daemon.is_running

    async def stop(self, limit: float) -> None:
        """End it, after `limit` seconds without asking."""
        async with self._lock:
            daemon, self.daemon = self.daemon, None
            if daemon:
                await asyncio.to_thread(daemon.end, limit)

    def hand_over(self) -> Plain | None:
        """Let go of it: the next instance of the package takes it."""
        daemon, self.daemon = self.daemon, None
        if daemon is None:
            return None
        token = daemon.address.token.reveal() if daemon.address.token else ""
        return daemon.pid, daemon.started, daemon.folder, daemon.address.url, token


def from_plain(left: Plain) -> Daemon:
    """The daemon that `hand_over` has left."""
    pid, started, folder, url, token = left
    return Daemon(pid, started, folder, Address(url, Token(token)))
