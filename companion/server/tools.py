"""The MCP server. Its tools for a CLI are openDiff and closeDiff (docs/protocols/qwen-ide.md#diffs)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Any

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
from ..exclusion import shortened
from ..ids import WindowId
from ..libraries.sdk import MCPError, Server, ServerRequestContext
from ..protocol import (
    CloseDiffArguments,
    DiffAccepted,
    IdeContext,
    Notification,
    OpenDiffArguments,
)
from ..review.disk import refusal
from ..review.reviews import Reviews
from ..settings import Settings
from .agent_tools import AgentTools, failed, text
from .knowledge import EditorKnowledge
from .new_problems import NewProblems
from .sessions import MOST_CALLS, CliSessions, Session, StreamWire

Context = ServerRequestContext[Any, Request]

TOOLS: list[dict[str, Any]] = [
    {
        "name": "openDiff",
        "description": "Show a proposed change of a file as a diff that the user edits, accepts or rejects.",
        "inputSchema": OpenDiffArguments.model_json_schema(by_alias=True),
    },
    {
        "name": "closeDiff",
        "description": "Close the diff of a file and return the proposal as it stands.",
        "inputSchema": CloseDiffArguments.model_json_schema(by_alias=True),
    },
]
NAMES = tuple(one["name"] for one in TOOLS)
OVER = "This session is over. Connect again."
TOO_MANY = "openDiff: too many calls wait for the user's answers."
LEFT = "openDiff: QwenCompanion is being loaded again. Propose the change once more."


AFTER = "qwen_companion.after"
"""In the scope of a request: what is called when it has been answered."""


class Tools:
    """Answers the MCP requests of one window's sessions."""

    def __init__(
        self,
        sessions: CliSessions,
        reviews: Reviews,
        context: Callable[[], Awaitable[IdeContext | None]],
        settings: Callable[[], Settings],
        knowledge: EditorKnowledge,
        news: NewProblems,
    ) -> None:
        """`context` makes the context of the window, as its `settings` allow it."""
        self._sessions = sessions
        self._reviews = reviews
        self._settings = settings
        self.names = NAMES
        self._agents = AgentTools(reviews, context, settings, knowledge, news, self._refusal)

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

    @property
    def are_for_clis(self) -> bool:
        """Whether the model of a CLI may use the tools for agents."""
        return self._settings().agents_use_editor

    def listing(self, session: Session | None) -> dict[str, Any]:
        """The result of tools/list. A CLI that isn't offered both tools asks only in its terminal."""
        if session is None:
            return {"tools": []}
        if session.is_agent:
            return {"tools": self._agents.listing()}
        return {"tools": TOOLS if self._reviews.settings_of(session.window).show_diffs else []}

    async def call(
        self, session: Session, name: str, arguments: dict[str, Any], later: Callable[[Callable[[], None]], object]
    ) -> dict[str, Any]:
        """The result of tools/call. `later` is given what has to wait until the answer is on its way.

        What it takes to open a diff would compete with the answer for the interpreter.
        """
        try:
            if session.is_agent:
                return await self._agents.call(session, name, arguments)
            if isinstance(path := arguments.get("filePath"), str):
                arguments = {**arguments, "filePath": session.here(path)}
            if name == "openDiff":
                opened = OpenDiffArguments.model_validate(arguments)
                if why := await self._refusal(session, opened.file_path):
                    return failed(why)
                later(lambda: self._open(session, opened))
                return {"content": [], "isError": False}
            closed = CloseDiffArguments.model_validate(arguments)
            content = await self._reviews.close(session, closed.file_path, is_answered=closed.suppress_notification)
            return text(json.dumps({} if content is None else {"content": content}))
        except ValidationError as error:
            return failed(f"{name}: {why_invalid(error)}")

    def write(self, session: Session, wire: StreamWire, notification: Notification) -> bool:  # noqa: ARG002
        """Write a notification to a session's stream. Returns whether the client can still get it."""
        return wire.write(notification.event)

    async def _refusal(self, session: Session, path: str) -> str:
        """Why no diff of a path opens; empty if it does."""
        if why := await asyncio.to_thread(refusal, path):
            return f"openDiff: filePath: {shortened(path, 300)} {why}"
        if self._sessions.is_left:
            return LEFT
        if session.requests.count > MOST_CALLS:
            return TOO_MANY
        return "" if session in self._sessions else OVER

    def _open(self, session: Session, opened: OpenDiffArguments) -> None:
        if session in self._sessions:  # nobody would get the outcome otherwise
            self._reviews.open(session, opened.file_path, opened.new_content, connected=session.since)

    async def _list(self, context: Context, _params: PaginatedRequestParams | None) -> ListToolsResult:
        session = self._session(context)
        return ListToolsResult.model_validate(self.listing(session))

    async def _call(self, context: Context, params: CallToolRequestParams) -> CallToolResult:
        session = self._session(context)
        if session is None:
            return CallToolResult.model_validate(failed(OVER))
        if params.name not in (self._agents.names() if session.is_agent else NAMES):
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name}")
        assert context.request  # noqa: S101 - there is a session, so there is one
        after: list[Callable[[], None]] = context.request.scope.setdefault(AFTER, [])
        return CallToolResult.model_validate(
            await self.call(session, params.name, params.arguments or {}, after.append)
        )

    def _session(self, context: Context) -> Session | None:
        request = context.request
        return self._sessions.find(request.headers.get("mcp-session-id")) if request else None


class AskingBefore:
    """The owner of a diff that was opened before a reload, where the call still waits. `answer` gives it the outcome.

    Its argument is the accepted content, None if the diff is rejected. It may be called on any thread. `ended` is done
    when the call is over, answered or not; another version of the package may have left none.
    """

    def __init__(
        self,
        window: WindowId,
        cli: str,
        answer: Callable[[str | None], object],
        ended: Future[None] | None,
        *,
        is_model: bool = True,
    ) -> None:
        self.is_model = is_model
        self.window = window
        self.cli = cli
        self.ended = ended
        self._answer = answer

    def notify(self, notification: Notification) -> None:
        """Answer the call with the text that was accepted; None if it was rejected."""
        self._answer(notification.params.content if isinstance(notification, DiffAccepted) else None)

    def handed_over(self) -> dict[str, Any]:
        """The call itself, which the next instance answers."""
        return {"answer": self._answer, "ended": self.ended, "is_model": self.is_model}


def why_invalid(error: ValidationError) -> str:
    """What is wrong, without the value, which may be a whole file."""
    found = error.errors(include_url=False, include_input=False, include_context=False)
    return "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg'].removeprefix('Value error, ')}" for one in found)
