"""Processes, through psutil: whether one is still alive, and which CLIs run. psutil is imported late: see `thread`.

Every function here asks the system; call none of them on an event loop.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import psutil

from ..platforms.files import user_id
from ..platforms.programs import foreground, group_and_session, terminal_readers
from .families import FAMILIES, CliFamily

T = TypeVar("T")

_RUNTIMES = ("node", "bun", "deno")
_WITH_VALUE = {"-r", "--require", "--import", "--loader", "--experimental-loader", "-C", "--conditions", "--env-file"}
"""Node's options that take the next word as their value."""
_CODE = re.compile(r"-[ep]|--eval|--print")
"""How its options begin that have it run what stands beside them, and no file."""
_NO_EDITOR = {
    "acp",
    "serve",
    "mcp",
    "extensions",
    "extension",
    "channel",
    "hooks",
    "skills",
    "auth",
    "update",
    "sessions",
}
"""Subcommands that don't connect to an editor."""
_APPLICATION = re.compile(r"\.app/Contents/MacOS/|/AnthropicClaude/|/WindowsApps/[^/]+/", re.IGNORECASE)
"""Where systems keep applications with windows: the program of Claude's is called like the CLI."""
_OF_THE_CONSOLE = {"conhost.exe", "openconsole.exe"}
"""Programs of Windows that belong to a console and read nothing."""
_NO_EDITOR_OPTIONS = {
    *("--acp", "--experimental-acp", "--version", "-v", "--help", "-h", "--list-extensions", "-l"),
    "--input-format",  # the SDK of Claude Code drives it by its pipes
}


@dataclass(frozen=True, slots=True)
class RunningCli:
    """A running CLI; it has several processes if it started itself again.

    A field is None if the system doesn't let us see the value.
    """

    family: CliFamily
    pid: int
    """The process that does the work."""
    pids: tuple[int, ...]
    started: float
    """When that process was started, as a Unix time in seconds."""
    cwd: str | None
    program: str
    arguments: tuple[str, ...]
    """Those of the person's command line."""
    variables: Mapping[str, str] | None = field(repr=False)
    """Its environment; never to be shown as a whole."""
    ports: frozenset[int] | None
    """The ports on this machine that it is connected to."""


def wrote(pid: int, written_at: float) -> bool:
    """Whether the process with this pid that wrote a file at `written_at` (Unix seconds) is still alive.

    Pids are reused: a process that is younger than the file didn't write it.
    """
    try:
        process = psutil.Process(pid)
        # Process times are coarser than file times.
        return process.is_running() and process.create_time() <= written_at + 2
    except psutil.NoSuchProcess:
        return False
    except psutil.Error:
        return True


class _Found(NamedTuple):
    process: psutil.Process
    family: CliFamily
    program: str
    arguments: tuple[str, ...]


def running_clis(families: Sequence[CliFamily] = FAMILIES) -> list[RunningCli]:
    """This user's running CLIs, the oldest first. A CLI that has started itself again counts once."""
    found: dict[int, _Found] = {}
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if _is_mine(process) and (program := started_as(process.cmdline(), families)):
                found[process.pid] = _Found(process, *program)
    parents = {pid: _asked(one.process.ppid) for pid, one in found.items()}
    chains = [list(_chain(pid, parents)) for pid, parent in parents.items() if parent not in found]
    clis = [cli for chain in chains if (cli := _running([found[pid] for pid in chain]))]
    return sorted(clis, key=lambda cli: cli.started)


def cli_in_front(
    pid: int, descriptor: int | None, families: Sequence[CliFamily] = FAMILIES
) -> tuple[CliFamily, int] | None:
    """The CLI that reads what is typed into a pseudo-terminal, and the id of its process.

    None if another program reads it, or could, or if that can't be known: a CLI that has ended, is suspended or runs in
    the background, and one beyond a connection or a multiplexer. Every process that could read it has to be the CLI, an
    ancestor such as `npx`, or the CLI once more, which has started itself again. What else it has started, such as a
    server, must not have the terminal as its input: an editor of the person's has.

    Args:
        pid: the process that the terminal was opened with. It leads the terminal's session.
        descriptor: our end of the terminal; None on Windows, where all programs of a console count.
        families: the CLIs that are looked for.
    """
    readers = _of_console(pid) if sys.platform == "win32" else _of_foreground(pid, descriptor)
    found: dict[int, CliFamily] = {}
    ancestors: dict[int, set[int]] = {}
    for process in readers:
        with suppress(psutil.Error, OSError):
            ancestors[process.pid] = {each.pid for each in process.parents()}
            if process.status() not in {psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE, psutil.STATUS_TRACING_STOP} and (
                program := started_as(process.cmdline(), families)
            ):
                found[process.pid] = program[0]
    # A CLI that has started itself again counts once.
    first = [each for each in found if not ancestors[each] & found.keys()]
    if len(first) != 1 or len(ancestors) < len(readers):
        return None
    [cli] = first
    others = ancestors.keys() - found.keys() - ancestors[cli]
    if any(cli not in ancestors[each] for each in others):
        return None
    # Windows doesn't tell what reads a console.
    are_its_own = sys.platform == "win32" or terminal_readers(sorted(others)) == set()
    return (found[cli], cli) if are_its_own else None


