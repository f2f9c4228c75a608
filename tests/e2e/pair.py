"""A window of the headless editor with two real agents, a tab each."""

from __future__ import annotations

import json
from collections.abc import Callable

from .chatting import Chatting, opened, write_settings
from .clis import NEWEST_QWEN
from .daemon import Daemons
from .editor import Editor
from .gemini import settings as gemini_settings
from .own import kind_of
from .test_acp import Agents

NAMES = {"qwen": "Qwen Code", "gemini": "Gemini CLI"}


class Pair:
    """An editor whose person has said yes to both agents, with a chat of each.

    Args:
        prepare: what is done to the window before the chats are opened.
    """

    def __init__(self, prepare: Callable[[Editor, int], object] = lambda *_: None) -> None:
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
        folders = {name: [str(self.home.workspace)] for name in commands}
        consent = self.home.home / ".config" / "sublime-text" / "Packages" / "User"
        (consent / "QwenCompanion Agents.sublime-settings").write_text(
            json.dumps({"allowed": allowed, "allowed_folders": folders, "last": NAMES["qwen"]}), encoding="utf-8"
        )
        self.editor = Editor(self.home, [self.home.workspace])
        window = self.editor.state()["windows"][0]["id"]
        prepare(self.editor, window)
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
        return [view["id"] for view in self.editor.views() if kind_of(self.editor.home, view) == "chat"]

    def wait_live(self, chat: Chatting, agent: Agents) -> None:
        chat.wait_text(f"{NAMES[agent.name]} ", "on this computer")
        self.editor.wait("connection", lambda: chat.bars and "Reconnect" not in chat.bars)

    def close(self) -> None:
        self.editor.kill()
        self.place.close()
