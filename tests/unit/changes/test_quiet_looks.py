"""Scans at a tree where little changes: git isn't asked for everything again, and nothing is missed."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from companion.snapshots import store_index
from companion.snapshots.entries import LARGE
from companion.snapshots.git import Git, GitStoppedError, batches

from .folders import Folder, git, tree

COMPARE = "diff-files -z --name-only --ignore-submodules=all"
TICK = 0.02
"""Seconds, longer than a step of the clock that a file system uses."""


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_index, "SETTLED", 0)
    monkeypatch.setattr(store_index, "PAUSE", 0)


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The commands of git since the test began, with their options."""
    run, found = Git.run, list[str]()

    def noted(self: Git, *arguments: str, **more: object) -> bytes:
        found.append(" ".join(arguments))
        return run(self, *arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(Git, "run", noted)
    return found


def quiet(base: Path, prepare: Callable[[Folder], None] = lambda _: None) -> Folder:
    """A folder with a round, whose folders have been listed and remembered."""
    made = Folder(base, excludes=lambda path: path.endswith(".env"))
    made.write("a.txt", "a\n")
    made.write("deep/er/b.txt", "b\n")
    made.write("deep/secret.env", "x")
    (made.path / "empty/inside").mkdir(parents=True)
    prepare(made)
    made.round.begin()
    time.sleep(TICK)
    made.scan()
    time.sleep(TICK)
    return made


def test_a_quiet_tree_costs_one_comparison_of_times(tmp_path: Path, commands: list[str]):
    folder = quiet(tmp_path)
    commands.clear()
    folder.scan()
    assert commands == [COMPARE]
    assert folder.listed() == {}


def test_of_a_file_that_is_written_git_is_asked_alone(tmp_path: Path, commands: list[str]):
    folder = quiet(tmp_path)
    commands.clear()
    folder.write("deep/er/b.txt", "agent\n")
    folder.scan()
    assert commands[:2] == [COMPARE, "ls-files -z -t -m -d -- deep/er/b.txt"]
    assert folder.listed() == {"deep/er/b.txt": "modified"}


def test_more_written_files_than_a_command_takes_are_all_seen(tmp_path: Path):
    names = [f"deep/{number:03}.txt" for number in range(250)]

    def written(made: Folder) -> None:
        for name in names:
            made.write(name, "before\n")

    folder = quiet(tmp_path, written)
    for name in names:
        (folder.path / name).write_bytes(b"agent\n")
    folder.scan()
    assert folder.listed() == dict.fromkeys(names, "modified")


def test_a_file_whose_times_alone_have_changed_is_compared_once(tmp_path: Path, commands: list[str]):
    folder = quiet(tmp_path)
    os.utime(folder.path / "a.txt", (1, 1))
    folder.scan()
    commands.clear()
    folder.scan()
    assert commands == [COMPARE]
    assert folder.listed() == {}


@pytest.mark.parametrize(
    "path", ["new.txt", "deep/new.txt", "deep/er/new.txt", "empty/new.txt", "empty/inside/new.txt", "made/just/now.txt"]
)
def test_a_new_file_is_seen_wherever_it_is(tmp_path: Path, path: str):
    folder = quiet(tmp_path)
    folder.write(path, "agent\n")
    folder.scan()
    assert folder.listed() == {path: "created"}


def test_what_goes_is_seen(tmp_path: Path):
    folder = quiet(tmp_path)
    (folder.path / "deep/secret.env").unlink()
    shutil.rmtree(folder.path / "deep/er")
    folder.scan()
    assert folder.listed() == {"deep/er/b.txt": "deleted", "deep/secret.env": "excluded"}


def test_an_excluded_file_that_is_written_is_listed(tmp_path: Path):
    folder = quiet(tmp_path)
    (folder.path / "deep/secret.env").write_bytes(b"longer")
    folder.scan()
    assert folder.listed() == {"deep/secret.env": "excluded"}


def test_a_file_that_grows_over_the_limit_is_followed_there_and_back(tmp_path: Path):
    folder = quiet(tmp_path)
    os.truncate(folder.path / "a.txt", LARGE + 1)
    for size in (LARGE + 1, LARGE + 2):
        os.truncate(folder.path / "a.txt", size)
        folder.scan()
        assert folder.round.state.now.beside["a.txt"].why == "large"
    folder.scan()  # is remembered again
    os.truncate(folder.path / "a.txt", 2)
    (folder.path / "a.txt").write_bytes(b"a\n")
    folder.scan()
    assert folder.listed() == {}
    before = folder.round.state.now
    assert folder.store.scan(folder.round.state.rules).snapshot == before


def test_a_file_that_has_grown_is_listed_though_git_has_failed_at_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder, run = quiet(tmp_path), Git.run

    def full(self: Git, *arguments: str, **more: object) -> bytes:
        if "--add" in arguments:
            raise GitStoppedError("No space left on device")
        return run(self, *arguments, **more)  # type: ignore[arg-type]

    os.truncate(folder.path / "a.txt", LARGE + 1)
    (folder.path / "deep/er/b.txt").write_bytes(b"agent\n")
    with monkeypatch.context() as patched:
        patched.setattr(Git, "run", full)
        with pytest.raises(GitStoppedError):
            folder.scan()
    folder.scan()
    assert folder.listed() == {"a.txt": "large", "deep/er/b.txt": "modified"}


def test_a_repository_below_that_becomes_a_folder_is_seen(tmp_path: Path):
    def nested(made: Folder) -> None:
        made.write("sub/c.txt", "c\n")
        git(made.path / "sub", "init", "-q")

    folder = quiet(tmp_path, nested)
    rules = b""  # those of the round leave such folders out
    before = folder.store.scan(rules).snapshot
    assert before.beside["sub"].why == "repository"
    time.sleep(TICK)
    assert folder.store.scan(rules).snapshot == before
    shutil.rmtree(folder.path / "sub/.git")
    after = folder.store.scan(rules).snapshot
    assert {each.path for each in folder.store.objects.differences(before, after)} == {"sub", "sub/c.txt"}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other rights")
def test_a_folder_that_may_not_be_read_keeps_its_files(tmp_path: Path):
    folder = quiet(tmp_path)
    (folder.path / "deep/er").chmod(0)
    try:
        folder.scan()
        folder.scan()
        assert folder.listed() == {}
    finally:
        (folder.path / "deep/er").chmod(0o755)
    folder.scan()
    assert folder.listed() == {}


def test_where_folders_keep_no_times_a_file_is_seen_after_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(store_index.UntrackedFiles, "_times_of", lambda *_: (1, 1))
    folder = quiet(tmp_path)
    folder.write("new.txt", "agent\n")
    folder.scan()
    assert folder.listed() == {}
    monkeypatch.setattr(store_index, "PERIOD", 0)
    folder.scan()
    assert folder.listed() == {"new.txt": "created"}


def test_a_round_begins_with_a_whole_listing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(store_index.UntrackedFiles, "_times_of", lambda *_: (1, 1))
    folder = quiet(tmp_path)
    folder.write("new.txt", "before the round\n")
    folder.round.begin()
    folder.write("new.txt", "agent\n")
    folder.scan()
    assert folder.listed() == {"new.txt": "modified"}


def test_a_folder_that_has_just_changed_is_not_relied_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    just_now = time.time_ns()
    monkeypatch.setattr(store_index, "SETTLED", 3600 * 1_000_000_000)
    monkeypatch.setattr(store_index.UntrackedFiles, "_times_of", lambda *_: (just_now, 1))
    folder = quiet(tmp_path)
    folder.write("new.txt", "agent\n")
    folder.scan()
    assert folder.listed() == {"new.txt": "created"}


def test_too_many_folders_are_listed_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commands: list[str]):
    monkeypatch.setattr(store_index, "MANY_FOLDERS", 3)
    folder = quiet(tmp_path)
    commands.clear()
    folder.scan()
    assert commands[1].startswith("ls-files -z -o")


