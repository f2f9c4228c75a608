"""What an agent's changes have made is told once, whatever else goes on."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence

import pytest

from companion.problems.diagnostic import Diagnostic, Position
from companion.server.new_problems import NewProblems

FILE, OTHER = os.path.normpath("/project/a.py"), os.path.normpath("/project/b.py")


class Server:
    """A language server that answers when it may."""

    def __init__(self) -> None:
        self.may_answer = asyncio.Event()
        self.asked = asyncio.Event()
        self.other_only = False

    async def problems(self, path: str, _limit: float) -> Sequence[Diagnostic]:
        if path == OTHER or not self.other_only:
            self.asked.set()
            await self.may_answer.wait()
        return [Diagnostic(path, Position(1, 1, 1), Position(1, 2, 2), "error", "x is undefined", "", "")]


def test_two_answers_at_once_tell_a_problem_once():
    """An agent may have several tools at work."""

    async def test() -> list[int]:
        server = Server()
        news = NewProblems(server.problems)
        news.changed("Agent", FILE)
        answers = [asyncio.create_task(news.of("Agent")) for _ in range(2)]
        await server.asked.wait()
        server.may_answer.set()
        return sorted([len(await each) for each in answers])

    assert asyncio.run(test()) == [0, 1]


def test_a_change_while_the_server_looks_is_told_afterwards():
    async def test() -> list[int]:
        server = Server()
        news = NewProblems(server.problems)
        news.changed("Agent", FILE)
        first = asyncio.create_task(news.of("Agent"))
        await server.asked.wait()
        news.changed("Agent", FILE)
        server.may_answer.set()
        return [len(await first), len(await news.of("Agent")), len(await news.of("Agent"))]

    assert asyncio.run(test()) == [1, 1, 0]


def test_an_answer_that_is_cancelled_has_told_nothing():
    async def test() -> int:
        server = Server()
        news = NewProblems(server.problems)
        news.changed("Agent", FILE)
        news.changed("Agent", OTHER)
        server.other_only = True
        first = asyncio.create_task(news.of("Agent"))
        await server.asked.wait()
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        server.may_answer.set()
        return len(await news.of("Agent"))

    assert asyncio.run(test()) == 2
