"""What happens to prompts on their way when the person takes them back or the conversation changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from companion.chats import outbox
from companion.chats.chats import CUT_OFF
from companion.chats.outbox import ON_ITS_WAY
from companion.chats.prompt import Draft, Excerpt, Returned
from companion.editor import ChatId, ViewId, WindowId

from ..fake_daemon import FEATURES, Request, Stream, until
from .chatting import CHAT, WINDOW, Room, prompts, real, stat


def returned(room: Room) -> list[str]:
    return [draft.text for _, draft, _ in room.editor.returned]


async def test_a_prompt_that_may_have_reached_the_daemon_can_not_be_taken_back(room: Room) -> None:
    await room.opened()
    room.daemon.routes["POST /session/s/prompt"] = None  # the answer is lost
    room.chats.send(CHAT, Draft("Once"))
    await until(lambda: [each.state for each in room.render.unsent] == ["sending"])
    room.chats[CHAT].unsend(room.render.unsent[0].id)
    await until(lambda: room.editor.mentioned)
    assert room.editor.mentioned == [("It has been sent already.", 1)]
    assert returned(room) == []


async def test_a_prompt_that_went_back_with_the_conversation_is_not_sent_later(room: Room) -> None:
    right = room.daemon.routes["GET /capabilities"]
    room.daemon.routes["GET /capabilities"] = None
    room.chats.open(CHAT, WINDOW, room.folder)
    room.chats.send(CHAT, Draft("Before"))
    room.chats.show(CHAT)
    await until(lambda: returned(room) == ["Before"])
    room.daemon.routes["GET /capabilities"] = right
    room.chats[CHAT].reconnect()
    await room.live()
    room.chats.send(CHAT, Draft("After"))
    await room.asked("POST /session/s/prompt")
    assert [blocks[0]["text"] for blocks in prompts(room)] == ["After"]


async def test_a_prompt_that_the_daemon_has_taken_does_not_go_back_with_the_conversation(room: Room) -> None:
    await room.opened()
    room.chats.send(CHAT, Draft("Taken"))
    await until(lambda: [each.state for each in room.render.unsent] == ["sent"])
    room.chats.show(CHAT)
    await room.live()
    assert returned(room) == []


async def test_a_prompt_that_is_sent_after_a_rebuild_waits_for_its_turn_like_any_other(room: Room) -> None:
    (await room.opened()).send("state_resync_required", reason="epoch_reset")
    await room.asked("POST /session/s/load")
    stream = await room.live()
    room.chats.send(CHAT, Draft("mine"))
    await until(lambda: [unsent.state for unsent in room.render.unsent] == ["sent"])
    stream.send("session_metadata_updated", 1, displayName="A title")
    await until(lambda: room.render.status.title == "A title")
    assert room.editor.returned == []
    assert [unsent.state for unsent in room.render.unsent] == ["sent"]


@pytest.mark.parametrize("ends", ["a reload", "its tab", "a new conversation"])
async def test_a_prompt_that_is_on_its_way_is_not_said_to_be_unsent(room: Room, ends: str) -> None:
    """The daemon may have it: sent again, it would do twice what it asks."""
    await room.opened()
    room.daemon.routes["POST /session/s/prompt"] = None  # the answer is on its way
    room.chats.send(CHAT, Draft("Once"))
    await room.asked("POST /session/s/prompt")
    room.chats.send(CHAT, Draft("Then"))
    unsent = {
        "a reload": "It was not sent before the package was reloaded.",
        "its tab": "The chat was closed before this was sent.",
        "a new conversation": "The conversation has changed before this was sent.",
    }
    if ends == "a reload":
        left = await room.chats.stop(hand_over=True)
        room.chats.inherit(left, {WINDOW: None})
        room.chats.open(CHAT, WINDOW, room.folder)
    elif ends == "its tab":
        room.chats.close(CHAT)
    else:
        room.chats.show(CHAT)
    assert room.editor.returned == [
        (CHAT, Draft("Once"), ON_ITS_WAY),
        (CHAT, Draft("Then"), unsent[ends]),
    ]


async def test_a_prompt_that_was_not_sent_survives_two_reloads_without_the_chat_being_opened(room: Room) -> None:
    room.daemon.routes["GET /capabilities"] = None
    room.chats.open(CHAT, WINDOW, room.folder)
    room.chats.send(CHAT, Draft("Kept"))
    first = await room.chats.stop(hand_over=True)
    assert [each["draft"]["text"] for each in first[WindowId(1)]["chats"][1]["unsent"]] == ["Kept"]
    room.chats.inherit(first, {WindowId(1): None})
    second = await room.chats.stop(hand_over=True)
    assert second[WindowId(1)]["chats"] == first[WindowId(1)]["chats"]


def history(*prompts: list[dict[str, str]]) -> dict[str, Any]:
    """The answer to `/load` with prompts that have ended, whose ids are other ones than those of their events."""
    chunks = [
        {"update": {"sessionUpdate": "user_message_chunk", "content": block, "_meta": {"promptId": f"of-disk-{at}"}}}
        for at, blocks in enumerate(prompts)
        for block in blocks
    ]
    session = {"sessionId": "s", "attached": True, "lastEventId": 0, "eventEpoch": "e"}
    return session | {"compactedReplay": [{"v": 1, "type": "session_update", "data": chunk} for chunk in chunks]}


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


LINK = {"type": "resource_link", "uri": "file:///w/a.py", "name": "a.py"}


@pytest.mark.parametrize("words", ["@src/a.py look", "@src/a.py", "@src/a.py explain", "Go on", "Go", "", "@nothing"])
async def test_a_prompt_that_a_daemon_lost_comes_back_whatever_was_said_before(room: Room, words: str) -> None:
    """A prompt whose text is like an earlier one's, or begins with a file, is told from that."""
    room.daemon.routes["GET /stat"] = stat("src/a.py")
    room.daemon.routes["POST /session/s/load"] = 200, history([text("Go on")], [LINK, text(" explain")])
    room.chats.open(CHAT, WINDOW, room.folder, "s")
    stream = await room.live()
    draft = Draft(words, (Excerpt("file:///w/b.py#L1", "b.py:1", "x"),))
    room.chats.send(CHAT, draft)
    await until(lambda: [unsent.state for unsent in room.render.unsent] == ["sent"])
    stream.send("pending_prompt_added", 1, promptId="p", text=words)
    await until(lambda: room.render.status.queue and not room.render.unsent)
    stream.send("state_resync_required", reason="epoch_reset")
    await until(lambda: room.editor.returned)
    assert room.editor.returned[0][1:] == (draft, "The daemon has ended before it began this.")


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("@src/a.py look", [LINK, text(" look")]),
        ("@src/a.py", [LINK]),
        ("Go on", [text("Go on")]),
        ("see @src/a.py and more", [text("see "), LINK, text(" and more")]),
        ("@nothing", [text("@nothing")]),
    ],
)
async def test_a_prompt_that_ran_is_found_in_a_history_with_other_ids(
    room: Room, words: str, shown: list[dict[str, str]]
) -> None:
    room.daemon.routes["GET /stat"] = stat("src/a.py")
    before = [text("Go on")], [LINK, text(" explain")]
    room.daemon.routes["POST /session/s/load"] = 200, history(*before)
    room.chats.open(CHAT, WINDOW, room.folder, "s")
    stream = await room.live()
    for sent in (words, "the next"):
        room.daemon.routes["POST /session/s/prompt"] = 202, {"promptId": sent}
        room.chats.send(CHAT, Draft(sent))
        await until(lambda: [unsent.state for unsent in room.render.unsent][-1:] == ["sent"])
    room.daemon.routes["POST /session/s/load"] = 200, history(*before, shown)
    stream.send("state_resync_required", reason="epoch_reset")
    await until(lambda: room.editor.returned)
    assert returned(room) == ["the next"]


