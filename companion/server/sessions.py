"""The CLIs that are connected to a window, each with its stream and its outbox."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import TYPE_CHECKING, Any

from ..clis.elsewhere import PathMaps
from ..clis.families import Door
from ..libraries.sdk import MCPError
from ..protocol import DiffOutcome, IdeContext, Notification, is_sendable, moved
from .endpoint import Caller

if TYPE_CHECKING:
    from .window import WindowServer

logger = logging.getLogger(__name__)

STREAM_GONE_LIMIT = 10.0
"""Seconds that a session lives without a stream. A CLI reconnects within 3 s and never says that it ends."""
IDLE_MODEL = 3600.0
"""Seconds after which the session of a CLI's model ends that asks nothing: whoever was killed has not said so.

Whoever comes back is told, and begins anew. The agent of a chat keeps its session: the chat knows when it has ended."""
IDLE_AGENTS = 32
"""Sessions of agents and models, in one window, that nobody is using. The oldest one ends for the next."""
MOST_CALLS = 64
"""Calls of one client that wait for the person: more than a person could answer."""
PING_LIMIT = 2.0
"""Seconds that a CLI has to answer a ping."""


Background = Callable[[Coroutine[Any, Any, object]], object]
"""Runs a coroutine on the loop, from its next turn on, and logs what it raises."""


Ping = Callable[[], Awaitable[object]]
"""Returns when the CLI has answered. Raises MCPError."""
StreamWire = Callable[[bytes], bool]
"""Writes something to a stream's connection. Returns whether the client can still get it, which reads nothing at times.
"""


class InFlight:
    """Counts the requests that are being answered: `with in_flight: …`."""

    def __init__(self) -> None:
        self.count = 0
        """How many there are."""
        self._since = time.monotonic()
        self._none = asyncio.Event()
        self._none.set()

    def __enter__(self) -> None:
        self.count += 1
        self._none.clear()

    def __exit__(self, *error: object) -> None:
        self.count -= 1
        if not self.count:
            self._since = time.monotonic()
            self._none.set()

    @property
    def idle(self) -> float | None:
        """Seconds for which there has been none; None if there is one."""
        return None if self.count else time.monotonic() - self._since

    async def none(self) -> None:
        """Wait until there is none."""
        await self._none.wait()


class Session:
    """One connected CLI. It owns the notifications that wait for its stream."""

    is_model = False

    def __init__(self, server: WindowServer, identifier: str, caller: Caller) -> None:
        self.identifier = identifier
        self.caller = caller
        self.known_as = identifier
        """The id that the CLI knows, which is another one after a reload."""
        self.window = server.endpoint.window
        self.cli = caller.name
        self.is_agent = caller.is_agent
        self.is_in_terminal = not caller.is_elsewhere and (caller.is_model or not caller.is_agent)
        """Whether it is a CLI of this computer, or the model of one, which leaves transcripts here."""
        self.stream: Stream | None = None
        self.opening = asyncio.Lock()
        """Held while a stream replaces another: the SDK allows one."""
        self.since = time.time()
        """When it connected, as a Unix time in seconds."""
        self.last_message = self.since
        """When the CLI last sent something, as a Unix time in seconds."""
        self.calls: dict[int | str, Callable[[], object]] = {}
        """What cancels the calls that wait for the person, by their ids."""
        self.proposed: dict[object, str] = {}
        """The files whose diffs are about to open, until the CLI closes them before."""
        self.requests = InFlight()
        """Its requests that are being answered, streams included."""
        self.in_sdk = InFlight()
        """Requests that the SDK is answering, apart from streams."""
        self.said: dict[str, str] = {}
        """The paths as the CLI said them, by what they are here."""
        self._ping: Ping | None = None
        """Set when the handshake is done."""
        self._outbox: list[Notification] = []
        """What waits for the stream."""
        self._server = server
        self._is_waiting = False
        """Whether it waits until the stream takes more."""
        self._drained = asyncio.Event()
        self._drained.set()

    @property
    def waits(self) -> bool:
        """Whether the answer to one of its calls may wait for the person."""
        return self.is_agent or self.caller.door == "socket"

    def cancel(self, number: int | str) -> bool:
        """The client doesn't wait for one of its calls any more. Returns whether there was such a call."""
        before = self._server.endpoint.state.calls.get(self.known_as, {})
        cancel = self.calls.get(number) or before.pop(number, None)
        if cancel:
            cancel()
        return cancel is not None

    def notify(self, notification: Notification) -> None:
        """Send a notification, once the stream is open. A newer context replaces a waiting one.

        One that can't be sent would silence the session for ever, so it is not even kept.
        """
        if self.is_agent:
            return
        if not is_sendable(notification):
            self._server.unsendable(self, notification)
            return
        if self._outbox and isinstance(notification, IdeContext):
            self._outbox = [*self.unsent()]
        self._outbox.append(notification)
        self._send()
        if self._outbox:
            self._drained.clear()

    @property
    def _maps(self) -> PathMaps:
        """The folders as the CLI calls them, if it runs somewhere else."""
        return PathMaps(self._server.settings.path_maps if self.caller.is_elsewhere else ())

    def here(self, path: str) -> str:
        """What a path that the CLI names is here."""
        here = self._maps.here(path)
        if here != path:
            self.said[here] = path
        return here

    def there(self, path: str) -> str:
        """What the CLI calls a path that is named here."""
        return self.said.get(path) or self._maps.there(path)

    def _there(self, notification: Notification) -> Notification:
        """A notification with the paths as the CLI knows them."""
        return moved(notification, self.there) if self._maps.pairs else notification

    def handed_over(self) -> dict[str, Any]:
        """The session id that the CLI uses, by which the next instance finds it, and what it has called its files."""
        return {"session": self.known_as, "said": dict(self.said)}

    def initialized(self, ping: Ping) -> None:
        """The handshake is done."""
        self._ping = ping
        self._send()

    def stream_opened(self, stream: Stream) -> None:
        """The CLI has opened its stream."""
        self.stream = stream
        self._send()

    def stream_closed(self, stream: Stream) -> bool:
        """A stream ended. Returns whether there is none now: a newer one may have replaced it."""
        if self.stream is stream:
            self.stream = None
        return self.stream is None

    async def round_trip(self) -> float | None:
        """Seconds until the CLI answers a ping on its stream; None if it doesn't listen or answer."""
        if self._ping is None or self.stream is None:
            return None
        started = time.perf_counter()
        try:
            async with asyncio.timeout(PING_LIMIT):
                await self._ping()
        except (TimeoutError, MCPError):
            return None
        return time.perf_counter() - started

    def unsent(self) -> list[DiffOutcome]:
        """The outcomes that the CLI hasn't got. A context is of no use later."""
        return [waiting for waiting in self._outbox if isinstance(waiting, DiffOutcome)]

    async def flushed(self) -> None:
        """Wait until everything is sent."""
        await self._drained.wait()

    def _send(self) -> None:
        """Write what waits, as far as the stream takes it now."""
        stream = self.stream
        if self._ping is None or stream is None or stream.closing.is_set():
            return
        while self._outbox and stream.write(self._there(self._outbox[0])):
            del self._outbox[0]
        if not self._outbox:
            self._drained.set()
        elif not self._is_waiting:
            self._is_waiting = True
            self._server.background(self._send_later(stream))

    async def _send_later(self, stream: Stream) -> None:
        try:
            await stream.before_end(stream.writable())
        finally:
            self._is_waiting = False
        self._send()  # perhaps on another stream, which has replaced this one


