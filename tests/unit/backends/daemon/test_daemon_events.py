from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from companion.backends import updates
from companion.backends.daemon import decoder
from companion.backends.daemon.decoder import decode
from companion.backends.daemon.errors import ClosedError
from companion.backends.daemon.transport import MAX_EVENT, Decoder
from companion.chats.transcript.transcript import Transcript
from companion.conversation import events
from companion.conversation.conversation import Conversation, TurnBuilder
from companion.conversation.failures import SessionEndedError, StaleError, StreamLostError
from companion.conversation.snapshot import ChatNotice, Locality, Message, Queued

RECORDINGS = Path(__file__).parent / "recordings"
SESSION = (RECORDINGS / "session.jsonl").read_text(encoding="utf-8").splitlines()
DIED = (RECORDINGS / "died.jsonl").read_text(encoding="utf-8").splitlines()
HISTORIES = [
    json.loads((RECORDINGS / name).read_text(encoding="utf-8")) for name in ("history-live.json", "history-disk.json")
]
HISTORY = [event for history in HISTORIES for event in (*history["compactedReplay"], *history["liveJournal"])]

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def event(kind: str, /, **data: Any) -> events.Event:
    return decode({"type": kind, "data": data}).event


def update(kind: str, /, **fields: Any) -> events.Event:
    return event("session_update", update={"sessionUpdate": kind, **fields})


@pytest.mark.parametrize("line", [*SESSION, *DIED, *HISTORY])
def test_every_recorded_event_is_understood(line: str | dict[str, Any]):
    envelope = decode(line)
    assert not isinstance(envelope.event, events.Unsupported), envelope
    wire = json.loads(line) if isinstance(line, str) else line
    assert envelope.id == wire.get("id")
    if "promptId" in wire:
        assert envelope.prompt == wire["promptId"]


def test_the_recordings_hold_what_a_chat_is_made_of():
    seen = {type(decode(line).event) for line in [*SESSION, *DIED]}
    assert seen >= {
        events.MessageChunk, events.ToolCallUpdate, events.StatusUpdate,
        events.PermissionRequest, events.PermissionResolved,
        events.TurnCompleted, events.TurnFailed, events.CancelRequested, Queued, events.PromptDequeued,
        ChatNotice,
    }  # fmt: skip
    said = {each.speaker for line in SESSION if isinstance(each := decode(line).event, events.MessageChunk)}
    assert said == {"user", "answer", "thought"}
    updates = [each for line in SESSION if isinstance(each := decode(line).event, events.StatusUpdate)]
    assert {name for each in updates for name in each.changes} >= {"commands", "mode", "model", "title", "window"}


def test_every_event_has_its_place_in_the_conversation():
    assert set(Conversation._REDUCERS) == set(get_args(events.Event))


@pytest.mark.parametrize(
    ("kind", "fields", "model"),
    [
        ("plan", {"entries": [{"content": "Do", "status": "pending", "priority": "medium"}]}, events.StatusUpdate),
        ("current_mode_update", {"currentModeId": "plan"}, events.StatusUpdate),
        ("session_info_update", {"title": None}, events.StatusUpdate),
        ("shell_output", {"output": "x"}, events.MessageChunk),
        ("agent_message_chunk", {"content": {"type": "image", "data": ""}}, events.MessageChunk),
        ("tool_call_update", {"toolCallId": "1", "content": [{"type": "terminal"}]}, events.ToolCallUpdate),
        ("tool_call_update", {}, events.Unsupported),
        ("agent_message_chunk", {}, events.Unsupported),
        ("something_new", {"a": 1}, events.Ignored),
    ],
)
def test_updates(kind: str, fields: dict[str, Any], model: type):
    assert type(update(kind, **fields)) is model


def test_a_field_that_cannot_be_read_takes_nothing_else_with_it():
    meta = {"promptId": 3, "usage": "many", "qwenDiscreteMessage": "x", "source": ["x"], "parentToolCallId": {}}
    chunk = update("agent_message_chunk", content={"type": "text", "text": "Yes."}, _meta=meta, messageId=[])
    assert chunk == events.MessageChunk("answer", "Yes.")
    link = {"type": "resource_link", "uri": "file:///a/b.py", "name": 3}
    call = update("tool_call", toolCallId=4, title=[], content=[{"type": "content", "content": link}], locations="x")
    assert call == events.ToolCallUpdate("4", {"text": "file:///a/b.py", "diffs": ()})


@pytest.mark.parametrize(
    ("kind", "data", "model"),
    [
        ("history_truncated", {}, ChatNotice),
        ("slow_client_warning", {}, events.Ignored),
        ("session_rewound", {"targetTurnIndex": 1}, events.Rewound),
        ("session_recording_degraded", {}, ChatNotice),
        ("mid_turn_message_injected", {"messages": ["a", 1]}, events.MessagesInjected),
        ("user_shell_command", {"command": "ls"}, events.MessageChunk),
        ("user_shell_result", {"exitCode": 1}, ChatNotice),
        ("followup_suggestion", {"suggestion": "Go on"}, events.StatusUpdate),
        ("mcp_server_added", {}, events.Ignored),
        ("auth_device_flow_started", {}, events.Ignored),
        ("pending_prompt_added", {}, events.Unsupported),
        ("permission_request", {"requestId": "1"}, events.Unsupported),
        ("something_new", {"a": 1}, events.Ignored),
    ],
)
def test_events(kind: str, data: dict[str, Any], model: type):
    assert type(event(kind, **data)) is model


