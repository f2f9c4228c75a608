"""The process of an agent: its environment, and that nothing of it is left."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import psutil
import pytest

from companion.backends import children
from companion.backends.acp import process as child_module
from companion.backends.acp import process as process_module
from companion.clis import environment as environment_module
from companion.clis.environment import LoginEnvironment
from tests.agent_talk import Talks, is_alive, run, said

from ...fake_daemon import until


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no login shells")
def test_the_environment_is_that_of_the_login_shell_without_the_variables_of_editors(
    home: Path, monkeypatch: pytest.MonkeyPatch
):
    (home / ".bash_profile").write_text("echo Welcome; export OWN='a\nb'; export PATH=/own/bin:$PATH\n")
    monkeypatch.setenv("SHELL", "/bin/bash")
    monkeypatch.setenv("QWEN_CODE_IDE_SERVER_PORT", "1")
    found = run(LoginEnvironment().get())
    assert found["PATH"].startswith("/own/bin:")
    assert found["OWN"] == "a\nb"
    assert "QWEN_CODE_IDE_SERVER_PORT" not in found


def test_without_an_answer_of_the_login_shell_the_editors_environment_does(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(environment_module, "usual_shell", lambda _: "/there/is/no/shell")
    monkeypatch.setenv("OWN", "a")
    assert run(LoginEnvironment().get())["OWN"] == "a"


async def test_a_start_that_is_given_up_leaves_no_process(talks: Talks, monkeypatch: pytest.MonkeyPatch):
    pids: list[int] = []

    def write(pid: int, started: float) -> None:
        pids.append(pid)
        raise OSError

    monkeypatch.setattr(process_module.children, "record", write)
    with pytest.raises(OSError):
        async with talks():
            pass
    assert not any(map(is_alive, pids))
    assert pids


async def test_all_that_a_process_has_printed_is_read_though_it_has_ended(project: Path):
    code = f"import sys; sys.stdout.write('x' * {child_module.MAX_UNREAD + 64 * 1024})"
    child = await child_module.start_child([sys.executable, "-c", code], str(project), os.environ, is_written_to=False)
    await child.wait()
    settled = asyncio.create_task(child.output.settled())
    await asyncio.sleep(0)
    size = 0
    while size < child_module.MAX_UNREAD + 64 * 1024:
        assert not settled.done()
        size += len(await child.output.read())
    await settled
    child.close()


async def test_an_agent_and_what_it_has_started_end_with_its_client(talks: Talks):
    script = """
import subprocess, signal
if os.name != "nt": signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
os._exit = lambda code: time.sleep(600)
def session_prompt(params):
    say(f"{os.getpid()} {child.pid}")
    return {"stopReason": "end_turn"}
"""
    async with talks(script) as talk:
        pids = [int(pid) for pid in said(await talk.done(await talk.ask("x"))).split()]
        assert all(map(is_alive, pids))
    assert not any(map(is_alive, pids))


class FakeProcess:
    """A process of a table, as psutil shows it."""

    def __init__(self, pid: int, parent: int = 0, made: float = 100.0) -> None:
        self.pid, self.parent, self.made = pid, parent, made
        self.is_killed = False
        self.table: dict[int, FakeProcess] = {}

    def create_time(self) -> float:
        return self.made

    def status(self) -> str:
        return psutil.STATUS_RUNNING

    def is_running(self) -> bool:
        return not self.is_killed

    def ppid(self) -> int:
        return self.parent

    def children(self, *, recursive: bool) -> list[FakeProcess]:
        assert recursive
        below = [each for each in self.table.values() if each.parent == self.pid]
        return [each for child in below for each in (child, *child.children(recursive=True))]

    def kill(self) -> None:
        self.is_killed = True


@pytest.mark.parametrize("has_ended", [False, True], ids=["runs", "has ended"])
def test_on_windows_what_a_batch_file_has_started_ends_with_it(monkeypatch: pytest.MonkeyPatch, has_ended: bool):
    """There, the process is `cmd.exe`, and what it has started keeps its number when it has ended."""
    processes = [FakeProcess(2, 1), FakeProcess(3, 2), FakeProcess(4)]
    processes.append(FakeProcess(5, 1, made=50.0) if has_ended else FakeProcess(1))
    table = {each.pid: each for each in processes}
    for each in processes:
        each.table = table

    def find(pid: int) -> FakeProcess:
        if pid not in table:
            raise psutil.NoSuchProcess(pid)
        return table[pid]

    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(psutil, "Process", find)
    monkeypatch.setattr(psutil, "process_iter", lambda: list(table.values()))
    children.end_group(1, 100.0, 0)
    assert {each.pid for each in processes if each.is_killed} == ({2, 3} if has_ended else {1, 2, 3})


async def test_an_agent_that_is_ended_for_what_it_does_takes_its_children_along(talks: Talks, project: Path):
    script = """
import os, subprocess, sys, time
def session_prompt(params):
    none = subprocess.DEVNULL
    sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
    child = subprocess.Popen(sleep, stdin=none, stdout=none, stderr=none)
    open("child", "w").write(str(child.pid))
    os.close(1)
    time.sleep(600)
"""
    async with talks(script) as talk:
        await talk.ask("Go")
        file = project / "child"
        await until(lambda: file.exists() and file.read_text())
        await until(lambda: not is_alive(int(file.read_text())))


async def test_the_agent_of_a_killed_editor_is_ended_at_the_next_start(talks: Talks, tmp_path: Path):
    async with talks("os._exit = lambda code: time.sleep(600)") as talk:
        process = talk.client.process
        assert process
        assert children.end_leftovers() == []
        folder = next((tmp_path / "tmp").glob("qwen-companion*"))
        record = folder / f"{process.pid}.json"
        assert set(json.loads(record.read_text())) == {"process", "editor"}
        record.write_text(json.dumps(json.loads(record.read_text()) | {"editor": [os.getpid(), 1.0]}))
        assert await asyncio.to_thread(children.end_leftovers) == [process.pid]
        assert not record.exists()
        await talk.ended()


def test_nothing_but_an_agent_is_ended_whatever_a_record_says(tmp_path: Path):
    own = psutil.Process()
    children.record(own.pid, own.create_time())
    folder = next((tmp_path / "tmp").glob("qwen-companion*"))
    record = folder / f"{own.pid}.json"
    record.write_text(json.dumps({"process": [own.pid, own.create_time()], "editor": [own.pid, 1.0]}))
    assert children.end_leftovers() == []
    assert not record.exists()
