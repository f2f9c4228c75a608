from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from companion.chats.transcript.render import Link
from companion.conversation.conversation import Conversation
from companion.conversation.forms import Form, FormChoice, FormField
from companion.conversation.snapshot import (
    Attachment,
    ChatNotice,
    ConnectionStatus,
    Diff,
    Locality,
    Location,
    Message,
    Permission,
    PermissionOption,
    Question,
    Queued,
    Snapshot,
    Speaker,
    Status,
    Step,
    Tool,
    Turn,
)

from ...conversation.test_conversation import FRAMES, WHOLE
from .reading import HERE, LIVE, ORDERS, Shown, codes, lines, links, shown, tool, turn, view

# The whole


@given(st.sets(st.integers(0, len(FRAMES))), st.integers(0, len(FRAMES)))
def test_the_frames_of_a_recorded_session_add_up_to_its_text(looks: set[int], replaces_all: int):
    conversation, made = Conversation(), Shown()
    for number, render in enumerate(FRAMES):
        conversation.apply(render)
        if number == replaces_all:
            made.transcript.reset()
        if number in looks:
            made.update(conversation.snapshot())
    last = made.update(conversation.snapshot())
    fresh = Shown()
    whole = fresh.update(conversation.whole_snapshot())
    assert made.text == fresh.text
    assert (last.folds, last.links, last.codes, last.asks) == (whole.folds, whole.links, whole.codes, whole.asks)


def test_answers_are_in_the_text_to_the_byte():
    text = shown(*WHOLE.turns).text
    for each in WHOLE.turns:
        for item in each.items:
            if isinstance(item, Message) and item.speaker != "thought":
                assert item.text in text


WORDS = st.sampled_from([
    "a", " ", "\n", "\n", "\n\n", "\r\n", "\r", "`", "```", "```\n", "~~~", "\ud83d", "\ude00", "ü😀", "> ", "x/y.py:3",
    "`z.py`", "\n```py\n", "1. ```\n", "❯ You\n", "? Qwen Code asks:", "✓ Run\n", "\x1b[1m", "— it —\n", "\t",
])  # fmt: skip
TABLES = st.sampled_from(["| a ", "|-|-|\n", "\n|b|c|\n|-|:-:|\n", "|😀|x/y.py|\n"])
PLAIN = st.lists(WORDS, max_size=8).map("".join)
TEXT = st.lists(WORDS | TABLES, max_size=8).map("".join)
SPEAKERS: tuple[Speaker, ...] = ("user", "answer", "thought", "shell")
ATTACHMENTS = st.lists(st.builds(Attachment, st.sampled_from(["", "file:///a b.py"]), TEXT), max_size=2).map(tuple)
MESSAGES = st.builds(Message, st.sampled_from(SPEAKERS), TEXT, ATTACHMENTS, st.sampled_from([None, None, "t"]))
DIFFS = st.lists(st.builds(Diff, TEXT, TEXT, TEXT), max_size=2).map(tuple)
FIELDS = st.builds(
    FormField, TEXT, st.just("string"), TEXT, TEXT, choices=st.lists(st.builds(FormChoice, TEXT, TEXT, TEXT)).map(tuple)
)
FORMS = st.builds(Form, st.lists(FIELDS, max_size=2).map(tuple), TEXT, st.lists(TEXT, max_size=1).map(tuple))
PERMISSIONS = st.builds(
    Permission, st.just("p"), st.just("k"), st.just("t"), TEXT, st.just("edit"),
    st.lists(
        st.builds(PermissionOption, st.just("a"), TEXT, st.sampled_from(["allow_once", "x"])), max_size=2
    ).map(tuple),
    st.lists(st.builds(Question, TEXT, TEXT, st.booleans(), st.just((("Red", ""),))), max_size=1).map(tuple),
    DIFFS, st.dictionaries(TEXT, TEXT, max_size=2), st.sampled_from(["open", "selected", "cancelled"]),
    form=st.none() | FORMS,
)  # fmt: skip
TOOLS = st.builds(
    Tool, st.just("t"), st.sampled_from(["read_file", "write_file"]), TEXT,
    st.sampled_from(["read", "edit", "execute", "x"]),
    st.sampled_from(["pending", "in_progress", "completed", "failed", "newer"]), TEXT, DIFFS,
    st.lists(st.builds(Location, TEXT, st.sampled_from([None, 3])), max_size=7).map(tuple),
    st.dictionaries(st.sampled_from(["command", "x"]), TEXT, max_size=2), st.none(),
    st.lists(PERMISSIONS, max_size=2).map(tuple),
    st.sampled_from([None, "u"]),
)  # fmt: skip
ITEMS = MESSAGES | MESSAGES | TOOLS | st.builds(ChatNotice, TEXT)
TURNS = st.builds(
    Turn, st.sampled_from("123"), st.sampled_from(["running", "done", "cancelled", "failed", "interrupted"]),
    st.lists(ITEMS, max_size=4).map(tuple), st.none(), st.sampled_from(["", "max_tokens", "odd"]), TEXT, st.booleans(),
)  # fmt: skip
STATUS = st.builds(
    Status,
    st.builds(
        ConnectionStatus, st.sampled_from(["connecting", "live", "waiting", "lost"]), TEXT, st.none() | st.just(2.0)
    ),
    plan=st.lists(st.builds(Step, TEXT, st.sampled_from(["pending", "completed"])), max_size=2).map(tuple),
    queue=st.lists(st.builds(Queued, st.just("q"), TEXT), max_size=2).map(tuple), running=st.sampled_from([None, "1"]),
)  # fmt: skip


