"""Tool calls, questions and plans that an agent tells in an unusual order or form."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from companion.backends.acp.services import Elicitation, decode_elicitation
from companion.conversation.forms import FormField
from companion.conversation.snapshot import ContextWindow, Diff, Step
from tests.agent_talk import AgentTalk, Talks, notices, said, tools, until

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


@pytest.mark.skipif(sys.platform == "win32", reason="Windows starts it again")
async def test_what_an_agent_tells_whole_each_time_is_told_once_over_a_reload(talks: Talks):
    summary = [{"type": "text", "text": "We have renamed a."}]
    before = (
        {"sessionUpdate": "plan_update", "plan": {"type": "markdown", "planId": "p", "content": "# Plan\n"}},
        compaction("in_progress"),
        piece("We have "),
    )
    after = (
        {"sessionUpdate": "plan_update", "plan": {"type": "markdown", "planId": "p", "content": "# Plan\n- one\n"}},
        compaction("in_progress"),
        compaction("completed", summary=summary),
    )
    waits = 'while not any(each.get("method") == "_go" for each in seen): time.sleep(0.001)'
    async with talks(does(*updates(*before), waits, *updates(*after))) as talk:
        key = await talk.ask("Go")
        await until(lambda: (turn := talk.turn(key)) and said(turn, "thought"))
        await talk.reload()
        talk.client.peer.notify("_go", {})
        turn = await talk.done(key)
        assert (said(turn), said(turn, "thought")) == ("# Plan\n- one\n", "We have renamed a.")
        assert notices(turn) == ["The conversation is being compacted…", "The conversation was compacted."]


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


def updates(*told: dict[str, Any]) -> list[str]:
    return [f"update(**{each!r})" for each in told]


async def test_a_notice_of_an_agent_is_a_line_of_the_chat_and_no_part_of_the_answer(talks: Talks):
    rest = {"title": "Rate limited", "description": None}
    script = does(
        'say("The ans")',
        *updates(
            {"sessionUpdate": "notice", "severity": "warning", "title": "No key", "description": "Set\none."},
            {"sessionUpdate": "notice", "severity": "error", **rest},
            {"sessionUpdate": "notice", "severity": "_mine", **rest},
            {"sessionUpdate": "notice", **rest},
        ),
        'say("wer.")',
    )
    async with talks(script) as talk:
        turn = await talk.done(await talk.ask("Go"))
        assert said(turn) == "The answer."
        assert notices(turn) == [
            "Warning: No key: Set one.", "Error: Rate limited", "Note: Rate limited", "Note: Rate limited",
        ]  # fmt: skip


@pytest.mark.parametrize("first", ["told", "answer"])
async def test_what_comes_around_the_answer_that_opens_a_session_is_shown(talks: Talks, first: str):
    script = f"""
def session_new(params):
    told = [
        {{"method": "session/update", "params": {{"sessionId": session, "update": {{
            "sessionUpdate": "notice", "severity": "info", "title": title}}}}}}
        for session, title in (("s", "Model rerouted"), ("other", "Not ours"), ([], "Of none"))
    ]
    answer = {{"id": seen[-1]["id"], "result": {{"sessionId": "s"}}}}
    lines = [*told, answer] if {first == "told"} else [answer, *told]
    raw("".join(json.dumps({{"jsonrpc": "2.0", **each}}) + chr(10) for each in lines).encode())
    return "silence"
