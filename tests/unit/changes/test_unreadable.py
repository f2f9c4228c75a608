"""What git may not read or write: a file of the project says nothing of the store, and the store nothing of a file."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from companion.platforms import programs
from companion.snapshots.git import GitStoppedError

from .folders import Folder

CLOSED = "closed.txt"
_GIT = """
import subprocess, sys
said, name, words = sys.argv[1], sys.argv[2].encode(), sys.argv[3:]
given = sys.stdin.buffer.read()
if "--add" in words and name in given.split(bytes(1)):
    sys.exit(said)
done = subprocess.run(words, input=given)
sys.exit(done.returncode)
"""
"""A git that may not add a file, whoever runs it: root may read everything."""


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path)
    made.write("a.txt", "a\n")
    made.write("b.txt", "b\n")
    made.write(CLOSED, "closed\n")
    return made


def refuse(monkeypatch: pytest.MonkeyPatch, said: str, name: str = CLOSED) -> None:
    """Have git say this instead of adding a file."""
    start = programs.start

    def started(words: Sequence[str], environment: Mapping[str, str], **more: Any) -> Any:
        return start([sys.executable, "-c", _GIT, said, name, *words], environment, **more)

    monkeypatch.setattr(programs, "start", started)


OF_THE_FILE = f'error: open("{CLOSED}"): Permission denied\nfatal: Unable to process path {CLOSED}'


def test_a_file_that_git_may_not_read_stops_no_snapshot(folder: Folder, monkeypatch: pytest.MonkeyPatch):
    refuse(monkeypatch, OF_THE_FILE)
    folder.round.begin()
    folder.scan()
    assert folder.listed() == {}
    folder.write("a.txt", "agent\n")
    folder.write("new.txt", "agent\n")
    folder.scan()
    assert folder.listed() == {"a.txt": "modified", "new.txt": "created"}
    assert folder.undo_all() == []
    assert folder.read("a.txt") == b"a\n"


def test_a_file_that_can_be_read_no_longer_is_listed_so_and_comes_back(folder: Folder, monkeypatch: pytest.MonkeyPatch):
    folder.round.begin()
    folder.write("a.txt", "agent\n")
    folder.write(CLOSED, "agent, closed\n")
    with monkeypatch.context() as patched:
        refuse(patched, OF_THE_FILE)
        folder.scan()
        assert folder.listed() == {"a.txt": "modified", CLOSED: "unreadable"}
        assert folder.undo_all() == [f"{CLOSED} could not be read, so there is no copy of it"]
        assert folder.read("a.txt") == b"a\n"
    folder.write(CLOSED, "agent, open again\n")
    folder.scan()
    assert folder.listed() == {CLOSED: "modified"}


@pytest.mark.skipif(os.name == "nt" or not hasattr(os, "geteuid") or os.geteuid() == 0, reason="all can be read here")
def test_many_files_that_nobody_may_read_cost_one_more_run_of_git(folder: Folder, monkeypatch: pytest.MonkeyPatch):
    for number in range(50):
        folder.write(f"closed/{number}", "x")
        (folder.path / f"closed/{number}").chmod(0)
    runs: list[Sequence[str]] = []
    start = programs.start

    def counted(words: Sequence[str], environment: Mapping[str, str], **more: Any) -> Any:
        runs.append(words)
        return start(words, environment, **more)

    monkeypatch.setattr(programs, "start", counted)
    folder.round.begin()
    assert len([words for words in runs if "--add" in words]) == 2
    folder.scan()
    assert folder.listed() == {}


def test_of_the_others_git_is_asked_again_at_once(folder: Folder, monkeypatch: pytest.MonkeyPatch):
    """As above for root, who may read everything."""
    opened = os.open

    def closed(path: str, *args: Any, **more: Any) -> int:
        if path == os.path.join(folder.path, CLOSED):
            raise PermissionError(path)
        return opened(path, *args, **more)

    folder.round.begin()
    for name in ("a.txt", "b.txt", CLOSED):
        folder.write(name, "agent\n")
    with monkeypatch.context() as patched:
        refuse(patched, OF_THE_FILE)
        patched.setattr(os, "open", closed)
        folder.scan()
    assert folder.listed() == {"a.txt": "modified", "b.txt": "modified", CLOSED: "unreadable"}


@pytest.mark.parametrize(
    "said",
    [
        f"error: insufficient permission for adding an object to repository database objects\nerror: {CLOSED}: failed",
        "fatal: Unable to create 'index.lock': Permission denied",
        f'error: open("{CLOSED}"): Too many open files',
        f"error: {CLOSED}: failed to insert into database: No space left on device",
    ],
)
def test_what_the_store_or_the_machine_lacks_makes_no_file_unreadable(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, said: str
):
    folder.round.begin()
    folder.write(CLOSED, "agent\n")
    with monkeypatch.context() as patched:
        refuse(patched, said)
        with pytest.raises(GitStoppedError):
            folder.scan()
    folder.scan()
    assert folder.listed() == {CLOSED: "modified"}


@pytest.mark.skipif(os.name == "nt" or not hasattr(os, "geteuid") or os.geteuid() == 0, reason="all can be read here")
def test_a_folder_that_nobody_may_read_has_not_been_deleted(folder: Folder):
    folder.write("inside/x.txt", "x\n")
    folder.round.begin()
    (folder.path / "inside").chmod(0)
    try:
        folder.write("a.txt", "agent\n")
        folder.scan()
        assert folder.listed() == {"a.txt": "modified"}
    finally:
        (folder.path / "inside").chmod(0o755)
    folder.scan()
    assert folder.listed() == {"a.txt": "modified"}


def test_what_is_in_a_closed_folder_is_not_gone(folder: Folder, monkeypatch: pytest.MonkeyPatch):
    """As above for root, who may look into each folder."""
    folder.write("inside/x.txt", "x\n")
    folder.round.begin()
    stated, inside = os.lstat, os.path.join(folder.path, "inside")

    def closed(path: str) -> os.stat_result:
        if str(path).startswith(inside):
            raise PermissionError(path)
        return stated(path)

    (folder.path / "inside").rename(folder.path.parent / "elsewhere")
    with monkeypatch.context() as patched:
        patched.setattr(os, "lstat", closed)
        folder.scan()
        assert folder.listed() == {}
    folder.scan()
    assert folder.listed() == {"inside/x.txt": "deleted"}
