"""Sub-agents, each of which an agent tells of in a session of its own."""

from __future__ import annotations

from typing import Any

import pytest

from companion.backends.acp.decoder import MAX_SUBAGENTS
from companion.conversation.snapshot import Message, Tool, Turn
from tests.agent_talk import Talks, notices, said, tools

OPTIONS = [{"optionId": "y", "name": "Yes", "kind": "allow_once"}]


def child(session: object = "c", **more: Any) -> dict[str, Any]:
    return {"sessionUpdate": "subagent_update", "sessionId": session, **more}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def says(words: str, kind: str = "agent_message_chunk") -> dict[str, Any]:
    return {"sessionUpdate": kind, "content": text(words)}


def message(sender: str, recipient: str, words: str) -> dict[str, Any]:
    between = {"senderSessionId": sender, "recipientSessionId": recipient}
    return {"sessionUpdate": "session_message", "messageId": "m", **between, "content": [text(words)]}


def does(*told: tuple[object, object], then: str = "") -> str:
    """An agent whose turn tells of its sessions."""
    lines = [
        f"send(method='session/update', params={ {'sessionId': session, 'update': update}!r})"
        for session, update in told
    ]
    return "\n    ".join(["def session_prompt(params):", *lines, then or "pass", "return {'stopReason': 'end_turn'}"])


def of(turn: Turn, parent: str | None) -> list[str]:
    """What is said by a sub-agent, or by the agent itself."""
    return [item.text for item in turn.items if isinstance(item, Message) and item.parent == parent]


def tool(turn: Turn, identifier: str) -> Tool:
    return next(each for each in tools(turn) if each.id == identifier)


async def test_a_sub_agent_is_a_tool_call_and_what_it_says_and_does_belongs_to_that(talks: Talks):
    call = {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "Read", "kind": "read", "status": "completed"}
    script = does(
        ("s", child(title="Look for uses", description="It reads.", state={"state": "running"})),
        ("s", message("s", "c", "Find all uses of a.")),
        ("c", message("s", "c", "Find all uses of a.")),
        ("s", {**call, "title": "Read of the agent"}),
        ("c", says("Hm.", "agent_thought_chunk")),
        ("c", call),
        ("c", says("There is one.")),
        ("s", says("Let me see.")),
        ("s", message("c", "s", "One use, in b.py.")),
        ("s", child(state={"state": "idle"})),
    )
    async with talks(script) as talk:
        turn = await talk.done(await talk.ask("Go"))
        whole = tool(turn, "subagent c")
        assert (whole.title, whole.name, whole.status) == ("Look for uses", "subagent", "completed")
        assert (whole.input, whole.text, whole.parent) == ({"prompt": "Find all uses of a."}, "One use, in b.py.", None)
        assert of(turn, "subagent c") == ["Hm.", "There is one."]
        assert of(turn, None)[1:] == ["Let me see."]
        own, inner = tool(turn, "t"), tool(turn, "subagent c t")
        assert (own.title, own.parent, inner.title, inner.parent) == ("Read of the agent", None, "Read", "subagent c")
        assert notices(turn) == []


@pytest.mark.parametrize(
    ("state", "status"),
    [
        ({"state": "requires_action"}, "in_progress"),
        ({"state": "idle"}, "completed"),
        ({"state": "idle", "stopReason": "end_turn"}, "completed"),
        ({"state": "idle", "stopReason": ["x"]}, "completed"),
        ({"state": "idle", "stopReason": "cancelled"}, "failed"),
        ({"state": "_newer"}, "in_progress"),
        ({"state": ["idle"]}, "in_progress"),
        ("idle", "in_progress"),
        (None, "in_progress"),
    ],
)
async def test_a_sub_agent_has_the_state_that_was_told_last(talks: Talks, state: object, status: str):
    async with talks(does(("s", child(state={"state": "running"})), ("s", child(state=state)))) as talk:
        turn = await talk.done(await talk.ask("Go"))
        assert tool(turn, "subagent c").status == status


async def test_a_sub_agent_of_a_sub_agent_belongs_to_that(talks: Talks):
    script = does(("s", child()), ("c", child("d", title="Deeper")), ("d", says("Deep.")))
    async with talks(script) as talk:
        turn = await talk.done(await talk.ask("Go"))
        assert (tool(turn, "subagent d").parent, of(turn, "subagent d")) == ("subagent c", ["Deep."])


