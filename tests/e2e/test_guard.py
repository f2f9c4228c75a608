"""The server's guard, by raw HTTP: what is refused, in which order, and that nobody else is harmed (A2, A4)."""

from __future__ import annotations

import json
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
ACCEPT = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


@pytest.fixture(scope="module")
def witness(editor: Editor) -> Iterator[McpClient]:
    """A session that was there before, and that must not notice anything."""
    with connect(editor.lock()) as client:
        client.wait_for("ide/contextUpdate")
        yield client


class Raw:
    """Requests with the right headers, unless told otherwise (a header of None is left out)."""

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
        **headers: str | None,
    ) -> httpx2.Response:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        merged = {"Authorization": f"Bearer {self.token}", **ACCEPT, **given}
        data = content if content is not None else json.dumps(body).encode() if body is not None else None
        sent = {name: value for name, value in merged.items() if value is not None}
        return self._client.request(method, f"http://127.0.0.1:{self.port}{path}", content=data, headers=sent)

    def session(self) -> str:
        """The id of a new session."""
        response = self.send(body=INITIALIZE)
        assert response.status_code == 200
        return response.headers["mcp-session-id"]


@pytest.fixture
def raw(editor: Editor, witness: McpClient) -> Iterator[Raw]:
    with httpx2.Client(timeout=STEP, trust_env=False) as client:
        yield Raw(editor.lock(), client)
    assert set(witness.tools()) >= {"openDiff", "closeDiff"}, "another session was harmed"


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
        ({"Authorization": "Bearer "}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": "Bearer {token}x"}, 401),
        ({"Authorization": "Basic {token}"}, 401),
        ({"Authorization": "{token}"}, 401),
    ],
)
def test_host_origin_and_token_are_checked(raw: Raw, headers: dict[str, str | None], status: int) -> None:
    """A4: refused requests make no session."""
    filled = {name: value and value.format(port=raw.port, token=raw.token) for name, value in headers.items()}
    response = raw.send(body=INITIALIZE, **filled)
    assert response.status_code == status, response.text
    assert ("mcp-session-id" in response.headers) == (status == 200)
    assert raw.token not in response.text


def test_the_checks_come_in_the_order_host_origin_token(raw: Raw) -> None:
    """A4: a wrong host comes before all, a wrong origin before a wrong token; every path and method is guarded."""
    assert (
        raw.send(body=INITIALIZE, Host="evil.example", Origin="http://evil.example", Authorization=None).status_code
        == 403
    )
    assert raw.send(body=INITIALIZE, Host="evil.example", Authorization=None).status_code == 403
    assert raw.send(body=INITIALIZE, Origin="http://evil.example", Authorization=None).status_code == 403
    assert raw.send(content=b"x" * (65 << 20), Authorization=None).status_code == 401
    for method, path in (
        ("GET", "/mcp"),
        ("DELETE", "/mcp"),
        ("PUT", "/mcp"),
        ("GET", "/"),
        ("POST", "/other"),
        ("OPTIONS", "/mcp"),
    ):
        assert raw.send(method, path, Authorization=None).status_code == 401, (method, path)
        assert raw.send(method, path, Host="evil.example").status_code == 403, (method, path)


def test_an_unknown_path_is_404(raw: Raw) -> None:
    """A2."""
    for path in ("/", "/mcp2", "/mcp/other", "/sse", "/../etc/passwd"):
        assert raw.send(path=path, body=INITIALIZE).status_code == 404, path
        assert raw.send("GET", path).status_code == 404, path


def test_an_unknown_session_is_404(raw: Raw) -> None:
    """A1: what the SDK of a client takes as "start anew"."""
    request = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    assert (
        raw.send(body=request, Mcp_Session_Id="0123456789abcdef", MCP_Protocol_Version="2025-11-25").status_code == 404
    )
    assert (
        raw.send(
            "GET", Mcp_Session_Id="0123456789abcdef", MCP_Protocol_Version="2025-11-25", Accept="text/event-stream"
        ).status_code
        == 404
    )


