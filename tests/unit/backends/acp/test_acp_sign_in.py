"""Signing in to an agent: what it offers, and that the chat goes on afterwards."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from companion.agents import AgentCommand
from companion.backends import connector, wire
from companion.backends.acp import schema
from companion.backends.acp.client import ways
from companion.backends.acp.errors import AnswerError
from companion.backends.acp.process import STOP_LIMIT, AgentProcess
from companion.backends.agent import Way
from companion.conversation.failures import ChatError, MissingFeatureError, NotConnectedError
from tests.agent_talk import is_alive, scripted, until

from ...chats.agent_room import chatting
from ...chats.chatting import CHAT, WINDOW
from .signing import SCRIPT, SignIns

OWN = AgentCommand("Own", ("own", "--acp"), {"KEY": "k"})


def read(*methods: Mapping[str, Any]) -> tuple[Way, ...]:
    agent = wire.read(schema.Initialized, {"authMethods": list(methods)})
    assert agent
    return ways(OWN, agent.auth_methods)


def test_a_method_of_no_kind_is_the_agents_own():
    assert read({"id": "g", "name": "Google", "description": "Opens a page"}) == (
        Way("g", "Google", "Opens a page", "agent"),
    )


@pytest.mark.parametrize(
    ("command", "terminal"),
    [
        (("own", "acp"), {"command": "opencode", "args": ["login", "now"]}),
        (("own", "--acp", "--stdio"), {"command": "/opt/copilot", "args": ["login", "now"]}),
        (("own",), {"command": "/usr/bin/python", "args": ["/opt/own", "login", "now"]}),
    ],
    ids=["opencode", "copilot", "vibe"],
)
def test_a_login_by_the_convention_of_zed_runs_the_agents_own_program(command: tuple[str, ...], terminal: object):
    method = schema.AuthMethod.model_validate({"id": "t", "name": "T", "_meta": {"terminal-auth": terminal}})
    [way] = ways(AgentCommand("Own", command), (method,))
    assert (way.kind, way.command) == ("terminal", ("own", "login", "now"))


def test_a_login_in_a_terminal_is_the_agents_own_command_with_more_arguments():
    """agentclientprotocol.com, “Authentication Methods”: a method names no program."""
    method = {"id": "t", "type": "terminal", "args": ["login", 1], "env": {"A": "1", "B": 2}, "command": "rm"}
    given = {"A": "1"}
    assert read(method) == (Way("t", "t", "", "terminal", ("own", "--acp", "login"), {"KEY": "k", **given}, given),)


@pytest.mark.parametrize(
    "name",
    ["LD_PRELOAD", "PATH", "path", "HOME", "ZDOTDIR", "NODE_OPTIONS", "BASH_ENV", "GIT_SSH_COMMAND", "A B", "A="],
)
@pytest.mark.parametrize("meta", [{}, {"terminal-auth": {"args": ["login"]}}, {"type": "terminal"}])
def test_a_login_with_variables_that_decide_what_runs_is_refused(name: str, meta: Mapping[str, Any]):
    [way] = read({"id": "t", "type": "terminal", "env": {"A": "1", name: "/evil"}, "_meta": meta})
    assert (way.kind, way.command, way.environment) == ("refused", (), {})
    assert name in way.description


@pytest.mark.parametrize(
    "method",
    [{"args": ["x" * 2000, "y"]}, {"args": ["y"] * 5000}, {"env": {"A": "x" * 3000}}, {"env": {"A" * 129: "1"}}],
)
def test_a_login_that_no_question_could_show_is_refused(method: Mapping[str, Any]):
    [way] = read({"id": "t", "type": "terminal", "description": "x" * 10_000, **method})
    assert (way.kind, way.command, way.environment) == ("refused", (), {})


def test_qwen_code_has_its_login_in_meta_and_runs_without_the_protocol():
    meta = {"type": "terminal", "args": ["--auth-type=openai"]}
    assert read({"id": "openai", "name": "Use OpenAI API key", "_meta": meta}) == (
        Way("openai", "Use OpenAI API key", "", "terminal", ("own", "--auth-type=openai"), {"KEY": "k"}),
    )


def test_variables_are_named_with_what_they_are_for():
    variables = [{"name": "A_KEY", "label": "Key"}, {"name": "A_URL", "optional": True}, {"broken": 1}]
    method = {"id": "v", "type": "env_var", "vars": variables, "link": "https://x/keys"}
    assert read(method)[0].variables == ("A_KEY (Key)", "A_URL, if you like")
    assert read(method)[0].page == "https://x/keys"
    assert read({**method, "link": "file:///etc/passwd"})[0].page == ""


async def test_a_chat_that_wants_a_sign_in_goes_on_with_the_same_process(sign_ins: SignIns, project: Path):
    async with sign_ins.closed() as room:
        with pytest.raises(NotConnectedError):
            await room.chats[CHAT].sign_in.methods()
        room.chats.open(CHAT, WINDOW, str(project), agent="Scripted")
        message = await room.state("lost")
        assert message == (
            "A wants you to sign in. It offers: Google, Bad. Click Sign In, or run “Qwen: Chat: Sign In”."
        )
        assert room.render.status.connection.wants_sign_in
        assert [way.name for way in await room.chats[CHAT].sign_in.methods()] == ["Google", "Bad"]
        pid = room.agent_pid
        with pytest.raises(AnswerError, match="The browser was closed"):
            await room.chats[CHAT].sign_in.authenticate("bad")
        await room.chats[CHAT].sign_in.authenticate("g")
        await room.state("live")
        room.say("Hello")
        await room.shows(f"Hello of {pid}")


async def test_a_sign_in_elsewhere_is_taken_up_by_a_reconnect(sign_ins: SignIns, project: Path):
    async with sign_ins.closed() as room:
        room.chats.open(CHAT, WINDOW, str(project), agent="Scripted")
        await room.state("lost")
        before = room.agent_pid
        sign_ins.sign_in.touch()
        room.chats[CHAT].reconnect()
        await room.state("live")
        room.say("Hello")
        await room.shows("Hello of ")
        assert f"of {before}" not in room.text


async def test_a_conversation_is_loaded_after_the_sign_in(sign_ins: SignIns):
    async with sign_ins.open() as room:
        room.say("Hello")
        await room.shows("Hello of ")
        room.say("out")
        await room.shows("A wants you to sign in.")
        room.chats[CHAT].reconnect()
        await room.state("lost")
        await room.chats[CHAT].sign_in.authenticate("g")
        await room.shows("as before")
        await room.state("live")


async def test_an_agent_gets_the_environment_of_now_after_a_reconnect(project: Path, tmp_path: Path):
    script = """
