"""What a person sends into a chat: in order, once it is connected; and back to the person if it can't be sent."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import asdict
from typing import Any

from .daemon.answers import Session
from .daemon.client import Block, Client
from .daemon.errors import DaemonError, MissingFeatureError
from .daemon.prompt import Draft, Excerpt
from .drafts import Place, blocks

MAX_INJECTED = 16_000
"""Characters of a message into a turn that runs; the daemon takes 16 k."""
MAX_REMEMBERED = 20
"""How many of the latest drafts are remembered, for one that comes back from the queue."""


class Outbox:
    """The drafts of one chat. `connected` waits for the connection; it raises a DaemonError if that can't be had."""

    def __init__(
        self,
        connected: Callable[[], Awaitable[tuple[Client, Session, Place]]],
        give_back: Callable[[Draft, str], object],
    ) -> None:
        self._connected = connected
        self._give_back = give_back
        self._sending = asyncio.Lock()
        self._waiting: list[Draft] = []
        self._sent: dict[str, Draft] = {}

    def send(self, draft: Draft, *, mid_turn: bool) -> Coroutine[Any, Any, None]:
        """What sends a draft as a prompt, or into the turn that runs. It is given back if that fails."""
        # At once, so that it is here whatever becomes of the task.
        self._waiting.append(draft)
        return self._deliver(draft, mid_turn=mid_turn)

    async def _deliver(self, draft: Draft, *, mid_turn: bool) -> None:
        try:
            async with self._sending:
                await self._send(draft, mid_turn=mid_turn)
        except DaemonError as error:
            if self._settle(draft):
                self._give_back(draft, str(error))
        self._settle(draft)

    def take(self) -> list[Draft]:
        """What has not gone out yet, the oldest first. It is the taker's from now on."""
        waiting, self._waiting = self._waiting, []
        return waiting

    def draft_of(self, queued: str, text: str) -> Draft:
        """What the person has sent as a prompt that waits in the daemon's queue."""
        return self._sent.get(queued) or Draft(text)

    def _settle(self, draft: Draft) -> bool:
        """Whether a draft was still ours. Two that are equal are two."""
        for i, waiting in enumerate(self._waiting):
            if waiting is draft:
                del self._waiting[i]
                return True
        return False

    async def _send(self, draft: Draft, *, mid_turn: bool) -> None:
        client, session, place = await self._connected()
        content = await blocks(draft, client, place)
        if mid_turn and await _inject(client, session, content):
            return
        identifier = await client.prompt(session, content)
        self._sent[identifier] = draft
        for old in list(self._sent)[:-MAX_REMEMBERED]:
            del self._sent[old]


async def _inject(client: Client, session: Session, content: list[Block]) -> bool:
    """Whether a turn that runs has taken it: that takes texts alone, and no long ones."""
    message = content[0].get("text") if len(content) == 1 else None
    if not isinstance(message, str) or len(message) > MAX_INJECTED:
        return False
    try:
        return await client.inject(session, message)
    except MissingFeatureError:
        return False


def plain(draft: Draft) -> dict[str, Any]:
    """A draft as plain data, for the next instance of the package."""
    return asdict(draft)


def from_plain(data: Mapping[str, Any]) -> Draft:
    """The draft that `plain` was given."""
    excerpts = tuple(Excerpt(**excerpt) for excerpt in data["excerpts"])
    return Draft(data["text"], excerpts, tuple(data["pictures"]), dict(data["unsaved"]))
