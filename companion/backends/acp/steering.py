"""What is sent into the turn that runs, and what waits."""

from __future__ import annotations

from collections.abc import Callable

from ...conversation.snapshot import Queued
from ..sessions import AgentSession
from . import extensions
from .errors import AnswerError, EndedError, LostMessageError, SilentError, UnansweredError
from .prompts import Prompts
from .requests import Requests


class AgentSteering:
    """Steers the prompts of an agent's one session."""

    def __init__(self, prompts: Prompts, requests: Requests, session: Callable[[], str]) -> None:
        """`session` is the id of the open one, as the agent has it."""
        self._prompts = prompts
        self._requests = requests
        self._session = session

    async def inject(self, session: AgentSession, message: str) -> str | None:
        """Send a message into the turn that runs. Returns its id; None if no turn runs, or the agent takes none.

        Raises:
            UnansweredError: the agent may have taken it, and doesn't say so.
            LostMessageError: it may have taken it, and has ended.
            AgentError: see Peer.
        """
        running = self._prompts.running
        if running is None or self._requests.are_over or not extensions.can_steer(self._requests.agent):
            return self._prompts.inject(message)
        try:
            answer = await self._requests.call(extensions.STEERING, extensions.steering(self._session(), message))
        except AnswerError:
            # It is sent as a prompt of its own then.
            return None
        except SilentError as error:
            raise UnansweredError(self._requests.name, error.seconds) from None
        except EndedError as error:
            raise LostMessageError(error.sentence) from None
        return self._prompts.injected(message, running) if answer.get("outcome") == "injected" else None

    async def queue(self, session: AgentSession) -> list[tuple[Queued, str]]:
        """The prompts that run or wait, each with its state: running or queued."""
        return self._prompts.queue

    async def dequeue(self, session: AgentSession, prompt: str) -> bool:
        """Remove a prompt that waits. Returns False if it doesn't."""
        return self._prompts.dequeue(prompt)
