"""Finds programs, starts them, and knows what becomes of them: groups, jobs, terminals.

A program is started by its absolute path. A name is never looked for in the current folder, nor below a folder of any
window, whatever the PATH says, so that opening a project runs nothing of it; what is started gets a PATH without such
folders. Only a path that the person has named themself may be in a project. On Windows no text reaches `cmd.exe` that
it could read as code.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import re
import signal
import stat
import struct
import subprocess
import sys
import threading
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .files import is_network, read
from .paths import RealPaths

logger = logging.getLogger(__name__)

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
    shim = _resolve_shim(found, environment) if is_batch_file(found) else None
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
        is_bound: whether on Windows all that it starts ends with it (`bind_to_job`); elsewhere its group does.
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
        bind_to_job(process.pid, int(process._handle))  # noqa: SLF001 - Python tells it in no other way
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


def browse(address: str) -> None:
    """Open a page in the person's browser, from a thread of its own: to find the browser may take seconds."""
    arguments = address, dict(os.environ)
    threading.Thread(target=open_page, args=arguments, name="qwen-companion-page", daemon=True).start()


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


# The folders that are open in the windows of the editor: nothing in them is run by its name.

MOST_LINKS = 40
"""Links in one path, as Linux counts them."""


class OpenFolders:
    """The folders of all windows, as the companion tells them. A question may come from any thread.

    A folder in which the person's home is, such as the home itself or the root of the disk, counts as no project: all
    of the person's own programs are below it.
    """

    def __init__(self) -> None:
        self._by_window: dict[int, tuple[str, ...]] = {}
        self._real = RealPaths(_identified)
        self._lock = threading.Lock()

    def set(self, window: int, folders: Sequence[str]) -> None:
        """A window has these folders now."""
        with self._lock:
            self._by_window[window] = tuple(folders)

    def remove(self, window: int) -> None:
        """A window was closed."""
        with self._lock:
            self._by_window.pop(window, None)

    def holds(self, path: str) -> bool:
        """Whether an absolute path is in one of the folders, or leads through one of them. It looks at the disk.

        Spellings that differ in upper and lower case are one: they are on many disks.
        """
        texts, identities = self._known()
        if not texts:
            return False
        for step, found in _steps(path):
            if found and stat.S_ISDIR(found.st_mode) and (found.st_dev, found.st_ino) in identities:
                return True
            if any(_is_below(step, text) for text in texts):
                return True
        return False

    def _known(self) -> tuple[set[str], set[tuple[int, int]]]:
        """The folders, each as it is named and as it is without links, and which ones they are on their disks."""
        home = os.path.expanduser("~")
        with self._lock:
            folders = {folder for folders in self._by_window.values() for folder in folders}
            if not folders:
                return set(), set()
            # While a disk hangs, its folder is known by its name.
            found = self._real.of({home, *folders})
        homes = {home, found[home].partition("\0")[0]}
        texts: set[str] = set()
        identities: set[tuple[int, int]] = set()
        for folder in folders:
            real, _, identity = found[folder].partition("\0")
            if any(_is_below(each, text) for each in homes for text in (folder, real)):
                continue
            texts |= {folder, real}
            if identity:
                device, inode = identity.split(":")
                identities.add((int(device), int(inode)))
        return texts, identities


def _identified(folder: str) -> str:
    """What a folder leads to, and the numbers by which its disk knows it; links and spellings have the same ones."""
    real = os.path.realpath(folder)
    try:
        found = os.stat(real)
    except OSError:
        return real
    return f"{real}\0{found.st_dev}:{found.st_ino}"


def _steps(path: str) -> Iterator[tuple[str, os.stat_result | None]]:
    """Each file, folder and link that the system passes on the way to a path, and what it is, unless nobody can tell.

    The path itself comes first: a part of it that leads up counts as well.
    """
    yield os.path.normpath(path), None
    drive, rest = os.path.splitdrive(path)
    at, links = drive + os.sep, 0
    names = _names(rest)
    while names:
        name = names.pop()
        at = os.path.dirname(at) if name == os.pardir else os.path.join(at, name)
        try:
            found = os.lstat(at)
        except (OSError, ValueError):
            yield at, None
            continue
        yield at, found
        # Whoever may change a link decides what is behind it.
        if links < MOST_LINKS and (target := _target(at, found)):
            links += 1
            drive, rest = os.path.splitdrive(target)
            at = drive + os.sep if os.path.isabs(target) else os.path.dirname(at)
            names += _names(rest)


