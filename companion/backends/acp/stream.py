"""The events of one agent on their way to the conversation. A flood waits in the pipe, not in memory."""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import AsyncGenerator

from ...conversation.events import Envelope, Event, TurnCompleted, is_prompt
from .errors import AgentError

OURS = "editor"
"""Our client id in each session; an agent on stdio has no other client."""
MAX_WAITING = 512
"""Events that wait at most; then nothing more is read from the agent."""


class Events:
    """The events of the turn that runs, and of a history while it is loaded. One reader follows them."""

    def __init__(self) -> None:
        self._waiting: deque[Envelope] = deque()
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._is_read = False
        """Whether somebody follows the events."""
        self._end: AgentError | None = None
        self.turn: str | None = None
        """The id of the prompt whose turn runs."""
        self._session = ""
        self._history: list[Envelope] | None = None
        self._past: Envelope | None = None
        """The last event of a history that goes on after the answer to its request, as with Gemini CLI 0.61."""
        self._numbers = itertools.count(1)

    def put(self, event: Event, prompt: str | None = None) -> None:
        """Add an event, of a prompt's turn if one is named."""
        self._waiting.append(Envelope(event, None, prompt, OURS if prompt else None))
        if len(self._waiting) >= MAX_WAITING:
            self._room.clear()
        self._news.set()

    async def room(self) -> None:
        """Wait until there is room for more. What comes before anybody follows is kept, as a history is.

        Whoever is about to follow asks the agent things first, and its answers come behind all that.
        """
        if self._is_read:
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
        self._is_read = False

    @property
    async def envelopes(self) -> AsyncGenerator[Envelope]:
        """The events, until the agent has ended, which is raised."""
        self._is_read = True
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

    # Where an event belongs

    @property
    def is_history(self) -> bool:
        """Whether a history is being loaded."""
        return self._history is not None

    def begin_history(self, session: str) -> None:
        """What comes now is the history of a session."""
        self._session, self._history, self._past = session, [], None

    def end_history(self) -> tuple[Envelope, ...]:
        """The history is loaded: what has come of it."""
        found, self._history = self._history or [], None
        return tuple(found)

    def publish(self, event: Event) -> None:
        """Add an event where it belongs: to the turn that runs, or to the history that is loaded."""
        if running := self.turn:
            self._past = None
            if is_prompt(event):
                return  # an echo: the prompt is there already
            self.put(event, running)
            return
        last, self._past = self._past, self._of_history(event, self._past)
        if self._history is not None:
            self._history.append(self._past)
            return
        self.put(event, self._past.prompt)
        if self._past.prompt and (last is None or last.prompt != self._past.prompt):
            self.put(TurnCompleted(), self._past.prompt)

    def _of_history(self, event: Event, last: Envelope | None) -> Envelope:
        """An event of a history. A prompt after anything else begins a turn."""
        prompt = last.prompt if last else None
        if is_prompt(event) and not (last and is_prompt(last.event)):
            prompt = event.prompt or event.record or f"{self._session}-{next(self._numbers)}"
        return Envelope(event, None, prompt, OURS)
