from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from companion import __version__

from .control import Make, Sublime, UnavailableError, archive


def _release(root: Path, folder: Path, *options: str) -> Path:
    command = [sys.executable, "-m", "scripts.release", __version__, "--worktree", *options, folder]
    run = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=600, check=False)
    assert run.returncode == 0, run.stderr
    return folder


@pytest.fixture(scope="session")
def built(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of the files as they are now."""
    return _release(root, tmp_path_factory.mktemp("release") / "dist")


@pytest.fixture(scope="session")
def offline(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with all libraries."""
    return _release(root, tmp_path_factory.mktemp("offline") / "dist", "--offline")


@pytest.fixture(scope="session")
def control(root: Path) -> Path:
    """Package Control."""
    if sys.version_info < (3, 14):
        pytest.skip("Package Control runs on Sublime Text's Python, 3.14; this one is older")
    try:
        return archive(root / ".cache")
    except UnavailableError as error:
        pytest.skip(str(error))


@pytest.fixture
def make(control: Path) -> Iterator[Make]:
    """Makes data folders with Package Control."""
    made: list[Sublime] = []

    def make(*repositories: str) -> Sublime:
        made.append(one := Sublime(control, repositories))
        return one

    yield make
    for one in made:
        one.remove()
