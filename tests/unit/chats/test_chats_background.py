"""What the agent does in the background: listed, followed, stopped."""

from __future__ import annotations

import json
import time
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from companion.chats import connection
from companion.conversation.failures import ChatError
from companion.conversation.snapshot import Task

from ..fake_daemon import Request, until
from .chatting import CHAT, Room, live

TASKS = "GET /session/s/tasks"


def shell(number: int = 1, status: str = "running", **more: Any) -> dict[str, Any]:
    """A command in the background, as the daemon tells it."""
    ended = {} if status == "running" else {"endTime": 62_500}
    about = {"kind": "shell", "id": f"bg{number}", "label": "make", "command": "make all", "startTime": 1000}
    return about | {"status": status} | ended | more


def agent(status: str = "completed", **more: Any) -> dict[str, Any]:
    """A sub-agent."""
    about = {"kind": "agent", "id": "a1", "label": "explorer: Look", "prompt": "Look around", "startTime": 5000}
    return about | {"status": status, "endTime": 8000, "stats": {"totalTokens": 15}} | more


def attached(project: Path, *features: str, is_here: bool = True, **routes: Any) -> AbstractAsyncContextManager[Room]:
    """A room with a live chat, on a daemon that knows tasks; `routes` by the ends of their names."""
    answers = {
        f"GET /session/s/{name}": answer if callable(answer) else (200, {"tasks": answer})
        for name, answer in routes.items()
    }
    return live(project, *(features or ["session_tasks"]), routes=answers, is_here=is_here)


async def test_the_list_is_looked_at_when_events_concern_it_and_while_something_runs(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "TASKS_STEP", 0.01)
    monkeypatch.setattr(connection, "TASKS_PAUSE", 0.01)
    answers: list[list[Any]] = [[]]
    async with attached(project, tasks=lambda _: (200, {"tasks": answers[-1]})) as room:
        await room.asked(TASKS)
        room.stream.say(1, "Hello")
        await until(lambda: "Hello" in room.editor.chat_texts[1])
        assert len(room.daemon.asked(TASKS)) == 1
        answers.append([shell(), agent()])
        room.stream.send("turn_complete", 2, "p", stopReason="end_turn")
        await until(lambda: room.render.status.tasks)
        first, second = room.render.status.tasks
        assert (first.id, first.title, first.about, first.is_running, first.seconds) == (
            "bg1", "make", "make all", True, None,
        )  # fmt: skip
        assert (second.kind, second.seconds, second.tokens, second.duration) == ("agent", 3.0, 15, "3 s")
        asked = len(room.daemon.asked(TASKS))
        await room.asked(TASKS, asked + 3)  # without any event
        answers.append([shell(status="completed")])
        await until(lambda: not any(task.is_running for task in room.render.status.tasks))
        assert room.render.status.tasks[0].duration == "1 min 2 s"


@pytest.mark.parametrize(
    "event",
    [
        {"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed"},
        {
            "sessionUpdate": "agent_message_chunk",
            "content": {"type": "text", "text": "It is done."},
            "_meta": {"qwenDiscreteMessage": True, "source": "background_notification"},
        },
    ],
)
async def test_a_tool_and_a_notice_of_a_task_are_looked_after(
    project: Path, monkeypatch: pytest.MonkeyPatch, event: dict[str, Any]
) -> None:
    monkeypatch.setattr(connection, "TASKS_PAUSE", 0.01)
    async with attached(project, tasks=[]) as room:
        await room.asked(TASKS)
        room.stream.send("session_update", 1, "p", update=event)
        await room.asked(TASKS, 2)


async def test_a_daemon_without_tasks_is_not_asked_for_them(project: Path) -> None:
    async with attached(project, "session_list") as room:
        room.stream.send("turn_complete", 1, "p", stopReason="end_turn")
        with pytest.raises(ChatError, match="This Qwen Code can't list what runs in the background"):
            await room.chats[CHAT].tasks.all()
        assert room.daemon.asked(TASKS) == []


async def test_a_failure_of_the_list_leaves_the_chat_alone(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "TASKS_PAUSE", 0.01)
    async with attached(project, tasks=[]) as room:
        for number, answer in enumerate([(500, {"error": "no"}), (200, {"tasks": [{"id": 1}]}), (200, {})], 1):
            room.daemon.routes[TASKS] = answer
            room.stream.send("turn_complete", number, "p", stopReason="end_turn")
            await room.asked(TASKS, number + 1)
        assert room.connection.state == "live"


