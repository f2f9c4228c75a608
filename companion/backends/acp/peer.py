"""An agent at work: JSON-RPC with its process both ways, what it has said about itself, and what a refusal means.

There are our requests and their answers, the agent's requests and our answers, and notifications. Nothing that the
agent sends raises here. What can't be read goes to `on_junk` as a phrase for a notice.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple, TypeVar, cast

from ... import json_text
from ...agents import AgentCommand
from ...conversation.failures import MissingFeatureError, UnsendableError
from ...json_text import as_object
from ..agent import Block, Workplace
from ..wire import bounded
from . import schema
from .errors import (
    AUTHENTICATION_NEEDED,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    REQUEST_CANCELLED,
    AgentError,
    AnswerError,
    RequestError,
    SignInError,
    SilentError,
    UnnamedError,
)
from .process import AgentProcess, TooLong

logger = logging.getLogger(__name__)

MAX_REQUESTS = 64
"""Requests of the agent that are at work at once; more are refused."""
_TOO_MANY = -32005
CANCEL = "$/cancel_request"
"""The notification with which either side takes back a request."""
_HAS_OWN_CANCEL = "session/prompt"
"""`session/cancel` ends it; and after a reload the next instance waits for its answer."""
_CANCELLABLE = {"session/request_permission", "elicitation/create", "terminal/wait_for_exit"}
"""The requests of an agent that change nothing while they wait. The others are answered, as the protocol allows."""
_HEAD = 64 * 1024
"""Bytes of a message that is not read in which its id and its method are looked for."""
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"?|[][{}]', re.DOTALL)
"""A text of a message, the last one perhaps cut, or a bracket."""
_VALUE = re.compile(rb'\s*:\s*(0|[1-9]\d{0,14}|"[ !#-\[\]-~]{1,200}")\s*[,}]')
"""An id or the name of a method, after its field's name."""

Params = Mapping[str, Any]
E = TypeVar("E", bound=AnswerError)


class _Call(NamedTuple):
    """A request of ours that waits for its answer."""

    number: int
    method: str
    answer: asyncio.Future[Any]


