"""Signing in to an agent from nothing, and signing out, with each agent as it is published."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from companion.backends.acp.errors import SignInError
from tests.agent_talk import AgentTalk, notices, said, talking, until
from tests.parts import has

from .published import folder_of, no_files
from .test_agents import STEP, Place, place

__all__ = ["place"]


@asynccontextmanager
async def stranger(place: Place, **environment: str) -> AsyncGenerator[AgentTalk]:
    """A talk with an agent that knows neither the person nor the scripted model; no session is open."""
    nobody = replace(place.agent, files=no_files, environment=lambda *_: environment)
    folder = str(folder_of(place.home))
    async with talking(place.agent.command(), folder, nobody.prepare("", place.home), session=None) as talk:
        yield talk


async def is_asked_to_sign_in(talk: AgentTalk) -> bool:
    """Whether the agent wants a sign-in for a new conversation, or for its first prompt. Both are what is shown."""
    try:
        await talk.open()
    except SignInError as error:
        return "wants you to sign in" in str(error)
    key = await talk.ask("Hello")

    def is_settled() -> bool:
        turn = talk.turn(key)
        return talk.conversation.status.connection.wants_sign_in or (turn is not None and turn.state != "running")

    await until(is_settled, STEP)
    found = any("wants you to sign in" in notice for notice in notices(has(talk.turn(key))))
    await talk.client.cancel(talk.session)
    await talk.done(key)
    return found


async def test_whoever_has_not_signed_in_is_told_how(place: Place):
    if place.name == "opencode":
        pytest.skip("The agent has no need of a sign-in.")
    async with stranger(place) as talk:
        assert talk.client.ways
        assert await is_asked_to_sign_in(talk)
    async with place.talk() as talk:
        turn = await talk.done(await talk.ask(f"Say {place.model.speech('Welcome.').tag}"))
        assert said(turn) == "Welcome."


async def test_the_person_signs_out(place: Place):
    # Only Codex takes a key over the protocol: the others open a browser.
    key = {"OPENAI_API_KEY": "sk-none-needed"} if place.name == "codex" else {}
    async with stranger(place, **key) as talk:
        if not talk.client.can("sign_out"):
            pytest.skip("The agent has no way to sign out.")
        if key:
            assert await is_asked_to_sign_in(talk)
            await talk.client.authenticate("api-key")
            assert (await talk.client.create(talk.folder)).id
        await talk.client.sign_out()
    async with stranger(place) as talk:
        assert await is_asked_to_sign_in(talk)
