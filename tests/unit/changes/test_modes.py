"""The permissions of files come back with what was in them, whatever has become of both."""

from __future__ import annotations

import errno
import os
import stat
import sys
from pathlib import Path

import pytest

from companion.changes.state import read_state
from companion.snapshots.files import WriteRefusedError

from .folders import Folder, tree
from .work import LINES

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="files have no permissions there")
AGENTS = LINES.replace("line 3\n", "agent\n").replace("line 20\n", "agent\n")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path)
    for path, mode in (("a.py", 0o644), ("b.py", 0o644), ("secret", 0o600), ("run", 0o755), ("own", 0o700)):
        made.write(path, LINES)
        (made.path / path).chmod(mode)
    made.round.begin()
    return made


def permissions(folder: Folder, path: str) -> int:
    return stat.S_IMODE((folder.path / path).stat().st_mode)


def refused(*_: object) -> None:
    raise PermissionError(errno.EPERM, "Operation not permitted")


def replaced(folder: Folder, path: str, mode: int, text: str = AGENTS) -> None:
    """Write a file as a program does that puts a new one in its place."""
    (folder.path / path).unlink()
    folder.write(path, text)
    (folder.path / path).chmod(mode)


@pytest.mark.parametrize(("path", "mode"), [("secret", 0o644), ("a.py", 0o600), ("run", 0o700), ("own", 0o755)])
def test_a_file_that_an_agent_has_replaced_has_the_permissions_of_its_round_again(folder: Folder, path: str, mode: int):
    before = tree(folder.path)
    replaced(folder, path, mode)
    folder.scan()
    agents = tree(folder.path)
    folder.reopen()
    folder.undo_all_to(before)
    folder.reopen()
    folder.redo()
    assert tree(folder.path) == agents
    assert folder.undo(path) == []
    assert tree(folder.path) == before


def test_the_last_change_of_a_file_takes_the_permissions_back(folder: Folder):
    """Those before leave them as they are."""
    replaced(folder, "secret", 0o644)
    folder.scan()
    first, second = folder.keys("secret")
    assert folder.undo("secret", second) == []
    assert permissions(folder, "secret") == 0o644
    assert folder.undo("secret", first) == []
    assert permissions(folder, "secret") == 0o600


def test_a_deleted_file_comes_back_with_its_permissions_whatever_was_in_its_place(folder: Folder):
    before = tree(folder.path)
    for path in ("secret", "own"):
        (folder.path / path).unlink()
        folder.scan()
        folder.write(path, "another\n")
        (folder.path / path).chmod(0o640)
        folder.scan()
        (folder.path / path).unlink()
        folder.undo_all_to(before)


def test_what_was_kept_has_its_own_permissions(folder: Folder):
    for path in ("a.py", "b.py"):
        replaced(folder, path, 0o600)
    folder.scan()
    folder.keep("a.py")
    folder.keep_all()
    before = tree(folder.path)
    replaced(folder, "a.py", 0o644, "another\n")
    (folder.path / "b.py").unlink()
    folder.undo_all_to(before)


def test_a_created_file_comes_back_with_the_permissions_that_it_had(folder: Folder):
    for path, mode in (("new", 0o600), ("tool", 0o700), ("plain", 0o644)):
        folder.write(path, "new\n")
        (folder.path / path).chmod(mode)
    folder.scan()
    agents = tree(folder.path)
    assert folder.undo_all() == []
    folder.redo()
    assert tree(folder.path) == agents


def test_permissions_of_files_that_cannot_come_back_are_forgotten(folder: Folder):
    """An agent may make and delete any number of temporary files in a round."""

    def appears(path: str) -> None:
        folder.write(path, "new\n")
        (folder.path / path).chmod(0o600)
        folder.scan()

    def goes(path: str) -> None:
        (folder.path / path).unlink()
        folder.scan()

    def left() -> set[str]:
        found = read_state(str(folder.store_path), str(folder.path))
        assert found
        return set(found.modes.left)

    appears("temporary")
    assert left() == {"temporary"}
    goes("temporary")
    assert left() == set()
    appears("undone")
    assert folder.undo("undone") == []
    appears("of a checkpoint")
    folder.checkpoints.add("Qwen Code", "")
    for path in ("of a checkpoint", "temporary"):
        appears(path)
        goes(path)
    assert left() == {"undone", "of a checkpoint"}


