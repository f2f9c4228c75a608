"""What is sent in a chat: prompts, their files, and what comes back."""

from __future__ import annotations

import asyncio
import base64
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock, patch

import pytest

from companion.backends.daemon import transport
from companion.backends.daemon.client import DaemonAgent
from companion.chats import chat as chat_module
from companion.chats import outbox
from companion.chats.prompt import Draft, Excerpt
from companion.editor import ChatId, ViewId, WindowId

from ..fake_daemon import FEATURES, Request, Stream, until
from .chatting import CHAT, WINDOW, Room, live, prompts, real, stat

MID_TURN = "session_mid_turn_message_mutation"


# Sending


async def test_a_prompt_goes_out_as_soon_as_the_chat_is_connected_and_in_order(room: Room) -> None:
    room.chats.open(CHAT, WINDOW, room.folder)
    room.chats.send(CHAT, Draft("first"))
    room.chats.send(CHAT, Draft("second"))
    await room.asked("POST /session/s/prompt", 2)
    assert prompts(room) == [[{"type": "text", "text": "first"}], [{"type": "text", "text": "second"}]]
    assert room.editor.returned == []


async def test_a_prompt_that_may_have_gone_out_is_not_said_to_be_unsent(
    room: Room, stormy: pytest.LogCaptureFixture
) -> None:
    """The person would send it a second time."""
    await room.opened()
    with patch.object(DaemonAgent, "prompt", AsyncMock(side_effect=RecursionError)):
        room.chats.send(CHAT, Draft("Once"))
        await until(lambda: room.editor.returned)
    assert room.editor.returned == [(CHAT, Draft("Once"), outbox.ON_ITS_WAY)]


async def test_mentions_become_files_where_the_daemon_has_them(room: Room, project: Path) -> None:
    (project / "pic.PNG").write_bytes(b"\x89PNG")
    (project / "b.gif").write_bytes(b"GIF")
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


async def test_mentions_in_a_text_without_blanks_become_files(room: Room) -> None:
    room.daemon.routes["GET /stat"] = stat("a.py", "b.py")
    room.chats.open(CHAT, WINDOW, room.folder)
    room.chats.send(CHAT, Draft("看@a.py、@b.py吧"))
    await room.asked("POST /session/s/prompt")
    [blocks] = prompts(room)
    assert [each.get("text") or each["name"] for each in blocks] == ["看", "a.py", "、", "b.py", "吧"]


def test_a_path_on_another_system_is_joined_as_it_does():
    place = outbox.ChatFolder("/here", r"C:\work", is_local=False)
    assert place.path_there("a/b.py") == r"C:\work\a/b.py"
    assert place.path_there(r"D:\x") == r"D:\x"


@pytest.mark.parametrize(
    ("draft", "why"),
    [
        (Draft("x", pictures=("missing.png",)), "missing.png can't be read: No such file or directory."),
        (Draft("x", pictures=("notes.txt",)), "notes.txt is not a picture that can be sent."),
        (Draft("x", pictures=("large.webp",)), "large.webp is larger than 8 MB."),
        (Draft(" \n"), "There is nothing to send."),
        (Draft("x" * 200), "This has 0.0 MB, and the daemon takes at most 10. Send less at once."),
    ],
)
async def test_what_cant_be_sent_comes_back(
    room: Room, project: Path, monkeypatch: pytest.MonkeyPatch, draft: Draft, why: str
) -> None:
    monkeypatch.setattr(outbox, "MAX_PICTURE", 3)
    monkeypatch.setattr(transport, "MAX_BODY", 200)
    monkeypatch.chdir(project)
    (project / "large.webp").write_bytes(b"RIFF")
    room.chats.open(CHAT, WINDOW, room.folder)
    room.chats.send(CHAT, draft)
    [(window, returned, said)] = await until(lambda: room.editor.returned)
    assert (window, returned) == (1, draft)
    assert said.startswith(why)
    assert prompts(room) == []


async def test_a_daemon_that_is_perhaps_elsewhere_is_believed_to_be_here_once_the_person_says_so(project: Path) -> None:
    """Until then no file of this computer is used for its diffs and links."""
    async with live(project, is_here=False) as room:
        where = room.render.locality
        assert (where.is_local, where.is_known) == (False, False)
        assert f"at 127.0.0.1:{room.daemon.port}, perhaps elsewhere" in room.editor.chat_texts[1]
        assert not room.chats[CHAT].is_local
        room.chats[CHAT].connection.confirm_here()
        await until(lambda: room.render.locality.is_local)
        assert "on this computer" in room.editor.chat_texts[1]
        left = await room.chats.stop(hand_over=True)
        assert left[WindowId(1)]["here"] == [room.daemon.address.url]


