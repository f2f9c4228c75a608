"""The terminals of an agent: what they run, what is shown of it, and how that ends."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from companion.agents import AgentCommand
from companion.backends.acp import terminals as terminals_module
from companion.backends.acp.errors import RequestError
from companion.backends.acp.process import Child, Printing
from companion.backends.acp.services import Services
from tests.agent_talk import Talks, client_of, is_alive, said, tools, until


async def test_a_terminal_is_shown_live_without_colours_and_limited(talks: Talks):
    script = """
def session_prompt(params):
    code = "import sys, time; print('\\\\x1b[31mred\\\\x1b[0m', flush=True); print('x' * 100); sys.exit(3)"
    made = ask("terminal/create", command=sys.executable, args=["-c", code], env=[{"name": "A", "value": "b"}])
    update(sessionUpdate="tool_call", toolCallId="t", title="Run", kind="execute", status="in_progress",
           content=[{"type": "terminal", "terminalId": made["terminalId"]}])
    ended = ask("terminal/wait_for_exit", **made)
    output = ask("terminal/output", **made)
    small = ask("terminal/create", command=sys.executable, args=["-c", "print('é' * 100)"], outputByteLimit=11)
    ask("terminal/wait_for_exit", **small)
    cut = ask("terminal/output", **small)
    ask("terminal/release", **small)
    gone = ask("terminal/output", **small)
    missing = ask("terminal/create", command="there-is-no-such-program", args=["x"])
    say(json.dumps([ended, output, cut, gone, missing]))
    return {"stopReason": "end_turn"}
"""
    async with talks(script) as talk:
        turn = await talk.done(await talk.ask("Run"))
        ended, output, cut, gone, missing = json.loads(said(turn))
        assert ended == {"exitCode": 3, "signal": None}
        assert output == {"output": "red\n" + "x" * 100 + "\n", "truncated": False, "exitStatus": ended}
        assert (cut["output"], cut["truncated"]) == ("é" * 5 + "\n", True)
        assert "no such terminal" in gone["message"]
        assert "can't be run" in missing["message"]
        [tool] = tools(turn)
        assert tool.text == output["output"]


@pytest.mark.parametrize("ends", ["release", "kill"])
async def test_the_last_content_of_a_call_is_not_replaced_by_what_its_terminal_has_printed(talks: Talks, ends: str):
    script = f"""
def session_prompt(params):
    made = ask("terminal/create", command=sys.executable, args=["-c", "print('raw')"])
    update(sessionUpdate="tool_call", toolCallId="t", title="Run", kind="execute", status="in_progress",
           content=[{{"type": "terminal", "terminalId": made["terminalId"]}}])
    ask("terminal/wait_for_exit", **made)
    update(sessionUpdate="tool_call_update", toolCallId="t", status="completed",
           content=[{{"type": "content", "content": {{"type": "text", "text": "1 test passed"}}}}])
    ask("terminal/{ends}", **made)
    __import__("time").sleep(0.3)
    return {{"stopReason": "end_turn"}}
"""
    async with talks(script) as talk:
        [tool] = tools(await talk.done(await talk.ask("Run")))
        assert tool.text == "1 test passed"


async def test_what_a_terminal_has_printed_is_shown_if_its_call_ends_while_it_is_being_released(talks: Talks):
    """An agent need not wait for the answer."""
    script = """
def session_prompt(params):
    code = "import time; print('out', flush=True); time.sleep(600)"
    made = ask("terminal/create", command=sys.executable, args=["-c", code])
    while not ask("terminal/output", **made)["output"]:
        pass
    content = [{"type": "terminal", **made}]
    for _ in range(2):
        request("terminal/release", {"sessionId": "s", **made})
    __import__("time").sleep(0.002)
    update(sessionUpdate="tool_call", toolCallId="t", title="Run", status="completed", content=content)
    __import__("time").sleep(0.3)
    return {"stopReason": "end_turn"}
