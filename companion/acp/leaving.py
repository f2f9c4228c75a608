"""Leaving an agent to the next instance of the package, in the middle of whatever it does, and taking it over."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from typing import Any

from ..backends.sessions import Session
from ..clis.environment import LoginEnvironment
from ..conversation.events import Envelope
from . import process, schema
from .asking import Asking
from .files import Files
from .news import News
from .outputs import Outputs
from .port import OfferedServer
from .process import AgentProcess
from .prompts import Prompts
from .stream import OURS, Stream
from .terminals import Terminals

LEAVE_LIMIT = 0.2
"""Seconds that requests of the agent have to be answered before it is left to the next instance."""


class Leaving(Asking):
    """Leaves an agent, and takes one over."""

    _cancelling: asyncio.TimerHandle | None
    _files: Files | None
    _login: LoginEnvironment
    _news: News
    _offered: OfferedServer | None
    _outputs: Outputs
    _process: AgentProcess | None
    _prompts: Prompts
    _reading: asyncio.Task[None] | None
    _stream: Stream
    _terminals: Terminals | None

    async def leave(self) -> dict[str, Any] | None:
        """Let go of the agent in the middle of whatever it does. Returns what `take_over` needs.

        None if it could not be left; then it has ended. Afterwards `unread` has the last events.
        """
        if not (self._process and self._reading and self._files and self._terminals and self._session):
            await self.close()
            return None
        if not self._process.is_running:
            await self.close()
            return None
        self._reading.cancel()
        await asyncio.wait([self._reading])
        for line in self._process.take_ready():
            self._peer.receive(line)
        end = asyncio.get_running_loop().time() + LEAVE_LIMIT
        while self._prompts.running and not self._peer.waits_for("session/prompt"):
            # The turn has just ended, which is being told.
            await asyncio.sleep(0.005)
            if asyncio.get_running_loop().time() > end:
                break
        peer = await self._peer.leave(LEAVE_LIMIT)
        self._outputs.show()
        left = {
            "peer": peer,
            "prompts": await self._prompts.leave(),
            "terminals": await self._terminals.leave(),
            "process": None,
        }
        if left["terminals"] and not self._news.is_history:
            left["process"] = await self._process.leave()
        if left["process"] is None:
            await self.close()
            return None
        is_cancelling = self._cancelling is not None
        if self._cancelling:
            self._cancelling.cancel()
        return {
            **left,
            "agent": self.agent.model_dump(by_alias=True),
            "command": (self.command.name, list(self.command.command)),
            "folder": self.folder,
            "session": self._session,
            "begun": self._begun,
            "settings": self._settings.leave(),
            "files": self._files.leave(),
            "shown_in": self._outputs.shown_in,
            "is_cancelling": is_cancelling,
            "offered": (self._offered.url, self._offered.token) if self._offered else None,
        }

    @property
    def unread(self) -> list[Envelope]:
        """The events that nobody has read."""
        return self._stream.unread

    async def take_over(self, left: Mapping[str, Any]) -> Session:
        """Go on with an agent that another instance has left. Returns its session.

        Raises whatever is wrong with what another version of the package may have left in another form.
        """
        self.agent = schema.read(schema.Agent, left["agent"]) or schema.Agent()
        self.folder, self._session = left["folder"], left["session"]
        self._settings = schema.Settings.left(left["settings"])
        self._offered = OfferedServer(*left["offered"]) if left["offered"] else None
        environment = {**await self._login.get(), **self.command.environment}
        files, terminals = self._made(environment)
        await files.take_over(left["files"])
        self._outputs.shown_in.update(left["shown_in"])
        await terminals.take_over(left["terminals"])
        self._process = await process.take_over(left["process"])
        self._peer.agent = self._process.agent = self.name
        answer = self._peer.go_on(left["peer"], "session/prompt")
        self._prompts.take_over(left["prompts"], lambda: stop_reason(answer))
        self._reading = asyncio.create_task(self._read(self._process))
        self._peer.repeat(left["peer"])
        if left["is_cancelling"] and self._prompts.running:
            self._cancel_later(self._prompts.running)
        self._begun = left.get("begun", 0.0)
        return Session.known(self._session, self.folder, OURS, self._begun)

    async def close(self) -> None:
        """End the agent and all that it has started."""
        raise NotImplementedError

    def _made(self, environment: Mapping[str, str]) -> tuple[Files, Terminals]:
        """Make what answers the agent's requests."""
        raise NotImplementedError

    async def _read(self, running: AgentProcess) -> None:
        raise NotImplementedError

    def _cancel_later(self, prompt: str) -> None:
        raise NotImplementedError


async def stop_reason(answer: Awaitable[Mapping[str, Any]] | None) -> str:
    """Why a turn has stopped, from the answer to `session/prompt`; nothing if that was lost."""
    ended = schema.read(schema.Ended, await answer) if answer else None
    return ended.stop_reason if ended else ""
