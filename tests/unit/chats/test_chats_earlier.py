"""A long conversation: its end is shown first, and what came earlier page by page."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from companion.backends.daemon import client as routes
from companion.backends.daemon import decoder as earlier
from companion.backends.daemon import transport
from companion.backends.daemon.decoder import decode
from companion.conversation import events
from companion.conversation.conversation import START, Conversation
from companion.conversation.events import Envelope, Replay
from companion.conversation.snapshot import Cost, Message, Tool

from ..fake_daemon import FEATURES, Request, Stream, until
from .chatting import CHAT, WINDOW, Room, real

PAGES = [*FEATURES, "session_turn_navigation"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def said(kind: str, text: str, prompt: str | None, record: str = "") -> dict[str, Any]:
    meta = {"qwen.session.recordId": record} if record else {}
    update = {"sessionUpdate": kind, "content": {"type": "text", "text": text}, "_meta": meta}
    return {"type": "session_update", "data": {"update": update}} | ({"promptId": prompt} if prompt else {})


def turns(first: int, end: int) -> list[dict[str, Any]]:
    """The events of turns that are numbered."""
    return [
        event
        for number in range(first, end)
        for event in (
            said("user_message_chunk", f"Question {number}.", f"p{number}", f"record{number}"),
            said("agent_message_chunk", f"Answer {number}.", f"p{number}"),
            {"type": "turn_complete", "promptId": f"p{number}", "data": {"stopReason": "end_turn"}},
        )
    ]


def numbers(text: str) -> list[int]:
    """The questions in a chat's text, and that each has its answer."""
    found = [int(each) for each in re.findall(r"Question (\d+)\.", text)]
    assert found == [int(each) for each in re.findall(r"Answer (\d+)\.", text)]
    return found


def history(events: list[dict[str, Any]], *, has_more: bool = False) -> Replay:
    before, page = earlier.split([(earlier.kind_of(event), json.dumps(event)) for event in events])
    return Replay(
        tuple(decode(text) for _, text in page),
        before=earlier.EarlierEvents(before),
        has_more=has_more,
    )


def shown(conversation: Conversation) -> list[str]:
    return list(conversation.snapshot().order)


async def resumed(room: Room, events: list[dict[str, Any]], **more: Any) -> Stream:
    """Show a session that has a history."""
    loaded = {"sessionId": "s", "workspaceCwd": real(room.folder), "clientId": "c", "attached": True}
    loaded |= {"lastEventId": 0, "eventEpoch": "e", "compactedReplay": events, **more}
    room.daemon.routes["POST /session/s/load"] = 200, loaded
    room.chats.open(CHAT, WINDOW, room.folder, "s")
    return await room.live()


async def test_a_long_history_shows_its_end_and_then_pages_of_what_came_earlier(room: Room) -> None:
    await resumed(room, turns(0, 100))
    await until(lambda: "Answer 99." in room.editor.chat_texts[1])
    assert numbers(room.editor.chat_texts[1]) == list(range(100 - earlier.MOST_TURNS, 100))
    for count in range(2, 6):
        assert room.render.status.has_earlier
        room.chats[CHAT].renderer.show_earlier()
        first = 100 - count * earlier.MOST_TURNS
        await until(lambda first=first: f"Question {first}." in room.editor.chat_texts[1])
        assert numbers(room.editor.chat_texts[1]) == list(range(first, 100))
    assert not room.render.status.has_earlier
    assert not room.daemon.asked("GET /session/s/transcript")


