"""What is sent into the turn that runs, and what waits."""

from __future__ import annotations

from ...conversation.snapshot import Queued
from ..sessions import AgentSession
from .prompts import Prompts


class AgentSteering:
    """Steers the prompts of an agent's one session."""

    def __init__(self, prompts: Prompts) -> None:
        self._prompts = prompts

    async def inject(self, session: AgentSession, message: str) -> str | None:
        """Send a message into the turn that runs. Returns its id; None if no turn runs, or the agent takes none."""
        return self._prompts.inject(message)

    async def queue(self, session: AgentSession) -> list[tuple[Queued, str]]:
        """The prompts that run or wait, each with its state: running or queued."""
        return self._prompts.queue

    async def dequeue(self, session: AgentSession, prompt: str) -> bool:
        """Remove a prompt that waits. Returns False if it doesn't."""
        return self._prompts.dequeue(prompt)
