"""The CLIs that are connected to a window, each with its stream and its outbox."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, cast

from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from mcp_types import ServerNotification

from ..protocol import ContextUpdate, Notification

logger = logging.getLogger(__name__)

STREAM_GONE_LIMIT = 10.0
"""Seconds that a session lives without a stream. A CLI reconnects within 3 s and never says that it ends."""
PING_LIMIT = 2.0
"""Seconds that a CLI has to answer a ping."""


Background = Callable[[Coroutine[Any, Any, object]], object]
"""Runs a coroutine on the loop and logs what it raises."""


class Session:
    """One connected CLI. It owns the notifications that wait for its stream."""

    def __init__(self, identifier: str, window: int, cli: str, background: Background) -> None:
        self.identifier = identifier
        self.window = window
        self.cli = cli
        self.stream: Stream | None = None
        self.opening = asyncio.Lock()
        """Held while a stream replaces another: the SDK allows one."""
        self.since = time.time()
        """When it connected, as a Unix time in seconds."""
        self.last_message = self.since
        """When the CLI last sent something, as a Unix time in seconds."""
        self._peer: ServerSession | None = None
        self._outbox: list[Notification] = []
        self._background = background
        self._draining = False
        self._drained = asyncio.Event()
        self._drained.set()

    def notify(self, notification: Notification) -> None:
        """Send a notification, once the stream is open. A newer context replaces a waiting one."""
        if isinstance(notification, ContextUpdate):
            self._outbox = [waiting for waiting in self._outbox if not isinstance(waiting, ContextUpdate)]
        self._outbox.append(notification)
        self._drained.clear()
        self._drain_soon()

    def initialized(self, peer: ServerSession) -> None:
        """The handshake is done; `peer` is the SDK's object that sends to the CLI."""
        self._peer = peer
        self._drain_soon()

    def stream_opened(self, stream: Stream) -> None:
        """The CLI has opened its stream."""
        self.stream = stream
        self._drain_soon()

    def stream_closed(self, stream: Stream) -> bool:
        """A stream ended. Returns whether there is none now: a newer one may have replaced it."""
        if self.stream is stream:
            self.stream = None
        return self.stream is None

    async def round_trip(self) -> float | None:
        """Seconds until the CLI answers a ping on its stream; None if it doesn't listen or answer."""
        if self._peer is None or self.stream is None:
            return None
        started = time.perf_counter()
        try:
            async with asyncio.timeout(PING_LIMIT):
                await self._peer.send_ping()
        except (TimeoutError, MCPError):
            return None
        return time.perf_counter() - started

    async def flushed(self) -> None:
        """Wait until everything is sent."""
        await self._drained.wait()

    def _drain_soon(self) -> None:
        if self._outbox and self._peer and self.stream and not self._draining:
            self._draining = True
            self._background(self._drain(self._peer))

    async def _drain(self, peer: ServerSession) -> None:
        try:
            while self._outbox and self.stream:
                # The SDK dumps any model with a method and params; its union only names the ones that it knows.
                await peer.send_notification(cast("ServerNotification", self._outbox.pop(0)))
        finally:
            self._draining = False
            if not self._outbox:
                self._drained.set()


class Stream:
    """A session's open GET request, so that it can be ended cleanly."""

    def __init__(self) -> None:
        self.closing = asyncio.Event()
        self.closed = asyncio.Event()

    async def close(self) -> None:
        """Send the stream's final chunk and wait until that is done."""
        self.closing.set()
        await self.closed.wait()


class Sessions:
    """The sessions of one window."""

    def __init__(
        self,
        window: int,
        background: Background,
        *,
        on_stream: Callable[[Session], None],
        on_end: Callable[[Session], Coroutine[Any, Any, None]],
    ) -> None:
        self._window = window
        self._background = background
        self._on_stream = on_stream
        self._on_end = on_end
        self.on_change: Callable[[], object] = lambda: None
        """Called when a stream has opened or closed."""
        self._sessions: dict[str, Session] = {}
        self._ends: dict[str, asyncio.TimerHandle] = {}

    def __iter__(self) -> Iterator[Session]:
        return iter(list(self._sessions.values()))

    def find(self, identifier: str | None) -> Session | None:
        """The session of that id."""
        return self._sessions.get(identifier or "")

    def begin(self, identifier: str, cli: str) -> None:
        """The SDK has opened a session."""
        self._sessions[identifier] = Session(identifier, self._window, cli, self._background)
        self._end_later(identifier)

    def end(self, identifier: str) -> None:
        """A session is over."""
        self._cancel_end(identifier)
        if session := self._sessions.pop(identifier, None):
            logger.info("%s has disconnected", session.cli)
            self.on_change()
            self._background(self._on_end(session))

    def stream_opened(self, session: Session, stream: Stream) -> None:
        """A session's stream is open."""
        self._cancel_end(session.identifier)
        session.stream_opened(stream)
        self._on_stream(session)
        self.on_change()

    def stream_closed(self, session: Session, stream: Stream) -> None:
        """A session's stream is gone. The session ends too unless a stream comes back in time."""
        if session.stream_closed(stream) and session.identifier in self._sessions:
            self._end_later(session.identifier)
            self.on_change()

    async def close(self) -> None:
        """End every stream cleanly."""
        for session in self:
            self._cancel_end(session.identifier)
        await asyncio.gather(*(session.stream.close() for session in self if session.stream))

    def _end_later(self, identifier: str) -> None:
        self._cancel_end(identifier)
        loop = asyncio.get_running_loop()
        self._ends[identifier] = loop.call_later(STREAM_GONE_LIMIT, self.end, identifier)

    def _cancel_end(self, identifier: str) -> None:
        if timer := self._ends.pop(identifier, None):
            timer.cancel()
