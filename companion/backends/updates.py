"""Decodes the objects of the Agent Client Protocol that an agent sends, whatever carries them, into events.

An agent on stdio sends them as JSON-RPC (docs/protocols/acp.md#updates), and `qwen serve` in its own envelopes. What an
object holds beyond these fields is left out, and so is a field that can't be read. One without what its kind needs
becomes `Unsupported`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, cast

from pydantic import BeforeValidator, Field

from ..conversation import events
from ..conversation.snapshot import (
    Attachment,
    ChatNotice,
    Command,
    ContextWindow,
    Cost,
    Diff,
    Location,
    PermissionOption,
    Question,
    Speaker,
    Step,
)
from ..json_text import as_object, as_text
from .wire import (
    MOST_SHORT,
    Count,
    Text,
    Wire,
    as_id,
    as_line,
    count,
    objects,
    one_line,
    read,
    shallow,
    shallow_object,
    texts,
)

logger = logging.getLogger(__name__)

RUNNING_TERMINALS = "runningTerminals"
"""What we add to a tool call: the ids of its terminals that run, see `snapshot.Tool`."""
MOST_OPTIONS = 50
"""Answers to a permission: each has a button."""
_SPOKEN = {"background_notification_response", "realtime_voice"}
"""Messages of their own that somebody says."""
_ASKS_THE_PERSON = "askuserquestion"
"""The name of the tool, which some write with `_`."""
_MARKERS = {"background_notification_turn_started"}
"""Messages of their own that hold nothing but an id."""


# Tool calls


def plain_content(block: Mapping[str, Any]) -> str:
    """A block as text, for what a tool has shown."""
    match block:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "resource_link", "uri": str(uri)} | {"type": "resource", "resource": {"uri": str(uri)}}:
            return uri
        case _:
            return f"Unsupported: {_kind(block)}."


def _kind(block: Mapping[str, Any]) -> str:
    return as_text(block.get("type")) or "something"


def _listed(value: object) -> list[dict[str, Any]] | None:
    """The objects of a list; None, which changes nothing, where there is no list."""
    return objects(cast("object", value)) if isinstance(value, list) else None


def _tool_call(call: Mapping[str, Any]) -> events.ToolCallUpdate | None:
    if (identifier := as_id(call.get("toolCallId"))) is None:
        return None
    meta = as_object(call.get("_meta"))
    told: dict[str, Any] = {
        "name": as_text(call.get("name"))[:MOST_SHORT] or as_text(meta.get("toolName")),
        "title": as_text(call.get("title")),
        "kind": as_text(call.get("kind")),
        "status": as_text(call.get("status")),
        # The first event of a call has an empty input: its arguments come later.
        "input": _arguments(call.get("rawInput")),
        "parent": as_id(meta.get("parentToolCallId")),
    }
    changes = {name: value for name, value in told.items() if value}
    if (content := _listed(call.get("content"))) is not None:
        changes["text"], changes["diffs"] = _shown(content)
    if (places := _listed(call.get("locations"))) is not None:
        changes["locations"] = tuple(_located(places))
    if (output := shallow(call.get("rawOutput"))) is not None:
        changes["output"] = output
    if (running := call.get(RUNNING_TERMINALS)) is not None:
        changes["terminals"] = texts(running)
    return events.ToolCallUpdate(identifier, changes)


def _shown(content: Iterable[Mapping[str, Any]]) -> tuple[str, tuple[Diff, ...]]:
    """What a tool call shows."""
    said: list[str] = []
    diffs: list[Diff] = []
    for part in content:
        match part:
            case {"type": "content", "content": {**block}}:
                said.append(plain_content(block))
            case {"type": "diff", "path": str(path), "newText": str(new)}:
                # `isPart` is our own addition.
                diffs.append(Diff(path, as_text(part.get("oldText")), new, part.get("isPart") is True))
            case _:
                said.append(f"Unsupported: {_kind(part)}.")
    return "\n".join(said), tuple(diffs)


def _located(places: Iterable[Mapping[str, Any]]) -> Iterator[Location]:
    for place in places:
        if isinstance(path := place.get("path"), str):
            yield Location(path, as_line(place.get("line")))


def _arguments(value: object) -> dict[str, Any]:
    """The arguments of a call. What is no object is the only one of them."""
    is_other = isinstance(value, str | list)
    return {"arguments": shallow(cast("object", value))} if is_other else shallow_object(value)


# Messages


def _message(speaker: Speaker, update: Mapping[str, Any]) -> events.MessageChunk | None:
    meta = as_object(update.get("_meta"))
    text, unshown = "", ""
    attachment: Attachment | None = None
    aside: events.Aside | None = None
    match update.get("content"):
        case {"type": "text", "text": str(text)}:
            if meta.get("qwenDiscreteMessage") is True:
                aside = _aside(meta)
                text = "" if as_text(meta.get("source")) in _MARKERS else text
        case {"type": "resource_link", "uri": str(uri), **more}:
            attachment = Attachment(uri, as_text(more.get("name")) or uri.rpartition("/")[2])
            # The person has mentioned it at this point of the text.
            text = f"@{attachment.name}" if speaker == "user" else ""
        case {"type": "resource", "resource": {"uri": str(uri)}}:
            attachment = Attachment(uri, uri.rpartition("/")[2])
        case {**block}:
            attachment = Attachment("", _kind(block)) if speaker == "user" else None
            unshown = "" if attachment else _kind(block)
        case _:
            return None
    usage: Cost | None = None
    if used := as_object(meta.get("usage")):
        usage = Cost(read=count(used.get("inputTokens")), written=count(used.get("outputTokens")))
    return events.MessageChunk(
        speaker,
        text,
        attachment,
        unshown,
        prompt=as_text(meta.get("promptId")),
        record=as_text(meta.get("qwen.session.recordId")),
        parent=as_id(meta.get("parentToolCallId")),
        usage=usage,
        aside=aside,
        message="" if speaker == "user" else as_text(update.get("messageId")),
    )


def _aside(meta: Mapping[str, Any]) -> events.Aside:
    """What marks a message of its own, in the middle of what streams."""
    source, about = as_text(meta.get("source")), as_object(meta.get("backgroundTask"))
    ids = (about.get("taskId"), about.get("toolUseId"), about.get("sourceTurnId"))
    return events.Aside(
        f"{source} {about.get('taskId', '')} {about.get('turnId', '')}",
        source in _SPOKEN,
        str(about["taskId"]) if "taskId" in about else None,
        tuple(each for each in ids if isinstance(each, str) and each),
    )


def _shell_output(update: Mapping[str, Any]) -> events.MessageChunk | None:
    output = update.get("output")
    return events.MessageChunk("shell", output) if isinstance(output, str) else None


# The session


def _plan(update: Mapping[str, Any]) -> events.StatusUpdate | None:
    if (entries := _listed(update.get("entries"))) is None:
        return None
    steps = (
        Step(text[:MOST_SHORT], as_text(each.get("status"))[:MOST_SHORT] or "pending")
        for each in entries
        if isinstance(text := each.get("content"), str)
    )
    return events.StatusUpdate({"plan": tuple(steps)})


def _commands(update: Mapping[str, Any]) -> events.StatusUpdate | None:
    commands = _listed(update.get("availableCommands"))
    return None if commands is None else events.StatusUpdate({"commands": tuple(decode_commands(commands))})


def decode_commands(commands: Iterable[Mapping[str, Any]]) -> Iterator[Command]:
    """Decode a list of slash commands."""
    for each in commands:
        if isinstance(name := each.get("name"), str):
            description, hint = each.get("description"), as_object(each.get("input")).get("hint")
            yield Command(name[:MOST_SHORT], as_text(description)[:MOST_SHORT], as_text(hint)[:MOST_SHORT])


class _Cost(Wire):
    amount: Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
    currency: Annotated[str, Field(pattern=r"^[A-Za-z]{3}$")]


class _Usage(Wire):
    size: Count
    used: Count
    cost: Annotated[_Cost | None, BeforeValidator(lambda value: read(_Cost, value))] = None


def _usage(update: Mapping[str, Any]) -> events.StatusUpdate | None:
    if (usage := read(_Usage, update)) is None:
        return None
    window = ContextWindow(usage.size, usage.used)
    if cost := usage.cost:
        window = replace(window, cost=cost.amount, currency=cost.currency.upper())
    return events.StatusUpdate({"window": window})


def _mode(update: Mapping[str, Any]) -> events.StatusUpdate | None:
    mode = update.get("currentModeId")
    return events.StatusUpdate({"mode": mode[:MOST_SHORT]}) if isinstance(mode, str) else None


def _info(update: Mapping[str, Any]) -> events.StatusUpdate:
    title = as_text(update.get("title"))[:MOST_SHORT]
    return events.StatusUpdate({"title": title} if title else {})


_SEVERITIES = {"warning": "Warning", "error": "Error"}
MAX_TITLE = 300
"""Characters of the title of a notice."""


def _notice(update: Mapping[str, Any]) -> ChatNotice | None:
    title = one_line(as_text(update.get("title")), MAX_TITLE)
    description = one_line(as_text(update.get("description")), MOST_SHORT)
    # The first word keeps an agent's notice apart from what the chat itself says.
    severity = _SEVERITIES.get(as_text(update.get("severity")), "Note")
    words = ": ".join(filter(None, (severity, title, description)))
    return ChatNotice(words, is_aside=True) if title else None


_UPDATES: Mapping[str, tuple[str, Callable[[Mapping[str, Any]], events.Event | None]]] = {
    "user_message_chunk": ("a piece of a prompt", partial(_message, "user")),
    "agent_message_chunk": ("a piece of the answer", partial(_message, "answer")),
    "agent_thought_chunk": ("a thought", partial(_message, "thought")),
    "tool_call": ("a tool call", _tool_call),
    "tool_call_update": ("an update of a tool call", _tool_call),
    "plan": ("a plan", _plan),
    "available_commands_update": ("the list of commands", _commands),
    "usage_update": ("the use of the context window", _usage),
    "current_mode_update": ("a change of the mode", _mode),
    "notice": ("a notice", _notice),
    "session_info_update": ("a title", _info),
    "shell_output": ("the output of a command", _shell_output),
}
"""By kind: what it is in a notice if it can't be read, and how it becomes an event."""


