"""The daemon's routes for what is sent into the turn that runs, and for what waits."""

from __future__ import annotations

from urllib.parse import quote
from uuid import uuid4

from ...conversation.failures import ChatError
from ...conversation.snapshot import Queued
from ..sessions import AgentSession
from . import answers
from .routes import Routes, path

_MID_TURN = "session_mid_turn_message_mutation"
_QUEUES = {"pending-prompts": "session_prompt", "mid-turn-messages": _MID_TURN}
"""The routes of what waits, each with the feature that it comes with."""


class DaemonSteering:
    """Steers what runs and what waits."""

    def __init__(self, routes: Routes) -> None:
        self._routes = routes

    async def inject(self, session: AgentSession, message: str) -> str | None:
        """Send a message into the turn that runs. Returns its id, which the queue has; None if no turn runs."""
        # 0.21.2 takes them too, but doesn't show them, and drops those that come too late for the turn.
        self._routes.need(_MID_TURN)
        body = {"message": message, "messageId": str(uuid4())}
        try:
            answer = await self._routes.transport.json("POST", path(session, "mid-turn-message"), body, session)
        except ChatError as error:
            if error.may_have_arrived and await self._has_injected(session, body["messageId"]):
                return body["messageId"]
            raise
        return str(answer.get("messageId", "")) if answer.get("accepted") is True else None

    async def _has_injected(self, session: AgentSession, message: str) -> bool:
        """Whether a message for the turn has arrived; False if that can't be found out."""
        try:
            answer = await self._routes.transport.json("GET", path(session, "mid-turn-messages"), session=session)
        except ChatError:
            return False
        return message in answers.injected(answer)

    async def queue(self, session: AgentSession) -> list[tuple[Queued, str]]:
        """The prompts that run or wait, each with its state: running or queued."""
        answer = await self._routes.transport.json("GET", path(session, "pending-prompts"), session=session)
        return [
            (Queued(pending.prompt_id, pending.text, pending.originator_client_id), pending.state)
            for pending in answers.pending(answer)
        ]

    async def dequeue(self, session: AgentSession, prompt: str) -> bool:
        """Remove a queued prompt or a message for the running turn. Returns False if it isn't queued."""
        for kind, feature in _QUEUES.items():
            if self._routes.has(feature):
                route = path(session, f"{kind}/{quote(prompt, safe='')}")
                if (await self._routes.transport.json("DELETE", route, session=session)).get("removed") is True:
                    return True
        return False
