"""Requests to a daemon, with limits in time and size. Every failure is an error that says what to do.

Runs on the companion thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, cast

import httpx2

from ...conversation.events import Envelope
from ...conversation.failures import ChatError, StreamLostError, UnsendableError
from ..sessions import AgentSession
from . import long
from .address import Address
from .decoder import decode
from .errors import (
    NotADaemonError,
    RefusedError,
    TroubleError,
    UnreachableError,
)
from .refusals import refusal
from .sse import Decoder, EventTooLargeError

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


@dataclass(frozen=True, slots=True)
class SessionEvents:
    """The events of a session while the request is open."""

    epoch: str
    """The bus that counts them."""
    envelopes: AsyncIterator[Envelope]


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
    ) -> AsyncGenerator[SessionEvents]:
        """The events that a route streams.

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
                yield SessionEvents(response.headers.get("x-qwen-event-epoch", ""), frames)
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
        keep: long.Keep | None = None,
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
                raise TroubleError(HTTPStatus.OK) from None
            raise NotADaemonError(self._address.url) from None
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
            raise UnreachableError(self._address.url) from None
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
                            raise NotADaemonError(self._address.url)
                        size = f"more than {most // 1024 // 1024} MB"
                        raise RefusedError(response.status_code, f"its answer has {size}")
        except httpx2.TimeoutException:
            raise StreamLostError("The daemon doesn't finish its answer.") from None
        except httpx2.HTTPError:
            raise StreamLostError(_GONE) from None
        return bytes(content)


def _read_long(content: bytes, keep: long.Keep | None) -> object:
    text = content.decode("utf-8")
    return long.loads(text, keep) if keep else long.loads(text)


async def _frames(response: httpx2.Response) -> AsyncGenerator[Envelope]:
    decoder = Decoder()
    try:
        async with contextlib.aclosing(response.aiter_raw()) as parts:
            async for received in parts:
                for data in decoder.feed(received):
                    yield decode(data)
    except httpx2.TimeoutException:
        raise StreamLostError(f"The daemon has been silent for {SILENCE_LIMIT:.0f} s.") from None
    except EventTooLargeError:
        raise StreamLostError("The daemon has sent an event that is too large.") from None
    except (httpx2.HTTPError, httpx2.StreamError):
        raise StreamLostError(_GONE) from None


def _identity(session: AgentSession | None) -> dict[str, str]:
    return {"X-Qwen-Client-Id": session.client_id} if session and session.client_id else {}