async def test_what_the_daemon_has_left_out_comes_by_its_pages(room: Room) -> None:
    def page(request: Request) -> tuple[int, Any]:
        found = re.search(r"beforeRecordId=record(\d+)$", request.route)
        assert found
        end = int(found[1])
        return 200, {"events": turns(max(0, end - 15), end), "hasMore": end > 15}

    room.daemon.capabilities(real(room.folder), features=PAGES)
    room.daemon.routes["GET /session/s/transcript"] = page
    await resumed(room, turns(20, 30), historyHasMore=True)
    assert (await room.asked("POST /session/s/load")).body["historyPageSize"] == routes.HISTORY_PAGE
    for first in (5, 0):
        await until(lambda: room.render.status.has_earlier)
        room.chats[CHAT].renderer.show_earlier()
        room.chats[CHAT].renderer.show_earlier()  # as a person does who is impatient
        await until(lambda first=first: f"Question {first}." in room.editor.chat_texts[1])
        assert numbers(room.editor.chat_texts[1]) == list(range(first, 30))
    await until(lambda: not room.render.status.has_earlier)
    assert len(room.daemon.asked("GET /session/s/transcript")) == 2


async def test_a_turn_without_a_record_is_found_in_the_daemons_index(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "INDEX_PAGE", 2)
    listed = [{"promptId": f"p{number}", "turnId": f"record{number}"} for number in range(6)]

    def index(request: Request) -> tuple[int, Any]:
        found = re.search(r"start=(\d+)", request.route)
        start = int(found[1]) if found else 4
        return 200, {"snapshot": "n", "start": start, "turns": listed[start : start + 2]}

    room.daemon.capabilities(real(room.folder), features=PAGES)
    room.daemon.routes["GET /session/s/turn-index"] = index
    room.daemon.routes["GET /session/s/transcript"] = 200, {"events": turns(0, 1), "hasMore": False}
    live = [event for event in turns(1, 6) if event["data"].get("update", {}).get("_meta") != {}]
    for event in live:
        event["data"].get("update", {}).pop("_meta", None)
    truncated = {"type": "history_truncated", "data": {}}
    await resumed(room, [truncated, *live])
    assert "left out" not in room.editor.chat_texts[1]
    room.chats[CHAT].renderer.show_earlier()
    request = await room.asked("GET /session/s/transcript")
    assert request.route.endswith("beforeRecordId=record1")
    await until(lambda: "Question 0." in room.editor.chat_texts[1])


async def test_a_page_that_the_daemon_does_not_give_is_mentioned_and_can_be_asked_for_again(room: Room) -> None:
    room.daemon.capabilities(real(room.folder), features=PAGES)
    room.daemon.routes["GET /session/s/transcript"] = 400, {"error": "no such record"}
    await resumed(room, turns(20, 30), historyHasMore=True)
    room.chats[CHAT].renderer.show_earlier()
    await until(lambda: room.editor.mentioned)
    assert room.render.status.has_earlier
    room.daemon.routes["GET /session/s/transcript"] = 200, {"events": turns(0, 20), "hasMore": False}
    room.chats[CHAT].renderer.show_earlier()
    await until(lambda: "Question 0." in room.editor.chat_texts[1])


async def test_a_daemon_without_pages_gives_all_and_says_what_it_leaves_out(room: Room) -> None:
    await resumed(room, [{"type": "history_truncated", "data": {}}, *turns(0, 3)], historyHasMore=True)
    assert "historyPageSize" not in (await room.asked("POST /session/s/load")).body
    await until(lambda: "Question 0." in room.editor.chat_texts[1])
    assert "What came before is left out here" in room.editor.chat_texts[1]
    assert not room.render.status.has_earlier


def test_a_history_keeps_what_still_holds_from_before_its_last_page():
    commands = {"sessionUpdate": "available_commands_update", "availableCommands": [{"name": "compress"}]}
    first = [{"type": "session_update", "data": {"update": commands}}]
    conversation = Conversation()
    conversation.rebuild(history([*first, *turns(0, 100)]))
    assert [command.name for command in conversation.status.commands] == ["compress"]


def test_a_rebuild_keeps_the_earlier_turns_that_were_shown():
    conversation = Conversation()
    conversation.rebuild(history(turns(0, 100)))
    conversation.show_earlier()
    before = shown(conversation)
    conversation.rebuild(history(turns(0, 101)))
    assert shown(conversation) == [*before, "p100"]
    while conversation.show_earlier():
        pass
    assert shown(conversation) == [f"p{number}" for number in range(101)]


