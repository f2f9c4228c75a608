"""Decodes `elicitation/create`: a form to fill in, or a page to go to; and encodes the person's answer.

The schema of a form is JSON Schema with fields of plain types (docs/protocols/acp.md#elicitation). What an agent sends
beyond that is no reason to refuse the rest of it: a field of an unknown kind is left out, unless it is required.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, cast, get_args

from pydantic import StringConstraints, TypeAdapter, ValidationError
from pydantic_core import SchemaError

from ...conversation.failures import ChatError
from ...conversation.forms import FieldKind, Form, FormChoice, FormField, Value, Values, is_finite
from ...conversation.snapshot import PermissionOption
from ...json_text import as_list, as_object
from ...visible import host_of
from ..wire import as_id, objects, texts

ACCEPT, DECLINE = "accept", "decline"
CANCELLED: Mapping[str, Any] = {"action": "cancel"}
_DECLINE = PermissionOption(DECLINE, "Decline", "reject_once")
_KINDS: Mapping[object, FieldKind] = {kind: kind for kind in get_args(FieldKind)}
_LIMITS: Mapping[str, tuple[str, str]] = {
    "string": ("minLength", "maxLength"),
    "array": ("minItems", "maxItems"),
    "number": ("minimum", "maximum"),
    "integer": ("minimum", "maximum"),
}


@dataclass(frozen=True, slots=True)
class Elicitation:
    """What an agent asks of the person."""

    message: str
    form: Form
    tool_call: str = ""
    """The id of the tool call that it is about; empty if it is about none."""
    id: str = ""
    """By which the agent says that what was to be done on a page is done."""

    @property
    def options(self) -> tuple[PermissionOption, ...]:
        """The ways to answer."""
        if self.form.unknown:
            return (_DECLINE,)
        return PermissionOption(ACCEPT, "Open the Page" if self.form.page else "Accept", "allow_once"), _DECLINE


class FormError(ChatError):
    """A value of a form is not what the agent takes."""

    remedy = "Answer again: what you have entered is still there."

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")


def decode_elicitation(params: Mapping[str, Any]) -> Elicitation | str:
    """Decode a request; what can't be asked is a text that says what it is."""
    words = _text(params, "message")
    about = as_id(params.get("toolCallId")) or ""
    match params.get("mode", "form"):
        case "form":
            return Elicitation(words, _form(as_object(params.get("requestedSchema"))), about)
        case "url":
            page, identifier = params.get("url"), params.get("elicitationId")
            if not isinstance(page, str) or not host_of(page):
                return "a page whose address is not one of the web"
            return Elicitation(words, Form(page=page), about, identifier if isinstance(identifier, str) else "")
        case mode:
            return f"a question of the kind “{str(mode)[:40]}”, which this version doesn't know"


def encode_answer(elicitation: Elicitation, option: str | None, values: Values) -> Mapping[str, Any]:
    """The answer to a request. None cancels it.

    Raises:
        FormError: a value is not what the agent takes.
    """
    if option != ACCEPT or elicitation.form.unknown:
        return {"action": DECLINE} if option == DECLINE else CANCELLED
    if elicitation.form.page:
        return {"action": ACCEPT}
    content: dict[str, Any] = {}
    for field in elicitation.form.fields:
        value = values.get(field.name)
        if problem := field.problem(value) or _pattern_problem(field, value):
            raise FormError(field.title, problem)
        if value is not None and (field.is_required or value not in ("", ())):
            content[field.name] = list(value) if isinstance(value, tuple) else value
    return {"action": ACCEPT, "content": content}


def _form(schema: Mapping[str, Any]) -> Form:
    properties = as_object(schema.get("properties"))
    required = texts(schema.get("required"))
    fields: list[FormField] = []
    unknown: list[str] = []
    for name, described in properties.items():
        field = _field(name, as_object(described), is_required=name in required)
        if field:
            fields.append(field)
        elif name in required:
            unknown.append(name)
    unknown += [name for name in required if name not in properties]
    return Form(tuple(fields), unknown=tuple(unknown))


def _field(name: str, schema: Mapping[str, Any], *, is_required: bool) -> FormField | None:
    """A field; None if it is of a kind that isn't known."""
    kind = _kind(schema)
    if kind is None:
        return None
    choices = _choices(as_object(schema.get("items")) if kind == "array" else schema)
    if kind == "array" and not choices:
        return None
    names = _LIMITS.get(kind)
    least, most = (_limit(schema.get(each)) for each in names) if names else (None, None)
    return FormField(
        name,
        kind,
        _text(schema, "title") or name,
        _text(schema, "description"),
        is_required,
        _default(kind, schema.get("default"), choices),
        choices,
        least,
        most,
        _text(schema, "pattern"),
        _text(schema, "format"),
    )


def _kind(schema: Mapping[str, Any]) -> FieldKind | None:
    kind = schema.get("type")
    if kind is None and _choices(schema):
        return "string"
    if isinstance(kind, list):
        named = [each for each in as_list(schema.get("type")) if each != "null"]
        kind = named[0] if len(named) == 1 else None
    return _KINDS.get(kind) if isinstance(kind, str) else None


def _choices(schema: Mapping[str, Any]) -> tuple[FormChoice, ...]:
    """The values that a schema offers, with their titles."""
    for name in ("oneOf", "anyOf"):
        found = [
            FormChoice(each["const"], _text(each, "title") or each["const"], _text(each, "description"))
            for each in objects(schema.get(name))
            if isinstance(each.get("const"), str)
        ]
        if found:
            return tuple(found)
    values, names = texts(schema.get("enum")), as_list(schema.get("enumNames"))
    return tuple(
        FormChoice(value, name if at < len(names) and isinstance(name := names[at], str) else value)
        for at, value in enumerate(values)
    )


def _default(kind: FieldKind, value: object, choices: Sequence[FormChoice]) -> Value | None:
    """What a field holds at first. A default that the field doesn't take is none."""
    known = {choice.id for choice in choices}
    match kind, value:
        case "boolean", bool():
            return value
        case "number" | "integer", int() | float() if not isinstance(value, bool) and is_finite(value):
            return int(value) if float(value).is_integer() else value if kind == "number" else None
        case "string", str() if not known or value in known:
            return value
        case "array", list():
            return tuple(each for each in texts(cast("object", value)) if each in known)
        case _:
            return None


def _pattern_problem(field: FormField, value: Value | None) -> str:
    """Whether a text matches the field's pattern, by an engine whose time is linear in the text."""
    if not field.pattern or not isinstance(value, str) or not value:
        return ""
    try:
        TypeAdapter(Annotated[str, StringConstraints(pattern=field.pattern)]).validate_python(value)
    except ValidationError:
        return f"It must match {field.pattern}."
    except SchemaError:
        return ""  # the agent checks what this engine doesn't know
    return ""


def _limit(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and is_finite(value)
    return cast("float", value) if is_number else None


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""
