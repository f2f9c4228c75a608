"""The connections of one window's port: who is connected, and what a reload does with each of them.

A connection that waits for its next request is handed over to the next instance as it is, so that no client writes to
a socket that has just been closed. uvicorn's protocol speaks HTTP.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import functools
import logging
import selectors
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from email.utils import formatdate
from typing import Any, cast

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.server import ServerState

from ...handover import OpenConnection
from ...platforms.local_sockets import SCARCE
from ..endpoint import listens, place_of

logger = logging.getLogger(__name__)

MAX_IDLE = 256
"""How many connections may wait for a request. The oldest is closed for one more."""
KEEP_ALIVE = 300
"""Seconds that a connection may be idle after an answer. uvicorn's usual 5 are too few for a client that was suspended,
or that waits for a busy machine: it writes to its connection at the moment when we close it, and the request is lost.
MAX_IDLE bounds their number."""
STEP = 1.0
"""Seconds between two checks whether an answer still waits for the person."""
END = 0.2
"""Seconds that a request has to end when its connection has been cut off."""


CLOSE = (b"connection", b"close")
"""The header of the last answer of a connection."""


@functools.lru_cache(maxsize=1)
def _date(now: int) -> bytes:
    return formatdate(now, usegmt=True).encode()


class _Gathered:
    """A transport that sends what is written in one turn of the loop at once. All else is that of the one inside.

    uvicorn writes the head of an answer and its body separately. As two packets they would wake the client twice.
    """

    def __init__(self, inner: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._inner = inner
        self._loop = loop
        self._pieces: list[bytes | bytearray | memoryview] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Keep some bytes until the end of this turn of the loop."""
        if not data:
            return
        if not self._pieces:
            self._loop.call_soon(self.flush)
        self._pieces.append(data)

    def write_now(self, data: bytes) -> None:
        """Send something after what was written before."""
        if self._pieces:
            self.flush()
        self._inner.write(data)

    def close(self) -> None:
        """Send what is kept, then close."""
        self.flush()
        self._inner.close()

    def abort(self) -> None:
        """Drop what is kept, and close at once."""
        self._pieces.clear()
        self._inner.abort()

    def get_write_buffer_size(self) -> int:
        """The bytes that are kept or that the socket has not taken yet."""
        return self._inner.get_write_buffer_size() + sum(map(len, self._pieces))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def flush(self) -> None:
        """Send what was written in this turn."""
        pieces, self._pieces = self._pieces, []
        if pieces and not self._inner.is_closing():
            self._inner.write(pieces[0] if len(pieces) == 1 else b"".join(pieces))


class _Flow(FlowControl):
    """Reads nothing more while a request waits behind the one that is being answered.

    uvicorn reads on whenever the application asks for a request's body. A client that sends requests and doesn't read
    the answers would fill the memory.
    """

    def __init__(self, transport: asyncio.Transport, conn: h11.Connection) -> None:
        super().__init__(transport)
        self._conn = conn

    def resume_reading(self) -> None:
        """Read on, unless a request is complete and its answer is not."""
        is_answering = self._conn.their_state is h11.DONE and self._conn.our_state is not h11.DONE
        if not is_answering:
            super().resume_reading()


class _Config(uvicorn.Config):
    """uvicorn's settings. They leave its loggers, which other packages may use, as they are."""

    def configure_logging(self) -> None:
        """Do nothing: a connection has our logger."""


