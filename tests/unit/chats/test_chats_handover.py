"""A reload of the package in the middle of a turn: the agent goes on, and nothing is lost."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psutil
import pytest

from companion.agents import AgentCommand
from companion.backends.acp.process import Child, resume_child
from companion.backends.children import end_group
from companion.chats.chat import plain, restored
from companion.chats.chats import Chats
from companion.chats.prompt import Draft, Excerpt
from companion.clis.environment import LoginEnvironment
from companion.conversation.conversation import Conversation
from companion.conversation.snapshot import ChatNotice, Message, Tool
from companion.editor import WindowId
from companion.review.review import Unclaimed
from tests.agent_talk import scripted, until

from ..conversation.test_conversation import WHOLE
from .agent_room import Room, own_environment
from .chatting import CHAT, WINDOW, LoneWindows

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a pipe belongs to the loop that has read from it")
SCRIPT = """
OPTIONS = [{"optionId": "yes", "name": "Allow", "kind": "allow_once"}]
loads = []
def notified(method):
    return any(each.get("method") == method for each in seen)
def wait_for(name):
    while not os.path.exists(sys.argv[1] + name): time.sleep(0.001)
def session_load(params):
    say("It was loaded."); return {}
def session_prompt(params):
    text = params["prompt"][-1]["text"]
    say("Begin " + text + ". ")
    if text == "slow":
        wait_for(".go")
        say("Middle. ")
    if text == "half":
        line = json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": {
            "sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "é in half a line. "}}}},
            ensure_ascii=False).encode()
        at = line.index("é".encode()) + 1
        raw(line[:at])
        open(sys.argv[1] + ".half", "w").close()
        wait_for(".go")
        raw(line[at:] + b"\\n")
    if text == "ask":
        call = {"toolCallId": "t", "title": "Do it", "kind": "other", "status": "pending"}
        answer = ask("session/request_permission", toolCall=call, options=OPTIONS)
        say(json.dumps(answer))
    if text == "change":
        diff = {"type": "diff", "path": os.path.join(os.getcwd(), "a.txt"), "oldText": "", "newText": "new\\n"}
        call = {"toolCallId": "c", "title": "Change it", "kind": "edit", "status": "pending", "content": [diff]}
        say(json.dumps(ask("session/request_permission", toolCall=call, options=OPTIONS)))
    if text == "terminal":
        code = "import sys; print('one é', flush=True); sys.stdin.close(); import time, os\\n"
        code += f"while not os.path.exists({sys.argv[1]!r} + '.go'): time.sleep(0.001)\\nprint('two')"
        made = ask("terminal/create", command=sys.executable, args=["-c", code])
        update(sessionUpdate="tool_call", toolCallId="t", title="Run", content=[{"type": "terminal", **made}])
        ended = ask("terminal/wait_for_exit", **made)
        say(json.dumps([ended, ask("terminal/output", **made)["output"]]))
    if text == "cancel":
        while not notified("session/cancel"): time.sleep(0.001)
        return {"stopReason": "cancelled"}
    if text == "die":
        wait_for(".go")
        os._exit(1)
    say("End.")
    return {"stopReason": "end_turn"}
"""
LONG = 5.0
"""Seconds that the login shell may take, but no reload."""


class Reloads:
    """A window whose package is loaded again."""

    def __init__(self, project: Path, tmp_path: Path, script: str) -> None:
        self.project = project
        self.script = tmp_path / "script.py"
        self.agent = AgentCommand("Scripted", tuple(scripted(script, tmp_path)))
        self.room = self.begin()
        self.left: dict[WindowId, dict[str, Any]] = {}

    def begin(self) -> Room:
        return Room(str(self.project), self.agent)

    def open(self) -> None:
        self.room.chats.open(CHAT, WINDOW, str(self.project), agent="Scripted")

    async def unload(self) -> dict[str, Any]:
        self.left = await self.room.chats.stop(hand_over=True)
        return self.left[WindowId(1)]["chats"][1]

    async def unload_in_a_turn(self) -> int:
        """Unload the package while the agent works. Returns the agent's pid."""
        self.room.say("slow")
        await self.room.shows("Begin slow.")
        pid = self.room.agent_pid
        await self.unload()
        return pid

    def load(self) -> None:
        """The next instance, in which nothing of the last one is left."""
        self.room = self.begin()
        self.room.chats.inherit(self.left, {WindowId(1): None})
        self.open()

    async def reload(self) -> None:
        await self.unload()
        self.load()
        await self.room.state("live")

    def go(self) -> None:
        Path(f"{self.script}.go").touch()

    async def wrote(self, name: str) -> None:
        await until(lambda: Path(f"{self.script}{name}").exists())


