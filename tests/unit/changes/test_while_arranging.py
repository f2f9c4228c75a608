"""What is decided or saved in the moment in which roots are handed over is decided on what there is afterwards."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from companion.changes import roots
from companion.changes.change_screen import SavedText
from companion.changes.folder import Folder
from companion.changes.rows import ChangeRow
from companion.snapshots.store import Began, Store

from .folders import committed
from .work import AGENT, LINES, WINDOW, Work

AGENTS = LINES.replace("line 3\n", "agent\n").replace("line 20\n", "more\n")
CALLS = 4
"""How often an arrangement of these roots calls a folder's worker."""


def row(work: Work) -> ChangeRow:
    return next(iter(work.rows.values()))


def keys(work: Work) -> list[tuple[str, None]]:
    folder = work.rounds.roots.folders[row(work).root]
    contents = folder.round.contents(row(work).path)
    return [(each.key, None) for each in contents[2].found] if contents else []


DECISIONS: dict[str, tuple[Callable[[Work], object], str]] = {
    "keep all": (lambda work: work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "keep"), AGENTS),
    "undo all": (lambda work: work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "undo"), LINES),
    "keep file": (lambda work: work.decisions.decide_files(WINDOW, [row(work)], "keep"), AGENTS),
    "undo file": (lambda work: work.decisions.decide_files(WINDOW, [row(work)], "undo"), LINES),
    "keep changes": (
        lambda work: work.background(work.decisions.decide_changes(WINDOW, row(work), "keep", keys(work))),
        AGENTS,
    ),
    "undo changes": (
        lambda work: work.background(work.decisions.decide_changes(WINDOW, row(work), "undo", keys(work))),
        LINES,
    ),
}


async def settled(work: Work) -> None:
    """Everything that was begun has ended."""
    while left := [task for task in work.tasks if not task.done() and task is not work.known.watching]:
        await asyncio.gather(*left, return_exceptions=True)


async def arranged(
    work: Work, monkeypatch: pytest.MonkeyPatch, folders: list[str], at: int, given: Callable[[Work], object]
) -> None:
    """The window has other folders. Something is given before a call of a folder's worker in that, or after it."""
    calls = iter(range(1_000))
    call = Folder.call

    async def late(folder: Folder, *args: Any, **more: Any) -> Any:
        number = next(calls)
        if at == 2 * number:
            given(work)
            await asyncio.sleep(0.05)
        result = await call(folder, *args, **more)
        if at == 2 * number + 1:
            given(work)
            await asyncio.sleep(0.05)
        return result

    assert work.known.watching
    work.known.watching.cancel()
    work.folders = folders
    with monkeypatch.context() as patched:
        patched.setattr(Folder, "call", late)
        work.rounds.opened(WINDOW)
        await settled(work)
    assert next(calls) > at // 2, "it has come to that call"


@pytest.fixture
def inner(work: Work) -> Path:
    """A folder in the project, with a file."""
    (work.path / "inner").mkdir()
    (work.path / "inner" / "b.py").write_text(LINES)
    return work.path / "inner"


async def written(work: Work, folders: list[str], file: Path) -> None:
    """An agent has changed two lines of a file in a folder of the window."""
    work.folders = folders
    await work.begun()
    file.write_text(AGENTS)
    await work.until(lambda: work.rows)


@pytest.mark.parametrize("comes", [True, False], ids=["comes", "goes"])
@pytest.mark.parametrize(
    ("decision", "at"),
    [(name, at) for name in DECISIONS for at in (range(2 * CALLS - 2) if "all" in name else (1, 4))],
)
async def test_a_decision_waits_for_the_roots_and_is_not_lost(
    work: Work, inner: Path, monkeypatch: pytest.MonkeyPatch, decision: str, at: int, comes: bool
):
    file, outer, narrow = inner / "b.py", work.folders, [str(inner)]
    given, text = DECISIONS[decision]
    async with work:
        await written(work, narrow if comes else outer, file)
        await arranged(work, monkeypatch, outer if comes else narrow, at, given)
        work.rounds.scan(WINDOW)
        await settled(work)
        assert work.rows == {}
        assert file.read_text() == text
    async with Work(work.stores, outer if comes else narrow) as later:
        await later.begun()
        assert later.rows == {}


