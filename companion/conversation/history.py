"""A conversation as it was before: the history that an agent gives, and what is known of its earlier parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from .events import Envelope
from .snapshot import Queued

MOST_TURNS = 20
"""Turns of a page."""


@dataclass(frozen=True, slots=True)
class EventCursor:
    """How far the events have been read: the id of the last one, and the run of the agent that counts them."""

    epoch: str
    id: int


class Earlier(Protocol):
    """The events before those of a history, which nobody has looked at yet."""

    def __bool__(self) -> bool:
        """Whether there are any."""
        ...

    def take_page(self) -> list[Envelope]:
        """The last page of them, which is taken out."""
        ...


@dataclass(frozen=True, slots=True)
class Replay:
    """A whole conversation, and the cursor from which its events continue."""

    envelopes: tuple[Envelope, ...]
    cursor: EventCursor
    is_running: bool = False
    """Whether a turn runs."""
    queue: tuple[Queued, ...] = ()
    before: Earlier | None = None
    """The events before those."""
    has_more: bool = False
    """Whether there are still older ones, which have to be asked for."""
    is_silent: bool = False
    """Whether the agent goes on with the conversation, but doesn't tell what was said in it."""


@dataclass(frozen=True, slots=True)
class Oldest:
    """The oldest turn that a conversation has, which what is older comes before."""

    prompt: str
    record: str
    """What the history on disk calls its beginning; empty if that isn't known."""