def session_new(params):
    if "A_KEY" not in os.environ: raise Failure(-32000, "Authentication required")
    return {"sessionId": "s"}
"""
    command = tuple(scripted(script, tmp_path))
    async with chatting(project, AgentCommand("Scripted", command), opens=False) as room:
        room.chats.open(CHAT, WINDOW, str(project), agent="Scripted")
        await room.state("lost")
        assert await room.chats[CHAT].sign_in.methods() == ()
        room.configure(AgentCommand("Scripted", command, {"A_KEY": "1"}))
        room.chats[CHAT].reconnect()
        await room.state("live")
        room.configure(AgentCommand("Scripted", ("another-program",)))
        room.chats[CHAT].reconnect()
        await until(lambda: room.render.status.connection.state == "live")
        assert os.path.basename(command[0]) in room.command


async def test_a_prompt_that_is_refused_waits_for_the_sign_in_and_goes_on(sign_ins: SignIns):
    async with sign_ins.open() as room:
        sign_ins.sign_in.unlink()
        room.say("Hello")
        await room.shows("A wants you to sign in.")
        await until(lambda: room.render.status.connection.wants_sign_in)
        assert room.render.status.connection.state == "live"
        pid = room.agent_pid
        await room.chats[CHAT].sign_in.authenticate("g")
        await room.shows(f"Hello of {pid}")
        await until(lambda: not room.render.status.connection.wants_sign_in)
        assert room.text.count("Hello") == 2  # the prompt and the answer


async def test_an_agent_that_dies_while_a_prompt_waits_for_a_sign_in_is_told(sign_ins: SignIns):
    async with sign_ins.open() as room:
        sign_ins.sign_in.unlink()
        room.say("Hello")
        await until(lambda: room.render.status.connection.wants_sign_in)
        os.kill(room.agent_pid, signal.SIGTERM)
        await until(lambda: room.render.status.connection.state != "live")
        assert room.render.status.last == "failed"
        assert room.render.status.running is None


async def test_a_turn_whose_sign_in_expires_in_the_middle_is_not_done_twice(sign_ins: SignIns):
    script = (
        SCRIPT
        + """