class Connection(H11Protocol):
    """One client's connection. A request finds it in its scope, as `scope["state"]["connection"]`."""

    def __init__(self, server: HttpServer) -> None:
        super().__init__(server.config, server.state, {})
        self.logger = logger
        self.access_log = False
        self._server = server

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Put what gathers the writes of a turn between uvicorn and the socket."""
        self._gathered = _Gathered(cast("asyncio.Transport", transport), self.loop)
        super().connection_made(gathered := cast("asyncio.Transport", self._gathered))
        self.flow = _Flow(gathered, self.conn)
        self.app_state = {"connection": self}
        self._server.opened(self)

    def data_received(self, data: bytes) -> None:
        """Answer what has come."""
        self.server_state.default_headers = [(b"date", _date(int(time.time())))]
        super().data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Let go of everything that belongs to the connection."""
        super().connection_lost(exc)
        # uvicorn leaves the timer of a connection that was reset, which would keep all of it for KEEP_ALIVE seconds.
        self._unset_keepalive_if_required()
        self._server.lost.set()

    @property
    def is_open(self) -> bool:
        """Whether what is written can still reach the client."""
        return not self.transport.is_closing()

    def flush(self) -> None:
        """Send what was written in this turn of the loop now, and not at its end."""
        self._gathered.flush()

    def write(self, data: bytes) -> bool:
        """Write a part of a streamed answer; returns whether the client can still get it.

        Nothing is written while the client reads nothing. h11 need not know: only the end of such
        an answer changes its state.
        """
        if self.flow.write_paused or not self.is_open:
            return False
        is_chunked = self.conn.their_http_version != b"1.0"
        self._gathered.write_now(b"%x\r\n%b\r\n" % (len(data), data) if is_chunked else data)
        return self.is_open

    async def writable(self) -> None:
        """Wait until the client reads; for ever if it has gone."""
        await self.flow.drain()
        if not self.is_open:
            await asyncio.Future[None]()

    @property
    def is_silent(self) -> bool:
        """Whether it owes no answer: it waits for a request, or for the rest of one that has been refused."""
        cycle = cast("RequestResponseCycle | None", self.cycle)
        return (cycle is None or cycle.response_complete) and self.is_open

    @property
    def is_idle(self) -> bool:
        """Whether it waits for a request, of which a part of the headers may be here."""
        states = {self.conn.our_state, self.conn.their_state}
        return self.is_silent and states == {h11.IDLE} and not self.transport.get_write_buffer_size()

    def release(self) -> OpenConnection:
        """Give up an idle connection without closing it; returns its socket and what it has read of a request.

        Raises OSError if no file descriptor is free.
        """
        duplicate: socket.socket = self.transport.get_extra_info("socket").dup()
        duplicate.setblocking(False)
        self._unset_keepalive_if_required()
        self.transport.pause_reading()
        received, _ = self.conn.trailing_data
        self.transport.abort()
        return duplicate, received


class HttpServer:
    """Answers HTTP requests on one listening socket."""

    def __init__(self, app: ASGIApp, websockets: Callable[..., asyncio.Protocol] | None = None) -> None:
        """`websockets` makes what goes on with a connection whose client asks for a WebSocket, if it may."""
        self.config = _Config(
            app,
            interface="asgi3",
            http="h11",
            ws=cast("type[asyncio.Protocol]", websockets) if websockets else "none",
            loop="asyncio",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=KEEP_ALIVE,
        )
        self.config.load()
        self.state = ServerState()
        self._ages: dict[Connection, None] = {}
        """The connections, the oldest first."""
        self.lost = asyncio.Event()
        """Set whenever a connection is closed."""
        self._acceptor: Acceptor | None = None
        self._pipes: list[asyncio.AbstractServer] = []
        """The pipe of Windows, if that is what is served."""
        self._connecting: set[asyncio.Task[None]] = set()
        """Connections that were accepted and are being made."""

    @property
    def connections(self) -> list[Connection]:
        """The open connections, the oldest first."""
        return [one for one in self._ages if one in self.state.connections]

    async def open(self, listener: socket.socket, inherited: Sequence[OpenConnection] = ()) -> None:
        """Accept connections, and go on with those of the previous instance. The listener stays the caller's."""
        acceptor = Acceptor(listener, self._accepted)
        acceptor.start()
        self._acceptor = acceptor
        for one, received in inherited:
            await self._connect(one, received)

    async def open_pipe(self, name: str) -> None:
        """Accept connections on a named pipe of Windows. Raises OSError if this system or this loop has none."""
        serve = getattr(asyncio.get_running_loop(), "start_serving_pipe", None)
        if serve is None:
            raise OSError("this event loop has no pipes")
        self._pipes = await serve(self._protocol, name)

    @property
    def is_accepting(self) -> bool:
        """Whether whoever connects now is accepted."""
        return self._acceptor is not None and self._acceptor.is_accepting

    async def stop_accepting(self) -> None:
        """Leave new connections to the kernel's queue, or to the next instance."""
        while self._pipes:
            self._pipes.pop().close()
        if self._acceptor is None:
            return
        acceptor, self._acceptor = self._acceptor, None
        await acceptor.stop()
        if self._connecting:
            await asyncio.wait(self._connecting)

    def abandon(self) -> None:
        """Stop at once, after an error."""
        if self._acceptor:
            self._acceptor.abandon()

    def _accepted(self, connection: socket.socket) -> None:
        task = asyncio.get_running_loop().create_task(self._connect(connection))
        self._connecting.add(task)
        task.add_done_callback(self._connecting.discard)

    async def _connect(self, connection: socket.socket, received: bytes = b"") -> None:
        if sys.platform == "win32":
            connection = Closable(fileno=connection.detach())
        try:
            _, protocol = await asyncio.get_running_loop().connect_accepted_socket(self._protocol, connection)
        except OSError:  # the client has closed it meanwhile
            connection.close()
            return
        if received:
            protocol.data_received(received)

    def release_idle(self) -> list[OpenConnection]:
        """Give up the connections that wait for a request. On Windows the next instance couldn't use them."""
        if sys.platform == "win32":
            return []
        for one in self.connections:
            # An answer of this turn of the loop may still be here, and its connection would be closed instead.
            one.flush()
        released: list[OpenConnection] = []
        for one in self.connections:
            if one.is_idle:
                with contextlib.suppress(OSError):  # it is closed with this instance
                    released.append(one.release())
        return released

    async def close(self, limit: float, waits: Callable[[], bool]) -> None:
        """Close each connection after its answer.

        Those that are still open after `limit` seconds are cut off, but not while an answer `waits` for the person.
        """
        await self.stop_accepting()
        for connection in self.connections:
            connection.shutdown()
        loop = asyncio.get_running_loop()
        end = loop.time() + limit
        while self.connections and ((left := end - loop.time()) > 0 or waits()):
            self.lost.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.lost.wait(), left if left > 0 else STEP)
        for connection in self.connections:
            connection.transport.abort()
        if tasks := list(self.state.tasks):
            _, stuck = await asyncio.wait(tasks, timeout=END)
            for task in stuck:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _protocol(self) -> Connection:
        return Connection(self)

    def opened(self, connection: Connection) -> None:
        """A client has connected."""
        self._ages = dict.fromkeys([*self.connections, connection])
        silent = [one for one in self.connections if one.is_silent]
        for one in silent[: max(0, len(silent) - MAX_IDLE)]:
            one.shutdown()


