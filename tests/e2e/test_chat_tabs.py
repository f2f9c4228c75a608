"""Two real agents beside each other in one window, a tab each (issue 15, point 6)."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from .chatting import CHAT, Chatting, opened, write_settings
from .clis import NEWEST_QWEN
from .daemon import Daemons
from .editor import Editor
from .gemini import settings as gemini_settings
from .test_acp import Agents
from .test_chat_agents import agent_processes

pytestmark = pytest.mark.usefixtures("programs", "gemini_program")
NAMES = {"qwen": "Qwen Code", "gemini": "Gemini CLI"}


class Room:
    """An editor whose person has said yes to both agents, with a chat of each."""

    def __init__(self) -> None:
        self.place = Daemons.make(NEWEST_QWEN)
        self.home, self.model = self.place.home, self.place.model
        folder = self.home.home / ".gemini"
        folder.mkdir(exist_ok=True)
        (folder / "settings.json").write_text(json.dumps(gemini_settings()), encoding="utf-8")
        self.qwen, self.gemini = Agents("qwen", self.place), Agents("gemini", self.place)
        known = self.home.environment()
        commands = {
            NAMES[agent.name]: {
                "command": agent.command,
                "environment": {
                    name: value for name, value in agent.environment.items() if known.get(name) != value
                },
            }
            for agent in (self.qwen, self.gemini)
        }  # fmt: skip
        write_settings(self.home, agents=commands, debug=True)
        allowed = {name: each["command"] for name, each in commands.items()}
        consent = self.home.home / ".config" / "sublime-text" / "Packages" / "User"
        (consent / "QwenCompanion Agents.sublime-settings").write_text(
            json.dumps({"allowed": allowed, "last": NAMES["qwen"]}), encoding="utf-8"
        )
        self.editor = Editor(self.home, [self.home.workspace])
        window = self.editor.state()["windows"][0]["id"]
        one = opened(self.editor, window)
        self.one = Chatting(self.editor, window, one.view["id"])
        self.wait_live(self.one, self.qwen)
        one.command("chat_with")
        self.one.choose(NAMES["gemini"])
        self.editor.wait("second chat", lambda: len(self.tabs()) == 2)
        [other] = [tab for tab in self.tabs() if tab != self.one.tab]
        self.two = Chatting(self.editor, window, other)
        self.wait_live(self.two, self.gemini)

    def tabs(self) -> list[int]:
        return [view["id"] for view in self.editor.views() if view["settings"].get(CHAT)]

    def wait_live(self, chat: Chatting, agent: Agents) -> None:
        chat.wait_text(f"{NAMES[agent.name]} ", "on this computer")
        self.editor.wait("connection", lambda: chat.bars and "Reconnect" not in chat.bars)

    def close(self) -> None:
        self.editor.kill()
        self.place.close()


@pytest.fixture
def room() -> Iterator[Room]:
    room = Room()
    yield room
    room.close()


def test_they_answer_at_the_same_time_each_in_its_own_tab(room: Room):
    assert len(agent_processes(room.editor)) == 2
    slow = room.model.speech(*["word "] * 600, pause=0.1)
    room.one.ask(slow, "Talk")
    room.one.wait_text("word word")
    quick = room.model.script()
    room.two.ask(quick, "Quick")
    room.two.wait_text(quick.done)
    assert "word word" not in room.two.text
    assert quick.done not in room.one.text
    room.two.wait_idle()
    # The last one with the focus is the other, in which nothing runs.
    room.one.press("escape")
    room.one.wait_idle()


def test_a_permission_is_answered_where_it_is_asked_while_the_other_one_waits(room: Room):
    a, b = room.home.write("a.py", "x = 1\n"), room.home.write("b.py", "y = 1\n")
    first, second = room.qwen.changes(a, "x = 1", "x = 2"), room.gemini.changes(b, "y = 1", "y = 2")
    room.one.ask(first)
    of_a = room.editor.wait_diff(a)
    room.two.ask(second)
    of_b = room.editor.wait_diff(b)
    room.editor.do("focus", view=room.one.view["id"])
    room.editor.set_text(of_b, "y = 3  # mine\n")
    room.editor.accept(of_b)
    room.two.wait_text(second.done)
    assert (a.read_text(), b.read_text()) == ("x = 1\n", "y = 3  # mine\n")
    assert [view["id"] for view in room.one.diffs] == [of_a["id"]]
    assert room.one.view["name"].startswith("? ")
    assert not room.two.view["name"].startswith("? ")
    room.one.answer("n")
    room.one.wait_no_diff()
    room.one.wait_idle()
    assert a.read_text() == "x = 1\n"


def test_the_end_of_one_tab_ends_its_agent_alone_and_a_reload_brings_the_rest_back(room: Room):
    script = room.model.script()
    room.one.ask(script)
    room.one.wait_text(script.done)
    room.one.wait_idle()
    both = agent_processes(room.editor)
    room.editor.do("close_view", view=room.two.tab)
    room.editor.wait("end of one agent", lambda: 0 < len(agent_processes(room.editor)) < len(both))
    left = agent_processes(room.editor)
    room.editor.do("reload_package")
    room.editor.wait("agent of the next instance", lambda: (now := agent_processes(room.editor)) and now != left)
    room.wait_live(room.one, room.qwen)
    room.one.wait_text(script.done)
    again = room.model.script()
    room.one.ask(again, "Again")
    room.one.wait_text(again.done)
    assert room.tabs() == [room.one.tab]
