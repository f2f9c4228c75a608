"""A list on disk of the private daemons and of who started them, for editors that were killed.

A record holds numbers alone: the process of the daemon and that of the editor, each with when it was made. Never the
token. Blocks for a moment.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
from pathlib import Path
from typing import Any, cast

import psutil

from ...clis.discovery import prepare_folder, write_file
from ...clis.families import DiscoveryFolder, temporary_folder

logger = logging.getLogger(__name__)


def write(pid: int, started: float) -> None:
    """Write down a daemon of this process. Without the record it works as well."""
    own = os.getpid()
    record = {"daemon": [pid, started], "editor": [own, psutil.Process(own).create_time()]}
    try:
        write_file(prepare_folder(_folder()) / _name(pid), json.dumps(record))
    except OSError as error:
        logger.debug("Can't write down the daemon %d: %s", pid, error)


def remove(pid: int) -> None:
    """A daemon has ended. The folder goes with the last record."""
    folder = _folder().path
    with contextlib.suppress(OSError):
        (folder / _name(pid)).unlink()
    with contextlib.suppress(OSError):
        folder.rmdir()


def orphans() -> list[tuple[int, float]]:
    """The daemons whose editor is gone: the pid of each and when it was made."""
    found: list[tuple[int, float]] = []
    if not _folder().path.exists():
        return found
    try:
        # Never read another user's records: the folder must be ours.
        paths = sorted(prepare_folder(_folder()).glob("*.json"))
    except OSError:
        return []
    for path in paths:
        record = _read(path)
        if record is None:
            with contextlib.suppress(OSError):
                path.unlink()
            continue
        daemon, editor = record
        if not _lives(*editor):
            found.append(daemon)
    return found


def _folder() -> DiscoveryFolder:
    user = f"-{os.getuid()}" if hasattr(os, "getuid") else ""
    return DiscoveryFolder(temporary_folder(), (f"qwen-companion{user}",))


def _name(pid: int) -> str:
    return f"{pid}.json"


def _read(path: Path) -> tuple[tuple[int, float], tuple[int, float]] | None:
    try:
        record = cast("dict[str, Any]", json.loads(path.read_text(encoding="utf-8")))
        daemon, editor = record["daemon"], record["editor"]
        return (int(daemon[0]), float(daemon[1])), (int(editor[0]), float(editor[1]))
    except (OSError, ValueError, TypeError, LookupError):
        return None


def _lives(pid: int, started: float) -> bool:
    try:
        return abs(psutil.Process(pid).create_time() - started) <= 1
    except psutil.NoSuchProcess:
        return False
    except psutil.Error:
        return True
