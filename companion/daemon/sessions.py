"""The daemon's routes about its list of sessions."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Literal
from urllib.parse import quote, urlencode

from ..backends.sessions import FoundSession, Session, SessionInfo, SessionPage
from . import answers
from .errors import RefusedError, SessionGoneError
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


class Listing(Routes):
    """Lists sessions, and changes what is in the list."""

    async def sessions(self, folder: str, cursor: str = "", *, is_archived: bool = False) -> SessionPage:
        """A page of the sessions of a folder, those that are pinned first."""
        self._need("session_archive" if is_archived else "session_list")
        asked = {"size": str(PAGE), "cursor": cursor, "archiveState": "archived" if is_archived else ""}
        if self.has(_ORGANIZED):
            asked["view"] = "organized"
        answer = await self._transport.json("GET", self._listed(folder, "sessions", asked))
        listed = [answers.read(SessionInfo, each) for each in answers.objects(answer.get("sessions"))]
        following = answer.get("nextCursor")
        has_more = isinstance(following, str) and following != cursor
        return SessionPage(tuple(listed), str(following) if has_more else "")

    async def search(self, folder: str, words: str) -> list[FoundSession]:
        """The sessions of a folder in which somebody has said something.

        Raises:
            MissingFeatureError: this daemon can't search; it has no feature for that.
        """
        asked = {"q": words[:MOST_WORDS], "maxResults": str(PAGE)}
        answer = await self._transport.json("GET", self._listed(folder, "sessions/search", asked), limit=SEARCH_LIMIT)
        return [
            FoundSession(answers.read(SessionInfo, found), str(each.get("snippet") or ""))
            for each in answers.objects(answer.get("results"))
            for found in answers.objects([each.get("session")])
        ]

    @staticmethod
    def _listed(folder: str, route: str, asked: Mapping[str, str]) -> str:
        query = urlencode({name: value for name, value in asked.items() if value})
        return f"/workspace/{quote(folder, safe='')}/{route}?{query}"

    async def rename(self, session: Session, title: str) -> None:
        """Give a session a title."""
        self._need("session_metadata")
        await self._transport.json("PATCH", path(session, "metadata"), {"displayName": title}, session)

    async def delete(self, session: Session) -> None:
        """Delete a session and its history."""
        with contextlib.suppress(SessionGoneError):
            await self._transport.json("DELETE", path(session), session=session)
        route = self._own("/sessions/delete", QUALIFIED)
        answer = await self._transport.json("POST", route, {"sessionIds": [session.id]})
        if errors := answers.objects(answer.get("errors")):
            raise RefusedError(200, str(errors[0].get("error") or "the session can't be deleted"))

    async def archive(self, session: Session, *, is_archived: bool) -> None:
        """Put a session into the archive, or take it out again."""
        self._need("session_archive")
        route = self._own(f"/sessions/{'archive' if is_archived else 'unarchive'}", QUALIFIED)
        answer = await self._transport.json("POST", route, {"sessionIds": [session.id]})
        if errors := answers.objects(answer.get("errors")):
            raise RefusedError(200, str(errors[0].get("error") or "the session can't be moved"))

    async def pin(self, session: Session, *, is_pinned: bool) -> None:
        """Keep a session at the top of the list, or no longer."""
        self._need(_ORGANIZED)
        await self._transport.json(
            "PATCH", self._own(path(session, "organization"), QUALIFIED), {"isPinned": is_pinned}
        )

    async def export(
        self, session: Session, form: Literal["html", "md", "json", "jsonl"], *, is_archived: bool = False
    ) -> str:
        """A session's whole conversation as a text."""
        self._need("session_export")
        if is_archived:
            self._need("workspace_archived_session_export")
            route = f"/workspaces/{quote(session.folder, safe='')}{path(session, 'archive/export')}?format={form}"
        else:
            route = self._own(f"{path(session, 'export')}?format={form}", "workspace_session_export")
        content = await self._transport.send("GET", route, session=session, limit=EXPORT_LIMIT)
        return content.decode("utf-8", "replace")