@pytest.mark.parametrize("comes", [True, False], ids=["comes", "goes"])
@pytest.mark.parametrize("at", range(2 * CALLS - 2))
@pytest.mark.parametrize("is_known", [True, False], ids=["text", "no text"])
async def test_a_save_in_that_moment_is_the_persons(
    work: Work, inner: Path, monkeypatch: pytest.MonkeyPatch, comes: bool, at: int, is_known: bool
):
    """The editor may not know what was in the tab, and tells of the save after a scan of either root has seen it."""
    file, outer, narrow = inner / "b.py", work.folders, [str(inner)]

    def save(work: Work) -> None:
        since, text = time.time_ns(), f"{AGENTS}mine\n"
        file.write_text(text)
        known = (AGENTS, text) if is_known else (None, None)
        work.rounds.saved(str(file), SavedText(*known, since=since, until=time.time_ns()))

    async with work:
        await written(work, narrow if comes else outer, file)
        await arranged(work, monkeypatch, outer if comes else narrow, at, save)
        work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "undo")
        await settled(work)
        assert file.read_text() == f"{LINES}mine\n"


@pytest.mark.parametrize("comes", [True, False], ids=["comes", "goes"])
async def test_whose_lines_they_are_goes_along(work: Work, inner: Path, monkeypatch: pytest.MonkeyPatch, comes: bool):
    file, outer, narrow = inner / "b.py", work.folders, [str(inner)]
    async with work:
        await written(work, narrow if comes else outer, file)
        file.write_text(AGENTS.replace("agent\n", "agent, and mine\n"))
        work.rounds.saved(str(file))
        await work.until(lambda: row(work).note == "with your edit")
        await arranged(work, monkeypatch, outer if comes else narrow, 0, lambda _: None)
        assert row(work).note == "with your edit"
        work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "undo")
        await settled(work)
        assert file.read_text() == LINES.replace("line 3\n", "line 3\nagent, and mine\n")


def save(work: Work) -> None:
    """The person changes a line of `a.py` in a tab and saves it."""
    mine, since = LINES.replace("line 9\n", "mine\n"), time.time_ns()
    (work.path / "a.py").write_text(mine)
    work.rounds.saved(str(work.path / "a.py"), SavedText(LINES, mine, since=since, until=time.time_ns()))


async def test_a_save_while_what_waits_is_taken_up_at_a_start_is_the_persons(work: Work):
    await work.begun()
    (work.path / "b.py").write_text("agent\n")
    await work.until(lambda: "b.py" in work.rows)
    work.rounds.close()
    again = Work(work.stores, work.folders)
    again.rounds.opened(WINDOW)
    save(again)
    await again.until(lambda: again.rows)
    await settled(again)
    assert again.rows.keys() == {"b.py"}
    again.rounds.close()


@pytest.mark.parametrize("limit", [10.0, 0.1])
async def test_a_save_while_a_round_begins_is_the_persons_however_long_that_takes(
    work: Work, monkeypatch: pytest.MonkeyPatch, limit: float
):
    committed(work.path)
    begin, has_begun = Store.begin, threading.Event()

    def slow(store: Store, *args: Any, **more: Any) -> Began:
        began = begin(store, *args, **more)
        has_begun.set()
        time.sleep(0.5)
        return began

    monkeypatch.setattr(Store, "begin", slow)
    monkeypatch.setattr(roots, "NOTED", limit)
    work.rounds.clis(WINDOW, (AGENT,))
    await work.until(has_begun.is_set)
    save(work)
    await work.until(lambda: (folder := work.rounds.roots.folder(work.folders[0])) and folder.round.state.saves)
    work.rounds.scan(WINDOW)
    await settled(work)
    assert work.rows == {}
