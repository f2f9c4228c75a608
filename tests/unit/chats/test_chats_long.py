"""A chat that goes on for a day: its oldest turns leave the screen and most of the memory."""

from __future__ import annotations

import gc
import re
import tracemalloc
from collections.abc import Iterator, Sequence
from typing import Any, cast

import pytest

from companion.backends.daemon.decoder import decode
from companion.chats import chat as chat_module
from companion.chats.chat import LINES, PIECE, SLICE, slices
from companion.chats.prompt import Draft
from companion.chats.transcript import markdown
from companion.chats.transcript.transcript import Transcript
from companion.conversation.conversation import Conversation
from companion.conversation.events import Replay
from companion.conversation.snapshot import Locality, Message, Snapshot, Status, Tool, Turn

from ..conversation.test_conversation import FRAMES, event, request, told, update
from ..fake_daemon import until
from .chatting import CHAT, Room
from .test_chats_earlier import resumed, said, turns


async def shows(room: Room, first: int, end: int) -> None:
    """Wait until a chat shows these turns, each with its answer."""
    wanted = [str(number) for number in range(first, end)]

    def found() -> bool:
        text = room.editor.chat_texts[1]
        return all(re.findall(rf"{word} (\d+)\.", text) == wanted for word in ("Question", "Answer"))

    await until(found)


def sharing_of(count: int) -> Conversation:
    conversation = Conversation()
    for each in turns(0, count):
        conversation.apply(decode(each))
    return conversation


async def test_who_sends_a_prompt_in_a_long_chat_sees_its_last_turns_and_can_scroll_up_to_all(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat_module, "MOST_SHOWN", 30)
    monkeypatch.setattr(chat_module, "LEAST_SHOWN", 25)
    stream = await resumed(room, turns(0, 10))
    for number, each in enumerate(turns(10, 40), 1):
        stream.send(each["type"], number, each["promptId"], **each["data"])
    await shows(room, 0, 40)
    assert not room.render.status.has_earlier
    room.daemon.routes["POST /session/s/prompt"] = 202, {"promptId": "p40"}
    room.chats.send(CHAT, Draft("Question 40."))
    await until(lambda: "Question 0." not in room.editor.chat_texts[1])
    assert room.render.status.has_earlier
    for number, each in enumerate(turns(40, 41), 91):
        stream.send(each["type"], number, each["promptId"], **each["data"])
    await shows(room, 15, 41)
    room.chats[CHAT].renderer.show_earlier()
    await shows(room, 0, 41)
    assert not room.render.status.has_earlier


def test_the_chat_stays_as_it_is_while_it_is_not_too_long():
    conversation = sharing_of(30)
    conversation.hide_earlier(30, 25)
    assert len(conversation.whole_snapshot().order) == 30
    conversation.hide_earlier(29, 25)
    assert len(conversation.whole_snapshot().order) == 25


def test_turns_that_are_hidden_are_the_same_when_they_are_shown_again():
    conversation, same = told(FRAMES), told(FRAMES)
    assert len(same.turns) > 2
    conversation.hide_earlier(1, 1)
    assert conversation.turns == same.turns
    assert conversation.prompts == same.prompts
    while conversation.show_earlier():
        pass
    assert conversation.whole_snapshot().changed == same.whole_snapshot().changed


def test_a_hidden_turn_still_takes_what_comes_for_it():
    conversation = told(
        [decode(each) for each in (said("user_message_chunk", "/Do it", "p"), said("agent_message_chunk", "A", "p"))]
    )
    conversation.apply(request())
    for each in (event("turn_complete"), *map(decode, turns(0, 3))):
        conversation.apply(each)
    conversation.hide_earlier(1, 1)
    conversation.apply(update("tool_call_update", toolCallId="t1", status="completed"))
    conversation.apply(decode(said("agent_message_chunk", "B", "p")))
    first = conversation.turns[0]
    assert [item.text for item in first.items if isinstance(item, Message)] == ["/Do it", "A", "B"]
    [tool] = [item for item in first.items if isinstance(item, Tool)]
    assert (tool.status, [permission.state for permission in tool.permissions]) == ("completed", ["cancelled"])
    assert first.asks_model


