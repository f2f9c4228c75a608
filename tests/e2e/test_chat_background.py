"""What the agent does in the background, with the real `qwen serve`."""

from __future__ import annotations

import os

import psutil

from .chatting import Chatting, Room
from .model import Call
from .own import kind_of

SECONDS = f"1{os.getpid()}"
"""No other run of these tests waits that long."""


def test_a_command_in_the_background_is_listed_followed_and_stopped(room: Room, chat: Chatting):
    chat.command("chat_mode")
    chat.choose("YOLO")
    command = f"echo hello from behind; sleep {SECONDS}"
    call = Call("run_shell_command", {"command": command, "description": "Wait", "is_background": True})
    chat.ask(room.model.script([call]))
    chat.editor.wait("line in the bar", lambda: f"In the background: {command}" in chat.bars)
    chat.wait_idle()
    chat.command("chat_tasks")
    [item] = chat.wait_question("Background tasks")["items"]
    assert item["trigger"] == command
    chat.choose(command)
    chat.wait_question(command)
    chat.choose("Follow")

    def page() -> str:
        views = [view for view in chat.state["views"] if kind_of(chat.editor.home, view) == "task"]
        return str(views[0]["text"]) if views else ""

    chat.editor.wait("output", lambda: "hello from behind" in page().partition("## Output")[2])
    chat.command("chat_tasks")
    chat.choose(command)
    chat.wait_question(command)
    chat.choose("Stop")
    chat.editor.wait("end", lambda: "In the background" not in chat.bars)
    chat.editor.wait("end on the page", lambda: "State: cancelled" in page())
    chat.editor.wait("end of the process", lambda: not any(map(_is_it, psutil.process_iter())))


def _is_it(process: psutil.Process) -> bool:
    try:
        return process.cmdline() == ["sleep", SECONDS] and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def test_a_sub_agent_in_the_background_is_listed(room: Room, chat: Chatting):
    chat.command("chat_mode")
    chat.choose("YOLO")
    asked = {"description": "Look around", "prompt": "Look", "subagent_type": "general-purpose"}
    chat.ask(room.model.script([Call("agent", asked | {"run_in_background": True})]), until="completed")
    chat.wait_idle()
    chat.command("chat_tasks")
    [item] = chat.wait_question("Background tasks")["items"]
    assert item["trigger"] == "general-purpose: Look around"
    assert item["details"].startswith("completed, ")
    chat.choose(item["trigger"])
    chat.editor.wait(
        "what it said",
        lambda: any(
            "Sub-agent: Look" in view["text"] and "ok" in view["text"].partition("## Output")[2]
            for view in chat.state["views"]
        ),
    )
