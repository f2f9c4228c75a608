"""A chat's state: events go in, snapshots come out. Pure: it knows neither the network nor an editor."""

from __future__ import annotations

import asyncio
import logging
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any, ClassVar

from . import events
from .events import MOST_TURNS, Earlier, Envelope, EventCursor, Oldest, Replay
from .snapshot import (
    Choices,
    Command,
    ConnectionStatus,
    ContextWindow,
    Permission,
    Queued,
    Snapshot,
    Status,
    Task,
    Turn,
)
from .turns import TurnBuilder, changed_files

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
            turn = self.turns[key] = TurnBuilder(Turn(key, state, (), client, began=envelope.time))
            self.set(suggestion="")
        self.touch(turn)
        return turn

    def key_for(self, envelope: Envelope) -> str:
        """The key of the turn that an event is about."""
        return envelope.prompt or next(reversed(self.turns), START)

    def end(self, turn: TurnBuilder, *end: Any) -> None:
        """End a turn (see `TurnBuilder.end`), and cancel what it asks."""
        turn.end(*end)
        for permission in [each for each in self.permissions.values() if each.turn == turn.head.key]:
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
        self.dirty[turn.head.key] = None
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


logger = logging.getLogger(__name__)

LONGEST_NOTICE = 300
"""Characters of a message of its own that is shown as a line of the chat."""


