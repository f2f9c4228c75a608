"""The wire of a WebSocket on the window's port: handshake, limits, slow readers, and what a reload takes along.

uvicorn reads the request and gives its connection to a `WebSocket`; wsproto speaks the protocol. A frame is given to
wsproto when all of it is here, so that what has been read of an unfinished message is known byte for byte: the next
instance begins with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import socket
from typing import TYPE_CHECKING, cast

from starlette.datastructures import Headers
from starlette.responses import Response
from wsproto import ConnectionType
from wsproto.connection import Connection, ConnectionState
from wsproto.events import (
    AcceptConnection,
    CloseConnection,
    Event,
    Ping,
    Pong,
    RejectConnection,
    RejectData,
    Request,
    TextMessage,
)
from wsproto.frame_protocol import CloseReason
from wsproto.handshake import H11Handshake
from wsproto.utilities import LocalProtocolError, RemoteProtocolError

if TYPE_CHECKING:
    from .claude import ClaudeDoor, Client

MAX_MESSAGE = 64 * 1024 * 1024
"""Bytes, frames and their heads together. A proposal carries a whole file."""
FRAMES = 200
"""Frames that are taken in before anything else has its turn: each takes about 35 µs."""
SUBPROTOCOL = "mcp"
"""What Claude Code asks for; OpenCode asks for none."""


class WebSocket(asyncio.Protocol):
    """One client's connection, from its request to its end or a reload."""

    def __init__(self, door: ClaudeDoor) -> None:
        self._door = door
        self._handshake = H11Handshake(ConnectionType.SERVER)
        self._frames: Connection | None = None
        self._client: Client | None = None
        self._transport: asyncio.Transport | None = None
        self._raw = bytearray()
        """What has come since the last message was complete."""
        self._fed = 0
        """How much of that wsproto has."""
        self._is_behind = False
        """Whether frames have come that are not taken in yet."""
        self._is_within = False
        """Whether a message has begun and not ended."""
        self._text = io.StringIO()
        self._readable = asyncio.Event()
        """Set while the client reads what it is sent."""
        self._readable.set()
        self._pong = asyncio.Event()

    @classmethod
    def resumed(cls, door: ClaudeDoor, client: Client, unread: bytes) -> WebSocket:
        """A connection from before a reload, of which `unread` has been read already."""
        wire = cls(door)
        wire._frames = Connection(ConnectionType.SERVER)
        wire._client = client
        wire._raw += unread
        return wire

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin; with a connection from before a reload, go on."""
        self._transport = cast("asyncio.Transport", transport)
        if self._raw:
            self._read()

    def data_received(self, data: bytes) -> None:
        """Something has come."""
        if self._frames is None:
            self._shake_hands(data)
        elif self.is_open:
            self._read(data)

    def pause_writing(self) -> None:
        """The client does not read: what it asks meanwhile waits, too."""
        self._readable.clear()
        self._let_read()

    def resume_writing(self) -> None:
        """The client reads again."""
        self._readable.set()
        self._let_read()
        if self.is_open and self._client:
            self._client.writable()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's
        """The client has gone. One that closes its half of the connection has, too: it would hear no answer."""
        self._readable.set()
        client, self._client = self._client, None
        if client:
            client.lost()

    @property
    def is_open(self) -> bool:
        """Whether what is sent can still reach the client."""
        is_open = self._frames is not None and self._frames.state is ConnectionState.OPEN
        return is_open and self._transport is not None and not self._transport.is_closing()

    @property
    def is_readable(self) -> bool:
        """Whether the client reads what it is sent."""
        return self._readable.is_set()

    async def readable(self) -> None:
        """Wait until the client reads; for ever if it has gone."""
        await self._readable.wait()
        if not self.is_open:
            await asyncio.Future[None]()

    def send(self, text: str) -> None:
        """Send a message."""
        if self.is_open and self._transport:
            self._transport.write(frame(text))

    async def ping(self) -> None:
        """Returns when the client has answered."""
        self._pong.clear()
        self._write(Ping())
        await self._pong.wait()

    def close(self, code: CloseReason = CloseReason.GOING_AWAY, why: str = "") -> None:
        """Say goodbye, and end the connection when that is sent."""
        if self.is_open:
            self._write(CloseConnection(code=code, reason=why))
        if self._transport:
            self._transport.close()

    def abort(self) -> None:
        """End the connection at once."""
        if self._transport:
            self._transport.abort()

    def release(self) -> tuple[socket.socket, bytes] | None:
        """Give up the connection without closing it; returns its socket and what has been read of a message.

        None if it is lost, or if its client has not read yet what it was sent. Raises OSError if no file descriptor is
        free.
        """
        if not self.is_open or self._transport is None:
            return None
        if flush := getattr(self._transport, "flush", None):  # what was written in this turn of the loop
            flush()
        if self._transport.get_write_buffer_size():
            return None
        duplicate: socket.socket = self._transport.get_extra_info("socket").dup()
        duplicate.setblocking(False)
        self._client = None
        self._transport.pause_reading()
        self._transport.abort()
        return duplicate, bytes(self._raw)

    def _shake_hands(self, data: bytes) -> None:
        try:
            self._handshake.receive_data(data)
            [request] = self._handshake.events()
        except (RemoteProtocolError, ValueError):
            self._refuse(Response("Bad Request: no WebSocket handshake", 400))
            return
        assert isinstance(request, Request)  # noqa: S101 - a client sends nothing else first
        headers = Headers(raw=[(b"host", request.host.encode()), *request.extra_headers])
        if refused := self._door.refusal(headers):
            self._refuse(refused)
            return
        chosen = SUBPROTOCOL if SUBPROTOCOL in request.subprotocols else None
        if self._transport:
            self._transport.write(self._handshake.send(AcceptConnection(subprotocol=chosen)))
        self._frames = self._handshake.connection
        self._client = self._door.opened(self, headers)

    def _refuse(self, response: Response) -> None:
        if self._transport is None:
            return
        with contextlib.suppress(LocalProtocolError):
            head = RejectConnection(status_code=response.status_code, headers=response.raw_headers, has_body=True)
            self._transport.write(self._handshake.send(head))
            self._transport.write(self._handshake.send(RejectData(data=bytes(response.body))))
        self._transport.close()

    def _read(self, data: bytes = b"") -> None:
        self._raw += data
        begin = frames = 0
        self._is_behind = False
        while self._frames and self.is_open and (size := frame_size(self._raw, self._fed)) is not None:
            end = self._fed + size
            if end - begin > MAX_MESSAGE:
                self.close(CloseReason.MESSAGE_TOO_BIG)
                break
            if end > len(self._raw):
                break
            self._frames.receive_data(bytes(self._raw[self._fed : end]))
            self._fed = end
            for event in self._frames.events():
                self._handle(event)
            if not self._is_within:
                begin = end
            frames += 1
            if frames == FRAMES:
                self._is_behind = True
                asyncio.get_running_loop().call_soon(self._read)
                break
        del self._raw[:begin]
        self._fed -= begin
        self._let_read()

    def _let_read(self) -> None:
        """Read on, unless the client doesn't, or what has come is not all taken in."""
        if self._transport and self.is_open:
            if self._is_behind or not self._readable.is_set():
                self._transport.pause_reading()
            else:
                self._transport.resume_reading()

    def _handle(self, event: Event) -> None:
        match event:
            case TextMessage():
                self._text.write(event.data)
                self._is_within = not event.message_finished
                if event.message_finished:
                    text, self._text = self._text.getvalue(), io.StringIO()
                    if self._client:
                        self._client.received(text)
            case Ping():
                self._write(event.response())
            case Pong():
                self._pong.set()
            case CloseConnection():
                self._write(event.response())
                self.close()
            case _:
                self.close(CloseReason.UNSUPPORTED_DATA, "text only")

    def _write(self, event: Event) -> None:
        if self._frames and self._transport and not self._transport.is_closing():
            with contextlib.suppress(LocalProtocolError):
                self._transport.write(self._frames.send(event))


def frame(text: str) -> bytes:
    """A message as it is sent. It is the same on every connection: no extension was agreed on."""
    return Connection(ConnectionType.SERVER).send(TextMessage(data=text))


def frame_size(data: bytearray, at: int) -> int | None:
    """The bytes of the frame that begins at a place, its head included; None as long as its head is not here."""
    if len(data) < at + 2:
        return None
    length, is_masked = data[at + 1] & 0x7F, data[at + 1] & 0x80
    more = {126: 2, 127: 8}.get(length, 0)
    if len(data) < at + 2 + more:
        return None
    if more:
        length = int.from_bytes(data[at + 2 : at + 2 + more], "big")
    return 2 + more + (4 if is_masked else 0) + length
