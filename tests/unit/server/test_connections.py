"""Connections of a window's port that misbehave."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from companion.companion import Companion
from companion.editor import WindowId
from companion.server.http import access, connections

from ..conftest import Running, until
from ..wire import LIMIT

Connect = Callable[[Running], socket.socket]


@pytest.fixture
def connect() -> Iterator[Connect]:
    opened: list[socket.socket] = []

    def connect(running: Running) -> socket.socket:
        opened.append(one := socket.create_connection(("127.0.0.1", running.lock()["port"]), timeout=LIMIT))
        return one

    yield connect
    for one in opened:
        one.close()


def test_of_too_many_silent_connections_the_oldest_are_closed(
    running: Running, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "MAX_IDLE", 20)
    cli, stream = running.listening()
    silent = [connect(running) for _ in range(500)]
    assert silent[0].recv(1) == b""
    until(lambda: running.do(lambda it: len(it._windows[WindowId(1)]._server.connections)) <= 23)
    silent[-1].sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
    assert silent[-1].recv(20).startswith(b"HTTP/1.1 403")
    # Whoever has said who they are stays.
    assert cli.tools()
    running.focus(1, __file__)
    assert stream.take("ide/contextUpdate")["workspaceState"]["openFiles"]


def test_half_a_request_holds_nobody_up(running: Running, connect: Connect) -> None:
    slow = [connect(running) for _ in range(30)]
    for one in slow:
        one.sendall(b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\n")
    assert running.listening()[0].tools()


def test_requests_whose_answers_nobody_reads_wait_in_the_kernel(
    running: Running, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client is told to wait, so nothing grows here; the other CLIs notice nothing."""
    held: list[int] = []
    plain = connections.Connection.data_received

    def data_received(connection: connections.Connection, data: bytes) -> None:
        # The kernel's buffers would take thousands of answers, for which the SDK needs minutes on a busy machine.
        connection.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        plain(connection, data)
        held.append(len(connection.conn.trailing_data[0]))

    monkeypatch.setattr(connections.Connection, "data_received", data_received)
    cli, _ = running.listening()  # without a stream its session would end
    flooding = connect(running)
    flooding.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    # One that the SDK answers: while it does, the loop turns and would read more.
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}'
    headers = cli.headers() | {"host": f"127.0.0.1:{cli.port}", "content-length": str(len(body))}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    request = f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + body
    sent = 0

    def flood() -> None:
        nonlocal sent
        with contextlib.suppress(OSError):
            while True:
                flooding.sendall(request * 100)
                sent += 100 * len(request)

    flooding.settimeout(None)
    thread = threading.Thread(target=flood, daemon=True)
    ahead = threading.Event()
    running.thread.post(lambda _: ahead.wait(LIMIT))  # until the client is far ahead
    thread.start()
    try:
        until(lambda: sent > 1_000_000)
        ahead.set()
        until(
            lambda: running.do(
                lambda it: any(one.flow.write_paused for one in it._windows[WindowId(1)]._server.connections)
            ),
            60,
        )
        assert cli.tools()
        assert max(held) < 512 * 1024
    finally:
        ahead.set()
        flooding.shutdown(socket.SHUT_RDWR)
        thread.join(LIMIT)
    assert cli.tools()


