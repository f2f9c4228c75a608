"""The problems that an agent's changes have made, for the answer of its next tool."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence

from ..problems.diagnostic import Diagnostic
from ..problems.quiet import LONGEST
from ..problems.shown import fresh

SOON = 0.5
"""Seconds that the look before a change may take."""
MOST_FILES = 20
"""Files of one agent that are looked at; of more, the last ones."""

Problems = Callable[[str, float], Awaitable[Sequence[Diagnostic] | None]]
"""The problems of a file, after at most so many seconds; None if nobody knows or they are not told."""


class NewProblems:
    """Remembers what was wrong before each change, and finds what is wrong since then."""

    def __init__(self, problems: Problems) -> None:
        self._problems = problems
        self._before: dict[tuple[str, str], asyncio.Task[Sequence[Diagnostic] | None]] = {}
        """What was wrong in a file before an agent's change of it, by the agent and the path."""
        self._due: dict[tuple[str, str], None] = {}
        """What has changed since the agent was last told."""

    def proposed(self, agent: str, path: str) -> None:
        """An agent is about to change a file."""
        key = _plain(agent), os.path.normpath(path)
        if key not in self._due and (key not in self._before or self._before[key].done()):
            for old in [each for each in self._before if each not in self._due][: -MOST_FILES + 1]:
                del self._before[old]
            self._before[key] = asyncio.get_running_loop().create_task(self._look(key[1]))

    def changed(self, agent: str, path: str) -> None:
        """The change was accepted, or is written."""
        agent = _plain(agent)
        key = agent, os.path.normpath(path)
        self._due.pop(key, None)
        self._due[key] = None
        mine = [each for each in self._due if each[0] == agent]
        for each in mine[:-MOST_FILES]:
            self._forget(each)

    async def of(self, agent: str) -> list[Diagnostic]:
        """What an agent's changes have made since it was last told. Waits until the servers have looked."""
        agent = _plain(agent)
        found: list[Diagnostic] = []
        taken: dict[tuple[str, str], asyncio.Task[Sequence[Diagnostic] | None] | None] = {}
        try:
            for key in [each for each in self._due if each[0] == agent]:
                if key not in self._due:
                    continue  # another answer tells it
                # The file may be changed again meanwhile.
                del self._due[key]
                before = taken[key] = self._before.pop(key, None)
                known = (await asyncio.shield(before) if before else None) or ()
                after = await self._problems(key[1], LONGEST)
                if after is not None:
                    found += fresh(known, after)
        except asyncio.CancelledError:  # nothing of it was told
            self._due = dict.fromkeys([*taken, *self._due])
            self._before = {key: before for key, before in taken.items() if before} | self._before
            raise
        return [each for each in found if each.severity in ("error", "warning")]

    async def _look(self, path: str) -> Sequence[Diagnostic] | None:
        try:
            return await self._problems(path, SOON)
        except TimeoutError:
            return None

    def _forget(self, key: tuple[str, str]) -> None:
        self._due.pop(key, None)
        self._before.pop(key, None)


def _plain(agent: str) -> str:
    """An agent's name, whichever way it has come in: as a CLI, by its model, or in a chat."""
    return agent.removesuffix(" (MCP)").removesuffix(" (chat)")
