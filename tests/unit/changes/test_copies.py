"""The store has copies of its own, each checked, and nothing that a round doesn't need."""

from __future__ import annotations

import hashlib
import ntpath
import os
import re
import shutil
import subprocess
import sys
import time
import zlib
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from companion.changes import round as round_module
from companion.changes.journal import Intent, Journal
from companion.snapshots import copies, files, project, store
from companion.snapshots.entries import LARGE
from companion.snapshots.files import WriteRefusedError, blob_id
from companion.snapshots.git import Git, GitStoppedError
from companion.snapshots.objects import EMPTY_TREE, StoreObjects
from companion.snapshots.project import replaced_rules
from companion.snapshots.store_index import StoreIndex

from .folders import Folder, committed, git, tree

SECRET = b"password-of-the-test"
OLD = 1_600_000_000


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """A repository with one commit, whose files are old enough for its index to know them."""
    made = Folder(tmp_path, excludes=lambda path: path.endswith(".env"))
    for name in ("a.txt", "b.txt", "sub/c.txt"):
        made.write(name, f"{name}\n" * 100)
        os.utime(made.path / name, (OLD, OLD))
    committed(made.path)
    return made


def commit_large(folder: Folder) -> None:
    """Commit a file that is too large to be copied, for the person alone."""
    folder.write("data.bin", os.urandom(LARGE + 1))
    (folder.path / "data.bin").chmod(0o600)
    os.utime(folder.path / "data.bin", (OLD, OLD))
    git(folder.path, "add", "data.bin")
    git(folder.path, "commit", "-q", "-m", "large")


def contents(folder: Folder) -> bytes:
    """All that is in the store."""
    command = ["git", "cat-file", "--batch", "--batch-all-objects", "--unordered"]
    shown = {**os.environ, "GIT_DIR": str(folder.store_path)}
    return subprocess.run(command, env=shown, capture_output=True, check=True).stdout


def test_all_of_many_contents_are_copied(tmp_path: Path):
    """They are compressed by two processes."""
    folder = Folder(tmp_path)
    for number in range(7):
        folder.write(f"{number}.txt", f"{number}\n" * 200_000)
    committed(folder.path)
    folder.round.begin()
    assert folder.store.copies.more(60) == 0
    entries = folder.store.objects.blobs(folder.round.state.base.tree)
    assert len(folder.store.objects.read(entries.values())) == 7


def test_nothing_is_linked_and_nothing_of_the_history_or_of_what_is_excluded_is_copied(folder: Folder):
    for name, data in ((".env", SECRET), ("gone.txt", SECRET)):
        folder.write(name, data)
    committed(folder.path)
    git(folder.path, "rm", "-q", "--cached", ".env")
    git(folder.path, "rm", "-q", "gone.txt")
    git(folder.path, "commit", "-q", "-m", "purge")
    git(folder.path, "gc", "-q")
    folder.begin_copied()
    assert SECRET not in contents(folder)
    assert not (folder.store_path / "objects/info/alternates").exists()
    files = [path.stat() for path in folder.store_path.rglob("*") if path.is_file()]
    assert {found.st_nlink for found in files} == {1}


def test_a_file_that_is_changed_before_it_is_copied_is_undone_from_the_repository(folder: Folder):
    folder.round.begin()
    before = tree(folder.path)
    assert folder.store.copies.left == 3
    folder.write("a.txt", "agent\n")
    (folder.path / "sub/c.txt").unlink()
    folder.undo_all_to(before)


@pytest.mark.skipif(os.name == "nt", reason="names and permissions that Windows lacks")
def test_a_round_begins_with_one_file_for_all_folders(folder: Folder):
    names = ("a", "a-b", "a.b/x", "a0/y", "é/\udcff", "sub/deep/er/z", "sub.x", "sub-/w")
    for name in names:
        folder.write(f"in/{name}", name.encode("utf-8", "surrogateescape"))
        os.utime(folder.path / f"in/{name}", (OLD, OLD))
    (folder.path / "in/a-b").chmod(0o755)
    os.symlink("a", folder.path / "in/link")
    os.utime(folder.path / "in/link", (OLD, OLD), follow_symlinks=False)
    committed(folder.path)
    folder.round.begin()
    # Git would write each tree that is not in the pack to the byte.
    loose = {path.parent.name + path.name for path in (folder.store_path / "objects").glob("[0-9a-f][0-9a-f]/*")}
    assert loose <= {EMPTY_TREE}
    assert folder.store.copies.left == len(names) + 4
    before = tree(folder.path)
    folder.write("in/a0/y", "agent\n")
    folder.undo_all_to(before)


