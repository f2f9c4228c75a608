"""An agent that a chat has started uses the window's MCP server."""

from __future__ import annotations

import json
import logging
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from companion.backends.agent import OfferedServer
from companion.editor import WindowId
from companion.server import offer
from companion.settings import AGENT_TOOLS, DaemonSettings, Settings

from ..chats.chatting import WINDOW
from ..conftest import Running, until
from ..wire import LIMIT, Cli


class Guest(Cli):
    """An agent, which asks for the outcome of a diff and waits for that."""

    def propose(self, path: Path, content: str) -> Future[dict[str, Any]]:
        def ask() -> dict[str, Any]:
            return self.tool("openDiff", filePath=str(path), newContent=content)["result"]

        return pool.submit(ask)


pool = ThreadPoolExecutor(4)


def offered(running: Running, agent: str = "My Agent") -> OfferedServer | None:
    def offer(companion: Any) -> OfferedServer | None:
        companion.configure(Settings(), daemon=DaemonSettings(agents_use_editor=True))
        return companion.chats.window(WINDOW).admit(agent)

    return running.do(offer)


def text(result: dict[str, Any]) -> str:
    [block] = result["content"]
    return block["text"]


@pytest.fixture
def let_in(running: Running) -> Iterator[Callable[..., Guest]]:
    guests: list[Guest] = []

    def let_in(agent: str = "My Agent") -> Guest:
        found = offered(running, agent)
        assert found
        assert found.token not in repr(found)
        guests.append(guest := Guest({"port": int(found.url.split(":")[2].split("/")[0]), "authToken": found.token}))
        return guest

    yield let_in
    for guest in guests:
        guest.__exit__()


def test_it_is_off_unless_the_person_turns_it_on(running: Running):
    assert running.do(lambda companion: companion.chats.window(WINDOW).admit("My Agent")) is None
    assert offered(running) is not None


def test_an_agent_gets_the_outcome_as_the_answer(running: Running, let_in: Callable[..., Guest], project: Path):
    guest = let_in().connect()
    assert guest.tools() == set(AGENT_TOOLS)
    answer = guest.propose(project / "a.txt", "two\n")
    diff = running.diff(str(project / "a.txt"))
    assert diff.review.owner.cli == "My Agent (chat)"
    running.accept(str(project / "a.txt"), "mine\n")
    assert json.loads(text(answer.result())) == {"outcome": "accepted", "content": "mine\n"}
    answer = guest.propose(project / "b.txt", "two\n")
    running.reject(str(project / "b.txt"))
    assert json.loads(text(answer.result())) == {"outcome": "rejected"}
    assert not (project / "a.txt").exists()


def test_no_more_diffs_of_an_agent_wait_than_a_person_could_answer(
    running: Running, let_in: Callable[..., Guest], project: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(offer, "MOST_CALLS", 1)
    guest = let_in()
    guest.connect()
    first, second = project / "a.py", project / "b.py"
    waiting = guest.propose(first, "one\n")
    running.diff(str(first))
    assert "too many calls" in text(guest.propose(second, "two\n").result(LIMIT))
    running.reject(str(first))
    waiting.result(LIMIT)
    guest.propose(second, "two\n")
    running.reject(str(second))


def test_what_can_not_be_proposed_is_said(let_in: Callable[..., Guest], project: Path):
    guest = let_in().connect()
    assert "openDiff: filePath" in text(guest.propose(Path("relative"), "").result())
    assert guest.propose(project, "").result()["isError"]
    assert "Unknown tool" in text(guest.tool("closeDiff", filePath="/a")["result"])
    assert "error" in guest.tool("other")


def test_an_agent_sees_the_context_that_the_settings_allow(
    running: Running, let_in: Callable[..., Guest], project: Path
):
    (project / "a.txt").write_text("one\n")
    running.focus(7, project / "a.txt")
    guest = let_in().connect()
    context = json.loads(text(guest.tool("getContext")["result"]))
    assert [file["path"] for file in context["workspaceState"]["openFiles"]] == [str(project / "a.txt")]
    running.do(lambda companion: companion.configure(Settings(context="off"), daemon=None))
    context = json.loads(text(guest.tool("getContext")["result"]))
    assert not context["workspaceState"].get("openFiles")


def test_a_cli_has_its_own_tools_only(running: Running):
    cli = running.cli().connect()
    assert cli.tools() == {"openDiff", "closeDiff"}
    assert "error" in cli.tool("getContext")


def test_a_token_is_worth_nothing_once_its_agent_has_ended(running: Running, let_in: Callable[..., Guest]):
    guest, other = let_in().connect(), let_in("Other").connect()
    running.do(lambda companion: companion.dismiss_agent(WindowId(1), guest.token))
    assert guest.ask("tools/list").status_code == 401
    assert other.tools() == set(AGENT_TOOLS)
    until(lambda: guest.session not in running.sessions())


def test_an_agent_is_no_cli_that_is_connected_and_needs_no_stream(running: Running, let_in: Callable[..., Guest]):
    guest = let_in().connect()
    stream = guest.listen()
    assert running.do(lambda companion: companion.statuses.of(WindowId(1))).clis == ()
    stream.close()
    assert guest.tools()


def test_an_agent_called_as_a_cli_has_no_transcripts_of_that_read(running: Running, let_in: Callable[..., Guest]):
    guest = let_in("Claude Code").connect()
    guest.listen()
    until(lambda: running.do(lambda companion: [one for one in companion._windows[WINDOW].sessions if one.stream]))
    assert running.read_transcripts() == set()
    cli = running.cli().connect()
    cli.listen().take("ide/contextUpdate")
    assert running.read_transcripts() == {"qwen"}


def test_a_session_of_a_cli_is_not_the_agents(running: Running, let_in: Callable[..., Guest]):
    cli, guest = running.cli().connect(), let_in().connect()
    guest.session, cli.session = cli.session, guest.session
    assert guest.ask("tools/list").status_code == 404
    assert cli.ask("tools/list").status_code == 404


def test_an_agent_called_as_a_cli_is_told_apart(running: Running, let_in: Callable[..., Guest]):
    guest = let_in("Qwen Code").connect()
    assert guest.tools() == set(AGENT_TOOLS)
    assert running.cli().connect().tools() == {"openDiff", "closeDiff"}


def test_a_diff_whose_agent_has_gone_stays_until_the_person_closes_it(
    running: Running, let_in: Callable[..., Guest], project: Path
):
    guest = let_in().connect()
    path = str(project / "a.txt")
    params = {"name": "openDiff", "arguments": {"filePath": path, "newContent": "two\n"}}
    body = json.dumps({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": params}).encode()
    headers = {**guest.headers(), "host": f"127.0.0.1:{guest.port}", "content-length": str(len(body))}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    with socket.create_connection(("127.0.0.1", guest.port)) as connection:
        connection.sendall(f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + body)
        diff = running.diff(path)
    until(lambda: diff.review.orphaned)


def test_the_token_is_in_no_log(running: Running, let_in: Callable[..., Guest], caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    guest = let_in().connect()
    guest.tools()
    running.do(lambda companion: companion.dismiss_agent(WindowId(1), guest.token))
    assert guest.token not in caplog.text
