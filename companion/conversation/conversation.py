"""A chat's state: events go in, snapshots come out. Pure: it knows neither the network nor an editor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import islice

from ..daemon import decoder as events
from ..daemon.decoder import Envelope, read_envelope
from ..daemon.history import MOST_TURNS, Raw, page_start
from .changed import changed_files
from .reducer import START, Taking
from .snapshot import (
    ConnectionStatus,
    ContextWindow,
    Queued,
    Snapshot,
    Status,
    Task,
    Turn,
)
from .turns import TurnBuilder

_UNFINISHED = {"running", "interrupted", "failed"}


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far the events have been read: the id of the last one, and the bus that it belongs to."""

    epoch: str
    id: int


@dataclass(frozen=True, slots=True)
class History:
    """A whole conversation as the daemon gives it, and the cursor from which its events continue."""

    envelopes: tuple[Envelope, ...]
    cursor: Cursor
    is_running: bool = False
    """Whether a turn runs."""
    queue: tuple[Queued, ...] = ()
    before: tuple[Raw, ...] = ()
    """The events before those, as they came."""
    has_more: bool = False
    """Whether the daemon has still older ones."""


@dataclass(frozen=True, slots=True)
class Oldest:
    """The oldest turn that a conversation has, which what is older comes before."""

    prompt: str
    record: str
    """What the history on disk calls its beginning; empty if that isn't known."""


