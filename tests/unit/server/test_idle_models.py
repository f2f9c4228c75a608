"""Sessions of models whose CLIs were killed: they end when nobody uses them, and never while somebody does."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self

import pytest

from companion.clis.families import QWEN_CODE
from companion.editor import WindowId
from companion.server import sessions
from companion.settings import Settings

from ..conftest import Running, until
from ..wire import LIMIT, Cli

FEW = 4
BRIDGE = Path(__file__).parents[3] / "companion" / "clis" / "mcp_bridge.mjs"


class Model(Cli):
    """The model of a CLI, which reaches the tools at a path of its own and says nothing when it is killed."""

    path = "/tools/Qwen%20Code"

    def propose(self, path: str) -> dict[str, Any]:
        return self.tool("openDiff", filePath=path, newContent="two\n")["result"]

    def killed(self) -> Self:
        self.http.close()
        return self


@pytest.fixture
def model(running: Running) -> Iterator[Callable[[], Model]]:
    running.do(lambda companion: companion.configure(Settings(agents_use_editor=True)))
    models: list[Model] = []

    def connect() -> Model:
        models.append(one := Model(running.lock()))
        return one.connect()

    yield connect
    for one in models:
        one.__exit__()


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "IDLE_AGENTS", FEW)


@pytest.mark.usefixtures("few")
def test_sessions_of_models_that_were_killed_do_not_pile_up(running: Running, model: Callable[[], Model]):
    killed = [str(model().killed().session) for _ in range(3 * FEW)]
    alive = model()
    until(lambda: len(running.sessions()) <= FEW + 1)
    left = running.sessions()
    assert alive.session in left
    assert set(killed[:FEW]).isdisjoint(left)
    assert alive.tools()


@pytest.mark.usefixtures("few")
def test_a_client_whose_session_went_is_told_and_begins_anew(running: Running, model: Callable[[], Model]):
    waiting = model()
    for _ in range(2 * FEW):
        model().killed()
    until(lambda: waiting.session not in running.sessions())
    for answer in (waiting.ask("tools/list"), waiting.ask("ping"), waiting.get(), waiting.send("DELETE")):
        answer.close()
        assert answer.status_code == 404
    waiting.session = None
    assert waiting.connect().tools()


@pytest.mark.usefixtures("few")
def test_a_session_in_use_is_never_ended_for_another(running: Running, model: Callable[[], Model], project: Path):
    listening, asking = model(), model()
    listening.listen()
    path = str(project / "a.txt")
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(asking.propose, path)
        running.diff(path)
        for _ in range(3 * FEW):
            model().killed()
        assert {listening.session, asking.session} <= running.sessions()
        running.accept(path, "mine\n")
        [block] = answer.result()["content"]
    assert json.loads(block["text"]) == {"outcome": "accepted", "content": "mine\n"}
    assert listening.tools()


def look_now(running: Running, model: Model) -> None:
    """Have the timer of a session, which was set for an hour, set again."""

    def look(companion: Any) -> None:
        [server] = companion._windows.values()
        if session := server.sessions.find(model.session):
            server.sessions._end_if_idle(session)

    running.do(look)


def test_an_idle_session_of_a_model_ends_by_itself_and_one_in_use_does_not(
    running: Running, model: Callable[[], Model], project: Path, monkeypatch: pytest.MonkeyPatch
):
    asking, killed = model(), model().killed()
    path = str(project / "a.txt")
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(asking.propose, path)
        running.diff(path)
        monkeypatch.setattr(sessions, "IDLE_MODEL", 0.05)
        for one in (asking, killed):
            look_now(running, one)
        until(lambda: killed.session not in running.sessions())
        look_now(running, asking)
        assert asking.session in running.sessions()
        running.reject(path)
        [block] = answer.result()["content"]
    assert json.loads(block["text"]) == {"outcome": "rejected"}
    until(lambda: asking.session not in running.sessions())


def test_the_agent_of_a_chat_keeps_an_idle_session(
    running: Running, model: Callable[[], Model], monkeypatch: pytest.MonkeyPatch
):
    gone = model()
    monkeypatch.setattr(sessions, "IDLE_MODEL", 0.05)
    guest = running.agent()
    look_now(running, gone)
    until(lambda: gone.session not in running.sessions())
    assert guest.tools()


def waiting(running: Running) -> dict[str, str]:
    """The sessions from before the reload whose clients have not come back."""
    return running.do(lambda companion: dict(companion._windows[WindowId(1)]._app._resumed.waiting))


@pytest.fixture
def reloaded(
    start: Callable[..., Running], running: Running, model: object, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Running]:
    """A reload, before which some models were killed."""
    instances = [running]

    def reload(idle: float = sessions.IDLE_MODEL) -> Running:
        for _ in range(FEW):
            with Model(instances[-1].lock()) as one:
                one.connect()
        monkeypatch.setattr(sessions, "IDLE_MODEL", idle)
        assert instances[-1].thread.stop(LIMIT, hand_over=True)
        instances.append(start(Settings(agents_use_editor=True)))
        instances[-1].do(lambda _: None)
        return instances[-1]

    return reload


def test_the_sessions_of_models_that_went_during_a_reload_are_forgotten(
    reloaded: Callable[..., Running], running: Running
):
    """A CLI may be suspended for as long as the person likes."""
    cli, _ = running.listening()
    again = reloaded(idle=0.05)
    until(lambda: list(waiting(again).values()) == [QWEN_CODE.name])
    assert cli.ask("tools/list").status_code == 200


@pytest.mark.usefixtures("few")
def test_the_sessions_of_models_that_went_do_not_pile_up_over_reloads(
    reloaded: Callable[..., Running], running: Running
):
    for _ in range(3):
        running = reloaded()
    assert 0 < len(waiting(running)) <= FEW


def test_a_few_models_outlive_a_reload(reloaded: Callable[..., Running], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sessions, "IDLE_AGENTS", FEW + 2)
    assert len(waiting(reloaded())) == FEW


def test_the_sessions_of_an_agent_that_ended_with_its_chat_are_forgotten(
    reloaded: Callable[..., Running], running: Running
):
    token = running.agent().token
    again = reloaded()
    assert "My Agent (chat)" in waiting(again).values()
    again.do(lambda companion: companion.dismiss_agent(WindowId(1), token))
    assert "My Agent (chat)" not in waiting(again).values()


@pytest.mark.skipif("NODE" not in os.environ and not shutil.which("node"), reason="needs Node.js")
def test_the_bridge_of_a_cli_begins_anew_when_its_session_went(
    running: Running, model: Callable[[], Model], project: Path
):
    first = model()  # also turns the tools on
    until((project.parent / "home" / ".qwen" / "ide").exists)
    running.lock()
    program = os.environ.get("NODE") or shutil.which("node") or ""
    with subprocess.Popen(
        [program, str(BRIDGE), "Qwen Code"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=project, text=True
    ) as bridge:
        assert bridge.stdin
        assert bridge.stdout

        def ask(number: int) -> list[str]:
            assert bridge.stdin
            assert bridge.stdout
            print(json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/list"}), file=bridge.stdin, flush=True)
            return [tool["name"] for tool in json.loads(bridge.stdout.readline())["result"]["tools"]]

        offered = ask(1)
        assert set(offered) == first.tools()
        [its] = running.sessions() - {str(first.session)}
        running.do(lambda companion: [one.sessions.end(its) for one in companion._windows.values()])
        assert ask(2) == offered
        [again] = running.sessions() - {str(first.session)}
        assert again != its
        bridge.stdin.close()
        bridge.wait()
    until(lambda: again not in running.sessions())  # it has said that it ends
