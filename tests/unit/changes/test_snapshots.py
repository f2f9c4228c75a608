"""Snapshots: byte for byte, without a trace in the person's repository, and independent of what becomes of that."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from companion.changes.places import ignore_files
from companion.platforms import programs
from companion.snapshots.git import Git, GitMissingError, GitStoppedError, merge, program
from companion.snapshots.store import DamagedError

from .folders import Folder, committed, git, tree

SECRET = b"password-of-the-test"


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """A repository with one commit."""
    made = Folder(tmp_path)
    made.write("a.txt", "a\n" * 100)
    made.write("sub/b.txt", "b\r\n")
    made.write(".gitignore", "*.log\n/build/\n")
    made.write("old.log", "log\n")
    made.write("build/out.txt", "out\n")
    committed(made.path)
    return made


def kept_by_git(path: Path) -> Mapping[str, object]:
    """Everything that must stay as it is in the person's repository, with the times of its files."""
    files = {
        str(each.relative_to(path)): (each.stat().st_mtime_ns, each.stat().st_size)
        for each in sorted((path / ".git").rglob("*"))
    }
    shown = {"GIT_OPTIONAL_LOCKS": "0"}
    command = ["git", "status", "--porcelain=v2", "--ignored"]
    done = subprocess.run(command, cwd=path, capture_output=True, check=True, env={**os.environ, **shown})
    refs, stash = git(path, "for-each-ref"), git(path, "stash", "list")
    return {"files": files, "status": done.stdout, "refs": refs, "stash": stash}


@pytest.mark.skipif(os.name == "nt", reason="the times of links")
def test_the_persons_repository_is_as_it_was(folder: Folder):
    before = kept_by_git(folder.path)
    folder.round.begin()
    folder.write("a.txt", "agent\n")
    folder.write("new.txt", "agent\n")
    folder.scan()
    folder.undo_all()
    assert kept_by_git(folder.path) == before


def test_ignored_files_are_left_out(folder: Folder):
    folder.round.begin()
    folder.write("new.log", "agent\n")
    folder.write("build/more.txt", "agent\n")
    folder.scan()
    assert folder.listed() == {}


def test_an_agent_that_removes_a_rule_has_not_created_the_files_behind_it(folder: Folder):
    folder.round.begin()
    folder.write(".gitignore", "/build/\n")
    folder.write("new.txt", "agent\n")
    folder.scan()
    assert folder.listed() == {".gitignore": "modified", "new.txt": "created"}
    folder.undo_all()
    assert folder.read("old.log") == b"log\n"


def test_an_agent_that_adds_a_rule_hides_nothing(folder: Folder):
    folder.round.begin()
    folder.write(".gitignore", "*.log\n/build/\n*.txt\n")
    folder.write("new.txt", "agent\n")
    folder.write("deep/.gitignore", "*\n")
    folder.write("deep/er/hidden.txt", "agent\n")
    folder.scan()
    assert set(folder.listed()) == {".gitignore", "new.txt", "deep/.gitignore", "deep/er/hidden.txt"}


@pytest.mark.parametrize(
    ("path", "rules"),
    [
        ("x/.gitignore", "*.tmp\n!keep.tmp\n"),
        ("x/.gitignore", "/only-here\nany/where\n"),
        ("x/.gitignore", "dir/\n**/deep/*.c\n"),
        (".gitignore", "# comment\n\\#file\n\\!file\ntrailing\\ \nsp ace\n[a-c].txt\n"),
        ("x[1]/.gitignore", "*.tmp\n/a\n"),
        ("self/.gitignore", "*\n"),
        (".gitignore", "*\n!*/\n!*.py\n"),
        (".gitignore", "x/*\n!x/y\n"),
        ("behind a link", "*.tmp\n"),
    ],
)
def test_the_rules_hold_as_gits_own(tmp_path: Path, path: str, rules: str):
    made = Folder(tmp_path)
    made.write(path, rules)
    if path == "behind a link":
        (made.path / ".gitignore").symlink_to(path)
    names = [
        "a", "a.tmp", "keep.tmp", "only-here", "any/where", "dir/x", "deep/a.c", "#file", "!file", "trailing ",
        "sp ace", "b.txt", "d.txt", "m.py", "y/z", "y/m.py",
    ]  # fmt: skip
    for below in ("", "x/", "x/y/", "x[1]/", "self/"):
        for name in names:
            if not (made.path / f"{below}{name}").is_dir():
                made.write(f"{below}{name}", "x")
    git(made.path, "init", "-q")
    expected = set(
        git(made.path, "-c", "core.quotePath=false", "ls-files", "-z", "-o", "--exclude-standard").split("\0")[:-1]
    )
    made.round.begin()
    listed = subprocess.run(
        ["git", "ls-tree", "-r", "-z", "--name-only", made.round.state.base.tree],
        env={**os.environ, "GIT_DIR": str(made.store_path)}, capture_output=True, check=True,
    )  # fmt: skip
    assert set(os.fsdecode(listed.stdout).split("\0")[:-1]) == expected