class Reducer:
    """Applies events to the state of a conversation."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._noted: set[str] = set()
        """What couldn't be read and the news of tasks, which are told once."""

    def apply(self, envelope: Envelope) -> None:
        """Apply an event."""
        event, turns, key = envelope.event, self._state.turns, self._state.key_for(envelope)
        was_over = (turn := turns.get(key)) is not None and turn.head.state != "running"
        try:
            self._REDUCERS[type(event)](self, envelope, event)
            if not was_over and (turn := turns.get(key)):
                turn.account(envelope.time, event if isinstance(event, events.MessageChunk) else None)
        except Exception:
            # A history would bring it again and again: what comes after it must be shown.
            logger.exception("An event of the kind %s could not be applied", type(event).__name__)
            self._unsupported(envelope, events.Unsupported("an event that could not be shown"))

    def forget(self) -> None:
        """The conversation begins again."""
        self._noted.clear()

    # Messages

    def _chunk(self, envelope: Envelope, chunk: events.MessageChunk) -> None:
        turn_for = self._state.turn_for
        if chunk.usage:
            turn_for(envelope).has_used_model = True
        if chunk.aside:
            self._aside(envelope, chunk, chunk.aside)
        elif chunk.text:
            turn_for(envelope).say(chunk.speaker, chunk.text, chunk.parent, message=chunk.message)
        if chunk.attachment:
            turn_for(envelope).attach(chunk.speaker, chunk.attachment, chunk.parent)
        if chunk.unshown:
            turn_for(envelope).note(f"Unsupported: {chunk.unshown} in the answer.")

    def _aside(self, envelope: Envelope, chunk: events.MessageChunk, aside: events.Aside) -> None:
        """A message of its own: a short one is a line of the chat's, without the raw ids of a task."""
        text = chunk.text
        if chunk.speaker != "answer" or aside.is_spoken or len(text) > LONGEST_NOTICE:
            if text:
                self._state.turn_for(envelope).say(chunk.speaker, text, chunk.parent, aside.name)
            return
        for identifier in aside.ids:
            text = re.sub(rf"\s*[(\[“\"'`#]*{re.escape(identifier)}[)\]”\"'`]*", "", text)
        # It is said once when the task ends, and once more when the model is told.
        news = f"{aside.task} {text.strip()}"
        if text.strip() and not (aside.task is not None and news in self._noted):
            self._noted.add(news)
            self._state.turn_for(envelope).note(text.strip(), is_aside=True)

    def _injected(self, envelope: Envelope, injected: events.MessagesInjected) -> None:
        for prompt in injected.prompts:
            self._over(prompt)
        for message in injected.messages:
            self._state.turn_for(envelope).interject(message)

    def _announced(self, envelope: Envelope, announcement: events.Announcement) -> None:
        self._state.turn_for(envelope).note(announcement.text, is_aside=announcement.is_aside)

    def _unsupported(self, envelope: Envelope, unsupported: events.Unsupported) -> None:
        # One notice of a kind is enough, however many events can't be read.
        if unsupported.what not in self._noted:
            self._noted.add(unsupported.what)
            self._state.turn_for(envelope).note(f"Unsupported: {unsupported.what}.")

    # Tools and permissions

    def _tool(self, envelope: Envelope, update: events.ToolCallUpdate) -> None:
        turn = self._state.turn_for(envelope)
        if not ("title" in update.changes or turn.has(update.id)):
            # A command in the background, or a sub-agent, may go on after the turn that has begun it.
            turn = next((each for each in reversed(self._state.turns.values()) if each.has(update.id)), turn)
            self._state.touch(turn)
        turn.tool(update)

    def _asked(self, envelope: Envelope, request: events.PermissionRequest) -> None:
        permission = self._state.turn_for(envelope).ask(request)
        self._state.permissions[permission.id] = permission

    def _resolved(self, _: Envelope, resolved: events.PermissionResolved) -> None:
        self._state.answer(resolved.id, is_selected=resolved.is_selected, option=resolved.option, voter=resolved.voter)

    # The turn's course

    def _completed(self, envelope: Envelope, completed: events.TurnCompleted) -> None:
        self._state.mark_over(prompt := envelope.prompt or "")
        # A prompt that is removed before its turn has no turn.
        if turn := self._state.turns.get(prompt):
            reason = completed.stop_reason
            self._state.end(turn, "cancelled" if reason == "cancelled" else "done", reason)

    def _failed(self, envelope: Envelope, failed: events.TurnFailed) -> None:
        turn = self._state.turn_for(envelope)
        self._state.end(turn, "failed", "", failed.message or "The turn has failed.")

    def _sign_in_required(self, envelope: Envelope, required: events.SignInRequired) -> None:
        connection = self._state.status.connection
        self._state.set(connection=replace(connection, wants_sign_in=bool(required.message)))
        if required.message:
            self._state.turn_for(envelope).note(required.message)

    def _cancel_requested(self, envelope: Envelope, _: events.CancelRequested) -> None:
        turn = self._state.turns.get(envelope.prompt or "")
        if turn and turn.head.state == "running":
            turn.head = replace(turn.head, cancelling=True)
            self._state.touch(turn)

    def _queued(self, envelope: Envelope, queued: events.PromptQueued) -> None:
        self._state.queue[queued.prompt] = Queued(queued.prompt, queued.text, envelope.client)
        self._state.mark_changed()

    def _dequeued(self, _: Envelope, event: events.PromptDequeued) -> None:
        self._over(event.prompt)

    def _over(self, prompt: str) -> None:
        """A prompt waits no more."""
        self._state.queue.pop(prompt, None)
        self._state.mark_over(prompt)

    # The session

    def set_choices(self, choices: Choices) -> None:
        """Set the models and modes of the session, and the current ones."""
        status = self._state.status
        self._state.set(
            model=choices.model or status.model,
            mode=choices.mode or status.mode,
            models=choices.models,
            modes=choices.modes,
            effort=choices.effort,
            efforts=choices.efforts,
            options=choices.options,
        )

    def _config_options(self, _: Envelope, update: events.ConfigOptionUpdate) -> None:
        self.set_choices(update.choices)

    def _current(self, _: Envelope, update: events.CurrentModeUpdate) -> None:
        status = self._state.status
        self._state.set(
            mode=status.mode if update.mode is None else update.mode,
            model=status.model if update.model is None else update.model,
        )

    def _planned(self, _: Envelope, plan: events.Plan) -> None:
        self._state.set(plan=plan.steps)

    def _commands(self, _: Envelope, update: events.AvailableCommandsUpdate) -> None:
        self._state.set(commands=update.commands)

    def _used(self, envelope: Envelope, usage: events.UsageUpdate) -> None:
        if turn := self._state.turns.get(envelope.prompt or ""):
            turn.has_used_model = True
        self._state.set(window=usage.window)

    def _titled(self, _: Envelope, update: events.SessionInfoUpdate) -> None:
        self._state.set(title=update.title or self._state.status.title)

    def _rewound(self, _: Envelope, rewound: events.Rewound) -> None:
        """Drop the prompt that the conversation was rewound to, and what comes after it."""
        state = self._state
        asked = [key for key, turn in state.turns.items() if turn.asks_model]
        if not asked:
            return
        state.drop_from(asked[min(rewound.index, len(asked) - 1)])
        state.show(min(state.hidden, max(0, len(state.turns) - MOST_TURNS)))
        state.set(plan=(), suggestion="")

    def _suggested(self, _: Envelope, suggestion: events.Suggestion) -> None:
        self._state.set(suggestion=suggestion.text)

    def _pass(self, _envelope: Envelope, _event: object) -> None:
        """The event is for the connection, or of no interest."""

    _REDUCERS: ClassVar[Mapping[type[object], Callable[..., None]]] = {
        events.MessageChunk: _chunk,
        events.MessagesInjected: _injected,
        events.Announcement: _announced,
        events.Unsupported: _unsupported,
        events.Ignored: _pass,
        events.ToolCallUpdate: _tool,
        events.PermissionRequest: _asked,
        events.PermissionResolved: _resolved,
        events.TurnCompleted: _completed,
        events.TurnFailed: _failed,
        events.CancelRequested: _cancel_requested,
        events.SignInRequired: _sign_in_required,
        events.PromptQueued: _queued,
        events.PromptDequeued: _dequeued,
        events.Plan: _planned,
        events.AvailableCommandsUpdate: _commands,
        events.UsageUpdate: _used,
        events.CurrentModeUpdate: _current,
        events.ConfigOptionUpdate: _config_options,
        events.SessionInfoUpdate: _titled,
        events.Rewound: _rewound,
        events.Suggestion: _suggested,
        events.SessionDied: _pass,
        events.SessionClosed: _pass,
        events.ResyncRequired: _pass,
        events.StreamEnded: _pass,
    }


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
            running=next((turn.head.key for turn in shown if turn.head.state == "running"), None),
            last=last.head.state if last else None,
            changed=len(changed_files([last.show()])) if last and last.head.state != "running" else 0,
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
            *(Queued(turn.head.key, turn.asked, turn.head.client) for turn in self._state.turns.values()),
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
        return Oldest(turn.head.key, turn.record) if turn else Oldest("", "")

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
        count, first = len(self._state.turns), self._state.first_key
        torn = earlier._state.turns.get(first) or next(reversed(turns.values()), None)
        if torn and (first == START or first in earlier._state.turns) and (rest := self._state.turns.get(first)):
            # The page before began in the middle of a turn.
            del self._state.turns[first]
            torn.join(rest)
            turns[torn.head.key] = torn
        self._state.turns = turns | self._state.turns
        self._state.hidden += len(self._state.turns) - count if self._state.hidden else 0
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
            self._state.hidden = 0
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
        self._state.turns = {turn.key: TurnBuilder(turn) for turn in turns}
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
            if turn.head.state == "running":
                self._state.end(turn, "interrupted")

    def _end_as_seen(self, before: dict[str, TurnBuilder], *, is_running: bool) -> None:
        """End the turns of a history from disk, which lacks their ends, the way the events ended them.

        What was seen of the last turn stays if the agent was killed before it wrote that to disk.
        """
        last, latest = self._state.last, next(reversed(before.values()), None)
        is_known = latest is None or latest.head.key in self._state.turns
        for turn in self._state.turns.values():
            seen = before.get(turn.head.key)
            # The history of 0.21.2 on disk has other keys than the events.
            if not seen and turn is last and latest and not is_known and latest.asked == turn.asked:
                seen, is_known = latest, True
            if turn.head.state != "running" or (is_running and turn is last):
                continue
            if seen and (turn is last or seen.head.state != "running") and seen.head.state in _UNFINISHED:
                turn.restore(seen)
            if seen and seen.head.state != "running":
                self._state.end(turn, seen.head.state, seen.head.stop_reason, seen.head.error)
            else:
                # A turn that was running has no end.
                self._state.end(turn, "interrupted" if seen and turn is last else "done")
        if latest and not is_known and latest.asked and latest.head.state in _UNFINISHED:
            self._state.turns[latest.head.key] = latest
            self._state.end(
                latest, "interrupted" if latest.head.state == "running" else latest.head.state, "", latest.head.error
            )