def test_a_rebuild_with_another_history_forgets_the_earlier_turns():
    conversation = Conversation()
    conversation.rebuild(history(turns(0, 50)))
    conversation.rebuild(history(turns(200, 210)))
    assert shown(conversation) == [f"p{number}" for number in range(200, 210)]
    assert not conversation.show_earlier()


def test_what_was_seen_of_an_interrupted_turn_stays_through_further_rebuilds():
    conversation = Conversation()
    for event in [*turns(0, 1), *turns(1, 2)[:2]]:
        conversation.apply(decode(event))
    asked = turns(1, 2)[:1]  # the daemon was killed before it wrote the answer
    conversation.rebuild(history([*turns(0, 1), *asked]))
    conversation.rebuild(history([*turns(0, 1), *asked, *turns(2, 4)]))
    conversation.rebuild(history([*turns(0, 1), *asked, *turns(2, 5)]))
    answers = [item.text for turn in conversation.turns for item in turn.items if isinstance(item, Message)][1::2]
    assert answers == [f"Answer {number}." for number in range(5)]
    assert [turn.state for turn in conversation.turns] == ["done", "interrupted", "done", "done", "done"]


def test_a_rewind_of_a_conversation_that_is_not_whole_reads_it_again():
    conversation = Conversation()
    conversation.rebuild(history(turns(0, 100)))
    rewound = decode({"type": "session_rewound", "id": 1, "data": {"targetTurnIndex": 98}})
    assert not conversation.apply(rewound)
    conversation.rebuild(history(turns(0, 98)))
    while conversation.show_earlier():
        pass
    assert shown(conversation) == [f"p{number}" for number in range(98)]


def test_a_chat_whose_first_turns_are_hidden_can_be_looked_at_between_its_rewind_and_the_reading():
    conversation = Conversation()
    conversation.rebuild(history(turns(0, 100)))
    for number, event in enumerate(turns(100, 110), 1):
        conversation.apply(decode(event | {"id": number}))
    conversation.hide_earlier()
    rewound = decode({"type": "session_rewound", "id": 31, "data": {"targetTurnIndex": 98}})
    assert not conversation.apply(rewound)
    assert conversation.snapshot().order == ()
    assert conversation.status.running is None
    conversation.rebuild(history(turns(0, 98)))
    assert shown(conversation) == [f"p{number}" for number in range(78, 98)]


def test_a_page_that_ends_within_the_first_turn_hides_none_that_was_shown():
    conversation = Conversation()
    for event in [*turns(5, 6)[1:], *turns(6, 30)]:
        conversation.apply(decode(event))
    conversation.hide_earlier()
    before = shown(conversation)
    conversation.prepend([decode(event) for event in [*turns(0, 5), *turns(5, 6)[:1]]], has_more=False)
    assert shown(conversation) == before


def test_a_history_with_a_rewind_is_read_as_a_whole():
    rewound = {"type": "session_rewound", "data": {"targetTurnIndex": 60}}
    conversation = Conversation()
    conversation.rebuild(history([*turns(0, 90), rewound, *turns(200, 203)]))
    assert shown(conversation) == [f"p{number}" for number in (*range(60), 200, 201, 202)]


def test_a_chat_that_is_drawn_again_shows_its_end_first():
    conversation = Conversation()
    for event in turns(0, 50):
        conversation.apply(decode(event))
    conversation.hide_earlier()
    assert shown(conversation) == [f"p{number}" for number in range(50 - earlier.MOST_TURNS, 50)]
    # A page that arrives now goes before what is hidden.
    conversation.prepend(map(decode, turns(-1, 0)), has_more=False)
    assert shown(conversation) == [f"p{number}" for number in range(50 - earlier.MOST_TURNS, 50)]
    while conversation.show_earlier():
        pass
    assert shown(conversation) == [f"p{number}" for number in range(-1, 50)]


