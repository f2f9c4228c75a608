"""What every agent of a window gets besides the folder of its chat."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from companion.agents import McpServer
from companion.chats.chats import Chats
from companion.chats.transcript.wording import header
from companion.conversation.snapshot import Locality
from companion.editor import WindowId
from companion.exclusion import Sharing
from companion.settings import DaemonSettings
from tests.agent_talk import run

WINDOW = WindowId(1)


def chats(told: Sharing, *folders: str) -> Chats:
    nothing: Any = None
    windows: Any = SimpleNamespace(sharing_of=lambda _: told, folders_of=lambda _: folders)
    return Chats(nothing, SimpleNamespace(), windows, nothing, nothing)  # pyright: ignore[reportArgumentType]


def test_an_agent_gets_the_folders_of_the_window_but_the_excluded_ones(tmp_path: Path):
    names = ("one", "two", "secret")
    for name in names:
        (tmp_path / name).mkdir()
    room = chats(Sharing(exclude=("secret",)), *(str(tmp_path / name) for name in names))
    room.settings = DaemonSettings()
    real = os.path.realpath(tmp_path)
    assert run(room.window(WINDOW).surroundings()).folders == (os.path.join(real, "one"), os.path.join(real, "two"))


def test_a_setting_turns_it_off(tmp_path: Path):
    server = McpServer("docs", url="https://docs.example/mcp")
    room = chats(Sharing(), str(tmp_path))
    room.settings = replace(DaemonSettings(), agents_all_folders=False, agents_mcp_servers=(server,))
    found = run(room.window(WINDOW).surroundings())
    assert (found.folders, found.servers) == ((), (server,))


def test_the_first_lines_of_a_chat_name_them():
    shown = header(Locality("this computer", "/here", folders=("/one", "/two\nthree"), agent="Own"))
    assert "It works in the window’s other folders, too: /one, /two" in shown
    assert "\nthree" not in shown
    assert "other folders" not in header(Locality("this computer", "/here"))
