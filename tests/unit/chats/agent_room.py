"""A window's chat with a scripted agent on its standard input and output."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator, Coroutine
from pathlib import Path
from typing import Any
from unittest.mock import patch

from companion.agents import AgentCommand
from companion.backends.acp.client import AcpAgent
from companion.chats.prompt import Draft
from companion.chats.transcript.render import Render
from companion.clis.environment import LoginEnvironment, without_editors
from companion.settings import DaemonSettings
from tests.agent_talk import until

from ..memory_editor import Diff, MemoryEditor
from ..review.reviewing import NoHost, reviews_in
from .chatting import CHAT, WINDOW, chats_in

EDIT = """
OPTIONS = [{"optionId": "yes", "name": "Allow", "kind": "allow_once"}]
OPTIONS += [{"optionId": "no", "name": "No", "kind": "reject_once"}]
def session_prompt(params):
    text = params["prompt"][-1]["text"]
    if not text.startswith("["):
        say("You said: " + "".join(block.get("text", "") for block in params["prompt"]))
        return {"stopReason": "end_turn"}
    path, old, new = json.loads(text)
    call = {"toolCallId": "t", "title": "Edit", "kind": "edit", "status": "pending"}
    call["content"] = [{"type": "diff", "path": path, "oldText": old, "newText": new}]
    answer = ask("session/request_permission", toolCall=call, options=OPTIONS)
    if answer["outcome"].get("optionId") == "yes":
        ask("fs/write_text_file", path=path, content=new)
    say("Done.")
    return {"stopReason": "end_turn"}
def session_load(params):
    say("before", "user_message_chunk"); say("as before")
    return {}
"""


async def own_environment(_: LoginEnvironment) -> dict[str, str]:
    """The variables of this process, instead of those of a login shell."""
    return without_editors(os.environ)


class Room:
    """Window 1 with a chat of a scripted agent."""

    def __init__(self, folder: str, *agents: AgentCommand) -> None:
        self.editor = MemoryEditor(windows={1: (folder,)})
        self.folder = folder
        self.tasks: set[asyncio.Task[Any]] = set()
        self.host = NoHost()
        self.reviews = reviews_in(self.editor, self.background, self.host)
        self.chats = chats_in(self.editor, self.reviews)
        self.configure(*agents)

    def configure(self, *agents: AgentCommand) -> None:
        """Set the agents."""
        self.chats.configure(DaemonSettings(agents=agents))

    @property
    def agent_pid(self) -> int:
        """The number of the agent's process."""
        connection = self.chats[CHAT].connection
        client = connection._unsigned or connection.connected[0]
        assert isinstance(client, AcpAgent)
        process = client.process
        assert process
        return process.pid

    @property
    def command(self) -> str:
        """What the agent was started with."""
        client, _ = self.chats[CHAT].connection.connected
        assert isinstance(client, AcpAgent)
        return " ".join(client.command.command)

    def background(self, work: Coroutine[Any, Any, object]) -> asyncio.Task[object]:
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    @property
    def render(self) -> Render:
        return self.editor.renders[1][-1]

    @property
    def text(self) -> str:
        return self.editor.chat_texts.get(1, "")

    async def state(self, state: str) -> str:
        """Wait until the connection is in a state, and return what it says."""
        await until(lambda: self.editor.renders.get(1) and self.render.status.connection.state == state)
        return self.render.status.connection.message

    async def shows(self, text: str) -> None:
        await until(lambda: text in self.text)

    async def diff(self) -> Diff:
        await until(lambda: self.editor.open_diffs)
        [diff] = self.editor.open_diffs.values()
        return diff

    def say(self, words: str) -> None:
        self.chats.send(CHAT, Draft(words))


@contextlib.asynccontextmanager
async def chatting(folder: Path, *agents: AgentCommand, opens: bool = True) -> AsyncGenerator[Room]:
    room = Room(str(folder), *agents)
    before = asyncio.all_tasks()
    try:
        with patch.object(LoginEnvironment, "get", own_environment):
            if opens:
                room.chats.open(CHAT, WINDOW, str(folder), agent=agents[0].name)
                await room.state("live")
            yield room
    finally:
        await room.chats.stop(hand_over=False)
        await until(lambda: not (asyncio.all_tasks() - before - room.tasks))
