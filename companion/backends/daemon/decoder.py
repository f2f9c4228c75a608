"""Decodes what `qwen serve` says: events, which are envelopes around the agent's objects, and what its routes answer.

Facts: docs/protocols/qwen-serve.md#events and #routes.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Literal, TypeVar, cast

from pydantic import AliasPath, Field

from ... import json_text
from ...conversation import events
from ...conversation.events import MOST_TURNS, Envelope, Replay
from ...conversation.failures import ChatError, SessionEndedError, StaleError, StreamLostError
from ...conversation.snapshot import ChatNotice, Choices, ContextWindow, Queued, Task
from ...json_text import as_list, as_object, as_text
from .. import wire
from ..agent import SigningIn
from ..updates import decode_permission, decode_update, ignored
from ..wire import (
    MOST,
    ConfigOption,
    ConfigOptions,
    Number,
    Offered,
    OfferedChoices,
    ShortText,
    Text,
    Wire,
    bounded,
    choices_of,
    count,
    objects,
    several,
    texts,
)
from .errors import ClosedError, RefusedError

logger = logging.getLogger(__name__)


Reader = Callable[[Mapping[str, Any]], events.Event | None]
"""Makes an event of its data; None if they lack what it needs."""


def _resolved(data: Mapping[str, Any]) -> events.Event | None:
    match data:
        case {"requestId": str(request), "outcome": {"outcome": str(outcome), **more}}:
            option, voter = as_text(more.get("optionId")), as_text(data.get("voterClientId"))
            return events.PermissionResolved(request, outcome == "selected", option or None, voter or None)
        case _:
            return None


def _cancelled(data: Mapping[str, Any]) -> events.Event:
    # With a reason, no person has asked for it: an error follows.
    return events.Ignored("prompt_cancelled") if as_text(data.get("reason")) else events.CancelRequested()


def _queued(data: Mapping[str, Any]) -> events.Event | None:
    prompt = data.get("promptId")
    return Queued(prompt, as_text(data.get("text"))) if isinstance(prompt, str) else None


def _left_queue(data: Mapping[str, Any]) -> events.Event | None:
    prompt = data.get("promptId")
    return events.PromptDequeued(prompt, data.get("state") == "removed") if isinstance(prompt, str) else None


def _model_stays(data: Mapping[str, Any]) -> events.Event:
    model = as_text(data.get("requestedModelId")) or "another model"
    why = f"The model could not be switched to {model}: {as_text(data.get('error'))}"
    return ChatNotice(why.rstrip(": ") + ".")


def _now(data: Mapping[str, Any]) -> events.Event:
    told = {"mode": as_text(data.get("currentApprovalMode")), "model": as_text(data.get("currentModelId"))}
    return events.StatusUpdate({name: value for name, value in told.items() if value})


def _renamed(data: Mapping[str, Any]) -> events.Event:
    title = as_text(data.get("displayName"))
    return events.StatusUpdate({"title": title} if title else {})


def _rewound(data: Mapping[str, Any]) -> events.Event | None:
    index = data.get("targetTurnIndex")
    return events.Rewound(index) if type(index) is int and 0 <= index <= MOST else None


def _command_ended(data: Mapping[str, Any]) -> events.Event:
    code = data.get("exitCode")
    if type(code) is int and code:
        return ChatNotice(f"The command has ended with {code}.")
    return events.Ignored("user_shell_result")


def _stream_ended(data: Mapping[str, Any]) -> ChatError:
    return StreamLostError(f"The daemon has ended the stream: {as_text(data.get('error')) or 'it does not say why'}.")


def _with(name: str, make: Callable[[str], events.Event]) -> Reader:
    """An event that needs one text, by its name."""
    return lambda data: make(text) if isinstance(text := data.get(name), str) else None


def _always(event: events.Event) -> Reader:
    """An event whose data say nothing more."""
    return lambda _: event


_EVENTS: Mapping[str, Reader] = {
    "permission_resolved": _resolved,
    "permission_already_resolved": _resolved,
    "permission_forbidden": _always(
        events.Unsupported("a vote: the daemon's policy doesn't let this client answer"),
    ),
    "turn_complete": lambda data: events.TurnCompleted(as_text(data.get("stopReason"))),
    "turn_error": lambda data: events.TurnFailed(as_text(data.get("message"))),
    "prompt_cancelled": _cancelled,
    "pending_prompt_added": _queued,
    "pending_prompt_started": _with("promptId", events.PromptDequeued),
    "pending_prompt_completed": _left_queue,
    "mid_turn_message_injected": lambda data: events.MessagesInjected(
        texts(data.get("messages")), texts(data.get("messageIds"))
    ),
    "model_switched": _with("modelId", lambda model: events.StatusUpdate({"model": model})),
    "model_switch_failed": _model_stays,
    "approval_mode_changed": _with("next", lambda mode: events.StatusUpdate({"mode": mode})),
    "session_snapshot": _now,
    "session_metadata_updated": _renamed,
    "session_recording_degraded": _always(
        ChatNotice("The agent can't write this conversation to disk: it can't be resumed later.")
    ),
    "session_rewound": _rewound,
    "user_shell_command": _with("command", lambda command: events.MessageChunk("shell", f"$ {command}\n")),
    "user_shell_result": _command_ended,
    "followup_suggestion": _with("suggestion", lambda text: events.StatusUpdate({"suggestion": text})),
    "history_truncated": _always(ChatNotice("What came before is left out here; an export has it.")),
}
"""By kind: how its data become an event."""

_ENDS: Mapping[str, Callable[[Mapping[str, Any]], ChatError]] = {
    "session_died": lambda _: SessionEndedError(
        "The agent's process has ended.", "Reconnect to resume the conversation."
    ),
    "session_closed": lambda data: ClosedError(as_text(data.get("closedBy"))),
    "state_resync_required": lambda _: StaleError(),
    "client_evicted": lambda _: StreamLostError("The daemon has dropped this client because it was too slow."),
    "stream_error": _stream_ended,
}
"""By the kinds of events after which none come: the error for whoever follows them."""

_ASIDE = frozenset({
    "settings_changed", "replay_complete", "slow_client_warning",
    "permission_partial_vote", "session_branched", "session_cwd_changed", "artifact_changed", "source_changed",
    "settings_reloaded", "trust_change_requested", "workspace_initialized", "github_setup_completed", "tool_toggled",
    "extensions_changed", "memory_changed", "agent_changed", "mcp_budget_warning", "mcp_child_refused_batch",
    "mcp_server_added", "mcp_server_removed", "mcp_server_changed", "mcp_server_restarted",
    "mcp_server_restart_refused", "auth_device_flow_started", "auth_device_flow_throttled",
    "auth_device_flow_authorized", "auth_device_flow_failed", "auth_device_flow_cancelled", "git_branch_changed",
    "git_status_changed", "channel_delivery_result",
})  # fmt: skip
"""Known to 0.24.4 and of no interest to a conversation."""

_ID = re.compile(r'"id":\s*(\d{1,15})\s*[,}]')
_HEAD = 200
"""Characters of an event that can't be read in which its id is looked for."""