async def test_what_a_sub_agent_asks_is_asked_of_the_person_also_after_a_reload(talks: Talks):
    params = {"sessionId": "c", "toolCall": {"toolCallId": "t", "title": "Write"}, "options": OPTIONS}
    asks = f"say(answers[request('session/request_permission', {params!r})].get()['outcome']['outcome'])"
    script = does(("s", child(title="A helper")), ("c", says("I write.")), then=asks)
    async with talks(script) as talk:
        key = await talk.ask("Go")
        assert (await talk.asked()).tool == "subagent c t"
        await talk.reload()
        permission = await talk.asked()
        await talk.vote(permission, "allow_once")
        turn = await talk.done(key)
        assert said(turn).endswith("selected")
        assert tool(turn, "subagent c t").parent == "subagent c"


@pytest.mark.parametrize(
    "told",
    [
        [("s", child(None))],
        [("s", child(["c"]))],
        [("s", child(""))],
        [("s", child("x" * 100_000))],
        [("s", child("s", title="Myself"))],
        [("other", child("c")), ("c", says("Mine?"))],
        [([], child("c")), ("c", says("Mine?"))],
        [("c", says("Mine?"))],
        [("s", message("s", "c", "x")), ("s", message("c", "s", "x"))],
        [("s", {"sessionUpdate": "session_message", "content": "x"})],
        [("s", {"sessionUpdate": "session_message_chunk", "messageId": 3})],
    ],
    ids=[
        "none",
        "a list",
        "empty",
        "long",
        "itself",
        "a stranger's",
        "of nobody",
        "unknown",
        "to unknown",
        "odd",
        "piece",
    ],
)
async def test_whoever_is_not_announced_by_the_session_says_nothing(talks: Talks, told: list[tuple[object, object]]):
    async with talks(does(*told, ("s", says("Well?")))) as talk:
        turn = await talk.done(await talk.ask("Go"))
        assert (said(turn), tools(turn), notices(turn)) == ("Well?", [], [])


async def test_a_sub_agent_changes_nothing_of_the_session_itself(talks: Talks):
    todos = [{"content": "Mine", "status": "pending"}]
    script = does(
        ("s", child(title="\x1b[2J\u202e" + "x" * 100_000, description=[3], state="running", capabilities=7)),
        ("c", {"sessionUpdate": "session_info_update", "title": "Mine"}),
        ("c", {"sessionUpdate": "plan", "entries": todos}),
        ("c", {"sessionUpdate": "usage_update", "size": 5, "used": 5}),
        ("c", {"sessionUpdate": "current_mode_update", "currentModeId": "yolo"}),
        ("c", {"sessionUpdate": "available_commands_update", "availableCommands": [{"name": "mine"}]}),
        ("c", {"sessionUpdate": "compaction_update", "compactionId": "x", "status": "completed"}),
        ("c", says("I am the person.", "user_message_chunk")),
        ("c", {"sessionUpdate": "something_newer"}),
        ("c", {"sessionUpdate": "tool_call", "toolCallId": ["t"], "title": 3}),
        ("c", {"sessionUpdate": "tool_call", "toolCallId": "p", "status": "completed", "rawInput": {"todos": todos}}),
        ("s", child(title=None, state={"state": ["idle"]})),
        ("c", child("c", title="Myself")),
        ("c", child("s", title="My parent")),
        ("c", "no object"),
        ("s", says("Well?")),
    )
    async with talks(script) as talk:
        turn = await talk.done(await talk.ask("Go"))
        status = talk.conversation.status
        assert (status.title, status.plan, status.window, status.mode, status.commands) == ("", (), None, "", ())
        assert (said(turn), said(turn, "user")) == ("Well?", "Go")
        assert [each.parent for each in tools(turn)] == [None, "subagent c"]
        assert notices(turn) == ["Unsupported: a tool call."]


async def test_an_agent_has_a_limit_of_sub_agents(talks: Talks):
    crowd = [("s", child(f"c{number}")) for number in range(MAX_SUBAGENTS + 5)]
    async with talks(does(*crowd, (f"c{MAX_SUBAGENTS}", says("One more.")), ("s", says("Well?")))) as talk:
        turn = await talk.done(await talk.ask("Go"))
        assert len(tools(turn)) == MAX_SUBAGENTS
        assert said(turn) == "Well?"
