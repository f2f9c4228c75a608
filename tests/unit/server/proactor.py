"""CPython's own Proactor loop, over a proactor that behaves as that of Windows where it matters.

A file object has one completion port for ever, also after the port is closed (WinError 87), and an accept fails if the
client has reset the connection (WinError 64, python/cpython#93821). Everything else is done with `select`.
"""

from __future__ import annotations

import asyncio
import os
import select
import socket
import struct
from asyncio import proactor_events
from collections.abc import Callable
from typing import Any, ClassVar


class Proactor:
    """A completion port."""

    ports: ClassVar[dict[int, Proactor]] = {}
    """By the inode of a socket the port that its file object belongs to."""

    def __init__(self) -> None:
        self._waiting: list[tuple[socket.socket, bool, asyncio.Future[Any], Callable[[], Any]]] = []
        self._loop: asyncio.AbstractEventLoop | None = None

    def set_loop(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def close(self) -> None:
        self._waiting.clear()

    def recv(self, connection: socket.socket, size: int, _flags: int = 0) -> asyncio.Future[bytes]:
        return self._begin(connection, False, lambda: connection.recv(size))

    def recv_into(self, connection: socket.socket, buffer: bytearray, _flags: int = 0) -> asyncio.Future[int]:
        return self._begin(connection, False, lambda: connection.recv_into(buffer))

    def send(self, connection: socket.socket, data: bytes, _flags: int = 0) -> asyncio.Future[int]:
        return self._begin(connection, True, lambda: connection.send(data))

    def accept(self, listener: socket.socket) -> asyncio.Future[tuple[socket.socket, Any]]:
        def accept() -> tuple[socket.socket, Any]:
            connection, address = listener.accept()
            try:
                connection.recv(1, socket.MSG_PEEK | getattr(socket, "MSG_DONTWAIT", 0))
            except ConnectionResetError:
                raise OSError(22, "The specified network name is no longer available", None, 64) from None
            except BlockingIOError:
                pass
            return connection, address

        return self._begin(listener, False, accept)

    def select(self, timeout: float | None = None) -> list[Any]:
        """Complete what can be completed."""
        self._waiting = [one for one in self._waiting if one[0].fileno() >= 0 and not one[2].done()]
        readers = [one[0] for one in self._waiting if not one[1]]
        writers = [one[0] for one in self._waiting if one[1]]
        readable, writable, _ = select.select(readers, writers, [], timeout)
        for waiting in list(self._waiting):
            connection, is_write, future, act = waiting
            if connection not in (writable if is_write else readable):
                continue
            try:
                result = act()
            except (BlockingIOError, InterruptedError):
                continue
            except OSError as error:
                future.set_exception(error)
            else:
                future.set_result(result)
            self._waiting.remove(waiting)
        return []

    def _stop_serving(self, _listener: socket.socket) -> None:
        """Nothing is kept of a listener."""

    def _begin(self, its: socket.socket, is_write: bool, act: Callable[[], Any]) -> asyncio.Future[Any]:
        if self.ports.setdefault(os.fstat(its.fileno()).st_ino, self) is not self:
            raise OSError(22, "The parameter is incorrect", None, 87)
        assert self._loop
        future = self._loop.create_future()
        self._waiting.append((its, is_write, future, act))
        return future


class Loop(proactor_events.BaseProactorEventLoop):
    """A loop of Windows."""

    def __init__(self) -> None:
        super().__init__(Proactor())  # pyright: ignore[reportCallIssue]

    _self_reading_future: asyncio.Future[bytes] | None
    _loop_self_reading: Callable[[], None]

    def run_forever(self) -> None:
        """As in `windows_events`: read what wakes the loop."""
        self.call_soon(self._loop_self_reading)
        try:
            super().run_forever()
        finally:
            if reading := self._self_reading_future:
                reading.cancel()
                self._self_reading_future = None


def run(main: Any) -> None:
    """`asyncio.run` as on Windows."""
    with asyncio.Runner(loop_factory=Loop) as runner:
        runner.run(main)


def reset(port: int) -> None:
    """A client that connects and is gone at once, with a reset."""
    client = socket.create_connection(("127.0.0.1", port))
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()
