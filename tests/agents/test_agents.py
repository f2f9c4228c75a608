"""What people do with an agent, with each agent as it is published and a scripted model."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from companion.backends.agent import Surroundings
from companion.conversation.failures import UnsendableError
from companion.conversation.snapshot import Diff, Permission
from tests.agent_talk import AgentTalk, MemoryFiles, no_surroundings, said, talking, tools, until
from tests.e2e.model import Model, Script
from tests.e2e.qwen import Home
from tests.parts import has

from .published import AGENTS, STEPS, Published, folder_of

#: Seconds for one step of an agent; only a failure takes that long.
STEP = 60.0
TEXT = "".join(f"line {number}\n" for number in range(1, 40))


@dataclass
class Place:
    """One agent in a home of its own, with a scripted model."""

    name: str
    agent: Published
    home: Home
    model: Model = field(default_factory=Model)

    @property
    def folder(self) -> Path:
        return self.home.workspace

    @contextlib.asynccontextmanager
    async def talk(
        self,
        session: str = "",
        editor: MemoryFiles | None = None,
        around: Callable[[], Awaitable[Surroundings]] = no_surroundings,
    ) -> AsyncGenerator[AgentTalk]:
        environment = self.agent.prepare(self.model.base_url.removesuffix("/v1"), self.home)
        folder = str(folder_of(self.home))
        async with talking(
            self.agent.command(), folder, environment, session=session, editor=editor, around=around
        ) as talk:
            if self.agent.asks:
                await talk.client.switch(talk.session, "mode", self.agent.asks)
            yield talk

    def changes(self, path: Path, *edits: tuple[str, str]) -> Script:
        """A script that reads a file and makes edits, one in each round."""
        read = [[self.agent.read(str(path))]] if self.agent.read else []
        return self.model.script(*read, *([self.agent.edit(str(path), old, new)] for old, new in edits))

    async def plan_first(self, talk: AgentTalk) -> None:
        """Have the agent plan before it works, if it has an option for that: some ask only then."""
        option, value = self.agent.planning
        if option:
            await talk.client.set_option(talk.session, option, value)

    async def turn(self, talk: AgentTalk, script: Script, *, kind: str = "allow_once") -> list[Permission]:
        """Have a turn done, and answer all its questions. Returns them."""
        key = await talk.ask(f"Please {script.tag}")
        asked: list[Permission] = []

        def is_over() -> bool:
            turn = talk.turn(key)
            return turn is not None and turn.state != "running"

        while True:
            await until(lambda: is_over() or talk.conversation.status.permissions, STEP)
            if is_over():
                return asked
            asked.append(talk.conversation.status.permissions[0])
            await talk.vote(asked[-1], kind)
            await until(lambda: is_over() or asked[-1] not in talk.conversation.status.permissions, STEP)


#: The others take long to install: `scripts/test --agents` runs them.
USUAL = ("claude", "opencode")


def each(names: Iterable[str]) -> list[ParameterSet]:
    """The agents as parameters of a test."""
    return [pytest.param(name, marks=[] if name in USUAL else pytest.mark.long) for name in sorted(names)]


@pytest.fixture(params=each(AGENTS))
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    place = Place(request.param, AGENTS[request.param], Home.make())
    yield place
    place.model.close()
    place.home.remove()


def diffs(asked: list[Permission]) -> list[Diff]:
    return [diff for permission in asked for diff in permission.diffs]


async def test_it_says_what_the_model_says(place: Place):
    async with place.talk() as talk:
        assert talk.client.name == place.agent.title
        script = place.model.speech("One ", "two ", "three.", thoughts=("Hm. ",))
        turn = await talk.done(await talk.ask(f"Count {script.tag}"))
        assert (turn.state, said(turn)) == ("done", "One two three.")


#: Those that ask before they change a file; Kimi Code has the editor write without a question.
ASKS = each(AGENTS.keys() - {"kimi"})


@pytest.mark.parametrize("place", ASKS, indirect=True)
async def test_a_question_shows_the_whole_file_with_the_change_in_it(place: Place):
    path = place.home.write("a.txt", TEXT)
    async with place.talk() as talk:
        asked = await place.turn(talk, place.changes(path, ("line 20\n", "line twenty\n")))
        expected = TEXT.replace("line 20\n", "line twenty\n")
        assert path.read_text() == expected
        assert [(diff.path, diff.old, diff.new) for diff in diffs(asked)] == [(str(path), TEXT, expected)]


@pytest.mark.parametrize("place", ASKS, indirect=True)
async def test_a_whole_file_that_is_written_over_another_shows_what_goes(place: Place):
    path = place.home.write("a.txt", TEXT)
    async with place.talk() as talk:
        read = [[place.agent.read(str(path))]] if place.agent.read else []
        script = place.model.script(*read, [place.agent.write(str(path), "all\nnew\n")])
        asked = await place.turn(talk, script)
        assert path.read_text() in {"all\nnew\n", TEXT}  # Copilot creates only files that don't exist
        if path.read_text() != TEXT:
            assert [(diff.path, diff.old, diff.new) for diff in diffs(asked)] == [(str(path), TEXT, "all\nnew\n")]


@pytest.mark.parametrize("place", ASKS, indirect=True)
async def test_what_the_person_edits_is_what_stands_on_the_disk(place: Place):
    path = place.home.write("a.txt", TEXT)
    mine = TEXT.replace("line 20\n", "line twenty, mine\n")
    async with place.talk() as talk:
        key = await talk.ask(f"Please {place.changes(path, ('line 20', 'line twenty')).tag}")
        permission = await asyncio.wait_for(talk.asked(), STEP)
        [diff] = permission.diffs
        await talk.client.edited(diff.path, diff.new, mine)
        await talk.vote(permission, "allow_once")
        await talk.done(key)
        assert path.read_text() == mine
        assert not talk.editor.kept
        script = place.model.speech("I see.")
        await talk.done(await talk.ask(f"Next {script.tag}"))
        assert "the user has edited your change" in json.dumps([each.body for each in place.model.requests])


@pytest.mark.parametrize("place", ASKS, indirect=True)
async def test_two_edits_of_a_file_in_a_turn_are_shown_one_after_the_other(place: Place):
    path = place.home.write("a.txt", TEXT)
    async with place.talk() as talk:
        first = TEXT.replace("line 20\n", "line twenty\n")
        second = first.replace("line 30\n", "line thirty\n")
        script = place.changes(path, ("line 20\n", "line twenty\n"), ("line 30\n", "line thirty\n"))
        asked = await place.turn(talk, script)
        assert path.read_text() == second
        assert [(diff.old, diff.new) for diff in diffs(asked)] == [(TEXT, first), (first, second)]


async def test_unsaved_text_is_never_overwritten(place: Place):
    path = place.home.write("a.txt", TEXT)
    unsaved = TEXT + "mine, not saved\n"
    editor = MemoryFiles({str(path.resolve()): unsaved})
    async with place.talk(editor=editor) as talk:
        await place.turn(talk, place.changes(path, ("line 20\n", "line twenty\n")))
        now = editor.open[str(path.resolve())]
        assert "mine, not saved" in now
        assert now in {unsaved, unsaved.replace("line 20\n", "line twenty\n")}


#: The others have no tool that asks the person.
QUESTIONS = each(name for name, agent in AGENTS.items() if agent.question)


@pytest.mark.parametrize("place", QUESTIONS, indirect=True)
async def test_a_question_of_the_model_is_answered_by_the_person(place: Place):
    async with place.talk() as talk:
        await place.plan_first(talk)
        script = place.model.script([has(place.agent.question)()])
        key = await talk.ask(f"Please {script.tag}")
        permission = await asyncio.wait_for(talk.asked(), STEP)
        if permission.form:
            [field, *_] = permission.form.fields
            assert [choice.name for choice in field.choices][:2] == ["Red", "Blue"]
            await talk.client.answer(talk.session, permission.id, "accept", {field.name: field.choices[1].id})
        else:
            assert permission.is_choice
            blue = next(option for option in permission.options if option.name == "Blue")
            await talk.client.answer(talk.session, permission.id, blue.id)
        await talk.done(key)
        assert "Blue" in json.dumps(place.model.requests[-1].body)


async def test_a_turn_is_cancelled(place: Place):
    async with place.talk() as talk:
        script = place.model.script([place.agent.run("sleep 60; touch late.txt")])
        key = await talk.ask(f"Please {script.tag}")
        await until(lambda: talk.conversation.status.permissions or talk.turn(key), STEP)
        await talk.client.cancel(talk.session)
        turn = await talk.done(key)
        assert turn.state == "cancelled"
        assert not (place.folder / "late.txt").exists()


async def test_its_death_is_told_and_a_new_process_goes_on(place: Place):
    async with place.talk() as talk:
        script = place.model.speech("One.")
        await talk.done(await talk.ask(f"Say {script.tag}"))
        session = talk.session.id
        has(talk.client.process).end("")
        assert "has ended" in str(await talk.ended())
    async with place.talk(session) as talk:
        script = place.model.speech("Two.")
        turn = await talk.done(await talk.ask(f"Say {script.tag}"))
        assert said(turn) == "Two."


async def test_a_command_shows_what_it_prints(place: Place):
    async with place.talk() as talk:
        script = place.model.script([place.agent.run("echo shel''led; touch made.txt")])
        await place.turn(talk, script)
        turn = talk.conversation.turns[-1]
        assert (place.folder / "made.txt").exists()
        assert any("shelled" in tool.text for tool in tools(turn))


#: The others have no tool that makes a plan.
PLANS = each(name for name, agent in AGENTS.items() if agent.plan)


@pytest.mark.parametrize("place", PLANS, indirect=True)
async def test_a_plan_is_shown_with_its_steps(place: Place):
    async with place.talk() as talk:
        await place.turn(talk, place.model.script([has(place.agent.plan)()]))
        plan = talk.conversation.status.plan
        assert [(step.text, step.status) for step in plan] == list(STEPS)


#: The others keep no plan in prose apart from the answer.
PROSE = each(name for name, agent in AGENTS.items() if agent.planning[0])


@pytest.mark.parametrize("place", PROSE, indirect=True)
async def test_a_plan_in_prose_is_part_of_the_answer(place: Place):
    async with place.talk() as talk:
        await place.plan_first(talk)
        script = place.model.speech("<proposed_plan>\n# The plan\n\n- one\n", "- two\n</proposed_plan>\n")
        [asked] = await place.turn(talk, script, kind="reject_once")
        assert "plan" in asked.title
        assert said(talk.conversation.turns[0]).count("# The plan\n\n- one\n- two\n") == 1


#: A picture of one point.
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="


async def test_a_picture_reaches_the_model(place: Place):
    async with place.talk() as talk:
        script = place.model.speech("I see.")
        picture = {"type": "image", "mimeType": "image/png", "data": PICTURE}
        words = {"type": "text", "text": f"Look {script.tag}"}
        try:
            key = await talk.client.prompt(talk.session, [words, picture])
        except UnsendableError:
            pytest.skip("The agent has no way to take pictures.")
        turn = await talk.done(key)
        assert said(turn) == "I see."
        assert any("image/png" in json.dumps(each.body) for each in place.model.requests)
