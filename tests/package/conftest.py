from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from companion import __version__

from . import building
from .control import Make, Sublime, UnavailableError, archive


@pytest.fixture(scope="session")
def built(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of the files as they are now."""
    return building.built(root, tmp_path_factory.mktemp("release") / "dist", __version__)


@pytest.fixture(scope="session")
def offline(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with all libraries."""
    return building.built(root, tmp_path_factory.mktemp("offline") / "dist", __version__, "--offline")


@pytest.fixture
def tree(root: Path, tmp_path: Path) -> Path:
    """A copy of the project without its history."""
    return building.copied(root, tmp_path / "tree")


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
