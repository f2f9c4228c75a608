"""The turns of a conversation and everything else that events change. Not thread-safe."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from typing import Any

from .events import Envelope
from .snapshot import Permission, Queued, Status
from .turns import TurnBuilder

MAX_OVER = 50
"""How many prompts that are over are remembered."""
START = "start"
"""The key of the turn for what comes before any prompt."""


class State:
    """What a conversation holds."""

    def __init__(self) -> None:
        self.changed = asyncio.Event()
        """Set by a change, and cleared by a look."""
        self.turns: dict[str, TurnBuilder] = {}
        """In order, by their keys."""
        self.hidden = 0
        """How many of the first turns aren't shown."""
        self.dirty: dict[str, None] = {}
        """The keys of the turns that have changed since the last look."""
        self.status = Status()
        """Without the fields that follow from the rest."""
        self.queue: dict[str, Queued] = {}
        self.permissions: dict[str, Permission] = {}
        """Those that wait for an answer."""
        self.over: dict[str, None] = {}
        """The latest prompts that are over, those without a turn included."""

    @property
    def last(self) -> TurnBuilder | None:
        """The last turn."""
        return next(reversed(self.turns.values()), None)

    @property
    def first_key(self) -> str:
        """The key of the first turn; that of a turn before any prompt if there is none."""
        return next(iter(self.turns), START)

    def turn_for(self, envelope: Envelope) -> TurnBuilder:
        """The turn that an event changes: its prompt's, or the last one for an event that names no prompt."""
        key = self.key_for(envelope)
        turn = self.turns.get(key)
        if turn is None:
            # What comes without a prompt never ends.
            state = "running" if envelope.prompt else "done"
            client = envelope.client and sys.intern(envelope.client)
            turn = self.turns[key] = TurnBuilder(key, client, state, began=envelope.time)
            self.set(suggestion="")
        self.touch(turn)
        return turn

    def key_for(self, envelope: Envelope) -> str:
        """The key of the turn that an event is about."""
        return envelope.prompt or next(reversed(self.turns), START)

    def end(self, turn: TurnBuilder, *end: Any) -> None:
        """End a turn (see `TurnBuilder.end`), and cancel what it asks."""
        turn.end(*end)
        for permission in [each for each in self.permissions.values() if each.turn == turn.key]:
            self.answer(permission.id, is_selected=False)
        self.touch(turn)

    def answer(
        self, permission: str, *, is_selected: bool, option: str | None = None, voter: str | None = None
    ) -> None:
        """A permission is answered, if it is one that waits."""
        if asked := self.permissions.pop(permission, None):
            turn = self.turns[asked.turn]
            turn.answer(asked, is_selected=is_selected, option=option, voter=voter)
            self.touch(turn)

    def drop_from(self, key: str) -> None:
        """Forget a turn and all that come after it."""
        keys = list(self.turns)
        for each in keys[keys.index(key) :]:
            self.end(self.turns[each], "cancelled")
            del self.turns[each]
            self.mark_over(each)

    def mark_over(self, prompt: str) -> None:
        """A prompt is over."""
        self.over[prompt] = None
        for old in list(self.over)[:-MAX_OVER]:
            del self.over[old]
        self.mark_changed()

    def touch(self, turn: TurnBuilder) -> None:
        """A turn has changed."""
        self.dirty[turn.key] = None
        self.mark_changed()

    def show(self, hidden: int) -> None:
        """Hide only the first `hidden` turns from now on."""
        for number, key in enumerate(self.turns):
            if number >= self.hidden:
                break
            if number >= hidden:
                self.dirty[key] = None
        self.hidden = hidden
        self.mark_changed()

    def set(self, **changes: Any) -> None:
        """Change fields of the status."""
        status = replace(self.status, **changes)
        if status != self.status:
            self.status = status
            self.mark_changed()

    def mark_changed(self) -> None:
        """Something has changed."""
        self.changed.set()
