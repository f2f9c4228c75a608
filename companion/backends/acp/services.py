"""What an agent asks of the editor: files, terminals, permissions, and forms or pages (`elicitation/create`).

The schema of a form is JSON Schema with fields of plain types (docs/protocols/acp.md#elicitation). What an agent sends
beyond that is no reason to refuse the rest of it: a field of an unknown kind is left out, unless it is required.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, cast, get_args

from pydantic import StringConstraints, TypeAdapter, ValidationError
from pydantic_core import SchemaError

from ...conversation import events
from ...conversation.failures import AlreadyAnsweredError, ChatError
from ...conversation.forms import FieldKind, Form, FormChoice, FormField, Value, Values, is_finite
from ...conversation.snapshot import ChatNotice, PermissionOption
from ...json_text import as_list, as_object, as_text
from ...visible import host_of
from ..updates import decode_permission
from ..wire import as_id, objects, one_line, texts
from . import extensions, tool_calls
from .decoder import with_terminals
from .errors import INTERNAL_ERROR, METHOD_NOT_FOUND, RequestError
from .files import Files
from .prompts import Events
from .terminals import Terminals

if TYPE_CHECKING:
    from .client import AcpAgent

logger = logging.getLogger(__name__)

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
    words = as_text(params.get("message"))
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
    for asked in elicitation.form.fields:
        value = values.get(asked.name)
        if problem := asked.problem(value) or _pattern_problem(asked, value):
            raise FormError(asked.title, problem)
        if value is not None and (asked.is_required or value not in ("", ())):
            content[asked.name] = list(value) if isinstance(value, tuple) else value
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
        as_text(schema.get("title")) or name,
        as_text(schema.get("description")),
        is_required,
        _default(kind, schema.get("default"), choices),
        choices,
        least,
        most,
        as_text(schema.get("pattern")),
        as_text(schema.get("format")),
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
            FormChoice(each["const"], as_text(each.get("title")) or each["const"], as_text(each.get("description")))
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


_NOT_ALLOWED = {"outcome": {"outcome": "cancelled"}}


class _Asked(NamedTuple):
    """A question that waits."""

    future: asyncio.Future[tuple[str | None, Values]]
    elicitation: Elicitation | None


class Questions:
    """The questions of one chat, which `tells` it of them."""

    def __init__(self, tells: Events) -> None:
        self._publish = tells.publish
        self._name = secrets.token_hex(8)
        """Keeps the questions of this agent apart from those of the one before."""
        self._numbers = itertools.count(1)
        self._asked: dict[str, _Asked] = {}
        self._pages: dict[str, str] = {}
        """What the person does on pages, by the ids of the elicitations."""

    async def ask(self, call: object, options: object) -> dict[str, Any]:
        """Ask the person about a tool call. Returns the answer to `session/request_permission`.

        A question that can't be read is cancelled.
        """
        request = decode_permission(self._next(), call, options)
        if isinstance(request, events.PermissionRequest) and not request.options:
            request = events.Unsupported("a question that offers no answer, which was cancelled")
        if isinstance(request, events.Unsupported):
            self._publish(request)
            return _NOT_ALLOWED
        option, answers = await self._answer(request)
        outcome = {"outcome": "cancelled"} if option is None else {"outcome": "selected", "optionId": option}
        return {"outcome": outcome, **({"answers": dict(answers)} if answers else {})}

    async def elicit(self, elicitation: Elicitation, *, knows_call: bool) -> Mapping[str, Any]:
        """Ask the person to fill in a form, or to go to a page. Returns the answer to `elicitation/create`.

        `knows_call` is whether the tool call that it is about was told of before.
        """
        number = self._next()
        title = elicitation.message or "The agent asks you"
        call = events.ToolCallUpdate(elicitation.tool_call or number)
        if not knows_call:
            call = events.ToolCallUpdate(call.id, {"title": title, "kind": "other", "status": "pending"})
        request = events.PermissionRequest(number, call, elicitation.options, form=elicitation.form, title=title)
        try:
            option, values = await self._answer(request, elicitation)
        finally:
            if not knows_call:
                self._publish(events.ToolCallUpdate(call.id, {"status": "completed"}))
        if option == ACCEPT and elicitation.form.page:
            self._pages[elicitation.id] = title
        return encode_answer(elicitation, option, values)

    def completed(self, elicitation: str) -> None:
        """What was to be done on a page is done."""
        if done := self._pages.pop(elicitation, ""):
            self._publish(ChatNotice(f"Done: {done}"))
        for asked in self._asked.values():
            about = asked.elicitation
            if about and about.form.page and about.id == elicitation and not asked.future.done():
                asked.future.set_result((None, {}))

    def answer(self, request: str, option: str | None, answers: Values) -> None:
        """Answer a question with the id of an option; None cancels it.

        Raises:
            AlreadyAnsweredError: it is settled.
            FormError: an answer is not what the agent takes.
        """
        asked = self._asked.get(request)
        if asked is None or asked.future.done():
            raise AlreadyAnsweredError
        if asked.elicitation and option:
            encode_answer(asked.elicitation, option, answers)
        asked.future.set_result((option, answers))

    def cancel(self) -> None:
        """Cancel all that wait."""
        for asked in self._asked.values():
            if not asked.future.done():
                asked.future.set_result((None, {}))

    def _next(self) -> str:
        return f"{self._name}-{next(self._numbers)}"

    async def _answer(
        self, request: events.PermissionRequest, elicitation: Elicitation | None = None
    ) -> tuple[str | None, Values]:
        """The person's answer: the id of an option, and what they have entered."""
        asked = self._asked[request.id] = _Asked(asyncio.get_running_loop().create_future(), elicitation)
        self._publish(request)
        option: str | None = None
        try:
            option, answers = await asked.future
        finally:
            del self._asked[request.id]
            self._publish(events.PermissionResolved(request.id, is_selected=option is not None, option=option))
        return option, answers


