"""What each event changes in a conversation."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import ClassVar

from . import events
from .events import Envelope
from .history import MOST_TURNS
from .snapshot import Attachment, Choices, Queued, Speaker
from .state import State

logger = logging.getLogger(__name__)

LONGEST_NOTICE = 300
"""Characters of a message of its own that is shown as a line of the chat."""

_SPEAKERS: Mapping[type[events.MessageChunk], Speaker] = {
    events.UserMessageChunk: "user",
    events.AgentMessageChunk: "answer",
    events.AgentThoughtChunk: "thought",
}


class Reducer:
    """Applies events to the state of a conversation."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._noted: set[str] = set()
        """What couldn't be read and the news of tasks, which are told once."""

    def apply(self, envelope: Envelope) -> None:
        """Apply an event."""
        event, turns, key = envelope.event, self._state.turns, self._state.key_for(envelope)
        was_over = (turn := turns.get(key)) is not None and turn.state != "running"
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
        turn_for, parent, speaker = self._state.turn_for, chunk.parent, _SPEAKERS[type(chunk)]
        if chunk.usage:
            turn_for(envelope).has_used_model = True
        match chunk.content:
            case events.TextContent(text=text) if chunk.aside:
                self._aside(envelope, speaker, text, chunk.aside, parent)
            case events.TextContent(text=text):
                if text:
                    turn_for(envelope).say(speaker, text, parent, message="" if speaker == "user" else chunk.message)
            case events.ResourceLink(uri=uri, name=name):
                turn = turn_for(envelope)
                if speaker == "user":
                    # The person has mentioned it at this point of the text.
                    turn.say(speaker, f"@{name}", parent)
                turn.attach(speaker, Attachment(uri, name), parent)
            case events.EmbeddedResource(uri=uri):
                turn_for(envelope).attach(speaker, Attachment(uri, uri.rpartition("/")[2]), parent)
            case events.OtherContent(kind=kind):
                if speaker == "user":
                    turn_for(envelope).attach(speaker, Attachment("", kind), parent)
                else:
                    turn_for(envelope).note(f"Unsupported: {kind} in the answer.")

    def _aside(self, envelope: Envelope, speaker: Speaker, text: str, aside: events.Aside, parent: str | None) -> None:
        """A message of its own: a short one is a line of the chat's, without the raw ids of a task."""
        if speaker != "answer" or aside.is_spoken or len(text) > LONGEST_NOTICE:
            if text:
                self._state.turn_for(envelope).say(speaker, text, parent, aside.name)
            return
        for identifier in aside.ids:
            text = re.sub(rf"\s*[(\[“\"'`#]*{re.escape(identifier)}[)\]”\"'`]*", "", text)
        # It is said once when the task ends, and once more when the model is told.
        news = f"{aside.task} {text.strip()}"
        if text.strip() and not (aside.task is not None and news in self._noted):
            self._noted.add(news)
            self._state.turn_for(envelope).note(text.strip(), is_aside=True)

    def _injected(self, envelope: Envelope, injected: events.MessagesInjected) -> None:
        for message in injected.messages:
            self._state.turn_for(envelope).say("user", message)

    def _shell_output(self, envelope: Envelope, output: events.ShellOutput) -> None:
        self._state.turn_for(envelope).say("shell", output.text)

    def _announced(self, envelope: Envelope, announcement: events.Announcement) -> None:
        self._state.turn_for(envelope).note(announcement.text)

    def _unsupported(self, envelope: Envelope, unsupported: events.Unsupported) -> None:
        # One notice of a kind is enough, however many events can't be read.
        if unsupported.what not in self._noted:
            self._noted.add(unsupported.what)
            self._state.turn_for(envelope).note(f"Unsupported: {unsupported.what}.")

    # Tools and permissions

    def _tool(self, envelope: Envelope, update: events.ToolCallUpdate) -> None:
        self._state.turn_for(envelope).tool(update)

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
        if turn and turn.state == "running":
            turn.cancelling = True
            self._state.touch(turn)

    def _queued(self, envelope: Envelope, queued: events.PromptQueued) -> None:
        self._state.queue[queued.prompt] = Queued(queued.prompt, queued.text, envelope.client)
        self._state.mark_changed()

    def _dequeued(self, _: Envelope, event: events.PromptDequeued) -> None:
        self._state.mark_over(event.prompt)
        if self._state.queue.pop(event.prompt, None):
            self._state.mark_changed()

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
        asked = [turn.key for turn in state.turns.values() if turn.asks_model]
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
        **dict.fromkeys(_SPEAKERS, _chunk),
        events.ShellOutput: _shell_output,
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
