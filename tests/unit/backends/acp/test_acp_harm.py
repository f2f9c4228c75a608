"""No agent can harm anything else, whatever it prints or leaves undone."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock

import pytest

from companion import json_text
from companion.backends.acp.errors import (
    AgentError,
    UnnamedError,
)
from companion.backends.acp.peer import Peer
from companion.backends.acp.process import TooLong
from companion.backends.acp.prompts import MAX_WAITING, Events
from companion.backends.agent import AgentSession
from companion.backends.wire import MOST_ITEMS, MOST_PARTS, bounded
from companion.conversation.events import TurnCompleted
from companion.conversation.failures import AlreadyAnsweredError
from tests.agent_talk import Talks, notices, said, until


async def test_junk_is_told_once_and_what_follows_is_read(talks: Talks):
    script = r"""
def session_prompt(params):
    for junk in (b"Hello!\n", b"[1, 2]\n", b"\xff\xfe\n", b"{}\n", b"null\n", b"[" * 100000 + b"\n", b"\n"):
        raw(junk)
    send(id=999, result={})
    send(method="session/update", params=[1])
    send(method="session/update", params={"sessionId": "other", "update": {"sessionUpdate": "plan"}})
    send(method="nobody/knows", params={})
    update(sessionUpdate="from_the_future", x=1)
    update(sessionUpdate="_vendor", x=1)
    update(sessionUpdate="tool_call", title=5)
    update(sessionUpdate="plan_update", plan={"type": "markdown", "content": 3})
    say("Still here.")
    return {"stopReason": "end_turn"}
"""
    async with talks(script) as talk:
        turn = await talk.done(await talk.ask("x"))
        assert said(turn) == "Still here."
        told = " ".join(notices(turn))
        assert told.count("not of the protocol") == 1
        for what in ("not an object", "no known form", "not asked", "from_the_future", "tool call", "plan"):
            assert what in told
        assert "_vendor" not in told


async def test_an_answer_that_comes_twice_harms_nothing(talks: Talks):
    script = """
def session_prompt(params):
    number = [each["id"] for each in seen if each.get("method") == "session/prompt"][-1]
    for reason in ("end_turn", "refusal"):
        send(id=number, result={"stopReason": reason})
    return "silence"
"""
    async with talks(script) as talk:
        turn = await talk.done(await talk.ask("x"))
        assert turn.stop_reason == "end_turn"
        assert (await talk.done(await talk.ask("y"))).stop_reason == "end_turn"
        await until(lambda: any("not asked" in each for turn in talk.conversation.turns for each in notices(turn)))


async def test_a_line_that_is_too_long_is_left_out_and_told(talks: Talks):
    script = """
def session_prompt(params):
    number = [each["id"] for each in seen if each.get("method") == "session/prompt"][-1]
    if params["prompt"][0]["text"] == "answer":
        raw(b'{"jsonrpc": "2.0", "id": %d, "result": "' % number)
        for _ in range(100):
            raw(b"x" * 1024 * 1024)
        raw(b'"}\\n')
        return "silence"
    raw(b'{"jsonrpc": "2.0", "id": 77, "method": "fs/write_text_file", "params": "')
    for _ in range(100):
        raw(b"x" * 1024 * 1024)
    answers[77] = queue.Queue()
    raw(b'"}\\n')
    say(json.dumps(answers[77].get()))
    return {"stopReason": "end_turn"}
"""
    async with talks(script) as talk:
        turn = await talk.done(await talk.ask("request"))
        assert "too long" in said(turn)
        assert "too long" in notices(turn)[0]
        turn = await talk.done(await talk.ask("answer"))
        assert turn.state == "failed"
        assert "too long" in turn.error


async def test_a_flood_waits_in_the_pipe_and_the_loop_goes_on(talks: Talks):
    script = """
def session_prompt(params):
    for number in range(20000):
        say("x" * 100)
    return {"stopReason": "end_turn"}