"""
    async with talks(script) as talk:
        [tool] = tools(await talk.done(await talk.ask("Run")))
        assert (tool.text, tool.terminals) == ("out\n", ())


@pytest.mark.skipif(sys.platform == "win32", reason="Windows starts it again")
async def test_what_a_terminal_of_the_agents_own_has_printed_stays_over_a_reload(talks: Talks):
    script = """
def session_prompt(params):
    def prints(words, **more):
        news = {"terminal_output_delta": {"terminal_id": "t", "data": words}, **more}
        update(sessionUpdate="tool_call_update", toolCallId="t", _meta=news)
    content = [{"type": "terminal", "terminalId": "t"}]
    update(sessionUpdate="tool_call", toolCallId="t", title="Run", kind="execute", content=content)
    prints("one\\n")
    while not any(each.get("method") == "_go" for each in seen): time.sleep(0.001)
    prints("two\\n", terminal_exit={"terminal_id": "t"})
    return {"stopReason": "end_turn"}
"""
    async with talks(script) as talk:
        key = await talk.ask("Run")
        await until(lambda: (turn := talk.turn(key)) and tools(turn) and tools(turn)[0].text)
        await talk.reload()
        talk.client.peer.notify("_go", {})
        [tool] = tools(await talk.done(key))
        assert (tool.text, tool.terminals) == ("one\ntwo\n", ())


async def test_a_cancel_kills_what_a_terminal_runs(talks: Talks):
    script = """
def session_prompt(params):
    sleep = "import time; time.sleep(600)"
    start = f"subprocess.Popen([sys.executable, '-c', '{sleep}'])"
    code = f"import subprocess, sys; print({start}.pid, flush=True); {sleep}"
    made = ask("terminal/create", command=sys.executable, args=["-c", code])
    content = [{"type": "terminal", **made}]
    update(sessionUpdate="tool_call", toolCallId="t", title="Run", content=content)
    say(json.dumps(ask("terminal/wait_for_exit", **made)))
    return {"stopReason": "cancelled"}
"""
    async with talks(script) as talk:
        key = await talk.ask("Run")
        await until(lambda: (turn := talk.turn(key)) and tools(turn) and tools(turn)[0].text)
        turn = talk.turn(key)
        assert turn
        child = int(tools(turn)[0].text)
        await talk.client.cancel(talk.session)
        turn = await talk.done(key)
        assert turn.state == "cancelled"
        assert json.loads(said(turn))["exitCode"] != 0
        await until(lambda: not is_alive(child))


async def test_one_terminal_is_stopped_and_the_turn_goes_on(talks: Talks):
    """What a shell has left in its group ends with a stop, another terminal runs on."""
    script = """
def run(code):
    made = ask("terminal/create", command=sys.executable, args=["-c", code])
    update(sessionUpdate="tool_call", toolCallId=made["terminalId"], title="Run",
           content=[{"type": "terminal", **made}])
    return made
def session_prompt(params):
    sleep = "import time; time.sleep(600)"
    child = f"subprocess.Popen([sys.executable, '-c', '{sleep}'])"
    # On Windows there are no groups: what has no parent any more is not found.
    ends = f"os._exit(0) if os.name != 'nt' else None; {sleep}"
    left = run(f"import subprocess, sys, os; print({child}.pid, flush=True); {ends}")
    other = run(f"print('other', flush=True); {sleep}")
    say(json.dumps(ask("terminal/wait_for_exit", **left)["exitCode"]) + " stopped ")
    ask("terminal/wait_for_exit", **other)
    ask("terminal/kill", **other)
    ask("terminal/kill", **other)
    say(json.dumps(ask("terminal/wait_for_exit", **other)))
    ask("terminal/release", **other)
    return {"stopReason": "end_turn"}
