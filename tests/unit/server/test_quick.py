"""Requests that are read without h11 are those that h11 would read, and are answered byte for byte the same."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h11
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from companion.companion import Companion
from companion.ids import WindowId
from companion.server import tools
from companion.server.http import quick
from companion.server.http.connections import Connection

from ..conftest import Running, until
from ..wire import LIMIT, Cli
from .test_calls import MESSAGES

pytestmark = pytest.mark.fast_path

LIST = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
DATE = b"date: Sun, 22 Nov 2026 00:00:00 GMT"


def request(
    headers: dict[str, str] | list[tuple[str, str]], body: bytes = LIST, line: str = "POST /mcp HTTP/1.1"
) -> bytes:
    """A request; its length is added unless the headers say how long it is."""
    pairs = list(headers.items()) if isinstance(headers, dict) else headers
    if not {"content-length", "transfer-encoding"} & {name.lower() for name, _ in pairs}:
        pairs = [*pairs, ("content-length", str(len(body)))]
    head = "".join(f"{name}: {value}\r\n" for name, value in pairs)
    return f"{line}\r\n{head}\r\n".encode() + body


def usual(cli: Cli) -> dict[str, str]:
    """The headers of a request that is answered at once."""
    return cli.headers() | {"host": f"127.0.0.1:{cli.port}"}


class Wire:
    """A connection on which each request goes out in one piece, and each answer is taken as it comes."""

    def __init__(self, cli: Cli) -> None:
        self.headers = usual(cli)
        self.socket = socket.create_connection(("127.0.0.1", cli.port), timeout=LIMIT)

    def ask(self, data: bytes) -> bytes:
        """The bytes of the answer, the time of day and the ids of other sessions aside."""
        self.socket.sendall(data)
        answer = b""
        while not self._is_whole(answer) and (piece := self.socket.recv(65536)):
            answer += piece
        head, _, body = answer.partition(b"\r\n\r\n")
        head = re.sub(b"date: [^\r]*", DATE, head)
        if b"mcp-session-id: " + self.headers["mcp-session-id"].encode() not in head:
            head = re.sub(b"mcp-session-id: [^\r]*", b"mcp-session-id: another", head)
        return head + b"\r\n\r\n" + body

    @staticmethod
    def _is_whole(answer: bytes) -> bool:
        head, end, body = answer.partition(b"\r\n\r\n")
        found = [line.partition(b":")[2] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        return bool(end) and bool(found) and len(body) >= int(found[0])


@pytest.fixture
def cli(running: Running) -> Cli:
    return running.cli().connect()


@pytest.fixture
def wires(cli: Cli) -> Iterator[Callable[[], Wire]]:
    """Makes connections."""
    made: list[Wire] = []

    def make() -> Wire:
        made.append(Wire(cli))
        return made[-1]

    yield make
    for one in made:
        one.socket.close()


@pytest.fixture
def quickly(running: Running, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How many requests were answered at once."""
    found: list[bytes] = []
    plain = Connection._answer_at_once

    def answer_at_once(connection: Connection, data: bytes) -> bool:
        answered = plain(connection, data)
        if answered:
            found.append(data)
        return answered

    monkeypatch.setattr(Connection, "_answer_at_once", answer_at_once)
    # The answer is there a moment before it is counted.
    return lambda: running.do(lambda _: len(found))


def both(wires: Callable[[], Wire], monkeypatch: pytest.MonkeyPatch, data: bytes) -> tuple[bytes, bytes]:
    """The answer to a request that may be answered at once, and that of h11 and uvicorn."""
    first = wires().ask(data)
    with monkeypatch.context() as patch:
        patch.setattr(quick, "read", lambda _: None)
        second = wires().ask(data)
    return first, second


def test_each_message_is_answered_as_by_h11(
    cli: Cli, wires: Callable[[], Wire], monkeypatch: pytest.MonkeyPatch, quickly: Callable[[], int]
) -> None:
    headers, answered = usual(cli), dict[bytes, int]()
    for message in MESSAGES:
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        if b"closeDiff" in body:
            wires().ask(request(headers, body))  # it can only be closed once
        before = quickly()
        first, second = both(wires, monkeypatch, request(headers, body))
        assert first == second, message
        answered[body] = quickly() - before
    assert set(answered.values()) == {0, 1}
    assert sum(one for body, one in answered.items() if b"tools/list" in body) == 11
    assert sum(one for body, one in answered.items() if b"tools/call" in body) > 5


