from __future__ import annotations

import json
import logging
import time
from dataclasses import replace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from companion.backends.daemon import decoder, transport
from companion.backends.daemon.decoder import decode
from companion.conversation.conversation import START, Conversation
from companion.conversation.events import Envelope, Replay
from companion.conversation.snapshot import (
    ChatNotice,
    Choice,
    Choices,
    ConnectionStatus,
    ContextWindow,
    Message,
    Queued,
    Tool,
    Turn,
)

from ..backends.daemon.test_daemon_events import HISTORIES, SESSION

FRAMES = [decode(line) for line in SESSION]


def told(envelopes: list[Envelope]) -> Conversation:
    conversation = Conversation()
    for envelope in envelopes:
        assert conversation.apply(envelope)
    return conversation


WHOLE = told(FRAMES)


def history(answer: dict[str, Any]) -> Replay:
    loaded = transport.loads(json.dumps(answer), decoder.keep)
    assert isinstance(loaded, dict)
    return decoder.history(cast("dict[str, Any]", loaded), (), has_pages=False)


def texts(turn: Turn) -> list[tuple[str, str]]:
    return [(item.speaker, item.text) for item in turn.items if isinstance(item, Message)]


def say(text: str, prompt: str | None = "p", kind: str = "agent_message_chunk", **more: Any) -> Envelope:
    update = {"sessionUpdate": kind, "content": {"type": "text", "text": text}, **more}
    return decode({"type": "session_update", "promptId": prompt, "data": {"update": update}})


def update(kind: str, /, **fields: Any) -> Envelope:
    return decode({"type": "session_update", "promptId": "p", "data": {"update": {"sessionUpdate": kind, **fields}}})


def event(kind: str, /, prompt: str | None = "p", **data: Any) -> Envelope:
    return decode({"type": kind, "promptId": prompt, "data": data})


def request(number: int = 1, **call: Any) -> Envelope:
    options = [{"optionId": "once", "name": "Allow", "kind": "allow_once"}]
    return event(
        "permission_request", requestId=f"r{number}", toolCall={"toolCallId": f"t{number}", **call}, options=options
    )


def test_the_recorded_session():
    turns = WHOLE.turns
    assert [turn.state for turn in turns] == ["done"] * 7 + ["failed", "cancelled", "done", "cancelled"]
    assert turns[0].items[1:] == (Message("thought", "Let me think."), Message("answer", "The answer is 42."))
    mentioning = turns[1].items[0]
    assert isinstance(mentioning, Message)
    assert (mentioning.text, [each.name for each in mentioning.attachments]) == (
        "See @target.txt",
        ["target.txt", "new.py"],
    )
    tools = [item for turn in turns for item in turn.items if isinstance(item, Tool)]
    assert [(tool.name, tool.status, [asked.state for asked in tool.permissions]) for tool in tools] == [
        ("read_file", "completed", []),
        ("edit", "completed", ["selected"]),
        ("write_file", "failed", ["selected"]),
        ("run_shell_command", "completed", ["selected"]),
        ("ask_user_question", "completed", ["selected"]),
        ("run_shell_command", "failed", ["cancelled"]),
    ]
    assert [(diff.old, diff.new) for diff in tools[1].diffs] == [("alpha beta\n", "ALPHA beta\n")]
    assert tools[1].locations[0].path.endswith("target.txt")
    assert tools[4].permissions[0].questions[0].answers == (("Red", "warm"), ("Blue", "cold"))
    assert "says no" in turns[7].error
    status = WHOLE.status
    assert (status.model, status.mode, status.title) == ("scripted-b(openai)", "default", "A name")
    assert (status.queue, status.permissions, status.running) == ((), (), None)
    assert status.window
    assert status.window.size > status.window.used > 0
    assert len(status.commands) == 3


def test_what_was_seen_of_a_turn_takes_the_place_of_what_a_history_has_asked_in_it():
    conversation = told([say("Do it", kind="user_message_chunk"), say("A long answer.")])
    conversation.interrupt()
    conversation.rebuild(Replay((say("Do it", kind="user_message_chunk"), request())))
    assert texts(conversation.turns[0]) == [("user", "Do it"), ("answer", "A long answer.")]
    assert not conversation.status.permissions


