"""A chat's state: events go in, snapshots come out. Pure: it knows neither the network nor an editor."""

from __future__ import annotations

import asyncio
import logging
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any, ClassVar, Literal, cast

from . import events
from .events import MOST_TURNS, Earlier, Envelope, Oldest, Replay
from .snapshot import (
    Attachment,
    ChatNotice,
    Choices,
    ConnectionStatus,
    Cost,
    Item,
    Message,
    Permission,
    Queued,
    Snapshot,
    Speaker,
    Status,
    Tool,
    Turn,
    TurnState,
    changed_files,
)

logger = logging.getLogger(__name__)

MAX_OVER = 50
"""How many prompts that are over are remembered."""
START = "start"
"""The key of the turn for what comes before any prompt."""
LONGEST_NOTICE = 300
"""Characters of a message of its own that is shown as a line of the chat."""
UNTOLD = "The agent goes on with this conversation, but doesn't tell what was said in it."
_UNFINISHED = {"running", "interrupted", "failed"}


class Conversation:
    """One session's conversation. Not thread-safe; snapshots may go to any thread."""

    def __init__(self) -> None:
        self.rebuilds = 0
        """How often it was rebuilt."""
        self.replaced: list[Queued] = []
        """The prompts that were there before the last rebuild."""
        self.changed = asyncio.Event()
        """Set by a change, and cleared by a look."""
        self._turns: dict[str, TurnBuilder] = {}
        """In order, by their keys."""
        self._hidden = 0
        """How many of the first turns aren't shown."""
        self._dirty: dict[str, None] = {}
        """The keys of the turns that have changed since the last look."""
        self._status = Status()
        """Without the fields that follow from the rest."""
        self._queue: dict[str, Queued] = {}
        self._permissions: dict[str, Permission] = {}
        """Those that wait for an answer."""
        self._over: dict[str, bool] = {}
        """The latest prompts that are over, those without a turn included, and whether they were removed."""
        self._noted: set[str] = set()
        """What couldn't be read and the news of tasks, which are told once."""
        self._before: Earlier | None = None
        """What the history has before the first turn."""
        self._has_more = False
        """Whether the agent has something before that."""

    # Looking

    @property
    def status(self) -> Status:
        """Everything but the turns."""
        last = self._last
        # None that is hidden runs.
        shown = islice(reversed(self._turns.values()), len(self._turns) - self._hidden)
        return replace(
            self._status,
            queue=tuple(self._queue.values()),
            permissions=tuple(self._permissions.values()),
            running=next((turn.head.key for turn in shown if turn.head.state == "running"), None),
            last=last.head.state if last else None,
            changed=len(changed_files([last.show()])) if last and last.head.state != "running" else 0,
            has_earlier=bool(self._hidden or self._before or self._has_more),
        )

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All turns. Doesn't count as a look."""
        return tuple(turn.show() for turn in self._turns.values())

    @property
    def prompts(self) -> list[Queued]:
        """All prompts that have a turn or wait for it, the oldest first, with the texts that they begin with."""
        return [
            *(Queued(turn.head.key, turn.asked, turn.head.client) for turn in self._turns.values()),
            *self._queue.values(),
        ]

    def has(self, prompt: str) -> bool:
        """Whether a prompt has a turn, waits for one, or is over without one."""
        return prompt in self._turns or prompt in self._queue or prompt in self._over

    def is_queued(self, prompt: str) -> bool:
        """Whether a prompt waits for its turn."""
        return prompt in self._queue

    def was_removed(self, prompt: str) -> bool:
        """Whether a prompt was removed from the queue, so that it never gets a turn."""
        return self._over.get(prompt, False)

    def asked(self, prompt: str | None) -> str:
        """The text of a prompt that has a turn; empty if there is none."""
        turn = self._turns.get(prompt or "")
        return turn.asked if turn else ""

    def peek(self) -> Snapshot:
        """A snapshot with the turns that have changed since the last look. Doesn't count as one."""
        # From the end: a look must not cost more with every turn that is hidden.
        shown = tuple(islice(reversed(self._turns), len(self._turns) - self._hidden))[::-1]
        visible = set(shown) if self._hidden else self._turns
        changed = tuple(self._turns[key].show() for key in self._dirty if key in visible)
        return Snapshot(shown, changed, self.status)

    def snapshot(self) -> Snapshot:
        """A snapshot with the turns that have changed since the last one."""
        found = self.peek()
        self._dirty.clear()
        self.changed.clear()
        return found

    def whole_snapshot(self) -> Snapshot:
        """A snapshot with every turn that isn't hidden."""
        self._dirty = dict.fromkeys(self._turns)
        return self.snapshot()

    # What came earlier

    @property
    def oldest(self) -> Oldest:
        """The oldest turn, for the question what came before it."""
        turn = next(iter(self._turns.values()), None)
        return Oldest(turn.head.key, turn.record) if turn else Oldest("", "")

    def hide_earlier(self, most: int = MOST_TURNS, least: int = MOST_TURNS) -> None:
        """Show only the last `least` turns if more than `most` are shown."""
        if len(self._turns) - self._hidden > most:
            self._hidden = len(self._turns) - least
            self.changed.set()

    def show_earlier(self) -> bool:
        """Show a page more of what is here. Returns False if only the agent has more, or nobody has."""
        if self._hidden:
            self._show_from(max(0, self._hidden - MOST_TURNS))
        elif self._before:
            self.prepend(self._before.take_page(), has_more=self._has_more)
        else:
            return False
        return True

    def _show_from(self, hidden: int) -> None:
        """Hide only the first `hidden` turns from now on."""
        for number, key in enumerate(self._turns):
            if number >= self._hidden:
                break
            if number >= hidden:
                self._dirty[key] = None
        self._hidden = hidden
        self.changed.set()

    def prepend(self, page: Iterable[Envelope], *, has_more: bool) -> None:
        """Put what came before the first turn in front of it. `has_more`: whether there is something older."""
        earlier = Conversation()
        for envelope in page:
            earlier._take(envelope)
        earlier._end_as_seen({}, is_running=False)
        turns = {key: turn for key, turn in earlier._turns.items() if key not in self._turns}
        count, first = len(self._turns), next(iter(self._turns), START)
        torn = earlier._turns.get(first) or next(reversed(turns.values()), None)
        if torn and (first == START or first in earlier._turns) and (rest := self._turns.get(first)):
            # The page before began in the middle of a turn.
            del self._turns[first]
            torn.join(rest)
            for name, asked in self._permissions.items():
                if asked.turn == first:
                    self._permissions[name] = replace(asked, turn=torn.head.key)
            turns[torn.head.key] = torn
        self._turns = turns | self._turns
        self._hidden += len(self._turns) - count if self._hidden else 0
        self._dirty.update(dict.fromkeys(turns))
        self._has_more = has_more and bool(turns)
        self.changed.set()

    # Changing

    def set(self, **changes: Any) -> None:
        """Change fields of the status, such as those of which no event tells."""
        status = replace(self._status, **changes)
        if status != self._status:
            self._status = status
            self.changed.set()

    def set_connection(self, connection: ConnectionStatus) -> None:
        """Set the state of the chat's connection."""
        self.set(connection=connection)

    def set_choices(self, choices: Choices) -> None:
        """Set the models and modes of the session, and the current ones."""
        self.set(**choices.changes)

    def tell(self, sentence: str) -> None:
        """Say something at the end of the latest turn."""
        self._turn_for(Envelope(events.Ignored("a sentence of ours"))).note(sentence)

    def apply(self, envelope: Envelope) -> bool:
        """Apply an event. Returns False if what it is about isn't here: rebuild."""
        if isinstance(envelope.event, events.Rewound) and (self._before or self._has_more):
            # It counts the turns from the first one, which isn't here: all is read again.
            self._turns.clear()
            self._hidden = 0
            return False
        self._take(envelope)
        return True

    def rebuild(self, history: Replay) -> None:
        """Replace everything by a history, in one step. What was seen stays if the agent doesn't tell it."""
        self.replaced = self.prompts
        if history.is_silent:
            self._go_on(history)
            return
        before = dict(self._turns)
        self._turns.clear()
        self._queue.clear()
        self._permissions.clear()
        self._noted.clear()
        self._status = replace(self._status, plan=(), suggestion="")
        for envelope in history.envelopes:
            self._take(envelope)
        is_rewound = any(isinstance(envelope.event, events.Rewound) for envelope in history.envelopes)
        self._end_as_seen({} if is_rewound else before, is_running=history.is_running)
        self._keep_earlier(before, history)
        self._queue.update({queued.id: queued for queued in history.queue})
        self._dirty = dict.fromkeys(self._turns)
        self.rebuilds += 1
        self.changed.set()

    def _go_on(self, history: Replay) -> None:
        """Go on with a conversation of which nobody tells what was said."""
        self.interrupt()
        self._queue.clear()
        self._permissions.clear()
        for envelope in history.envelopes:
            self._take(envelope)
        self.rebuilds += 1
        if not self._turns:
            self.tell(UNTOLD)
        self.changed.set()

    def _keep_earlier(self, before: Mapping[str, TurnBuilder], history: Replay) -> None:
        """Keep the turns that were there before the first one of a history that isn't whole."""
        first = next(iter(self._turns), "")
        kept = {key: before[key] for key in list(before)[: list(before).index(first)]} if first in before else {}
        if kept:
            self._turns = kept | self._turns
        else:
            self._hidden, self._before, self._has_more = 0, history.before, history.has_more
        self._hidden = min(self._hidden, len(kept))

    def restore(self, turns: Iterable[Turn], status: Status) -> None:
        """Take what another instance has shown. What was asked is asked again by whoever has asked it."""
        self._turns = {turn.key: TurnBuilder(turn) for turn in turns}
        self._queue = {queued.id: queued for queued in status.queue}
        # A prompt that waits for a sign-in does so until the agent says something else.
        connection = replace(Status().connection, wants_sign_in=status.connection.wants_sign_in)
        self._status = replace(
            status,
            connection=connection,
            queue=(),
            permissions=(),
            running=None,
            last=None,
            changed=0,
            has_earlier=False,
        )
        self._dirty = dict.fromkeys(self._turns)
        self.changed.set()

    def forget_queue(self) -> None:
        """What waited for its turn never gets one, because the agent has ended."""
        self._queue.clear()
        self.changed.set()

    def interrupt(self) -> None:
        """End what runs, because the session is over. A rebuild comes before any other event."""
        for turn in self._turns.values():
            if turn.head.state == "running":
                self._end(turn, "interrupted")

    def _end_as_seen(self, before: dict[str, TurnBuilder], *, is_running: bool) -> None:
        """End the turns of a history from disk, which lacks their ends, the way the events ended them.

        What was seen of the last turn stays if the agent was killed before it wrote that to disk.
        """
        last, latest = self._last, next(reversed(before.values()), None)
        is_known = latest is None or latest.head.key in self._turns
        for turn in self._turns.values():
            seen = before.get(turn.head.key)
            # The history of 0.21.2 on disk has other keys than the events.
            if not seen and turn is last and latest and not is_known and latest.asked == turn.asked:
                seen, is_known = latest, True
            if turn.head.state != "running" or (is_running and turn is last):
                continue
            if seen and (turn is last or seen.head.state != "running") and seen.head.state in _UNFINISHED:
                turn.restore(seen)
            if seen and seen.head.state != "running":
                self._end(turn, seen.head.state, seen.head.stop_reason, seen.head.error)
            else:
                # A turn that was running has no end.
                self._end(turn, "interrupted" if seen and turn is last else "done")
        if latest and not is_known and latest.asked and (head := latest.head).state in _UNFINISHED:
            self._turns[head.key] = latest
            self._end(latest, "interrupted" if head.state == "running" else head.state, "", head.error)

    # Each event

    def _take(self, envelope: Envelope) -> None:
        """Apply an event."""
        event, turns, key = envelope.event, self._turns, self._key_for(envelope)
        was_over = (turn := turns.get(key)) is not None and turn.head.state != "running"
        try:
            self._REDUCERS[type(event)](self, envelope, event)
            if not was_over and (turn := turns.get(key)):
                turn.account(envelope.time, event if isinstance(event, events.MessageChunk) else None)
        except Exception:
            # A history would bring it again and again: what comes after it must be shown.
            logger.exception("An event of the kind %s could not be applied", type(event).__name__)
            self._unsupported(envelope, events.Unsupported("an event that could not be shown"))

    # Messages

    def _chunk(self, envelope: Envelope, chunk: events.MessageChunk) -> None:
        if chunk.usage:
            self._turn_for(envelope).has_used_model = True
        if chunk.aside:
            self._aside(envelope, chunk, chunk.aside)
        elif chunk.text:
            self._turn_for(envelope).say(chunk)
        if chunk.attachment:
            self._turn_for(envelope).attach(chunk, chunk.attachment)
        if chunk.unshown:
            self._turn_for(envelope).note(f"Unsupported: {chunk.unshown} in the answer.")

    def _aside(self, envelope: Envelope, chunk: events.MessageChunk, aside: events.Aside) -> None:
        """A message of its own: a short one is a line of the chat's, without the raw ids of a task."""
        text = chunk.text
        if chunk.speaker != "answer" or aside.is_spoken or len(text) > LONGEST_NOTICE:
            if text:
                self._turn_for(envelope).say(chunk)
            return
        for identifier in aside.ids:
            text = re.sub(rf"\s*[(\[“\"'`#]*{re.escape(identifier)}[)\]”\"'`]*", "", text)
        # It is said once when the task ends, and once more when the model is told.
        news = f"{aside.task} {text.strip()}"
        if text.strip() and not (aside.task is not None and news in self._noted):
            self._noted.add(news)
            self._turn_for(envelope).note(text.strip(), is_aside=True)

    def _injected(self, envelope: Envelope, injected: events.MessagesInjected) -> None:
        for prompt in injected.prompts:
            self._begun(prompt)
        for message in injected.messages:
            self._turn_for(envelope).interject(message)

    def _announced(self, envelope: Envelope, notice: ChatNotice) -> None:
        self._turn_for(envelope).note(notice.text, is_aside=notice.is_aside)

    def _unsupported(self, envelope: Envelope, unsupported: events.Unsupported) -> None:
        # One notice of a kind is enough, however many events can't be read.
        if unsupported.what not in self._noted:
            self._noted.add(unsupported.what)
            self._turn_for(envelope).note(f"Unsupported: {unsupported.what}.")

    # Tools and permissions

    def _tool(self, envelope: Envelope, update: events.ToolCallUpdate) -> None:
        turn = self._turn_for(envelope)
        if not ("title" in update.changes or turn.has(update.id)):
            # A command in the background, or a sub-agent, may go on after the turn that has begun it.
            turn = next((each for each in reversed(self._turns.values()) if each.has(update.id)), turn)
            self._touch(turn)
        turn.tool(update)

    def _asked(self, envelope: Envelope, request: events.PermissionRequest) -> None:
        permission = self._turn_for(envelope).ask(request)
        self._permissions[permission.id] = permission

    def _resolved(self, _: Envelope, resolved: events.PermissionResolved) -> None:
        self._answer(resolved)

    # The turn's course

    def _completed(self, envelope: Envelope, completed: events.TurnCompleted) -> None:
        self._mark_over(prompt := envelope.prompt or "")
        # A prompt that is removed before its turn has no turn.
        if turn := self._turns.get(prompt):
            reason = completed.stop_reason
            self._end(turn, "cancelled" if reason == "cancelled" else "done", reason)

    def _failed(self, envelope: Envelope, failed: events.TurnFailed) -> None:
        turn = self._turn_for(envelope)
        self._end(turn, "failed", "", failed.message or "The turn has failed.")

    def _sign_in_required(self, envelope: Envelope, required: events.SignInRequired) -> None:
        connection = self._status.connection
        self.set(connection=replace(connection, wants_sign_in=bool(required.message)))
        if required.message:
            self._turn_for(envelope).note(required.message)

    def _cancel_requested(self, envelope: Envelope, _: events.CancelRequested) -> None:
        turn = self._turns.get(envelope.prompt or "")
        if turn and turn.head.state == "running":
            turn.head = replace(turn.head, cancelling=True)
            self._touch(turn)

    def _queued(self, envelope: Envelope, queued: Queued) -> None:
        self._queue[queued.id] = replace(queued, client=envelope.client)
        self.changed.set()

    def _dequeued(self, _: Envelope, event: events.PromptDequeued) -> None:
        self._begun(event.prompt, is_removed=event.is_removed)

    def _begun(self, prompt: str, *, is_removed: bool = False) -> None:
        """A prompt waits no more."""
        self._queue.pop(prompt, None)
        self._mark_over(prompt, is_removed=is_removed)

    # The session

    def _changed(self, envelope: Envelope, update: events.StatusUpdate) -> None:
        if "window" in update.changes and (turn := self._turns.get(envelope.prompt or "")):
            turn.has_used_model = True
        self.set(**update.changes)

    def _rewound(self, _: Envelope, rewound: events.Rewound) -> None:
        """Drop the prompt that the conversation was rewound to, and what comes after it."""
        asked = [key for key, turn in self._turns.items() if turn.asks_model]
        if not asked:
            return
        keys = list(self._turns)
        for key in keys[keys.index(asked[min(rewound.index, len(asked) - 1)]) :]:
            self._end(self._turns[key], "cancelled")
            del self._turns[key]
            self._mark_over(key)
        self._show_from(min(self._hidden, max(0, len(self._turns) - MOST_TURNS)))
        self.set(plan=(), suggestion="")

    def _pass(self, _envelope: Envelope, _event: object) -> None:
        """The event is of no interest."""

    # Turns

    @property
    def _last(self) -> TurnBuilder | None:
        """The last turn."""
        return next(reversed(self._turns.values()), None)

    def _turn_for(self, envelope: Envelope) -> TurnBuilder:
        """The turn that an event changes: its prompt's, or the last one for an event that names no prompt."""
        key = self._key_for(envelope)
        turn = self._turns.get(key)
        if turn is None:
            # What comes without a prompt never ends.
            state = "running" if envelope.prompt else "done"
            client = envelope.client and sys.intern(envelope.client)
            turn = self._turns[key] = TurnBuilder(Turn(key, state, (), client, began=envelope.time))
            self.set(suggestion="")
        self._touch(turn)
        return turn

    def _key_for(self, envelope: Envelope) -> str:
        """The key of the turn that an event is about."""
        return envelope.prompt or next(reversed(self._turns), START)

    def _end(self, turn: TurnBuilder, *end: Any) -> None:
        """End a turn (see `TurnBuilder.end`), and cancel what it asks."""
        turn.end(*end)
        for permission in [each for each in self._permissions.values() if each.turn == turn.head.key]:
            self._answer(events.PermissionResolved(permission.id, is_selected=False))
        self._touch(turn)

    def _answer(self, resolved: events.PermissionResolved) -> None:
        """A permission is answered, if it is one that waits."""
        if asked := self._permissions.pop(resolved.id, None):
            turn = self._turns[asked.turn]
            turn.answer(asked, resolved)
            self._touch(turn)

    def _mark_over(self, prompt: str, *, is_removed: bool = False) -> None:
        """A prompt is over. The daemon tells that of one that was removed as the end of a turn, too."""
        self._over[prompt] = is_removed or self.was_removed(prompt)
        for old in list(self._over)[:-MAX_OVER]:
            del self._over[old]
        self.changed.set()

    def _touch(self, turn: TurnBuilder) -> None:
        """A turn has changed."""
        self._dirty[turn.head.key] = None
        self.changed.set()

    _REDUCERS: ClassVar[Mapping[type[object], Callable[..., None]]] = {
        events.MessageChunk: _chunk,
        events.MessagesInjected: _injected,
        ChatNotice: _announced,
        events.Unsupported: _unsupported,
        events.Ignored: _pass,
        events.ToolCallUpdate: _tool,
        events.PermissionRequest: _asked,
        events.PermissionResolved: _resolved,
        events.TurnCompleted: _completed,
        events.TurnFailed: _failed,
        events.CancelRequested: _cancel_requested,
        events.SignInRequired: _sign_in_required,
        Queued: _queued,
        events.PromptDequeued: _dequeued,
        events.StatusUpdate: _changed,
        events.Rewound: _rewound,
    }


