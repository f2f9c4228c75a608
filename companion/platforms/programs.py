"""Finds programs and starts them.

A program is started by its absolute path. A name is never looked for in the current folder, nor below a folder of any
window, whatever the PATH says, so that opening a project runs nothing of it; what is started gets a PATH without such
folders. Only a path that the person has named themself may be in a project. On Windows no text reaches `cmd.exe` that
it could read as code.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from . import jobs, shims
from .files import is_network
from .open_folders import OPEN_FOLDERS

Words = Sequence[str]
"""A program and its arguments."""

WITHOUT_CURRENT_FOLDER = {"NODEFAULTCURRENTDIRECTORYINEXEPATH": "1"} if os.name == "nt" else {}
"""The variable with which Windows finds no program in the current folder. Names of variables have no case there."""
_EXTENSIONS = (".com", ".exe", ".bat", ".cmd")
"""What Windows starts by itself; the rest of PATHEXT needs a program that opens it."""
_BATCH = (".bat", ".cmd")
_VARIABLE = re.compile(r"%(\w+)%")
_HARMLESS = re.compile(r"[\w .:\\/=@+,~#-]*")
"""Texts that mean nothing to `cmd.exe` and to a batch file, quoted or not."""
_HARMLESS_PATH = re.compile(r'[^"%!\x00-\x1f]+')
"""The same for the path of the batch file itself, which is always quoted."""


_PAGES = (("xdg-open",), ("gio", "open"), ("x-www-browser",), ("firefox",), ("chromium",), ("google-chrome",))
"""What opens a page in the person's browser, where the system has no call for that."""


_UNQUARANTINE_LIMIT = 120.0
"""Seconds."""


class BatchFileError(OSError):
    """A batch file can't be given a text, since `cmd.exe` would read it as code. The message is for the person."""

    def __init__(self, program: str, text: str) -> None:
        name = os.path.basename(program.replace("\\", "/"))
        super().__init__(
            f"{name} is a batch file, and Windows would run a part of “{text[:80]}” as a command. "
            "Name the program that it starts instead."
        )
        self.strerror = str(self)


def find(name: str, environment: Mapping[str, str]) -> str | None:
    """The absolute path of a program; None if there is none.

    Args:
        name: a name, which is looked for in the absolute folders of PATH that are in no window's folder, or an
            absolute path, which may begin with ~ and be anywhere: the person has named it. A relative path is none: it
            would depend on the current folder. On Windows it may have `%VARIABLES%`.
        environment: has PATH, and PATHEXT on Windows.
    """
    name = os.path.expanduser(name)
    if sys.platform == "win32":
        name = _VARIABLE.sub(lambda found: environment.get(found[1].upper(), found[0]), name)
    if os.path.dirname(name):
        return next(filter(_is_program, _spelled(name, environment)), None) if os.path.isabs(name) else None
    paths = (os.path.join(folder, name) for folder in _folders(environment) if name)
    there = (spelled for path in paths for spelled in _spelled(path, environment) if _is_program(spelled))
    return next((path for path in there if not OPEN_FOLDERS.holds(path)), None)


def resolve(words: Words, environment: Mapping[str, str]) -> list[str] | None:
    """A command with the absolute path of its program; npm's shims are replaced by what they start. None: no program.

    Args:
        words: the program, as `find` takes it, and its arguments.
        environment: what it will get.
    """
    found = find(words[0], environment) if words else None
    if found is None:
        return None
    shim = shims.resolve(found, lambda name: find(name, environment)) if is_batch_file(found) else None
    # As `find` follows a link of POSIX: a shim may start what is in a project, as after `npm link`.
    if (
        shim
        and not os.path.dirname(words[0])
        and any(os.path.isabs(each) and OPEN_FOLDERS.holds(each) for each in shim)
    ):
        return None
    return [*(shim or [found]), *words[1:]]


def is_batch_file(program: str) -> bool:
    """Whether only `cmd.exe` can run a program."""
    return sys.platform == "win32" and program.lower().endswith(_BATCH)


def safe_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment in which what is started finds no program in its current folder or in a window's either."""
    safe = dict(environment)
    if sys.platform == "win32":
        # There, names that differ in case are one name, and the last value counts.
        safe = {name.upper(): value for name, value in environment.items()}
    if "PATH" in safe:
        safe["PATH"] = os.pathsep.join(folder for folder in _folders(safe) if not OPEN_FOLDERS.holds(folder))
    return {**safe, **WITHOUT_CURRENT_FOLDER}


