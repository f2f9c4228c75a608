"""A client of the daemon, made of parts. Answers are plain values, refusals are errors that say what to do.

Runs on the companion thread. A client holds no session; each route gets its `AgentSession` as an argument.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from http import HTTPStatus
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self
from urllib.parse import quote

from ...conversation.events import EventCursor, Replay
from ...conversation.failures import AlreadyAnsweredError, MissingFeatureError, SessionGoneError
from ...conversation.forms import Values
from ...conversation.snapshot import Locality
from ...garbage import no_collection
from ..backend import Block
from ..sessions import AgentSession
from . import answers, sign_in, tasks
from .address import Address
from .errors import (
    NotADaemonError,
    RefusedError,
    TroubleError,
    WorkspaceMismatchError,
    missing_feature,
)
from .files import DaemonFiles
from .locality import described
from .options import DaemonOptions, DaemonQueries
from .pages import PAGE, PAGES, DaemonHistory
from .rewind import DaemonRewind
from .routes import QUALIFIED, Routes, path
from .sessions import DaemonSessions
from .steering import DaemonSteering

if TYPE_CHECKING:
    from .transport import SessionEvents

NEEDED = ("session_create", "session_events", "session_prompt", "session_cancel", "non_blocking_prompt")
"""The features without which there is no chat. All known versions have them (docs/protocols/qwen-serve.md#versions)."""
SOURCE = "sublime"
"""What the sessions of this client are tagged with."""
SESSION_LIMIT = 90.0
"""Seconds to create or to load a session: the agent's process starts, and the daemon's own limit is 60."""
BOOT_LIMIT = 10.0
"""Seconds until a daemon that answers knows its workspaces."""
MAX_QUEUED = 2048
"""Events that the daemon may hold for us; its own choice is 256."""

Scope = Literal["single", "thread"]
"""The conversation that all clients of the folder share, or a new one."""


async def load() -> None:
    """Import what carries the requests, off the loop: it takes a while the first time."""

    def load() -> None:
        is_there = f"{__package__}.transport" in sys.modules
        with contextlib.nullcontext() if is_there else no_collection():
            importlib.import_module(".transport", __package__)

    await asyncio.to_thread(load)


class Client:
    """Asks one daemon: see `backends.backend.Backend`. Use it with `async with`, or close it."""

    edits = terminals = authentication = sign_out = handover = None

    def __init__(self, address: Address, *, is_known: bool = False) -> None:
        """`is_known`: whether a daemon has answered at the address before."""
        self._routes = routes = Routes(address, is_known=is_known)
        self.sessions = self.catalog = DaemonSessions(routes)
        self.rewind = self.fork = DaemonRewind(routes)
        self.options = DaemonOptions(routes)
        self.queries = DaemonQueries(routes)
        self.steering = DaemonSteering(routes)
        self.files = DaemonFiles(routes)
        self._history = DaemonHistory(routes)
        self._tasks = tasks.DaemonTasks(routes)
        self._sign_in = sign_in.DaemonSignIn(routes)

    # What only some daemons have

    @property
    def history(self) -> DaemonHistory | None:
        """The earlier parts of a conversation."""
        return self._history if self._routes.has(PAGES) else None

    @property
    def tasks(self) -> tasks.DaemonTasks | None:
        """What the agent does besides its turn."""
        return self._tasks if self._routes.has(tasks.FEATURE) else None

    @property
    def sign_in(self) -> sign_in.DaemonSignIn | None:
        """Signing in with a code."""
        return self._sign_in if self._routes.has(sign_in.FEATURE) else None

    def missing(self, what: str) -> MissingFeatureError:
        """The error for a part that this daemon hasn't. `what` follows "can't"."""
        return missing_feature(what, f"This Qwen Code can't {what}.")

    @property
    def address(self) -> Address:
        """Where the daemon is."""
        return self._routes.address

    @property
    def capabilities(self) -> answers.Capabilities | None:
        """What the daemon can do, once `connect` has asked."""
        return self._routes.capabilities

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Drop all connections."""
        await self._routes.transport.close()

    # The daemon

    async def connect(self, folder: str) -> str:
        """Read the daemon's capabilities, and check that it serves a folder. Returns the folder as the daemon calls it.

        Raises:
            ChatError: it doesn't answer, is none, lacks something needed, or works elsewhere.
        """
        transport = self._routes.transport
        end = asyncio.get_running_loop().time() + BOOT_LIMIT
        while True:
            capabilities = answers.capabilities(await transport.json("GET", "/capabilities"))
            if capabilities is None:
                raise TroubleError(HTTPStatus.OK) if transport.is_known else NotADaemonError(self.address.url)
            found = await asyncio.to_thread(capabilities.folder, folder)
            # While it boots it names only one of its workspaces.
            if found is not None or capabilities.workspaces or asyncio.get_running_loop().time() > end:
                break
            await asyncio.sleep(0.2)
        for feature in NEEDED:
            if feature not in capabilities.features:
                raise missing_feature(feature)
        if found is None:
            raise WorkspaceMismatchError(folder, capabilities.folders)
        self._routes.capabilities = capabilities
        self._routes.folder = found if found != capabilities.workspace_cwd else ""
        transport.is_known = True
        return found

    async def describe(self, locality: Locality) -> str:
        """A page for the person on the daemon: where it runs, with which servers, skills, providers and rules."""
        return await described(self.page, self.address.url, locality)

    async def page(self, route: str) -> Mapping[str, Any]:
        """What a route of the workspace says, for example `/workspace/env`: for the page on locality.

        Raises:
            ChatError: the daemon refuses, or has the route for its primary folder alone.
        """
        if self._routes.folder and route.startswith("/workspace/"):
            route = self._routes.own(route.removeprefix("/workspace"), QUALIFIED)
        return await self._routes.transport.json("GET", route)

    # Sessions

    async def create(self, folder: str, *, scope: Scope = "thread") -> AgentSession:
        """Begin a new session, or attach to the folder's. `folder` is what `connect` has given."""
        body = {"cwd": folder, "sessionScope": scope}
        if self._routes.has("session_source_metadata") and scope == "thread":
            body["sourceType"] = SOURCE
        answer = await self._routes.transport.json("POST", "/session", body, limit=SESSION_LIMIT)
        return answers.read(AgentSession, answer)

    async def load(self, session: AgentSession) -> tuple[AgentSession, Replay]:
        """Attach to a session, at work, listed or lost, and get its conversation, or the end of a long one."""
        self._routes.need("session_load")
        has_pages = self._routes.has(PAGES)
        body = {"cwd": session.folder, "historyPageSize": PAGE if has_pages else None}
        answer = await self._routes.transport.json(
            "POST", path(session, "load"), body, session, limit=SESSION_LIMIT, keep=answers.keep
        )
        loaded = answers.read(AgentSession, answer)
        queue = tuple(waiting for waiting, state in await self.steering.queue(loaded) if state == "queued")
        return loaded, await asyncio.to_thread(answers.history, answer, queue, has_pages=has_pages)

    async def detach(self, session: AgentSession) -> None:
        """Detach from a session. The daemon closes an idle one when its last client detaches; its history stays."""
        with contextlib.suppress(SessionGoneError):
            await self._routes.transport.json("POST", path(session, "detach"), {}, session)

    # A conversation

    @contextlib.asynccontextmanager
    async def events(self, session: AgentSession, cursor: EventCursor | None) -> AsyncGenerator[SessionEvents]:
        """The events of a session after a cursor; without one, from the first that the daemon still has.

        Raises:
            StreamLostError: the connection has gone, or nothing came for 45 s.
            ChatError: the daemon refuses.
        """
        headers = {"Last-Event-ID": str(cursor.id if cursor else 0)}
        if cursor and cursor.epoch:
            headers["X-Qwen-Event-Epoch"] = cursor.epoch
        route = f"{path(session, 'events')}?snapshot=1&maxQueued={MAX_QUEUED}"
        async with self._routes.transport.stream(route, headers, session) as stream:
            yield stream

    async def prompt(self, session: AgentSession, blocks: Sequence[Block]) -> str:
        """Send a prompt, which is queued while a turn runs. Returns its id, which the events of its turn carry."""
        answer = await self._routes.transport.json("POST", path(session, "prompt"), {"prompt": list(blocks)}, session)
        prompt: object = answer.get("promptId")
        if not (isinstance(prompt, str) and prompt):
            raise TroubleError(HTTPStatus.OK)
        return prompt

    async def cancel(self, session: AgentSession) -> None:
        """End the turn that runs, if one does. The queue continues."""
        await self._routes.transport.json("POST", path(session, "cancel"), {}, session)

    async def answer(
        self, session: AgentSession, request: str, option: str | None, answers: Values | None = None
    ) -> None:
        """Answer a permission request with the id of an option; None cancels it.

        Raises:
            AlreadyAnsweredError: it is settled: somebody was faster.
        """
        outcome = {"outcome": "selected", "optionId": option} if option else {"outcome": "cancelled"}
        body: dict[str, Any] = {"outcome": outcome}
        if answers:
            body["answers"] = dict(answers)
        vote = f"permission/{quote(request, safe='')}"
        route = path(session, vote) if self._routes.has("session_permission_vote") else f"/{vote}"
        try:
            await self._routes.transport.json("POST", route, body, session)
        except RefusedError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                raise AlreadyAnsweredError from None
            raise