def _target(path: str, found: os.stat_result) -> str:
    """What a link leads to, or on Windows a junction; empty for anything else."""
    if not stat.S_ISLNK(found.st_mode) and not getattr(found, "st_reparse_tag", 0):
        return ""
    try:
        return os.readlink(path).removeprefix("\\\\?\\")
    except OSError:
        return ""


def _names(path: str) -> list[str]:
    """The names of a path, the last one first."""
    separated = path.replace(os.altsep, os.sep) if os.altsep else path
    return [name for name in reversed(separated.split(os.sep)) if name not in {"", os.curdir}]


def _is_below(path: str, folder: str) -> bool:
    """Whether a path is a folder or in it, by its text. Neither case nor the composition of letters matters."""
    inner, outer = (unicodedata.normalize("NFC", os.path.normpath(each)).casefold() for each in (path, folder))
    return inner == outer or inner.startswith(outer.rstrip(os.sep) + os.sep)


OPEN_FOLDERS = OpenFolders()
"""The one that the companion tells, and that is asked for each program."""


# The batch files by which npm, pnpm and Yarn start a program on Windows, read instead of run.
#
# `cmd.exe` reads the arguments of a batch file as code: `qwen.cmd --workspace C:\R&D\proj` runs `D\proj` from the
# current folder. So the program that the batch file names is started itself. One with a line that is not known here is
# not resolved. Sources: npm's package `cmd-shim`, pnpm's `@zkochan/cmd-shim`, and `npm.cmd` and `npx.cmd` of Node.js.

_LARGEST_SHIM = 16 * 1024
"""Bytes. A larger batch file is none of npm's."""

_SHIM_KNOWN = re.compile(
    r"""\s*+@?(
      | (rem\b|::).*
      | echo\ off | setlocal | endlocal | exit\ /b(\ %errorlevel%)?
      | goto\ :?start | :(start|find_dp0) | call\ :find_dp0
      | set\ "?dp0=%~dp0"?
      | (if\ (not\ )?(exist\ "[^"]*"|defined\ node_path)\ |\)\ else\ )?\(
      | \)
      | set\ "?(PATHEXT|NODE_PATH)=[^&|<>]*
      | for\ /f\ "delims="\ %%F\ in\ \('call\ "%NODE_EXE%"\ "%NPM_PREFIX_JS%"'\)\ do\ \(
    )\s*""",
    re.IGNORECASE | re.VERBOSE,
)
_SHIM_SET = re.compile(r'\s*@?set "(_prog|\w+_EXE|\w+_JS)=([^"]*)"\s*', re.IGNORECASE)
_SHIM_RUN = re.compile(
    r"\s*@?(endlocal\ &\ goto\ \#_undefined_\#\ 2>NUL\ \|\|\ title\ %COMSPEC%\ &\ )?"
    r'(?P<words>(?:"[^"]*"|[^\s"&|<>^]+)(?:\s+(?:"[^"]*"|[^\s"&|<>^]+))*?)\s+%\*\s*',
    re.IGNORECASE,
)
_WORD = re.compile(r'"([^"]*)"|(\S+)')
_SHIM_VARIABLE = re.compile(r"%~?(\w+)%?")
_OPTION = re.compile(r"--?[\w.:=/-]+")


def _resolve_shim(path: str, environment: Mapping[str, str]) -> list[str] | None:
    """The program of a shim, with the arguments before the caller's own; None if the batch file is something else.

    Args:
        path: the absolute path of the batch file.
        environment: where a program is found that the shim takes from the PATH.
    """
    try:
        data = read(path, _LARGEST_SHIM, follows_links=True).data
    except OSError:
        return None
    lines = data.decode("utf-8", "replace").splitlines()
    folder = os.path.join(os.path.dirname(path), "")
    values: dict[str, list[str]] = {"dp0": [folder]}
    runs: list[str] = []
    for line in lines:
        if found := _SHIM_SET.fullmatch(line):
            values.setdefault(found[1].lower(), []).append(found[2])
        elif run := _SHIM_RUN.fullmatch(line):
            runs.append(run["words"])
        elif not _SHIM_KNOWN.fullmatch(line):
            return None
    candidates = (_shim_command(run, values, environment) for run in runs)
    return next((command for command in candidates if command), None)


