"""The daemon's routes about its list of sessions."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from urllib.parse import quote, urlencode

from ...conversation.failures import SessionGoneError
from ..parts import ExportForm
from ..sessions import AgentSession, FoundSession, SessionInfo, SessionPage
from ..wire import objects
from . import answers
from .errors import RefusedError
from .routes import QUALIFIED, Routes, path

EXPORT_LIMIT = 90.0
"""Seconds."""
SEARCH_LIMIT = 60.0
"""Seconds: the daemon reads the histories."""
PAGE = 50
"""Sessions in an answer."""
MOST_WORDS = 200
"""Characters that can be searched for."""
_ORGANIZED = "session_organization"


class DaemonSessions:
    """The sessions of a folder, and the rest of what can be done with them."""

    def __init__(self, routes: Routes) -> None:
        self._routes = routes

    async def list(self, folder: str, cursor: str = "") -> SessionPage:
        """A page of the sessions of a folder, those that are pinned first."""
        self._routes.need("session_list")
        return await self._page(folder, cursor, is_archived=False)

    async def archived(self, folder: str, cursor: str = "") -> SessionPage:
        """A page of the sessions in the archive."""
        self._routes.need("session_archive")
        return await self._page(folder, cursor, is_archived=True)

    async def _page(self, folder: str, cursor: str, *, is_archived: bool) -> SessionPage:
        asked = {"size": str(PAGE), "cursor": cursor, "archiveState": "archived" if is_archived else ""}
        if self._routes.has(_ORGANIZED):
            asked["view"] = "organized"
        answer = await self._routes.transport.json("GET", self._listed(folder, "sessions", asked))
        listed = [answers.read(SessionInfo, each) for each in objects(answer.get("sessions"))]
        following = answer.get("nextCursor")
        has_more = isinstance(following, str) and following != cursor
        return SessionPage(tuple(listed), str(following) if has_more else "")

    async def search(self, folder: str, words: str) -> list[FoundSession]:
        """The sessions of a folder in which somebody has said something.

        Raises:
            MissingFeatureError: this daemon can't search; it has no feature for that.
        """
        asked = {"q": words[:MOST_WORDS], "maxResults": str(PAGE)}
        answer = await self._routes.transport.json(
            "GET", self._listed(folder, "sessions/search", asked), limit=SEARCH_LIMIT
        )
        return [
            FoundSession(answers.read(SessionInfo, found), str(each.get("snippet") or ""))
            for each in objects(answer.get("results"))
            for found in objects([each.get("session")])
        ]

    @staticmethod
    def _listed(folder: str, route: str, asked: Mapping[str, str]) -> str:
        query = urlencode({name: value for name, value in asked.items() if value})
        return f"/workspace/{quote(folder, safe='')}/{route}?{query}"

    async def rename(self, session: AgentSession, title: str) -> None:
        """Give a session a title."""
        self._routes.need("session_metadata")
        await self._routes.transport.json("PATCH", path(session, "metadata"), {"displayName": title}, session)

    async def delete(self, session: AgentSession) -> None:
        """Delete a session and its history."""
        with contextlib.suppress(SessionGoneError):
            await self._routes.transport.json("DELETE", path(session), session=session)
        await self._do(session, "delete", "deleted")

    async def archive(self, session: AgentSession, *, is_archived: bool) -> None:
        """Put a session into the archive, or take it out again."""
        self._routes.need("session_archive")
        await self._do(session, "archive" if is_archived else "unarchive", "moved")

    async def _do(self, session: AgentSession, action: str, done: str) -> None:
        route = self._routes.own(f"/sessions/{action}", QUALIFIED)
        answer = await self._routes.transport.json("POST", route, {"sessionIds": [session.id]})
        if errors := objects(answer.get("errors")):
            raise RefusedError(200, str(errors[0].get("error") or f"the session can't be {done}"))

    async def pin(self, session: AgentSession, *, is_pinned: bool) -> None:
        """Keep a session at the top of the list, or no longer."""
        self._routes.need(_ORGANIZED)
        await self._routes.transport.json(
            "PATCH", self._routes.own(path(session, "organization"), QUALIFIED), {"isPinned": is_pinned}
        )

    async def export(self, session: AgentSession, form: ExportForm, *, is_archived: bool = False) -> str:
        """A session's whole conversation as a text."""
        self._routes.need("session_export")
        if is_archived:
            self._routes.need("workspace_archived_session_export")
            route = f"/workspaces/{quote(session.folder, safe='')}{path(session, 'archive/export')}?format={form}"
        else:
            route = self._routes.own(f"{path(session, 'export')}?format={form}", "workspace_session_export")
        content = await self._routes.transport.send("GET", route, session=session, limit=EXPORT_LIMIT)
        return content.decode("utf-8", "replace")