def test_a_program_that_is_none_any_more_is_one_again_for_the_same_users(folder: Folder):
    (folder.path / "own").chmod(0o600)
    (folder.path / "secret").chmod(0o755)
    folder.scan()
    assert folder.listed() == {"own": "mode", "secret": "mode"}
    assert folder.undo_all() == []
    assert (permissions(folder, "own"), permissions(folder, "secret")) == (0o700, 0o600)


def test_what_was_undone_in_a_read_only_file_comes_back(folder: Folder):
    """An agent has made it writable first, and undo makes it read-only again."""
    (folder.path / "a.py").chmod(0o444)
    folder.round.begin()
    before = tree(folder.path)
    replaced(folder, "a.py", 0o644)
    folder.scan()
    agents = tree(folder.path)
    folder.undo_all_to(before)
    folder.redo()
    assert tree(folder.path) == agents


def test_a_file_that_is_made_read_only_after_an_undo_is_left_alone(folder: Folder):
    folder.write("a.py", AGENTS)
    folder.scan()
    assert folder.undo_all() == []
    (folder.path / "a.py").chmod(0o444)
    with pytest.raises(WriteRefusedError, match="read-only"):
        folder.redo()
    assert folder.read("a.py").decode() == LINES


def test_a_second_try_to_take_an_undo_back_has_the_permissions_too(folder: Folder, monkeypatch: pytest.MonkeyPatch):
    replaced(folder, "a.py", 0o600)
    folder.scan()
    agents = tree(folder.path)
    assert folder.undo_all() == []
    with monkeypatch.context() as patched:
        patched.setattr("companion.platforms.files.FolderEntry.rename", refused)
        with pytest.raises(WriteRefusedError, match="can't be written"):
            folder.redo()
    folder.redo()
    assert tree(folder.path) == agents


def test_permissions_that_are_right_are_not_set_again(folder: Folder, monkeypatch: pytest.MonkeyPatch):
    """A file of another user, or one on a disk without permissions, can be written and refuses that."""
    folder.write("a.py", AGENTS)
    (folder.path / "b.py").unlink()
    folder.scan()
    writes, _ = folder.undoing.plan(folder.round.waiting())
    folder.write("a.py", LINES)  # as the editor saves it
    with monkeypatch.context() as patched:
        patched.setattr(os, "chmod", refused)
        for write in writes:
            if write.path == "a.py":
                folder.undoing.force(write)
            else:
                folder.undoing.write(write)
    assert folder.undoing.finish(writes) == []
    assert folder.listed() == {}


def test_permissions_that_can_not_be_set_are_told_and_the_text_can_come_back(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
):
    """The editor has saved the file by then."""
    replaced(folder, "secret", 0o644)
    folder.scan()
    writes, _ = folder.undoing.plan(folder.round.waiting())
    folder.write("secret", LINES)
    with monkeypatch.context() as patched:
        patched.setattr(os, "chmod", refused)
        for write in writes:
            folder.undoing.force(write)
    assert folder.undoing.finish(writes) == ["secret"]
    folder.redo()
    assert folder.read("secret").decode() == AGENTS


def test_a_checkpoint_brings_permissions_back(folder: Folder):
    before = tree(folder.path)
    number = folder.checkpoints.add("Qwen Code", "")
    replaced(folder, "secret", 0o644)
    folder.scan()
    writes, base, left = folder.checkpoints.plan(number)
    for write in writes:
        folder.undoing.write(write)
    assert (folder.checkpoints.finish_restore(writes, base), left) == ([], [])
    assert tree(folder.path) == before


def test_a_folder_of_an_agent_in_the_place_of_a_link_is_undone_and_said_to_be(tmp_path: Path):
    """What is behind the link then is in no folder of the root: it was listed as a file that can't be read."""
    folder = Folder(tmp_path)
    folder.write("real/a.txt", "one\n")
    (folder.path / "link").symlink_to("real")
    folder.round.begin()
    before = tree(folder.path)
    (folder.path / "link").unlink()
    folder.write("link/a.txt", "agent\n")
    folder.undo_all_to(before)
