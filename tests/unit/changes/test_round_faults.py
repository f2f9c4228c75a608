"""What goes wrong around a round: nothing is lost, and what is not done is said."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from companion.changes import places
from companion.changes.journal import Journal
from companion.changes.round import Round
from companion.changes.rows import ChangeRow
from companion.changes.state import RoundState
from companion.changes.undo import Write
from companion.platforms.files import FolderEntry
from companion.snapshots import files
from companion.snapshots.entries import LINK
from companion.snapshots.git import Git, GitError, GitStoppedError
from companion.snapshots.objects import StoreObjects
from companion.snapshots.store import Began, Store

from .folders import tree
from .test_rounds import checked_out
from .work import AGENT, LINES, WINDOW, Work


async def test_a_disk_that_is_full_in_the_middle_of_undo_all_leaves_the_rest_listed(
    work: Work, monkeypatch: pytest.MonkeyPatch
):
    names = [f"{number}.txt" for number in range(6)]
    for name in names:
        (work.path / name).write_text(LINES)
    await work.begun()
    before = tree(work.path)
    for name in names:
        (work.path / name).write_text(LINES.replace("line 3\n", f"agent {name}\n"))
    await work.until(lambda: len(work.rows) == 6)
    written = tree(work.path)
    left = iter(range(3))
    real = FolderEntry.rename

    def full(source: FolderEntry, target: FolderEntry) -> None:
        if target.path.endswith(".txt") and next(left, None) is None:
            raise OSError(28, "No space left on device")
        real(source, target)

    with monkeypatch.context() as patched:
        patched.setattr("companion.platforms.files.FolderEntry.rename", full)
        work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "undo")
        await work.until(lambda: any("No space left" in said for said, _ in work.editor.mentioned))
        await work.until(lambda: len(work.rows) == 3)
    now = tree(work.path)
    assert set(now) == set(before)  # no temporary file is left
    assert all(now[name] in (before[name], written[name]) for name in names)
    assert sum(now[name] == written[name] for name in names) == 3
    assert {name for name in names if now[name] == written[name]} == set(work.rows)
    work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "undo")
    await work.until(lambda: not work.rows)
    assert tree(work.path) == before


async def test_an_undo_that_can_not_be_looked_at_afterwards_can_be_taken_back(
    work: Work, monkeypatch: pytest.MonkeyPatch
):
    """The disk may be full by then, also for the snapshots."""
    await work.begun()
    (work.path / "a.py").write_text("agent\n")
    (work.path / "new.txt").write_text("")
    await work.until(lambda: len(work.rows) == 2)
    scan = Store.scan

    def full(store: Store, *args: Any, **kwargs: Any) -> Any:
        if not (work.path / "new.txt").exists():
            raise GitError("No space left on device")
        return scan(store, *args, **kwargs)

    with monkeypatch.context() as patched:
        patched.setattr(Store, "scan", full)
        work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "undo")
        await work.until(lambda: any("No space left" in said for said, _ in work.editor.mentioned))
    await work.until(lambda: not work.rows)
    assert (work.path / "a.py").read_text() == LINES
    work.decisions.take_back(WINDOW)
    await work.until(lambda: len(work.rows) == 2)
    assert (work.path / "a.py").read_text() == "agent\n"
    assert (work.path / "new.txt").read_text() == ""


@pytest.mark.parametrize("decision", ["undo", "redo", "restore"])
async def test_what_was_left_alone_is_told_also_if_nothing_can_be_looked_at_afterwards(
    work: Work, monkeypatch: pytest.MonkeyPatch, decision: str
):
    (work.path / "b.py").write_text(LINES)
    await work.begun()
    work.rounds.checkpoint(WINDOW, "before")
    folder = work.rounds.roots.opened(WINDOW)[0]
    await work.until(lambda: folder.round.state.checkpoints)
    for name in ("a.py", "b.py"):
        (work.path / name).write_text("agent\n")
    await work.until(lambda: len(work.rows) == 2)
    if decision == "redo":
        work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "undo")
        await work.until(lambda: not work.rows)
    work.editor.buffers[str(work.path / "b.py")] = "typed\n"
    work.editor.unsaved_files.add(str(work.path / "b.py"))
    before, scan = (work.path / "a.py").read_text(), Store.scan

    def full(store: Store, *args: Any, **kwargs: Any) -> Any:
        if (work.path / "a.py").read_text() != before:
            raise GitError("No space left on device")
        return scan(store, *args, **kwargs)

    with monkeypatch.context() as patched:
        patched.setattr(Store, "scan", full)
        if decision == "undo":
            work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "undo")
        elif decision == "redo":
            work.decisions.take_back(WINDOW)
        else:
            *_, point = await work.decisions.points(WINDOW)
            await work.restore(point)
        await work.until(lambda: any("b.py has unsaved edits" in said for said, _ in work.editor.mentioned))
    said = next(text for text, _ in work.editor.mentioned if "b.py has unsaved edits" in text)
    assert "written in 1 file could not be looked at: No space left" in said
    assert (work.path / "a.py").read_text() == ("agent\n" if decision == "redo" else LINES)


@pytest.mark.parametrize("before", [LINES.encode(), bytes(range(256))])
async def test_what_is_typed_while_other_files_are_undone_is_not_replaced(
    work: Work, monkeypatch: pytest.MonkeyPatch, before: bytes
):
    """Also where what was before is no text, which the editor can't be given."""
    (work.path / "a.py").write_bytes(before)
    (work.path / "other.txt").write_text(LINES)
    await work.begun()
    for name in ("a.py", "other.txt"):
        (work.path / name).write_text("agent\n")
    await work.until(lambda: len(work.rows) == 2)
    path = str(work.path / "a.py")
    work.editor.buffers[path] = "agent\n"
    write_all = Journal.write_all

    def typed(journal: Journal, writes: Sequence[Write], is_over: Callable[[], bool]) -> tuple[list[Write], list[str]]:
        work.editor.buffers[path] = "agent\ntyped\n"
        work.editor.unsaved_files.add(path)
        return write_all(journal, writes, is_over)

    monkeypatch.setattr(Journal, "write_all", typed)
    work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "undo")
    await work.until(lambda: any("a.py has unsaved edits" in said for said, _ in work.editor.mentioned))
    assert work.editor.buffers[path] == "agent\ntyped\n"
    assert (work.path / "a.py").read_text() == "agent\n"
    await work.until(lambda: set(work.rows) == {"a.py"})


