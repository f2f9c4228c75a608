"""How a chat's connection ends and begins again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any, cast
from unittest.mock import AsyncMock, patch

import pytest

from companion.backends.daemon.client import DaemonAgent
from companion.backends.daemon.errors import TemporaryError
from companion.chats import connection
from companion.chats.prompt import Draft
from companion.editor import ChatId, ViewId

from ..fake_daemon import Stream, until
from .chatting import CHAT, WINDOW, NoRounds, Room, ask, resolve


async def test_an_agent_that_has_died_is_told_and_waits_for_the_person(room: Room) -> None:
    stream = await room.opened()
    stream.say(1, "Hello")
    stream.send("session_died", 2, reason="channel_closed")
    assert (await room.state("ended")).message.startswith("The agent's process has ended.")
    assert room.render.status.last == "interrupted"
    assert not room.daemon.asked("POST /session/s/load")
    room.chats[CHAT].reconnect()
    await room.asked("POST /session/s/load")
    await room.live()


async def test_a_daemon_that_asks_to_wait_is_left_alone_for_as_long(room: Room) -> None:
    for asked, waits in (("7", 7.0), ("3600", 60.0)):
        busy = 503, {"error": "booting"}, {"Retry-After": asked}
        room.daemon.routes["GET /capabilities"] = busy
        room.chats.open(CHAT, WINDOW, room.folder)
        room.chats[CHAT].reconnect()
        await room.state("connecting")
        assert (await room.state("waiting")).retry_in == waits


@pytest.mark.parametrize("how", ["away", "gone", "epoch"])
async def test_a_daemon_that_may_be_another_one_is_looked_at_anew(
    room: Room, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Another process may have the port by now, such as a tunnel to another machine."""
    monkeypatch.setattr(connection, "BACKOFF", (0.01,))
    stream = await room.opened()
    room.chats.send(CHAT, Draft("mine"))
    await room.asked("POST /session/s/prompt")
    assert room.render.locality.is_local
    is_here = cast("AsyncMock", DaemonAgent.is_here)
    is_here.return_value = False
    asked = is_here.await_count
    stream.cut()
    stream = await room.live()
    assert (room.render.locality.is_local, is_here.await_count) == (True, asked)
    if how == "epoch":
        room.daemon.epoch = "another"
        status, loaded = cast("tuple[int, dict[str, Any]]", room.daemon.routes["POST /session/s/load"])
        room.daemon.routes["POST /session/s/load"] = status, loaded | {"eventEpoch": "another"}
    elif how == "gone":
        room.daemon.routes["GET /events"] = 404, {"error": "no", "code": "session_not_found", "sessionId": "s"}
    else:
        events, failures = DaemonAgent.events, iter([TemporaryError("No daemon answers.", agent_may_change=True)])

        def once(*about: Any) -> Any:
            for error in failures:
                raise error
            return events(*about)

        monkeypatch.setattr(DaemonAgent, "events", once)
    stream.cut()
    await until(lambda: not room.render.locality.is_local)
    room.daemon.routes.pop("GET /events", None)
    await until(lambda: room.connection.state == "live")


async def test_a_new_conversation_waits_for_a_daemon_whose_proxy_can_not_reach_it(room: Room) -> None:
    await room.opened()
    right = room.daemon.routes["GET /capabilities"]
    room.daemon.routes["GET /capabilities"] = 502, b"<html>Bad Gateway</html>"
    room.chats.show(CHAT)
    assert (await room.state("waiting")).message.startswith("The daemon doesn't answer as it should (502).")
    room.daemon.routes["GET /capabilities"] = right
    await room.live()


async def test_a_session_in_which_nothing_was_said_is_left_and_one_with_a_prompt_is_not(room: Room) -> None:
    await room.opened()
    room.chats[CHAT].reconnect()
    await room.asked("POST /session/s/detach")
    stream = await room.live()
    room.chats.send(CHAT, Draft("Hello"))
    stream.say(1, "Hello")
    await room.state("live")
    await until(lambda: room.render.session)
    left = len(room.daemon.asked("POST /session/s/detach"))
    room.chats[CHAT].reconnect()
    await room.live()
    assert len(room.daemon.asked("POST /session/s/detach")) == left


def write(stream: Stream, number: int, call: str, prompt: str = "p") -> None:
    """The agent has written a file."""
    diff = {"type": "diff", "path": "a.txt", "oldText": "", "newText": "new\n"}
    update = {"sessionUpdate": "tool_call", "toolCallId": call, "title": "Write", "kind": "edit", "status": "completed"}
    stream.send("session_update", number, prompt, update=update | {"content": [diff]})


