"""Decodes the events of `qwen serve`: envelopes around the agent's objects (docs/protocols/qwen-serve.md#events)."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from typing import Any, cast

from ... import json_text
from ...conversation import events
from ...conversation.events import Envelope
from ...conversation.failures import ChatError, SessionEndedError, StaleError, StreamLostError
from ...conversation.snapshot import ChatNotice, Queued
from ...json_text import as_object, as_text
from ..updates import decode_permission, decode_update, ignored
from ..wire import MOST, bounded, texts
from .errors import ClosedError

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
    "pending_prompt_completed": _with("promptId", events.PromptDequeued),
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
