from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from companion.chat.transcript.plain import GAP
from companion.chat.transcript.render import Link, Render
from companion.chat.transcript.transcript import MARK, Transcript
from companion.conversation.conversation import Conversation
from companion.conversation.snapshot import (
    Attachment,
    ConnectionStatus,
    Diff,
    Item,
    Locality,
    Location,
    Message,
    Notice,
    Option,
    Permission,
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

HERE = Locality("this computer", "/home/ada/shop", "0.24.4")
LIVE = Status(ConnectionStatus("live"))
ALWAYS, ONCE, NO = (
    Option("always", "Allow All Edits", "allow_always"),
    Option("once", "Allow", "allow_once"),
    Option("no", "Reject", "reject_once"),
)
ORDERS = "/home/ada/shop/orders.js"
DIFF = Diff(ORDERS, "one\ntwo\n", "one\n2\nthree\n")


class Shown:
    """A view: it knows the transcript only by its renders."""

    def __init__(self) -> None:
        self.transcript = Transcript()
        self.raw = ""
        self.inserted = 0
        self.render: Render | None = None

    @property
    def text(self) -> str:
        """As it looks."""
        return self.raw.replace(GAP, " ")

    def update(self, view: Snapshot, locality: Locality = HERE) -> Render:
        self.render = render = self.transcript.update(view, locality, "s")
        if render.replaces_all:
            assert len(render.edits) == 1
        for edit in render.edits:
            assert render.replaces_all or 0 <= edit.start <= edit.end <= len(self.raw)
            self.raw = edit.text if render.replaces_all else edit.apply(self.raw)
            self.inserted += len(edit.text)
        assert self.raw == self.transcript.text
        assert render.length == len(self.raw)
        assert self.raw.endswith(MARK)
        assert (render.status, render.locality, render.session) == (view.status, locality, "s")
        for fold in render.folds:
            assert self.raw[fold.start] == self.raw[fold.end] == "\n"
        for link in render.links:
            assert link.start < link.end
            assert "\n" not in self.raw[link.start : link.end]
        for code in render.codes:
            assert self.raw[code.start - 1] == "\n"
            assert code.start == code.end or self.raw[code.end] == "\n"
        for ask in render.asks:
            assert self.raw[ask.at] == "\n"
        return render


def turn(*items: Item, key: str = "k", **more: Any) -> Turn:
    return Turn(key, more.pop("state", "done"), items, **more)


def view(*turns: Turn, status: Status = LIVE) -> Snapshot:
    return Snapshot(1, tuple(each.key for each in turns), turns, status)


def shown(
    *turns: Turn,
    status: Status = LIVE,
    locality: Locality = HERE,
    own: frozenset[str] = frozenset(),
    shows_diffs: bool = True,
) -> Shown:
    made = Shown()
    made.transcript.own_clients |= own
    made.transcript.shows_diffs = shows_diffs
    made.update(view(*turns, status=status), locality)
    return made


def lines(*items: Item, **more: Any) -> list[str]:
    """What a turn shows, without what is around it."""
    return shown(turn(*items, **more)).text.split("\n")[3:-2]


def tool(**more: Any) -> Tool:
    return replace(
        Tool("t", "read_file", "ReadFile: orders.js", "read", "completed", locations=(Location(ORDERS),)), **more
    )


def asked(**more: Any) -> Permission:
    return replace(Permission("p", "k", "t", "Writing to orders.js", "edit", (ALWAYS, ONCE, NO)), **more)


def links(made: Shown) -> list[tuple[str, str, int | None]]:
    assert made.render
    return [(made.text[link.start : link.end], link.path, link.line) for link in made.render.links]


def codes(made: Shown) -> list[tuple[str, str]]:
    assert made.render
    return [(code.language, made.text[code.start : code.end]) for code in made.render.codes]


# The whole


@given(st.sets(st.integers(0, len(FRAMES))), st.integers(0, len(FRAMES)))
def test_the_frames_of_a_recorded_session_add_up_to_its_text(looks: set[int], replaces_all: int):
    conversation, made = Conversation(), Shown()
    conversation.begin("e")
    for number, render in enumerate(FRAMES):
        conversation.apply(render)
        if number == replaces_all:
            made.transcript.reset()
        if number in looks:
            made.update(conversation.look())
    last = made.update(conversation.look())
    fresh = Shown()
    whole = fresh.update(conversation.look_at_all())
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
PERMISSIONS = st.builds(
    Permission, st.just("p"), st.just("k"), st.just("t"), TEXT, st.just("edit"),
    st.lists(st.builds(Option, st.just("a"), TEXT, st.sampled_from(["allow_once", "x"])), max_size=2).map(tuple),
    st.lists(st.builds(Question, TEXT, TEXT, st.booleans(), st.just((("Red", ""),))), max_size=1).map(tuple),
    DIFFS, st.dictionaries(TEXT, TEXT, max_size=2), st.sampled_from(["open", "selected", "cancelled"]),
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
ITEMS = MESSAGES | MESSAGES | TOOLS | st.builds(Notice, TEXT)
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
        render = made.update(Snapshot(1, tuple(now), changed, status), locality)
        fresh = Shown()
        fresh.transcript.own_clients |= made.transcript.own_clients
        whole = fresh.update(Snapshot(1, tuple(now), tuple(now.values()), status), locality)
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
    render = made.update(Snapshot(2, tuple(each.key for each in WHOLE.turns), (), LIVE))
    assert render.replaces_all
    assert [edit.text for edit in render.edits] == [made.raw]
    assert not made.update(Snapshot(3, tuple(each.key for each in WHOLE.turns), (), LIVE)).edits


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
    monkeypatch.setattr("companion.chat.transcript.wording.write_tool", lambda *_args, **_more: pytest.fail("again"))
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
    assert shown(locality=Locality()).text == "Qwen Code\n\n❯ "


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
    assert lines(Message("user", "Go"), state="running")[-2:] == ["◆ Qwen Code", "◐ Working …"]
    assert lines(Message("user", "Go"), state="running", cancelling=True)[-1] == "— Cancelling … —"


def test_a_message_without_words_shows_nothing():
    assert lines(Message("answer", "\n"), Message("thought", " "), Message("user", "")) == []


@pytest.mark.parametrize(
    ("end", "said"),
    [
        ({"state": "cancelled"}, "— Cancelled —"),
        ({"state": "failed", "error": "400 says\nno"}, "— Failed: 400 says ↵ no. —"),
        ({"state": "interrupted"}, "— Interrupted: the agent ended before this was through. —"),
        ({"stop_reason": "max_tokens"}, "— Stopped: the answer has reached its longest. —"),
        ({"stop_reason": "newer"}, "— Stopped: newer. —"),
    ],
)
def test_a_turn_that_did_not_end_well_says_so(end: dict[str, Any], said: str):
    assert lines(Message("answer", "a"), **end)[-2:] == ["", said]


def test_a_thought_is_folded_and_quoted_from_its_beginning():
    made = shown(turn(Message("thought", "One\n\nTwo"), state="running"))
    assert made.render
    assert [made.text[fold.start : fold.end] for fold in made.render.folds] == ["\n> One\n> \n> Two"]
    assert "▸ Thinking …\n" in made.text
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


# Answers


def test_a_code_block_goes_on_behind_a_notice_that_comes_in_the_middle():
    """Copy gives the block without it."""
    made = shown(turn(Message("answer", "```py\na = 1"), Notice("Task done", is_aside=True), state="running"))
    assert made.text.count("```") == 1
    made.update(
        view(turn(Message("answer", "```py\na = 1\nb = 2\n```"), Notice("Task done", is_aside=True), state="running"))
    )
    made.update(view(turn(Message("answer", "```py\na = 1\nb = 2\n```"), Notice("Task done", is_aside=True))))
    assert codes(made) == [("py", "a = 1\nb = 2")]
    assert made.text.endswith("```\n\n— Task done —\n\n❯ ")


def test_a_code_block_has_its_lines_and_its_language():
    made = shown(
        turn(
            Message("answer", "See:\n```py title\none\n\ntwo\n```\n~~~~\n```\n~~~~\n```\n```\n\n1. ```sh\n   x\n   ```")
        )
    )
    assert codes(made) == [("py", "one\n\ntwo"), ("", "```"), ("", ""), ("sh", "   x")]
    assert made.render
    assert [code.key for code in made.render.codes] == [f"k/0/{number}" for number in range(4)]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("1. Do:\n   ```sh\n   a\n     b\n\n  c\n   ```", "a\n  b\n\nc"),
        ("> ```py\n> a\n>   b\n> ```\nend", "a\n  b"),
        ("> > ```py\n> > a\n> > ```", "a"),
        ("> ```py\n> a\nthe quote has ended", "a"),
        ("```\n> no quote\n```", "> no quote"),
        ("> - ```py\n>   a\n>   ```", "a"),
        ("- > ```py\n  > a\n  >   b\n  > ```\nend", "a\n  b"),
        ("10. x\n    > ```py\n    > a\n    > ```", "a"),
        ("1.\t```sh\n\ta\n\t\tb\n\t```", "a\n\tb"),
        ("\t```sh\n    a\n      b\n\t```", "a\n  b"),
        ("```\na\n- ```\n~~~\n``\n````\nend", "a\n- ```\n~~~\n``"),
        ("~~~~\n~~~\n```\n~~~~", "~~~\n```"),
    ],
)
def test_what_is_copied_of_a_code_block_is_the_code(text: str, code: str):
    """Without the indentation of a list, or the signs of a quote."""
    made = shown(turn(Message("answer", text)))
    assert made.render
    [found] = made.render.codes
    assert found.text(made.text[found.start : found.end]) == code


