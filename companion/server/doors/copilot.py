"""What Copilot CLI says: MCP over HTTP, as on the window's port, but on a Unix socket or on a named pipe of Windows.

Unofficial: docs/protocols/copilot-ide.md has the facts and how each was seen. Whoever has the nonce of the lock file is
let in. `copilot_tools` has what is offered.
"""

from __future__ import annotations

import logging
import secrets
import sys
from collections.abc import Mapping, Sequence

from starlette.responses import PlainTextResponse, Response

from ...handover import OpenConnection
from ...platforms.files import reason_of
from ..endpoint import Endpoint
from ..http.app import App
from ..http.connections import HttpServer
from ..offer import Offer
from .copilot_tools import CopilotTools

logger = logging.getLogger(__name__)

PIPE = r"\\.\pipe\qwen-companion-{name}.sock"


class CopilotDoor:
    """The socket of one window."""

    def __init__(self, offer: Offer) -> None:
        self._offer = offer
        self._is_opening = False
        self.app = App(offer.endpoint, offer.sessions, Nonce(offer.endpoint), CopilotTools(offer), "socket")
        self.server = HttpServer(self.app)

    async def open(self, inherited: Sequence[OpenConnection] = ()) -> None:
        """Answer requests, also on connections of the previous instance, as soon as there is a socket."""
        if self._is_opening:
            return
        self._is_opening = True
        endpoint = self._offer.endpoint
        try:
            if sys.platform == "win32":
                # Another instance's pipe can't be served: asyncio binds it to its own loop.
                name = PIPE.format(name=secrets.token_hex(8))
                await self.server.open_pipe(name)
                endpoint.pipe = name
            elif endpoint.state.local:
                await self.server.stop_accepting()
                await self.server.open(endpoint.state.local, inherited)
        except OSError as error:
            logger.warning("Copilot CLI can't find this window, whose socket can't be served: %s", reason_of(error))
        finally:
            self._is_opening = False

    @property
    def is_due(self) -> bool:
        """Whether there is a socket that nobody serves."""
        return self._offer.endpoint.state.local is not None and not self.server.is_accepting


class Nonce:
    """Lets in whoever has the nonce of the lock file. No browser can reach the socket."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    def authenticate(self, headers: Mapping[str, str]) -> str | Response:
        """The name of the family whose nonce a request has, or the answer that refuses it."""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        family = self._endpoint.family(token.strip(), "socket")
        if scheme.lower() != "nonce" or family is None:
            return PlainTextResponse("Unauthorized", 401, {"www-authenticate": "Nonce"})
        return family.name

    def named(self, caller: str, path: str) -> str | Response:
        """The same at the only path that there is."""
        return caller if path == "/mcp" else PlainTextResponse("Not Found", 404)
