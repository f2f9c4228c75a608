"""Real agents on their standard input and output, as the back end of a chat."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import platform
import sys
from collections.abc import AsyncGenerator, Container, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from companion.agents import McpServer
from companion.backends.acp.errors import EndedError, SignInError
from companion.backends.agent import Surroundings
from companion.conversation.snapshot import Diff, Permission
from tests.agent_talk import AgentTalk, MemoryFiles, said, talking, tools, until

from . import gemini
from .cli import STEP
from .clis import NEWEST_QWEN, pinned, version_of
from .daemon import Daemons
from .model import Call, Script
from .qwen import PROJECT, node

pytestmark = pytest.mark.usefixtures("programs")
EDITS = {"qwen": "edit", "gemini": "replace"}


TABLE = PROJECT / "docs" / "compatibility.md"
HEADING = "## Agents in the chat"
TITLES = {"qwen": f"Qwen Code {NEWEST_QWEN}", "gemini": f"Gemini CLI {version_of('gemini', gemini.NEWEST)}"}
#: What a run tries with each agent, in the order of the table.
STEPS = (
    "streams its answer",
    "an accepted edit is written by the editor",
    "reads the unsaved text of an open file",
    "an edited proposal is written, and the model is told",
    "a rejected edit changes nothing",
    "asks before it runs a command",
    "a cancelled turn ends",
    "mode and model can be switched",
    "a conversation is resumed after a restart",
    "its end in mid-turn is told",
)


def table(done: Container[tuple[str, str]]) -> str:
    """The section of docs/compatibility.md."""
    lines = [
        HEADING,
        "",
        f"Written by a run of `scripts/test tests/e2e/test_acp.py` on {platform.system()}. The published agents run on",
        "their standard input and output, with a scripted model.",
        "",
        f"| | {' | '.join(TITLES.values())} |",
        f"|---|{'---|' * len(TITLES)}",
    ]
    for step in STEPS:
        cells = " | ".join("yes" if (name, step) in done else "no" for name in TITLES)
        lines += [f"| {step} | {cells} |"]
    return "\n".join([*lines, ""])


def write_section(heading: str, section: str) -> None:
    """Replace a section of docs/compatibility.md, or add it at the end."""
    before, _, after = TABLE.read_text(encoding="utf-8").partition(f"{heading}\n")
    following = after.partition("\n## ")[2]
    rest = f"\n## {following}" if following else ""
    TABLE.write_text(f"{before.rstrip()}\n\n{section}{rest}", encoding="utf-8")


@dataclass
class Agents:
    """One agent in a home of its own, with a scripted model."""

    name: str
    place: Daemons
    uses_editor: bool = False
    """Whether the agent is offered the editor's own server."""
    done: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """Which agent has done what, in all tests of the module."""

    def did(self, step: str) -> None:
        """A test has passed."""
        assert step in STEPS
        self.done.add((self.name, step))

    @property
    def folder(self) -> Path:
        return self.place.home.workspace

    @property
    def command(self) -> list[str]:
        if self.name == "qwen":
            return [*pinned("qwen", NEWEST_QWEN), "--acp"]
        return [*pinned("gemini", gemini.NEWEST), "--acp", "-m", "gemini-2.5-flash"]

    @property
    def environment(self) -> dict[str, str]:
        environment = dict(self.place.environment)
        if self.name == "gemini":
            environment |= {
                "GEMINI_API_KEY": "none-needed",
                "GOOGLE_GEMINI_BASE_URL": self.place.model.base_url.removesuffix("/v1"),
            }
        # The folder of the command's own Node comes first, because Gemini CLI starts itself again as "node".
        separator = ";" if sys.platform == "win32" else ":"
        environment["PATH"] = f"{Path(self.command[0]).parent}{separator}{environment.get('PATH', '')}"
        return environment

    @contextlib.asynccontextmanager
    async def talk(self, session: str = "", editor: MemoryFiles | None = None) -> AsyncGenerator[AgentTalk]:
        async with talking(self.command, str(self.folder), self.environment, session=session, editor=editor) as talk:
            yield talk

    def age(self, session: str) -> None:
        """Make a session older than a minute.

        Gemini CLI 0.61 names its file after the minute, and empties the one that it is about to resume in the same one.
        """
        chats = self.place.home.home / ".gemini" / "tmp"
        for path in chats.glob(f"*/chats/session-*-{session[:8]}.jsonl"):
            path.rename(path.with_name(f"session-2026-01-01T00-00-{session[:8]}.jsonl"))

    def edit(self, path: Path, old: str, new: str) -> Call:
        arguments = {"file_path": str(path), "old_string": old, "new_string": new}
        more = {"instruction": "Replace it."} if self.name == "gemini" else {}
        return Call(EDITS[self.name], arguments | more)

    def changes(self, path: Path, old: str, new: str) -> Script:
        """A script that reads a file and changes it."""
        read = Call("read_file", {"file_path": str(path)})
        return self.place.model.script([read], [self.edit(path, old, new)])

    def shell(self, command: str) -> Script:
        more = {"is_background": False} if self.name == "qwen" else {}
        return self.place.model.script(
            [Call("run_shell_command", {"command": command, "description": "Does it"} | more)]
        )