def changed(**changes: str | None) -> Any:
    """Changes the usual headers; None leaves one out."""
    return lambda usual: {name: value for name, value in (usual | changes).items() if value is not None}


HEADS: list[tuple[bool, Any]] = [
    (True, changed()),
    (True, changed(connection="keep-alive")),
    (True, changed(connection="Keep-Alive")),
    (True, changed(origin="http://127.0.0.1:{port}")),
    (True, changed(host="localhost:{port}")),
    (True, changed(**{"mcp-protocol-version": None})),
    (True, changed(**{"content-type": "application/json; charset=utf-8"})),
    (True, lambda usual: {name.upper(): value for name, value in usual.items()}),
    (False, changed(connection="close")),
    (False, changed(connection="keep-alive, upgrade", upgrade="x")),
    (False, changed(host="example.org:{port}")),
    (False, changed(host="127.0.0.1")),
    (False, changed(host=None)),
    (False, changed(origin="http://example.org")),
    (False, changed(authorization="Bearer x")),
    (False, changed(authorization=None)),
    (False, changed(authorization="Basic x")),
    (False, changed(accept="text/html")),
    (False, changed(**{"content-type": "text/plain"})),
    (False, changed(**{"mcp-session-id": None})),
    (False, changed(**{"mcp-session-id": "x"})),
    (False, changed(**{"mcp-protocol-version": "1999-01-01"})),
    (False, changed(**{"content-length": "046x"})),
    (False, changed(**{"transfer-encoding": "gzip"})),
    (False, changed(te="trailers")),
    (False, lambda usual: [*usual.items(), ("host", usual["host"])]),
    (False, lambda usual: [*usual.items(), ("authorization", usual["authorization"])]),
    (False, changed(x="\u20ac")),
    (False, changed(x="\0")),
]


@pytest.mark.parametrize(("is_quick", "change"), HEADS, ids=map(str, range(len(HEADS))))
def test_each_head_is_answered_as_by_h11(
    cli: Cli,
    wires: Callable[[], Wire],
    monkeypatch: pytest.MonkeyPatch,
    quickly: Callable[[], int],
    is_quick: bool,
    change: Any,
) -> None:
    data = request(change(usual(cli))).replace(b"{port}", b"%d" % cli.port)
    first, second = both(wires, monkeypatch, data)
    assert first == second
    assert bool(quickly()) is is_quick


@pytest.mark.parametrize(
    "line",
    ["GET /mcp HTTP/1.1", "POST /mcp HTTP/1.0", "POST /mcp?x HTTP/1.1", "POST /other HTTP/1.1", "post /mcp HTTP/1.1"],
)
def test_each_other_request_is_answered_as_by_h11(
    cli: Cli, wires: Callable[[], Wire], monkeypatch: pytest.MonkeyPatch, quickly: Callable[[], int], line: str
) -> None:
    data = request(changed(accept="application/json")(usual(cli)), line=line)
    first, second = both(wires, monkeypatch, data)
    assert first == second
    assert not quickly()


def test_the_token_of_another_family_is_answered_as_by_h11(
    running: Running, cli: Cli, wires: Callable[[], Wire], monkeypatch: pytest.MonkeyPatch, quickly: Callable[[], int]
) -> None:
    tokens = running.do(lambda it: [one.token for one in it._windows[WindowId(1)].endpoint.publications])
    [other] = [token for token in tokens if token != cli.token]
    first, second = both(wires, monkeypatch, request(changed(authorization=f"Bearer {other}")(usual(cli))))
    assert first == second
    assert first.startswith(b"HTTP/1.1 404")
    assert not quickly()


def test_a_connection_goes_on_whoever_has_answered(
    cli: Cli, wires: Callable[[], Wire], quickly: Callable[[], int]
) -> None:
    wire = wires()
    ping = b'{"jsonrpc":"2.0","id":2,"method":"ping"}'
    for _ in range(3):
        assert b'"openDiff"' in wire.ask(request(wire.headers))
        assert wire.ask(request(wire.headers, ping)).endswith(b'"result":{}}')
    assert quickly() == 3


