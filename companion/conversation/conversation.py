"""A chat's state: events go in, snapshots come out. Pure: it knows neither the network nor an editor."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import islice

from . import events
from .changed import changed_files
from .events import Envelope
from .history import MOST_TURNS, Earlier, EventCursor, Oldest, Replay
from .reducer import Reducer
from .snapshot import Choices, Command, ConnectionStatus, ContextWindow, Queued, Snapshot, Status, Turn
from .state import START, State
from .task import Task
from .turns import TurnBuilder

UNTOLD = "The agent goes on with this conversation, but doesn't tell what was said in it."
_UNFINISHED = {"running", "interrupted", "failed"}


class Conversation:
    """One session's conversation. Not thread-safe; snapshots may go to any thread."""

    def __init__(self) -> None:
        self.cursor: EventCursor | None = None
        """Where the events continue; None until that is known."""
        self.rebuilds = 0
        """How often it was rebuilt."""
        self.replaced: list[Queued] = []
        """The prompts that were there before the last rebuild."""
        self._state = State()
        self._reducer = Reducer(self._state)
        self._before: Earlier | None = None
        """What the history has before the first turn."""
        self._has_more = False
        """Whether the agent has something before that."""

    # Looking

    @property
    def changed(self) -> asyncio.Event:
        """Set by a change, and cleared by a look."""
        return self._state.changed

    @property
    def status(self) -> Status:
        """Everything but the turns."""
        last = self._state.last
        # None that is hidden runs.
        shown = islice(reversed(self._state.turns.values()), len(self._state.turns) - self._state.hidden)
        return replace(
            self._state.status,
            queue=tuple(self._state.queue.values()),
            permissions=tuple(self._state.permissions.values()),
            running=next((turn.key for turn in shown if turn.state == "running"), None),
            last=last.state if last else None,
            changed=len(changed_files([last.show()])) if last and last.state != "running" else 0,
            has_earlier=bool(self._state.hidden or self._before or self._has_more),
        )

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All turns. Doesn't count as a look."""
        return tuple(turn.show() for turn in self._state.turns.values())

    @property
    def prompts(self) -> list[Queued]:
        """All prompts that have a turn or wait for it, the oldest first, with the texts that they begin with."""
        return [
            *(Queued(turn.key, turn.asked, turn.client) for turn in self._state.turns.values()),
            *self._state.queue.values(),
        ]

    def has(self, prompt: str) -> bool:
        """Whether a prompt has a turn, waits for one, or is over without one."""
        return prompt in self._state.turns or prompt in self._state.queue or prompt in self._state.over

    def is_queued(self, prompt: str) -> bool:
        """Whether a prompt waits for its turn."""
        return prompt in self._state.queue

    def asked(self, prompt: str | None) -> str:
        """The text of a prompt that has a turn; empty if there is none."""
        turn = self._state.turns.get(prompt or "")
        return turn.asked if turn else ""

    def look(self) -> Snapshot:
        """A snapshot with the turns that have changed since the last one."""
        # From the end: a look must not cost more with every turn that is hidden.
        shown = tuple(islice(reversed(self._state.turns), len(self._state.turns) - self._state.hidden))[::-1]
        visible = set(shown) if self._state.hidden else self._state.turns
        changed = tuple(self._state.turns[key].show() for key in self._state.dirty if key in visible)
        self._state.dirty.clear()
        self._state.changed.clear()
        return Snapshot(shown, changed, self.status)

    def look_at_all(self) -> Snapshot:
        """A snapshot with every turn that isn't hidden."""
        self._state.dirty = dict.fromkeys(self._state.turns)
        return self.look()

    # What came earlier

    @property
    def oldest(self) -> Oldest:
        """The oldest turn, for the question what came before it."""
        turn = next(iter(self._state.turns.values()), None)
        return Oldest(turn.key, turn.record) if turn else Oldest("", "")

    def hide_earlier(self, most: int = MOST_TURNS, least: int = MOST_TURNS) -> None:
        """Show only the last `least` turns if more than `most` are shown."""
        if len(self._state.turns) - self._state.hidden > most:
            self._state.hidden = len(self._state.turns) - least
            self._state.mark_changed()

    def show_earlier(self) -> bool:
        """Show a page more of what is here. Returns False if only the agent has more, or nobody has."""
        if self._state.hidden:
            self._state.show(max(0, self._state.hidden - MOST_TURNS))
        elif self._before:
            self.prepend(self._before.take_page(), has_more=self._has_more)
        else:
            return False
        return True

    def prepend(self, page: Iterable[Envelope], *, has_more: bool) -> None:
        """Put what came before the first turn in front of it. `has_more`: whether there is something older."""
        earlier = Conversation()
        for envelope in page:
            earlier._reducer.apply(envelope)
        earlier._end_as_seen({}, is_running=False)
        turns = {key: turn for key, turn in earlier._state.turns.items() if key not in self._state.turns}
        first = self._state.first_key
        torn = earlier._state.turns.get(first) or next(reversed(turns.values()), None)
        if torn and (first == START or first in earlier._state.turns) and (rest := self._state.turns.get(first)):
            # The page before began in the middle of a turn.
            del self._state.turns[first]
            torn.join(rest)
            turns[torn.key] = torn
        self._state.turns = turns | self._state.turns
        self._state.hidden += len(turns) if self._state.hidden else 0
        self._state.dirty.update(dict.fromkeys(turns))
        self._has_more = has_more and bool(turns)
        self._state.mark_changed()

    # Changing

    def set_connection(self, connection: ConnectionStatus) -> None:
        """Set the state of the chat's connection."""
        self._state.set(connection=connection)

    def set_context_window(self, window: ContextWindow) -> None:
        """Set how full the context window is; the history doesn't have it."""
        self._state.set(window=window)

    def set_choices(self, choices: Choices) -> None:
        """Set the models and modes of the session, and the current ones."""
        self._reducer.set_choices(choices)

    def tell(self, sentence: str) -> None:
        """Say something at the end of the latest turn."""
        self._state.turn_for(Envelope(events.Ignored("a sentence of ours"))).note(sentence)

    def set_commands(self, commands: tuple[Command, ...]) -> None:
        """Set the slash commands."""
        self._state.set(commands=commands)

    def set_lacks(self, lacks: tuple[str, ...]) -> None:
        """Set what the agent can't do (`Status.lacks`)."""
        self._state.set(lacks=lacks)

    def set_tasks(self, tasks: tuple[Task, ...]) -> None:
        """Set what the agent does besides its turn; no event tells."""
        self._state.set(tasks=tasks)

    def begin(self, epoch: str) -> bool:
        """Events of a bus are about to come. Returns whether they continue from the cursor; if not, rebuild first."""
        if self.cursor is None:
            self.cursor = EventCursor(epoch, 0)
        return self.cursor.epoch == epoch

    def apply(self, envelope: Envelope) -> bool:
        """Apply an event. One that was applied before changes nothing.

        Returns:
            False if something is missing before this one, which isn't applied then: rebuild.
        """
        if envelope.id is not None and self.cursor is not None:
            if envelope.id <= self.cursor.id:
                return True
            if envelope.id > self.cursor.id + 1:
                return False
            self.cursor = EventCursor(self.cursor.epoch, envelope.id)
        if isinstance(envelope.event, events.Rewound) and (self._before or self._has_more):
            # It counts the turns from the first one, which isn't here: all is read again.
            self._state.turns.clear()
            return False
        self._reducer.apply(envelope)
        return True

    def rebuild(self, history: Replay) -> None:
        """Replace everything by a history, in one step. What was seen stays if the agent doesn't tell it."""
        self.replaced = self.prompts
        if history.is_silent:
            self._go_on(history)
            return
        before = dict(self._state.turns)
        self._state.turns.clear()
        self._state.queue.clear()
        self._state.permissions.clear()
        self._reducer.forget()
        self._state.status = replace(self._state.status, plan=(), suggestion="")
        for envelope in history.envelopes:
            self._reducer.apply(envelope)
        self.cursor = history.cursor
        is_rewound = any(isinstance(envelope.event, events.Rewound) for envelope in history.envelopes)
        self._end_as_seen({} if is_rewound else before, is_running=history.is_running)
        self._keep_earlier(before, history)
        self._state.queue.update({queued.id: queued for queued in history.queue})
        self._state.dirty = dict.fromkeys(self._state.turns)
        self.rebuilds += 1
        self._state.mark_changed()

    def _go_on(self, history: Replay) -> None:
        """Go on with a conversation of which nobody tells what was said."""
        self.interrupt()
        self._state.queue.clear()
        self._state.permissions.clear()
        for envelope in history.envelopes:
            self._reducer.apply(envelope)
        self.cursor = history.cursor
        self.rebuilds += 1
        if not self._state.turns:
            self.tell(UNTOLD)
        self._state.mark_changed()

    def _keep_earlier(self, before: Mapping[str, TurnBuilder], history: Replay) -> None:
        """Keep the turns that were there before the first one of a history that isn't whole."""
        first = next(iter(self._state.turns), "")
        kept = {key: before[key] for key in list(before)[: list(before).index(first)]} if first in before else {}
        if kept:
            self._state.turns = kept | self._state.turns
        else:
            self._state.hidden, self._before, self._has_more = 0, history.before, history.has_more
        self._state.hidden = min(self._state.hidden, len(kept))

    def restore(self, turns: Iterable[Turn], status: Status) -> None:
        """Take what another instance has shown. What was asked is asked again by whoever has asked it."""
        self._state.turns = {turn.key: TurnBuilder.of(turn) for turn in turns}
        self._state.queue = {queued.id: queued for queued in status.queue}
        empty = Status()
        self._state.status = replace(
            status,
            connection=empty.connection,
            queue=(),
            permissions=(),
            running=None,
            last=None,
            changed=0,
            has_earlier=False,
        )
        self._state.dirty = dict.fromkeys(self._state.turns)
        self._state.mark_changed()

    def forget_queue(self) -> None:
        """What waited for its turn never gets one, because the agent has ended."""
        self._state.queue.clear()
        self._state.mark_changed()

    def interrupt(self) -> None:
        """End what runs, because the session is over. A rebuild comes before any other event."""
        for turn in self._state.turns.values():
            if turn.state == "running":
                self._state.end(turn, "interrupted")

    def _end_as_seen(self, before: dict[str, TurnBuilder], *, is_running: bool) -> None:
        """End the turns of a history from disk, which lacks their ends, the way the events ended them.

        What was seen of the last turn stays if the agent was killed before it wrote that to disk.
        """
        last, latest = self._state.last, next(reversed(before.values()), None)
        is_known = latest is None or latest.key in self._state.turns
        for turn in self._state.turns.values():
            seen = before.get(turn.key)
            # The history of 0.21.2 on disk has other keys than the events.
            if not seen and turn is last and latest and not is_known and latest.asked == turn.asked:
                seen, is_known = latest, True
            if turn.state != "running" or (is_running and turn is last):
                continue
            if seen and (turn is last or seen.state != "running") and seen.state in _UNFINISHED:
                turn.restore(seen)
            if seen and seen.state != "running":
                self._state.end(turn, seen.state, seen.stop_reason, seen.error)
            else:
                # A turn that was running has no end.
                self._state.end(turn, "interrupted" if seen and turn is last else "done")
        if latest and not is_known and latest.asked and latest.state in _UNFINISHED:
            self._state.turns[latest.key] = latest
            self._state.end(latest, "interrupted" if latest.state == "running" else latest.state, "", latest.error)
