"""A network share that hangs: it costs its own files, and nothing else of the window."""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from companion.background import Executor
from companion.editor import WindowId
from companion.server import context
from companion.server.window_screen import SymbolPlace, SymbolPlaces, Tab
from companion.settings import Settings

from ..conftest import Running, until
from ..test_problems import row
from ..wire import Cli

SHARE = "/share-that-hangs/"


class Share:
    """Looks at its files hang while `answers` is not set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answers = threading.Event()
        self.looks = 0
        for name in ("realpath", "isfile"):
            monkeypatch.setattr(os.path, name, self._hanging(getattr(os.path, name)))
        monkeypatch.setattr(os, "stat", self._hanging(os.stat))

    def _hanging(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def look(path: Any, *args: Any, **options: Any) -> Any:
            if not str(path).startswith(SHARE):
                return call(path, *args, **options)
            self.looks += 1
            self.answers.wait(600)
            return {"realpath": path, "isfile": True}.get(call.__name__) or call(os.curdir)

        return look


@pytest.fixture
def share(monkeypatch: pytest.MonkeyPatch) -> Iterator[Share]:
    monkeypatch.setattr(context, "DISK_LIMIT", 0.2)
    found = Share(monkeypatch)
    yield found
    found.answers.set()


def told(running: Running, window: int = 1) -> list[tuple[str, bool]]:
    """The files that the CLIs have been told, and whether each is active."""

    def sent(companion: Any) -> list[tuple[str, bool]]:
        server = companion._windows[WindowId(window)]
        server.contexts._send_soon()  # an event would wait until there are no more for a moment
        context = server.contexts._sent
        return [(file.path, bool(file.is_active)) for file in context.open_files] if context else []

    return running.do(sent)


def test_a_share_that_hangs_silences_only_its_own_files(running: Running, share: Share, files: list[str]):
    hung = SHARE + "a.txt"
    running.focus(1, hung)
    running.focus(2, files[0])
    until(lambda: told(running) == [(files[0], True)])
    running.focus(3, files[1])
    until(lambda: told(running) == [(files[1], True), (files[0], False)])
    share.answers.set()
    until(lambda: told(running) == [(files[1], True), (files[0], False), (hung, False)])


def test_nothing_counts_as_active_while_the_file_with_the_focus_hangs(running: Running, share: Share, files: list[str]):
    """Whether it is excluded, nobody knows; the CLI must not take another one for what the person looks at."""
    running.focus(1, files[0])
    running.focus(2, SHARE + "a.txt")
    until(lambda: told(running) == [(files[0], False)])
    share.answers.set()
    until(lambda: told(running) == [(SHARE + "a.txt", True), (files[0], False)])


def test_looks_at_a_share_that_hangs_do_not_pile_up(running: Running, share: Share, files: list[str]):
    running.focus(2, files[0])
    for number in range(5):
        running.focus(10 + number, f"{SHARE}{number}.txt")
    until(lambda: told(running) == [(files[0], False)])
    for number in range(20):
        running.focus(30, files[1 + number % 2])
        until(lambda number=number: (files[1 + number % 2], True) in told(running))
    assert share.looks <= 12


def test_the_whole_of_a_window_that_hangs_is_told_to_nobody(running: Running, share: Share, files: list[str]):
    """A glob with a slash begins in the folders: whether one of them matches can't be known."""
    running.open_window(WindowId(2), (SHARE + "project",))
    running.do(lambda companion: companion.configure(Settings(context_exclude=("/secret.txt",))))
    for number in range(30):
        running.focus(2, files[number % 2], WindowId(2))
    running.focus(1, files[2])
    until(lambda: told(running) == [(files[2], True)])
    assert "secret" not in json.dumps(told(running))


def test_a_cli_connects_while_a_share_hangs(running: Running, share: Share, project: Path):
    assert not share.answers.is_set()
    (project / "a.txt").touch()
    running.focus(1, SHARE + "b.txt")
    running.focus(2, project / "a.txt")
    stream = running.cli().connect().listen()
    wanted = [str(project / "a.txt")]
    seen: list[str] = []
    while seen != wanted:
        told(running)
        update = stream.take("ide/contextUpdate")
        seen = [file["path"] for file in update["workspaceState"].get("openFiles", [])]


def answered(agent: Cli, tool: str, /, **arguments: Any) -> tuple[list[str], bool]:
    """The paths in a tool's answer, and whether it is settled; none if it is an error."""
    answer = agent.tool(tool, **arguments)["result"].get("structuredContent", {})
    rows = answer.get("files") or answer.get("places") or answer.get("diagnostics") or []
    return [each["path"] for each in rows], answer.get("isSettled", True)