def test_a_code_block_that_a_quote_leaves_open_is_not_closed_behind_it():
    assert lines(Message("answer", "> ```py\n> a"))[-2:] == ["> ```py", "> a"]


def test_a_code_block_that_an_answer_leaves_open_is_closed():
    answer = Message("answer", "See\n  ~~~~\ncode\n\n")
    assert lines(answer)[-5:] == ["See", "  ~~~~", "code", "", "  ~~~~"]
    assert lines(answer, state="running")[-1] == "code"
    assert lines(Message("answer", "```"))[-2:] == ["```", "```"]
    made = shown(turn(Message("answer", "```\na"), key="k"))
    made.update(view(turn(Message("answer", "```\na\n```"))))
    assert "```\na\n```\n\n❯ " in made.text
    assert codes(made) == [("", "a")]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("In src/app.py:12:3, `setup.py`.", [("src/app.py:12:3", "src/app.py", 12), ("setup.py", "setup.py", None)]),
        ("(./a-b/C.tsx) ~/x.md", [("./a-b/C.tsx", "./a-b/C.tsx", None), ("~/x.md", "~/x.md", None)]),
        ("`C:\\shop\\a.js`", [("C:\\shop\\a.js", "C:\\shop\\a.js", None)]),
        ("Node.js, and/or, setup.py, e.g. a.b/c, v1.2/x, a.pyc/d.pyz", []),
        ("main.rs:7", [("main.rs:7", "main.rs", 7)]),
        ("a.py#L10, b.py#L3-L8", [("a.py#L10", "a.py", 10), ("b.py#L3-L8", "b.py", 3)]),
        ("`docs/a file.md:4` but `python run.py`", [
            ("docs/a file.md:4", "docs/a file.md", 4),
        ]),
        ("(https://a.example/b.py?x=1#y). <http://b.example>, ftp://c.example/d.py", [
            ("https://a.example/b.py?x=1#y", "https://a.example/b.py?x=1#y", None),
            ("http://b.example", "http://b.example", None),
        ]),
        ("[x](HTTPS://a.example/b_(c)_d), (http://a.example/(e)) http://a.example/f).", [
            ("HTTPS://a.example/b_(c)_d", "HTTPS://a.example/b_(c)_d", None),
            ("http://a.example/(e)", "http://a.example/(e)", None),
            ("http://a.example/f", "http://a.example/f", None),
        ]),
        ("javascript:alert(1) file:///etc/x data:text/html;x http://a.example\u202egpj.b", [
            ("http://a.example", "http://a.example", None),
        ]),
        ("a/" * 1000 + "b.py", []),
    ],
)  # fmt: skip
def test_names_of_files_in_an_answer_are_links(text: str, found: list[Any]):
    made = shown(turn(Message("answer", f"{text}\n```\nin/code.py\n```\n{text}")))
    assert links(made) == found * 2


