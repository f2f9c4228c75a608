"""A private daemon: started when it is needed, found again, ended with its window, handed over to a reload."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from ....clis.environment import LoginEnvironment
from ..address import Address, Token
from ..errors import DaemonEndedError
from . import launch

STARTING = "Starting `qwen serve`…"
RESTARTING = "`qwen serve` has ended unexpectedly. Starting it again…"
CONNECTING = "Connecting to `qwen serve`…"


Plain = tuple[int, float, str, str, str]
"""A daemon as plain data. The token is in there."""


class PrivateDaemon:
    """The private daemon of a window's folder, if it has one. `say` tells the person what has happened to it.

    Several chats may want it at the same time.
    """

    def __init__(self, say: Callable[[str], object], environment: LoginEnvironment) -> None:
        self.daemon: launch.Daemon | None = None
        self.may_restart = True
        """Whether one that has ended is started again: by itself only once, then the person is asked."""
        self._has_given_up = False
        """Whether it has ended for the second time, so that no chat starts it by itself."""
        self._command: str | Sequence[str] | None = None
        """What has started it; None if another instance of the package has."""
        self._say = say
        self._environment = environment
        self._lock = asyncio.Lock()

    async def address(self, folder: str, command: str | Sequence[str], connecting: Callable[[str], object]) -> Address:
        """The address of the daemon for a folder. Starts it if needed; restarts it if `command` has changed.

        `connecting` is called with what is being done.

        Raises:
            ChatError: it can't be started, or has ended for the second time.
        """
        async with self._lock:
            if self._has_given_up and not self.may_restart:
                raise DaemonEndedError
            self._has_given_up = False
            return await self._address(folder, command, connecting)

    async def _address(self, folder: str, command: str | Sequence[str], connecting: Callable[[str], object]) -> Address:
        is_its = self.daemon is not None and await asyncio.to_thread(launch.serves, self.daemon, folder)
        daemon, self.daemon = self.daemon, None
        is_running = daemon is not None and launch.is_running(daemon)
        is_same = self._command is None or self._command == command
        if daemon and is_running and is_its and is_same:
            self.daemon = daemon
            connecting(CONNECTING)
            return daemon.address
        if daemon and is_running:
            await launch.stop(daemon)
        if daemon and not is_running:
            if not self.may_restart:
                self._has_given_up = True
                raise DaemonEndedError
            self.may_restart = False
            self._say("`qwen serve` has ended unexpectedly. It is started again.")
            connecting(RESTARTING)
        else:
            connecting(STARTING)
        environment = await self._environment.get()
        self._command = command
        found = await asyncio.to_thread(launch.find, command, environment)
        self.daemon = await launch.start(found, folder, environment)
        return self.daemon.address

    def is_at(self, address: Address) -> bool:
        """Whether an address is that of the private daemon."""
        return self.daemon is not None and self.daemon.address == address

    def runs_at(self, address: Address) -> bool:
        """Whether the private daemon runs, and at this address."""
        return self.is_at(address) and self.daemon is not None and launch.is_running(self.daemon)

    async def stop(self, limit: float) -> None:
        """End it, after `limit` seconds without asking."""
        async with self._lock:
            daemon, self.daemon = self.daemon, None
            if daemon:
                await launch.stop(daemon, limit=limit)

    def hand_over(self) -> Plain | None:
        """Let go of it: the next instance of the package takes it."""
        daemon, self.daemon = self.daemon, None
        if daemon is None:
            return None
        token = daemon.address.token.reveal() if daemon.address.token else ""
        return daemon.pid, daemon.started, daemon.folder, daemon.address.url, token


def from_plain(left: Plain) -> launch.Daemon:
    """The daemon that `hand_over` has left."""
    pid, started, folder, url, token = left
    return launch.Daemon(pid, started, folder, Address(url, Token(token)))
