"""Requests to a daemon, with limits in time and size. Every failure is an error that says what to do.

Runs on the companion thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, cast

import httpx2

from ... import json_text
from ...conversation.events import Envelope
from ...conversation.failures import ChatError, SessionGoneError, StreamLostError, UnsendableError
from ...json_text import as_object
from ..agent import AgentSession
from .address import Address
from .decoder import decode
from .errors import (
    DaemonError,
    RefusedError,
    TemporaryError,
    missing_feature,
    not_a_daemon,
    trouble,
    works_elsewhere,
)

MAX_EVENT = 64 * 1024 * 1024
"""Bytes of one event; the daemon's own limit for a request is 10 MB, and its largest event was half a megabyte."""


@dataclass(slots=True)
class Decoder:
    """Takes bytes as they come and gives the data of each event once it is whole.

    The `event:` and `id:` fields say nothing that the daemon doesn't repeat in the data
    (docs/protocols/qwen-serve.md#event-stream).
    """

    _rest: bytearray = field(default_factory=bytearray)
    _searched: int = 0
    _data: list[bytes] = field(default_factory=list[bytes])
    _size: int = 0

    def feed(self, received: bytes) -> list[str]:
        """The events that are whole with these bytes. Comments and events without data are left out.

        Raises:
            StreamLostError: the event that comes in never ends.
        """
        self._rest += received
        events: list[str] = []
        begin = 0
        while (end := self._rest.find(b"\n", max(begin, self._searched))) >= 0:
            line = bytes(self._rest[begin:end]).removesuffix(b"\r")
            begin = end + 1
            if line.startswith(b"data:"):
                data = line[5:].removeprefix(b" ")
                self._data.append(data)
                self._size += len(data)
            elif not line and self._data:
                event, self._data, self._size = b"\n".join(self._data), [], 0
                events.append(event.decode("utf-8", "replace"))
        del self._rest[:begin]
        self._searched = len(self._rest)
        if self._size + len(self._rest) > MAX_EVENT:
            raise StreamLostError("The daemon has sent an event that is too large.")
        return events


Keep = Callable[[str, object, str], object]
"""What to keep of an item of a list, from the list's name, the item, and its JSON text."""

_BLANK = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


def loads(text: str, keep: Keep = lambda _name, item, _text: item) -> object:
    """What a JSON text says. The values of an object are read one by one, and so are the items of its lists.

    Raises:
        ValueError: it isn't JSON.
        RecursionError: it is nested too deeply.
    """
    start = _skip(text, 0)
    if text[start : start + 1] != "{":
        return json.loads(text)
    found: dict[str, Any] = {}

    def member(at: int) -> int:
        name, at = _DECODER.raw_decode(text, at)
        if not isinstance(name, str):
            raise ValueError("A name is missing.")  # noqa: TRY004 - the text is wrong, not an argument's type
        at = _after(":", text, at)
        if text[at : at + 1] != "[":
            found[name], end = _DECODER.raw_decode(text, at)
            return end
        items: list[object] = []

        def item(at: int) -> int:
            value, end = _DECODER.raw_decode(text, at)
            items.append(keep(name, value, text[at:end]))
            return end

        found[name] = items
        return _each(text, at, "]", item)

    if _skip(text, _each(text, start, "}", member)) != len(text):
        raise ValueError("There is something behind the object.")
    return found


def _each(text: str, at: int, close: str, read: Callable[[int], int]) -> int:
    """Read the parts of a list or an object, which begins at a place. Returns the place behind it.

    `read` gets the place of a part, and returns the one behind that.
    """
    at = _skip(text, at + 1)
    if text[at : at + 1] == close:
        return at + 1
    while True:
        at = _skip(text, read(at))
        if text[at : at + 1] == close:
            return at + 1
        at = _after(",", text, at)


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _after(sign: str, text: str, at: int) -> int:
    at = _skip(text, at)
    if text[at : at + 1] != sign:
        raise ValueError(f"“{sign}” is missing at {at}.")
    return _skip(text, at + 1)


MAX_REASON = 300
"""Characters of the daemon's own words in a message."""
_NO_SESSION = "The daemon doesn't run this session any more."