def test_a_wrong_method_is_405(raw: Raw) -> None:
    """A2."""
    for method in ("PUT", "PATCH", "OPTIONS"):
        assert raw.send(method).status_code == 405, method


def test_a_body_over_64_mib_is_413_and_one_of_20_mib_passes(raw: Raw, editor: Editor) -> None:
    """A2: with and without a length told beforehand."""
    session = raw.session()
    assert raw.send(content=b" " * ((64 << 20) + 1), Mcp_Session_Id=session).status_code == 413

    def pieces() -> Iterator[bytes]:
        for _ in range(65):
            yield b" " * (1 << 20)

    client = httpx2.Client(timeout=STEP, trust_env=False)
    with client:
        try:
            response = client.post(
                f"http://127.0.0.1:{raw.port}/mcp",
                content=pieces(),
                headers={"Authorization": f"Bearer {raw.token}", "Mcp-Session-Id": session, **ACCEPT},
            )
        except (httpx2.WriteError, httpx2.RemoteProtocolError, httpx2.ReadError):
            pass  # refused in the middle of the body
        else:
            assert response.status_code == 413
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {"_meta": {"padding": "x" * (20 << 20)}}}
    assert raw.send(body=listing, Mcp_Session_Id=session, MCP_Protocol_Version="2025-11-25").status_code == 200


@pytest.mark.parametrize(
    "content",
    [b"{not json", b"\xff\xfe\x00", b"", b'{"jsonrpc": "2.0", '],
    ids=["broken", "not text", "empty", "cut off"],
)
def test_broken_json_is_a_parse_error_and_the_server_lives_on(raw: Raw, content: bytes) -> None:
    """A1: the JSON-RPC error -32700."""
    session = raw.session()
    response = raw.send(content=content, Mcp_Session_Id=session)
    assert response.status_code == 400
    assert response.json()["error"]["code"] == -32700
    request = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    assert raw.send(body=request, Mcp_Session_Id=session, MCP_Protocol_Version="2025-11-25").status_code == 200


@pytest.mark.parametrize(
    "body",
    [[], [1], 7, "x", {}, {"jsonrpc": "1.0", "id": 1, "method": "tools/list"}, {"jsonrpc": "2.0", "id": 1}],
    ids=str,
)
def test_json_that_is_no_request_is_an_error_and_the_server_lives_on(raw: Raw, body: Any) -> None:
    """A1."""
    session = raw.session()
    response = raw.send(content=json.dumps(body).encode(), Mcp_Session_Id=session)
    assert response.status_code == 400
    assert response.json()["error"]["code"] in (-32700, -32600, -32602)
    request = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    assert raw.send(body=request, Mcp_Session_Id=session, MCP_Protocol_Version="2025-11-25").status_code == 200


def test_a_refused_intruder_does_not_touch_an_open_diff(editor: Editor, witness: McpClient, raw: Raw) -> None:
    """A4: without the token, and with another session's id, nothing of a diff can be reached."""
    path = editor.home.write("guarded.py", GREET)
    witness.call("openDiff", filePath=str(path), newContent=GREET_BETTER)
    proposal = editor.wait_diff(path)
    closing = {
        "jsonrpc": "2.0",
        "id": 3,
        "method": "tools/call",
        "params": {"name": "closeDiff", "arguments": {"filePath": str(path)}},
    }
    assert raw.send(body=closing, Authorization="Bearer wrong").status_code == 401
    answer = raw.send(body=closing, Mcp_Session_Id=raw.session(), MCP_Protocol_Version="2025-11-25")
    assert '"content": "' not in answer.text.replace('\\"', '"')
    assert [view["id"] for view in editor.sides("proposal")] == [proposal["id"]]
    editor.accept(proposal)
    assert (
        witness.wait_for("ide/diffAccepted", lambda params: params["filePath"] == str(path))["content"] == GREET_BETTER
    )