def test_large_bodies_have_a_limit_together_and_small_ones_still_a_place(running: Running, connect: Connect) -> None:
    """50 connections with 64 MiB each would be 3 GB."""
    cli, _ = running.listening()

    def announce(length: str) -> socket.socket:
        one = connect(running)
        headers = cli.headers() | {"host": f"127.0.0.1:{cli.port}"}
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        one.sendall(f"POST /mcp HTTP/1.1\r\n{head}{length}\r\n\r\n".encode())
        return one

    def announced() -> int:
        return running.do(lambda it: it._windows[WindowId(1)]._app._bodies._announced)

    most = f"content-length: {access.MAX_BODY}"
    admitted = [announce(most) for _ in range(3)] + [announce("content-length: 1\r\ntransfer-encoding: chunked")]
    until(lambda: announced() == access.ROOM)
    for _ in range(46):
        refused = announce(most).makefile("rb")
        assert refused.readline() == b"HTTP/1.1 503 Service Unavailable\r\n"
    assert announce(f"content-length: {access.SMALL + 1}").recv(12) == b"HTTP/1.1 503"
    assert cli.tools()
    small = [announce(f"content-length: {access.SMALL}") for _ in range(access.ROOM_FOR_SMALL // access.SMALL)]
    until(lambda: announced() == access.ROOM + access.ROOM_FOR_SMALL)
    assert announce("content-length: 1").recv(12) == b"HTTP/1.1 503"
    for one in [*admitted, *small]:
        one.close()
    until(lambda: announced() == 0)
    cli.open_diff("/nowhere/a.txt", "x" * 2 * access.SMALL)


def test_a_body_in_chunks_takes_no_more_room_than_it_has_while_the_person_decides(
    running: Running, connect: Connect, project: Path
) -> None:
    """Its length is known once it is here, and the answer may take hours."""
    cli, _ = running.listening()
    with running.agent() as agent:
        for number in range(6):
            one = connect(running)
            arguments = {"filePath": str(project / f"{number}.py"), "newContent": "x\n"}
            asked = {"name": "openDiff", "arguments": arguments}
            body = json.dumps({"jsonrpc": "2.0", "id": number + 100, "method": "tools/call", "params": asked}).encode()
            headers = agent.headers() | {"host": f"127.0.0.1:{cli.port}", "transfer-encoding": "chunked"}
            head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
            one.sendall(f"POST /mcp HTTP/1.1\r\n{head}\r\n{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n")
            running.diff(arguments["filePath"])
        assert agent.tools()
        assert running.do(lambda it: it._windows[WindowId(1)]._app._bodies._announced) < access.SMALL


def test_requests_that_come_at_once_are_answered_in_their_order(running: Running, connect: Connect) -> None:
    cli = running.cli().connect()
    one = connect(running)
    ids = list(range(1, 301))
    sent = b""
    for number in ids:
        body = json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/list"}).encode()
        headers = cli.headers() | {"host": f"127.0.0.1:{cli.port}", "content-length": str(len(body))}
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        sent += f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + body
    one.sendall(sent)
    reader = one.makefile("rb")
    answered: list[int] = []
    for _ in ids:
        assert reader.readline() == b"HTTP/1.1 200 OK\r\n"
        length = 0
        while (line := reader.readline().strip()) != b"":
            if line.lower().startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        answered.append(json.loads(reader.read(length))["id"])
    assert answered == ids


def test_whoever_is_refused_and_sends_no_more_counts_as_silent(
    running: Running, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a token the answer comes before the body, which may never come."""
    monkeypatch.setattr(connections, "MAX_IDLE", 5)
    refused = connect(running)
    refused.sendall(b"POST /mcp HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n")
    assert refused.recv(20).startswith(b"HTTP/1.1 403")
    refused.sendall(b"x")
    many = [connect(running) for _ in range(20)]
    while refused.recv(1000):  # the rest of the answer, and then the end
        pass
    assert many[0].recv(1) == b""


@pytest.mark.parametrize("is_reset", [False, True])
def test_nothing_is_kept_of_a_connection_that_is_gone(running: Running, connect: Connect, is_reset: bool) -> None:
    cli = running.cli().connect()
    one = connect(running)
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
    headers = cli.headers() | {"host": f"127.0.0.1:{cli.port}", "content-length": str(len(body))}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    one.sendall(f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + body)
    assert one.recv(12) == b"HTTP/1.1 200"
    address = one.getsockname()

    def find(it: Companion) -> connections.Connection:
        return next(each for each in it._windows[WindowId(1)]._server.connections if each.client == address)

    gone = running.do(find)
    if is_reset:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    one.close()
    until(lambda: running.do(lambda it: gone not in it._windows[WindowId(1)]._server.connections))
    assert running.do(lambda _: gone.timeout_keep_alive_task) is None


def test_a_connection_is_kept_for_minutes(running: Running) -> None:
    """A client that was suspended writes to the connection that it has; closed after 5 s, the request would be lost."""
    cli = running.cli().connect()
    left = running.do(
        lambda it: [
            one.timeout_keep_alive_task.when() - one.loop.time()
            for one in it._windows[WindowId(1)]._server.connections
            if one.timeout_keep_alive_task
        ]
    )
    assert len(left) == 1
    assert left[0] > 60
    assert cli.tools()


@pytest.mark.skipif(sys.platform == "win32", reason="connections are not handed over on Windows")
def test_a_connection_whose_answer_was_just_written_is_handed_over(running: Running) -> None:
    """Closing it instead would lose the client's next request."""
    cli, _ = running.listening()
    cli.tools()

    def release(companion: Companion) -> tuple[int, int]:
        server = companion._windows[WindowId(1)]._server
        idle = [one for one in server.connections if one.is_idle]
        for one in idle:
            one.transport.write(b"the answer")
        released = server.release_idle()
        for connection, _ in released:
            connection.close()
        return len(idle), len(released)

    idle, released = running.do(release)
    assert idle == released > 0