def start(
    words: Words | str,
    environment: Mapping[str, str],
    *,
    folder: str | None = None,
    kind: Any = None,
    is_bound: bool = False,
    **streams: Any,
) -> Any:
    """Start a program in a session of its own, so that no key of a terminal reaches it, and without a console window.

    Args:
        words: what `resolve` gives, or a line for the system's shell.
        environment: all that it gets, as `safe_environment` makes it.
        folder: where it runs; an absolute path.
        kind: a class like `subprocess.Popen`, which is used without one.
        is_bound: whether on Windows all that it starts ends with it (`jobs`); elsewhere its group does.
        streams: `stdin`, `stdout`, `stderr` and `bufsize`, as `Popen` has them.

    Raises:
        OSError: it can't be run; BatchFileError if that would not be safe.
        ValueError: the program has no absolute path, or there is a NUL character.
    """
    is_line = isinstance(words, str)
    if not is_line and not os.path.isabs(words[0]):
        raise ValueError(f"{words[0]} is not an absolute path")
    if folder and sys.platform == "win32" and is_network(folder) and (is_line or is_batch_file(words[0])):
        # It would run in Windows' own folder instead.
        raise OSError(errno.ENOTSUP, f"cmd.exe can't work in the network folder {folder}")
    flags: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        flags = {"creationflags": subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP}
    command = words if is_line else _command(words, environment)
    process: Any = (kind or subprocess.Popen)(
        command, shell=is_line, cwd=folder, env=safe_environment(environment), **flags, **streams
    )
    if is_bound and sys.platform == "win32":
        jobs.bind(process.pid, int(process._handle))  # noqa: SLF001 - Python tells it in no other way
    return process


def run(words: Words, environment: Mapping[str, str], limit: float) -> subprocess.CompletedProcess[bytes]:
    """Run a program to its end and read what it prints.

    Args:
        words: what `resolve` gives.
        environment: all that it gets.
        limit: seconds; then it is killed.

    Raises:
        OSError, ValueError: see `start`.
        subprocess.TimeoutExpired: it has not ended in time.
    """
    pipe = subprocess.PIPE
    with start(words, environment, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe) as process:
        try:
            output, errors = process.communicate(timeout=limit)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(list(words), process.returncode, output, errors)


def open_page(address: str, environment: Mapping[str, str]) -> bool:
    """Open a page in the person's browser; False if no program for that is found. It may take seconds.

    The standard library's `webbrowser` takes the first program of such a name on the PATH, a project's own as well.
    """
    if sys.platform == "win32":
        os.startfile(address)  # noqa: S606 - it is one of the web
        return True
    ways = [["/usr/bin/open"]] if sys.platform == "darwin" else [list(way) for way in _PAGES]
    named = [way.split() for way in environment.get("BROWSER", "").split(os.pathsep) if way and "%" not in way]
    for way in (*named, *ways):
        if way and (words := resolve([*way, address], environment)):
            null = subprocess.DEVNULL
            try:
                process = start(words, environment, stdin=null, stdout=null, stderr=null)
            except OSError:
                continue
            # A browser that was not open yet goes on as this program.
            threading.Thread(target=process.wait, name="qwen-companion-browser", daemon=True).start()
            return True
    return False


def unquarantine(folder: str) -> None:
    """Take macOS' mark on what was downloaded off all files of a folder, which would not start without a word.

    The person has said yes to what was downloaded. Nothing is done on other systems, and where there is no mark.
    """
    if sys.platform == "darwin":
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            run(["/usr/bin/xattr", "-dr", "com.apple.quarantine", folder], os.environ, _UNQUARANTINE_LIMIT)


def interpreter(environment: Mapping[str, str]) -> str:
    """The absolute path of Windows' `cmd.exe`."""
    root = next((value for name, value in environment.items() if name.upper() == "SYSTEMROOT"), r"C:\Windows")
    return root.rstrip("\\") + r"\System32\cmd.exe"


def refuse_unsafe(words: Words) -> None:
    """Raise BatchFileError if a command runs a batch file with an argument that `cmd.exe` could read as code."""
    program, *arguments = words
    if not is_batch_file(program):
        return
    if not _HARMLESS_PATH.fullmatch(program):
        raise BatchFileError(program, program)
    for argument in arguments:
        if not _HARMLESS.fullmatch(argument):
            raise BatchFileError(program, argument)


def _command(words: Words, environment: Mapping[str, str]) -> list[str] | str:
    """What `Popen` gets. A batch file gets a line that Python does not quote again: `cmd.exe` has rules of its own."""
    if not is_batch_file(words[0]):
        return list(words)
    refuse_unsafe(words)
    rest = subprocess.list2cmdline(words[1:])
    return f'"{interpreter(environment)}" /d /v:off /s /c ""{words[0]}" {rest}"'


def _folders(environment: Mapping[str, str]) -> list[str]:
    """The folders of PATH that mean the same everywhere. An empty one would be the current folder."""
    path = environment.get("PATH", "")
    if sys.platform == "win32":
        path = next((value for name, value in environment.items() if name.upper() == "PATH"), "").replace('"', "")
    return [each for each in path.split(os.pathsep) if os.path.isabs(each)]


def _spelled(path: str, environment: Mapping[str, str]) -> list[str]:
    """The paths at which a program may be."""
    if sys.platform != "win32":
        return [path]
    wanted = environment.get("PATHEXT", ";".join(_EXTENSIONS)).lower().split(";")
    extensions = [each for each in wanted if each in _EXTENSIONS]
    return [path] if path.lower().endswith(_EXTENSIONS) else [path + each for each in extensions]


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)
