"""A window's chat: connecting, showing, sending, and what the person does."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from companion.chats import chat
from companion.chats.prompt import Draft
from companion.conversation.conversation import Conversation

from ..fake_daemon import Request, until
from .chatting import CHAT, WINDOW, Room, attached, prompts, real

# Connecting


async def test_it_is_off_until_the_person_wants_it_f1(project: Path) -> None:
    async with attached(project, enabled=False) as room:
        room.chats.open(CHAT, WINDOW, room.folder)
        assert (await room.state("lost")).message.startswith("The chat is off. Set “chat_enabled”")
        assert room.daemon.requests == []
        room.configure()
        room.chats[CHAT].reconnect()
        await room.live()


async def test_it_shows_how_it_connects_from_the_first_moment_and_then_what_is_said_f2(room: Room) -> None:
    stream = await room.opened()
    states = [render.status.connection for render in room.editor.renders[1]]
    assert states[0].state == "connecting"
    [created] = room.daemon.asked("POST /session")
    assert created.body == {
        "cwd": real(room.folder), "sessionScope": "thread", "sourceType": "sublime",
    }  # fmt: skip
    assert room.render.session == ""
    assert (room.render.locality.host, room.render.locality.version) == ("this computer", "1.2.3")
    assert room.render.locality.is_local
    assert not room.render.locality.is_private
    stream.say(1, "Hello there")
    await until(lambda: "Hello there" in room.editor.chat_texts[1])
    assert room.render.session == "s"


async def test_a_session_is_resumed_by_its_id(room: Room) -> None:
    room.chats.open(CHAT, WINDOW, room.folder, "s")
    await room.live()
    assert len(room.daemon.asked("POST /session/s/load")) == 1
    assert [request.route for request in room.daemon.asked("POST /session")] == ["/session/s/load"]


async def test_the_environment_names_a_daemon_too_f1(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QWEN_IDE_DAEMON_URL", room.daemon.address.url)
    monkeypatch.setenv("QWEN_SERVER_TOKEN", "from-the-environment")
    room.configure(url="", token="")
    await room.opened()
    assert room.daemon.requests[0].headers["authorization"] == "Bearer from-the-environment"


async def test_without_an_address_and_not_managed_it_is_the_usual_one_f1(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("companion.backends.daemon.address.DEFAULT_URL", room.daemon.address.url)
    room.configure(url="", managed=False)
    await room.opened()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((401, {"error": "Unauthorized"}), "The daemon refuses the token. Set the token"),
        ((403, {"error": "Invalid Host header"}), "The daemon refuses the request: Invalid Host header."),
        ((404, b"<html>Cannot GET</html>"), "is not `qwen serve`"),
        ((200, {"features": [], "workspaceCwd": "/elsewhere", "workspaces": [{"cwd": "/elsewhere"}]}), "can't do that"),
    ],
)
async def test_what_is_wrong_is_shown_with_what_to_do_and_tried_again(room: Room, answer: Any, words: str) -> None:
    right = room.daemon.routes["GET /capabilities"]
    room.daemon.routes["GET /capabilities"] = answer
    room.chats.open(CHAT, WINDOW, room.folder)
    assert words in (await room.state("lost")).message
    room.daemon.routes["GET /capabilities"] = right
    room.chats[CHAT].reconnect()
    await room.live()


async def test_a_daemon_of_another_folder_is_refused_and_one_by_another_name_is_not(
    room: Room, project: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    room.chats.open(CHAT, WINDOW, str(other))
    assert "not in" in (await room.state("lost")).message
    link = tmp_path / "link"
    link.symlink_to(project)
    room.chats.open(CHAT, WINDOW, str(link))
    await room.live()


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("ftp://x", "must begin with http"),
        ("http://me:secret@x", "must not hold a name or a password"),
    ],
)
async def test_an_address_that_cant_be_used_is_told(project: Path, url: str, words: str) -> None:
    async with attached(project, url=url) as room:
        room.chats.open(CHAT, WINDOW, room.folder)
        message = (await room.state("lost")).message
        assert words in message
        assert "secret" not in message


async def test_a_connection_that_breaks_is_taken_up_again_without_a_word_lost_f4(room: Room) -> None:
    stream = await room.opened()
    stream.say(1, "one ")
    await until(lambda: "one" in room.editor.chat_texts[1])
    stream.cut()
    stream = await room.live()
    stream.say(2, "two")
    await until(lambda: "one two" in room.editor.chat_texts[1])


async def test_reconnect_goes_all_the_way_after_the_session_has_ended(room: Room) -> None:
    stream = await room.opened()
    stream.say(1, "one ")
    await until(lambda: room.render.session)
    stream.send("session_closed", 2, reason="client_close", closedBy="another")
    assert "Another client has closed" in (await room.state("ended")).message
    room.chats[CHAT].reconnect()
    await room.live()
    assert len(room.daemon.asked("GET /capabilities")) == 2
    assert len(room.daemon.asked("POST /session/s/load")) == 1


async def test_a_daemon_that_is_away_is_tried_again_whatever_the_person_does_f4(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("companion.chats.connection.BACKOFF", (0.05,))
    right = room.daemon.routes["GET /capabilities"]
    stream = await room.opened()
    stream.say(1, "one ")
    await until(lambda: room.render.session)
    chat = room.chats[CHAT]
    for away, act in (
        (None, chat.reconnect),
        ((503, {"error": "booting"}), lambda: room.chats.send(CHAT, Draft("later"))),
    ):
        room.daemon.routes["GET /capabilities"] = room.daemon.routes["GET /events"] = away
        stream.cut()
        # What is on the screen may be over: a prompt that comes while a try is under way begins no other one.
        await until(lambda: chat.status.connection.state == "waiting")
        before = len(room.daemon.asked("GET /capabilities"))
        act()
        await until(lambda count=before: len(room.daemon.asked("GET /capabilities")) > count + 2)
        assert (await room.state("waiting")).retry_in == 0.05
        room.daemon.routes["GET /capabilities"] = right
        del room.daemon.routes["GET /events"]
        stream = await room.live()
    await room.asked("POST /session/s/prompt")
    stream.say(2, "two")
    await until(lambda: "one two" in room.editor.chat_texts[1])
    assert room.editor.returned == []


async def test_the_first_connection_is_tried_again_too_f4(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("companion.chats.connection.BACKOFF", (0.05,))
    url = room.daemon.address.url
    room.configure(url="http://127.0.0.1:9")
    room.chats.open(CHAT, WINDOW, room.folder)
    assert "No daemon answers at http://127.0.0.1:9." in (await room.state("waiting")).message
    # It is read at the next try.
    room.configure(url=url)
    await room.live()


# The settings


async def test_switching_it_off_ends_the_chat_and_says_so(room: Room) -> None:
    """Nothing is sent any more; what was written comes back."""
    stream = await room.opened()
    stream.say(1, "Before")
    await until(lambda: room.render.session)
    room.configure(enabled=False)
    assert (await room.state("lost")).message.startswith("The chat is off. Set “chat_enabled”")
    await room.asked("POST /session/s/detach")
    assert "Before" in room.editor.chat_texts[1]
    room.chats.send(CHAT, Draft("mine"))
    await until(lambda: room.editor.returned)
    assert prompts(room) == []
    room.configure()
    await room.live()
    assert len(room.daemon.asked("POST /session/s/load")) == 1
    assert room.render.session == "s"


async def test_reconnect_counts_while_the_stream_is_tried_again(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """It starts over with the settings of now, although something is being tried already."""
    monkeypatch.setattr("companion.chats.connection.BACKOFF", (0.05,))
    stream = await room.opened()
    stream.say(1, "one ")
    await until(lambda: room.render.session)

    def refuse(_: Request) -> tuple[int, Any]:
        if room.connection.state == "connecting":
            del room.daemon.routes["GET /events"]
            room.configure(token="another")
            room.chats[CHAT].reconnect()
        return 503, {"error": "booting"}

    room.daemon.routes["GET /events"] = refuse
    stream.cut()
    await room.live()
    assert room.daemon.requests[-1].headers["authorization"] == "Bearer another"


async def test_reconnect_takes_the_settings_as_they_are_and_resumes_the_session(room: Room) -> None:
    stream = await room.opened()
    stream.say(1, "one ")
    await until(lambda: room.render.session)
    room.configure(token="another")
    await asyncio.sleep(0.05)
    assert room.connection.state == "live"
    assert len(room.daemon.asked("GET /capabilities")) == 1
    room.chats[CHAT].reconnect()
    stream = await room.live()
    assert room.daemon.requests[-1].headers["authorization"] == "Bearer another"
    stream.say(2, "two")
    await until(lambda: "one two" in room.editor.chat_texts[1])
    assert room.daemon.asked("POST /session/s/detach") == []
    assert len(room.daemon.asked("POST /session")) == 1


# Showing


async def test_a_frame_that_cant_be_shown_is_made_anew(room: Room, stormy: pytest.LogCaptureFixture) -> None:
    stream = await room.opened()
    room.editor.chat_fails = [RecursionError]
    stream.say(1, "All of it")
    await until(lambda: "All of it" in room.editor.chat_texts[1])
    assert room.render.replaces_all
    assert room.connection.state == "live"
    stream.say(2, " and more")
    await until(lambda: "All of it and more" in room.editor.chat_texts[1])


async def test_a_chat_that_cant_be_shown_says_so_and_goes_on_at_a_reconnect(
    room: Room, stormy: pytest.LogCaptureFixture
) -> None:
    stream = await room.opened()
    room.editor.chat_fails = [RecursionError, RecursionError]
    stream.say(1, "All ")
    why = "The chat could not be shown (RecursionError)."
    assert (await room.state("lost")).message.startswith(f"{why} Reconnect")
    assert room.editor.said == [(why, 1)]
    room.chats[CHAT].reconnect()
    stream = await room.live()
    stream.say(2, "of it")
    await until(lambda: "All of it" in room.editor.chat_texts[1])


async def test_a_chat_that_can_never_be_shown_is_not_tried_for_ever(
    room: Room, stormy: pytest.LogCaptureFixture
) -> None:
    await room.opened()
    room.editor.chat_fails = [RecursionError] * 1000
    room.chats[CHAT].reconnect()
    await until(lambda: room.editor.said)
    await asyncio.sleep(0.5)
    assert len(room.editor.chat_fails) > 980
    room.editor.chat_fails.clear()
    room.chats[CHAT].reconnect()
    await room.live()


async def test_a_question_whose_diff_fails_stops_nothing(
    room: Room, monkeypatch: pytest.MonkeyPatch, stormy: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError

    stream = await room.opened()
    monkeypatch.setattr(room.chats[CHAT].approvals, "update", fail)
    stream.say(1, "All of it")
    await until(lambda: "All of it" in room.editor.chat_texts[1])


async def test_an_event_that_cant_be_taken_has_the_conversation_read_anew(
    room: Room, monkeypatch: pytest.MonkeyPatch, stormy: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("companion.chats.connection.BACKOFF", (0.01,))
    apply = Conversation.apply
    fails = [True]

    def applied(conversation: Conversation, render: Any) -> bool:
        if render.id == 2 and fails:
            fails.pop()
            raise RecursionError
        return apply(conversation, render)

    monkeypatch.setattr(Conversation, "apply", applied)
    stream = await room.opened()
    stream.say(1, "one")
    stream.say(2, "two")
    stream = await room.live()
    assert len(room.daemon.asked("POST /session/s/load")) == 1
    fails.append(True)
    stream.say(1, "one")
    stream.say(2, "two")
    assert (await room.state("lost")).message.startswith("The chat could not be read (RecursionError). Reconnect")
    room.chats[CHAT].reconnect()
    await room.live()


@pytest.mark.parametrize("depth", [200, 30_000])
async def test_arguments_that_are_nested_deeply_harm_nothing(room: Room, depth: int) -> None:
    """A model may write them."""
    stream = await room.opened()
    deep = "[" * depth + "]" * depth
    for number, kind in ((1, "tool_call"), (2, "tool_call_update")):
        update = f'{{"sessionUpdate": "{kind}", "toolCallId": "t", "title": "Deep", "rawInput": {{"x": {deep}}}}}'
        data = f'{{"type": "session_update", "id": {number}, "promptId": "p", "data": {{"update": {update}}}}}'
        stream.raw(f"id: {number}\ndata: {data}\n\n")
    stream.say(3, "Still here.")
    await until(lambda: "Still here." in room.editor.chat_texts[1])
    assert ("nested too deeply" in room.editor.chat_texts[1]) or depth > 1000
    assert room.connection.state == "live"


async def test_the_text_of_a_long_conversation_is_made_beside_the_loop(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    """3,000 turns held the loop up for 2.2 s."""
    monkeypatch.setattr(chat, "MANY", 2)
    threads: list[bool] = []
    update = chat.Transcript.update

    def watched(*arguments: Any) -> Any:
        threads.append(threading.current_thread() is threading.main_thread())
        return update(*arguments)

    monkeypatch.setattr(chat.Transcript, "update", watched)
    stream = await room.opened()
    assert all(threads)
    for number in range(1, 10):
        stream.say(number, f"answer {number}", f"p{number}")
    await until(lambda: "answer 9" in room.editor.chat_texts[1])
    assert not all(threads)


async def test_a_busy_editor_gets_the_whole_text_anew(room: Room) -> None:
    stream = await room.opened()
    room.editor.chat_fails = [TimeoutError, TimeoutError]
    stream.say(1, "All of it")
    await until(lambda: "All of it" in room.editor.chat_texts[1])
    assert room.render.replaces_all


async def test_a_view_that_is_gone_closes_the_chat(room: Room) -> None:
    stream = await room.opened()
    room.editor.has_chat = False
    stream.say(1, "Nobody reads this")
    stream.send("turn_complete", 2, "p", promptId="p", stopReason="end_turn")
    await room.asked("POST /session/s/detach")
    room.editor.has_chat = True
    await room.opened()
    assert len(room.daemon.asked("POST /session/s/load")) == 1


async def test_a_view_that_comes_back_while_the_last_turn_runs_goes_on_with_it(room: Room) -> None:
    stream = await room.opened()
    room.editor.has_chat = False
    stream.say(1, "Nobody reads this")
    await until(lambda: room.chats[CHAT]._seeing_out)
    room.editor.has_chat = True
    stream = await room.opened()
    stream.say(1, "Nobody reads this. ")
    stream.say(2, "This is read.")
    await until(lambda: "Nobody reads this. This is read." in room.editor.chat_texts.get(1, ""))
    assert room.chats[CHAT]._seeing_out is None


async def test_opening_it_again_draws_it_anew(room: Room) -> None:
    stream = await room.opened()
    stream.say(1, "Once")
    await until(lambda: room.render.session)
    count = len(room.editor.renders[1])
    room.chats.open(CHAT, WINDOW, room.folder)
    room.chats.open(CHAT, WINDOW, room.folder, "s")
    room.chats.show(CHAT, "s")
    await until(lambda: len(room.editor.renders[1]) > count and room.render.replaces_all)
    assert "Once" in room.editor.chat_texts[1]
    assert len(room.daemon.asked("GET /capabilities")) == 1


async def test_closing_it_takes_leave_and_leaves_nothing_running(room: Room) -> None:
    await room.opened()
    room.chats.close(CHAT)
    await room.asked("POST /session/s/detach")
    await until(lambda: not room.chats._ending)
    room.chats.window_closed(WINDOW)
    room.chats.window_closed(WINDOW)
    room.chats.close(CHAT)
    await until(lambda: not room.chats._ending)
