"""Fixtures of the tests of a window's server."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from companion.server import offer
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
    asked, go_on, plain = threading.Event(), threading.Event(), offer.refusal

    def refusal(path: str) -> str | None:
        asked.set()
        go_on.wait(LIMIT)
        return plain(path)

    monkeypatch.setattr(offer, "refusal", refusal)
    yield asked, go_on
    go_on.set()


@pytest.fixture
def agent(running: Running) -> Cli:
    """An agent that is let in."""
    running.do(lambda companion: companion.configure(Settings(agents_use_editor=True)))
    return running.agent()