@contextlib.asynccontextmanager
async def reloads(project: Path, tmp_path: Path, script: str = SCRIPT) -> AsyncGenerator[Reloads]:
    with patch.object(LoginEnvironment, "get", own_environment):
        there = Reloads(project, tmp_path, script)
        there.open()
        try:
            await there.room.state("live")
            yield there
        finally:
            await there.room.chats.stop(hand_over=False)


@pytest.fixture
def there(project: Path, tmp_path: Path) -> AbstractAsyncContextManager[Reloads]:
    return reloads(project, tmp_path)


async def test_a_turn_goes_on_in_the_same_process(there: Reloads) -> None:
    there.room.say("first")
    await there.room.shows("Begin first. End.")
    there.room.say("slow")
    await there.room.shows("Begin slow.")
    pid = there.room.agent_pid
    await there.reload()
    assert there.room.agent_pid == pid
    assert "Begin first. End." in there.room.text
    assert there.room.render.status.running
    there.go()
    await there.room.shows("Begin slow. Middle. End.")
    await until(lambda: not there.room.render.status.running)
    there.room.say("after")
    await there.room.shows("Begin after. End.")
    assert "It was loaded" not in there.room.text
    assert "Unsupported" not in there.room.text


async def test_what_comes_between_two_instances_is_read_by_the_next_one(there: Reloads) -> None:
    there.room.say("half")
    await there.wrote(".half")
    await there.unload()
    there.go()
    await asyncio.sleep(0)
    there.load()
    await there.room.shows("Begin half. é in half a line. End.")
    assert "Unsupported" not in there.room.text


async def test_a_question_is_asked_again_and_its_answer_reaches_the_agent(there: Reloads) -> None:
    there.room.say("ask")
    await until(lambda: there.room.editor.renders.get(1) and there.room.render.asks)
    before = there.room.render.asks[0].permission.id
    await there.reload()
    await until(lambda: there.room.editor.renders.get(1) and there.room.render.asks)
    [ask] = there.room.render.asks
    assert ask.permission.id != before
    there.room.chats.tell(CHAT, lambda own: own.approvals.give(ask.permission.id, "yes"))
    await there.room.shows('"optionId": "yes"')
    await there.room.shows("End.")
    assert there.room.text.count("Do it") == 1


@pytest.mark.parametrize("is_answered_between", [False, True])
async def test_the_diff_of_a_question_stays_and_its_answer_reaches_the_agent(
    there: Reloads, is_answered_between: bool
) -> None:
    """The chat asks again after the reload, and goes on with the diff from before instead of showing another one."""
    there.room.say("change")
    await until(lambda: there.room.editor.open_diffs)
    before, reviews = there.room.editor, there.room.reviews
    reviews.leaving()
    before.leave()
    await there.unload()
    there.room = there.begin()
    there.room.editor.open_diffs = before.open_diffs
    there.room.reviews.inherit(reviews.hand_over()[WindowId(1)], lambda one: Unclaimed(WindowId(1), one["cli"]))
    await there.room.reviews.resume()
    [(number, diff)] = there.room.editor.open_diffs.items()
    if is_answered_between:
        there.room.reviews.accept(number, diff.text)
    there.room.chats.inherit(there.left, {WindowId(1): None})
    there.open()
    if not is_answered_between:
        await until(lambda: not isinstance(diff.review.owner, Unclaimed))
        assert there.room.editor.seen == []
        there.room.reviews.accept(number, diff.text)
    await there.room.shows('"optionId": "yes"')
    await there.room.shows("End.")
    assert there.room.editor.open_diffs == {}