def _shim_command(line: str, values: dict[str, list[str]], environment: Mapping[str, str]) -> list[str] | None:
    """The command of a line that runs the program; None if it names something that is not there."""
    words = [quoted or plain for quoted, plain in _WORD.findall(line)]
    program = next((found for each in _expanded(words[0], values) if (found := _shim_program(each, environment))), None)
    if program is None:
        return None
    *options, script = words[1:] or [""]
    if not script:
        return [program]
    found = next((each for each in map(_native, _expanded(script, values)) if os.path.isfile(each)), None)
    if found is None or not all(map(_OPTION.fullmatch, options)):
        return None
    return [program, *options, found]


def _shim_program(word: str, environment: Mapping[str, str]) -> str | None:
    if "\\" not in word and "/" not in word:
        found = find(word, environment)
        return None if found is None or found.lower().endswith((".cmd", ".bat")) else found
    path = _native(word)
    return path if path.lower().endswith(".exe") and os.path.isfile(path) else None


def _expanded(word: str, values: dict[str, list[str]]) -> Iterator[str]:
    """A word with each of the values that its variable may have, in the order of the batch file."""
    found = _SHIM_VARIABLE.search(word)
    if found is None:
        yield word
        return
    for value in values.get(found[1].lower(), ()):
        if f"%{found[1].lower()}%" not in value.lower():
            yield from _expanded(word[: found.start()] + value + word[found.end() :], values)


def _native(path: str) -> str:
    return os.path.normpath(path.replace("\\", os.sep))


# Windows' job objects: with a process ends all that it has started, also what a batch file has left behind.
#
# The kernel ends what is in a job when the last handle of it is closed: nothing outlives the editor, however that ends.
# Elsewhere the group of a process does this, and nothing here does anything.

_EXTENDED_LIMITS = 9
"""JobObjectExtendedLimitInformation"""
_KILL_ON_CLOSE = 0x2000
"""JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE"""


_LIMITS_SIZE = 144 if sys.maxsize > 1 << 32 else 112
"""Bytes of JOBOBJECT_EXTENDED_LIMIT_INFORMATION"""
_AT_FLAGS = 16
"""Where its BasicLimitInformation.LimitFlags are, after two times of 8 bytes."""
_PROCESS_MEMORY = 0x100
"""JOB_OBJECT_LIMIT_PROCESS_MEMORY"""
_AT_MEMORY = 112 if sys.maxsize > 1 << 32 else 96
"""Where its ProcessMemoryLimit is, after its BasicLimitInformation and its IoInfo of 48 bytes."""

_JOBS: dict[int, int] = {}
"""The handles of the jobs, by the numbers of the processes that were started. Each use of it is one step."""


def bind_to_job(pid: int, process: int, memory: int = 0) -> None:
    """Put a process that has just started into a job of its own. `process` is its handle. Does nothing elsewhere.

    Each process in the job may have `memory` bytes, or any number of them if that is 0.

    Where that fails, the descendants are found by the numbers of their parents.
    """
    if sys.platform != "win32":
        return
    kernel = _kernel32()
    job = kernel.CreateJobObjectW(None, None)
    if not job:
        logger.debug("There is no job for the process %d", pid)
        return
    if _limit_job(job, _KILL_ON_CLOSE, memory) and kernel.AssignProcessToJobObject(job, process):
        if (before := _JOBS.pop(pid, None)) is not None:  # of a process that had the number before
            _close_job(before)
        _JOBS[pid] = job
    else:
        logger.debug("The process %d is in no job of ours", pid)
        kernel.CloseHandle(job)


