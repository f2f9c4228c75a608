"""What an agent lets one set besides its mode, its model and how long it thinks (issue 15, point 3)."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from companion.conversation.snapshot import Choice, SessionOption
from tests.agents import LIMIT, scripted, talking, until

SCRIPT = """
now = {"fast": False, "style": "short"}
def options():
    values = [{"group": "g", "name": "G", "options": [{"value": "short", "name": "Short"}, {"value": "long"}]}]
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


def run(test: Coroutine[Any, Any, None]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(3 * LIMIT):
            await test

    asyncio.run(limited())


def test_other_options_are_shown_and_set(project: Path, tmp_path: Path):
    async def test():
        async with talking(scripted(SCRIPT, tmp_path), str(project)) as talk:
            options = lambda: talk.conversation.status.options  # noqa: E731
            style = SessionOption("style", "Style", "short", "", (Choice("short", "Short"), Choice("long", "long")))
            assert options() == (SessionOption("fast", "Fast Mode", False, "Costs more"), style)
            assert [option.shown for option in options()] == ["off", "Short"]
            await talk.client.set_option(talk.session, "fast", True)
            await until(lambda: options()[0].value is True)
            await talk.client.set_option(talk.session, "style", "long")
            await until(lambda: options()[1].shown == "long")

    run(test())


def test_an_option_that_the_agent_changes_is_shown(project: Path, tmp_path: Path):
    async def test():
        async with talking(scripted(SCRIPT, tmp_path), str(project)) as talk:
            await talk.done(await talk.ask("x"))
            assert talk.conversation.status.options[1].value == "long"

    run(test())
