"""What answers a chat and how it is reached: the daemon, or an agent that is started or that goes on after a reload.

This is the one place that knows both kinds. Whoever is above it gets an `Agent`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..agents import DAEMON_AGENT, AgentCommand
from ..conversation.conversation import Conversation
from ..conversation.snapshot import ConnectionStatus, Locality
from ..registry.entries import prepare
from .acp.process import end_left
from .agent import Agent, AgentSession, Workplace
from .daemon.address import Address, resolve, starts_own
from .daemon.errors import DaemonError
from .daemon.locality import where
from .daemon.private import CONNECTING, STOP_LIMIT, PrivateDaemon, from_plain

if TYPE_CHECKING:
    from .acp.client import AcpAgent
    from .daemon.client import DaemonAgent
    from .daemon.decoder import EventCursor

logger = logging.getLogger(__name__)


class Daemons:
    """The daemons of one window: one private daemon for each folder that a chat works in."""

    def __init__(self, place: Workplace) -> None:
        self.own_clients: set[str] = set()
        """The client ids that daemons have given to the chats so far: a new one at each attach."""
        self.here: set[str] = set()
        """The addresses of which the person has said that they are on this computer."""
        self.known: set[str] = set()
        """The addresses at which a daemon has answered."""
        self._place = place
        self._private: dict[str, PrivateDaemon] = {}

    def private(self, folder: str) -> PrivateDaemon:
        """The private daemon of a folder, which need not run."""
        if folder not in self._private:
            self._private[folder] = PrivateDaemon(self._place)
        return self._private[folder]

    async def stop(self, limit: float = STOP_LIMIT, *, used: Collection[str] = ()) -> None:
        """End the private daemons of all folders but the `used` ones, after `limit` seconds without asking."""
        await asyncio.gather(*(one.stop(limit) for folder, one in self._private.items() if folder not in used))

    def hand_over(self) -> dict[str, Any]:
        """Let go of everything. Returns what the next instance of the package needs, as plain data."""
        left = {folder: plain for folder, one in self._private.items() if (plain := one.hand_over())}
        return {"daemons": left, "clients": sorted(self.own_clients), "here": sorted(self.here)}

    def inherit(self, left: Mapping[str, Any]) -> None:
        """Take what the instance before this one has left."""
        self.own_clients.update(left["clients"])
        self.here.update(left["here"])
        for folder, one in left["daemons"].items():
            self.private(folder).daemon = from_plain(one)


def end_inherited(left: Mapping[str, Any]) -> None:
    """End the private daemons that no instance has taken over. Call it from any thread; it blocks for a moment."""
    for one in left["daemons"].values():
        from_plain(one).end()


START_STEP = 5
"""Seconds between two looks at a start that takes long."""
MAX_SAID = 200
"""Characters that are shown of what a program says while it starts."""


class Connector:
    """Connects one chat to what answers it, and knows where that is."""

    def __init__(self, place: Workplace, daemons: Daemons, folder: str, agent: AgentCommand | None = None) -> None:
        """`place` is the window of the chat, `daemons` are those of the window."""
        self._place = place
        self.daemons = daemons
        self.agent = agent
        """The agent that is started for the chat; None for the daemon."""
        self.folder = folder
        """The chat's, as the editor calls it."""
        self._where = Locality(folder=folder, agent=agent.name if agent else DAEMON_AGENT)
        self._started: AcpAgent | None = None
        """The agent that was reached last; None if it is a daemon."""
        self.inherited: Mapping[str, Any] | None = None
        """The agent that the instance before this one has left, until it is taken up."""
        self._daemon: DaemonAgent | None = None
        """The daemon that was reached last; None if it is an agent."""
        self._cursors: dict[str, EventCursor | None] = {}
        """How far the events of daemons' sessions were read, by their ids."""

    @property
    def locality(self) -> Locality:
        """Where what answers is."""
        return replace(self._where, folders=self._started.folders) if self._started else self._where

    @property
    def private(self) -> PrivateDaemon:
        """The private daemon of the chat's folder, which other chats of the window may use, too."""
        return self.daemons.private(self.folder)

    @property
    def can_resume(self) -> bool:
        """Whether the agent that another instance has left is the one to start."""
        if self.inherited is None or self.agent is None:
            return False
        return tuple(self.inherited.get("command", ())) == (self.agent.name, list(self.agent.command))

    @property
    def is_off(self) -> bool:
        """Whether the person has turned off what it connects to."""
        return self.agent is None and not self._place.settings.enabled

    def end_inherited(self) -> None:
        """End the agent that nobody goes on with."""
        inherited, self.inherited = self.inherited, None
        if inherited:
            if offered := inherited.get("offered"):
                self._place.dismiss(offered[1])
            threading.Thread(target=end_left, args=(inherited,), name="qwen-companion-end", daemon=True).start()

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

    async def reach_daemon(self, conversation: Conversation) -> tuple[Agent, str]:
        """The daemon, and the folder as it calls it."""
        make = await asyncio.to_thread(_daemon_agent)
        address = await self._address(conversation)
        client = make(address, cursors=self._cursors, is_known=address.url in self.daemons.known)
        try:
            folder = await client.connect(self.folder)
            self.daemons.known.add(address.url)
            await self._locate(client, folder)
        except BaseException:
            await client.close()
            raise
        self._daemon = client
        return client, folder

    async def resume_agent(self, agent: AgentCommand, left: Mapping[str, Any]) -> tuple[Agent, AgentSession] | None:
        """The agent that another instance has left, and its session; None if that can't be taken up, and is ended."""
        client = (await asyncio.to_thread(_acp_agent))(agent, self._place)
        try:
            session = await client.resume(left)
        except Exception:
            logger.exception("The agent could not be taken over, and is started again")
            self.end_inherited()  # at once: a cancel may come at the next `await`, and nobody may get it half taken
            await client.close()
            return None
        self.inherited = None
        self._located(client, client.folder)
        return client, session

    async def start_agent(self, agent: AgentCommand, conversation: Conversation) -> tuple[Agent, str]:
        """The agent, and the folder as it gets it."""
        conversation.set_connection(_starting(f"Starting {agent.name}…"))
        with contextlib.suppress(OSError):
            # The person may have cleared the folder of what was installed. If it can't be made, npx says so.
            await asyncio.to_thread(prepare, agent.command)
        client = (await asyncio.to_thread(_acp_agent))(agent, self._place)
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

    def _located(self, client: AcpAgent, folder: str) -> None:
        self._started = client
        version = client.info.version
        self._where = Locality("this computer", folder, version, is_private=True, agent=client.name)
        self._daemon = None

    async def _locate(self, client: DaemonAgent, folder: str) -> None:
        """Look where a daemon is that has been reached; `folder` is the chat's, as the daemon calls it."""
        address, is_private = client.address, self.private.is_at(client.address)
        known_here = is_private or (address.is_loopback and address.url in self.daemons.here)
        shown_here = known_here or await client.is_here(self.folder)
        self._started = None
        self._where = where(address, client.capabilities, folder, is_here=shown_here, is_private=is_private)

    async def _address(self, conversation: Conversation) -> Address:
        """The daemon to use; a private one is started if none runs, and ended if it isn't wanted."""
        settings = self._place.settings

        def connecting(message: str) -> None:
            conversation.set_connection(ConnectionStatus("connecting", message))

        environment = os.environ
        if settings.enabled and starts_own(managed=settings.managed, url=settings.url, environment=environment):
            await self.daemons.stop(used=self._place.daemon_folders)
            return await self.private.address(self.folder, settings.command, connecting)
        await self.daemons.stop()
        if not settings.enabled:
            raise DaemonError("The chat is off.", "Set “chat_enabled” to true in the settings, then reconnect.")
        connecting(CONNECTING)
        return resolve(url=settings.url, environment=environment)


# Their 220 ms of imports are for those who open a chat, and are not on the loop's time.
def _acp_agent() -> type[AcpAgent]:
    from .acp.client import AcpAgent  # noqa: PLC0415

    return AcpAgent


def _daemon_agent() -> type[DaemonAgent]:
    from .daemon.client import DaemonAgent  # noqa: PLC0415

    return DaemonAgent


async def _tell_start(client: AcpAgent, name: str, conversation: Conversation) -> None:
    """Say how long the start has taken, and what the program or its installer says."""
    seconds = 0.0
    while True:
        await asyncio.sleep(START_STEP)
        seconds += START_STEP
        printed = client.process.said[:MAX_SAID] if client.process else ""
        said = f": {printed}" if printed else ""
        conversation.set_connection(_starting(f"Starting {name}… ({seconds:.0f} s){said}"))


def _starting(message: str) -> ConnectionStatus:
    return ConnectionStatus("connecting", message, can_be_cancelled=True)
