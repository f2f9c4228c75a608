"""The daemon's events (docs/protocols/qwen-serve.md#events): an envelope around the agent's own objects."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, cast

from pydantic import BeforeValidator

from . import agent, parts
from .agent import Outcome, PermissionRequest, Update
from .parts import Text, Unknown, Unsupported, Wire
from .snapshot import Choices

# The turn


class TurnCompleted(Wire):
    """A turn is over."""

    stop_reason: Text = ""
    """end_turn, cancelled, max_tokens and others."""


class TurnFailed(Wire):
    """A turn has ended with an error."""

    message: Text = ""


class CancelRequested(Wire):
    """Somebody has asked the turn to end; it hasn't ended yet."""

    reason: Text = ""


class PromptQueued(Wire):
    """A prompt waits for the running turn to end."""

    prompt_id: str
    text: Text = ""


class PromptStarted(Wire):
    """A queued prompt has started."""

    prompt_id: str


class PromptDequeued(Wire):
    """A queued prompt is done, or has been removed."""

    prompt_id: str
    state: Text = ""


def _texts(value: object) -> object:
    return [item for item in cast("list[object]", value) if isinstance(item, str)] if isinstance(value, list) else []


class MessagesInjected(Wire):
    """Messages that were sent into the turn have reached the model."""

    messages: Annotated[tuple[str, ...], BeforeValidator(_texts)] = ()


# Permissions


class PermissionResolved(Wire):
    """A permission request is answered, here or elsewhere."""

    request_id: str
    outcome: Outcome
    voter_client_id: str | None = None


# The session


class ModelSwitched(Wire):
    """The model has changed."""

    model_id: str


class ModelSwitchFailed(Wire):
    """The model stays."""

    requested_model_id: Text = ""
    error: Text = ""


class ApprovalModeChanged(Wire):
    """The approval mode has changed."""

    next: str


class SessionSnapshot(Wire):
    """Model and mode as they are."""

    current_model_id: str | None = None
    current_approval_mode: str | None = None


@dataclass(frozen=True, slots=True)
class ChoicesChanged:
    """What the session can switch, as it is now."""

    choices: Choices


class SessionRenamed(Wire):
    """The session's data have changed."""

    display_name: Text = ""


class SessionDied(Wire):
    """The agent's process has ended."""

    reason: Text = ""
    signal_code: Text = ""


class SessionClosed(Wire):
    """A client has closed the session."""

    reason: Text = ""
    closed_by: str | None = None


class SettingChanged(Wire):
    """A setting of the user has changed on the daemon's machine; a switch of the model does that."""

    key: str


class RecordingDegraded(Wire):
    """The session can no longer be written to disk."""


class Rewound(Wire):
    """The conversation was rewound to an earlier prompt, as if that and the later ones had never been asked."""

    target_turn_index: int
    """Which of the prompts that the model was asked it is, from 0."""


class ShellStarted(Wire):
    """A client runs a shell command in the session."""

    command: str


class ShellEnded(Wire):
    """It has ended."""

    exit_code: int | None = None
    output: Text = ""


class Suggestion(Wire):
    """A suggestion for the next prompt."""

    suggestion: str


# The stream


class ResyncRequired(Wire):
    """Events are missing: the conversation must be rebuilt."""

    reason: Text = ""


class ReplayComplete(Wire):
    """From now on events are live."""


class HistoryTruncated(Wire):
    """The beginning is left out."""


class SlowClientWarning(Wire):
    """The daemon's queue for this client is nearly full."""


class ClientEvicted(Wire):
    """The daemon ends the stream, not the session."""

    reason: Text = ""


class StreamFailed(Wire):
    """The daemon ends the stream because of an error."""

    error: Text = ""


class Aside(Wire):
    """A known event of no interest to the conversation, for example that a skill has changed."""

    type: str


Event = (
    Update
    | PermissionRequest
    | PermissionResolved
    | TurnCompleted
    | TurnFailed
    | CancelRequested
    | PromptQueued
    | PromptStarted
    | PromptDequeued
    | MessagesInjected
    | ModelSwitched
    | ModelSwitchFailed
    | ApprovalModeChanged
    | SessionSnapshot
    | ChoicesChanged
    | SessionRenamed
    | SessionDied
    | SessionClosed
    | SettingChanged
    | RecordingDegraded
    | Rewound
    | ShellStarted
    | ShellEnded
    | Suggestion
    | ResyncRequired
    | ReplayComplete
    | HistoryTruncated
    | SlowClientWarning
    | ClientEvicted
    | StreamFailed
    | Aside
)