@pytest.mark.parametrize("decision", ["undo", "redo"])
async def test_what_was_left_alone_is_told_also_if_nothing_can_be_listed_afterwards(
    work: Work, monkeypatch: pytest.MonkeyPatch, decision: str
):
    await work.begun()
    for name in ("a.py", "new.py"):
        (work.path / name).write_text("agent\n")
    await work.until(lambda: len(work.rows) == 2)
    if decision == "redo":
        work.decisions.decide_files(WINDOW, [work.rows["a.py"]], "undo")
        await work.until(lambda: set(work.rows) == {"new.py"})
    work.rounds.clis(WINDOW, ())
    await work.until(lambda: not work.tasks)
    before, run = (work.path / "a.py").read_text(), Git.run

    def gone(git: Git, *arguments: str, **more: Any) -> bytes:
        if (work.path / "a.py").read_text() != before:
            raise GitError("Git is gone")
        return run(git, *arguments, **more)

    with monkeypatch.context() as patched:
        patched.setattr(Git, "run", gone)
        if decision == "undo":
            work.decisions.decide_files(WINDOW, [work.rows["a.py"]], "undo")
        else:
            work.decisions.take_back(WINDOW)
        await work.until(lambda: not work.tasks)
    said = [words for words, _ in work.editor.mentioned]
    assert "What was written in 1 file could not be looked at: Git is gone." in said
    assert (work.path / "a.py").read_text() == ("agent\n" if decision == "redo" else LINES)


async def test_what_is_typed_while_other_tabs_are_undone_is_neither_replaced_nor_saved(
    work: Work, monkeypatch: pytest.MonkeyPatch
):
    (work.path / "b.py").write_text(LINES)
    await work.begun()
    paths = [work.path / "a.py", work.path / "b.py"]
    for path in paths:
        path.write_text("agent\n")
        work.editor.buffers[str(path)] = "agent\n"
    await work.until(lambda: len(work.rows) == 2)
    replace, first = work.editor.replace_buffer, list[str]()

    async def typed(path: str, *args: Any, **more: Any) -> Any:
        saved = await replace(path, *args, **more)
        if not first:
            first.append(path)
            [other] = {*map(str, paths)} - {path}
            work.editor.buffers[other] = "agent\ntyped\n"
            work.editor.unsaved_files.add(other)
        return saved

    monkeypatch.setattr(work.editor, "replace_buffer", typed)
    work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "undo")
    await work.until(lambda: len(work.rows) == 1)
    [name] = work.rows
    assert work.editor.buffers[str(work.path / name)] == "agent\ntyped\n"
    assert (work.path / name).read_text() == "agent\n"
    await work.until(lambda: any(f"{name} has unsaved edits" in said for said, _ in work.editor.mentioned))