def session_prompt(params):
    text = params["prompt"][0]["text"]
    if text == "half":
        update(sessionUpdate="tool_call", toolCallId="t", title="Pay", status="completed")
        pathlib.Path(sys.argv[1] + ".in").unlink()
    if not is_in(): raise Failure(-32000, "Authentication required")
    say(text + " is answer " + str(sum(each.get("method") == "session/prompt" for each in seen)))
    return {"stopReason": "end_turn"}
"""
    )
    async with sign_ins.open(script) as room:
        room.say("half")
        await room.shows("A wants you to sign in.")
        await until(lambda: room.render.status.last == "failed")
        await room.shows("since a part of it is done. Sign in, then ask A to go on.")
        assert room.render.status.connection.wants_sign_in
        await room.chats[CHAT].sign_in.authenticate("g")
        await until(lambda: not room.render.status.connection.wants_sign_in)
        room.say("go on")
        await room.shows("go on is answer 2")
        assert room.text.count("Pay") == 1


async def test_an_agent_that_also_says_that_it_wants_a_sign_in_gets_the_prompt_again(sign_ins: SignIns):
    script = (
        SCRIPT
        + """
def session_prompt(params):
    if not is_in():
        say("Please run /login.")
        raise Failure(-32000, "Authentication required")
    say("Answered.")
    return {"stopReason": "end_turn"}
"""
    )
    async with sign_ins.open(script) as room:
        sign_ins.sign_in.unlink()
        room.say("Hello")
        await room.shows("Please run /login.")
        await room.shows("A wants you to sign in.")
        assert room.render.status.running is not None
        await room.chats[CHAT].sign_in.authenticate("g")
        await room.shows("Answered.")


async def test_an_authenticate_that_changes_nothing_is_no_success(sign_ins: SignIns):
    script = SCRIPT.replace('pathlib.Path(sys.argv[1] + ".in").touch()\n    return', "return")
    async with sign_ins.open(script) as room:
        sign_ins.sign_in.unlink()
        room.say("Hello")
        await room.shows("A wants you to sign in.")
        await room.chats[CHAT].sign_in.authenticate("g")
        await until(lambda: room.text.count("A wants you to sign in.") == 2)
        assert room.render.status.connection.wants_sign_in
        room.chats.tell(CHAT, lambda own: own.cancel())
        await until(lambda: room.render.status.running is None)


async def test_a_prompt_that_is_refused_is_sent_again_after_a_login_elsewhere(sign_ins: SignIns):
    async with sign_ins.open() as room:
        sign_ins.sign_in.unlink()
        room.say("Hello")
        await room.shows("A wants you to sign in.")
        before = room.agent_pid
        sign_ins.sign_in.touch()
        room.chats[CHAT].reconnect()
        await room.shows("Hello of ")
        assert f"Hello of {before}" not in room.text


async def test_a_prompt_that_waits_for_a_sign_in_is_sent_again_by_reconnect_after_a_reload(sign_ins: SignIns):
    async with sign_ins.reloaded() as there:
        sign_ins.sign_in.unlink()
        there.room.say("Hello")
        await there.room.shows("A wants you to sign in.")
        before = there.room.agent_pid
        for _ in range(2):
            await there.reload()
            await until(lambda: there.room.render.status.connection.wants_sign_in)
        assert there.room.agent_pid == before
        sign_ins.sign_in.touch()
        there.room.chats[CHAT].reconnect()
        await there.room.shows("Hello of ")
        assert f"Hello of {before}" not in there.room.text
        assert there.room.editor.returned == []


async def test_a_start_that_takes_long_says_so_and_can_be_cancelled(
    sign_ins: SignIns, project: Path, monkeypatch: pytest.MonkeyPatch
):
    script = """
print("added 12 packages", file=sys.stderr, flush=True)
def initialize(params):
    time.sleep(600)
"""
    monkeypatch.setattr(connector, "START_STEP", 0.1)
    async with sign_ins.closed(script) as room:
        room.chats.open(CHAT, WINDOW, str(project), agent="Scripted")
        await room.state("connecting")
        assert room.render.status.connection.can_be_cancelled
        await until(lambda: "s): added 12 packages" in room.render.status.connection.message)
        assert room.render.status.connection.can_be_cancelled
        room.chats.tell(CHAT, lambda own: own.cancel())
        assert await room.state("lost") == "The start of Scripted was cancelled. Reconnect to start it."


SLOW = """
def initialize(params):
    open(sys.argv[1] + ".begun", "w").close()
    time.sleep(600)