OTHER = ChatId(ViewId(2))
WHOLE = Draft("mine", (Excerpt("file:///w/b.py#L1", "b.py:1", "x"),), ("/w/screen.png",))
CLOSED = "The chat was closed before this was sent."


@pytest.mark.parametrize("closes", ["its tab", "its window", "its window after a reload"])
async def test_a_prompt_comes_back_whole_from_a_chat_that_closes(room: Room, closes: str) -> None:
    """If the tab is a chat of another window by then, it goes there, with its pictures and excerpts."""
    room.daemon.routes["GET /capabilities"] = None
    room.chats.open(CHAT, WINDOW, room.folder)
    room.chats.send(CHAT, WHOLE)
    if closes == "its tab":
        room.chats.close(CHAT)
    elif closes == "its window":
        room.chats.window_closed(WINDOW)
    else:
        room.chats.inherit(await room.chats.stop(hand_over=True), {})
    assert room.editor.returned == [(CHAT, WHOLE, CLOSED)]


async def test_the_screen_is_told_what_would_be_lost_with_the_editor(room: Room) -> None:
    await room.opened()
    room.chats.send(CHAT, Draft("Taken"))
    await until(lambda: [each.state for each in room.render.unsent] == ["sent"])
    assert room.render.waiting == ()  # a daemon of somebody else's keeps its queue
    room.daemon.routes["POST /session/s/prompt"] = None  # the answer is on its way
    room.chats.send(CHAT, Draft("Once"))
    room.chats.send(CHAT, Draft("Then"))
    await until(lambda: room.render.waiting == (Returned(Draft("Once"), True), Returned(Draft("Then"))))


