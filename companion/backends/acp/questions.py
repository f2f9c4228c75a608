"""The permissions that an agent asks for. Each waits for the person, for as long as they take."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Mapping
from typing import Any

from ...conversation import events
from ...conversation.failures import AlreadyAnsweredError
from ..updates import decode_permission

_CANCELLED = {"outcome": {"outcome": "cancelled"}}


class Questions:
    """The questions of one chat. `publish` tells the chat of them; `name` begins their ids."""

    def __init__(self, publish: Callable[[events.Event], object], name: str) -> None:
        self._publish = publish
        self._name = name
        self._numbers = itertools.count(1)
        self._asked: dict[str, asyncio.Future[tuple[str | None, Mapping[str, str]]]] = {}

    async def ask(self, call: object, options: object, *, is_ours: bool, is_over: bool) -> dict[str, Any]:
        """Ask the person about a tool call. Returns the answer to `session/request_permission`.

        A question that can't be read, that isn't about our session, or whose turn the person has cancelled, is
        cancelled.
        """
        if is_over:
            return _CANCELLED
        if not is_ours:
            self._publish(events.Unsupported("a question about another session, which was cancelled"))
            return _CANCELLED
        number = f"{self._name}-{next(self._numbers)}"
        request = decode_permission(number, call, options)
        if isinstance(request, events.PermissionRequest) and not request.options:
            request = events.Unsupported("a question that offers no answer, which was cancelled")
        self._publish(request)
        if isinstance(request, events.Unsupported):
            return _CANCELLED
        future = self._asked[number] = asyncio.get_running_loop().create_future()
        try:
            option, answers = await future
        finally:
            del self._asked[number]
        outcome = {"outcome": "selected", "optionId": option} if option else {"outcome": "cancelled"}
        self._publish(events.PermissionResolved(number, is_selected=bool(option), option=option))
        return {"outcome": outcome, **({"answers": dict(answers)} if answers else {})}

    def answer(self, request: str, option: str | None, answers: Mapping[str, str]) -> None:
        """Answer a question with the id of an option; None cancels it.

        Raises:
            AlreadyAnsweredError: it is settled.
        """
        future = self._asked.get(request)
        if future is None or future.done():
            raise AlreadyAnsweredError
        future.set_result((option, answers))

    def cancel(self) -> None:
        """Cancel all that wait."""
        for future in self._asked.values():
            if not future.done():
                future.set_result((None, {}))