@st.composite
def steps(draw: st.DrawFn, before: dict[str, Turn]) -> tuple[Turn, ...]:
    """Turns that change: one grows, one becomes any other, one begins, one goes."""
    kind = draw(st.sampled_from(["grow", "grow", "add", "any", "remove", "order"]))
    turns = list(before.values())
    if kind == "any" or not turns:
        new = draw(TURNS)
    elif kind in {"remove", "order"}:
        return tuple(draw(st.permutations(turns)))[: len(turns) - (kind == "remove")]
    else:
        new = draw(st.sampled_from(turns))
        last = new.items[-1] if new.items else None
        if kind == "grow" and isinstance(last, Message):
            new = replace(new, items=(*new.items[:-1], replace(last, text=last.text + draw(TEXT))))
        else:
            new = replace(new, items=(*new.items, draw(ITEMS)))
    return tuple((before | {new.key: new}).values())


@given(st.data())
def test_any_conversation_reads_as_if_it_had_been_seen_at_once(data: st.DataObject):
    made, before = Shown(), dict[str, Turn]()
    locations = [HERE, Locality(), Locality("build.example", "/srv", is_local=False, warning="Careful")]
    for _ in range(data.draw(st.integers(1, 6))):
        now = {each.key: each for each in data.draw(steps(before))}
        changed = tuple(each for key, each in now.items() if before.get(key) is not each)
        status, locality = data.draw(STATUS), data.draw(st.sampled_from(locations))
        if data.draw(st.booleans()):
            made.transcript.own_clients.add("client")
        render = made.update(Snapshot(tuple(now), changed, status), locality)
        fresh = Shown()
        fresh.transcript.own_clients |= made.transcript.own_clients
        whole = fresh.update(Snapshot(tuple(now), tuple(now.values()), status), locality)
        assert made.text == fresh.text
        assert (render.folds, render.links, render.codes, render.asks) == (
            whole.folds,
            whole.links,
            whole.codes,
            whole.asks,
        )
        before = now


@given(PLAIN, PLAIN)
def test_an_answer_is_in_the_text_to_the_byte_wherever_it_is_cut(one: str, two: str):
    text = "".join(each for each in one + two if not "\ud800" <= each <= "\udfff" and each != "\r")
    made = Shown()
    for size in range(0, len(text) + 1, 3):
        made.update(view(turn(Message("answer", text[:size]), state="running")))
    made.update(view(turn(Message("answer", text))))
    assert not text.strip() or text in made.text


def test_a_frame_that_begins_anew_replaces_all():
    made = shown(*WHOLE.turns)
    made.transcript.reset()
    render = made.update(Snapshot(tuple(each.key for each in WHOLE.turns), (), LIVE))
    assert render.replaces_all
    assert [edit.text for edit in render.edits] == [made.raw]
    assert not made.update(Snapshot(tuple(each.key for each in WHOLE.turns), (), LIVE)).edits


def test_an_answer_that_grows_costs_what_is_new():
    # 10,000 chunks.
    made, text, begun = Shown(), "", 0
    for number in range(10_000):
        text += f"word {number} in `src/app.py:{number + 1}`\n" if number % 10 == 0 else f"word {number} "
        render = made.update(view(turn(Message("user", "Go"), Message("answer", text), state="running")))
        assert len(render.edits) <= 1 or number < 1
        begun = begun or made.inserted
    assert made.inserted <= len(text) + begun
    assert made.render
    assert len(made.render.links) == 1000