async def test_what_runs_comes_first_then_the_latest_with_the_sub_agents_of_before(project: Path) -> None:
    tasks = [shell(), shell(2, "failed"), agent(label="newer than the other list")]
    agents = [agent(), agent(id="old", startTime=9000)]
    async with attached(project, "session_tasks", "session_agents", tasks=tasks, agents=agents) as room:
        assert [task.id for task in await room.chats[CHAT].tasks.all()] == ["bg1", "old", "a1", "bg2"]


@pytest.mark.parametrize(("cancelled", "words"), [(True, "make is stopped."), (False, "make has ended already.")])
async def test_a_task_is_stopped(project: Path, cancelled: bool, words: str) -> None:
    stopped: list[Any] = []

    def cancel(request: Request) -> tuple[int, Any]:
        stopped.append(request.body)
        return 200, {"cancelled": cancelled}

    async with attached(
        project, tasks=lambda _: (200, {"tasks": [shell(status="cancelled" if stopped else "running")]})
    ) as room:
        room.daemon.routes["POST /session/s/tasks/bg1/cancel"] = cancel
        [task] = await room.chats[CHAT].tasks.all()
        assert await room.chats[CHAT].tasks.stop(task) == words
        assert stopped == [{"kind": "shell"}]
        await until(lambda: [task.status for task in room.render.status.tasks] == ["cancelled"])


# Following


async def test_the_page_of_a_command_has_the_end_of_its_output(project: Path, tmp_path: Path) -> None:
    output = tmp_path / "output"
    output.write_bytes(b"early\n" * 20_000 + b"\x1b[31mlate\x1b[0m \xff\n")
    async with attached(project, tasks=[shell(outputFile=str(output))]) as room:
        text, is_running = await room.chats[CHAT].tasks.page("bg1")
        assert is_running
        assert text.startswith("# make\n\n- Command: make all\n- State: running, ")
        assert "\n## Output\n\nearly\n" in text
        assert text.endswith("early\nlate \ufffd\n")
        assert len(text) < 70_000


async def test_the_page_of_a_sub_agent_has_what_it_said_and_called(project: Path, tmp_path: Path) -> None:
    output = tmp_path / "agent.jsonl"
    parts = [{"text": "I look.\x07\nCarefully."}, {"functionCall": {"name": "grep_search"}}, {"text": " "}, 7]
    records = [{"message": {"parts": parts}}, {"type": "system"}, [1], {"message": {"parts": "none"}}]
    output.write_text(
        "\n".join(
            [*map(json.dumps, records), '{"half'],
        ),
        encoding="utf-8",
    )
    async with attached(project, tasks=[agent("failed", error="no\nmore", outputFile=str(output))]) as room:
        text, is_running = await room.chats[CHAT].tasks.page("a1")
        assert not is_running
        assert "- Sub-agent: Look around\n- State: failed, 3 s\n- Tokens: 15\n- Error: no more\n" in text
        assert text.endswith("## Output\n\nI look.\nCarefully.\n→ grep_search\n")


@pytest.mark.parametrize(
    ("name", "words"),
    [("none", "The output can't be read: No such file"), ("", "not in a regular file"), ("empty", "Nothing yet.")],
)
async def test_an_output_that_is_not_there_is_said(project: Path, tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "empty").touch()
    async with attached(project, tasks=[shell(outputFile=str(tmp_path / name))]) as room:
        assert words in (await room.chats[CHAT].tasks.page("bg1"))[0]


async def test_the_output_of_a_task_elsewhere_is_not_looked_for_here(project: Path, tmp_path: Path) -> None:
    output = tmp_path / "output"
    output.write_text("of another computer", encoding="utf-8")
    async with attached(project, is_here=False, tasks=[shell(outputFile=str(output))]) as room:
        text, _ = await room.chats[CHAT].tasks.page("bg1")
        assert f"- Output: in {output}, on the machine of the daemon" in text
        assert "of another computer" not in text


async def test_a_task_that_is_gone_is_said(project: Path) -> None:
    async with attached(project, tasks=[]) as room:
        with pytest.raises(ChatError, match="doesn't know this task any more"):
            await room.chats[CHAT].tasks.page("bg1")


def test_a_task_that_runs_has_been_running_until_now():
    assert Task("t", "shell", "make", "running", time.time() - 3600).duration == "1 h 0 min"
    assert Task("t", "shell", "make", "running", time.time() + 3600).duration == "0 s"