class Peer:
    """One side of a connection.

    Args:
        agent: what the agent is called, for messages.
        write: sends a line.
        on_request: answers a request of the agent, or raises RequestError.
        on_notification: gets a notification's method and parameters.
        on_junk: gets a phrase for what could not be read.
    """

    def __init__(
        self,
        agent: str,
        write: Callable[[bytes], object],
        on_request: Callable[[str, Params], Awaitable[Any]],
        on_notification: Callable[[str, Params], object],
        on_junk: Callable[[str], object],
    ) -> None:
        self.agent = agent
        self._write = write
        self._on_request = on_request
        self._on_notification = on_notification
        self._on_junk = on_junk
        self._count = 0
        self._waiting: dict[int, _Call] = {}
        self._abandoned = 0
        """Calls up to this number were made by another instance, which nobody waits for any more."""
        self._answering: dict[asyncio.Task[None], tuple[object, str, Params]] = {}
        self._end: AgentError | None = None
        self._is_left = False
        self._given_up: set[asyncio.Task[None]] = set()
        """The answers that the agent has taken back its requests for."""
        self._taken_back: deque[int] = deque(maxlen=MAX_REQUESTS)
        """The calls whose answer nobody waits for any more."""
        self._unnamed: tuple[UnnamedError, int] | None = None
        """An error that names no request, and the last call of which it may be, until it is known which one it is."""

    @property
    def is_closed(self) -> bool:
        """Whether it was closed: every call fails."""
        return self._end is not None

    def check(self) -> None:
        """Raise what it was closed with, if it was."""
        if self._end:
            raise self._end

    async def call(self, method: str, params: Params, limit: float | None) -> Mapping[str, Any]:
        """Send a request and wait for its answer, at most `limit` seconds. An answer that is no object is empty.

        Raises:
            AnswerError: the agent answers with an error.
            AgentError: it doesn't answer, or has ended.
        """
        self.check()
        self._count += 1
        call = self._await(self._count, method)
        self._send({"id": call.number, "method": method, "params": params})
        return await self._answer_of(call, limit)

    def go_on(self, left: Mapping[str, Any], method: str) -> Awaitable[Mapping[str, Any]] | None:
        """Go on with what `hand_over` has left. Returns the answer to a call of a method that is still to come."""
        self._count = self._abandoned = left["count"]
        number = next((number for number, waits in left["calls"].items() if waits == method), None)
        return None if number is None else self._answer_of(self._await(number, method), None)

    def waits_for(self, method: str) -> bool:
        """Whether the answer to a call of a method hasn't come yet."""
        return any(call.method == method and not call.answer.done() for call in self._waiting.values())

    def repeat(self, left: Mapping[str, Any]) -> None:
        """Answer the requests of the agent that were at work when the connection was left."""
        for number, method, params in left["requests"]:
            self._requested(number, method, params)

    async def hand_over(self, limit: float) -> dict[str, Any]:
        """Answer what can be answered within `limit` seconds, and stop. Returns what the next instance needs."""
        self._is_left = True
        if self._answering:
            await asyncio.wait(list(self._answering), timeout=limit)
        left = {
            "count": self._count,
            "calls": {number: call.method for number, call in self._waiting.items()},
            "requests": [request for task, request in self._answering.items() if not task.done()],
        }
        for task in list(self._answering):
            task.cancel()
        if self._answering:
            await asyncio.wait(list(self._answering))
        return left

    def _await(self, number: int, method: str) -> _Call:
        call = self._waiting[number] = _Call(number, method, asyncio.get_running_loop().create_future())
        return call

    async def _answer_of(self, call: _Call, limit: float | None) -> Mapping[str, Any]:
        try:
            async with asyncio.timeout(limit):
                return as_object(await call.answer)
        except TimeoutError:
            self._take_back(call)
            raise SilentError(self.agent, limit or 0) from None
        except asyncio.CancelledError:
            self._take_back(call)
            raise
        finally:
            del self._waiting[call.number]

    def _take_back(self, call: _Call) -> None:
        """Tell the agent that nobody waits for an answer any more."""
        if self._unnamed and call.number <= self._unnamed[1]:
            self._unnamed = None  # most likely it was the error of this call
        if not self._is_left and call.method != _HAS_OWN_CANCEL:
            self._taken_back.append(call.number)
            self.notify(CANCEL, {"requestId": call.number})

    def notify(self, method: str, params: Params) -> None:
        """Send a notification."""
        if self._end is None:
            self._send({"method": method, "params": params})

    def receive(self, line: bytes) -> None:
        """Take a line of the agent's."""
        if isinstance(line, TooLong):
            self._refuse_unread(line, "a message that is too long", "it is too long")
            return
        try:
            message = json_text.read(line, parse_constant=_nothing)
        except json_text.TooManyPartsError:
            self._refuse_unread(line, "a message that has too many parts", "it has too many parts")
            return
        except (ValueError, RecursionError):
            logger.debug("%s has printed what is no JSON", self.agent)
            self._on_junk("output that is not of the protocol")
            return
        if not isinstance(message, dict):
            self._on_junk("a message that is not an object")
            return
        message, is_cut = bounded(cast("object", message))
        fields = cast("dict[str, Any]", message)
        try:
            if is_cut and "method" in fields and "id" in fields:
                # Nobody allows a part of something.
                self._on_junk("a request with more parts than can be shown, which was refused")
                self._refuse(fields["id"], INVALID_PARAMS, "it has too many parts")
                return
            if is_cut:
                self._on_junk("parts of a message that has more than can be shown")
            self._take(fields)
        except Exception:
            logger.exception("A message of %s could not be taken in", self.agent)
            self._on_junk("a message that could not be taken in")

    def close(self, error: AgentError) -> None:
        """Let every call that waits fail with an error, and all that follow. Requests of the agent are dropped."""
        self._end = self._end or error
        for call in self._waiting.values():
            if not call.answer.done():
                call.answer.set_exception(error)
                call.answer.exception()  # its caller may be gone
        for task in self._answering:
            task.cancel()

    def _take(self, message: Mapping[str, Any]) -> None:
        method, number = message.get("method"), message.get("id")
        if isinstance(number, float) and number.is_integer():
            number = int(number)  # JSON has one kind of numbers
        if method is None:
            number = _as_number(number)
        params = as_object(message.get("params"))
        if isinstance(method, str) and "id" in message:
            self._requested(number, method, params)
        elif method == CANCEL:
            self._cancelled(params.get("requestId"))
        elif isinstance(method, str):
            self._on_notification(method, params)
        elif not ("result" in message or "error" in message):
            self._on_junk("a message of no known form")
        elif type(number) is int and number in self._waiting:
            self._answered(self._waiting[number].answer, message)
        elif number is None and message.get("error") is not None and self._calls_up_to(self._count):
            self._failed_one(self._error(message, UnnamedError))
        elif type(number) is int and (0 < number <= self._abandoned or number in self._taken_back):
            logger.debug("%s answers what nobody waits for any more", self.agent)
        else:
            self._on_junk("an answer to what was not asked")

    def _calls_up_to(self, number: int) -> list[_Call]:
        """The calls that wait for their answers, without those after a number."""
        return [call for call in self._waiting.values() if call.number <= number and not call.answer.done()]

    def _failed_one(self, error: UnnamedError) -> None:
        """One of the calls has failed, and the agent doesn't say which one."""
        self._unnamed = error, self._count
        self._settle_unnamed()
        if self._unnamed:
            self._on_junk("an error that doesn't say which request it is for")

    def _settle_unnamed(self) -> None:
        """Let a call fail with an error that names none, once it can be of no other call."""
        if self._unnamed is None:
            return
        error, last = self._unnamed
        if len(calls := self._calls_up_to(last)) <= 1:
            self._unnamed = None
            for call in calls:
                # The agent may find out what it was asked, and go on.
                self._taken_back.append(call.number)
                call.answer.set_exception(error)

    def _answered(self, future: asyncio.Future[Any], message: Mapping[str, Any]) -> None:
        if future.done():
            self._on_junk("an answer to what was not asked")
        elif message.get("error") is not None:
            future.set_exception(self._error(message, AnswerError))
        else:
            future.set_result(message.get("result"))
        self._settle_unnamed()

    def _error(self, message: Mapping[str, Any], kind: type[E]) -> E:
        fields = as_object(message.get("error"))
        code = fields.get("code")
        return kind(self.agent, code if type(code) is int else 0, _words(fields))

    def _requested(self, number: object, method: str, params: Params) -> None:
        if len(self._answering) >= MAX_REQUESTS:
            self._refuse(number, _TOO_MANY, "too many requests at once")
            return
        task = asyncio.get_running_loop().create_task(self._answer(number, method, params))
        self._answering[task] = number, method, params
        task.add_done_callback(self._over)

    def _over(self, task: asyncio.Task[None]) -> None:
        number, _, _ = self._answering.pop(task)
        # It may have been taken back before it had begun.
        if task in self._given_up and task.cancelled():
            self._refuse(number, REQUEST_CANCELLED, "it was cancelled")
        self._given_up.discard(task)

    def _cancelled(self, number: object) -> None:
        """The agent has taken back a request."""
        for task, (asked, method, _) in self._answering.items():
            if asked == number and type(asked) is type(number) and method in _CANCELLABLE:
                self._given_up.add(task)
                task.cancel()

    async def _answer(self, number: object, method: str, params: Params) -> None:
        try:
            result = await self._on_request(method, params)
        except RequestError as error:
            self._refuse(number, error.code, str(error))
        except Exception:
            logger.exception("The request %s could not be answered", method)
            self._refuse(number, INTERNAL_ERROR, "the editor could not do it")
        else:
            self._send({"id": number, "result": result})

    def _refuse_unread(self, line: bytes, junk: str, why: str) -> None:
        """Say what can be said about a message that is not read; of a long one perhaps only the head is here."""
        self._on_junk(junk)
        fields = _own_fields(line)
        if (number := fields.get(b'"id"')) is None:
            return
        if b'"method"' in fields:
            self._refuse(number, METHOD_NOT_FOUND, f"the message was not read: {why}")
        elif (call := self._waiting.get(_as_number(number))) and not call.answer.done():
            call.answer.set_exception(AnswerError(self.agent, 0, f"its answer was not read: {why}"))

    def _refuse(self, number: object, code: int, message: str) -> None:
        self._send({"id": number, "error": {"code": code, "message": message}})

    def _send(self, message: dict[str, Any]) -> None:
        self._write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def _own_fields(line: bytes) -> dict[bytes, Any]:
    """The numbers and short texts among the fields of a message itself, as far as its head tells them."""
    fields: dict[bytes, Any] = {}
    depth = 0
    for token in _TOKEN.finditer(line, 0, _HEAD):
        match token[0]:
            case b"{" | b"[":
                depth += 1
            case b"}" | b"]":
                depth -= 1
            case name if depth == 1 and (value := _VALUE.match(line, token.end())):
                fields[name] = json.loads(value[1])
            case _:
                pass
    return fields


