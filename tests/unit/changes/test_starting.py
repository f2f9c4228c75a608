"""What waits is taken up at a start, or it is said why not."""

from __future__ import annotations

import asyncio
import shutil
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from companion.changes import folder as folders
from companion.changes import roots, rounds
from companion.changes.change_screen import SavedText
from companion.changes.journal import Journal, StoppedError
from companion.changes.round import Round
from companion.changes.state import Decision
from companion.changes.undo import Write
from companion.platforms.paths import real_path
from companion.snapshots.git import GitMissingError
from companion.snapshots.store import Store, TooLargeError

from .folders import committed
from .work import AGENT, LINES, WINDOW, Work

AGENTS = LINES.replace("line 3\n", "agent\n")


async def repository_below(work: Work) -> Path:
    """A repository in which a file waits, in a folder in which nothing does."""
    inner = work.path / "lib"
    inner.mkdir()
    (inner / "b.py").write_text(LINES)
    committed(inner)
    await work.begun()
    (inner / "b.py").write_text(AGENTS)
    await work.until(lambda: set(work.rows) == {"b.py"})
    return inner


async def test_what_waits_in_a_repository_below_a_folder_in_which_nothing_waits_is_there(work: Work):
    await repository_below(work)
    work.rounds.close()
    async with Work(work.stores, work.folders) as again:
        again.rounds.opened(WINDOW)
        await again.until(lambda: set(again.rows) == {"b.py"})
        await again.begun()
        await again.until(lambda: set(again.rows) == {"b.py"})


@pytest.mark.parametrize("outer", [False, True])
async def test_an_undo_that_was_killed_is_finished_though_the_folder_is_in_another_one_now(
    work: Work, outer: bool, monkeypatch: pytest.MonkeyPatch
):
    below = work.path / "below"
    below.mkdir()
    for name in "abc":
        (below / name).write_text(LINES)
    real, written = Journal._write, list[Write]()

    def killed(journal: Journal, parts: Sequence[Write]) -> None:
        if written:
            (below / f".{parts[0].path}.0123abcd.qwen-companion").write_text("half")
            inside.rounds.close()
            raise StoppedError("killed")
        written.extend(parts)
        real(journal, parts)

    async with Work(work.stores, [str(below)]) as inside:
        await inside.begun()
        for name in "abc":
            (below / name).write_text(AGENTS)
        await inside.until(lambda: len(inside.rows) == 3)
        monkeypatch.setattr(Journal, "_write", killed)
        task = inside.decisions.decide_files(WINDOW, inside.rows_of(WINDOW), "undo")
        assert task
        await asyncio.wait([task])
        inside.errors.clear()
    monkeypatch.setattr(Journal, "_write", real)
    assert sorted(each.read_text() == LINES for each in below.glob("[abc]")) == [False, False, True]
    async with Work(work.stores, work.folders if outer else [str(below)]) as again:
        again.rounds.opened(WINDOW)
        await again.until(lambda: any("It is finished now" in said for said, _ in again.editor.said))
        assert {each.name: each.read_text() for each in below.iterdir()} == dict.fromkeys("abc", LINES)


@pytest.mark.parametrize(("error", "said"), [(GitMissingError("no Git"), "no Git"), (OSError("No space left"), "full")])
async def test_nobody_says_that_nothing_waits_if_it_could_not_be_taken_up(
    work: Work, error: OSError, said: str, monkeypatch: pytest.MonkeyPatch
):
    await work.begun()
    (work.path / "a.py").write_text(AGENTS)
    await work.until(lambda: work.rows)
    work.rounds.close()

    def fails(*_: object, **__: object) -> Any:
        raise error

    if isinstance(error, GitMissingError):
        monkeypatch.setattr(folders, "program", fails)
    else:
        monkeypatch.setattr(Store, "scan", fails)
    async with Work(work.stores, work.folders) as again:
        again.rounds.opened(WINDOW)
        await again.until(lambda: again.editor.said)
        assert said in again.editor.said[0][0]
        assert again.rounds.listing(WINDOW).unsure == again.editor.said[0][0]


def is_too_large(*_: object, **__: object) -> Any:
    raise TooLargeError(100_000, 1)


@pytest.mark.parametrize("is_at_work", [False, True])
async def test_what_waits_in_a_folder_that_is_too_large_for_another_round_is_there_again(
    work: Work, is_at_work: bool, monkeypatch: pytest.MonkeyPatch
):
    async with work:
        await work.begun()
        (work.path / "a.py").write_text(AGENTS)
        await work.until(lambda: work.rows)
        monkeypatch.setattr(Store, "begin", is_too_large)
        work.rounds.begin(WINDOW)
        await work.until(lambda: work.editor.said)
        work.rounds.window_closed(WINDOW)
        if is_at_work:
            work.rounds.clis(WINDOW, (AGENT,))
        work.rounds.opened(WINDOW)
        await work.until(lambda: set(work.rows) == {"a.py"})


