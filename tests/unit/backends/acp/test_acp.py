"""An agent on its standard input and output: what a conversation shows of it."""

from __future__ import annotations

import pytest

from companion.conversation.failures import (
    MissingFeatureError,
    SessionGoneError,
    UnsendableError,
)
from tests.agent_talk import Talks, said, until


async def test_a_prompt_is_answered_and_the_turn_ends(talks: Talks):
    script = """
def session_prompt(params):
    say("Hm.", "agent_thought_chunk")
    update(sessionUpdate="plan", entries=[{"content": "Think", "status": "in_progress"}])
    update(sessionUpdate="usage_update", size=1000, used=10)
    update(sessionUpdate="available_commands_update", availableCommands=[{"name": "init", "description": "Begin"}])
    update(sessionUpdate="session_info_update", title="A title")
    say("Hello ")
    say("there.")
    return {"stopReason": "end_turn"}
"""
    async with talks(script) as talk:
        turn = await talk.done(await talk.ask("Hi"))
        assert (turn.state, turn.stop_reason) == ("done", "end_turn")
        assert (said(turn, "user"), said(turn, "thought"), said(turn)) == ("Hi", "Hm.", "Hello there.")
        status = talk.conversation.status
        assert (status.title, status.plan[0].text, status.commands[0].name) == ("A title", "Think", "init")
        assert status.window
        assert (status.window.size, status.window.used) == (1000, 10)
        assert talk.client.name == "Scripted Agent"


async def test_prompts_run_one_after_the_other_and_one_that_waits_can_be_taken_back(talks: Talks):
    script = """
gate = threading.Event()
def session_prompt(params):
    text = params["prompt"][0]["text"]
    if text == "one":
        while not any(each.get("method") == "_go" for each in seen): time.sleep(0.001)
    say(text)
    return {"stopReason": "end_turn"}
"""
    async with talks(script) as talk:
        one, two, three = [await talk.ask(words) for words in ("one", "two", "three")]
        await until(lambda: len(talk.conversation.status.queue) == 2)
        assert [each.text for each in talk.conversation.status.queue] == ["two", "three"]
        assert await talk.client.dequeue(talk.session, two)
        assert not await talk.client.dequeue(talk.session, two)
        talk.client.peer.notify("_go", {})
        assert said(await talk.done(one)) == "one"
        assert said(await talk.done(three)) == "three"
        assert talk.turn(two) is None
        assert talk.conversation.has(two)


async def test_a_session_is_loaded_with_its_turns(talks: Talks):
    script = """
def session_load(params):
    for text in ("one", "two"):
        say(text, "user_message_chunk"); say("answer to " + text)
    return {"modes": {"currentModeId": "plan", "availableModes": [{"id": "plan", "name": "Plan"}]}}
"""
    async with talks(script, session="s") as talk:
        assert [(said(turn, "user"), said(turn), turn.state) for turn in talk.conversation.turns] == [
            ("one", "answer to one", "done"),
            ("two", "answer to two", "done"),
        ]
        assert talk.conversation.status.mode == "plan"
        turn = await talk.done(await talk.ask("three"))
        assert said(turn) == "You said: three"
        assert len(talk.conversation.turns) == 3


async def test_a_history_that_comes_after_the_answer_has_its_turns_too(talks: Talks):
    script = """
def session_load(params):
    say("one", "user_message_chunk")
    number = [each["id"] for each in seen if each.get("method") == "session/load"][-1]
    send(id=number, result={})
    say("answer to one")
    say("two", "user_message_chunk"); say("answer to two")
    return "silence"
"""
    async with talks(script, session="s") as talk:
        await until(lambda: len(talk.conversation.turns) == 2 and said(talk.conversation.turns[1]))
        assert [(said(turn, "user"), said(turn), turn.state) for turn in talk.conversation.turns] == [
            ("one", "answer to one", "done"),
            ("two", "answer to two", "done"),
        ]
        assert (await talk.done(await talk.ask("three"))).state == "done"


async def test_a_session_that_is_gone_or_can_not_be_loaded_is_said(talks: Talks):
    gone = 'def session_load(params): raise Failure(-32002, "no such session")'
    never = 'def initialize(params): return {"protocolVersion": 1}'
    async with talks(gone, session=None) as talk:
        with pytest.raises(SessionGoneError, match="no such session"):
            await talk.open("s")
    async with talks(never, session=None) as talk:
        with pytest.raises(MissingFeatureError, match="can't resume"):
            await talk.open("s")
        with pytest.raises(MissingFeatureError, match="can't list conversations"):
            await talk.client.list_sessions("/w")


