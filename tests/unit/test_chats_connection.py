"""How a chat's connection ends and begins again (issue 12)."""

from __future__ import annotations

from pathlib import Path

from companion.chat.prompt import Draft

from .chatting import Room
from .fake_daemon import until
from .test_chats import attached


def test_an_agent_that_has_died_is_told_and_waits_for_the_person(project: Path):
    async def test(room: Room) -> None:
        room.chats.open(1, 1, room.folder)
        stream = await room.live()
        stream.say(1, "Hello")
        stream.send("session_died", 2, reason="channel_closed")
        assert (await room.state("ended")).message.startswith("The agent's process has ended.")
        assert room.render.status.last == "interrupted"
        assert not room.daemon.asked("POST /session/s/load")
        room.chats.reconnect(1)
        await room.asked("POST /session/s/load")
        await room.live()

    attached(project, test)


def test_a_daemon_that_asks_to_wait_is_left_alone_for_as_long(project: Path):
    async def test(room: Room) -> None:
        for asked, waits in (("7", 7.0), ("3600", 60.0)):
            busy = 503, {"error": "booting"}, {"Retry-After": asked}
            room.daemon.routes["GET /capabilities"] = busy
            room.chats.open(1, 1, room.folder)
            room.chats.reconnect(1)
            await room.state("connecting")
            assert (await room.state("waiting")).retry_in == waits

    attached(project, test)


def test_a_session_in_which_nothing_was_said_is_left_and_one_with_a_prompt_is_not(project: Path):
    async def test(room: Room) -> None:
        room.chats.open(1, 1, room.folder)
        await room.live()
        room.chats.reconnect(1)
        await room.asked("POST /session/s/detach")
        stream = await room.live()
        room.chats.send(1, Draft("Hello"))
        stream.say(1, "Hello")
        await room.state("live")
        await until(lambda: room.render.session)
        left = len(room.daemon.asked("POST /session/s/detach"))
        room.chats.reconnect(1)
        await room.live()
        assert len(room.daemon.asked("POST /session/s/detach")) == left

    attached(project, test)