"""
    async with talks(script) as talk:
        most = 0
        key = await talk.ask("x")
        while (turn := talk.turn(key)) is None or turn.state == "running":
            most = max(most, len(talk.client.stream._waiting))
            await asyncio.sleep(0)
        assert len(said(turn)) == 20000 * 100
        assert most <= 600


async def test_too_many_requests_at_once_are_refused(talks: Talks):
    script = """
def session_prompt(params):
    options = [{"optionId": "y", "name": "Y", "kind": "allow_once"}]
    call = {"sessionId": "s", "toolCall": {"toolCallId": "t"}, "options": options}
    numbers = [request("session/request_permission", call) for _ in range(100)]
    refused = sum("code" in answers[number].get() for number in numbers[64:])
    say(str(refused))
    return {"stopReason": "end_turn"}
"""
    async with talks(script) as talk:
        assert said(await talk.done(await talk.ask("x"))) == "36"


async def test_a_question_about_another_session_is_cancelled_and_told(talks: Talks):
    script = """
def session_prompt(params):
    options = [{"optionId": "y", "name": "Y", "kind": "allow_once"}]
    call = {"sessionId": "other", "toolCall": {"toolCallId": "t", "title": "T"}, "options": options}
    say(json.dumps(answers[request("session/request_permission", call)].get()))
    ask("session/request_permission", toolCall=call["toolCall"], options=options)
    return {"stopReason": "end_turn"}
"""
    async with talks(script) as talk:
        key = await talk.ask("x")
        permission = await talk.asked()
        assert len(talk.conversation.status.permissions) == 1
        await talk.vote(permission, "allow_once")
        turn = await talk.done(key)
        assert json.loads(said(turn)) == {"outcome": {"outcome": "cancelled"}}
        assert notices(turn) == ["Unsupported: a question about another session, which was cancelled."]


@pytest.mark.parametrize("version", [2, 0, [], {"a": 1}, True, "2025-06-18", 2**70, "x" * 1000], ids=repr)
async def test_any_other_version_is_told_in_a_sentence(talks: Talks, version: object):
    script = f'def initialize(params): return {{"protocolVersion": {version!r}}}'
    with pytest.raises(AgentError, match="only version 1 is known") as error:
        async with talks(script):
            pass
    assert len(str(error.value)) < 200


@pytest.mark.parametrize("version", [1, 1.0, "1", None], ids=repr)
async def test_the_version_may_be_spelled_otherwise_or_missing(talks: Talks, version: object):
    script = f'def initialize(params): return {{"protocolVersion": {version!r}}}'
    async with talks(script) as talk:
        assert (await talk.done(await talk.ask("x"))).state == "done"


async def test_messages_in_unusual_forms_are_read_and_each_request_has_its_own_id(talks: Talks):
    """A byte order mark, Windows line endings, ids of any kind, NaN, a number with a point, a lone surrogate."""
    script = r"""
def session_prompt(params):
    number = [each["id"] for each in seen if each.get("method") == "session/prompt"][-1]
    raw(b"\xef\xbb\xbf" + json.dumps({"method": "session/update", "params": {"sessionId": "s", "update": {
        "sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Marked. "}}}}).encode() + b"\r\n")
    ids = (None, "a", 1.5, "\ud800", [1], True, 2**70)
    for each in ids:
        send(id=each, method="fs/read_text_file", params={"path": "/\ud800"})
    raw(b'{"id": NaN, "method": "fs/read_text_file"}\n')
    while len(got := [each["id"] for each in seen if "method" not in each]) < len(ids) + 1:
        time.sleep(0.01)
    missing = [each for each in (*ids, None) if each not in got]
    say(f"{missing} {sum(each is None for each in got)}")
    raw(b'{"id": %d.0, "result": {"stopReason": "newer"}}\n' % number)
    return "silence"
"""
    async with talks(script) as talk:
        turn = await talk.done(await talk.ask("x"))
        assert said(turn) == "Marked. [] 2"
        assert (turn.state, turn.stop_reason, notices(turn)) == ("done", "newer", [])


async def test_a_batch_is_told(talks: Talks):
    script = r"""
