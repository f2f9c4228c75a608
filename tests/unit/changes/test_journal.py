"""An editor that is killed while it writes: the next one finishes it, says so, and leaves no file of its own."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import pytest

from companion.changes.journal import Intent, Journal, StoppedError
from companion.changes.state import RoundState
from companion.changes.undo import Write, files_of
from companion.snapshots.entries import FILE, Entry
from companion.snapshots.files import WriteRefusedError
from companion.snapshots.git import GitStoppedError
from companion.snapshots.objects import StoreObjects

from .folders import Folder as Driven
from .folders import committed, tree
from .killed import SINCE
from .since_work import SinceWork
from .work import AGENT, LINES, WINDOW, Work

BOTH = "an agent's line, with my edit\n"
ROOT = Path(__file__).parents[3]


async def prepare(base: Path, what: str) -> tuple[object, object]:
    """A folder whose agent has written, deleted and renamed files: it before that, and after."""
    project = base / "project"
    (project / "sub").mkdir(parents=True)
    for name in ("a.py", "b.py", "sub/old.py", "gone.py"):
        (project / name).write_text(LINES + name)
    before = tree(project)
    async with Work(base / "stores", [str(project)]) as work:
        await work.begun()
        work.rounds.checkpoint(WINDOW, "go")
        folder = work.known.folders[str(project)]
        await work.until(lambda: folder.round.state.checkpoints)
        (project / "a.py").write_text("agent\n")
        (project / "new").mkdir()
        (project / "new" / "made.py").write_text("agent\n")
        (project / "sub" / "old.py").rename(project / "sub" / "renamed.py")
        (project / "gone.py").unlink()
        (project / "b.py").chmod(0o755)
        await work.until(lambda: len(work.rows) == 5)
        after = tree(project)
        if what == "redo":
            work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "undo")
            await work.until(lambda: not work.rows)
            return after, before
    return before, after


async def finished(base: Path, wanted: object) -> list[str]:
    """Another editor opens the folder: what it says, once everything is as it should be."""
    project = base / "project"
    async with Work(base / "stores", [str(project)]) as work:
        await work.begun()
        assert tree(project) == wanted
        assert not (store_of(base) / "journal.json").exists()
        return [said for said, _ in work.editor.said]


def store_of(base: Path) -> Path:
    return next(path for path in (base / "stores").iterdir() if path.is_dir())


WORDS = {"undo": "The undo of", "redo": "Taking back", "restore": "The restore of"}


@pytest.mark.parametrize("what", WORDS)
async def test_a_kill_at_any_step_is_finished_by_the_next_editor(tmp_path: Path, what: str):
    """A step is a file that is written, moved or deleted, or the journal itself."""
    base, made = tmp_path / "base", tmp_path / "made"
    base.mkdir()
    wanted, start = await prepare(base, what)
    shutil.copytree(base, made, symlinks=True)
    interrupted = 0
    for step in range(40):
        shutil.rmtree(base)
        shutil.copytree(made, base, symlinks=True)
        command = [sys.executable, "-m", "tests.unit.changes.killed", str(base), what, str(step)]
        run = await asyncio.to_thread(subprocess.run, command, cwd=ROOT, check=False, timeout=60, capture_output=True)
        if run.returncode == 0:
            break
        assert run.returncode == 9, run.stderr.decode()
        is_noted = (store_of(base) / "journal.json").exists()
        is_part = tree(base / "project") not in (start, wanted)
        assert is_noted or not is_part
        done = tree(base / "project") == wanted and not is_noted
        said = await finished(base, wanted if is_noted or done else start)
        if is_part:
            interrupted += 1
            # A renamed file is one.
            assert [sentence for sentence in said if f"{WORDS[what]} 5 files was interrupted" in sentence]
    else:
        raise AssertionError("it has no end")
    assert tree(base / "project") == wanted
    assert interrupted > 5


async def test_what_was_undone_in_part_can_be_redone_after_the_next_start(tmp_path: Path):
    _, start = await prepare(tmp_path, "undo")
    command = [sys.executable, "-m", "tests.unit.changes.killed", str(tmp_path), "undo", "7"]
    run = await asyncio.to_thread(subprocess.run, command, cwd=ROOT, check=False, timeout=60, capture_output=True)
    assert run.returncode == 9
    project = tmp_path / "project"
    async with Work(tmp_path / "stores", [str(project)]) as work:
        await work.begun()
        work.decisions.take_back(WINDOW)
        await work.until(lambda: tree(project) == start)
        await work.until(lambda: len(work.rows) == 5)
        assert all(row.agents == (AGENT,) for row in work.rows.values())


async def test_a_file_that_was_changed_after_the_kill_stays_as_it_is(tmp_path: Path):
    await prepare(tmp_path, "undo")
    command = [sys.executable, "-m", "tests.unit.changes.killed", str(tmp_path), "undo", "2"]
    run = await asyncio.to_thread(subprocess.run, command, cwd=ROOT, check=False, timeout=60, capture_output=True)
    assert run.returncode == 9
    project = tmp_path / "project"
    (project / "a.py").write_text("mine, after the kill\n")
    async with Work(tmp_path / "stores", [str(project)]) as work:
        await work.begun()
        assert (project / "a.py").read_text() == "mine, after the kill\n"
        assert (project / "gone.py").exists()
        [said] = [said for said, _ in work.editor.said]
        assert "a.py has changed since" in said


async def prepare_since(base: Path) -> object:
    """A repository in which the agent has changed, deleted and made a file since the commit: it as it is then."""
    project = base / "project"
    project.mkdir()
    for name in ("a.py", "gone.py"):
        (project / name).write_text(LINES)
    committed(project)
    async with Work(base / "stores", [str(project)]) as work:
        await work.begun()
        (project / "a.py").write_text(THREE)
        (project / "gone.py").unlink()
        (project / "made.py").write_text("agent\n")
        await work.until(lambda: len(work.rows) == 3)
    return tree(project)


THREE = LINES.replace("line 3\n", "agent 3\n").replace("line 15\n", "agent 15\n").replace("line 27\n", "agent 27\n")


@pytest.mark.parametrize("name", SINCE)
async def test_a_kill_at_any_step_of_an_undo_since_a_commit_is_finished_and_said_by_the_next_editor(
    tmp_path: Path, name: str
):
    """The file is whole at each step, and what is undone can be taken back."""
    base, made, project = tmp_path / "base", tmp_path / "made", tmp_path / "base" / "project"
    base.mkdir()
    start = await prepare_since(base)
    shutil.copytree(base, made, symlinks=True)
    noted = 0
    for step in range(40):
        base.rename(tmp_path / f"before-{step}")  # a git of who was killed may still write there
        shutil.copytree(made, base, symlinks=True)
        command = [sys.executable, "-m", "tests.unit.changes.killed", str(base), name, str(step)]
        run = await asyncio.to_thread(subprocess.run, command, cwd=ROOT, check=False, timeout=60, capture_output=True)
        assert run.returncode in {0, 9}, run.stderr.decode()
        is_begun = tree(project) != start or (store_of(base) / "journal.json").exists()
        async with Work(base / "stores", [str(project)]) as work:
            await work.begun()
            text = (project / name).read_text() if (project / name).exists() else None
            wanted = {"a.py": LINES.replace("line 27\n", "agent 27\n"), "gone.py": LINES, "made.py": None}[name]
            if not is_begun:
                assert tree(project) == start
                continue
            assert text == wanted
            said = [sentence for sentence, _ in work.editor.said]
            noted += "The undo of 1 file was interrupted when the editor ended. It is finished now." in said
            since = SinceWork(work)
            left = {"a.py": "modified", "gone.py": "deleted", "made.py": "created"}
            assert await since.begin("begin") == {path: left[path] for path in left if path != name or path == "a.py"}
            work.decisions.take_back(WINDOW)
            await work.until(lambda: tree(project) == start)
        if run.returncode == 0:
            break
    else:
        raise AssertionError("it has no end")
    assert noted > 1


@pytest.mark.parametrize("kind", ["person", "restore"])
async def test_what_was_begun_before_a_kill_and_not_written_is_no_decision(
    tmp_path: Path, kind: Literal["person", "restore"]
):
    """One Take Back did nothing then."""
    await prepare_since(tmp_path)
    file = tmp_path / "project" / "a.py"
    async with Work(tmp_path / "stores", [str(file.parent)]) as work:
        await work.begun()
        folder = work.known.folders[work.folders[0]]
        entry = await folder.call(folder.round.objects.entry, folder.round.state.now, "a.py")
        target = Entry(FILE, await folder.call(folder.round.objects.write, LINES.encode()))
        write = Write("a.py", target, entry)
        await folder.call(Journal(folder.round, folder.undo).begin, Intent(kind, [write]))
    file.write_text("mine, after the kill\n")
    async with Work(tmp_path / "stores", [str(file.parent)]) as work:
        await work.begun()
        assert "a.py has changed since" in work.editor.said[0][0]
        assert work.known.folders[work.folders[0]].round.state.decided == []
    assert file.read_text() == "mine, after the kill\n"


class KilledError(BaseException):
    """The editor ends here."""


def with_a_line_of_both(base: Path) -> tuple[Driven, int]:
    """A folder in which the person has edited one of an agent's two lines, and a checkpoint from before that."""
    folder = Driven(base)
    folder.write("a.txt", LINES)
    folder.round.begin()
    number = folder.checkpoints.add(AGENT, "go")
    text = LINES.replace("line 3\n", "an agent's line\n").replace("line 9\n", "another one\n")
    folder.write("a.txt", text)
    folder.scan()
    folder.edit("a.txt", text, text.replace("an agent's line\n", BOTH))
    folder.scan()
    return folder, number


