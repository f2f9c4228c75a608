"""What happens to prompts on their way when the person takes them back or the conversation changes."""

from __future__ import annotations

from pathlib import Path

from companion.chat.prompt import Draft

from ..fake_daemon import until
from .chatting import CHAT, WINDOW, Room
from .test_chats import attached, prompts


def returned(room: Room) -> list[str]:
    return [draft.text for _, draft, _ in room.editor.returned]


def test_a_prompt_that_may_have_reached_the_daemon_can_not_be_taken_back(project: Path):
    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        await room.live()
        room.daemon.routes["POST /session/s/prompt"] = None  # the answer is lost
        room.chats.send(CHAT, Draft("Once"))
        await until(lambda: [each.state for each in room.render.unsent] == ["sending"])
        room.chats.unsend(CHAT, room.render.unsent[0].id)
        await until(lambda: room.editor.mentioned)
        assert room.editor.mentioned == [("It has been sent already.", 1)]
        assert returned(room) == []

    attached(project, test)


def test_a_prompt_that_went_back_with_the_conversation_is_not_sent_later(project: Path):
    async def test(room: Room) -> None:
        right = room.daemon.routes["GET /capabilities"]
        room.daemon.routes["GET /capabilities"] = None
        room.chats.open(CHAT, WINDOW, room.folder)
        room.chats.send(CHAT, Draft("Before"))
        room.chats.begin(CHAT)
        await until(lambda: returned(room) == ["Before"])
        room.daemon.routes["GET /capabilities"] = right
        room.chats.reconnect(CHAT)
        await room.live()
        room.chats.send(CHAT, Draft("After"))
        await room.asked("POST /session/s/prompt")
        assert [blocks[0]["text"] for blocks in prompts(room)] == ["After"]

    attached(project, test)


def test_a_prompt_that_the_daemon_has_taken_does_not_go_back_with_the_conversation(project: Path):
    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        await room.live()
        room.chats.send(CHAT, Draft("Taken"))
        await until(lambda: [each.state for each in room.render.unsent] == ["sent"])
        room.chats.begin(CHAT)
        await room.live()
        assert returned(room) == []

    attached(project, test)


def test_a_prompt_that_is_sent_after_a_rebuild_waits_for_its_turn_like_any_other(project: Path):
    async def test(room: Room) -> None:
        room.chats.open(CHAT, WINDOW, room.folder)
        (await room.live()).send("state_resync_required", reason="epoch_reset")
        await room.asked("POST /session/s/load")
        stream = await room.live()
        room.chats.send(CHAT, Draft("mine"))
        await until(lambda: [unsent.state for unsent in room.render.unsent] == ["sent"])
        stream.send("session_metadata_updated", 1, displayName="A title")
        await until(lambda: room.render.status.title == "A title")
        assert room.editor.returned == []
        assert [unsent.state for unsent in room.render.unsent] == ["sent"]

    attached(project, test)


def test_a_prompt_that_was_not_sent_survives_two_reloads_without_the_chat_being_opened(project: Path):
    async def test(room: Room) -> None:
        room.daemon.routes["GET /capabilities"] = None
        room.chats.open(CHAT, WINDOW, room.folder)
        room.chats.send(CHAT, Draft("Kept"))
        first = await room.chats.stop(hand_over=True)
        assert [draft["text"] for draft in first[1]["chats"][1]["unsent"]] == ["Kept"]
        room.chats.inherit(first, {1: None})
        second = await room.chats.stop(hand_over=True)
        assert second[1]["chats"] == first[1]["chats"]

    attached(project, test)
