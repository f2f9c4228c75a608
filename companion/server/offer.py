"""How a window answers a CLI or an agent, whichever door that comes in by. The doors say it in their words."""

from __future__ import annotations

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Mapping
from concurrent.futures import Future
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    NotificationParams,
    PaginatedRequestParams,
)
from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from ..editor import WindowId
from ..exclusion import shortened
from ..libraries.sdk import MCPError, Server, ServerRequestContext
from ..protocol import DiffOutcome, Notification
from ..review.disk import refusal
from .knowledge import NotSharedError
from .sessions import MOST_CALLS, Session, StreamWire

if TYPE_CHECKING:
    from .window import WindowServer

T = TypeVar("T")
Context = ServerRequestContext[Any, Request]
Later = Callable[[Callable[[], None]], object]
"""Is given what has to wait until the answer to a call is on its way.

What it takes to open a diff would compete with the answer for the interpreter.
"""

OVER = "This session is over. Connect again."
TOO_MANY = "{tool}: too many calls wait for the user's answers."
LEFT = "{tool}: QwenCompanion is being loaded again. Propose the change once more."
CANCELLED = "The call was cancelled."
BUSY = "{name}: the editor, one of its packages or a disk has not answered in time. Try again."
AFTER = "qwen_companion.after"
"""In the scope of a request: what is called when it has been answered."""


@cache
def schema(model: type[BaseModel], mode: Literal["validation", "serialization"] = "validation") -> dict[str, Any]:
    """The JSON schema of a model, which nobody changes. All of them take 13 ms of the companion thread."""
    return model.model_json_schema(by_alias=True, mode=mode)


def listed(name: str, description: str, arguments: type[BaseModel], **more: Any) -> dict[str, Any]:
    """A tool as tools/list has it."""
    return {"name": name, "description": description, "inputSchema": schema(arguments), **more}


def text(words: str, *, is_error: bool = False) -> dict[str, Any]:
    """A result of tools/call with one text."""
    return {"content": [{"type": "text", "text": words}], "isError": is_error}


def failed(why: str) -> dict[str, Any]:
    """A result of tools/call that is an error."""
    return text(why, is_error=True)


async def answered(name: str, answering: Awaitable[T]) -> T | dict[str, Any]:
    """The result of a call of a tool; what can't be answered is an error with a sentence."""
    try:
        return await answering
    except ValidationError as error:
        return failed(f"{name}: {_why_invalid(error)}")
    except NotSharedError as refused:
        return failed(str(refused))
    except TimeoutError:
        return failed(BUSY.format(name=name))
    except ValueError as error:
        return failed(f"{name}: {error}")


def _why_invalid(error: ValidationError) -> str:
    """What is wrong, without the value, which may be a whole file."""
    found = error.errors(include_url=False, include_input=False, include_context=False)
    return "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg'].removeprefix('Value error, ')}" for one in found)


async def why_refused(server: WindowServer, session: Session, path: str, tool: str, argument: str) -> str:
    """Why no diff of a path opens; empty if it does. `argument` is what the `tool` calls the path."""
    if why := await asyncio.to_thread(refusal, path):
        return f"{tool}: {argument}: {shortened(path, 300)} {why}"
    if server.sessions.is_left:
        return LEFT.format(tool=tool)
    if session.requests.count > MOST_CALLS:
        return TOO_MANY.format(tool=tool)
    return "" if session in server.sessions else OVER


async def decided(
    server: WindowServer, asking: Asking, path: str, content: str, *, title: str = "", connected: float | None = None
) -> dict[str, Any]:
    """What was decided on a diff, which opens with this call: see `Asking.outcome`. `title`: see `Reviews.open`."""
    review = server.reviews.open(asking, path, content, title=title, connected=connected)
    try:
        return await asking.outcome
    finally:
        if not asking.has_outcome:
            server.reviews.orphan(review.owner)
        elif asking.outcome.result()["outcome"] == "closed":
            server.background(server.reviews.close(asking, path))
        if asking.ended:
            asking.ended.set_result(None)