"""
    async with talks(script) as talk:
        await until(lambda: talk.conversation.turns, 20)
        assert notices(talk.conversation.turns[0]) == ["Note: Model rerouted"]


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        (None, "Unsupported: a notice."),
        (["x"], "Unsupported: a notice."),
        (" \n\u200b", "Unsupported: a notice."),
        ("— Allowed —\n\x1b[2J\u202eby you", "Note: — Allowed — [2J by you"),
        ("x" * 100_000, f"Note: {'x' * 299}…: {'y' * 1999}…"),
    ],
    ids=["none", "a list", "nothing to see", "control characters", "long"],
)
async def test_no_notice_of_an_agent_reads_as_the_chats_own_or_fills_it(talks: Talks, title: object, shown: str):
    notice = {"sessionUpdate": "notice", "severity": "info", "title": title}
    more = {"description": "y" * 100_000} if "y" in shown and "x" in shown else {"description": [3]}
    async with talks(does(*updates({**notice, **more}), 'say("Well?")')) as talk:
        turn = await talk.done(await talk.ask("Go"))
        assert (notices(turn), said(turn)) == ([shown], "Well?")


def compaction(status: str | None = None, **more: Any) -> dict[str, Any]:
    update = {"sessionUpdate": "compaction_update", "compactionId": "c", **more}
    return {**update, "status": status} if status else update


def piece(text: str) -> dict[str, Any]:
    content = {"type": "text", "text": text}
    return {"sessionUpdate": "compaction_summary_chunk", "compactionId": "c", "content": content}


async def test_a_compaction_is_told_when_it_begins_and_ends_and_its_summary_is_a_thought(talks: Talks):
    whole = [{"type": "text", "text": "We have renamed a."}]
    done = compaction("completed", summary=whole)
    script = does(*updates(compaction("in_progress"), piece("We have "), piece("renamed"), done, done), 'say("Go on?")')
    async with talks(script) as talk:
        turn = await talk.done(await talk.ask("/compact"))
        assert notices(turn) == ["The conversation is being compacted…", "The conversation was compacted."]
        assert (said(turn, "thought"), said(turn)) == ("We have renamed a.", "Go on?")


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        (compaction("failed", error="Too\nlong\x1b[2J"), ["The conversation could not be compacted: Too long [2J"]),
        (compaction("failed", error=[1]), ["The conversation could not be compacted."]),
        (compaction("failed", error="x" * 100_000), [f"The conversation could not be compacted: {'x' * 1999}…"]),
        (compaction("cancelled"), ["The conversation was not compacted: that was cancelled."]),
        (compaction("_paused", summary={"a": 1}), []),
        (compaction(summary=[None, 3, "x"]), []),
        ({**compaction("completed"), "compactionId": {}}, ["Unsupported: a compaction that can't be read."]),
        ({**piece(""), "content": [1]}, []),
    ],
    ids=["error", "no error", "long error", "cancelled", "unknown", "parts", "no id", "no piece"],
)
async def test_a_compaction_in_an_odd_form_takes_nothing_else_with_it(
    talks: Talks, told: dict[str, Any], shown: list[str]
):
    async with talks(does(*updates(told), 'say("Well?")')) as talk:
        turn = await talk.done(await talk.ask("Go"))
        assert (notices(turn), said(turn), said(turn, "thought")) == (shown, "Well?", "")


async def test_a_summary_has_as_many_characters_as_it_has(talks: Talks):
    long = compaction("completed", summary=[{"type": "text", "text": "x" * 100_000}, {"type": "image"}])
    async with talks(does(*updates(long), 'say("Well?")')) as talk:
        turn = await talk.done(await talk.ask("Go"))
        assert said(turn, "thought") == "x" * 100_000 + "\nUnsupported: image."


@pytest.mark.parametrize(
    ("name", "shown"),
    [("edit_file", "edit_file"), (None, "own"), (["x"], "own"), ("x" * 100_000, "x" * 2000)],
    ids=["a name", "none", "a list", "long"],
)
async def test_the_name_of_a_tool_is_the_protocols_or_the_agents_own(talks: Talks, name: object, shown: str):
    own = {"toolName": "own"}
    call = {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "Edit", "name": name, "_meta": own}
    news = {"sessionUpdate": "tool_call_update", "toolCallId": "t", "name": None, "status": "completed"}
    async with talks(does(*updates(call, news))) as talk:
        turn = await talk.done(await talk.ask("Go"))
        assert [(tool.name, tool.title, tool.status) for tool in tools(turn)] == [(shown, "Edit", "completed")]


async def test_a_step_or_a_command_that_can_not_be_read_takes_no_other_with_it(talks: Talks):
    steps = [None, {"content": 3, "status": "pending"}, {"content": "One", "priority": "low", "status": "pending"}]
    commands = ["x", {"name": []}, {"name": "test", "description": None}]
    script = does(
        *updates(
            {"sessionUpdate": "plan", "entries": steps},
            {"sessionUpdate": "available_commands_update", "availableCommands": commands},
            {"sessionUpdate": "usage_update", "size": 10, "used": 3, "cost": {"amount": "much", "currency": 7}},
        ),
    )
    async with talks(script) as talk:
        turn = await talk.done(await talk.ask("Go"))
        status = talk.conversation.status
        assert (status.plan, [each.name for each in status.commands]) == ((Step("One", "pending"),), ["test"])
        assert status.window == ContextWindow(10, 3)
        assert notices(turn) == []