def end_job(pid: int) -> None:
    """End all that is left in the job of a process, whether that has ended or not."""
    if sys.platform == "win32" and (job := _JOBS.pop(pid, None)) is not None:
        _kernel32().TerminateJobObject(job, 1)
        _kernel32().CloseHandle(job)


def release_job(pid: int) -> None:
    """Let go of what a process has left behind: it runs on."""
    if sys.platform == "win32" and (job := _JOBS.pop(pid, None)) is not None:
        _close_job(job)


def _close_job(job: int) -> None:
    if _limit_job(job, 0):
        _kernel32().CloseHandle(job)


def _limit_job(job: int, flags: int, memory: int = 0) -> bool:
    limits = bytearray(_LIMITS_SIZE)
    struct.pack_into("<I", limits, _AT_FLAGS, flags | (_PROCESS_MEMORY if memory else 0))
    struct.pack_into("<Q" if sys.maxsize > 1 << 32 else "<I", limits, _AT_MEMORY, memory)
    return bool(_kernel32().SetInformationJobObject(job, _EXTENDED_LIMITS, bytes(limits), _LIMITS_SIZE))


def _kernel32() -> Any:
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


# Groups, sessions and terminals of processes.


def kill_group(leader: int) -> None:
    """Kill what is left in the group that a process leads or has led. Windows has no such groups."""
    if sys.platform != "win32":
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(leader, signal.SIGKILL)


def foreground(terminal: int) -> int | None:
    """The group of processes that reads what is typed into a pseudo-terminal; None if there is none, or on Windows.

    `terminal` is the descriptor of our end of it.
    """
    if sys.platform == "win32":
        return None
    try:
        return os.tcgetpgrp(terminal)
    except OSError:
        return None


def group_and_session(pid: int) -> tuple[int, int] | None:
    """The group of a process and its session; None if it has ended, or on Windows."""
    if sys.platform == "win32":
        return None
    try:
        return os.getpgid(pid), os.getsid(pid)
    except OSError:
        return None


_OUTPUTS = {"1", "2"}
"""Descriptors that a program writes to, whatever else could be done with them."""
_LSOF = "/usr/sbin/lsof"
_LSOF_LIMIT = 5.0
"""Seconds."""


def terminal_readers(pids: Sequence[int], lsof: str | None = None) -> set[int] | None:
    """Which of these processes have a terminal open that is not just their output, so that they may read from it.

    One of which the system tells nothing may. None if it can't be known at all, as on Windows. `lsof` is the program
    that is asked where there is no `/proc`.
    """
    if not pids:
        return set()
    if sys.platform == "win32":
        return None
    if sys.platform == "darwin" or lsof:
        return _told_by_lsof(pids, lsof or _LSOF)
    return {pid for pid in pids if _has_terminal(pid)}


def _has_terminal(pid: int) -> bool:
    folder = f"/proc/{pid}/fd"
    try:
        for each in os.listdir(folder):
            with contextlib.suppress(FileNotFoundError):  # it has just been closed
                if each not in _OUTPUTS and _is_terminal(os.readlink(f"{folder}/{each}")):
                    return True
    except FileNotFoundError:  # it has just ended
        return False
    except OSError:
        return True
    return False


def _told_by_lsof(pids: Sequence[int], lsof: str) -> set[int] | None:
    """`lsof` prints a line for each process, descriptor and name, which begins with p, f or n."""
    words = [lsof, "-w", "-n", "-P", "-a", "-p", ",".join(map(str, pids)), "-F", "pfn"]
    try:
        told = run(words, {}, _LSOF_LIMIT).stdout.decode("utf-8", "replace")
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    readers, seen, pid, descriptor = set[int](), set[int](), 0, ""
    for line in told.splitlines():
        if line.startswith("p"):
            pid = int(line[1:])
            seen.add(pid)
        elif line.startswith("f"):
            descriptor = line[1:]
        elif descriptor.isdecimal() and descriptor not in _OUTPUTS and _is_terminal(line[1:]):
            readers.add(pid)
    return readers | (set(pids) - seen)


def _is_terminal(name: str) -> bool:
    return name.startswith(("/dev/pts/", "/dev/tty", "/dev/console"))