PATHS = st.sampled_from(["a", "b.env", "d", "d/a", "d/e/a", "d/e", "x.o", "x.o/a", "x.o/a/b", "d/.git/HEAD"])


STEPS = st.tuples(st.sampled_from(["write", "remove", "folder", "touch", "move"]), PATHS, PATHS)


@given(st.lists(STEPS, max_size=6))
@settings(max_examples=15)
def test_what_is_remembered_changes_no_look(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str, str]]
):
    folder = quiet(tmp_path_factory.mktemp("quiet"), lambda made: made.write(".gitignore", "*.o\n"))
    store, rules = folder.store, folder.round.state.rules
    for number, (step, path, other) in enumerate(steps):
        at = folder.path / path
        with contextlib.suppress(OSError):
            if step == "write":
                at.parent.mkdir(parents=True, exist_ok=True)
                at.write_bytes(b"%d\n" % number)
            elif step == "remove":
                shutil.rmtree(at) if at.is_dir() else at.unlink()
            elif step == "folder":
                at.mkdir(parents=True)
            elif step == "touch":
                os.utime(at, (number, number))
            else:
                at.rename(folder.path / other)
        found = store.scan(rules).snapshot
        assert folder.opened().store.scan(rules).snapshot == found, tree(folder.path)
        time.sleep(TICK)
        assert store.scan(rules).snapshot == found  # and it is remembered again
        time.sleep(TICK)


def test_a_command_line_takes_no_more_paths_than_windows_allows():
    paths = ["a" * 100] * 450 + ["b" * 20_000] * 3 + ["c"]
    parts = list(batches(paths))
    assert [path for part in parts for path in part] == paths
    assert max(sum(len(path) + 1 for path in part) for part in parts) < 25_000
    assert [len(part) for part in parts] == [200, 200, 50, 1, 1, 2]