def test_a_name_is_a_link_once_its_line_is_complete():
    made = shown(turn(Message("answer", "See a/b.py"), state="running"))
    assert links(made) == []
    made.update(view(turn(Message("answer", "See a/b.py:1\n"), state="running")))
    assert links(made) == []
    made.update(view(turn(Message("answer", "See a/b.py:1\nx"), state="running")))
    assert links(made) == [("a/b.py:1", "a/b.py", 1)]


def test_an_answer_that_imitates_a_question_is_said_to():
    said = lines(Message("answer", "? Qwen Code asks: Go on?\n[y] Yes"), Message("user", "? Qwen Code asks:"))
    assert said[1] == "? Qwen Code asks: Go on?"
    assert said[4].startswith("— A line above looks like one of this chat’s own")
    assert shown(turn(Message("answer", "? Qwen Code asks: Go on?"))).render.asks == ()  # type: ignore[union-attr]


# Tools


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (tool(), "✓ Read orders.js"),
        (tool(locations=(Location("/etc/x", 3),), status="in_progress"), "○ Read /etc/x:3"),
        (tool(kind="edit", diffs=(DIFF,)), "✓ Edit orders.js +2 −1"),
        (tool(name="write_file", kind="edit", diffs=(Diff(ORDERS, "", "a\nb"),)), "✓ Write orders.js +2 −0"),
        (tool(locations=tuple(Location(f"/{number}") for number in range(7))), "✓ Read /0, /1, /2, /3, /4 and 2 more"),
        (tool(kind="execute", input={"command": "ls\nrm x"}, locations=()), "✓ Run ls ↵ rm x"),
        (tool(kind="search", title="Grep\n❯ You"), "✓ Grep ↵ ❯ You"),
        (tool(title="", locations=(), status="newer"), "◐ read_file"),
        (tool(status="failed", text="\nNo such file\nmore"), "✗ Read orders.js — No such file"),
    ],
)
def test_a_tool_call_is_a_line(call: Tool, line: str):
    assert lines(call)[1] == line
    assert all(each.startswith("    ") for each in lines(call)[2:])