def decide(folder: Driven, what: str, number: int) -> None:
    """Undo everything or go back to the checkpoint, with the journal."""
    journal = Journal(folder.round, folder.undoing)
    if what == "undo":
        intent = Intent("undo", folder.undoing.plan(folder.round.waiting())[0])
    else:
        writes, entries, _ = folder.checkpoints.plan(number)
        intent = Intent("restore", writes, point=number, base=entries)
    journal.begin(intent)
    journal.write_all(intent.writes, lambda: False)
    finish(folder, intent, intent.writes)


def finish(folder: Driven, intent: Intent, writes: Sequence[Write]) -> None:
    if intent.kind == "undo":
        assert folder.undoing.finish(writes) == []
    else:
        assert folder.checkpoints.finish_restore(writes, intent.base, intent.point) == []
    Journal(folder.round, folder.undoing).end()


@pytest.mark.parametrize("what", ["undo", "restore"])
def test_a_kill_while_an_undo_is_noted_leaves_a_line_of_both(
    tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch
):
    real = RoundState.write
    for step in range(20):
        (tmp_path / str(step)).mkdir()
        folder, number = with_a_line_of_both(tmp_path / str(step))
        left = iter(range(step))

        def write(self: RoundState, store: str, left: Iterator[int] = left) -> None:
            if next(left, None) is None:
                raise KilledError
            real(self, store)

        monkeypatch.setattr(RoundState, "write", write)
        is_killed = False
        try:
            decide(folder, what, number)
        except KilledError:
            is_killed = True
        monkeypatch.undo()
        folder.reopen()
        journal = Journal(folder.round, folder.undoing)
        if pending := journal.pending():
            assert journal.sorted_out(pending)[1:] == ([], [])
            finish(folder, pending, pending.writes)
        folder.scan()
        assert folder.undo_all() == []
        assert BOTH in folder.read("a.txt").decode()
        assert "another one" not in folder.read("a.txt").decode()
        if not is_killed:
            break
    else:
        raise AssertionError("it has no end")