def test_a_name_in_the_index_is_never_read_as_another_line(folder: Folder):
    forged = f"H 100644 {'b' * 40} 0\tevil"
    git(folder.path, "update-index", "--add", "--cacheinfo", f"160000,{'c' * 40},{forged}")
    shutil.copy2(folder.path / ".git/index", folder.store_path / "own.index")
    found = folder.store.index.survey("own.index")
    assert found.names == ["a.txt", "b.txt", "sub/c.txt"]
    assert not found.rest


def test_what_nobody_has_is_listed_and_has_no_undo(folder: Folder):
    folder.round.begin()
    shutil.rmtree(folder.path / ".git")
    folder.write("a.txt", "agent\n")
    folder.scan()
    for _ in range(2):
        (row,) = folder.round.rows()
        assert (row.path, row.kind, row.note) == ("a.txt", "unsaved", "its old text was not saved")
        (refused,) = folder.undo_all()
        assert refused == "a.txt was changed before it was copied: its old text was not saved"
        assert folder.read("a.txt") == b"agent\n"
        assert folder.store.copies.more(60) == 0
        folder.reopen()
    folder.keep("a.txt")
    assert folder.listed() == {}


@pytest.mark.parametrize("is_loaded", [True, False])
def test_a_file_that_nobody_has_stays_the_persons_when_they_save_it(folder: Folder, is_loaded: bool):
    loaded = folder.read("a.txt").decode()
    folder.round.begin()
    shutil.rmtree(folder.path / ".git")
    if is_loaded:
        folder.edit("a.txt", loaded, f"{loaded}mine\n")
    else:
        folder.save("a.txt", f"{loaded}mine\n")
    assert folder.listed() == {}
    folder.round.saved_at.clear()
    folder.write("a.txt", f"{loaded}mine\nagent\n")
    folder.scan()
    assert folder.undo_all() == []
    assert folder.read("a.txt").decode() == f"{loaded}mine\n"


def test_what_a_tab_has_of_a_file_that_nobody_has_is_saved_with_it(folder: Folder):
    loaded = folder.read("a.txt").decode()
    folder.round.begin()
    shutil.rmtree(folder.path / ".git")
    folder.write("a.txt", f"{loaded}agent\n")
    folder.scan()
    folder.edit("a.txt", loaded, f"mine\n{loaded}", found=f"{loaded}agent\n".encode())
    assert folder.listed() == {}
    assert folder.read("a.txt").decode() == f"mine\n{loaded}"


def test_a_large_file_that_the_person_cuts_down_is_theirs(folder: Folder):
    folder.write("large.txt", loaded := "large\n" + "a" * LARGE)
    folder.begin_copied()
    folder.edit("large.txt", loaded, "large\nmine\n")
    assert folder.listed() == {}


def test_a_file_that_is_renamed_before_it_is_copied_stops_no_list(folder: Folder):
    folder.round.begin()
    shutil.rmtree(folder.path / ".git")
    (folder.path / "a.txt").unlink()
    folder.write("d.txt", "a.txt\n" * 99)
    folder.scan()
    assert folder.listed() == {"a.txt": "unsaved", "d.txt": "created"}


def test_copies_go_on_after_a_restart(folder: Folder):
    folder.round.begin()
    folder.reopen()
    assert folder.store.copies.left == 3
    assert folder.store.copies.more(60) == 0
    shutil.rmtree(folder.path / ".git")
    before = tree(folder.path)
    folder.write("a.txt", "agent\n")
    folder.undo_all_to(before)
    folder.reopen()
    assert folder.store.copies.left == 0


def test_one_copy_is_enough_for_files_of_the_same_content(folder: Folder):
    folder.write("copy.txt", folder.read("a.txt"))
    os.utime(folder.path / "copy.txt", (OLD, OLD))
    committed(folder.path)
    folder.round.begin()
    shutil.rmtree(folder.path / ".git")
    before = tree(folder.path)
    folder.write("a.txt", "agent\n")
    folder.undo_all_to(before)


def test_an_index_that_lies_does_not_decide_what_an_undo_writes(folder: Folder):
    lie(folder, "a.txt")
    before = tree(folder.path)
    folder.begin_copied()
    folder.scan()
    assert folder.listed() == {}
    folder.write("a.txt", "agent\n")
    folder.undo_all_to(before)