def refusal(status: int, headers: Mapping[str, str], content: bytes, address: Address, *, known: bool) -> ChatError:
    """The error for an answer. `known` says whether the address has answered as a daemon before."""
    body = _object(content)
    if body is None and status not in {HTTPStatus.UNAUTHORIZED, HTTPStatus.TOO_MANY_REQUESTS}:
        # Express's page for an unknown path, or the page of another server.
        if known and status == HTTPStatus.NOT_FOUND:
            return missing_feature("route for it")
        return trouble(status, _seconds(headers.get("retry-after"))) if known else not_a_daemon(address.url)
    body = body or {}
    return _by_code(body) or _by_status(status, headers, body, address)


def _by_status(status: int, headers: Mapping[str, str], body: Mapping[str, Any], address: Address) -> ChatError:
    reason, code = _reason(body, address), body.get("code")
    match status:
        case HTTPStatus.UNAUTHORIZED:
            had = "The daemon refuses the token.", "Set the token to what `QWEN_SERVER_TOKEN` was when it started."
            had_none = "The daemon wants a token.", "Set QWEN_SERVER_TOKEN in the environment of Sublime Text."
            return DaemonError(*(had if address.token else had_none))
        case HTTPStatus.FORBIDDEN:
            remedy = "Use the address that it prints at its start, or the rights that it asks for."
            return DaemonError(f"The daemon refuses the request: {reason}.", remedy)
        case HTTPStatus.BAD_GATEWAY if code == "upstream_error":
            remedy = "Check whether it can be reached from the daemon's machine, then try again."
            return DaemonError(f"The service that signs you in doesn't answer as it should: {reason}.", remedy)
        case (
            HTTPStatus.TOO_MANY_REQUESTS
            | HTTPStatus.BAD_GATEWAY
            | HTTPStatus.SERVICE_UNAVAILABLE
            | HTTPStatus.GATEWAY_TIMEOUT
        ):
            # A proxy gives these two when the daemon hasn't answered it.
            is_gateway = status in {HTTPStatus.BAD_GATEWAY, HTTPStatus.GATEWAY_TIMEOUT}
            return TemporaryError(
                f"The daemon has too much to do: {reason}.",
                "Close another session or client, or try again later.",
                retry_after=_seconds(headers.get("retry-after")),
                may_have_arrived=is_gateway,
            )
        # 0.21.2 doesn't give it a code; a vote that comes too late names its request, too.
        case HTTPStatus.NOT_FOUND if code is None and "sessionId" in body and "requestId" not in body:
            return SessionGoneError(_NO_SESSION)
        case _:
            return RefusedError(status, reason)


def _by_code(body: Mapping[str, Any]) -> ChatError | None:
    match body.get("code"):
        case "workspace_mismatch":
            return works_elsewhere(str(body.get("requestedWorkspace")), [str(body.get("boundWorkspace"))])
        case "untrusted_workspace":
            remedy = "Trust the folder in Qwen Code first: /trust in its terminal."
            return DaemonError("The daemon doesn't trust this folder.", remedy)
        case "prompt_queue_full":
            limit = body.get("limit")
            taken = f": it takes {limit}, with the one that runs" if type(limit) is int else ""
            return TemporaryError(f"The queue is full{taken}.", "Wait until one is through, or remove one.")
        case "session_not_found":
            return SessionGoneError(_NO_SESSION)
        case _:
            return None


def _object(content: bytes) -> dict[str, Any] | None:
    try:
        body = json_text.read(content)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", body) if isinstance(body, dict) else None


def _reason(body: Mapping[str, Any], address: Address) -> str:
    """The daemon's own message. The agent's errors have theirs one level deeper."""
    details = as_object(body.get("data")).get("details")
    words = details if isinstance(details, str) else body.get("error")
    reason = words.strip().rstrip(".") if isinstance(words, str) and words.strip() else "it doesn't say why"
    if address.token:
        reason = reason.replace(address.token.reveal(), "…")
    return reason if len(reason) <= MAX_REASON else reason[: MAX_REASON - 1] + "…"


def _seconds(text: str | None) -> float | None:
    """What `Retry-After` asks for, which is a number of seconds or a date."""
    if text is None or text.isdecimal():
        return float(text) if text else None
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None