"""
    async with talks(script) as talk:
        key = await talk.ask("Run")
        shown = lambda: tools(turn) if (turn := talk.turn(key)) else []  # noqa: E731
        await until(lambda: len(shown()) == 2 and all(tool.text and tool.terminals for tool in shown()))
        left, other = shown()
        assert (left.terminals, other.terminals) == (("terminal-1",), ("terminal-2",))
        child = int(left.text)
        assert is_alive(child)
        assert await talk.client.stop_terminal("terminal-1")
        await until(lambda: not is_alive(child))
        await until(lambda: shown()[0].terminals == ())
        # The agent was told of the end of the shell, whatever that has left behind.
        assert os.name == "nt" or ((turn := talk.turn(key)) and said(turn) == "0 stopped ")
        assert shown()[1].terminals
        assert await talk.client.stop_terminal("terminal-2")
        turn = await talk.done(key)
        assert [(tool.terminals, tool.text) for tool in tools(turn)] == [((), left.text), ((), "other\n")]
        assert not await talk.client.stop_terminal("terminal-1")
        assert not await talk.client.stop_terminal("terminal-2")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no sessions of processes")
async def test_the_end_of_a_command_is_told_though_an_orphan_keeps_its_output(talks: Talks):
    script = """
def session_prompt(params):
    sleep = "import time; print('late', flush=True); time.sleep(600)"
    start = f"subprocess.Popen([sys.executable, '-c', {sleep!r}], start_new_session=True)"
    code = f"import subprocess, sys; print({start}.pid, flush=True)"
    made = ask("terminal/create", command=sys.executable, args=["-c", code])
    update(sessionUpdate="tool_call", toolCallId="t", title="Run", content=[{"type": "terminal", **made}])
    ended = [ask("terminal/wait_for_exit", **made), ask("terminal/wait_for_exit", **made)]
    ended += [ask("terminal/kill", **made), ask("terminal/kill", **made), ask("terminal/output", **made)]
    say(json.dumps(ended))
    return {"stopReason": "end_turn"}
"""
    async with talks(script) as talk:
        turn = await talk.done(await talk.ask("x"))
        *waits, first, second, output = json.loads(said(turn))
        assert waits == [{"exitCode": 0, "signal": None}] * 2
        assert (first, second) == ({}, {})
        orphan = int(output["output"].split()[0])
        assert is_alive(orphan)
        # Nothing is left to stop.
        assert [tool.terminals for tool in tools(turn)] == [()]
        psutil.Process(orphan).kill()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no sessions of processes")
async def test_the_end_of_a_command_is_told_though_an_orphan_floods_its_output(talks: Talks, project: Path):
    script = """
def session_prompt(params):
    flood = "import os\\nwhile True: os.write(1, b'x' * 10000)"
    start = f"subprocess.Popen([sys.executable, '-c', {flood!r}], start_new_session=True)"
    code = f"import subprocess, sys; open('pid', 'w').write(str({start}.pid)); sys.exit(3)"
    made = ask("terminal/create", command=sys.executable, args=["-c", code], outputByteLimit=100)
    say(json.dumps(ask("terminal/wait_for_exit", **made)))
    ask("terminal/release", **made)
    return {"stopReason": "end_turn"}