async def test_what_waited_when_the_editor_was_closed_comes_back_once(room: Room) -> None:
    waiting = [Returned(WHOLE), Returned(Draft("Once"), may_have_arrived=True)]
    room.chats.open(CHAT, WINDOW, room.folder, waiting=waiting)
    back = [(CHAT, WHOLE, CUT_OFF), (CHAT, Draft("Once"), ON_ITS_WAY)]
    assert room.editor.returned == back
    await room.live()
    room.chats.open(CHAT, WINDOW, room.folder, waiting=waiting)  # the screen is drawn again
    room.chats.close(CHAT, waiting)
    assert room.editor.returned == back


async def test_what_waited_when_the_editor_was_closed_comes_back_from_a_tab_that_nobody_looks_at(room: Room) -> None:
    room.chats.close(CHAT, [Returned(WHOLE)])
    assert room.editor.returned == [(CHAT, WHOLE, CUT_OFF)]


@pytest.mark.parametrize("form", [{"unsent": [{"words": "mine"}]}, {"session": None}, [], None])
async def test_what_waited_comes_back_from_the_screen_if_another_version_has_left_it_in_another_form(
    room: Room, stormy: object, form: Any
) -> None:
    room.daemon.routes["GET /capabilities"] = None
    room.chats.open(CHAT, WINDOW, room.folder)
    room.chats.open(OTHER, WINDOW, room.folder)
    for chat in (CHAT, OTHER):
        room.chats.send(chat, WHOLE)
    left = await room.chats.stop(hand_over=True)
    whole = left[WINDOW]["chats"][CHAT]
    left[WINDOW]["chats"][CHAT] = whole | form if isinstance(form, dict) else form
    room.chats.inherit(left, {WINDOW: None})
    assert room.chats.open_sessions() == set()
    for chat in (CHAT, OTHER):
        room.chats.open(chat, WINDOW, room.folder, waiting=[Returned(WHOLE)])
    unsent = "It was not sent before the package was reloaded."
    assert room.editor.returned == [(CHAT, WHOLE, CUT_OFF), (OTHER, WHOLE, unsent)]


async def test_what_a_reload_has_handed_over_does_not_come_back_from_the_screen_as_well(room: Room) -> None:
    room.daemon.routes["GET /capabilities"] = None
    room.chats.open(CHAT, WINDOW, room.folder)
    room.chats.send(CHAT, WHOLE)
    room.chats.inherit(await room.chats.stop(hand_over=True), {WINDOW: None})
    room.chats.open(CHAT, WINDOW, room.folder, waiting=[Returned(WHOLE)])
    assert [draft for _, draft, _ in room.editor.returned] == [WHOLE]


