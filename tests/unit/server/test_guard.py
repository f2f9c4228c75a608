"""The guard of a window's port: what is refused, in which order, and that nobody else is harmed."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from companion.clis.families import QWEN_CODE
from companion.editor import WindowId
from companion.server import endpoint as endpoint_module
from companion.server.http import app

from ..conftest import Running
from ..wire import LIMIT, Cli, Stream

REQUESTS = [
    *((method, "/mcp") for method in ("GET", "POST", "DELETE", "PUT", "PATCH", "OPTIONS", "HEAD")),
    ("GET", "/"),
    ("POST", "/other"),
    ("POST", "/mcp/"),
]


@pytest.fixture
def cli(running: Running) -> Cli:
    """Somebody at the door."""
    return running.cli()


@pytest.fixture(autouse=True)
def witness(running: Running) -> Iterator[tuple[Cli, Stream]]:
    """A session that was there before, and must not notice anything."""
    cli, stream = running.listening()
    yield cli, stream
    assert cli.tools() == {"openDiff", "closeDiff"}
    running.focus(99, __file__)
    assert stream.take("ide/contextUpdate")["workspaceState"]["openFiles"][0]["path"] == __file__


@pytest.mark.parametrize(("method", "path"), REQUESTS)
def test_a_foreign_host_is_403_before_anything_else(cli: Cli, method: str, path: str):
    """Against DNS rebinding; the first of the checks."""
    hosts = [
        "evil.example",
        f"evil.example:{cli.port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "localhost:1",
        f"127.0.0.1:{cli.port}.evil.example",
        f"127.0.0.1.evil.example:{cli.port}",
        f"[::2]:{cli.port}",
    ]
    for host in hosts:
        assert cli.send(method, path, host=host).status_code == 403
        assert cli.send(method, path, host=host, authorization=None, origin="http://evil.example").status_code == 403


def test_a_request_without_a_host_is_refused(cli: Cli):
    with socket.create_connection(("127.0.0.1", cli.port), timeout=LIMIT) as connection:
        connection.sendall(f"POST /mcp HTTP/1.0\r\nAuthorization: Bearer {cli.token}\r\n\r\n".encode())
        assert connection.recv(100).split(b" ")[1] in {b"403", b"400"}


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "LocalHost", "[::1]", "host.docker.internal"])
def test_our_own_host_names_are_accepted(cli: Cli, name: str):
    """The last one is that of a CLI in a container."""
    assert cli.send(path="/none", host=f"{name}:{cli.port}").status_code == 404


@pytest.mark.parametrize(("method", "path"), REQUESTS)
def test_a_foreign_origin_is_403_before_the_token_is_checked(cli: Cli, method: str, path: str):
    """No web page reaches us."""
    origins = ["http://evil.example", "null", "", "http://127.0.0.1:1", f"https://127.0.0.1:{cli.port}", "*"]
    origins.append(f"http://localhost:{cli.port}")
    for origin in origins:
        assert cli.send(method, path, origin=origin).status_code == 403
        assert cli.send(method, path, origin=origin, authorization=None).status_code == 403


def test_a_foreign_origin_beside_our_own_is_403(cli: Cli):
    own = f"http://127.0.0.1:{cli.port}"
    for origins in ((own, "http://evil.example"), ("http://evil.example", own)):
        headers = [*cli.headers().items(), *(("origin", origin) for origin in origins)]
        assert cli.http.request("POST", "/mcp", headers=headers).status_code == 403


def test_our_own_origin_is_accepted(cli: Cli):
    """The MCP inspector's way of asking."""
    assert cli.send(path="/none", origin=f"http://127.0.0.1:{cli.port}").status_code == 404
    assert (
        cli.send(path="/none", origin=f"http://localhost:{cli.port}", host=f"localhost:{cli.port}").status_code == 404
    )


@pytest.mark.parametrize(("method", "path"), REQUESTS)
def test_a_missing_malformed_or_wrong_token_is_401(cli: Cli, method: str, path: str):
    """On every request, whatever it asks for."""
    wrong = [
        None,
        "",
        "Bearer",
        cli.token,
        f"Basic {cli.token}",
        f"Bearer{cli.token}",
        "Bearer wrong",
        f"Bearer {cli.token}x",
        f"Bearer {cli.token[:-1]}",
        f"Bearer {cli.token.swapcase()}",
        f"Bearer {cli.token} {cli.token}",
    ]
    for authorization in wrong:
        answer = cli.send(method, path, authorization=authorization)
        assert answer.status_code == 401, authorization
        assert answer.headers["www-authenticate"] == "Bearer"
        assert cli.token not in answer.text


@pytest.mark.parametrize("token", [b"\xff\xfe\xe9", b" ", b"\t", b""])
def test_a_token_that_no_client_would_send_is_401(cli: Cli, token: bytes):
    with socket.create_connection(("127.0.0.1", cli.port), timeout=LIMIT) as connection:
        head = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{cli.port}\r\nAuthorization: Bearer ".encode()
        connection.sendall(head + token + b"\r\nContent-Length: 0\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 401 ")


def test_the_scheme_is_spelled_in_any_case(cli: Cli):
    """As RFC 9110 has it."""
    for scheme in ("bearer", "BEARER"):
        assert cli.send(path="/none", authorization=f"{scheme} {cli.token}").status_code == 404


def test_the_token_of_another_window_is_401(running: Running, cli: Cli):
    """Each window has its own."""
    running.open_window(WindowId(2))
    assert cli.send(authorization=f"Bearer {running.lock(WindowId(2))['authToken']}").status_code == 401


