"""Discovery files: how a CLI learns the port, the folders and the token of a window's server.

Facts: docs/protocols/qwen-ide.md#discovery and docs/protocols/gemini-ide.md#discovery. Standard library only: the
files are written before the libraries are imported.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeGuard

from ..json_text import read_own, remove_if
from ..platforms import files
from ..platforms.files import reason_of
from .families import FAMILIES, CliFamily, DiscoveryFolder, DiscoveryName

IDE_NAME = "Sublime Text"
IDE_INFO = {"name": "sublimetext", "displayName": IDE_NAME}


def prepare_folder(folder: DiscoveryFolder) -> Path:
    """Create a discovery folder (0700) if it is missing, and return its path.

    Raises OSError, with a reason for the person, if a part of the path is a link, no folder, or another user's.
    """
    files.make_private_folders(str(folder.base))
    path = folder.base
    for part in folder.parts:
        path = path / part
        with contextlib.suppress(FileExistsError):
            files.make_private_folder(str(path))
        if why := files.unsafe(str(path)):
            raise OSError(f"{path} {why}")
    return path


def write_file(path: Path, text: str) -> None:
    """Write a file that only this user can read. A reader sees the old text or the new."""
    files.write_private(str(path), text.encode())


Stamp = tuple[int, int, int] | None
"""A file's inode, size and modification time in nanoseconds; None if there is no file."""
Lives = Callable[[int, float], bool]
"""Whether the process with this pid that wrote a file at this Unix time is still alive."""


@dataclass
class DiscoveryFiles:
    """The discovery files of one server and one CLI family."""

    family: CliFamily
    port: int
    token: str = field(repr=False)
    socket: str = ""
    """The path of the window's Unix socket, or the name of its pipe; empty as long as there is none."""
    written: dict[Path, Stamp] = field(default_factory=dict[Path, Stamp])
    """The files, each with its stamp from when it was written."""
    failed: dict[Path, str] = field(default_factory=dict[Path, str])
    """The files that could not be written, without legacy names, which few people need: words after the folder."""
    _made: list[str] = field(default_factory=list[str])
    """Sentences on folders that an administrator has made."""

    @property
    def troubles(self) -> list[str]:
        """A sentence on all that is wrong now."""
        whose = f"{self.family.name} can't find this editor through"
        return [*self._made, *(f"{whose} {path.parent}: {reason}." for path, reason in self.failed.items())]

    def publish(self, folders: Sequence[str], names: Sequence[DiscoveryName]) -> None:
        """Write every file and remove those with other names."""
        wanted = {self._path(name) for name in names}
        for path in [path for path in self.written if path not in wanted]:
            self._remove(path)
        self._write(folders, names)

    def heal(self, folders: Sequence[str], names: Sequence[DiscoveryName], lives: Lives) -> None:
        """Write the files that are missing or no longer ours. The age of the others decides between editors."""
        self._write(folders, [name for name in names if self._is_lost(self._path(name), lives)])

    def touch(self) -> None:
        """Make the files the newest: a CLI that finds several takes the newest."""
        for path, was in self.written.items():
            with contextlib.suppress(OSError):
                if was and _stamp(path) == was:
                    os.utime(path)
                    self.written[path] = _stamp(path)

    def withdraw(self) -> None:
        """Remove the files, except those that have somebody else's token by now."""
        for path in list(self.written):
            self._remove(path)

    def hand_over(self) -> list[str]:
        """The files, which the next instance owns from now on."""
        left, self.written = list(map(str, self.written)), {}
        return left

    def _path(self, name: DiscoveryName) -> Path:
        return name.folder.path / name.file(os.getppid(), self.port)

    def _write(self, folders: Sequence[str], names: Sequence[DiscoveryName]) -> None:
        text = json.dumps(content(self.family, self.port, self.token, folders, self.socket), ensure_ascii=False)
        for name in names:
            path = self._path(name)
            base = name.folder.base
            is_new = not base.exists()
            try:
                prepare_folder(name.folder)
                if self.family.watches_file and self._is_ours(path):
                    files.overwrite(str(path), text.encode())
                else:
                    write_file(path, text)
            except (OSError, ValueError) as error:
                if not name.legacy:
                    self.failed[path] = reason_of(error)
            else:
                self.failed.pop(path, None)
                self.written[path] = _stamp(path)
                if is_new and files.is_elevated():
                    self._made.append(f"Sublime Text runs as an administrator, and has made the folder {base} as one.")

    def _is_lost(self, path: Path, lives: Lives) -> bool:
        """Whether a file has to be written.

        Its name holds our port or pid. Yet another editor, in a container with the same home, may use the same name.
        Its file stays until our window gets the focus.
        """
        found = _stamp(path)
        if found is None or path not in self.written:
            return True
        if found == self.written[path]:
            return False
        body = read_own(path) or {}
        if body.get("authToken") == self.token:
            self.written[path] = found
            return False
        pid = body.get("ppid")
        return not (is_pid(pid) and pid != os.getpid() and lives(pid, found[2] / 1e9))

    def _remove(self, path: Path) -> None:
        self.written.pop(path, None)
        remove_if(path, "authToken", [self.token])

    def _is_ours(self, path: Path) -> bool:
        return (read_own(path) or {}).get("authToken") == self.token