def echo(stream: Stream, number: int, text: str, prompt: str = "p") -> None:
    """The daemon says what it was asked."""
    content = {"type": "text", "text": text}
    stream.send("session_update", number, prompt, update={"sessionUpdate": "user_message_chunk", "content": content})


@pytest.mark.parametrize("where", ["running", "queued", "over", "nowhere"])
@pytest.mark.parametrize(
    "answer",
    [None, (504, b"<html>"), (502, {"error": "x"}), (500, {"error": "x"}), (200, b"<html>"), (202, {}), (204, None)],
)
async def test_a_prompt_whose_answer_is_lost_is_looked_for_and_never_sent_twice(
    room: Room, monkeypatch: pytest.MonkeyPatch, where: str, answer: Any
) -> None:
    """The daemon has it and runs it, but the answer to the request is lost, perhaps in a proxy."""
    monkeypatch.setattr(outbox, "ARRIVAL_LIMIT", 0.2)
    stream = await room.opened()
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
        await until(lambda: not room.render.unsent and not room.chats[CHAT].outbox._waiting)
        assert room.editor.returned == []
    assert len(prompts(room)) == 1


async def test_a_prompt_that_was_sent_before_is_not_taken_for_the_one_that_is_lost(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "ARRIVAL_LIMIT", 0.2)
    stream = await room.opened()
    room.chats.send(CHAT, Draft("again"))
    await room.asked("POST /session/s/prompt")
    echo(stream, 1, "again")
    await until(lambda: not room.render.unsent)
    room.daemon.routes["POST /session/s/prompt"] = None
    room.chats.send(CHAT, Draft("again"))
    await until(lambda: room.editor.returned)


