"""Several chats in one window: each has its session, and they share the window's daemons."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import psutil
import pytest

from companion.agents import AgentCommand
from companion.chats.prompt import Draft
from companion.editor import ChatId, ViewId, WindowId
from companion.settings import DaemonSettings
from tests.agent_talk import scripted

from ..fake_daemon import Request, Stream, until
from .agent_room import EDIT
from .agent_room import chatting as chatting_with_agents
from .chatting import WINDOW, Room, ask, attached, real
from .test_chats_private_daemon import LISTENS

FIRST, SECOND = ChatId(ViewId(11)), ChatId(ViewId(12))
"""Views of window 1."""
STARTS = """
import os, sys
with open(sys.argv[1], "a") as file:
    file.write(f"{os.getpid()}\\n")
"""


class Pair(Room):
    """Window 1 with two chats, whose sessions are s1 and s2 in the order of their beginning."""

    def begin(self) -> None:
        made = iter(range(1, 100))

        def create(_: Request) -> tuple[int, Any]:
            session = f"s{next(made)}"
            known = {"sessionId": session, "workspaceCwd": real(self.folder), "clientId": f"c-{session}"}
            self.daemon.routes |= {
                f"POST /session/{session}/load": (
                    200, known | {"attached": True, "lastEventId": 0, "eventEpoch": "e"},
                ),
                f"GET /session/{session}/pending-prompts": (200, {"pendingPrompts": []}),
                f"POST /session/{session}/detach": (204, None),
                f"POST /session/{session}/prompt": (202, {"promptId": f"p-{session}"}),
                f"POST /session/{session}/permission/r": (200, {}),
            }  # fmt: skip
            return 200, known

        self.daemon.routes["POST /session"] = create

    def state_of(self, chat: int) -> str:
        renders = self.editor.renders.get(chat)
        return renders[-1].status.connection.state if renders else ""

    async def open(self, chat: ChatId, folder: str = "") -> Stream:
        """Open a chat, and return the stream of its events once it is live."""
        self.chats.open(chat, WINDOW, folder or self.folder)
        return await self.lives(chat)

    async def lives(self, chat: int) -> Stream:
        stream = await self.daemon.streams.get()
        await until(lambda: self.state_of(chat) == "live")
        return stream


@contextlib.asynccontextmanager
async def paired(project: Path) -> AsyncGenerator[Pair]:
    """A window with two chats."""
    async with attached(project) as pair:
        pair.__class__ = Pair
        assert isinstance(pair, Pair)
        pair.begin()
        yield pair


@pytest.fixture
def room(project: Path) -> AbstractAsyncContextManager[Pair]:
    """A window with two chats."""
    return paired(project)


@pytest.fixture
@contextlib.asynccontextmanager
async def managed(project: Path, tmp_path: Path) -> AsyncGenerator[Pair]:
    """The same with a `qwen serve` that says it is the daemon of the test, and notes each start in starts.txt."""
    async with paired(project) as pair:
        program = tmp_path / "fake_qwen.py"
        program.write_text(STARTS + LISTENS.replace("URL", pair.daemon.address.url), encoding="utf-8")
        command = (sys.executable, str(program), str(tmp_path / "starts.txt"))
        pair.configure(url="", token="", command=command)
        yield pair


def starts(tmp_path: Path) -> int:
    return len((tmp_path / "starts.txt").read_text(encoding="utf-8").split())


async def test_each_has_a_session_of_its_own_and_shows_what_is_said_there(room: Pair) -> None:
    first, second = await room.open(FIRST), await room.open(SECOND)
    first.say(1, "Of cats")
    second.say(1, "Of dogs")
    await until(lambda: "Of cats" in room.editor.chat_texts[FIRST] and "Of dogs" in room.editor.chat_texts[SECOND])
    assert "Of dogs" not in room.editor.chat_texts[FIRST]
    room.chats.send(SECOND, Draft("mine"))
    await room.asked("POST /session/s2/prompt")
    assert room.daemon.asked("POST /session/s1/prompt") == []
    assert room.editor.returned == []


async def test_an_answer_goes_to_the_one_that_asks_even_where_their_questions_have_one_id(
    room: Pair, project: Path
) -> None:
    first, second = await room.open(FIRST), await room.open(SECOND)
    ask(first, 1, (str(project / "a.py"), "", "cats\n"))
    ask(second, 1, (str(project / "a.py"), "", "dogs\n"))
    diffs = await room.diff(2)
    assert {diff.review.shown for diff in diffs} == {"cats\n", "dogs\n"}
    [dogs] = [diff for diff in diffs if diff.review.shown == "dogs\n"]
    room.reviews.accept(dogs.review.number, dogs.text)
    request = await room.asked("POST /session/s2/permission/r")
    assert request.body["outcome"] == {"outcome": "selected", "optionId": "once"}
    room.chats.tell(FIRST, lambda own: own.approvals.give("r", "no"))
    request = await room.asked("POST /session/s1/permission/r")
    assert request.body["outcome"] == {"outcome": "selected", "optionId": "no"}
    assert len(room.daemon.asked("POST /session/s2/permission/r")) == 1


async def test_the_questions_of_a_window_are_those_of_all_its_chats(room: Pair) -> None:
    first, second = await room.open(FIRST), await room.open(SECOND)
    for stream in (first, second):
        ask(stream, 1)
    await until(lambda: room.chats.questions(WINDOW) == 2)
    assert room.chats.asking(WINDOW) == ("Qwen Code",)
    other = WindowId(2)
    assert (room.chats.questions(other), room.chats.asking(other)) == (0, ())
    room.chats.close(FIRST)
    assert room.chats.questions(WINDOW) == 1


async def test_closing_one_leaves_the_other_at_work(room: Pair) -> None:
    await room.open(FIRST)
    second = await room.open(SECOND)
    room.chats.close(FIRST)
    await room.asked("POST /session/s1/detach")
    second.say(1, "Still here")
    await until(lambda: "Still here" in room.editor.chat_texts[SECOND])
    assert room.daemon.asked("POST /session/s2/detach") == []


async def test_an_answer_that_is_on_its_way_when_the_tab_closes_arrives(room: Pair) -> None:
    first = await room.open(FIRST)
    ask(first, 1)
    await until(lambda: room.chats.questions(WINDOW) == 1)
    room.chats.tell(FIRST, lambda own: own.approvals.give("r", "no"))
    room.chats.close(FIRST)
    await room.asked("POST /session/s1/permission/r")


async def test_they_share_one_private_daemon_which_outlives_either(managed: Pair, tmp_path: Path) -> None:
    for chat in (FIRST, SECOND):
        managed.chats.open(chat, WINDOW, managed.folder)
    await until(lambda: managed.state_of(FIRST) == managed.state_of(SECOND) == "live")
    daemon = managed.chats[FIRST].connector.private.daemon
    assert daemon
    assert managed.chats[SECOND].connector.private.daemon is daemon
    assert starts(tmp_path) == 1
    managed.chats.close(FIRST)
    managed.chats.close(SECOND)
    await until(lambda: len(managed.daemon.asked("POST /session/s")) >= 2)
    await until(lambda: not managed.chats._ending)
    assert daemon.is_running
    managed.chats.window_closed(WINDOW)
    await until(lambda: not daemon.is_running)


async def test_each_folder_has_a_private_daemon_of_its_own_as_long_as_a_chat_works_there(
    managed: Pair, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    managed.daemon.capabilities(real(managed.folder), real(other))
    await managed.open(FIRST)
    await managed.open(SECOND, str(other))
    first, second = (managed.chats[chat].connector.private.daemon for chat in (FIRST, SECOND))
    assert first
    assert second
    assert (first.folder, second.folder) == (real(managed.folder), real(other))
    assert first.is_running
    assert (managed.state_of(FIRST), managed.state_of(SECOND)) == ("live", "live")
    # The first chat follows the second.
    await managed.open(FIRST, str(other))
    await until(lambda: not first.is_running)
    assert second.is_running
    assert starts(tmp_path) == 2


async def test_a_daemon_that_is_killed_is_started_again_once_for_both_and_then_only_on_request(
    managed: Pair, tmp_path: Path
) -> None:
    streams = [await managed.open(chat) for chat in (FIRST, SECOND)]
    for at, stream in enumerate(streams):
        stream.say(1, f"Before {at}")
    await until(lambda: all(managed.editor.renders[chat][-1].session for chat in (FIRST, SECOND)))

    def kill() -> None:
        daemon = managed.chats[FIRST].connector.private.daemon
        assert daemon
        daemon.end()
        for stream in streams:
            stream.cut()

    kill()
    await until(lambda: starts(tmp_path) == 2)
    streams[:] = [await managed.daemon.streams.get() for _ in streams]
    await until(lambda: managed.state_of(FIRST) == managed.state_of(SECOND) == "live")
    assert managed.editor.said == [("`qwen serve` has ended unexpectedly. It is started again.", 1)]
    assert starts(tmp_path) == 2
    kill()
    await until(lambda: managed.state_of(FIRST) == managed.state_of(SECOND) == "lost")
    assert starts(tmp_path) == 2
    managed.chats[SECOND].reconnect()
    await until(lambda: managed.state_of(SECOND) == "live")
    assert starts(tmp_path) == 3


async def test_a_daemon_that_one_of_them_has_replaced_is_followed_by_the_other(
    managed: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("companion.chats.connection.BACKOFF", (0.05,))
    streams = [await managed.open(chat) for chat in (FIRST, SECOND)]
    streams[1].say(1, "Before")
    await until(lambda: managed.editor.renders[SECOND][-1].session)
    before = managed.chats[FIRST].connector.private.daemon
    command = (sys.executable, "-u", str(tmp_path / "fake_qwen.py"), str(tmp_path / "starts.txt"))
    managed.configure(url="", token="", command=command)
    managed.chats[FIRST].reconnect()
    await until(lambda: starts(tmp_path) == 2)
    loads = len(managed.daemon.asked("GET /capabilities"))
    streams[1].cut()
    await until(lambda: len(managed.daemon.asked("GET /capabilities")) > loads)
    await until(lambda: managed.state_of(FIRST) == managed.state_of(SECOND) == "live")
    assert managed.chats[SECOND].connector.private.daemon != before
    assert starts(tmp_path) == 2


async def test_a_reload_keeps_both_sessions_and_the_one_daemon(managed: Pair, tmp_path: Path) -> None:
    for at, chat in enumerate((FIRST, SECOND)):
        (await managed.open(chat)).say(1, f"Before {at}")
    await until(lambda: all(managed.editor.renders[chat][-1].session for chat in (FIRST, SECOND)))
    daemon = managed.chats[FIRST].connector.private.daemon
    left = await managed.chats.stop(hand_over=True)
    again = Pair(managed.editor, managed.daemon, managed.folder)
    again.chats.configure(managed.chats.settings)
    again.chats.inherit(left, {WindowId(1): None})
    for chat, session in ((SECOND, "s2"), (FIRST, "s1")):
        count = len(managed.daemon.asked(f"POST /session/{session}/load"))
        again.chats.open(chat, WINDOW, managed.folder)
        await until(lambda session=session, count=count: len(
            managed.daemon.asked(f"POST /session/{session}/load")) > count)  # fmt: skip
    assert again.chats[FIRST].connector.private.daemon == again.chats[SECOND].connector.private.daemon == daemon
    await again.chats.stop(hand_over=False)
    assert daemon
    assert not daemon.is_running
    assert starts(tmp_path) == 1


# With agents on their standard input and output


def processes(command: AgentCommand) -> list[psutil.Process]:
    """Those that run an agent's script."""
    found: list[psutil.Process] = []
    for process in psutil.Process(os.getpid()).children(recursive=True):
        try:
            is_it = command.command[-1] in process.cmdline() and process.status() != psutil.STATUS_ZOMBIE
        except psutil.Error:
            continue
        found += [process] if is_it else []
    return found


