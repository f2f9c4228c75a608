"""What an agent asks the person: permissions and forms. Each waits for them, for as long as they take."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...conversation import events
from ...conversation.failures import AlreadyAnsweredError
from ...conversation.forms import Values
from ..updates import decode_permission
from .elicitation import ACCEPT, Elicitation, encode_answer

_CANCELLED = {"outcome": {"outcome": "cancelled"}}


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question that waits."""

    future: asyncio.Future[tuple[str | None, Values]] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )
    elicitation: Elicitation | None = None


class Questions:
    """The questions of one chat. `publish` tells the chat of them; `name` begins their ids."""

    def __init__(self, publish: Callable[[events.Event], object], name: str) -> None:
        self._publish = publish
        self._name = name
        self._numbers = itertools.count(1)
        self._asked: dict[str, _Asked] = {}
        self._pages: dict[str, str] = {}
        """What the person does on pages, by the ids of the elicitations."""

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
        request = decode_permission(self._next(), call, options)
        if isinstance(request, events.PermissionRequest) and not request.options:
            request = events.Unsupported("a question that offers no answer, which was cancelled")
        if isinstance(request, events.Unsupported):
            self._publish(request)
            return _CANCELLED
        option, answers = await self._answer(request, _Asked())
        outcome = {"outcome": "selected", "optionId": option} if option else {"outcome": "cancelled"}
        return {"outcome": outcome, **({"answers": dict(answers)} if answers else {})}

    async def elicit(self, elicitation: Elicitation, *, knows_call: bool) -> Mapping[str, Any]:
        """Ask the person to fill in a form, or to go to a page. Returns the answer to `elicitation/create`.

        `knows_call` is whether the tool call that it is about was told of before.
        """
        number = self._next()
        title = elicitation.message or "The agent asks you"
        call = events.ToolCallUpdate(elicitation.tool_call or number)
        if not knows_call:
            call = events.ToolCallUpdate(call.id, title=title, kind="other", status="pending")
        request = events.PermissionRequest(number, call, elicitation.options, form=elicitation.form, title=title)
        try:
            option, values = await self._answer(request, _Asked(elicitation=elicitation))
        finally:
            if not knows_call:
                self._publish(events.ToolCallUpdate(call.id, status="completed"))
        if option == ACCEPT and elicitation.form.page:
            self._pages[elicitation.id] = title
        return encode_answer(elicitation, option, values)

    def completed(self, elicitation: str) -> None:
        """What was to be done on a page is done."""
        if done := self._pages.pop(elicitation, ""):
            self._publish(events.Announcement(f"Done: {done}"))
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

    async def _answer(self, request: events.PermissionRequest, asked: _Asked) -> tuple[str | None, Values]:
        """The person's answer: the id of an option, and what they have entered."""
        self._asked[request.id] = asked
        self._publish(request)
        option: str | None = None
        try:
            option, answers = await asked.future
        finally:
            del self._asked[request.id]
            self._publish(events.PermissionResolved(request.id, is_selected=bool(option), option=option))
        return option, answers