def test_rules_above_the_folder_hold_in_it(tmp_path: Path):
    above = Folder(tmp_path, "above")
    above.write(".gitignore", "*.log\n/project/build/\n/other/\n")
    (above.path / "project").mkdir()
    committed(above.path)
    made = Folder(above.path, "project")
    made.write("a.log", "x")
    made.write("build/x", "x")
    made.write("other/x", "x")
    made.round.begin()
    for name in ("a.log", "build/x", "other/x"):
        made.write(name, "agent")
    made.scan()
    assert set(made.listed()) == {"other/x"}


def test_the_baseline_outlives_the_garbage_collection_of_the_project(folder: Folder):
    folder.write("staged.txt", "only in the index\n" * 50)
    git(folder.path, "add", "staged.txt")
    before = tree(folder.path)
    folder.begin_copied()
    git(folder.path, "reset", "-q")
    git(folder.path, "reflog", "expire", "--expire=now", "--all")
    git(folder.path, "gc", "-q", "--prune=now")
    folder.write("staged.txt", "agent\n")
    folder.write("a.txt", "agent\n")
    folder.undo_all_to(before)


@pytest.mark.parametrize("is_packed", [False, True])
def test_the_baseline_outlives_a_removed_repository(folder: Folder, is_packed: bool):
    if is_packed:
        git(folder.path, "gc", "-q")
    before = tree(folder.path)
    folder.begin_copied()
    shutil.rmtree(folder.path / ".git")
    folder.write("a.txt", "agent\n")
    (folder.path / "sub/b.txt").unlink()
    folder.undo_all_to(before)


def test_the_baseline_outlives_a_rebase(folder: Folder):
    folder.begin_copied()
    before = tree(folder.path)
    folder.write("a.txt", "other history\n")
    git(folder.path, "commit", "-q", "--amend", "-a", "-m", "other")
    git(folder.path, "reflog", "expire", "--expire=now", "--all")
    git(folder.path, "gc", "-q", "--prune=now")
    folder.undo_all_to(before)


def test_neither_filters_nor_line_endings_nor_encodings_change_a_byte(tmp_path: Path):
    made = Folder(tmp_path)
    made.write(
        ".gitattributes",
        "* text=auto eol=crlf\n*.id ident\n*.dat filter=evil\n*.u16 working-tree-encoding=UTF-16LE-BOM\n",
    )
    made.write("lf.txt", "a\nb\n")
    made.write("mixed.txt", b"a\r\nb\nc\rd")
    made.write("x.id", "$Id$\n")
    made.write("x.dat", "data\n")
    made.write("x.u16", "text\n".encode("utf-16"))
    made.write("latin.txt", b"\xe4\xf6\xfc")
    git(made.path, "init", "-q")
    git(made.path, "config", "core.autocrlf", "true")
    git(made.path, "config", "filter.evil.clean", "tr a-z A-Z")
    before = tree(made.path)
    made.round.begin()
    for name in ("lf.txt", "mixed.txt", "x.id", "x.dat", "x.u16", "latin.txt"):
        made.write(name, "agent\n")
    made.undo_all_to(before)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
def test_no_program_that_a_projects_configuration_names_is_run(folder: Folder):
    trap = folder.path.parent / "trap"
    hook = folder.path.parent / "hook.sh"
    hook.write_text(f"#!/bin/sh\ntouch '{trap}'\ncat\n")
    hook.chmod(0o755)
    (folder.path / "hooks").mkdir()
    for name in ("post-index-change", "pre-commit"):
        shutil.copy(hook, folder.path / "hooks" / name)
    for key in (
        "core.fsmonitor",
        "core.sshCommand",
        "filter.x.clean",
        "filter.x.process",
        "diff.external",
        "diff.x.textconv",
    ):
        git(folder.path, "config", key, str(hook))
    git(folder.path, "config", "core.hooksPath", str(folder.path / "hooks"))
    folder.write(".gitattributes", "* filter=x diff=x\n")
    folder.round.begin()
    folder.write("a.txt", "agent\n")
    folder.scan()
    folder.round.rows()
    folder.undo_all()
    assert not trap.exists()


