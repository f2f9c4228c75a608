"""The problems that an agent's changes have made, for the answer of its next tool."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from ..problems.diagnostic import Diagnostic
from ..problems.quiet import LONGEST, STEP
from ..problems.shown import fresh

SOON = 0.5
"""Seconds that the look before a change may take."""
MOST_FILES = 20
"""Files of one agent that are looked at; of more, the last ones."""
MOST_LOOKS = 2
"""Answers that wait for the problems of one file."""


@dataclass(frozen=True, slots=True)
class Looked:
    """What is wrong in a file."""

    provider: str
    """Who says so, as in `ShownProblems`."""
    problems: Sequence[Diagnostic]


Look = Callable[[str, float], Awaitable[Looked | None]]
"""The problems of a file, after at most so many seconds; None if nobody knows or they are not told.

Raises TimeoutError if nobody has looked at the file in that time.
"""
Before = asyncio.Task[Looked | None]


@dataclass(frozen=True, slots=True)
class _Change:
    """A file that an agent has changed."""

    agent: str
    path: str
    before: Before | None
    looks: int
    """The answers that have waited for its problems, this one included."""


class NewProblems:
    """Remembers what was wrong before each change, and finds what is wrong since then."""

    def __init__(self, look: Look) -> None:
        self._look = look
        self._before: dict[tuple[str, str], Before] = {}
        """What was wrong in a file before an agent's change of it, by the agent and the path."""
        self._due: dict[tuple[str, str], int] = {}
        """What has changed since the agent was last told, and how many answers have waited for it."""

    def proposed(self, agent: str, path: str) -> None:
        """An agent is about to change a file."""
        key = plain_agent(agent), os.path.normpath(path)
        if key not in self._due and (key not in self._before or self._before[key].done()):
            for old in [each for each in self._before if each not in self._due][: -MOST_FILES + 1]:
                del self._before[old]
            self._before[key] = asyncio.get_running_loop().create_task(self._look_before(key[1]))

    def changed(self, agent: str, path: str) -> None:
        """The change was accepted, or is written."""
        agent = plain_agent(agent)
        key = agent, os.path.normpath(path)
        self._due.pop(key, None)
        self._due[key] = 0
        mine = [each for each in self._due if each[0] == agent]
        for each in mine[:-MOST_FILES]:
            self._forget(each)

    async def of(self, agent: str) -> list[Diagnostic]:
        """What an agent's changes have made since it was last told. Waits until the servers have looked, 5 s in all.

        Of a file that nobody knew about before the change nothing is told: its problems may be older. One that is not
        looked at in time is for the next answer.
        """
        agent = plain_agent(agent)
        changes = [self._take(key) for key in list(self._due) if key[0] == agent]
        try:
            found = await asyncio.gather(*map(self._made_in_time, changes))
        except asyncio.CancelledError:  # nothing of it was told
            for change in changes:
                self._put_back(change, change.looks - 1)
            raise
        told: list[Diagnostic] = []
        for change, made in zip(changes, found, strict=True):
            if made is not None:
                told += made
            elif change.looks < MOST_LOOKS:
                self._put_back(change, change.looks)
        return [each for each in told if each.severity in ("error", "warning")]

    async def _made_in_time(self, change: _Change) -> list[Diagnostic] | None:
        """What a change has made; None if nobody can say that yet."""
        try:
            return await asyncio.wait_for(self._made(change), LONGEST)
        except TimeoutError:
            return None

    async def _made(self, change: _Change) -> list[Diagnostic]:
        end = asyncio.get_running_loop().time() + LONGEST - STEP
        before = await asyncio.shield(change.before) if change.before else None
        if before is None:
            return []
        after = await self._look(change.path, max(0.0, end - asyncio.get_running_loop().time()))
        if after is None or after.provider != before.provider:
            return []
        return fresh(before.problems, after.problems)

    async def _look_before(self, path: str) -> Looked | None:
        try:
            return await self._look(path, SOON)
        except TimeoutError:
            return None

    def _take(self, key: tuple[str, str]) -> _Change:
        # The file may be changed again meanwhile.
        return _Change(*key, self._before.pop(key, None), self._due.pop(key) + 1)

    def _put_back(self, change: _Change, looks: int) -> None:
        """The next answer tells it, with what has changed since then."""
        key = change.agent, change.path
        self._due[key] = min(looks, self._due.get(key, looks))
        if change.before:
            self._before[key] = change.before

    def _forget(self, key: tuple[str, str]) -> None:
        self._due.pop(key, None)
        self._before.pop(key, None)


def plain_agent(agent: str) -> str:
    """An agent's name, whichever way it has come in: as a CLI, by its model, or in a chat."""
    return agent.removesuffix(" (MCP)").removesuffix(" (chat)")
