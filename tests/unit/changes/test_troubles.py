"""What keeps a scan from its end is said, with what to do about it, and is over when a scan ends again."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import threading
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from companion.changes import places, rounds
from companion.changes.change_screen import SavedText
from companion.changes.folder import Folder, trouble_of
from companion.changes.places import PlaceError
from companion.changes.round import Round
from companion.snapshots import copies, git
from companion.snapshots.git import Git, GitError, GitMissingError, GitStoppedError
from companion.snapshots.store_index import StoreIndex

from .folders import committed
from .work import AGENT, LINES, WINDOW, Work


def store_of(work: Work) -> Path:
    return next(path for path in work.stores.iterdir() if path.is_dir())


async def test_a_lock_that_a_killed_git_has_left_does_not_end_the_list(work: Work):
    await work.begun()
    (store_of(work) / "index.lock").write_text("")
    (work.path / "a.py").write_text("agent\n")
    await work.until(lambda: "a.py" in work.rows)
    assert not work.rounds.roots.troubles(WINDOW)
    assert not work.rounds.listing(WINDOW).unsure


async def test_a_full_disk_is_said_until_there_is_space_again(work: Work, monkeypatch: pytest.MonkeyPatch):
    await work.begun()
    real, is_full = Git.run, [True]

    def run(git: Git, *arguments: str, **more: Any) -> bytes:
        if is_full and arguments[0] in {"update-index", "write-tree"}:
            raise GitStoppedError(f"git {arguments[0]}: No space left on device")
        return real(git, *arguments, **more)

    monkeypatch.setattr(Git, "run", run)
    (work.path / "a.py").write_text("agent\n")
    await work.until(lambda: work.rounds.roots.troubles(WINDOW))
    [trouble] = work.rounds.roots.troubles(WINDOW)
    assert "disk of the snapshots is full. Free some space." in trouble
    assert work.rounds.listing(WINDOW).unsure == trouble
    assert [said for said, _ in work.editor.said] == [trouble]
    is_full.clear()
    await work.until(lambda: "a.py" in work.rows)
    await work.until(lambda: not work.rounds.roots.troubles(WINDOW))
    assert work.rounds.listing(WINDOW).unsure == ""


async def test_files_are_copied_in_the_background_and_status_says_what_is_left(
    work: Work, monkeypatch: pytest.MonkeyPatch
):
    os.utime(work.path / "a.py", (1_600_000_000, 1_600_000_000))
    committed(work.path)
    roots = work.rounds.roots
    with monkeypatch.context() as patched:
        patched.setattr(copies, "RESERVE", 1 << 62)
        await work.begun()
        assert roots.copying(WINDOW) == (f"1 file of {work.path}",)
        await work.until(lambda: roots.troubles(WINDOW))
        [trouble] = roots.troubles(WINDOW)
        assert trouble.startswith("Not all files of project are copied for an undo: less than ")
        await work.until(lambda: work.editor.said)
        (work.path / "b.py").write_text("agent\n")
        await work.until(lambda: "b.py" in work.rows)
        assert not work.rounds.listing(WINDOW).unsure
    await work.until(lambda: work.editor.settled == [trouble])
    assert [said for said, _ in work.editor.said] == [trouble]
    assert roots.troubles(WINDOW) == roots.copying(WINDOW) == ()


async def test_all_files_are_copied_though_nobody_looks(work: Work, monkeypatch: pytest.MonkeyPatch):
    os.utime(work.path / "a.py", (1_600_000_000, 1_600_000_000))
    committed(work.path)
    monkeypatch.setattr(rounds, "PAUSE", 3600)
    await work.begun()
    folder = work.known.folders[str(work.path)]
    await work.until(lambda: not folder.left_to_copy)
    entry = folder.round.objects.entry(folder.round.state.base, "a.py")
    assert entry
    assert not await folder.call(folder.round.objects.lacking, [entry.blob])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
async def test_a_pipe_in_a_repository_below_holds_no_look_up_for_long(work: Work, monkeypatch: pytest.MonkeyPatch):
    await work.begun()
    monkeypatch.setattr(git, "SOON", 0.3)
    for name in ("objects", "refs"):
        (work.path / "nested/.git" / name).mkdir(parents=True)
    pipe = work.path / "nested/.git/HEAD"
    assert sys.platform != "win32"
    os.mkfifo(pipe)
    await work.until(lambda: work.rounds.roots.troubles(WINDOW))
    [trouble] = work.rounds.roots.troubles(WINDOW)
    assert "nested/.git/HEAD is a pipe or a device). It is tried again." in trouble
    pipe.unlink()
    (work.path / "a.py").write_text("agent\n")
    await work.until(lambda: "a.py" in work.rows)
    await work.until(lambda: not work.rounds.roots.troubles(WINDOW))


@pytest.mark.skipif(os.name == "nt", reason="paths that Windows lacks")
async def test_a_small_file_of_rules_in_a_deep_folder_fills_nothing_and_is_said(work: Work):
    """Each of its rules gets the path of the folder."""
    rules = work.path / "/".join(["d" * 49] * 20) / ".gitignore"
    rules.parent.mkdir(parents=True)
    rules.write_text("a\n" * 5_000)
    work.rounds.clis(WINDOW, (AGENT,))
    roots = work.rounds.roots
    await work.until(lambda: roots.troubles(WINDOW) or roots.opened(WINDOW))
    [trouble] = roots.troubles(WINDOW)
    assert "its ignore rules take over 4 MB, so shorten the .gitignore files in deep folders." in trouble
    assert not (store_of(work) / "rules").read_bytes()
    rules.write_text("a\n")
    work.rounds.begin(WINDOW)
    await work.until(lambda: not roots.troubles(WINDOW) and roots.opened(WINDOW))


async def test_a_look_that_does_not_end_is_said(work: Work, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(rounds, "LATE", 0.2)
    await work.begun()
    go_on = threading.Event()
    real = Folder.scan

    def hanging(folder: Folder, *args: Any) -> Any:
        go_on.wait(20)
        return real(folder, *args)

    monkeypatch.setattr(Folder, "scan", hanging)
    try:
        await work.until(lambda: work.rounds.roots.troubles(WINDOW))
        assert "doesn't answer" in work.rounds.listing(WINDOW).unsure
    finally:
        go_on.set()
    await work.until(lambda: not work.rounds.roots.troubles(WINDOW))


async def test_a_look_that_does_not_end_keeps_none_of_another_folder_waiting(
    work: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """It alone is said not to end."""
    (slow := tmp_path / "slow").mkdir()
    other = work.path
    work.folders.insert(0, str(slow))
    await work.begun()
    go_on, hangs, real = threading.Event(), threading.Event(), Round.scan

    def hanging(self: Round, *args: Any, **more: Any) -> Any:
        if self.root == str(slow):
            hangs.set()
            go_on.wait(600)
        return real(self, *args, **more)

    monkeypatch.setattr(rounds, "LATE", 2.0)
    monkeypatch.setattr(Round, "scan", hanging)
    try:
        await work.until(hangs.is_set)
        (other / "a.py").write_text("agent\n")
        await work.until(lambda: "a.py" in work.rows)
        await work.until(lambda: work.rounds.roots.troubles(WINDOW))
        (other / "b.py").write_text("agent\n")
        await work.until(lambda: "b.py" in work.rows)
        [trouble] = work.rounds.roots.troubles(WINDOW)
        assert "write in slow has not been listed" in trouble
        async with asyncio.timeout(20):  # the Review shows no file without that
            assert {path for _, path in await work.rounds.turns(WINDOW)} == {"a.py", "b.py"}
    finally:
        go_on.set()
    await work.until(lambda: not work.rounds.roots.troubles(WINDOW))


async def test_a_look_at_the_start_that_fails_is_tried_again(work: Work, monkeypatch: pytest.MonkeyPatch):
    await work.begun()
    work.rounds.close()

    def failing(*_: object, **__: object) -> Any:
        raise GitStoppedError("git diff-files was ended")

    async with Work(work.stores, work.folders) as again:
        with monkeypatch.context() as patched:
            patched.setattr(Round, "scan", failing)
            again.rounds.clis(WINDOW, (AGENT,))
            await again.until(lambda: any("It is tried again." in said for said, _ in again.editor.said))
            await again.until(lambda: not again.known.beginning.locked())
        (work.path / "a.py").write_text("agent\n")
        await again.until(lambda: "a.py" in again.rows)


async def test_a_look_that_waits_for_the_persons_answer_is_not_late(work: Work, monkeypatch: pytest.MonkeyPatch):
    """One that doesn't end after the answer is."""
    monkeypatch.setattr(rounds, "LATE", 1.2)
    await work.begun()
    path, go_on, answered = work.path / "a.py", threading.Event(), asyncio.Event()
    path.write_text(theirs := LINES.replace("line 3\n", "agent\n"))
    await work.until(lambda: "a.py" in work.rows)
    path.write_text(both := LINES.replace("line 3\n", "agent and me\n"))
    work.rounds.saved(str(path), SavedText(theirs, both))
    await work.until(lambda: "with your edit" in work.rows["a.py"].note)

    async def confirm(*_: object) -> bool:
        work.editor.confirmed.append("asked")
        return await answered.wait()

    def hanging(*_: Any) -> None:
        go_on.wait(20)

    monkeypatch.setattr(work.editor, "confirm", confirm)
    work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "undo")
    await work.until(lambda: work.editor.confirmed)
    work.editor.said.clear()  # on a busy machine, a scan before took longer
    for folder in work.known.folders.values():
        folder.trouble = ""
    await asyncio.sleep(2)
    assert (work.editor.said, work.rounds.roots.troubles(WINDOW)) == ([], ())
    monkeypatch.setattr(Folder, "scan", hanging)
    answered.set()
    try:
        await work.until(lambda: work.rounds.roots.troubles(WINDOW))
    finally:
        go_on.set()


