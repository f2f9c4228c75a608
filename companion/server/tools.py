"""The MCP server's two tools, openDiff and closeDiff (docs/protocols/qwen-ide.md#diffs)."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
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
from pydantic_core import to_json
from starlette.requests import Request

from .. import __version__
from ..protocol import (
    CloseDiffArguments,
    DiffAccepted,
    IdeContext,
    Notification,
    OpenDiffArguments,
)
from ..review.disk import refusal
from ..review.reviews import Reviews
from .sessions import CliSessions, Session

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
FOR_AGENTS: list[dict[str, Any]] = [
    {
        "name": "openDiff",
        "description": (
            "Show a proposed change of a file in the user's editor, as a diff that the user edits, accepts or rejects. "
            "Returns as JSON whether it was accepted, and the content as the user wants it. Nothing is written: write "
            "exactly that content afterwards."
        ),
        "inputSchema": OpenDiffArguments.model_json_schema(by_alias=True),
    },
    {
        "name": "getContext",
        "description": "Which files the user has open in the editor, where the cursor is, and what is selected.",
        "inputSchema": {"type": "object", "properties": {}},
    },
]
"""What an agent gets that a chat has started. It gets the outcome as the answer, since it knows no notifications."""
NAMES = tuple(one["name"] for one in TOOLS)
NAMES_FOR_AGENTS = tuple(one["name"] for one in FOR_AGENTS)
OVER = "This session is over. Connect again."
LEFT = "openDiff: QwenCompanion is being loaded again. Propose the change once more."


AFTER = "qwen_companion.after"
"""In the scope of a request: what is called when it has been answered."""


class Tools:
    """Answers the MCP requests of one window's sessions."""

    def __init__(
        self, sessions: CliSessions, reviews: Reviews, context: Callable[[], Awaitable[IdeContext | None]]
    ) -> None:
        """`context` makes the context of the window, as its settings allow it."""
        self._sessions = sessions
        self._reviews = reviews
        self._context = context

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
            if session.is_agent:
                return await self._call_of_agent(session, name, arguments)
            if isinstance(path := arguments.get("filePath"), str):
                arguments = {**arguments, "filePath": session.here(path)}
            if name == "openDiff":
                opened = OpenDiffArguments.model_validate(arguments)
                if why := await self._refusal(session, opened.file_path):
                    return _failed(why)
                later(lambda: self._open(session, opened))
                return {"content": [], "isError": False}
            closed = CloseDiffArguments.model_validate(arguments)
            content = await self._reviews.close(session, closed.file_path, is_answered=closed.suppress_notification)
            return _text(json.dumps({} if content is None else {"content": content}))
        except ValidationError as error:
            return _failed(f"{name}: {_why(error)}")

    async def _call_of_agent(self, session: Session, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if name == "getContext":
            context = await self._context()
            return _text(to_json(context.message).decode() if context else "{}")
        if name != "openDiff":
            return _failed(f"Unknown tool: {name}")
        opened = OpenDiffArguments.model_validate(arguments)
        if why := await self._refusal(session, opened.file_path):
            return _failed(why)
        asking = _Asking(session)
        review = self._reviews.open(asking, opened.file_path, opened.new_content)
        try:
            return _text(json.dumps(await asking.outcome))  # in ASCII: a text may hold half of a character
        finally:
            if not asking.has_outcome:
                self._reviews.orphan(review.owner)

    async def _refusal(self, session: Session, path: str) -> str:
        """Why no diff of a path opens; empty if it does."""
        if why := await asyncio.to_thread(refusal, path):
            return f"openDiff: filePath: {path} {why}"
        if self._sessions.is_left:
            return LEFT
        return "" if session in self._sessions else OVER

    def _open(self, session: Session, opened: OpenDiffArguments) -> None:
        if session in self._sessions:  # nobody would get the outcome otherwise
            self._reviews.open(session, opened.file_path, opened.new_content)

    async def _list(self, context: Context, _params: PaginatedRequestParams | None) -> ListToolsResult:
        session = self._session(context)
        is_agent = session is not None and session.is_agent
        return ListToolsResult.model_validate(listing(is_offered=self.are_offered(session), is_agent=is_agent))

    async def _call(self, context: Context, params: CallToolRequestParams) -> CallToolResult:
        session = self._session(context)
        if session is None:
            return CallToolResult.model_validate(_failed(OVER))
        if params.name not in (NAMES_FOR_AGENTS if session.is_agent else NAMES):
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name}")
        assert context.request  # noqa: S101 - there is a session, so there is one
        after: list[Callable[[], None]] = context.request.scope.setdefault(AFTER, [])
        return CallToolResult.model_validate(
            await self.call(session, params.name, params.arguments or {}, after.append)
        )

    def _session(self, context: Context) -> Session | None:
        request = context.request
        return self._sessions.find(request.headers.get("mcp-session-id")) if request else None


class _Asking:
    """The owner of a diff whose outcome is the answer to a call."""

    def __init__(self, session: Session) -> None:
        self.window = session.window
        self.cli = session.cli
        self.outcome: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()

    @property
    def has_outcome(self) -> bool:
        """Whether the person has answered."""
        return self.outcome.done() and not self.outcome.cancelled()

    def notify(self, notification: Notification) -> None:
        """See Owner."""
        self._answer(notification.params.content if isinstance(notification, DiffAccepted) else None)

    def left(self) -> dict[str, Any]:
        """See Owner."""
        loop = asyncio.get_running_loop()

        def answer(content: str | None) -> None:
            with contextlib.suppress(RuntimeError):  # the client has waited so long that the old instance has ended
                loop.call_soon_threadsafe(self._answer, content)

        return {"answer": answer}

    def _answer(self, content: str | None) -> None:
        if not self.outcome.done():
            accepted = {"outcome": "accepted", "content": content}
            self.outcome.set_result({"outcome": "rejected"} if content is None else accepted)


class AskingBefore:
    """The owner of a diff that was opened before a reload, where the call still waits. `answer` gives it the outcome.

    Its argument is the accepted content, None if the diff is rejected. It may be called on any thread.
    """

    def __init__(self, window: int, cli: str, answer: Callable[[str | None], object]) -> None:
        self.window = window
        self.cli = cli
        self._answer = answer

    def notify(self, notification: Notification) -> None:
        """See Owner."""
        self._answer(notification.params.content if isinstance(notification, DiffAccepted) else None)

    def left(self) -> dict[str, Any]:
        """See Owner."""
        return {"answer": self._answer}


def listing(*, is_offered: bool, is_agent: bool = False) -> dict[str, Any]:
    """The result of tools/list. A CLI that isn't offered both tools asks only in its terminal."""
    tools = FOR_AGENTS if is_agent else TOOLS
    return {"tools": tools if is_offered else []}


def _text(text: str, *, is_error: bool = False) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": is_error}


def _failed(why: str) -> dict[str, Any]:
    return _text(why, is_error=True)


def _why(error: ValidationError) -> str:
    """What is wrong, without the value, which may be a whole file."""
    found = error.errors(include_url=False, include_input=False, include_context=False)
    return "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg'].removeprefix('Value error, ')}" for one in found)
