"""The `git` program, run on a private store and never with a project's own git directory or configuration.

A project's `.git/config` can name programs (`core.fsmonitor`, filters, `core.hooksPath`), so none of it is read. All of
this blocks, so it runs on the worker thread of a folder.

What git opens may have been made to harm it: its time, its memory and what it prints are limited, so that a pipe, an
object without an end, one of a forged size or a tree with millions of files ends the run and nothing else.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ..platforms import programs
from ..platforms.files import shown
from . import project

LIMIT = 600.0
"""Seconds that one run may take. A disk that hangs must not keep a process for ever."""
LENT_LIMIT = 30.0
"""The same for a run that reads the objects of the person's repository."""
LIST_LIMIT = 30.0
"""The same for a list of names."""
SOON = 1.0
"""Seconds after which a list may wait for a pipe. To look for pipes before it would take as long as the list."""
_LISTS = {"ls-files", "status"}
MEMORY = 2 * 1024**3
"""Bytes that one run may have."""
PRINTED = 256 * 1024**2
"""Bytes that one run may print, unless it is told otherwise."""
_PIECE = 64 * 1024
_AT_ONCE = "256m"
"""The most that git may ask for at once, as `GIT_ALLOC_LIMIT` has it: an object can lie about its size."""
_SETTINGS = (
    "core.bare=false",
    "core.autocrlf=false",
    "core.safecrlf=false",
    "core.quotePath=false",
    f"core.hooksPath={os.devnull}",
    "core.fsmonitor=false",
    "core.logAllRefUpdates=false",
    "core.preloadIndex=true",
    "core.compression=1",
    "core.looseCompression=1",
    "core.fsync=none",  # what is lost with the power is noticed: each content is checked when it is read
    "core.bigFileThreshold=16m",
    "core.packedGitWindowSize=16m",
    "core.packedGitLimit=256m",
    "core.deltaBaseCacheLimit=32m",
    "pack.windowMemory=64m",
    "pack.threads=1",
    "fastimport.unpackLimit=0",
    "gc.auto=0",
    "advice.addEmbeddedRepo=false",
)
_ON_UNIX = ("core.protectNTFS=false", "core.protectHFS=false")
_ON_WINDOWS = ("core.longpaths=true",)
_PASSING = (
    "No space left on device",
    "Disk quota exceeded",
    "Read-only file system",
    "Permission denied",
    "insufficient permission for adding an object",
    "Too many open files",
    "Cannot allocate memory",
    "out of memory",
    "Out of memory",
    "Input/output error",
    "Stale file handle",
    "Stale NFS file handle",
    "Transport endpoint is not connected",
    "Unable to read current working directory",
)
"""What git says if the machine lacks something, its disk fails, or the folder has gone."""
_OF_ONE_FILE = re.compile(
    r'error: (?:(?:open|readlink)\("[^\n]*"\)|read error while indexing [^\n]*): '
    r"(?:Permission denied|Input/output error)$",
    re.MULTILINE,
)
"""What git says of a file of the project that can't be read: that says nothing of the store or the machine."""
_PARTS = 4
"""Command lines of paths with which a list costs less than one of everything."""
_PATHS = 200
_CHARACTERS = 24_000
"""That one command line has of paths."""
_KEPT_VARIABLES = ("SYSTEMROOT", "WINDIR", "TEMP", "TMP", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")


class GitError(OSError):
    """Git did not do what it was asked for; the text is its own."""


class GitStoppedError(OSError):
    """Git was ended, or lacked something on this machine: nothing is known of what it was to look at.

    So it is no GitError, after which something else may be done.
    """


class GitCrashedError(GitStoppedError):
    """A signal has ended git that nobody here sent: SIGBUS, if a file that it reads is made shorter meanwhile."""


class GitMissingError(GitError):
    """There is no `git` program."""


def program() -> str:
    """The absolute path of `git`, which is in no folder of a window (`programs.find`).

    Raises:
        GitMissingError: there is none.
    """
    found = programs.find("git.exe" if sys.platform == "win32" else "git", os.environ)
    if found is None:
        raise GitMissingError("Git is not on the PATH of Sublime Text")
    return found


class Git:
    """Runs git on a store with a folder as its work tree."""

    def __init__(self, path: str, store: str, tree: str) -> None:
        self._path = path
        self._store = store
        self._tree = tree
        self._running: list[subprocess.Popen[bytes]] = []
        self._is_closed = False
        self._endless: dict[str, str] = {}
        """The pipe for which a command has waited."""

    def run(
        self,
        *arguments: str,
        given: bytes = b"",
        index: str = "index",
        answers: Sequence[int] = (0,),
        lent: Sequence[str] = (),
        settings: Sequence[str] = (),
        limit: float | None = None,
        most: int | None = None,
    ) -> bytes:
        """What a command of git prints.

        Args:
            arguments: the command.
            given: its standard input.
            index: the name of the index in the store.
            answers: the codes with which it may end.
            lent: folders with objects that this one run may read besides those of the store.
            settings: further settings of git for this run.
            limit: seconds that it may take; None for what is usual for the command.
            most: bytes that it may print; None for what any list has.

        Raises:
            GitCrashedError: a signal has ended it.
            GitStoppedError: it could not be started, took too long, or was ended by `close`.
            GitError: it failed, or has printed too much.
        """
        if limit is None:
            limit = LENT_LIMIT if lent else LIST_LIMIT if arguments[0] in _LISTS else LIMIT
        every = [*_SETTINGS, *(_ON_WINDOWS if sys.platform == "win32" else _ON_UNIX), *settings]
        command = [self._path, *(part for setting in every for part in ("-c", setting)), *arguments]
        if self._is_closed:
            raise GitStoppedError("it was ended")
        self._refuse(arguments[0])
        try:
            process: subprocess.Popen[bytes] = programs.start(
                command,
                self._environment(index, lent),
                folder=self._tree,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        except (OSError, ValueError) as error:
            raise GitStoppedError(str(error)) from error
        self._running.append(process)
        if self._is_closed:  # since it was started
            process.kill()
        _limit_memory(process)
        try:
            printed, said = self._output(process, arguments[0], given, limit, PRINTED if most is None else most)
        except subprocess.TimeoutExpired:
            raise GitStoppedError(
                f"git {arguments[0]} took longer than {limit:.0f} seconds: its disk doesn't answer"
            ) from None
        finally:
            self._running.remove(process)
            programs.end_job(process.pid)
        if process.returncode not in answers:
            why = said.decode("utf-8", "replace").strip()[:500] or f"it ended with {process.returncode}"
            text = f"git {arguments[0]}: {why}"
            if process.returncode < 0 and not self._is_closed:
                raise GitCrashedError(text)
            raise (GitStoppedError if self._is_closed or _is_passing(why) else GitError)(text)
        return printed

    def _output(
        self, process: subprocess.Popen[bytes], name: str, given: bytes, limit: float, most: int
    ) -> tuple[bytes, bytes]:
        """What a command prints, also as errors.

        Raises TimeoutExpired, GitStoppedError if it waits for a pipe, and GitError if it prints too much.
        """
        pipe: Any = process.stdout
        process.stdout = None  # `communicate` would read all of it
        parts: list[bytes] = []
        with ThreadPoolExecutor(1) as beside, pipe:
            talking = beside.submit(self._talk, process, name, given, limit)
            while most >= 0 and (part := pipe.read1(_PIECE)):
                parts.append(part)
                most -= len(part)
            if most < 0:
                process.kill()
            said = talking.result()
        if most < 0:
            raise GitError(f"git {name} has printed more than can be read")
        return b"".join(parts), said

    def _talk(self, process: subprocess.Popen[bytes], name: str, given: bytes, limit: float) -> bytes:
        """Give a command its input, and wait for its end. Returns its errors; whatever is raised, it has ended."""
        try:
            if name in _LISTS:
                try:
                    return process.communicate(given, timeout=SOON)[1]
                except subprocess.TimeoutExpired:
                    self._endless[name] = project.obstacle(self._tree, is_for_rules=name == "status")
                    self._refuse(name)
                    given = b""  # it has it
            return process.communicate(given, timeout=limit)[1]
        except BaseException:
            process.kill()
            process.communicate()
            raise

    def _refuse(self, command: str) -> None:
        """Raise GitStoppedError if a command would wait for a pipe that it has met before."""
        path = self._endless.get(command, "")
        if path and project.is_endless(path):
            raise GitStoppedError(f"{shown(os.path.relpath(path, self._tree))} is a pipe or a device")

    def is_closed(self) -> bool:
        """Whether it was closed: whoever works on the store ends."""
        return self._is_closed

    def close(self) -> None:
        """End the processes that run; from any thread."""
        self._is_closed = True
        for process in list(self._running):
            with contextlib.suppress(OSError):
                process.kill()

    def _environment(self, index: str, lent: Sequence[str]) -> dict[str, str]:
        kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
        if lent:
            kept["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = os.pathsep.join(lent)
        return kept | {
            "PATH": os.path.dirname(self._path),
            "HOME": self._store,
            "XDG_CONFIG_HOME": self._store,
            "LC_ALL": "C",
            "GIT_DIR": self._store,
            "GIT_WORK_TREE": self._tree,
            "GIT_INDEX_FILE": os.path.join(self._store, index),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_ALLOC_LIMIT": _AT_ONCE,
            "GIT_LITERAL_PATHSPECS": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_TERMINAL_PROMPT": "0",
        }


def _limit_memory(process: Any) -> None:
    """Bound the memory of a `Popen` that has just started. macOS can't do that; there git bounds itself."""
    if sys.platform == "win32":
        programs.bind_to_job(process.pid, int(process._handle), MEMORY)  # noqa: SLF001 - Python tells it in no other way
    elif sys.platform == "linux":
        import resource  # noqa: PLC0415 - Windows lacks it

        with contextlib.suppress(OSError, ValueError):  # it may have ended already
            resource.prlimit(process.pid, resource.RLIMIT_DATA, (MEMORY, MEMORY))


def _is_passing(said: str) -> bool:
    rest = _OF_ONE_FILE.sub("", said)
    return any(words in rest for words in _PASSING)


def names_in(printed: bytes) -> list[str]:
    """The paths that a command with `-z` prints."""
    return os.fsdecode(printed).split("\0")[:-1]


def joined(paths: Iterable[str]) -> bytes:
    """Paths for the standard input of a command with `-z`."""
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


def batches(paths: Sequence[str]) -> Iterator[Sequence[str]]:
    """Paths in parts that a command line takes: Windows has 32,767 characters for one."""
    part: list[str] = []
    for path in paths:
        if part and (len(part) == _PATHS or sum(map(len, part)) + len(part) + len(path) > _CHARACTERS):
            yield part
            part = []
        part.append(path)
    if part:
        yield part


def few_batches(paths: Sequence[str]) -> list[Sequence[str]]:
    """The same for a list; one part without a path, which lists everything, if there would be many."""
    parts = list(batches(paths))
    return parts if len(parts) <= _PARTS else [()]


def merge(ours: bytes, base: bytes, theirs: bytes) -> bytes | None:
    """Two descendants of a content merged; None if they conflict or are binary.

    Raises OSError: there is no git program, or no place for the texts.
    """
    if ours == base:
        return theirs
    if theirs in (base, ours):
        return ours
    git = program()
    with tempfile.TemporaryDirectory(prefix="qwen-companion-") as folder:
        names = [os.path.join(folder, name) for name in ("ours", "base", "theirs")]
        for name, data in zip(names, (ours, base, theirs), strict=True):
            with open(name, "wb") as file:
                file.write(data)
        try:
            return Git(git, folder, folder).run("merge-file", "-p", "--", *names)
        except OSError:
            return None  # git ends with the number of conflicts, or with 255 for a binary file