@pytest.mark.parametrize("what", ["undo", "restore", "back"])
def test_a_look_that_fails_after_an_undo_leaves_a_line_of_both(
    tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch
):
    folder, number = with_a_line_of_both(tmp_path)
    if what == "back":
        decide(folder, "undo", number)

    def fails(*_: object, **__: object) -> None:
        raise GitStoppedError("killed")

    monkeypatch.setattr(folder.store, "scan", fails)
    with pytest.raises(GitStoppedError):
        folder.redo() if what == "back" else decide(folder, what, number)
    monkeypatch.undo()
    folder.scan()
    assert folder.undo_all() == []
    assert BOTH in folder.read("a.txt").decode()
    assert "another one" not in folder.read("a.txt").decode()


def test_nothing_is_written_that_could_not_be_noted_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = Driven(tmp_path)
    folder.write("a.txt", "one\n")
    folder.round.begin()
    folder.write("a.txt", "agent\n")
    folder.scan()
    journal = Journal(folder.round, folder.undoing)

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(WriteRefusedError, match="No space left"):
        journal.begin(Intent("undo", folder.plan("a.txt")))


@pytest.mark.parametrize("blocked", ["old place", "new place"])
def test_a_rename_is_undone_whole_or_not_at_all(tmp_path: Path, blocked: str, monkeypatch: pytest.MonkeyPatch):
    folder = Driven(tmp_path)
    folder.write("old/a.txt", LINES)
    folder.write("other.txt", "one\n")
    folder.round.begin()
    (folder.path / "new").mkdir()
    (folder.path / "old" / "a.txt").rename(folder.path / "new" / "b.txt")
    folder.write("other.txt", "agent\n")
    folder.scan()
    writes, _ = folder.undoing.plan(folder.round.waiting())
    if blocked == "old place":
        (folder.path / "old").write_text("a file in its place\n") if not (folder.path / "old").exists() else None
        (folder.path / "old" / "a.txt").mkdir()
    else:
        real = folder.undoing.write

        def refused(write: Write) -> None:
            if write.path == "new/b.txt":
                raise WriteRefusedError("new/b.txt can't be deleted: Permission denied")
            real(write)

        monkeypatch.setattr(folder.undoing, "write", refused)
    done, left = Journal(folder.round, folder.undoing).write_all(writes, lambda: False)
    assert [write.path for write in done] == ["other.txt"]
    assert len(left) == 1
    assert (folder.path / "new" / "b.txt").read_text() == LINES
    assert not (folder.path / "old" / "a.txt").is_file()