async def test_a_file_that_another_program_has_locked_is_left_alone_and_named(
    work: Work, monkeypatch: pytest.MonkeyPatch
):
    (work.path / "locked.txt").write_text(LINES)
    await work.begun()
    for name in ("a.py", "locked.txt"):
        (work.path / name).write_text("agent\n")
    await work.until(lambda: len(work.rows) == 2)
    real = FolderEntry.rename

    def refused(source: FolderEntry, target: FolderEntry) -> None:
        if target.path.endswith("locked.txt"):
            raise PermissionError(13, "The process cannot access the file")
        real(source, target)

    with monkeypatch.context() as patched:
        patched.setattr("companion.platforms.files.FolderEntry.rename", refused)
        work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "undo")
        await work.until(lambda: any("locked.txt can't be written" in said for said, _ in work.editor.mentioned))
        await work.until(lambda: set(work.rows) == {"locked.txt"})
    assert (work.path / "locked.txt").read_text() == "agent\n"
    assert sorted(os.listdir(work.path)) == ["a.py", "locked.txt"]
    work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "undo")
    await work.until(lambda: not work.rows)
    assert (work.path / "locked.txt").read_text() == LINES


async def test_what_an_agent_writes_while_the_editor_undoes_is_not_overwritten(
    work: Work, monkeypatch: pytest.MonkeyPatch
):
    await work.begun()
    path = work.path / "a.py"
    path.write_text("agent\n")
    await work.until(lambda: "a.py" in work.rows)
    work.editor.buffers[str(path)] = "agent\n"
    replace = work.editor.replace_buffer

    async def written_after(*args: Any, **more: Any) -> Any:
        saved = await replace(*args, **more)
        path.write_text("newer\n")
        return saved

    monkeypatch.setattr(work.editor, "replace_buffer", written_after)
    work.decisions.decide_files(WINDOW, [work.rows["a.py"]], "undo")
    await work.until(lambda: any("a.py has changed since" in said for said, _ in work.editor.mentioned))
    assert path.read_text() == "newer\n"
    await work.until(lambda: "a.py" in work.rows)