@pytest.mark.parametrize("at", [10, 60, -10])
def test_a_request_that_comes_in_pieces_is_answered(
    cli: Cli, wires: Callable[[], Wire], quickly: Callable[[], int], at: int
) -> None:
    wire = wires()
    whole = request(wire.headers)
    wire.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    wire.socket.sendall(whole[:at])
    assert Cli.tools(cli)  # it has read the first piece
    assert b'"openDiff"' in wire.ask(whole[at:])
    before = quickly()
    assert b'"openDiff"' in wire.ask(whole)
    assert quickly() == before + 1


def held(running: Running) -> bool:
    """Whether h11 has read something that is not a whole request, or waits for its turn."""
    return running.do(lambda it: any(one.conn.trailing_data[0] for one in it._windows[WindowId(1)]._server.connections))


def test_what_looks_like_a_request_in_the_middle_of_another_is_none(
    running: Running, cli: Cli, wires: Callable[[], Wire], quickly: Callable[[], int]
) -> None:
    wire = wires()
    wire.socket.sendall(b"POST /mcp HTTP/1.1\r\nx: ")
    until(lambda: held(running))
    assert b'"openDiff"' in wire.ask(request(wire.headers))
    assert not quickly()


def test_a_request_behind_one_that_is_being_answered_waits(
    running: Running, cli: Cli, wires: Callable[[], Wire], quickly: Callable[[], int]
) -> None:
    wire = wires()
    wire.socket.sendall(request(changed(accept="text/event-stream")(wire.headers), b"", "GET /mcp HTTP/1.1"))
    until(lambda: b"contextUpdate" in wire.socket.recv(65536))
    wire.socket.sendall(request(wire.headers))
    until(lambda: held(running))
    assert not quickly()
    assert cli.tools()