def test_a_damaged_copy_is_not_written(folder: Folder):
    folder.write("new.txt", "new\n")
    folder.begin_copied()
    forged = folder.store.objects.write(b"forged\n")
    true = blob_id(b"new\n")
    objects = folder.store_path / "objects"
    there = objects / true[:2] / true[2:]
    there.chmod(0o600)
    there.write_bytes((objects / forged[:2] / forged[2:]).read_bytes())
    folder.write("new.txt", "agent\n")
    folder.scan()
    (refused,) = folder.undo_all()
    assert refused == "the copy of what new.txt was before is damaged"
    assert folder.read("new.txt") == b"agent\n"
    folder.write("a.txt", "agent\n")
    folder.scan()
    journal = Journal(folder.round, folder.undoing)
    journal.begin(Intent("undo", folder.undoing.plan(folder.round.waiting())[0]))
    # The editor is killed here: one damaged copy keeps nothing else from being finished.
    pending = journal.pending()
    assert pending
    done, refused = journal.write_all(pending.writes, lambda: False)
    assert [write.path for write in done] == ["a.txt"]
    assert refused == ["the copy of what new.txt was before is damaged"]


@pytest.mark.parametrize("where", [".gitignore", ".git/info/exclude"])
def test_tracked_files_that_an_ignore_rule_matches_are_listed(folder: Folder, where: str):
    (folder.path / ".git/info").mkdir(exist_ok=True)
    folder.write(where, "*\n")
    before = tree(folder.path)
    folder.round.begin()
    folder.write("a.txt", "agent\n")
    folder.write("hidden.txt", "as git hides it\n")
    (folder.path / "b.txt").unlink()
    folder.scan()
    assert folder.listed() == {"a.txt": "modified", "b.txt": "deleted"}
    folder.write("b.txt", "agent\n")
    folder.reopen()
    folder.scan()
    assert folder.listed() == {"a.txt": "modified", "b.txt": "modified"}
    (folder.path / "hidden.txt").unlink()
    folder.undo_all_to(before)


@pytest.mark.parametrize("kind", ["large", "excluded"])
def test_a_tracked_file_that_is_not_copied_is_listed_though_an_ignore_rule_matches_it(folder: Folder, kind: str):
    name = "data.bin" if kind == "large" else "sub/.env"
    data = os.urandom(LARGE + 1) if kind == "large" else SECRET, b"0" * (LARGE + 1)
    folder.write(name, data[0])
    os.utime(folder.path / name, (OLD, OLD))
    folder.write(".gitignore", "*.bin\n.env\n")
    git(folder.path, "add", "-f", name, ".gitignore")
    git(folder.path, "commit", "-q", "-m", "both")
    folder.begin_copied()
    for _ in range(2):
        folder.scan()
        folder.scan()
        assert folder.listed() == {}
        folder.reopen()
    assert folder.store.copies.size() < LARGE // 10
    folder.write(name, data[1])
    for _ in range(2):
        folder.scan()
        assert folder.listed() == {name: kind}
    (folder.path / name).unlink()
    folder.scan()
    folder.write(name, data[1] * 2)
    folder.scan()
    assert folder.listed() == {name: kind}


def test_a_file_that_an_ignore_rule_matches_is_listed_when_it_has_grown_over_the_limit(folder: Folder):
    folder.write(".gitignore", "a.txt\n")
    before = tree(folder.path)
    folder.begin_copied()
    folder.write("a.txt", b"x" * (LARGE + 1))
    for _ in range(2):
        folder.scan()
        assert folder.listed() == {"a.txt": "large"}
    folder.write("a.txt", "agent\n")
    folder.undo_all_to(before)


