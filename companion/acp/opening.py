"""The sessions of an agent: a new one, one that is loaded with its history, and the list of them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Mapping
from typing import Any, Literal

from ..backends.sessions import Session, SessionInfo, SessionPage
from ..conversation.failures import SessionGoneError
from ..conversation.history import History
from . import extensions, schema
from .asking import Asking
from .errors import AgentError, AnswerError
from .news import News
from .stream import OURS, Stream

logger = logging.getLogger(__name__)

SESSION_LIMIT = 90.0
"""Seconds to open a session: the agent may have to start servers of its own."""
LEAVE_LIMIT = 0.3
"""Seconds to close a session."""


class Opening(Asking):
    """Opens, lists and leaves sessions."""

    _stream: Stream
    _news: News

    async def create(self, folder: str, *, scope: Literal["single", "thread"] = "thread") -> Session:
        """Begin a new session. No other client shares it.

        Raises:
            SignInError: the agent wants the person to sign in first.
            AgentError: it refuses.
        """
        opened = await self._opened("session/new", {"cwd": folder, "mcpServers": self._servers()})
        if not opened.session_id:
            raise AnswerError(self.name, 0, "it has opened no session")
        self._session, self._begun = opened.session_id, time.time()
        return Session.known(self._session, folder, OURS, self._begun)

    async def load(self, session: Session) -> tuple[Session, History]:
        """Take up a session again, and get its conversation.

        Raises:
            MissingFeatureError: the agent can't do that.
            SessionGoneError: it has no such session.
            AgentError: it refuses.
        """
        abilities = self.agent.abilities
        if not self.has("load"):
            raise self._missing("resume a conversation")
        if pause := extensions.pause_before_load(self.agent.info.name, session.begun, time.time()):
            logger.info("%s would empty the conversation if it loaded it now: %.0f s are waited", self.name, pause)
            await asyncio.sleep(pause)
        self._session, self._begun = session.id, session.begun
        self._news.begin_history(session.id)
        method = "session/load" if abilities.load_session else "session/resume"
        params = {"sessionId": session.id, "cwd": session.folder or self.folder, "mcpServers": self._servers()}
        try:
            await self._opened(method, params)
        except AnswerError as error:
            raise SessionGoneError(f"{self.name} can't resume this conversation: {error.message}.") from None
        finally:
            history = self._news.end_history()
        self._stream.drop()
        loaded = Session.known(session.id, session.folder or self.folder, OURS, session.begun)
        return loaded, History(history, self._stream.cursor)

    async def sessions(self, folder: str, cursor: str = "", *, is_archived: bool = False) -> SessionPage:
        """A page of the sessions of a folder. There is no archive.

        Raises:
            MissingFeatureError: the agent can't list them.
        """
        if is_archived or not self.has("list"):
            raise self._missing("list archived conversations" if is_archived else "list conversations")
        params = {"cwd": folder, **({"cursor": cursor} if cursor else {})}
        page = schema.read(schema.Sessions, await self._call("session/list", params)) or schema.Sessions()
        listed = (
            {"sessionId": each.id, "workspaceCwd": each.cwd or folder, "displayName": each.title}
            | {"updatedAt": each.updated_at}
            for each in page.sessions
        )
        following = "" if page.next_cursor == cursor else page.next_cursor
        return SessionPage(tuple(map(SessionInfo.model_validate, listed)), following)

    async def delete(self, session: Session) -> None:
        """Delete a session and its history."""
        if not self.has("delete"):
            raise self._missing("delete a conversation")
        await self._call("session/delete", {"sessionId": session.id})

    async def detach(self, session: Session) -> None:
        """Leave a session; its history stays."""
        if self.agent.abilities.session_capabilities.close:
            with contextlib.suppress(AgentError):
                await self._peer.call("session/close", {"sessionId": session.id}, LEAVE_LIMIT)

    def _servers(self) -> list[Mapping[str, Any]]:
        """The MCP servers that the agent is offered, as the protocol has them."""
        raise NotImplementedError

    async def _opened(self, method: str, params: Mapping[str, Any]) -> schema.Opened:
        opened = schema.read(schema.Opened, await self._asked(method, params, SESSION_LIMIT)) or schema.Opened()
        self._settings = schema.Settings.of(opened)
        return opened