def _of_foreground(pid: int, descriptor: int | None) -> list[psutil.Process]:
    """The processes in the foreground of the terminal that a process leads the session of."""
    group = None if descriptor is None else foreground(descriptor)
    pids = [each for each in psutil.pids() if group and group_and_session(each) == (group, pid)]
    found = [process for each in pids if (process := _asked(lambda each=each: psutil.Process(each)))]
    return [process for process in found if _asked(process.status) != psutil.STATUS_ZOMBIE]


def _of_console(pid: int) -> list[psutil.Process]:
    """A process and everything that it has started: without groups, all of these may read the console."""
    first = _asked(lambda: psutil.Process(pid))
    children = _asked(lambda: first.children(recursive=True)) if first else None
    if first is None or children is None:
        return []
    return [first, *(each for each in children if (_asked(each.name) or "").lower() not in _OF_THE_CONSOLE)]


def running_commands() -> Iterator[tuple[int, list[str]]]:
    """The process id and the command line of each process of this user that can be seen."""
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if _is_mine(process) and (command := process.cmdline()):
                yield process.pid, command


def started_as(
    command: Sequence[str], families: Sequence[CliFamily] = FAMILIES
) -> tuple[CliFamily, str, tuple[str, ...]] | None:
    """The family, program and arguments of a command line; None unless it runs a CLI that may connect to an editor."""
    words = list(command)
    if not words:
        return None
    is_script = _name(words[0]) in _RUNTIMES
    if is_script:
        words = list(_without_options(words[1:]))
    elif _APPLICATION.search(words[0].replace("\\", "/")):
        return None
    for family in families if words else ():
        _, package, inside = words[0].replace("\\", "/").rpartition(f"/{family.launch.npm_package}/")
        # Its package has programs of others as well, which the CLI runs.
        is_own = is_script and package and "node_modules/" not in inside
        if is_own or _name(words[0]) == family.launch.key:
            arguments = tuple(words[1:])
            first = {arguments[0]} if arguments else set[str]()
            options = {each for each in arguments if each.startswith("-")}
            unwanted = _NO_EDITOR | _NO_EDITOR_OPTIONS | family.launch.without_editor
            return None if unwanted & (first | options) else (family, words[0], arguments)
    return None


def _without_options(words: Sequence[str]) -> Iterator[str]:
    """The program that a runtime executes, followed by its arguments."""
    rest = iter(words)
    for word in rest:
        if _CODE.match(word):
            return
        if word in _WITH_VALUE:
            next(rest, None)
        elif not word.startswith("-"):
            yield word
            break
    yield from rest


def _name(path: str) -> str:
    name = path.replace("\\", "/").rpartition("/")[2].lower()
    for ending in (".exe", ".cmd", ".js", ".mjs"):
        name = name.removesuffix(ending)
    return name


def _is_mine(process: psutil.Process) -> bool:
    if sys.platform == "win32":
        return process.username() == psutil.Process().username()
    return process.uids().real == user_id()


def _chain(pid: int, parents: dict[int, int | None]) -> Iterator[int]:
    """A process and its descendants among the CLIs."""
    yield pid
    children = [child for child, parent in parents.items() if parent == pid]
    for child in children:
        yield from _chain(child, parents)


def _running(chain: Sequence[_Found]) -> RunningCli | None:
    first = chain[0]
    # A CLI that starts itself again marks the new process by a variable, which later children inherit.
    environments = [_asked(one.process.environ) for one in chain]
    again = (
        i
        for i, variables in enumerate(environments)
        if any(name.endswith("_NO_RELAUNCH") and value for name, value in (variables or {}).items())
    )
    at = next(again, len(chain) - 1)
    worker = chain[at].process
    started = _asked(worker.create_time)
    if started is None:  # it has just ended
        return None
    connections = [_asked(lambda one=one: one.process.net_connections("tcp")) for one in chain]
    ports = [
        connection.raddr.port
        for found in connections
        for connection in found or ()
        if connection.raddr and connection.status == psutil.CONN_ESTABLISHED
    ]
    return RunningCli(
        family=first.family,
        pid=worker.pid,
        pids=tuple(one.process.pid for one in chain),
        started=started,
        cwd=_asked(worker.cwd) or None,
        program=first.program,
        arguments=first.arguments,
        variables=environments[at],
        ports=None if all(found is None for found in connections) else frozenset(ports),
    )


def _asked(ask: Callable[[], T]) -> T | None:
    """The system's answer; None if it refuses."""
    try:
        return ask()
    except (psutil.Error, OSError):
        return None