def test_names_in_any_encoding(tmp_path: Path):
    made = Folder(tmp_path)
    names = [b"\xff\xfe.txt", "ünï \N{SNOWMAN}.txt".encode(), b"new\nline", b"-dash"]
    names += [b":(glob)*", b"a\\b", b'"quoted"', b"tab\t"]
    for name in names:
        (made.path / os.fsdecode(name)).write_bytes(b"before\n")
    made.round.begin()
    before = tree(made.path)
    for name in names:
        (made.path / os.fsdecode(name)).write_bytes(b"agent\n")
    made.scan()
    assert set(made.listed()) == set(map(os.fsdecode, names))
    made.reopen()
    made.undo_all_to(before)


def test_an_excluded_file_is_listed_and_never_copied(tmp_path: Path):
    made = Folder(tmp_path, excludes=lambda path: path.endswith(".env"))
    made.write(".env", SECRET)
    made.write("a.txt", "a\n")
    made.round.begin()
    made.write(".env", SECRET * 2)
    made.write("a.txt", "agent\n")
    made.scan()
    assert made.listed() == {".env": "excluded", "a.txt": "modified"}
    refused = made.undo_all()
    assert len(refused) == 1
    assert ".env" in refused[0]
    assert made.read(".env") == SECRET * 2
    objects = subprocess.run(
        ["git", "cat-file", "--batch", "--batch-all-objects"],
        env={**os.environ, "GIT_DIR": str(made.store_path)}, capture_output=True, check=True,
    )  # fmt: skip
    assert SECRET not in objects.stdout
    made.keep(".env")
    assert made.listed() == {}


def test_a_large_file_is_compared_by_hash_and_undone_from_git_or_said_to_be_lost(tmp_path: Path):
    made = Folder(tmp_path)
    made.write("known.bin", b"k" * (11 * 1024 * 1024))
    committed(made.path)
    made.write("unknown.bin", b"u" * (11 * 1024 * 1024))
    made.round.begin()
    made.write("known.bin", b"x" * (11 * 1024 * 1024))
    made.write("unknown.bin", "small now\n")
    made.write("created.bin", b"c" * (11 * 1024 * 1024))
    made.scan()
    assert made.listed() == {"created.bin": "large", "known.bin": "large", "unknown.bin": "large"}
    (lost,) = made.undo_all()
    assert "unknown.bin" in lost
    assert "lost" in lost
    assert made.read("known.bin") == b"k" * (11 * 1024 * 1024)
    assert not (made.path / "created.bin").exists()
    made.redo()
    assert made.read("created.bin") == b"c" * (11 * 1024 * 1024)


def test_a_file_that_cannot_be_read_is_no_reason_to_miss_another(folder: Folder):
    if os.name == "nt" or os.geteuid() == 0:
        pytest.skip("everything can be read here")
    folder.write("closed", "x")
    (folder.path / "closed").chmod(0)
    folder.round.begin()
    folder.write("a.txt", "agent\n")
    folder.scan()
    assert folder.listed() == {"a.txt": "modified"}


def test_a_pipe_is_no_file(folder: Folder):
    if not hasattr(os, "mkfifo"):
        pytest.skip("there are no pipes here")
    assert sys.platform != "win32"
    os.mkfifo(folder.path / "pipe")
    folder.round.begin()
    (folder.path / "a.txt").unlink()
    os.mkfifo(folder.path / "a.txt")
    folder.scan()
    assert folder.listed() == {"a.txt": "deleted"}


def test_a_nested_repository_is_left_to_a_round_of_its_own(folder: Folder):
    folder.write("nested/x.txt", "x\n")
    committed(folder.path / "nested")
    folder.round.begin()
    assert folder.round.state.nested == ["nested"]
    folder.write("nested/x.txt", "agent\n")
    shutil.rmtree(folder.path / "nested/.git")
    folder.scan()
    assert folder.listed() == {}


def test_a_repository_that_an_agent_makes_is_one_row(folder: Folder):
    folder.round.begin()
    folder.write("cloned/x.txt", "x\n")
    committed(folder.path / "cloned")
    folder.scan()
    assert folder.listed() == {"cloned": "repository"}
    assert len(folder.undo_all()) == 1
    assert folder.read("cloned/x.txt") == b"x\n"
    folder.keep("cloned")
    assert folder.listed() == {}


def test_a_worktree_and_a_repository_that_borrows_objects(folder: Folder, tmp_path: Path):
    git(folder.path, "worktree", "add", "-q", str(tmp_path / "tree"))
    git(tmp_path, "clone", "-q", "--shared", str(folder.path), str(tmp_path / "shared"))
    for name in ("tree", "shared"):
        made = Folder(tmp_path, name)
        before = tree(made.path)
        made.round.begin()
        made.write("a.txt", "agent\n")
        made.undo_all_to(before)