async def test_that_a_folder_is_too_large_is_known_still_when_its_window_is_opened_again(
    work: Work, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(Store, "begin", is_too_large)
    async with work:
        work.rounds.clis(WINDOW, (AGENT,))
        await work.until(lambda: work.editor.said)
        [(said, _)] = work.editor.said
        work.rounds.window_closed(WINDOW)
        work.rounds.clis(WINDOW, (AGENT,))
        await work.until(lambda: work.rounds.listing(WINDOW).unsure == said)
        assert work.rounds.roots.troubles(WINDOW) == (said,)
        assert len(work.editor.said) == 1


async def test_what_is_written_while_an_outer_folder_gets_its_baseline_is_said(
    work: Work, monkeypatch: pytest.MonkeyPatch
):
    below = work.path / "below"
    below.mkdir()
    (below / "b.py").write_text(LINES)
    (work.path / "a.py").write_text(LINES)
    real = Store._seen

    def seen(store: Store, listing: Any, **more: Any) -> Any:
        if more.get("since") and store.root == str(work.path):
            (work.path / "a.py").write_text(AGENTS)
            listing.untracked = {*listing.untracked, "a.py"}
        return real(store, listing, **more)

    monkeypatch.setattr(Store, "_seen", seen)
    async with Work(work.stores, [str(below)]) as inside:
        await inside.begun()
        inside.folders[:] = work.folders
        inside.rounds.opened(WINDOW)
        await inside.until(lambda: any("so not listed: a.py" in said for said, _ in inside.editor.said))


@pytest.mark.parametrize("what", ["keep", "undo"])
async def test_a_file_of_a_repository_below_is_decided_there_alone(work: Work, what: Decision):
    """The outer folder has no row of it, and nothing is said of that."""
    inner = await repository_below(work)
    task = work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), what)
    assert task
    await task
    await work.until(lambda: not work.rows)
    assert (inner / "b.py").read_text() == (AGENTS if what == "keep" else LINES)
    assert work.editor.mentioned == []


async def test_a_folder_whose_disk_hangs_holds_up_neither_the_baseline_of_another_one_nor_its_list(
    work: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (slow := tmp_path / "a slow one").mkdir()
    work.folders.append(str(slow))
    answers, real = threading.Event(), Round.begin

    def begin(self: Round, **more: Any) -> list[str]:
        if self.root == str(slow):
            answers.wait(600)
        return real(self, **more)

    monkeypatch.setattr(roots, "LONG", 0.05)
    monkeypatch.setattr(Round, "begin", begin)
    work.rounds.clis(WINDOW, (AGENT,))
    try:
        await work.until(lambda: work.rounds.roots.folder(str(work.path)))
        (work.path / "a.py").write_text("agent\n")
        await work.until(lambda: "a.py" in work.rows)
    finally:
        answers.set()
    await work.until(lambda: work.rounds.roots.folder(str(slow)))


async def test_a_folder_whose_disk_hangs_can_be_removed_and_keeps_no_decision_waiting(
    work: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (slow := tmp_path / "slow").mkdir()
    work.folders.append(str(slow))
    hangs, answers, real = threading.Event(), threading.Event(), Round.scan

    def scan(self: Round, *args: Any, **more: Any) -> Any:
        if self.root == str(slow):
            hangs.set()
            answers.wait(600)
        return real(self, *args, **more)

    await work.begun()
    (work.path / "a.py").write_text(AGENTS)
    await work.until(lambda: "a.py" in work.rows)
    monkeypatch.setattr(rounds, "LATE", 1.0)
    monkeypatch.setattr(Round, "scan", scan)
    await work.until(hangs.is_set)
    work.folders.pop()
    work.rounds.opened(WINDOW)
    try:
        await work.until(lambda: str(slow) not in work.rounds.roots.folders)
        told = [said for said, _ in work.editor.said if "write in slow" in said]
        work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "undo")
        await work.until(lambda: (work.path / "a.py").read_text() == LINES)
        await asyncio.sleep(1.5)
        late = [said for said, _ in work.editor.said if "write in slow" in said]
        assert late == told, "nobody is told any more that it is late"
    finally:
        answers.set()


async def test_a_save_right_before_its_folder_is_removed_is_the_persons(
    work: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (other := tmp_path / "other").mkdir()
    work.folders.append(str(other))
    (other / "b.py").write_text(LINES)
    (other / "c.py").write_text(LINES)

    def late(path: str) -> str:
        time.sleep(0.3)
        return real_path(path)

    async with work:
        await work.begun()
        (other / "c.py").write_text(AGENTS)
        await work.until(lambda: "c.py" in work.rows)
        monkeypatch.setattr(roots, "real_path", late)
        since = time.time_ns()
        (other / "b.py").write_text(AGENTS)
        work.rounds.saved(str(other / "b.py"), SavedText(LINES, AGENTS, since=since, until=time.time_ns()))
        work.folders.pop()
        work.rounds.opened(WINDOW)
        await work.until(lambda: str(other) not in work.rounds.roots.folders)
        await asyncio.sleep(0.5)
        work.folders.append(str(other))
        work.rounds.opened(WINDOW)
        await work.until(lambda: "c.py" in work.rows)
        assert set(work.rows) == {"c.py"}


@pytest.mark.parametrize("is_removed", [True, False], ids=["removed", "off"])
async def test_what_waits_is_listed_no_longer_where_nothing_is_reviewed_any_more(work: Work, is_removed: bool):
    await work.begun()
    (work.path / "a.py").write_text(AGENTS)
    await work.until(lambda: "a.py" in work.rows)
    work.rounds.clis(WINDOW, ())
    await work.until(lambda: work.known.watching and work.known.watching.done())
    if is_removed:
        work.folders.clear()
    else:
        work.settings = replace(work.settings, review="off")
    work.rounds.opened(WINDOW)
    await work.until(lambda: not work.rows)


async def test_a_folder_with_what_was_a_repository_below_is_opened(work: Work, tmp_path: Path):
    """That has its store still, and nobody waits until it lets go of it."""
    (project := tmp_path / "outer" / "project").mkdir(parents=True)
    work.folders[:] = [str(project)]
    inner = await repository_below(work)
    shutil.rmtree(inner / ".git")
    work.folders[:] = [str(project.parent)]
    work.rounds.opened(WINDOW)
    await work.until(lambda: work.rounds.roots.folder(str(project.parent)))
    task = work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "undo")
    assert task
    await task
    await work.until(lambda: not work.rows)
    assert (inner / "b.py").read_text() == LINES