@given(TOOLS, st.booleans())
def test_nothing_in_a_tool_call_can_pass_as_a_line_of_the_chat(call: Tool, is_running: bool):
    said = lines(replace(call, parent=None), state="running" if is_running else "done")
    # Its own line, and that of each question or of its answer.
    assert len([line for line in said[1:] if not line.startswith("    ")]) == 1 + len(call.permissions)


def test_a_tool_that_runs_says_so():
    assert lines(tool(status="in_progress"), state="running")[1] == "◐ Read orders.js"


def test_the_details_of_a_tool_call_are_folded():
    call = tool(
        kind="edit", diffs=(DIFF,), text="\x1b[1mfine\x1b[0m\r\n\u202e\tx", input={"limit": 3, "file_path": ORDERS}
    )
    made = shown(turn(call))
    assert made.render
    assert [made.text[fold.start : fold.end] for fold in made.render.folds] == [
        "\n    limit: 3\n    fine\n    \tx\n    - two\n    + 2\n    + three"
    ]
    assert links(made) == [("orders.js", ORDERS, None)]


def test_details_that_are_long_are_cut():
    said = lines(tool(text="\n".join(map(str, range(100))) + "\n" + "x" * 1000))
    assert said[61:] == ["    59", "    … 41 more lines"]
    assert lines(tool(text="x" * 1000))[2] == "    " + "x" * 500 + "…"


def test_several_changes_are_told_apart():
    said = lines(tool(kind="edit", diffs=(DIFF, Diff("/a", "x\n", "x\n"))))
    assert said[1:] == [
        "✓ Edit orders.js +2 −1",
        "    orders.js +2 −1",
        "    - two",
        "    + 2",
        "    + three",
        "    /a +0 −0",
    ]


def test_of_a_command_the_output_is_shown():
    output = {"type": "shell_result", "output": "made\n", "exitCode": 2}
    call = tool(kind="execute", input={"command": "make\nall"}, text="Command: make", output=output, locations=())
    assert lines(call)[2:] == ["    $ make", "      all", "    made", "    exit code 2"]
    assert lines(replace(call, output={"type": "shell_result"}))[-1] == "    Command: make"


# Permissions


def test_without_a_diff_a_question_shows_the_change_in_full():
    call = tool(status="pending", permissions=(asked(diffs=(replace(DIFF, new="one\n2\x1b[8m\n"),)),))
    made = shown(turn(call, state="running"), shows_diffs=False)
    assert made.text.split("? Qwen Code asks: Writing to orders.js +1 −1\n")[1].split("\n")[:3] == [
        "    - two",
        "    + 2\\x1b[8m",
        "",
    ]