@pytest.fixture
def agents(tmp_path: Path) -> tuple[AgentCommand, AgentCommand]:
    folders = tmp_path / "one", tmp_path / "two"
    for folder in folders:
        folder.mkdir()
    one, two = (scripted(EDIT, folder) for folder in folders)
    return AgentCommand("One", tuple(one)), AgentCommand("Two", tuple(two))


async def test_two_agents_have_a_process_each_which_ends_with_its_tab(
    project: Path, agents: tuple[AgentCommand, AgentCommand]
) -> None:
    one, two = agents
    async with chatting_with_agents(project, one, two) as room:
        room.chats.open(SECOND, WINDOW, str(project), agent="Two")
        await until(lambda: "Scripted Agent" in room.editor.chat_texts.get(SECOND, ""))
        await until(lambda: room.editor.renders[SECOND][-1].status.connection.state == "live")
        assert (len(processes(one)), len(processes(two))) == (1, 1)
        room.chats.send(SECOND, Draft("to two"))
        await until(lambda: "You said: to two" in room.editor.chat_texts[SECOND])
        assert "to two" not in room.text
        room.chats.close(SECOND)
        await until(lambda: not processes(two))
        assert len(processes(one)) == 1
        room.say("to one")
        await room.shows("You said: to one")
        room.chats.window_closed(WINDOW)
        await until(lambda: not processes(one))


