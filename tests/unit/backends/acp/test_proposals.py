"""What an agent proposes as whole files, and tool calls with all that was told of them."""

from __future__ import annotations

import tracemalloc
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from companion.agents import AgentCommand
from companion.backends.acp.decoder import MAX_SHOWN
from companion.backends.acp.terminals import MAX_OWN
from companion.backends.acp.tool_calls import Replacement, ToolCalls, paths, place, whole_files, with_told_diffs
from companion.conversation.snapshot import Diff
from companion.provenance import lines as of_lines
from companion.provenance.lines import Effort
from tests.agent_talk import Talks, client_of, run

FILE = "one\ntwo\nthree\ntwo\nfour\n"


def diff(path: str, old: str | None, new: str) -> dict[str, Any]:
    return {"type": "diff", "path": path, "oldText": old, "newText": new}


def shown(call: Mapping[str, Any], **files: Sequence[str]) -> list[tuple[Any, ...]]:
    """The diffs of a call whose files have these texts."""

    async def texts(path: str) -> Sequence[str]:
        return files.get(path, ())

    async def test() -> Mapping[str, Any]:
        return await whole_files(call, texts)

    return [
        (part["path"], part["oldText"], part["newText"], part.get("isPart", False))
        for part in run(test())["content"]
        if part["type"] == "diff"
    ]


@pytest.mark.parametrize(
    ("text", "edit", "after"),
    [
        (FILE, Replacement("three", "3"), "one\ntwo\n3\ntwo\nfour\n"),
        (FILE, Replacement("two", "2"), None),
        (FILE, Replacement("two", "2", lines=(4,)), "one\ntwo\nthree\n2\nfour\n"),
        (FILE, Replacement("two\nthree", "2", lines=(3,)), "one\n2\ntwo\nfour\n"),
        (FILE, Replacement("two", "2", is_everywhere=True), "one\n2\nthree\n2\nfour\n"),
        (FILE, Replacement("two", "2", lines=(9,)), None),
        (FILE, Replacement("none", "2"), None),
        (FILE, Replacement("", "all\n"), "all\n"),
        ("", Replacement("", "all\r\n"), "all\r\n"),
        ("one\r\ntwo\r\n", Replacement("one\ntwo\n", "1\ntwo\n"), "1\r\ntwo\r\n"),
        ("one\r\ntwo\r\n", Replacement("two", "2\n3"), "one\r\n2\r\n3\r\n"),
        ("\ufeffone\n", Replacement("one", "1"), "\ufeff1\n"),
        ("one\ntwo", Replacement("two\n", "2\n"), "one\n2"),
        ("one", Replacement("\n", "x\n"), None),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_a_piece_is_placed_where_the_file_has_it_and_nowhere_if_that_is_not_clear(
    text: str, edit: Replacement, after: str
):
    assert place(text, edit, Effort()) == after


@given(
    st.lists(st.sampled_from(["a", "b", "c\n", "\n"])),
    st.integers(0, 9),
    st.integers(0, 9),
    st.sampled_from(["", "x\n"]),
)
def test_what_is_placed_is_the_one_replacement_that_is_possible(pieces: list[str], start: int, length: int, new: str):
    text = "".join(pieces)
    old = text[start : start + length]
    after = place(text, Replacement(old, new), Effort())
    if old and text.count(old) == 1:
        assert after == text.replace(old, new)
    elif after is not None and old:
        assert text.count(old) == 1


def test_the_diffs_of_a_call_are_whole_files():
    call = {"content": [diff("a", "three", "3"), {"type": "content"}], "toolCallId": "t"}
    assert shown(call, a=[FILE]) == [("a", FILE, FILE.replace("three", "3"), False)]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ({"filePath": "/a", "oldString": "three", "newString": "3"}, [("/a", "three", "3")]),
        ({"file_path": "/a", "edits": [{"old_string": "a", "new_string": ""}]}, [("/a", "a", "")]),
        ({"filePath": "/a", "content": "all of it, or what is added to it"}, []),
        ({"filePath": "/a", "newString": "3"}, []),
        ({"filePath": 1, "oldString": "three", "newString": "3"}, []),
        ({"filePath": "a", "oldString": "three", "newString": "3"}, []),
        ({"filePath": "/a", "edits": [{"oldString": "", "newString": "X"}, {"oldString": "a", "newString": "b"}]}, []),
        ({"filePath": "/a", "edits": [{"oldString": "three"}, {"oldString": "a", "newString": "b"}]}, []),
        ({"filePath": "/a", "edits": [{"oldString": "a", "newString": "b"}], "content": "all"}, []),
        ({}, []),
    ],
)
def test_what_an_edit_without_a_diff_tells_of_its_texts_is_a_diff(
    call: Mapping[str, Any], expected: Sequence[tuple[str, str, str]]
):
    """OpenCode leaves it out if all lines of it are indented."""
    asked = {"kind": "edit", "rawInput": call, "content": [{"type": "content"}]}
    found = with_told_diffs(asked)["content"]
    assert found == [*(diff(*each) for each in expected), {"type": "content"}]
    assert with_told_diffs({**asked, "kind": "execute"})["content"] == [{"type": "content"}]
    own = {**asked, "content": [diff("/b", "x", "y")]}
    assert with_told_diffs(own) == own


