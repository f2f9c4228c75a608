"""What happens in a folder whose round is just being begun, or which is being opened."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from companion.changes.change_screen import SavedText
from companion.changes.folder import Folder
from companion.changes.round import Round

from .folders import committed
from .test_roots import SECOND, Windows
from .work import AGENT, LINES, WINDOW, Work

AGENTS = LINES.replace("line 3\n", "agent\n")
MINE = LINES.replace("line 9\n", "mine\n")


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """A folder with a file, which no window has yet."""
    (found := tmp_path / "other").mkdir()
    (found / "b.py").write_text(LINES)
    (found / "c.py").write_text(LINES)
    return found


async def waits(work: Work, other: Path) -> None:
    """Something waits in the other folder, of which no window is open any longer."""
    async with Work(work.stores, [str(other)]) as before:
        await before.begun()
        (other / "c.py").write_text(AGENTS)
        await before.until(lambda: before.rows)


def save(work: Work, file: Path) -> None:
    """The person changes a line of a file in a tab and saves it."""
    since = time.time_ns()
    file.write_text(MINE)
    work.rounds.saved(str(file), SavedText(LINES, MINE, since=since, until=time.time_ns()))


async def test_a_save_in_a_folder_that_has_just_come_is_the_persons_while_the_others_are_scanned(
    work: Work, other: Path, monkeypatch: pytest.MonkeyPatch
):
    await waits(work, other)
    scans, goes_on, real = threading.Event(), threading.Event(), Folder.scan

    def scan(folder: Folder) -> Any:
        if folder.root == str(work.path):
            scans.set()
            goes_on.wait(20)
        return real(folder)

    async with work:
        await work.begun()
        monkeypatch.setattr(Folder, "scan", scan)
        work.folders.append(str(other))
        work.rounds.opened(WINDOW)
        await work.until(scans.is_set)
        save(work, other / "b.py")
        await asyncio.sleep(0.3)
        goes_on.set()
        await work.until(lambda: "c.py" in work.rows)
        await work.until(lambda: not work.known.beginning.locked())
        work.rounds.scan(WINDOW)
        await asyncio.sleep(1)
        assert work.rows.keys() == {"c.py"}


async def test_a_folder_whose_disk_hangs_holds_up_no_round_of_another_window(
    work: Work, other: Path, monkeypatch: pytest.MonkeyPatch
):
    windows = Windows(work.stores, work.folders)
    windows.of_second = [str(other)]
    answers, real = threading.Event(), Round.begin

    def begin(self: Round, **more: Any) -> list[str]:
        if self.root == str(work.path):
            answers.wait(60)
        return real(self, **more)

    monkeypatch.setattr(Round, "begin", begin)
    async with windows:
        windows.rounds.clis(WINDOW, (AGENT,))
        await asyncio.sleep(0.2)
        windows.rounds.clis(SECOND, (AGENT,))
        try:
            await windows.until(lambda: windows.rounds.roots.folder(str(other)))
        finally:
            answers.set()


async def test_a_folder_whose_disk_hangs_holds_up_no_decision_after_a_save_in_no_folder(
    work: Work, other: Path, monkeypatch: pytest.MonkeyPatch
):
    """Such as one of a file with settings, of which it is known that no window has it."""
    windows = Windows(work.stores, work.folders)
    windows.of_second = [str(other)]
    answers, real = threading.Event(), Round.begin

    def begin(self: Round, **more: Any) -> list[str]:
        if self.root == str(work.path):
            answers.wait(60)
        return real(self, **more)

    monkeypatch.setattr(Round, "begin", begin)
    async with windows:
        windows.rounds.clis(WINDOW, (AGENT,))
        windows.rounds.clis(SECOND, (AGENT,))
        await windows.until(lambda: windows.rounds.roots.folder(str(other)))
        await windows.until(lambda: windows.known.own and windows.known.beginning.locked())
        (elsewhere := work.stores.parent / "settings").write_text("mine\n")
        try:
            windows.rounds.saved(str(elsewhere))
            async with asyncio.timeout(10):
                await windows.rounds.roots.events_noted()
        finally:
            answers.set()


@pytest.mark.parametrize("is_nested", [False, True])
async def test_a_folder_in_which_a_round_begins_is_not_let_go_by_another_window(
    work: Work, other: Path, monkeypatch: pytest.MonkeyPatch, *, is_nested: bool
):
    windows = Windows(work.stores, [str(other)])
    windows.of_second = [str(other)]
    if is_nested:
        (other / "below").mkdir()
        committed(other / "below")
    slow = other / "below" if is_nested else other
    begins, answers, real = threading.Event(), threading.Event(), Round.begin

    def begin(self: Round, **more: Any) -> list[str]:
        if self.root == str(slow):
            begins.set()
            answers.wait(20)
        return real(self, **more)

    monkeypatch.setattr(Round, "begin", begin)
    async with windows:
        windows.rounds.clis(WINDOW, (AGENT,))
        await windows.until(begins.is_set)
        windows.rounds.opened(SECOND)
        await asyncio.sleep(0.3)
        answers.set()
        await windows.until(lambda: not windows.is_beginning)
        (slow / "b.py").write_text(AGENTS)
        await windows.until(lambda: windows.listed(SECOND) == {str(slow / "b.py")})


async def test_all_snapshots_are_forgotten_though_a_folder_is_let_go_meanwhile(work: Work, other: Path):
    windows = Windows(work.stores, work.folders)
    windows.of_second = [str(other)]
    async with windows:
        await windows.open_both()
        async with windows.known.folders[str(work.path)].lock:
            windows.rounds.forget(SECOND)
            await asyncio.sleep(0.1)
            windows.rounds.window_closed(WINDOW)
        await windows.until(lambda: any("Snapshots removed" in said for said, _ in windows.editor.mentioned))
