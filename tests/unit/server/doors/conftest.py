"""Fixtures of the tests of doors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from companion.server.doors import claude as claude_module

from ...conftest import FIRST, Running
from .client import TOKEN, Client, lock_of

Connect = Callable[..., Client]


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """No client of a test needs time to take in the list of the tools."""
    monkeypatch.setattr(claude_module, "SETTLING", 0)


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Connects clients, and drops them after the test."""
    clients: list[Client] = []

    def connect(running: Running, name: str = "claude-code", window: int = FIRST) -> Client:
        lock = lock_of(running, window)
        client = Client(lock["port"], {TOKEN: lock["authToken"]})
        clients.append(client)
        return client.connect(name)

    yield connect
    for client in clients:
        client.close()


@pytest.fixture
def path(project: Path) -> str:
    """A file of the project."""
    (project / "a.py").write_text("old\n")
    return str(project / "a.py")
