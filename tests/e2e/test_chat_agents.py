"""The chat with a real agent on its standard input and output, as a person uses it in the headless editor."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator

import psutil
import pytest

from companion.backends.children import MARK

from .chatting import Chatting, opened, write_settings
from .editor import Editor
from .model import Call
from .test_acp import Agents, agent, done

__all__ = ["agent", "done"]
pytestmark = pytest.mark.usefixtures("programs")


def agent_processes(editor: Editor) -> list[int]:
    """The agents that an editor has started."""
    found: list[int] = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == str(editor.pid) and process.ppid() == editor.pid:
                found.append(process.pid)
        except (psutil.Error, OSError):
            continue
    return found


class Room:
    """An editor whose person has said yes to an agent."""

    def __init__(self, agent: Agents) -> None:
        self.agent = agent
        self.home, self.model = agent.place.home, agent.place.model
        known = self.home.environment()
        environment = {name: value for name, value in agent.environment.items() if known.get(name) != value}
        letter = agent.name[0].upper()
        settings = {"Mine": {"command": agent.command, "environment": environment, "letter": letter}}
        write_settings(self.home, agents=settings, debug=True, agents_use_editor=agent.uses_editor)
        consent = self.home.home / ".config" / "sublime-text" / "Packages" / "User"
        folders = {"Mine": [str(self.home.workspace)]}
        allowed = {"allowed": {"Mine": agent.command}, "allowed_folders": folders, "last": "Mine"}
        (consent / "QwenCompanion Agents.sublime-settings").write_text(json.dumps(allowed), encoding="utf-8")
        self.editor = Editor(self.home, [self.home.workspace])

    def chat(self) -> Chatting:
        chat = opened(self.editor, self.editor.state()["windows"][0]["id"])
        self.wait_live(chat)
        return chat

    def wait_live(self, chat: Chatting) -> None:
        title = {"qwen": "Qwen Code", "gemini": "Gemini CLI"}[self.agent.name]
        chat.wait_text(f"{title} ", "on this computer")
        self.editor.wait("connection", lambda: chat.bars and "Reconnect" not in chat.bars)

    def processes(self) -> list[int]:
        return agent_processes(self.editor)

    def close(self) -> None:
        self.editor.kill()


@pytest.fixture
def room(agent: Agents) -> Iterator[Room]:
    room = Room(agent)
    yield room
    room.close()


def test_a_diff_that_is_edited_and_accepted_is_what_is_written(room: Room):
    path = room.home.write("a.py", "x = 1\n")
    chat = room.chat()
    script = room.agent.changes(path, "x = 1", "x = 2")
    chat.ask(script)
    proposal = room.editor.wait_diff(path)
    room.editor.set_text(proposal, "x = 3  # mine\n")
    room.editor.accept(proposal)
    chat.wait_text(script.done)
    chat.wait_idle()
    assert path.read_text() == "x = 3  # mine\n"
    following = room.model.script()
    chat.ask(following, "Next", until=following.done)
    assert "the user has edited your change" in json.dumps([each.body for each in room.model.requests])


def test_a_rejected_diff_is_not_written_and_an_unsaved_text_is_read(room: Room):
    path = room.home.write("a.py", "x = 0\n")
    view = room.editor.open_file(path)
    room.editor.do("set_text", view=view, text="x = 1\n")
    chat = room.chat()
    script = room.agent.changes(path, "x = 1", "x = 2")
    chat.ask(script)
    proposal = room.editor.wait_diff(path)
    assert proposal["text"] == "x = 2\n"
    room.editor.reject(proposal)
    chat.wait_idle()
    assert path.read_text() == "x = 0\n"
    again = room.agent.changes(path, "x = 1", "x = 2")
    chat.ask(again)
    room.editor.accept(room.editor.wait_diff(path))
    chat.wait_text(again.done)
    assert path.read_text() == "x = 2\n"
    assert room.editor.view(view)["text"] == "x = 2\n"


def test_the_agent_shows_a_diff_by_the_editors_own_server_and_gets_the_outcome(agent: Agents):
    agent.uses_editor = True
    with contextlib.closing(Room(agent)) as room:
        path = room.home.write("a.py", "x = 1\n")
        chat = room.chat()
        arguments = {"filePath": str(path), "newContent": "x = 2\n"}
        if agent.name == "qwen":
            # It has its model look up the tools of servers first.
            name = "mcp__qwen-companion__openDiff"
            look_up = [Call("tool_search", {"query": f"select:{name}"})]
            script = room.model.script(look_up, [Call("tool_call", {"name": name, "arguments": arguments})])
        else:
            script = room.model.script([Call("mcp_qwen-companion_openDiff", arguments)])
        # Its model has the tools of servers once they are connected, which it does not wait for before a prompt.
        room.editor.wait("the agent's connection", lambda: "(chat) is connected" in room.editor.output())
        chat.ask(script)
        room.editor.wait("the question", lambda: "(y)" in chat.bars)
        chat.answer("y")
        proposal = room.editor.wait_diff(path)
        room.editor.set_text(proposal, "x = 3\n")
        room.editor.accept(proposal)
        chat.wait_text(script.done)
        told = json.dumps([each.body for each in room.model.requests])
        assert "accepted" in told
        assert "x = 3" in told


@pytest.mark.skipif(sys.platform == "win32", reason="on Windows the agent is started again")
def test_a_reload_in_mid_turn_loses_nothing_of_the_turn(room: Room):
    """The process and its pipes are handed over."""
    chat = room.chat()
    first = room.model.script()
    chat.ask(first, until=first.done)
    words = [f"word{number} " for number in range(60)]
    slow = room.model.speech(*words, pause=0.1)
    chat.ask(slow, "Talk", until="word3")
    before = room.processes()
    assert len(before) == 1
    room.editor.do("reload_package")
    chat.wait_text("".join(words).strip())
    room.wait_live(chat)
    chat.wait_idle()
    assert room.processes() == before
    assert chat.text.count("word0 ") == 1
    chat.wait_text(first.done, f"Talk {slow.tag}")
    again = room.model.script()
    chat.ask(again, "Again", until=again.done)


def test_a_reload_while_a_permission_waits_keeps_its_diff(room: Room):
    path = room.home.write("a.py", "x = 1\n")
    chat = room.chat()
    script = room.agent.changes(path, "x = 1", "x = 2")
    chat.ask(script)
    before = room.editor.wait_diff(path)["id"]
    room.editor.do("reload_package")
    proposal = room.editor.wait_diff(path)
    assert proposal["id"] == before
    room.editor.accept(proposal)
    chat.wait_text(script.done)
    assert path.read_text() == "x = 2\n"


def test_the_agent_ends_with_its_window(room: Room):
    chat = room.chat()
    assert len(room.processes()) == 1
    chat.close()
    room.editor.wait("end of the agent", lambda: not room.processes())
