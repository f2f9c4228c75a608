"""What an agent says, as events that name no transport. Decoders make them; the conversation applies them.

The names are those of the Agent Client Protocol where it has one. Standard library alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeGuard

from .failures import ChatError
from .forms import Form
from .snapshot import (
    Attachment,
    ChatNotice,
    Cost,
    PermissionOption,
    Question,
    Queued,
    Speaker,
)

# Messages


@dataclass(frozen=True, slots=True)
class Aside:
    """What marks a message of its own, in the middle of what streams."""

    name: str
    """Pieces with the same name belong to one message."""
    is_spoken: bool = False
    """Whether somebody says it; otherwise it is news of a task."""
    task: str | None = None
    """The task that it is about."""
    ids: tuple[str, ...] = ()
    """Raw ids that its text may hold."""


@dataclass(frozen=True, slots=True)
class MessageChunk:
    """A piece of somebody's message. The person may have asked in this client or in another."""

    speaker: Speaker
    text: str = ""
    attachment: Attachment | None = None
    unshown: str = ""
    """The kind of what can't be shown."""
    prompt: str = ""
    """The prompt that it belongs to, if the message itself says that."""
    record: str = ""
    """What the history on disk calls the message."""
    parent: str | None = None
    """The tool call of the sub-agent that says it."""
    usage: Cost | None = None
    """It ends a call of the model that has used this."""
    aside: Aside | None = None
    message: str = ""
    """The agent's id of the message; another one begins a paragraph of its own."""


@dataclass(frozen=True, slots=True)
class MessagesInjected:
    """Messages that were sent into the turn have reached the model."""

    messages: tuple[str, ...]
    prompts: tuple[str, ...] = ()
    """Their ids, as far as they are told."""


@dataclass(frozen=True, slots=True)
class Unsupported:
    """Something that should be shown but can't be: a notice says so, once."""

    what: str
    """What it was, in words that end a sentence: "a permission request that can't be read"."""


@dataclass(frozen=True, slots=True)
class Ignored:
    """An event of no interest to a conversation, or an unknown one."""

    kind: str
    error: ChatError | None = None
    """What it means for whoever follows the events: they end here. In a history it means nothing."""


# Tool calls and permissions


@dataclass(frozen=True, slots=True)
class ToolCallUpdate:
    """A tool call, or what has changed about it."""

    id: str
    changes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Fields of `snapshot.Tool`. One that isn't there stays as it is."""


@dataclass(frozen=True, slots=True)
class PermissionRequest:
    """The agent asks for a permission, or asks questions, and waits for the answer."""

    id: str
    tool_call: ToolCallUpdate
    options: tuple[PermissionOption, ...]
    questions: tuple[Question, ...] = ()
    form: Form | None = None
    title: str = ""
    """What is asked; empty if the tool call's title says it."""


@dataclass(frozen=True, slots=True)
class PermissionResolved:
    """A permission request is answered, here or elsewhere."""

    id: str
    is_selected: bool
    """False if it was cancelled."""
    option: str | None = None
    """The id of the chosen option."""
    voter: str | None = None
    """The client that has answered, if a client has."""


# The turn


@dataclass(frozen=True, slots=True)
class TurnCompleted:
    """A turn is over."""

    stop_reason: str = ""
    """end_turn, cancelled, max_tokens and others."""


@dataclass(frozen=True, slots=True)
class TurnFailed:
    """A turn has ended with an error."""

    message: str = ""


@dataclass(frozen=True, slots=True)
class SignInRequired:
    """A turn waits until the person has signed in. An empty message: it goes on."""

    message: str = ""


@dataclass(frozen=True, slots=True)
class CancelRequested:
    """A person has asked the turn to end; it hasn't ended yet."""


@dataclass(frozen=True, slots=True)
class PromptDequeued:
    """A queued prompt has started, is done, or has been removed."""

    prompt: str
    is_removed: bool = False
    """Whether it was removed, so that it never starts."""


# The session


@dataclass(frozen=True, slots=True)
class StatusUpdate:
    """The plan has changed, the mode, the commands, or something else of the session."""

    changes: Mapping[str, Any]
    """Fields of `snapshot.Status`."""


@dataclass(frozen=True, slots=True)
class Rewound:
    """The conversation was rewound to an earlier prompt, as if that and the later ones had never been asked."""

    index: int
    """Which of the prompts that the model was asked it is, from 0."""


Event = (
    MessageChunk
    | MessagesInjected
    | ChatNotice
    | Unsupported
    | Ignored
    | ToolCallUpdate
    | PermissionRequest
    | PermissionResolved
    | TurnCompleted
    | TurnFailed
    | CancelRequested
    | SignInRequired
    | Queued
    | PromptDequeued
    | StatusUpdate
    | Rewound
)


def is_prompt(event: Event) -> TypeGuard[MessageChunk]:
    """Whether an event is a piece of what the person has asked."""
    return isinstance(event, MessageChunk) and event.speaker == "user"


@dataclass(frozen=True, slots=True)
class Envelope:
    """An event, and where it belongs."""

    event: Event
    id: int | None = None
    """Where an agent numbers what happens in a session: its number. What is about the stream has none."""
    prompt: str | None = None
    """The prompt whose turn it belongs to."""
    client: str | None = None
    """The client that caused it."""
    time: float | None = None
    """When it was sent, in seconds since 1970 by the agent's clock."""


MOST_TURNS = 20
"""Turns of a page."""


class Earlier(Protocol):
    """The events before those of a history, which nobody has looked at yet."""

    def __bool__(self) -> bool:
        """Whether there are any."""
        ...

    def take_page(self) -> list[Envelope]:
        """The last page of them, which is taken out."""
        ...


@dataclass(frozen=True, slots=True)
class Replay:
    """A whole conversation."""

    envelopes: tuple[Envelope, ...]
    is_running: bool = False
    """Whether a turn runs."""
    queue: tuple[Queued, ...] = ()
    before: Earlier | None = None
    """The events before those."""
    has_more: bool = False
    """Whether there are still older ones, which have to be asked for."""
    is_silent: bool = False
    """Whether the agent goes on with the conversation, but doesn't tell what was said in it."""


@dataclass(frozen=True, slots=True)
class Oldest:
    """The oldest turn that a conversation has, which what is older comes before."""

    prompt: str
    record: str
    """What the history on disk calls its beginning; empty if that isn't known."""
