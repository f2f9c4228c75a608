"""The server's checks over raw HTTP: what is refused, in which order, and that no other session suffers."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Mapping
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
EVIL = {"Host": "evil.example", "Origin": "http://evil.example"}
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

    def send(
        self,
        method: str = "POST",
        path: str = "/mcp",
        *,
        body: Any = None,
        content: bytes | None = None,
        headers: Mapping[str, str | None] | None = None,
    ) -> httpx2.Response:
        merged = {"Authorization": f"Bearer {self.token}", **ACCEPT, **(headers or {})}
        data = content if content is not None else json.dumps(body).encode() if body is not None else None
        sent = {name: value for name, value in merged.items() if value is not None}
        return self._client.request(method, f"http://127.0.0.1:{self.port}{path}", content=data, headers=sent)

    def call(self, session: str, content: bytes | None = None, *, body: Any = None) -> httpx2.Response:
        """Send a request of a session."""
        return self.send(content=content, body=body, headers={"Mcp-Session-Id": session, **VERSION})

    def announce(self, length: int, token: str) -> int:
        """Announce a body without sending it, and return the status of the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=STEP)
        try:
            connection.putrequest("POST", "/mcp")
            for name, value in {"Authorization": f"Bearer {token}", "Content-Length": str(length), **ACCEPT}.items():
                connection.putheader(name, value)
            connection.endheaders()
            return connection.getresponse().status
        finally:
            connection.close()

    def session(self) -> str:
        """Open a session, and return its id."""
        response = self.send(body=INITIALIZE)
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
        ({"Host": "localhost:{port}"}, 200),
        ({"Host": "[::1]:{port}"}, 200),
        ({"Host": "host.docker.internal:{port}"}, 200),
        ({"Origin": "http://127.0.0.1:{port}"}, 200),
        ({"Host": "evil.example:{port}"}, 403),
        ({"Host": "127.0.0.1"}, 403),
        ({"Host": "127.0.0.1:1"}, 403),
        ({"Host": "127.0.0.1:{port}.evil.example"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Authorization": None}, 401),
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer"}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": "Bearer {token}x"}, 401),
        ({"Authorization": "Basic {token}"}, 401),
        ({"Authorization": "{token}"}, 401),
    ],
)
def test_host_origin_and_token_are_checked(raw: Raw, headers: dict[str, str | None], status: int) -> None:
    """A refused request opens no session."""
    filled = {name: value and value.format(port=raw.port, token=raw.token) for name, value in headers.items()}
    response = raw.send(body=INITIALIZE, headers=filled)
    assert response.status_code == status, response.text
    assert ("mcp-session-id" in response.headers) == (status == 200)
    assert raw.token not in response.text


def test_the_checks_come_in_the_order_host_origin_token(raw: Raw) -> None:
    """First the host, then the origin, then the token. Every path and method is checked."""
    none: dict[str, str | None] = {"Authorization": None}
    assert raw.send(body=INITIALIZE, headers={**EVIL, **none}).status_code == 403
    assert raw.send(body=INITIALIZE, headers={"Host": EVIL["Host"], **none}).status_code == 403
    assert raw.send(body=INITIALIZE, headers={"Origin": EVIL["Origin"], **none}).status_code == 403
    assert raw.announce(65 << 20, token="wrong") == 401
    for method, path in (
        ("GET", "/mcp"),
        ("DELETE", "/mcp"),
        ("PUT", "/mcp"),
        ("OPTIONS", "/mcp"),
        ("GET", "/"),
        ("POST", "/other"),
    ):
        assert raw.send(method, path, headers=none).status_code == 401, (method, path)
        assert raw.send(method, path, headers={"Host": "evil.example"}).status_code == 403, (method, path)


def test_an_unknown_path_is_404(raw: Raw) -> None:
    for path in ("/", "/mcp2", "/mcp/other", "/sse"):
        assert raw.send(path=path, body=INITIALIZE).status_code == 404, path
        assert raw.send("GET", path).status_code == 404, path


def test_an_unknown_session_is_404(raw: Raw) -> None:
    """On a 404, a client's SDK starts a new session."""
    assert raw.call("0123456789abcdef", body=LIST_TOOLS).status_code == 404
    stream = {"Mcp-Session-Id": "0123456789abcdef", **VERSION, "Accept": "text/event-stream"}
    assert raw.send("GET", headers=stream).status_code == 404


def test_a_wrong_method_is_405(raw: Raw) -> None:
    for method in ("PUT", "PATCH", "OPTIONS"):
        assert raw.send(method).status_code == 405, method


def test_a_body_over_64_mib_is_413_and_one_of_20_mib_passes(raw: Raw) -> None:
    """An announced length is refused before the body arrives, and an unannounced one before the body's end."""
    session = raw.session()
    assert raw.announce((64 << 20) + 1, token=raw.token) == 413
    headers = {"Authorization": f"Bearer {raw.token}", "Mcp-Session-Id": session, **ACCEPT}
    pieces = (b" " * (1 << 20) for _ in range(66))
    with httpx2.Client(timeout=STEP, trust_env=False) as client:
        try:
            status = client.post(f"http://127.0.0.1:{raw.port}/mcp", content=pieces, headers=headers).status_code
        except (httpx2.WriteError, httpx2.ReadError, httpx2.RemoteProtocolError):
            status = 413  # the server has closed the connection in the middle of the body
    assert status == 413
    listing = {**LIST_TOOLS, "params": {"_meta": {"padding": "x" * (20 << 20)}}}
    assert raw.call(session, body=listing).status_code == 200


@pytest.mark.parametrize(
    "content",
    [b"{not json", b"\xff\xfe\x00", b"", b'{"jsonrpc": "2.0", '],
    ids=["broken", "not text", "empty", "cut off"],
)
def test_broken_json_is_a_parse_error_and_the_server_continues(raw: Raw, content: bytes) -> None:
    """The JSON-RPC error -32700."""
    session = raw.session()
    response = raw.call(session, content)
    assert response.status_code == 400
    assert response.json()["error"]["code"] == -32700
    assert raw.call(session, body=LIST_TOOLS).status_code == 200


@pytest.mark.parametrize(
    "body",
    [[], [1], 7, "x", {}, {"jsonrpc": "1.0", "id": 1, "method": "tools/list"}, {"jsonrpc": "2.0", "id": 1}],
    ids=str,
)
def test_json_that_is_not_a_request_is_an_error_and_the_server_continues(raw: Raw, body: Any) -> None:
    session = raw.session()
    response = raw.call(session, json.dumps(body).encode())
    assert response.status_code == 400
    assert response.json()["error"]["code"] in (-32700, -32600, -32602)
    assert raw.call(session, body=LIST_TOOLS).status_code == 200


def test_a_foreign_session_does_not_reach_an_open_diff(editor: Editor, witness: McpClient, raw: Raw) -> None:
    """Neither a request without the token nor one from another session."""
    path = editor.home.write("guarded.py", GREET)
    witness.call("openDiff", filePath=str(path), newContent=GREET_BETTER)
    proposal = editor.wait_diff(path)
    close = {"name": "closeDiff", "arguments": {"filePath": str(path)}}
    closing = {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": close}
    assert raw.send(body=closing, headers={"Authorization": "Bearer wrong"}).status_code == 401
    assert "raise ValueError" not in raw.call(raw.session(), body=closing).text
    assert [view["id"] for view in editor.sides("proposal")] == [proposal["id"]]
    editor.accept(proposal)
    accepted = witness.wait_for("ide/diffAccepted", lambda params: params["filePath"] == str(path))
    assert accepted["content"] == GREET_BETTER
