"""What each event changes in a conversation."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any, ClassVar

from ..backends import updates as agent
from ..backends import wire as parts
from ..daemon import decoder as events
from ..daemon.decoder import Envelope
from ..daemon.history import MOST_TURNS
from .snapshot import Attachment, Choices, Command, ContextWindow, Permission, Queued, Speaker, Status, Step
from .turns import TurnBuilder

logger = logging.getLogger(__name__)

MAX_OVER = 50
"""How many prompts that are over are remembered."""
LONGEST_NOTICE = 300
"""Characters of a message of its own that is shown as a line of the chat."""
_SPOKEN = {"background_notification_response", "realtime_voice"}
"""Messages of their own that somebody says."""
_MARKERS = {"background_notification_turn_started"}
"""Messages of their own that hold nothing but an id."""
START = "start"
"""The key of the turn for what comes before any prompt."""


class Taking:
    """The turns and the state that events change. Not thread-safe."""

    def __init__(self) -> None:
        self.on_change: Callable[[], object] = lambda: None
        """Called at the first change after a snapshot, not at each one."""
        self._revision = 0
        self._looked = 0
        self._turns: dict[str, TurnBuilder] = {}
        self._dirty: dict[str, None] = {}
        self._status = Status()
        self._queue: dict[str, Queued] = {}
        self._open: dict[str, Permission] = {}
        self._noted: set[str] = set()
        """What couldn't be read, and was told."""
        self._over: dict[str, None] = {}
        """The latest prompts that are over, those without a turn included."""
        self._hidden = 0
        """How many of the first turns aren't shown."""

    def _take(self, envelope: Envelope) -> None:
        key = envelope.prompt or next(reversed(self._turns), START)
        was_over = (turn := self._turns.get(key)) is not None and turn.state != "running"
        self._TAKES[type(envelope.event)](self, envelope, envelope.event)
        if not was_over and (turn := self._turns.get(key)):
            meta = envelope.event.meta if isinstance(envelope.event, agent.Chunk) else None
            turn.account(envelope.time, meta)

    # Messages

    def _user_chunk(self, envelope: Envelope, chunk: agent.UserChunk) -> None:
        self._chunk(envelope, "user", chunk)

    def _answer_chunk(self, envelope: Envelope, chunk: agent.AnswerChunk) -> None:
        self._chunk(envelope, "answer", chunk)

    def _thought_chunk(self, envelope: Envelope, chunk: agent.ThoughtChunk) -> None:
        self._chunk(envelope, "thought", chunk)

    def _chunk(self, envelope: Envelope, speaker: Speaker, chunk: agent.Chunk) -> None:
        parent = chunk.meta.parent_tool_call_id
        if chunk.meta.usage:
            self._changing(envelope).has_used_model = True
        if chunk.meta.is_discrete and isinstance(chunk.content, agent.TextContent):
            self._aside(envelope, speaker, chunk.content.text, chunk.meta)
            return
        match chunk.content:
            case agent.TextContent(text=text):
                if text:
                    self._changing(envelope).say(speaker, text, parent)
            case agent.LinkContent(uri=uri, name=name):
                turn, name = self._changing(envelope), name or _name(uri)
                if speaker == "user":
                    # The person has mentioned it at this point of the text.
                    turn.say(speaker, f"@{name}", parent)
                turn.attach(speaker, Attachment(uri, name), parent)
            case agent.ResourceContent(resource=resource):
                self._changing(envelope).attach(speaker, Attachment(resource.uri, _name(resource.uri)), parent)
            case agent.OtherContent(type=kind):
                if speaker == "user":
                    self._changing(envelope).attach(speaker, Attachment("", kind), parent)
                else:
                    self._changing(envelope).note(f"Unsupported: {kind} in the answer.")

    def _aside(self, envelope: Envelope, speaker: Speaker, text: str, meta: agent.ChunkMeta) -> None:
        """A message of its own: a short one is a line of the chat's, without the raw ids of a task."""
        if meta.source in _MARKERS:
            return
        about = meta.background_task
        if speaker == "answer" and meta.source not in _SPOKEN and len(text) <= LONGEST_NOTICE:
            for identifier in (about.get("taskId"), about.get("toolUseId"), about.get("sourceTurnId")):
                if isinstance(identifier, str) and identifier:
                    text = re.sub(rf"\s*[(\[“\"'`#]*{re.escape(identifier)}[)\]”\"'`]*", "", text)
            # The daemon says it once when the task ends, and once more when the model is told.
            told = f"{about.get('taskId', '')} {text.strip()}"
            if text.strip() and not ("taskId" in about and told in self._noted):
                self._noted.add(told)
                self._changing(envelope).note(text.strip(), is_aside=True)
            return
        # The pieces of one message name the same task and turn.
        name = f"{meta.source} {about.get('taskId', '')} {about.get('turnId', '')}"
        if text:
            self._changing(envelope).say(speaker, text, meta.parent_tool_call_id, name)

    def _injected(self, envelope: Envelope, injected: events.MessagesInjected) -> None:
        for message in injected.messages:
            self._changing(envelope).say("user", message)

    def _shell_chunk(self, envelope: Envelope, chunk: agent.ShellChunk) -> None:
        self._changing(envelope).say("shell", chunk.output)

    def _shell_started(self, envelope: Envelope, started: events.ShellStarted) -> None:
        self._changing(envelope).say("shell", f"$ {started.command}\n")

    def _shell_ended(self, envelope: Envelope, ended: events.ShellEnded) -> None:
        if ended.exit_code:
            self._changing(envelope).note(f"The command has ended with {ended.exit_code}.")

    def _unknown(self, _frame: Envelope, unknown: parts.Unknown) -> None:
        logger.debug("Unknown %s with %s", unknown.kind, ", ".join(unknown.keys))

    def _unsupported(self, envelope: Envelope, unsupported: parts.Unsupported) -> None:
        # One notice of a kind is enough, however many events can't be read.
        if unsupported.what not in self._noted:
            self._noted.add(unsupported.what)
            self._changing(envelope).note(f"Unsupported: {unsupported.what}.")

    def _recording_degraded(self, envelope: Envelope, _event: events.RecordingDegraded) -> None:
        self._changing(envelope).note("The agent can't write this conversation to disk: it can't be resumed later.")

    def _history_truncated(self, envelope: Envelope, _event: events.HistoryTruncated) -> None:
        self._changing(envelope).note("What came before is left out here; an export has it.")

    # Tools and permissions

    def _tool(self, envelope: Envelope, update: agent.ToolUpdate) -> None:
        self._changing(envelope).tool(update)

    def _asked(self, envelope: Envelope, request: agent.PermissionRequest) -> None:
        permission = self._changing(envelope).ask(request)
        self._open[permission.id] = permission

    def _resolved(self, _frame: Envelope, resolved: events.PermissionResolved) -> None:
        if permission := self._open.pop(resolved.request_id, None):
            self._answer(permission, resolved.outcome, resolved.voter_client_id)

    def _answer(self, permission: Permission, outcome: agent.Outcome, voter: str | None) -> None:
        turn = self._turns[permission.turn]
        turn.answer(permission, outcome, voter)
        self._touch(turn)

    # The turn's course

    def _completed(self, envelope: Envelope, completed: events.TurnCompleted) -> None:
        self._is_over(prompt := envelope.prompt or "")
        # A prompt that is removed before its turn has no turn.
        if turn := self._turns.get(prompt):
            reason = completed.stop_reason
            self._end(turn, "cancelled" if reason == "cancelled" else "done", reason)

    def _failed(self, envelope: Envelope, failed: events.TurnFailed) -> None:
        self._end(self._changing(envelope), "failed", "", failed.message or "The turn has failed.")

    def _end(self, turn: TurnBuilder, *end: Any) -> None:
        turn.end(*end)
        for permission in [each for each in self._open.values() if each.turn == turn.key]:
            del self._open[permission.id]
            self._answer(permission, agent.Outcome(outcome="cancelled"), None)
        self._touch(turn)

    def _cancel_requested(self, envelope: Envelope, cancel: events.CancelRequested) -> None:
        turn = self._turns.get(envelope.prompt or "")
        # With a reason, no person has asked for it: an error follows.
        if turn and turn.state == "running" and not cancel.reason:
            turn.cancelling = True
            self._touch(turn)

    def _queued(self, envelope: Envelope, queued: events.PromptQueued) -> None:
        self._queue[queued.prompt_id] = Queued(queued.prompt_id, queued.text, envelope.client)
        self._changed()

    def _dequeued(self, _frame: Envelope, event: events.PromptStarted | events.PromptDequeued) -> None:
        self._is_over(event.prompt_id)
        if self._queue.pop(event.prompt_id, None):
            self._changed()

    # The session

    def set_choices(self, choices: Choices) -> None:
        """Set the models and modes of the session, and the current ones."""
        model, mode = choices.model or self._status.model, choices.mode or self._status.mode
        self._set(
            model=model,
            mode=mode,
            models=choices.models,
            modes=choices.modes,
            effort=choices.effort,
            efforts=choices.efforts,
            options=choices.options,
        )

    def set_commands(self, update: agent.CommandsUpdate) -> None:
        """Set the slash commands."""
        commands = update.available_commands
        self._set(commands=tuple(Command(each.name, each.description, each.input.hint) for each in commands))

    def _planned(self, _frame: Envelope, plan: agent.PlanUpdate) -> None:
        self._set(plan=tuple(Step(entry.content, entry.status) for entry in plan.entries))

    def _commands(self, _frame: Envelope, update: agent.CommandsUpdate) -> None:
        self.set_commands(update)

    def _used(self, envelope: Envelope, usage: agent.UsageUpdate) -> None:
        if turn := self._turns.get(envelope.prompt or ""):
            turn.has_used_model = True
        self._set(window=ContextWindow(usage.size, usage.used))

    def _mode(self, _frame: Envelope, update: agent.ModeUpdate) -> None:
        self._set(mode=update.current_mode_id)

    def _approval_mode(self, _frame: Envelope, changed: events.ApprovalModeChanged) -> None:
        self._set(mode=changed.next)

    def _titled(self, _frame: Envelope, update: agent.InfoUpdate) -> None:
        self._set(title=update.title or self._status.title)

    def _renamed(self, _frame: Envelope, renamed: events.SessionRenamed) -> None:
        self._set(title=renamed.display_name or self._status.title)

    def _model(self, _frame: Envelope, switched: events.ModelSwitched) -> None:
        self._set(model=switched.model_id)

    def _model_stays(self, envelope: Envelope, failed: events.ModelSwitchFailed) -> None:
        model = failed.requested_model_id or "another model"
        self._changing(envelope).note(f"The model could not be switched to {model}: {failed.error}".rstrip(": ") + ".")

    def _snapshot(self, _frame: Envelope, snapshot: events.SessionSnapshot) -> None:
        model, mode = snapshot.current_model_id, snapshot.current_approval_mode
        self._set(model=model or self._status.model, mode=mode or self._status.mode)

    def _chosen(self, _frame: Envelope, changed: events.ChoicesChanged) -> None:
        self.set_choices(changed.choices)

    def _rewound(self, _frame: Envelope, rewound: events.Rewound) -> None:
        """Drop the prompt that the conversation was rewound to, and what comes after it."""
        asked = [turn.key for turn in self._turns.values() if turn.asks_model]
        if not asked:
            return
        keys = list(self._turns)
        first = keys.index(asked[min(rewound.target_turn_index, len(asked) - 1)])
        for key in keys[first:]:
            self._end(self._turns[key], "cancelled")
            del self._turns[key]
            self._is_over(key)
        hidden, self._hidden = self._hidden, min(self._hidden, max(0, len(self._turns) - MOST_TURNS))
        self._dirty.update(dict.fromkeys(islice(self._turns, self._hidden, hidden)))
        self._set(plan=(), suggestion="")

    def _suggested(self, _frame: Envelope, suggestion: events.Suggestion) -> None:
        self._set(suggestion=suggestion.suggestion)

    def _passed(self, _frame: Envelope, _event: object) -> None:
        """Ignore an event that is for the connection, or of no interest."""

    # Keeping

    def _changing(self, envelope: Envelope) -> TurnBuilder:
        """The turn that an event changes: its prompt's, or the last one for an event that names no prompt."""
        key = envelope.prompt or next(reversed(self._turns), START)
        turn = self._turns.get(key)
        if turn is None:
            # What comes without a prompt never ends.
            state = "running" if envelope.prompt else "done"
            client = envelope.client and sys.intern(envelope.client)
            turn = self._turns[key] = TurnBuilder(key, client, state, began=envelope.time)
            self._set(suggestion="")
        self._touch(turn)
        return turn

    def _is_over(self, prompt: str) -> None:
        self._over[prompt] = None
        for old in list(self._over)[:-MAX_OVER]:
            del self._over[old]
        self._changed()

    def _touch(self, turn: TurnBuilder) -> None:
        self._dirty[turn.key] = None
        self._changed()

    def _set(self, **changes: Any) -> None:
        status = replace(self._status, **changes)
        if status != self._status:
            self._status = status
            self._changed()

    def _changed(self) -> None:
        first = self._revision == self._looked
        self._revision += 1
        if first:
            self.on_change()

    _TAKES: ClassVar[Mapping[type[object], Callable[..., None]]] = {
        agent.UserChunk: _user_chunk,
        agent.AnswerChunk: _answer_chunk,
        agent.ThoughtChunk: _thought_chunk,
        agent.ToolStart: _tool,
        agent.ToolUpdate: _tool,
        agent.PlanUpdate: _planned,
        agent.CommandsUpdate: _commands,
        agent.UsageUpdate: _used,
        agent.ModeUpdate: _mode,
        agent.InfoUpdate: _titled,
        agent.ShellChunk: _shell_chunk,
        parts.Unknown: _unknown,
        parts.Unsupported: _unsupported,
        agent.PermissionRequest: _asked,
        events.PermissionResolved: _resolved,
        events.TurnCompleted: _completed,
        events.TurnFailed: _failed,
        events.CancelRequested: _cancel_requested,
        events.PromptQueued: _queued,
        events.PromptStarted: _dequeued,
        events.PromptDequeued: _dequeued,
        events.MessagesInjected: _injected,
        events.ModelSwitched: _model,
        events.ModelSwitchFailed: _model_stays,
        events.ApprovalModeChanged: _approval_mode,
        events.SessionSnapshot: _snapshot,
        events.ChoicesChanged: _chosen,
        events.SessionRenamed: _renamed,
        events.SessionDied: _passed,
        events.SessionClosed: _passed,
        events.SettingChanged: _passed,
        events.RecordingDegraded: _recording_degraded,
        events.Rewound: _rewound,
        events.ShellStarted: _shell_started,
        events.ShellEnded: _shell_ended,
        events.Suggestion: _suggested,
        events.ResyncRequired: _passed,
        events.ReplayComplete: _passed,
        events.HistoryTruncated: _history_truncated,
        events.SlowClientWarning: _passed,
        events.ClientEvicted: _passed,
        events.StreamFailed: _passed,
        events.Aside: _passed,
    }


def _name(uri: str) -> str:
    return uri.rpartition("/")[2]
