"""What a chat adds to an agent as it is published: what the person has chosen stays, and what a turn has changed."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager

import pytest

from companion.agents import AgentCommand
from tests.agent_talk import until
from tests.e2e.chatting import Chatting, opened, write_settings
from tests.e2e.editor import Editor
from tests.e2e.model import Script
from tests.e2e.reasons import CHECK, SHOP, Reasons
from tests.unit.chats import test_chats_agents as rooms
from tests.unit.chats.chatting import CHAT

from .published import folder_of
from .test_agents import STEP, TEXT, Place, place

__all__ = ["place"]


def agent_of(place: Place) -> AgentCommand:
    environment = place.agent.prepare(place.model.base_url.removesuffix("/v1"), place.home)
    return AgentCommand("Mine", tuple(place.agent.command()), environment)


@asynccontextmanager
async def chatting(place: Place) -> AsyncGenerator[rooms.Room]:
    async with rooms.chatting(folder_of(place.home), agent_of(place)) as room:
        yield room


async def test_the_mode_stays_after_a_new_connection(place: Place):
    async with chatting(place) as room:
        status = room.render.status
        if len(status.modes) < 2:
            pytest.skip("The agent has no modes.")
        other = next(mode.id for mode in reversed(status.modes) if mode.id != status.mode)
        script = place.model.speech("One.")
        room.say(f"Say {script.tag}")
        await until(lambda: room.render.status.last == "done", STEP)
        room.chats.tell(CHAT, lambda own: own.switch("mode", other))
        await until(lambda: room.render.status.mode == other, STEP)
        before = room.agent_pid
        room.chats[CHAT].reconnect()
        await until(lambda: room.render.status.connection.state == "connecting", STEP)
        await until(lambda: room.render.status.connection.state == "live", STEP)
        assert room.agent_pid != before
        assert room.render.status.mode == other
        assert "could not be set" not in room.text
        # The agent says so itself, too.
        client, session = room.chats[CHAT].connection.connected
        choices = await client.choices(session)
        assert choices
        assert choices.mode == other


#: What is shown for the mode in which an agent asks before it changes a file.
ASKING = {"claude": "Manual", "codex": "Read-only", "vibe": "Ask"}


class InEditor:
    """The package in an editor whose person has said yes to an agent."""

    def __init__(self, place: Place) -> None:
        agent = agent_of(place)
        entry = {"command": list(agent.command), "environment": dict(agent.environment), "letter": "M"}
        write_settings(place.home, agents={"Mine": entry}, debug=True)
        person = place.home.home / ".config" / "sublime-text" / "Packages" / "User"
        folders = {"Mine": [str(folder_of(place.home))]}
        allowed = {"allowed": {"Mine": list(agent.command)}, "allowed_folders": folders, "last": "Mine"}
        (person / "QwenCompanion Agents.sublime-settings").write_text(json.dumps(allowed), encoding="utf-8")
        self.place = place
        self.editor = Editor(place.home, [folder_of(place.home)])

    def restart(self) -> None:
        """End the editor, and start it again without its chat."""
        self.editor.kill()
        self.editor = Editor(self.place.home, [folder_of(self.place.home)])

    def chat(self) -> Chatting:
        chat = opened(self.editor, self.editor.state()["windows"][0]["id"])
        chat.wait_text("on this computer")
        self.editor.wait("connection", lambda: chat.bars and "Reconnect" not in chat.bars)
        return chat

    def asking(self) -> Chatting:
        """A chat whose agent asks before it changes a file, if it has a mode for that."""
        chat = self.chat()
        if mode := ASKING.get(self.place.name):
            chat.command("chat_mode")
            chat.choose(mode)
            self.editor.wait("the mode", lambda: mode in chat.bars)
        return chat


@pytest.fixture
def editor(place: Place) -> Iterator[InEditor]:
    editor = InEditor(place)
    yield editor
    editor.editor.kill()


def test_the_changes_of_a_turn_are_those_of_the_file(place: Place, editor: InEditor):
    path = place.home.write("a.txt", TEXT)
    first = TEXT.replace("line 5\n", "line five\n")
    second = first.replace("line 35\n", "line thirty-five\n")
    chat = editor.asking()
    script = place.changes(path, ("line 5\n", "line five\n"), ("line 35\n", "line thirty-five\n"))
    chat.ask(script)
    # Kimi Code has the editor write without a question.
    for expected in () if place.name == "kimi" else (first, second):

        def proposed(expected: str = expected) -> bool:
            return any(view["text"] == expected for view in editor.editor.sides("proposal", text=True))

        editor.editor.wait("the proposal", proposed)
        editor.editor.accept(editor.editor.wait_diff(path))
    chat.wait_text(script.done)
    chat.wait_idle()
    assert path.read_text() == second
    chat.command("chat_changes")
    items = chat.wait_question("Changed after")["items"]
    assert [(item["trigger"], item["annotation"]) for item in items] == [
        ("a.txt", "+2 −2"),
        ("All of them", "1 file, +2 −2"),
    ]
    chat.choose("a.txt")
    [page] = editor.editor.wait(
        "diffs", lambda: [view for view in chat.state["views"] if view["name"].endswith("Changes of a Turn")]
    )
    changed = [line for line in page["text"].splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    assert changed == ["-line 5", "+line five", "-line 35", "+line thirty-five"]
    assert "told" not in page["text"]


def test_each_line_leads_to_its_own_prompt_and_sentence(place: Place, editor: InEditor):
    place.home.write("shop.py", SHOP)
    place.model.explains = True
    chat, reasons = editor.asking(), Reasons(editor.editor, place.folder)
    for prompt in reasons.prompts(place.agent):
        script = place.model.script(*prompt.rounds)
        chat.ask(script, prompt.words)

        def is_over(script: Script = script) -> bool:
            for proposal in editor.editor.sides("proposal"):
                editor.editor.accept(proposal)
            return script.done in chat.text

        editor.editor.wait("end of the turn", is_over)
        chat.wait_idle()
        reasons.done(prompt, script)
    editor.editor.do("command", name="qwen_companion_keep_all_changes")
    shop = place.folder / "shop.py"
    text = shop.read_text()
    shop.write_text(text.replace(CHECK, "").replace("def total", f"def check(title):\n{CHECK}\n\ndef total"))
    editor.restart()
    reasons.editor = editor.editor
    reasons.hold()
