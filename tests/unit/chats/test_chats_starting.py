"""What the person does while an agent is started and its session is opened."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from companion.agents import AgentCommand
from companion.platforms.files import real_folder
from tests.agent_talk import LIMIT, is_alive, scripted, until

from .agent_room import chatting
from .chatting import CHAT, WINDOW


async def test_a_prompt_waits_for_a_conversation_that_is_being_loaded(project: Path, tmp_path: Path) -> None:
    script = f"""
log, go = pathlib.Path({str(tmp_path / "log")!r}), pathlib.Path({str(tmp_path / "go")!r})
def session_load(params):
    with log.open("a") as file: file.write("load ")
    while not go.exists(): time.sleep(0.01)
    say("before", "user_message_chunk"); say("as before")
    return {{}}
"""
    agent = AgentCommand("Scripted", tuple(scripted(f"import pathlib\n{script}", tmp_path)))
    async with chatting(project, agent, opens=False) as room:
        room.chats.open(CHAT, WINDOW, str(project), "s", agent="Scripted")
        await until((tmp_path / "log").exists)
        room.say("one")
        await until(lambda: room.render.unsent)
        (tmp_path / "go").touch()
        await room.shows("You said: one")
        assert (tmp_path / "log").read_text() == "load "


@pytest.mark.parametrize("method", ["session/new", "session/load"])
async def test_what_opens_the_session_of_an_agent_can_be_called_off(project: Path, tmp_path: Path, method: str) -> None:
    script = f"""
import pathlib
log, go = pathlib.Path({str(tmp_path / "log")!r}), pathlib.Path({str(tmp_path / "go")!r})
def opened(params):
    log.write_text(str(os.getpid()))
    while not go.exists(): time.sleep(0.01)
    return {{"sessionId": "s"}}
{method.replace("/", "_")} = opened
"""
    agent = AgentCommand("Scripted", tuple(scripted(script, tmp_path)))
    async with chatting(project, agent, opens=False) as room:
        room.chats.open(CHAT, WINDOW, str(project), "s" if method == "session/load" else "", agent="Scripted")
        process = int(await until(lambda: (tmp_path / "log").exists() and (tmp_path / "log").read_text()))
        assert room.render.status.connection.can_be_cancelled
        room.chats.tell(CHAT, lambda own: own.cancel())
        assert await room.state("lost") == "The start of Scripted was cancelled. Reconnect to start it."
        assert not is_alive(process)
        (tmp_path / "go").touch()
        room.chats[CHAT].reconnect()
        await room.state("live")
        room.say("Hello")
        await room.shows("You said: Hello")


async def test_a_folder_of_the_window_whose_disk_hangs_is_left_out(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_over = threading.Event()

    def hanging(folder: str) -> str:
        return real_folder(folder) if folder != "/net/dead" or is_over.wait(LIMIT) else folder

    monkeypatch.setattr("companion.chats.chats.real_folder", hanging)
    monkeypatch.setattr("companion.chats.chats.FOLDER_LIMIT", 0.05)
    script = """
def initialize(params):
    abilities = {"sessionCapabilities": {"additionalDirectories": {}}}
    return {"protocolVersion": 1, "agentInfo": {"name": "scripted"}, "agentCapabilities": abilities}
def session_new(params):
    say("It has " + " and ".join(params["additionalDirectories"]))
    return {"sessionId": "s"}
"""
    other = tmp_path / "other"
    other.mkdir()
    agent = AgentCommand("Scripted", tuple(scripted(script, tmp_path)))
    async with chatting(project, agent, opens=False) as room:
        folders = str(project), "/net/dead", str(other)
        monkeypatch.setattr(room.chats.windows, "folders_of", lambda _: folders)
        room.chats.open(CHAT, WINDOW, str(project), agent="Scripted")
        await room.shows(f"It has {real_folder(str(other))}")
        assert room.editor.said == [("/net/dead is on a disk that does not answer. The agent does not get it.", 1)]
    is_over.set()


async def test_a_session_in_which_only_a_notice_was_shown_is_not_taken_up_again(project: Path, tmp_path: Path) -> None:
    script = """
def session_new(params):
    raw(b"a line of chatter\\n")
    return {"sessionId": "s"}
def session_load(params):
    raise Failure(-32002, "no such session")
"""
    async with chatting(project, AgentCommand("Scripted", tuple(scripted(script, tmp_path)))) as room:
        await room.shows("Unsupported")
        room.chats[CHAT].reconnect()
        room.say("Hello")
        await room.shows("You said: Hello")
        await until(lambda: room.render.session == "s")