class Conversation(Taking):
    """One session's conversation. Not thread-safe; snapshots may go to any thread."""

    def __init__(self) -> None:
        super().__init__()
        self.cursor: Cursor | None = None
        """Where the events continue; None until that is known."""
        self.rebuilds = 0
        """How often it was rebuilt."""
        self._before: list[Raw] = []
        """What the history has before the first turn, as it came."""
        self._has_more = False
        """Whether the daemon has something before that."""

    # Looking

    @property
    def revision(self) -> int:
        """Grows with every change."""
        return self._revision

    @property
    def status(self) -> Status:
        """Everything but the turns."""
        last = next(reversed(self._turns.values()), None)
        # None that is hidden runs.
        shown = islice(reversed(self._turns.values()), len(self._turns) - self._hidden)
        return replace(
            self._status,
            queue=tuple(self._queue.values()),
            permissions=tuple(self._open.values()),
            running=next((turn.key for turn in shown if turn.state == "running"), None),
            last=last.state if last else None,
            changed=len(changed_files([last.show()])) if last and last.state != "running" else 0,
            has_earlier=bool(self._hidden or self._before or self._has_more),
        )

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All turns. Doesn't count as a look."""
        return tuple(turn.show() for turn in self._turns.values())

    @property
    def prompts(self) -> list[Queued]:
        """All prompts that have a turn or wait for it, the oldest first, with the texts that they begin with."""
        return [*(Queued(turn.key, turn.asked, turn.client) for turn in self._turns.values()), *self._queue.values()]

    def has(self, prompt: str) -> bool:
        """Whether a prompt has a turn, waits for one, or is over without one."""
        return prompt in self._turns or prompt in self._queue or prompt in self._over

    def is_queued(self, prompt: str) -> bool:
        """Whether a prompt waits for its turn."""
        return prompt in self._queue

    def asked(self, prompt: str | None) -> str:
        """The text of a prompt that has a turn; empty if there is none."""
        turn = self._turns.get(prompt or "")
        return turn.asked if turn else ""

    def look(self) -> Snapshot:
        """A snapshot with the turns that have changed since the last one."""
        # From the end: a look must not cost more with every turn that is hidden.
        shown = tuple(islice(reversed(self._turns), len(self._turns) - self._hidden))[::-1]
        visible = set(shown) if self._hidden else self._turns
        changed = tuple(self._turns[key].show() for key in self._dirty if key in visible)
        self._dirty.clear()
        self._looked = self._revision
        return Snapshot(self._revision, shown, changed, self.status)

    def look_at_all(self) -> Snapshot:
        """A snapshot with every turn that isn't hidden."""
        self._dirty = dict.fromkeys(self._turns)
        return self.look()

    # What came earlier

    @property
    def oldest(self) -> Oldest:
        """The oldest turn, for the question what came before it."""
        turn = next(iter(self._turns.values()), None)
        return Oldest(turn.key, turn.record) if turn else Oldest("", "")

    def hide_earlier(self, most: int = MOST_TURNS, least: int = MOST_TURNS) -> None:
        """Show only the last `least` turns if more than `most` are shown."""
        if len(self._turns) - self._hidden > most:
            self._hidden = len(self._turns) - least
            for turn in islice(self._turns.values(), self._hidden):
                turn.pack()
            self._changed()

    def show_earlier(self) -> bool:
        """Show a page more of what is here. Returns False if only the daemon has more, or nobody has."""
        if self._hidden:
            before, self._hidden = self._hidden, max(0, self._hidden - MOST_TURNS)
            self._dirty.update(dict.fromkeys(islice(self._turns, self._hidden, before)))
            self._changed()
        elif self._before:
            at = page_start(self._before)
            page = [read_envelope(text) for _, text in self._before[at:]]
            del self._before[at:]
            self.prepend(page, has_more=self._has_more)
        else:
            return False
        return True

    def prepend(self, page: Iterable[Envelope], *, has_more: bool) -> None:
        """Put what came before the first turn in front of it. `has_more`: whether the daemon has something older."""
        earlier = Conversation()
        for envelope in page:
            earlier._take(envelope)
        earlier._end_as_seen({}, is_running=False)
        turns = {key: turn for key, turn in earlier._turns.items() if key not in self._turns}
        first = next(iter(self._turns), START)
        torn = earlier._turns.get(first) or next(reversed(turns.values()), None)
        if torn and (first == START or first in earlier._turns) and (rest := self._turns.get(first)):
            # The page before began in the middle of a turn.
            del self._turns[first]
            torn.join(rest)
            turns[torn.key] = torn
        self._turns = turns | self._turns
        self._hidden += len(turns) if self._hidden else 0
        self._dirty.update(dict.fromkeys(turns))
        self._has_more = has_more and bool(turns)
        self._changed()

    # Changing

    def set_connection(self, connection: ConnectionStatus) -> None:
        """Set the state of the chat's connection."""
        self._set(connection=connection)

    def set_context_window(self, window: ContextWindow) -> None:
        """Set how full the context window is; the history doesn't have it."""
        self._set(window=window)

    def set_tasks(self, tasks: tuple[Task, ...]) -> None:
        """Set what the agent does besides its turn; no event tells."""
        self._set(tasks=tasks)

    def begin(self, epoch: str) -> bool:
        """Events of a bus are about to come. Returns whether they continue from the cursor; if not, rebuild first."""
        if self.cursor is None:
            self.cursor = Cursor(epoch, 0)
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
            self.cursor = Cursor(self.cursor.epoch, envelope.id)
        if isinstance(envelope.event, events.Rewound) and (self._before or self._has_more):
            # It counts the turns from the first one, which isn't here: all is read again.
            self._turns.clear()
            return False
        self._take(envelope)
        return True

    def rebuild(self, history: History) -> None:
        """Replace everything by the daemon's history, in one step."""
        before = dict(self._turns)
        self._turns.clear()
        self._queue.clear()
        self._open.clear()
        self._noted.clear()
        self._status = replace(self._status, plan=(), suggestion="")
        for envelope in history.envelopes:
            self._take(envelope)
        self.cursor = history.cursor
        is_rewound = any(isinstance(envelope.event, events.Rewound) for envelope in history.envelopes)
        self._end_as_seen({} if is_rewound else before, is_running=history.is_running)
        self._keep_earlier(before, history)
        self._queue.update({queued.id: queued for queued in history.queue})
        self._dirty = dict.fromkeys(self._turns)
        self.rebuilds += 1
        self._changed()

    def _keep_earlier(self, before: Mapping[str, TurnBuilder], history: History) -> None:
        """Keep the turns that were there before the first one of a history that isn't whole."""
        first = next(iter(self._turns), "")
        kept = {key: before[key] for key in list(before)[: list(before).index(first)]} if first in before else {}
        if kept:
            self._turns = kept | self._turns
        else:
            self._hidden, self._before, self._has_more = 0, list(history.before), history.has_more
        self._hidden = min(self._hidden, len(kept))

    def restore(self, turns: Iterable[Turn], status: Status) -> None:
        """Take what another instance has shown. What was asked is asked again by whoever has asked it."""
        self._turns = {turn.key: TurnBuilder.of(turn) for turn in turns}
        self._queue = {queued.id: queued for queued in status.queue}
        empty = Status()
        self._status = replace(
            status,
            connection=empty.connection,
            queue=(),
            permissions=(),
            running=None,
            last=None,
            changed=0,
            has_earlier=False,
        )
        self._dirty = dict.fromkeys(self._turns)
        self._changed()

    def forget_queue(self) -> None:
        """What waited for its turn never gets one, because the agent has ended."""
        self._queue.clear()
        self._changed()

    def interrupt(self) -> None:
        """End what runs, because the session is over. A rebuild comes before any other event."""
        for turn in self._turns.values():
            if turn.state == "running":
                self._end(turn, "interrupted")

    def _end_as_seen(self, before: dict[str, TurnBuilder], *, is_running: bool) -> None:
        """End the turns of a history from disk, which lacks their ends, the way the events ended them.

        What was seen of the last turn stays where the daemon was killed before it wrote that to disk.
        """
        last, latest = next(reversed(self._turns.values()), None), next(reversed(before.values()), None)
        is_known = latest is None or latest.key in self._turns
        for turn in self._turns.values():
            seen = before.get(turn.key)
            # The history of 0.21.2 on disk has other keys than the events.
            if not seen and turn is last and latest and not is_known and latest.asked == turn.asked:
                seen, is_known = latest, True
            if turn.state != "running" or (is_running and turn is last):
                continue
            if seen and (turn is last or seen.state != "running") and seen.state in _UNFINISHED:
                turn.restore(seen)
            if seen and seen.state != "running":
                self._end(turn, seen.state, seen.stop_reason, seen.error)
            else:
                # A turn that was running has no end.
                self._end(turn, "interrupted" if seen and turn is last else "done")
        if latest and not is_known and latest.asked and latest.state in _UNFINISHED:
            self._turns[latest.key] = latest
            self._end(latest, "interrupted" if latest.state == "running" else latest.state, "", latest.error)