def test_a_message_goes_on_after_a_reload():
    before = told([say("Of ", messageId="m"), say("Another. ", messageId="n"), say("More", messageId="n")])
    after = Conversation()
    after.restore(before.turns, before.status)
    assert after.apply(say(" words.", messageId="n"))
    assert texts(after.turns[0]) == [("answer", "Of "), ("answer", "Another. More words.")]


@given(st.lists(st.integers(1, len(FRAMES))))
def test_looks_add_up_to_the_conversation(looks: list[int]):
    conversation = Conversation()
    seen: dict[str, object] = {}
    for number, envelope in enumerate(FRAMES):
        conversation.apply(envelope)
        if number in looks:
            view = conversation.snapshot()
            seen |= {turn.key: turn for turn in view.changed}
            assert set(view.order) == set(seen)
    view = conversation.snapshot()
    seen |= {turn.key: turn for turn in view.changed}
    assert tuple(seen[key] for key in view.order) == WHOLE.turns
    assert view.status == WHOLE.status
    assert conversation.snapshot().changed == ()
    assert conversation.whole_snapshot().changed == WHOLE.turns


@pytest.mark.parametrize("answer", HISTORIES)
def test_the_history_says_the_same_as_the_events(answer: dict[str, Any]):
    conversation = Conversation()
    conversation.rebuild(history(answer))
    assert conversation.turns
    for shown, live in zip(conversation.turns, WHOLE.turns, strict=False):
        assert shown.key == live.key
        # A history from disk has no answers to questions, no texts that came with a prompt, and nothing of the daemon.
        kinds = [type(item) for item in live.items if not isinstance(item, ChatNotice)]
        assert [type(item) for item in shown.items if not isinstance(item, ChatNotice)] == kinds
        assert texts(shown) == texts(live)
    assert conversation.status.running is None


def test_the_live_history_is_equal_in_all():
    conversation = Conversation()
    conversation.rebuild(history(HISTORIES[0]))
    assert conversation.turns == WHOLE.turns


def test_changes_are_told_until_the_next_look():
    conversation = Conversation()
    assert not conversation.changed.is_set()
    for _ in range(3):
        conversation.apply(say("x"))
    assert conversation.changed.is_set()
    conversation.snapshot()
    assert not conversation.changed.is_set()
    conversation.apply(say("", kind="agent_message_chunk"))
    assert not conversation.changed.is_set()
    conversation.apply(say("y"))
    assert conversation.changed.is_set()


def test_what_somebody_says_is_one_message_until_something_comes_between():
    conversation = Conversation()
    for envelope in (
        say("a"),
        say("b"),
        say("t", kind="agent_thought_chunk"),
        say("c"),
        say("d", _meta={"parentToolCallId": "k"}),
    ):
        conversation.apply(envelope)
    [turn] = conversation.turns
    assert turn.items == (
        Message("answer", "ab"),
        Message("thought", "t"),
        Message("answer", "c"),
        Message("answer", "d", parent="k"),
    )


def test_what_names_no_prompt_belongs_to_the_last_turn():
    conversation = Conversation()
    conversation.apply(say("before", prompt=None))
    conversation.apply(say("asked"))
    conversation.apply(say(" more", prompt=None))
    assert [(turn.key, turn.state) for turn in conversation.turns] == [(START, "done"), ("p", "running")]
    assert conversation.turns[1].items == (Message("answer", "asked more"),)
    assert conversation.status.running == "p"


@pytest.mark.parametrize(
    ("envelope", "notice"),
    [
        (update("agent_message_chunk", content={"type": "audio"}), "Unsupported: audio in the answer."),
        (
            event("session_recording_degraded"),
            "The agent can't write this conversation to disk: it can't be resumed later.",
        ),
        (event("history_truncated"), "What came before is left out here; an export has it."),
        (event("model_switch_failed", requestedModelId="m", error="no"), "The model could not be switched to m: no."),
        (event("user_shell_result", exitCode=3), "The command has ended with 3."),
    ],
)
def test_notices(envelope: Envelope, notice: str):
    conversation = Conversation()
    conversation.apply(envelope)
    assert conversation.turns[0].items == (ChatNotice(notice),)


