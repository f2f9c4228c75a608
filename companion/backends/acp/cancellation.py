"""The cancel of a turn, which an agent has to follow."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ...conversation.events import CancelRequested
from .errors import SilentError
from .peer import Peer
from .prompts import Prompts
from .requests import Requests
from .stream import EventQueue

CANCEL_LIMIT = 20.0
"""Seconds that a turn has to end after a cancel."""


class Cancellation:
    """Cancels the turns of one session.

    Args:
        requests: those to the agent.
        peer: its connection.
        prompts: those of the session.
        stream: the events of the session.
        end: ends the agent, for a reason in words that follow "has ended".
    """

    def __init__(
        self, requests: Requests, peer: Peer, prompts: Prompts, stream: EventQueue, end: Callable[[str], object]
    ) -> None:
        self._requests = requests
        self._peer = peer
        self._prompts = prompts
        self._stream = stream
        self._end = end
        self._cancelled: str | None = None
        """The prompt that the person has cancelled last."""
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_on(self) -> bool:
        """Whether the person has cancelled the turn that runs, and not one that was just ending then."""
        return self._cancelled is not None and self._cancelled == self._prompts.running

    def begin(self, prompt: str, session: str) -> None:
        """Tell the agent to end the turn of a prompt."""
        self._stream.publish(CancelRequested(), prompt)
        self._peer.notify("session/cancel", {"sessionId": session})
        if not self.is_on:
            self.watch(prompt)

    def watch(self, prompt: str) -> None:
        """End the agent if it doesn't end the turn of a prompt."""
        self.stop()
        self._cancelled = prompt
        self._timer = asyncio.get_running_loop().call_later(CANCEL_LIMIT, self._not_cancelled, prompt)

    def stop(self) -> None:
        """The turn is over."""
        if self._timer:
            self._timer.cancel()
            self._timer = None

    def _not_cancelled(self, prompt: str) -> None:
        self._timer = None
        if self._prompts.running == prompt:
            error = SilentError(self._requests.name, CANCEL_LIMIT)
            self._peer.close(error)
            self._stream.fail(error)
            # Nobody knows what else it would do.
            self._end("it doesn't end its turn")
