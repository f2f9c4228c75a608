"""The open session of an agent: a new one, or one that is loaded with its conversation."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from ...conversation.events import Replay
from ...conversation.failures import SessionGoneError
from ..port import EditorServer, OfferedServer
from ..sessions import AgentSession
from ..surroundings import Surroundings, offered
from ..wire import read
from . import extensions, schema
from .errors import AgentError, AnswerError
from .options import AgentOptions
from .peer import Peer
from .publisher import Publisher
from .requests import Requests
from .stream import OURS, EventQueue
from .workplace import Workplace

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
        workplace: where the agent works.
        publisher: gets the history while it is loaded.
        stream: the events of the session.
        options: get what the session begins with.
        server: offers the editor's own MCP server to the agent.
        hide: is told the secret with which the agent comes to that server, and those of the person's servers.
        surroundings: what a session gets besides its folder.
        environment: has the secrets of the person's servers.
        say: shows a sentence on a server that can't be offered.
    """

    def __init__(
        self,
        requests: Requests,
        peer: Peer,
        workplace: Workplace,
        publisher: Publisher,
        stream: EventQueue,
        options: AgentOptions,
        server: EditorServer | None,
        hide: Callable[[str], object],
        surroundings: Callable[[], Awaitable[Surroundings]],
        environment: Callable[[], Awaitable[Mapping[str, str]]],
        say: Callable[[str], object],
    ) -> None:
        self.id = ""
        self.folders: tuple[str, ...] = ()
        """The other folders that the agent was given."""
        self._surroundings = surroundings
        self._environment = environment
        self._say = say
        self._begun = 0.0
        """As a Unix time in seconds; 0 if that isn't known."""
        self._requests = requests
        self._peer = peer
        self._workplace = workplace
        self._publisher = publisher
        self._stream = stream
        self._options = options
        self._server = server
        self._hide = hide
        self._offered: OfferedServer | None = None

    async def create(self, folder: str) -> AgentSession:
        """Begin a session in a folder.

        Raises:
            SignInError: the agent wants the person to sign in first.
            AgentError: it opens none.
        """
        opened = await self._opened("session/new", {"cwd": folder, **await self._around(folder)})
        if not opened.session_id:
            raise AnswerError(self._requests.name, 0, "it has opened no session")
        self.id, self._begun = opened.session_id, time.time()
        return AgentSession.known(self.id, folder, OURS, self._begun)

    async def load(self, session: AgentSession) -> tuple[AgentSession, Replay]:
        """Take up a session, and get its conversation.

        Raises:
            MissingFeatureError: the agent can't do that.
            SignInError: see `create`.
            SessionGoneError: it has no such session.
        """
        requests = self._requests
        if not requests.has("load"):
            raise requests.missing("resume a conversation")
        if pause := extensions.pause_before_load(requests.agent.info.name, session.begun, time.time()):
            logger.info("%s would empty the conversation if it loaded it now: %.0f s are waited", requests.name, pause)
            await asyncio.sleep(pause)
        self.id, self._begun = session.id, session.begun
        self._publisher.begin_history(session.id)
        method = "session/load" if requests.agent.abilities.load_session else "session/resume"
        folder = session.folder or self._workplace.folder
        params = {"sessionId": session.id, "cwd": folder, **await self._around(folder)}
        try:
            await self._opened(method, params)
        except AnswerError as error:
            raise SessionGoneError(f"{requests.name} can't resume this conversation: {error.message}.") from None
        finally:
            history = self._publisher.end_history()
        self._stream.drop()
        loaded = AgentSession.known(session.id, folder, OURS, session.begun)
        is_silent = method == "session/resume" and not any(envelope.prompt for envelope in history)
        return loaded, Replay(history, self._stream.cursor, is_silent=is_silent)

    async def _opened(self, method: str, params: Mapping[str, Any]) -> schema.Opened:
        answer = await self._requests.signed_in(self._peer.call(method, params, SESSION_LIMIT))
        opened = read(schema.Opened, answer) or schema.Opened()
        self._options.settings = schema.SessionSettings.of(opened)
        return opened

    async def fork(self, session: AgentSession, title: str = "") -> AgentSession:
        """Copy the session with everything that was said in it. The agent names the copy."""
        folder = session.folder
        params = {"sessionId": session.id, "cwd": folder, **await self._around(folder)}
        answer = await self._requests.call("session/fork", params)
        forked = read(schema.Opened, answer) or schema.Opened()
        if not forked.session_id:
            raise AnswerError(self._requests.name, 0, "it has copied nothing")
        return AgentSession.known(forked.session_id, folder, OURS, time.time())

    async def detach(self, session: str) -> None:
        """Leave a session; its history stays."""
        if self._requests.agent.abilities.session_capabilities.close:
            with contextlib.suppress(AgentError):
                await self._peer.call("session/close", {"sessionId": session or self.id}, DETACH_LIMIT)

    async def _around(self, folder: str) -> dict[str, Any]:
        """What a session gets besides its folder: MCP servers, and the other folders of the window."""
        around = await self._surroundings()
        others = [each for each in around.folders if each != folder] if self._requests.has("folders") else []
        self.folders = tuple(others)
        more = {"additionalDirectories": others} if others else {}
        return {"mcpServers": [*self._servers(), *await self._own_servers(around)], **more}

    async def _own_servers(self, around: Surroundings) -> list[Mapping[str, Any]]:
        """The person's own MCP servers. What can't be offered is said."""
        if not around.servers:
            return []
        environment, has_http = await self._environment(), self._requests.has("http")
        entries, missing = await asyncio.to_thread(
            lambda: offered(around.servers, environment, has_http=has_http, hide=self._hide)
        )
        for sentence in missing:
            self._say(sentence)
        return entries

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
        server = (self._offered.url, self._offered.token) if self._offered else None
        return {
            "session": self.id,
            "begun": self._begun,
            "settings": self._options.settings.leave(),
            "offered": server,
            "folders": self.folders,
        }

    def take_over(self, left: Mapping[str, Any]) -> AgentSession:
        """Go on with what `leave` has left."""
        self.id, self._begun = left["session"], left.get("begun", 0.0)
        self.folders = tuple(left.get("folders", ()))
        self._options.settings = schema.SessionSettings.left(left["settings"])
        self._offered = OfferedServer(*left["offered"]) if left["offered"] else None
        return AgentSession.known(self.id, self._workplace.folder, OURS, self._begun)
