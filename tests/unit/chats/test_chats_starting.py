"""What the person does while an agent is started and its session is opened."""

from __future__ import annotations

from pathlib import Path

from companion.agents import AgentCommand
from tests.agent_talk import scripted, until

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
