"""Decodes the objects of the Agent Client Protocol that an agent sends, whatever carries them, into events.

An agent on stdio sends them as JSON-RPC (docs/protocols/acp.md#updates), and `qwen serve` in its own envelopes. What an
object holds beyond these models is left out. One that doesn't fit its model becomes `Unsupported`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, cast

from pydantic import BeforeValidator, Discriminator, Field, Tag

from ..conversation import events
from ..conversation.snapshot import Command, ContextWindow, Diff, Location, PermissionOption, Question, Step
from .wire import (
    MOST,
    MOST_SHORT,
    Count,
    Line,
    Object,
    Short,
    ShortText,
    Text,
    Wire,
    as_id,
    as_list,
    as_object,
    as_text,
    objects,
    one_line,
    read,
    several,
    shallow,
    shallow_object,
)


class _TextBlock(Wire):
    text: str


class _LinkBlock(Wire):
    uri: str
    name: str = ""


class _Named(Wire):
    uri: str


class _ResourceBlock(Wire):
    resource: _Named


class OtherBlock(Wire):
    """A block of a kind that isn't shown, or that lacks what its kind needs."""

    type: Annotated[str, BeforeValidator(lambda value: value if isinstance(value, str) else "something")] = "something"


def _content_kind(value: Any) -> str:
    fields = as_object(value)
    kind, held = fields.get("type"), as_object(fields.get("resource"))
    needed = {"text": fields.get("text"), "resource_link": fields.get("uri"), "resource": held.get("uri")}
    return kind if isinstance(kind, str) and isinstance(needed.get(kind), str) else "other"


ContentBlock = Annotated[
    Annotated[_TextBlock, Tag("text")]
    | Annotated[_LinkBlock, Tag("resource_link")]
    | Annotated[_ResourceBlock, Tag("resource")]
    | Annotated[OtherBlock, Tag("other")],
    Discriminator(_content_kind),
]
"""A block of a message or of a tool call."""


def decode_content(content: ContentBlock) -> events.Content:
    """The block of a message."""
    match content:
        case _TextBlock(text=text):
            return events.TextContent(text)
        case _LinkBlock(uri=uri, name=name):
            return events.ResourceLink(uri, name or uri.rpartition("/")[2])
        case _ResourceBlock(resource=resource):
            return events.EmbeddedResource(resource.uri)
        case OtherBlock(type=kind):
            return events.OtherContent(kind)


def plain_content(content: ContentBlock) -> str:
    """A block as text, for what a tool has shown."""
    match content:
        case _TextBlock(text=text):
            return text
        case _LinkBlock(uri=uri) | _ResourceBlock(resource=_Named(uri=uri)):
            return uri
        case OtherBlock(type=kind):
            return f"Unsupported: {kind}."


logger = logging.getLogger(__name__)

MOST_OPTIONS = 50
"""Answers to a permission: each has a button."""
_SPOKEN = {"background_notification_response", "realtime_voice"}
"""Messages of their own that somebody says."""
_ASKS_THE_PERSON = "askuserquestion"
"""The name of the tool, which some write with `_`."""
_MARKERS = {"background_notification_turn_started"}
"""Messages of their own that hold nothing but an id."""


# Tool calls


class _ToolText(Wire):
    content: ContentBlock


class _ToolDiff(Wire):
    path: str
    old_text: Text = ""
    new_text: str
    is_part: Annotated[bool, BeforeValidator(lambda value: value is True)] = False
    """Our own addition."""


def _tool_content_kind(value: Any) -> str:
    fields = as_object(value)
    kind = fields.get("type")
    if kind == "content" and isinstance(fields.get("content"), dict):
        return "content"
    is_diff = kind == "diff" and isinstance(fields.get("path"), str) and isinstance(fields.get("newText"), str)
    return "diff" if is_diff else "other"


