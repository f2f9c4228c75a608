"""A window's own daemon: started when it is needed, found again, ended with the window, handed over to a reload."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..address import Address, Token
from ..errors import DaemonEndedError
from . import launch

STARTING = "Starting `qwen serve` …"
RESTARTING = "`qwen serve` has ended unexpectedly. Starting it again …"
CONNECTING = "Connecting to `qwen serve` …"


class PrivateDaemon:
    """The private daemon of one window, if it has one. `say` tells the person what has happened to it."""

    def __init__(self, say: Callable[[str], object]) -> None:
        self.daemon: launch.Daemon | None = None
        self.may_restart = True
        """Whether one that has ended is started again: by itself only once, then the person is asked."""
        self._command: str | Sequence[str] | None = None
        """What has started it; None if another instance of the package has."""
        self._say = say

    async def address(self, folder: str, command: str | Sequence[str], connecting: Callable[[str], object]) -> Address:
        """The address of the daemon for a folder. Starts it if needed; restarts it if `command` has changed.

        `connecting` is called with what is being done.

        Raises:
            DaemonError: it can't be started, or has ended for the second time.
        """
        daemon, self.daemon = self.daemon, None
        is_running = daemon is not None and launch.is_running(daemon)
        is_same = self._command is None or self._command == command
        if daemon and is_running and launch.serves(daemon, folder) and is_same:
            self.daemon = daemon
            connecting(CONNECTING)
            return daemon.address
        if daemon and is_running:
            await launch.stop(daemon)
        if daemon and not is_running:
            if not self.may_restart:
                raise DaemonEndedError
            self.may_restart = False
            self._say("`qwen serve` has ended unexpectedly. It is started again.")
            connecting(RESTARTING)
        else:
            connecting(STARTING)
        environment = dict(os.environ)
        self._command = command
        self.daemon = await launch.start(launch.find(command, environment), folder, environment)
        return self.daemon.address

    def is_at(self, address: Address) -> bool:
        """Whether an address is that of the private daemon."""
        return self.daemon is not None and self.daemon.address == address

    def has_ended(self) -> bool:
        """Whether it has ended without being stopped."""
        return self.daemon is not None and not launch.is_running(self.daemon)

    async def stop(self, limit: float) -> None:
        """End it, after `limit` seconds without asking."""
        daemon, self.daemon = self.daemon, None
        if daemon:
            await launch.stop(daemon, limit=limit)

    def hand_over(self) -> tuple[int, float, str, str, str] | None:
        """Let go of it: the next instance of the package takes it, as plain data. The token is in there."""
        daemon, self.daemon = self.daemon, None
        if daemon is None:
            return None
        token = daemon.address.token.reveal() if daemon.address.token else ""
        return daemon.pid, daemon.started, daemon.folder, daemon.address.url, token


def handed_over(left: Mapping[str, Any]) -> launch.Daemon | None:
    """The daemon that `hand_over` has left under "daemon"."""
    if left["daemon"] is None:
        return None
    pid, started, folder, url, token = left["daemon"]
    return launch.Daemon(pid, started, folder, Address(url, Token(token)))
