"""What the person has undone goes with the next prompt, once."""

from __future__ import annotations

import asyncio

import pytest

from companion.changes.folder import FolderClosedError
from companion.chats.prompt import Draft
from companion.settings import Settings, TellUndone

from ..fake_daemon import until
from .chatting import CHAT, WINDOW, Room, prompts

LINE = "a.py, line 3: “x = 1” was undone"


@pytest.mark.parametrize("wanted", ["chats", "always", "never"])
async def test_the_next_prompt_says_what_was_undone_if_the_person_wants_that(room: Room, wanted: TellUndone) -> None:
    undone = room.rounds
    undone.lines = [LINE]
    room.host.settings = Settings(tell_undone=wanted)
    room.chats.open(CHAT, WINDOW, room.folder)
    for text in ("first", "second"):
        room.chats.send(CHAT, Draft(text))
    await room.asked("POST /session/s/prompt", 2)
    told = [{"type": "text", "text": f"\n\nI have undone:\n- {LINE}"}] if wanted != "never" else []
    assert prompts(room) == [[{"type": "text", "text": "first"}, *told], [{"type": "text", "text": "second"}]]
    await until(lambda: bool(undone.lines) == (wanted == "never"))


async def test_what_comes_back_and_what_is_a_command_has_no_such_lines(room: Room) -> None:
    undone = room.rounds
    undone.lines = [LINE]
    room.daemon.routes["POST /session/s/prompt"] = 400, {"error": "no"}
    room.chats.open(CHAT, WINDOW, room.folder)
    room.chats.send(CHAT, Draft("first"))
    await until(lambda: room.editor.returned)
    assert [draft.text for _, draft, _ in room.editor.returned] == ["first"]
    assert undone.lines == [LINE]
    room.chats.send(CHAT, Draft("/compress"))
    await room.asked("POST /session/s/prompt", 2)
    assert prompts(room)[-1] == [{"type": "text", "text": "/compress"}]


async def test_a_review_that_does_not_note_what_was_told_does_not_hold_the_next_prompt_up(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(*_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr("companion.chats.outbox.UNDONE_LIMIT", 0.05)
    monkeypatch.setattr(room.rounds, "notes_sent", never)
    room.rounds.lines = [LINE]
    room.chats.open(CHAT, WINDOW, room.folder)
    for text in ("first", "second"):
        room.chats.send(CHAT, Draft(text))
    await room.asked("POST /session/s/prompt", 2)


@pytest.mark.usefixtures("stormy")
@pytest.mark.parametrize("error", [FolderClosedError, UnicodeError])
async def test_a_prompt_comes_back_whatever_keeps_it_from_being_sent(
    room: Room, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    async def fails(*_: object) -> list[str]:
        raise error

    monkeypatch.setattr(room.rounds, "undone_since", fails)
    await room.opened()
    room.chats.send(CHAT, Draft("mine"))
    await until(lambda: room.editor.returned)
    assert room.editor.returned == [(CHAT, Draft("mine"), "This could not be sent.")]
    await until(lambda: not room.render.unsent)
