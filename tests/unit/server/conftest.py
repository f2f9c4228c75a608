"""Fixtures of the tests of a window's server."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from companion.ids import WindowId
from companion.server import tools
from companion.settings import Settings

from ..conftest import Running
from ..wire import LIMIT, Cli


@pytest.fixture
def files(project: Path) -> list[str]:
    """Files of the project that are on disk."""
    paths = [project / f"{name}.txt" for name in "abc"]
    for path in paths:
        path.touch()
    return [str(path) for path in paths]


@pytest.fixture
def held_up(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[threading.Event, threading.Event]]:
    """Each openDiff waits for a file system that hangs: set when one has come; to be set when it goes on."""
    asked, go_on, plain = threading.Event(), threading.Event(), tools.refusal

    def refusal(path: str) -> str | None:
        asked.set()
        go_on.wait(LIMIT)
        return plain(path)

    monkeypatch.setattr(tools, "refusal", refusal)
    yield asked, go_on
    go_on.set()


@pytest.fixture
def agent(running: Running) -> Iterator[Cli]:
    """An agent that is let in."""

    def offer(companion: Any) -> tuple[str, str]:
        companion.configure(Settings(agents_use_editor=True))
        return companion._windows[WindowId(1)].admit("My Agent")

    url, token = running.do(offer)
    with Cli({"port": int(url.split(":")[2].split("/")[0]), "authToken": token}) as cli:
        yield cli.connect()
