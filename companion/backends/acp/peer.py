"""JSON-RPC with an agent's process: our requests and their answers, the agent's requests and ours, and notifications.

Nothing that the agent sends raises here. What can't be read is told to the chat as a phrase for a notice.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections import deque
from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from ... import json_text
from ...json_text import as_object
from ..wire import bounded
from .errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    REQUEST_CANCELLED,
    AgentError,
    AnswerError,
    RequestError,
    SilentError,
    UnnamedError,
)
from .process import TooLong

if TYPE_CHECKING:
    from .client import AcpAgent

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
    """Our side of the connection with an agent."""

    def __init__(self, agent: AcpAgent) -> None:
        self._agent = agent
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
            raise SilentError(self._agent.name, limit or 0) from None
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
            logger.debug("%s has printed what is no JSON", self._agent.name)
            self._agent.unreadable("output that is not of the protocol")
            return
        if not isinstance(message, dict):
            self._agent.unreadable("a message that is not an object")
            return
        message, is_cut = bounded(cast("object", message))
        fields = cast("dict[str, Any]", message)
        try:
            if is_cut and "method" in fields and "id" in fields:
                # Nobody allows a part of something.
                self._agent.unreadable("a request with more parts than can be shown, which was refused")
                self._refuse(fields["id"], INVALID_PARAMS, "it has too many parts")
                return
            if is_cut:
                self._agent.unreadable("parts of a message that has more than can be shown")
            self._take(fields)
        except Exception:
            logger.exception("A message of %s could not be taken in", self._agent.name)
            self._agent.unreadable("a message that could not be taken in")

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
            self._agent.notified(method, params)
        elif not ("result" in message or "error" in message):
            self._agent.unreadable("a message of no known form")
        elif type(number) is int and number in self._waiting:
            self._answered(self._waiting[number].answer, message)
        elif number is None and message.get("error") is not None and self._calls_up_to(self._count):
            self._failed_one(self._error(message, UnnamedError))
        elif type(number) is int and (0 < number <= self._abandoned or number in self._taken_back):
            logger.debug("%s answers what nobody waits for any more", self._agent.name)
        else:
            self._agent.unreadable("an answer to what was not asked")

    def _calls_up_to(self, number: int) -> list[_Call]:
        """The calls that wait for their answers, without those after a number."""
        return [call for call in self._waiting.values() if call.number <= number and not call.answer.done()]

    def _failed_one(self, error: UnnamedError) -> None:
        """One of the calls has failed, and the agent doesn't say which one."""
        self._unnamed = error, self._count
        self._settle_unnamed()
        if self._unnamed:
            self._agent.unreadable("an error that doesn't say which request it is for")

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
            self._agent.unreadable("an answer to what was not asked")
        elif message.get("error") is not None:
            future.set_exception(self._error(message, AnswerError))
        else:
            future.set_result(message.get("result"))
        self._settle_unnamed()

    def _error(self, message: Mapping[str, Any], kind: type[E]) -> E:
        fields = as_object(message.get("error"))
        code = fields.get("code")
        return kind(self._agent.name, code if type(code) is int else 0, _words(fields))

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
            result = await self._agent.services.answer(method, params)
        except RequestError as error:
            self._refuse(number, error.code, str(error))
        except Exception:
            logger.exception("The request %s could not be answered", method)
            self._refuse(number, INTERNAL_ERROR, "the editor could not do it")
        else:
            self._send({"id": number, "result": result})

    def _refuse_unread(self, line: bytes, junk: str, why: str) -> None:
        """Say what can be said about a message that is not read; of a long one perhaps only the head is here."""
        self._agent.unreadable(junk)
        fields = _own_fields(line)
        if (number := fields.get(b'"id"')) is None:
            return
        if b'"method"' in fields:
            self._refuse(number, METHOD_NOT_FOUND, f"the message was not read: {why}")
        elif (call := self._waiting.get(_as_number(number))) and not call.answer.done():
            call.answer.set_exception(AnswerError(self._agent.name, 0, f"its answer was not read: {why}"))
            self._settle_unnamed()

    def _refuse(self, number: object, code: int, message: str) -> None:
        self._send({"id": number, "error": {"code": code, "message": message}})

    def _send(self, message: dict[str, Any]) -> None:
        if process := self._agent.process:
            process.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


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