"""
    async with talks(script) as talk:
        turn = await talk.done(await talk.ask("x"))
        assert json.loads(said(turn))["exitCode"] == 3
    # Nobody reads what it prints any more.
    orphan = int((project / "pid").read_text())
    await until(lambda: not is_alive(orphan))


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ([b"a\x1b[", b"31mred\x1b", b"[0m"], "ared"),
        ([b"\x1b]0;a ti", b"tle\x1b", b"\\x\x1b]8;;u\x07y"], "xy"),
        ([b"\x1b(B\x1b[38:2:1m\x1b[>4;1mz\x1b7\x1b=\x9b1m".replace(b"\x9b", b"\xc2\x9b")], "z"),
        ([b"\xc3", b"\xa9\xff", b"\xe2\x82"], "é\ufffd\ufffd"),
        ([b"10%\r", b"20%\r20%\r", b"\n", b"x\r\r\ny\r"], "20%\nx\ny"),
        ([b"old\rne", b"w\n\x1b[2Ka\r\x1b[2Kb"], "new\nb"),
        ([b"end\x1b["], "end"),
        ([b"\x1b]" + b"x" * 5000, b"y"], "x" * 5000 + "y"),
    ],
)
def test_codes_and_characters_that_come_in_pieces_are_read(printed: list[bytes], shown: str):
    for pieces in (printed, [bytes([each]) for each in b"".join(printed)]):
        printing = Printing(100_000)
        for piece in pieces:
            printing.add(piece)
            left = printing.hand_over()
            half = printing.half
            printing = Printing(**left)
            printing.add(half)
        printing.end()
        assert printing.text == shown


@settings(max_examples=2 * settings().max_examples)
@given(st.lists(st.binary(max_size=6) | st.sampled_from([b"\r", b"\n", b"\x1b[1m", b"\xc3\xa9"]), max_size=20))
def test_a_text_is_the_same_however_it_is_cut(pieces: list[bytes]):
    whole, cut = Printing(10_000), Printing(10_000)
    whole.add(b"".join(pieces))
    for piece in pieces:
        cut.add(piece)
    for each in (whole, cut):
        each.end()
    assert cut.text == whole.text
    assert "\r" not in whole.text


@pytest.mark.parametrize(("limit", "kept"), [(0, ""), (1, ""), (2, "é"), (3, "é"), (1000, "aéé")])
def test_the_end_of_the_output_is_kept_in_whole_characters(limit: int, kept: str):
    printing = Printing(limit)
    assert not printing.is_cut
    for piece in ("a", "é", "é"):
        printing.add(piece.encode())
    assert (printing.text, printing.is_cut) == (kept, limit < 5)
    for _ in range(100):
        printing.add(b"x" * 1000)
    assert printing.text == "x" * limit


async def test_a_folder_that_is_not_there_or_not_absolute_is_refused(talks: Talks, project: Path):
    (project / "sub").mkdir()
    real = [os.path.realpath(folder) for folder in (project / "sub", project)]
    script = """
def session_prompt(params):
    code = ["-c", "import os; print(os.getcwd())"]
    for folder in json.loads(params["prompt"][-1]["text"]):
        made = ask("terminal/create", command=sys.executable, args=code, cwd=folder)
        ended = "terminalId" in made and ask("terminal/wait_for_exit", **made)
        say((ask("terminal/output", **made)["output"].strip() if ended else made["message"]) + "\\n")
    return {"stopReason": "end_turn"}
"""
    async with talks(script) as talk:
        folders = [str(project / "sub"), "", "sub", 5, str(project / "none")]
        lines = said(await talk.done(await talk.ask(json.dumps(folders)))).splitlines()
        assert lines[:2] == real
        assert lines[2:4] == ["the folder of a terminal must be absolute"] * 2
        assert lines[4].endswith(f"there is no folder {project / 'none'}")


async def test_a_program_that_would_be_in_a_folder_that_is_not_there_is_told_with_the_folder(project: Path):
    terminals = client_of(AgentCommand("A", ()), {}).services.terminals
    there, gone = ({"command": "./build", "args": [], "cwd": str(folder)} for folder in (project, project / "none"))
    with pytest.raises(RequestError, match=os.strerror(errno.ENOENT)):
        await terminals.create(there)
    with pytest.raises(RequestError, match="there is no folder"):
        await terminals.create(gone)


async def test_a_hundred_megabytes_of_output_leave_the_loop_free(talks: Talks):
    script = """
def session_prompt(params):
    code = "import sys\\nfor _ in range(100): sys.stdout.write('x' * 1048575 + chr(10))"
    made = ask("terminal/create", command=sys.executable, args=["-c", code], outputByteLimit=3000)
    ask("terminal/wait_for_exit", **made)
    output = ask("terminal/output", **made)
    say(f"{len(output['output'])} {output['truncated']}")
    return {"stopReason": "end_turn"}
