"""The real `qwen serve` with a scripted model, a chat that uses it, and a proxy that can drop their connections."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import time
from collections.abc import AsyncGenerator, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Self, TypeVar
from urllib.parse import quote

import pytest

from companion.backends import connector as connecting
from companion.backends.agent import AgentSession
from companion.backends.connector import Connector
from companion.backends.daemon import private
from companion.backends.daemon.address import Address
from companion.backends.daemon.client import DaemonAgent
from companion.backends.daemon.decoder import decode
from companion.chats import prompt
from companion.chats.connection import ChatConnection
from companion.conversation.conversation import Conversation
from companion.conversation.snapshot import Message, Permission, Turn
from companion.settings import DaemonSettings

from ..agent_talk import MemoryWindow
from ..parts import closing
from .cli import STEP
from .clis import NEWEST_QWEN, pinned
from .model import Model, Script
from .qwen import Home, settings

T = TypeVar("T")
#: The oldest daemon that is supported, and the newest that is pinned.
VERSIONS = ("0.21.2", NEWEST_QWEN)
#: The same: the tests of the oldest one run with `--all` only, but for that it connects and asks before it edits.
NEWEST_FIRST = (NEWEST_QWEN, pytest.param(VERSIONS[0], marks=pytest.mark.long))
MODELS = ("scripted", "scripted-b")


def run(test: Coroutine[Any, Any, T]) -> T:
    """Run a test on a loop of its own."""

    async def limited() -> T:
        async with asyncio.timeout(5 * STEP):
            return await test

    return asyncio.run(limited())


async def until(condition: Callable[[], T], limit: float = STEP) -> T:
    """Wait until a condition gives something true, and return it."""
    end = time.monotonic() + limit
    while not (found := condition()):
        assert time.monotonic() < end, "the condition never became true"
        await asyncio.sleep(0.01)
    return found


@dataclass
class Daemons:
    """The daemons of one version, in a home of their own, and the model that they use."""

    home: Home
    model: Model
    version: str = NEWEST_QWEN

    @classmethod
    def make(cls, version: str = NEWEST_QWEN, *, suggests: bool = False) -> Daemons:
        """With `suggests`, the agent asks the model for the next prompt after each turn."""
        home, model = Home.make(), Model()
        providers = [
            {"id": name, "name": name.title(), "baseUrl": model.base_url, "envKey": "OPENAI_API_KEY"}
            | {"generationConfig": {"maxRetries": 0}}
            for name in MODELS
        ]
        configured = settings() | {"modelProviders": {"openai": providers}}
        if suggests:
            configured |= {"ui": {"hideTips": True, "enableFollowupSuggestions": True}}
        (home.qwen_home / "settings.json").write_text(json.dumps(configured), encoding="utf-8")
        return cls(home, model, version)

    @property
    def environment(self) -> dict[str, str]:
        return self.home.environment(
            OPENAI_API_KEY="none-needed",
            NO_PROXY="127.0.0.1,localhost",
            QWEN_CODE_DISABLE_CRON="1",
            QWEN_DISABLE_AUTO_TITLE="1",
        )

    @property
    def command(self) -> list[str]:
        return pinned("qwen", self.version)

    async def start(self) -> private.Daemon:
        return await private.start(self.command, str(self.home.workspace), self.environment, limit=STEP)

    def close(self) -> None:
        self.model.close()
        self.home.remove()


class Talk:
    """A client, a connection that reads a session, and what a person writes and answers."""

    def __init__(self, client: DaemonAgent, folder: str) -> None:
        self.client = client
        self.place = place = MemoryWindow(os.environ)
        place.settings = self.settings()
        connector = Connector(place, connecting.Daemons(place), folder)
        self.connection = ChatConnection(connector, place)
        self.conversation = self.connection.conversation

    def settings(self) -> DaemonSettings:
        address = self.client.address
        # It is read right after this.
        os.environ["QWEN_SERVER_TOKEN"] = address.token.reveal() if address.token else ""
        return DaemonSettings(enabled=True, url=address.url)

    @property
    def session(self) -> AgentSession:
        """The session that is read."""
        return self.connection.connected[1]

    @property
    def live(self) -> bool:
        return self.conversation.status.connection.state == "live"

    async def ask(self, script: Script, words: str = "Please") -> str:
        """Send a prompt, and return its id."""
        return await self.client.prompt(self.session, [prompt.text_block(f"{words} {script.tag}")])

    def turn(self, key: str) -> Turn | None:
        return next((turn for turn in self.conversation.turns if turn.key == key), None)

    async def done(self, key: str) -> Turn:
        """Wait until a turn is over, and return it."""
        found = await until(lambda: (turn := self.turn(key)) and turn.state != "running" and turn)
        assert isinstance(found, Turn)
        return found

    async def asked(self) -> Permission:
        """Wait until the agent asks for a permission, and return it."""
        [permission] = await until(lambda: self.conversation.status.permissions)
        return permission

    async def vote(self, permission: Permission, kind: str, answers: dict[str, str] | None = None) -> None:
        """Answer with the first option of a kind."""
        option = next(option for option in permission.options if option.kind == kind)
        await self.client.answer(self.session, permission.id, option.id, answers)


@contextlib.asynccontextmanager
async def talk(address: Address, folder: str, session_id: str = "") -> AsyncGenerator[Talk]:
    """A connected chat, with a new session or with an existing one."""
    async with closing(DaemonAgent(address)) as client:
        there = await client.connect(folder)
        session = AgentSession(id=session_id, folder=there) if session_id else await client.create(there)
        talk = Talk(client, folder)
        talk.connection.session = session.id
        task = asyncio.create_task(talk.connection.run())
        try:
            await until(lambda: talk.live)
            yield talk
        finally:
            task.cancel()
            await asyncio.wait([task])


def said(turn: Turn, speaker: str = "answer") -> str:
    """Everything that a speaker has said in a turn."""
    return "".join(item.text for item in turn.items if isinstance(item, Message) and item.speaker == speaker)


async def written_turn(client: DaemonAgent, session: AgentSession, is_whole: Callable[[Turn], bool]) -> Turn:
    """The one turn of a session, as the daemon has written it to disk: an old one does that after the turn is over."""
    end = time.monotonic() + STEP
    while True:
        conversation, cursor, following = Conversation(), "", None
        while following != cursor:
            cursor = following or cursor
            from_there = f"&cursor={quote(cursor, safe='')}" if cursor else ""
            answer = await client.page(f"/session/{session.id}/transcript?limit=500{from_there}")
            for event in answer["events"]:
                conversation.apply(decode(event))
            following = answer.get("nextCursor") or cursor
        [turn] = conversation.turns
        if is_whole(turn):
            return turn
        assert time.monotonic() < end, f"the transcript stays as it is: {turn}"
        await asyncio.sleep(0.2)


class Proxy:
    """Forwards everything to the daemon until `cut`."""

    def __init__(self, address: Address) -> None:
        self._port = int(address.url.rpartition(":")[2])
        self._token = address.token
        self._server: asyncio.Server | None = None
        self._pipes: set[asyncio.StreamWriter] = set()
        self.connections = 0
        self.open = True

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *error: object) -> None:
        assert self._server
        self._server.close()
        self.cut()
        await asyncio.sleep(0)

    @property
    def address(self) -> Address:
        assert self._server
        return Address(f"http://127.0.0.1:{self._own_port}", self._token)

    @property
    def _own_port(self) -> int:
        assert self._server
        return self._server.sockets[0].getsockname()[1]

    def cut(self) -> None:
        """Drop all connections at once."""
        for pipe in list(self._pipes):
            pipe.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self.open:
            writer.transport.abort()
            return
        self.connections += 1
        there, back = await asyncio.open_connection("127.0.0.1", self._port)
        self._pipes |= {writer, back}
        # The daemon answers only requests with its own address as the host.
        names = f"127.0.0.1:{self._own_port}".encode(), f"127.0.0.1:{self._port}".encode()
        await asyncio.gather(_pass(reader, back, names), _pass(there, writer, (b"", b"")))
        self._pipes -= {writer, back}


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, names: tuple[bytes, bytes]) -> None:
    with contextlib.suppress(OSError):
        while received := await reader.read(65536):
            writer.write(received.replace(*names) if names[0] else received)
            await writer.drain()
    writer.close()


def processes() -> str:
    """The command lines of all processes, where the system shows them."""
    if sys.platform != "linux":
        return ""
    lines: list[str] = []
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
            lines.append(file.read())
    return "\n".join(lines)
