"""The server's checks over raw HTTP, in the package; tests/unit/server/test_guard.py has each of them alone."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from .editor import Editor
from .mcp_client import STEP, McpClient, connect
from .session import GREET, GREET_BETTER

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}},
}
VERSION = {"MCP-Protocol-Version": "2025-11-25"}
LIST_TOOLS = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
ACCEPT = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


@pytest.fixture(scope="module")
def witness(editor: Editor) -> Iterator[McpClient]:
    """A session that exists before the test and must not be affected."""
    with connect(editor.lock()) as client:
        client.wait_for("ide/contextUpdate")
        yield client


class Raw:
    """Sends requests with the right headers, unless a test overrides them (None leaves a header out)."""

    def __init__(self, lock: dict[str, Any], client: httpx2.Client) -> None:
        self.port: int = lock["port"]
        self.token: str = lock["authToken"]
        self._client = client

    def send(self, body: Any, **headers: str | None) -> httpx2.Response:
        merged = {"Authorization": f"Bearer {self.token}", **ACCEPT, **headers}
        sent = {name: value for name, value in merged.items() if value is not None}
        return self._client.post(f"http://127.0.0.1:{self.port}/mcp", json=body, headers=sent)

    def call(self, session: str, body: Any) -> httpx2.Response:
        """Send a request of a session."""
        return self.send(body, **{"Mcp-Session-Id": session, **VERSION})

    def announce(self, length: int) -> int:
        """Announce a body without sending it, and return the status of the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=STEP)
        try:
            connection.putrequest("POST", "/mcp")
            for name, value in {
                "Authorization": f"Bearer {self.token}",
                "Content-Length": str(length),
                **ACCEPT,
            }.items():
                connection.putheader(name, value)
            connection.endheaders()
            return connection.getresponse().status
        finally:
            connection.close()

    def session(self) -> str:
        """Open a session, and return its id."""
        response = self.send(INITIALIZE)
        assert response.status_code == 200
        return response.headers["mcp-session-id"]


@pytest.fixture
def raw(editor: Editor, witness: McpClient) -> Iterator[Raw]:
    with httpx2.Client(timeout=STEP, trust_env=False) as client:
        yield Raw(editor.lock(), client)
    assert set(witness.tools()) >= {"openDiff", "closeDiff"}, "another session was affected"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "evil.example:{port}"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Authorization": None}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
    ],
)
def test_host_origin_and_token_are_checked(raw: Raw, headers: dict[str, str | None], status: int) -> None:
    """A refused request opens no session."""
    filled = {name: value and value.format(port=raw.port, token=raw.token) for name, value in headers.items()}
    response = raw.send(INITIALIZE, **filled)
    assert response.status_code == status, response.text
    assert ("mcp-session-id" in response.headers) == (status == 200)
    assert raw.token not in response.text


def test_a_body_over_64_mib_is_413_and_one_of_20_mib_passes(raw: Raw) -> None:
    """An announced length is refused before the body arrives, and an unannounced one before the body's end."""
    session = raw.session()
    assert raw.announce((64 << 20) + 1) == 413
    headers = {"Authorization": f"Bearer {raw.token}", "Mcp-Session-Id": session, **ACCEPT}
    pieces = (b" " * (1 << 20) for _ in range(66))
    with httpx2.Client(timeout=STEP, trust_env=False) as client:
        try:
            status = client.post(f"http://127.0.0.1:{raw.port}/mcp", content=pieces, headers=headers).status_code
        except (httpx2.WriteError, httpx2.ReadError, httpx2.RemoteProtocolError):
            status = 413  # the server has closed the connection in the middle of the body
    assert status == 413
    listing = {**LIST_TOOLS, "params": {"_meta": {"padding": "x" * (20 << 20)}}}
    assert raw.call(session, listing).status_code == 200


def test_a_foreign_session_does_not_reach_an_open_diff(editor: Editor, witness: McpClient, raw: Raw) -> None:
    """Neither a request without the token nor one from another session."""
    path = editor.home.write("guarded.py", GREET)
    witness.call("openDiff", filePath=str(path), newContent=GREET_BETTER)
    proposal = editor.wait_diff(path)
    close = {"name": "closeDiff", "arguments": {"filePath": str(path)}}
    closing = {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": close}
    assert raw.send(closing, Authorization="Bearer wrong").status_code == 401
    assert "raise ValueError" not in raw.call(raw.session(), closing).text
    assert [view["id"] for view in editor.sides("proposal")] == [proposal["id"]]
    editor.accept(proposal)
    accepted = witness.wait_for("ide/diffAccepted", lambda params: params["filePath"] == str(path))
    assert accepted["content"] == GREET_BETTER