class Asking:
    """The owner of a diff whose outcome is the answer to a call, which may have come before a reload."""

    def __init__(
        self, window: WindowId, cli: str, *, is_model: bool = True, left: Mapping[str, Any] | None = None
    ) -> None:
        """`left` is what an instance from before a reload has handed over, where the call still waits."""
        loop = asyncio.get_running_loop()
        self.is_model = is_model
        self.window = window
        self.cli = cli
        self.outcome: asyncio.Future[dict[str, Any]] = loop.create_future()
        """ "accepted" with the content, "rejected", or "closed" by whoever has called, if that was here."""
        self.ended: Future[None] | None = left.get("ended") if left else Future()
        """Done when nothing waits for the outcome any more. Another instance of the package may have the diff then.

        Another version of the package may have left none."""

        def answer(content: str | None) -> None:
            with contextlib.suppress(RuntimeError):  # the client has waited so long that this instance has ended
                loop.call_soon_threadsafe(self._answer, content)

        self._answer: Callable[[str | None], object] = left["answer"] if left else self._decide
        self._answer_from_any_thread: Callable[[str | None], object] = left["answer"] if left else answer

    @property
    def has_outcome(self) -> bool:
        """Whether it is decided."""
        return self.outcome.done() and not self.outcome.cancelled()

    def close(self) -> None:
        """The caller doesn't wait for the person any more."""
        self._settle({"outcome": "closed"})

    def notify(self, outcome: DiffOutcome) -> None:
        """Answer the call with the text that was accepted; None if it was rejected."""
        self._answer(outcome.content)

    def handed_over(self) -> dict[str, Any]:
        """The call itself, which the next instance answers from its own thread."""
        return {"answer": self._answer_from_any_thread, "ended": self.ended, "is_model": self.is_model}

    def _decide(self, content: str | None) -> None:
        self._settle({"outcome": "rejected"} if content is None else {"outcome": "accepted", "content": content})

    def _settle(self, outcome: dict[str, Any]) -> None:
        if not self.outcome.done():
            self.outcome.set_result(outcome)


class ServedTools(ABC):
    """The tools that the sessions of an HTTP door are offered, and how they are told what changes."""

    server_name: ClassVar[str]
    """What the MCP server that serves them says that it is."""
    server_title: ClassVar[str | None] = None
    server_version: ClassVar[str]
    names: ClassVar[Collection[str]]
    """Those of the tools whose calls are answered without the SDK."""

    def __init__(self, server: WindowServer) -> None:
        self._server = server

    @abstractmethod
    def listing(self, session: Session | None) -> dict[str, Any]:
        """The result of tools/list."""

    @abstractmethod
    async def result(self, session: Session, name: str, arguments: dict[str, Any], later: Later) -> dict[str, Any]:
        """The result of a call that is right; see `answered` for what may be raised."""

    @abstractmethod
    def write(self, session: Session, wire: StreamWire, notification: Notification) -> bool:
        """Write a notification to a session's stream. Returns whether the client can still get it."""

    async def call(self, session: Session, name: str, arguments: dict[str, Any], later: Later) -> dict[str, Any]:
        """The result of tools/call."""
        return await answered(name, self.result(session, name, arguments, later))

    def names_for(self, session: Session) -> Collection[str]:
        """The tools that a session may call."""
        del session
        return self.names

    def server(self) -> Server[Any]:
        """The MCP server that serves them."""
        server: Server[Any] = Server(
            self.server_name,
            title=self.server_title,
            version=self.server_version,
            on_list_tools=self._list,
            on_call_tool=self._call,
        )
        server.add_notification_handler("notifications/initialized", NotificationParams, self._initialized)
        return server

    async def _initialized(self, context: Context, _params: NotificationParams) -> None:
        if session := self._session(context):
            session.initialized(context.session.send_ping)

    async def _list(self, context: Context, _params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult.model_validate(self.listing(self._session(context)))

    async def _call(self, context: Context, params: CallToolRequestParams) -> CallToolResult:
        session = self._session(context)
        if session is None:
            return CallToolResult.model_validate(failed(OVER))
        if params.name not in self.names_for(session):
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {shortened(params.name, 100)}")
        assert context.request  # noqa: S101 - there is a session, so there is one
        after: list[Callable[[], None]] = context.request.scope.setdefault(AFTER, [])
        return CallToolResult.model_validate(
            await self.call(session, params.name, params.arguments or {}, after.append)
        )

    def _session(self, context: Context) -> Session | None:
        request = context.request
        return self._server.sessions.find(request.headers.get("mcp-session-id")) if request else None