async def test_a_chat_with_an_agent_and_one_with_the_daemon_do_not_disturb_each_other(
    room: Pair, agents: tuple[AgentCommand, AgentCommand]
) -> None:
    await room.open(FIRST)
    room.chats.configure(
        DaemonSettings(
            enabled=True,
            url=room.daemon.address.url,
            agents=agents[:1],
        )
    )
    room.chats.open(SECOND, WINDOW, room.folder, agent="One")
    await until(lambda: room.state_of(SECOND) == "live")
    room.chats.send(SECOND, Draft("hello"))
    await until(lambda: "You said: hello" in room.editor.chat_texts[SECOND])
    room.configure(enabled=False)
    await until(lambda: room.state_of(FIRST) == "lost")
    assert room.state_of(SECOND) == "live"
    await asyncio.sleep(0)


@pytest.mark.parametrize("left", [{"daemon": None, "session": "s"}, {"clients": [], "here": [], "daemons": {"/": 1}}])
async def test_what_another_version_has_left_in_another_form_harms_nothing(
    managed: Pair, left: dict[str, Any], stormy: pytest.LogCaptureFixture
) -> None:
    """An upgrade: before, a window had one chat."""
    managed.chats.inherit({WindowId(1): left}, {WindowId(1): None})
    assert "another version" in stormy.text
    (await managed.open(FIRST)).say(1, "Hello")
    await until(lambda: managed.editor.renders[FIRST][-1].session == "s1")