@pytest.mark.parametrize("is_told", [True, False], ids=["told as well", "not told"])
async def test_a_prompt_that_was_removed_from_the_queue_comes_back_once(room: Room, is_told: bool) -> None:
    stream = await queued(room)

    def remove(_: Request) -> tuple[int, dict[str, bool]]:
        if is_told:
            stream.send("pending_prompt_completed", 2, "p", promptId="p", state="removed")
        return 200, {"removed": True}

    room.daemon.routes["DELETE /session/s/pending-prompts/p"] = remove
    room.chats.tell(CHAT, lambda own: own.dequeue("p"))
    await until(lambda: room.editor.returned)
    stream.send("state_resync_required", reason="epoch_reset")
    await room.asked("POST /session/s/load")
    await room.live()
    assert room.editor.returned == [(CHAT, MINE, "It was removed from the queue.")]


async def test_a_prompt_that_was_removed_from_the_queue_comes_back_if_the_answer_is_lost(room: Room) -> None:
    stream = await queued(room)
    room.daemon.routes["DELETE /session/s/pending-prompts/p"] = None
    room.chats.tell(CHAT, lambda own: own.dequeue("p"))
    await until(lambda: room.editor.mentioned)
    assert room.editor.returned == []
    stream.send("pending_prompt_completed", 2, "p", promptId="p", state="removed")
    await until(lambda: room.editor.returned)
    assert room.editor.returned == [(CHAT, MINE, "It was removed from the queue.")]


async def test_a_prompt_that_another_client_removes_from_the_queue_comes_back_though_its_turn_ends_at_once(
    room: Room,
) -> None:
    """As the daemon tells it: the end of a turn that has never begun comes in the same millisecond."""
    stream = await queued(room)
    stream.send("pending_prompt_completed", 2, "p", promptId="p", state="removed")
    stream.send("turn_complete", 3, "p", promptId="p", stopReason="cancelled")
    await until(lambda: room.editor.returned)
    assert room.editor.returned == [(CHAT, MINE, "It was removed from the queue.")]


@pytest.mark.parametrize(
    ("way", "told"),
    [
        ("removed", "It was removed from the queue."),
        ("lost", "The daemon has ended before it began this."),
    ],
)
async def test_a_prompt_that_leaves_the_queue_unbegun_after_its_tab_was_closed_comes_back(
    room: Room, way: str, told: str
) -> None:
    stream = await room.opened()
    room.chats.send(CHAT, Draft("now"))
    stream.say(1, "On it")
    await until(lambda: room.render.status.running)
    room.daemon.routes["POST /session/s/prompt"] = 202, {"promptId": "q"}
    room.chats.send(CHAT, MINE)
    stream.send("pending_prompt_added", 2, promptId="q", text="mine")
    await until(lambda: room.render.status.queue and not room.render.unsent)
    room.chats.close(CHAT)
    if way == "removed":
        stream.send("pending_prompt_completed", 3, "q", promptId="q", state="removed")
        stream.send("turn_complete", 4, "q", promptId="q", stopReason="cancelled")
        stream.send("turn_complete", 5, "p", promptId="p", stopReason="end_turn")
    else:
        stream.send("state_resync_required", reason="epoch_reset")
    await until(lambda: not room.chats._leaving)
    assert room.editor.returned == [(CHAT, MINE, told)]