class Stream:
    """A session's open GET request, or what its door has instead.

    Notifications are written to it as the door has them. Through the SDK each would take two tasks and three queues,
    and nobody could tell whether it was written. The SDK still sends the head, pings and comments.
    """

    def __init__(
        self, write: Callable[[Notification], bool], writable: Callable[[], Coroutine[Any, Any, None]]
    ) -> None:
        self.write = write
        """Write a notification, and return whether it was written to the connection."""
        self.writable = writable
        """Wait until something can be written, for ever if the connection is lost."""
        self.closing = asyncio.Event()
        self.closed = asyncio.Event()
        self.limit: float | None = None
        """Seconds that the final chunk may take."""

    async def before_end(self, work: Coroutine[Any, Any, None]) -> None:
        """Wait for something, but not longer than until nothing is written any more."""
        waiting = [asyncio.ensure_future(work), asyncio.ensure_future(self.closed.wait())]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waiting:
                one.cancel()

    def end(self) -> None:
        """Nothing is written to it any more."""
        self.closed.set()

    async def close(self, limit: float | None = None) -> None:
        """Send the stream's final chunk and wait until that is done, or has taken `limit` seconds."""
        self.limit = limit
        self.closing.set()
        await self.closed.wait()


class CliSessions:
    """The sessions of one window."""

    def __init__(self, server: WindowServer) -> None:
        self._server = server
        self.is_left = False
        """Whether the next instance has the sessions: no new work begins here."""
        self._sessions: dict[str, Session] = {}
        self._ends: dict[str, asyncio.TimerHandle] = {}

    def __iter__(self) -> Iterator[Session]:
        return iter(list(self._sessions.values()))

    def __contains__(self, session: Session) -> bool:
        return self._sessions.get(session.identifier) is session

    def of(self, door: Door) -> list[Session]:
        """The sessions that have come in by a door."""
        return [session for session in self if session.caller.door == door]

    def find(self, identifier: str | None) -> Session | None:
        """The session of that id."""
        return self._sessions.get(identifier or "")

    def begin(self, identifier: str, caller: Caller) -> Session:
        """A door has opened a session.

        An agent's lasts until its token is taken back, a model's until it is idle: they need no stream. One on a
        WebSocket ends with that.
        """
        session = self._sessions[identifier] = Session(self._server, identifier, caller)
        if not caller.is_agent:
            if caller.door != "websocket":
                self._end_later(identifier)
            return session
        if caller.is_model:
            self._end_if_idle(session)
        idle = [(seconds, one) for one in self if one.is_agent and (seconds := one.requests.idle) is not None]
        idle.sort(key=lambda each: each[0])
        for _, one in idle[IDLE_AGENTS:]:
            self.end(one.identifier)
        return session

    def resumed(self, session: Session, known_as: str) -> None:
        """A session from before a reload goes on; `known_as` is the id that its CLI knows."""
        session.known_as = known_as
        self._server.resumed(session)

    def end(self, identifier: str) -> None:
        """A session is over."""
        self._cancel_end(identifier)
        if session := self._sessions.pop(identifier, None):
            logger.info("%s has disconnected", session.cli)
            self._server.host.streams_changed()
            self._server.background(self._server.session_ended(session))

    def stream_opened(self, session: Session, stream: Stream) -> None:
        """A session's stream is open."""
        self._cancel_end(session.identifier)
        session.stream_opened(stream)
        self._server.contexts.stream_opened(session)
        self._server.host.streams_changed()

    def stream_closed(self, session: Session, stream: Stream) -> None:
        """A session's stream is gone. The session ends too unless a stream comes back in time."""
        if session.stream_closed(stream) and session.identifier in self._sessions:
            if not session.is_agent:
                self._end_later(session.identifier)
            self._server.host.streams_changed()

    async def flush(self) -> None:
        """Send what waits for the streams that are open. A CLI that reads nothing keeps this waiting."""
        await asyncio.gather(*(_flush(session) for session in self))

    async def close(self) -> None:
        """Send what waits, and end every stream cleanly. A CLI that reads nothing keeps this waiting."""
        self.cancel()
        await asyncio.gather(*(_finish(session) for session in self))

    def cancel(self) -> None:
        """Let no timer fire any more."""
        for identifier in list(self._ends):
            self._cancel_end(identifier)

    def _end_later(self, identifier: str) -> None:
        self._cancel_end(identifier)
        loop = asyncio.get_running_loop()
        self._ends[identifier] = loop.call_later(STREAM_GONE_LIMIT, self.end, identifier)

    def _end_if_idle(self, session: Session) -> None:
        """End a session that has been idle for too long, or look again when it might be."""
        self._cancel_end(session.identifier)
        left = IDLE_MODEL - (session.requests.idle or 0.0)
        if left > 0:
            loop = asyncio.get_running_loop()
            self._ends[session.identifier] = loop.call_later(left, self._end_if_idle, session)
        else:
            self.end(session.identifier)

    def _cancel_end(self, identifier: str) -> None:
        if timer := self._ends.pop(identifier, None):
            timer.cancel()


async def _flush(session: Session) -> None:
    if (stream := session.stream) is None:
        return
    await stream.before_end(session.flushed())


async def _finish(session: Session) -> None:
    await _flush(session)
    if session.stream:
        await session.stream.close()
