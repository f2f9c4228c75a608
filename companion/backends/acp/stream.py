"""The events of one agent on their way to the conversation. A flood waits in the pipe, not in memory."""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import AsyncGenerator

from ...conversation.events import Envelope, Event, EventCursor
from .errors import AgentError

OURS = "editor"
"""Our client id in each session; an agent on stdio has no other client."""
MAX_WAITING = 512
"""Events that wait at most; then nothing more is read from the agent."""


class EventQueue:
    """Events with ids that count without a gap. One reader follows them."""

    def __init__(self) -> None:
        self.epoch = secrets.token_hex(8)
        """Names this run of the agent: ids of another one mean nothing here."""
        self._count = 0
        self._waiting: deque[Envelope] = deque()
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._end: AgentError | None = None

    @property
    def cursor(self) -> EventCursor:
        """Where the events continue that nobody has read yet."""
        return EventCursor(self.epoch, self._count - len(self._waiting))

    def publish(self, event: Event, prompt: str | None = None) -> None:
        """Add an event, of a prompt's turn if one is named."""
        self._count += 1
        self._waiting.append(Envelope(event, self._count, prompt, OURS if prompt else None))
        if len(self._waiting) >= MAX_WAITING:
            self._room.clear()
        self._news.set()

    async def room(self) -> None:
        """Wait until there is room for more."""
        await self._room.wait()

    def fail(self, error: AgentError) -> None:
        """No more events come."""
        self._end = self._end or error
        self._news.set()

    @property
    def unread(self) -> list[Envelope]:
        """The events that nobody has read."""
        return list(self._waiting)

    def drop(self) -> None:
        """Forget what waits: a history that is read next has it."""
        self._waiting.clear()
        self._room.set()

    @property
    async def envelopes(self) -> AsyncGenerator[Envelope]:
        """The events, until the agent has ended, which is raised."""
        while True:
            while self._waiting:
                envelope = self._waiting.popleft()
                if len(self._waiting) < MAX_WAITING:
                    self._room.set()
                yield envelope
            if self._end:
                raise self._end
            self._news.clear()
            await self._news.wait()
