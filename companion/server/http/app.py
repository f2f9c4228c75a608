"""The ASGI application of one window: it finds the session that a request belongs to, and who answers it."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pydantic_core
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic_core import to_json
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ... import json_text
from ...clis.families import FAMILIES, Door
from ...editor import WindowId
from ...libraries.sdk import StreamableHTTPSessionManager
from ...protocol import DiffOutcome, Notification, outcome
from .. import sessions as sessions_module
from ..endpoint import Caller
from ..offer import AFTER, CANCELLED, ServedTools, failed
from ..sessions import InFlight, Session, Stream
from ..tools import TOOLS
from .access import MAX_BODY, MODEL, Access, Bodies, not_found, unsupported
from .connections import CLOSE, Connection

if TYPE_CHECKING:
    from ..window import WindowServer

logger = logging.getLogger(__name__)

TOO_MUCH = "Too many large requests are being read at the same time. Send it once more."
FAST = True
"""Whether the requests that CLIs make all the time are answered without the SDK; otherwise the SDK gives the same
answers, up to four times as slowly (docs/dev/decisions/0010-fast-path.md)."""
METHODS = ("GET", "POST", "DELETE")
FINAL_CHUNK_LIMIT = 0.5
"""Seconds allowed for sending the final chunk of a stream that another one replaces."""


ANSWER_LIMIT = 2.0
"""Seconds that the end of a session waits for the SDK's last answers."""