async def test_two_editors_with_one_root_review_it_each_for_itself(work: Work, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(places, "_is_own", lambda path: False)  # the other one is no instance before a reload
    await work.begun()
    async with Work(work.stores, work.folders) as other:
        await other.begun()
        (work.path / "a.py").write_text("agent\n")
        (work.path / "b.py").write_text("agent\n")
        for each in (work, other):
            await each.until(lambda each=each: set(each.rows) == {"a.py", "b.py"})
        other.decisions.decide_files(WINDOW, [other.rows["b.py"]], "keep")
        await other.until(lambda: set(other.rows) == {"a.py"})
        assert set(work.rows) == {"a.py", "b.py"}
        work.decisions.decide_files(WINDOW, [work.rows["a.py"]], "undo")
        await work.until(lambda: set(work.rows) == {"b.py"})
        await other.until(lambda: not other.rows)
        assert (work.path / "a.py").read_text() == LINES
        assert len([each for each in work.stores.iterdir() if each.is_dir()]) == 2
    (work.path / "c.py").write_text("agent\n")
    await work.until(lambda: set(work.rows) == {"b.py", "c.py"})


@pytest.mark.parametrize("is_damaged", [False, True])
async def test_a_round_in_a_form_that_is_not_known_is_said_to_begin_anew(work: Work, is_damaged: bool):
    """The package may have been upgraded, or gone back to an older one."""
    await work.begun()
    work.rounds.close()
    [state] = work.stores.rglob("round.json")
    state.write_text("{" if is_damaged else json.dumps(json.loads(state.read_text()) | {"version": 1_000}))
    async with Work(work.stores, work.folders) as again:
        await again.begun()
        assert any("were damaged, so new ones are made" in said for said, _ in again.editor.said)
        (work.path / "a.py").write_text("agent\n")
        await again.until(lambda: "a.py" in again.rows)


@pytest.mark.parametrize("lacks", [None, "new_since"])
async def test_a_round_goes_on_in_the_next_run(work: Work, lacks: str | None):
    """Also from before a state had all of its parts: an upgrade adds what a round remembers."""
    await work.begun()
    (work.path / "a.py").write_text("agent\n")
    await work.until(lambda: "a.py" in work.rows)
    work.rounds.close()
    [state] = work.stores.rglob("round.json")
    known = json.loads(state.read_text())
    state.write_text(json.dumps({name: value for name, value in known.items() if name != lacks}))
    async with Work(work.stores, work.folders) as again:
        await again.begun()
        await again.until(lambda: set(again.rows) == {"a.py"})
        again.decisions.decide_files(WINDOW, again.rows_of(WINDOW), "undo")
        await again.until(lambda: not again.rows)
        assert (work.path / "a.py").read_text() == LINES
        assert again.editor.said == []


@pytest.mark.skipif(os.name == "nt", reason="Windows has no descriptors of folders")
@pytest.mark.parametrize(
    "what",
    [
        lambda root: files.write(root, "a/sub/x", "100755", b"undone"),
        lambda root: files.write(root, "a/sub/x", LINK, b"undone"),
        lambda root: files.write(root, "a/sub/new/x", "100644", b"undone", 0o600),
        lambda root: files.set_mode(root, "a/sub/x", "100755"),
        lambda root: files.delete(root, "a/sub/x"),
        lambda root: files.clear_temporaries(root, ["a/sub/x"]),
    ],
    ids=["file", "link", "new folder", "mode", "delete", "temporary files"],
)
@pytest.mark.parametrize("kept", ["x", ".x.01234567.qwen-companion", ""])
def test_nothing_outside_is_touched_whenever_a_folder_becomes_a_link(
    tmp_path: Path, what: Callable[[str], None], kept: str, monkeypatch: pytest.MonkeyPatch
):
    """It becomes one before any of the calls of the system with which something is written or deleted."""
    calls = ("stat", "lstat", "listdir", "open", "mkdir", "symlink", "replace", "chmod", "unlink", "rmdir")
    rename, symlink = os.rename, os.symlink
    for step in range(40):
        root, outside = str(tmp_path / f"{step}"), tmp_path / f"{step}-outside"
        for folder, name in ((Path(root, "a"), "x"), (outside, kept)):
            (folder / "sub").mkdir(parents=True)
            if name:
                (folder / "sub" / name).write_text("old")
        if kept.startswith("."):
            Path(root, "a/sub", kept).write_text("left")
        before, left = tree(outside), iter([False] * step + [True])

        def swapping(real: Callable[..., Any], root: str = root, left: Iterator[bool] = left) -> Callable[..., Any]:
            def call(*args: Any, **more: Any) -> Any:
                if next(left, False):
                    rename(f"{root}/a", f"{root}/b")
                    symlink(f"{root}-outside", f"{root}/a")
                return real(*args, **more)

            return call

        with monkeypatch.context() as patched, contextlib.suppress(OSError):
            for name in calls:
                patched.setattr(os, name, swapping(getattr(os, name)))
            what(root)
        assert tree(outside) == before, step


@pytest.mark.parametrize("failure", [GitError, GitStoppedError])
async def test_what_waits_is_there_though_git_fails_for_a_moment_at_the_start(
    work: Work, monkeypatch: pytest.MonkeyPatch, failure: type[OSError]
):
    """A network drive may say “Stale file handle” once: that is no damage."""
    await work.begun()
    (work.path / "a.py").write_text("agent\n")
    await work.until(lambda: "a.py" in work.rows)
    work.rounds.close()
    real, failures = StoreObjects.blobs, iter(["fatal: Stale file handle"])

    def blobs(objects: StoreObjects, tree: str) -> Mapping[str, str]:
        if why := next(failures, None):
            raise failure(why)
        return real(objects, tree)

    monkeypatch.setattr(StoreObjects, "blobs", blobs)
    async with Work(work.stores, work.folders) as again:
        await again.begun()
        assert next(failures, None) is None
        await again.until(lambda: "a.py" in again.rows)
        assert again.editor.said == []


@pytest.mark.skipif(sys.platform == "win32", reason="it has no such pipes")
async def test_a_damaged_store_is_made_anew_though_not_all_of_it_can_be_read(
    work: Work, monkeypatch: pytest.MonkeyPatch
):
    """A pipe in it would never end, and a file that may not be read says nothing of the disk."""
    assert sys.platform != "win32"
    await work.begun()
    work.rounds.close()
    [state] = work.stores.rglob("round.json")
    state.write_text("{")
    os.mkfifo(state.parent / "pipe")

    def forbidden(path: str) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)

    with monkeypatch.context() as patched:
        patched.setattr(places, "_read", forbidden)
        async with Work(work.stores, work.folders) as again:
            await again.begun()
            assert any("were damaged, so new ones are made" in said for said, _ in again.editor.said)