@pytest.mark.parametrize("text", ["theirs", "mine too"])
async def test_a_prompt_of_another_client_is_not_taken_for_the_one_that_is_lost(
    room: Room, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr(outbox, "ARRIVAL_LIMIT", 0.2)
    await room.opened()
    pending = {"promptId": "p9", "text": text, "state": "running", "originatorClientId": "other"}

    def lose(_: Request) -> None:
        room.daemon.routes["GET /session/s/pending-prompts"] = 200, {"pendingPrompts": [pending]}

    room.daemon.routes["POST /session/s/prompt"] = lose
    room.chats.send(CHAT, Draft("mine"))
    await until(lambda: room.editor.returned)
    assert room.editor.returned[0][1] == Draft("mine")


async def test_a_prompt_is_on_the_screen_with_its_state_until_the_daemon_echoes_it(room: Room) -> None:
    """44 s were seen between the two."""
    room.daemon.routes["GET /events"] = 429, {"error": "busy"}
    room.chats.open(CHAT, WINDOW, room.folder)
    await room.state("waiting")
    room.chats.send(CHAT, Draft("mine"))
    await until(lambda: "❯\u00a0You\nmine\n◌\u00a0Waiting for the connection…" in room.editor.chat_texts[1])
    del room.daemon.routes["GET /events"]
    room.chats[CHAT].reconnect()
    stream = await room.live()
    await until(lambda: "❯\u00a0You\nmine\n◌\u00a0Sent. The agent has not begun…" in room.editor.chat_texts[1])
    echo(stream, 1, "mine")
    await until(lambda: "Sent" not in room.editor.chat_texts[1])
    assert room.editor.chat_texts[1].count("❯\u00a0You\nmine\n") == 1
    room.daemon.routes["POST /session/s/prompt"] = 202, {"promptId": "p2"}
    room.chats.send(CHAT, Draft("/help"))
    await until(lambda: "\n/help\n◌\u00a0Sent" in room.editor.chat_texts[1])
    stream.send("turn_complete", 2, "p2", stopReason="end_turn")  # a command without an echo
    await until(lambda: "\n/help\n" not in room.editor.chat_texts[1])


async def test_a_prompt_that_waited_for_a_daemon_that_was_killed_comes_back(room: Room) -> None:
    """The queue goes with the daemon."""
    stream = await room.opened()
    room.chats.send(CHAT, Draft("mine"))
    await until(lambda: [unsent.state for unsent in room.render.unsent] == ["sent"])
    prompt = room.chats[CHAT].outbox._waiting["1"].prompt
    stream.send("pending_prompt_added", 1, promptId=prompt, text="mine")
    await until(lambda: room.render.status.queue and not room.render.unsent)
    assert room.editor.returned == []
    stream.send("state_resync_required", reason="epoch_reset")
    await until(lambda: room.editor.returned)
    assert room.editor.returned[0][1:] == (Draft("mine"), "The daemon has ended before it began this.")


async def test_a_prompt_that_a_daemon_took_and_lost_comes_back(room: Room) -> None:
    """The daemon was killed between its answer and the turn."""
    stream = await room.opened()
    room.chats.send(CHAT, Draft("mine"))
    await until(lambda: [unsent.state for unsent in room.render.unsent] == ["sent"])
    stream.send("state_resync_required", reason="epoch_reset")
    await until(lambda: room.editor.returned)
    assert room.editor.returned[0][1:] == (Draft("mine"), "The daemon has ended before it began this.")
    assert room.render.unsent == ()


@pytest.mark.parametrize(
    "answer", [(200, {"accepted": True, "promptId": "c"}), (200, {"accepted": False}), (404, b"<html>")]
)
async def test_an_interrupted_turn_is_continued_in_words_where_the_daemon_cannot(room: Room, answer: Any) -> None:
    room.daemon.routes["POST /session/s/continue"] = answer
    await room.opened()
    room.chats.tell(CHAT, lambda own: own.history.continue_turn())
    await room.asked("POST /session/s/continue")
    if answer[0] == 200 and answer[1]["accepted"]:
        await asyncio.sleep(0.05)
        assert prompts(room) == []
    else:
        assert await until(lambda: prompts(room)) == [[{"type": "text", "text": "Continue"}]]


async def test_prompts_go_out_in_the_order_in_which_they_were_written(room: Room) -> None:
    """The first one takes longer, because the daemon is asked for the file that it names."""
    room.daemon.routes["GET /stat"] = 200, {"type": "file"}
    await room.opened()
    for text in ("@a.py one", "two", "three"):
        room.chats.send(CHAT, Draft(text))
    await room.asked("POST /session/s/prompt", 3)
    assert [sent[-1]["text"] for sent in prompts(room)] == [" one", "two", "three"]


async def test_what_is_being_sent_when_the_chat_closes_goes_out_no_more(room: Room) -> None:
    room.daemon.routes["GET /events"] = 429, {"error": "busy"}
    room.chats.open(CHAT, WINDOW, room.folder)
    await room.state("waiting")
    room.chats.send(CHAT, Draft("mine"))
    room.chats.close(CHAT)
    del room.daemon.routes["GET /events"]
    await room.opened()
    await asyncio.sleep(0.05)
    assert prompts(room) == []


async def test_what_the_daemon_refuses_comes_back(room: Room) -> None:
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


async def test_a_daemon_that_doesnt_say_which_files_it_has_doesnt_hold_the_draft(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "LOOK_UP_LIMIT", 0.0)
    room.chats.open(CHAT, WINDOW, room.folder)
    room.chats.send(CHAT, Draft("@a.py"))
    await until(lambda: room.editor.returned)
    assert "which files it has" in room.editor.returned[0][2]


async def test_a_draft_for_a_chat_that_cant_connect_comes_back_with_the_reason(room: Room) -> None:
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


async def test_a_draft_waits_only_so_long(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_module, "SEND_LIMIT", 0.01)
    room.daemon.routes["GET /events"] = 429, {"error": "busy", "code": "subscriber_limit_exceeded"}
    room.chats.open(CHAT, WINDOW, room.folder)
    room.chats.send(CHAT, Draft("mine"))
    await until(lambda: room.editor.returned)
    assert "isn't connected" in room.editor.returned[0][2]


async def test_what_was_not_sent_comes_back_when_the_chat_is_closed_and_for_another_conversation(room: Room) -> None:
    room.daemon.routes["GET /events"] = 429, {"error": "busy"}
    room.chats.open(CHAT, WINDOW, room.folder)
    await room.state("waiting")
    room.chats.send(CHAT, Draft("one"))
    room.chats.show(CHAT)
    assert room.editor.returned == [(1, Draft("one"), "The conversation has changed before this was sent.")]
    room.chats.send(CHAT, Draft("two"))
    room.chats.close(CHAT)
    assert room.editor.returned[1:] == [(1, Draft("two"), "The chat was closed before this was sent.")]


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
async def test_a_message_goes_into_the_turn_that_runs_else_it_is_a_prompt(
    room: Room, project: Path, answer: Any, draft: Draft, is_prompt: bool
) -> None:
    room.daemon.capabilities(real(project), features=[*FEATURES, MID_TURN])
    room.daemon.routes["POST /session/s/mid-turn-message"] = answer
    room.chats.open(CHAT, WINDOW, room.folder)
    room.chats.send(CHAT, draft, mid_turn=True)
    await room.asked("POST /session/s/prompt" if is_prompt else "POST /session/s/mid-turn-message")
    assert bool(prompts(room)) == is_prompt


async def test_a_prompt_that_waits_can_be_taken_back_whole(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "MAX_REMEMBERED", 1)
    stream = await room.opened()
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
        room.chats.tell(CHAT, partial(chat_module.Chat.dequeue, prompt=prompt))
    await until(lambda: len(room.editor.returned) == 2)
    why = "It was removed from the queue."
    assert room.editor.returned == [(1, draft, why), (1, Draft("another's"), why)]
    room.daemon.routes["DELETE /session/s/pending-prompts/q"] = 200, {"removed": False}
    room.chats.tell(CHAT, lambda own: own.dequeue("q"))
    await until(lambda: room.editor.mentioned)
    assert len(room.editor.returned) == 2


async def test_a_message_for_the_turn_that_runs_can_be_taken_back(room: Room, project: Path) -> None:
    """The queue has it, but another route removes it."""
    room.daemon.capabilities(real(project), features=[*FEATURES, MID_TURN])
    room.daemon.routes |= {
        "POST /session/s/mid-turn-message": (200, {"accepted": True, "messageId": "m"}),
        "DELETE /session/s/pending-prompts/m": (200, {"removed": False}),
        "DELETE /session/s/mid-turn-messages/m": (200, {"removed": True}),
    }
    stream = await room.opened()
    draft = Draft("take me back", unsaved={"/x": "y"})
    room.chats.send(CHAT, draft, mid_turn=True)
    await room.asked("POST /session/s/mid-turn-message")
    stream.send("pending_prompt_added", 1, "m", promptId="m", text="take me back")
    await until(lambda: room.render.status.queue)
    room.chats.tell(CHAT, lambda own: own.dequeue("m"))
    await until(lambda: room.editor.returned)
    assert room.editor.returned == [(1, draft, "It was removed from the queue.")]


async def test_it_is_a_prompt_where_it_could_not_be_taken_back(room: Room) -> None:
    """Nothing is lost. 0.21.2 forgets a message that the turn has no more time for."""
    room.chats.open(CHAT, WINDOW, room.folder)
    room.chats.send(CHAT, Draft("mine"), mid_turn=True)
    await room.asked("POST /session/s/prompt")
    assert room.daemon.asked("POST /session/s/mid-turn-message") == []


async def test_what_is_not_sent_yet_is_shown_and_can_be_taken_back(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the chat is live."""
    monkeypatch.setattr(outbox, "QUICK", 0.0)
    room.daemon.routes["GET /events"] = 429, {"error": "busy"}
    room.chats.open(CHAT, WINDOW, room.folder)
    await room.state("waiting")
    drafts = Draft("one"), Draft("one"), Draft("", (Excerpt("file:///e", "e:1-2", "text"),), ("/a/p.png",))
    for draft in drafts:
        room.chats.send(CHAT, draft)
    await until(lambda: len(room.render.unsent) == 3)
    assert [unsent.text for unsent in room.render.unsent] == ["one", "one", "e:1-2, p.png"]
    room.chats[CHAT].unsend(room.render.unsent[1].id)
    room.chats[CHAT].unsend(room.render.unsent[1].id)
    assert room.editor.returned == [(1, drafts[1], "It was taken back before it was sent.")]
    assert room.editor.mentioned == [("It has been sent already.", 1)]
    await until(lambda: len(room.render.unsent) == 2)
    del room.daemon.routes["GET /events"]
    room.chats[CHAT].reconnect()
    await until(lambda: len(room.editor.returned) == 2)  # there is no such picture
    echo(await room.live(), 1, "one")
    await until(lambda: room.render.unsent == ())
    assert prompts(room) == [[{"type": "text", "text": "one"}]]
    room.chats.tell(ChatId(ViewId(2)), lambda own: own.unsend("1"))


async def test_what_goes_out_quickly_is_never_offered_for_removal(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("companion.chats.outbox.QUICK", 60)
    stream = await room.opened()
    room.chats.send(CHAT, Draft("one"))
    await room.asked("POST /session/s/prompt")
    stream.say(1, "Hello")
    await until(lambda: "Hello" in room.editor.chat_texts[1])
    unsent = [each for render in room.editor.renders[1] for each in render.unsent]
    assert not any(each.can_be_removed for each in unsent)