"""
    async with talks(script) as talk:
        key, turns = await talk.ask("x"), 0
        while (turn := talk.turn(key)) is None or turn.state == "running":
            turns += 1
            await asyncio.sleep(0)
        assert said(turn) == "3000 True"
        assert turns > 100


async def test_no_more_terminals_are_open_at_once_than_are_allowed(talks: Talks, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(terminals_module, "MAX_TERMINALS", 2)
    script = """
def session_prompt(params):
    create = lambda: ask("terminal/create", command=sys.executable, args=["-c", "pass"])
    made = [create() for _ in range(3)]
    ask("terminal/release", **made[0])
    made.append(create())
    say(json.dumps([each.get("message", "") for each in made]))
    return {"stopReason": "end_turn"}
"""
    async with talks(script) as talk:
        messages = json.loads(said(await talk.done(await talk.ask("x"))))
        assert messages == ["", "", "there are too many terminals", ""]


async def test_terminals_that_are_being_made_count(talks: Talks, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(terminals_module, "MAX_TERMINALS", 2)
    script = """
def session_prompt(params):
    create = {"command": sys.executable, "args": ["-c", "pass"], "sessionId": "s"}
    asked = [request("terminal/create", create) for _ in range(5)]
    say(json.dumps(sorted(answers[each].get().get("message", "") for each in asked)))
    return {"stopReason": "end_turn"}
"""
    async with talks(script) as talk:
        messages = json.loads(said(await talk.done(await talk.ask("x"))))
        assert messages == ["", "", *["there are too many terminals"] * 3]


async def test_a_command_that_could_not_be_started_does_not_count(talks: Talks, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(terminals_module, "MAX_TERMINALS", 1)
    script = """
def session_prompt(params):
    ask("terminal/create", command="there-is-no-such-program", args=["x"])
    say(json.dumps(ask("terminal/create", command=sys.executable, args=["-c", "pass"])))
    return {"stopReason": "end_turn"}
"""
    async with talks(script) as talk:
        assert "terminalId" in json.loads(said(await talk.done(await talk.ask("x"))))


async def test_a_terminal_that_is_made_while_the_turn_is_cancelled_is_ended(
    talks: Talks, monkeypatch: pytest.MonkeyPatch
):
    begun, gate = asyncio.Event(), asyncio.Event()
    made: list[Child] = []
    start = terminals_module.start_child

    async def slow(*arguments: Any, **more: Any) -> Child:
        begun.set()
        await gate.wait()
        made.append(await start(*arguments, **more))
        return made[0]

    script = """
def session_prompt(params):
    say(json.dumps(ask("terminal/create", command=sys.executable, args=["-c", "import time; time.sleep(600)"])))
    return {"stopReason": "cancelled"}
"""
    async with talks(script) as talk:
        monkeypatch.setattr(terminals_module, "start_child", slow)
        key = await talk.ask("x")
        await begun.wait()
        await talk.client.cancel(talk.session)
        gate.set()
        turn = await talk.done(key)
        assert "the turn that asked for it is over" in said(turn)
        await until(lambda: not is_alive(made[0].pid))


def test_a_terminal_that_is_made_between_two_turns_stays_when_one_begins():
    """An agent may go on in the background."""
    prompts, released = SimpleNamespace(running=None, is_cancelled=False), list[str]()

    class Terminals:
        async def create(self, _: object) -> dict[str, str]:
            prompts.running = "turn"
            return {"terminalId": "t"}

        async def answer(self, method: str, _: object) -> None:
            released.append(method)

    services: Any = SimpleNamespace(_prompts=prompts, terminals=Terminals())
    assert asyncio.run(Services._created(services, {})) == {"terminalId": "t"}
    assert released == []
