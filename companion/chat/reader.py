"""One chat at work: reads a session's events into its conversation, and takes them up again when they are lost.

The reader waits for nobody: what it reads goes into the conversation at once, and who shows it takes a look when it
has the time. However slow that is, nothing piles up but the conversation itself.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Sequence

from ..conversation import agent, events
from ..conversation.conversation import Conversation
from ..conversation.snapshot import ConnectionStatus, Snapshot
from ..daemon.answers import Session
from ..daemon.client import Client
from ..daemon.errors import BusyError, DaemonError, SessionGoneError, StreamLostError

BACKOFF = (0.2, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
"""Seconds before each new try; the last one again and again."""
FRAMES_PER_SECOND = 30
"""Looks that a view gets at most."""


class _StaleError(Exception):
    """What is shown must be built anew from the session's history."""


class _EndedError(Exception):
    """The session is over; its words are for the person."""


class Backoff:
    """How long to wait before each try, longer each time."""

    def __init__(self, delays: Sequence[float] = ()) -> None:
        """`delays` are other seconds than `BACKOFF`."""
        self._delays = delays or BACKOFF
        self._tries = 0

    def reset(self) -> None:
        """It has worked, or somebody wants to try again."""
        self._tries = 0

    def next(self) -> float:
        """Seconds before the next try."""
        delay = self._delays[min(self._tries, len(self._delays) - 1)]
        self._tries += 1
        return delay

    def after(self, error: DaemonError) -> float | None:
        """Seconds before the next try after an error; None if only a person can mend it."""
        if error.final:
            return None
        asked = error.retry_after if isinstance(error, BusyError) else None
        return max(self.next(), asked or 0)


class Chat:
    """A session and its conversation. `run` it as a task; to end it, cancel the task."""

    def __init__(
        self,
        client: Client,
        session: Session,
        conversation: Conversation | None = None,
        *,
        backoff: Sequence[float] = (),
    ) -> None:
        """Take a session that `client` has created or wants to resume; a new one needs no history.

        `conversation` is one that is shown already and has no turns yet.
        """
        self.client = client
        self.session = session
        self.conversation = conversation or Conversation()
        # A session that was there before may have begun long before its oldest event.
        self._stale = session.attached or not session.client_id
        self._backoff = Backoff(backoff)
        self._again = asyncio.Event()

    async def run(self) -> None:
        """Read until cancelled. What goes wrong is said by the conversation's connection, never raised."""
        while True:
            self._again.clear()
            try:
                await self._read()
            except _StaleError:
                self._stale = True
                await self._wait(self._backoff.next())
            except _EndedError as end:
                self._stale = True
                self.conversation.interrupt()
                self.conversation.connected(ConnectionStatus("ended", str(end)))
                await self._wait(None)
            except SessionGoneError as error:
                if self._stale:
                    # It isn't on the disk either.
                    self.conversation.interrupt()
                    self.conversation.connected(ConnectionStatus("lost", str(error)))
                    await self._wait(None)
                # The daemon has started anew, or has put the session aside: it is taken from the disk.
                self._stale = True
            except DaemonError as error:
                delay = self._backoff.after(error)
                self.conversation.connected(ConnectionStatus("lost" if delay is None else "waiting", str(error), delay))
                await self._wait(delay)

    def reconnect(self, client: Client | None = None) -> None:
        """Try again now, with another client if the daemon has moved. Without a need it does nothing."""
        if client is not None:
            self.client = client
        self._backoff.reset()
        self._again.set()

    def views(self, per_second: float = FRAMES_PER_SECOND) -> AsyncIterator[Snapshot]:
        """See `views`."""
        return views(self.conversation, per_second)

    async def _read(self) -> None:
        if self._stale:
            left = self.session
            self.session, history = await self.client.load(left)
            self.conversation.rebuild(history)
            self._stale = False
        async with self.client.events(self.session, self.conversation.cursor) as stream:
            if not self.conversation.begin(stream.epoch):
                raise _StaleError
            if self.client.has("session_context"):
                self.conversation.chosen(await self.client.choices(self.session))
            self.conversation.connected(ConnectionStatus("live"))
            measuring = asyncio.create_task(self._measure())
            try:
                is_measured = False
                async for frame in stream.frames:
                    self._check(frame.event)
                    if not self.conversation.apply(frame):
                        raise _StaleError
                    if frame.id is not None:
                        self._backoff.reset()
                    is_measured |= isinstance(frame.event, agent.UsageUpdate)
                    # 0.21.2 doesn't tell by itself.
                    if isinstance(frame.event, events.TurnCompleted) and not is_measured:
                        measuring.cancel()
                        measuring = asyncio.create_task(self._measure())
            finally:
                measuring.cancel()
        raise StreamLostError("The daemon has ended the stream of events.")

    async def _measure(self) -> None:
        """Ask how full the context window is; the history doesn't tell."""
        with contextlib.suppress(DaemonError):
            if window := await self.client.window(self.session):
                self.conversation.window_known(window)

    def _check(self, event: events.Event) -> None:
        """What an event says about the stream and the session."""
        match event:
            case events.ResyncRequired() | events.Rewound():
                raise _StaleError
            case events.SessionDied():
                raise _EndedError("The agent's process has ended. Reconnect to resume the conversation.")
            case events.SessionClosed(closed_by=closer):
                if closer == self.session.client_id:
                    raise _EndedError("The session is closed. Reconnect to resume it.")
                raise _EndedError("Another client has closed the session. Reconnect to resume it.")
            case events.ClientEvicted():
                raise StreamLostError("The daemon has dropped this client because it was too slow.")
            case events.StreamFailed(error=error):
                raise StreamLostError(f"The daemon has ended the stream: {error or 'it does not say why'}.")
            case _:
                pass

    async def _wait(self, seconds: float | None) -> None:
        """Wait until a time has passed or somebody wants to try again."""
        try:
            async with asyncio.timeout(seconds):
                await self._again.wait()
        except TimeoutError:
            pass
        self.conversation.connected(ConnectionStatus("connecting"))


async def views(conversation: Conversation, per_second: float = FRAMES_PER_SECOND) -> AsyncGenerator[Snapshot]:
    """What there is to show, the first time at once and then after changes, never more often than that.

    The next one is made when it is asked for, so who takes long gets fewer of them. There is one for each conversation.
    """
    changed = asyncio.Event()
    conversation.on_change = changed.set
    yield conversation.look_anew()
    while True:
        await changed.wait()
        changed.clear()
        yield conversation.look()
        await asyncio.sleep(1 / per_second)