async def test_nothing_is_said_to_wait_for_nothing_before_a_look_has_ended(work: Work, monkeypatch: pytest.MonkeyPatch):
    go_on = threading.Event()
    real = Folder.begin

    def slow(folder: Folder, *args: Any, **more: Any) -> Any:
        go_on.wait(20)
        return real(folder, *args, **more)

    monkeypatch.setattr(Folder, "begin", slow)
    try:
        work.rounds.clis(WINDOW, (AGENT,))
        await work.until(lambda: work.rounds.listing(WINDOW).unsure)
        assert "first scan has not ended" in work.rounds.listing(WINDOW).unsure
    finally:
        go_on.set()
    await work.until(lambda: not work.rounds.listing(WINDOW).unsure)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (GitMissingError("Git is not installed"), "Install it, or set"),
        (GitStoppedError("git ls-files: Disk quota exceeded"), "Free some space"),
        (PlaceError("there is no place for snapshots: /x belongs to another user"), "Make their folder writable"),
        (OSError(30, os.strerror(30)), "Make their folder writable"),
        (GitStoppedError("git diff-files: it ended with -9"), "git could not go on"),
        (GitError("git ls-files: fatal: bad index"), "Begin Review Round"),
    ],
)
def test_each_trouble_has_a_sentence_with_a_remedy(tmp_path: Path, error: OSError, words: str):
    assert words in trouble_of(error, str(tmp_path))


