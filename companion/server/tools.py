"""The MCP server's two tools, openDiff and closeDiff (companion-spec.md D1 and D2)."""

from __future__ import annotations

import asyncio
import json
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
    TextContent,
    Tool,
)
from pydantic import ValidationError
from starlette.requests import Request

from .. import __version__
from ..protocol import CloseDiffArguments, OpenDiffArguments
from ..review.disk import refusal
from ..review.reviews import Reviews
from .sessions import Session, Sessions

Context = ServerRequestContext[Any, Request]

TOOLS = [
    Tool(
        name="openDiff",
        description="Show a proposed change of a file as a diff that the person edits, accepts or rejects.",
        input_schema=OpenDiffArguments.model_json_schema(by_alias=True),
    ),
    Tool(
        name="closeDiff",
        description="Close the diff of a file and return the proposal as it stands.",
        input_schema=CloseDiffArguments.model_json_schema(by_alias=True),
    ),
]


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

    async def _list(self, context: Context, _params: PaginatedRequestParams | None) -> ListToolsResult:
        # A CLI that isn't offered both tools asks only in its terminal.
        session = self._session(context)
        offers = session is not None and self._reviews.settings_of(session.window).show_diffs
        return ListToolsResult(tools=TOOLS if offers else [])

    async def _call(self, context: Context, params: CallToolRequestParams) -> CallToolResult:
        session = self._session(context)
        if session is None:
            return _failed("This session is over. Connect again.")
        arguments = params.arguments or {}
        try:
            match params.name:
                case "openDiff":
                    opened = OpenDiffArguments.model_validate(arguments)
                    if why := await asyncio.to_thread(refusal, opened.file_path):
                        return _failed(f"openDiff: filePath: {opened.file_path} {why}")
                    if self._sessions.is_left:
                        return _failed(LEFT)
                    self._after_answer(context, session, opened)
                    return CallToolResult(content=[])
                case "closeDiff":
                    closed = CloseDiffArguments.model_validate(arguments)
                    content = await self._reviews.close(
                        session, closed.file_path, is_answered=closed.suppress_notification
                    )
                    return _text(json.dumps({} if content is None else {"content": content}))
                case _:
                    raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name}")
        except ValidationError as error:
            return _failed(f"{params.name}: {_why(error)}")

    def _after_answer(self, context: Context, session: Session, opened: OpenDiffArguments) -> None:
        """Open a diff when the answer is on its way: what that takes would compete with it for the interpreter."""

        def begin() -> None:
            self._reviews.open(session, opened.file_path, opened.new_content)

        assert context.request  # noqa: S101 - there is a session, so there is one
        context.request.scope.setdefault(AFTER, []).append(begin)

    def _session(self, context: Context) -> Session | None:
        request = context.request
        return self._sessions.find(request.headers.get("mcp-session-id")) if request else None


def _text(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)])


def _failed(why: str) -> CallToolResult:
    return CallToolResult(is_error=True, content=[TextContent(type="text", text=why)])


def _why(error: ValidationError) -> str:
    """What is wrong, without the value, which may be a whole file."""
    found = error.errors(include_url=False, include_input=False, include_context=False)
    return "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg'].removeprefix('Value error, ')}" for one in found)
