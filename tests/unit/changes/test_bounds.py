"""What a round remembers has a bound: what nothing refers to any more goes, and every answer stays the same."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from companion.changes import moving, state
from companion.changes import round as round_module
from companion.snapshots import copies
from companion.snapshots.entries import LARGE

from .folders import Folder
from .work import LINES


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """A folder with two files, whose saves are old at once."""
    monkeypatch.setattr(state, "LISTED", -1.0)
    made = Folder(tmp_path)
    made.write("a.py", LINES)
    made.write("b.py", "b\n")
    made.round.begin()
    return made


def saved_often(folder: Folder, path: str, often: int = 12) -> None:
    """The person saves a file again and again, each time with one more line."""
    for number in range(often):
        text = folder.read(path).decode()
        folder.edit(path, text, f"{text}{path} {number}\n")


def test_saves_that_no_checkpoint_and_no_decision_is_older_than_are_forgotten(folder: Folder):
    """There was one for each save since the round began, and all of them were written down at each."""
    saved_often(folder, "a.py")
    assert len(folder.round.state.saves) < 3
    assert folder.listed() == {}


def test_the_saves_of_a_file_between_two_checkpoints_are_one(folder: Folder):
    for number in range(3):
        folder.checkpoints.add("Qwen Code", f"turn {number}")
        saved_often(folder, "a.py")
        saved_often(folder, "b.py")
    assert len(folder.round.state.saves) < 10
    folder.reopen()
    assert len(folder.round.state.saves) < 10


def test_a_checkpoint_is_restored_with_all_saves_since_though_they_are_one(folder: Folder):
    folder.write("a.py", LINES.replace("line 3\n", "agent\n"))
    folder.scan()
    number = folder.checkpoints.add("Qwen Code", "turn")
    folder.write("a.py", LINES.replace("line 3\n", "agent\nagain\n"))
    folder.scan()
    saved_often(folder, "a.py")
    writes, base, left = folder.checkpoints.plan(number)
    for write in writes:
        folder.undoing.write(write)
    assert (left, folder.checkpoints.finish_restore(writes, base, number=number)) == ([], [])
    mine = "".join(f"a.py {number}\n" for number in range(12))
    assert folder.read("a.py").decode() == LINES.replace("line 3\n", "agent\n") + mine
    assert folder.undo_all() == []
    assert folder.read("a.py").decode() == LINES + mine


def test_saves_between_which_an_agent_has_written_stay_apart(folder: Folder):
    number = folder.checkpoints.add("Qwen Code", "turn")
    for at in range(4):
        saved_often(folder, "a.py", 3)
        folder.round.saved_at.clear()  # a while later: what is written now is of no formatter
        folder.write("a.py", folder.read("a.py") + b"agent %d\n" % at)
        folder.scan()
    assert 4 <= len(folder.round.state.saves) < 8
    writes, _, left = folder.checkpoints.plan(number)
    (write,) = writes
    assert left == []
    assert b"agent" not in (folder.undoing.data(write) or b"")
    assert (folder.undoing.data(write) or b"").count(b"a.py") == 12


def test_a_keep_is_taken_back_with_all_saves_since_though_they_are_one(folder: Folder):
    folder.write("a.py", LINES.replace("line 3\n", "agent\n"))
    folder.scan()
    folder.keep("a.py")
    saved_often(folder, "a.py")
    assert len(folder.round.state.saves) < 3
    folder.redo()
    assert folder.undo_all() == []
    assert folder.read("a.py").decode() == LINES + "".join(f"a.py {number}\n" for number in range(12))


def test_a_file_that_was_deleted_and_made_anew_is_what_was_saved_last(folder: Folder):
    number = folder.checkpoints.add("Qwen Code", "turn")
    for text in ("one\n", "two\n"):
        (folder.path / "b.py").unlink()
        folder.saves.handled("b.py", is_renamed=False)
        folder.save("b.py", text)
        folder.save("b.py", f"{text}more\n")
    assert len(folder.round.state.saves) < 4
    assert folder.checkpoints.plan(number) == ([], {}, [])


def test_what_was_saved_just_now_is_known_save_by_save(folder: Folder, monkeypatch: pytest.MonkeyPatch):
    """What a list has shown before them may be kept or undone still."""
    monkeypatch.setattr(state, "LISTED", 60.0)
    saved_often(folder, "a.py")
    assert len(folder.round.state.saves) == 12


def undone_large(folder: Folder) -> bytes:
    """An agent has created a large file, which was undone: its text."""
    folder.write("large.bin", text := os.urandom(LARGE + 1))
    folder.scan()
    assert folder.undo_all() == []
    return text


def test_a_large_file_that_was_undone_can_be_taken_back_after_the_store_was_freed(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
):
    """Its text counts for no bound: the checkpoints stay."""
    monkeypatch.setattr(copies.Copies.prune, "__kwdefaults__", {"grown": 0})
    monkeypatch.setattr(round_module, "GROWTH", 0)
    monkeypatch.setattr(copies, "GROWTH", 1_000_000)
    folder.checkpoints.add("Qwen Code", "turn")
    text = undone_large(folder)
    folder.write("a.py", "agent\n")
    folder.scan()
    folder.undo("a.py")
    folder.redo()
    folder.redo()
    assert folder.read("large.bin") == text
    assert folder.round.dropped == 0


def test_a_large_file_that_was_undone_can_be_taken_back_in_the_root_that_took_its_folder_over(tmp_path: Path):
    outer = Folder(tmp_path)
    outer.write("inner/a.py", LINES)
    outer.round.begin()
    inner = Folder(outer.path, "inner")
    inner.store_path.rename(tmp_path / "inner-store")
    inner.store_path = tmp_path / "inner-store"
    inner.reopen()
    inner.round.begin()
    text = undone_large(inner)
    moving.take_over(outer.round, moving.handed_over(inner.round, str(outer.path)))
    outer.redo()
    assert outer.read("inner/large.bin") == text