def test_a_rename_whose_undo_was_interrupted_is_undone_whole_or_not_at_all(tmp_path: Path):
    folder = Driven(tmp_path)
    folder.write("a.txt", LINES)
    folder.write("other.txt", "one\n")
    folder.round.begin()
    (folder.path / "a.txt").rename(folder.path / "b.txt")
    folder.write("other.txt", "agent\n")
    folder.scan()
    intent = Intent("undo", folder.undoing.plan(folder.round.waiting())[0])
    (folder.path / "a.txt").write_text("mine\n")
    done, rest, left = Journal(folder.round, folder.undoing).sorted_out(intent)
    assert (done, [write.path for write in rest], left) == ([], ["other.txt"], ["a.txt has changed since"])


@pytest.mark.parametrize("what", ["back", "restore"])
def test_a_rename_is_taken_back_and_restored_whole_or_not_at_all(tmp_path: Path, what: str):
    folder = Driven(tmp_path)
    folder.write("old/a.txt", LINES)
    folder.write("other.txt", "one\n")
    folder.round.begin()
    number = folder.checkpoints.add(AGENT, "go")
    (folder.path / "new").mkdir()
    (folder.path / "old" / "a.txt").rename(folder.path / "new" / "b.txt")
    folder.write("other.txt", "agent\n")
    folder.scan()
    if what == "back":
        assert folder.undo_all() == []
        writes = folder.plan_back()[1]
        there, gone = "old/a.txt", folder.path / "new" / "b.txt"
    else:
        writes = folder.checkpoints.plan(number)[0]
        there, gone = "new/b.txt", folder.path / "old" / "a.txt"
    assert files_of(writes) == 2
    gone.parent.mkdir(exist_ok=True)
    gone.write_text("mine\n")
    done, left = Journal(folder.round, folder.undoing).write_all(writes, lambda: False)
    assert [write.path for write in done] == ["other.txt"]
    assert left == [f"{gone.relative_to(folder.path).as_posix()} has changed since"]
    assert (folder.read(there).decode(), gone.read_text()) == (LINES, "mine\n")


@pytest.fixture
def set_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Driven:
    """A folder in which one file was undone, another one waits, and the clock was put back since."""
    folder = Driven(tmp_path)
    for name in ("a.txt", "b.txt"):
        folder.write(name, "one\n")
    folder.round.begin()
    for name in ("a.txt", "b.txt"):
        folder.write(name, "agent\n")
    folder.scan()
    assert folder.undo("a.txt") == []
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() - 3600)
    return folder


def test_an_undo_is_finished_though_the_clock_was_put_back_before_it(set_back: Driven):
    folder = set_back
    Journal(folder.round, folder.undoing).begin(Intent("undo", folder.plan("b.txt")))
    folder.reopen()
    pending = Journal(folder.round, folder.undoing).pending()
    assert pending
    assert folder.apply(pending.writes) == []
    folder.reopen()
    assert Journal(folder.round, folder.undoing).pending() is None