def decode(data: str | Mapping[str, Any]) -> Envelope:
    """Decode the data of a server-sent event, or one entry of a session's history. Never raises."""
    try:
        fields: object = json_text.read(data) if isinstance(data, str) else data
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, Mapping):
        found = _ID.search(data, 0, _HEAD) if isinstance(data, str) else None
        return Envelope(events.Unsupported("an event that can't be read"), int(found[1]) if found else None)
    envelope = cast("Mapping[str, Any]", fields)
    data_of_event, is_cut = bounded(envelope.get("data"))
    about = as_object(data_of_event)
    number, client = envelope.get("id"), envelope.get("originatorClientId")
    prompt: object = envelope.get("promptId")
    # Nobody allows a part of something.
    event = (
        events.Unsupported("an event with more parts than can be shown")
        if is_cut
        else _safe_event(envelope.get("type"), about)
    )
    if not isinstance(prompt, str):
        # A history from disk has it on the prompt itself; that of 0.21.2 has only the prompt's record id.
        prompt = event.prompt or event.record or None if events.is_prompt(event) else about.get("promptId")
    return Envelope(
        event,
        number if type(number) is int else None,
        prompt if isinstance(prompt, str) else None,
        client if isinstance(client, str) else None,
        _time(envelope, about),
    )


