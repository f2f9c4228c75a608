"""The MCP server's two tools, openDiff and closeDiff (companion-spec.md D1 and D2)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    NotificationParams,
    PaginatedRequestParams,
)
from pydantic import ValidationError
from starlette.requests import Request

from .. import __version__
from ..protocol import CloseDiffArguments, OpenDiffArguments
from ..review.disk import refusal
from ..review.reviews import Reviews
from .sessions import Session, Sessions

Context = ServerRequestContext[Any, Request]

TOOLS: list[dict[str, Any]] = [
    {
        "name": "openDiff",
        "description": "Show a proposed change of a file as a diff that the person edits, accepts or rejects.",
        "inputSchema": OpenDiffArguments.model_json_schema(by_alias=True),
    },
    {
        "name": "closeDiff",
        "description": "Close the diff of a file and return the proposal as it stands.",
        "inputSchema": CloseDiffArguments.model_json_schema(by_alias=True),
    },
]
NAMES = tuple(one["name"] for one in TOOLS)
LEFT = "openDiff: QwenCompanion is being loaded again. Propose the change once more."


AFTER = "qwen_companion.after"
"""In the scope of a request: what is called when it has been answered."""


class Tools:
    """Answers the MCP requests of one window's sessions."""

    def __init__(self, sessions: Sessions, reviews: Reviews) -> None:
        self._sessions = sessions
        self._reviews = reviews

    def server(self) -> Server[Any]:
        """The MCP server that serves these tools."""
        server: Server[Any] = Server(
            "qwen-companion",
            title="QwenCompanion",
            version=__version__,
            on_list_tools=self._list,
            on_call_tool=self._call,
        )
        server.add_notification_handler("notifications/initialized", NotificationParams, self._initialized)
        return server

    async def _initialized(self, context: Context, _params: NotificationParams) -> None:
        if session := self._session(context):
            session.initialized(context.session)

    def are_offered(self, session: Session | None) -> bool:
        """Whether a session has the tools."""
        return session is not None and self._reviews.settings_of(session.window).show_diffs

    async def call(
        self, session: Session, name: str, arguments: dict[str, Any], later: Callable[[Callable[[], None]], object]
    ) -> dict[str, Any]:
        """The result of tools/call. `later` is given what has to wait until the answer is on its way.

        What it takes to open a diff would compete with the answer for the interpreter.
        """
        try:
            if name == "openDiff":
                opened = OpenDiffArguments.model_validate(arguments)
                if why := await asyncio.to_thread(refusal, opened.file_path):
                    return _failed(f"openDiff: filePath: {opened.file_path} {why}")
                if self._sessions.is_left:
                    return _failed(LEFT)
                later(lambda: self._open(session, opened))
                return {"content": [], "isError": False}
            closed = CloseDiffArguments.model_validate(arguments)
            content = await self._reviews.close(session, closed.file_path, is_answered=closed.suppress_notification)
            return _text(json.dumps({} if content is None else {"content": content}))
        except ValidationError as error:
            return _failed(f"{name}: {_why(error)}")

    def _open(self, session: Session, opened: OpenDiffArguments) -> None:
        self._reviews.open(session, opened.file_path, opened.new_content)

    async def _list(self, context: Context, _params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult.model_validate(listing(is_offered=self.are_offered(self._session(context))))

    async def _call(self, context: Context, params: CallToolRequestParams) -> CallToolResult:
        session = self._session(context)
        if session is None:
            return CallToolResult.model_validate(_failed("This session is over. Connect again."))
        if params.name not in NAMES:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name}")
        assert context.request  # noqa: S101 - there is a session, so there is one
        after: list[Callable[[], None]] = context.request.scope.setdefault(AFTER, [])
        return CallToolResult.model_validate(
            await self.call(session, params.name, params.arguments or {}, after.append)
        )

    def _session(self, context: Context) -> Session | None:
        request = context.request
        return self._sessions.find(request.headers.get("mcp-session-id")) if request else None


def listing(*, is_offered: bool) -> dict[str, Any]:
    """The result of tools/list. A CLI that isn't offered both tools asks only in its terminal."""
    return {"tools": TOOLS if is_offered else []}


def _text(text: str, *, is_error: bool = False) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": is_error}


def _failed(why: str) -> dict[str, Any]:
    return _text(why, is_error=True)


def _why(error: ValidationError) -> str:
    """What is wrong, without the value, which may be a whole file."""
    found = error.errors(include_url=False, include_input=False, include_context=False)
    return "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg'].removeprefix('Value error, ')}" for one in found)
