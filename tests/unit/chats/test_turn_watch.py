"""When a turn of a chat begins and ends, and which files its tools name."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any, cast

from companion.changes.rounds import Rounds
from companion.chats.watch import TurnWatch
from companion.conversation.conversation import START
from companion.conversation.snapshot import ConnectionStatus, Diff, Location, Message, Snapshot, Status, Tool, Turn
from companion.editor import ChatId, WindowId

from .chatting import CHAT, WINDOW


@dataclass
class Heard:
    """What a listener has heard."""

    events: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    sent: list[int] = field(default_factory=list[int])
    """When the prompts of the turns were sent."""

    def connected(self, window: WindowId) -> None:
        self.events.append(("connected",))

    def turn_began(self, window: WindowId, chat: ChatId, agent: str, turn: str, words: str, sent: int) -> None:
        self.events.append(("began", agent, turn, words))
        self.sent.append(sent)

    def turn_ended(self, window: WindowId, chat: ChatId, turn: str) -> None:
        self.events.append(("ended", turn))

    def named(self, agent: str, path: str) -> None:
        self.events.append(("named", agent, path))


def watching(heard: Heard) -> TurnWatch:
    return TurnWatch(CHAT, WINDOW, cast("Rounds", heard))


def seen(running: str | None, *turns: Turn) -> Snapshot:
    return Snapshot(tuple(turn.key for turn in turns), turns, Status(running=running))


def asked(key: str, *tools: Tool) -> Turn:
    return Turn(key, "running", (Message("user", f"Do  {key}\nnow"), *tools), began=1.0)


def test_a_turn_begins_and_ends_once():
    heard = Heard()
    watch = watching(heard)
    watch.seen(seen(None), "Agent", 0)
    watch.seen(seen("a", asked("a")), "Agent", 0)
    watch.seen(seen("a", asked("a")), "Agent", 0)
    watch.seen(seen("b", asked("b")), "Agent", 0)
    watch.seen(seen(None), "Agent", 0)
    assert heard.events == [
        ("began", "Agent", "a", "Do a now"),
        ("ended", "a"),
        ("began", "Agent", "b", "Do b now"),
        ("ended", "b"),
    ]


def test_a_turn_whose_agent_has_no_clock_began_when_it_was_seen_to_run():
    watch, before = watching(Heard()), time.time()
    watch.seen(seen("a", replace(asked("a"), began=None)), "Agent", 0)
    between = time.time()
    [over] = watch.seen(seen(None, replace(asked("a"), began=None)), "Agent", 0)
    assert before <= (over.began or 0) <= between


def test_the_files_that_a_tool_writes_are_named_once():
    heard = Heard()
    watch = watching(heard)
    edit = Tool(
        "1", "edit", "Edit", "edit", "pending", locations=(Location("/p/a.py"),), diffs=(Diff("/p/a.py", "", ""),)
    )
    read = Tool("2", "read", "Read", "read", "completed", locations=(Location("/p/b.py"),))
    for _ in range(2):
        watch.seen(seen("a", asked("a", edit, read)), "Agent", 0)
    assert [event for event in heard.events if event[0] == "named"] == [("named", "Agent", "/p/a.py")]


def test_a_turn_is_told_with_the_time_of_its_prompt_unless_that_has_waited():
    heard = Heard()
    watch = watching(heard)
    sent = time.time_ns()
    watch.seen(seen("at once", asked("at once")), "Agent", sent)
    queued = time.time_ns()
    watch.seen(seen("queued", asked("queued")), "Agent", queued)
    watch.seen(seen(None), "Agent", queued)
    watch.seen(seen("of another client", asked("of another client")), "Agent", queued)
    watch.seen(seen(None), "Agent", queued)
    later = time.time_ns()
    watch.seen(seen("again", asked("again")), "Agent", later)
    assert heard.sent == [sent, 0, 0, later]


def test_a_prompt_of_long_ago_says_nothing_of_a_turn():
    heard = Heard()
    watch = watching(heard)
    watch.seen(seen("a", asked("a")), "Agent", time.time_ns() - 60_000_000_000)
    assert heard.sent == [0]


def test_a_turn_that_is_over_is_given_away_once_and_as_it_is_then():
    watch = watching(Heard())
    tool = Tool("1", "edit", "Edit", "edit", "completed")
    done = replace(asked("a", tool), state="done")
    looks = (seen("a", asked("a")), seen("b", done, asked("b")), seen("b", asked("b")))
    assert [watch.seen(look, "Agent", 0) for look in looks] == [[], [done], []]


def test_turns_that_have_begun_and_ended_between_two_looks_are_told_too():
    """They have waited for the one that ran; what had been there before that is history."""
    heard = Heard()
    watch = watching(heard)
    past, one, two, three = (replace(asked(key), state="done") for key in ("past", "one", "two", "three"))
    tool = Tool("1", "edit", "Edit", "edit", "completed", locations=(Location("/p/a.py"),))
    two = replace(two, items=(*two.items, tool))
    assert watch.seen(seen(None, past), "Agent", 0) == []
    assert watch.seen(seen("one", past, asked("one")), "Agent", 0) == []
    assert watch.seen(seen("four", past, one, two, three, asked("four")), "Agent", 0) == [one, two, three]
    assert heard.events == [
        ("began", "Agent", "one", "Do one now"),
        ("ended", "one"),
        ("began", "Agent", "two", "Do two now"),
        ("named", "Agent", "/p/a.py"),
        ("ended", "two"),
        ("began", "Agent", "three", "Do three now"),
        ("ended", "three"),
        ("began", "Agent", "four", "Do four now"),
    ]


def test_a_turn_that_has_begun_and_ended_between_two_looks_is_told_though_none_ran_before():
    """A quick one, or one of which all was told at once after the connection was back."""
    heard = Heard()
    watch = watching(heard)

    def look(state: Any, *turns: Turn) -> list[Turn]:
        status = Status(running=None, connection=ConnectionStatus(state))
        return watch.seen(Snapshot(tuple(turn.key for turn in turns), turns, status), "Agent", 0)

    start, one, two, three = (replace(asked(key), state="done") for key in (START, "one", "two", "three"))
    assert look("connecting") == look("live") == []
    assert look("live", start, one) == [one]
    assert look("waiting", start, one) == look("live", start, one) == []
    assert look("live", start, one, two) == [two]
    assert heard.events == [
        ("connected",),
        ("began", "Agent", "one", "Do one now"),
        ("ended", "one"),
        ("began", "Agent", "two", "Do two now"),
        ("ended", "two"),
    ]
    # The history of another conversation was not made here.
    assert look("connecting") == look("live", three, one) == look("live", three, one) == []


def test_the_history_of_a_conversation_that_takes_the_place_of_an_empty_one_is_no_news():
    watch = watching(Heard())
    one = replace(asked("one"), state="done")
    looks: list[tuple[Any, tuple[Turn, ...]]] = [("live", ()), ("connecting", ()), ("live", (one,))]
    for state, turns in looks:
        status = Status(connection=ConnectionStatus(state))
        assert watch.seen(Snapshot(tuple(turn.key for turn in turns), turns, status), "Agent", 0) == []
