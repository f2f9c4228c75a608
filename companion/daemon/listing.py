"""The daemon's routes about its list of sessions."""

from __future__ import annotations

import contextlib
from typing import Literal
from urllib.parse import quote

from ..conversation.sessions import Session, SessionInfo
from . import answers
from .errors import RefusedError, SessionGoneError
from .routes import QUALIFIED, Routes, path

EXPORT_LIMIT = 90.0
"""Seconds."""


class Listing(Routes):
    """Lists sessions, and changes what is in the list."""

    async def sessions(self, folder: str) -> list[SessionInfo]:
        """The sessions of a folder that aren't archived, in the daemon's order."""
        self._need("session_list")
        listed: list[SessionInfo] = []
        cursor = ""
        while True:
            route = f"/workspace/{quote(folder, safe='')}/sessions?size=100"
            answer = await self._transport.json("GET", route + (f"&cursor={quote(cursor, safe='')}" if cursor else ""))
            listed += (answers.read(SessionInfo, each) for each in answers.objects(answer.get("sessions")))
            following = answer.get("nextCursor")
            if not isinstance(following, str) or following in {"", cursor}:
                return listed
            cursor = following

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

    async def export(self, session: Session, form: Literal["html", "md", "json", "jsonl"]) -> str:
        """A session's whole conversation as a text."""
        self._need("session_export")
        route = self._own(f"{path(session, 'export')}?format={form}", "workspace_session_export")
        return (await self._transport.send("GET", route, session=session, limit=EXPORT_LIMIT)).decode(
            "utf-8", "replace"
        )