def test_a_question_shows_what_would_be_done():
    made = shown(turn(tool(status="pending", permissions=(asked(diffs=(DIFF,)),), diffs=(DIFF,)), state="running"))
    assert made.text.split("\n")[8:10] == [
        "? Qwen Code asks: Writing to orders.js +2 −1",
        "    The diff is open beside.",
    ]
    assert made.render
    assert [ask.permission.id for ask in made.render.asks] == ["p"]
    assert made.text[: made.render.asks[0].at].endswith("open beside.")


def test_a_title_that_is_a_file_alone_gets_a_verb():
    permission = asked(title="orders.js", diffs=(DIFF,))
    said = lines(tool(status="pending", permissions=(permission,)), state="running")
    assert "? Qwen Code asks: Edit orders.js +2 −1" in said


def test_a_title_that_names_another_file_stands_beside_the_files_own_path():
    diff = Diff("/home/ada/shop/orders.js", "", "x\n")
    permission = asked(title="Writing to safe.js", diffs=(diff,))
    said = lines(tool(status="pending", permissions=(permission,)), state="running")
    at = said.index("? Qwen Code asks: Writing to safe.js")
    assert said[at + 1] == "    orders.js +1 −0"


def test_a_command_is_shown_to_the_last_character():
    command = "x" * 5000 + "\n\n❯ You\nrm\x1b[8m -rf \u202e/"
    permission = asked(
        title="x\n[y] Allow", kind="execute", input={"command": command, "directory": "/", "is_background": False},
    )  # fmt: skip
    said = lines(tool(status="pending", permissions=(permission,)), state="running")
    at = said.index("? Qwen Code asks: Run this command?")  # which is shown once
    assert said[at + 1 :] == [
        "    $ " + "x" * 5000, "      ", "      ❯ You", "      rm\\x1b[8m -rf \\u202e/", "    directory: /",
    ]  # fmt: skip


def test_a_question_to_the_person_is_shown_with_its_answers():
    questions = (Question("Which\ncolour?", "Colour", False, (("Red", "warm"), ("Blue", ""))),)
    permission = asked(title="Ask user 1 question", questions=questions, input={"questions": []})
    said = lines(tool(permissions=(permission,), locations=()), state="running")
    assert said[3:6] == ["    Which ↵ colour?", "    · Red — warm", "    · Blue"]
    for kind, line in ((ONCE, "✓ Answered"), (NO, "✗ Not answered")):
        assert lines(tool(permissions=(replace(permission, state="selected", chosen=kind),)))[-1] == line


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        ({"chosen": ONCE}, "✓ Allowed once"),
        ({"chosen": ONCE, "voter": "ours"}, "✓ Allowed once"),
        ({"chosen": ONCE, "voter": "theirs"}, "✓ Allowed once by another client"),
        ({"chosen": ALWAYS}, "✓ Allowed: Allow All Edits"),
        ({"chosen": NO}, "✗ Rejected"),
        ({"chosen": Option("x", "Never", "reject_always")}, "✗ Rejected: Never"),
        ({"chosen": Option("x", "Plan", "newer")}, "✓ Answered: Plan"),
        ({"chosen": None}, "✓ Answered"),
        ({"state": "cancelled"}, "✗ Cancelled before an answer"),
    ],
)
def test_an_answered_question_says_how_and_by_whom(answer: dict[str, Any], line: str):
    permission = asked(**({"state": "selected"} | answer))
    made = shown(turn(tool(permissions=(permission,), status="failed", text="canceled")), own=frozenset({"ours"}))
    assert f"\n✗ Read orders.js{'' if line.startswith('✗') else ' — canceled'}\n" in made.text
    assert f"\n{line}\n" in made.text
    assert made.render
    assert made.render.asks == ()


def test_every_question_about_a_call_can_be_answered():
    first, second = asked(id="first"), asked(id="second")
    made = shown(turn(tool(permissions=(first, second)), state="running"))
    assert made.render
    assert [ask.permission.id for ask in made.render.asks] == ["first", "second"]
    made.update(view(turn(tool(permissions=(first, replace(second, state="selected", chosen=ONCE))), state="running")))
    assert made.render
    assert [ask.permission.id for ask in made.render.asks] == ["first"]
    assert "\n✓ Allowed once\n" in made.text


def test_a_client_that_turns_out_to_be_ours_is_not_another():
    made = shown(turn(tool(permissions=(asked(state="selected", chosen=ONCE, voter="c"),))))
    assert "by another client" in made.text
    made.transcript.own_clients.add("c")
    made.update(Snapshot(2, ("k",), (), LIVE))
    assert "by another client" not in made.text


