"""A list on disk of the daemons and agents that we have started, for editors that were killed.

A record holds numbers alone: the process that was started and that of the editor, each with when it was made. Never a
token. Blocks for a moment.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import psutil

from ....clis.discovery import is_pid, prepare_folder, write_file
from ....clis.families import DiscoveryFolder, temporary_folder
from ....platforms.processes import user_id
from ....small_files import read_own
from . import tree

logger = logging.getLogger(__name__)

Kind = Literal["daemon", "agent"]
"""What a recorded process is."""
_PREFIXES: dict[Kind, str] = {"daemon": "", "agent": "agent-"}
_PATTERNS: dict[Kind, str] = {"daemon": "[0-9]*.json", "agent": "agent-*.json"}


def write(pid: int, started: float, kind: Kind = "daemon") -> None:
    """Write down a process that this one has started. Without the record it works as well."""
    own = os.getpid()
    record = {kind: [pid, started], "editor": [own, psutil.Process(own).create_time()]}
    try:
        write_file(prepare_folder(_folder()) / _name(pid, kind), json.dumps(record))
    except OSError as error:
        logger.debug("Can't write down the %s %d: %s", kind, pid, error)


def remove(pid: int, kind: Kind = "daemon") -> None:
    """A process has ended. The folder goes with the last record."""
    folder = _folder().path
    with contextlib.suppress(OSError):
        (folder / _name(pid, kind)).unlink()
    with contextlib.suppress(OSError):
        folder.rmdir()


def orphans(kind: Kind = "daemon") -> list[tuple[int, float]]:
    """The processes whose editor is gone: the pid of each and when it was made."""
    found: list[tuple[int, float]] = []
    if not _folder().path.exists():
        return found
    try:
        # Never read another user's records: the folder must be ours.
        paths = sorted(prepare_folder(_folder()).glob(_PATTERNS[kind]))
    except OSError:
        return []
    for path in paths:
        record = _read(path, kind)
        if record is None:
            with contextlib.suppress(OSError):
                path.unlink()
            continue
        process, editor = record
        if not _lives(*editor):
            found.append(process)
    return found


def leftovers(kind: Kind, is_ours: Callable[[psutil.Process], bool]) -> list[tuple[int, float]]:
    """Those of `orphans` that still run and are what was started. The records of the others are removed."""
    found: list[tuple[int, float]] = []
    for pid, started in orphans(kind):
        process = tree.find(pid, started)
        with contextlib.suppress(psutil.Error, OSError):
            # Whatever a record says, nothing else is ended.
            if process and is_ours(process):
                found.append((pid, started))
                continue
        remove(pid, kind)
    return found


def _folder() -> DiscoveryFolder:
    user = "" if user_id() is None else f"-{user_id()}"
    return DiscoveryFolder(temporary_folder(), (f"qwen-companion{user}",))


def _name(pid: int, kind: Kind) -> str:
    return f"{_PREFIXES[kind]}{pid}.json"


def _read(path: Path, kind: Kind) -> tuple[tuple[int, float], tuple[int, float]] | None:
    try:
        record = read_own(path) or {}
        process, editor = record[kind], record["editor"]
        is_usual = is_pid(process[0]) and is_pid(editor[0])
        return ((process[0], float(process[1])), (editor[0], float(editor[1]))) if is_usual else None
    except (ValueError, TypeError, LookupError, OverflowError):
        return None


def _lives(pid: int, started: float) -> bool:
    try:
        return abs(psutil.Process(pid).create_time() - started) <= 1
    except psutil.NoSuchProcess:
        return False
    except psutil.Error:
        return True
