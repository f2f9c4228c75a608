"""What a tool call was told to be: merged over its life, and never lent to the next call with its id."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from companion.backends.acp.tool_calls import MAX_KEPT, ToolCalls
from tests.agent_talk import Talks, said, tools, until

LS = {"toolCallId": "call_0", "title": "Shell", "kind": "execute", "rawInput": {"command": "ls"}}
DIFF = {"type": "diff", "path": "/w/a", "oldText": "one", "newText": "two"}
OPTIONS = """
OPTIONS = [
    {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]
def call(status, **more):
    update(sessionUpdate="tool_call", toolCallId="call_0", title="Shell", kind="execute", status=status, **more)
def may(**more):
    call = {"toolCallId": "call_0", **more}
    return ask("session/request_permission", toolCall=call, options=OPTIONS)["outcome"]["optionId"]
"""


def told(sequence: str, **more: Any) -> dict[str, Any]:
    return {"sessionUpdate": sequence, **LS, **more}


def test_a_call_that_is_over_lends_nothing_to_the_next_one_with_its_id():
    for end in ("completed", "failed"):
        calls = ToolCalls()
        calls.note(told("tool_call", status="pending", content=[DIFF]))
        calls.note({"sessionUpdate": "tool_call_update", "toolCallId": "call_0", "status": end})
        asked = calls.asked({"toolCallId": "call_0", "title": "Delete", "rawInput": {"path": "~"}})
        assert asked == {"toolCallId": "call_0 #2", "title": "Delete", "rawInput": {"path": "~"}}
        assert calls.asked({"toolCallId": "call_0"})["title"] == "Delete"


def test_a_call_that_is_over_lends_nothing_to_one_that_is_told_of_anew():
    calls = ToolCalls()
    calls.note(told("tool_call", status="completed", content=[DIFF]))
    again = calls.note({"sessionUpdate": "tool_call", "toolCallId": "call_0", "title": "Edit", "status": "pending"})
    assert again == {"toolCallId": "call_0 #2", "title": "Edit", "status": "pending"}
    assert calls.asked({"toolCallId": "call_0"}) == again


def test_a_call_that_ran_in_another_turn_lends_nothing():
    calls = ToolCalls()
    calls.note(told("tool_call", status="in_progress", content=[DIFF]), "history")
    assert calls.asked({"toolCallId": "call_0", "title": "Delete"}, "one") == {
        "toolCallId": "call_0",
        "title": "Delete",
    }
    assert calls.asked({"toolCallId": "call_0"}, "two") == {"toolCallId": "call_0"}


def test_late_news_of_a_call_that_is_over_has_what_was_told_of_it():
    calls = ToolCalls()
    calls.note(told("tool_call", status="completed", content=[DIFF]))
    late = calls.note({"sessionUpdate": "tool_call_update", "toolCallId": "call_0", "rawOutput": "out"})
    assert (late["toolCallId"], late["content"], late["rawInput"]) == ("call_0", [DIFF], {"command": "ls"})
    assert calls.note(told("tool_call", status="completed"))["toolCallId"] == "call_0"


def test_what_a_request_says_counts_and_what_differs_is_shown_too():
    calls = ToolCalls()
    calls.note(told("tool_call", status="pending", rawInput={"command": "ls", "cwd": "/w"}))
    asked = calls.asked({"toolCallId": "call_0", "rawInput": {"command": "rm -rf ~"}})
    assert asked["rawInput"] == {"command": "rm -rf ~", "cwd": "/w", "command (told before)": "ls"}
    assert calls.asked({"toolCallId": "call_0"})["rawInput"] == {"command": "rm -rf ~", "cwd": "/w"}


@pytest.mark.parametrize("other", [{"kind": "delete"}, {"rawInput": {"path": "b.py"}}])
def test_a_question_about_something_else_than_was_told_gets_no_diff_of_that(other: dict[str, Any]):
    calls = ToolCalls()
    edit = {"toolCallId": "call_0", "kind": "edit", "rawInput": {"path": "a.py"}, "content": [DIFF]}
    assert calls.asked(edit)["content"] == [DIFF]
    assert calls.asked({"toolCallId": "call_0", "kind": "edit", "rawInput": {"path": "a.py"}})["content"] == [DIFF]
    assert calls.asked({"toolCallId": "call_0", **other})["content"] == []
    assert calls.asked({"toolCallId": "call_0"})["content"] == []


def test_the_names_of_new_calls_are_free_and_are_forgotten_with_them():
    calls = ToolCalls()
    calls.note(told("tool_call", toolCallId="call_0 #2", status="pending"))
    calls.note(told("tool_call", status="completed"))
    assert calls.asked({"toolCallId": "call_0"})["toolCallId"] == "call_0 #3"
    for number in range(MAX_KEPT):
        calls.note(told("tool_call", toolCallId=str(number)))
    assert calls.name("call_0") == "call_0"


def test_the_next_instance_knows_the_calls_of_the_turn_that_runs():
    calls, following = ToolCalls(), ToolCalls()
    calls.note(told("tool_call", status="completed"), "turn")
    calls.asked({"toolCallId": "call_0", "content": [DIFF]}, "turn")
    following.take_over(calls.hand_over())
    assert following.asked({"toolCallId": "call_0"}, "turn") == {"toolCallId": "call_0 #2", "content": [DIFF]}


async def test_a_question_with_a_used_id_shows_the_command_that_would_run(talks: Talks):
    script = f"""{OPTIONS}
def session_prompt(params):
    text = params["prompt"][-1]["text"]
    if text == "one":
        call("completed", rawInput={{"command": "ls"}})
        return {{"stopReason": "end_turn"}}
    say(may(title="Shell", kind="execute", status="pending", rawInput={{"command": "rm -rf ~"}}))
    call("completed")
    say(may(title="Delete everything", kind="delete"))
    return {{"stopReason": "end_turn"}}
"""
    async with talks(script) as talk:
        await talk.done(await talk.ask("one"))
        key = await talk.ask("two")
        first = await talk.asked()
        assert first.input == {"command": "rm -rf ~"}
        await talk.vote(first, "allow_once")
        await until(lambda: any(each.id != first.id for each in talk.conversation.status.permissions))
        second = talk.conversation.status.permissions[-1]
        assert (second.title, second.input, second.diffs) == ("Delete everything", {}, ())
        await talk.vote(second, "reject_once")
        turn = await talk.done(key)
        assert said(turn) == "yesno"
        assert [(tool.title, tool.status) for tool in tools(turn)] == [
            ("Shell", "completed"),
            ("Delete everything", "pending"),
        ]


async def test_a_question_with_a_used_id_opens_no_diff_of_the_call_before(talks: Talks, project: Path):
    script = f"""{OPTIONS}
def session_prompt(params):
    path = os.path.join(os.getcwd(), "a.txt")
    edit = [{{"type": "diff", "path": path, "oldText": "one", "newText": "two"}}]
    call("completed", content=edit)
    say(may(title="Edit secrets.txt", rawInput={{"file_path": "secrets.txt"}}))
    return {{"stopReason": "end_turn"}}
"""
    (project / "a.txt").write_text("one", encoding="utf-8")
    async with talks(script) as talk:
        key = await talk.ask("x")
        asked = await talk.asked()
        assert (asked.diffs, asked.input) == ((), {"file_path": "secrets.txt"})
        await talk.vote(asked, "reject_once")
        await talk.done(key)


@pytest.mark.parametrize(("identifier", "option"), [("7", "yes"), ("'7'", "")], ids=["a number", "an empty option"])
async def test_a_question_with_odd_ids_is_asked_and_answered(talks: Talks, identifier: str, option: str):
    script = f"""
def session_prompt(params):
    update(sessionUpdate="tool_call", toolCallId={identifier}, title="Run ls", kind="execute", status="pending")
    options = [{{"optionId": "{option}", "name": "Allow", "kind": "allow_once"}}]
    answer = ask("session/request_permission", toolCall={{"toolCallId": {identifier}}}, options=options)
    say(json.dumps(answer))
    return {{"stopReason": "end_turn"}}
"""
    async with talks(script) as talk:
        key = await talk.ask("x")
        await talk.vote(await talk.asked(), "allow_once")
        turn = await talk.done(key)
        assert json.loads(said(turn)) == {"outcome": {"outcome": "selected", "optionId": option}}
        [tool] = tools(turn)
        assert (tool.id, tool.title, [each.state for each in tool.permissions]) == ("7", "Run ls", ["selected"])


async def test_an_update_with_odd_fields_ends_neither_the_turn_nor_the_agent(talks: Talks):
    script = """
def session_prompt(params):
    update(sessionUpdate="tool_call", toolCallId="t", title="x", status=[])
    update(sessionUpdate="tool_call_update", toolCallId="t", status={})
    update(sessionUpdate={"a": 1})
    say("After.")
    return {"stopReason": "end_turn"}
"""
    async with talks(script) as talk:
        turn = await talk.done(await talk.ask("x"))
        assert (turn.state, said(turn), talk.error) == ("done", "After.", None)
