"""Gathers the facts of the status report: those the companion knows, and those it has to look for.

`known` and `complete` are for the event loop; what looks at the disk and at other processes is not.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import cast

from ..background import DISK
from ..clis.discovery import DiscoveryFiles, files_in, is_pid
from ..clis.families import FAMILIES, CliFamily, DiscoveryFolder, DiscoveryName, qwen_home, temporary_folder
from ..clis.processes import RunningCli, running_clis, running_commands, wrote
from ..clis.shell import Command, has_cli
from ..clis.starting import approval_mode, package_version, settings_folder, settings_of
from ..editor import WindowId
from ..exclusion import shortened
from ..json_text import read_own, setting
from ..libraries.guard import installed
from ..platforms import programs
from ..platforms.files import unsafe
from ..review.reviews import Reviews
from ..server.endpoint import Endpoint
from ..server.sessions import Session
from ..server.window import WindowServer
from .facts import HANGS, Cli, ConnectedCli, DiscoveryFile, Facts, PublishedFolder, Remote, Rival, Served
from .findings import is_inside

ROOM = 1024 * 1024
"""Free bytes of a disk with less than which there is no room."""
LIBRARIES = ("mcp", "mcp-types", "pydantic", "pydantic-core", "starlette", "uvicorn", "anyio", "h11", "psutil")
"""The libraries whose versions may explain a problem."""
_SSH_WITH_VALUE = set("BbcDEeFIiJLlmOopQRSWw")
"""Options of ssh that have a value."""
_CONTAINERS = {"docker", "podman", "nerdctl", "kubectl"}
_INSIDE = {"exec", "run", "attach"}


def known(facts: Facts, servers: Mapping[WindowId, WindowServer], reviews: Reviews) -> Facts:
    """Add what is known at once. Reads no disk and asks nobody."""
    served = {number: _served(server, reviews) for number, server in servers.items()}
    return replace(facts, at=time.time(), served=served)


async def complete(
    facts: Facts,
    servers: Mapping[WindowId, WindowServer],
    login: Callable[[], Awaitable[Mapping[str, str]]],
    commands: Sequence[Command],
    tell: Callable[[Facts], object],
) -> None:
    """Add to the facts of `known` everything else: the disk, the processes and the CLIs' answers.

    A disk that hangs is said meanwhile. `login` gives the environment of the person's terminals. `commands` are those
    that run the CLIs by the settings; without any, they count as installed.
    """
    environment: Mapping[str, str] = await login() if commands else {}
    endpoints = {number: server.endpoint for number, server in servers.items() if number in facts.served}
    looking = asyncio.gather(
        asyncio.to_thread(_look, facts, endpoints, commands, environment),
        asyncio.gather(*(_answers(servers[number]) for number in endpoints)),
    )
    await asyncio.wait([looking], timeout=DISK)
    if not looking.done():
        tell(replace(facts, at=time.time(), note=HANGS))
    looked, answers = await looking
    sessions = zip(endpoints, answers, strict=True)
    served = {number: replace(looked.served[number], sessions=found) for number, found in sessions}
    tell(replace(looked, at=time.time(), served={**looked.served, **served}))


def _served(server: WindowServer, reviews: Reviews) -> Served:
    endpoint = server.endpoint
    number = endpoint.window
    since = endpoint.state.folders_since
    # Links are resolved later, when the disk is read.
    folders = tuple(PublishedFolder(path, path, since.get(path, 0.0)) for path in endpoint.folders)
    sessions = tuple(_session(session, None) for session in server.sessions)
    diffs = tuple(f"{review.file_path} ({review.owner.cli})" for review in reviews if review.window == number)
    return Served(
        endpoint.port, folders, (), sessions, diffs, sharing=server.settings.sharing, review=server.settings.review
    )


async def _answers(server: WindowServer) -> tuple[ConnectedCli, ...]:
    sessions = list(server.sessions)
    # The answer to the ping counts as a message too, so the times are taken before it.
    before = [_session(session, None) for session in sessions]
    answers = await asyncio.gather(*(session.round_trip() for session in sessions))
    return tuple(replace(one, round_trip=answer) for one, answer in zip(before, answers, strict=True))


def _session(session: Session, round_trip: float | None) -> ConnectedCli:
    return ConnectedCli(session.cli, session.since, session.last_message, session.stream is not None, round_trip)


def _look(
    facts: Facts,
    endpoints: Mapping[WindowId, Endpoint],
    commands: Sequence[Command],
    environment: Mapping[str, str],
) -> Facts:
    """Add what the disk and the other processes tell."""
    ports = [served.port for served in facts.served.values()]
    served = {
        number: replace(
            facts.served[number],
            folders=published_folders(endpoint),
            files=discovery_files(endpoint),
            rivals=rivals(endpoint.folders, facts.served[number].port, ports),
        )
        for number, endpoint in endpoints.items()
    }
    return replace(
        facts,
        served={**facts.served, **served},
        clis=clis(),
        full=full_disks([folder for endpoint in endpoints.values() for folder in endpoint.folders]),
        has_cli=has_cli(commands, environment),
        lacks_git=not programs.find("git", os.environ) and any(one.review != "off" for one in facts.served.values()),
        libraries=library_versions(),
        remote=remote_programs(),
    )


def library_versions() -> tuple[tuple[str, str], ...]:
    """The versions of our libraries; "missing" for one that isn't there."""
    found = installed(LIBRARIES)
    return tuple((name, found[name][0].version if name in found else "missing") for name in LIBRARIES)