def test_git_is_never_taken_from_a_folder_of_a_window_or_a_relative_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Not of any window, whichever folder it is for: also for the global settings, and for a merge of a tab's text."""
    own = tmp_path / "project/bin"
    own.mkdir(parents=True)
    was_run = tmp_path / "run"
    (own / "git").write_text(f"#!/bin/sh\ntouch '{was_run}'\n")
    (own / "git").chmod(0o755)
    there = os.path.dirname(shutil.which("git") or "")
    linked = tmp_path / "linked"
    os.symlink(own, linked)
    monkeypatch.setattr(programs, "OPEN_FOLDERS", known := programs.OpenFolders())
    monkeypatch.setattr(programs, "OPEN_FOLDERS", known)
    known.set(1, [str(tmp_path / "project")])
    monkeypatch.setenv("PATH", os.pathsep.join([str(own), "bin", ".", "", str(linked), there]))
    assert program() == os.path.join(there, "git")
    ignore_files()
    assert merge(b"a\nb\nc\n", b"b\nc\n", b"b\nc\nd\n") == b"a\nb\nc\nd\n"
    assert not was_run.exists()
    monkeypatch.setenv("PATH", str(own))
    with pytest.raises(GitMissingError):
        program()


def test_a_damaged_store_is_noticed(folder: Folder):
    folder.begin_copied()
    for name in ("index", "round.json"):
        saved = (folder.store_path / name).read_bytes()
        (folder.store_path / name).write_bytes(saved[:20])
        with pytest.raises(DamagedError):
            folder.opened()
        (folder.store_path / name).write_bytes(saved)
    for each in (folder.store_path / "objects").rglob("*"):
        if each.is_file():
            each.unlink()
    with pytest.raises(DamagedError):
        folder.opened()


_ENDS = {
    "killed": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "full": "import sys; sys.exit('fatal: unable to write new index file: No space left on device')",
    "failing": "import sys; sys.exit('fatal: index file open failed: Input/output error')",
    "missing": None,
}


@pytest.mark.parametrize("command", ["write-tree", "ls-tree"])
@pytest.mark.parametrize("how", _ENDS)
def test_a_git_that_was_ended_says_nothing_of_the_store(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, command: str, how: str
):
    """The editor may end while it looks, and a disk may be full: what is to be reviewed must not go with that."""
    folder.round.begin()
    folder.write("a.py", "agent\n")
    folder.scan()
    rows = folder.round.rows()
    start = programs.start

    def ended(words: Sequence[str], environment: Mapping[str, str], **more: Any) -> Any:
        if command in words:
            words = ["/missing/git"] if _ENDS[how] is None else [sys.executable, "-c", _ENDS[how]]
        return start(words, environment, **more)

    with monkeypatch.context() as patched:
        patched.setattr(programs, "start", ended)
        with pytest.raises(GitStoppedError):
            folder.opened()
    folder.reopen()
    assert folder.round.rows() == rows


def test_a_run_that_was_killed_leaves_nothing_in_the_way(folder: Folder):
    folder.round.begin()
    (folder.store_path / "index.lock").write_bytes(b"")
    folder.reopen()
    folder.write("a.txt", "agent\n")
    folder.scan()
    assert folder.listed() == {"a.txt": "modified"}


def test_a_process_ends_with_the_store(folder: Folder):
    folder.round.begin()
    runs = Git(program(), str(folder.store_path), str(folder.path))
    runs.close()
    with pytest.raises(GitStoppedError):
        runs.run("rev-parse", "--git-dir")


def test_a_store_is_for_this_user_only(folder: Folder):
    folder.round.begin()
    assert folder.store_path.stat().st_mode & 0o077 == 0


def test_the_files_that_are_written_while_the_baseline_is_made_are_named(folder: Folder):
    path = folder.path / "a.txt"
    folder.write("a.txt", "late\n")
    os.utime(path, ns=(2**62, 2**62))
    assert folder.round.begin() == ["a.txt"]


def test_a_file_as_the_persons_repository_has_it(folder: Folder):
    folder.round.begin()
    folder.write("a.txt", "staged\n")
    git(folder.path, "add", "a.txt")
    folder.write("a.txt", "agent\n")
    before = kept_by_git(folder.path)
    assert folder.round.committed("a.txt", in_index=True) == b"staged\n"
    assert folder.round.committed("a.txt", in_index=False) == b"a\n" * 100
    assert folder.round.committed("new.txt", in_index=True) is None
    assert folder.round.committed("new.txt", in_index=False) is None
    assert kept_by_git(folder.path) == before
