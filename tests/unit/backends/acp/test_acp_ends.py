"""Agents that end, never answer, or leave something behind."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import psutil
import pytest

from companion.backends.acp import client as client_module
from companion.backends.acp import process as process_module
from companion.backends.acp import prompts
from companion.backends.acp.errors import (
    AgentError,
    AgentStartError,
    AnswerError,
    EndedError,
    SignInError,
    SilentError,
)
from tests.agent_talk import Talks, is_alive, said, scripted, talking, until


@pytest.mark.parametrize("half", [b"", b'{"jsonrpc": "2.0", "meth'], ids=["between lines", "in the middle of a line"])
async def test_an_agent_that_dies_in_mid_turn_is_told_and_the_conversation_stays(
    project: Path, tmp_path: Path, half: bytes
):
    script = f"""
def session_prompt(params):
    say("Half of")
    call = {{"sessionId": "s", "toolCall": {{"toolCallId": "t"}}, "options": []}}
    request("session/request_permission", call)
    raw({half!r})
    print("out of memory, key sk-123456789", file=sys.stderr, flush=True)
    os._exit(7)
"""
    environment = {**os.environ, "SOME_API_KEY": "sk-123456789"}
    async with talking(scripted(script, tmp_path), str(project), environment) as talk:
        key = await talk.ask("x")
        error = await talk.ended()
        assert isinstance(error, EndedError)
        assert str(error) == (
            "Scripted Agent has ended unexpectedly: out of memory, key …. Reconnect to start it again."
        )
        turn = await talk.done(key)
        assert (turn.state, said(turn)) == ("failed", "Half of")
        assert not talk.conversation.status.permissions
        with pytest.raises(EndedError):
            await talk.client.switch(talk.session, "mode", "x")


async def test_an_agent_that_ends_at_once_is_told_with_its_last_words(talks: Talks):
    script = 'print("\\x1b[31mNode.js is too old.\\x1b[0m", file=sys.stderr, flush=True); os._exit(1)'
    with pytest.raises(AgentStartError, match=r"ended as soon as it was started: Node\.js is too old\."):
        async with talks(script):
            pass
    with pytest.raises(AgentStartError, match="it has returned 3"):
        async with talks("os._exit(3)"):
            pass


async def test_a_missing_program_names_its_install_command(project: Path, tmp_path: Path):
    with pytest.raises(AgentError, match="npm install -g the-agent"):
        async with talking(["there-is-no-such-program"], str(project)):
            pass
    with pytest.raises(AgentStartError, match="there is no folder"):
        async with talking([sys.executable], str(tmp_path / "none")):
            pass


async def test_an_agent_that_never_answers_is_told(talks: Talks, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(client_module, "START_LIMIT", 0.5)
    script = 'def initialize(params): return "silence"'
    with pytest.raises(SilentError, match="didn't answer within"):
        async with talks(script):
            pass


async def test_a_turn_that_no_cancel_ends_is_given_up(talks: Talks, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(prompts, "CANCEL_LIMIT", 0.1)
    script = 'def session_prompt(params): say("Working"); return "silence"'
    async with talks(script) as talk:
        key = await talk.ask("x")
        await until(lambda: (turn := talk.turn(key)) and said(turn))
        await talk.client.cancel(talk.session)
        process = talk.client.process
        assert process
        assert isinstance(await talk.ended(), SilentError)
        assert (await talk.done(key)).state == "failed"
        # It does nothing more behind the person's back.
        await until(lambda: not is_alive(process.pid))


async def test_an_agent_that_wants_a_sign_in_names_its_ways_and_goes_on_after_one(talks: Talks):
    script = """
is_in = False
def initialize(params):
    return {"protocolVersion": 1, "authMethods": [{"id": "g", "name": "Log in with Google"}, {"broken": 1}]}
def authenticate(params):
    global is_in
    is_in = params["methodId"] == "g"
    return {}
def session_new(params):
    if not is_in: raise Failure(-32000, "Authentication required")
    return {"sessionId": "s"}
"""
    async with talks(script, session=None) as talk:
        with pytest.raises(SignInError, match="Log in with Google"):
            await talk.open()
        await talk.client.authenticate("g")
        await talk.open()
        assert (await talk.done(await talk.ask("x"))).state == "done"


async def test_a_turn_that_the_agent_refuses_has_its_words(talks: Talks):
    script = 'def session_prompt(params): raise Failure(-32603, "No credits are left")'
    async with talks(script) as talk:
        turn = await talk.done(await talk.ask("x"))
        assert (turn.state, turn.error) == ("failed", "Scripted Agent refuses: No credits are left.")


async def test_an_agent_that_opens_no_session_is_told(project: Path, tmp_path: Path):
    script = scripted("def session_new(params): return None", tmp_path)
    async with talking(script, str(project), session=None) as talk:
        with pytest.raises(AnswerError, match="no session"):
            await talk.open()


@pytest.mark.parametrize("shut", ["output", "input"])
async def test_an_agent_that_lives_on_without_its_pipes_is_ended(
    talks: Talks, monkeypatch: pytest.MonkeyPatch, shut: str
):
    """It closes one end and never answers again; nobody waits for it for ever."""
    monkeypatch.setattr(process_module, "SHUT_LIMIT", 0.1)
    scripts = {
        "output": """
def session_prompt(params):
    say("Half of")
    os.close(1)
    time.sleep(600)
""",
        "input": """
def main():
    # No thread reads on when it is closed.
    for _ in range(3):
        answer(json.loads(os.read(0, 65536)), globals())
    os.close(0)
    say("Half of")
    time.sleep(600)
