"""An agent that wants a sign-in, for which a file stands."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path

from companion.agents import AgentCommand
from tests.agent_talk import scripted

from ...chats.agent_room import Room, chatting
from ...chats.test_chats_handover import Reloads, reloads

SCRIPT = """
import pathlib
def is_in():
    return pathlib.Path(sys.argv[1] + ".in").exists()
def initialize(params):
    assert params["clientCapabilities"]["auth"] == {"terminal": True}
    methods = [{"id": "g", "name": "Google"}, {"id": "bad", "name": "Bad"}, {"broken": 1}]
    return {"protocolVersion": 1, "agentInfo": {"name": "A"}, "authMethods": methods,
            "agentCapabilities": {"loadSession": True}}
def authenticate(params):
    if params["methodId"] == "bad": raise Failure(-32603, "The browser was closed")
    pathlib.Path(sys.argv[1] + ".in").touch()
    return {}
def session_new(params):
    if not is_in(): raise Failure(-32000, "Authentication required")
    return {"sessionId": "s"}
def session_load(params):
    if not is_in(): raise Failure(-32000, "Authentication required")
    say("before", "user_message_chunk"); say("as before")
    return {}
def session_prompt(params):
    text = params["prompt"][0]["text"]
    if text == "out": pathlib.Path(sys.argv[1] + ".in").unlink()
    if not is_in(): raise Failure(-32000, "Authentication required")
    say(text + " of " + str(os.getpid()))
    return {"stopReason": "end_turn"}
"""


class SignIns:
    """Chats with such an agent, and the files by which a test and its script tell each other things."""

    def __init__(self, project: Path, folder: Path) -> None:
        self.project = project
        self.folder = folder
        self.sign_in = self.file("in")

    def file(self, name: str) -> Path:
        """What the script knows as `sys.argv[1] + "." + name`."""
        return self.folder / f"script.py.{name}"

    def agent(self, script: str = SCRIPT) -> AgentCommand:
        return AgentCommand("Scripted", tuple(scripted(script, self.folder)))

    def closed(self, script: str = SCRIPT) -> AbstractAsyncContextManager[Room]:
        """A room whose chat is not opened yet. Nobody has signed in."""
        return chatting(self.project, self.agent(script), opens=False)

    def open(self, script: str = SCRIPT) -> AbstractAsyncContextManager[Room]:
        """A room whose chat is live: the person has signed in."""
        self.sign_in.touch()
        return chatting(self.project, self.agent(script))

    def reloaded(self, script: str = SCRIPT) -> AbstractAsyncContextManager[Reloads]:
        """A live chat whose package can be loaded again."""
        self.sign_in.touch()
        return reloads(self.project, self.folder, script)
