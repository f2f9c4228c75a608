"""The daemon's routes: one method for each. Answers are plain values, refusals are errors that say what to do.

Runs on the companion thread. A client holds no session; each route gets its `Session` as an argument.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from http import HTTPStatus
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, cast
from urllib.parse import quote
from uuid import uuid4

from ..backends.sessions import Session
from ..backends.updates import decode_update
from ..conversation.events import AvailableCommandsUpdate
from ..conversation.history import Cursor, History
from ..conversation.snapshot import Choices, Command, ContextWindow, Queued
from ..libraries.loading import loading
from . import answers
from .errors import (
    AlreadyAnsweredError,
    DaemonError,
    MissingFeatureError,
    NotADaemonError,
    RefusedError,
    SessionGoneError,
    TroubleError,
    WorkspaceMismatchError,
)
from .pages import PAGE, PAGES, Pages
from .rewind import Past
from .routes import QUALIFIED, path
from .sessions import Listing
from .sign_in import SignIn
from .tasks import FEATURE, Background

if TYPE_CHECKING:
    from .transport import EventStream

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

_MID_TURN = "session_mid_turn_message_mutation"
_QUEUES = {"pending-prompts": "session_prompt", "mid-turn-messages": _MID_TURN}
"""The routes of what waits, each with the feature that it comes with."""

Scope = Literal["single", "thread"]
"""The conversation that all clients of the folder share, or a new one."""
Block = Mapping[str, Any]
"""A part of a prompt: see `prompt`."""


async def load() -> None:
    """Import what carries the requests, off the loop: it takes a while the first time."""

    def load() -> None:
        is_there = f"{__package__}.transport" in sys.modules
        with contextlib.nullcontext() if is_there else loading():
            importlib.import_module(".transport", __package__)

    await asyncio.to_thread(load)


class Client(Background, Listing, Pages, Past, SignIn):
    """Asks one daemon. Use it with `async with`, or close it."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Drop all connections."""
        await self._transport.close()

    # The daemon

    async def connect(self, folder: str) -> str:
        """Read the daemon's capabilities, and check that it serves a folder. Returns the folder as the daemon calls it.

        Raises:
            DaemonError: it doesn't answer, is none, lacks something needed, or works elsewhere.
        """
        end = asyncio.get_running_loop().time() + BOOT_LIMIT
        while True:
            capabilities = answers.capabilities(await self._transport.json("GET", "/capabilities"))
            if capabilities is None:
                raise TroubleError(HTTPStatus.OK) if self._transport.is_known else NotADaemonError(self.address.url)
            found = capabilities.folder(folder)
            # While it boots it names only one of its workspaces.
            if found is not None or capabilities.workspaces or asyncio.get_running_loop().time() > end:
                break
            await asyncio.sleep(0.2)
        for feature in NEEDED:
            if feature not in capabilities.features:
                raise MissingFeatureError(feature)
        if found is None:
            raise WorkspaceMismatchError(folder, capabilities.folders)
        self.capabilities = capabilities
        self.folder = found if found != capabilities.workspace_cwd else ""
        self._transport.is_known = True
        return found

    async def page(self, route: str) -> Mapping[str, Any]:
        """What a route of the workspace says, for example `/workspace/env`: for the page on locality.

        Raises:
            DaemonError: the daemon refuses, or has the route for its primary folder alone.
        """
        if self.folder and route.startswith("/workspace/"):
            route = self._own(route.removeprefix("/workspace"), QUALIFIED)
        return await self._transport.json("GET", route)

    async def is_file(self, path: str) -> bool:
        """Whether the daemon's folder has a file; `path` is relative to it or absolute."""
        try:
            route = self._own(f"/stat?path={quote(path, safe='')}", QUALIFIED)
            answer = await self._transport.json("GET", route)
        except (MissingFeatureError, RefusedError):
            return False
        return answer.get("type") == "file"

    async def glob(self, pattern: str, limit: int) -> list[str]:
        """The files and folders that match a pattern, relative to the daemon's folder."""
        route = self._own(f"/glob?pattern={quote(pattern, safe='')}&maxResults={limit}", QUALIFIED)
        answer = await self._transport.json("GET", route)
        return [match for match in cast("list[object]", answer.get("matches") or []) if isinstance(match, str)]

    # Sessions

    async def create(self, folder: str, *, scope: Scope = "single", mode: str | None = None) -> Session:
        """Attach to the folder's session, or begin a new one. `folder` is what `connect` has given."""
        body = {"cwd": folder, "sessionScope": scope, "approvalMode": mode}
        if self.has("session_source_metadata") and scope == "thread":
            body["sourceType"] = SOURCE
        answer = await self._transport.json("POST", "/session", body, limit=SESSION_LIMIT)
        return answers.read(Session, answer)

    async def load(self, session: Session) -> tuple[Session, History]:
        """Attach to a session, be it at work, listed or lost, and get its conversation, a long one's end at least."""
        self._need("session_load")
        has_pages = self.has(PAGES)
        body = {"cwd": session.folder, "historyPageSize": PAGE if has_pages else None}
        answer = await self._transport.json(
            "POST", path(session, "load"), body, session, limit=SESSION_LIMIT, keep=answers.keep
        )
        loaded = answers.read(Session, answer)
        queue = tuple(waiting for waiting, state in await self.queue(loaded) if state == "queued")
        return loaded, await asyncio.to_thread(answers.history, answer, queue, has_pages=has_pages)

    async def detach(self, session: Session) -> None:
        """Detach from a session. The daemon closes an idle one when its last client detaches; its history stays."""
        with contextlib.suppress(SessionGoneError):
            await self._transport.json("POST", path(session, "detach"), {}, session)

    def can(self, feature: Literal["choices", "tasks", "edits"]) -> bool:
        """Whether the daemon has what a chat needs, whatever it calls that."""
        name = {"choices": "session_context", "tasks": FEATURE}.get(feature)
        return name is not None and self.has(name)

    # A conversation

    @contextlib.asynccontextmanager
    async def events(self, session: Session, cursor: Cursor | None) -> AsyncGenerator[EventStream]:
        """The events of a session after a cursor; without one, from the first that the daemon still has.

        Raises:
            StreamLostError: the connection has gone, or nothing came for 45 s.
            DaemonError: the daemon refuses.
        """
        headers = {"Last-Event-ID": str(cursor.id if cursor else 0)}
        if cursor and cursor.epoch:
            headers["X-Qwen-Event-Epoch"] = cursor.epoch
        route = f"{path(session, 'events')}?snapshot=1&maxQueued={MAX_QUEUED}"
        async with self._transport.stream(route, headers, session) as stream:
            yield stream

    async def prompt(self, session: Session, blocks: Sequence[Block]) -> str:
        """Send a prompt, which is queued while a turn runs. Returns its id, which the events of its turn carry."""
        answer = await self._transport.json("POST", path(session, "prompt"), {"prompt": list(blocks)}, session)
        prompt: object = answer.get("promptId")
        if not (isinstance(prompt, str) and prompt):
            raise TroubleError(HTTPStatus.OK)
        return prompt

    async def inject(self, session: Session, message: str) -> str | None:
        """Send a message into the turn that runs. Returns its id, which the queue has; None if no turn runs."""
        # 0.21.2 takes them too, but doesn't show them, and drops those that come too late for the turn.
        self._need(_MID_TURN)
        body = {"message": message, "messageId": str(uuid4())}
        try:
            answer = await self._transport.json("POST", path(session, "mid-turn-message"), body, session)
        except DaemonError as error:
            if error.may_have_arrived and await self._has_injected(session, body["messageId"]):
                return body["messageId"]
            raise
        return str(answer.get("messageId", "")) if answer.get("accepted") is True else None

    async def _has_injected(self, session: Session, message: str) -> bool:
        """Whether a message for the turn has arrived; False if that can't be found out."""
        try:
            answer = await self._transport.json("GET", path(session, "mid-turn-messages"), session=session)
        except DaemonError:
            return False
        return message in answers.injected(answer)

    async def queue(self, session: Session) -> list[tuple[Queued, str]]:
        """The prompts that run or wait, each with its state: running or queued."""
        answer = await self._transport.json("GET", path(session, "pending-prompts"), session=session)
        return [
            (Queued(pending.prompt_id, pending.text, pending.originator_client_id), pending.state)
            for pending in answers.pending(answer)
        ]

    async def dequeue(self, session: Session, prompt: str) -> bool:
        """Remove a queued prompt or a message for the running turn. Returns False if it isn't queued."""
        for kind, feature in _QUEUES.items():
            if self.has(feature):
                route = path(session, f"{kind}/{quote(prompt, safe='')}")
                if (await self._transport.json("DELETE", route, session=session)).get("removed") is True:
                    return True
        return False

    async def cancel(self, session: Session) -> None:
        """End the turn that runs, if one does. The queue continues."""
        await self._transport.json("POST", path(session, "cancel"), {}, session)

    async def vote(
        self, session: Session, request: str, option: str | None, answers: Mapping[str, str] | None = None
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
        route = path(session, vote) if self.has("session_permission_vote") else f"/{vote}"
        try:
            await self._transport.json("POST", route, body, session)
        except RefusedError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                raise AlreadyAnsweredError from None
            raise

    async def switch_model(self, session: Session, model: str) -> None:
        """Switch the model. The daemon makes it the user's default too."""
        self._need("session_set_model")
        await self._transport.json("POST", path(session, "model"), {"modelId": model}, session)

    async def switch_mode(self, session: Session, mode: str) -> None:
        """Switch the mode: plan, default, auto-edit, auto or yolo."""
        self._need("session_approval_mode_control")
        await self._transport.json("POST", path(session, "approval-mode"), {"mode": mode}, session)

    async def switch_effort(self, session: Session, effort: str) -> None:
        """Switch how long the model thinks, for this session."""
        await self.set_option(session, answers.EFFORT, effort)

    async def set_option(self, session: Session, option: str, value: str | bool) -> None:
        """Set an option of the session."""
        body = {"configId": option, "value": value}
        await self._transport.json("POST", path(session, "config-option"), body, session)

    async def edited(self, path: str, proposed: str, content: str) -> None:
        """An edited proposal: the daemon takes no text with a vote.

        Raises:
            MissingFeatureError: always.
        """
        raise MissingFeatureError("edited proposals")

    async def choices(self, session: Session) -> Choices:
        """The models, the modes and the efforts that the session can switch to."""
        self._need("session_context")
        return answers.choices(await self._transport.json("GET", path(session, "context"), session=session))

    async def commands(self, session: Session) -> tuple[Command, ...]:
        """The slash commands of the session."""
        self._need("session_supported_commands")
        answer = await self._transport.json("GET", path(session, "supported-commands"), session=session)
        update = decode_update({**answer, "sessionUpdate": "available_commands_update"})
        return update.commands if isinstance(update, AvailableCommandsUpdate) else ()

    async def window(self, session: Session) -> ContextWindow | None:
        """How full the context window is."""
        if not self.has("session_context_usage"):
            return None
        return answers.window(await self._transport.json("GET", path(session, "context-usage"), session=session))
