"""A registry on loopback, and folders of a test's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from .serving import Place, Serving


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    serving = Serving()
    data, cache = str(tmp_path / "data"), str(tmp_path / "cache")
    with (
        patch("companion.platforms.paths.user_data", lambda: data),
        patch("companion.platforms.paths.user_cache", lambda: cache),
    ):
        yield Place(serving.served, tmp_path)
    serving.close()