_ToolContent = Annotated[
    Annotated[_ToolText, Tag("content")] | Annotated[_ToolDiff, Tag("diff")] | Annotated[OtherBlock, Tag("other")],
    Discriminator(_tool_content_kind),
]


class _Location(Wire):
    path: str
    line: Line = None


def _objects(value: object) -> list[dict[str, Any]] | None:
    """The objects of a list; None, which changes nothing, where there is no list."""
    return objects(cast("object", value)) if isinstance(value, list) else None


def _located(value: object) -> list[dict[str, Any]] | None:
    places = _objects(value)
    return None if places is None else [place for place in places if isinstance(place.get("path"), str)]


def _arguments(value: object) -> dict[str, Any]:
    """The arguments of a call. What is no object is the only one of them."""
    is_other = isinstance(value, str | list)
    return {"arguments": shallow(cast("object", value))} if is_other else shallow_object(value)


class _ToolMeta(Wire):
    tool_name: Text = ""
    parent_tool_call_id: Annotated[str | None, BeforeValidator(as_id)] = None


class _ToolCall(Wire):
    tool_call_id: Annotated[str, BeforeValidator(as_id)]
    name: ShortText = ""
    title: Text = ""
    kind: Text = ""
    status: Text = ""
    content: Annotated[tuple[_ToolContent, ...] | None, BeforeValidator(_objects)] = None
    locations: Annotated[tuple[_Location, ...] | None, BeforeValidator(_located)] = None
    raw_input: Annotated[dict[str, Any], BeforeValidator(_arguments)] = Field(default_factory=dict)
    raw_output: Annotated[Any, BeforeValidator(shallow)] = None
    running_terminals: tuple[str, ...] | None = None
    """Our own addition: the ids of its terminals that run."""
    meta: Annotated[_ToolMeta, BeforeValidator(as_object), Field(alias="_meta")] = _ToolMeta()


def _tool_call(call: _ToolCall) -> events.ToolCallUpdate:
    locations = call.locations
    return events.ToolCallUpdate(
        call.tool_call_id,
        call.name or call.meta.tool_name,
        call.title,
        call.kind,
        call.status,
        None if call.content is None else _shown(call.content),
        None if locations is None else tuple(Location(each.path, each.line) for each in locations),
        call.raw_input,
        call.raw_output,
        call.meta.parent_tool_call_id,
        call.running_terminals,
    )


def _shown(content: tuple[_ToolContent, ...]) -> events.ToolCallContent:
    texts: list[str] = []
    diffs: list[Diff] = []
    for part in content:
        match part:
            case _ToolDiff(path=path, old_text=old, new_text=new, is_part=is_part):
                diffs.append(Diff(path, old, new, is_part))
            case _ToolText(content=said):
                texts.append(plain_content(said))
            case OtherBlock(type=kind):
                texts.append(f"Unsupported: {kind}.")
    return events.ToolCallContent("\n".join(texts), tuple(diffs))


# Messages


class _ChunkMeta(Wire):
    prompt_id: str | None = None
    record_id: str | None = Field(default=None, alias="qwen.session.recordId")
    usage: Object = Field(default_factory=dict)
    parent_tool_call_id: Annotated[str | None, BeforeValidator(as_id)] = None
    is_discrete: bool = Field(default=False, alias="qwenDiscreteMessage")
    """Whether the piece is a message of its own, in the middle of what streams."""
    source: Text = ""
    """What a message of its own is about."""
    background_task: Object = Field(default_factory=dict)


class _Chunk(Wire):
    content: ContentBlock
    message_id: Text = ""
    meta: Annotated[_ChunkMeta, BeforeValidator(as_object), Field(alias="_meta")] = _ChunkMeta()