def test_an_unknown_path_is_404(cli: Cli):
    """There is one endpoint."""
    for path in ("/", "/mcp/", "/mcp2", "/mcp/other", "/sse", "//mcp", "/MCP", "/favicon.ico"):
        for method in ("GET", "POST", "DELETE", "PUT"):
            assert cli.send(method, path).status_code == 404, (method, path)


@pytest.mark.parametrize("method", ["PUT", "PATCH", "OPTIONS", "HEAD", "TRACE"])
def test_a_wrong_method_is_405_and_says_which_are_right(cli: Cli, method: str):
    answer = cli.send(method)
    assert answer.status_code == 405
    assert answer.headers["allow"] == "GET, POST, DELETE"


def test_an_unknown_session_is_404(running: Running, cli: Cli):
    """What makes a client start anew."""
    cli.session = "0" * 32
    assert cli.ask("tools/list").status_code == 404
    assert cli.get().status_code == 404
    assert cli.send("DELETE").status_code == 404
    before = running.sessions()
    assert cli.session not in before


def test_a_request_without_a_session_opens_none(running: Running, cli: Cli):
    """Only `initialize` does."""
    before = running.sessions()
    assert cli.ask("tools/list").status_code == 400
    assert cli.get().status_code == 400
    assert cli.send("DELETE").status_code == 400
    assert running.sessions() == before


def test_a_session_of_another_family_is_404(
    monkeypatch: pytest.MonkeyPatch, start: Callable[..., Running], witness: tuple[Cli, Stream]
):
    """Each family of CLIs has a token of its own, and a session is reached with that token alone."""
    other = replace(QWEN_CODE, name="Other", files=(replace(QWEN_CODE.files[0], name="other-{port}.lock"),))
    monkeypatch.setattr(endpoint_module, "FAMILIES", (QWEN_CODE, other))
    running = start()
    cli = running.cli().connect()
    tokens = running.do(lambda companion: [one.token for one in companion._windows[WindowId(1)].endpoint.publications])
    assert tokens[0] == cli.token
    assert cli.ask("tools/list", authorization=f"Bearer {tokens[1]}").status_code == 404
    assert cli.get(authorization=f"Bearer {tokens[1]}").status_code == 404
    assert cli.send("DELETE", authorization=f"Bearer {tokens[1]}").status_code == 404
    assert cli.tools()


@pytest.mark.parametrize("content", [b"{not json", b"\xff\xfe\x00", b"", b'{"jsonrpc": "2.0", ', b"{} {}"])
def test_broken_json_is_a_parse_error(cli: Cli, content: bytes):
    """JSON-RPC's -32700, in a session and without one."""
    for _ in range(2):
        answer = cli.send(body=content)
        assert answer.status_code == 400
        assert answer.json()["error"]["code"] == -32700
        if cli.session is None:
            cli.connect()
    assert cli.tools()


@pytest.mark.parametrize(
    "body",
    [[], [1], 7, "x", {}, {"jsonrpc": "1.0", "id": 1, "method": "tools/list"}, {"jsonrpc": "2.0", "id": 1}],
    ids=str,
)
def test_json_that_is_not_a_message_is_an_error(cli: Cli, body: object):
    cli.connect()
    answer = cli.send(body=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] in {-32700, -32600, -32602}
    assert cli.tools()


def test_an_unknown_request_is_an_error_of_that_request(cli: Cli):
    cli.connect()
    assert cli.ask("no/such").json()["error"]["code"] == -32601
    assert cli.tools()


@pytest.mark.parametrize("version", ["2024-01-01", "2026-07-28", "1", "", "2025-11-25,2025-06-18"])
def test_a_protocol_version_that_we_do_not_speak_is_400_with_those_that_we_do(cli: Cli, version: str):
    """A newer client falls back to the handshake by this answer."""
    cli.connect()
    for method in ("POST", "GET", "DELETE"):
        answer = cli.send(method, mcp_protocol_version=version)
        assert answer.status_code == 400
        error = answer.json()["error"]
        assert error["data"]["requested"] == version
        assert {"2025-06-18", "2025-11-25"} <= set(error["data"]["supported"])
    assert cli.tools()


class TestLimit:
    """The body's size. The limit is lowered: 64 MiB take a second."""

    @pytest.fixture
    def cli(self, monkeypatch: pytest.MonkeyPatch, start: Callable[..., Running]) -> Cli:
        monkeypatch.setattr(app, "MAX_BODY", 1000)
        return start().cli().connect()

    def test_a_body_over_the_limit_is_413(self, cli: Cli):
        """As announced, or as it comes in pieces."""
        assert cli.send(body=b" " * 1001).status_code == 413
        pieces = iter([b" " * 600] * 2)
        assert cli.http.post("/mcp", content=pieces, headers=cli.headers()).status_code == 413
        assert cli.tools()

    def test_a_body_at_the_limit_is_read(self, cli: Cli):
        message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
        assert cli.send(body=message.ljust(1000)).status_code == 200

    def test_the_token_is_checked_before_the_body(self, cli: Cli):
        assert cli.send(body=b" " * 1001, authorization="Bearer wrong").status_code == 401
        assert cli.send(body=b" " * 1001, origin="http://evil.example").status_code == 403
        assert cli.send("PUT", body=b" " * 1001).status_code == 405


def test_the_limit_is_64_mib():
    """`openDiff` carries a whole file."""
    assert app.MAX_BODY == 64 * 1024 * 1024