def content(
    family: CliFamily, port: int, token: str, folders: Sequence[str], socket: str = "", delimiter: str = os.pathsep
) -> dict[str, Any]:
    """What the discovery files of a family say of a window; `delimiter` is that of paths where the CLI runs."""
    if family.lock:
        named = [folder for folder in folders if family.can_name(folder, delimiter)]
        told = family.lock(token, named, socket)
    else:
        told = {"port": port, "workspacePath": family.workspace_path(folders, delimiter)}
    return {
        **told,
        "authToken": token,
        # The CLI deletes the file when this process has ended, so it must be the serving one.
        "ppid": os.getpid(),
        "ideName": IDE_NAME,
        "ideInfo": IDE_INFO,
    }


def clear_leftovers(families: Iterable[CliFamily], lives: Lives) -> list[Path]:
    """Remove the files that a crashed editor left behind, and return them.

    Only files with our name pattern that name us in `ideInfo` are removed.
    """
    removed: list[Path] = []
    for name in (name for family in families for name in family.files):
        for path in files_in(name.folder.path, name.pattern):
            body = read_own(path)
            if body is None or body.get("ideInfo") != IDE_INFO or not is_pid(body.get("ppid")):
                continue
            with contextlib.suppress(OSError):
                if not lives(body["ppid"], path.lstat().st_mtime):
                    path.unlink()
                    removed.append(path)
    return removed


def is_pid(value: object) -> TypeGuard[int]:
    """Whether a value from a file may be the id of a process. A larger number would be an error of the system's."""
    return isinstance(value, int) and 0 < value < 2**31


def _stamp(path: Path) -> Stamp:
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def files_in(folder: Path, pattern: str) -> list[Path]:
    """The regular files of a folder whose names match; no links, and no pipes, which would block."""
    try:
        return [path for path in folder.iterdir() if re.fullmatch(pattern, path.name) and _is_file(path)]
    except OSError:
        return []


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


class EnvironmentVariables:
    """Our variables in this process's environment.

    Terminals that are opened later inherit them (docs/protocols/sublime.md#terminus), and so does every other child,
    of whatever package: a token is never among them.
    """

    def __init__(self) -> None:
        self._set: dict[str, tuple[str, str | None]] = {}
        """Our values, and what stood there before: of the editor's parent, or of another package."""

    def set(self, values: dict[str, str]) -> None:
        """Set variables, except those for tokens, and remove those that were set before."""
        tokens = {family.token_variable for family in FAMILIES}
        values = {name: value for name, value in values.items() if name not in tokens}
        if values == {name: value for name, (value, _) in self._set.items()}:
            return
        self.remove(keep=values)
        for name, value in values.items():
            found, (ours, before) = os.environ.get(name), self._set.get(name, (None, None))
            self._set[name] = value, before if found == ours else found
            os.environ[name] = value

    def remove(self, keep: Iterable[str] = ()) -> None:
        """Give the variables that still hold our values what they held before."""
        for name in self._set.keys() - set(keep):
            value, before = self._set.pop(name)
            if os.environ.get(name) != value:
                continue
            if before is None:
                del os.environ[name]
            else:
                os.environ[name] = before