MAX_REFUSALS = 3
"""After so many refusals one after the other, nothing more is asked beside a chat."""
MAX_MESSAGE = 600
"""Characters of what is asked there."""


class Services:
    """Answers the requests of one agent."""

    def __init__(self, agent: AcpAgent) -> None:
        self._agent = agent
        self._editor, self._window = agent.place.screen, agent.place.id
        self._prompts = agent.prompts
        self._events = agent.stream
        self._beside = asyncio.Lock()
        self._refusals = 0
        """Of what was asked beside the chat."""
        self._is_refusal_told = False
        self._settling: set[asyncio.Task[None]] = set()
        self.questions = Questions(agent.stream)
        self.files = Files(agent)
        self.terminals = Terminals(agent)

    def tool_call_updated(self, update: Mapping[str, Any], call: Mapping[str, Any]) -> None:
        """An update of a tool call has come, perhaps with terminals or files; `call` is all that is known of it."""
        if tool_calls.is_over(update) and not self._events.is_history:
            task = asyncio.create_task(self.files.settle(tool_calls.paths(call)))
            self._settling.add(task)
            task.add_done_callback(self._settling.discard)
        self.terminals.noted(update)

    async def answer(self, method: str, params: Mapping[str, Any]) -> Any:
        """Answer a request.

        Raises:
            RequestError: it can't be fulfilled.
        """
        params = self._agent.decoder.subagents.request(params, self._agent.session)
        match method:
            case "terminal/create" | "fs/write_text_file" if self._prompts.is_cancelled:
                raise RequestError(INTERNAL_ERROR, "the user has cancelled this")
            case "session/request_permission" | "elicitation/create":
                ask = self._permitted if method == "session/request_permission" else self._elicited
                return await ask(params)
            case "fs/read_text_file":
                return await self.files.read(params)
            case "fs/write_text_file":
                await self.files.write(params)
                self._prompts.acted()
                return {}
            case "terminal/create":
                made = await self._created(params)
                self._prompts.acted()
                return made
            case "terminal/output" | "terminal/wait_for_exit" | "terminal/kill" | "terminal/release":
                return await self.terminals.answer(method, params)
            case extensions.DRAIN:
                return extensions.drained(self._prompts.drain())
            case _:
                logger.debug("%s asks for %s, which isn't known", self._agent.name, method)
                raise RequestError(METHOD_NOT_FOUND, f"“{method[:100]}” is not known")

    async def _created(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        turn = self._prompts.running
        made = await self.terminals.create(params)
        # While the command was being started. What an agent does between two turns belongs to none.
        is_over = turn is not None and self._prompts.running != turn
        if is_over or self._prompts.is_cancelled:
            await self.terminals.answer("terminal/release", made)
            raise RequestError(INTERNAL_ERROR, "the turn that asked for it is over")
        return made

    async def _permitted(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """The answer to a permission request. One of another session, or of a turn that is over, is cancelled."""
        if params.get("sessionId") != self._agent.session:
            self._events.publish(events.Unsupported("a question about another session, which was cancelled"))
            return _NOT_ALLOWED
        turn = self._prompts.running
        call = await self._asked_about(as_object(params.get("toolCall")))
        if self._prompts.is_cancelled or self._prompts.running != turn:
            return _NOT_ALLOWED
        answer = await self.questions.ask(call, params.get("options"))
        if answer["outcome"]["outcome"] == "selected":
            self._prompts.acted()
        return answer

    async def _elicited(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """The answer to a form or a page: in the chat, or beside it while no session is open."""
        session = self._agent.session
        elicitation = decode_elicitation(params)
        if isinstance(elicitation, str):
            self._events.publish(events.Unsupported(f"{elicitation}, which was cancelled"))
            return CANCELLED
        if self._agent.is_opening and ("sessionId" not in params or not session or self._events.is_history):
            return await self._elicited_beside(elicitation)
        if not session or params.get("sessionId", session) != session:
            self._events.publish(events.Unsupported("a question of another session, which was cancelled"))
            return CANCELLED
        if self._prompts.is_cancelled:
            return CANCELLED
        calls = self._agent.decoder.calls
        elicitation = replace(elicitation, tool_call=calls.name(elicitation.tool_call))
        return await self.questions.elicit(elicitation, knows_call=calls.knows(elicitation.tool_call))

    async def _elicited_beside(self, elicitation: Elicitation) -> Mapping[str, Any]:
        """The answer to what is asked while there is no conversation, such as during a sign-in."""
        message = one_line(elicitation.message, MAX_MESSAGE)
        async with self._beside:
            while self._refusals < MAX_REFUSALS and self._agent.is_opening:
                option, values = await self._editor.questions.elicit(
                    self._window, self._agent.name, message, elicitation.form
                )
                self._refusals = 0 if option == ACCEPT else self._refusals + 1
                try:
                    return encode_answer(elicitation, option, values)
                except FormError as error:
                    self._editor.messenger.say(str(error), self._window)
            if self._refusals >= MAX_REFUSALS and not self._is_refusal_told:
                self._is_refusal_told = True
                self._editor.messenger.say(f"{self._agent.name} has asked too often, and is refused.", self._window)
        return CANCELLED

    def expect_questions(self) -> None:
        """The person starts what the agent may ask about: what they have refused before doesn't count any more."""
        self._refusals, self._is_refusal_told = 0, False

    async def _asked_about(self, call: Mapping[str, Any]) -> Mapping[str, Any]:
        """The tool call of a permission request with all that is known of it, its diffs as whole files."""
        call = tool_calls.with_told_diffs(self._agent.decoder.calls.asked(call, self._prompts.scope))
        # It may ask again: its files have what the person has made of it before.
        await self.files.settle(tool_calls.paths(call))
        return with_terminals(await tool_calls.whole_files(call, self.files.texts), self.terminals.printed)

    async def turn_over(self) -> None:
        """A turn is over: its questions are cancelled, and what was not written as the person wants it is kept."""
        self.questions.cancel()
        self.terminals.show()
        if self._settling:
            await asyncio.gather(*self._settling)
        await self.files.settle_all()
