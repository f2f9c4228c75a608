"""What a chat's turn says of its tool calls."""

from __future__ import annotations

import pytest

from companion.conversation.snapshot import Diff, Item, Location, Message, Tool, Turn
from companion.exclusion import Sharing
from companion.provenance import calls as of_calls
from companion.provenance.calls import MAX_SAID, WritingCall, calls_of, last_paragraph
from companion.provenance.log import ProvenanceLog
from companion.provenance.why import is_tied, log_turn


def tool(name: str, *diffs: Diff, status: str = "completed", **more: object) -> Tool:
    return Tool(name, "edit", name, "edit", status, diffs=diffs, **more)  # type: ignore[arg-type]


def calls(*items: Item) -> list[WritingCall]:
    return list(calls_of(Turn("t", "done", (Message("user", "Do it"), *items)), lambda path: f"/here/{path}"))


DIFF = Diff("a.py", "old", "new")


def test_the_last_paragraph_before_a_call_is_its_reason() -> None:
    said = Message("answer", "First I look around.\n\nA KeyError says\ntoo little.")
    [one, two] = calls(said, tool("1", DIFF), Message("thought", "Now the sum."), tool("2", DIFF))
    assert (one.reason, two.reason) == ("A KeyError says\ntoo little.", "Now the sum.")


@pytest.mark.parametrize("blank", ["\n\n", "\n \t\n", "\r\n\r\n", "\n\n\n"], ids=repr)
def test_a_paragraph_ends_with_a_blank_line(blank: str) -> None:
    assert last_paragraph(f"one{blank}two\nlines{blank}") == "two\nlines"
    assert last_paragraph(blank) == ""


def test_of_a_long_message_only_the_end_is_looked_at() -> None:
    assert last_paragraph("x" * (2 * MAX_SAID)) == "x" * MAX_SAID
    assert last_paragraph("Long ago." + "\n" * MAX_SAID) == ""


def test_a_message_is_looked_at_once_however_many_calls_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    monkeypatch.setattr(of_calls, "last_paragraph", lambda text: looked.append(text) or "So.")
    made = calls(Message("answer", "So."), *(tool(str(at), DIFF) for at in range(20)))
    assert ([call.reason for call in made], looked) == (["So."] * 20, ["So."])


def test_a_call_that_has_failed_or_waits_says_nothing() -> None:
    assert calls(*(tool("1", DIFF, status=status) for status in ("failed", "pending", "in_progress", "new"))) == []


def test_a_sub_agent_has_its_own_words_before_its_calls() -> None:
    items = (
        Message("answer", "I send somebody."),
        tool("1", DIFF, parent="sub"),
        Message("answer", "I am the one who was sent.", parent="sub"),
        tool("2", DIFF, parent="sub"),
        tool("3", DIFF),
    )
    assert [call.reason for call in calls(*items)] == ["", "I am the one who was sent.", "I send somebody."]


def test_what_the_person_says_in_the_middle_of_a_turn_is_what_later_calls_were_asked_for() -> None:
    said = Message("answer", "As you like.")
    [one, two] = calls(said, tool("1", DIFF), Message("user", "No, the other one"), tool("2", DIFF))
    assert (one.asked, one.reason, two.asked, two.reason) == ("", "As you like.", "No, the other one", "")


def test_whole_texts_are_taken_where_the_tool_tells_them() -> None:
    output = {"originalContent": None, "newContent": "all of it"}
    [call] = calls(tool("1", Diff("a.py", "", "x"), output=output, locations=(Location("src/a.py"),)))
    [replaced] = call.replaced
    assert (replaced.path, replaced.old, replaced.new, replaced.is_whole) == ("/here/src/a.py", "", "all of it", True)


def test_a_diff_without_an_old_text_does_not_say_that_there_was_no_file() -> None:
    [call] = calls(tool("1", Diff("a.py", "", "x")))
    assert call.replaced[0].old is None


def test_the_arguments_say_it_where_there_is_no_diff() -> None:
    arguments = [
        {"file_path": "a.py", "old_string": "a", "new_string": "b", "replace_all": True},
        {"path": "a.py", "content": "all"},
        {"filePath": "a.py", "edits": [{"old_string": "a", "new_string": "b"}, {"old_string": 1}, 7]},
        {"file_path": 7, "content": "all"},
        {"file_path": "a.py"},
    ]
    found = [
        [(each.old, each.new) for each in call.replaced]
        for call in calls(*(tool("1", input=each) for each in arguments))
    ]
    assert found == [[("a", "b")], [(None, "all")], [("a", "b")]]


def test_no_path_that_an_agent_names_is_looked_for_on_another_computer(monkeypatch: pytest.MonkeyPatch):
    """Windows would send it the person's credentials."""
    looked: list[str] = []
    monkeypatch.setattr(of_calls.files, "resolved", lambda path: looked.append(path) or path)
    for path in ("//host/share/a.py", "//host/project-2/a.py"):
        replaced = (of_calls.TextReplacement(path, "a", "b"),)
        turn = of_calls.ReportedTurn("A", "do it", (WritingCall("1", "edit", replaced),))
        assert log_turn(ProvenanceLog(), [Sharing(folders=("/p", "//host/project"))], turn, None) == []
        assert not is_tied(turn, [("/p/a.py", "a", "b")])
    assert looked == []
    for path in ("/p/a.py", "//host/project", "//host/project/a.py"):
        assert of_calls.real_path(path, ["//host/project"]) == path