def session_prompt(params):
    raw(b'[{"jsonrpc": "2.0", "id": 1, "method": "fs/read_text_file", "params": {}}]\n')
    return {"stopReason": "end_turn"}
"""
    async with talks(script) as talk:
        turn = await talk.done(await talk.ask("x"))
        assert notices(turn) == ["Unsupported: a message that is not an object, from Scripted Agent."]


async def test_a_question_that_offers_no_answer_is_cancelled_and_told(talks: Talks):
    script = """
def session_prompt(params):
    say(json.dumps(ask("session/request_permission", toolCall={"toolCallId": "t"}, options=[])))
    return {"stopReason": "end_turn"}
"""
    async with talks(script) as talk:
        turn = await talk.done(await talk.ask("x"))
        assert json.loads(said(turn)) == {"outcome": {"outcome": "cancelled"}}
        assert notices(turn) == ["Unsupported: a question that offers no answer, which was cancelled."]


async def test_an_agent_that_goes_on_after_a_cancel_asks_writes_and_runs_nothing_more(talks: Talks, project: Path):
    """What the person has cancelled is over for them."""
    script = """
def session_prompt(params):
    if "again" in params["prompt"][-1]["text"]:
        say(json.dumps(ask("fs/write_text_file", path=os.getcwd() + "/a", content="x")))
        return {"stopReason": "end_turn"}
    say("Begun. ")
    while not any(each.get("method") == "session/cancel" for each in seen): time.sleep(0.01)
    options = [{"optionId": "y", "name": "Y", "kind": "allow_once"}]
    answers = [ask("session/request_permission", toolCall={"toolCallId": "t"}, options=options)]
    answers += [ask("fs/write_text_file", path=os.getcwd() + "/a", content="x")]
    answers += [ask("terminal/create", command=sys.executable, args=["-c", "open('a', 'w').close()"])]
    answers += [ask("fs/read_text_file", path=os.getcwd() + "/b")]
    say(json.dumps(answers))
    return {"stopReason": "cancelled"}
"""
    (project / "b").write_text("b")
    async with talks(script) as talk:
        key = await talk.ask("x")
        await until(lambda: (turn := talk.turn(key)) and said(turn))
        await talk.client.cancel(talk.session)
        turn = await talk.done(key)
        question, written, made, read = json.loads(said(turn).removeprefix("Begun. "))
        assert question == {"outcome": {"outcome": "cancelled"}}
        assert "cancelled" in written["message"]
        assert "cancelled" in made["message"]
        assert read == {"content": "b"}
        assert (turn.state, talk.conversation.status.permissions) == ("cancelled", ())
        assert not (project / "a").exists()
        # The next turn is another matter.
        assert json.loads(said(await talk.done(await talk.ask("again")))) == {}


async def test_nothing_more_is_read_while_too_much_waits_to_be_shown():
    stream = Events()
    stream.publish(TurnCompleted())
    reading = stream.envelopes
    await anext(reading)
    for _ in range(MAX_WAITING):
        assert stream._room.is_set()
        stream.publish(TurnCompleted())
    room = asyncio.create_task(stream.room())
    await asyncio.sleep(0)
    assert not room.done()
    await anext(reading)
    await room


async def test_what_comes_too_late_for_the_first_turn_after_a_history_is_shown_in_that_turn(talks: Talks):
    script = """
def session_load(params):
    say("before", "user_message_chunk"); say("as before")
    return {}
def session_prompt(params):
    send(id=[each for each in seen if each.get("method") == "session/prompt"][-1]["id"], result={})
    time.sleep(0.1)
    say("too late")
    return "silence"
"""
    async with talks(script, session="s") as talk:
        turn = await talk.done(await talk.ask("now"))
        await until(lambda: [said(each) for each in talk.conversation.turns][-1] == "too late")
        assert turn.asked == "now"
        assert [said(each) for each in talk.conversation.turns] == ["as before", "too late"]
        assert talk.conversation.status.running is None


async def test_what_follows_a_loaded_history_keeps_no_answer_from_being_read_before_anybody_shows_it(talks: Talks):
    script = f"""