def test_hidden_turns_survive_a_rebuild():
    conversation = sharing_of(30)
    conversation.hide_earlier(10, 10)
    history = tuple(decode(each) for each in turns(5, 31))
    conversation.rebuild(Replay(history))
    assert [turn.asked for turn in conversation.turns] == [f"Question {number}." for number in range(31)]


def test_a_shorter_history_shows_all_of_its_turns():
    conversation = sharing_of(30)
    conversation.hide_earlier(10, 10)
    history = tuple(decode(each) for each in turns(5, 8))
    conversation.rebuild(Replay(history))
    assert conversation.whole_snapshot().order == ("p5", "p6", "p7")
    assert conversation.show_earlier()
    assert len(conversation.whole_snapshot().order) == 8


def test_a_look_costs_nothing_for_the_turns_that_are_hidden():
    conversation = sharing_of(30)
    conversation.hide_earlier(10, 10)
    conversation.snapshot()
    for key in list(conversation._turns)[:20]:
        conversation._turns[key] = cast("Any", None)  # whoever looks at it fails
    conversation.apply(decode(said("agent_message_chunk", "More", "p29")))
    found = conversation.snapshot()
    assert [turn.key for turn in found.changed] == ["p29"]
    assert found.order[0] == "p20"


def test_a_turn_of_a_long_chat_takes_little_more_than_its_text():
    conversation, transcript = Conversation(), Transcript()
    text = "A sentence that the agent says. " * 20

    def go_on(first: int, end: int) -> None:
        for number in range(first, end):
            for each in turns(number, number + 1):
                conversation.apply(decode(each))
            conversation.apply(decode(said("agent_message_chunk", f"{number} {text}", f"p{number}")))
            conversation.hide_earlier(40, 20)
            transcript.update(conversation.snapshot(), Locality())

    go_on(0, 100)
    gc.collect()
    tracemalloc.start()
    go_on(100, 400)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert grown / 300 < 2600  # four times its text


def test_5000_tool_calls_at_once_come_to_the_screen_in_slices():
    tools = tuple(Tool(str(at), "read", "Read", "read", "completed") for at in range(5000))
    first, second = Turn("a", "done", tools[:30]), Turn("b", "running", tools)
    known: dict[str, int] = {}
    transcript, before = Transcript(), 0
    found = list(slices(Snapshot(("a", "b"), (first, second), Status()), known))
    for part in found:
        transcript.update(part, Locality(folder="/"), "s")
        count = transcript.text.count("✓")
        assert 0 < count - before <= SLICE
        before = count
    assert before == 5030
    assert found[-1].changed[-1] == second
    whole = Transcript()
    whole.update(Snapshot(("a", "b"), (first, second), Status()), Locality(folder="/"), "s")
    assert transcript.text == whole.text
    # What is known already costs no slice.
    assert len(list(slices(Snapshot(("a", "b"), (second,), Status()), known))) == 1
    assert [part.order for part in slices(Snapshot(("b",), (second,), Status()), known)] == [("b",)]
    assert known == {"b": 5000}


