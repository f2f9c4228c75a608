"""Agents on their standard input and output in a test: an editor's files in memory, and a conversation that follows."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

import psutil

from companion.agents import AgentCommand
from companion.backends.acp.client import AcpAgent
from companion.backends.agent import AgentSession, OfferedServer, Surroundings
from companion.clis.environment import LoginEnvironment, without_editors
from companion.conversation.conversation import Conversation
from companion.conversation.failures import ChatError
from companion.conversation.forms import Form, Values
from companion.conversation.snapshot import ChatNotice, Message, Permission, Tool, Turn
from companion.editor import WindowId
from companion.exclusion import Sharing
from companion.review.disk import Encodings, Stamp, stamp
from companion.review.review_screen import UnsavedTextError
from companion.settings import DaemonSettings

T = TypeVar("T")
SCRIPTED = Path(__file__).with_name("scripted_agent.py")
#: Seconds for whatever a test waits for. Only a failure takes that long.
LIMIT = 60.0


def run(test: Coroutine[Any, Any, T]) -> T:
    """Run a test on a loop of its own."""

    async def limited() -> T:
        async with asyncio.timeout(3 * LIMIT):
            return await test

    return asyncio.run(limited())


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def until(condition: Callable[[], T], limit: float = LIMIT) -> T:
    """Wait until a condition gives something true, and return it."""
    async with asyncio.timeout(limit):
        while not (found := condition()):  # noqa: ASYNC110 - the condition can be anything
            await asyncio.sleep(0.002)
        return found


@dataclass
class MemoryFiles:
    """The files that an editor has open, and what the person answers."""

    open: dict[str, str] = field(default_factory=dict[str, str])
    """The unsaved texts by path."""
    allows: bool = False
    asked: list[tuple[str, bool]] = field(default_factory=list[tuple[str, bool]])
    said: list[str] = field(default_factory=list[str])
    kept: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self.files = self.questions = self.messenger = self

    async def buffer(self, path: str) -> str | None:
        return self.open.get(path)

    async def open_files(self) -> dict[str, bool]:
        return dict.fromkeys(self.open, True)

    async def replace_buffer(self, path: str, text: str, *, known: str | None = None) -> Stamp:
        if path not in self.open:
            return None
        if self.open[path] != known:
            raise UnsavedTextError(path)
        self.open[path] = text
        return stamp(path) or (0, 0, 0)

    async def encodings(self, path: str) -> Encodings:
        return Encodings()

    async def confirm(self, window: int, question: str, yes: str, no: str = "") -> bool:
        return self.allows

    async def may_touch(self, agent: str, path: str, *, writes: bool) -> bool:
        self.asked.append((path, writes))
        return self.allows

    async def elicit(self, window: int, agent: str, message: str, form: Form) -> tuple[str | None, Values]:
        return None, {}

    def say(self, message: str, window: int | None = None) -> None:
        self.said.append(message)

    def mention(self, message: str, window: int) -> None:
        self.said.append(message)

    def settle(self, message: str) -> None:
        """What was said stays."""

    def keep_text(self, window: WindowId | None, title: str, text: str, why: str) -> None:
        self.kept.append(text)


class Server(Protocol):
    """The editor's MCP server, as it is offered to agents."""

    def admit(self, agent: str) -> OfferedServer | None: ...

    def dismiss(self, token: str) -> None: ...


async def no_surroundings() -> Surroundings:
    """Nothing besides the folder."""
    return Surroundings()


