"""What is told of a session: events of the turn that runs, and those of a history while it is loaded."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from ...conversation import events
from ...conversation.events import Envelope
from .stream import OURS, EventQueue


class Publisher:
    """Puts each event where it belongs. `running` gives the id of the prompt whose turn runs."""

    def __init__(self, stream: EventQueue, running: Callable[[], str | None]) -> None:
        self._stream = stream
        self._running = running
        self._session = ""
        self._history: list[Envelope] | None = None
        self._past: Envelope | None = None
        """The last event of a history that goes on after the answer to its request, as with Gemini CLI 0.61."""
        self._numbers = itertools.count(1)

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

    def publish(self, event: events.Event) -> None:
        """Tell an event."""
        if running := self._running():
            self._past = None
            if isinstance(event, events.UserMessageChunk):
                return  # an echo: the prompt is there already
            self._stream.publish(event, running)
            return
        last, self._past = self._past, self._of_history(event, self._past)
        if self._history is not None:
            self._history.append(self._past)
            return
        self._stream.publish(event, self._past.prompt)
        if self._past.prompt and (last is None or last.prompt != self._past.prompt):
            self._stream.publish(events.TurnCompleted(), self._past.prompt)

    def _of_history(self, event: events.Event, last: Envelope | None) -> Envelope:
        """An event of a history. A prompt after anything else begins a turn."""
        prompt = last.prompt if last else None
        if isinstance(event, events.UserMessageChunk) and not (
            last and isinstance(last.event, events.UserMessageChunk)
        ):
            prompt = event.prompt or event.record or f"{self._session}-{next(self._numbers)}"
        return Envelope(event, None, prompt, OURS)