def _message(kind: type[events.MessageChunk], chunk: _Chunk) -> events.MessageChunk:
    meta = chunk.meta
    content = decode_content(chunk.content)
    aside = usage = None
    if used := meta.usage:
        usage = events.Usage(decode_count(used.get("inputTokens")), decode_count(used.get("outputTokens")))
    if meta.is_discrete and isinstance(content, events.TextContent):
        aside = _aside(meta)
        if meta.source in _MARKERS:
            content = events.TextContent("")
    return kind(
        content,
        meta.prompt_id or "",
        meta.record_id or "",
        meta.parent_tool_call_id,
        usage,
        aside,
        chunk.message_id,
    )


def _aside(meta: _ChunkMeta) -> events.Aside:
    about = meta.background_task
    ids = (about.get("taskId"), about.get("toolUseId"), about.get("sourceTurnId"))
    return events.Aside(
        f"{meta.source} {about.get('taskId', '')} {about.get('turnId', '')}",
        meta.source in _SPOKEN,
        str(about["taskId"]) if "taskId" in about else None,
        tuple(each for each in ids if isinstance(each, str) and each),
    )


def decode_count(value: object) -> int:
    """A number of tokens; 0 for anything else."""
    return value if type(value) is int and 0 < value <= MOST else 0


class _ShellOutput(Wire):
    output: str


# The session


class _PlanEntry(Wire):
    content: Short
    status: Short = "pending"


def _readable(model: type[Wire]) -> BeforeValidator:
    """The objects of a list that fit a model; anything else than a list fits nothing."""
    return BeforeValidator(lambda value: several(model)(cast("object", value)) if isinstance(value, list) else value)


class _Plan(Wire):
    entries: Annotated[tuple[_PlanEntry, ...], _readable(_PlanEntry)]


class _CommandInput(Wire):
    hint: ShortText = ""


class _Command(Wire):
    name: Short
    description: ShortText = ""
    input: Annotated[_CommandInput, BeforeValidator(as_object)] = _CommandInput()


class _Commands(Wire):
    available_commands: Annotated[tuple[_Command, ...], _readable(_Command)]


class _Cost(Wire):
    amount: Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
    currency: Annotated[str, Field(pattern=r"^[A-Za-z]{3}$")]


class _Usage(Wire):
    size: Count
    used: Count
    cost: Annotated[_Cost | None, BeforeValidator(lambda value: read(_Cost, value))] = None


class _Mode(Wire):
    current_mode_id: Short


class _Info(Wire):
    title: ShortText = ""


_SEVERITIES = {"warning": "Warning", "error": "Error"}
MAX_TITLE = 300
"""Characters of the title of a notice."""


class _Notice(Wire):
    severity: Text = ""
    title: Annotated[str, BeforeValidator(lambda value: one_line(as_text(value), MAX_TITLE)), Field(min_length=1)]
    description: Annotated[str, BeforeValidator(lambda value: one_line(as_text(value), MOST_SHORT))] = ""


def _notice(notice: _Notice) -> events.Announcement:
    """The first word keeps an agent's notice apart from what the chat itself says."""
    words = ": ".join(filter(None, (_SEVERITIES.get(notice.severity, "Note"), notice.title, notice.description)))
    return events.Announcement(words, is_aside=True)