@pytest.fixture(scope="module")
def done() -> Iterator[set[tuple[str, str]]]:
    """What the agents have done. A run with everything writes the table."""
    done: set[tuple[str, str]] = set()
    yield done
    if len(done) == len(STEPS) * len(TITLES):
        write_section(HEADING, table(done))


def made(name: str, done: set[tuple[str, str]]) -> Agents:
    """An agent in a home of its own."""
    place = Daemons.make(NEWEST_QWEN)
    if name == "gemini":
        folder = place.home.home / ".gemini"
        folder.mkdir(exist_ok=True)
        (folder / "settings.json").write_text(json.dumps(gemini.settings()), encoding="utf-8")
    return Agents(name, place, done=done)


@pytest.fixture(params=["qwen", "gemini"])
def agent(request: pytest.FixtureRequest, done: set[tuple[str, str]]) -> Iterator[Agents]:
    if request.param == "gemini":
        request.getfixturevalue("gemini_program")
    agent = made(request.param, done)
    yield agent
    agent.place.close()


async def test_a_prompt_streams_its_answer(agent: Agents):
    async with agent.talk() as talk:
        script = agent.place.model.speech("One ", "two ", "three.", thoughts=("Hm. ",))
        turn = await talk.done(await talk.ask(f"Count {script.tag}"))
        assert (turn.state, said(turn)) == ("done", "One two three.")
        assert said(turn, "user") == f"Count {script.tag}"
        if agent.name == "qwen":
            assert said(turn, "thought") == "Hm. "
        assert talk.client.name in {"Qwen Code", "Gemini CLI"}
        assert {"default", "plan"} <= {mode.id for mode in talk.conversation.status.modes}
        assert len(talk.conversation.status.models) > 1
    agent.did("streams its answer")


async def asked_to_change(agent: Agents, talk: AgentTalk, path: Path) -> tuple[str, Permission, Diff]:
    """Have the agent change a file. Returns the prompt, the question, and the diff of the question."""
    key = await talk.ask(f"Change it {agent.changes(path, 'x = 1', 'x = 2').tag}")
    permission = await asyncio.wait_for(talk.asked(), STEP)
    [diff] = permission.diffs
    return key, permission, diff


async def test_an_accepted_edit_is_written_through_the_editor(agent: Agents):
    path = agent.place.home.write("a.py", "x = 1\n")
    async with agent.talk() as talk:
        key, permission, diff = await asked_to_change(agent, talk, path)
        assert (diff.path, diff.old, diff.new) == (str(path), "x = 1\n", "x = 2\n")
        assert path.read_text() == "x = 1\n"
        await talk.vote(permission, "allow_once")
        turn = await talk.done(key)
        assert turn.state == "done"
        assert path.read_text() == "x = 2\n"
        assert {"read", "edit"} <= {tool.kind for tool in tools(turn)}
    agent.did("an accepted edit is written by the editor")