def test_what_is_the_same_is_not_looked_at_again(monkeypatch: pytest.MonkeyPatch):
    items = (Message("user", "Go"), tool(), Message("answer", "a"))
    made = shown(turn(*items, state="running"))
    monkeypatch.setattr("companion.chats.transcript.wording.write_tool", lambda *_args, **_more: pytest.fail("again"))
    made.update(view(turn(*items[:2], Message("answer", "ab"), state="running")))
    assert "\nab\n" in made.text


# Where and who


def test_the_header_says_where_it_all_happens():
    assert shown().text == (
        "Qwen Code 0.24.4 on this computer, in /home/ada/shop\n"
        "Files, commands and keys are those of this computer.\n\n❯ "
    )
    text = shown(locality=Locality("build.example", "/srv", is_local=False, warning="Anybody can\nread it")).text
    assert "those of build.example, not of this editor’s computer.\n⚠ Anybody can ↵ read it.\n" in text


def test_the_header_says_nothing_that_is_not_known():
    assert shown(locality=Locality(agent="Qwen Code")).text == "Qwen Code\n\n❯ "


def test_each_speaker_has_a_heading_once():
    assert lines(Message("user", "Go"), Message("thought", "Hm"), Message("answer", "Yes"), Message("user", "No")) == [
        "❯ You", "Go", "", "◆ Qwen Code", "▸ Thought", "> Hm", "", "Yes", "", "❯ You", "No",
    ]  # fmt: skip


def test_a_prompt_shows_its_attachments():
    made = shown(turn(Message("user", "See", (Attachment("file:///srv/a b.py", "a b.py"), Attachment("", "image")))))
    assert "See\n  @ a b.py\n  @ image\n" in made.text
    assert links(made) == [("a b.py", "/srv/a b.py", None)]


@pytest.mark.parametrize(
    ("uri", "link"),
    [
        ("file:///srv/a%20b.py", ("/srv/a b.py", None)),
        ("file:///srv/a.py#L3", ("/srv/a.py", 3)),
        ("file:///srv/a%20b.py#L3-L14", ("/srv/a b.py", 3)),
        ("file:///C:/proj/a%20b.py#L3", ("C:/proj/a b.py", 3)),
        ("file:///c%3A/proj/a.py", ("c:/proj/a.py", None)),
        (r"file://C:\proj\a b.py", (r"C:\proj\a b.py", None)),
        (r"file://\\server\share\a.py", (r"\\server\share\a.py", None)),
        ("file://server/share/a.py", ("//server/share/a.py", None)),
        ("file://localhost/srv/a.py", ("/srv/a.py", None)),
        ("file:///srv/a b%20c#1.py", ("/srv/a b%20c#1.py", None)),
        ("file:///srv/100%.txt", ("/srv/100%.txt", None)),
        ("file:///srv/what?.py", ("/srv/what?.py", None)),
        ("file:///srv/%C3%A4.py", ("/srv/ä.py", None)),
    ],
)
def test_the_link_of_an_attached_file_leads_to_it_on_each_system(uri: str, link: tuple[str, int | None]):
    made = shown(turn(Message("user", "See", (Attachment(uri, "a"),))))
    assert links(made) == [("a", *link)]


def test_words_that_come_after_the_attachments_are_shown_as_if_they_had_come_before():
    attached = (Attachment("", "image"),)
    made = shown(turn(Message("user", "", attached), state="running"))
    made.update(view(turn(Message("user", "\nSee", attached), state="running")))
    assert made.text == shown(turn(Message("user", "\nSee", attached), state="running")).text


def test_a_prompt_of_attachments_alone_is_shown():
    assert lines(Message("user", "", (Attachment("", "image"),)))[1:] == ["", "  @ image"]


def test_a_turn_that_runs_without_a_word_says_that_it_does():
    assert lines(Message("user", "Go"), state="running")[-2:] == ["◆ Qwen Code", "◐ Working…"]
    assert lines(Message("user", "Go"), state="running", cancelling=True)[-1] == "— Cancelling… —"


def test_a_turn_that_runs_says_that_it_does_though_its_agent_has_given_a_notice():
    said = lines(Message("user", "Go"), ChatNotice("Note: the model is busy", is_aside=True), state="running")
    assert said[-4:] == ["— Note: the model is busy —", "", "◆ Qwen Code", "◐ Working…"]


def test_a_message_without_words_shows_nothing():
    assert lines(Message("answer", "\n"), Message("thought", " "), Message("user", "")) == []


@pytest.mark.parametrize(
    ("end", "said"),
    [
        ({"state": "cancelled"}, "— Cancelled —"),
        ({"state": "failed", "error": "400 says\nno"}, "— Failed: 400 says ↵ no. —"),
        ({"state": "interrupted"}, "— Interrupted: the agent ended before this was through. —"),
        ({"stop_reason": "max_tokens"}, "— Stopped: the answer has reached its maximum length. —"),
        ({"stop_reason": "newer"}, "— Stopped: newer. —"),
    ],
)
def test_a_turn_that_did_not_end_well_says_so(end: dict[str, Any], said: str):
    assert lines(Message("answer", "a"), **end)[-2:] == ["", said]