async def test_a_terminal_runs_on_with_what_it_has_printed(there: Reloads) -> None:
    there.room.say("terminal")
    await until(lambda: there.room.render.running)
    await there.room.shows("one é")
    await there.reload()
    assert there.room.render.running
    there.go()
    await there.room.shows(json.dumps([{"exitCode": 0, "signal": None}, "one é\ntwo\n"]))
    await until(lambda: not there.room.render.running)


async def test_what_waits_for_its_turn_still_does_and_comes_back_if_the_agent_dies(there: Reloads) -> None:
    there.room.say("die")
    await there.room.shows("Begin die.")
    there.room.say("later")
    await until(lambda: there.room.render.status.queue and not there.room.render.unsent)
    await there.reload()
    await until(lambda: [each.text for each in there.room.render.status.queue] == ["later"])
    assert there.room.editor.returned == []
    there.go()
    await there.room.state("lost")
    await until(lambda: there.room.editor.returned)
    assert there.room.editor.returned[0][1] == Draft("later")


async def test_a_prompt_of_which_the_chat_has_read_nothing_yet_comes_back_if_the_agent_dies(there: Reloads) -> None:
    there.room.say("die")
    await there.room.shows("Begin die.")
    draft = Draft("later", (Excerpt("file:///w/b.py#L1", "b.py:1", "x"),))
    there.room.chats.send(CHAT, draft)
    await until(lambda: there.room.render.status.queue and not there.room.render.unsent)
    # As if the event was still to be read.
    with patch.object(Conversation, "is_queued", return_value=False), patch.object(Conversation, "has", in_turns):
        await there.unload()
    there.load()
    await there.room.state("live")
    there.go()
    await there.room.state("lost")
    await until(lambda: there.room.editor.returned)
    assert there.room.editor.returned[0][1] == draft


def in_turns(conversation: Conversation, prompt: str) -> bool:
    return prompt in {turn.key for turn in conversation.turns}


async def test_what_waits_for_its_turn_since_before_a_reload_is_taken_back_whole(there: Reloads) -> None:
    there.room.say("cancel")
    await there.room.shows("Begin cancel.")
    draft = Draft("later", (Excerpt("file:///w/b.py#L1", "b.py:1", "x"),))
    there.room.chats.send(CHAT, draft)
    await until(lambda: there.room.render.status.queue and not there.room.render.unsent)
    await there.reload()
    [queued] = there.room.render.status.queue
    there.room.chats.tell(CHAT, lambda own: own.dequeue(queued.id))
    await until(lambda: there.room.editor.returned)
    assert there.room.editor.returned == [(CHAT, draft, "It was removed from the queue.")]


async def test_a_turn_is_cancelled_after_a_reload(there: Reloads) -> None:
    there.room.say("cancel")
    await there.room.shows("Begin cancel.")
    await there.reload()
    there.room.chats.tell(CHAT, lambda own: own.cancel())
    await until(lambda: there.room.render.status.last == "cancelled")


async def test_a_cancel_that_the_agent_does_not_heed_is_not_forgotten(
    there: Reloads, monkeypatch: pytest.MonkeyPatch
) -> None:
    there.room.say("slow")
    await there.room.shows("Begin slow.")
    there.room.chats.tell(CHAT, lambda own: own.cancel())
    await there.room.shows("Cancelling…")
    await there.unload()
    monkeypatch.setattr("companion.backends.acp.prompts.CANCEL_LIMIT", 0.1)
    there.load()
    assert "didn't answer" in await there.room.state("lost")


async def test_two_reloads_in_a_row_and_one_before_the_chat_is_shown_lose_nothing(there: Reloads) -> None:
    pid = await there.unload_in_a_turn()
    there.room = there.begin()
    there.room.chats.inherit(there.left, {WindowId(1): None})
    # The chat's tab was not on the screen.
    await there.unload()
    there.load()
    await there.room.state("live")
    await there.reload()
    assert there.room.agent_pid == pid
    waiting = [thread for thread in threading.enumerate() if thread.name == "qwen-companion-child"]
    assert len(waiting) == 1
    there.go()
    await there.room.shows("Begin slow. Middle. End.")


