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
from typing import Any

from .cli import CliFamily, DiscoveryFolder

IDE_NAME = "Sublime Text"
IDE_INFO = {"name": "sublimetext", "displayName": IDE_NAME}


class FolderRefusedError(OSError):
    """A discovery folder is not safe to write to. The text is a sentence for the person."""


def workspace_path(folders: Sequence[str]) -> str:
    """The `workspacePath` of some folders: joined by the system's path delimiter.

    A folder whose name holds the delimiter can only be said as a JSON array, which Qwen Code reads from 0.21.2 on.
    """
    if any(os.pathsep in folder for folder in folders):
        return json.dumps(list(folders), ensure_ascii=False)
    return os.pathsep.join(folders)


def prepare_folder(folder: DiscoveryFolder) -> Path:
    """Create a discovery folder (0700) where it is missing, and return its path.

    Raises FolderRefusedError if a part of it is a link, no folder, or belongs to somebody else.
    """
    folder.base.mkdir(mode=0o700, parents=True, exist_ok=True)
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


@dataclass
class Publication:
    """The discovery files of one server and one CLI family."""

    family: CliFamily
    port: int
    token: str = field(repr=False)
    written: list[Path] = field(default_factory=list[Path])

    def publish(self, workspace: str) -> list[str]:
        """Write every file, anew if need be. Returns one sentence for each that could not be written."""
        text = json.dumps(self._body(workspace), ensure_ascii=False)
        problems: list[str] = []
        for folder, name in self.family.locations(os.getppid(), self.port):
            try:
                path = prepare_folder(folder) / name
                write_file(path, text)
            except OSError as error:
                problems.append(f"{self.family.name} can't find this editor through {folder.path}: {error}.")
            else:
                if path not in self.written:
                    self.written.append(path)
        return problems

    def withdraw(self) -> None:
        """Remove the files. One that carries somebody else's token by now is left alone."""
        for path in self.written:
            if (_read(path) or {}).get("authToken") == self.token:
                with contextlib.suppress(OSError):
                    path.unlink()
        self.written.clear()

    def _body(self, workspace: str) -> dict[str, Any]:
        return {
            "port": self.port,
            "workspacePath": workspace,
            "authToken": self.token,
            # The CLI deletes the file once this process is gone, so it must be the one that serves.
            "ppid": os.getpid(),
            "ideName": IDE_NAME,
            "ideInfo": IDE_INFO,
        }


def clear_leftovers(families: Iterable[CliFamily], wrote: Callable[[int, float], bool]) -> list[Path]:
    """Remove what a crashed editor left behind; `wrote` says whether the process that wrote a file still lives.

    Only a file of our own pattern that names us in `ideInfo` is touched. Returns what was removed.
    """
    removed: list[Path] = []
    for folder, pattern in (location for family in families for location in family.file_patterns()):
        for path in _files(folder.path, pattern):
            body = _read(path)
            if body is None or body.get("ideInfo") != IDE_INFO or not isinstance(body.get("ppid"), int):
                continue
            with contextlib.suppress(OSError):
                if not wrote(body["ppid"], path.lstat().st_mtime):
                    path.unlink()
                    removed.append(path)
    return removed


def _files(folder: Path, pattern: str) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if re.fullmatch(pattern, path.name) and not path.is_symlink()]
    except OSError:
        return []


def _read(path: Path) -> dict[str, Any] | None:
    try:
        body: object = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return body if isinstance(body, dict) else None  # pyright: ignore[reportUnknownVariableType] - JSON


class EnvironmentVariables:
    """Our variables in this process's environment, which terminals opened afterwards inherit (sublime.md C)."""

    def __init__(self) -> None:
        self._set: dict[str, str] = {}

    def set(self, values: dict[str, str]) -> None:
        """Set variables, in place of those that were set before."""
        self.remove(keep=values)
        os.environ.update(values)
        self._set = dict(values)

    def remove(self, keep: Iterable[str] = ()) -> None:
        """Remove the variables that still hold our values."""
        for name, value in self._set.items():
            if name not in keep and os.environ.get(name) == value:
                del os.environ[name]
        self._set.clear()
