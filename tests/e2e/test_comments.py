"""Comments at lines on their way to a model, through `qwen serve` and two agents on standard input and output."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import pytest

from .chatting import Chatting
from .chatting import Room as DaemonRoom
from .editor import Editor
from .model import Script
from .qwen import Home
from .test_acp import Agents, agent, done
from .test_chat_agents import Room as AgentRoom

__all__ = ["agent", "done"]
pytestmark = pytest.mark.usefixtures("programs")

LINES = ["def f(x):\treturn `x`", "# ``` \u05e9\u05dc\u05d5\u05dd \U0001f600", "y = 'caf\u00e9'"]
ODD = "why `x` and ``` here?\nsecond line \U0001f600 \u05e9\u05dc\u05d5\u05dd"


@pytest.fixture
def agent_room(agent: Agents) -> Iterator[AgentRoom]:
    room = AgentRoom(agent)
    yield room
    room.close()


def write(editor: Editor, home: Home, tag: str, window: int) -> list[tuple[str, str]]:
    """Three comments in two files, one of which has CRLF. Returns the words and the lines of each."""
    said = ["use the helper in money.py", ODD, f"and this {tag}"]
    home.workspace.joinpath("one.py").write_bytes("\n".join(LINES).encode())
    home.workspace.joinpath("my notes.txt").write_bytes(b"note 1\r\nnote 2\r\n")
    places: Sequence[tuple[str, int]] = [("one.py", 0), ("one.py", len(LINES[0]) + 1), ("my notes.txt", 0)]
    for words, (name, start) in zip(said, places, strict=True):
        view = editor.open_file(home.workspace / name, window=window)
        editor.do("select", view=view, regions=[[start, start]])
        editor.do("command", name="qwen_companion_comment", args={"text": words}, view=view)
    return list(zip(said, [LINES[0], LINES[1], "note 1"], strict=True))


def starts(text: str) -> list[int]:
    """Where the lines of a text begin."""
    found = [0]
    for line in text.splitlines(keepends=True)[:-1]:
        found.append(found[-1] + len(line))
    return found


def arrive(chat: Chatting, room: DaemonRoom | AgentRoom, script: Script, comments: Sequence[tuple[str, str]]) -> None:
    """The person sees the comments in the prompt; the model gets each word and each line after Enter."""
    chat.editor.wait("comments in the prompt", lambda: script.tag in chat.prompt)
    assert all(words in chat.prompt for words, _ in comments)
    assert all(f"with {name}" in chat.bars for name in ("one.py:1", "one.py:2", "my notes.txt:1"))
    assert not room.model.requests_of(script), "nothing is sent before Enter"
    chat.press("enter")
    chat.wait_text(script.done)
    chat.wait_idle()
    prompt = room.model.requests_of(script)[0].last_user_text()
    for words, line in comments:
        assert words in prompt
        assert line in prompt


def test_they_reach_the_model_through_qwen_serve_byte_for_byte(room: DaemonRoom, chat: Chatting):
    script = room.model.script()
    comments = write(chat.editor, room.home, script.tag, chat.window)
    chat.command("send_comments")
    arrive(chat, room, script, comments)


def test_two_hundred_at_once_reach_the_model(room: DaemonRoom, chat: Chatting):
    path = room.home.write("long.py", "".join(f"line = {number}\n" for number in range(200)))
    script = room.model.script()
    view = chat.editor.open_file(path, window=chat.window)
    for number, start in enumerate(starts(path.read_text(encoding="utf-8"))):
        chat.editor.do("select", view=view, regions=[[start, start]])
        words = f"comment {number} {script.tag if number == 199 else ''}"
        chat.editor.do("command", name="qwen_companion_comment", args={"text": words}, view=view)
    chat.command("send_comments")
    chat.editor.wait("comments in the prompt", lambda: script.tag in chat.prompt)
    assert "and 188 more" in chat.bars
    chat.press("enter")
    chat.wait_text(script.done)
    chat.wait_idle()
    prompt = room.model.requests_of(script)[0].last_user_text()
    assert [number for number in range(200) if f"comment {number}" not in prompt] == []
    assert [number for number in range(200) if f"line = {number}" not in prompt] == []


def test_they_reach_the_model_through_an_agent_byte_for_byte(agent_room: AgentRoom):
    room, chat = agent_room, agent_room.chat()
    script = room.model.script()
    comments = write(room.editor, room.home, script.tag, chat.window)
    chat.command("send_comments")
    arrive(chat, room, script, comments)


def test_a_rejection_takes_its_comments_to_the_agent(agent_room: AgentRoom):
    room, chat = agent_room, agent_room.chat()
    path = room.home.write("a.py", "x = 1\n")
    script, answer = room.agent.changes(path, "x = 1", "x = 2"), room.model.script()
    chat.ask(script)
    proposal = room.editor.wait_diff(path)["id"]
    room.editor.do("command", name="qwen_companion_comment", args={"text": f"use y {answer.tag}"}, view=proposal)
    room.editor.do("command", name="qwen_companion_reject_with_comments", view=proposal)
    room.editor.wait("request with the comment", lambda: room.model.requests_of(answer))
    chat.wait_idle()
    assert path.read_text() == "x = 1\n"
    told = json.dumps([request.body for request in room.model.requests_of(answer)])
    assert f"use y {answer.tag}" in told
    assert "x = 2" in told