class TurnBuilder:
    """A prompt and what comes of it: a turn that goes on. Its messages are put together only for a snapshot."""

    def __init__(self, turn: Turn) -> None:
        """Questions that are open are left out: whoever has asked asks again."""
        self.head = replace(turn, items=())
        """The turn without its items."""
        self.record = ""
        """What the history on disk calls its beginning; empty if that isn't known."""
        self.has_used_model = turn.asks_model
        """Whether the model is known to have been asked."""
        self._items: list[Item] = []
        self._more: dict[int, list[str]] = {}
        """What messages have got since they were last shown, by their places."""
        self._places: dict[str, int] = {}
        """Where the tool calls are, by their ids."""
        self._growing: dict[tuple[Speaker, str | None, str], int] = {}
        """Where the messages are that may go on, by their speakers, their parents and the names of asides."""
        for item in turn.items:
            if isinstance(item, Tool):
                answered = tuple(asked for asked in item.permissions if asked.state != "open")
                self._set_tool(replace(item, permissions=answered))
            else:
                self._add(item)

    def show(self) -> Turn:
        """The turn as it is now."""
        for at, pieces in self._more.items():
            message = cast("Message", self._items[at])
            self._items[at] = replace(message, text="".join((message.text, *pieces)))
        self._more.clear()
        return replace(self.head, items=tuple(self._items), asks_model=self.asks_model)

    @property
    def asked(self) -> str:
        """The text that the turn began with; empty if there was no prompt."""
        first = self._items[0] if self._items else None
        if not isinstance(first, Message) or first.speaker != "user" or first.is_aside:
            return ""
        return "".join((first.text, *self._more.get(0, ())))

    @property
    def asks_model(self) -> bool:
        """Whether its prompt is one for the model, which the agent counts; not a command that the agent does itself."""
        asked = self.asked
        is_command = asked.startswith("/") and not self._places
        return bool(asked) and (self.has_used_model or not is_command)

    def restore(self, seen: TurnBuilder) -> None:
        """Take the items of the same turn as it was seen, if there are more of them."""
        if seen.size > self.size:
            self._items, self._more, self._places = seen._items, seen._more, seen._places
            self._growing = seen._growing

    def account(self, at: float | None, chunk: events.MessageChunk | None) -> None:
        """Take note of when an event was sent, in seconds since 1970, and of what a call of the model has used."""
        cost, began = self.head.cost, self.head.began
        if chunk and chunk.record and not self.record:
            self.record = chunk.record
        if chunk and (usage := chunk.usage):
            cost = replace(cost, read=cost.read + usage.read, written=cost.written + usage.written)
        if at is not None and began is not None:
            cost = replace(cost, seconds=max(cost.seconds, at - began))
        if cost is not self.head.cost:
            self.head = replace(self.head, cost=cost)

    def join(self, rest: TurnBuilder) -> None:
        """Add the rest of the turn, which was read before its beginning."""
        for item in rest.show().items:
            if isinstance(item, Tool):
                self._set_tool(item)
            else:
                self._add(item)
        own, later = self.head, rest.head
        began = later.began if own.began is None else own.began
        seconds = later.cost.seconds
        if began is not None and later.began is not None:
            seconds = max(own.cost.seconds, seconds + later.began - began)
        cost = Cost(seconds, own.cost.read + later.cost.read, own.cost.written + later.cost.written)
        self.head = replace(later, key=own.key, client=own.client or later.client, cost=cost, began=began)
        self.has_used_model |= rest.has_used_model

    @property
    def size(self) -> int:
        """How much was said and done, as a measure to compare with."""
        said = (len(item.text) for item in self.show().items if isinstance(item, Message))
        return sum(said) + len(self._places)

    def note(self, text: str, *, is_aside: bool = False) -> None:
        """Add a line of the chat's own."""
        self._add(ChatNotice(text, is_aside))

    def say(self, chunk: events.MessageChunk) -> None:
        """Append to the last message if it is this speaker's; otherwise begin a new one.

        An aside is a message of its own, which doesn't break the one that streams. Another id of a message is another
        message.
        """
        aside = chunk.aside.name if chunk.aside else ""
        at = self._message(chunk.speaker, chunk.parent, aside, "" if aside else chunk.message)
        self._more.setdefault(at, []).append(chunk.text)

    def interject(self, text: str) -> None:
        """Add what the person has sent into the turn: a message of its own, even right after the prompt."""
        self._add(Message("user", text))

    def attach(self, chunk: events.MessageChunk, attachment: Attachment) -> None:
        """Add an attachment to what a speaker says."""
        at = self._message(chunk.speaker, chunk.parent)
        message = cast("Message", self._items[at])
        self._items[at] = replace(message, attachments=(*message.attachments, attachment))

    def has(self, call: str) -> bool:
        """Whether a tool call was made in it."""
        return call in self._places

    def tool(self, update: events.ToolCallUpdate) -> Tool:
        """Apply an update of a tool call. Returns the call as it is then."""
        return self._set_tool(replace(self._tool(update.id), **update.changes))

    def ask(self, request: events.PermissionRequest) -> Permission:
        """Make a tool call wait for an answer."""
        call, told = request.tool_call, request.tool_call.changes
        if self._tool(call.id).status in {"completed", "failed"}:
            # A history has what came of a call before the question whether it may be made.
            kept = told.keys() - {"status", "text", "diffs", "output"}
            call = replace(call, changes={name: told[name] for name in kept})
        tool = self.tool(call)
        permission = Permission(
            request.id,
            self.head.key,
            tool.id,
            request.title or tool.title,
            tool.kind,
            request.options,
            request.questions,
            told.get("diffs", ()),
            {} if request.form else tool.input,
            form=request.form,
            text=told.get("text", ""),
        )
        asked = tuple(each for each in tool.permissions if each.id != permission.id)
        self._set_tool(replace(tool, permissions=(*asked, permission)))
        return permission

    def answer(self, permission: Permission, resolved: events.PermissionResolved) -> None:
        """A permission that was asked here is answered."""
        state: Literal["selected", "cancelled"] = "selected" if resolved.is_selected else "cancelled"
        chosen = next((each for each in permission.options if each.id == resolved.option), None)
        answered = replace(permission, state=state, chosen=chosen, voter=resolved.voter)
        if not self.has(permission.tool):
            return  # what was seen of the turn has taken the place of what was asked in it
        tool = self._tool(permission.tool)
        permissions = tuple(answered if each.id == permission.id else each for each in tool.permissions)
        self._set_tool(replace(tool, permissions=permissions))

    def end(self, state: TurnState, stop_reason: str = "", error: str = "") -> None:
        """The turn is over."""
        self.head = replace(self.head, state=state, stop_reason=sys.intern(stop_reason), error=error, cancelling=False)

    def _tool(self, call: str) -> Tool:
        """The tool call with an id; a new one if there is none yet."""
        at = self._places.get(call)
        return Tool(call, "", "", "other", "pending") if at is None else cast("Tool", self._items[at])

    def _set_tool(self, tool: Tool) -> Tool:
        if (at := self._places.get(tool.id)) is None:
            self._places[tool.id] = self._add(tool)
        else:
            self._items[at] = tool
        return tool

    def _message(self, speaker: Speaker, parent: str | None, aside: str = "", message: str = "") -> int:
        """The place of the message that a piece belongs to, which is begun if there is none."""
        at = self._growing.get((speaker, parent, aside))
        if at is None or (message and cast("Message", self._items[at]).name != message):
            at = self._add(Message(speaker, "", parent=parent, is_aside=bool(aside), name=aside or message))
        return at

    def _add(self, item: Item) -> int:
        """Add an item. Returns its place. Unless it is an aside, no message before it goes on."""
        if isinstance(item, Tool) or not item.is_aside:
            self._growing.clear()
        if isinstance(item, Message):
            self._growing[item.speaker, item.parent, item.name if item.is_aside else ""] = len(self._items)
        self._items.append(item)
        return len(self._items) - 1
