"""The daemon's routes of a long conversation's earlier parts, which come page by page."""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import quote

from ...conversation.events import Envelope, Oldest
from ..sessions import AgentSession
from . import answers
from .errors import RefusedError
from .routes import Routes, path

PAGE = 120
"""Records of the history on disk in a page; a turn has about six, and two more for each tool call."""
INDEX_PAGE = 500
"""Turns in a page of their index; the daemon gives no more."""
PAGES = "session_turn_navigation"
"""The feature with which the pages of a history can be read from its end."""


class DaemonHistory:
    """Reads what came before the turns that are known, page by page."""

    def __init__(self, routes: Routes) -> None:
        self._routes = routes

    async def earlier(self, session: AgentSession, oldest: Oldest) -> tuple[list[Envelope], bool]:
        """The page of a conversation before a turn, and whether there are older ones."""
        record = oldest.record or await self._record(session, oldest.prompt)
        route = f"{path(session, 'transcript')}?limit={PAGE}&beforeRecordId={quote(record, safe='')}"
        return answers.page(await self._routes.transport.json("GET", route, session=session))

    async def _record(self, session: AgentSession, prompt: str) -> str:
        """What the history on disk calls the beginning of a prompt's turn."""
        route = f"{path(session, 'turn-index')}?limit={INDEX_PAGE}"
        name, start, records = answers.index(await self._routes.transport.json("GET", route, session=session))
        while prompt not in records and start > 0:
            before = max(0, start - INDEX_PAGE)
            there = f"{route}&snapshot={quote(name, safe='')}&start={before}"
            name, start, records = answers.index(await self._routes.transport.json("GET", there, session=session))
            if start > before:
                break
        if not (record := records.get(prompt)):
            raise RefusedError(HTTPStatus.OK, "it doesn't say what came before the first turn here")
        return record
