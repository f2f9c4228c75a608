"""What an agent lets one set besides its mode, its model and how long it thinks."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from companion.backends.acp import extensions
from companion.backends.agent import OfferedServer
from companion.conversation.snapshot import Choice, SessionOption
from tests.agent_talk import Talks, said, scripted, talking, until

SCRIPT = """
now = {"fast": False, "style": "short"}
def options():
    values = [{"group": "g", "name": "G", "options": [{"value": "short", "name": "Short", "options": None}]},
              {"value": "long", "options": None}]
    return [
        {"id": "mode", "category": "mode", "type": "select", "currentValue": "ask", "options": [{"value": "ask"}]},
        {"id": "fast", "name": "Fast Mode", "description": "Costs more", "category": "model_config",
         "type": "boolean", "currentValue": now["fast"]},
        {"id": "style", "name": "Style", "type": "select", "currentValue": now["style"], "options": values},
        {"id": "newer", "type": "slider", "currentValue": 3},
        {"id": "broken", "type": "boolean", "currentValue": "maybe"},
    ]
def session_new(params):
    return {"sessionId": "s", "configOptions": options()}
def session_set_config_option(params):
    assert params.get("type") == ("boolean" if params["configId"] == "fast" else None)
    now[params["configId"]] = params["value"]
    return {"configOptions": options()}
def session_prompt(params):
    now["style"] = "long"
    update(sessionUpdate="config_option_update", configOptions=options())
    return {"stopReason": "end_turn"}
"""


class Server:
    """The editor's server, which knows whom it has let in."""

    def __init__(self) -> None:
        self.known: list[str] = []

    def admit(self, agent: str) -> OfferedServer | None:
        self.known.append(agent)
        return OfferedServer("http://127.0.0.1:1/mcp", "very-secret-token")

    def dismiss(self, token: str) -> None:
        assert token == "very-secret-token"
        self.known.pop()


async def test_other_options_are_shown_and_set(talks: Talks):
    async with talks(SCRIPT) as talk:
        options = lambda: talk.conversation.status.options  # noqa: E731
        style = SessionOption("style", "Style", "short", "", (Choice("short", "Short"), Choice("long", "long")))
        assert options() == (SessionOption("fast", "Fast Mode", False, "Costs more"), style)
        assert [option.shown for option in options()] == ["off", "Short"]
        await talk.client.set_option(talk.session, "fast", True)
        await until(lambda: options()[0].value is True)
        await talk.client.set_option(talk.session, "style", "long")
        await until(lambda: options()[1].shown == "long")


@pytest.mark.parametrize("answer", ["{}", "{'configOptions': []}", "None"])
async def test_a_value_that_is_accepted_without_a_word_counts_and_that_is_said(talks: Talks, answer: str):
    script = (
        SCRIPT
        + f"""
def session_set_config_option(params):
    if params["configId"] == "style":
        now["style"] = params["value"]
        update(sessionUpdate="config_option_update", configOptions=options())
    return {answer}
"""
    )
    async with talks(script) as talk:
        values = lambda: [option.shown for option in talk.conversation.status.options]  # noqa: E731
        await talk.client.set_option(talk.session, "style", "long")
        await until(lambda: values() == ["off", "long"])
        assert talk.editor.said == []  # it has told its options by itself
        await talk.client.set_option(talk.session, "fast", True)
        await until(lambda: values() == ["on", "long"])
        told = "has accepted “on” for “Fast Mode”, but doesn't say what holds now."
        assert talk.editor.said == [f"{talk.client.name} {told}"]
        await talk.done(await talk.ask("x"))  # the agent says what holds: it had not set that at all
        assert values() == ["off", "long"]


async def test_what_the_agent_has_told_counts_more_than_what_it_accepts_without_a_word(talks: Talks):
    script = (
        SCRIPT
        + """
def session_set_config_option(params):
    update(sessionUpdate="config_option_update", configOptions=options())
    return {}
"""
    )
    async with talks(script) as talk:
        await talk.client.set_option(talk.session, "style", "long")
        assert [option.shown for option in talk.client.settings.choices.options] == ["off", "Short"]
        assert talk.editor.said == []


async def test_an_option_that_the_agent_changes_is_shown(talks: Talks):
    async with talks(SCRIPT) as talk:
        await talk.done(await talk.ask("x"))
        assert talk.conversation.status.options[1].value == "long"


async def test_the_editors_server_is_offered_to_an_agent_that_takes_http(
    talks: Talks, project: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG)
    script = """
def initialize(params):
    return {"protocolVersion": 1, "agentCapabilities": {"loadSession": True, "mcpCapabilities": {"http": HTTP}}}
def session_new(params):
    print(params["mcpServers"], file=sys.stderr, flush=True)
    return {"sessionId": "s"}
def session_load(params):
    return session_new(params)
def session_prompt(params):
    say(json.dumps([each["params"]["mcpServers"] for each in seen if "mcpServers" in each.get("params", {})]))
    return {"stopReason": "end_turn"}
"""
    entry = {
        "type": "http",
        "name": "qwen-companion",
        "url": "http://127.0.0.1:1/mcp",
        "headers": [{"name": "Authorization", "value": "Bearer very-secret-token"}],
    }
    server = Server()
    for session in ("", "s"):
        agent = scripted(script.replace("HTTP", "True"), tmp_path)
        async with talking(agent, str(project), server=server, session=session) as talk:
            assert json.loads(said(await talk.done(await talk.ask("x")))) == [[entry]]
            assert server.known == ["The agent"]
        assert server.known == []
    async with talks(script.replace("HTTP", "False"), server=server) as talk:
        assert json.loads(said(await talk.done(await talk.ask("x")))) == [[]]
        assert server.known == []
    assert "Bearer …" in caplog.text
    assert "very-secret-token" not in caplog.text


def test_gemini_cli_is_not_asked_to_load_a_conversation_in_the_minute_of_its_beginning():
    """Its file has the minute in its name, and would be emptied (seen in 0.61)."""
    begun = 60.0 * 1000 + 10
    pause = extensions.pause_before_load
    assert pause("gemini-cli", begun, begun + 20) == 31
    assert pause("gemini-cli", begun, begun + 50) == 0
    assert pause("gemini-cli", 0.0, begun) == 0
    assert pause("qwen-code", begun, begun + 20) == 0


async def test_a_session_knows_when_it_was_begun_and_the_load_waits(talks: Talks, monkeypatch: pytest.MonkeyPatch):
    asked: list[tuple[str, float]] = []

    def pause(agent: str, begun: float, now: float) -> float:
        asked.append((agent, begun))
        return 0.001

    monkeypatch.setattr(extensions, "pause_before_load", pause)
    async with talks() as talk:
        begun = talk.session.begun
        assert begun > 0
        loaded, _ = await talk.client.load(talk.session)
        assert loaded.begun == begun
        assert asked == [("scripted", begun)]
