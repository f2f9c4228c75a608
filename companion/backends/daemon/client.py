"""`qwen serve` as the agent of a chat: one method for each of its routes.

Answers are plain values, refusals are errors that say what to do. Of a session it holds only how far its events were
read; each route gets its `AgentSession` as an argument. Runs on the companion thread.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlencode
from uuid import uuid4

from ...conversation.events import Envelope, Ignored, Oldest, Replay
from ...conversation.failures import (
    AlreadyAnsweredError,
    ChatError,
    MissingFeatureError,
    SessionEndedError,
    SessionGoneError,
    StaleError,
    UncertainError,
)
from ...conversation.forms import Values
from ...conversation.snapshot import ChoiceKind, Choices, Command, ContextWindow, Locality, Queued, Task
from ..agent import (
    Agent,
    AgentSession,
    Block,
    ExportForm,
    Feature,
    FoundSession,
    Rewinding,
    RewindPoint,
    SessionPage,
    SigningIn,
)
from ..updates import decode_commands
from ..wire import objects, read, several, texts
from . import decoder
from .address import Address
from .decoder import EventCursor
from .errors import ClosedError, RefusedError, missing_feature, not_a_daemon, trouble, works_elsewhere
from .locality import described, listens_here, sees
from .transport import Transport

NEEDED = ("session_create", "session_events", "session_prompt", "session_cancel", "non_blocking_prompt")
"""The features without which there is no chat. All known versions have them (docs/protocols/qwen-serve.md#versions)."""
SOURCE = "sublime"
"""What the sessions of this client are tagged with."""
LONG_LIMIT = 90.0
"""Seconds for what takes long: the agent's process starts, for which the daemon's own limit is 60, histories are read,
files are written, or a provider is asked."""
BOOT_LIMIT = 10.0
"""Seconds until a daemon that answers knows its workspaces."""
MAX_QUEUED = 2048
"""Events that the daemon may hold for us; its own choice is 256."""
SESSION_PAGE = 50
"""Sessions in an answer."""
MOST_WORDS = 200
"""Characters that can be searched for."""
HISTORY_PAGE = 120
"""Records of the history on disk in a page; a turn has about six, and two more for each tool call."""
INDEX_PAGE = 500
"""Turns in a page of their index; the daemon gives no more."""
PAGES = "session_turn_navigation"
"""The feature with which the pages of a history can be read from its end."""
_ORGANIZED = "session_organization"
_MID_TURN = "session_mid_turn_message_mutation"
_QUEUES = {"pending-prompts": "session_prompt", "mid-turn-messages": _MID_TURN}
"""The routes of what waits, each with the feature that it comes with."""
QUALIFIED = "workspace_qualified_rest_core"
"""The feature of routes that name their folder."""
_DEVICE_FLOW = "/workspace/auth/device-flow"


def pattern(words: str) -> str:
    """A pattern for the paths that have these words in this order, folder by folder, however they are written."""
    parts = [part for part in words.split("/") if part] or [""]
    return "**/" + "/**/".join(f"*{''.join(map(_either, part))}*" if part else "*" for part in parts)


def _either(character: str) -> str:
    """A character in either case, for a pattern."""
    if character in "*?[]{}()!+@\\^|,":
        return f"[{character}]" if character not in "]^\\!" else f"\\{character}"
    lower, upper = character.lower(), character.upper()
    return character if lower == upper or len(lower) != 1 or len(upper) != 1 else f"[{lower}{upper}]"


class DaemonAgent(Agent):
    """One daemon. Close it. Features, never the version, decide what it can do."""

    model_is_default = True

    def __init__(
        self, address: Address, *, cursors: dict[str, EventCursor | None] | None = None, is_known: bool = False
    ) -> None:
        """`is_known`: whether a daemon has answered at the address before.

        `cursors`: how far the events of sessions were read, by their ids; None for a new session. The client after this
        one goes on there.
        """
        self.address = address
        self._cursors = {} if cursors is None else cursors
        self.capabilities: decoder.Capabilities | None = None
        """What the daemon can do, once `connect` has asked."""
        self._folder = ""
        """The one that it works in for us, if that isn't the daemon's primary one, as the daemon calls it."""
        self.transport = Transport(address, is_known=is_known)

    def can(self, feature: Feature) -> bool:
        match feature:
            case "edits" | "authentication" | "sign_out":
                return False
            case "history":
                return self.has(PAGES)
            case "tasks":
                return self.has("session_tasks")
            case "sign_in":
                return self.has("auth_device_flow")
            case _:
                return True

    def missing(self, what: str) -> MissingFeatureError:
        return missing_feature("", what)

    def has(self, feature: str) -> bool:
        """Whether the daemon has a feature, by its own name; every one until it was asked."""
        return self.capabilities is None or feature in self.capabilities.features

    def _need(self, feature: str) -> None:
        """Raise MissingFeatureError if the daemon hasn't a feature, by its own name."""
        if not self.has(feature):
            raise missing_feature(feature)

    def _own(self, route: str, feature: str) -> str:
        """A route for our folder: the daemon takes it for its primary one where none is named.

        Raises:
            MissingFeatureError: the folder isn't the primary one, and this daemon has the route for no other.
        """
        if not self._folder:
            return route
        self._need(feature)
        return f"/workspaces/{quote(self._folder, safe='')}{route}"

    # The daemon

    async def connect(self, folder: str) -> str:
        """Read the daemon's capabilities, and check that it serves a folder. Returns the folder as the daemon calls it.

        Raises:
            ChatError: it doesn't answer, is none, lacks something needed, or works elsewhere.
        """
        transport = self.transport
        end = asyncio.get_running_loop().time() + BOOT_LIMIT
        while True:
            capabilities = read(decoder.Capabilities, await transport.json("GET", "/capabilities"))
            if capabilities is None:
                raise trouble(HTTPStatus.OK) if transport.is_known else not_a_daemon(self.address.url)
            found = await asyncio.to_thread(capabilities.folder, folder)
            # While it boots it names only one of its workspaces.
            if found is not None or capabilities.workspaces or asyncio.get_running_loop().time() > end:
                break
            await asyncio.sleep(0.2)
        for feature in NEEDED:
            if feature not in capabilities.features:
                raise missing_feature(feature)
        if found is None:
            raise works_elsewhere(folder, capabilities.folders)
        self.capabilities = capabilities
        self._folder = found if found != capabilities.workspace_cwd else ""
        transport.is_known = True
        return found

    async def close(self) -> None:
        await self.transport.close()

    async def describe(self, locality: Locality) -> str:
        """A page for the person on the daemon: where it runs, with which servers, skills, providers and rules."""
        return await described(self.page, self.address.url, locality)

    async def page(self, route: str) -> Mapping[str, Any]:
        """What a route of the workspace says, for example `/workspace/env`: for the page on locality.

        Raises:
            ChatError: the daemon refuses, or has the route for its primary folder alone.
        """
        if self._folder and route.startswith("/workspace/"):
            route = self._own(route.removeprefix("/workspace"), QUALIFIED)
        return await self.transport.json("GET", route)

    # Sessions

    async def is_here(self, folder: str) -> bool:
        """Whether it is shown that the daemon's files are ours: a process of ours listens, or it sees a file of ours.

        `folder` is the chat's, as the editor calls it. A file with a random name is there for a moment, if need be.
        """
        if not self.address.is_loopback:
            return False
        return await asyncio.to_thread(listens_here, self.address) or await sees(self.is_file, folder)

    async def create(self, folder: str) -> AgentSession:
        body = {"cwd": folder, "sessionScope": "thread"}
        if self.has("session_source_metadata"):
            body["sourceType"] = SOURCE
        answer = await self.transport.json("POST", "/session", body, limit=LONG_LIMIT)
        created = decoder.read(AgentSession, answer)
        self._cursors[created.id] = None
        return created

    async def load(self, session: AgentSession) -> tuple[AgentSession, Replay]:
        """Attach to a session, whether it is at work, listed or lost."""
        self._need("session_load")
        has_pages = self.has(PAGES)
        body = {"cwd": session.folder, "historyPageSize": HISTORY_PAGE if has_pages else None}
        answer = await self.transport.json(
            "POST", _path(session, "load"), body, session, limit=LONG_LIMIT, keep=decoder.keep
        )
        loaded = decoder.read(AgentSession, answer)
        queue = tuple(waiting for waiting, state in await self.queue(loaded) if state == "queued")
        history = await asyncio.to_thread(decoder.history, answer, queue, has_pages=has_pages)
        self._cursors[loaded.id] = decoder.read(EventCursor, answer)
        return loaded, history

    async def detach(self, session: AgentSession) -> None:
        """Detach from a session. The daemon closes an idle one when its last client detaches; its history stays."""
        self._cursors.pop(session.id, None)
        with contextlib.suppress(SessionGoneError):
            await self.transport.json("POST", _path(session, "detach"), {}, session)

    async def list_sessions(self, folder: str, cursor: str = "", *, is_archived: bool = False) -> SessionPage:
        """A page of the sessions of a folder, those that are pinned first, or of those of its archive."""
        self._need("session_archive" if is_archived else "session_list")
        asked = {"size": str(SESSION_PAGE), "cursor": cursor, "archiveState": "archived" if is_archived else ""}
        if self.has(_ORGANIZED):
            asked["view"] = "organized"
        page = decoder.read(SessionPage, await self.transport.json("GET", _listed(folder, "sessions", asked)))
        return SessionPage(sessions=page.sessions, cursor=page.after(cursor))

    async def search_sessions(self, folder: str, words: str) -> list[FoundSession]:
        # A daemon that can't search has no such route, and no feature says so.
        asked = {"q": words[:MOST_WORDS], "maxResults": str(SESSION_PAGE)}
        answer = await self.transport.json("GET", _listed(folder, "sessions/search", asked), limit=LONG_LIMIT)
        return list(several(FoundSession)(answer.get("results")))

    async def rename_session(self, session: AgentSession, title: str) -> None:
        self._need("session_metadata")
        await self.transport.json("PATCH", _path(session, "metadata"), {"displayName": title}, session)

    async def delete_session(self, session: AgentSession) -> None:
        with contextlib.suppress(SessionGoneError):
            await self.transport.json("DELETE", _path(session), session=session)
        await self._change_session(session, "delete", "deleted")

    async def archive_session(self, session: AgentSession, *, is_archived: bool) -> None:
        self._need("session_archive")
        await self._change_session(session, "archive" if is_archived else "unarchive", "moved")

    async def _change_session(self, session: AgentSession, action: str, done: str) -> None:
        route = self._own(f"/sessions/{action}", QUALIFIED)
        answer = await self.transport.json("POST", route, {"sessionIds": [session.id]})
        if errors := objects(answer.get("errors")):
            raise RefusedError(200, str(errors[0].get("error") or f"the session can't be {done}"))

    async def pin_session(self, session: AgentSession, *, is_pinned: bool) -> None:
        self._need(_ORGANIZED)
        await self.transport.json(
            "PATCH", self._own(_path(session, "organization"), QUALIFIED), {"isPinned": is_pinned}
        )

    async def export_session(self, session: AgentSession, form: ExportForm, *, is_archived: bool = False) -> str:
        self._need("session_export")
        if is_archived:
            self._need("workspace_archived_session_export")
            route = f"/workspaces/{quote(session.folder, safe='')}{_path(session, 'archive/export')}?format={form}"
        else:
            route = self._own(f"{_path(session, 'export')}?format={form}", "workspace_session_export")
        content = await self.transport.send("GET", route, session=session, limit=LONG_LIMIT)
        return content.decode("utf-8", "replace")

    # The conversation

    @contextlib.asynccontextmanager
    async def events(self, session: AgentSession) -> AsyncGenerator[AsyncIterator[Envelope]]:
        """The events of a session after those that were read; those of a new one from the first.

        Raises:
            StaleError: the session has to be loaded first, or another bus counts its events by now.
            StreamLostError: the connection has gone, or nothing came for 45 s.
            ChatError: the daemon refuses.
        """
        if session.id not in self._cursors:
            raise StaleError
        cursor = self._cursors[session.id]
        headers = {"Last-Event-ID": str(cursor.id if cursor else 0)}
        if cursor and cursor.epoch:
            headers["X-Qwen-Event-Epoch"] = cursor.epoch
        route = f"{_path(session, 'events')}?snapshot=1&maxQueued={MAX_QUEUED}"
        async with self.transport.stream(route, headers, session) as (epoch, envelopes):
            if cursor is None:
                self._cursors[session.id] = EventCursor(id=0, epoch=epoch)
            elif cursor.epoch != epoch:
                raise StaleError(agent_may_change=True)
            async with contextlib.aclosing(self._following(session, envelopes)) as following:
                yield following

    async def _following(self, session: AgentSession, envelopes: AsyncIterator[Envelope]) -> AsyncGenerator[Envelope]:
        """The events that were not read before."""
        async for envelope in envelopes:
            if isinstance(envelope.event, Ignored) and (error := envelope.event.error):
                is_ours = isinstance(error, ClosedError) and error.client == session.client_id
                raise SessionEndedError("The session is closed.") if is_ours else error
            cursor = self._cursors.get(session.id)
            if cursor and envelope.id is not None:
                if envelope.id <= cursor.id:
                    continue
                if envelope.id > cursor.id + 1:
                    raise StaleError
                self._cursors[session.id] = EventCursor(id=envelope.id, epoch=cursor.epoch)
            yield envelope

    async def prompt(self, session: AgentSession, blocks: Sequence[Block]) -> str:
        answer = await self.transport.json("POST", _path(session, "prompt"), {"prompt": list(blocks)}, session)
        prompt: object = answer.get("promptId")
        if not (isinstance(prompt, str) and prompt):
            raise trouble(HTTPStatus.OK)
        return prompt

    async def cancel(self, session: AgentSession) -> None:
        """End the turn that runs, if one does. The queue continues."""
        await self.transport.json("POST", _path(session, "cancel"), {}, session)

    async def answer(
        self, session: AgentSession, request: str, option: str | None, answers: Values | None = None
    ) -> None:
        outcome = {"outcome": "cancelled"} if option is None else {"outcome": "selected", "optionId": option}
        body: dict[str, Any] = {"outcome": outcome}
        if answers:
            body["answers"] = dict(answers)
        vote = f"permission/{quote(request, safe='')}"
        route = _path(session, vote) if self.has("session_permission_vote") else f"/{vote}"
        try:
            await self.transport.json("POST", route, body, session)
        except RefusedError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                raise AlreadyAnsweredError from None
            raise

    async def inject(self, session: AgentSession, message: str) -> str | None:
        # 0.21.2 takes them too, but doesn't show them, and drops those that come too late for the turn.
        self._need(_MID_TURN)
        body = {"message": message, "messageId": str(uuid4())}
        try:
            answer = await self.transport.json("POST", _path(session, "mid-turn-message"), body, session)
        except ChatError as error:
            if error.may_have_arrived and await self._has_injected(session, body["messageId"]):
                return body["messageId"]
            raise
        return str(answer.get("messageId", "")) if answer.get("accepted") is True else None

    async def _has_injected(self, session: AgentSession, message: str) -> bool:
        """Whether a message for the turn has arrived.

        Raises:
            UncertainError: that can't be found out.
        """
        try:
            answer = await self.transport.json("GET", _path(session, "mid-turn-messages"), session=session)
        except ChatError:
            raise UncertainError from None
        return message in decoder.injected(answer)

    async def queue(self, session: AgentSession) -> list[tuple[Queued, str]]:
        return decoder.pending(await self.transport.json("GET", _path(session, "pending-prompts"), session=session))

    async def dequeue(self, session: AgentSession, prompt: str) -> bool:
        """Remove a queued prompt or a message for the running turn. Returns False if it isn't queued."""
        for kind, feature in _QUEUES.items():
            if self.has(feature):
                route = _path(session, f"{kind}/{quote(prompt, safe='')}")
                if (await self.transport.json("DELETE", route, session=session)).get("removed") is True:
                    return True
        return False

    # What was said before

    async def earlier(self, session: AgentSession, oldest: Oldest) -> tuple[list[Envelope], bool]:
        self.need("history", "show earlier turns page by page")
        record = oldest.record or await self._record_of(session, oldest.prompt)
        route = f"{_path(session, 'transcript')}?limit={HISTORY_PAGE}&beforeRecordId={quote(record, safe='')}"
        return decoder.page(await self.transport.json("GET", route, session=session))

    async def _record_of(self, session: AgentSession, prompt: str) -> str:
        """What the history on disk calls the beginning of a prompt's turn."""
        route = f"{_path(session, 'turn-index')}?limit={INDEX_PAGE}"
        name, start, records = decoder.index(await self.transport.json("GET", route, session=session))
        while prompt not in records and start > 0:
            before = max(0, start - INDEX_PAGE)
            there = f"{route}&snapshot={quote(name, safe='')}&start={before}"
            name, start, records = decoder.index(await self.transport.json("GET", there, session=session))
            if start > before:
                break
        if not (record := records.get(prompt)):
            raise RefusedError(HTTPStatus.OK, "it doesn't say what came before the first turn here")
        return record

    async def continue_turn(self, session: AgentSession) -> str | None:
        answer = await self.transport.json("POST", _path(session, "continue"), {}, session)
        return str(answer.get("promptId", "")) if answer.get("accepted") is True else None

    async def rewind_points(self, session: AgentSession) -> list[RewindPoint]:
        self._need("session_rewind")
        answer = await self.transport.json("GET", _path(session, "rewind/snapshots"), session=session)
        return list(several(RewindPoint)(answer.get("snapshots")))

    async def rewind(self, session: AgentSession, point: str, *, undo_files: bool) -> Rewinding:
        self._need("session_rewind")
        body: Mapping[str, Any] = {"promptId": point, "rewindFiles": undo_files}
        answer = await self.transport.json("POST", _path(session, "rewind"), body, session, limit=LONG_LIMIT)
        return decoder.read(Rewinding, answer)

    async def fork(self, session: AgentSession, title: str = "") -> AgentSession:
        self._need("session_branch")
        body = {"name": title or None}
        answer = await self.transport.json("POST", _path(session, "branch"), body, session, limit=LONG_LIMIT)
        return decoder.read(AgentSession, answer)

    # What a session can switch, and what no event tells

    async def choices(self, session: AgentSession) -> Choices | None:
        if not self.has("session_context"):
            return None
        return decoder.choices(await self.transport.json("GET", _path(session, "context"), session=session))

    async def switch(self, session: AgentSession, kind: ChoiceKind, value: str) -> None:
        """The daemon makes a model the user's default, too. The modes are plan, default, auto-edit, auto and yolo."""
        match kind:
            case "mode":
                self._need("session_approval_mode_control")
                await self.transport.json("POST", _path(session, "approval-mode"), {"mode": value}, session)
            case "model":
                self._need("session_set_model")
                await self.transport.json("POST", _path(session, "model"), {"modelId": value}, session)
            case "effort":
                await self.set_option(session, decoder.EFFORT, value)

    async def set_option(self, session: AgentSession, option: str, value: str | bool) -> None:
        body = {"configId": option, "value": value}
        await self.transport.json("POST", _path(session, "config-option"), body, session)

    async def commands(self, session: AgentSession) -> tuple[Command, ...]:
        self._need("session_supported_commands")
        answer = await self.transport.json("GET", _path(session, "supported-commands"), session=session)
        return tuple(decode_commands(objects(answer.get("availableCommands"))))

    async def context_window(self, session: AgentSession) -> ContextWindow | None:
        if not self.has("session_context_usage"):
            return None
        return decoder.window(await self.transport.json("GET", _path(session, "context-usage"), session=session))

    async def tasks(self, session: AgentSession, *, with_past: bool = False) -> tuple[Task, ...]:
        self.need("tasks", "list what runs in the background")
        routes = ["agents", "tasks"] if with_past and self.has("session_agents") else ["tasks"]
        answers = [await self.transport.json("GET", _path(session, route), session=session) for route in routes]
        return tuple({task.id: task for answer in answers for task in decoder.tasks(answer)}.values())

    async def stop_task(self, session: AgentSession, task: Task) -> bool:
        self.need("tasks", "stop what runs in the background")
        route = _path(session, f"tasks/{quote(task.id, safe='')}/cancel")
        return (await self.transport.json("POST", route, {"kind": task.kind}, session)).get("cancelled") is True

    # Files, and signing in

    async def is_file(self, path: str) -> bool:
        try:
            route = self._own(f"/stat?path={quote(path, safe='')}", QUALIFIED)
            answer = await self.transport.json("GET", route)
        except (MissingFeatureError, RefusedError):
            return False
        return answer.get("type") == "file"

    async def find_files(self, words: str, limit: int) -> list[str]:
        route = self._own(f"/glob?pattern={quote(pattern(words), safe='')}&maxResults={limit}", QUALIFIED)
        answer = await self.transport.json("GET", route)
        return list(texts(answer.get("matches")))

    async def sign_in_providers(self) -> list[str]:
        self.need("sign_in", "be signed in with a code")
        answer = await self.transport.json("GET", "/workspace/auth/status")
        return list(texts(answer.get("supportedDeviceFlowProviders")))

    async def begin_sign_in(self, provider: str) -> SigningIn:
        self.need("sign_in", "be signed in with a code")
        answer = await self.transport.json("POST", _DEVICE_FLOW, {"providerId": provider}, limit=LONG_LIMIT)
        return decoder.sign_in(answer)

    async def sign_in_progress(self, identifier: str) -> SigningIn:
        self.need("sign_in", "be signed in with a code")
        return decoder.sign_in(await self.transport.json("GET", f"{_DEVICE_FLOW}/{quote(identifier, safe='')}"))

    async def cancel_sign_in(self, identifier: str) -> None:
        self.need("sign_in", "be signed in with a code")
        await self.transport.json("DELETE", f"{_DEVICE_FLOW}/{quote(identifier, safe='')}")


def _path(session: AgentSession, route: str = "") -> str:
    """A route of a session."""
    return f"/session/{quote(session.id, safe='')}" + (f"/{route}" if route else "")


def _listed(folder: str, route: str, asked: Mapping[str, str]) -> str:
    """A route of the list of a folder's sessions."""
    query = urlencode({name: value for name, value in asked.items() if value})
    return f"/workspace/{quote(folder, safe='')}/{route}?{query}"
