"""The agent protocol's own objects: `update`, `toolCall` and `options`, independent of the transport.

`qwen serve` sends them inside its events, `qwen --acp` and other agents as JSON-RPC on stdio
(docs/protocols/acp.md#updates). What an object holds beyond these models is left out; an object that doesn't fit its
model is `Unsupported`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, cast

from pydantic import BeforeValidator, Discriminator, Field, Tag

from .parts import Count, Line, Object, Text, Unknown, Unsupported, Wire, as_object, read, shallow, shallow_object

# Content


class TextContent(Wire):
    """A piece of text."""

    text: str


class LinkContent(Wire):
    """A file or another resource by its name."""

    uri: str
    name: str = ""


class _Resource(Wire):
    uri: str


class ResourceContent(Wire):
    """A resource with its text, for example the selection or an unsaved file."""

    resource: _Resource


class OtherContent(Wire):
    """A picture, a sound or something newer."""

    type: str = "something"


def _content_kind(value: Any) -> str:
    kind = as_object(value).get("type")
    return kind if kind in {"text", "resource_link", "resource"} else "other"


Content = Annotated[
    Annotated[TextContent, Tag("text")]
    | Annotated[LinkContent, Tag("resource_link")]
    | Annotated[ResourceContent, Tag("resource")]
    | Annotated[OtherContent, Tag("other")],
    Discriminator(_content_kind),
]


# Tool calls


class ToolText(Wire):
    """What a tool says."""

    content: Content


class ToolDiff(Wire):
    """A change of a file; before it is written in a permission request, afterwards in an update."""

    path: str
    old_text: Text = ""
    """Empty for a new file."""
    new_text: str


class ToolOther(Wire):
    """Something else that a tool has to show."""

    type: str = "something"


def _tool_content_kind(value: Any) -> str:
    kind = as_object(value).get("type")
    return kind if kind in {"content", "diff"} else "other"


ToolContent = Annotated[
    Annotated[ToolText, Tag("content")] | Annotated[ToolDiff, Tag("diff")] | Annotated[ToolOther, Tag("other")],
    Discriminator(_tool_content_kind),
]


class Location(Wire):
    """A place in a file on the agent's machine."""

    path: str
    line: Line = None


class _ToolMeta(Wire):
    tool_name: Text = ""
    parent_tool_call_id: str | None = None


class ToolUpdate(Wire):
    """A tool call, or what has changed about it: a field that is None says nothing."""

    tool_call_id: str
    title: str | None = None
    kind: str | None = None
    status: str | None = None
    """pending, in_progress, completed or failed."""
    content: tuple[ToolContent, ...] | None = None
    locations: tuple[Location, ...] | None = None
    raw_input: Annotated[dict[str, Any], BeforeValidator(shallow_object)] = Field(default_factory=dict)
    """The arguments as the model gave them."""
    raw_output: Annotated[Any, BeforeValidator(shallow)] = None
    running_terminals: tuple[str, ...] | None = None
    """Our own addition: the ids of its terminals that run."""
    meta: Annotated[_ToolMeta, BeforeValidator(as_object), Field(alias="_meta")] = _ToolMeta()


class ToolStart(ToolUpdate):
    """The first event of a tool call. Its arguments may still be missing."""


# What an agent says


class ChunkMeta(Wire):
    """What is said about a piece of a message."""

    prompt_id: str | None = None
    record_id: str | None = Field(default=None, alias="qwen.session.recordId")
    """What the history on disk calls the message."""
    usage: Object = Field(default_factory=dict)
    parent_tool_call_id: str | None = None
    is_discrete: bool = Field(default=False, alias="qwenDiscreteMessage")
    """Whether the piece is a message of its own, in the middle of what streams."""
    source: Text = ""
    """What a message of its own is about."""
    background_task: Object = Field(default_factory=dict)


class Chunk(Wire):
    """A piece of somebody's message."""

    content: Content
    meta: Annotated[ChunkMeta, BeforeValidator(as_object), Field(alias="_meta")] = ChunkMeta()


class UserChunk(Chunk):
    """What the person has asked, in this client or in another."""


class AnswerChunk(Chunk):
    """A piece of the answer. An empty one with a usage ends a call of the model."""


class ThoughtChunk(Chunk):
    """A piece of the model's thoughts."""


