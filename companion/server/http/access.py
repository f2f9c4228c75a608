"""Who may ask: the checks of each request, in the order Host, Origin, token, and the answers that refuse one."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from typing import Protocol

from mcp_types import INVALID_REQUEST, UNSUPPORTED_PROTOCOL_VERSION, ErrorData, JSONRPCError
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response

from ..endpoint import Endpoint
from ..tools import Tools

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


class Entrance(Protocol):
    """Finds out who has sent a request."""

    def authenticate(self, headers: Mapping[str, str]) -> str | Response:
        """The name that the token of a request was made for, or the answer that refuses it."""
        ...

    def named(self, caller: str, path: str) -> str | Response:
        """Who calls at a path, or the answer that refuses it."""
        ...


class Access:
    """Finds out who has sent a request to a window's port."""

    def __init__(self, endpoint: Endpoint, tools: Tools) -> None:
        self._endpoint = endpoint
        self._tools = tools
        self._hosts = frozenset(f"{name}:{endpoint.port}" for name in HOSTS)

    def refusal(self, headers: Mapping[str, str]) -> Response | None:
        """The answer to a request that a page of a browser may have sent; None if no page can have."""
        host = headers.get("host", "").lower()
        if host not in self._hosts:
            self._endpoint.refusals["host"] = time.time()
            return PlainTextResponse("Forbidden: unknown Host", 403)
        if any(origin.lower() != f"http://{host}" for origin in _all(headers, "origin")):
            return PlainTextResponse("Forbidden: foreign Origin", 403)
        return None

    def authenticate(self, headers: Mapping[str, str]) -> str | Response:
        """The name that the token of a request was made for, or the answer that refuses it."""
        if refused := self.refusal(headers):
            return refused
        scheme, _, token = headers.get("authorization", "").partition(" ")
        caller = self._endpoint.caller(token.strip())
        if scheme.lower() != "bearer" or caller is None:
            self._endpoint.refusals["token"] = time.time()
            return PlainTextResponse("Unauthorized", 401, {"www-authenticate": "Bearer"})
        return caller

    def named(self, caller: str, path: str) -> str | Response:
        """Who calls: a CLI's own connection, or its model by the path that `mcp_bridge.mjs` uses."""
        if path == "/mcp":
            return caller
        found = _TOOLS_PATH.fullmatch(path)
        if found is None or caller in self._endpoint.state.guests.values():  # those have the tools at their own path
            return PlainTextResponse("Not Found", 404)
        if caller in self._endpoint.state.elsewhere.values():
            return PlainTextResponse(NOT_ELSEWHERE, 403)
        if not self._tools.are_for_clis:
            return PlainTextResponse(NOT_OFFERED, 403)
        return found[1] + MODEL


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