def _time(envelope: Mapping[str, Any], about: Mapping[str, Any]) -> float | None:
    """When an event was sent; one from a history has it with its update, when the agent has written it down."""
    inner = as_object(about.get("update", about))
    for holder, name in ((envelope, "serverTimestamp"), (inner, "serverTimestamp"), (inner, "timestamp")):
        found: object = as_object(holder.get("_meta")).get(name)
        if type(found) in (int, float) and 0 <= cast("float", found) <= MOST:
            return cast("float", found) / 1000
    return None


def _safe_event(kind: object, data: Mapping[str, Any]) -> events.Event:
    try:
        return _event(kind, data)
    except Exception:
        logger.exception("An event could not be decoded")
        return events.Unsupported("an event that can't be read")


def _event(kind: object, data: Mapping[str, Any]) -> events.Event:
    if kind == "session_update":
        # The daemon's pages of history have the update itself for data.
        return decode_update(data.get("update", data))
    if kind == "permission_request":
        return decode_permission(str(data.get("requestId")), data.get("toolCall"), data.get("options"))
    name = str(kind)
    if name in _ENDS:
        return events.Ignored(name, _ENDS[name](data))
    if name in _EVENTS:
        return _EVENTS[name](data) or events.Unsupported(f"an event “{name}” that can't be read")
    return events.Ignored(name) if name in _ASIDE else ignored(f"event {name}", data)


Raw = tuple[str, str]
"""An event that isn't read yet: its kind, and its JSON text. The garbage collector needn't look into it."""

MOST_EVENTS = 200
"""Events of a page of several turns."""
_STATE = frozenset({
    "approval_mode_changed", "available_commands_update", "current_mode_update", "model_switched", "plan",
    "session_info_update", "session_metadata_updated", "usage_update",
})  # fmt: skip
"""Kinds of events that tell what holds from then on."""


class EarlierEvents:
    """The events before a history's last page. See `conversation.events.Earlier`."""

    def __init__(self, events: Sequence[Raw]) -> None:
        self._events = list(events)

    def __bool__(self) -> bool:
        return bool(self._events)

    def take_page(self) -> list[Envelope]:
        """The last page of them, which is taken out."""
        at = page_start(self._events)
        page = [decode(text) for _, text in self._events[at:]]
        del self._events[at:]
        return page


def split(events: Sequence[Raw]) -> tuple[list[Raw], list[Raw]]:
    """A history as the events before its last page, and the last page.

    The page begins with the latest of the earlier events that tell what still holds, such as the list of commands.
    """
    # A rewind counts the turns from the first one.
    at = 0 if any(event[0] == "session_rewound" for event in events) else page_start(events)
    holds = {event[0]: event for event in events[:at] if event[0] in _STATE}
    return list(events[:at]), [*holds.values(), *events[at:]]


def page_start(events: Sequence[Raw]) -> int:
    """Where the last page of some events begins: always with a prompt, except for the first page."""
    turns = 0
    for at in range(len(events) - 1, 0, -1):
        if _is_prompt(events[at]) and not _is_prompt(events[at - 1]):
            turns += 1
            if turns == MOST_TURNS or len(events) - at >= MOST_EVENTS:
                return at
    return 0


def _is_prompt(event: Raw) -> bool:
    return event[0] == "user_message_chunk"