def test_a_folder_that_is_gone_is_said(tmp_path: Path):
    assert "is gone" in trouble_of(GitError("git ls-files: fatal"), str(tmp_path / "gone"))


async def test_a_decision_that_has_not_begun_when_the_editor_ends_leaves_nothing(
    work: Work, monkeypatch: pytest.MonkeyPatch
):
    await work.begun()
    (work.path / "a.py").write_text("agent\n")
    await work.until(lambda: "a.py" in work.rows)
    has_come, may_go = threading.Event(), threading.Event()

    def slow(_: Round, paths: Collection[str]) -> dict[str, str]:
        has_come.set()
        may_go.wait()
        return {}

    monkeypatch.setattr(Round, "apart", slow)
    deciding = work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "undo")
    assert deciding
    await asyncio.to_thread(has_come.wait)
    deciding.cancel()
    may_go.set()
    with pytest.raises(asyncio.CancelledError):
        await deciding
    gc.collect()
    assert (work.path / "a.py").read_text() == "agent\n"


async def test_checkpoints_that_had_to_go_are_said_once(work: Work):
    folder = await work.in_turn()
    folder.round.dropped = 2
    (work.path / "a.py").write_text("agent\n")
    await work.until(lambda: work.rows)
    said = ("The snapshots of project became too large: 2 of the oldest checkpoints went.", WINDOW)
    assert work.editor.mentioned.count(said) == 1


@pytest.mark.parametrize("is_removed", [True, False])
async def test_a_round_that_the_person_begins_mends_a_store_that_was_removed_or_damaged(work: Work, is_removed: bool):
    await work.begun()
    folder = work.known.folders[str(work.path)]
    async with folder.lock:
        if is_removed:
            await asyncio.to_thread(places.empty, folder.round.store.path)
        else:
            (store_of(work) / "index").write_bytes(b"no index")
    await work.until(lambda: "Begin Review Round starts anew" in folder.trouble)
    work.rounds.begin(WINDOW)
    await work.until(lambda: not folder.trouble)
    (work.path / "a.py").write_text("agent\n")
    await work.until(lambda: work.rows)


async def test_what_waits_is_still_there_after_a_round_that_could_not_begin(
    work: Work, monkeypatch: pytest.MonkeyPatch
):
    """Whatever git says of the folder: only a damaged store is removed."""
    await work.begun()
    folder = work.known.folders[str(work.path)]
    (work.path / "a.py").write_text("agent\n")
    await work.until(lambda: "a.py" in work.rows)

    def failing(_: StoreIndex) -> None:
        raise GitError("fatal: Stale file handle")

    with monkeypatch.context() as patched:
        patched.setattr(StoreIndex, "survey", failing)
        work.rounds.begin(WINDOW)
        await work.until(lambda: any("Stale file handle" in said for said, _ in work.editor.said))
    await work.until(lambda: not folder.trouble)
    assert "a.py" in work.rows
    work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "undo")
    await work.until(lambda: not work.rows)
    assert (work.path / "a.py").read_text() == LINES
