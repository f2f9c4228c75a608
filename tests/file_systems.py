"""File systems of a test's own, which are full or can't be written, and the gate to files as its callers use it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from companion.platforms.files import place, resolved

root = pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="File systems: only root mounts one")


@contextlib.contextmanager
def mounted(folder: Path, options: str) -> Generator[None]:
    """A file system of its own in a folder."""
    folder.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", options, "qwen-companion-test", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"File systems: this machine mounts none: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """Leave no room in a file system of its own, and return the file that takes it."""
    filler = folder / "filler"
    with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)
    return filler


def replace_file(path: str, content: bytes) -> None:
    """Write the file that a path leads to now, and make its folders if they are missing. See `FolderEntry.replace`."""
    with place(resolved(path), makes_folders=True) as at:
        at.replace(content)