"""


@pytest.mark.parametrize("then", ["cancel", "close"])
async def test_a_start_that_is_cancelled_twice_still_ends_its_program(sign_ins: SignIns, project: Path, then: str):
    stopping, gate = asyncio.Event(), asyncio.Event()
    ended: list[AgentProcess] = []
    real_stop = AgentProcess.stop

    async def stop(process: AgentProcess, limit: float = STOP_LIMIT) -> None:
        ended.append(process)
        stopping.set()
        await gate.wait()  # here another cancel would cut it short
        await real_stop(process, limit)

    with patch.object(AgentProcess, "stop", stop):
        async with sign_ins.closed(SLOW) as room:
            room.chats.open(CHAT, WINDOW, str(project), agent="Scripted")
            await until(sign_ins.file("begun").exists)
            room.chats.tell(CHAT, lambda own: own.cancel())
            await stopping.wait()
            if then == "cancel":
                room.chats.tell(CHAT, lambda own: own.cancel())
                await asyncio.sleep(0)
                gate.set()
                assert await room.state("lost") == "The start of Scripted was cancelled. Reconnect to start it."
            else:
                gate.set()
    await until(lambda: not is_alive(ended[0].pid))


OUT = (
    SCRIPT.replace('"loadSession": True', '"loadSession": LOADS, "auth": {"logout": {}}')
    + """
def logout(params):
    assert params == {}
    path = pathlib.Path(sys.argv[1] + ".in")
    if path.read_text() == "stays": raise Failure(-32603, "The store is locked")
    path.unlink()
    return {}
"""
)


@pytest.mark.parametrize("loads", [True, False])
async def test_the_person_signs_out_and_in_again(sign_ins: SignIns, loads: bool):
    async with sign_ins.open(OUT.replace("LOADS", str(loads))) as room:
        assert "sign_out" not in room.render.status.lacks
        room.say("Hello")
        await room.shows("Hello of ")
        before = room.agent_pid
        assert await room.chats[CHAT].sign_in.sign_out() is loads
        assert not sign_ins.sign_in.exists()
        if loads:
            assert "wants you to sign in" in await room.state("lost")
            assert room.render.status.connection.wants_sign_in
            await room.chats[CHAT].sign_in.authenticate("g")
            await room.state("live")
            await room.shows("as before")
            assert room.agent_pid != before
        else:
            assert room.render.status.connection.state == "live"
            assert "Hello of" in room.text


async def test_a_sign_out_that_is_refused_changes_nothing(sign_ins: SignIns):
    sign_ins.sign_in.write_text("stays")
    async with sign_ins.open(OUT.replace("LOADS", "True")) as room:
        before = room.agent_pid
        with pytest.raises(AnswerError, match="The store is locked"):
            await room.chats[CHAT].sign_in.sign_out()
        assert (room.render.status.connection.state, room.agent_pid) == ("live", before)


HELD = f"""{OUT.replace("LOADS", "True")}
def wait_for(name):
    open(sys.argv[1] + "." + name + ".begun", "w").close()
    while not os.path.exists(sys.argv[1] + "." + name): time.sleep(0.01)
prompted, out = session_prompt, logout
def session_prompt(params):
    wait_for("prompt")
    return prompted(params)
def logout(params):
    wait_for("logout")
    return out(params)
"""


async def test_nobody_signs_out_while_a_turn_runs(sign_ins: SignIns):
    sign_ins.file("logout").touch()
    async with sign_ins.open(HELD) as room:
        room.say("Hello")
        await until(lambda: room.render.status.running)
        with pytest.raises(ChatError, match="A turn runs"):
            await room.chats[CHAT].sign_in.sign_out()
        assert sign_ins.sign_in.exists()
        sign_ins.file("prompt").touch()
        await room.shows("Hello of ")


async def test_a_turn_that_begins_while_the_person_is_signed_out_goes_on(sign_ins: SignIns):
    async with sign_ins.open(HELD) as room:
        before = room.agent_pid
        signing_out = asyncio.create_task(room.chats[CHAT].sign_in.sign_out())
        await until(sign_ins.file("logout.begun").exists)
        room.say("Hello")
        await until(lambda: room.render.status.running)
        sign_ins.file("logout").touch()
        assert await signing_out is False
        sign_ins.sign_in.touch()
        sign_ins.file("prompt").touch()
        await room.shows("Hello of ")
        assert room.agent_pid == before


async def test_an_agent_that_signs_nobody_out_is_said_to_lack_it(sign_ins: SignIns):
    async with sign_ins.open() as room:
        assert "sign_out" in room.render.status.lacks
        with pytest.raises(MissingFeatureError, match="can't sign you out"):
            await room.chats[CHAT].sign_in.sign_out()
