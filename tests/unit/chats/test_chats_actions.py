"""What the person does with a chat besides writing: modes, votes, sessions, exports."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from urllib.parse import quote

import pytest

from companion.agents import AgentCommand
from companion.chats import chat as chat_module
from companion.conversation.failures import ChatError
from tests.agent_talk import scripted

from ..fake_daemon import FEATURES, TOKEN, until
from .agent_room import chatting
from .chatting import CHAT, WINDOW, Room, real

# What the person does


async def test_cancel_mode_and_model_go_to_the_daemon_and_the_default_is_told(room: Room) -> None:
    room.daemon.routes |= {
        "POST /session/s/cancel": (204, None),
        "POST /session/s/model": (200, {}),
        "POST /session/s/approval-mode": (200, {}),
    }
    await room.opened()
    room.chats.tell(CHAT, lambda own: own.cancel())
    room.chats.tell(CHAT, lambda own: own.switch("mode", "plan"))
    room.chats.tell(CHAT, lambda own: own.switch("model", "m(openai)"))
    await until(lambda: room.editor.mentioned)
    assert room.editor.mentioned == [("m(openai) is now your default model in Qwen Code, too.", 1)]
    assert (await room.asked("POST /session/s/approval-mode")).body == {"mode": "plan"}
    assert (await room.asked("POST /session/s/model")).body == {"modelId": "m(openai)"}
    assert len(room.daemon.asked("POST /session/s/cancel")) == 1


async def test_a_cancel_that_comes_once_a_prompt_that_waited_is_at_work_ends_nothing(
    project: Path, tmp_path: Path
) -> None:
    """The person saw the turn before it run, and cancelled that."""
    script = """
def session_prompt(params):
    while not os.path.exists(params["prompt"][0]["text"]):
        if any(each.get("method") == "session/cancel" for each in seen):
            return {"stopReason": "cancelled"}
        time.sleep(0.001)
    return {"stopReason": "end_turn"}
