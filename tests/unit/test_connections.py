"""Connections of a window's port that misbehave (issue 13 §5)."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator

import pytest

from companion.server import connections

from .conftest import Running, until
from .wire import LIMIT

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
    until(lambda: running.do(lambda it: len(it._windows[1]._server.connections)) <= 23)
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