def published_folders(endpoint: Endpoint) -> tuple[PublishedFolder, ...]:
    """An endpoint's folders, with the time since when each has been published."""
    since = endpoint.state.folders_since
    return tuple(
        PublishedFolder(path, os.path.realpath(path), since.get(path, 0.0), os.path.isdir(path))
        for path in endpoint.folders
    )


def discovery_files(endpoint: Endpoint) -> tuple[DiscoveryFile, ...]:
    """An endpoint's discovery files and their state on disk."""
    return tuple(
        _file(publication, name) for publication in endpoint.publications for name in endpoint.names(publication.family)
    )


def rivals(folders: Sequence[str], port: int, ours: Sequence[int]) -> tuple[Rival, ...]:
    """Lock files of other editors for a folder of the window at `port`; `ours` are the ports of all windows."""
    places = [(family, name.folder.path) for family in FAMILIES for name in family.files if name.name == "{port}.lock"]
    return tuple(found for family, folder in places for found in _rivals(family, folder, folders, port, ours))


def _rivals(family: CliFamily, folder: Path, folders: Sequence[str], port: int, ours: Sequence[int]) -> Iterator[Rival]:
    own = _modified(folder / f"{port}.lock")
    for path in sorted(files_in(folder, r"[0-9]+\.lock")):
        body, modified = read_own(path) or {}, _modified(path)
        pid = body.get("ppid", body.get("pid"))
        if int(path.stem) in ours or modified is None or not is_pid(pid) or not wrote(pid, modified):
            continue
        info = body.get("ideInfo")
        named: object = cast("dict[str, object]", info).get("displayName") if isinstance(info, dict) else None
        editor = shortened(str(named or body.get("ideName") or "Another editor"))
        is_newer = own is None or modified > own
        workspace = body.get("workspacePath") or json.dumps(body.get("workspaceFolders", ""))
        for one in _shared(str(workspace), folders):
            yield Rival(editor, str(path), int(path.stem), one, is_newer, family)


def clis(families: Sequence[CliFamily] = FAMILIES) -> tuple[Cli, ...]:
    """The running CLIs, with what their files say."""
    return tuple(look_at(running) for running in running_clis(families))


def full_disks(folders: Sequence[str]) -> tuple[str, ...]:
    """The folders on whose disk there is no room, with those where CLIs look for an editor; one for each disk."""
    found: dict[int, str] = {}
    for folder in [str(qwen_home()), str(temporary_folder()), *folders]:
        with contextlib.suppress(OSError):
            if shutil.disk_usage(folder).free < ROOM:
                found.setdefault(os.stat(folder).st_dev, folder)
    return tuple(found.values())


def remote_programs() -> tuple[Remote, ...]:
    """The person's programs that lead to another machine or a container."""
    return tuple(
        Remote(pid, PurePath(command[0]).name, where)
        for pid, command in running_commands()
        if (where := leads_to(command))
    )


def look_at(running: RunningCli) -> Cli:
    """A running CLI with its version and its settings, both the user's and the project's."""
    settings = settings_of(running.family, _settings_folder(running), running.cwd or "")
    user = settings[0][0]
    ide_mode: bool | None = False if running.family.door == "http" else None  # the others have no such setting
    for path, values in settings:
        if not values and path.exists() and path == user:
            ide_mode = None  # it can't be read, or is empty
        enabled = setting(values, "ide.enabled", setting(values, "ideMode"))
        ide_mode = enabled if isinstance(enabled, bool) else ide_mode
    approval = approval_mode(running.family, [values for _, values in settings], running.variables or {})
    return Cli(running, version(running), str(user), ide_mode, approval, looks_elsewhere(running))