told = threading.Event()
def session_load(params):
    send(id=next(each for each in seen if each.get("method") == "session/load")["id"], result={{}})
    for number in range({2 * MAX_WAITING}):
        say("said", "agent_message_chunk" if number % 2 else "user_message_chunk")
    told.set()
    return "silence"
def session_set_mode(params):
    told.wait()
    return {{}}
"""
    async with talks(script, session=None) as talk:
        session, _ = await talk.client.load(AgentSession(id="s", folder=talk.folder))
        async with asyncio.timeout(5):
            await talk.client.switch(session, "mode", "plan")


async def test_a_question_that_its_turn_has_outlived_is_cancelled(talks: Talks):
    script = """
def session_prompt(params):
    global number
    if "again" in params["prompt"][-1]["text"]:
        say(json.dumps(answers[number].get()))
    else:
        options = [{"optionId": "y", "name": "Y", "kind": "allow_once"}]
        call = {"sessionId": "s", "toolCall": {"toolCallId": "t"}, "options": options}
        number = request("session/request_permission", call)
    return {"stopReason": "end_turn"}
"""
    async with talks(script) as talk:
        await talk.done(await talk.ask("x"))
        assert talk.conversation.status.permissions == ()
        answer = said(await talk.done(await talk.ask("again")))
        assert json.loads(answer) == {"outcome": {"outcome": "cancelled"}}


async def test_a_second_answer_at_the_same_moment_is_refused(talks: Talks):
    script = """
def session_prompt(params):
    options = [{"optionId": "y", "name": "Y", "kind": "allow_once"}]
    options += [{"optionId": "n", "name": "N", "kind": "reject_once"}]
    say(ask("session/request_permission", toolCall={"toolCallId": "t"}, options=options)["outcome"]["optionId"])
    return {"stopReason": "end_turn"}
"""
    async with talks(script) as talk:
        key = await talk.ask("x")
        permission = await talk.asked()
        await talk.vote(permission, "allow_once")
        with pytest.raises(AlreadyAnsweredError):
            await talk.vote(permission, "reject_once")
        assert said(await talk.done(key)) == "y"


async def test_the_echo_of_a_prompt_and_news_of_another_session_are_left_out(talks: Talks):
    script = """
def session_prompt(params):
    say(params["prompt"][-1]["text"], "user_message_chunk")
    content = {"type": "text", "text": "Another."}
    news = {"sessionUpdate": "agent_message_chunk", "content": content}
    send(method="session/update", params={"sessionId": "other", "update": news})
    say("Ours.")
    return {"stopReason": "end_turn"}
"""
    async with talks(script) as talk:
        turn = await talk.done(await talk.ask("Hello"))
        assert (said(turn, "user"), said(turn)) == ("Hello", "Ours.")


@pytest.mark.parametrize(
    ("head", "refused"),
    [
        ('{"id": 7, "method": "x", "params": {"id": 1', [7]),
        ('{"method": "x", "params": {"id": 1, "text": "', []),
        ('{"method": "x", "params": [{"a": "{\\"id\\": 1, "}, {"id": 1}], "id": "a-7", "b": {', ["a-7"]),
        ('{"method": "x", "params": "an \\"id\\": 1, "', []),
        ('{"params": {"method": "x"}, "id": 7, "result": {"a": "method"', []),
        ('{"method": "x", "id": 123', []),
        ('{"method": "x", "id": 012, "id": "\x01", "id": "ä", "id": "\\n", "id": -1, ', []),
    ],
)
async def test_a_message_that_is_too_long_is_refused_by_its_own_id(head: str, refused: list[object]):
    sent: list[bytes] = []
    peer = peer_of(sent)
    peer.receive(TooLong(head.encode()))
    assert [json.loads(line)["id"] for line in sent] == refused


@pytest.mark.parametrize(("number", "junk"), [('"1"', []), ("1.0", []), ('"one"', ["an answer to what was not asked"])])
async def test_an_answer_may_have_its_number_as_a_text(number: str, junk: list[str]):
    got: list[str] = []
    peer = peer_of(junk=got)
    asked = asyncio.create_task(peer.call("initialize", {"protocolVersion": 1}, None))
    await asyncio.sleep(0)
    peer.receive(f'{{"id": {number}, "result": {{"protocolVersion": 1}}}}'.encode())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert (asked.done(), got) == (not junk, junk)
    asked.cancel()


async def test_an_error_that_names_no_request_ends_the_turn_and_what_the_agent_still_does_in_it(talks: Talks):
    """An agent that could not read a request has no id for its answer."""
    script = """
