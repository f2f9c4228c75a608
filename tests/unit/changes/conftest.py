"""What the tests of rounds share."""

from __future__ import annotations

from pathlib import Path

import pytest

from companion.changes import roots, rounds

from ..wire import LIMIT
from .work import LINES, Work


@pytest.fixture(autouse=True)
def _decisions_wait_for_all_saves(monkeypatch: pytest.MonkeyPatch) -> None:
    """However busy the machine is: what comes after a decision that could not wait would be decided otherwise."""
    monkeypatch.setattr(roots, "NOTED", LIMIT)


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Work:
    """A window with a folder, for a test that is a coroutine."""
    monkeypatch.setattr(rounds, "PAUSE", 0.05)
    monkeypatch.setattr(rounds, "SETTLED", 0.3)
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").write_text(LINES)
    return Work(tmp_path / "stores", [str(folder)])
