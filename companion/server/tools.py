"""The MCP server: its tools for a CLI, openDiff and closeDiff (docs/protocols/qwen-ide.md#diffs), and those for agents.

The latter are for agents that are offered the window's own MCP server (docs/talk.md#tools-for-agents).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, Protocol, TypeVar

from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    NotificationParams,
    PaginatedRequestParams,
)
from pydantic import BaseModel, ValidationError
from pydantic_core import to_json
from starlette.requests import Request

from .. import __version__
from ..editor import WindowId
from ..exclusion import shortened
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
from .knowledge import EditorKnowledge, NewProblems, NotSharedError, answer_of
from .sessions import MOST_CALLS, CliSessions, Session, StreamWire
from .tool_schemas import (
    FindReferencesArguments,
    FindSymbolArguments,
    GetContextAnswer,
    GetDiagnosticsAnswer,
    GetDiagnosticsArguments,
    GetOpenFilesAnswer,
    GetOpenFilesArguments,
    GetSelectionAnswer,
    NoArguments,
    OpenDiffAnswer,
    OpenFileAnswer,
    OpenFileArguments,
    PointOutAnswer,
    PointOutArguments,
    SymbolsAnswer,
)

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


Arguments = TypeVar("Arguments", bound=BaseModel)

DISK = 5.0
"""Seconds that getContext waits for the disks of the tabs, which may hang."""
CANCELLED = "The call was cancelled."
BUSY = "{name}: the editor, one of its packages or a disk has not answered in time. Try again."


class Refusal(Protocol):
    """Why no diff of a path opens for a session; empty if it does."""

    async def __call__(self, session: Session, path: str) -> str:
        """`path` is an absolute path."""
        ...


@cache
def _schema(model: type[BaseModel], mode: Literal["validation", "serialization"]) -> dict[str, Any]:
    """The JSON schema of a model. All of them take 13 ms, which each window would cost the companion thread."""
    return model.model_json_schema(by_alias=True, mode=mode)


@dataclass(frozen=True)
class AgentTool:
    """A tool: what an agent is told of it, and what answers it."""

    name: str
    description: str
    arguments: type[BaseModel]
    answer: type[BaseModel]
    run: Callable[[Session, Any], Awaitable[BaseModel]]

    @property
    def listed(self) -> dict[str, Any]:
        """As tools/list has it."""
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": _schema(self.arguments, "validation"),
            "outputSchema": _schema(self.answer, "serialization"),
            "annotations": {"readOnlyHint": True, "destructiveHint": False, "openWorldHint": False},
        }


class AgentTools:
    """Answers the calls of one window's agents."""

    def __init__(
        self,
        reviews: Reviews,
        context: Callable[[], Awaitable[IdeContext | None]],
        settings: Callable[[], Settings],
        knowledge: EditorKnowledge,
        news: NewProblems,
        refusal: Refusal,
    ) -> None:
        """`context` makes the context of the window, as its `settings` allow it."""
        self._reviews = reviews
        self._context = context
        self._settings = settings
        self._refusal = refusal
        self._new_problems = news
        self._tools = {each.name: each for each in self._all(knowledge)}

    def listing(self) -> list[dict[str, Any]]:
        """The tools that the settings offer."""
        return [self._tools[name].listed for name in self.names()]

    def names(self) -> list[str]:
        """Their names."""
        settings = self._settings()
        return [
            name
            for name in self._tools
            if name in settings.agents_tools and (name != "openDiff" or settings.show_diffs)
        ]

    async def call(self, session: Session, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The result of tools/call, an error's sentence included. Raises ValidationError."""
        if name not in self.names():
            return failed(f"Unknown tool: {name}")
        tool = self._tools[name]
        given = tool.arguments.model_validate(arguments)
        try:
            answer = await tool.run(session, given)
        except NotSharedError as refused:
            return failed(str(refused))
        except ValidationError:
            raise
        except ValueError as error:
            return failed(f"{name}: {error}")
        except TimeoutError:
            return failed(BUSY.format(name=name))
        return _result(answer, await self._news(session) if name != "openDiff" else [])

    async def _news(self, session: Session) -> list[Any]:
        settings = self._settings()
        if not settings.agents_new_problems:
            return []
        return [answer_of(each, settings.sharing) for each in await self._new_problems.of(session.cli)]

    async def _open_diff(self, session: Session, opened: OpenDiffArguments) -> OpenDiffAnswer:
        path = opened.file_path
        if why := await self._refusal(session, path):
            raise NotSharedError(why)
        asking = Asking(session)
        review = self._reviews.open(asking, path, opened.new_content)
        try:
            outcome = await asking.outcome
        finally:
            if not asking.has_outcome:
                self._reviews.orphan(review.owner)
            asking.ended.set_result(None)
        return OpenDiffAnswer.model_construct(**outcome)

    async def _get_context(self, _session: Session, _arguments: NoArguments) -> GetContextAnswer:
        async with asyncio.timeout(DISK):
            context = await self._context()
        return GetContextAnswer.model_validate(context.message if context else {}, by_alias=True)

    def _all(self, knowledge: EditorKnowledge) -> list[AgentTool]:
        def of(
            run: Callable[[Arguments], Awaitable[BaseModel]],
        ) -> Callable[[Session, Arguments], Awaitable[BaseModel]]:
            return lambda _session, arguments: run(arguments)

        async def selection(_session: Session, _arguments: NoArguments) -> GetSelectionAnswer:
            return await knowledge.selection()

        async def point_out(session: Session, arguments: PointOutArguments) -> PointOutAnswer:
            return await knowledge.point_out(session.cli, arguments)

        return [
            AgentTool("openDiff", _OPEN_DIFF, OpenDiffArguments, OpenDiffAnswer, self._open_diff),
            AgentTool("getContext", _GET_CONTEXT, NoArguments, GetContextAnswer, self._get_context),
            AgentTool(
                "getDiagnostics",
                _GET_DIAGNOSTICS,
                GetDiagnosticsArguments,
                GetDiagnosticsAnswer,
                of(knowledge.diagnostics),
            ),
            AgentTool(
                "getOpenFiles", _GET_OPEN_FILES, GetOpenFilesArguments, GetOpenFilesAnswer, of(knowledge.open_files)
            ),
            AgentTool("getSelection", _GET_SELECTION, NoArguments, GetSelectionAnswer, selection),
            AgentTool("findSymbol", _FIND_SYMBOL, FindSymbolArguments, SymbolsAnswer, of(knowledge.symbol)),
            AgentTool(
                "findReferences", _FIND_REFERENCES, FindReferencesArguments, SymbolsAnswer, of(knowledge.references)
            ),
            AgentTool("openFile", _OPEN_FILE, OpenFileArguments, OpenFileAnswer, of(knowledge.show)),
            AgentTool("pointOut", _POINT_OUT, PointOutArguments, PointOutAnswer, point_out),
        ]


_OPEN_DIFF = (
    "Show a proposed change of a file in the user's editor, as a diff that the user edits, accepts or rejects. Returns "
    "as JSON whether it was accepted, and the content as the user wants it. Nothing is written: write exactly that "
    "content afterwards, then call getDiagnostics."
)
_GET_CONTEXT = "Which files the user has open in the editor, where the cursor is, and what is selected."
_GET_DIAGNOSTICS = (
    "The errors and warnings that the user's editor shows: those of its language servers or linters. Waits until they "
    "have looked at the last changes. Call it after you have changed a file."
)
_GET_OPEN_FILES = "The files that are open in tabs of the user's editor, and which of them have unsaved changes."
_GET_SELECTION = "What the user has selected in the editor, or where the cursor is."
_FIND_SYMBOL = "Where a function, a class or the like of this name is defined in the project."
_FIND_REFERENCES = "Where a symbol is used in the project. With a path, line and character it is the symbol there."
_OPEN_FILE = "Show the user a place in a file in the editor. The keyboard focus stays where the user types."

_POINT_OUT = (
    "Leave a short note at lines of a file for the user's review. Call it for the few places that deserve a look, such "
    "as a decision of yours or a risk, after you have changed them. The user may dismiss a note or answer it."
)


def text(words: str, *, is_error: bool = False) -> dict[str, Any]:
    """A result of tools/call with one text."""
    return {"content": [{"type": "text", "text": words}], "isError": is_error}


def failed(why: str) -> dict[str, Any]:
    """A result of tools/call that is an error."""
    return text(why, is_error=True)


def _result(answer: BaseModel, news: list[Any]) -> dict[str, Any]:
    """The answer as JSON in a text, and as an object for clients that know the schema."""
    # A text that the person has accepted may hold half of a character, which a JSON text can only escape.
    found = answer.model_dump(by_alias=True, exclude_none=True)
    if news:
        found["newProblems"] = [each.model_dump(by_alias=True) for each in news]
    try:
        to_json(found)
    except ValueError:
        structured = {name: value for name, value in found.items() if name != "content"}
    else:
        structured = found
    return {**text(json.dumps(found)), "structuredContent": structured}


class Asking:
    """The owner of a diff whose outcome is the answer to a call."""

    def __init__(self, session: Session, *, is_model: bool = True) -> None:
        self.is_model = is_model
        self.window = session.window
        self.cli = session.cli
        self.outcome: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self.ended: Future[None] = Future()
        """Done when nothing waits for the outcome any more. Another instance of the package may have the diff then."""

    @property
    def has_outcome(self) -> bool:
        """Whether the person has answered."""
        return self.outcome.done() and not self.outcome.cancelled()

    def notify(self, notification: Notification) -> None:
        """Answer the call with the text that was accepted; None if it was rejected."""
        self._answer(notification.params.content if isinstance(notification, DiffAccepted) else None)

    def handed_over(self) -> dict[str, Any]:
        """The call itself, which the next instance answers from its own thread."""
        loop = asyncio.get_running_loop()

        def answer(content: str | None) -> None:
            with contextlib.suppress(RuntimeError):  # the client has waited so long that the old instance has ended
                loop.call_soon_threadsafe(self._answer, content)

        return {"answer": answer, "ended": self.ended, "is_model": self.is_model}

    def _answer(self, content: str | None) -> None:
        if not self.outcome.done():
            accepted = {"outcome": "accepted", "content": content}
            self.outcome.set_result({"outcome": "rejected"} if content is None else accepted)