async def test_an_unsaved_text_is_what_the_agent_reads_and_changes(agent: Agents):
    path = agent.place.home.write("a.py", "x = 0\n")
    editor = MemoryFiles({str(path.resolve()): "x = 1\n"})
    async with agent.talk(editor=editor) as talk:
        key = await talk.ask(f"Change it {agent.changes(path, 'x = 1', 'x = 2').tag}")
        await talk.vote(await asyncio.wait_for(talk.asked(), STEP), "allow_once")
        await talk.done(key)
        assert editor.open == {str(path.resolve()): "x = 2\n"}
        assert path.read_text() == "x = 0\n"
    agent.did("reads the unsaved text of an open file")


async def test_an_edited_proposal_is_written_and_the_model_is_told(agent: Agents):
    path = agent.place.home.write("a.py", "x = 1\n")
    async with agent.talk() as talk:
        key, permission, diff = await asked_to_change(agent, talk, path)
        await talk.client.edited(diff.path, diff.new, "x = 3  # mine\n")
        await talk.vote(permission, "allow_once")
        await talk.done(key)
        assert path.read_text() == "x = 3  # mine\n"
        following = agent.place.model.speech("I see.")
        await talk.done(await talk.ask(f"Next {following.tag}"))
        assert "the user has edited your change" in json.dumps([each.body for each in agent.place.model.requests])
    agent.did("an edited proposal is written, and the model is told")


async def test_a_rejected_edit_changes_nothing(agent: Agents):
    path = agent.place.home.write("a.py", "x = 1\n")
    async with agent.talk() as talk:
        key = await talk.ask(f"Change it {agent.changes(path, 'x = 1', 'x = 2').tag}")
        await talk.vote(await asyncio.wait_for(talk.asked(), STEP), "reject_once")
        await talk.done(key)
        assert path.read_text() == "x = 1\n"
    agent.did("a rejected edit changes nothing")


async def test_a_shell_command_runs_after_a_question(agent: Agents):
    async with agent.talk() as talk:
        key = await talk.ask(f"Make a file {agent.shell('touch made.txt').tag}")
        permission = await asyncio.wait_for(talk.asked(), STEP)
        assert permission.kind == "execute"
        assert not (agent.folder / "made.txt").exists()
        await talk.vote(permission, "allow_once")
        assert (await talk.done(key)).state == "done"
        assert (agent.folder / "made.txt").exists()
    agent.did("asks before it runs a command")


async def test_a_cancelled_turn_ends_and_the_next_one_works(agent: Agents):
    async with agent.talk() as talk:
        slow = agent.place.model.speech(*["word "] * 600, pause=0.1)
        key = await talk.ask(f"Talk {slow.tag}")
        await until(lambda: (turn := talk.turn(key)) and said(turn), STEP)
        await talk.client.cancel(talk.session)
        assert (await talk.done(key)).state == "cancelled"
        script = agent.place.model.speech("Here.")
        assert said(await talk.done(await talk.ask(f"Again {script.tag}"))) == "Here."
    agent.did("a cancelled turn ends")


async def test_the_mode_and_the_model_are_switched(agent: Agents):
    path = agent.place.home.write("a.py", "x = 1\n")
    mode = {"qwen": "auto-edit", "gemini": "autoEdit"}[agent.name]
    async with agent.talk() as talk:
        await talk.client.switch(talk.session, "mode", mode)
        await until(lambda: talk.conversation.status.mode == mode)
        turn = await talk.done(await talk.ask(f"Change it {agent.changes(path, 'x = 1', 'x = 2').tag}"))
        assert turn.state == "done"
        assert path.read_text() == "x = 2\n"
        status = talk.conversation.status
        other = next(model.id for model in status.models if model.id != status.model)
        await talk.client.switch(talk.session, "model", other)
        await until(lambda: talk.conversation.status.model == other)
    agent.did("mode and model can be switched")


