"""Who may ask, and how much: Host, Origin and token of each request in this order, and room for its body."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from mcp_types import INVALID_REQUEST, UNSUPPORTED_PROTOCOL_VERSION, ErrorData, JSONRPCError
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response

from ...clis.families import Door
from ..endpoint import Caller

if TYPE_CHECKING:
    from ..window import WindowServer

HOSTS = ("127.0.0.1", "localhost", "[::1]", "host.docker.internal")
"""The names by which a CLI may reach this machine; the last one is used inside a container."""
_TOOLS_PATH = re.compile(r"/tools/([\w .()-]{1,40})")
MODEL = " (MCP)"
"""Follows the name of a CLI whose model calls the tools."""
NOT_OFFERED = "The user has not turned on the setting “agents_use_editor” of QwenCompanion in Sublime Text."
NOT_ELSEWHERE = (
    "The editor's tools are for CLIs on the editor's own computer: their paths are those of that computer. "
    "The connection with open files, the selection and diffs works from here."
)


SCHEMES: Mapping[Door, str] = {"http": "Bearer", "socket": "Nonce"}
"""How a request says its token, by the door that it comes in by."""


class Access:
    """Finds out who has sent a request to a window's port or socket. No page of a browser can reach the latter."""

    def __init__(self, server: WindowServer, door: Door = "http") -> None:
        self._server = server
        self._endpoint = server.endpoint
        self._door: Door = door
        self._hosts = frozenset(f"{name}:{server.endpoint.port}" for name in HOSTS)

    def refusal(self, headers: Mapping[str, str]) -> Response | None:
        """The answer to a request that a page of a browser may have sent; None if no page can have."""
        host = headers.get("host", "").lower()
        if host not in self._hosts:
            self._endpoint.refusals["host"] = time.time()
            return PlainTextResponse("Forbidden: unknown Host", 403)
        if any(origin.lower() != f"http://{host}" for origin in _all(headers, "origin")):
            return PlainTextResponse("Forbidden: foreign Origin", 403)
        return None

    def authenticate(self, headers: Mapping[str, str]) -> Caller | Response:
        """Whose token a request has, or the answer that refuses it."""
        if self._door == "http" and (refused := self.refusal(headers)):
            return refused
        wanted = SCHEMES[self._door]
        scheme, _, token = headers.get("authorization", "").partition(" ")
        caller = self._endpoint.caller(token.strip(), self._door)
        if scheme.lower() != wanted.lower() or caller is None:
            if self._door == "http":  # to the socket nobody comes from elsewhere
                self._endpoint.refusals["token"] = time.time()
            return PlainTextResponse("Unauthorized", 401, {"www-authenticate": wanted})
        return caller

    def named(self, caller: Caller, path: str) -> Caller | Response:
        """Who calls: a CLI's own connection, or its model by the path that `mcp_bridge.mjs` uses."""
        if path == "/mcp":
            return caller
        found = _TOOLS_PATH.fullmatch(path) if self._door == "http" else None
        if found is None or caller.is_agent:  # the agent of a chat has the tools at its own path
            return PlainTextResponse("Not Found", 404)
        if caller.is_elsewhere:
            return PlainTextResponse(NOT_ELSEWHERE, 403)
        if not self._server.settings.agents_use_editor:
            return PlainTextResponse(NOT_OFFERED, 403)
        return replace(caller, name=found[1] + MODEL, is_agent=True, is_model=True)


def unsupported(version: str) -> Response:
    """Newer revisions have no sessions and so no stream for our notifications; clients fall back to the handshake."""
    data = {"supported": list(HANDSHAKE_PROTOCOL_VERSIONS), "requested": version}
    return _error(400, UNSUPPORTED_PROTOCOL_VERSION, f"Unsupported protocol version: {version}", data)


def not_found() -> Response:
    """There is no such session, or it is another family's."""
    return _error(404, INVALID_REQUEST, "Session not found")


def _error(status: int, code: int, message: str, data: object = None) -> Response:
    error = JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=code, message=message, data=data))
    body = error.model_dump_json(by_alias=True, exclude_none=True)
    return Response(body, status, media_type="application/json")


def _all(headers: Mapping[str, str], name: str) -> Sequence[str]:
    """Every value of a header, which a request may have more than once."""
    if isinstance(headers, Headers):
        return headers.getlist(name)
    return [headers[name]] if name in headers else []


MAX_BODY = 64 * 1024 * 1024
"""Bytes. openDiff carries a whole file."""
SMALL = 1024 * 1024
"""Bytes. A body up to this size has a place even if large ones take all the room."""
ROOM = 4 * MAX_BODY
"""Bytes that all requests together may announce."""
ROOM_FOR_SMALL = 64 * 1024 * 1024
"""Bytes that small ones may announce beyond that."""


class Bodies:
    """Counts the bytes that the requests have announced which are being answered.

    They count before the first one comes, so that no request gets stuck in the middle.
    """

    def __init__(self) -> None:
        self._announced = 0

    @contextmanager
    def admitted(self, headers: Mapping[str, str]) -> Generator[Callable[[int], None] | None]:
        """Keep room for a request's body until the end of the block; None if there is none.

        The function that it gives is told how long the body was, as soon as that is known: the answer may wait for a
        person.
        """
        # One that comes in chunks may become as long as any, whatever length is announced beside that.
        size = MAX_BODY if "transfer-encoding" in headers else min(int(headers.get("content-length", 0)), MAX_BODY)
        room = ROOM + ROOM_FOR_SMALL if size <= SMALL else ROOM
        if self._announced + size > room:
            yield None
            return
        kept = size

        def is_read(length: int) -> None:
            nonlocal kept
            self._announced += length - kept
            kept = length

        self._announced += kept
        try:
            yield is_read
        finally:
            self._announced -= kept
