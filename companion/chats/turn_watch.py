"""Notices when a turn of a chat begins and ends, and which files its tools name."""

from __future__ import annotations

import time
from typing import Protocol

from ..conversation.snapshot import Snapshot, Tool, Turn
from ..ids import ChatId, WindowId
from .undone import UndoneChanges

MAX_WORDS = 200
"""Characters of a prompt."""
_WRITES = {"edit", "delete", "move"}
_LATE = 10_000_000_000
"""Nanoseconds within which an agent begins a prompt that needn't wait."""


class TurnListener(Protocol):
    """Who wants to know of the turns."""

    def connected(self, window: WindowId) -> None:
        """The agent of a chat is connected, and may be sent a prompt."""
        ...

    def turn_began(self, window: WindowId, chat: ChatId, agent: str, turn: str, words: str, sent: int) -> None:
        """A turn runs. `turn` is its key, `words` are the first ones of its prompt.

        `sent` is when that was sent, in nanoseconds of Unix time; 0 if that isn't known.
        """
        ...

    def turn_ended(self, window: WindowId, chat: ChatId, turn: str) -> None:
        """It has ended."""
        ...

    def named(self, agent: str, path: str) -> None:
        """An agent says that it writes a file."""
        ...


class WrittenTurns(TurnListener, UndoneChanges, Protocol):
    """Who has looked at the files while the turns ran."""

    async def turn_texts(self, window: WindowId, turn: str) -> list[tuple[str, str, str]] | None:
        """What was changed in a turn: path, old and new text of each file; None if nobody has looked."""
        ...

    async def turn_files(self, window: WindowId, turn: str) -> list[str] | None:
        """The files that going back to before a turn would write; None if nobody has looked."""
        ...

    async def restore_turn(self, window: WindowId, turn: str) -> tuple[list[str], list[str]]:
        """Write the files as they were before a turn, with what the person has saved since.

        Returns the files that were written, and a sentence for each that was left alone.
        """
        ...


class TurnWatch:
    """Watches the turns of one chat."""

    def __init__(self, chat_id: ChatId, window: WindowId, listener: TurnListener) -> None:
        self._id = chat_id
        self._window = window
        self._listener = listener
        self._running = ""
        self._is_connected = False
        self._ended = 0
        """When the last turn has ended, in nanoseconds."""
        self._named: set[str] = set()

    def seen(self, snapshot: Snapshot, agent: str, sent: int) -> None:
        """Look at a snapshot. `agent` is what the agent calls itself, `sent` is when the last prompt was sent."""
        now = time.time_ns()
        if not self._is_connected and snapshot.status.connection.state == "live":
            self._is_connected = True
            self._listener.connected(self._window)
        running = snapshot.status.running or ""
        if running != self._running and self._running:
            self._listener.turn_ended(self._window, self._id, self._running)
            self._ended = now
        if running and running != self._running:
            asked = next((turn.asked for turn in snapshot.changed if turn.key == running), "")
            self._named.clear()
            words = " ".join(asked[:MAX_WORDS].split())
            # A prompt that has waited for the turn before says nothing of when its own began.
            began = sent if max(self._ended, now - _LATE) < sent else 0
            self._listener.turn_began(self._window, self._id, agent, running, words, began)
        self._running = running
        for turn in snapshot.changed:
            if turn.key == running:
                self._name(turn, agent)

    def _name(self, turn: Turn, agent: str) -> None:
        for item in turn.items:
            if isinstance(item, Tool) and item.kind in _WRITES:
                for path in {*(place.path for place in item.locations), *(diff.path for diff in item.diffs)}:
                    if path not in self._named:
                        self._named.add(path)
                        self._listener.named(agent, path)
