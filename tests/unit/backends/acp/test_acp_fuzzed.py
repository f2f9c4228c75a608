"""Whatever an agent prints, however it is cut: nothing is raised, and what follows is read."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import AsyncMock

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from companion.agents import AgentCommand
from companion.backends.acp import decoder, schema
from companion.backends.acp.errors import EndedError
from companion.backends.acp.process import Lines, TooLong
from companion.backends.agent import SessionPage
from companion.backends.wire import read
from companion.chats.transcript.transcript import Transcript
from companion.conversation.conversation import Conversation
from companion.conversation.events import Envelope, TurnCompleted
from companion.conversation.snapshot import Locality
from tests.agent_talk import client_of, said, scripted, talking

HUGE = st.sampled_from([2**53, 10**400, -(10**400)])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | HUGE | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
KINDS = st.sampled_from([
    "user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan",
    "plan_update", "plan_removed", "available_commands_update", "current_mode_update", "config_option_update",
    "session_info_update", "usage_update", "notice", "compaction_update", "compaction_summary_chunk",
    "something_newer", "_own",
])  # fmt: skip
CONTENT = st.one_of(
    JSON,
    st.fixed_dictionaries({"type": st.sampled_from(["text", "image", "resource", "resource_link", "x"]), "text": JSON}),
    st.lists(st.fixed_dictionaries({"type": st.sampled_from(["content", "diff", "terminal"]), "terminalId": JSON})),
)
FIELDS = {
    "content": CONTENT,
    "toolCallId": st.sampled_from(["a", "b"]) | JSON,
    "compactionId": JSON,
    "title": JSON,
    "name": JSON,
    "severity": JSON,
    "description": JSON,
    "summary": JSON,
    "error": JSON,
    "status": JSON,
    "kind": JSON,
    "entries": JSON,
    "plan": JSON,
    "configOptions": JSON,
    "availableCommands": JSON,
    "currentModeId": JSON,
    "size": JSON,
    "used": JSON,
    "locations": JSON,
    "rawInput": JSON,
    "_meta": JSON
    | st.fixed_dictionaries({"usage": st.fixed_dictionaries({"inputTokens": JSON, "outputTokens": JSON})}),
}


@st.composite
def update(draw: st.DrawFn) -> dict[str, Any]:
    """An update. Hypothesis tells of a strategy by all that it is made of, but of this one by its name."""
    return {"sessionUpdate": draw(KINDS | JSON), **draw(st.fixed_dictionaries({}, optional=FIELDS))}


UPDATES = update()
OPTIONS = st.lists(st.fixed_dictionaries({"optionId": JSON, "name": JSON, "kind": st.just("allow_once") | JSON}))
SCHEMAS = st.fixed_dictionaries(
    {
        "type": st.just("object"),
        "properties": st.dictionaries(
            st.text(max_size=3),
            JSON | st.dictionaries(st.sampled_from(["type", "enum", "oneOf", "default", "items", "minLength"]), JSON),
            max_size=3,
        ),
    }
)
METHODS = st.sampled_from([
    "session/update", "session/request_permission", "fs/read_text_file", "fs/write_text_file", "terminal/output",
    "terminal/kill", "terminal/release", "terminal/wait_for_exit", "craft/drainMidTurnQueue", "x",
    "elicitation/create", "elicitation/complete",
])  # fmt: skip
PARAMS = st.one_of(
    JSON,
    st.fixed_dictionaries({"sessionId": st.just("s"), "update": UPDATES}),
    st.fixed_dictionaries({"sessionId": st.just("s"), "toolCall": UPDATES, "options": JSON | OPTIONS}),
    st.fixed_dictionaries(
        {
            "sessionId": st.just("s"),
            "mode": st.sampled_from(["form", "url"]) | JSON,
            "message": JSON,
            "requestedSchema": JSON | SCHEMAS,
            "toolCallId": JSON,
            "url": JSON,
            "elicitationId": JSON,
        }
    ),
    st.fixed_dictionaries({"path": st.sampled_from(["/none/of/these", "a", "\0", ""]), "content": JSON, "line": JSON}),
)
MESSAGES = st.one_of(
    JSON,
    st.builds(lambda method, params: {"jsonrpc": "2.0", "method": method, "params": params}, METHODS, PARAMS),
    st.builds(lambda number, method, params: {"id": number, "method": method, "params": params}, JSON, METHODS, PARAMS),
    st.builds(lambda number, result: {"id": number, "result": result}, st.integers(0, 3) | JSON, JSON),
    st.builds(lambda number, error: {"id": number, "error": error}, st.integers(0, 3) | JSON, JSON),
)
PRINTED = st.one_of(st.binary(max_size=30), MESSAGES.map(lambda message: json.dumps(message).encode()))


#: An answer to a call that waits is one, whatever it holds.
NO_ANSWERS = PRINTED.filter(lambda line: b'"result"' not in line and b'"error"' not in line)
LINES = st.lists(st.binary(max_size=20).filter(lambda line: b"\n" not in line and line.strip()), max_size=10)


@settings(max_examples=3 * settings().max_examples)
@given(LINES, st.integers(1, 25), st.data())
def test_lines_are_the_same_however_they_are_cut(lines: list[bytes], limit: int, data: st.DataObject):
    whole = b"".join(line + b"\n" for line in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    found = Lines(limit)
    read = [line for start, end in zip([0, *cuts], [*cuts, None], strict=True) for line in found.feed(whole[start:end])]
    assert [type(line) for line in read] == [TooLong if len(line) > limit else bytes for line in lines]
    assert [line for line in read if type(line) is bytes] == [line for line in lines if len(line) <= limit]
    assert found.rest == b""


@settings(max_examples=3 * settings().max_examples)
@given(st.lists(PRINTED, max_size=12))
def test_no_message_raises_or_stops_the_reading(printed: list[bytes]):
    async def test():
        client = client_of(AgentCommand("Fuzzed", ("fuzzed",)), {})
        client.session = "s"
        conversation = Conversation()
        sent: list[bytes] = []
        client.process = cast("Any", SimpleNamespace(write=sent.append, stop=AsyncMock()))
        junk: list[str] = []
        cast("Any", client).unreadable = junk.append
        calls = [asyncio.create_task(client.peer.call("_x", {}, None)) for _ in range(2)]
        try:
            await asyncio.sleep(0)
            for line in printed:
                client.peer.receive(line)
                await asyncio.sleep(0)
        finally:
            client.peer.close(EndedError("Fuzzed", ""))
            await asyncio.gather(*calls, return_exceptions=True)
        client.notified(
            "session/update",
            {
                "sessionId": "s",
                "update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "The end."}},
            },
        )
        while client.stream._waiting:
            assert conversation.apply(client.stream._waiting.popleft())
        assert any("The end." in str(turn) for turn in conversation.turns)
        assert all(json.loads(line)["jsonrpc"] == "2.0" for line in sent)
        assert "a message that could not be taken in" not in junk
        assert not [line for line in sent if b"the editor could not do it" in line]
        await client.close()

    asyncio.run(test())


def reader(settings: schema.SessionSettings, *, is_running: bool) -> decoder.UpdateDecoder:
    """The decoder of an agent all of whose terminals have printed something."""
    client: Any = client_of(AgentCommand("Fuzzed", ("fuzzed",)), {})
    client.session, client.settings = "s", settings
    client.services.tool_call_updated = lambda *_: None
    client.services.terminals.printed = lambda _: decoder.Printed("out", is_cut=True, is_running=is_running)
    return client.decoder


@settings(max_examples=3 * settings().max_examples)
@given(JSON | st.fixed_dictionaries({}, optional=FIELDS), UPDATES)
def test_every_answer_can_be_read(answer: Any, update: dict[str, Any]):
    for model in (schema.Initialized, schema.Opened, SessionPage):
        read(model, answer)
    opened = read(schema.Opened, answer) or schema.Opened()
    settings = schema.SessionSettings.of(opened)
    settings.choices  # noqa: B018 - it must not raise
    list(reader(settings, is_running=False).decode({"sessionId": "s", "update": update}) or ())


@settings(max_examples=3 * settings().max_examples)
@given(st.lists(UPDATES, max_size=5), st.text(max_size=5))
def test_whatever_is_told_can_be_shown(told: list[dict[str, Any]], reason: str):
    """Huge numbers, lone surrogates, unknown kinds. What follows is shown as well."""
    conversation, transcript = Conversation(), Transcript()
    here = Locality("this computer", "/folder")
    last = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "The end."}}
    reads = reader(schema.SessionSettings(), is_running=True)
    every = [{"sessionId": "s", "update": update} for update in [*told, last]]
    for event in (event for params in every for event in reads.decode(params) or ()):
        conversation.apply(Envelope(event, None, "prompt", "client"))
        transcript.update(conversation.snapshot(), here)
    conversation.apply(Envelope(TurnCompleted(stop_reason=reason), None, "prompt", "client"))
    render = transcript.update(conversation.snapshot(), here)
    transcript.text.encode()
    assert "The end." in transcript.text
    for number in (render.status.window.size, render.status.window.used) if render.status.window else ():
        assert 0 <= number < 2**53


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(NO_ANSWERS, max_size=12), st.booleans(), st.sampled_from(["answers", "twice", "dies", "half"]))
def test_a_process_that_prints_anything_leaves_the_conversation_on_the_screen(
    tmp_path: Path, printed: list[bytes], in_turn: bool, how: str
):
    """Junk, half a line, two answers, an end in mid-turn. What was said stays, and the next agent works."""
    script = f"""
JUNK, IN_TURN, HOW = {printed!r}, {in_turn!r}, {how!r}
def session_prompt(params):
    say("Begun.")
    for line in JUNK if IN_TURN else ():
        raw(line + b"\\n")
    number = [each["id"] for each in seen if each.get("method") == "session/prompt"][-1]
    if HOW == "twice":
        send(id=number, result={{"stopReason": "end_turn"}})
    if HOW == "half":
        raw(b'{{"jsonrpc": "2.0", "method": "session/up')
    if HOW in ("half", "dies"):
        os._exit(3)
    return {{"stopReason": "end_turn"}}
def session_new(params):
    for line in () if IN_TURN else JUNK:
        raw(line + b"\\n")
    return {{"sessionId": "s"}}
"""

    async def test():
        async with talking(scripted(script, tmp_path), str(tmp_path)) as talk:
            key = await talk.ask("x")
            turn = await talk.done(key)
            assert said(turn, "user") == "x"
            assert "Begun." in said(turn)
            if how in {"dies", "half"}:
                assert isinstance(await talk.ended(), EndedError)
            else:
                assert talk.error is None
        assert not (tmp_path / "a").exists()

    asyncio.run(test())