PAUSE = 1.0
"""Seconds until the next try when the system has no file descriptor or no memory for a connection."""
PASSING = {
    errno.EAGAIN,
    errno.EWOULDBLOCK,
    errno.EINTR,
    errno.ECONNABORTED,
    errno.ECONNRESET,
    errno.EPROTO,
    errno.EPERM,
}
"""The client has gone, or a firewall has refused it; the listener is all right."""
GONE = {64, 10053, 10054}
"""What Windows says of a client that has gone."""


class Closable(socket.socket):
    """A connection that asyncio's loop on Windows closes even if the client has reset it.

    That loop shuts a connection down first; if that fails, it leaves the socket to the garbage collector
    (`_call_connection_lost` in CPython's `asyncio/proactor_events.py`).
    """

    def shutdown(self, how: int, /) -> None:
        """Nothing has to be shut down where nobody is connected any more."""
        with contextlib.suppress(OSError):
            super().shutdown(how)


class Acceptor:
    """Accepts on one listener, from `start` to `stop`. `accepted` gets each connection, on the loop."""

    def __init__(self, listener: socket.socket, accepted: Callable[[socket.socket], object]) -> None:
        self._listener = listener
        self._place = place_of(listener)
        self._accepted = accepted
        self._loop = asyncio.get_running_loop()
        self._is_over = asyncio.Event()
        self._is_stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="qwen-companion-accept", daemon=True)

    def start(self) -> None:
        """Begin. Raises OSError if the system has no file descriptor for it."""
        self._wake, self._woken = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        self._woken.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._thread.start()

    async def stop(self) -> None:
        """Accept no more. All that was accepted has been given to the loop afterwards."""
        self.abandon()
        await self._is_over.wait()

    def abandon(self) -> None:
        """Accept no more, without waiting for that."""
        self._is_stopping.set()
        self._wake.close()

    @property
    def is_accepting(self) -> bool:
        """Whether a client that connects now is accepted."""
        return self._thread.is_alive() and listens(self._listener, self._place)

    def _run(self) -> None:
        try:
            while not self._is_stopping.is_set():
                self._selector.select()
                while not self._is_stopping.is_set() and self._accept():
                    pass
        except (OSError, ValueError) as error:
            logger.warning("%s accepts no more: %s", self._place, error)
        finally:
            self._selector.close()
            self._woken.close()
            self._tell(self._is_over.set)

    def _accept(self) -> bool:
        """Accept a connection, and return whether there may be another one. Raises OSError if the listener is dead."""
        try:
            connection, _ = self._listener.accept()
        except OSError as error:
            if error.errno in SCARCE:
                logger.error("socket.accept() out of system resource")  # noqa: TRY400 - the stack says nothing
                self._is_stopping.wait(PAUSE)
            elif error.errno not in PASSING and getattr(error, "winerror", None) not in GONE:
                raise
            return False
        try:
            connection.setblocking(False)
            if connection.family == socket.AF_INET:
                # Otherwise each answer waits 40 ms for the client's acknowledgement.
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError:  # the client has gone
            connection.close()
        else:
            if not self._tell(lambda: self._accepted(connection)):
                connection.close()
        return True

    def _tell(self, call: Callable[[], object]) -> bool:
        try:
            self._loop.call_soon_threadsafe(call)
        except RuntimeError:  # the loop has ended
            return False
        return True
