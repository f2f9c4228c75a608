"""What only some agents can do: messages into a turn that runs, copies of a conversation, several folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from companion.backends.agent import Surroundings
from companion.conversation.snapshot import Message
from tests.agent_talk import said, tools, until

from .test_agents import STEP, Place, place

__all__ = ["place"]


async def test_it_shows_what_the_model_thinks(place: Place):
    async with place.talk() as talk:
        script = place.model.speech("So be it.", thoughts=("It is ", "a plum."))
        turn = await talk.done(await talk.ask(f"Say {script.tag}"))
        assert said(turn, "thought").strip() == "It is a plum."
        assert said(turn) == "So be it."


async def test_a_message_goes_into_the_turn_that_runs(place: Place):
    async with place.talk() as talk:
        if not talk.client.info.meta.get("steering"):
            pytest.skip("The agent has no way to take a message into a turn that runs.")
        gate = place.home.home / "gate"
        wait = place.agent.run(f"while [ ! -e '{gate}' ]; do sleep 0.05; done; echo through")
        script = place.model.script([wait])
        key = await talk.ask(f"Please {script.tag}")

        def waits() -> bool:
            return bool(talk.conversation.status.permissions) or any(
                "run" in str(item) for item in talk.conversation.turns[-1:]
            )

        await until(waits, STEP)
        while permissions := talk.conversation.status.permissions:
            await talk.vote(permissions[0], "allow_once")
            await until(lambda asked=permissions[0]: asked not in talk.conversation.status.permissions, STEP)
        words = f"And say it twice {place.model.speech('Twice.').tag}"
        assert await talk.client.inject(talk.session, words)
        gate.touch()
        turn = await talk.done(key)
        assert words in said(turn, "user")
        assert any(words in str(each.body) for each in place.model.requests)


async def test_a_sub_agent_is_shown_with_what_it_says_apart_from_the_answer(place: Place):
    if not place.agent.delegate:
        pytest.skip("The agent has no sub-agents with a scripted model.")
    async with place.talk() as talk:
        inner = place.model.speech("There are two.")
        script = place.model.script([place.agent.delegate(f"How many are there? {inner.tag}")])
        turn = await talk.done(await talk.ask(f"Please {script.tag}"))
        whole = next(each for each in tools(turn) if each.name == "subagent")
        assert (whole.title, whole.status) == ("Count the uses", "completed")
        assert "How many are there?" in str(whole.input)
        told = [(item.parent, item.text) for item in turn.items if isinstance(item, Message) and "two." in item.text]
        assert told == [(whole.id, "There are two.")]


async def test_a_conversation_goes_on_in_a_copy(place: Place):
    async with place.talk() as talk:
        if not talk.client.can("fork"):
            pytest.skip("The agent has no copies of conversations.")
        first = place.model.speech("The word is plum.")
        await talk.done(await talk.ask(f"Tell me a word {first.tag}"))
        copy = await talk.client.fork(talk.session)
        assert copy.id != talk.session.id
        await talk.client.detach(copy)
    async with place.talk(copy.id) as talk:
        assert "plum" in str(talk.conversation.turns)


async def test_it_works_in_all_folders_of_the_window(place: Place, tmp_path: Path):
    other = place.home.home / "other"
    other.mkdir()

    async def around() -> Surroundings:
        return Surroundings((str(other),))

    async with place.talk(around=around) as talk:
        if not talk.client.info.takes_folders:
            pytest.skip("The agent has no further folders.")
        assert talk.client.folders == (str(other),)
        turn = await talk.done(await talk.ask(f"Say so {place.model.speech('So.').tag}"))
        assert said(turn) == "So."
