"""The daemon's routes for the files of its folder."""

from __future__ import annotations

from urllib.parse import quote

from ...conversation.failures import MissingFeatureError
from ..wire import texts
from .errors import RefusedError
from .routes import QUALIFIED, Routes


class DaemonFiles:
    """Looks for files on the daemon's machine."""

    def __init__(self, routes: Routes) -> None:
        self._routes = routes

    async def is_file(self, path: str) -> bool:
        """Whether the daemon's folder has a file; `path` is relative to it or absolute."""
        try:
            route = self._routes.own(f"/stat?path={quote(path, safe='')}", QUALIFIED)
            answer = await self._routes.transport.json("GET", route)
        except (MissingFeatureError, RefusedError):
            return False
        return answer.get("type") == "file"

    async def glob(self, pattern: str, limit: int) -> list[str]:
        """The files and folders that match a pattern, relative to the daemon's folder."""
        route = self._routes.own(f"/glob?pattern={quote(pattern, safe='')}&maxResults={limit}", QUALIFIED)
        answer = await self._routes.transport.json("GET", route)
        return list(texts(answer.get("matches")))