def test_the_last_decision_is_taken_back_first_though_the_clock_was_put_back(set_back: Driven):
    folder = set_back
    folder.undo("b.txt")
    folder.redo()
    assert (folder.read("a.txt"), folder.read("b.txt")) == (b"one\n", b"agent\n")


def test_writing_stops_when_the_folder_is_let_go_and_the_rest_stays_noted(tmp_path: Path):
    folder = Driven(tmp_path)
    for number in range(5):
        folder.write(f"{number}.txt", "one\n")
    folder.round.begin()
    for number in range(5):
        folder.write(f"{number}.txt", "agent\n")
    folder.scan()
    writes, _ = folder.undoing.plan(folder.round.waiting())
    journal, asked = Journal(folder.round, folder.undoing), iter([False, False, True])
    journal.begin(Intent("undo", writes))
    with pytest.raises(StoppedError):
        journal.write_all(writes, lambda: next(asked))
    pending = journal.pending()
    assert pending
    done, rest, left = journal.sorted_out(pending)
    assert (len(done), len(rest), left) == (2, 3, [])
    assert [folder.undoing.data(write) for write in rest] == [b"one\n"] * 3


def test_a_part_of_a_file_is_noted_with_its_text(tmp_path: Path):
    """The store has the texts before and after, and not what a partial undo makes of both."""
    folder = Driven(tmp_path)
    folder.write("a.txt", LINES)
    folder.round.begin()
    folder.write("a.txt", LINES.replace("line 3\n", "agent\n").replace("line 20\n", "agent\n"))
    folder.scan()
    writes = folder.plan_change("a.txt", folder.keys("a.txt")[0])
    journal = Journal(folder.round, folder.undoing)
    journal.begin(Intent("undo", writes))
    pending = journal.pending()
    assert pending
    assert [folder.undoing.data(write) for write in pending.writes] == [LINES.replace("line 20\n", "agent\n").encode()]


@pytest.mark.parametrize("text", ["", "{", '{"version": 7}', "[]", '{"version": 1}'])
def test_a_journal_that_cannot_be_read_is_dropped(tmp_path: Path, text: str):
    folder = Driven(tmp_path)
    folder.round.begin()
    path = folder.store_path / "journal.json"
    path.write_text(text)
    assert Journal(folder.round, folder.undoing).pending() is None
    assert not path.exists()


def test_a_journal_stays_while_git_or_its_disk_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """It was dropped, and an undo that had been interrupted was never finished."""
    folder = Driven(tmp_path)
    folder.write("a.txt", "one\n")
    folder.round.begin()
    folder.write("a.txt", "agent\n")
    folder.scan()
    writes, _ = folder.undoing.plan(folder.round.waiting())
    journal = Journal(folder.round, folder.undoing)
    journal.begin(Intent("undo", writes))

    def ended(*_: object, **__: object) -> dict[str, int]:
        raise GitStoppedError("it was ended")

    with monkeypatch.context() as patched:
        patched.setattr(StoreObjects, "sizes", ended)
        with pytest.raises(GitStoppedError):
            journal.pending()
    pending = journal.pending()
    assert pending
    assert [write.path for write in pending.writes] == ["a.txt"]


@pytest.mark.parametrize("what", ["undo", "restore"])
def test_nothing_is_freed_that_is_still_to_be_written(tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch):
    """Files of the baseline may be copied between two writes, and then the store is pruned."""
    folder, number = with_a_line_of_both(tmp_path)
    journal = Journal(folder.round, folder.undoing)
    intent = Intent("undo", folder.undoing.plan(folder.round.waiting())[0])
    if what == "restore":
        writes, base, _ = folder.checkpoints.plan(number)
        intent = Intent("restore", writes, point=number, base=base)
    journal.begin(intent)
    real = folder.store.copies.prune
    monkeypatch.setattr(folder.store.copies, "prune", lambda trees, blobs: real(trees, blobs, grown=0))
    folder.round.prune()
    assert journal.write_all(intent.writes, lambda: False)[1] == []
    finish(folder, intent, intent.writes)
    assert BOTH in folder.read("a.txt").decode()
    contents = folder.round.contents("a.txt")
    assert contents is None or BOTH in contents[0].decode()
