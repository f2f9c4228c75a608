"""A window's chat: connecting, showing, sending, and what the person does."""

from __future__ import annotations

import asyncio
import base64
import logging
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from companion.backends.daemon import transport
from companion.backends.daemon.process import launch
from companion.chat import chat as chat_module
from companion.chat import chats as chats_module
from companion.chat import mentions, outbox, renderer
from companion.chat.prompt import Draft, Excerpt
from companion.conversation.conversation import Conversation
from companion.conversation.failures import ChatError
from companion.ids import ChatId, ViewId

from ..fake_daemon import FEATURES, TOKEN, FakeDaemon, Request, Stream, faked, until
from .chatting import CHAT, WINDOW, Room, chatting, real

MID_TURN = "session_mid_turn_message_mutation"


def attached(project: Path, test: Callable[[Room], Any], **settings: Any) -> None:
    """Run a test in a room."""

    async def whole(daemon: FakeDaemon) -> None:
        async with chatting(daemon, str(project), **settings) as room:
            await test(room)

    faked(whole)


def prompts(room: Room) -> list[list[dict[str, Any]]]:
    return [request.body["prompt"] for request in room.daemon.asked("POST /session/s/prompt")]


# Connecting


def test_it_is_off_until_the_person_wants_it_f1(project: Path):
    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        assert (await room.state("lost")).message.startswith("The chat is off. Set “daemon.enabled”")
        assert room.daemon.requests == []
        room.configure()
        room.chats.reconnect(CHAT)
        await room.live()

    attached(project, test, enabled=False)


def test_it_shows_how_it_connects_from_the_first_moment_and_then_what_is_said_f2(project: Path):
    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        stream = await room.live()
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
        await until(lambda: "Hello there" in room.editor.chats[1])
        assert room.render.session == "s"

    attached(project, test)


def test_a_session_is_resumed_by_its_id(project: Path):
    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder, "s")
        await room.live()
        assert len(room.daemon.asked("POST /session/s/load")) == 1
        assert [request.route for request in room.daemon.asked("POST /session")] == ["/session/s/load"]

    attached(project, test)


def test_the_environment_names_a_daemon_too_f1(project: Path, monkeypatch: pytest.MonkeyPatch):
    async def test(room: Room) -> None:
        monkeypatch.setenv("QWEN_IDE_DAEMON_URL", room.daemon.address.url)
        monkeypatch.setenv("QWEN_SERVER_TOKEN", "from-the-environment")
        room.configure(url="", token="")
        room.chats.open(CHAT, WINDOW, room.folder)
        await room.live()
        assert room.daemon.requests[0].headers["authorization"] == "Bearer from-the-environment"

    attached(project, test)


def test_without_an_address_and_not_managed_it_is_the_usual_one_f1(project: Path, monkeypatch: pytest.MonkeyPatch):
    async def test(room: Room) -> None:
        monkeypatch.setattr("companion.backends.daemon.address.DEFAULT_URL", room.daemon.address.url)
        room.configure(url="", managed=False)
        room.chats.open(CHAT, WINDOW, room.folder)
        await room.live()

    attached(project, test)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((401, {"error": "Unauthorized"}), "The daemon refuses the token. Set the token"),
        ((403, {"error": "Invalid Host header"}), "The daemon refuses the request: Invalid Host header."),
        ((404, b"<html>Cannot GET</html>"), "is not `qwen serve`"),
        ((200, {"features": [], "workspaceCwd": "/elsewhere", "workspaces": [{"cwd": "/elsewhere"}]}), "can't do that"),
    ],
)
def test_what_is_wrong_is_shown_with_what_to_do_and_tried_again(project: Path, answer: Any, words: str):
    async def test(room: Room) -> None:
        right = room.daemon.routes["GET /capabilities"]
        room.daemon.routes["GET /capabilities"] = answer
        room.chats.open(CHAT, WINDOW, room.folder)
        assert words in (await room.state("lost")).message
        room.daemon.routes["GET /capabilities"] = right
        room.chats.reconnect(CHAT)
        await room.live()

    attached(project, test)


def test_a_daemon_of_another_folder_is_refused_and_one_by_another_name_is_not(project: Path, tmp_path: Path):
    async def test(room: Room) -> None:
        other = tmp_path / "other"
        other.mkdir()
        room.chats.open(CHAT, WINDOW, str(other))
        assert "not in" in (await room.state("lost")).message
        link = tmp_path / "link"
        link.symlink_to(project)
        room.chats.open(CHAT, WINDOW, str(link))
        await room.live()

    attached(project, test)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("ftp://x", "must begin with http"),
        ("http://me:secret@x", "must not hold a name or a password"),
    ],
)
def test_an_address_that_cant_be_used_is_told(project: Path, url: str, words: str):
    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        message = (await room.state("lost")).message
        assert words in message
        assert "secret" not in message

    attached(project, test, url=url)


def test_a_connection_that_breaks_is_taken_up_again_without_a_word_lost_f4(project: Path):
    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        stream = await room.live()
        stream.say(1, "one ")
        await until(lambda: "one" in room.editor.chats[1])
        stream.cut()
        stream = await room.live()
        stream.say(2, "two")
        await until(lambda: "one two" in room.editor.chats[1])

    attached(project, test)


def test_reconnect_goes_all_the_way_after_the_session_has_ended(project: Path):
    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        stream = await room.live()
        stream.say(1, "one ")
        await until(lambda: room.render.session)
        stream.send("session_closed", 2, reason="client_close", closedBy="another")
        assert "Another client has closed" in (await room.state("ended")).message
        room.chats.reconnect(CHAT)
        await room.live()
        assert len(room.daemon.asked("GET /capabilities")) == 2
        assert len(room.daemon.asked("POST /session/s/load")) == 1

    attached(project, test)


