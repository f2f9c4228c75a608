"""Tool calls, questions and plans that an agent tells in an unusual order or form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from companion.backends.acp.elicitation import Elicitation, decode_elicitation
from companion.conversation.forms import FormField
from companion.conversation.snapshot import Diff, Step
from tests.agent_talk import AgentTalk, Talks, notices, said, tools

OPTIONS = '[{"optionId": "y", "name": "Yes", "kind": "allow_once"}]'
LOOSE = '[None, {"name": "?"}, {"optionId": "y", "name": "Yes", "kind": "allow_once"}]'
HUGE = 10**400


def does(*lines: str) -> str:
    """An agent whose turn has these lines."""
    body = "".join(f"    {line}\n" for line in lines)
    return f'def session_prompt(params):\n{body}    return {{"stopReason": "end_turn"}}\n'


def asks(call: dict[str, Any], options: str = OPTIONS) -> str:
    return f'ask("session/request_permission", toolCall={call!r}, options={options})'


def diff(path: Path, old: str | None, new: str) -> dict[str, Any]:
    return {"type": "diff", "path": str(path), "oldText": old, "newText": new}


async def shown(talk: AgentTalk) -> tuple[Diff, ...]:
    """The diffs of the question of a turn, which is allowed."""
    key = await talk.ask("Go")
    permission = await talk.asked()
    await talk.vote(permission, "allow_once")
    await talk.done(key)
    return permission.diffs


async def test_an_update_may_come_before_its_call(talks: Talks, project: Path):
    path = project / "a.txt"
    path.write_text("one\ntwo\n", newline="")
    script = does(
        f'update(sessionUpdate="tool_call_update", toolCallId="t", content=[{diff(path, "two", "2")!r}])',
        'update(sessionUpdate="tool_call", toolCallId="t", title="Edit", kind="edit", locations=None, content=None)',
        asks({"toolCallId": "t", "content": None, "locations": None}),
        'update(sessionUpdate="tool_call_update", toolCallId="t", content=[], status="completed")',
    )
    async with talks(script) as talk:
        assert await shown(talk) == (Diff(str(path), "one\ntwo\n", "one\n2\n"),)
        [tool] = tools(talk.conversation.turns[-1])
        assert (tool.title, tool.kind, tool.status, tool.diffs) == ("Edit", "edit", "completed", ())


@pytest.mark.parametrize(
    "odd",
    [
        {"content": [None, {"type": "diff", "path": "/x"}, {"type": "content", "content": None}]},
        {"content": "words"},
        {"locations": [None, {"path": None}, {"path": "/x", "line": "4"}]},
        {"locations": {}},
        {"title": 3, "kind": []},
    ],
    ids=["parts", "no parts", "places", "no places", "words"],
)
async def test_a_part_that_can_not_be_read_takes_nothing_else_with_it(talks: Talks, odd: dict[str, Any]):
    script = does(
        'update(sessionUpdate="tool_call", toolCallId="t", title="Look", kind="read", status="pending")',
        asks({"toolCallId": "t", **odd}, LOOSE),
        f"update(**{ {'sessionUpdate': 'tool_call_update', 'toolCallId': 't', 'status': 'completed', **odd}!r})",
    )
    async with talks(script) as talk:
        await shown(talk)
        turn = talk.conversation.turns[-1]
        assert [(tool.title, tool.kind, tool.status) for tool in tools(turn)] == [("Look", "read", "completed")]
        assert not notices(turn)


@pytest.mark.parametrize(
    ("before", "call", "after"),
    [
        ("a\r\nb\r\nc\r\n", {"content": [("b\r\n", "B\r\n")]}, "a\r\nB\r\nc\r\n"),
        ("a\r\nb\r\nc\r\n", {"content": [("a\nb", "A\nB")]}, "A\r\nB\r\nc\r\n"),
        ("a\n", {"content": [(None, "b\n")]}, "b\n"),
        ("s\no\ns\n", {"content": [("s", "S")], "locations": [3.0]}, "s\no\nS\n"),
        ("s\no\ns\n", {"content": [("s", "S")], "rawInput": {"edits": [], "replace_all": True}}, "S\no\nS\n"),
        ("s\no\ns\n", {"content": [("s", "1\n2"), ("s", "3")], "locations": [1, 3]}, "1\n2\no\n3\n"),
        ("s\no\ns\n", {"content": [("s", "3"), ("s", "1\n2")], "locations": [3, 1]}, "1\n2\no\n3\n"),
    ],
    ids=["crlf", "lf in crlf", "not new", "line", "all", "two lines", "two lines backwards"],
)
async def test_a_piece_is_asked_about_as_a_whole_file(
    talks: Talks, project: Path, before: str, call: dict[str, Any], after: str
):
    path = project / "a.txt"
    path.write_text(before, newline="")
    told = {
        "toolCallId": "t",
        "rawInput": call.get("rawInput", {}),
        "content": [diff(path, old, new) for old, new in call["content"]],
        "locations": [{"path": str(path), "line": line} for line in call.get("locations", [])],
    }
    script = does(f'update(sessionUpdate="tool_call", title="Edit", **{told!r})', asks({"toolCallId": "t"}))
    async with talks(script) as talk:
        assert await shown(talk) == (Diff(str(path), before, after),)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "integer", "default": HUGE, "minimum": -HUGE, "maximum": HUGE},
        {"type": "number", "default": -HUGE, "minimum": HUGE},
    ],
    ids=["integer", "number"],
)
def test_a_number_too_large_for_the_form_is_no_limit_and_no_default(schema: dict[str, Any]):
    found = decode_elicitation({"message": "How many?", "requestedSchema": {"properties": {"n": schema}}})
    assert isinstance(found, Elicitation)
    [field] = found.form.fields
    assert (field.default, field.least, field.most) == (None, None, None)


def test_a_number_that_is_too_large_is_said_to_be_wrong():
    assert FormField("n", "number", "N").problem(HUGE) == "Enter a number."


async def test_a_plan_in_prose_is_part_of_the_answer_as_far_as_it_is_new(talks: Talks):
    pieces = ("# Plan\n", "# Plan\n\n- one\n", "# Plan\n\n- one\n", "Another plan\n")
    updates = [
        f'update(sessionUpdate="plan_update", plan={ {"type": "markdown", "planId": "p", "content": piece}!r})'
        for piece in pieces
    ]
    script = does(*updates, 'say("Well?")')
    async with talks(script) as talk:
        turn = await talk.done(await talk.ask("Go"))
        assert said(turn) == "# Plan\n\n- one\n\n\nAnother plan\nWell?"


@pytest.mark.parametrize("status", ["completed", "failed"])
async def test_a_tool_that_keeps_the_plan_shows_it_once_it_is_done(talks: Talks, status: str):
    todos = [{"content": "One", "status": "completed"}, {"content": "Two", "status": "pending"}]
    script = does(
        'update(sessionUpdate="tool_call", toolCallId="t", title="todowrite", status="pending", rawInput={})',
        f'update(sessionUpdate="tool_call_update", toolCallId="t", rawInput={ {"todos": todos}!r})',
        f'update(sessionUpdate="tool_call_update", toolCallId="t", title="2 todos", status={status!r})',
    )
    async with talks(script) as talk:
        await talk.done(await talk.ask("Go"))
        plan = (Step("One", "completed"), Step("Two", "pending")) if status == "completed" else ()
        assert talk.conversation.status.plan == plan