def test_several_pieces_of_a_file_are_one_diff():
    call = {"content": [diff("a", "one", "1"), diff("b", None, "new"), diff("a", "four", "4")]}
    assert shown(call, a=[FILE]) == [("a", FILE, "1\ntwo\nthree\ntwo\n4\n", False), ("b", None, "new", False)]


def test_a_file_that_is_said_to_be_new_and_exists_shows_what_goes():
    assert shown({"content": [diff("a", None, "new\n")]}, a=[FILE]) == [("a", FILE, "new\n", False)]
    assert shown({"content": [diff("a", None, "new\n")]}) == [("a", None, "new\n", False)]


def test_a_piece_that_cannot_be_placed_is_shown_alone_and_said_to_be_one():
    assert shown({"content": [diff("a", "two", "2")]}, a=[FILE]) == [("a", "two", "2", True)]
    assert shown({"content": [diff("a", "gone", "2")]}, a=[FILE]) == [("a", "gone", "2", True)]
    assert shown({"content": [diff("a", "two", "2")]}) == [("a", "two", "2", True)]


@pytest.mark.parametrize(
    "arguments",
    [{"replace_all": True}, {"replaceAll": True}, {"changes": [{"oldString": "two", "replaceAll": True}]}],
    ids=["claude", "opencode", "vibe"],
)
def test_every_occurrence_is_replaced_if_the_arguments_say_so(arguments: dict[str, Any]):
    call = {"content": [diff("a", "two", "2")], "rawInput": arguments}
    assert shown(call, a=[FILE]) == [("a", FILE, FILE.replace("two", "2"), False)]


def test_the_arguments_and_the_places_of_a_call_are_gone_through_once_for_all_its_diffs():
    looked: list[object] = []

    class Told(dict[str, Any]):
        def get(self, key: str, default: object = None) -> Any:
            looked.append(self)
            return super().get(key, default)

    edits = [Told(oldString=f"{number}", replaceAll=True) for number in range(20)]
    places = [Told(path=f"{number}", line=1) for number in range(20)]
    diffs = [diff(f"{number}", f"{number}", "x") for number in range(20)]
    shown({"content": diffs, "rawInput": {"edits": edits}, "locations": places})
    assert 40 <= len(looked) <= 120


def test_the_line_of_another_file_names_no_occurrence():
    call = {"content": [diff("a", "two", "2")], "locations": [{"path": "b", "line": 4}, {"path": "a", "line": None}]}
    assert shown(call, a=[FILE]) == [("a", "two", "2", True)]


def test_edits_that_cost_too_much_to_make_are_shown_as_they_are(monkeypatch: pytest.MonkeyPatch):
    """A text that doubles with each of a few dozen edits would fill the memory."""
    monkeypatch.setattr(of_lines, "EFFORT", 1000)
    call = {"content": [diff("a", "a", "aa")] * 12, "rawInput": {"replace_all": True}}
    assert shown(call, a=["a"]) == [("a", "a", "aa", True)] * 12
    # All files of a call cost something together.
    many = {"content": [diff(path, "one", "1") for path in ("a", "b")]}
    assert shown(many, a=["one"], b=["one" + " " * 1000]) == [("a", "one", "1", False), ("b", "one", "1", True)]


def test_a_piece_that_occurs_everywhere_is_not_listed_and_one_of_a_line_only_if_that_is_cheap():
    text = "a" * 300_000
    tracemalloc.start()
    try:
        assert shown({"content": [diff("a", "a", "b")]}, a=[text]) == [("a", "a", "b", True)]
        located = {"content": [diff("a", "a", "b")], "locations": [{"path": "a", "line": 1}]}
        assert shown(located, a=[text]) == [("a", "a", "b", True)]
        assert tracemalloc.get_traced_memory()[1] < 10 * len(text)
    finally:
        tracemalloc.stop()


