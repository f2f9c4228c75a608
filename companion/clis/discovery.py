"""Discovery files: how a CLI learns the port, the folders and the token of a window's server.

Facts: contract/qwen-ide.md §1, companion-spec.md B1–B5. Standard library alone: the files are there before the
libraries are imported.
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

from .families import CliFamily, DiscoveryFolder, DiscoveryName

IDE_NAME = "Sublime Text"
IDE_INFO = {"name": "sublimetext", "displayName": IDE_NAME}


class FolderRefusedError(OSError):
    """A discovery folder is not safe to write to. The text is a sentence for the person."""


def prepare_folder(folder: DiscoveryFolder) -> Path:
    """Create a discovery folder (0700) where it is missing, and return its path.

    Raises FolderRefusedError if a part of it is a link, no folder, or belongs to somebody else.
    """
    _make(folder.base)
    path = folder.base
    for part in folder.parts:
        path = path / part
        with contextlib.suppress(FileExistsError):
            path.mkdir(mode=0o700)
        found = path.lstat()
        if stat.S_ISLNK(found.st_mode):
            raise FolderRefusedError(f"{path} is a symbolic link")
        if not stat.S_ISDIR(found.st_mode):
            raise FolderRefusedError(f"{path} is not a folder")
        if hasattr(os, "getuid") and found.st_uid != os.getuid():
            raise FolderRefusedError(f"{path} belongs to another user")
    return path


def _make(folder: Path) -> None:
    """Create a folder and those above it, all for this user alone."""
    if not folder.exists():
        _make(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def write_file(path: Path, text: str) -> None:
    """Write a file that only this user can read, at once: a reader sees the old text or the new, never a part."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


Stamp = tuple[int, int, int] | None
"""What changes when a file is written: its inode, its size, its time in nanoseconds. None: there is no file."""
Lives = Callable[[int, float], bool]
"""Whether the process of that pid, which wrote a file at that Unix time, still lives."""


@dataclass
class DiscoveryFiles:
    """The discovery files of one server and one CLI family."""

    family: CliFamily
    port: int
    token: str = field(repr=False)
    written: dict[Path, Stamp] = field(default_factory=dict[Path, Stamp])
    """The files, each as it was when it was written."""
    _failed: set[Path] = field(default_factory=set[Path])

    def publish(self, folders: Sequence[str], names: Sequence[DiscoveryName]) -> list[str]:
        """Write every file, anew if need be, and remove those of other names.

        Returns one sentence for each that can't be written, the first time. Nobody needs to hear of legacy names.
        """
        wanted = {self._path(name) for name in names}
        for path in [path for path in self.written if path not in wanted]:
            self._remove(path)
        return self._write(folders, names)

    def heal(self, folders: Sequence[str], names: Sequence[DiscoveryName], lives: Lives) -> list[str]:
        """Write what is gone or no longer ours, and leave the rest alone: its age decides between editors."""
        return self._write(folders, [name for name in names if self._is_lost(self._path(name), lives)])

    def touch(self) -> None:
        """Make the files the newest: a CLI that finds several takes that one."""
        for path, was in self.written.items():
            with contextlib.suppress(OSError):
                if was and _stamp(path) == was:
                    os.utime(path)
                    self.written[path] = _stamp(path)

    def withdraw(self) -> None:
        """Remove the files. One that carries somebody else's token by now is left alone."""
        for path in list(self.written):
            self._remove(path)

    def _path(self, name: DiscoveryName) -> Path:
        return name.folder.path / name.file(os.getppid(), self.port)

    def _write(self, folders: Sequence[str], names: Sequence[DiscoveryName]) -> list[str]:
        text = json.dumps(self._body(folders), ensure_ascii=False)
        problems: list[str] = []
        for name in names:
            path = self._path(name)
            try:
                prepare_folder(name.folder)
                write_file(path, text)
            except OSError as error:
                if path not in self._failed and not name.legacy:
                    problems.append(f"{self.family.name} can't find this editor through {path.parent}: {error}.")
                self._failed.add(path)
            else:
                self._failed.discard(path)
                self.written[path] = _stamp(path)
        return problems

    def _is_lost(self, path: Path, lives: Lives) -> bool:
        """Whether a file has to be written.

        The port or the pid in its name is ours, so the name is; but an editor that lives elsewhere, in a container with
        the same home, may have the same. It keeps what it has written until our window gets the focus.
        """
        found = _stamp(path)
        if found is None or path not in self.written:
            return True
        if found == self.written[path]:
            return False
        body = _read(path) or {}
        if body.get("authToken") == self.token:
            self.written[path] = found
            return False
        pid = body.get("ppid")
        return not (_is_pid(pid) and pid != os.getpid() and lives(pid, found[2] / 1e9))

    def _remove(self, path: Path) -> None:
        self.written.pop(path, None)
        if (_read(path) or {}).get("authToken") == self.token:
            with contextlib.suppress(OSError):
                path.unlink()

    def _body(self, folders: Sequence[str]) -> dict[str, Any]:
        return {
            "port": self.port,
            "workspacePath": self.family.workspace_path(folders),
            "authToken": self.token,
            # The CLI deletes the file once this process is gone, so it must be the one that serves.
            "ppid": os.getpid(),
            "ideName": IDE_NAME,
            "ideInfo": IDE_INFO,
        }


def clear_leftovers(families: Iterable[CliFamily], lives: Lives) -> list[Path]:
    """Remove what a crashed editor left behind.

    Only a file of our own pattern that names us in `ideInfo` is touched. Returns what was removed.
    """
    removed: list[Path] = []
    for name in (name for family in families for name in family.files):
        for path in _files(name.folder.path, name.pattern):
            body = _read(path)
            if body is None or body.get("ideInfo") != IDE_INFO or not _is_pid(body.get("ppid")):
                continue
            with contextlib.suppress(OSError):
                if not lives(body["ppid"], path.lstat().st_mtime):
                    path.unlink()
                    removed.append(path)
    return removed


def _is_pid(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and 0 < value < 2**31


def _stamp(path: Path) -> Stamp:
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _files(folder: Path, pattern: str) -> list[Path]:
    """The files of a folder whose names match; no links, pipes or others that one could wait for."""
    try:
        return [path for path in folder.iterdir() if re.fullmatch(pattern, path.name) and _is_file(path)]
    except OSError:
        return []


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def _read(path: Path) -> dict[str, Any] | None:
    try:
        # A pipe in a folder that everybody writes to would keep us waiting.
        body: object = json.loads(path.read_text("utf-8")) if path.is_file() else None
    except (OSError, ValueError):
        return None
    return body if isinstance(body, dict) else None  # pyright: ignore[reportUnknownVariableType] - JSON


class EnvironmentVariables:
    """Our variables in this process's environment, which terminals opened afterwards inherit (sublime.md C)."""

    def __init__(self) -> None:
        self._set: dict[str, str] = {}

    def set(self, values: dict[str, str]) -> None:
        """Set variables, in place of those that were set before."""
        if values == self._set:
            return
        self.remove(keep=values)
        os.environ.update(values)
        self._set = dict(values)

    def remove(self, keep: Iterable[str] = ()) -> None:
        """Remove the variables that still hold our values."""
        for name, value in self._set.items():
            if name not in keep and os.environ.get(name) == value:
                del os.environ[name]
        self._set.clear()