async def test_a_conversation_is_resumed_after_a_restart(agent: Agents):
    async with agent.talk() as talk:
        script = agent.place.model.speech("The answer.")
        await talk.done(await talk.ask(f"Question {script.tag}"))
        session = talk.session.id
    agent.age(session)
    async with agent.talk(session) as talk:
        await until(lambda: talk.conversation.turns and said(talk.conversation.turns[0]))
        turn = talk.conversation.turns[0]
        assert said(turn, "user").startswith("Question")
        assert "The answer." in said(turn)
        script = agent.place.model.speech("And another.")
        assert said(await talk.done(await talk.ask(f"More {script.tag}"))) == "And another."
    agent.did("a conversation is resumed after a restart")


async def test_an_agent_that_is_killed_in_mid_turn_is_told(agent: Agents):
    async with agent.talk() as talk:
        slow = agent.place.model.speech(*["word "] * 600, pause=0.1)
        key = await talk.ask(f"Talk {slow.tag}")
        await until(lambda: (turn := talk.turn(key)) and said(turn), STEP)
        assert talk.client.process
        process = psutil.Process(talk.client.process.pid)
        for each in [*process.children(recursive=True), process]:
            with contextlib.suppress(psutil.NoSuchProcess):
                each.kill()
        assert isinstance(await talk.ended(), EndedError)
        turn = await talk.done(key)
        assert turn.state == "failed"
        assert said(turn).startswith("word")
    agent.did("its end in mid-turn is told")


async def test_an_agent_of_the_official_sdk_works(tmp_path: Path):
    path = tmp_path / "a.txt"
    path.write_text("one\n")
    command = [sys.executable, str(Path(__file__).with_name("sdk_agent.py"))]
    async with talking(command, str(tmp_path)) as talk:
        assert talk.client.name == "SDK Agent"
        assert said(await talk.done(await talk.ask("Hello"))) == "Hello"
        await talk.client.switch(talk.session, "mode", "do")
        await until(lambda: talk.conversation.status.mode == "do")
        await talk.client.set_option(talk.session, "fast", True)
        await talk.client.set_option(talk.session, "style", "long")
        await until(lambda: [each.value for each in talk.conversation.status.options] == [True, "long"])
        key = await talk.ask(f"edit {path}")
        await talk.vote(await talk.asked(), "allow_once")
        assert said(await talk.done(key)) == "written"
        assert path.read_text() == "ONE\n"
        assert "not read" in said(await talk.done(await talk.ask(f"edit {tmp_path / 'none'}")))
    async with talking(command, str(tmp_path), session="one") as talk:
        assert said(talk.conversation.turns[0]) == "As before."


async def test_an_agent_of_the_official_sdk_gets_folders_and_servers_and_is_copied_and_steered(tmp_path: Path):
    command = [sys.executable, str(Path(__file__).with_name("sdk_agent.py"))]
    servers = (
        McpServer("docs", url="https://docs.example/mcp"),
        McpServer("own", (sys.executable, "-V"), values={"A": "b"}),
    )

    async def around() -> Surroundings:
        return Surroundings((str(tmp_path / "other"),), servers)

    async with talking(command, str(tmp_path), around=around) as talk:
        copy = await talk.client.fork(talk.session)
        assert copy.id == "one, once more"
        await talk.client.detach(copy)
        expected = f"{[str(tmp_path / 'other')]} ['docs', 'own'] ['one, once more']"
        assert said(await talk.done(await talk.ask("around"))) == expected
        key = await talk.ask("wait")
        await until(lambda: talk.turn(key))
        while not await talk.client.inject(talk.session, "This way"):
            pass  # the turn has only just begun
        assert said(await talk.done(key)) == "This way"


async def test_an_agent_of_the_official_node_sdk_signs_in_and_out(tmp_path: Path):
    command = [str(node()), str(Path(__file__).with_name("sdk_agent.mjs"))]
    environment = {**os.environ, "SDK": str(PROJECT / "tests/npm/agents/claude-agent-acp/node_modules")}
    async with talking(command, str(tmp_path), environment, session=None) as talk:
        with pytest.raises(SignInError, match="Node SDK Agent wants you to sign in"):
            await talk.open()
        await talk.client.authenticate("own")
        await talk.open()
        assert talk.session.id == "one"
        await talk.client.sign_out()
        with pytest.raises(SignInError):
            await talk.client.create(str(tmp_path))