def test_an_unsaved_text_is_taken_where_the_piece_is_only_there():
    unsaved = f"{FILE}mine\n"
    assert shown({"content": [diff("a", "mine", "yours")]}, a=[FILE, unsaved]) == [
        ("a", unsaved, f"{FILE}yours\n", False)
    ]
    assert shown({"content": [diff("a", unsaved, "all\n")]}, a=[FILE, unsaved]) == [("a", unsaved, "all\n", False)]


def test_what_a_question_leaves_out_is_as_it_was_told_before():
    calls = ToolCalls()
    calls.note({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "Edit", "rawInput": {"path": "a"}})
    calls.note({"toolCallId": "t", "content": [diff("a", "one", "1")], "status": None})
    asked = calls.asked({"toolCallId": "t", "kind": "edit"})
    assert asked == {
        "toolCallId": "t",
        "title": "Edit",
        "rawInput": {"path": "a"},
        "content": [diff("a", "one", "1")],
        "kind": "edit",
    }


def test_words_in_a_question_do_not_take_the_diff_away():
    calls = ToolCalls()
    calls.note({"toolCallId": "t", "content": [diff("a", "one", "1")], "rawInput": {"replace_all": True}})
    words = {"type": "content", "content": {"type": "text", "text": "May I?"}}
    asked = calls.asked({"toolCallId": "t", "content": [words], "rawInput": {"diff": "…"}})
    assert asked["content"] == [diff("a", "one", "1"), words]
    assert asked["rawInput"] == {"replace_all": True, "diff": "…"}
    assert calls.asked({"toolCallId": "t"}) == asked


def test_a_call_without_an_id_is_known_by_nobody_and_old_ones_are_forgotten():
    calls = ToolCalls()
    assert calls.note({"title": "Edit"}) == {"title": "Edit"}
    for odd in ({"toolCallId": {}}, {"toolCallId": 1.5, "content": [None, 3, {"type": "diff"}]}, {"content": "text"}):
        assert calls.asked(odd) == odd
    for number in range(1000):
        calls.note({"toolCallId": str(number), "title": "It"})
    assert calls.asked({"toolCallId": "1"}) == {"toolCallId": "1"}
    assert calls.asked({"toolCallId": "999"})["title"] == "It"


def test_the_files_of_a_call_are_those_of_its_diffs_and_places():
    call = {"content": [diff("/a", "", ""), diff("rel", "", "")], "locations": [{"path": "/b"}, {"path": 3}, "odd"]}
    assert paths(call) == {"/a", "/b"}


def told(terminal: str, **more: object) -> dict[str, Any]:
    return {
        "toolCallId": "t",
        "_meta": {name: {"terminal_id": terminal, **_fields(value)} for name, value in more.items()},
    }


def _fields(value: object) -> dict[str, object]:
    return {"data": value} if isinstance(value, str) else {}


def test_what_an_agent_prints_in_a_terminal_of_its_own_is_put_together():
    terminals = client_of(AgentCommand("A", ()), {}).services.terminals
    assert not terminals.note_own({"toolCallId": "t"})
    assert terminals.note_own(told("x", terminal_info=None))
    assert terminals.note_own(told("x", terminal_output="one\n"))
    assert terminals.note_own(told("x", terminal_output_delta="two\n"))
    found = terminals.printed("x")
    assert found is not None
    assert (found.text, found.is_running) == ("one\ntwo\n", True)
    terminals.note_own(told("x", terminal_exit=None))
    found = terminals.printed("x")
    assert found is not None
    assert not found.is_running
    terminals.note_own(told("x", terminal_output="y" * (MAX_SHOWN + 1)))
    found = terminals.printed("x")
    assert found is not None
    assert found.is_cut
    for number in range(MAX_OWN):
        terminals.note_own(told(str(number), terminal_output="z"))
    assert terminals.printed("x") is None


async def test_a_piece_that_can_not_be_placed_is_said_to_be_one(talks: Talks, project: Path):
    path = project / "twice.txt"
    path.write_text("same\nother\nsame\n")
    script = f"""
def session_prompt(params):
    diff = {{"type": "diff", "path": {str(path)!r}, "oldText": "same", "newText": "different"}}
    ask("session/request_permission", toolCall={{"toolCallId": "t", "title": "Edit", "content": [diff]}},
        options=[{{"optionId": "y", "name": "Yes", "kind": "allow_once"}}])
    return {{"stopReason": "end_turn"}}
"""
    async with talks(script) as talk:
        key = await talk.ask("Go")
        permission = await talk.asked()
        assert permission.diffs == (Diff(str(path), "same", "different", is_part=True),)
        await talk.vote(permission, "allow_once")
        await talk.done(key)