def kind_of(event: Mapping[str, Any]) -> str:
    """The kind of an update, or else the type of the event."""
    if event.get("type") != "session_update":
        return str(event.get("type"))
    data = as_object(event.get("data"))
    # The daemon's pages of history have the update itself for data.
    return str(as_object(data.get("update", data)).get("sessionUpdate"))


M = TypeVar("M", bound=Wire)
EFFORT = "reasoning_effort"
"""The option of a session that says how long the model thinks."""


def read(model: type[M], answer: Mapping[str, Any]) -> M:
    """An answer as a value.

    Raises:
        RefusedError: it isn't one.
    """
    if (found := wire.read(model, answer)) is None:
        raise RefusedError(HTTPStatus.OK, "its answer can't be read")
    return found


class _Workspace(Wire):
    cwd: str


class Capabilities(Wire):
    """What the daemon is and can do."""

    version: Text = Field(default="", alias="qwenCodeVersion")
    """For the person. The features say what the daemon can do."""
    features: frozenset[str]
    workspace_cwd: str
    workspaces: tuple[_Workspace, ...] = ()
    """Empty while the daemon boots."""

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders that it works in."""
        return tuple(dict.fromkeys([self.workspace_cwd, *(workspace.cwd for workspace in self.workspaces)]))

    def folder(self, folder: str) -> str | None:
        """A folder as the daemon calls it; None if it works elsewhere."""
        wanted = _real(folder)
        return next((served for served in self.folders if _real(served) == wanted), None)


def _real(folder: str) -> str:
    return os.path.normcase(os.path.realpath(folder))


class _State(Wire):
    """The models, the modes and the options of a session."""

    models: Offered = Field(default=OfferedChoices(), validation_alias=AliasPath("state", "models"))
    modes: Offered = Field(default=OfferedChoices(), validation_alias=AliasPath("state", "modes"))
    options: ConfigOptions = Field(default=(), validation_alias=AliasPath("state", "configOptions"))


def choices(answer: Mapping[str, Any]) -> Choices:
    """What `/context` says of the models and the modes."""
    state = read(_State, answer)
    effort = next((each for each in state.options if each.id == EFFORT), ConfigOption(id=EFFORT))
    return Choices(
        state.models.current,
        state.modes.current,
        choices_of(state.models.available),
        choices_of(state.modes.available),
        as_text(effort.current),
        choices_of(effort.values),
    )


class EventCursor(Wire):
    """How far the events of a session have been read: the id of the last one, and the bus that counts them."""

    id: int = Field(validation_alias="lastEventId")
    epoch: str = Field(default="", validation_alias="eventEpoch")


_HISTORIES = {"compactedReplay", "liveJournal"}


def keep(name: str, item: object, text: str) -> object:
    """What to keep of a list's item in an answer of `/load`: the events of a history stay as they came."""
    if name not in _HISTORIES:
        return item
    return (kind_of(cast("Mapping[str, Any]", item)), text) if isinstance(item, dict) else None


def _raw(value: object) -> list[Raw]:
    return [cast("Raw", item) for item in as_list(value) if isinstance(item, tuple)]


def history(answer: Mapping[str, Any], queue: tuple[Queued, ...], *, has_pages: bool) -> Replay:
    """The conversation in an answer of `/load`. `has_pages`: whether the daemon gives what it leaves out as pages."""
    settled, journal = _raw(answer.get("compactedReplay")), _raw(answer.get("liveJournal"))
    has_more = bool(answer.get("historyHasMore"))
    if has_pages and settled and settled[0][0] == "history_truncated":
        settled, has_more = settled[1:], True
    before, page = split([*settled, *journal])
    return Replay(
        tuple(decode(text) for _, text in page),
        answer.get("hasActivePrompt") is True,
        queue,
        EarlierEvents(before),
        has_more=has_pages and has_more,
    )


def page(answer: Mapping[str, Any]) -> tuple[list[Envelope], bool]:
    """The events of a page of a transcript, and whether there are older ones."""
    return list(map(decode, objects(answer.get("events")))), bool(answer.get("hasMore"))


