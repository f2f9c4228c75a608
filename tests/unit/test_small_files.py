"""Small JSON files, which somebody else may have written."""

from __future__ import annotations

import io
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Self

import pytest

from companion.backends import children
from companion.clis.discovery import clear_leftovers
from companion.clis.families import FAMILIES
from companion.json_text import SETTINGS, SMALL, read_own, read_settings
from companion.status import survey

DEEP = "[" * 200_000
posix = pytest.mark.skipif(os.name != "posix", reason="Windows has neither pipes in folders nor owners by number")


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "7", '"x"', DEEP[: SMALL - 1], '{"a":' * 10_000, '{"a": ' + "9" * 5000 + "}", "\x00", "\udcff"],
)
def test_what_is_no_object_is_nothing(tmp_path: Path, text: str):
    path = tmp_path / "x.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert read_own(path) is None
    assert read_settings(path) == {}


def test_settings_that_never_end_a_string_or_a_comment_hold_up_nobody(tmp_path: Path):
    pieces, ends = ('\\"', '"a', "/*a", '"\\\\', "//", "/"), ("", "\\", '"', "\n")
    for number, (piece, end) in enumerate(itertools.product(pieces, ends)):
        (tmp_path / f"{number}.json").write_text((piece * SETTINGS)[: SETTINGS - 1] + end)
    code = """
import pathlib, sys
from companion.json_text import read_settings
print([found for path in pathlib.Path(sys.argv[1]).glob('*.json') if (found := read_settings(path))])
"""
    command = [sys.executable, "-c", code, tmp_path]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert ran.stdout.strip() == "[]"


def test_a_folder_is_nothing(tmp_path: Path):
    assert read_own(tmp_path) is None
    assert read_settings(tmp_path) == {}


def test_an_object_is_read(tmp_path: Path):
    path = tmp_path / "x.json"
    path.write_text('\ufeff{"a": [1]}', "utf-8")
    assert read_own(path) == read_settings(path) == {"a": [1]}


def test_settings_may_have_comments(tmp_path: Path):
    path = tmp_path / "x.json"
    path.write_text('{"a": "http://x", // one\n/* two */ "b": 1}', "utf-8")
    assert read_settings(path) == {"a": "http://x", "b": 1}


@pytest.mark.parametrize(("read", "limit"), [(read_own, SMALL), (read_settings, SETTINGS)])
def test_of_a_huge_file_nothing_is_read(tmp_path: Path, read: object, limit: int, monkeypatch: pytest.MonkeyPatch):
    """400 MB in the temporary folder must not take 400 MB of memory."""
    path = tmp_path / "x.json"
    with path.open("wb") as file:
        file.truncate(400 * 1024 * 1024)
    taken: list[int] = []
    monkeypatch.setattr(os, "fdopen", lambda descriptor, _mode, **_: Counted(os.dup(descriptor), taken))
    assert callable(read)
    assert not read(path)
    assert sum(taken) <= limit + 1


class Counted:
    """A file that counts what is read of it."""

    def __init__(self, descriptor: int, taken: list[int]) -> None:
        self._file = io.FileIO(descriptor)
        self._taken = taken

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self._taken.append(len(data))
        return data


@posix
def test_a_pipe_and_a_link_are_nothing_and_block_nobody(tmp_path: Path):
    assert sys.platform != "win32"
    os.mkfifo(tmp_path / "pipe")
    assert read_own(tmp_path / "pipe") is None
    assert read_settings(tmp_path / "pipe") == {}
    (tmp_path / "real").write_text("{}")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert read_own(tmp_path / "link") is None
    assert read_own(tmp_path / "real") == {}


@posix
def test_a_file_of_another_user_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "x.json"
    path.write_text('{"a": 1}')
    monkeypatch.setattr(os, "getuid", lambda: path.stat().st_uid + 1)
    assert read_own(path) is None
    assert read_settings(path) == {"a": 1}


@pytest.fixture(
    params=[DEEP, '{"ppid": 1e999}', '{"ppid": 99999999999999999999}', '{"ideInfo": [' * 9000, "x" * 70_000]
)
def hostile(request: pytest.FixtureRequest) -> str:
    return request.param


def test_a_hostile_file_does_not_end_the_clearing_of_leftovers(tmp_path: Path, lock_folder: Path, hostile: str):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    left = json.dumps({"ppid": ended.pid, "ideInfo": {"name": "sublimetext", "displayName": "Sublime Text"}})
    lock_folder.mkdir(parents=True)
    for name, text in (("1.lock", hostile), ("2.lock", left), ("3.lock", hostile)):
        (lock_folder / name).write_text(text)
    assert clear_leftovers(FAMILIES, lambda *_: False) == [lock_folder / "2.lock"]


def test_a_hostile_lock_file_does_not_end_the_status_report(lock_folder: Path, project: Path, hostile: str):
    lock_folder.mkdir(parents=True)
    (lock_folder / "1.lock").write_text(hostile)
    for port, workspace in enumerate(("[" * 30_000, f"{project}\0", f"{project}/\ud800", ["\0"]), 4):
        (lock_folder / f"{port}.lock").write_text(json.dumps({"ppid": os.getpid(), "workspacePath": workspace}))
    theirs = json.dumps({"ppid": os.getpid(), "workspacePath": str(project), "ideName": "Other"})
    (lock_folder / "3.lock").write_text(theirs)
    [rival] = survey.rivals([str(project)], 9, [9])
    assert rival.editor == "Other"


@pytest.mark.parametrize(
    "text",
    [
        DEEP,
        '{"process": [1e999, 1], "editor": [1, 1]}',
        '{"process": [99999999999999999999, 1], "editor": [99999999999999999999, 1]}',
        '{"process": [true, 1], "editor": 7}',
        '{"process": [1, 1' + "0" * 400 + '], "editor": [1, 1]}',
        "x" * 70_000,
    ],
)
def test_a_hostile_record_does_not_end_the_look_for_leftover_processes(text: str):
    children.record(os.getpid(), 1.0)
    [path] = children._folder().path.glob("*.json")
    path.with_name("1.json").write_text(text)
    assert children.orphans() == []
