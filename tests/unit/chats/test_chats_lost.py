"""What becomes of prompts whose agent ends before it begins them, or whose chat does."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import cast
from unittest.mock import patch

import psutil
import pytest

from companion.agents import AgentCommand
from companion.backends.acp.client import AcpAgent
from companion.backends.acp.files import Files
from companion.chats.transcript.render import Render
from tests.agent_talk import is_alive, scripted, until

from .agent_room import Room, chatting
from .chatting import CHAT, WINDOW, KeptTurns

AGENT = """
def initialize(params):
    return {"protocolVersion": 1, "agentInfo": {"name": "scripted"}, "agentCapabilities": {}}
def session_prompt(params):
    text = params["prompt"][-1]["text"]
    while text == "long": time.sleep(100)
    say("You said: " + text)
    return {"stopReason": "end_turn"}
"""


@pytest.fixture
def room(project: Path, tmp_path: Path) -> AbstractAsyncContextManager[Room]:
    return chatting(project, AgentCommand("Scripted", tuple(scripted(AGENT, tmp_path))))


def returned(room: Room) -> list[str]:
    return [draft.text for _, draft, _ in room.editor.returned]


@pytest.mark.parametrize("how", ["dies", "is started anew"])
async def test_a_prompt_whose_files_are_looked_up_is_not_lost_with_its_agent(room: Room, how: str) -> None:
    found = asyncio.Event()

    async def slow(*_: object) -> bool:
        await found.wait()
        return True

    with patch.object(AcpAgent, "is_file", slow):
        room.say("see @a.py please")
        await until(lambda: room.render.unsent)
        if how == "dies":
            psutil.Process(room.agent_pid).kill()
            await room.state("lost")
        else:
            connection = room.chats[CHAT].connection
            before, _ = connection.connected
            room.chats[CHAT].reconnect()
            await until(lambda: connection.has_client and connection.connected[0] is not before)
        found.set()
        if how == "dies":
            await until(lambda: returned(room) == ["see @a.py please"])
        else:
            await room.shows("You said:  please")
    await until(lambda: not room.render.unsent)


async def test_a_dead_agent_takes_no_prompt(room: Room) -> None:
    client, session = room.chats[CHAT].connection.connected
    psutil.Process(room.agent_pid).kill()
    await room.state("lost")
    with pytest.raises(Exception, match="has ended"):
        await client.prompt(session, [{"type": "text", "text": "Hello"}])


@pytest.mark.parametrize("closes", ["its tab", "its window", "its conversation"])
async def test_a_prompt_that_waits_for_its_turn_comes_back_while_the_screen_is_busy(room: Room, closes: str) -> None:
    room.say("long")
    await until(lambda: room.render.status.running)
    is_free, show = asyncio.Event(), room.editor.show_chat

    async def busy(chat: int, render: Render) -> bool:
        await is_free.wait()
        return await show(chat, render)

    room.editor.show_chat = busy  # type: ignore[method-assign]
    chat = room.chats[CHAT]
    chat.show_soon()
    await asyncio.sleep(0.1)
    room.say("queued")
    await until(lambda: chat.status.queue)
    if closes == "its tab":
        room.chats.close(CHAT)
    elif closes == "its window":
        room.chats.window_closed(WINDOW)
    else:
        room.chats.show(CHAT)
    await until(lambda: returned(room) == ["queued"])
    is_free.set()


async def test_an_agent_that_waits_for_a_sign_in_ends_with_its_window(project: Path, tmp_path: Path) -> None:
    script = """
os._exit = lambda _: time.sleep(100)  # as one that doesn't notice that its input has ended
def initialize(params):
    ways = [{"id": "g", "name": "G"}]
    return {"protocolVersion": 1, "agentInfo": {"name": "scripted"}, "agentCapabilities": {}, "authMethods": ways}
def session_new(params):
    raise Failure(-32000, "Authentication required")