@pytest.mark.parametrize(("shell", "pipes"), [(LONG, 0.0), (0.0, 0.05)], ids=["its shell is asked", "it is connected"])
async def test_an_agent_that_is_being_taken_up_goes_on_over_another_reload(
    there: Reloads, shell: float, pipes: float
) -> None:
    there.room.say("slow")
    await there.room.shows("Begin slow.")
    there.room.say("next")
    await until(lambda: there.room.render.status.queue and not there.room.render.unsent)
    pid = there.room.agent_pid
    await there.unload()
    is_held_up = asyncio.Event()

    async def pause(seconds: float) -> None:
        if seconds:
            is_held_up.set()
            await asyncio.sleep(seconds)

    async def get(login: LoginEnvironment) -> dict[str, str]:
        await pause(shell)
        return await own_environment(login)

    async def resume(left: Any) -> Child:
        child = await resume_child(left)
        await pause(pipes)
        return child

    with patch.object(LoginEnvironment, "get", get), patch("companion.backends.acp.process.resume_child", resume):
        there.load()
        await is_held_up.wait()
        async with asyncio.timeout(LONG / 2):
            left = await there.unload()
    assert left["has_turn"]
    there.load()
    await there.room.state("live")
    assert there.room.agent_pid == pid
    there.go()
    await there.room.shows("Begin slow. Middle. End.")
    await there.room.shows("Begin next. End.")
    assert there.room.editor.returned == []
    assert "It was loaded" not in there.room.text


async def test_an_agent_that_can_not_be_taken_up_is_not_handed_on_half_taken(there: Reloads, stormy: object) -> None:
    """Another reload comes before that is known."""
    pid = await there.unload_in_a_turn()
    del there.left[WINDOW]["chats"][1]["process"]["is_cancelling"]  # the last that is looked at
    is_held_up = asyncio.Event()

    async def resume(left: Any) -> Child:
        child = await resume_child(left)
        is_held_up.set()
        await asyncio.sleep(0.05)
        return child

    with patch("companion.backends.acp.process.resume_child", resume):
        there.load()
        await is_held_up.wait()
        left = await there.unload()
    assert (left["process"], left["session"]) == (None, "s")
    await until(lambda: not psutil.pid_exists(pid))
    there.load()
    await there.room.shows("It was loaded.")


async def test_an_agent_that_nobody_takes_over_is_ended(there: Reloads) -> None:
    pid = await there.unload_in_a_turn()
    await asyncio.to_thread(Chats.end_inherited, there.left[WindowId(1)])
    await until(lambda: not psutil.pid_exists(pid))
    there.room = there.begin()


async def test_the_agent_ends_with_its_window_after_a_reload(there: Reloads) -> None:
    pid = await there.unload_in_a_turn()
    there.room = there.begin()
    there.room.chats.inherit(there.left, {})
    await until(lambda: not psutil.pid_exists(pid))


async def test_the_agent_ends_with_its_tab_even_if_nobody_has_looked_at_that_since_a_reload(there: Reloads) -> None:
    pid = await there.unload_in_a_turn()
    there.room = there.begin()
    there.room.chats.inherit(there.left, {WindowId(1): None})
    there.room.chats.close(CHAT)
    await until(lambda: not psutil.pid_exists(pid))


@pytest.mark.parametrize("spoils", ["process", "conversation"])
async def test_what_another_version_has_left_in_another_form_is_loaded_by_the_agent(
    there: Reloads, spoils: str, stormy: object
) -> None:
    there.room.say("first")
    await there.room.shows("Begin first. End.")
    pid = there.room.agent_pid
    left = await there.unload()
    if spoils == "process":
        del left["process"]["settings"]
    else:
        left["conversation"] = {"turns": [{"other": 1}]}
    there.load()
    await there.room.shows("It was loaded.")
    await there.room.state("live")
    await until(lambda: not psutil.pid_exists(pid))
    assert there.room.agent_pid != pid