_UPDATES: Mapping[str, tuple[type[Wire], str, Callable[[Any], object]]] = {
    "user_message_chunk": (_Chunk, "a piece of a prompt", partial(_message, events.UserMessageChunk)),
    "agent_message_chunk": (_Chunk, "a piece of the answer", partial(_message, events.AgentMessageChunk)),
    "agent_thought_chunk": (_Chunk, "a thought", partial(_message, events.AgentThoughtChunk)),
    "tool_call": (_ToolCall, "a tool call", _tool_call),
    "tool_call_update": (_ToolCall, "an update of a tool call", _tool_call),
    "plan": (
        _Plan,
        "a plan",
        lambda plan: events.Plan(tuple(Step(entry.content, entry.status) for entry in plan.entries)),
    ),
    "available_commands_update": (
        _Commands,
        "the list of commands",
        lambda update: events.AvailableCommandsUpdate(
            tuple(Command(each.name, each.description, each.input.hint) for each in update.available_commands)
        ),
    ),
    "usage_update": (
        _Usage,
        "the use of the context window",
        lambda usage: events.UsageUpdate(
            ContextWindow(
                usage.size,
                usage.used,
                usage.cost.amount if usage.cost else None,
                usage.cost.currency.upper() if usage.cost else "",
            )
        ),
    ),
    "current_mode_update": (
        _Mode,
        "a change of the mode",
        lambda update: events.CurrentModeUpdate(update.current_mode_id),
    ),
    "notice": (_Notice, "a notice", _notice),
    "session_info_update": (_Info, "a title", lambda info: events.SessionInfoUpdate(info.title)),
    "shell_output": (_ShellOutput, "the output of a command", lambda shell: events.ShellOutput(shell.output)),
}
"""By kind: its model, what it is in a notice if it doesn't fit, and how it becomes an event."""


def decode_update(value: object) -> events.Event:
    """Decode an `update` object. One of an unknown kind is ignored."""
    fields = as_object(value)
    kind = fields.get("sessionUpdate")
    if not isinstance(kind, str) or kind not in _UPDATES:
        return ignored(f"update {kind}", fields)
    model, what, event = _UPDATES[kind]
    found = read(model, fields)
    return events.Unsupported(what) if found is None else cast("events.Event", event(found))


def ignored(kind: str, fields: Mapping[str, Any]) -> events.Ignored:
    """An unknown event. The log gets the names of its fields, not the values, which may be private."""
    logger.debug("Unknown %s with %s", kind, ", ".join(map(str, fields)))
    return events.Ignored(kind)


# Permissions


class _Option(Wire):
    option_id: str
    name: str
    kind: str


class _Answer(Wire):
    label: str
    description: Text = ""


class _Question(Wire):
    question: str
    header: Text = ""
    multi_select: bool = False
    options: tuple[_Answer, ...] = ()


def _answerable(value: object) -> list[_Option]:
    """The options of a list that can be read."""
    return [found for item in as_list(value) if (found := read(_Option, item))]


class _Permission(Wire):
    tool_call: _ToolCall
    options: Annotated[tuple[_Option, ...], BeforeValidator(_answerable)]


class _Questions(Wire):
    questions: tuple[_Question, ...] = ()


def _questions(call: Mapping[str, Any]) -> tuple[_Question, ...]:
    """What a tool asks the person whose purpose that is; nothing for other tools, whose arguments are their own.

    What can't be read is left among the arguments, and an ordinary permission shows it.
    """
    meta = as_object(call.get("_meta"))
    asked: object = meta.get("qwenQuestions")
    if not asked and str(meta.get("toolName")).replace("_", "").lower() == _ASKS_THE_PERSON:
        asked = as_object(call.get("rawInput")).get("questions")
    found = read(_Questions, {"questions": asked})
    return found.questions if found else ()


def decode_permission(
    identifier: str, tool_call: object, options: object
) -> events.PermissionRequest | events.Unsupported:
    """Decode a permission request, which the transport has given an id."""
    call = as_object(tool_call)
    fields: dict[str, Any] = {"toolCall": call, "options": options}
    if (request := read(_Permission, fields)) is None:
        return events.Unsupported("a question that can't be read: answer it in another client")
    if len(request.options) > MOST_OPTIONS:
        return events.Unsupported(f"a question with more than {MOST_OPTIONS} answers")
    return events.PermissionRequest(
        identifier,
        _tool_call(request.tool_call),
        tuple(PermissionOption(each.option_id, each.name, each.kind) for each in request.options),
        tuple(
            Question(
                each.question,
                each.header,
                each.multi_select,
                tuple((answer.label, answer.description) for answer in each.options),
            )
            for each in _questions(call)
        ),
    )