# Above the prompt


def test_the_plan_is_above_the_prompt_until_it_is_through():
    plan = (Step("Read", "completed"), Step("Wri\nte", "in_progress"), Step("Test", "pending"))
    assert shown(status=replace(LIVE, plan=plan)).text.endswith("\n\n◇ Plan\n  ✓ Read\n  ◐ Wri ↵ te\n  ○ Test\n\n❯ ")
    assert "Plan" not in shown(status=replace(LIVE, plan=plan[:1])).text
    assert "Plan" in shown(status=replace(LIVE, plan=plan[:1], running="k")).text


@pytest.mark.parametrize(
    ("connection", "line"),
    [
        (ConnectionStatus("connecting"), "◌ Connecting …"),
        (ConnectionStatus("connecting", "It is slow"), "◌ It is slow."),
        (ConnectionStatus("waiting", "It is gone. Start it.", 5.0), "⚠ It is gone. Start it. The next try is in 5 s."),
        (ConnectionStatus("waiting"), "⚠ The connection is lost."),
        (ConnectionStatus("lost", "Set the token."), "⚠ Set the token."),
        (ConnectionStatus("ended"), "⚠ The connection is lost."),
    ],
)
def test_a_connection_that_is_not_there_says_why(connection: ConnectionStatus, line: str):
    assert shown(status=Status(connection)).text.endswith(f"\n\n{line}\n\n❯ ")


# Its syntax


def variables() -> dict[str, str]:
    text = (Path(__file__).parents[4] / "QwenCompanion Chat.sublime-syntax").read_text(encoding="utf-8")
    found = dict(re.findall(r"^  (\w+): '(.*)'$", text, re.MULTILINE))
    while nested := {name for name, value in found.items() if "{{" in value}:
        for name in nested:
            found[name] = re.sub(r"\{\{(\w+)\}\}", lambda match: found[match[1]], found[name])
    return found


def test_the_syntax_knows_every_line_of_the_chat_itself():
    own = re.compile(variables()["own"].replace(r"\x{A0}", GAP))
    permission = asked(state="selected", chosen=ONCE)
    items = (
        Message("shell", "said"), Message("thought", "said"), Message("answer", "said", parent="x"),
        tool(permissions=(permission,)), tool(parent="x", status="failed"), Notice("Note"),
        tool(permissions=(asked(),)),
    )  # fmt: skip
    status = Status(ConnectionStatus("lost"), plan=(Step("a", "pending"),), queue=(Queued("q", "a"),))
    text = shown(
        turn(*items, state="cancelled"), turn(Message("user", "said"), key="x", state="running"), status=status
    ).raw
    for line in text.split("\n")[3:]:
        assert own.match(line) or line in {"", "said"} or line.startswith(("    ", ">", "  ○")), line


OWN_LINES = (
    "❯ You", "◆ Qwen Code", "✓ Allowed once", "  ✓ Read a.py", "✗ Rejected", "— Cancelled —", "— Failed: x —", "⚠ x",
    "◇ Plan", "? Qwen Code asks: x", "▸ Thought", "○ Read", "◐ Working …", "◌ Connecting …", "❯ ",
)  # fmt: skip


@pytest.mark.parametrize("speaker", ["user", "answer"])
@pytest.mark.parametrize("line", OWN_LINES)
def test_no_line_of_a_message_looks_like_one_of_the_chats_own(speaker: Speaker, line: str):
    """Nor with the mark that the chat's own lines have, in pieces or whole, behind any line ending."""
    own = re.compile(variables()["own"].replace(r"\x{A0}", GAP))
    for copied in (line, line.replace(" ", GAP)):
        for end in ("\n", "\r", "\r\n"):
            text = f"a{end}{copied} {end}b"
            whole = shown(turn(Message(speaker, text)))
            body = whole.raw.split("\n")[4:7]
            assert body[0] == "a" or speaker == "answer"
            assert not any(own.match(each) for each in body), body
            made = Shown()
            for at in range(1, len(text) + 1):
                made.update(view(turn(Message(speaker, text[:at]), state="done" if at == len(text) else "running")))
            assert made.raw == whole.raw