@pytest.mark.parametrize("how", ["it is in another form", "its tab is closed"])
async def test_the_token_of_an_agent_that_is_not_taken_over_is_worth_nothing(
    there: Reloads, how: str, stormy: object
) -> None:
    left = await there.unload()
    there.room = there.begin()
    left["process"]["offered"] = ("http://127.0.0.1:1/mcp", "secret")
    if how == "it is in another form":
        del left["process"]["settings"]
    with patch.object(LoneWindows, "dismiss_agent") as dismissed:
        there.room.chats.inherit(there.left, {WindowId(1): None})
        if how == "its tab is closed":
            there.room.chats.close(CHAT)
        else:
            there.open()
            await there.room.state("live")
        dismissed.assert_called_once_with(WINDOW, "secret")


async def test_another_command_of_the_agent_is_started_anew(there: Reloads) -> None:
    there.room.say("first")
    await there.room.shows("Begin first. End.")
    pid = there.room.agent_pid
    await there.unload()
    there.agent = AgentCommand("Scripted", (*there.agent.command, "more"))
    there.load()
    await there.room.shows("It was loaded.")
    await until(lambda: not psutil.pid_exists(pid))


async def test_a_chat_whose_agent_goes_on_is_taken_up_at_once_wherever_its_tab_is(there: Reloads) -> None:
    """A question in a hidden tab is noticed. One that nobody works for waits for a look."""
    there.room.say("first")
    await there.room.shows("Begin first. End.")
    assert not (await there.unload())["has_turn"]
    there.load()
    assert there.room.editor.taken_up == [1]
    await there.room.state("live")
    there.room.say("ask")
    await there.room.shows("Do it")
    left = await there.unload()
    assert left["has_turn"]
    there.load()
    assert there.room.editor.taken_up == [1]
    await until(lambda: there.room.editor.renders.get(1) and there.room.render.asks)
    assert sys.platform != "win32"
    os.kill(there.room.agent_pid, signal.SIGKILL)
    await there.room.state("lost")
    left = await there.unload()
    # It has ended: whoever looks at the chat starts it again.
    assert (left["process"], left["has_turn"]) == (None, False)
    there.load()
    assert there.room.editor.taken_up == []


async def test_a_chat_that_nobody_has_opened_since_a_reload_is_taken_up_after_the_next_one(there: Reloads) -> None:
    await there.unload_in_a_turn()
    for _ in range(2):
        there.room = there.begin()
        there.room.chats.inherit(there.left, {WindowId(1): None})
        assert there.room.editor.taken_up == [1]
        left = await there.unload()
        assert left["has_turn"]
    there.load()
    there.go()
    await there.room.shows("Middle. End.")


async def test_no_file_descriptor_is_left_by_many_reloads(there: Reloads) -> None:
    there.room.say("first")
    await there.room.shows("Begin first. End.")
    await there.reload()
    before = len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0
    for _ in range(5):
        await there.reload()
    after = len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0
    assert after <= before + 2


def test_a_conversation_is_the_same_as_plain_data():
    for before in (Conversation(), WHOLE):
        conversation = restored(plain(before))
        assert conversation
        assert conversation.turns == before.turns
        assert conversation.prompts == before.prompts
    assert {type(item) for turn in WHOLE.turns for item in turn.items} == {Message, Tool, ChatNotice}
    assert restored({}) is None
    assert restored({**plain(WHOLE), "turns": [{"key": "p"}]}) is None


@pytest.mark.parametrize(("name", "value"), [("speaker", "nobody"), ("status", None)], ids=["a message", "a call"])
def test_an_item_in_another_form_is_not_taken_for_a_line_of_the_chat(name: str, value: object):
    left = plain(WHOLE)
    next(item for turn in left["turns"] for item in turn["items"] if name in item)[name] = value
    assert restored(left) is None


def test_a_process_that_has_got_the_number_of_one_that_ended_is_left_alone():
    """Its group was killed when the agent was closed that had had its number."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True) as other:
        made = psutil.Process(other.pid).create_time()
        for started in (made - 60, None):
            end_group(other.pid, started, 0)
        assert other.poll() is None
        end_group(other.pid, made, 0)
        assert sys.platform != "win32"
        assert other.wait(10) == -signal.SIGKILL