@pytest.mark.parametrize("is_asked", [True, False], ids=["removed there", "removed elsewhere"])
@pytest.mark.parametrize("tab", [CHAT, ChatId(ViewId(2))], ids=["in its tab", "in another tab"])
async def test_a_prompt_that_leaves_the_queue_comes_back_once_and_whole_to_the_tab_that_shows_it_again(
    room: Room, tab: ChatId, is_asked: bool
) -> None:
    before = await room.opened()
    room.chats.send(CHAT, Draft("now"))
    before.say(1, "On it")
    await until(lambda: room.render.status.running and room.render.session)
    room.daemon.routes["POST /session/s/prompt"] = 202, {"promptId": "q"}
    room.chats.send(CHAT, MINE)
    before.send("pending_prompt_added", 2, promptId="q", text="mine")
    await until(lambda: room.render.status.queue and not room.render.unsent)
    waits = {"promptId": "q", "text": "mine", "state": "queued"}
    room.daemon.routes["GET /session/s/pending-prompts"] = 200, {"pendingPrompts": [waits]}
    if tab == CHAT:
        room.chats.show(CHAT)
        await room.live()
    else:
        room.chats.close(CHAT)
    room.chats.open(tab, WINDOW, room.folder, "s")
    again = await room.daemon.streams.get()
    again.say(1, "On it")
    await until(lambda: room.editor.renders.get(tab) and room.editor.renders[tab][-1].status.queue)
    if is_asked:
        room.daemon.routes["DELETE /session/s/pending-prompts/q"] = 200, {"removed": True}
        room.chats.tell(tab, lambda own: own.dequeue("q"))
        await until(lambda: room.editor.returned)
    for stream, number in ((before, 3), (again, 2)):
        stream.send("pending_prompt_completed", number, "q", promptId="q", state="removed")
        stream.send("turn_complete", number + 1, "q", promptId="q", stopReason="cancelled")
        stream.send("turn_complete", number + 2, "p", promptId="p", stopReason="end_turn")
    await until(lambda: room.editor.returned and not room.chats._leaving)
    assert room.editor.returned == [(tab, MINE, "It was removed from the queue.")]


async def test_a_prompt_that_has_begun_does_not_come_back_though_its_removal_has_no_answer(room: Room) -> None:
    stream = await queued(room)
    room.daemon.routes["DELETE /session/s/pending-prompts/p"] = None
    room.chats.tell(CHAT, lambda own: own.dequeue("p"))
    await until(lambda: room.editor.mentioned)
    stream.send("pending_prompt_started", 2, "p", promptId="p", text="mine")
    stream.say(3, "Yes.")
    stream.send("turn_complete", 4, "p", stopReason="end_turn")
    stream.send("pending_prompt_completed", 5, "p", promptId="p", state="completed")
    await until(lambda: room.render.status.last == "done")
    assert room.editor.returned == []


async def test_what_waited_in_a_session_that_has_ended_comes_back_with_its_tab(room: Room) -> None:
    stream = await queued(room)
    stream.send("session_died", reason="channel_closed")
    await room.state("ended")
    room.chats.close(CHAT)
    assert room.editor.returned == [(CHAT, MINE, CLOSED)]


async def test_a_message_into_a_turn_that_may_have_arrived_is_not_said_to_be_unsent(
    room: Room, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is in no queue then, so that nobody can look for it."""
    monkeypatch.setattr(outbox, "ARRIVAL_LIMIT", 0.1)
    room.daemon.capabilities(real(project), features=[*FEATURES, "session_mid_turn_message_mutation"])
    room.daemon.routes |= {
        "POST /session/s/mid-turn-message": None,
        "GET /session/s/mid-turn-messages": None,
        "GET /session/s/pending-prompts": (200, {"pendingPrompts": []}),
    }
    await room.opened()
    room.chats.send(CHAT, Draft("mine"), mid_turn=True)
    await until(lambda: room.editor.returned)
    [(_, draft, why)] = room.editor.returned
    assert draft == Draft("mine")
    assert why.endswith("Check whether it has arrived before you send it again.")


async def queued(room: Room) -> Stream:
    """The events of a chat whose prompt waits in the daemon's queue."""
    stream = await room.opened()
    room.daemon.routes["POST /session/s/prompt"] = 202, {"promptId": "p"}
    room.chats.send(CHAT, MINE)
    await room.asked("POST /session/s/prompt")
    stream.send("pending_prompt_added", 1, "p", promptId="p", text="mine")
    await until(lambda: room.render.status.queue and not room.render.unsent)
    return stream


MINE = Draft("mine", (Excerpt("file:///w/b.py#L1", "b.py:1", "x"),))
