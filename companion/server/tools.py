"""The MCP server: its tools for a CLI, openDiff and closeDiff (docs/protocols/qwen-ide.md#diffs), and those for agents.

The latter are for agents that are offered the window's own MCP server (docs/talk.md#tools-for-agents).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel
from pydantic_core import to_json

from .. import __version__
from ..protocol import (
    CloseDiffArguments,
    Notification,
    OpenDiffArguments,
)
from .knowledge import EditorKnowledge, NotSharedError, answer_of
from .offer import Asking, Later, ServedTools, decided, failed, listed, schema, text, why_refused
from .sessions import Session, StreamWire
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

if TYPE_CHECKING:
    from .window import WindowServer

TOOLS = [
    listed(
        "openDiff",
        "Show a proposed change of a file as a diff that the user edits, accepts or rejects.",
        OpenDiffArguments,
    ),
    listed("closeDiff", "Close the diff of a file and return the proposal as it stands.", CloseDiffArguments),
]


Arguments = TypeVar("Arguments", bound=BaseModel)

DISK = 5.0
"""Seconds that getContext waits for the disks of the tabs, which may hang."""


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
        return listed(
            self.name,
            self.description,
            self.arguments,
            outputSchema=schema(self.answer, "serialization"),
            annotations={"readOnlyHint": True, "destructiveHint": False, "openWorldHint": False},
        )


class Tools(ServedTools):
    """Answers the MCP requests of one window's sessions."""

    server_name = "qwen-companion"
    server_title = "QwenCompanion"
    server_version = __version__
    names = tuple(one["name"] for one in TOOLS)

    def __init__(self, server: WindowServer) -> None:
        super().__init__(server)
        self._for_agents = {each.name: each for each in self._agent_tools(server.knowledge)}

    def listing(self, session: Session | None) -> dict[str, Any]:
        """The result of tools/list. A CLI that isn't offered both tools asks only in its terminal."""
        if session is None:
            return {"tools": []}
        if session.is_agent:
            return {"tools": [self._for_agents[name].listed for name in self.names_for(session)]}
        return {"tools": TOOLS if self._server.settings.show_diffs else []}

    def names_for(self, session: Session) -> Collection[str]:
        """The tools that a session may call."""
        if not session.is_agent:
            return self.names
        settings = self._server.settings
        offered = set(settings.agents_tools) - (set() if settings.show_diffs else {"openDiff"})
        return [name for name in self._for_agents if name in offered]

    async def result(self, session: Session, name: str, arguments: dict[str, Any], later: Later) -> dict[str, Any]:
        """The result of a call. A diff opens when the answer is on its way."""
        if session.is_agent:
            return await self._agent_result(session, name, arguments)
        if isinstance(path := arguments.get("filePath"), str):
            arguments = {**arguments, "filePath": session.here(path)}
        if name == "openDiff":
            return await self._about_to_open(session, OpenDiffArguments.model_validate(arguments), later)
        closed = CloseDiffArguments.model_validate(arguments)
        session.proposed = {one: path for one, path in session.proposed.items() if path != closed.file_path}
        content = await self._server.reviews.close(session, closed.file_path, is_answered=closed.suppress_notification)
        return text(json.dumps({} if content is None else {"content": content}))

    def write(self, session: Session, wire: StreamWire, notification: Notification) -> bool:  # noqa: ARG002
        """Write a notification to a session's stream. Returns whether the client can still get it."""
        return wire(notification.event)

    async def _about_to_open(self, session: Session, opened: OpenDiffArguments, later: Later) -> dict[str, Any]:
        this = object()
        session.proposed[this] = opened.file_path
        if why := await why_refused(self._server, session, opened.file_path, "openDiff", "filePath"):
            session.proposed.pop(this, None)
            return failed(why)

        def begin() -> None:
            if session.proposed.pop(this, None):
                self._open(session, opened)

        later(begin)
        return {"content": [], "isError": False}

    def _open(self, session: Session, opened: OpenDiffArguments) -> None:
        if session in self._server.sessions:  # nobody would get the outcome otherwise
            self._server.reviews.open(session, opened.file_path, opened.new_content, connected=session.since)

    async def _agent_result(self, session: Session, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if name not in self.names_for(session):
            return failed(f"Unknown tool: {name}")
        tool = self._for_agents[name]
        answer = await tool.run(session, tool.arguments.model_validate(arguments))
        return _result(answer, await self._news(session) if name != "openDiff" else [])

    async def _news(self, session: Session) -> list[Any]:
        settings = self._server.settings
        if not settings.agents_new_problems:
            return []
        return [answer_of(each, settings.sharing) for each in await self._server.news.of(session.cli)]

    async def _open_diff(self, session: Session, opened: OpenDiffArguments) -> OpenDiffAnswer:
        if why := await why_refused(self._server, session, opened.file_path, "openDiff", "filePath"):
            raise NotSharedError(why)
        asking = Asking(session.window, session.cli)
        outcome = await decided(self._server, asking, opened.file_path, opened.new_content)
        return OpenDiffAnswer.model_construct(**outcome)

    async def _get_context(self, _session: Session, _arguments: NoArguments) -> GetContextAnswer:
        async with asyncio.timeout(DISK):
            context = await self._server.contexts.context()
        return GetContextAnswer.model_validate(context.message if context else {}, by_alias=True)

    def _agent_tools(self, knowledge: EditorKnowledge) -> list[AgentTool]:
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