"""
    agent = AgentCommand("Scripted", tuple(scripted(script, tmp_path)))
    async with chatting(project, agent, opens=False) as room:
        room.chats.open(CHAT, WINDOW, str(project), agent="Scripted")
        await room.state("lost")
        agent_pid = room.agent_pid
        room.chats.window_closed(WINDOW)
        await until(lambda: not room.chats._ending)
        assert not is_alive(agent_pid)


async def test_the_screen_is_told_what_waits_for_its_turn_and_would_be_lost_with_the_agent(room: Room) -> None:
    room.say("long")
    await until(lambda: room.render.status.running)
    room.say("queued")
    await until(lambda: [each.draft.text for each in room.render.waiting] == ["queued"] and room.render.status.queue)


async def test_each_turn_is_noticed_while_the_screen_is_busy(project: Path, tmp_path: Path) -> None:
    """A dialog may be open there for minutes: what the agent writes meanwhile belongs to the turn that wrote it."""
    goes_on = tmp_path / "goes-on"
    waits = f'text == "one" and not os.path.exists({str(goes_on)!r})'
    script = AGENT.replace('text == "long"', waits).replace("100", "0.01")
    is_free = asyncio.Event()
    told: list[tuple[str, str]] = []

    async def busy(*_: object) -> bool:
        return await is_free.wait()

    async with chatting(project, AgentCommand("Scripted", tuple(scripted(script, tmp_path)))) as room:
        chat = room.chats[CHAT]
        room.editor.show_chat = busy  # type: ignore[method-assign]
        chat.show_soon()
        await asyncio.sleep(0.1)
        with (
            patch.object(chat.place.turns, "turn_began", lambda *about: told.append(("began", about[4]))),
            patch.object(chat.place.turns, "turn_ended", lambda *_: told.append(("ended", ""))),
            patch.object(chat.place.reasons, "turn_over", lambda _, turn: told.append(("over", turn.prompt))),
        ):
            room.say("one")
            room.say("two")
            await until(lambda: told == [("began", "one")])
            goes_on.touch()
            await until(lambda: ("over", "two") in told)
        is_free.set()
    began_and_ended = [what for what in told if what[0] != "over"]
    assert began_and_ended == [("began", "one"), ("ended", ""), ("began", "two"), ("ended", "")]
    assert [words for what, words in told if what == "over"] == ["one", "two"]


@pytest.mark.parametrize("closes", ["its tab", "its window", "its conversation"])
async def test_a_turn_ends_with_its_chat_and_what_it_has_done_is_told(
    project: Path, tmp_path: Path, closes: str
) -> None:
    """Its agent would be at work for good: all that is written later would be its own."""
    script = """
def session_prompt(params):
    diff = {"type": "diff", "path": os.path.join(os.getcwd(), "a.txt"), "oldText": "", "newText": "new\\n"}
    update(sessionUpdate="tool_call", toolCallId="c", title="Write", kind="edit", status="completed", content=[diff])
    say("working")
    time.sleep(100)
"""
    async with chatting(project, AgentCommand("Scripted", tuple(scripted(script, tmp_path)))) as room:
        chat = room.chats[CHAT]
        reasons = cast("KeptTurns", chat.place.reasons)
        with (
            patch.object(chat.place.turns, "turn_began") as began,
            patch.object(chat.place.turns, "turn_ended") as ended,
        ):
            room.say("first")
            await room.shows("working")
            if closes == "its tab":
                room.chats.close(CHAT)
            elif closes == "its window":
                room.chats.window_closed(WINDOW)
            else:
                room.chats.show(CHAT)
            turn = began.call_args.args[3]
            ended.assert_called_once_with(WINDOW, CHAT, turn)
        [told] = reasons.turns
        assert (told.prompt, [call.id for call in told.calls], told.turn) == ("first", ["c"], turn)


@pytest.mark.parametrize("how", ["does not end its turn", "can not be started again"])
async def test_no_turn_runs_in_a_chat_that_has_lost_its_agent(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    script = f"""
import pathlib
begun = pathlib.Path({str(tmp_path / "begun")!r})
if begun.exists(): sys.exit(3)
def session_prompt(params):
    begun.touch(); say("working"); time.sleep(100)
"""
    monkeypatch.setattr("companion.backends.acp.prompts.CANCEL_LIMIT", 0.05)
    settle = Files.settle_all

    async def slow(self: Files) -> None:
        await asyncio.sleep(0.2)
        await settle(self)

    monkeypatch.setattr(Files, "settle_all", slow)
    async with chatting(project, AgentCommand("Scripted", tuple(scripted(script, tmp_path)))) as room:
        room.say("first")
        await room.shows("working")
        if how == "does not end its turn":
            room.chats.tell(CHAT, lambda own: own.cancel())
        else:
            room.chats[CHAT].reconnect()
        await room.state("lost")
        assert (room.render.status.running, room.render.status.last) == (None, "interrupted")


async def test_a_prompt_that_an_agent_has_lost_by_a_reconnect_comes_back_in_its_name(
    project: Path, tmp_path: Path
) -> None:
    script = AGENT.replace('"agentCapabilities": {}', '"agentCapabilities": {"loadSession": True}')
    async with chatting(project, AgentCommand("Scripted", tuple(scripted(script, tmp_path)))) as room:
        room.say("long")
        await until(lambda: room.render.status.running)
        room.say("queued")
        await until(lambda: room.render.status.queue)
        room.chats[CHAT].reconnect()
        await until(lambda: room.editor.returned)
        assert [why for _, _, why in room.editor.returned] == ["scripted has ended before it began this."]
