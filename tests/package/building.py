"""Copies of the project, releases of it, and libraries of another version than they were released as."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

PRIVATE = shutil.ignore_patterns(
    ".git", ".venv", ".*cache", "node_modules", "__pycache__", "dist", ".coverage*", ".hypothesis"
)


def copied(root: Path, target: Path) -> Path:
    """A copy of the project without its history and what tools have put there."""
    return shutil.copytree(root, target, ignore=PRIVATE)


def release(root: Path, *arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """What `scripts/package --release` does once everything is set up."""
    return subprocess.run(
        [sys.executable, "-m", "scripts.release", *arguments],
        cwd=root,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def built(root: Path, folder: Path, version: str, *options: str) -> Path:
    """The folder of a release of the files as they are now."""
    run = release(root, version, "--worktree", *options, folder)
    assert run.returncode == 0, run.stderr
    return folder


def relabelled(libraries: Path, name: str, version: str) -> Path:
    """Have an installed library say that it is of another version. Returns its `.dist-info`."""
    (old,) = libraries.glob(f"{name}-*.dist-info")
    new = old.rename(old.with_name(f"{name}-{version}.dist-info"))
    for file in ("METADATA", "RECORD"):
        text = (new / file).read_text(encoding="utf-8").replace(old.name, new.name)
        text = re.sub(r"^Version: .*", f"Version: {version}", text, flags=re.MULTILINE)
        (new / file).write_text(text, encoding="utf-8")
    return new