def _as_number(identifier: Any) -> Any:
    """The id of an answer, which is a number of ours; some agents tell every id as a text."""
    is_text = isinstance(identifier, str) and re.fullmatch("[0-9]{1,15}", identifier)
    return int(identifier) if is_text else identifier


def _nothing(_name: str) -> None:
    """What stands for NaN and the infinities, which JSON doesn't have and some agents print."""


def _words(error: Mapping[str, Any]) -> str:
    """What an error says. The data often say more than the message, which may be “Internal error” alone."""
    message, data = error.get("message"), error.get("data")
    words = message if isinstance(message, str) else ""
    fields = as_object(data)
    details = fields.get("details", fields.get("message", data))
    return f"{words}: {details}" if words and isinstance(details, str) and details else words


CALL_LIMIT = 30.0
"""Seconds to wait for an answer; a prompt is waited for without a limit."""


OPENING = ("authenticate", "session/new", "session/load", "session/resume", "session/fork")
"""The calls during which there may be no conversation that could show a question."""


class RunningAgent:
    """An agent at work, which all parts of its client share. It works once there is a `process`."""

    def __init__(self, command: AgentCommand, place: Workplace, peer: Peer) -> None:
        self.command = command
        self.place = place
        self.peer = peer
        self.info = schema.Initialized()
        """What it has said about itself, once it is connected."""
        self.process: AgentProcess | None = None
        self.folder = ""
        """The chat's, as the agent has it."""
        self.environment: Mapping[str, str] = {}
        """What it and its commands get."""
        self.session = ""
        """The id of the one that is open; empty if none is."""

    async def settle_in(self, folder: str) -> None:
        """Work in a folder."""
        self.folder = folder
        self.environment = {**await self.place.login.get(), **self.command.environment}

    def end(self, why: str) -> None:
        """End its process at once. `why` follows "has ended"."""
        if self.process:
            self.process.end(why)

    def hide(self, secret: str) -> None:
        """Show a secret neither in the log nor in a message."""
        if self.process:
            self.process.hide(secret)

    def say(self, message: str) -> None:
        """Show a sentence to the person."""
        self.place.screen.messenger.say(message, self.place.id)

    @property
    def name(self) -> str:
        """What the agent calls itself; what the person calls it until it has said that."""
        return self.info.info.title or self.info.info.name or self.command.name

    @property
    def is_opening(self) -> bool:
        """Whether a sign-in or the opening of a session waits for the agent."""
        return any(map(self.peer.waits_for, OPENING))

    def has(self, feature: str) -> bool:
        """Whether the agent has a feature: load, list, delete, fork, folders, image, embedded, http, logout."""
        abilities = self.info.abilities
        return {
            "load": abilities.load_session or abilities.session_capabilities.resume,
            "list": abilities.session_capabilities.list,
            "delete": abilities.session_capabilities.delete,
            "image": abilities.prompt_capabilities.image,
            "embedded": abilities.prompt_capabilities.embedded_context,
            "fork": abilities.session_capabilities.fork,
            "folders": abilities.session_capabilities.additional_directories,
            "http": abilities.mcp_capabilities.http,
            "logout": abilities.auth.logout,
        }.get(feature, False)

    def missing(self, what: str) -> MissingFeatureError:
        """The error for what the agent hasn't. `what` follows "can't"."""
        return MissingFeatureError(what, f"{self.name} can't {what}.", "")

    def suited(self, block: Block) -> Block:
        """A block of a prompt as the agent takes it.

        Raises:
            UnsendableError: it doesn't take pictures.
        """
        if block.get("type") == "image" and not self.has("image"):
            raise UnsendableError(f"{self.name} doesn't take pictures.", "Remove the picture.")
        if block.get("type") == "resource" and not self.has("embedded"):
            resource = block["resource"]
            return {"type": "text", "text": f"{resource['uri']}:\n```\n{resource['text']}\n```\n"}
        return block

    async def call(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """The answer to a request.

        Raises:
            MissingFeatureError: the agent doesn't know the method.
            AgentError: see Peer.
        """
        try:
            return await self.peer.call(method, params, CALL_LIMIT)
        except AnswerError as error:
            if error.code == METHOD_NOT_FOUND:
                raise self.missing(f"do that ({method})") from None
            raise

    async def signed_in(self, answer: Awaitable[Mapping[str, Any]]) -> Mapping[str, Any]:
        """The answer to a request that only somebody who has signed in may make.

        Raises:
            SignInError: the person hasn't.
            AgentError: see Peer.
        """
        try:
            return await answer
        except AnswerError as error:
            if error.code == AUTHENTICATION_NEEDED:
                methods = [each.name or each.id for each in self.info.auth_methods]
                raise SignInError(self.name, methods, error.message) from None
            raise