def session_prompt(params):
    if params["prompt"][-1]["text"] != "fail":
        return {"stopReason": "end_turn"}
    number = [each["id"] for each in seen if each.get("method") == "session/prompt"][-1]
    send(id=None, error={"code": -32700, "message": "Parse error"})
    while not any(each.get("method") == "session/cancel" for each in seen): time.sleep(0.001)
    send(id=number, result={"stopReason": "cancelled"})
    return "silence"
"""
    async with talks(script) as talk:
        turn = await talk.done(await talk.ask("fail"))
        assert (turn.state, turn.error) == ("failed", "Scripted Agent refuses: Parse error.")
        assert (await talk.done(await talk.ask("go on"))).state == "done"
        assert notices(talk.conversation.turns[-1]) == []


@pytest.mark.parametrize("then", ["the other is answered", "the other is given up", "both wait"])
async def test_an_error_that_names_none_of_two_requests_is_for_the_one_that_gets_no_answer(then: str):
    got: list[str] = []
    peer = peer_of(junk=got)
    first, second = (asyncio.create_task(peer.call("initialize", {"protocolVersion": 1}, None)) for _ in range(2))
    await asyncio.sleep(0)
    peer.receive(b'{"id": null, "error": {"code": -32700, "message": "Parse error"}}')
    await asyncio.sleep(0)
    later = asyncio.create_task(peer.call("session/list", {}, None))
    await asyncio.sleep(0)
    if then == "the other is answered":
        later.cancel()  # what was asked after the error is none of those that it may be for
        await asyncio.sleep(0.01)
        peer.receive(b'{"id": 1, "result": {}}')
        with pytest.raises(UnnamedError, match="Parse error"):
            await second
        peer.receive(b'{"id": 2, "result": {}}')
    elif then == "the other is given up":
        first.cancel()
        await asyncio.sleep(0.01)
    assert second.done() == (then == "the other is answered")
    assert later.done() == (then == "the other is answered")
    assert got == ["an error that doesn't say which request it is for"]
    for each in (first, second, later):
        each.cancel()
    await asyncio.wait([first, second, later])


async def test_an_error_that_names_none_of_two_requests_is_for_the_one_whose_answer_is_not_too_long_to_be_read():
    peer = peer_of()
    first, second = (asyncio.create_task(peer.call("session/list", {}, None)) for _ in range(2))
    await asyncio.sleep(0)
    peer.receive(b'{"id": null, "error": {"code": -32700, "message": "Parse error"}}')
    peer.receive(TooLong(b'{"id": 1, "result": {"sessions": ['))
    with pytest.raises(AgentError, match="was not read: it is too long"):
        await first
    async with asyncio.timeout(1):
        with pytest.raises(UnnamedError, match="Parse error"):
            await second


async def test_a_turn_ends_whose_error_names_no_request_while_something_else_is_asked(talks: Talks):
    script = """
def session_prompt(params):
    while not any(each.get("method") == "session/set_mode" for each in seen): time.sleep(0.001)
    send(id=None, error={"code": -32700, "message": "Parse error"})
    return "silence"
def session_set_mode(params):
    time.sleep(0.05)
    return {}