session_prompt = lambda params: "silence"
main()
""",
    }
    async with talks(scripts[shut]) as talk:
        key = await talk.ask("x")
        await until(lambda: (turn := talk.turn(key)) and said(turn))
        if shut == "input":
            # It need not be told anything until then.
            await talk.client.cancel(talk.session)
        assert str(await talk.ended()) == (
            f"Scripted Agent has ended unexpectedly: it has closed its {shut}. Reconnect to start it again."
        )
        turn = await talk.done(key)
        assert (turn.state, said(turn)) == ("failed", "Half of")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no sessions of processes")
async def test_the_end_of_an_agent_is_noticed_though_its_child_keeps_the_pipes(talks: Talks):
    script = """
import subprocess
def session_prompt(params):
    # Another session: it is not in the agent's group.
    code = "import time; time.sleep(600)"
    child = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    say(str(child.pid))
    os.kill(os.getpid(), 9)
"""
    async with talks(script) as talk:
        key = await talk.ask("x")
        assert "it was ended by SIGKILL" in str(await talk.ended())
        child = int(said(await talk.done(key)))
        assert is_alive(child)
        psutil.Process(child).kill()


async def test_what_an_agent_leaves_behind_ends_with_it(talks: Talks):
    """Before the person reconnects, that is: its group and its terminals."""
    script = """
import subprocess
def session_prompt(params):
    code = "import time; time.sleep(600)"
    child = subprocess.Popen([sys.executable, "-c", code], stdin=-1, stdout=-1, stderr=-1)
    code = f"import os; print(os.getpid(), flush=True); {code}"
    made = ask("terminal/create", command=sys.executable, args=["-c", code])
    while not (printed := ask("terminal/output", **made)["output"].strip()):
        time.sleep(0.01)
    say(f"{child.pid} {printed}")
    os._exit(3)
"""
    async with talks(script) as talk:
        key = await talk.ask("x")
        await talk.ended()
        pids = [int(pid) for pid in said(await talk.done(key)).split()]
        assert len(pids) == 2
        # On Windows there are no groups: what has no parent any more is not found.
        await until(lambda: not any(map(is_alive, pids[sys.platform == "win32" :])))


async def test_the_last_words_of_an_agent_that_ends_in_a_flood_are_shown(talks: Talks):
    script = """
def session_prompt(params):
    for number in range(5000):
        say("x" * 1000)
    say("The end.")
    os._exit(0)
"""
    async with talks(script) as talk:
        turn = await talk.done(await talk.ask("x"))
        assert turn.state == "failed"
        assert said(turn) == "x" * 5_000_000 + "The end."


async def test_a_line_of_chatter_is_no_cause_of_death(talks: Talks):
    script = """
def session_prompt(params):
    print("Loaded 12 skills", file=sys.stderr, flush=True)
    os._exit(7)
"""
    async with talks(script) as talk:
        await talk.ask("x")
        assert "ended unexpectedly: it has returned 7." in str(await talk.ended())


NPM = """npm error code ETARGET
npm error notarget No matching version found for @some/agent@9.9.9.
npm error notarget In most cases you or one of your dependencies are requesting
npm error notarget a package version that doesn't exist.
npm notice New minor version of npm available! 11.19.1 -> 11.21.2
npm error A complete log of this run can be found in: /home/ada/.npm/_logs/debug-0.log
"""
HEADING = "Model Configuration Error:\nNo default model is configured.\n"


@pytest.mark.parametrize(
    ("printed", "cause"),
    [
        (NPM, "it was started: npm error notarget No matching version found for @some/agent@9.9.9. "),
        (
            "npm error code E404\nnpm error 404 Not Found - GET it\n",
            "it was started: npm error 404 Not Found - GET it.",
        ),
        ("npm error code EUSAGE\nnpm error A complete log of this run\n", "it was started: npm error code EUSAGE."),
        (HEADING, "it was started: Model Configuration Error: No default model is configured. "),
    ],
)
async def test_the_cause_is_what_went_wrong_and_not_what_is_said_around_it(talks: Talks, printed: str, cause: str):
    script = f"print({printed!r}, file=sys.stderr, flush=True); os._exit(1)"
    with pytest.raises(AgentStartError) as failed:
        async with talks(script):
            pass
    assert cause in str(failed.value)


async def test_what_a_program_prints_instead_of_the_protocol_is_in_the_error(talks: Talks):
    script = 'print("This program is no longer maintained: install the-other-one.", flush=True); os._exit(0)'
    with pytest.raises(AgentStartError, match="no longer maintained: install the-other-one"):
        async with talks(script):
            pass


@pytest.mark.parametrize("code", [-32603, -32000])
@pytest.mark.parametrize(
    "is_reloaded",
    [False, pytest.param(True, marks=pytest.mark.skipif(sys.platform == "win32", reason="Windows starts it again"))],
)
async def test_an_error_that_answers_a_cancelled_turn_is_its_cancellation(talks: Talks, code: int, is_reloaded: bool):
    script = """
def session_prompt(params):
    while not any(each.get("method") == "session/cancel" for each in seen): time.sleep(0.001)
    raise Failure(CODE, "The operation was aborted")
""".replace("CODE", str(code))
    async with talks(script) as talk:
        key = await talk.ask("x")
        if is_reloaded:
            await until(lambda: talk.turn(key))
            await talk.reload()
        await talk.client.cancel(talk.session)
        assert (await talk.done(key)).state == "cancelled"


async def test_a_secret_that_begins_with_another_one_is_hidden_as_a_whole(talks: Talks):
    script = 'print("Error: bad key sk-secret-longer", file=sys.stderr, flush=True); os._exit(1)'
    environment = {**os.environ, "A_TOKEN": "sk-secret", "B_TOKEN": "sk-secret-longer"}
    with pytest.raises(AgentStartError, match="bad key …") as failure:
        async with talks(script, environment=environment):
            pass
    assert "longer" not in str(failure.value)