async def test_what_waits_is_not_removed_with_a_store_whose_disk_fails(work: Work, monkeypatch: pytest.MonkeyPatch):
    """Git says of an object that it can't read that it is missing, and not why."""
    await work.begun()
    (work.path / "a.py").write_text("agent\n")
    await work.until(lambda: "a.py" in work.rows)
    work.rounds.close()

    def missing(_: StoreObjects, tree: str) -> Mapping[str, str]:
        raise GitError(f"fatal: not a tree object: {tree}")

    def failing(path: str) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO), path)

    with monkeypatch.context() as patched:
        patched.setattr(StoreObjects, "blobs", missing)
        patched.setattr(places, "_read", failing)
        async with Work(work.stores, work.folders) as again:
            again.rounds.clis(WINDOW, (AGENT,))
            await again.until(lambda: any("input/output error" in said for said, _ in again.editor.said))
    async with Work(work.stores, work.folders) as again:
        await again.begun()
        await again.until(lambda: "a.py" in again.rows)


async def decide(work: Work, row: ChangeRow, decision: str) -> None:
    match decision:
        case "keep":
            work.decisions.decide_files(WINDOW, [row], "keep")
        case "put off":
            work.decisions.decide_files(WINDOW, [row], "undo")
        case "they are mine":
            work.decisions.they_are_mine(WINDOW)
        case "begin" | "begin, once git has failed":
            work.rounds.begin(WINDOW)
        case "take back":
            work.decisions.take_back(WINDOW)
        case _:
            changes = await work.rounds.file(row.root, row.path)
            assert changes
            await work.decisions.decide_changes(WINDOW, row, "keep", [(changes.changes[0][4], None)])


@pytest.mark.parametrize(
    "decision",
    ["keep", "keep a change", "put off", "they are mine", "begin", "begin, once git has failed", "take back"],
)
async def test_a_decision_that_can_not_be_written_down_is_none(
    work: Work, monkeypatch: pytest.MonkeyPatch, decision: str
):
    if decision == "they are mine":
        await checked_out(work)
    elif decision == "put off":
        await work.in_turn()
    else:
        await work.begun()
    [folder] = work.known.folders.values()
    (work.path / "a.py").chmod(0o600)
    if decision == "they are mine":
        await work.until(lambda: work.editor.said)
    else:
        (work.path / "a.py").write_text(f"agent\n{LINES}agent\n")
    await work.until(lambda: "a.py" in work.rows)
    row = work.rows["a.py"]
    if decision == "take back":
        work.decisions.decide_files(WINDOW, [row], "keep")
        await work.until(lambda: not work.rows)
    rows = work.rows

    def known() -> tuple[object, ...]:
        state = folder.round.state
        return state.began, state.base, [*state.decided], state.going, {**folder.round.store.modes.own}

    before = known()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    failures, real = iter([GitError("it failed")] if "failed" in decision else []), Store.begin

    def begin(*args: Any, **more: Any) -> Began:
        if error := next(failures, None):
            raise error
        return real(*args, **more)

    with monkeypatch.context() as patched:
        patched.setattr(Store, "begin", begin)
        patched.setattr(RoundState, "write", full)
        await decide(work, row, decision)
        said = ("No space left on device.", "the disk of the snapshots is full. Free some space.")
        await work.until(lambda: any(each.endswith(said) for each, _ in work.editor.said))
        assert known() == before
        assert work.rows == rows


async def test_an_undo_that_can_not_be_noted_is_told_as_written(work: Work, monkeypatch: pytest.MonkeyPatch):
    await work.begun()
    (work.path / "a.py").write_text("agent\n")
    await work.until(lambda: work.rows)

    def killed(*_: object) -> None:
        raise GitStoppedError("it was killed")

    with monkeypatch.context() as patched:
        patched.setattr(Round, "operation", killed)
        work.decisions.decide_files(WINDOW, work.rows_of(WINDOW), "undo")
        said = "What was written in 1 file could not be looked at: it was killed.", WINDOW
        await work.until(lambda: said in work.editor.mentioned)
    await work.until(lambda: not work.rows)
    assert (work.path / "a.py").read_text() == LINES