def call(cli: Cli, name: str, path: str, **more: str) -> bytes:
    """A call of a tool, as the CLIs send it."""
    params = {"name": name, "arguments": {"filePath": path, **more}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return request(usual(cli), json.dumps(message).encode())


def test_what_comes_while_a_diff_is_asked_for_is_answered_afterwards(
    running: Running,
    cli: Cli,
    wires: Callable[[], Wire],
    quickly: Callable[[], int],
    held_up: tuple[threading.Event, threading.Event],
    project: Path,
) -> None:
    """In its order, and nothing more is read meanwhile."""
    asked, go_on = held_up
    wire, path = wires(), str(project / "a.py")
    wire.socket.sendall(call(cli, "openDiff", path, newContent="new"))
    assert asked.wait(LIMIT)
    wire.socket.sendall(call(cli, "closeDiff", path) + request(wire.headers))
    until(lambda: running.do(lambda it: any(one._held for one in it._windows[WindowId(1)]._server.connections)))
    assert cli.tools()  # nobody else waits
    go_on.set()
    answers = b""
    while answers.count(b"HTTP/1.1 200 OK") < 3 or not answers.endswith(b"]}}"):
        answers += wire.socket.recv(65536)
    first, second, third = answers.split(b"HTTP/1.1 200 OK")[1:]
    assert b'"content":[]' in first
    assert b"new" in second
    assert b'"openDiff"' in third
    assert quickly() >= 1
    again = [wire.ask(request(wire.headers)) for _ in range(3)]  # and only once
    assert len(set(again)) == 1
    assert again[0].count(b"jsonrpc") == 1


@pytest.mark.parametrize("is_gone", [False, True])
def test_a_connection_that_is_to_end_ends_after_its_answer(
    running: Running,
    cli: Cli,
    wires: Callable[[], Wire],
    quickly: Callable[[], int],
    held_up: tuple[threading.Event, threading.Event],
    project: Path,
    is_gone: bool,
) -> None:
    """What has come behind it is not begun."""
    asked, go_on = held_up
    wire = wires()
    wire.socket.sendall(call(cli, "openDiff", str(project / "a.py"), newContent="new"))
    assert asked.wait(LIMIT)
    wire.socket.sendall(call(cli, "openDiff", str(project / "b.py"), newContent="new"))
    until(lambda: running.do(lambda it: any(one._held for one in it._windows[WindowId(1)]._server.connections)))

    def end(it: Companion) -> None:
        for one in it._windows[WindowId(1)]._server.connections:
            if one._held:
                assert not one.is_silent
                (one.transport.abort if is_gone else one.shutdown)()

    running.do(end)
    go_on.set()
    answers = b""
    while piece := wire.socket.recv(65536):
        answers += piece
    assert answers.count(b"HTTP/1.1 200 OK") == (0 if is_gone else 1)
    running.diff(str(project / "a.py"))
    assert [one.file_path for one in running.do(lambda it: list(it.reviews))] == [str(project / "a.py")]
    assert quickly() == 1


def test_a_diff_that_is_asked_for_during_the_handover_is_refused_and_the_connection_ends(
    running: Running,
    cli: Cli,
    wires: Callable[[], Wire],
    quickly: Callable[[], int],
    held_up: tuple[threading.Event, threading.Event],
    project: Path,
) -> None:
    asked, go_on = held_up
    wire = wires()
    wire.socket.sendall(call(cli, "openDiff", str(project / "a.py"), newContent="new"))
    assert asked.wait(LIMIT)

    def leave(it: Companion) -> None:
        it._windows[WindowId(1)].sessions.is_left = True

    running.do(leave)
    go_on.set()
    answer = b""
    while piece := wire.socket.recv(65536):
        answer += piece
    assert b"connection: close" in answer
    assert b'"isError":true' in answer
    assert running.do(lambda it: list(it.reviews)) == []
    assert quickly() == 1


def test_a_mistake_of_ours_ends_the_connection_and_is_logged(
    stormy: pytest.LogCaptureFixture,
    running: Running,
    cli: Cli,
    wires: Callable[[], Wire],
    quickly: Callable[[], int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(_: str) -> str:
        raise RuntimeError("a mistake")

    monkeypatch.setattr(tools, "refusal", fail)
    wire = wires()
    wire.socket.sendall(call(cli, "openDiff", "/a", newContent="new"))
    assert wire.socket.recv(100) == b""
    assert quickly() == 1
    assert "a mistake" in stormy.text
    assert cli.tools()


def test_after_the_handover_the_client_is_told_to_connect_again(
    running: Running, cli: Cli, wires: Callable[[], Wire], quickly: Callable[[], int]
) -> None:
    def leave(it: Companion) -> None:
        it._windows[WindowId(1)].sessions.is_left = True

    running.do(leave)
    assert b"connection: close" in wires().ask(request(usual(cli)))
    assert not quickly()


def test_two_requests_at_once_are_both_answered(
    cli: Cli, wires: Callable[[], Wire], quickly: Callable[[], int]
) -> None:
    wire = wires()
    wire.socket.sendall(request(wire.headers) * 2)
    answers = b""
    while answers.count(b"HTTP/1.1 200 OK") < 2 or not answers.endswith(b"]}}"):
        answers += wire.socket.recv(65536)
    assert answers.count(b'"openDiff"') == 2
    assert not quickly()


@pytest.mark.parametrize("name", ["transfer-encoding", "Transfer-Encoding", "expect", "upgrade", "te", "trailer"])
def test_what_changes_how_a_request_is_read_is_left_to_h11(name: str) -> None:
    head = {"host": "x", "content-length": str(len(LIST))}
    assert quick.read(request(head)) == (head, LIST)
    assert quick.read(request(head | {name: "chunked"})) is None


TOKEN = st.text("abcXYZ-_09", min_size=1)
VALUE = st.text("ab ,;=\t\0\r\n:\u00e9", max_size=8)


@given(
    st.lists(
        st.tuples(TOKEN | st.sampled_from(["host", "content-length", "Connection", "a b", ""]), VALUE), max_size=5
    ),
    st.binary(max_size=20),
    st.sampled_from([0, 0, 0, 1, -1]),
)
@example([("connection", "close")], b"", 0)
def test_what_is_read_is_what_h11_reads(headers: list[tuple[str, str]], body: bytes, more: int) -> None:
    pairs = [("Host", "x"), *headers, ("Content-Length", str(len(body) + more))]
    data = request(pairs, body)
    read = quick.read(data)
    if read is None:
        return
    connection = h11.Connection(h11.SERVER)
    connection.receive_data(data)
    head = connection.next_event()
    assert isinstance(head, h11.Request)
    assert (head.method, head.target, head.http_version) == (b"POST", b"/mcp", b"1.1")
    assert read[0] == {name.decode(): value.decode() for name, value in head.headers}
    data = connection.next_event()
    assert (bytes(data.data) if isinstance(data, h11.Data) else b"") == read[1]
    if isinstance(data, h11.Data):
        data = connection.next_event()
    assert isinstance(data, h11.EndOfMessage)
    assert connection.next_event() is h11.NEED_DATA
