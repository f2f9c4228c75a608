"""What the tests of reasons share."""

from __future__ import annotations

from pathlib import Path

import pytest

from .turns import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    folder = tmp_path / "project"
    folder.mkdir()
    return Desk(folder.resolve(), tmp_path / "stores")