class PlanEntry(Wire):
    """A line of the agent's to-do list."""

    content: str
    status: str = "pending"
    """pending, in_progress or completed."""
    priority: str = ""


class PlanUpdate(Wire):
    """The to-do list, whole."""

    entries: tuple[PlanEntry, ...]


class _CommandInput(Wire):
    hint: Text = ""


class SlashCommand(Wire):
    """A command that a prompt may begin with, after a slash."""

    name: str
    description: Text = ""
    input: Annotated[_CommandInput, BeforeValidator(as_object)] = _CommandInput()


class CommandsUpdate(Wire):
    """All slash commands."""

    available_commands: tuple[SlashCommand, ...]


class UsageUpdate(Wire):
    """How full the context window is, in tokens."""

    size: Count
    used: Count


class ModeUpdate(Wire):
    """The mode has changed."""

    current_mode_id: str


class InfoUpdate(Wire):
    """The session has got a title."""

    title: Text = ""


class ShellChunk(Wire):
    """Output of a command that the person has run through the agent."""

    output: str


Update = (
    UserChunk
    | AnswerChunk
    | ThoughtChunk
    | ToolStart
    | ToolUpdate
    | PlanUpdate
    | CommandsUpdate
    | UsageUpdate
    | ModeUpdate
    | InfoUpdate
    | ShellChunk
    | Unknown
    | Unsupported
)

_UPDATES: Mapping[str, tuple[type[Wire], str]] = {
    "user_message_chunk": (UserChunk, "a piece of a prompt"),
    "agent_message_chunk": (AnswerChunk, "a piece of the answer"),
    "agent_thought_chunk": (ThoughtChunk, "a thought"),
    "tool_call": (ToolStart, "a tool call"),
    "tool_call_update": (ToolUpdate, "news of a tool call"),
    "plan": (PlanUpdate, "a plan"),
    "available_commands_update": (CommandsUpdate, "the list of commands"),
    "usage_update": (UsageUpdate, "the use of the context window"),
    "current_mode_update": (ModeUpdate, "a change of the mode"),
    "session_info_update": (InfoUpdate, "a title"),
    "shell_output": (ShellChunk, "the output of a command"),
}


def read_update(value: object) -> Update:
    """Read an `update` object."""
    fields = as_object(value)
    kind = fields.get("sessionUpdate")
    if not isinstance(kind, str) or kind not in _UPDATES:
        return Unknown(kind=f"update {kind}", keys=tuple(fields))
    model, what = _UPDATES[kind]
    return cast("Update", read(model, fields, what))


# What can be chosen


class ModelChoice(Wire):
    """A model that can be switched to."""

    id: str = Field(alias="modelId")
    name: Text = ""
    description: Text = ""


class ModeChoice(Wire):
    """A mode that can be switched to."""

    id: str
    name: Text = ""
    description: Text = ""


class OptionValue(Wire):
    """A value that an option can have."""

    value: str
    name: Text = ""
    description: Text = ""


# Permissions


class PermissionOption(Wire):
    """One way to answer. Its kind says what it means, never its id or its name."""

    option_id: str
    name: str
    kind: str
    """allow_once, allow_always, reject_once, reject_always, or something newer."""


class QuestionOption(Wire):
    """A proposed answer to a question."""

    label: str
    description: Text = ""


class Question(Wire):
    """A question that the agent asks the person."""

    question: str
    header: Text = ""
    multi_select: bool = False
    options: tuple[QuestionOption, ...] = ()


class PermissionRequest(Wire):
    """The agent asks for a permission, or asks questions, and waits for the answer."""

    request_id: str
    tool_call: ToolUpdate
    options: tuple[PermissionOption, ...]
    questions: tuple[Question, ...] = ()


def read_permission(request_id: str, tool_call: object, options: object) -> PermissionRequest | Unsupported:
    """Read a permission request. `request_id` is the transport's."""
    what = "a question that can't be read: answer it in another client"
    call = as_object(tool_call)
    fields: dict[str, Any] = {"requestId": request_id, "toolCall": call, "options": options}
    for place in ("_meta", "qwenQuestions"), ("rawInput", "questions"):
        asked: object = as_object(call.get(place[0])).get(place[1])
        if asked:
            fields["questions"] = asked
            break
    return read(PermissionRequest, fields, what)


class Outcome(Wire):
    """How a request for a permission ended."""

    outcome: str
    """selected or cancelled."""
    option_id: str | None = None