_MODELS: Mapping[str, type[Wire]] = {
    "permission_resolved": PermissionResolved,
    "permission_already_resolved": PermissionResolved,
    "turn_complete": TurnCompleted,
    "turn_error": TurnFailed,
    "prompt_cancelled": CancelRequested,
    "pending_prompt_added": PromptQueued,
    "pending_prompt_started": PromptStarted,
    "pending_prompt_completed": PromptDequeued,
    "mid_turn_message_injected": MessagesInjected,
    "model_switched": ModelSwitched,
    "model_switch_failed": ModelSwitchFailed,
    "approval_mode_changed": ApprovalModeChanged,
    "session_snapshot": SessionSnapshot,
    "session_metadata_updated": SessionRenamed,
    "session_died": SessionDied,
    "session_closed": SessionClosed,
    "settings_changed": SettingChanged,
    "session_recording_degraded": RecordingDegraded,
    "session_rewound": Rewound,
    "user_shell_command": ShellStarted,
    "user_shell_result": ShellEnded,
    "followup_suggestion": Suggestion,
    "state_resync_required": ResyncRequired,
    "replay_complete": ReplayComplete,
    "history_truncated": HistoryTruncated,
    "slow_client_warning": SlowClientWarning,
    "client_evicted": ClientEvicted,
    "stream_error": StreamFailed,
}

_ASIDE = frozenset({
    "permission_partial_vote", "session_branched", "session_cwd_changed", "artifact_changed", "source_changed",
    "settings_reloaded", "trust_change_requested", "workspace_initialized", "github_setup_completed", "tool_toggled",
    "extensions_changed", "memory_changed", "agent_changed", "mcp_budget_warning", "mcp_child_refused_batch",
    "mcp_server_added", "mcp_server_removed", "mcp_server_changed", "mcp_server_restarted",
    "mcp_server_restart_refused", "auth_device_flow_started", "auth_device_flow_throttled",
    "auth_device_flow_authorized", "auth_device_flow_failed", "auth_device_flow_cancelled", "git_branch_changed",
    "git_status_changed", "channel_delivery_result",
})  # fmt: skip
"""Known to 0.24.4 and of no interest to a conversation."""

_UNSUPPORTED: Mapping[str, str] = {
    "permission_forbidden": "a vote: the daemon's policy doesn't let this client answer",
}


_ID = re.compile(r'"id":\s*(\d{1,15})\s*[,}]')
_HEAD = 200
"""Characters of an event that can't be read in which its id is looked for."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """One event with what the daemon says about it."""

    event: Event
    id: int | None = None
    """Counts from 1 in each session, without a gap; None for what is about the stream."""
    prompt: str | None = None
    """The prompt whose turn it belongs to."""
    client: str | None = None
    """The client that caused it."""
    time: float | None = None
    """When it was sent, in seconds since 1970 by the daemon's clock."""


def read_envelope(data: str | Mapping[str, Any]) -> Envelope:
    """Read the data of a server-sent event, or one entry of a session's history. Never raises."""
    try:
        fields: object = json.loads(data) if isinstance(data, str) else data
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, Mapping):
        found = _ID.search(data, 0, _HEAD) if isinstance(data, str) else None
        return Envelope(Unsupported(what="an event that can't be read"), int(found[1]) if found else None)
    envelope = cast("Mapping[str, Any]", fields)
    inner = envelope.get("data")
    about = cast("Mapping[str, Any]", inner if isinstance(inner, dict) else {})
    number, client = envelope.get("id"), envelope.get("originatorClientId")
    prompt: object = envelope.get("promptId")
    event = _event(envelope.get("type"), about)
    if not isinstance(prompt, str):
        # A history from disk has it on the prompt itself; that of 0.21.2 has only the prompt's record id.
        if isinstance(event, agent.UserChunk):
            prompt = event.meta.prompt_id or event.meta.record_id
        else:
            prompt = about.get("promptId")
    return Envelope(
        event,
        number if type(number) is int else None,
        prompt if isinstance(prompt, str) else None,
        client if isinstance(client, str) else None,
        _time(envelope, about),
    )


def _time(envelope: Mapping[str, Any], about: Mapping[str, Any]) -> float | None:
    """When an event was sent; one from a history has it with its update, when the agent has written it down."""
    update: object = about.get("update", about)
    inner = cast("Mapping[str, object]", update if isinstance(update, dict) else {})
    for holder, name in ((envelope, "serverTimestamp"), (inner, "serverTimestamp"), (inner, "timestamp")):
        meta: object = holder.get("_meta")
        found = cast("Mapping[str, object]", meta).get(name) if isinstance(meta, dict) else None
        if isinstance(found, int | float):
            return found / 1000
    return None


def _event(kind: object, data: Mapping[str, Any]) -> Event:
    if kind == "session_update":
        # The daemon's pages of history have the update itself for data.
        return agent.read_update(data.get("update", data))
    if kind == "permission_request":
        return agent.read_permission(str(data.get("requestId")), data.get("toolCall"), data.get("options"))
    name = str(kind)
    if model := _MODELS.get(name):
        return cast("Event", parts.read(model, data, f"an event “{name}” that can't be read"))
    if what := _UNSUPPORTED.get(name):
        return Unsupported(what=what)
    return Aside(type=name) if name in _ASIDE else Unknown(kind=f"event {name}", keys=tuple(data))
