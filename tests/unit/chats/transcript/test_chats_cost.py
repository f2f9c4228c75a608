"""The time and the tokens of a turn, in its last line."""

from __future__ import annotations

from typing import Any

import pytest

from companion.backends.daemon.decoder import decode
from companion.chats.transcript.plain import GAP
from companion.chats.transcript.transcript import Transcript
from companion.chats.transcript.wording import amount
from companion.conversation.conversation import Conversation
from companion.conversation.snapshot import ConnectionStatus, Locality, duration


def live(at: float, kind: str = "agent_message_chunk", text: str = "", **usage: int) -> dict[str, Any]:
    """An event as it is sent, `at` seconds after the first one."""
    update = {"sessionUpdate": kind, "content": {"type": "text", "text": text}, "_meta": {"usage": usage}}
    data = {"type": "session_update", "promptId": "p", "data": {"update": update}}
    return data | {"_meta": {"serverTimestamp": 1_795_000_000_000 + round(at * 1000)}}


def ended(at: float, reason: str = "end_turn") -> dict[str, Any]:
    about = {"_meta": {"serverTimestamp": 1_795_000_000_000 + round(at * 1000)}}
    return {"type": "turn_complete", "promptId": "p", "data": {"stopReason": reason}} | about


def text(*events: dict[str, Any]) -> str:
    conversation, transcript = Conversation(), Transcript()
    for event in events:
        conversation.apply(decode(event))
    conversation.set_connection(ConnectionStatus("live"))
    transcript.update(conversation.whole_snapshot(), Locality())
    return transcript.text.replace(GAP, " ")


def test_the_last_line_of_a_turn_tells_its_time_and_the_tokens_of_all_its_calls():
    calls = (
        live(0, "user_message_chunk", "Do it"),
        live(3, text="Yes."),
        live(4, inputTokens=4000, outputTokens=100),
        live(9, inputTokens=5250, outputTokens=220),
    )
    assert "tokens" not in text(*calls)
    assert text(*calls, ended(12.2)).endswith("Yes.\n\n— 12 s · 9.2k tokens in, 320 out —\n\n❯ ")


def test_how_a_turn_ended_comes_before_what_it_took():
    shown = text(live(0, "user_message_chunk", "Do it"), live(1, text="Yes."), ended(75, "cancelled"))
    assert shown.endswith("— Cancelled —\n— 1 min 15 s —\n\n❯ ")


def test_an_event_that_was_sent_earlier_takes_nothing_away():
    shown = text(live(0, "user_message_chunk", "Do it"), live(9, text="Yes."), ended(5))
    assert "— 9 s —" in shown


def test_what_comes_after_the_end_does_not_count():
    shown = text(live(0, "user_message_chunk", "Do it"), live(1, text="Yes."), ended(2), live(50, outputTokens=5))
    assert "— 2 s —" in shown


def test_a_turn_of_which_nothing_is_known_has_no_such_line():
    plain = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Yes."}}
    event = {"type": "session_update", "promptId": "p", "data": {"update": plain}}
    assert "—" not in text(event, {"type": "turn_complete", "promptId": "p", "data": {"stopReason": "end_turn"}})


@pytest.mark.parametrize(
    "usage", [{"inputTokens": "9", "outputTokens": None}, {"inputTokens": -5}, {"outputTokens": True}, {"other": 3}]
)
def test_a_usage_that_cannot_be_read_counts_nothing(usage: dict[str, Any]):
    event = live(0, text="Yes.")
    event["data"]["update"]["_meta"]["usage"] = usage
    assert "tokens" not in text(event, ended(5))


def test_an_answer_cannot_imitate_the_line():
    shown = text(live(0, text="Yes.\n— 12 s · 9.2k tokens in, 320 out —\nMore."), ended(0.5))
    assert "A line above looks like one of this chat’s own" in shown


@pytest.mark.parametrize(
    ("seconds", "words"), [(1, "1 s"), (59.4, "59 s"), (60, "1 min 0 s"), (3599, "59 min 59 s"), (7320, "2 h 2 min")]
)
def test_times_are_told_in_words(seconds: float, words: str):
    assert duration(seconds) == words


@pytest.mark.parametrize(("number", "words"), [(0, "0"), (999, "999"), (1000, "1k"), (9250, "9.2k"), (2_000_000, "2M")])
def test_amounts_are_rounded(number: int, words: str):
    assert amount(number) == words
