"""What an agent's changes have made is told once, whatever else goes on."""

from __future__ import annotations

import asyncio
import os

import pytest

from companion.problems import Diagnostic, Position
from companion.server import knowledge
from companion.server.knowledge import Looked, NewProblems

FILE, OTHER = os.path.normpath("/project/a.py"), os.path.normpath("/project/b.py")


def problem(path: str, message: str = "x is undefined") -> Diagnostic:
    return Diagnostic(path, Position(1, 1, 1), Position(1, 2, 2), "error", message, "", "")


class Server:
    """A language server that answers when it may."""

    def __init__(self) -> None:
        self.wrong: dict[str, list[str]] = {}
        self.provider = "LSP"
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.asked = asyncio.Event()
        self.hung: set[str] = set()
        self.news = NewProblems(self.look)

    async def look(self, path: str, _limit: float) -> Looked | None:
        if path in self.hung:
            raise TimeoutError
        self.asked.set()
        await self.may_answer.wait()
        if path not in self.wrong:
            return None
        return Looked(self.provider, [problem(path, each) for each in self.wrong[path]])

    async def change(self, path: str, *wrong: str, agent: str = "Agent") -> None:
        """An agent changes a file in which this is wrong then. It was looked at before."""
        self.wrong.setdefault(path, [])
        self.news.proposed(agent, path)
        await self.looked_before()
        self.wrong[path] = list(wrong)
        self.news.changed(agent, path)

    async def looked_before(self) -> None:
        """Wait until what was wrong before is known, or is not."""
        await asyncio.wait([each.before for each in self.news._changes.values() if each.before])

    async def told(self, agent: str = "Agent") -> list[str]:
        """What the next answer tells."""
        return [each.message for each in await self.news.of(agent)]


@pytest.fixture
def server() -> Server:
    return Server()


async def test_two_answers_at_once_tell_a_problem_once(server: Server):
    """An agent may have several tools at work."""
    await server.change(FILE, "new")
    server.may_answer.clear()
    server.asked.clear()
    answers = [asyncio.create_task(server.told()) for _ in range(2)]
    await server.asked.wait()
    server.may_answer.set()
    assert sorted([await each for each in answers]) == [[], ["new"]]


async def test_a_change_while_the_server_looks_is_told_afterwards(server: Server):
    await server.change(FILE, "first")
    server.may_answer.clear()
    server.asked.clear()
    first = asyncio.create_task(server.told())
    await server.asked.wait()
    server.may_answer.set()
    assert await first == ["first"]
    await server.change(FILE, "first", "second")
    assert await server.told() == ["second"]
    assert await server.told() == []


async def test_an_answer_that_is_cancelled_has_told_nothing(server: Server):
    await server.change(FILE, "one")
    await server.change(OTHER, "other")
    server.may_answer.clear()
    server.asked.clear()
    first = asyncio.create_task(server.told())
    await server.asked.wait()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    server.may_answer.set()
    assert sorted(await server.told()) == ["one", "other"]


async def test_what_was_wrong_before_an_answer_that_was_cancelled_is_not_told_after_another_change(server: Server):
    server.wrong[FILE] = ["old"]
    await server.change(FILE, "old", "first")
    server.may_answer.clear()
    server.asked.clear()
    first = asyncio.create_task(server.told())
    await server.asked.wait()
    server.news.proposed("Agent", FILE)  # which looks at the file anew
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    server.may_answer.set()
    server.news.changed("Agent", FILE)
    assert await server.told() == ["first"]


@pytest.mark.parametrize("why", ["never asked", "nobody knew", "too late"])
async def test_a_problem_that_may_be_older_than_the_change_is_not_told_as_new(server: Server, why: str):
    if why != "nobody knew":
        server.wrong[FILE] = ["old"]
    if why == "too late":
        server.hung = {FILE}
    if why != "never asked":
        server.news.proposed("Agent", FILE)
        await server.looked_before()
    server.hung = set()
    server.wrong[FILE] = ["old"]
    server.news.changed("Agent", FILE)
    assert await server.told() == []
    await server.change(FILE, "old", "new")  # now it is known
    assert await server.told() == ["new"]


async def test_a_language_server_that_started_after_the_change_has_no_news(server: Server):
    """Until then a linter has looked at the file, which finds other things."""
    server.provider = "SublimeLinter"
    await server.change(FILE, "old")
    server.provider = "LSP"
    assert await server.told() == []


async def test_a_file_whose_disk_hangs_keeps_the_news_of_no_other_file_back(server: Server):
    await server.change(OTHER, "late")
    await server.change(FILE, "new")
    server.hung = {OTHER}
    assert await server.told() == ["new"]
    server.hung = set()
    assert await server.told() == ["late"]
    assert await server.told() == []


async def test_a_file_that_is_never_looked_at_does_not_slow_every_answer(server: Server):
    await server.change(OTHER, "late")
    server.hung = {OTHER}
    for _ in range(2):
        assert await server.told() == []
    assert not server.news._due("Agent")


async def test_all_files_of_an_answer_are_waited_for_together(server: Server, monkeypatch: pytest.MonkeyPatch):
    """Five seconds for each of twenty files would be longer than a CLI waits for a tool."""
    paths = [os.path.normpath(f"/project/{number}.py") for number in range(15)]
    asked: list[str] = []

    for each in paths:
        await server.change(each, "new")
    server.may_answer.clear()

    async def count(path: str, _limit: float) -> Looked | None:
        asked.append(path)
        return await server.look(path, _limit)

    server.news._look = count
    with monkeypatch.context() as patch:
        patch.setattr(knowledge, "LONGEST", 0.2)
        assert await server.told() == []
    assert sorted(asked) == sorted(paths)
    server.may_answer.set()
    assert len(await server.told()) == len(paths)
