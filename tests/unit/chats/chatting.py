"""Chats in a test: an editor in memory, a scripted daemon, and what a person does."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator, Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from unittest.mock import AsyncMock, patch

from companion.changes.rounds import Rounds
from companion.chats.chats import Chats
from companion.chats.transcript.render import Render
from companion.conversation.snapshot import ConnectionStatus
from companion.editor import ChatId, ViewId, WindowId
from companion.exclusion import Sharing
from companion.provenance.calls import ReportedTurn
from companion.provenance.why import Provenance
from companion.review.reviews import Reviews
from companion.settings import DaemonSettings

from ..fake_daemon import FEATURES, TOKEN, FakeDaemon, Request, Stream, until
from ..memory_editor import Diff, MemoryEditor
from ..review.reviewing import NoHost, reviews_in

OPTIONS = [
    {"optionId": "always", "name": "Allow All Edits", "kind": "allow_always"},
    {"optionId": "once", "name": "Allow", "kind": "allow_once"},
    {"optionId": "no", "name": "Reject", "kind": "reject_once"},
]


def real(path: str | os.PathLike[str]) -> str:
    """A path without links, as a daemon reports it."""
    return os.path.realpath(path)


CHAT = ChatId(ViewId(1))
WINDOW = WindowId(1)


class LoneWindows:
    """Windows without a companion: no server for agents, and no folders but those of the chats."""

    def __init__(self, told: Callable[[WindowId], Sharing] = lambda _: Sharing()) -> None:
        self.sharing_of = told

    def folders_of(self, window: WindowId) -> tuple[str, ...]:
        return ()

    def admit(self, window: WindowId, agent: str) -> None:
        return None

    def dismiss_agent(self, window: WindowId, token: str) -> None:
        pass

    def changes_changed(self) -> None:
        pass


class NoRounds:
    """Nobody has looked at the files; `lines` are what was undone all the same."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def connected(self, window: WindowId) -> None:
        """Nothing is looked at."""

    def turn_began(self, window: WindowId, chat: ChatId, agent: str, turn: str, words: str, sent: int) -> None:
        """Nothing is looked at."""

    def turn_ended(self, window: WindowId, chat: ChatId, turn: str) -> None:
        """Nothing is looked at."""

    def named(self, agent: str, path: str) -> None:
        """Nothing is looked at."""

    async def turn_texts(self, window: WindowId, turn: str) -> None:
        """Nobody has looked."""

    async def turn_files(self, window: WindowId, turn: str) -> None:
        """Nobody has looked."""

    async def restore_turn(self, window: WindowId, turn: str, files: Collection[str]) -> tuple[list[str], list[str]]:
        return [], []

    async def undone_since(self, window: int) -> list[str]:
        return list(self.lines)

    async def notes_sent(self, window: int, lines: Sequence[str]) -> None:
        self.lines = [line for line in self.lines if line not in lines]


class KeptTurns:
    """The turns that have ended."""

    def __init__(self) -> None:
        self.turns: list[ReportedTurn] = []

    def turn_over(self, window: WindowId, turn: ReportedTurn) -> None:
        self.turns.append(turn)


def chats_in(
    editor: MemoryEditor,
    reviews: Reviews,
    told: Callable[[WindowId], Sharing] = lambda _: Sharing(),
    rounds: NoRounds | None = None,
    reasons: KeptTurns | None = None,
) -> Chats:
    """Chats without a companion."""
    turns, kept = cast("Rounds", rounds or NoRounds()), cast("Provenance", reasons or KeptTurns())
    return Chats(editor, reviews, LoneWindows(told), turns, kept)


@dataclass
class Room:
    """Window 1 with its chats."""

    editor: MemoryEditor
    daemon: FakeDaemon
    folder: str
    tasks: set[asyncio.Task[Any]] = field(default_factory=set[asyncio.Task[Any]])
    errors: list[BaseException] = field(default_factory=list[BaseException])

    told: Callable[[WindowId], Sharing] = lambda _: Sharing()
    stream: Stream = field(init=False)
    """The events of a chat that `live` has opened."""

    def __post_init__(self) -> None:
        self.host = NoHost()
        self.reviews = reviews_in(self.editor, self._background, self.host)
        self.rounds = NoRounds()
        self.reasons = KeptTurns()
        told = lambda window: self.told(window)  # noqa: E731, PLW0108 - a test replaces it
        self.chats = chats_in(self.editor, self.reviews, told, self.rounds, self.reasons)

    def _background(self, work: Coroutine[Any, Any, object]) -> asyncio.Task[object]:
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[object]) -> None:
        self.tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            self.errors.append(error)

    def configure(self, *, token: str = TOKEN, **settings: Any) -> None:
        if token:
            os.environ["QWEN_SERVER_TOKEN"] = token
        self.chats.configure(DaemonSettings(**{"enabled": True, "url": self.daemon.address.url} | settings))

    @property
    def render(self) -> Render:
        return self.editor.renders[1][-1]

    @property
    def connection(self) -> ConnectionStatus:
        return self.render.status.connection

    async def state(self, state: str) -> ConnectionStatus:
        """Wait until the connection is in a state, and return the connection."""
        await until(lambda: self.editor.renders.get(1) and self.connection.state == state)
        return self.connection

    async def opened(self) -> Stream:
        """Open the chat, and return the stream of its events once it is live."""
        self.chats.open(CHAT, WINDOW, self.folder)
        return await self.live()

    async def live(self) -> Stream:
        """Wait until the chat is live, and return its stream of events: not one that it gave up meanwhile."""
        stream = await self.daemon.streams.get()
        await self.state("live")
        while not self.daemon.streams.empty():
            stream = self.daemon.streams.get_nowait()
        return stream

    async def asked(self, route: str, count: int = 1) -> Request:
        """Wait until a route has had `count` requests, and return the latest."""
        await until(lambda: len(self.daemon.asked(route)) >= count)
        return self.daemon.asked(route)[-1]

    async def diff(self, count: int = 1) -> list[Diff]:
        """Wait until `count` diffs are on the screen, and return them."""
        await until(lambda: len(self.editor.open_diffs) == count)
        return list(self.editor.open_diffs.values())


