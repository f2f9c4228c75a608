"""Decodes the events of `qwen serve`: envelopes around the agent's objects (docs/protocols/qwen-serve.md#events)."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, cast

from pydantic import BeforeValidator

from ... import json_text
from ...conversation import events
from ...conversation.events import Envelope
from ..updates import decode_permission, decode_update, ignored
from ..wire import MOST, Count, Text, Wire, as_object, bounded, read, texts

logger = logging.getLogger(__name__)


class _Prompt(Wire):
    prompt_id: str
    text: Text = ""


class _Injected(Wire):
    messages: Annotated[tuple[str, ...], BeforeValidator(texts)] = ()
    message_ids: Annotated[tuple[str, ...], BeforeValidator(texts)] = ()


class _Outcome(Wire):
    outcome: str
    option_id: str | None = None


class _Resolved(Wire):
    request_id: str
    outcome: _Outcome
    voter_client_id: str | None = None


class _Ended(Wire):
    """Why something has ended."""

    stop_reason: Text = ""
    message: Text = ""
    reason: Text = ""
    error: Text = ""


class _Closed(Wire):
    closed_by: str | None = None


class _Model(Wire):
    model_id: str


class _ModelStays(Wire):
    requested_model_id: Text = ""
    error: Text = ""


class _Mode(Wire):
    next: str


class _Snapshot(Wire):
    current_model_id: str | None = None
    current_approval_mode: str | None = None


class _Renamed(Wire):
    display_name: Text = ""


class _Rewound(Wire):
    target_turn_index: Count


class _Command(Wire):
    command: str


class _CommandEnded(Wire):
    exit_code: int | None = None


class _Suggestion(Wire):
    suggestion: str


def _resolved(resolved: _Resolved) -> events.Event:
    outcome = resolved.outcome
    is_selected = outcome.outcome == "selected"
    return events.PermissionResolved(resolved.request_id, is_selected, outcome.option_id, resolved.voter_client_id)


def _cancelled(cancelled: _Ended) -> events.Event:
    # With a reason, no person has asked for it: an error follows.
    return events.Ignored("prompt_cancelled") if cancelled.reason else events.CancelRequested()


def _model_stays(failed: _ModelStays) -> events.Event:
    model = failed.requested_model_id or "another model"
    return events.Announcement(f"The model could not be switched to {model}: {failed.error}".rstrip(": ") + ".")


def _now(now: _Snapshot) -> events.Event:
    told = {"mode": now.current_approval_mode, "model": now.current_model_id}
    return events.StatusUpdate({name: value for name, value in told.items() if value})


def _renamed(renamed: _Renamed) -> events.Event:
    return events.StatusUpdate({"title": renamed.display_name} if renamed.display_name else {})


def _command_ended(ended: _CommandEnded) -> events.Event:
    if ended.exit_code:
        return events.Announcement(f"The command has ended with {ended.exit_code}.")
    return events.Ignored("user_shell_result")


_EVENTS: Mapping[str, tuple[type[Wire], Callable[[Any], events.Event]]] = {
    "permission_resolved": (_Resolved, _resolved),
    "permission_already_resolved": (_Resolved, _resolved),
    "permission_forbidden": (
        Wire,
        lambda _: events.Unsupported("a vote: the daemon's policy doesn't let this client answer"),
    ),
    "turn_complete": (_Ended, lambda ended: events.TurnCompleted(ended.stop_reason)),
    "turn_error": (_Ended, lambda ended: events.TurnFailed(ended.message)),
    "prompt_cancelled": (_Ended, _cancelled),
    "pending_prompt_added": (_Prompt, lambda prompt: events.PromptQueued(prompt.prompt_id, prompt.text)),
    "pending_prompt_started": (_Prompt, lambda prompt: events.PromptDequeued(prompt.prompt_id)),
    "pending_prompt_completed": (_Prompt, lambda prompt: events.PromptDequeued(prompt.prompt_id)),
    "mid_turn_message_injected": (
        _Injected,
        lambda injected: events.MessagesInjected(injected.messages, injected.message_ids),
    ),
    "model_switched": (_Model, lambda switched: events.StatusUpdate({"model": switched.model_id})),
    "model_switch_failed": (_ModelStays, _model_stays),
    "approval_mode_changed": (_Mode, lambda changed: events.StatusUpdate({"mode": changed.next})),
    "session_snapshot": (_Snapshot, _now),
    "session_metadata_updated": (_Renamed, _renamed),
    "session_died": (_Ended, lambda _: events.SessionDied()),
    "session_closed": (_Closed, lambda closed: events.SessionClosed(closed.closed_by)),
    "session_recording_degraded": (
        Wire,
        lambda _: events.Announcement("The agent can't write this conversation to disk: it can't be resumed later."),
    ),
    "session_rewound": (_Rewound, lambda rewound: events.Rewound(rewound.target_turn_index)),
    "user_shell_command": (_Command, lambda shell: events.MessageChunk("shell", f"$ {shell.command}\n")),
    "user_shell_result": (_CommandEnded, _command_ended),
    "followup_suggestion": (_Suggestion, lambda suggested: events.StatusUpdate({"suggestion": suggested.suggestion})),
    "state_resync_required": (_Ended, lambda _: events.ResyncRequired()),
    "history_truncated": (
        Wire,
        lambda _: events.Announcement("What came before is left out here; an export has it."),
    ),
    "client_evicted": (
        _Ended,
        lambda _: events.StreamEnded("The daemon has dropped this client because it was too slow."),
    ),
    "stream_error": (
        _Ended,
        lambda ended: events.StreamEnded(f"The daemon has ended the stream: {ended.error or 'it does not say why'}."),
    ),
}
"""By kind: its model, and how it becomes an event."""

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
    if name in _EVENTS:
        model, event = _EVENTS[name]
        found = read(model, data)
        return events.Unsupported(f"an event “{name}” that can't be read") if found is None else event(found)
    return events.Ignored(name) if name in _ASIDE else ignored(f"event {name}", data)
