"""What the chats of one window have in common: the private daemons of their folders, and what is known of daemons."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from typing import Any

from ..clis.environment import LoginEnvironment
from .daemon.process import launch
from .daemon.process.private import PrivateDaemon, from_plain


class Daemons:
    """The daemons of one window: one private daemon for each folder that a chat works in."""

    def __init__(
        self, say: Callable[[str], object], in_use: Callable[[], Collection[str]], environment: LoginEnvironment
    ) -> None:
        """`say` tells the person what a private daemon does; `in_use` gives the folders whose chats need a daemon."""
        self.own_clients: set[str] = set()
        """The client ids that daemons have given to the chats so far: a new one at each attach."""
        self.here: set[str] = set()
        """The addresses of which the person has said that they are on this computer."""
        self.in_use = in_use
        self._say = say
        self._environment = environment
        self._private: dict[str, PrivateDaemon] = {}

    def private(self, folder: str) -> PrivateDaemon:
        """The private daemon of a folder, which need not run."""
        if folder not in self._private:
            self._private[folder] = PrivateDaemon(self._say, self._environment)
        return self._private[folder]

    @property
    def running(self) -> list[launch.Daemon]:
        """Those that were started and have not been ended."""
        return [private.daemon for private in self._private.values() if private.daemon]

    async def end_others(self) -> None:
        """End the private daemons of folders in which no chat works any more."""
        used = self.in_use()
        await self._stop([folder for folder in self._private if folder not in used], launch.STOP_LIMIT)

    async def stop(self, limit: float = launch.STOP_LIMIT) -> None:
        """End all private daemons, after `limit` seconds without asking."""
        await self._stop(list(self._private), limit)

    async def _stop(self, folders: Collection[str], limit: float) -> None:
        await asyncio.gather(*(self._private[folder].stop(limit) for folder in folders))

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
        launch.stop_now(from_plain(one))