"""
    async with talks(script) as talk:
        prompt = await talk.ask("fail")
        await talk.client.switch(talk.session, "mode", "plan")
        turn = await talk.done(prompt)
        assert (turn.state, turn.error) == ("failed", "Scripted Agent refuses: Parse error.")


@pytest.mark.parametrize("kind", ["request", "notification", "answer"])
async def test_a_message_of_millions_of_parts_is_refused_before_it_is_parsed(
    kind: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(json_text, "json", None)
    sent: list[bytes] = []
    junk: list[str] = []
    peer = peer_of(sent, junk)
    head = {"request": '"id": 7, "method": "x", ', "notification": '"method": "x", ', "answer": '"id": 1, '}[kind]
    asked = asyncio.create_task(peer.call("initialize", {"protocolVersion": 1}, None)) if kind == "answer" else None
    await asyncio.sleep(0)
    sent.clear()
    peer.receive(b"{" + head.encode() + b'"params": {"a": [' + b"[]," * 600_000 + b"[]]}}")
    assert junk == ["a message that has too many parts"]
    if asked:
        with pytest.raises(AgentError, match="was not read: it has too many parts"):
            await asked
    else:
        assert [json.loads(line)["id"] for line in sent] == ([7] if kind == "request" else [])


async def test_a_text_full_of_signs_is_no_message_of_many_parts():
    got: list[Any] = []
    peer = peer_of(junk=got, notified=got)
    text = '[{"a": "\\"},' * 100_000
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    peer.receive(json.dumps({"method": "session/update", "params": {"sessionId": "s", "update": update}}).encode())
    assert got[0]["update"]["content"]["text"] == text


FLOODS = {
    "plan": {"sessionUpdate": "plan", "entries": [{"content": "x", "status": "pending"}] * 100_000},
    "commands": {"sessionUpdate": "available_commands_update", "availableCommands": [{"name": "x"}] * 100_000},
    "places": {"sessionUpdate": "tool_call", "toolCallId": "t", "locations": [{"path": "/a"}] * 100_000},
    "argument": {"sessionUpdate": "tool_call", "toolCallId": "t", "rawInput": {str(n): n for n in range(100_000)}},
    "many lists": {"sessionUpdate": "tool_call", "toolCallId": "t", "rawInput": {"a": [[1] * 1000] * 300}},
}


@pytest.mark.parametrize("kind", FLOODS)
async def test_a_message_with_more_parts_than_can_be_shown_is_cut_and_told_once(kind: str):
    got: list[Any] = []
    junk: list[str] = []
    peer = peer_of(got, junk, notified=got)
    line = json.dumps({"method": "session/update", "params": {"sessionId": "s", "update": FLOODS[kind]}}).encode()
    peer.receive(line)
    assert junk == ["parts of a message that has more than can be shown"]
    assert parts_of(got[0]) < MOST_PARTS + 2000
    assert len(str(got[0])) > 1000


@pytest.mark.parametrize("method", ["session/request_permission", "elicitation/create", "terminal/create"])
async def test_a_request_with_more_parts_than_can_be_shown_is_refused_and_never_asked_in_part(method: str):
    sent: list[bytes] = []
    junk: list[str] = []
    peer = peer_of(sent, junk)
    peer.receive(json.dumps({"id": 1, "method": method, "params": {"args": ["x"] * 6000}}).encode())
    assert [json.loads(line)["error"]["message"] for line in sent] == ["it has too many parts"]
    assert junk == ["a request with more parts than can be shown, which was refused"]


def peer_of(
    sent: list[bytes] | None = None, junk: list[str] | None = None, *, notified: list[Any] | None = None
) -> Peer:
    """Our side of a connection, which puts what it does into lists."""
    sent, junk = [] if sent is None else sent, [] if junk is None else junk
    told = [] if notified is None else notified
    agent: Any = SimpleNamespace(
        name="Agent",
        process=SimpleNamespace(write=sent.append),
        services=SimpleNamespace(answer=AsyncMock(side_effect=AssertionError)),
        unreadable=junk.append,
        notified=lambda _, params: told.append(params),
    )
    return Peer(agent)


def parts_of(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(parts_of, inner))


async def test_a_message_of_usual_size_is_as_it_came():
    for value in ({"a": [1, {"b": "x" * 10**6}], "c": {}, "d": []}, [], {}, "x", {"e": list(range(MOST_ITEMS))}):
        assert bounded(value) == (value, False)
