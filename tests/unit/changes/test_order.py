"""What the person does is done in the order in which it was done, however long it takes to find a file."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from companion.changes import roots
from companion.changes.change_screen import SavedText

from .work import LINES, WINDOW, Work

AGENTS = LINES.replace("line 3\n", "agent\n")
BOTH = AGENTS.replace("line 20\n", "mine\n")
DECISIONS: dict[str, Callable[[Work], object]] = {
    "undo a file": lambda work: work.decisions.decide_files(WINDOW, [work.rows["a.py"]], "undo"),
    "undo all": lambda work: work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "undo"),
}


@contextmanager
def slow_disk(path: Path) -> Iterator[threading.Event]:
    """Nobody learns where a file really is until the event is set."""
    go_on, real = threading.Event(), os.path.realpath

    def late(name: Any, **options: Any) -> Any:
        if name == str(path):
            go_on.wait(60)
        return real(name, **options)

    with patch.object(os.path, "realpath", late):
        try:
            yield go_on
        finally:
            go_on.set()


@pytest.mark.parametrize("decision", DECISIONS)
async def test_an_edit_that_was_saved_before_stays(work: Work, decision: str):
    await work.begun()
    path = work.path / "a.py"
    path.write_text(AGENTS)
    await work.until(lambda: "a.py" in work.rows)
    with slow_disk(path) as go_on:
        began = time.time_ns()
        path.write_text(BOTH)
        work.rounds.saved(str(path), SavedText(since=began))
        DECISIONS[decision](work)
        await asyncio.sleep(0.5)
        go_on.set()
        await work.until(lambda: not work.rows)
    assert path.read_text() == LINES.replace("line 20\n", "mine\n")


async def test_a_disk_that_hangs_holds_up_no_decision_on_another_one(
    work: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(roots, "NOTED", 0.05)
    await work.begun()
    (work.path / "a.py").write_text(AGENTS)
    await work.until(lambda: "a.py" in work.rows)
    elsewhere = tmp_path / "elsewhere.py"
    with slow_disk(elsewhere):
        work.rounds.saved(str(elsewhere))
        work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "undo")
        await work.until(lambda: not work.rows)
    assert (work.path / "a.py").read_text() == LINES
