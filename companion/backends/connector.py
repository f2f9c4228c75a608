"""What answers a chat and how it is reached: the daemon, or an agent that is started or that goes on after a reload.

This is the one place that knows both back ends. Whoever is above it gets a `Backend`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from ..agents import DAEMON_AGENT, AgentCommand
from ..clis.environment import LoginEnvironment
from ..conversation.conversation import Conversation
from ..conversation.snapshot import ConnectionStatus, Locality
from ..exclusion import Told
from ..ids import WindowId
from ..registry.plans import prepare
from ..settings import DaemonSettings
from .acp import process as agents
from .acp.client import AgentClient
from .acp.process import end_left
from .acp.services import Screen
from .backend import Backend
from .daemon.address import Address, resolve, starts_own
from .daemon.client import Client, load
from .daemon.errors import DisabledError
from .daemon.here import is_here
from .daemon.locality import where
from .daemon.process import launch
from .daemon.process.private import CONNECTING, PrivateDaemon
from .daemons import Daemons
from .port import EditorServer
from .sessions import AgentSession
from .surroundings import Surroundings

logger = logging.getLogger(__name__)

START_STEP = 5
"""Seconds between two looks at a start that takes long."""
MAX_SAID = 200
"""Characters that are shown of what a program says while it starts."""


class Connector:
    """Connects one chat to what answers it, and knows where that is."""

    def __init__(
        self,
        settings: Callable[[], DaemonSettings],
        daemons: Daemons,
        agent: Callable[[AgentCommand], AgentClient],
    ) -> None:
        """`daemons` are those of the window, `agent` makes a client of an agent on stdio: see `agents_of`."""
        self.daemons = daemons
        self.agent: AgentCommand | None = None
        """The agent that is started for the chat; None for the daemon."""
        self._make_agent = agent
        self.folder = ""
        """The chat's, as the editor calls it."""
        self._where = Locality(agent=DAEMON_AGENT)
        self._started: AgentClient | None = None
        """The agent that was reached last; None if it is a daemon."""
        self.inherited: Mapping[str, Any] | None = None
        """The agent that the instance before this one has left, until it is taken up."""
        self._settings = settings
        self._known: set[str] = set()
        """The addresses at which a daemon has answered."""
        self._daemon: Client | None = None
        """The daemon that was reached last; None if it is an agent."""

    @property
    def locality(self) -> Locality:
        """Where what answers is."""
        return replace(self._where, folders=self._started.folders) if self._started else self._where

    @property
    def private(self) -> PrivateDaemon:
        """The private daemon of the chat's folder, which other chats of the window may use, too."""
        return self.daemons.private(self.folder)

    @property
    def can_take_over(self) -> bool:
        """Whether the agent that another instance has left is the one to start."""
        if self.inherited is None or self.agent is None:
            return False
        return tuple(self.inherited.get("command", ())) == (self.agent.name, list(self.agent.command))

    @property
    def is_off(self) -> bool:
        """Whether the person has turned off what it connects to."""
        return self.agent is None and not self._settings().enabled

    def end_inherited(self) -> None:
        """End the agent that nobody goes on with."""
        inherited, self.inherited = self.inherited, None
        if inherited:
            threading.Thread(target=end_left, args=(inherited,), name="qwen-companion-end", daemon=True).start()

    def begin(self) -> None:
        """Forget where a daemon or an agent was: a conversation begins."""
        self._started = None
        self._where = Locality(folder=self.folder, agent=self.agent.name if self.agent else DAEMON_AGENT)
        self.private.may_restart = True
        self._daemon = None

    def confirm_here(self) -> bool:
        """The person says that the daemon is on this computer. Returns False if there is none."""
        if self._daemon:
            self.daemons.here.add(self._daemon.address.url)
        return self._daemon is not None

    @property
    def has_moved(self) -> bool:
        """Whether the private daemon has ended, or another chat has started it anew at another address."""
        return self._daemon is not None and self._where.is_private and not self.private.runs_at(self._daemon.address)

    async def look_again(self) -> None:
        """Ask what is at the address of the daemon, which may be another one by now."""
        if self._daemon:
            await self._locate(self._daemon, await self._daemon.connect(self.folder))

    async def reach_daemon(self, conversation: Conversation) -> tuple[Backend, str]:
        """The daemon, and the folder as it calls it."""
        await load()
        address = await self._address(conversation)
        client = Client(address, is_known=address.url in self._known)
        try:
            folder = await client.connect(self.folder)
            self._known.add(address.url)
            await self._locate(client, folder)
        except BaseException:
            await client.close()
            raise
        self._daemon = client
        return client, folder

    async def take_over(self, agent: AgentCommand, left: Mapping[str, Any]) -> tuple[Backend, AgentSession] | None:
        """The agent that another instance has left, and its session; None if that can't be taken up, and is ended."""
        client = self._make_agent(agent)
        try:
            session = await client.take_over(left)
        except Exception:
            logger.exception("The agent could not be taken over, and is started again")
            await client.close()
            self.end_inherited()
            return None
        self.inherited = None
        self._located(client, client.folder)
        return client, session

    async def start_agent(self, agent: AgentCommand, conversation: Conversation) -> tuple[Backend, str]:
        """The agent, and the folder as it gets it."""
        conversation.set_connection(_starting(f"Starting {agent.name}…"))
        with contextlib.suppress(OSError):
            # The person may have cleared the folder of what was installed. If it can't be made, npx says so.
            await asyncio.to_thread(prepare, agent.command)
        client = self._make_agent(agent)
        telling = asyncio.create_task(_tell_start(client, agent.name, conversation))
        try:
            folder = await client.connect(self.folder)
            self._located(client, folder)
        except BaseException:
            await client.close()
            raise
        finally:
            telling.cancel()
        return client, folder

    def _located(self, client: AgentClient, folder: str) -> None:
        version, name = client.agent.info.version, client.name
        self._started = client
        self._where = Locality("this computer", folder, version, is_private=True, agent=name)
        self._daemon = None

    async def _locate(self, client: Client, folder: str) -> None:
        """Look where a daemon is that has been reached; `folder` is the chat's, as the daemon calls it."""
        address, is_private = client.address, self.private.is_at(client.address)
        known_here = is_private or (address.is_loopback and address.url in self.daemons.here)
        shown_here = known_here or await is_here(client, self.folder)
        self._started = None
        self._where = where(address, client.capabilities, folder, is_here=shown_here, is_private=is_private)

    async def _address(self, conversation: Conversation) -> Address:
        """The daemon to use; a private one is started if none runs, and ended if it isn't wanted."""
        settings = self._settings()

        def connecting(message: str) -> None:
            conversation.set_connection(ConnectionStatus("connecting", message))

        environment = os.environ
        if settings.enabled and starts_own(managed=settings.managed, url=settings.url, environment=environment):
            await self.daemons.end_others()
            return await self.private.address(self.folder, settings.command, connecting)
        await self.daemons.stop()
        if not settings.enabled:
            raise DisabledError
        connecting(CONNECTING)
        return resolve(url=settings.url, token=settings.token, environment=environment)


def agents_of(
    editor: Screen,
    window: WindowId,
    environment: LoginEnvironment,
    told: Callable[[], Told],
    server: EditorServer | None,
    surroundings: Callable[[], Awaitable[Surroundings]],
) -> Callable[[AgentCommand], AgentClient]:
    """Makes the clients of a window's agents on stdio. The arguments are those of `AgentClient`."""
    return lambda agent: AgentClient(agent, editor, window, environment, told, server, surroundings)


def end_leftovers() -> list[int]:
    """End the daemons and agents whose editor has crashed. Returns their process ids. Blocks."""
    return [*launch.end_leftovers(), *agents.end_leftovers()]


async def _tell_start(client: AgentClient, name: str, conversation: Conversation) -> None:
    """Say how long the start has taken, and what the program or its installer says."""
    seconds = 0.0
    while True:
        await asyncio.sleep(START_STEP)
        seconds += START_STEP
        said = f": {client.said[:MAX_SAID]}" if client.said else ""
        conversation.set_connection(_starting(f"Starting {name}… ({seconds:.0f} s){said}"))


def _starting(message: str) -> ConnectionStatus:
    return ConnectionStatus("connecting", message, can_be_cancelled=True)
