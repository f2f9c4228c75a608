"""The list of an agent's sessions."""

from __future__ import annotations

from ..sessions import AgentSession, SessionInfo, SessionPage
from ..wire import read
from . import schema
from .requests import Requests


class AgentSessions:
    """Lists the sessions of a folder, and deletes them."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests

    async def list(self, folder: str, cursor: str = "") -> SessionPage:
        """A page of the sessions of a folder."""
        params = {"cwd": folder, **({"cursor": cursor} if cursor else {})}
        page = read(schema.SessionList, await self._requests.call("session/list", params)) or schema.SessionList()
        listed = (
            {"sessionId": each.id, "workspaceCwd": each.cwd or folder, "displayName": each.title}
            | {"updatedAt": each.updated_at}
            for each in page.sessions
        )
        following = "" if page.next_cursor == cursor else page.next_cursor
        return SessionPage(tuple(map(SessionInfo.model_validate, listed)), following)

    async def delete(self, session: AgentSession) -> None:
        """Delete a session and its history.

        Raises:
            MissingFeatureError: the agent can only list them.
        """
        if not self._requests.has("delete"):
            raise self._requests.missing("delete a conversation")
        await self._requests.call("session/delete", {"sessionId": session.id})