def index(answer: Mapping[str, Any]) -> tuple[str, int, dict[str, str]]:
    """A page of the index of turns: what names the index, its first turn's number, and the records by their prompts."""
    turns = {as_text(turn.get("promptId")): as_text(turn.get("turnId")) for turn in objects(answer.get("turns"))}
    return as_text(answer.get("snapshot")), count(answer.get("start")), turns


def pending(answer: Mapping[str, Any]) -> list[tuple[Queued, str]]:
    """The prompts that run or wait, each with its state."""
    found: list[tuple[Queued, str]] = []
    for each in objects(answer.get("pendingPrompts")):
        if isinstance(prompt := each.get("promptId"), str):
            client = as_text(each.get("originatorClientId")) or None
            found.append((Queued(prompt, as_text(each.get("text")), client), as_text(each.get("state"))))
    return found


def injected(answer: Mapping[str, Any]) -> set[str]:
    """The ids of the messages that were sent into turns: those that wait, are through, or have become prompts."""
    waiting = texts([message.get("messageId") for message in objects(answer.get("messages"))])
    return {*waiting, *texts(answer.get("settledMessageIds")), *texts(answer.get("promotedMessageIds"))}


class _Usage(Wire):
    used: int = Field(validation_alias=AliasPath("usage", "totalTokens"))
    size: int = Field(validation_alias=AliasPath("usage", "contextWindowSize"))


def window(answer: Mapping[str, Any]) -> ContextWindow:
    """The use of the context window."""
    usage = read(_Usage, answer)
    return ContextWindow(usage.size, usage.used)


class _Task(Wire):
    id: str
    kind: str
    label: Text = ""
    description: Text = ""
    status: Text = ""
    start_time: Number = 0.0
    end_time: Number = 0.0
    command: Text = ""
    prompt: Text = ""
    output_file: Text = ""
    error: Text = ""
    tokens: Number = Field(default=0.0, validation_alias=AliasPath("stats", "totalTokens"))
    is_backgrounded: bool = True

    def task(self) -> Task:
        return Task(
            self.id,
            self.kind,
            self.label or self.description or self.id,
            self.status,
            self.start_time / 1000,
            (self.end_time - self.start_time) / 1000 if self.end_time else None,
            self.command or self.prompt or self.description,
            self.output_file,
            self.error,
            int(self.tokens),
            self.is_backgrounded,
        )


def tasks(answer: Mapping[str, Any]) -> tuple[Task, ...]:
    """The tasks of a session."""
    return tuple(each.task() for each in several(_Task)(answer.get("tasks")))


USUAL_INTERVAL = 5.0
"""Seconds between two questions, if the daemon doesn't say."""


class _Flow(Wire):
    id: str = Field(alias="deviceFlowId")
    provider: ShortText = Field(default="", alias="providerId")
    status: ShortText = ""
    user_code: ShortText = ""
    verification_uri: ShortText = ""
    verification_uri_complete: ShortText = ""
    expires_at: Number = 0.0
    interval_ms: Number = 0.0
    hint: ShortText = ""
    error_kind: ShortText = ""


def sign_in(answer: Mapping[str, Any]) -> SigningIn:
    """How far a sign-in with a code is."""
    flow = read(_Flow, answer)
    page = flow.verification_uri_complete or flow.verification_uri
    state: Literal["pending", "authorized", "failed"] = (
        "pending" if flow.status == "pending" else "authorized" if flow.status == "authorized" else "failed"
    )
    why = flow.hint or flow.error_kind.replace("_", " ") or flow.status
    return SigningIn(
        flow.id,
        flow.provider,
        state,
        flow.user_code,
        page if page.startswith(("https://", "http://")) else "",
        flow.expires_at / 1000,
        flow.interval_ms / 1000 or USUAL_INTERVAL,
        why if state == "failed" else "",
    )