def looks_elsewhere(running: RunningCli) -> str:
    """The folder where a CLI looks for editors, if its environment makes it differ from ours; else empty."""
    if running.variables is None or not running.family.files:
        return ""
    base = running.family.files[0].base
    if base is not temporary_folder:
        theirs, ours = _settings_folder(running), base()
    else:
        names = ("TEMP", "TMP") if os.name == "nt" else ("TMPDIR", "TMP", "TEMP")
        named = next((running.variables[name] for name in names if running.variables.get(name)), None)
        theirs, ours = Path(named or "/tmp"), temporary_folder()  # noqa: S108 - Node's default
        if os.name == "nt" and named is None:
            return ""
    return "" if os.path.realpath(theirs) == os.path.realpath(ours) else str(theirs)


def version(running: RunningCli) -> tuple[int, ...] | None:
    """The version of the npm package that a CLI was started from."""
    return package_version(os.path.join(running.cwd or "", running.program), running.family.launch.npm_package)


def refusal(folder: DiscoveryFolder) -> str:
    """Why a folder can't be written to: words to put after its path; empty if it can."""
    path = folder.base
    for part in folder.parts:
        path = path / part
        try:
            why = unsafe(str(path))
        except FileNotFoundError:
            return ""
        except OSError as error:
            return f"it can't be read ({error.strerror})"
        if why:
            return f"{'it' if path == folder.path else path} {why}"
    return "" if os.access(path, os.W_OK | os.X_OK) else "it can't be written to"


def _settings_folder(running: RunningCli) -> Path:
    return settings_folder(running.family, running.variables or os.environ, running.cwd or "")


def _file(files: DiscoveryFiles, name: DiscoveryName) -> DiscoveryFile:
    path = name.folder.path / name.file(os.getppid(), files.port)
    modified = _modified(path)
    # Legacy names are left out: few people need them.
    failed = files.failed.get(path, "")
    if modified is not None:
        state = "ours" if (read_own(path) or {}).get("authToken") == files.token else "another's"
        return DiscoveryFile(files.family.name, str(path), state, modified, failed=failed)
    refused = "" if name.legacy else refusal(name.folder)
    return DiscoveryFile(files.family.name, str(path), "missing", None, refused, failed)


def _shared(workspace: str, folders: Sequence[str]) -> list[str]:
    """Which of our folders another editor's `workspacePath` contains, too."""
    try:
        named = map(str, json.loads(workspace)) if workspace.startswith("[") else workspace.split(os.pathsep)
        theirs = [os.path.realpath(one) for one in named if one]
    except (ValueError, RecursionError):  # it is no list, or has a name that no folder has
        return []
    return [ours for ours in folders if any(is_inside(os.path.realpath(ours), one) for one in theirs)]


def _modified(path: Path) -> float | None:
    try:
        return path.lstat().st_mtime
    except OSError:
        return None


def leads_to(command: Sequence[str]) -> str | None:
    """Where a command line leads a person to: a phrase, None if it opens no shell elsewhere.

    Commands such as git's own use of ssh, which run a program there, do not count.
    """
    if not command:
        return None
    program = command[0].replace("\\", "/").rpartition("/")[2].lower().removesuffix(".exe")
    words = list(command[1:])
    if program in {"ssh", "mosh-client", "mosh", "autossh"}:
        host = _host(words)
        return f"over SSH on {host}" if host else None
    if program in _CONTAINERS and any(word in _INSIDE for word in words) and any(map(_is_interactive, words)):
        return "in a container"
    if program == "wsl":
        return "in WSL"
    if program in {"distrobox", "toolbox", "devcontainer"} and any(word in {"enter", *_INSIDE} for word in words):
        return "in a container"
    return None


def _host(words: Sequence[str]) -> str | None:
    rest = iter(words)
    forced = False
    for word in rest:
        if not word.startswith("-"):
            return word.rpartition("@")[2] if forced or next(rest, None) is None else None
        if "N" in word[1:] or "W" in word[1:2]:
            return None  # a tunnel alone
        forced = forced or "t" in word[1:]
        if len(word) == 2 and word[1] in _SSH_WITH_VALUE:
            next(rest, None)
    return None


def _is_interactive(word: str) -> bool:
    return word in {"--interactive", "--tty"} or (word.startswith("-") and word[1:2] != "-" and "i" in word[1:])