@pytest.fixture
def ended() -> Iterator[list[tuple[Any, ...]]]:
    """What is told of turns that have ended."""
    told: list[tuple[Any, ...]] = []
    with patch.object(NoRounds, "turn_ended", lambda _, *about: told.append(about)):
        yield told


def logged(room: Room) -> list[list[str]]:
    """The calls that were given to the log with each turn that has ended."""
    return [[call.id for call in turn.calls] for turn in room.reasons.turns]


LEAVE: dict[str, Callable[[Room], object]] = {
    "its tab is closed": lambda room: room.chats.close(CHAT),
    "a new conversation is begun": lambda room: room.chats.show(CHAT),
    "another one is shown": lambda room: room.chats.show(CHAT, "other"),
    "the chat works in another folder": lambda room: room.chats.open(CHAT, WINDOW, f"{room.folder}/other"),
}


@pytest.mark.parametrize("leave", LEAVE.values(), ids=LEAVE)
async def test_a_daemons_turn_that_is_not_shown_any_more_is_seen_to_its_end(
    room: Room, ended: list[Any], leave: Callable[[Room], object]
) -> None:
    """What it writes is the agent's, and what is to be undone at its end waits for that."""
    stream = await room.opened()
    write(stream, 1, "first")
    await until(lambda: room.render.status.running)
    leave(room)
    write(stream, 2, "then")
    await asyncio.sleep(0.1)
    assert (ended, logged(room), room.daemon.asked("POST /session/s/detach")) == ([], [], [])
    stream.send("turn_complete", 3, "p", promptId="p", stopReason="end_turn")
    await room.asked("POST /session/s/detach")
    assert ended == [(WINDOW, CHAT, "p")]
    assert logged(room) == [["first", "then"]]
    await until(lambda: not room.chats._leaving)


async def test_a_session_is_a_chats_until_its_turn_was_seen_to_its_end(room: Room) -> None:
    """Whoever reads transcripts would take it for one of a CLI in a terminal."""
    stream = await room.opened()
    write(stream, 1, "first")
    await until(lambda: room.render.session)
    room.chats.close(CHAT)
    assert room.chats.open_sessions() == {"s"}
    stream.send("turn_complete", 2, "p", promptId="p", stopReason="end_turn")
    await until(lambda: not room.chats.open_sessions())


async def test_a_daemons_turn_is_seen_to_its_end_though_a_frame_has_missed_its_tab_before_that_is_told(
    room: Room,
) -> None:
    """The editor tells of a closed tab when the tab has gone."""
    stream = await room.opened()
    write(stream, 1, "first")
    await until(lambda: room.render.status.running)
    room.editor.has_chat = False
    write(stream, 2, "second")
    await until(lambda: not room.chats[CHAT].is_open)
    room.chats.close(CHAT)
    write(stream, 3, "then")
    await asyncio.sleep(0.1)
    stream.send("turn_complete", 4, "p", promptId="p", stopReason="end_turn")
    await until(lambda: not room.chats._leaving)
    assert logged(room) == [["first", "second", "then"]]


async def test_a_turn_that_has_waited_behind_one_whose_tab_was_closed_is_seen_to_its_end_too(room: Room) -> None:
    """The daemon takes its prompt out of the queue before it tells of the turn."""
    stream = await room.opened()
    write(stream, 1, "first")
    stream.send("pending_prompt_added", 2, promptId="q", text="Then")
    await until(lambda: room.render.status.running and room.render.status.queue)
    room.chats.close(CHAT)
    stream.send("turn_complete", 3, "p", promptId="p", stopReason="end_turn")
    stream.send("pending_prompt_started", 4, "q", promptId="q", text="Then")
    await asyncio.sleep(0.02)
    write(stream, 5, "then", "q")
    stream.send("turn_complete", 6, "q", promptId="q", stopReason="end_turn")
    await until(lambda: not room.chats._leaving)
    assert logged(room) == [["first"], ["then"]]


@pytest.mark.parametrize("how", ["its window closes", "the package is loaded anew", "the daemon ends"])
async def test_a_daemons_turn_whose_tab_was_closed_ends_with_what_it_was_for(
    room: Room, ended: list[Any], how: str
) -> None:
    stream = await room.opened()
    write(stream, 1, "first")
    await until(lambda: room.render.status.running)
    room.chats.close(CHAT)
    if how == "its window closes":
        room.chats.window_closed(WINDOW)
    elif how == "the package is loaded anew":
        await room.chats.stop(hand_over=True)
    else:
        stream.send("session_died", 2, reason="channel_closed")
        await until(lambda: ended)
    assert ended == [(WINDOW, CHAT, "p")]
    assert logged(room) == [["first"]]
    await until(lambda: not room.chats._leaving)


