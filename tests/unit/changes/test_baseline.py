"""The baseline's side of a file outlives what an agent makes of that file, and its permissions come back."""

from __future__ import annotations

import stat
import sys
import time
from pathlib import Path

import pytest

from companion.changes.change_screen import SavedText
from companion.review.disk import Encodings
from companion.snapshots.git import GitStoppedError

from .folders import AGENT, Folder, committed, git, tree
from .work import LINES

LARGE = b"x" * (11 * 1024 * 1024)
no_modes = pytest.mark.skipif(sys.platform == "win32", reason="files have no permissions there")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path)
    made.write("a.py", LINES)
    made.write("b.txt", "b\n")
    return made


def permissions(folder: Folder, path: str) -> int:
    return stat.S_IMODE((folder.path / path).stat().st_mode)


def test_a_file_that_has_grown_over_the_limit_goes_back_to_what_it_was(folder: Folder):
    folder.round.begin()
    before = tree(folder.path)
    folder.write("a.py", LARGE)
    folder.scan()
    assert folder.listed() == {"a.py": "large"}
    folder.undo_all_to(before)
    folder.redo()
    assert folder.read("a.py") == LARGE


def test_a_copy_of_a_file_that_has_grown_over_the_limit_is_no_rename_of_it(folder: Folder):
    folder.round.begin()
    before = tree(folder.path)
    folder.write("copy.py", LINES)
    folder.write("a.py", LINES.encode() + LARGE)
    folder.scan()
    assert folder.listed() == {"a.py": "large", "copy.py": "created"}
    folder.undo_all_to(before)


def test_a_file_that_can_be_read_no_longer_has_not_been_created(folder: Folder, monkeypatch: pytest.MonkeyPatch):
    folder.round.begin()
    folder.write("b.txt", "agent\n")
    found = (folder.path / "b.txt").lstat()
    key = found.st_size, found.st_mtime_ns, found.st_ino, found.st_mode
    monkeypatch.setitem(folder.store._failed, "b.txt", key)  # pyright: ignore[reportPrivateUsage]
    folder.scan()
    (row,) = folder.round.rows()
    assert row.kind == "unreadable"
    assert row.before


def test_a_deletion_that_was_seen_on_a_full_disk_is_listed_later(folder: Folder, monkeypatch: pytest.MonkeyPatch):
    folder.round.begin()
    (folder.path / "b.txt").unlink()

    def full(index: str) -> str:
        raise GitStoppedError(f"{index}: No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(folder.store.objects, "write_tree", full)
        with pytest.raises(GitStoppedError):
            folder.scan()
    folder.scan()
    assert folder.listed() == {"b.txt": "deleted"}


@no_modes
@pytest.mark.parametrize("is_repository", [False, True])
def test_a_deleted_file_comes_back_with_the_permissions_of_its_round(folder: Folder, *, is_repository: bool):
    (folder.path / "b.txt").chmod(0o600)
    if is_repository:
        committed(folder.path)
    folder.round.begin()
    (folder.path / "a.py").chmod(0o600)
    (folder.path / "b.txt").chmod(0o640)
    folder.scan()
    folder.round.begin()
    before = tree(folder.path)
    (folder.path / "a.py").unlink()
    (folder.path / "b.txt").unlink()
    folder.undo_all_to(before)


@no_modes
def test_a_deleted_file_does_not_come_back_with_an_agents_permissions(folder: Folder):
    (folder.path / "a.py").chmod(0o644)
    folder.round.begin()
    (folder.path / "a.py").chmod(0o600)
    folder.write("a.py", "agent\n")
    folder.scan()
    (folder.path / "a.py").unlink()
    folder.scan()
    folder.undo_all()
    assert permissions(folder, "a.py") != 0o600


def test_git_is_seen_to_move_the_repository_that_the_folder_is_a_part_of(tmp_path: Path):
    whole = tmp_path / "whole"
    (whole / "part").mkdir(parents=True)
    (whole / "part" / "a.py").write_text(LINES, newline="")
    committed(whole)
    git(whole, "checkout", "-q", "-b", "other")
    (whole / "part" / "a.py").write_text("other\n", newline="")
    git(whole, "commit", "-qam", "other")
    git(whole, "checkout", "-q", "main")
    part = Folder(whole, "part")
    part.store_path = tmp_path / "store"
    part.reopen()
    part.round.begin()
    part.scan()
    git(whole, "checkout", "-q", "other")
    seen = part.round.scan()
    assert (seen.moved_by, seen.by_git) == ("checkout", ("a.py",))
    part.write("a.py", "agent\n")
    part.scan()
    git(whole, "checkout", "-q", "--", "part/a.py")
    assert part.round.scan().by_git == ("a.py",)


def test_a_repository_in_an_ignored_folder_is_left_to_a_round_of_its_own(folder: Folder):
    for path in ("own", "vendor/library", "vendor/of/another", "node_modules/deep/er/library"):
        folder.write(f"{path}/x.txt", "x\n")
        committed(folder.path / path)
    folder.write("vendor/plain/x.txt", "x\n")
    folder.write(".gitignore", "own/\nvendor\nnode_modules\n")
    folder.round.begin()
    assert folder.round.state.nested == ["own", "vendor/library", "vendor/of/another"]
    folder.write("own/x.txt", "agent\n")
    folder.scan()
    assert folder.listed() == {}


@pytest.mark.parametrize(("codec", "encoding"), [("utf-8", ""), ("cp1251", "Cyrillic (Windows 1251)")])
def test_what_an_agent_wrote_just_before_a_save_stays_its_own(folder: Folder, codec: str, encoding: str):
    """No scan has come between: the person had it in their tab, and saved it with an edit."""
    lines = LINES.replace("line", "строка")
    folder.write("a.py", lines.encode(codec))
    folder.round.begin()
    agents = lines.replace("строка 3\n", "агент\n")
    folder.write("a.py", agents.encode(codec))
    folder.write("a.py", agents.replace("строка 20\n", "моё\n").encode(codec))
    folder.note("a.py", SavedText(agents), Encodings(encoding))
    [row] = folder.round.rows()
    assert (row.path, row.inserted, row.deleted, row.agents) == ("a.py", 1, 1, (AGENT,))
    assert folder.undo_all() == []
    assert folder.read("a.py").decode(codec) == lines.replace("строка 20\n", "моё\n")


def test_a_look_between_a_save_and_its_word_changes_nothing_of_that(folder: Folder):
    before = LINES.encode().replace(b"\n", b"\r\n")
    folder.write("a.py", before)
    folder.round.begin()
    agents = LINES.replace("line 3\n", "agent\n").encode().replace(b"\n", b"\r\n")
    folder.write("a.py", agents)
    began = time.time_ns()
    folder.write("a.py", agents.replace(b"line 20\r\n", b"mine\r\n"))
    folder.scan()
    folder.saved("a.py", began, loaded=LINES.replace("line 3\n", "agent\n"))
    assert folder.undo_all() == []
    assert folder.read("a.py") == before.replace(b"line 20\r\n", b"mine\r\n")
