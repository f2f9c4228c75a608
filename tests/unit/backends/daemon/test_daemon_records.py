"""Processes whose editor was killed: the next one finds and ends them, and nothing else."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from companion.backends import children

from ...conftest import Running, until

Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def spawn() -> Iterator[Start]:
    """Starts processes, as ours unless `is_ours` says otherwise, and ends them."""
    started: list[subprocess.Popen[bytes]] = []

    def spawn(*arguments: str, is_ours: bool = True) -> subprocess.Popen[bytes]:
        environment = os.environ | ({children.MARK: str(os.getpid())} if is_ours else {})
        command = [sys.executable, "-c", "import time; time.sleep(60)", *arguments]
        started.append(process := subprocess.Popen(command, env=environment, start_new_session=True))
        until(lambda: psutil.Process(process.pid).environ())  # for a moment after the start there are none
        return process

    yield spawn
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    user = "" if sys.platform == "win32" else f"-{os.getuid()}"
    return tmp_path / "tmp" / f"qwen-companion{user}"


def made(process: subprocess.Popen[bytes]) -> float:
    return psutil.Process(process.pid).create_time()


def orphan(folder: Path, process: subprocess.Popen[bytes], started: float | None = None) -> Path:
    """Record a process whose editor is gone."""
    children.record(process.pid, made(process))
    path = folder / f"{process.pid}.json"
    record = {"process": [process.pid, started or made(process)], "editor": [os.getpid(), 1.0]}
    path.write_text(json.dumps(record))
    return path


def test_a_record_has_numbers_alone_and_nobody_else_reads_it(spawn: Start, folder: Path):
    process = spawn()
    children.record(process.pid, made(process))
    path = folder / f"{process.pid}.json"
    own = psutil.Process().create_time()
    assert json.loads(path.read_text()) == {"process": [process.pid, made(process)], "editor": [os.getpid(), own]}
    if sys.platform != "win32":
        assert (stat.S_IMODE(folder.stat().st_mode), stat.S_IMODE(path.stat().st_mode)) == (0o700, 0o600)
    assert children.orphans() == []
    children.forget(process.pid)
    assert not path.exists()
    children.forget(process.pid)


def test_the_process_of_a_killed_editor_is_ended(spawn: Start, folder: Path):
    process = spawn()
    path = orphan(folder, process)
    assert children.end_leftovers() == [process.pid]
    assert process.wait(10) is not None
    assert not path.exists()


def test_a_daemon_in_a_shell_whose_environment_the_system_hides_is_ended(spawn: Start, folder: Path):
    process = spawn("serve", "--require-auth", is_ours=False)
    orphan(folder, process)
    assert children.end_leftovers() == [process.pid]
    assert process.wait(10) is not None


def test_nothing_else_is_ended_whatever_a_record_says(spawn: Start, folder: Path):
    other, later = spawn(is_ours=False), spawn()
    paths = [orphan(folder, other), orphan(folder, later, made(later) - 100)]
    assert children.end_leftovers() == []
    assert (other.poll(), later.poll()) == (None, None)
    assert not any(path.exists() for path in paths)


def test_a_process_of_an_editor_that_lives_is_left_alone(spawn: Start):
    process = spawn()
    children.record(process.pid, made(process))
    assert children.end_leftovers() == []
    assert process.poll() is None


@pytest.mark.parametrize(
    "text", ["", "[]", '{"process": 1, "editor": [1, 2]}', '{"process": ["x", 1], "editor": [1, 2]}']
)
def test_a_broken_record_goes(folder: Path, text: str):
    folder.mkdir(mode=0o700, parents=True)
    (folder / "1.json").write_text(text)
    assert children.orphans() == []
    assert list(folder.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")
def test_a_folder_that_isnt_ours_is_neither_written_nor_believed(spawn: Start, folder: Path, tmp_path: Path):
    process = spawn()
    (tmp_path / "elsewhere").mkdir()
    folder.symlink_to(tmp_path / "elsewhere")
    children.record(process.pid, made(process))
    assert children.orphans() == []
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_whether_an_editor_lives_that_cant_be_asked_is_not_guessed(
    spawn: Start, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    orphan(folder, spawn())

    class Closed:
        def __init__(self, pid: int) -> None:
            raise psutil.AccessDenied(pid)

    monkeypatch.setattr(children.psutil, "Process", Closed)
    assert children.orphans() == []


def test_the_companion_ends_them_when_it_starts(spawn: Start, folder: Path, start: Callable[[], Running]):
    process = spawn()
    path = orphan(folder, process)
    start()
    until(lambda: not path.exists())
    assert process.wait(10) is not None


def test_the_folder_goes_with_the_last_record_and_looking_makes_none(spawn: Start, folder: Path):
    """Uninstalling leaves nothing behind."""
    assert children.orphans() == []
    assert not folder.exists()
    first, second = spawn(), spawn()
    for process in (first, second):
        children.record(process.pid, made(process))
    children.forget(first.pid)
    assert folder.exists()
    children.forget(second.pid)
    assert not folder.exists()