def test_a_daemon_that_is_away_is_tried_again_whatever_the_person_does_f4(
    project: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("companion.chat.connection.BACKOFF", (0.05,))

    async def test(room: Room) -> None:
        right = room.daemon.routes["GET /capabilities"]
        room.chats.open(CHAT, WINDOW, room.folder)
        stream = await room.live()
        stream.say(1, "one ")
        await until(lambda: room.render.session)
        for away, act in (
            (None, lambda: room.chats.reconnect(CHAT)),
            ((503, {"error": "booting"}), lambda: room.chats.send(CHAT, Draft("later"))),
        ):
            room.daemon.routes["GET /capabilities"] = room.daemon.routes["GET /events"] = away
            stream.cut()
            await room.state("waiting")
            before = len(room.daemon.asked("GET /capabilities"))
            act()
            await until(lambda count=before: len(room.daemon.asked("GET /capabilities")) > count + 2)
            assert (await room.state("waiting")).retry_in == 0.05
            room.daemon.routes["GET /capabilities"] = right
            del room.daemon.routes["GET /events"]
            stream = await room.live()
        await room.asked("POST /session/s/prompt")
        stream.say(2, "two")
        await until(lambda: "one two" in room.editor.chats[1])
        assert room.editor.returned == []

    attached(project, test)


def test_the_first_connection_is_tried_again_too_f4(project: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("companion.chat.connection.BACKOFF", (0.05,))

    async def test(room: Room) -> None:
        url = room.daemon.address.url
        room.configure(url="http://127.0.0.1:9")
        room.chats.open(CHAT, WINDOW, room.folder)
        assert "No daemon answers at http://127.0.0.1:9." in (await room.state("waiting")).message
        # It is read at the next try.
        room.configure(url=url)
        await room.live()

    attached(project, test)


# The settings


def test_switching_it_off_ends_the_chat_and_says_so(project: Path):
    """Nothing is sent any more; what was written comes back."""

    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        stream = await room.live()
        stream.say(1, "Before")
        await until(lambda: room.render.session)
        room.configure(enabled=False)
        assert (await room.state("lost")).message.startswith("The chat is off. Set “daemon.enabled”")
        await room.asked("POST /session/s/detach")
        assert "Before" in room.editor.chats[1]
        room.chats.send(CHAT, Draft("mine"))
        await until(lambda: room.editor.returned)
        assert prompts(room) == []
        room.configure()
        await room.live()
        assert len(room.daemon.asked("POST /session/s/load")) == 1
        assert room.render.session == "s"

    attached(project, test)


def test_reconnect_counts_while_the_stream_is_tried_again(project: Path, monkeypatch: pytest.MonkeyPatch):
    """It starts over with the settings of now, although something is being tried already."""
    monkeypatch.setattr("companion.chat.connection.BACKOFF", (0.05,))

    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        stream = await room.live()
        stream.say(1, "one ")
        await until(lambda: room.render.session)

        def refuse(_: Request) -> tuple[int, Any]:
            if room.connection.state == "connecting":
                del room.daemon.routes["GET /events"]
                room.configure(token="another")
                room.chats.reconnect(CHAT)
            return 503, {"error": "booting"}

        room.daemon.routes["GET /events"] = refuse
        stream.cut()
        await room.live()
        assert room.daemon.requests[-1].headers["authorization"] == "Bearer another"

    attached(project, test)


def test_reconnect_takes_the_settings_as_they_are_and_resumes_the_session(project: Path):
    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        stream = await room.live()
        stream.say(1, "one ")
        await until(lambda: room.render.session)
        room.configure(token="another")
        await asyncio.sleep(0.05)
        assert room.connection.state == "live"
        assert len(room.daemon.asked("GET /capabilities")) == 1
        room.chats.reconnect(CHAT)
        stream = await room.live()
        assert room.daemon.requests[-1].headers["authorization"] == "Bearer another"
        stream.say(2, "two")
        await until(lambda: "one two" in room.editor.chats[1])
        assert room.daemon.asked("POST /session/s/detach") == []
        assert len(room.daemon.asked("POST /session")) == 1

    attached(project, test)


# Showing


def test_a_frame_that_cant_be_shown_is_made_anew(project: Path, stormy: pytest.LogCaptureFixture):
    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        stream = await room.live()
        room.editor.chat_fails = [RecursionError]
        stream.say(1, "All of it")
        await until(lambda: "All of it" in room.editor.chats[1])
        assert room.render.replaces_all
        assert room.connection.state == "live"
        stream.say(2, " and more")
        await until(lambda: "All of it and more" in room.editor.chats[1])

    attached(project, test)


def test_a_chat_that_cant_be_shown_says_so_and_goes_on_at_a_reconnect(project: Path, stormy: pytest.LogCaptureFixture):
    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        stream = await room.live()
        room.editor.chat_fails = [RecursionError, RecursionError]
        stream.say(1, "All ")
        why = "The chat could not be shown (RecursionError)."
        assert (await room.state("lost")).message.startswith(f"{why} Reconnect")
        assert room.editor.said == [(why, 1)]
        room.chats.reconnect(CHAT)
        stream = await room.live()
        stream.say(2, "of it")
        await until(lambda: "All of it" in room.editor.chats[1])

    attached(project, test)


def test_a_chat_that_can_never_be_shown_is_not_tried_for_ever(project: Path, stormy: pytest.LogCaptureFixture):
    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        await room.live()
        room.editor.chat_fails = [RecursionError] * 1000
        room.chats.reconnect(CHAT)
        await until(lambda: room.editor.said)
        await asyncio.sleep(0.5)
        assert len(room.editor.chat_fails) > 980
        room.editor.chat_fails.clear()
        room.chats.reconnect(CHAT)
        await room.live()

    attached(project, test)


def test_a_question_whose_diff_fails_stops_nothing(
    project: Path, monkeypatch: pytest.MonkeyPatch, stormy: pytest.LogCaptureFixture
):
    def fail(*_: object) -> None:
        raise RuntimeError

    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        stream = await room.live()
        monkeypatch.setattr(room.chats._registry[CHAT]._approvals, "update", fail)
        stream.say(1, "All of it")
        await until(lambda: "All of it" in room.editor.chats[1])

    attached(project, test)


def test_an_event_that_cant_be_taken_has_the_conversation_read_anew(
    project: Path, monkeypatch: pytest.MonkeyPatch, stormy: pytest.LogCaptureFixture
):
    monkeypatch.setattr("companion.chat.connection.BACKOFF", (0.01,))
    apply = Conversation.apply
    fails = [True]

    def applied(conversation: Conversation, render: Any) -> bool:
        if render.id == 2 and fails:
            fails.pop()
            raise RecursionError
        return apply(conversation, render)

    monkeypatch.setattr(Conversation, "apply", applied)

    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        stream = await room.live()
        stream.say(1, "one")
        stream.say(2, "two")
        stream = await room.live()
        assert len(room.daemon.asked("POST /session/s/load")) == 1
        fails.append(True)
        stream.say(1, "one")
        stream.say(2, "two")
        assert (await room.state("lost")).message.startswith("The chat could not be read (RecursionError). Reconnect")
        room.chats.reconnect(CHAT)
        await room.live()

    attached(project, test)


@pytest.mark.parametrize("depth", [200, 30_000])
def test_arguments_that_are_nested_deeply_harm_nothing(project: Path, depth: int):
    """A model may write them."""

    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        stream = await room.live()
        deep = "[" * depth + "]" * depth
        for number, kind in ((1, "tool_call"), (2, "tool_call_update")):
            update = f'{{"sessionUpdate": "{kind}", "toolCallId": "t", "title": "Deep", "rawInput": {{"x": {deep}}}}}'
            data = f'{{"type": "session_update", "id": {number}, "promptId": "p", "data": {{"update": {update}}}}}'
            stream.raw(f"id: {number}\ndata: {data}\n\n")
        stream.say(3, "Still here.")
        await until(lambda: "Still here." in room.editor.chats[1])
        assert ("nested too deeply" in room.editor.chats[1]) or depth > 1000
        assert room.connection.state == "live"

    attached(project, test)


def test_the_text_of_a_long_conversation_is_made_beside_the_loop(project: Path, monkeypatch: pytest.MonkeyPatch):
    """3,000 turns held the loop up for 2.2 s."""
    monkeypatch.setattr(renderer, "MANY", 2)
    threads: list[bool] = []
    update = renderer.Transcript.update

    def watched(*arguments: Any) -> Any:
        threads.append(threading.current_thread() is threading.main_thread())
        return update(*arguments)

    monkeypatch.setattr(renderer.Transcript, "update", watched)

    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        stream = await room.live()
        assert all(threads)
        for number in range(1, 10):
            stream.say(number, f"answer {number}", f"p{number}")
        await until(lambda: "answer 9" in room.editor.chats[1])
        assert not all(threads)

    attached(project, test)


def test_a_busy_editor_gets_the_whole_text_anew(project: Path):
    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        stream = await room.live()
        room.editor.chat_fails = [TimeoutError, TimeoutError]
        stream.say(1, "All of it")
        await until(lambda: "All of it" in room.editor.chats[1])
        assert room.render.replaces_all

    attached(project, test)


def test_a_view_that_is_gone_closes_the_chat(project: Path):
    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        stream = await room.live()
        room.editor.has_chat = False
        stream.say(1, "Nobody reads this")
        await room.asked("POST /session/s/detach")
        room.editor.has_chat = True
        room.chats.open(CHAT, WINDOW, room.folder)
        await room.live()
        assert len(room.daemon.asked("POST /session/s/load")) == 1

    attached(project, test)


def test_opening_it_again_draws_it_anew(project: Path):
    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        stream = await room.live()
        stream.say(1, "Once")
        await until(lambda: room.render.session)
        count = len(room.editor.renders[1])
        room.chats.open(CHAT, WINDOW, room.folder)
        room.chats.open(CHAT, WINDOW, room.folder, "s")
        room.chats.sessions.resume(CHAT, "s")
        await until(lambda: len(room.editor.renders[1]) > count and room.render.replaces_all)
        assert "Once" in room.editor.chats[1]
        assert len(room.daemon.asked("GET /capabilities")) == 1

    attached(project, test)


def test_closing_it_takes_leave_and_leaves_nothing_running(project: Path):
    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        await room.live()
        room.chats.close(CHAT)
        await room.asked("POST /session/s/detach")
        await until(lambda: not room.chats._ending)
        room.chats.window_closed(WINDOW)
        room.chats.window_closed(WINDOW)
        room.chats.close(CHAT)
        await until(lambda: not room.chats._ending)

    attached(project, test)


# Sending


def test_a_prompt_goes_out_as_soon_as_the_chat_is_connected_and_in_order(project: Path):
    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        room.chats.send(CHAT, Draft("first"))
        room.chats.send(CHAT, Draft("second"))
        await room.asked("POST /session/s/prompt", 2)
        assert prompts(room) == [[{"type": "text", "text": "first"}], [{"type": "text", "text": "second"}]]
        assert room.editor.returned == []

    attached(project, test)


def stat(*files: str) -> Callable[[Request], Any]:
    from urllib.parse import parse_qs, urlsplit  # noqa: PLC0415

    def answer(request: Request) -> Any:
        [path] = parse_qs(urlsplit(request.route).query)["path"]
        kind = "directory" if path == "src" else "file"
        return (200, {"type": kind}) if path in {*files, "src"} else (404, {"error": "ENOENT"})

    return answer


def test_mentions_become_files_where_the_daemon_has_them(project: Path):
    (project / "pic.PNG").write_bytes(b"\x89PNG")
    (project / "b.gif").write_bytes(b"GIF")

    async def test(room: Room) -> None:
        room.daemon.routes["GET /stat"] = stat("a.py", "my file.txt", "pic.PNG", "buffer.py", "/abs/x")
        room.chats.open(CHAT, WINDOW, room.folder)
        text = "See @a.py, @my\\ file.txt (@missing) and @src me@a.py @pic.PNG\n@buffer.py. @new.py @/abs/x"
        unsaved = {str(project / "buffer.py"): "unsaved", str(project / "new.py"): "new", str(project / "z"): "no"}
        excerpt = Excerpt("file:///e.py", "e.py:1-2", "two lines")
        room.chats.send(CHAT, Draft(text, (excerpt,), (str(project / "b.gif"),), unsaved))
        await room.asked("POST /session/s/prompt")
        folder = real(project)

        def resource(path: str, text: str) -> dict[str, Any]:
            return {"type": "resource", "resource": {"uri": f"file://{path}", "text": text, "mimeType": "text/plain"}}

        assert prompts(room) == [
            [
                {"type": "text", "text": "See "},
                {"type": "resource_link", "uri": f"file://{folder}/a.py", "name": "a.py"},
                {"type": "text", "text": ", "},
                {"type": "resource_link", "uri": f"file://{folder}/my file.txt", "name": "my file.txt"},
                {"type": "text", "text": " (@missing) and @src me@a.py "},
                {"type": "image", "mimeType": "image/png", "data": base64.b64encode(b"\x89PNG").decode()},
                {"type": "text", "text": "\n"},
                resource(f"{folder}/buffer.py", "unsaved"),
                {"type": "text", "text": ". "},
                resource(f"{folder}/new.py", "new"),
                {"type": "text", "text": " "},
                {"type": "resource_link", "uri": "file:///abs/x", "name": "x"},
                resource("/e.py", "two lines"),
                {"type": "image", "mimeType": "image/gif", "data": base64.b64encode(b"GIF").decode()},
            ]
        ]

    attached(project, test)


def test_mentions_in_a_text_without_blanks_become_files(project: Path):

    async def test(room: Room) -> None:
        room.daemon.routes["GET /stat"] = stat("a.py", "b.py")
        room.chats.open(CHAT, WINDOW, room.folder)
        room.chats.send(CHAT, Draft("看@a.py、@b.py吧"))
        await room.asked("POST /session/s/prompt")
        [blocks] = prompts(room)
        assert [each.get("text") or each["name"] for each in blocks] == ["看", "a.py", "、", "b.py", "吧"]

    attached(project, test)


def test_a_path_on_another_system_is_joined_as_it_does():
    place = outbox.ChatFolder("/here", r"C:\work", is_local=False)
    assert place.path_there("a/b.py") == r"C:\work\a/b.py"
    assert place.path_there(r"D:\x") == r"D:\x"


@pytest.mark.parametrize(
    ("draft", "why"),
    [
        (Draft("x", pictures=("missing.png",)), "missing.png can't be read: No such file or directory."),
        (Draft("x", pictures=("notes.txt",)), "notes.txt is no picture that can be sent."),
        (Draft("x", pictures=("large.webp",)), "large.webp is larger than 8 MB."),
        (Draft(" \n"), "There is nothing to send."),
        (Draft("x" * 200), "This has 0.0 MB, and the daemon takes at most 10. Send less at once."),
    ],
)
def test_what_cant_be_sent_comes_back(project: Path, monkeypatch: pytest.MonkeyPatch, draft: Draft, why: str):
    monkeypatch.setattr(outbox, "MAX_PICTURE", 3)
    monkeypatch.setattr(transport, "MAX_BODY", 200)
    monkeypatch.chdir(project)
    (project / "large.webp").write_bytes(b"RIFF")

    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        room.chats.send(CHAT, draft)
        [(window, returned, said)] = await until(lambda: room.editor.returned)
        assert (window, returned) == (1, draft)
        assert said.startswith(why)
        assert prompts(room) == []

    attached(project, test)


def test_a_daemon_that_is_perhaps_elsewhere_is_believed_to_be_here_once_the_person_says_so(project: Path):
    """Until then no file of this computer is used for its diffs and links."""

    async def test(daemon: FakeDaemon) -> None:
        async with chatting(daemon, str(project), is_here=False) as room:
            room.chats.open(CHAT, WINDOW, room.folder)
            await room.live()
            where = room.render.locality
            assert (where.is_local, where.is_known) == (False, False)
            assert f"at 127.0.0.1:{daemon.port}, perhaps elsewhere" in room.editor.chats[1]
            assert not room.chats._registry[CHAT].is_local
            room.chats.confirm_here(CHAT)
            await until(lambda: room.render.locality.is_local)
            assert "on this computer" in room.editor.chats[1]
            left = await room.chats.stop(hand_over=True)
            assert left[1]["here"] == [daemon.address.url]

    faked(test)


def echo(stream: Stream, number: int, text: str, prompt: str = "p") -> None:
    """The daemon says what it was asked."""
    content = {"type": "text", "text": text}
    stream.send("session_update", number, prompt, update={"sessionUpdate": "user_message_chunk", "content": content})


@pytest.mark.parametrize("where", ["running", "queued", "over", "nowhere"])
@pytest.mark.parametrize(
    "answer",
    [None, (504, b"<html>"), (502, {"error": "x"}), (500, {"error": "x"}), (200, b"<html>"), (202, {}), (204, None)],
)
def test_a_prompt_whose_answer_is_lost_is_looked_for_and_never_sent_twice(
    project: Path, monkeypatch: pytest.MonkeyPatch, where: str, answer: Any
):
    """The daemon has it and runs it, but the answer to the request is lost, perhaps in a proxy."""
    monkeypatch.setattr(outbox, "ARRIVAL_LIMIT", 0.2)

    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        stream = await room.live()
        pending = {"promptId": "p9", "text": "mine", "state": where, "originatorClientId": "c"}

        def lose(request: Request) -> Any:
            if where == "over":
                echo(stream, 1, "mine", "p9")
                stream.send("turn_complete", 2, "p9", stopReason="end_turn")
            elif where != "nowhere":
                room.daemon.routes["GET /session/s/pending-prompts"] = 200, {"pendingPrompts": [pending]}
            return answer

        room.daemon.routes["POST /session/s/prompt"] = lose
        room.chats.send(CHAT, Draft("mine"))
        if where == "nowhere":
            await until(lambda: room.editor.returned)
            assert room.editor.returned[0][1] == Draft("mine")
        else:
            if where != "over":
                await until(lambda: [unsent.state for unsent in room.render.unsent] == ["sent"])
                echo(stream, 1, "mine", "p9")
            await until(lambda: not room.render.unsent and not room.chats._registry[CHAT].outbox._waiting)
            assert room.editor.returned == []
        assert len(prompts(room)) == 1

    attached(project, test)


def test_a_prompt_that_was_sent_before_is_not_taken_for_the_one_that_is_lost(
    project: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(outbox, "ARRIVAL_LIMIT", 0.2)

    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        stream = await room.live()
        room.chats.send(CHAT, Draft("again"))
        await room.asked("POST /session/s/prompt")
        echo(stream, 1, "again")
        await until(lambda: not room.render.unsent)
        room.daemon.routes["POST /session/s/prompt"] = None
        room.chats.send(CHAT, Draft("again"))
        await until(lambda: room.editor.returned)

    attached(project, test)


@pytest.mark.parametrize("text", ["theirs", "mine too"])
def test_a_prompt_of_another_client_is_not_taken_for_the_one_that_is_lost(
    project: Path, monkeypatch: pytest.MonkeyPatch, text: str
):
    monkeypatch.setattr(outbox, "ARRIVAL_LIMIT", 0.2)

    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        await room.live()
        pending = {"promptId": "p9", "text": text, "state": "running", "originatorClientId": "other"}

        def lose(_: Request) -> None:
            room.daemon.routes["GET /session/s/pending-prompts"] = 200, {"pendingPrompts": [pending]}

        room.daemon.routes["POST /session/s/prompt"] = lose
        room.chats.send(CHAT, Draft("mine"))
        await until(lambda: room.editor.returned)
        assert room.editor.returned[0][1] == Draft("mine")

    attached(project, test)


def test_a_prompt_is_on_the_screen_with_its_state_until_the_daemon_echoes_it(project: Path):
    """44 s were seen between the two."""

    async def test(room: Room) -> None:
        room.daemon.routes["GET /events"] = 429, {"error": "busy"}
        room.chats.open(CHAT, WINDOW, room.folder)
        await room.state("waiting")
        room.chats.send(CHAT, Draft("mine"))
        await until(lambda: "❯\u00a0You\nmine\n◌\u00a0Waiting for the connection …" in room.editor.chats[1])
        del room.daemon.routes["GET /events"]
        room.chats.reconnect(CHAT)
        stream = await room.live()
        await until(lambda: "❯\u00a0You\nmine\n◌\u00a0Sent …" in room.editor.chats[1])
        echo(stream, 1, "mine")
        await until(lambda: "Sent" not in room.editor.chats[1])
        assert room.editor.chats[1].count("❯\u00a0You\nmine\n") == 1
        room.daemon.routes["POST /session/s/prompt"] = 202, {"promptId": "p2"}
        room.chats.send(CHAT, Draft("/help"))
        await until(lambda: "\n/help\n◌\u00a0Sent" in room.editor.chats[1])
        stream.send("turn_complete", 2, "p2", stopReason="end_turn")  # a command without an echo
        await until(lambda: "\n/help\n" not in room.editor.chats[1])

    attached(project, test)


def test_a_prompt_that_waited_for_a_daemon_that_was_killed_comes_back(project: Path):
    """The queue goes with the daemon."""

    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        stream = await room.live()
        room.chats.send(CHAT, Draft("mine"))
        await until(lambda: [unsent.state for unsent in room.render.unsent] == ["sent"])
        prompt = room.chats._registry[CHAT].outbox._waiting["1"].prompt
        stream.send("pending_prompt_added", 1, promptId=prompt, text="mine")
        await until(lambda: room.render.status.queue and not room.render.unsent)
        assert room.editor.returned == []
        stream.send("state_resync_required", reason="epoch_reset")
        await until(lambda: room.editor.returned)
        assert room.editor.returned[0][1:] == (Draft("mine"), "The daemon has ended before it began this.")

    attached(project, test)


def test_a_prompt_that_a_daemon_took_and_lost_comes_back(project: Path):
    """The daemon was killed between its answer and the turn."""

    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        stream = await room.live()
        room.chats.send(CHAT, Draft("mine"))
        await until(lambda: [unsent.state for unsent in room.render.unsent] == ["sent"])
        stream.send("state_resync_required", reason="epoch_reset")
        await until(lambda: room.editor.returned)
        assert room.editor.returned[0][1:] == (Draft("mine"), "The daemon has ended before it began this.")
        assert room.render.unsent == ()

    attached(project, test)


@pytest.mark.parametrize(
    "answer", [(200, {"accepted": True, "promptId": "c"}), (200, {"accepted": False}), (404, b"<html>")]
)
def test_an_interrupted_turn_is_continued_in_words_where_the_daemon_cannot(project: Path, answer: Any):

    async def test(room: Room) -> None:
        room.daemon.routes["POST /session/s/continue"] = answer
        room.chats.open(CHAT, WINDOW, room.folder)
        await room.live()
        room.chats.history.continue_turn(CHAT)
        await room.asked("POST /session/s/continue")
        if answer[0] == 200 and answer[1]["accepted"]:
            await asyncio.sleep(0.05)
            assert prompts(room) == []
        else:
            assert await until(lambda: prompts(room)) == [[{"type": "text", "text": "Continue"}]]

    attached(project, test)


def test_prompts_go_out_in_the_order_in_which_they_were_written(project: Path):
    """The first one takes longer, because the daemon is asked for the file that it names."""

    async def test(room: Room) -> None:
        room.daemon.routes["GET /stat"] = 200, {"type": "file"}
        room.chats.open(CHAT, WINDOW, room.folder)
        await room.live()
        for text in ("@a.py one", "two", "three"):
            room.chats.send(CHAT, Draft(text))
        await room.asked("POST /session/s/prompt", 3)
        assert [sent[-1]["text"] for sent in prompts(room)] == [" one", "two", "three"]

    attached(project, test)


def test_what_is_being_sent_when_the_chat_closes_goes_out_no_more(project: Path):
    async def test(room: Room) -> None:
        room.daemon.routes["GET /events"] = 429, {"error": "busy"}
        room.chats.open(CHAT, WINDOW, room.folder)
        await room.state("waiting")
        room.chats.send(CHAT, Draft("mine"))
        room.chats.close(CHAT)
        del room.daemon.routes["GET /events"]
        room.chats.open(CHAT, WINDOW, room.folder)
        await room.live()
        await asyncio.sleep(0.05)
        assert prompts(room) == []

    attached(project, test)


def test_what_the_daemon_refuses_comes_back(project: Path):
    async def test(room: Room) -> None:
        refusal = {"error": "full", "code": "prompt_queue_full", "limit": 5}
        room.daemon.routes["POST /session/s/prompt"] = 503, refusal
        room.chats.open(CHAT, WINDOW, room.folder)
        draft = Draft("six", unsaved={"/x": "y"})
        room.chats.send(CHAT, draft)
        await until(lambda: room.editor.returned)
        why = "The queue is full: it takes 5, with the one that runs. Wait until one is through, or remove one."
        assert room.editor.returned == [(1, draft, why)]
        # It has not arrived for sure, so nobody looks for it.
        assert not room.daemon.asked("GET /session/s/pending-prompts")

    attached(project, test)


def test_a_daemon_that_doesnt_say_which_files_it_has_doesnt_hold_the_draft(
    project: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(outbox, "LOOK_UP_LIMIT", 0.0)

    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        room.chats.send(CHAT, Draft("@a.py"))
        await until(lambda: room.editor.returned)
        assert "which files it has" in room.editor.returned[0][2]

    attached(project, test)


def test_a_draft_for_a_chat_that_cant_connect_comes_back_with_the_reason(project: Path):
    async def test(room: Room) -> None:
        room.chats.send(CHAT, Draft("nobody there"))
        assert room.editor.returned == [
            (1, Draft("nobody there"), "The chat isn't connected. Wait until it is, or reconnect.")
        ]
        room.daemon.routes["GET /capabilities"] = 401, {"error": "Unauthorized"}
        room.chats.open(CHAT, WINDOW, room.folder)
        await room.state("lost")
        room.chats.send(CHAT, Draft("mine"))
        await until(lambda: len(room.editor.returned) == 2)
        assert room.editor.returned[1][1] == Draft("mine")
        assert room.editor.returned[1][2].startswith("The daemon refuses the token.")
        assert len(room.daemon.asked("GET /capabilities")) == 2  # it was tried again for it

    attached(project, test)


def test_a_draft_waits_only_so_long(project: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(chat_module, "SEND_LIMIT", 0.01)

    async def test(room: Room) -> None:
        async with asyncio.timeout(10):
            room.daemon.routes["GET /events"] = 429, {"error": "busy", "code": "subscriber_limit_exceeded"}
            room.chats.open(CHAT, WINDOW, room.folder)
            room.chats.send(CHAT, Draft("mine"))
            await until(lambda: room.editor.returned)
            assert "isn't connected" in room.editor.returned[0][2]

    attached(project, test)


def test_what_was_not_sent_is_kept_when_the_chat_is_closed_and_comes_back_for_another_conversation(project: Path):
    async def test(room: Room) -> None:
        room.daemon.routes["GET /events"] = 429, {"error": "busy"}
        room.chats.open(CHAT, WINDOW, room.folder)
        await room.state("waiting")
        room.chats.send(CHAT, Draft("one"))
        room.chats.begin(CHAT)
        assert room.editor.returned == [(1, Draft("one"), "The conversation has changed before this was sent.")]
        room.chats.send(CHAT, Draft("two"))
        room.chats.close(CHAT)
        [(_, _, text, why)] = room.editor.kept
        assert (text, why) == ("two", "The chat was closed before this was sent, so it is kept here.")

    attached(project, test)


@pytest.mark.parametrize(
    ("answer", "draft", "is_prompt"),
    [
        ((200, {"accepted": True, "messageId": "m"}), Draft("wait"), False),
        ((200, {"accepted": False, "reason": "session_idle"}), Draft("wait"), True),
        ((404, b"<html>"), Draft("wait"), True),
        ((200, {"accepted": True}), Draft("x" * (outbox.MAX_INJECTED + 1)), True),
        ((200, {"accepted": True}), Draft("with", (Excerpt("file:///e", "e", "text"),)), True),
    ],
)
def test_a_message_goes_into_the_turn_that_runs_else_it_is_a_prompt(
    project: Path, answer: Any, draft: Draft, is_prompt: bool
):
    async def test(room: Room) -> None:
        room.daemon.capabilities(real(project), features=[*FEATURES, MID_TURN])
        room.daemon.routes["POST /session/s/mid-turn-message"] = answer
        room.chats.open(CHAT, WINDOW, room.folder)
        room.chats.send(CHAT, draft, mid_turn=True)
        await room.asked("POST /session/s/prompt" if is_prompt else "POST /session/s/mid-turn-message")
        assert bool(prompts(room)) == is_prompt

    attached(project, test)


def test_a_prompt_that_waits_can_be_taken_back_whole(project: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(outbox, "MAX_REMEMBERED", 1)

    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        stream = await room.live()
        draft = Draft("mine", (Excerpt("file:///e", "e", "text"),))
        room.chats.send(CHAT, Draft("before"))
        await room.asked("POST /session/s/prompt")
        room.daemon.routes["POST /session/s/prompt"] = 202, {"promptId": "q"}
        room.chats.send(CHAT, draft)
        await room.asked("POST /session/s/prompt", 2)
        stream.send("pending_prompt_added", 1, "q", promptId="q", text="mine")
        stream.send("pending_prompt_added", 2, "other", promptId="other", text="another's")
        await until(lambda: len(room.render.status.queue) == 2)
        for prompt in ("q", "other"):
            room.daemon.routes[f"DELETE /session/s/pending-prompts/{prompt}"] = 200, {"removed": True}
            room.chats.dequeue(CHAT, prompt)
        await until(lambda: len(room.editor.returned) == 2)
        why = "It was removed from the queue."
        assert room.editor.returned == [(1, draft, why), (1, Draft("another's"), why)]
        room.daemon.routes["DELETE /session/s/pending-prompts/q"] = 200, {"removed": False}
        room.chats.dequeue(CHAT, "q")
        await until(lambda: room.editor.mentioned)
        assert len(room.editor.returned) == 2

    attached(project, test)


def test_a_message_for_the_turn_that_runs_can_be_taken_back(project: Path):
    """The queue has it, but another route removes it."""

    async def test(room: Room) -> None:
        room.daemon.capabilities(real(project), features=[*FEATURES, MID_TURN])
        room.daemon.routes |= {
            "POST /session/s/mid-turn-message": (200, {"accepted": True, "messageId": "m"}),
            "DELETE /session/s/pending-prompts/m": (200, {"removed": False}),
            "DELETE /session/s/mid-turn-messages/m": (200, {"removed": True}),
        }
        room.chats.open(CHAT, WINDOW, room.folder)
        stream = await room.live()
        draft = Draft("take me back", unsaved={"/x": "y"})
        room.chats.send(CHAT, draft, mid_turn=True)
        await room.asked("POST /session/s/mid-turn-message")
        stream.send("pending_prompt_added", 1, "m", promptId="m", text="take me back")
        await until(lambda: room.render.status.queue)
        room.chats.dequeue(CHAT, "m")
        await until(lambda: room.editor.returned)
        assert room.editor.returned == [(1, draft, "It was removed from the queue.")]

    attached(project, test)


def test_it_is_a_prompt_where_it_could_not_be_taken_back(project: Path):
    """Nothing is lost. 0.21.2 forgets a message that the turn has no more time for."""

    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        room.chats.send(CHAT, Draft("mine"), mid_turn=True)
        await room.asked("POST /session/s/prompt")
        assert room.daemon.asked("POST /session/s/mid-turn-message") == []

    attached(project, test)


def test_what_is_not_sent_yet_is_shown_and_can_be_taken_back(project: Path, monkeypatch: pytest.MonkeyPatch):
    """Before the chat is live."""
    monkeypatch.setattr(outbox, "QUICK", 0.0)

    async def test(room: Room) -> None:
        room.daemon.routes["GET /events"] = 429, {"error": "busy"}
        room.chats.open(CHAT, WINDOW, room.folder)
        await room.state("waiting")
        drafts = Draft("one"), Draft("one"), Draft("", (Excerpt("file:///e", "e:1-2", "text"),), ("/a/p.png",))
        for draft in drafts:
            room.chats.send(CHAT, draft)
        await until(lambda: len(room.render.unsent) == 3)
        assert [unsent.text for unsent in room.render.unsent] == ["one", "one", "e:1-2, p.png"]
        room.chats.unsend(CHAT, room.render.unsent[1].id)
        room.chats.unsend(CHAT, room.render.unsent[1].id)
        assert room.editor.returned == [(1, drafts[1], "It was taken back before it was sent.")]
        assert room.editor.mentioned == [("It has been sent already.", 1)]
        await until(lambda: len(room.render.unsent) == 2)
        del room.daemon.routes["GET /events"]
        room.chats.reconnect(CHAT)
        await until(lambda: len(room.editor.returned) == 2)  # there is no such picture
        echo(await room.live(), 1, "one")
        await until(lambda: room.render.unsent == ())
        assert prompts(room) == [[{"type": "text", "text": "one"}]]
        room.chats.unsend(ChatId(ViewId(2)), "1")

    attached(project, test)


def test_what_goes_out_quickly_is_never_offered_for_removal(project: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("companion.chat.outbox.QUICK", 60)

    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        stream = await room.live()
        room.chats.send(CHAT, Draft("one"))
        await room.asked("POST /session/s/prompt")
        stream.say(1, "Hello")
        await until(lambda: "Hello" in room.editor.chats[1])
        unsent = [each for render in room.editor.renders[1] for each in render.unsent]
        assert not any(each.can_be_removed for each in unsent)

    attached(project, test)


# What the person does


def test_cancel_mode_and_model_go_to_the_daemon_and_the_default_is_told(project: Path):
    async def test(room: Room) -> None:
        room.daemon.routes |= {
            "POST /session/s/cancel": (204, None),
            "POST /session/s/model": (200, {}),
            "POST /session/s/approval-mode": (200, {}),
        }
        room.chats.open(CHAT, WINDOW, room.folder)
        await room.live()
        room.chats.cancel(CHAT)
        room.chats.options.switch_mode(CHAT, "plan")
        room.chats.options.switch_model(CHAT, "m(openai)")
        await until(lambda: room.editor.mentioned)
        assert room.editor.mentioned == [("m(openai) is now your default model in Qwen Code, too.", 1)]
        assert (await room.asked("POST /session/s/approval-mode")).body == {"mode": "plan"}
        assert (await room.asked("POST /session/s/model")).body == {"modelId": "m(openai)"}
        assert len(room.daemon.asked("POST /session/s/cancel")) == 1

    attached(project, test)


def test_a_vote_goes_to_the_daemon_and_one_that_is_late_is_told(project: Path):
    async def test(room: Room) -> None:
        room.daemon.routes["POST /session/s/permission/r"] = 200, {}
        room.chats.open(CHAT, WINDOW, room.folder)
        await room.live()
        room.chats.vote(CHAT, "r", "once", {"0": "Blue"})
        request = await room.asked("POST /session/s/permission/r")
        assert request.body == {"outcome": {"outcome": "selected", "optionId": "once"}, "answers": {"0": "Blue"}}
        room.chats.vote(CHAT, "late", None)
        room.daemon.routes["POST /session/s/permission/late"] = 404, {"error": "gone", "requestId": "late"}
        await until(lambda: room.editor.mentioned)
        assert room.editor.mentioned == [("This question has been answered already.", 1)]

    attached(project, test)


def test_what_fails_is_said_with_what_to_do(project: Path):
    async def test(room: Room) -> None:
        not_connected = "The chat isn't connected. Wait until it is, or reconnect."
        room.chats.cancel(CHAT)
        assert room.editor.said == [(not_connected, None)]
        for method in (room.chats.begin, room.chats.reconnect):
            method(CHAT)
        room.chats.sessions.resume(CHAT, "s")
        with pytest.raises(ChatError):
            await room.chats.sessions.page(CHAT)
        room.daemon.routes["GET /capabilities"] = 401, {"error": "Unauthorized"}
        room.chats.open(CHAT, WINDOW, room.folder)
        await room.state("lost")
        room.chats.options.switch_mode(CHAT, "plan")
        await until(lambda: len(room.editor.said) == 2)
        assert room.editor.said[1] == (not_connected, 1)
        with pytest.raises(ChatError):
            await room.chats.locality(CHAT)

    attached(project, test)


def test_sessions_are_listed_the_latest_first(project: Path):
    async def test(room: Room) -> None:
        listed = [
            {"sessionId": "old", "updatedAt": "2026-01-01", "displayName": "Old"},
            {"sessionId": "new", "updatedAt": "2026-03-01"},
            {"sessionId": "made", "createdAt": "2026-02-01"},
        ]
        folder = quote(real(room.folder), safe="")
        room.daemon.routes[f"GET /workspace/{folder}/sessions"] = 200, {"sessions": listed}
        room.chats.open(CHAT, WINDOW, room.folder)
        await room.live()
        assert [session.id for session in (await room.chats.sessions.page(CHAT)).sessions] == ["new", "made", "old"]
        # One that asks too early waits for the connection.
        room.chats.begin(CHAT)
        assert len((await room.chats.sessions.page(CHAT)).sessions) == 3

    attached(project, test)


def test_pinned_sessions_come_first_and_the_archive_is_a_list_of_its_own(project: Path):
    async def test(room: Room) -> None:
        room.daemon.capabilities(real(room.folder), features=[*FEATURES, "session_organization", "session_archive"])
        listed = [
            {"sessionId": "new", "updatedAt": "2026-03-01"},
            {"sessionId": "pinned", "updatedAt": "2026-01-01", "isPinned": True},
        ]
        archived = {"sessions": [{"sessionId": "away", "isArchived": True}]}
        folder = quote(real(room.folder), safe="")
        room.daemon.routes |= {
            f"GET /workspace/{folder}/sessions": lambda request: (
                (200, archived) if "archived" in request.route else (200, {"sessions": listed, "nextCursor": "2"})
            ),
            "PATCH /session/new/organization": (200, {}),
            "POST /sessions/archive": (200, {}),
            "POST /sessions/unarchive": (200, {}),
        }
        room.chats.open(CHAT, WINDOW, room.folder)
        stream = await room.live()
        page = await room.chats.sessions.page(CHAT)
        assert ([session.id for session in page.sessions], page.cursor) == (["pinned", "new"], "2")
        assert [session.id for session in (await room.chats.sessions.page(CHAT, is_archived=True)).sessions] == ["away"]
        await room.chats.sessions.pin(CHAT, "new", is_pinned=True)
        stream.say(1, "Once")
        await until(lambda: room.render.session)
        await room.chats.sessions.archive(CHAT, "new", is_archived=True)
        assert "Once" in room.editor.chats[1]
        await room.chats.sessions.archive(CHAT, "s", is_archived=True)
        await room.live()
        assert room.render.session == ""
        await room.chats.sessions.reopen(CHAT, "s")
        assert room.daemon.asked("POST /sessions/unarchive")[0].body == {"sessionIds": ["s"]}
        await room.asked("POST /session/s/load")

    attached(project, test)


def test_sessions_are_searched(project: Path):
    async def test(room: Room) -> None:
        folder = quote(real(room.folder), safe="")
        results = [{"session": {"sessionId": "x"}, "snippet": "cats"}]
        room.daemon.routes[f"GET /workspace/{folder}/sessions/search"] = 200, {"results": results}
        room.chats.open(CHAT, WINDOW, room.folder)
        await room.live()
        assert [(each.session.id, each.snippet) for each in await room.chats.sessions.search(CHAT, "cat")] == [
            ("x", "cats")
        ]

    attached(project, test)


def test_one_that_isnt_at_work_is_renamed_too(project: Path):
    async def test(room: Room) -> None:
        answers = iter([(404, {"error": "no", "code": "session_not_found"}), (200, {}), (200, {})])
        room.daemon.routes["PATCH /session/s/metadata"] = lambda _: next(answers)
        room.chats.open(CHAT, WINDOW, room.folder)
        await room.live()
        await room.chats.sessions.rename(CHAT, "s", "A title")
        assert [request.body for request in room.daemon.asked("PATCH")] == [{"displayName": "A title"}] * 2
        assert len(room.daemon.asked("POST /session/s/detach")) == 1
        await room.chats.sessions.rename(CHAT, "s", "Another")

    attached(project, test)


def test_deleting_the_session_that_is_shown_begins_a_new_one(project: Path):
    async def test(room: Room) -> None:
        room.daemon.routes |= {
            "DELETE /session/s": (204, None),
            "DELETE /session/x": (204, None),
            "POST /sessions/delete": (200, {}),
        }
        room.chats.open(CHAT, WINDOW, room.folder)
        stream = await room.live()
        stream.say(1, "Once")
        await until(lambda: room.render.session)
        await room.chats.sessions.delete(CHAT, "x")
        assert "Once" in room.editor.chats[1]
        await room.chats.sessions.delete(CHAT, "s")
        await room.live()
        assert "Once" not in room.editor.chats[1]
        assert room.render.session == ""

    attached(project, test)


def test_an_export_and_the_files_come_from_the_daemon(project: Path, monkeypatch: pytest.MonkeyPatch):
    async def test(room: Room) -> None:
        room.daemon.routes["GET /session/x/export"] = 200, b"# Chat"
        room.daemon.routes["GET /glob"] = 200, {"matches": ["src/App two.py", "app.py", ".", 1]}
        room.chats.open(CHAT, WINDOW, room.folder)
        await room.live()
        assert await room.chats.sessions.export(CHAT, "x", "md") == "# Chat"
        assert await room.chats.files(CHAT, "aP") == ["app.py", "src/App two.py"]
        assert room.daemon.asked("GET /glob")[0].route.startswith("/glob?pattern=%2A%2A%2F%2A%5BaA%5D%5BpP%5D%2A&")
        monkeypatch.setattr(chats_module, "FILES_LIMIT", 0.0)
        assert await room.chats.files(CHAT, "a") == []

    attached(project, test)


@pytest.mark.parametrize(
    ("words", "pattern"),
    [
        ("", "**/*"),
        ("a1", "**/*[aA]1*"),
        ("src/b c", "**/*[sS][rR][cC]*/**/*[bB] [cC]*"),
        ("x[1]*", r"**/*[xX][[]1\][*]*"),
        ("ß!", r"**/*ß\!*"),
    ],
)
def test_files_are_found_however_they_are_written(words: str, pattern: str):
    assert mentions.pattern(words) == pattern


def test_the_token_is_in_no_frame_log_or_message_f7(project: Path, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)

    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        stream = await room.live()
        stream.say(1, "Hello")
        await until(lambda: room.render.session)
        room.daemon.routes["POST /session/s/model"] = 500, {"error": f"bad {TOKEN}"}
        room.chats.options.switch_model(CHAT, "x")
        await until(lambda: room.editor.said)
        page = await room.chats.locality(CHAT)
        everything = [page, repr(room.editor), repr(room.chats._settings), repr(vars(room.chats._registry[CHAT]))]
        assert TOKEN not in "".join(everything)

    attached(project, test)
    assert TOKEN not in caplog.text


# A private daemon


LISTENS = """
import sys, time
print("qwen serve listening on URL (mode=http-bridge)", flush=True)
time.sleep(60)
"""


def managed(project: Path, tmp_path: Path, test: Callable[[Room], Any]) -> None:
    """Run a test with a `qwen serve` that says it is the daemon of the test."""

    async def whole(room: Room) -> None:
        program = tmp_path / "fake_qwen.py"
        program.write_text(LISTENS.replace("URL", room.daemon.address.url), encoding="utf-8")
        room.configure(url="", token="", command=(sys.executable, str(program)))
        await test(room)

    attached(project, whole)


def test_a_private_daemon_is_started_shown_and_ended_with_the_window(project: Path, tmp_path: Path):
    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        await room.live()
        messages = [render.status.connection.message for render in room.editor.renders[1]]
        # A first render may come before the daemon is looked for.
        assert next(filter(None, messages)) == "Starting `qwen serve` …"
        assert room.render.locality.is_private
        daemon = room.chats._registry[CHAT].connector.private.daemon
        assert daemon
        room.chats.close(CHAT)
        await room.asked("POST /session/s/detach")
        assert launch.is_running(daemon)
        room.chats.open(CHAT, WINDOW, room.folder)
        await room.live()
        assert room.chats._registry[CHAT].connector.private.daemon is daemon
        room.chats.window_closed(WINDOW)
        await until(lambda: not room.chats._ending)
        assert not launch.is_running(daemon)

    managed(project, tmp_path, test)


def test_one_for_another_folder_is_replaced(project: Path, tmp_path: Path):
    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        await room.live()
        first = room.chats._registry[CHAT].connector.private.daemon
        other = tmp_path / "other"
        other.mkdir()
        room.daemon.capabilities(real(other))
        room.chats.open(CHAT, WINDOW, str(other))
        await room.live()
        second = room.chats._registry[CHAT].connector.private.daemon
        assert first
        assert second
        assert second.folder == real(other)
        assert not launch.is_running(first)
        assert room.editor.said == []

    managed(project, tmp_path, test)


def test_one_that_was_killed_is_started_again_once_and_the_session_resumed(project: Path, tmp_path: Path):
    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        stream = await room.live()
        stream.say(1, "Half an ans")
        await until(lambda: room.render.session)

        def kill() -> None:
            daemon = room.chats._registry[CHAT].connector.private.daemon
            assert daemon
            launch.stop_now(daemon)
            stream.cut()

        kill()
        stream = await room.live()
        await until(lambda: len(room.daemon.asked("GET /capabilities")) == 2)
        assert room.editor.said == [("`qwen serve` has ended unexpectedly. It is started again.", 1)]
        kill()
        assert "has ended unexpectedly. Reconnect" in (await room.state("lost")).message
        room.chats.reconnect(CHAT)
        await room.live()
        assert len(room.daemon.asked("GET /capabilities")) == 3
        assert len(room.editor.said) == 1

    managed(project, tmp_path, test)


@pytest.mark.parametrize("is_open", [True, False])
def test_switching_it_off_ends_the_private_daemon(project: Path, tmp_path: Path, is_open: bool):

    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        await room.live()
        daemon = room.chats._registry[CHAT].connector.private.daemon
        assert daemon
        if not is_open:
            room.chats.close(CHAT)
        room.configure(enabled=False, url="", token="")
        await until(lambda: not launch.is_running(daemon))
        if is_open:
            assert (await room.state("lost")).message.startswith("The chat is off.")
        assert room.editor.said == []

    managed(project, tmp_path, test)


def test_another_command_replaces_the_private_daemon_at_a_reconnect(project: Path, tmp_path: Path):
    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        await room.live()
        first = room.chats._registry[CHAT].connector.private.daemon
        assert first
        command = [sys.executable, "-u", str(tmp_path / "fake_qwen.py")]
        room.configure(url="", token="", command=tuple(command))
        room.chats.reconnect(CHAT)
        await room.live()
        assert room.chats._registry[CHAT].connector.private.daemon != first
        assert not launch.is_running(first)
        assert room.editor.said == []

    managed(project, tmp_path, test)


def test_without_qwen_it_says_how_to_get_it(project: Path):
    async def test(room: Room) -> None:
        room.configure(url="", command=("missing-qwen",))
        room.chats.open(CHAT, WINDOW, room.folder)
        assert (await room.state("lost")).message.startswith("“missing-qwen” is not on the PATH")

    attached(project, test)


# A reload


def test_a_reload_keeps_the_daemon_the_session_and_what_was_not_sent(project: Path, tmp_path: Path):
    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        stream = await room.live()
        stream.say(1, "Before")
        await until(lambda: room.render.session)
        draft = Draft("mine", (Excerpt("file:///e", "e", "text"),), ("p.png",), {"/a": "b"})
        await room.chats._registry[CHAT].outbox._sending.acquire()  # another one is on its way
        room.chats.send(CHAT, draft)
        daemon = room.chats._registry[CHAT].connector.private.daemon
        left = await room.chats.stop(hand_over=True)
        assert daemon
        assert launch.is_running(daemon)
        assert room.daemon.asked("POST /session/s/detach") == []
        again = Room(room.editor, room.daemon, room.folder)
        again.chats.configure(room.chats._settings)
        again.chats.inherit(left, {1: None})
        again.chats.open(CHAT, WINDOW, room.folder, "s")
        await again.live()
        assert again.chats._registry[CHAT].connector.private.daemon == daemon
        assert len(room.daemon.asked("POST /session/s/load")) == 1
        assert room.editor.returned == [(1, draft, "It was not sent before the package was reloaded.")]
        left = await again.chats.stop(hand_over=True)
        await asyncio.to_thread(again.chats.end_inherited, left[1])
        assert not launch.is_running(daemon)
        again.chats.end_inherited({"daemons": {}, "chats": {}})

    managed(project, tmp_path, test)


def test_a_prompt_in_the_daemons_queue_is_not_given_back_after_a_reload(project: Path):
    """The daemon runs it: it would be sent twice."""

    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        stream = await room.live()
        room.daemon.routes["POST /session/s/prompt"] = 202, {"promptId": "p7"}
        room.chats.send(CHAT, Draft("mine"))
        await until(lambda: [unsent.state for unsent in room.render.unsent] == ["sent"])
        stream.send("pending_prompt_added", 1, promptId="p7", text="mine")
        await until(lambda: room.render.status.queue and not room.render.unsent)
        left = await room.chats.stop(hand_over=True)
        again = Room(room.editor, room.daemon, room.folder)
        again.chats.configure(room.chats._settings)
        again.chats.inherit(left, {1: None})
        again.chats.open(CHAT, WINDOW, room.folder, "s")
        await again.live()
        assert room.editor.returned == []
        await again.chats.stop(hand_over=False)

    attached(project, test)


def test_what_belonged_to_a_window_that_is_gone_ends(project: Path, tmp_path: Path):
    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        await room.live()
        daemon = room.chats._registry[CHAT].connector.private.daemon
        left = await room.chats.stop(hand_over=True)
        again = Room(room.editor, room.daemon, room.folder)
        again.chats.inherit(left, {})
        await until(lambda: not again.chats._ending)
        assert daemon
        assert not launch.is_running(daemon)

    managed(project, tmp_path, test)