async def test_sessions_are_listed_page_by_page(talks: Talks):
    script = """
def initialize(params):
    return {"protocolVersion": 1, "agentCapabilities": {"sessionCapabilities": {"list": {}, "delete": {}}}}
def session_list(params):
    if "cursor" not in params:
        first = {"sessionId": "a", "title": "A", "updatedAt": "2026-01-01"}
        return {"sessions": [first, {"broken": 1}], "nextCursor": "x"}
    # The same cursor again would lead round in a circle.
    return {"sessions": [{"sessionId": "b", "cwd": "/b", "title": None}], "nextCursor": params["cursor"]}
def session_delete(params):
    return {}
"""
    async with talks(script) as talk:
        page = await talk.client.list_sessions("/here")
        rest = await talk.client.list_sessions("/here", page.cursor)
        listed = [*page.sessions, *rest.sessions]
        assert [(each.id, each.folder, each.title) for each in listed] == [("a", "/here", "A"), ("b", "/b", "")]
        assert (page.cursor, rest.cursor) == ("x", "")
        await talk.client.delete_session(listed[0])


async def test_what_an_agent_says_of_its_sessions_beyond_the_protocol_changes_nothing(talks: Talks):
    script = """
def initialize(params):
    return {"protocolVersion": 1, "agentCapabilities": {"sessionCapabilities": {"list": {}}}}
def session_list(params):
    more = {"isArchived": True, "isPinned": "yes", "clientCount": "two", "displayName": "Another"}
    return {"sessions": [{"sessionId": "a", "title": "A", **more}]}
"""
    async with talks(script) as talk:
        [listed] = (await talk.client.list_sessions("/here")).sessions
        assert (listed.id, listed.title, listed.is_archived, listed.is_pinned) == ("a", "A", False, False)


async def test_modes_and_models_are_switched_by_the_way_that_the_agent_has(talks: Talks):
    script = """
calls = []
def session_new(params):
    options = [{"id": "m", "category": "model", "type": "select", "currentValue": "a",
                "options": [{"group": "g", "name": "G", "options": [{"value": "a", "name": "A"}, {"value": "b"}]}]}]
    modes = {"currentModeId": "ask", "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "do"}]}
    return {"sessionId": "s", "modes": modes, "configOptions": options}
def session_set_mode(params):
    calls.append(params["modeId"]); return {}
def session_set_config_option(params):
    option = {"id": "m", "category": "model", "type": "select", "currentValue": params["value"]}
    return {"configOptions": [option | {"options": [{"value": "b"}]}]}
def session_prompt(params):
    update(sessionUpdate="current_mode_update", currentModeId="ask")
    return {"stopReason": "end_turn"}
"""
    async with talks(script) as talk:
        status = talk.conversation.status
        assert ([each.id for each in status.models], status.model) == (["a", "b"], "a")
        assert ([each.name for each in status.modes], status.mode) == (["Ask", "do"], "ask")
        await talk.client.switch(talk.session, "model", "b")
        await talk.client.switch(talk.session, "mode", "do")
        await until(lambda: (talk.conversation.status.model, talk.conversation.status.mode) == ("b", "do"))
        await talk.done(await talk.ask("x"))
        assert talk.conversation.status.mode == "ask"


async def test_how_long_the_model_thinks_is_an_option(talks: Talks):
    script = """
def option(value):
    values = [{"value": "low", "name": "Low"}, {"value": "high"}]
    return {"id": "t", "category": "thought_level", "type": "select", "currentValue": value, "options": values}
def session_new(params):
    return {"sessionId": "s", "configOptions": [option("low"), {"broken": 1}]}
def session_set_config_option(params):
    return {"configOptions": [option(params["value"])]}
"""
    async with talks(script) as talk:
        status = talk.conversation.status
        assert ([each.name for each in status.efforts], status.effort) == (["Low", "high"], "low")
        await talk.client.switch(talk.session, "effort", "high")
        assert (await talk.client.choices(talk.session)).effort == "high"
    async with talks() as talk:
        with pytest.raises(MissingFeatureError):
            await talk.client.switch(talk.session, "effort", "high")


async def test_an_agent_with_models_of_the_older_form_gets_its_own_method(talks: Talks):
    script = """
def session_new(params):
    models = {"currentModelId": "a", "availableModels": [{"modelId": "a", "name": "A"}, {"modelId": "b", "name": "B"}]}
    return {"sessionId": "s", "models": models}
def session_set_model(params):
    return {}
"""
    async with talks(script) as talk:
        await talk.client.switch(talk.session, "model", "b")
        await until(lambda: talk.conversation.status.model == "b")
        with pytest.raises(MissingFeatureError):
            await talk.client.switch(talk.session, "mode", "x")


async def test_what_the_agent_can_not_take_is_sent_as_text_or_refused(talks: Talks):
    script = 'def initialize(params): return {"protocolVersion": 1, "agentInfo": {"name": "plain"}}'
    excerpt = {"type": "resource", "resource": {"uri": "file:///a.py", "text": "x = 1"}}
    async with talks(script) as talk:
        key = await talk.client.prompt(talk.session, [{"type": "text", "text": "Look: "}, excerpt])
        assert said(await talk.done(key)) == "You said: Look: file:///a.py:\n```\nx = 1\n```\n"
        with pytest.raises(UnsendableError, match="plain doesn't take pictures"):
            await talk.client.prompt(talk.session, [{"type": "image", "data": "", "mimeType": "image/png"}])
