"""The open session of an agent: a new one, or one that is loaded with its conversation."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

from ...conversation.failures import SessionGoneError
from ...conversation.history import Replay
from ..sessions import AgentSession
from ..wire import read
from . import extensions, schema
from .errors import AgentError, AnswerError
from .options import AgentOptions
from .peer import Peer
from .port import EditorServer, OfferedServer
from .publisher import Publisher
from .requests import Requests
from .stream import OURS, EventQueue

logger = logging.getLogger(__name__)

SESSION_LIMIT = 90.0
"""Seconds to open a session: the agent may have to start servers of its own."""
DETACH_LIMIT = 0.3
"""Seconds to close a session."""


class OpenSession:
    """The one session that a client has at a time.

    Args:
        requests: those to the agent.
        peer: its connection.
        publisher: gets the history while it is loaded.
        stream: the events of the session.
        options: get what the session begins with.
        server: offers the editor's own MCP server to the agent.
        hide: is told the secret with which the agent comes to that server.
    """

    def __init__(
        self,
        requests: Requests,
        peer: Peer,
        publisher: Publisher,
        stream: EventQueue,
        options: AgentOptions,
        server: EditorServer | None,
        hide: Callable[[str], object],
    ) -> None:
        self.id = ""
        self._begun = 0.0
        """As a Unix time in seconds; 0 if that isn't known."""
        self._requests = requests
        self._peer = peer
        self._publisher = publisher
        self._stream = stream
        self._options = options
        self._server = server
        self._hide = hide
        self._offered: OfferedServer | None = None

    async def create(self, folder: str) -> AgentSession:
        """See AgentClient."""
        opened = await self._opened("session/new", {"cwd": folder, "mcpServers": self._servers()})
        if not opened.session_id:
            raise AnswerError(self._requests.name, 0, "it has opened no session")
        self.id, self._begun = opened.session_id, time.time()
        return AgentSession.known(self.id, folder, OURS, self._begun)

    async def load(self, session: AgentSession, folder: str) -> tuple[AgentSession, Replay]:
        """See AgentClient. `folder` is the one that the agent works in."""
        requests = self._requests
        if not requests.has("load"):
            raise requests.missing("resume a conversation")
        if pause := extensions.pause_before_load(requests.agent.info.name, session.begun, time.time()):
            logger.info("%s would empty the conversation if it loaded it now: %.0f s are waited", requests.name, pause)
            await asyncio.sleep(pause)
        self.id, self._begun = session.id, session.begun
        self._publisher.begin_history(session.id)
        method = "session/load" if requests.agent.abilities.load_session else "session/resume"
        params = {"sessionId": session.id, "cwd": session.folder or folder, "mcpServers": self._servers()}
        try:
            await self._opened(method, params)
        except AnswerError as error:
            raise SessionGoneError(f"{requests.name} can't resume this conversation: {error.message}.") from None
        finally:
            history = self._publisher.end_history()
        self._stream.drop()
        loaded = AgentSession.known(session.id, session.folder or folder, OURS, session.begun)
        return loaded, Replay(history, self._stream.cursor)

    async def _opened(self, method: str, params: Mapping[str, Any]) -> schema.Opened:
        answer = await self._requests.call_signed_in(method, params, SESSION_LIMIT)
        opened = read(schema.Opened, answer) or schema.Opened()
        self._options.settings = schema.SessionSettings.of(opened)
        return opened

    async def detach(self) -> None:
        """Leave the session; its history stays."""
        if self._requests.agent.abilities.session_capabilities.close:
            with contextlib.suppress(AgentError):
                await self._peer.call("session/close", {"sessionId": self.id}, DETACH_LIMIT)

    def _servers(self) -> list[Mapping[str, Any]]:
        """The MCP servers that the agent is offered, as the protocol has them."""
        if self._server and self._offered is None and self._requests.has("http"):
            self._offered = self._server.admit(self._requests.name)
            if self._offered:
                self._hide(self._offered.token)
        return [self._offered.entry] if self._offered else []

    def close(self) -> None:
        """The agent has ended."""
        if self._server and self._offered:
            self._server.dismiss(self._offered.token)

    def leave(self) -> dict[str, Any]:
        """What `take_over` needs."""
        offered = (self._offered.url, self._offered.token) if self._offered else None
        return {
            "session": self.id,
            "begun": self._begun,
            "settings": self._options.settings.leave(),
            "offered": offered,
        }

    def take_over(self, left: Mapping[str, Any], folder: str) -> AgentSession:
        """Go on with what `leave` has left."""
        self.id, self._begun = left["session"], left.get("begun", 0.0)
        self._options.settings = schema.SessionSettings.left(left["settings"])
        self._offered = OfferedServer(*left["offered"]) if left["offered"] else None
        return AgentSession.known(self.id, folder, OURS, self._begun)
