"""Fixtures of the tests of a window's server."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def files(project: Path) -> list[str]:
    """Files of the project that are on disk."""
    paths = [project / f"{name}.txt" for name in "abc"]
    for path in paths:
        path.touch()
    return [str(path) for path in paths]
