"""A CLI that is connected, and a file for its diffs."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..conftest import Running
from ..wire import Cli, Stream


@pytest.fixture
def connected(running: Running) -> tuple[Cli, Stream]:
    return running.listening()


@pytest.fixture
def cli(connected: tuple[Cli, Stream]) -> Cli:
    return connected[0]


@pytest.fixture
def stream(connected: tuple[Cli, Stream]) -> Stream:
    return connected[1]


@pytest.fixture
def path(project: Path) -> str:
    """A file that a CLI wants to change."""
    path = project / "a.txt"
    path.write_bytes(b"old\r\n")
    return str(path)