def test_an_earlier_page_that_ends_in_the_middle_of_a_turn_joins_it():
    call = {"toolCallId": "t", "title": "Read", "kind": "read", "status": "completed"}
    tool = {"type": "session_update", "data": {"update": {"sessionUpdate": "tool_call_update", **call}}}
    rest = [tool, said("agent_message_chunk", " of it.", None), *turns(1, 2)]
    start = [said("user_message_chunk", "Question 0.", "p0"), said("agent_message_chunk", "The beginning", "p0"), tool]
    conversation = Conversation()
    conversation.rebuild(history(rest, has_more=True))
    assert shown(conversation) == [START, "p1"]
    conversation.prepend(map(decode, start), has_more=False)
    assert shown(conversation) == ["p0", "p1"]
    items = conversation.turns[0].items
    assert [item.text for item in items if isinstance(item, Message)] == ["Question 0.", "The beginning", " of it."]
    assert sum(isinstance(item, Tool) for item in items) == 1


def test_a_question_of_a_turn_that_an_earlier_page_begins_is_answered():
    data = {"requestId": "r", "toolCall": {"toolCallId": "t", "title": "Edit"}}
    data["options"] = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
    conversation = Conversation()
    conversation.rebuild(history([said("agent_message_chunk", "I ask:", None)], has_more=True))
    conversation.apply(decode({"type": "permission_request", "data": data}))
    conversation.prepend([decode(said("user_message_chunk", "Question 0.", "p0"))], has_more=False)
    assert [asked.turn for asked in conversation.status.permissions] == ["p0"]
    outcome = {"requestId": "r", "outcome": {"outcome": "selected", "optionId": "yes"}}
    conversation.apply(decode({"type": "permission_resolved", "data": outcome}))
    [turn] = conversation.turns
    [tool] = (item for item in turn.items if isinstance(item, Tool))
    assert [asked.state for asked in tool.permissions] == ["selected"]
    assert conversation.status.permissions == ()


def test_a_turn_that_runs_stays_as_it_is_when_an_earlier_page_begins_it():
    def chunk(text: str, at: float, read: int) -> Envelope:
        return Envelope(events.MessageChunk("answer", text, usage=Cost(read=read, written=1)), prompt="p0", time=at)

    conversation = Conversation()
    conversation.apply(chunk("the rest", 12.0, 300))
    conversation.apply(chunk(" of it", 15.0, 400))
    conversation.apply(Envelope(events.CancelRequested(), prompt="p0"))
    conversation.prepend([chunk("begin", 10.0, 100), chunk("ning", 11.0, 200)], has_more=False)
    [joined] = conversation.turns
    assert (joined.state, joined.cancelling) == ("running", True)
    assert (joined.began, joined.cost) == (10.0, Cost(seconds=5.0, read=1000, written=4))


@given(JSON | st.dictionaries(st.text(), JSON), st.sampled_from([None, 1]))
def test_a_long_answer_is_read_as_the_standard_library_reads_it(value: object, indent: int | None):
    text = json.dumps(value, indent=indent)
    assert transport.loads(text) == json.loads(text)


def test_the_items_of_a_long_answers_lists_are_kept_as_wished():
    text = '{"a": [1 , {"b": [2]}], "c": [ 3 ]}'
    kept = transport.loads(text, lambda name, item, own: (name, own) if name == "a" else item)
    assert kept == {"a": [("a", "1"), ("a", '{"b": [2]}')], "c": [3]}


@given(st.text(alphabet='{}[]:,"1 a\n', max_size=12))
def test_a_long_answer_that_is_no_json_is_refused_as_the_standard_library_refuses_it(text: str):
    try:
        expected = json.loads(text)
    except ValueError:
        with pytest.raises(ValueError, match=r"\S"):
            transport.loads(text)
    else:
        assert transport.loads(text) == expected
