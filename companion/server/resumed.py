"""Sessions that CLIs have opened with the instance before a reload, and go on to use (`handover`).

The SDK makes the ids of its sessions itself. So such a session is opened anew in the SDK, in process, and from then on
its id is translated: the CLI goes on to say and to hear the one that it knows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import Message, Scope, Send

HEADER = "mcp-session-id"
DEFAULT_VERSION = "2025-03-26"
"""What a client speaks that does not say it."""


class ResumedSessions:
    """The ids of the sessions before the reload, and what they are called in the SDK now.

    `open_again` opens a session for a family and a protocol version, and returns its id.
    """

    def __init__(self, waiting: dict[str, str], open_again: Callable[[str, str], Awaitable[str]]) -> None:
        self.waiting = dict(waiting)
        """Those whose CLIs haven't come back yet: from the id to the family's name."""
        self._open_again = open_again
        self._inward: dict[str, str] = {}
        self._lock = asyncio.Lock()

    def outward(self, identifier: str) -> str:
        """The id under which the CLI knows a session of the SDK."""
        return next((outward for outward, inward in self._inward.items() if inward == identifier), identifier)

    def forget(self, identifier: str) -> None:
        """A session of the SDK is over."""
        self._inward.pop(self.outward(identifier), None)

    async def translate(self, family: str, scope: Scope, send: Send) -> tuple[Scope, Send]:
        """A request and its answer, with the SDK's id in place of the CLI's on the way in, and back on the way out."""
        headers = Headers(scope=scope)
        outward = headers.get(HEADER)
        if outward is None:
            return scope, send
        async with self._lock:
            if self.waiting.get(outward) == family:
                version = headers.get("mcp-protocol-version", DEFAULT_VERSION)
                self._inward[outward] = await self._open_again(family, version)
                del self.waiting[outward]
        inward = self._inward.get(outward)
        if inward is None:
            return scope, send
        scope = dict(scope, headers=list(scope["headers"]))
        MutableHeaders(scope=scope)[HEADER] = inward

        async def renamed(message: Message) -> None:
            if message["type"] == "http.response.start":
                answered = MutableHeaders(raw=message["headers"])
                if HEADER in answered:
                    answered[HEADER] = outward
                message = dict(message, headers=answered.raw)
            await send(message)

        return scope, renamed