CONNECT_LIMIT = 5.0
"""Seconds for a connection."""
ANSWER_LIMIT = 30.0
"""Seconds for a whole answer."""
SILENCE_LIMIT = 45.0
"""Seconds without a byte of the events: the daemon's heart beats every 15."""
MAX_BODY = 10 * 1024 * 1024
"""Bytes of a request; the daemon's limit."""
SLOWEST = 64 * 1024
"""Bytes of a request that go out in a second, at least."""
MAX_ANSWER = 64 * 1024 * 1024
"""Bytes of an answer."""
LONG = 256 * 1024
"""Bytes of an answer that takes too long to be read on the loop."""
MAX_SHORT_ANSWER = 1024 * 1024
"""Bytes of a refusal, and of an answer before it is known that a daemon gives it."""

_GONE = "The connection to the daemon has gone."


class Transport:
    """Sends requests to one daemon. Must be closed."""

    def __init__(self, address: Address, *, is_known: bool = False) -> None:
        self.is_known = is_known
        """Whether the address has answered as a daemon."""
        self._address = address
        self._is_closed = False
        self._limits: set[asyncio.Timeout] = set()
        """Of the requests that have no answer yet."""
        self._left = asyncio.Event()
        """One of them has ended."""
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        if address.token:
            headers["Authorization"] = f"Bearer {address.token.reveal()}"
        self._http = httpx2.AsyncClient(
            base_url=address.url,
            headers=headers,
            timeout=httpx2.Timeout(ANSWER_LIMIT, connect=CONNECT_LIMIT),
            # Requests to this machine never go through a proxy.
            trust_env=not address.is_loopback,
            # Reading the certificates takes 5 ms, and longer with an environment.
            verify=address.url.startswith("https:"),
        )

    async def close(self) -> None:
        """Drop all connections. A request that has no answer yet raises StreamLostError."""
        self._is_closed = True
        # The client would forget a connection that is just being made, and leave it open.
        for limit in self._limits:
            if not limit.expired():
                limit.reschedule(0)
        while self._limits:
            self._left.clear()
            await self._left.wait()
        await self._http.aclose()

    @contextlib.asynccontextmanager
    async def stream(
        self, route: str, headers: Mapping[str, str], session: AgentSession
    ) -> AsyncGenerator[tuple[str, AsyncIterator[Envelope]]]:
        """The events that a route streams while the request is open, and the name of the bus that counts them.

        Raises:
            StreamLostError: the connection has gone, or nothing came for 45 s.
            ChatError: the daemon refuses.
        """
        request = self._http.build_request(
            "GET",
            route,
            headers={"Accept": "text/event-stream", **headers, **_identity(session)},
            timeout=httpx2.Timeout(SILENCE_LIMIT, connect=CONNECT_LIMIT),
        )
        async with self._within(SILENCE_LIMIT):
            response = await self._open(request)
        try:
            if response.status_code != HTTPStatus.OK:
                async with self._within(ANSWER_LIMIT):
                    raise await self._refusal(response)
            # Closed here: generators that the garbage collector finds at the same time disturb each other's ends.
            async with contextlib.aclosing(_frames(response)) as frames:
                yield response.headers.get("x-qwen-event-epoch", ""), frames
        finally:
            await response.aclose()

    async def json(
        self,
        method: str,
        route: str,
        body: Mapping[str, Any] | None = None,
        session: AgentSession | None = None,
        *,
        limit: float = ANSWER_LIMIT,
        keep: Keep | None = None,
    ) -> Mapping[str, Any]:
        """The object that a route answers; an empty one for an empty answer.

        `keep` says what to keep of the items of its lists.
        """
        content = await self.send(method, route, body, session, limit=limit)
        if not content:
            return {}
        try:
            is_short = len(content) <= LONG and keep is None
            answer: object = json.loads(content) if is_short else await asyncio.to_thread(_read_long, content, keep)
        except (ValueError, RecursionError):
            if self.is_known:
                raise trouble(HTTPStatus.OK) from None
            raise not_a_daemon(self._address.url) from None
        return cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}

    async def send(
        self,
        method: str,
        route: str,
        body: Mapping[str, Any] | None = None,
        session: AgentSession | None = None,
        *,
        limit: float = ANSWER_LIMIT,
    ) -> bytes:
        """What a route answers."""
        content = b""
        headers = _identity(session)
        if body is not None:
            # Unpaired surrogates, which an editor's text may hold, are escaped and so go through.
            content = json.dumps({name: value for name, value in body.items() if value is not None}).encode()
            if len(content) > MAX_BODY:
                raise UnsendableError(
                    f"This has {len(content) / 1024 / 1024:.1f} MB, and the daemon takes at most 10.",
                    "Send less at once.",
                )
            headers["Content-Type"] = "application/json"
        request = self._http.build_request(
            method,
            route,
            content=content or None,
            headers=headers,
            timeout=httpx2.Timeout(limit, connect=CONNECT_LIMIT),
        )
        async with self._within(limit + len(content) / SLOWEST):
            response = await self._open(request)
            try:
                if not response.is_success:
                    raise await self._refusal(response)
                return await self._read(response, MAX_ANSWER if self.is_known else MAX_SHORT_ANSWER)
            finally:
                await response.aclose()

    @contextlib.asynccontextmanager
    async def _within(self, seconds: float) -> AsyncGenerator[None]:
        """Give up on an answer that takes longer than `seconds`, even if parts of it arrive, and at the end of all."""
        if self._is_closed:
            raise StreamLostError(_GONE)
        try:
            async with asyncio.timeout(seconds) as limit:
                self._limits.add(limit)
                try:
                    yield
                finally:
                    self._limits.discard(limit)
                    self._left.set()
        except TimeoutError:
            raise StreamLostError(_GONE if self._is_closed else "The daemon doesn't finish its answer.") from None

    async def _open(self, request: httpx2.Request) -> httpx2.Response:
        try:
            return await self._http.send(request, stream=True)
        except (httpx2.ConnectError, httpx2.ConnectTimeout):
            # Without its cause, so that no traceback has the request with its token.
            raise TemporaryError(
                f"No daemon answers at {self._address.url}.",
                "Start `qwen serve` there, or correct the address in the settings.",
                agent_may_change=True,
            ) from None
        except httpx2.TimeoutException:
            raise StreamLostError("The daemon doesn't answer.") from None
        except httpx2.HTTPError:
            raise StreamLostError(_GONE) from None

    async def _refusal(self, response: httpx2.Response) -> ChatError:
        content = await self._read(response, MAX_SHORT_ANSWER)
        return refusal(response.status_code, response.headers, content, self._address, known=self.is_known)

    async def _read(self, response: httpx2.Response, most: int) -> bytes:
        """The body of an answer that has at most `most` bytes."""
        content = bytearray()
        try:
            async with contextlib.aclosing(response.aiter_bytes()) as parts:
                async for part in parts:
                    content += part
                    if len(content) > most:
                        if not self.is_known:
                            raise not_a_daemon(self._address.url)
                        size = f"more than {most // 1024 // 1024} MB"
                        raise RefusedError(response.status_code, f"its answer has {size}")
        except httpx2.TimeoutException:
            raise StreamLostError("The daemon doesn't finish its answer.") from None
        except httpx2.HTTPError:
            raise StreamLostError(_GONE) from None
        return bytes(content)


def _read_long(content: bytes, keep: Keep | None) -> object:
    text = content.decode("utf-8")
    return loads(text, keep) if keep else loads(text)


async def _frames(response: httpx2.Response) -> AsyncGenerator[Envelope]:
    decoder = Decoder()
    try:
        async with contextlib.aclosing(response.aiter_raw()) as parts:
            async for received in parts:
                for data in decoder.feed(received):
                    yield decode(data)
    except httpx2.TimeoutException:
        raise StreamLostError(f"The daemon has been silent for {SILENCE_LIMIT:.0f} s.") from None
    except (httpx2.HTTPError, httpx2.StreamError):
        raise StreamLostError(_GONE) from None


def _identity(session: AgentSession | None) -> dict[str, str]:
    return {"X-Qwen-Client-Id": session.client_id} if session and session.client_id else {}
