"""What the tests of rounds share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from companion.changes import looking

from .work import LINES, Work


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Callable[[Work], Coroutine[Any, Any, None]]], None]:
    monkeypatch.setattr(looking, "LOOK", 0.05)
    monkeypatch.setattr(looking, "SETTLED", 0.3)
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").write_text(LINES)

    def do(test: Callable[[Work], Coroutine[Any, Any, None]]) -> None:
        async def all_of_it() -> None:
            work = Work(tmp_path / "stores", [str(folder)])
            try:
                await test(work)
            finally:
                await work.end()

        asyncio.run(all_of_it())

    return do