@pytest.mark.parametrize(
    "line",
    [
        "✓ Allowed once", "— Cancelled —  ", "❯ You ", "◆ Qwen Code\t", "✗ Rejected: x", "\u200b✓ Allowed once",
        "\u00a0✓\u00a0Allowed\u00a0once", "✓\u0301 All\u00adowed once", "> ✓ Allowed once", "1. **✗ Rejected**",
        "― Cancelled ―", "| ✔ Allowed once |", "# — 12 s · 4k tokens in, 1k out —", "x\r✓ Allowed once", "\ufeff❯ You",
    ],
)  # fmt: skip
def test_an_answer_that_imitates_a_line_of_the_chat_is_followed_by_a_note(line: str):
    """Also with blanks behind it, with what isn't seen, in a list, a quote or a table."""
    said = lines(Message("answer", f"a\n{line}\nb"))
    assert said[-1].startswith("— A line above looks like one of this chat’s own")
    assert "A line above" not in str(lines(Message("answer", "✓ Done\n— so it is\n⚠ Careful\n- ✅ Allowed: x")))


def test_the_syntax_and_the_chat_see_the_same_code_blocks():
    fence = re.compile(variables()["fence_start"])
    for line in ("```", "  ~~~~ py", "- ```js", "2. `````", "``` a`b", "``", "text ```", "> ```"):
        opened = len(lines(Message("answer", f"{line}\nx"))) == 4
        assert bool(fence.match(line)) == opened, line


def test_a_link_is_where_the_daemon_has_the_file():
    made = shown(turn(tool(locations=(Location(ORDERS, 2),))))
    assert made.render
    assert made.render.links == (Link(made.text.index("orders"), made.text.index("orders") + 11, ORDERS, 2),)


def test_a_longer_header_moves_all_that_is_below_it():
    one = turn(Message("answer", "See `a/b.py`.\n```\nx\n```\n"), key="1")
    two = turn(Message("answer", "on"), key="2", state="running")
    made = shown(one, two)
    made.update(Snapshot(2, ("1", "2"), (), LIVE), replace(HERE, version="0.24.4-with-a-longer-name"))
    made.update(Snapshot(3, ("1", "2"), (replace(two, items=(Message("answer", "on and on"),)),), LIVE))
    assert links(made)[0][0] == "a/b.py"
    assert codes(made) == [("", "x")]


def test_turns_in_another_order_are_written_anew_from_what_is_known():
    one, two = turn(Message("answer", "one"), key="1"), turn(Message("answer", "two"), key="2")
    made = shown(one, two)
    made.update(Snapshot(2, ("2", "1"), (), LIVE))
    assert made.text == shown(two, one).text
    made.update(Snapshot(3, ("1", "3"), (), LIVE))
    assert made.text == shown(one).text


def asked_tool(kind: str, state: str = "open", **arguments: Any) -> Tool:
    options = (Option("once", "Allow", "allow_once"), Option("no", "Reject", "reject_once"))
    more: dict[str, Any] = {} if state == "open" else {"state": "selected", "chosen": options[0]}
    permission = Permission("p1", "t", "tool", "Do it?", kind, options, input=arguments, **more)
    return Tool("tool", "name", "Do it", kind, "pending", input=arguments, permissions=(permission,))


def look(turn: Turn) -> Snapshot:
    return Snapshot(1, (turn.key,), (turn,), LIVE)


def test_a_question_about_a_command_shows_it_once():
    transcript = Transcript()
    transcript.update(look(Turn("t", "running", (asked_tool("execute", command="npm test -- --all"),))), HERE)
    assert transcript.text.count("npm test -- --all") == 1
    assert "?\u00a0Qwen Code asks: Run this command?\n    $ npm test -- --all" in transcript.text
    transcript.update(look(Turn("t", "running", (asked_tool("execute", "over", command="npm test -- --all"),))), HERE)
    assert "○\u00a0Run npm test -- --all" in transcript.text


PLAN = "## The plan\n\n1. Read `a.py`\n   - [x] all of it\n2) Write a test\n\nThen rest.\n* [ ] Done \x07"


@pytest.mark.parametrize("state", ["open", "over"])
def test_a_plan_is_a_checklist_before_and_after_it_is_approved(state: str):
    transcript = Transcript()
    transcript.update(look(Turn("t", "running", (asked_tool("switch_mode", state, plan=PLAN),))), HERE)
    lines = ["The plan", "○ Read `a.py`", "  ✓ all of it", "○ Write a test", "Then rest.", "○ Done \\x07"]
    shown = "".join(f"\n    {line}" for line in lines)
    assert transcript.text.count(shown) == (2 if state == "open" else 1)
    assert "plan:" not in transcript.text