def test_what_is_unknown_goes_to_the_log_alone(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    conversation = Conversation()
    conversation.apply(event("something_new", secret="hidden"))
    assert conversation.turns == ()
    assert "something_new with secret" in caplog.text
    assert "hidden" not in caplog.text


def test_other_things_that_are_shown():
    conversation = Conversation()
    for envelope in (
        update("user_message_chunk", content={"type": "image"}),
        event("user_shell_command", command="ls"),
        update("shell_output", output="a.txt"),
        event("user_shell_result", exitCode=0),
        event("mid_turn_message_injected", messages=["left"]),
        update("tool_call", toolCallId="t", title="T", kind="other", content=[
            {"type": "content", "content": {"type": "text", "text": "one"}},
            {"type": "content", "content": {"type": "resource_link", "uri": "file:///l"}},
            {"type": "content", "content": {"type": "resource", "resource": {"uri": "file:///r"}}},
            {"type": "content", "content": {"type": "image"}},
            {"type": "terminal"},
        ]),
    ):  # fmt: skip
        conversation.apply(envelope)
    picture, shell, user, tool = conversation.turns[0].items
    assert isinstance(picture, Message)
    assert picture.attachments[0].name == "image"
    assert shell == Message("shell", "$ ls\na.txt")
    assert user == Message("user", "left")
    assert isinstance(tool, Tool)
    assert tool.text == "one\nfile:///l\nfile:///r\nUnsupported: image.\nUnsupported: terminal."


def late(prompt: str, **fields: Any) -> Envelope:
    return replace(update("tool_call_update", **fields), prompt=prompt)


def test_news_of_a_call_is_told_in_the_turn_that_has_made_it():
    conversation = told(
        [
            replace(update("tool_call", toolCallId="t", title="Build", status="in_progress"), prompt="one"),
            event("turn_complete", "one"),
            say("It builds", "two"),
            late("two", toolCallId="t", status="completed"),
            say(" on.", "two"),
            late("two", toolCallId="new", status="pending"),
            late("two", toolCallId="t", title="Another with this id"),
            late("two", toolCallId="t", status="failed"),
        ]
    )
    one, two = conversation.turns
    assert [(item.title, item.status) for item in one.items if isinstance(item, Tool)] == [("Build", "completed")]
    assert texts(two) == [("answer", "It builds on.")]
    assert [(item.title, item.status) for item in two.items if isinstance(item, Tool)] == [
        ("", "pending"),
        ("Another with this id", "failed"),
    ]


def test_a_message_into_a_turn_is_one_of_its_own_and_waits_no_more():
    conversation = told(
        [
            say("Go", kind="user_message_chunk"),
            event("pending_prompt_added", promptId="m", text="Faster!"),
            event("mid_turn_message_injected", messages=["Faster!", "Still faster!"], messageIds=["m", "n", 1]),
        ]
    )
    assert texts(conversation.turns[0]) == [("user", "Go"), ("user", "Faster!"), ("user", "Still faster!")]
    assert conversation.status.queue == ()
    assert all(map(conversation.has, ("m", "n")))


def test_the_status():
    conversation = Conversation()
    conversation.apply(update("plan", entries=[{"content": "Do", "status": "pending"}]))
    conversation.apply(update("current_mode_update", currentModeId="plan"))
    conversation.apply(update("session_info_update", title="T"))
    conversation.apply(event("followup_suggestion", suggestion="Go on"))
    conversation.apply(event("session_snapshot", currentModelId="m"))
    conversation.set(window=ContextWindow(10, 1))
    conversation.set_choices(Choices("", "", (Choice("m", "M"),), ()))
    conversation.set_connection(ConnectionStatus("live"))
    status = conversation.status
    assert (status.plan[0].text, status.mode, status.title, status.model) == ("Do", "plan", "T", "m")
    assert (status.window, status.models, status.suggestion) == (ContextWindow(10, 1), (Choice("m", "M"),), "Go on")
    conversation.apply(say("x", kind="user_message_chunk"))
    assert conversation.status.suggestion == ""


def test_a_question_is_open_until_it_is_answered_anywhere():
    conversation = told([request(1, title="One"), request(2, kind="execute")])
    assert [permission.id for permission in conversation.status.permissions] == ["r1", "r2"]
    outcome = {"outcome": "selected", "optionId": "once"}
    conversation.apply(event("permission_resolved", requestId="r1", outcome=outcome, voterClientId="other"))
    [left] = conversation.status.permissions
    assert left.id == "r2"
    first = conversation.turns[0].items[0]
    assert isinstance(first, Tool)
    [answered] = first.permissions
    assert (answered.state, answered.voter) == ("selected", "other")
    assert answered.chosen
    assert answered.chosen.kind == "allow_once"
    conversation.apply(event("permission_already_resolved", requestId="r1", outcome={"outcome": "cancelled"}))
    assert conversation.turns[0].items[0] == first
    conversation.apply(event("turn_complete", stopReason="end_turn"))
    second = conversation.turns[0].items[1]
    assert isinstance(second, Tool)
    assert [asked.state for asked in second.permissions] == ["cancelled"]
    assert conversation.status.permissions == ()


def test_a_second_question_about_a_call_does_not_hide_the_first():
    """What waits for an answer is there to be answered."""
    again = event("permission_request", requestId="q", toolCall={"toolCallId": "t1"}, options=[])
    conversation = told([request(1), again, request(1)])

    def states() -> list[tuple[str, str]]:
        [tool] = conversation.turns[0].items
        assert isinstance(tool, Tool)
        return [(asked.id, asked.state) for asked in tool.permissions]

    assert states() == [("q", "open"), ("r1", "open")]
    conversation.apply(event("permission_resolved", requestId="r1", outcome={"outcome": "cancelled"}))
    assert states() == [("q", "open"), ("r1", "cancelled")]
    assert [asked.id for asked in conversation.status.permissions] == ["q"]


def test_messages_of_their_own_do_not_mix_with_the_answer_that_streams():
    """Notices of background tasks come in the middle of it, with raw ids."""
    task = {"taskId": "agent-7f3a", "status": "completed", "toolUseId": "call_1"}
    notice = {"qwenDiscreteMessage": True, "source": "background_notification", "backgroundTask": task}
    response = {**notice, "source": "background_notification_response", "backgroundTask": task | {"turnId": "b"}}
    voice = {"qwenDiscreteMessage": True, "source": "realtime_voice"}
    conversation = told([
        say("```py\na = 1"),
        say("Background agent “search” (agent-7f3a) completed.", _meta=notice),
        say("It found ", _meta=response),
        say("\nb = 2\n```"),
        say("nothing.", _meta=response),
        say("Spoken", "p", "user_message_chunk", _meta=voice),
        say("x" * 301, _meta=notice),
        say(" Done."),
    ])  # fmt: skip
    [turn] = conversation.turns
    answer, line, found, spoken, transport = turn.items
    assert answer == Message("answer", "```py\na = 1\nb = 2\n``` Done.")
    assert line == ChatNotice("Background agent “search” completed.", is_aside=True)
    assert found == Message("answer", "It found nothing.", is_aside=True)
    assert spoken == Message("user", "Spoken", is_aside=True)
    assert transport == Message("answer", "x" * 301, is_aside=True)


def test_many_messages_of_their_own_take_no_longer_each():
    def aside(number: int) -> Envelope:
        task = {"taskId": str(number), "status": "completed"}
        return say("x", _meta={"qwenDiscreteMessage": True, "source": "realtime_voice", "backgroundTask": task})

    started = time.process_time()
    conversation = told([each for number in range(9000) for each in (aside(number), say("answer"))])
    assert time.process_time() - started < 5, "0.7 s where nothing else runs"
    [turn] = conversation.turns
    assert len(turn.items) == 9001


def test_events_that_can_not_be_read_have_one_notice():
    conversation = told([say("a"), decode("{"), decode("["), say("b"), decode("{")])
    notices = [item for turn in conversation.turns for item in turn.items if isinstance(item, ChatNotice)]
    assert notices == [ChatNotice("Unsupported: an event that can't be read.")]


def test_a_turn_that_is_being_cancelled():
    conversation = told([say("x"), event("prompt_cancelled", reason="forward_failed")])
    assert not conversation.turns[0].cancelling  # nobody has asked for that: an error follows
    conversation = told([say("x"), event("prompt_cancelled")])
    assert conversation.turns[0].cancelling
    conversation.apply(event("turn_complete", stopReason="cancelled"))
    assert (conversation.turns[0].state, conversation.turns[0].cancelling) == ("cancelled", False)
    conversation.apply(event("prompt_cancelled"))
    assert not conversation.turns[0].cancelling


def test_the_end_of_a_prompt_that_had_no_turn_shows_nothing_but_an_error():
    conversation = told(
        [event("turn_complete", stopReason="cancelled"), event("pending_prompt_completed", promptId="q")]
    )
    assert conversation.turns == ()
    conversation.apply(event("turn_error", message=""))
    assert (conversation.turns[0].state, conversation.turns[0].error) == ("failed", "The turn has failed.")


def test_a_rebuild_takes_the_place_of_all():
    conversation = told([say("x", prompt="a"), event("turn_complete", prompt="a"), say("y"), request()])
    conversation.snapshot()
    envelopes = (say("x", prompt="a"), say("y, and more"))
    conversation.rebuild(Replay(envelopes, True, (Queued("q", "Next"),)))
    view = conversation.snapshot()
    assert [(turn.key, turn.state) for turn in view.changed] == [("a", "done"), ("p", "running")]
    assert (view.status.permissions, view.status.queue) == ((), (Queued("q", "Next"),))
    conversation.rebuild(Replay(envelopes))
    assert [turn.state for turn in conversation.turns] == ["done", "interrupted"]
    conversation.rebuild(Replay(()))
    assert conversation.snapshot().order == ()


def test_a_rebuild_keeps_neither_the_plan_nor_the_queue():
    conversation = told([update("plan", entries=[{"content": "Do", "status": "pending"}])])
    conversation.apply(event("pending_prompt_added", promptId="q", text="Next"))
    conversation.apply(event("followup_suggestion", suggestion="Go on"))
    conversation.rebuild(Replay(()))
    status = conversation.status
    assert (status.plan, status.queue, status.suggestion) == ((), (), "")


def test_what_runs_ends_with_its_session():
    conversation = told([say("x", prompt="a"), event("turn_complete", prompt="a"), say("y"), request()])
    conversation.interrupt()
    assert [turn.state for turn in conversation.turns] == ["done", "interrupted"]
    assert (conversation.status.running, conversation.status.permissions) == (None, ())
    conversation.rebuild(Replay((say("x", prompt="a"), say("y"))))
    assert [turn.state for turn in conversation.turns] == ["done", "interrupted"]


def test_a_history_that_has_more_of_a_turn_than_was_seen_is_what_counts():
    conversation = told([say("Do it", kind="user_message_chunk"), say("Hel")])
    written = (say("Do it", kind="user_message_chunk"), say("Hello"))
    conversation.rebuild(Replay(written))
    assert texts(conversation.turns[0]) == [("user", "Do it"), ("answer", "Hello")]
    conversation.rebuild(Replay(written[:1]))
    assert texts(conversation.turns[0]) == [("user", "Do it"), ("answer", "Hello")]


@pytest.mark.parametrize("key", ["p", None])
def test_how_a_turn_was_seen_to_end_stays_where_the_history_does_not_tell(key: str | None):
    """A history from disk has no ends; that of 0.21.2 has other keys, too."""

    def asked(prompt: str | None) -> Envelope:
        meta: dict[str, Any] = {} if prompt else {"_meta": {"qwen.session.recordId": "1"}}
        return say("Do", prompt, "user_message_chunk", **meta)

    conversation = told([asked("p"), say("half"), event("turn_error", message="The process has ended.")])
    conversation.rebuild(Replay((asked(key),)))
    [turn] = conversation.turns
    assert (turn.state, turn.error) == ("failed", "The process has ended.")
    assert texts(turn) == [("user", "Do"), ("answer", "half")]
    # And it is as it was however often the conversation is read anew.
    conversation.rebuild(Replay((asked(key), say("Well", "q"))))
    assert [turn.state for turn in conversation.turns] == ["failed", "done"]


@pytest.mark.parametrize("is_written", [True, False])
def test_what_was_streamed_stays_when_a_daemon_was_killed_before_it_wrote_it(is_written: bool):
    """Marked as interrupted."""
    asked = say("Do", "p", "user_message_chunk")
    conversation = told([asked, say("streamed, but not yet"), say("on the disk")])
    conversation.rebuild(Replay((asked,) if is_written else ()))
    [turn] = conversation.turns
    assert turn.state == conversation.status.last == "interrupted"
    assert texts(turn) == [("user", "Do"), ("answer", "streamed, but not yeton the disk")]
    # And stays so.
    conversation.rebuild(Replay((asked,) if is_written else ()))
    assert texts(conversation.turns[0]) == texts(turn)


def asked(prompt: str, words: str = "") -> list[Envelope]:
    """A prompt and its answer, as events."""
    usage = {"usage": {"inputTokens": 1}}
    answered = [say("Yes", prompt)] if words.startswith("/") else [say("Yes", prompt, _meta=usage)]
    return [
        say(words or prompt, prompt, "user_message_chunk"),
        *answered,
        event("turn_complete", prompt, stopReason="end_turn"),
    ]


REWOUND = [*asked("a"), *asked("b", "/context"), *asked("c"), *asked("d")]


@pytest.mark.parametrize(("target", "left"), [(0, []), (1, ["a", "b"]), (2, ["a", "b", "c"]), (9, ["a", "b", "c"])])
def test_a_rewind_takes_its_prompt_and_all_later_ones_away_and_commands_do_not_count(target: int, left: list[str]):
    rewound = event("session_rewound", None, promptId="x########7", targetTurnIndex=target)
    conversation = told(REWOUND)
    conversation.apply(rewound)
    assert [turn.key for turn in conversation.turns] == left
    # A history has the rewind at its place, with what it took away before it.
    other = Conversation()
    other.rebuild(Replay((*REWOUND, rewound, *asked("e"))))
    assert [turn.key for turn in other.turns] == [*left, "e"]


def test_a_rewind_to_a_prompt_that_is_not_shown_shows_what_is_left():
    conversation = told([each for number in range(60) for each in asked(f"t{number}")])
    conversation.hide_earlier()
    assert conversation.whole_snapshot().order[0] == "t40"
    conversation.apply(event("session_rewound", None, promptId="x", targetTurnIndex=30))
    shown = conversation.snapshot()
    assert (shown.order[0], shown.order[-1], len(shown.order)) == ("t10", "t29", 20)
    assert [turn.key for turn in shown.changed] == list(shown.order)


def test_a_rewind_is_nothing_where_nothing_was_asked():
    conversation = told([])
    conversation.apply(event("session_rewound", None, promptId="x", targetTurnIndex=0))
    assert conversation.turns == ()


def test_a_rewind_closes_what_was_asked_and_forgets_plan_and_suggestion():
    plan = update("plan", entries=[{"content": "Do it"}])
    conversation = told([*asked("a"), say("b", "p", "user_message_chunk"), request(), plan])
    conversation.apply(event("followup_suggestion", "p", suggestion="Go on"))
    conversation.apply(event("session_rewound", None, promptId="x", targetTurnIndex=1))
    status = conversation.status
    assert (status.permissions, status.plan, status.suggestion, status.running) == ((), (), "", None)
    assert conversation.has("p")


def test_what_a_rewind_took_away_elsewhere_does_not_come_back():
    conversation = told([*asked("a"), say("Do", "p", "user_message_chunk"), say("half")])
    rewound = event("session_rewound", None, promptId="x", targetTurnIndex=1)
    history = (*asked("a"), say("Do", "p", "user_message_chunk"), rewound)
    conversation.rebuild(Replay(history))
    assert [turn.key for turn in conversation.turns] == ["a"]


def test_a_command_that_asks_the_model_counts():
    usage = update("usage_update", size=100, used=1)
    custom = [say("/mine", "p", "user_message_chunk"), usage]
    conversation = told([*asked("a"), *custom, *asked("c")])
    assert [turn.asks_model for turn in conversation.turns] == [True, True, True]
    tool = update("tool_call", toolCallId="t", title="Look")
    assert told([say("/mine", "p", "user_message_chunk"), tool]).turns[0].asks_model


@pytest.mark.parametrize(
    "times",
    [
        {"_meta": {"serverTimestamp": 2500}},
        {"data": {"update": {"_meta": {"timestamp": 2500}}}},
        {"data": {"_meta": {"timestamp": 2500}}},
    ],
)
def test_a_turn_knows_when_it_began(times: dict[str, Any]):
    begun = say("Do", "p", "user_message_chunk")
    assert begun.time is None
    sent = decode({"type": "session_update", "promptId": "p", "data": {}} | times)
    assert sent.time == 2.5
    assert told([replace(begun, time=2.5), say("Yes")]).turns[0].began == 2.5


def test_a_prompt_that_is_over_without_a_turn_is_known():
    conversation = told([])
    assert not conversation.has("q")
    conversation.apply(event("pending_prompt_completed", promptId="q", state="removed"))
    conversation.apply(event("turn_complete", "p2", stopReason="end_turn"))
    assert conversation.has("q")
    assert conversation.has("p2")
    for number in range(60):
        conversation.apply(event("pending_prompt_completed", promptId=f"o{number}"))
    assert not conversation.has("q")


def test_a_prompt_like_the_last_one_did_not_end_like_it():
    conversation = told([say("Do", "p", "user_message_chunk"), event("turn_complete", stopReason="cancelled")])
    envelopes = (say("Do", "p", "user_message_chunk"), say("Do", "q", "user_message_chunk"))
    conversation.rebuild(Replay(envelopes))
    assert [(turn.state, turn.stop_reason) for turn in conversation.turns] == [("cancelled", "cancelled"), ("done", "")]


def test_the_history_of_old_daemons_names_no_prompts_but_their_records():
    """0.21.2."""

    def recorded(number: int, text: str, kind: str = "user_message_chunk") -> Envelope:
        return say(text, None, kind, _meta={"qwen.session.recordId": f"record {number}"})

    conversation = told([say("One?", "a", "user_message_chunk"), event("turn_complete", "a")])
    conversation.apply(say("Two?", "b", "user_message_chunk"))
    envelopes = (recorded(1, "One?"), recorded(2, "1", "agent_message_chunk"), recorded(3, "Two?"))
    conversation.rebuild(Replay(envelopes))
    assert [texts(turn) for turn in conversation.turns] == [[("user", "One?"), ("answer", "1")], [("user", "Two?")]]
    assert [turn.state for turn in conversation.turns] == ["done", "interrupted"]


def test_the_end_of_a_task_is_told_once_and_its_id_never():
    def aside(source: str, text: str, **about: Any) -> Envelope:
        meta = {"qwenDiscreteMessage": True, "source": source, **about}
        return say(text, None, _meta=meta)

    task = {"backgroundTask": {"taskId": "bg_1", "status": "cancelled"}}
    conversation = told(
        [
            *asked("a"),
            aside("background_task_completed", "The shell was cancelled.", **task),
            aside("background_notification_turn_started", "bg_1", backgroundTurn={"taskId": "bg_1"}),
            aside("background_notification", "The shell was cancelled.", **task),
            aside("other", "Twice."),
            aside("other", "Twice."),
        ]
    )
    notices = [item.text for turn in conversation.turns for item in turn.items if isinstance(item, ChatNotice)]
    assert notices == ["The shell was cancelled.", "Twice.", "Twice."]