def test_one_message_of_megabytes_comes_to_the_screen_in_slices():
    text = "".join(f"line {number}\n" for number in range(200_000))
    question, answer = Message("user", "Print it"), Message("answer", text)
    items = (question, answer, Tool("t", "read", "Read", "read", "completed"), Message("thought", text[:300_000]))
    known: dict[str, int] = {}
    transcript, before = Transcript(), 0
    found = list(slices(Snapshot(("a",), (Turn("a", "running", items),), Status()), known))
    for part in found:
        render = transcript.update(part, Locality(folder="/"), "s")
        assert sum(len(edit.text) for edit in render.edits) < 2 * SLICE * PIECE
        assert len(transcript.text) >= before
        before = len(transcript.text)
    assert len(found) > 10
    assert found[-1].changed[-1].items == items
    whole = Transcript()
    whole.update(Snapshot(("a",), (Turn("a", "running", items),), Status()), Locality(folder="/"), "s")
    assert transcript.text == whole.text
    # What is new in a message that is known comes alone.
    grown = (*items[:3], Message("thought", text))
    assert len(list(slices(Snapshot(("a",), (Turn("a", "running", grown),), Status()), known))) > 5
    assert len(list(slices(Snapshot(("a",), (Turn("a", "running", grown),), Status()), known))) == 1


def frames(text: str) -> Iterator[tuple[Transcript, Snapshot]]:
    """An answer that comes at once, slice by slice. What is shown at the end is the same as if it came whole."""
    turn = Turn("a", "done", (Message("user", "Do it"), Message("answer", text)))
    snapshot, transcript = Snapshot(("a",), (turn,), Status()), Transcript()
    for part in slices(snapshot, {}):
        transcript.update(part, Locality(folder="/"), "s")
        yield transcript, part
    whole = Transcript()
    whole.update(snapshot, Locality(folder="/"), "s")
    assert transcript.text == whole.text


def test_a_table_of_any_length_is_aligned_by_a_few_rows_at_most(monkeypatch: pytest.MonkeyPatch):
    found: list[tuple[int, int]] = []
    same = markdown.aligned

    def aligned(lines: Sequence[str]) -> Sequence[str]:
        found.append((len(lines), sum(map(len, lines))))
        return same(lines)

    monkeypatch.setattr(markdown, "aligned", aligned)
    for row in ("|x|y|\n", f"|{'x' * 50}|{'y' * 50}|\n", f"|{' ' * 1500}|y|\n"):
        found.clear()
        shown = list(frames("|a|b|\n|-|-|\n" + row * (900_000 // len(row))))
        assert len(shown) > 3
        assert max(rows for rows, _ in found) <= markdown.MOST_ROWS
        assert max(size for _, size in found) <= markdown.MOST_CHARACTERS
        assert shown[-1][0].text.count(row) == 900_000 // len(row)


def test_of_a_line_of_megabytes_only_the_beginning_is_looked_at(monkeypatch: pytest.MonkeyPatch):
    longest: list[tuple[int, str]] = []

    class Pattern:
        """A pattern that says how long the texts are that it gets."""

        def __init__(self, name: str) -> None:
            self.name, self.real = name, vars(markdown)[name]

        def __getattr__(self, name: str) -> Any:
            def call(*texts: str) -> Any:
                longest.append((len(texts[-1]), self.name))
                return getattr(self.real, name)(*texts)

            return call

    for name in ("_MARGIN", "_BAR", "_QUOTE", "_QUOTE_IN_LIST", "_OURS", "_HIDDEN"):
        monkeypatch.setattr(markdown, name, Pattern(name))
    for begin, sign in (("", ">"), ("", "- "), ("", "|"), ("a|b\n-|-\n", "\\|"), ("~~~\n", "> "), ("", "\u200b")):
        assert len(list(frames(f"{begin}{sign * 500_000}é\nx"))) > 1
    assert max(longest)[0] <= 2_000, max(longest)
    assert {name for _, name in longest} == {"_MARGIN", "_BAR", "_QUOTE", "_QUOTE_IN_LIST", "_OURS", "_HIDDEN"}


def test_a_slice_has_few_lines_as_well():
    before = 0
    for _, part in frames("```\n" * 300_000):
        lines = sum(item.text.count("\n") for item in part.changed[0].items if isinstance(item, Message))
        assert before <= lines <= before + SLICE * LINES
        before = lines
    assert before == 300_000