def test_a_thought_is_folded_and_quoted_from_its_beginning():
    made = shown(turn(Message("thought", "One\n\nTwo"), state="running"))
    assert made.render
    assert [made.text[fold.start : fold.end] for fold in made.render.folds] == ["\n> One\n> \n> Two"]
    assert "▸ Thinking…\n" in made.text
    key = made.render.folds[0].key
    render = made.update(view(turn(Message("thought", "One\n\nTwo"), Message("answer", "a"), state="running")))
    assert "▸ Thought\n" in made.text
    assert render.folds[0].key == key


def test_a_sub_agent_is_folded_away():
    said = lines(Message("answer", "a", parent="t"), Message("thought", "b", parent="t"), tool(parent="t"))
    assert said == ["◆ Qwen Code", "▸ A sub-agent says", "> a", "▸ A sub-agent thinks", "> b", "  ✓ Read orders.js"]


def test_a_shell_command_of_the_person_shows_its_output_without_commands_for_a_terminal():
    assert lines(Message("shell", "$ ls\n\x1b[31ma.py\x1b[0m\x1b]0;title\x07\n")) == ["❯ Shell", "    $ ls", "    a.py"]


def test_half_a_character_is_not_shown_before_its_other_half():
    made = shown(turn(Message("answer", "a\ud83d"), state="running"))
    assert "\na\n" in made.text
    made.update(view(turn(Message("answer", "a\ud83d\ude00"), state="running")))
    assert "\na😀\n" in made.text
    made.update(view(turn(Message("answer", "a\ud83d\ude00\ud83db"), state="running")))
    assert "\na😀\ufffdb\n" in made.text


# Above the prompt


def test_the_plan_is_above_the_prompt_until_it_is_through():
    plan = (Step("Read", "completed"), Step("Wri\nte", "in_progress"), Step("Test", "pending"))
    assert shown(status=replace(LIVE, plan=plan)).text.endswith("\n\n◇ Plan\n  ✓ Read\n  ◐ Wri ↵ te\n  ○ Test\n\n❯ ")
    assert "Plan" not in shown(status=replace(LIVE, plan=plan[:1])).text
    assert "Plan" in shown(status=replace(LIVE, plan=plan[:1], running="k")).text


@pytest.mark.parametrize(
    ("connection", "line"),
    [
        (ConnectionStatus("connecting"), "◌ Connecting…"),
        (ConnectionStatus("connecting", "It is slow"), "◌ It is slow."),
        (ConnectionStatus("waiting", "It is gone. Start it.", 5.0), "⚠ It is gone. Start it. The next try is in 5 s."),
        (ConnectionStatus("waiting"), "⚠ The connection is lost."),
        (ConnectionStatus("lost", "Set the token."), "⚠ Set the token."),
        (ConnectionStatus("ended"), "⚠ The connection is lost."),
    ],
)
def test_a_connection_that_is_not_there_says_why(connection: ConnectionStatus, line: str):
    assert shown(status=Status(connection)).text.endswith(f"\n\n{line}\n\n❯ ")


def test_a_link_is_where_the_daemon_has_the_file():
    made = shown(turn(tool(locations=(Location(ORDERS, 2),))))
    assert made.render
    assert made.render.links == (Link(made.text.index("orders"), made.text.index("orders") + 11, ORDERS, 2),)


def test_a_longer_header_moves_all_that_is_below_it():
    one = turn(Message("answer", "See `a/b.py`.\n```\nx\n```\n"), key="1")
    two = turn(Message("answer", "on"), key="2", state="running")
    made = shown(one, two)
    made.update(Snapshot(("1", "2"), (), LIVE), replace(HERE, version="0.24.4-with-a-longer-name"))
    made.update(Snapshot(("1", "2"), (replace(two, items=(Message("answer", "on and on"),)),), LIVE))
    assert links(made)[0][0] == "a/b.py"
    assert codes(made) == [("", "x")]


def test_turns_in_another_order_are_written_anew_from_what_is_known():
    one, two = turn(Message("answer", "one"), key="1"), turn(Message("answer", "two"), key="2")
    made = shown(one, two)
    made.update(Snapshot(("2", "1"), (), LIVE))
    assert made.text == shown(two, one).text
    made.update(Snapshot(("1", "3"), (), LIVE))
    assert made.text == shown(one).text
