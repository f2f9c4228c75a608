"""Sessions that CLIs opened before a reload and continue to use (`handover`).

The SDK makes the ids of its sessions itself. So such a session is opened again in the SDK, inside this process. From
then on its id is translated: the CLI continues to see the id that it knows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import Message, Scope, Send

from ...ids import WindowId
from ...protocol import ContextUpdate, Notification

HEADER = "mcp-session-id"
DEFAULT_VERSION = "2025-03-26"
"""The version of a client that names none."""


class AwaitedSession:
    """A session from before the reload whose CLI has not sent a request yet: it owns its open reviews until then.

    `outbox` has the notifications, as JSON objects, that the CLI gets when it comes back.
    """

    is_model = False

    def __init__(self, known_as: str, window: WindowId, cli: str, outbox: list[dict[str, Any]]) -> None:
        self.window = window
        self.cli = cli
        self._known_as = known_as
        self._outbox = outbox

    def notify(self, notification: Notification) -> None:
        """Keep an outcome until the CLI comes back. A context is made anew then."""
        if not isinstance(notification, ContextUpdate):
            self._outbox.append(notification.model_dump(by_alias=True, exclude_none=True))

    def handed_over(self) -> dict[str, Any]:
        """The session id that the CLI uses, by which the next instance finds it."""
        return {"session": self._known_as}


class ResumedSessions:
    """The session ids from before the reload, and the ids that the SDK has for them now.

    `open_again` opens a session for an old id, a family and a protocol version, and returns its new id.
    """

    def __init__(self, waiting: dict[str, str], open_again: Callable[[str, str, str], Awaitable[str]]) -> None:
        self.waiting = dict(waiting)
        """Sessions whose CLIs haven't sent a request yet: from the id to the family's name."""
        self._open_again = open_again
        self._inward: dict[str, str] = {}
        self._lock = asyncio.Lock()

    def outward(self, identifier: str) -> str:
        """The id that the CLI knows for a session of the SDK."""
        return next((outward for outward, inward in self._inward.items() if inward == identifier), identifier)

    def inward(self, identifier: str) -> str:
        """The SDK's id of the session that the CLI knows by this one."""
        return self._inward.get(identifier, identifier)

    def drop(self, are_gone: Callable[[str], bool], keep: int = 0) -> None:
        """Clients with such names don't come back; all but the last `keep` sessions of theirs are over."""
        gone = [outward for outward, family in self.waiting.items() if are_gone(family)]
        for outward in gone[: max(0, len(gone) - keep)]:
            del self.waiting[outward]

    def forget(self, identifier: str) -> None:
        """A session of the SDK is over."""
        self._inward.pop(self.outward(identifier), None)

    async def translate(self, family: str, scope: Scope, send: Send) -> tuple[Scope, Send]:
        """Replace the CLI's id with the SDK's in a request, and back again in its answer."""
        headers = Headers(scope=scope)
        outward = headers.get(HEADER)
        if outward is None:
            return scope, send
        async with self._lock:
            if self.waiting.get(outward) == family:
                version = headers.get("mcp-protocol-version", DEFAULT_VERSION)
                self._inward[outward] = await self._open_again(outward, family, version)
                self.waiting.pop(outward, None)  # it may be dropped meanwhile
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