def decode_update(value: object) -> events.Event:
    """Decode an `update` object. One of an unknown kind is ignored."""
    fields = as_object(value)
    kind = fields.get("sessionUpdate")
    if not isinstance(kind, str) or kind not in _UPDATES:
        return ignored(f"update {kind}", fields)
    what, decode = _UPDATES[kind]
    return decode(fields) or events.Unsupported(what)


def ignored(kind: str, fields: Mapping[str, Any]) -> events.Ignored:
    """An unknown event. The log gets the names of its fields, not the values, which may be private."""
    logger.debug("Unknown %s with %s", kind, ", ".join(map(str, fields)))
    return events.Ignored(kind)


# Permissions


class _Answer(Wire):
    label: str
    description: Text = ""


class _Question(Wire):
    question: str
    header: Text = ""
    multi_select: bool = False
    options: tuple[_Answer, ...] = ()


class _Questions(Wire):
    questions: tuple[_Question, ...] = ()


def _questions(call: Mapping[str, Any]) -> tuple[Question, ...]:
    """What a tool asks the person whose purpose that is; nothing for other tools, whose arguments are their own.

    What can't be read is left among the arguments, and an ordinary permission shows it.
    """
    meta = as_object(call.get("_meta"))
    asked: object = meta.get("qwenQuestions")
    if not asked and str(meta.get("toolName")).replace("_", "").lower() == _ASKS_THE_PERSON:
        asked = as_object(call.get("rawInput")).get("questions")
    found = read(_Questions, {"questions": asked}) or _Questions()
    return tuple(
        Question(
            each.question,
            each.header,
            each.multi_select,
            tuple((answer.label, answer.description) for answer in each.options),
        )
        for each in found.questions
    )


def decode_permission(
    identifier: str, tool_call: object, options: object
) -> events.PermissionRequest | events.Unsupported:
    """Decode a permission request, which the transport has given an id."""
    call = as_object(tool_call)
    if options is None or (update := _tool_call(call)) is None:
        return events.Unsupported("a question that can't be read: answer it in another client")
    answers = tuple(_options(objects(options)))
    if len(answers) > MOST_OPTIONS:
        return events.Unsupported(f"a question with more than {MOST_OPTIONS} answers")
    return events.PermissionRequest(identifier, update, answers, _questions(call))


def _options(options: Iterable[Mapping[str, Any]]) -> Iterator[PermissionOption]:
    for option in options:
        match option:
            case {"optionId": str(identifier), "name": str(name), "kind": str(kind)}:
                yield PermissionOption(identifier, name, kind)
            case _:
                pass