def test_a_large_file_of_git_is_not_copied_and_undone_with_its_permissions(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(store, "_SAMPLE", 1)
    commit_large(folder)
    before = tree(folder.path)
    folder.begin_copied()
    folder.scan()
    folder.scan()
    assert folder.listed() == {}
    assert folder.store.copies.size() < LARGE // 10
    folder.write("data.bin", b"0" * (LARGE + 1))
    folder.undo_all_to(before)


def test_a_large_file_of_git_is_not_copied_when_a_restore_is_only_planned(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(store, "_SAMPLE", 1)
    commit_large(folder)
    before = tree(folder.path)
    folder.begin_copied()
    folder.scan()
    number = folder.checkpoints.add("agent", "make it better")
    folder.write("data.bin", b"0" * (LARGE + 1))
    folder.scan()
    folder.checkpoints.plan(number)
    writes, base, left = folder.checkpoints.plan(number)
    assert ([write.path for write in writes], left) == (["data.bin"], [])
    assert folder.store.copies.size() < LARGE // 10
    for write in writes:
        folder.undoing.write(write)
    folder.checkpoints.finish_restore(writes, base, number)
    assert tree(folder.path) == before


def test_a_large_file_that_is_written_during_the_look_that_finds_it_too_large_to_copy_is_listed(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
):
    commit_large(folder)
    before = tree(folder.path)
    folder.begin_copied()
    seen = folder.store.copies.seen

    def seen_late(changed: set[str]) -> set[str]:
        monkeypatch.undo()
        folder.write("data.bin", b"0" * (LARGE + 1))
        return seen(changed)

    monkeypatch.setattr(folder.store.copies, "seen", seen_late)
    folder.scan()
    folder.scan()
    assert folder.listed() == {"data.bin": "large"}
    folder.undo_all_to(before)


def test_what_the_person_has_git_ignore_is_not_listed_though_it_was_never_copied(folder: Folder):
    folder.write("data.bin", b"x" * (LARGE + 1))
    folder.write(".env", SECRET)
    folder.begin_copied()
    folder.scan()
    folder.save(".gitignore", "*.bin\n.env\n")
    for _ in range(2):
        folder.scan()
        assert folder.listed() == {}
        folder.reopen()
    folder.save(".gitignore", "")
    folder.scan()
    assert folder.listed() == {}
    folder.write(".env", "agent\n")
    folder.scan()
    assert folder.listed() == {".env": "excluded"}


def test_a_change_of_the_rules_in_the_repository_is_a_row_and_hides_nothing(folder: Folder):
    folder.begin_copied()
    (folder.path / ".git/info").mkdir(exist_ok=True)
    folder.write(".git/info/exclude", "# a comment\n*\n")
    folder.write("a.txt", "agent\n")
    folder.write("new.txt", "agent\n")
    folder.scan()
    assert folder.listed() == {".git/info/exclude": "rules", "a.txt": "modified", "new.txt": "created"}
    (refused,) = folder.undo_all()
    assert ".git/info/exclude" in refused
    folder.keep(".git/info/exclude")
    assert folder.listed() == {}


def test_what_no_round_needs_is_freed(folder: Folder):
    folder.begin_copied()
    before = tree(folder.path)
    kept = folder.store.copies.prune([folder.round.state.base.tree], [], grown=0)
    for number in range(20):
        folder.write("a.txt", os.urandom(20_000) + b"%d" % number)
        folder.scan()
    state = folder.round.state
    assert folder.store.copies.size() > kept + 300_000
    assert folder.store.copies.prune([state.base.tree, state.now.tree], [], grown=0) < kept + 30_000
    folder.reopen()
    folder.undo_all_to(before)


def test_of_a_file_that_changes_at_each_look_only_the_last_text_is_kept(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
):
    folder.begin_copied()
    monkeypatch.setattr(copies, "GROWTH", 100_000)
    monkeypatch.setattr(copies.Copies.prune, "__kwdefaults__", {"grown": 100_000})
    before = tree(folder.path)
    for _ in range(20):
        folder.write("a.txt", os.urandom(30_000))
        folder.scan()
        assert folder.store.copies.size() < 200_000
    folder.undo_all_to(before)
    folder.redo()
    assert len(folder.read("a.txt")) == 30_000


def test_what_a_question_about_git_needs_is_not_freed_before_the_answer(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
):
    git(folder.path, "checkout", "-q", "-b", "other")
    folder.write("a.txt", "other\n")
    git(folder.path, "commit", "-q", "-a", "-m", "other")
    folder.begin_copied()
    monkeypatch.setattr(copies.Copies.prune, "__kwdefaults__", {"grown": 0})
    git(folder.path, "checkout", "-q", "main")
    seen = folder.round.scan()
    assert seen.by_git == ("a.txt",)
    folder.round.take()
    folder.write("a.txt", "agent\n")
    folder.scan()
    folder.saves.belong_to_the_person([seen])
    assert folder.undo_all() == []
    assert folder.read("a.txt") == b"a.txt\n" * 100


def test_what_a_late_word_of_a_save_needs_is_not_freed(folder: Folder, monkeypatch: pytest.MonkeyPatch):
    folder.begin_copied()
    monkeypatch.setattr(copies.Copies.prune, "__kwdefaults__", {"grown": 0})
    folder.write("a.txt", "agent\n")
    folder.scan()
    folder.write("a.txt", "mine\n")
    folder.scan()
    folder.write("a.txt", "agent again\n")
    folder.scan()
    (sighting, *_) = folder.round.recent.of("a.txt")[1:]
    assert sighting.before
    assert folder.store.objects.read([sighting.before.blob]) == {sighting.before.blob: b"agent\n"}


def test_over_the_bound_the_oldest_turns_go(folder: Folder, monkeypatch: pytest.MonkeyPatch):
    folder.begin_copied()
    for module in (copies, round_module):
        monkeypatch.setattr(module, "GROWTH", 50_000)
    monkeypatch.setattr(copies.Copies.prune, "__kwdefaults__", {"grown": 50_000})
    before = tree(folder.path)
    for number in range(12):
        folder.checkpoints.add("Qwen Code", f"turn {number}")
        folder.write("a.txt", os.urandom(30_000))
        folder.scan()
        assert folder.store.copies.size() < 250_000
    points = folder.round.state.checkpoints
    assert folder.round.dropped == 12 - len(points) > 0
    assert points[-1].words == "turn 11"
    folder.undo_all_to(before)


def test_a_large_file_holds_up_no_reload(folder: Folder, monkeypatch: pytest.MonkeyPatch):
    """It is read in parts, and no more of it once the folder is let go."""
    folder.begin_copied()
    with (folder.path / "large.bin").open("wb") as file:
        file.truncate(100 * 1024 * 1024)
    parts: list[int] = []
    write = files._Hash.write

    def closed(self: files._Hash, data: bytes) -> int:
        parts.append(len(data))
        folder.store._git.close()
        return write(self, data)

    monkeypatch.setattr(files._Hash, "write", closed)
    with pytest.raises(GitStoppedError):
        folder.scan()
    assert sum(parts) < 10 * 1024 * 1024


def test_rules_that_the_person_has_saved_hold_at_once(folder: Folder):
    folder.write(".gitignore", "*.log\n")
    folder.write("old.log", "old\n")
    folder.begin_copied()
    folder.write("made.o", "agent\n")
    folder.scan()
    folder.save(".gitignore", "*.o\n")
    folder.scan()
    assert folder.listed() == {}
    folder.write("more.o", "agent\n")
    folder.write("old.log", "agent\n")
    folder.scan()
    assert folder.listed() == {"old.log": "modified"}
    assert folder.undo_all() == []
    assert folder.read("old.log") == b"old\n"
    assert folder.read("made.o") == b"agent\n"


def test_a_save_of_rules_that_an_agent_has_changed_hides_nothing(folder: Folder):
    folder.write(".gitignore", "*.log\n")
    folder.begin_copied()
    folder.write(".gitignore", "*.log\nhidden.txt\n")
    folder.write("hidden.txt", "agent\n")
    folder.scan()
    folder.edit(".gitignore", "*.log\nhidden.txt\n", "hidden.txt\n*.o\n")
    folder.write("made.o", "ignored\n")
    folder.write("made.log", "ignored no longer\n")
    folder.scan()
    assert folder.listed() == {".gitignore": "modified", "hidden.txt": "created", "made.log": "created"}


def test_a_sparse_file_without_end_is_listed_and_not_read(folder: Folder):
    folder.begin_copied()
    before = tree(folder.path)
    for name in ("a.txt", "new.txt"):
        with (folder.path / name).open("ab") as file:
            file.truncate(1 << 40)
    folder.scan()
    assert folder.listed() == {"a.txt": "large", "new.txt": "large"}
    refused = sorted(folder.undo_all())
    assert [each.partition(",")[0] for each in refused] == ["a.txt is over 256 MB", "new.txt is over 256 MB"]
    for name in ("a.txt", "new.txt"):
        (folder.path / name).unlink()
    folder.undo_all_to(before)


def test_nothing_is_copied_to_a_disk_that_is_nearly_full(folder: Folder, monkeypatch: pytest.MonkeyPatch):
    folder.round.begin()
    size = folder.store.copies.size()
    with monkeypatch.context() as patched:
        patched.setattr(copies, "RESERVE", 1 << 62)
        assert folder.store.copies.more(1) == 3
        assert "are free on the disk of the snapshots" in folder.store.copies.stopped
    assert folder.store.copies.size() == size
    assert folder.store.copies.more(60) == 0
    assert folder.store.copies.stopped == ""


def test_rules_of_any_length_are_replaced_at_once():
    """Neither by the number of lines that are like the first one, nor by that of all lines."""
    rules = b"/z\n" * 60_000
    old = b"a\n" * 60_000
    began = time.process_time()
    assert replaced_rules(rules + old + b"/y\n", ".gitignore", old, old + b"b\n") == rules + old + b"b\n/y\n"
    assert replaced_rules(rules + old, ".gitignore", old + b"c\n", b"d\n") == rules + old + b"d\n"
    assert time.process_time() - began < 2
    assert replaced_rules(b"xa\na\n", ".gitignore", b"a\n", b"") == b"xa\n"
    deep = f"{'d' * 1000}/.gitignore"
    with pytest.raises(OSError, match="over 4 MB"):
        replaced_rules(b"", deep, b"", b"a\n" * 5_000)
    assert replaced_rules(b"x\n", deep, b"a\n" * 5_000, b"") == b"x\n"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
@pytest.mark.parametrize(
    "path",
    ["commondir", "index", "logs/HEAD", "HEAD", "packed-refs", "config", "info/exclude", "objects/info/alternates"],
)
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_a_repository_with_pipes_and_devices_holds_nothing_up(
    folder: Folder, path: str, kind: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("companion.snapshots.git.LIMIT", 20)
    at = folder.path / ".git" / path
    at.parent.mkdir(parents=True, exist_ok=True)
    at.unlink(missing_ok=True)
    if kind == "pipe":
        assert sys.platform != "win32"
        os.mkfifo(at)
    else:
        at.symlink_to("/dev/zero")
    folder.round.begin()
    folder.write("a.txt", "agent\n")
    folder.scan()
    assert folder.listed().get("a.txt") in {"modified", "unsaved"}


ELSEWHERE = [
    r"\\evil\share\x",
    "//evil/share/x",
    r"\/evil/share/x",
    r"/\evil\share\x",
    r"\\?\UNC\evil\share\x",
    r"\\.\UNC\evil\share\x",
    "//?/UNC/evil/share/x",
    r"\??\UNC\evil\share\x",
]


@pytest.mark.parametrize("named", ELSEWHERE)
@pytest.mark.parametrize("by", [".git", ".git link", "nested", "commondir", "alternates"])
def test_no_look_goes_to_another_computer_that_a_repository_names(
    folder: Folder, by: str, named: str, monkeypatch: pytest.MonkeyPatch
):
    """Windows would send it the person's credentials."""
    own = folder.path / ".git"
    if by in {".git", ".git link"}:
        own.rename(folder.path / "was")
    if by == ".git link":
        own.symlink_to(named)
    else:
        files_of_git = {
            ".git": (".git", f"gitdir: {named}\n"),
            "nested": ("nested/.git", f"gitdir: {named}\n"),
            "commondir": (".git/commondir", f"{named}\n"),
            "alternates": (".git/objects/info/alternates", f"#\n{named}\n"),
        }
        folder.write(*files_of_git[by])
    folder.write(".gitignore", "nested\n")
    scanned: list[str] = []

    def watched(module: ModuleType, name: str) -> None:
        real = getattr(module, name)

        def scan(path: Any, *args: Any, **more: Any) -> Any:
            if "evil" in os.fsdecode(path):
                scanned.append(f"{name} {path!r}")
            return real(path, *args, **more)

        monkeypatch.setattr(module, name, scan)

    for name in ("stat", "lstat", "open", "scandir", "listdir"):
        watched(os, name)
    for name in ("realpath", "isdir"):
        watched(os.path, name)
    real_run = Git.run

    def run(self: Git, *args: Any, lent: Sequence[str] = (), **more: Any) -> bytes:
        scanned.extend(path for path in lent if "evil" in path)
        return real_run(self, *args, lent=lent, **more)

    monkeypatch.setattr(Git, "run", run)
    folder.round.begin()
    folder.write("a.txt", "agent\n")
    folder.scan()
    assert folder.listed().get("a.txt") in {"modified", "unsaved"}
    assert scanned == []


@pytest.mark.skipif(os.name == "nt", reason="names and links that Windows lacks")
@pytest.mark.parametrize(
    "listed", ["k:{evil}", '"{evil}"', '"{evil}', "{evil} ", "{evil}\f", "link/../evil", "#" * 65536 + "\n{evil}"]
)
def test_git_is_led_to_no_objects_but_those_that_were_looked_at(folder: Folder, listed: str):
    """What git makes of these names is another folder than what the system does."""
    found = project.repository(str(folder.path))
    assert found
    objects = folder.path / ".git/objects"
    (objects / "evil/info").mkdir(parents=True)
    (objects / "link").symlink_to(folder.path / "sub")
    alternates = objects / "info/alternates"
    alternates.write_text("#\n\nevil\n")
    assert project.lent_objects(found, []) == [str(objects), str(objects / "evil")]
    alternates.write_text(listed.format(evil=objects / "evil") + "\n")
    assert project.lent_objects(found, []) == []


def test_the_share_that_a_folder_is_on_is_no_other_computer(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "path", ntpath)
    for base in (r"\\host\share\tree", r"\\host\share\tree\.git"):
        assert project._led(base, "//host/share/main/.git/worktrees/tree\n") == r"\\host\share\main\.git\worktrees\tree"
        assert project._led(base, "//host/other/x") == project._led(base, r"\\host2\share\x") == ""
    assert project._led("C:\\tree", "D:/main/.git") == "D:\\main\\.git"
    assert project._led("C:\\tree\\.git", "../..") == "C:\\"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
@pytest.mark.parametrize("kind", ["pipe", "device", "truncated", "bomb"])
def test_an_object_that_harms_is_not_read(folder: Folder, kind: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("companion.snapshots.git.LENT_LIMIT", 20)
    folder.round.begin()
    blob = blob_id(folder.read("a.txt"))
    at = folder.path / ".git/objects" / blob[:2] / blob[2:]
    data = at.read_bytes()
    at.unlink()
    if kind == "pipe":
        assert sys.platform != "win32"
        os.mkfifo(at)
    elif kind == "device":
        at.symlink_to("/dev/zero")
    elif kind == "truncated":
        at.write_bytes(data[:10])
    else:
        at.write_bytes(zlib.compress(b"blob 99999999999\0" + bytes(50_000_000)))
    folder.write("a.txt", "agent\n")
    folder.scan()
    assert folder.listed() == {"a.txt": "unsaved"}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
@pytest.mark.parametrize("path", ["nested/.git/HEAD", "nested/.git/commondir", "sub/new/.gitignore"])
def test_a_pipe_that_git_opens_for_a_list_stops_it_soon_and_is_named(
    folder: Folder, path: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("companion.snapshots.git.SOON", 0.3)
    monkeypatch.setattr("companion.snapshots.git.LIST_LIMIT", 10)
    for name in ("objects", "refs"):
        (folder.path / "nested/.git" / name).mkdir(parents=True)
    folder.write("nested/.git/HEAD", "ref: refs/heads/main\n")
    folder.write("sub/new/a.txt", "a\n")
    pipe = folder.path / path
    pipe.unlink(missing_ok=True)
    assert sys.platform != "win32"
    os.mkfifo(pipe)
    with pytest.raises(GitStoppedError, match=f"^{re.escape(path)} is a pipe or a device$"):
        folder.round.begin()
    monkeypatch.setattr(project, "obstacle", lambda *_, **__: pytest.fail("it has waited for it again"))
    with pytest.raises(GitStoppedError, match=f"^{re.escape(path)} is a pipe or a device$"):
        folder.round.begin()
    pipe.unlink()
    folder.round.begin()
    folder.write("a.txt", "agent\n")
    folder.scan()
    assert folder.listed()["a.txt"] == "modified"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
def test_attributes_that_are_a_pipe_or_a_device_are_not_opened(folder: Folder, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("companion.snapshots.git.LIMIT", 20)
    folder.begin_copied()
    assert sys.platform != "win32"
    os.mkfifo(folder.path / "sub/.gitattributes")
    folder.write("sub/c.txt", "agent\n")
    with pytest.raises(GitStoppedError, match=r"sub/\.gitattributes"):
        folder.scan()
    (folder.path / "sub/.gitattributes").unlink()
    (folder.path / "sub/.gitattributes").symlink_to("/dev/zero")
    folder.scan()
    assert folder.listed()["sub/c.txt"] == "modified"


def test_copies_that_are_made_between_other_work_take_no_longer_than_was_asked(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
):
    """What comes after a first part has what that has left of the time, however little."""
    now, asked = [0.0], list[float]()

    def part(_: copies.Copies, paths: object, seconds: float) -> None:
        asked.append(seconds)
        now[0] += 1.75 * seconds  # to write takes a little less than to read

    monkeypatch.setattr(copies, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(copies.Copies, "left", 1)
    monkeypatch.setattr(copies.Copies, "_copy_part", part)
    monkeypatch.setattr(copies, "_SHORTEST", 0.01)
    folder.store.copies.more(0.2)
    assert asked == [pytest.approx(0.1), pytest.approx(0.0125)]


@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes of Unix")
@pytest.mark.parametrize("kind", ["link", "folder", "pipe"])
def test_what_has_taken_the_place_of_a_large_file_is_not_copied(
    folder: Folder, kind: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("companion.snapshots.git.LIMIT", 3)
    elsewhere = folder.path.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "large.bin").write_bytes(SECRET)
    if kind == "folder":
        (folder.path / "deep").symlink_to(elsewhere)
    else:
        (folder.path / "deep").mkdir()
        if kind == "link":
            (folder.path / "deep/large.bin").symlink_to(elsewhere / "large.bin")
        else:
            assert sys.platform != "win32"
            os.mkfifo(folder.path / "deep/large.bin")
    began = time.monotonic()
    with pytest.raises(WriteRefusedError):
        folder.store.objects.write_file("deep/large.bin")
    assert time.monotonic() - began < 2
    assert SECRET not in contents(folder)


def test_what_the_person_excludes_while_files_are_copied_is_not_copied_any_more(folder: Folder):
    folder.write("secrets/key.txt", SECRET)
    folder.write("secrets/old.txt", SECRET + b"2")
    committed(folder.path)
    folder.round.begin()
    folder.excludes = lambda path: path.startswith("secrets/")
    folder.write("secrets/old.txt", b"new")
    folder.scan()
    assert folder.store.copies.more(60) == 0
    assert SECRET not in contents(folder)
    folder.write("a.txt", "agent\n")
    folder.scan()
    assert folder.listed()["a.txt"] == "modified"
    folder.undo("a.txt")
    assert folder.read("a.txt") != b"agent\n"


def test_what_is_decided_is_done_though_nothing_can_be_freed(folder: Folder, monkeypatch: pytest.MonkeyPatch):
    folder.begin_copied()
    folder.write("a.txt", "agent\n")
    folder.scan()

    def full(*_: object, **__: object) -> int:
        raise GitStoppedError("No space left on device")

    monkeypatch.setattr(copies.Copies, "prune", full)
    folder.keep_all()
    assert folder.listed() == {}


def lie(folder: Folder, path: str) -> str:
    """Have another id of a file in the index of the repository, though its times say that it is unchanged."""
    (folder.path / "evil").write_text("evil\n")
    evil = git(folder.path, "hash-object", "-w", "evil").strip()
    (folder.path / "evil").unlink()
    index = folder.path / ".git/index"
    times = index.stat()
    true = bytes.fromhex(blob_id(folder.read(path)))
    data = index.read_bytes().replace(true, bytes.fromhex(evil))
    index.write_bytes(data[:-20] + hashlib.sha1(data[:-20], usedforsecurity=False).digest())
    os.utime(index, ns=(times.st_atime_ns, times.st_mtime_ns))
    return evil


@pytest.mark.parametrize("fails", ["update", "recovered"])
def test_an_index_that_lies_is_found_out_though_a_scan_has_failed(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, fails: str
):
    lie(folder, "a.txt")
    before = tree(folder.path)
    folder.begin_copied()
    folder.write("b.txt", "agent\n")

    def full(*_: object, **__: object) -> Any:
        raise GitStoppedError("No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(*((StoreIndex, "update") if fails == "update" else (StoreObjects, "recovered")), full)
        with pytest.raises(GitStoppedError):
            folder.scan()
    folder.scan()
    assert folder.listed() == {"b.txt": "modified"}
    folder.write("a.txt", "agent\n")
    folder.undo_all_to(before)


def test_a_text_that_nobody_has_damages_no_round_though_the_index_says_that_another_file_has_it(folder: Folder):
    folder.write("sub/c.txt", folder.read("a.txt"))
    os.utime(folder.path / "sub/c.txt", (OLD, OLD))
    committed(folder.path)
    evil = lie(folder, "a.txt")  # and of the other one, which has the same text
    folder.round.begin()
    (folder.path / ".git/objects" / evil[:2] / evil[2:]).unlink()
    folder.write("sub/c.txt", "agent\n")
    folder.store.copies.more(60)
    folder.scan()
    assert folder.store.copies.more(60) == 0
    folder.reopen()
    assert folder.listed() == {"sub/c.txt": "unsaved"}


def test_a_file_that_is_changed_before_it_is_copied_is_undone_though_a_scan_has_failed(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
):
    folder.round.begin()
    before = tree(folder.path)
    folder.write("a.txt", "agent\n")

    def full(*_: object, **__: object) -> Any:
        raise GitStoppedError("No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(StoreObjects, "write_all", full)
        with pytest.raises(GitStoppedError):
            folder.scan()
    folder.undo_all_to(before)