class App:
    """The ASGI application behind a window's port, or behind its socket."""

    def __init__(self, server: WindowServer, tools: ServedTools, door: Door = "http") -> None:
        self._endpoint = endpoint = server.endpoint
        self._sessions = server.sessions
        self._tools = tools
        self._door: Door = door
        others = {each.name for each in FAMILIES if each.door != "http"}
        here = {key: name for key, name in endpoint.state.sessions.items() if (name in others) == (door != "http")}
        self._resumed = _ResumedSessions(here, self._open_again)
        self.forget_models(keep=sessions_module.IDLE_AGENTS)
        self._access = Access(server, door)
        self._bodies = Bodies()
        self._requests = InFlight()
        """The requests that are being answered, without the streams."""
        self.manager = StreamableHTTPSessionManager(
            tools.server(), json_response=True, max_request_body_size=MAX_BODY, session_idle_timeout=None
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request."""
        headers = Headers(scope=scope)
        caller = self._access.authenticate(headers)
        if isinstance(caller, Response):
            await caller(scope, receive, send)
        elif isinstance(named := self._access.named(caller, scope["path"]), Response):
            await named(scope, receive, send)
        elif scope["method"] not in METHODS:
            await PlainTextResponse("Method Not Allowed", 405, {"allow": ", ".join(METHODS)})(scope, receive, send)
        elif (version := headers.get("mcp-protocol-version", _DEFAULT_VERSION)) not in HANDSHAKE_PROTOCOL_VERSIONS:
            await unsupported(version)(scope, receive, send)
        else:
            with self._bodies.admitted(headers) as is_read:
                if is_read is None:
                    await PlainTextResponse(TOO_MUCH, 503, {"retry-after": "1"})(scope, receive, send)
                    return
                if scope["method"] != "POST":  # nobody reads its body
                    is_read(0)
                scope["state"]["is_read"] = is_read
                with contextlib.nullcontext() if scope["method"] == "GET" else self._requests:
                    scope, send = await self._resumed.translate(named, scope, self._last(send))
                    await self._serve(named, scope, receive, send)

    def _listing(self, session: Session) -> bytes:
        offered = self._tools.listing(session)
        return _json_of_clis() if offered["tools"] is TOOLS else to_json(offered)

    def session_ids(self) -> dict[str, str]:
        """The sessions that CLIs may continue to use: from the id that the CLI knows to the name of the family."""
        ours = self._sessions.of(self._door)
        return self._resumed.waiting | {self._resumed.outward(one.identifier): one.cli for one in ours}

    def outboxes(self) -> dict[str, list[dict[str, Any]]]:
        """The notifications that these sessions haven't got, as JSON objects, by the ids that the CLIs know.

        A session with an open stream gets its own from this instance.
        """
        ours = self._sessions.of(self._door)
        waiting = {self._resumed.outward(one.identifier): one.unsent() for one in ours if not one.stream}
        unsent = {
            identifier: [one.message for one in notifications]
            for identifier, notifications in waiting.items()
            if notifications
        }
        return {**self._endpoint.state.outboxes, **unsent}

    def calls(self) -> dict[str, dict[int | str, Callable[[], object]]]:
        """What cancels the calls to this instance that wait, on any thread: by the ids of sessions and calls."""
        loop = asyncio.get_running_loop()

        def cancel(call: Callable[[], object]) -> None:
            with contextlib.suppress(RuntimeError):  # this instance has ended meanwhile
                loop.call_soon_threadsafe(call)

        return {
            session.known_as: {number: functools.partial(cancel, call) for number, call in session.calls.items()}
            for session in self._sessions.of(self._door)
            if session.calls
        }

    def forget_models(self, keep: int = 0) -> None:
        """The models that were connected before the reload and have asked nothing since are gone, but the last few."""
        self._resumed.drop(lambda name: name.endswith(MODEL), keep)

    def forget_agent(self, name: str) -> None:
        """An agent of a chat has ended that has asked nothing since the reload."""
        self._resumed.drop(lambda each: each == name)

    async def answered(self) -> None:
        """Wait until no request is being answered."""
        await self._requests.none()

    async def check(self) -> None:
        """Shake hands as a CLI does, in this process. Raises whatever is wrong with the libraries."""
        self._sessions.end(await self._open_again("", Caller(FAMILIES[0].name), _DEFAULT_VERSION))

    async def end(self, session: Session) -> None:
        """End a session in the SDK, with the request that a client would send."""
        self._resumed.forget(session.identifier)
        await _answered(session)
        self._endpoint.state.calls.pop(session.known_as, None)
        await _ask(self.manager.handle_request, "DELETE", {"mcp-session-id": session.identifier})

    def _last(self, send: Send) -> Send:
        """`send`, which closes the connection after the answer if the next instance has the sessions already."""

        async def closing(message: Message) -> None:
            if self._sessions.is_left and message["type"] == "http.response.start":
                message = dict(message, headers=[*message["headers"], CLOSE])
            await send(message)

        return closing

    async def _open_again(self, outward: str, caller: Caller, version: str) -> str:
        """Open a session in the SDK for a CLI that was connected to the previous instance; returns its id."""

        async def serve(scope: Scope, receive: Receive, send: Send) -> None:
            await self._request(caller, self._sessions.find(identifier), scope, receive, send)

        identifier = None
        client = {"name": "resumed", "version": "0"}
        initialize = {"protocolVersion": version, "capabilities": {}, "clientInfo": client}
        answer = await _ask(serve, "POST", {}, {"id": 0, "method": "initialize", "params": initialize})
        identifier = answer["mcp-session-id"]
        headers = {"mcp-session-id": identifier, "mcp-protocol-version": version}
        await _ask(serve, "POST", headers, {"method": "notifications/initialized"})
        if session := self._sessions.find(identifier):
            self._sessions.resumed(session, outward)
            for waiting in self._endpoint.state.outboxes.pop(outward, []):
                try:
                    session.notify(outcome(waiting))
                except (KeyError, TypeError) as error:  # of another version of the package
                    logger.warning("A notification from before the reload can't be sent: %s", type(error).__name__)
        return identifier

    async def _serve(self, caller: Caller, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        identifier = headers.get("mcp-session-id")
        session = self._sessions.find(identifier)
        if session is None and identifier is None:
            if scope["method"] != "POST":
                await self._request(caller, None, scope, receive, send)
            elif read := await self._read(scope, receive, send):
                await self._request(caller, None, scope, read[1], send)
        elif session is None or session.cli != caller.name:
            await not_found()(scope, receive, send)
        else:
            session.last_message = time.time()
            with session.requests:
                await self._in_session(caller, session, scope, receive, send)

    async def _in_session(self, caller: Caller, session: Session, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "GET":
            await self._stream(session, scope, receive, send)
        elif scope["method"] == "POST":
            await self._post(caller, session, scope, receive, send)
        else:
            await self._request(caller, session, scope, receive, send)

    async def _read(self, scope: Scope, receive: Receive, send: Send) -> tuple[bytes | None, Receive] | None:
        """A request's body, and a `receive` that gives it again: see `_read_body`.

        None if it was refused, or is gone.

        Each body is read here before anything parses it, here or in the SDK. One that is announced as too long isn't:
        the SDK refuses it at once.
        """
        if int(Headers(scope=scope).get("content-length", 0)) > MAX_BODY:
            return None, receive
        try:
            body, receive = await _read_body(receive, MAX_BODY)
        except ClientDisconnect:  # the SDK would take it for an error of ours
            return None
        if body is not None:
            scope["state"]["is_read"](len(body))
        try:
            json_text.check(body or b"")
        except json_text.TooManyPartsError as error:
            await PlainTextResponse(f"Content Too Large: {error}", 413)(scope, receive, send)
            return None
        return body, receive

    async def _post(self, caller: Caller, session: Session, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request: here if it is about the tools of a session, otherwise in the SDK."""
        if (read := await self._read(scope, receive, send)) is None:
            return
        body, receive = read
        # A call of an agent waits for the person; the SDK would not notice that the agent has gone.
        is_ours = body is not None and _is_plain(Headers(scope=scope)) and (FAST or session.waits)
        message = _message_in(body) if body and is_ours else {}
        if (call := _call_in(message, self._tools.names)) is None:
            if session.waits and (number := _cancelled_in(message)) is not None:
                session.cancel(number)
            await self._request(caller, session, scope, receive, send)
        elif not call.name:
            offered = self._listing(session)
            await _answer(send, session.identifier, call.identifier, offered)
        else:
            after: list[Callable[[], None]] = []
            answering = self._tools.call(session, call.name, call.arguments, after.append)
            if session.waits:
                cancelled = asyncio.Event()
                session.calls[call.identifier] = cancelled.set
                try:
                    result = await _unless_gone(receive, cancelled, answering)
                finally:
                    session.calls.pop(call.identifier, None)
            else:
                result = await answering
            if result is None:
                return
            try:
                await _answer(send, session.identifier, call.identifier, to_json(result))
                connection: Connection = scope["state"]["connection"]
                connection.flush()
            finally:
                for begin in after:
                    begin()

    async def _request(
        self, caller: Caller, session: Session | None, scope: Scope, receive: Receive, send: Send
    ) -> None:
        async def watch(message: Message) -> None:
            if message["type"] == "http.response.start" and session is None and message["status"] != 200:
                # The SDK names a session that it has ended at once. The client would go on with that.
                headers = MutableHeaders(raw=list(message["headers"]))
                del headers["mcp-session-id"]
                message = dict(message, headers=headers.raw)
            elif message["type"] == "http.response.start" and message["status"] == 200:
                opened = Headers(raw=message["headers"]).get("mcp-session-id")
                if session is None and opened:
                    self._sessions.begin(opened, caller)
                elif session and scope["method"] == "DELETE":
                    self._sessions.end(session.identifier)
            await send(message)
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                # Before anything else is read: the next request may be about what happens here.
                while after:
                    after.pop(0)()

        scope = dict(scope, **{AFTER: (after := list[Callable[[], None]]())})
        if session and scope["method"] == "DELETE":
            await _answered(session)
        try:
            with session.in_sdk if session and scope["method"] == "POST" else contextlib.nullcontext():
                await self.manager.handle_request(scope, receive, watch)
        finally:
            for call in after:  # the client has gone
                call()

    async def _stream(self, session: Session, scope: Scope, receive: Receive, send: Send) -> None:
        connection: Connection = scope["state"]["connection"]
        started = ended = False

        def write(notification: Notification) -> bool:
            return (
                not ended and not stream.closed.is_set() and self._tools.write(session, connection.write, notification)
            )

        async def writable() -> None:
            await (stream.closed.wait() if ended else connection.writable())

        async def watch(message: Message) -> None:
            nonlocal started, ended
            ended = message["type"] == "http.response.body" and not message.get("more_body", False)
            await send(message)
            if message["type"] == "http.response.start" and message["status"] == 200:
                started = True
                if self._sessions.is_left:
                    # On a connection that could not be handed over. The CLI asks again, and the next instance answers.
                    stream.limit = FINAL_CHUNK_LIMIT
                    stream.closing.set()
                else:
                    self._sessions.stream_opened(session, stream)
                session.opening.release()

        async def listen() -> Message:
            asked, closing = asyncio.ensure_future(receive()), asyncio.ensure_future(stream.closing.wait())
            try:
                await asyncio.wait((asked, closing), return_when=asyncio.FIRST_COMPLETED)
                return asked.result() if asked.done() else {"type": "http.disconnect"}
            finally:
                asked.cancel()
                closing.cancel()

        stream = Stream(write, writable)
        await session.opening.acquire()
        try:
            if session.stream:
                # The CLI notices first that its old stream is dead. It would give up at the 409 that the SDK sends.
                await session.stream.close(FINAL_CHUNK_LIMIT)
            await self.manager.handle_request(_without_event_id(scope), listen, watch)
        finally:
            if not started:
                session.opening.release()
            if stream.closing.is_set() and not ended:
                ended = True
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(stream.limit):  # a suspended CLI reads nothing
                        await send({"type": "http.response.body", "body": b"", "more_body": False})
            stream.end()
            self._sessions.stream_closed(session, stream)


async def _ask(
    serve: ASGIApp, method: str, headers: dict[str, str], message: dict[str, object] | None = None
) -> Headers:
    """Make a request inside this process, as a client would; returns the headers of the answer.

    Raises RuntimeError at an error.
    """
    body = json.dumps({"jsonrpc": "2.0"} | message).encode() if message else b""
    answer = Headers()

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(answered: Message) -> None:
        nonlocal answer
        if answered["type"] == "http.response.start":
            answer = Headers(raw=answered["headers"])
            if answered["status"] >= 400:
                raise RuntimeError(f"{method} is answered with {answered['status']}")

    sent = headers | {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    raw = [(name.encode(), value.encode()) for name, value in sent.items()]
    scope: Scope = {"type": "http", "method": method, "path": "/mcp", "headers": raw, "query_string": b""}
    await serve(scope, receive, send)
    return answer


async def _answered(session: Session) -> None:
    """Wait until the SDK has answered the session's requests: it fails when the session ends in the middle of one."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(ANSWER_LIMIT):
            await session.in_sdk.none()


@functools.cache
def _json_of_clis() -> bytes:
    return to_json({"tools": TOOLS})


def _without_event_id(scope: Scope) -> Scope:
    """We store no events to send again, and the SDK fails if a client asks for them."""
    return dict(scope, headers=[(name, value) for name, value in scope["headers"] if name != b"last-event-id"])


_JSON = "application/json"


@dataclass(frozen=True)
class _Call:
    """A request for the list of the tools if `name` is empty, otherwise a call of the tool of that name."""

    identifier: int | str
    name: str
    arguments: dict[str, Any]


def _is_plain(headers: Mapping[str, str]) -> bool:
    """Whether a POST sends JSON and accepts it. The SDK has the answers for others."""
    return headers.get("content-type", "").partition(";")[0].strip() == _JSON and _JSON in headers.get("accept", "")


def _message_in(body: bytes) -> dict[str, Any]:
    """The message in a request's body; empty if it holds anything else."""
    try:
        return json_text.as_object(pydantic_core.from_json(body))
    except ValueError:
        return {}


def _call_in(message: dict[str, Any], names: Collection[str]) -> _Call | None:
    """The call that a message is, of a tool with one of these names; None if it is anything else."""
    if (identifier := json_text.as_request_id(message.get("id"))) is None:
        return None
    match message:
        case {"jsonrpc": "2.0", "method": "tools/list"} if not message.get("params"):
            return _Call(identifier, "", {})
        case {
            "jsonrpc": "2.0",
            "method": "tools/call",
            "params": {"name": str() as name, "arguments": dict()},
        } if name in names:
            return _Call(identifier, name, message["params"]["arguments"])
        case _:
            return None


def _cancelled_in(message: dict[str, Any]) -> int | str | None:
    """The request that a notification cancels; None if the message is anything else."""
    match message:
        case {"method": "notifications/cancelled", "params": {"requestId": identifier}}:
            return json_text.as_request_id(identifier)
        case _:
            return None


async def _read_body(receive: Receive, limit: int) -> tuple[bytes | None, Receive]:
    """A request's body, None if it is longer than `limit` bytes, and a `receive` that gives it again.

    Raises ClientDisconnect.
    """
    messages: list[Message] = []
    size = 0

    async def again() -> Message:
        return messages.pop(0) if messages else await receive()

    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        messages.append(message)
        size += len(message.get("body", b""))
        if size > limit:
            return None, again
        if not message.get("more_body", False):
            return b"".join(one["body"] for one in messages), again


async def _answer(send: Send, session: str, identifier: int | str, result: bytes) -> None:
    """Send the result of a request, which is JSON."""
    body = b'{"jsonrpc":"2.0","id":' + pydantic_core.to_json(identifier) + b',"result":' + result + b"}"
    headers = [
        (b"content-type", b"application/json"),
        (b"mcp-session-id", session.encode()),
        (b"content-length", b"%d" % len(body)),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})


async def _unless_gone(
    receive: Receive, cancelled: asyncio.Event, answering: Coroutine[Any, Any, dict[str, Any]]
) -> dict[str, Any] | None:
    """An answer that may take as long as the person needs; None if the client doesn't wait for it any more.

    A client that has cancelled it ignores what it gets, but it gets something.
    """
    answer, gone = asyncio.create_task(answering), asyncio.create_task(_gone(receive))
    over = asyncio.create_task(cancelled.wait())
    try:
        await asyncio.wait((answer, gone, over), return_when=asyncio.FIRST_COMPLETED)
        if answer.done():
            return answer.result()
        return failed(CANCELLED) if over.done() else None
    finally:
        for task in (answer, gone, over):
            task.cancel()
        await asyncio.wait((answer, gone, over))


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


_HEADER = "mcp-session-id"
_DEFAULT_VERSION = "2025-03-26"
"""The version of a client that names none."""


class AwaitedSession:
    """A session from before the reload whose CLI has not sent a request yet: it owns its open reviews until then.

    `outbox` has the notifications, as JSON objects, that the CLI gets when it comes back, and `said` the paths of its
    diffs as it said them.
    """

    is_model = False

    def __init__(
        self, known_as: str, window: WindowId, cli: str, outbox: list[dict[str, Any]], said: Mapping[str, str]
    ) -> None:
        self.window = window
        self.cli = cli
        self.said = said
        self._known_as = known_as
        self._outbox = outbox

    def notify(self, outcome: DiffOutcome) -> None:
        """Keep an outcome until the CLI comes back."""
        self._outbox.append(outcome.message)

    def handed_over(self) -> dict[str, Any]:
        """As `Session.handed_over`."""
        return {"session": self._known_as, "said": dict(self.said)}


class _ResumedSessions:
    """The session ids from before the reload, and the ids that the SDK has for them now.

    `open_again` opens a session for an old id, a caller and a protocol version, and returns its new id.
    """

    def __init__(self, waiting: dict[str, str], open_again: Callable[[str, Caller, str], Awaitable[str]]) -> None:
        self.waiting = dict(waiting)
        """Sessions whose CLIs haven't sent a request yet: from the id to the caller's name."""
        self._open_again = open_again
        self._inward: dict[str, str] = {}
        self._lock = asyncio.Lock()

    def outward(self, identifier: str) -> str:
        """The id that the CLI knows for a session of the SDK."""
        return next((outward for outward, inward in self._inward.items() if inward == identifier), identifier)

    def drop(self, are_gone: Callable[[str], bool], keep: int = 0) -> None:
        """Clients with such names don't come back; all but the last `keep` sessions of theirs are over."""
        gone = [outward for outward, name in self.waiting.items() if are_gone(name)]
        for outward in gone[: max(0, len(gone) - keep)]:
            del self.waiting[outward]

    def forget(self, identifier: str) -> None:
        """A session of the SDK is over."""
        self._inward.pop(self.outward(identifier), None)

    async def translate(self, caller: Caller, scope: Scope, send: Send) -> tuple[Scope, Send]:
        """Replace the CLI's id with the SDK's in a request, and back again in its answer."""
        headers = Headers(scope=scope)
        outward = headers.get(_HEADER)
        if outward is None:
            return scope, send
        async with self._lock:
            if self.waiting.get(outward) == caller.name:
                version = headers.get("mcp-protocol-version", _DEFAULT_VERSION)
                self._inward[outward] = await self._open_again(outward, caller, version)
                self.waiting.pop(outward, None)  # it may be dropped meanwhile
        inward = self._inward.get(outward)
        if inward is None:
            return scope, send
        scope = dict(scope, headers=list(scope["headers"]))
        MutableHeaders(scope=scope)[_HEADER] = inward

        async def renamed(message: Message) -> None:
            if message["type"] == "http.response.start":
                answered = MutableHeaders(raw=message["headers"])
                if _HEADER in answered:
                    answered[_HEADER] = outward
                message = dict(message, headers=answered.raw)
            await send(message)

        return scope, renamed