@pytest.mark.parametrize("state", ["live", "waiting"])
async def test_a_chat_whose_window_closes_takes_leave_of_the_daemon(room: Room, state: str) -> None:
    """A daemon keeps a session, and what it needs, as long as a client may be there."""
    stream = await room.opened()
    if state == "waiting":
        room.daemon.routes["GET /events"] = 503, {"error": "booting"}
        stream.cut()
        await room.state("waiting")
    room.chats.window_closed(WINDOW)
    await until(lambda: not room.chats._ending)
    assert len(room.daemon.asked("POST /session/s/detach")) == 1


async def test_a_turn_that_is_told_twice_has_one_name_by_which_its_calls_are_logged_once(room: Room) -> None:
    before = await room.opened()
    write(before, 1, "first")
    await until(lambda: room.render.session)
    room.chats.show(CHAT)
    await room.live()
    room.chats.show(CHAT, "s")
    stream = await room.live()
    write(stream, 1, "first")
    await until(lambda: room.render.status.running)
    for each in (before, stream):
        write(each, 2, "then")
        each.send("turn_complete", 3, "p", promptId="p", stopReason="end_turn")
    await until(lambda: len(room.reasons.turns) == 2)
    assert logged(room) == [["first", "then"]] * 2
    assert len({(turn.session, turn.turn) for turn in room.reasons.turns}) == 1


@pytest.mark.parametrize("goes_on", [True, False], ids=["and is answered", "and its tab is closed"])
@pytest.mark.parametrize("tab", [CHAT, ChatId(ViewId(2))], ids=["in its tab", "in another tab"])
async def test_a_turn_that_asks_goes_on_if_its_conversation_is_shown_again(
    room: Room, ended: list[Any], tab: ChatId, goes_on: bool
) -> None:
    """Somebody sees the question, and what the agent writes after the answer is of the same turn."""
    before = await room.opened()
    write(before, 1, "first")
    await until(lambda: room.render.session)
    room.chats.show(CHAT)
    await room.live()
    room.chats.open(tab, WINDOW, room.folder, "s")
    again = await room.daemon.streams.get()
    write(again, 1, "first")
    await until(lambda: room.chats[tab].status.running)
    for each in (before, again):
        ask(each, 2)
    await until(lambda: room.chats.questions(WINDOW))
    await asyncio.sleep(0.1)
    assert ended == []
    if goes_on:
        for each in (before, again):
            resolve(each, 3, "once")
            write(each, 4, "then")
            each.send("turn_complete", 5, "p", promptId="p", stopReason="end_turn")
        await until(lambda: len(room.reasons.turns) == 2)
        assert logged(room) == [["first", "then"]] * 2
    else:
        room.chats.close(tab)
    await until(lambda: not room.chats._leaving)
    assert sorted(ended) == sorted([(WINDOW, tab, "p"), (WINDOW, CHAT, "p")])


async def test_how_many_files_were_written_is_told_of_the_turn_that_is_shown(room: Room) -> None:
    """The one before is seen to its end after another conversation was begun in its tab."""
    stream = await room.opened()
    stream.say(1, "Done.")
    stream.send("turn_complete", 2, "p", promptId="p", stopReason="end_turn")
    await until(lambda: room.render.status.last == "done")
    room.chats.turn_written(CHAT, "p", 2)
    await until(lambda: room.render.status.changed == 2)
    room.chats.turn_written(CHAT, "one of another conversation", 9)
    stream.send("session_update", 3, "p", update={"sessionUpdate": "session_info_update", "title": "Named"})
    await asyncio.sleep(0.1)
    assert room.render.status.changed == 2


@pytest.mark.parametrize("how", ["archive", "delete"])
async def test_a_chat_that_was_closed_while_its_session_is_put_away_begins_nothing(room: Room, how: str) -> None:
    stream = await room.opened()
    stream.say(1, "Hello")
    await until(lambda: room.render.session)
    chat = room.chats[CHAT]
    put_away = {"archive": "archive_session", "delete": "delete_session"}[how]

    async def closes(*_: object, **__: object) -> None:
        room.chats.close(CHAT)

    with patch.object(DaemonAgent, put_away, closes):
        await getattr(chat.sessions, how)("s", **({"is_archived": True} if how == "archive" else {}))
    assert not chat.is_open