class FixedEnvironment(LoginEnvironment):
    """An environment that no shell is asked for."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        super().__init__()
        self._fixed = without_editors(environment)

    async def get(self) -> dict[str, str]:
        return dict(self._fixed)


class MemoryWindow:
    """Window 1, for an agent that is told everything."""

    def __init__(
        self,
        environment: Mapping[str, str],
        screen: MemoryFiles | None = None,
        server: Server | None = None,
        around: Callable[[], Awaitable[Surroundings]] = no_surroundings,
    ) -> None:
        self.id = WindowId(1)
        self.screen = screen or MemoryFiles()
        self.login: LoginEnvironment = FixedEnvironment(environment)
        self.settings = DaemonSettings()
        self.daemon_folders: set[str] = set()
        self.server = server
        self.surroundings = around

    def sharing(self) -> Sharing:
        return Sharing()

    def admit(self, agent: str) -> OfferedServer | None:
        return self.server.admit(agent) if self.server else None

    def dismiss(self, token: str) -> None:
        if self.server:
            self.server.dismiss(token)


def client_of(
    command: AgentCommand,
    environment: Mapping[str, str],
    editor: MemoryFiles | None = None,
    *,
    server: Server | None = None,
    around: Callable[[], Awaitable[Surroundings]] = no_surroundings,
) -> AcpAgent:
    """A client in window 1, which is told everything."""
    return AcpAgent(command, MemoryWindow(environment, editor, server, around))


class AgentTalk:
    """A connected client, its conversation, and what a person does."""

    def __init__(self, client: AcpAgent, editor: MemoryFiles, folder: str) -> None:
        self.client = client
        self.editor = editor
        self.folder = folder
        self.conversation = Conversation()
        self.session = AgentSession(id="", folder=folder)
        self.error: ChatError | None = None
        self._following: asyncio.Task[None] | None = None

    async def open(self, session: str = "") -> None:
        """Open a session, or load one, and follow it."""
        if session:
            self.session, history = await self.client.load(AgentSession(id=session, folder=self.folder))
            self.conversation.rebuild(history)
        else:
            self.session = await self.client.create(self.folder)
        self.conversation.set_choices(await self.client.choices(self.session))
        self._following = asyncio.create_task(self._follow())

    async def _follow(self) -> None:
        try:
            async with self.client.events(self.session) as envelopes:
                async for envelope in envelopes:
                    assert self.conversation.apply(envelope)
        except ChatError as error:
            self.error = error

    async def ask(self, words: str) -> str:
        """Send a prompt, and return its id."""
        return await self.client.prompt(self.session, [{"type": "text", "text": words}])

    def turn(self, key: str) -> Turn | None:
        return next((turn for turn in self.conversation.turns if turn.key == key), None)

    async def done(self, key: str) -> Turn:
        """Wait until a turn is over, and return it."""
        await until(lambda: (turn := self.turn(key)) and turn.state != "running")
        turn = self.turn(key)
        assert turn
        return turn

    async def asked(self) -> Permission:
        """Wait until the agent asks for a permission, and return it."""
        return (await until(lambda: self.conversation.status.permissions))[0]

    async def vote(self, permission: Permission, kind: str) -> None:
        option = next(option for option in permission.options if option.kind == kind)
        await self.client.answer(self.session, permission.id, option.id)

    async def ended(self) -> ChatError:
        """Wait until the agent has ended, and return what is told."""
        await until(lambda: self.error)
        assert self.error
        return self.error

    async def reload(self) -> None:
        """Go on with a client of the next instance of the package."""
        await self._stop_following()
        left = await self.client.hand_over()
        assert left
        unread = self.client.unread
        name, words = left["command"]
        self.client = client_of(AgentCommand(name, tuple(words)), os.environ, self.editor)
        self.session = await self.client.resume(left)
        for envelope in unread:
            assert self.conversation.apply(envelope)
        self._following = asyncio.create_task(self._follow())

    async def _stop_following(self) -> None:
        if self._following:
            self._following.cancel()
            await asyncio.wait([self._following])
            if not self._following.cancelled():
                self._following.result()

    async def close(self) -> None:
        await self._stop_following()
        await self.client.close()


@contextlib.asynccontextmanager
async def talking(
    command: Sequence[str],
    folder: str,
    environment: Mapping[str, str] | None = None,
    *,
    name: str = "The agent",
    session: str | None = "",
    editor: MemoryFiles | None = None,
    server: Server | None = None,
    around: Callable[[], Awaitable[Surroundings]] = no_surroundings,
) -> AsyncGenerator[AgentTalk]:
    """A talk with an agent, with a new session or the one that is named; None opens none."""
    editor = editor or MemoryFiles()
    described = AgentCommand(name, tuple(command), install="npm install -g the-agent")
    known = os.environ if environment is None else environment
    client = client_of(described, known, editor, server=server, around=around)
    talk = AgentTalk(client, editor, folder)
    try:
        talk.folder = await client.connect(folder)
        if session is not None:
            await talk.open(session)
        yield talk
    finally:
        await talk.close()


class Talks(Protocol):
    """Talks with agents of a script, in the project of a test. The rest is as for `talking`."""

    def __call__(self, script: str = ..., **more: Any) -> AbstractAsyncContextManager[AgentTalk]: ...


def scripted(script: str, folder: Path) -> list[str]:
    """The command of a scripted agent."""
    path = folder / "script.py"
    path.write_text(script, encoding="utf-8")
    return [sys.executable, "-u", str(SCRIPTED), str(path)]


def said(turn: Turn, speaker: str = "answer") -> str:
    """Everything that a speaker has said in a turn."""
    return "".join(item.text for item in turn.items if isinstance(item, Message) and item.speaker == speaker)


def notices(turn: Turn) -> list[str]:
    return [item.text for item in turn.items if isinstance(item, ChatNotice)]


def tools(turn: Turn) -> list[Tool]:
    return [item for item in turn.items if isinstance(item, Tool)]
