"""What the tests of rounds share."""

from __future__ import annotations

from pathlib import Path

import pytest

from companion.changes import rounds

from .work import LINES, Work


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Work:
    """A window with a folder, for a test that is a coroutine."""
    monkeypatch.setattr(rounds, "PAUSE", 0.05)
    monkeypatch.setattr(rounds, "SETTLED", 0.3)
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").write_text(LINES)
    return Work(tmp_path / "stores", [str(folder)])
