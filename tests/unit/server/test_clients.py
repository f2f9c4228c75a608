"""The Python SDK's own client: to it the companion is a server like any other."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio.from_thread
import httpx2
import mcp_types as types
import pytest
from mcp.client.client import Client
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from ...listening import Listening
from ..conftest import Running, until
from ..wire import LIMIT


class Sdk:
    """A connected client."""

    def __init__(self, portal: anyio.from_thread.BlockingPortal, session: ClientSession, listening: Listening) -> None:
        self._portal = portal
        self._session = session
        self._listening = listening

    @property
    def version(self) -> str | None:
        return self._session.protocol_version

    def tools(self) -> list[types.Tool]:
        return self._portal.call(self._session.list_tools).tools

    def call(self, tool: str, **arguments: Any) -> types.CallToolResult:
        result = self._portal.call(partial(self._session.call_tool, tool, arguments))
        assert isinstance(result, types.CallToolResult)
        return result

    def heard(self, method: str) -> list[dict[str, Any]]:
        """The parameters of all notifications of a method, at least one."""
        return until(lambda: [params for name, params in list(self._listening.received) if name == method])


Connect = Callable[..., Sdk]


@pytest.fixture
def connect(running: Running) -> Iterator[Connect]:
    """Connects clients, which ask for a version or, without one, leave it to the SDK."""

    @asynccontextmanager
    async def session(version: str | None, listening: Listening) -> AsyncIterator[ClientSession]:
        lock = running.lock()
        url, headers = f"http://127.0.0.1:{lock['port']}/mcp", {"Authorization": f"Bearer {lock['authToken']}"}
        async with httpx2.AsyncClient(headers=headers, timeout=LIMIT, trust_env=False) as http:
            transport = streamable_http_client(url, http_client=http)
            if version is None:
                async with Client(transport, read_timeout_seconds=LIMIT, extensions=[listening]) as client:
                    yield client.session
                return
            async with (
                transport as (read, write),
                ClientSession(
                    read, write, read_timeout_seconds=LIMIT, notification_bindings=listening.notifications()
                ) as asking,
            ):
                params = types.InitializeRequestParams(
                    protocol_version=version,
                    capabilities=types.ClientCapabilities(),
                    client_info=types.Implementation(name="tests", version="1"),
                )
                request = types.InitializeRequest(params=params)
                asking.adopt(await asking.send_request(request, types.InitializeResult))
                await asking.send_notification(types.InitializedNotification())
                yield asking

    with ExitStack() as stack:
        portal = stack.enter_context(anyio.from_thread.start_blocking_portal())

        def connect(version: str | None = "2025-11-25", until_closed: ExitStack = stack) -> Sdk:
            listening = Listening()
            asking = until_closed.enter_context(portal.wrap_async_context_manager(session(version, listening)))
            return Sdk(portal, asking, listening)

        yield connect


@pytest.mark.parametrize(
    ("asked", "spoken"), [("2025-06-18", "2025-06-18"), ("2025-11-25", "2025-11-25"), (None, "2025-11-25")]
)
def test_a_client_of_each_version_has_context_and_diffs(
    running: Running, connect: Connect, project: Path, asked: str | None, spoken: str
):
    """One that speaks a newer version falls back to the handshake by itself."""
    client = connect(asked)
    assert client.version == spoken
    assert client.heard("ide/contextUpdate")[0] == {"workspaceState": {"openFiles": []}}
    path = str(project / "a.txt")
    assert client.call("openDiff", filePath=path, newContent="new\n").content == []
    running.accept(path, "mine\n")
    assert client.heard("ide/diffAccepted") == [{"filePath": path, "content": "mine\n"}]


def test_the_tools_say_what_they_take(connect: Connect):
    """As JSON Schema."""
    tools = {tool.name: tool for tool in connect().tools()}
    assert tools.keys() == {"openDiff", "closeDiff"}
    assert set(tools["openDiff"].input_schema["required"]) == {"filePath", "newContent"}
    assert set(tools["closeDiff"].input_schema["required"]) == {"filePath"}
    assert all(tool.description for tool in tools.values())


def test_errors_reach_the_client_as_errors(connect: Connect):
    client = connect()
    assert client.call("openDiff", filePath="relative", newContent="").is_error
    with pytest.raises(MCPError):
        client.call("noSuchTool")
    assert client.tools()


def test_two_clients_of_one_file_get_each_their_own_outcome(running: Running, connect: Connect, project: Path):
    first, second = connect(), connect("2025-06-18")
    path = str(project / "a.txt")
    first.call("openDiff", filePath=path, newContent="first\n")
    number = running.diff(path).review.number
    second.call("openDiff", filePath=path, newContent="second\n")
    until(lambda: len(running.editor.open_diffs) == 2)
    running.do(lambda companion: companion.reviews.reject(number))
    running.accept(path)
    assert first.heard("ide/diffRejected") == [{"filePath": path}]
    assert second.heard("ide/diffAccepted") == [{"filePath": path, "content": "second\n"}]
    assert not any(method == "ide/diffAccepted" for method, _ in first._listening.received)


def test_a_client_that_closes_ends_its_session(running: Running, connect: Connect, project: Path):
    """The SDK sends DELETE; what it proposed stays for the person to see."""
    path = str(project / "a.txt")
    with ExitStack() as visit:
        connect(until_closed=visit).call("openDiff", filePath=path, newContent="new\n")
        number = running.diff(path).review.number
    until(lambda: running.editor.orphaned == [number])
    assert running.sessions() == set()
    assert path in {diff.review.file_path for diff in running.editor.open_diffs.values()}