"""
    one, two = project / "one", project / "two"
    async with chatting(project, AgentCommand("Scripted", tuple(scripted(script, tmp_path)))) as room:
        room.say(str(one))
        await until(lambda: room.render.status.running)
        seen = room.render.status.running
        room.say(str(two))
        await until(lambda: room.render.status.queue)
        one.touch()
        await until(lambda: room.render.status.running not in (None, seen))
        room.chats.tell(CHAT, lambda own: own.cancel(seen))
        now = room.render.status.running
        await asyncio.sleep(0.1)
        assert room.render.status.running == now
        two.touch()
        await until(lambda: room.render.status.running is None)
        assert room.render.status.last == "done"
        room.say(str(project / "three"))
        await until(lambda: room.render.status.running)
        room.chats.tell(CHAT, lambda own: own.cancel(room.render.status.running))
        await until(lambda: room.render.status.last == "cancelled")


async def test_a_vote_goes_to_the_daemon_and_one_that_is_late_is_told(room: Room) -> None:
    room.daemon.routes["POST /session/s/permission/r"] = 200, {}
    await room.opened()
    room.chats.tell(CHAT, lambda own: own.approvals.give("r", "once", {"0": "Blue"}))
    request = await room.asked("POST /session/s/permission/r")
    assert request.body == {"outcome": {"outcome": "selected", "optionId": "once"}, "answers": {"0": "Blue"}}
    room.chats.tell(CHAT, lambda own: own.approvals.give("late", None))
    room.daemon.routes["POST /session/s/permission/late"] = 404, {"error": "gone", "requestId": "late"}
    await until(lambda: room.editor.mentioned)
    assert room.editor.mentioned == [("This question has been answered already.", 1)]


async def test_what_fails_is_said_with_what_to_do(room: Room) -> None:
    not_connected = "The chat isn't connected. Wait until it is, or reconnect."
    room.chats.tell(CHAT, lambda own: own.cancel())
    assert room.editor.said == [(not_connected, None)]
    room.chats.show(CHAT)
    room.chats.show(CHAT, "s")
    with pytest.raises(ChatError):
        await room.chats[CHAT].sessions.page()
    room.daemon.routes["GET /capabilities"] = 401, {"error": "Unauthorized"}
    room.chats.open(CHAT, WINDOW, room.folder)
    await room.state("lost")
    room.chats.tell(CHAT, lambda own: own.switch("mode", "plan"))
    await until(lambda: room.editor.mentioned)
    assert room.editor.mentioned == [(not_connected, 1)]
    with pytest.raises(ChatError):
        await room.chats[CHAT].locality()


async def test_sessions_are_listed_the_latest_first(room: Room) -> None:
    listed = [
        {"sessionId": "old", "updatedAt": "2026-01-01", "displayName": "Old"},
        {"sessionId": "new", "updatedAt": "2026-03-01"},
        {"sessionId": "made", "createdAt": "2026-02-01"},
    ]
    folder = quote(real(room.folder), safe="")
    room.daemon.routes[f"GET /workspace/{folder}/sessions"] = 200, {"sessions": listed}
    await room.opened()
    assert [session.id for session in (await room.chats[CHAT].sessions.page()).sessions] == ["new", "made", "old"]
    # One that asks too early waits for the connection.
    room.chats.show(CHAT)
    assert len((await room.chats[CHAT].sessions.page()).sessions) == 3


async def test_pinned_sessions_come_first_and_the_archive_is_a_list_of_its_own(room: Room) -> None:
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
    stream = await room.opened()
    page = await room.chats[CHAT].sessions.page()
    assert ([session.id for session in page.sessions], page.cursor) == (["pinned", "new"], "2")
    assert [session.id for session in (await room.chats[CHAT].sessions.page(is_archived=True)).sessions] == ["away"]
    await room.chats[CHAT].sessions.pin("new", is_pinned=True)
    stream.say(1, "Once")
    await until(lambda: room.render.session)
    await room.chats[CHAT].sessions.archive("new", is_archived=True)
    assert "Once" in room.editor.chat_texts[1]
    await room.chats[CHAT].sessions.archive("s", is_archived=True)
    await room.live()
    assert room.render.session == ""
    await room.chats[CHAT].sessions.reopen("s")
    assert room.daemon.asked("POST /sessions/unarchive")[0].body == {"sessionIds": ["s"]}
    await room.asked("POST /session/s/load")


async def test_sessions_are_searched(room: Room) -> None:
    folder = quote(real(room.folder), safe="")
    results = [{"session": {"sessionId": "x"}, "snippet": "cats"}]
    room.daemon.routes[f"GET /workspace/{folder}/sessions/search"] = 200, {"results": results}
    await room.opened()
    assert [(each.session.id, each.snippet) for each in await room.chats[CHAT].sessions.search("cat")] == [
        ("x", "cats")
    ]


async def test_one_that_isnt_at_work_is_renamed_too(room: Room) -> None:
    answers = iter([(404, {"error": "no", "code": "session_not_found"}), (200, {}), (200, {})])
    room.daemon.routes["PATCH /session/s/metadata"] = lambda _: next(answers)
    await room.opened()
    await room.chats[CHAT].sessions.rename("s", "A title")
    assert [request.body for request in room.daemon.asked("PATCH")] == [{"displayName": "A title"}] * 2
    assert len(room.daemon.asked("POST /session/s/detach")) == 1
    await room.chats[CHAT].sessions.rename("s", "Another")


async def test_deleting_the_session_that_is_shown_begins_a_new_one(room: Room) -> None:
    room.daemon.routes |= {
        "DELETE /session/s": (204, None),
        "DELETE /session/x": (204, None),
        "POST /sessions/delete": (200, {}),
    }
    stream = await room.opened()
    stream.say(1, "Once")
    await until(lambda: room.render.session)
    await room.chats[CHAT].sessions.delete("x")
    assert "Once" in room.editor.chat_texts[1]
    await room.chats[CHAT].sessions.delete("s")
    await room.live()
    assert "Once" not in room.editor.chat_texts[1]
    assert room.render.session == ""


async def test_an_export_and_the_files_come_from_the_daemon(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    room.daemon.routes["GET /session/x/export"] = 200, b"# Chat"
    room.daemon.routes["GET /glob"] = 200, {"matches": ["src/App two.py", "app.py", ".", 1]}
    await room.opened()
    assert await room.chats[CHAT].sessions.export("x", "md") == "# Chat"
    assert await room.chats[CHAT].files("aP") == ["app.py", "src/App two.py"]
    assert room.daemon.asked("GET /glob")[0].route.startswith("/glob?pattern=%2A%2A%2F%2A%5BaA%5D%5BpP%5D%2A&")
    monkeypatch.setattr(chat_module, "FILES_LIMIT", 0.0)
    assert await room.chats[CHAT].files("a") == []


async def test_the_token_is_in_no_frame_log_or_message_f7(room: Room, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    stream = await room.opened()
    stream.say(1, "Hello")
    await until(lambda: room.render.session)
    room.daemon.routes["POST /session/s/model"] = 500, {"error": f"bad {TOKEN}"}
    room.chats.tell(CHAT, lambda own: own.switch("model", "x"))
    await until(lambda: room.editor.mentioned)
    page = await room.chats[CHAT].locality()
    everything = [page, repr(room.editor), repr(room.chats.settings), repr(vars(room.chats[CHAT]))]
    assert TOKEN not in "".join(everything)
    await room.chats.stop(hand_over=False)
    assert TOKEN not in caplog.text