@pytest.mark.parametrize(
    ("kind", "data", "error"),
    [
        ("session_died", {"reason": "channel_closed"}, SessionEndedError),
        ("session_closed", {}, ClosedError),
        ("state_resync_required", {"reason": "epoch_reset"}, StaleError),
        ("client_evicted", {"reason": "queue_overflow"}, StreamLostError),
        ("stream_error", {"error": None}, StreamLostError),
    ],
)
def test_events_after_which_none_come(kind: str, data: dict[str, Any], error: type):
    found = event(kind, **data)
    assert isinstance(found, events.Ignored)
    assert type(found.error) is error


def test_what_is_unknown_tells_its_names_and_not_its_values(caplog: pytest.LogCaptureFixture):
    caplog.set_level("DEBUG")
    assert event("something_new", secret="hidden") == events.Ignored("event something_new")
    assert "event something_new with secret" in caplog.text
    assert "hidden" not in caplog.text


def test_the_questions_of_a_request():
    question = {"question": "Which?", "header": None, "options": [{"label": "A", "description": None}]}
    options = [{"optionId": "proceed_once", "name": "Submit", "kind": "allow_once"}]
    named = {"_meta": {"toolName": "ask_user_question"}, "rawInput": {"questions": [question]}}
    for call in ({"_meta": {"qwenQuestions": [question]}}, named):
        request = updates.decode_permission("1", {"toolCallId": "t", **call}, options)
        assert isinstance(request, events.PermissionRequest)
        [asked] = request.questions
        assert (asked.text, asked.answers[0][0]) == ("Which?", "A")
    assert isinstance(updates.decode_permission("1", None, options), events.Unsupported)


@pytest.mark.parametrize("data", ["", "{", "[]", "null", "[" * 100_000])
def test_what_is_no_event_is_said(data: str):
    assert isinstance(decode(data).event, events.Unsupported)


@given(JSON)
def test_no_event_makes_the_reader_fail(value: Any):
    decode(json.dumps(value))
    for kind in (*decoder._EVENTS, "permission_request", "session_update"):
        decode({"type": kind, "data": value, "id": value, "promptId": value})
    for kind in updates._UPDATES:
        fields = value if isinstance(value, dict) else {"content": value}
        decode({"type": "session_update", "data": {"update": {**fields, "sessionUpdate": kind}}})


TIMES = st.sampled_from([10**400, -(10**400), -1, 0, 2**53, 1e308, float("inf"), float("nan"), True]) | st.floats()


@given(TIMES, TIMES, st.integers(-5, 5) | st.just(10**400) | JSON)
def test_no_time_and_no_number_of_a_turn_stops_a_chat(one: Any, two: Any, index: Any):
    chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "x"}}
    asked = {"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "x"}}
    conversation, transcript = Conversation(), Transcript()
    for fields in (
        {"type": "session_update", "data": {"update": asked}, "_meta": {"serverTimestamp": one}},
        {"type": "session_update", "data": {"update": chunk}, "_meta": {"serverTimestamp": two}},
        {"type": "session_rewound", "data": {"targetTurnIndex": index}},
        {"type": "session_update", "data": {"update": chunk}},
        {"type": "turn_complete", "_meta": {"serverTimestamp": two}},
    ):
        conversation.apply(decode(json.dumps({"promptId": "p", **fields})))
        transcript.update(conversation.snapshot(), Locality("here", "/folder"))
    assert "x" in transcript.text


@pytest.mark.usefixtures("stormy")
def test_an_event_that_raises_is_said_and_stops_nothing(monkeypatch: pytest.MonkeyPatch):
    def fails(*_: object) -> None:
        raise ZeroDivisionError

    conversation = Conversation()
    with monkeypatch.context() as broken:
        broken.setattr(TurnBuilder, "tool", fails)
        conversation.apply(events.Envelope(events.ToolCallUpdate("t"), 1, "p"))
        broken.setattr(decoder, "decode_update", fails)
        assert isinstance(update("plan"), events.Unsupported)
    conversation.apply(events.Envelope(events.MessageChunk("answer", "The end."), 2, "p"))
    told = [item.text for item in conversation.turns[0].items if isinstance(item, ChatNotice | Message)]
    assert told == ["Unsupported: an event that could not be shown.", "The end."]


def encoded(lines: list[str], end: str) -> bytes:
    envelopes = [f"id: {number}{end}event: x{end}data: {line}{end}{end}" for number, line in enumerate(lines)]
    return f"retry: 3000{end}{end}: heartbeat{end}{end}{''.join(envelopes)}".encode()


@given(st.lists(st.text(st.characters(exclude_characters="\r\n", codec="utf-8"), min_size=1)), st.data())
def test_any_cut_of_the_bytes_gives_the_same_events(lines: list[str], data: st.DataObject):
    lines = [f"x{line}" for line in lines]
    received = encoded(lines, data.draw(st.sampled_from(["\n", "\r\n"])))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(received)))))
    decoder = Decoder()
    parts = [received[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(received)], strict=True)]
    assert [found for part in parts for found in decoder.feed(part)] == lines


def test_data_of_several_lines_are_one_event():
    assert Decoder().feed(b"data: a\ndata:b\n\ndata\n\n") == ["a\nb"]


def test_an_event_without_an_end_is_given_up():
    decoder = Decoder()
    piece = b"x" * (MAX_EVENT // 4)
    for _ in range(4):
        decoder.feed(piece)
    with pytest.raises(StreamLostError, match="too large"):
        decoder.feed(piece)