@contextlib.asynccontextmanager
async def chatting(daemon: FakeDaemon, folder: str, *, is_here: bool = True, **settings: Any) -> AsyncGenerator[Room]:
    """A room whose chats are attached to a daemon. Fails if a task of theirs is left at the end."""
    daemon.capabilities(real(folder))
    session = {"sessionId": "s", "workspaceCwd": real(folder), "clientId": "c"}
    daemon.routes |= {
        "POST /session": (200, session),
        "POST /session/s/load": (200, session | {"attached": True, "lastEventId": 0, "eventEpoch": "e"}),
        "GET /session/s/pending-prompts": (200, {"pendingPrompts": []}),
        "POST /session/s/detach": (204, None),
        "POST /session/s/prompt": (202, {"promptId": "p"}),
    }
    room = Room(MemoryEditor(windows={1: (folder,)}), daemon, folder)
    before = asyncio.all_tasks()
    try:
        found = patch("companion.backends.daemon.client.DaemonAgent.is_here", AsyncMock(return_value=is_here))
        with patch.dict(os.environ), found:
            room.configure(**settings)
            yield room
    finally:
        await room.chats.stop(hand_over=False)
        await asyncio.sleep(0)
        left = {task for task in asyncio.all_tasks() - before if "FakeDaemon" not in repr(task.get_coro())}
        assert left - room.tasks == set()
    assert room.errors == []


def ask(stream: Stream, number: int, *diffs: tuple[str, str, str], request: str = "r", **more: Any) -> None:
    """The agent asks whether it may change files. Each diff is a path, the old text and the new text."""
    content = [{"type": "diff", "path": path, "oldText": old, "newText": new} for path, old, new in diffs]
    call = {"toolCallId": "t", "title": "Writing", "kind": "edit", "status": "pending", "content": content}
    stream.send(
        "permission_request", number, "p", **({"requestId": request, "toolCall": call, "options": OPTIONS} | more)
    )


def resolve(stream: Stream, number: int, option: str | None, voter: str | None = None, request: str = "r") -> None:
    """Somebody has answered the agent's question."""
    outcome = {"outcome": "selected", "optionId": option} if option else {"outcome": "cancelled"}
    stream.send("permission_resolved", number, requestId=request, outcome=outcome, voterClientId=voter)


@contextlib.asynccontextmanager
async def attached(project: Path, *, is_here: bool = True, **settings: Any) -> AsyncGenerator[Room]:
    """A room with a daemon of its own."""
    async with (
        FakeDaemon().serving() as daemon,
        chatting(daemon, str(project), is_here=is_here, **settings) as room,
    ):
        yield room


@contextlib.asynccontextmanager
async def live(
    project: Path, *features: str, routes: Mapping[str, Any] | None = None, is_here: bool = True
) -> AsyncGenerator[Room]:
    """The same with a live chat, on a daemon with further features and routes."""
    async with attached(project, is_here=is_here) as room:
        room.daemon.capabilities(real(project), features=[*FEATURES, *features])
        room.daemon.routes |= routes or {}
        room.stream = await room.opened()
        yield room


def prompts(room: Room) -> list[list[dict[str, Any]]]:
    return [request.body["prompt"] for request in room.daemon.asked("POST /session/s/prompt")]


def stat(*files: str) -> Callable[[Request], Any]:
    from urllib.parse import parse_qs, urlsplit  # noqa: PLC0415

    def answer(request: Request) -> Any:
        [path] = parse_qs(urlsplit(request.route).query)["path"]
        kind = "directory" if path == "src" else "file"
        return (200, {"type": kind}) if path in {*files, "src"} else (404, {"error": "ENOENT"})

    return answer