def test_an_agent_is_told_of_all_files_but_those_that_hang(
    running: Running, agent: Cli, share: Share, files: list[str]
):
    hung = [f"{SHARE}{number}.py" for number in range(3)]
    shown = [hung[0], files[0], hung[1], files[1], hung[2]]
    running.editor.tabs_shown = [Tab(path) for path in shown]
    running.editor.problems = {path: [row(0, "p")] for path in shown}
    running.editor.symbols["f"] = SymbolPlaces("index", tuple(SymbolPlace(path, 1, 1, "f") for path in shown))
    until(lambda: answered(agent, "getOpenFiles") == (files[:2], True))
    until(lambda: answered(agent, "findSymbol", name="f") == (files[:2], True))
    until(lambda: answered(agent, "findReferences", name="f") == (files[:2], True))
    until(lambda: answered(agent, "getDiagnostics") == (files[:2], False))
    share.answers.set()
    until(lambda: answered(agent, "getOpenFiles") == (shown, True))
    until(lambda: answered(agent, "getDiagnostics") == (sorted(shown), True))


def test_an_agent_that_asks_for_the_problems_of_some_files_gets_those_that_do_not_hang(
    running: Running, agent: Cli, share: Share, files: list[str]
):
    hung = SHARE + "a.py"
    os.link(files[0], spelled := files[0] + "x")  # as another spelling on a disk that ignores upper case
    running.editor.tabs_shown = [Tab(hung), Tab(files[0])]
    running.editor.problems = {files[0]: [row(0, "p")]}
    until(lambda: answered(agent, "getDiagnostics", paths=[spelled]) == (files[:1], True))
    until(lambda: answered(agent, "getDiagnostics", paths=[hung, files[0]]) == (files[:1], False))
    for tool, asked in (("getDiagnostics", {"paths": [hung]}), ("openFile", {"path": hung})):
        result = agent.tool(tool, **asked)["result"]
        assert result["isError"]
        assert "has not answered in time" in result["content"][0]["text"]


def test_a_file_that_hangs_far_behind_many_others_is_found(running: Running, agent: Cli, share: Share, project: Path):
    many = [str(project / f"{number}.py") for number in range(200)]
    running.editor.tabs_shown = [Tab(path) for path in (*many, SHARE + "a.py")]
    until(lambda: answered(agent, "getOpenFiles", limit=500) == (many, True))


def ask(question: Callable[[context.FileReads], Awaitable[object]]) -> object:
    """The answer to a question about files that nobody has looked at yet."""

    async def asked() -> object:
        asyncio.get_running_loop().set_default_executor(Executor())
        return await question(context.FileReads())

    return asyncio.run(asked())


def test_many_looks_at_once_are_not_taken_for_disks_that_hang(files: list[str]):
    async def question(looks: context.FileReads) -> bool:
        asked = (looks.one(files[number % 3], os.path.isfile) for number in range(5 * context.MOST_HANGING))
        return all(await asyncio.gather(*asked))

    assert ask(question)


def test_many_files_on_a_disk_that_is_slow_are_all_looked_at(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(context, "DISK_LIMIT", 1.0)
    paths = [str(number) for number in range(30)]
    found = ask(lambda looks: looks.each(paths, lambda _: time.sleep(0.05)))
    assert found == dict.fromkeys(paths)


@pytest.mark.parametrize("threads", [1, 2])
def test_questions_that_are_cancelled_while_a_disk_hangs_do_not_pile_up(share: Share, files: list[str], threads: int):
    async def question(looks: context.FileReads) -> bool:
        for _ in range(2 * context.MOST_HANGING):
            before = share.looks
            asked = asyncio.create_task(looks.one(SHARE + "a.txt", os.path.isfile))
            while not asked.done() and share.looks < before + threads:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.001)
            asked.cancel()
            await asyncio.wait([asked])
        found = await looks.one(files[0], os.path.isfile)
        share.answers.set()
        return found

    assert ask(question)


def test_what_agents_ask_for_on_a_share_that_hangs_silences_nothing_that_is_told_by_itself(
    running: Running, agent: Cli, share: Share, files: list[str], project: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(context, "MOST_HANGING", 2)
    second = WindowId(2)
    running.open_window(second, (str(project),))
    asking = running.agent(second)
    for number in range(3):
        assert asking.tool("openFile", path=f"{SHARE}{number}.txt")["result"]["isError"]
    running.focus(1, files[0], second)
    until(lambda: told(running, second) == [(files[0], True)])
