"""An agent on its standard input and output: what a conversation shows, and that no agent can harm anything else."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import psutil
import pytest

from companion.acp import client as client_module
from companion.acp import environment as environment_module
from companion.acp import process as process_module
from companion.acp.environment import LoginEnvironment
from companion.acp.errors import (
    AnswerError,
    EndedError,
    NoProgramError,
    SignInError,
    SilentError,
    StartFailedError,
    VersionError,
)
from companion.conversation.failures import (
    AlreadyAnsweredError,
    MissingFeatureError,
    SessionGoneError,
    UnsendableError,
)
from tests.agents import LIMIT, MemoryFiles, notices, said, scripted, talking, tools, until

T = TypeVar("T")
EDIT = """
OPTIONS = [{"optionId": "yes", "name": "Allow", "kind": "allow_once"}]
OPTIONS += [{"optionId": "no", "name": "No", "kind": "reject_once"}]
def session_prompt(params):
    path, old, new = json.loads(params["prompt"][-1]["text"])
    call = {"toolCallId": "t", "title": "Edit", "kind": "edit", "status": "pending"}
    call["content"] = [{"type": "diff", "path": path, "oldText": old, "newText": new}]
    answer = ask("session/request_permission", toolCall=call, options=OPTIONS)
    if answer["outcome"].get("optionId") == "yes":
        WRITE
    update(sessionUpdate="tool_call_update", toolCallId="t", status="completed")
    say(json.dumps(answer))
    return {"stopReason": "cancelled" if answer["outcome"]["outcome"] == "cancelled" else "end_turn"}
"""
WRITES = EDIT.replace("WRITE", 'ask("fs/write_text_file", path=path, content=new)')


def run(test: Coroutine[Any, Any, T]) -> T:
    """Run a test on a loop of its own."""

    async def limited() -> T:
        async with asyncio.timeout(3 * LIMIT):
            return await test

    return asyncio.run(limited())


def edit(path: Path, old: str, new: str) -> str:
    return json.dumps([str(path), old, new])


def test_a_prompt_is_answered_and_the_turn_ends(project: Path, tmp_path: Path):
    script = """
def session_prompt(params):
    say("Hm.", "agent_thought_chunk")
    update(sessionUpdate="plan", entries=[{"content": "Think", "status": "in_progress"}])
    update(sessionUpdate="usage_update", size=1000, used=10)
    update(sessionUpdate="available_commands_update", availableCommands=[{"name": "init", "description": "Begin"}])
    update(sessionUpdate="session_info_update", title="A title")
    say("Hello ")
    say("there.")
    return {"stopReason": "end_turn"}
"""

    async def test():
        async with talking(scripted(script, tmp_path), str(project)) as talk:
            turn = await talk.done(await talk.ask("Hi"))
            assert (turn.state, turn.stop_reason) == ("done", "end_turn")
            assert (said(turn, "user"), said(turn, "thought"), said(turn)) == ("Hi", "Hm.", "Hello there.")
            status = talk.conversation.status
            assert (status.title, status.plan[0].text, status.commands[0].name) == ("A title", "Think", "init")
            assert status.window
            assert (status.window.size, status.window.used) == (1000, 10)
            assert talk.client.name == "Scripted Agent"

    run(test())


def test_prompts_run_one_after_the_other_and_one_that_waits_can_be_taken_back(project: Path, tmp_path: Path):
    script = """
gate = threading.Event()
def session_prompt(params):
    text = params["prompt"][0]["text"]
    if text == "one":
        while not any(each.get("method") == "go" for each in seen): time.sleep(0.001)
    say(text)
    return {"stopReason": "end_turn"}
"""

    async def test():
        async with talking(scripted(script, tmp_path), str(project)) as talk:
            one, two, three = [await talk.ask(words) for words in ("one", "two", "three")]
            await until(lambda: len(talk.conversation.status.queue) == 2)
            assert [each.text for each in talk.conversation.status.queue] == ["two", "three"]
            assert await talk.client.dequeue(talk.session, two)
            assert not await talk.client.dequeue(talk.session, two)
            talk.client._peer.notify("go", {})
            assert said(await talk.done(one)) == "one"
            assert said(await talk.done(three)) == "three"
            assert talk.turn(two) is None
            assert talk.conversation.has(two)

    run(test())


def test_a_session_is_loaded_with_its_turns(project: Path, tmp_path: Path):
    script = """
def session_load(params):
    for text in ("one", "two"):
        say(text, "user_message_chunk"); say("answer to " + text)
    return {"modes": {"currentModeId": "plan", "availableModes": [{"id": "plan", "name": "Plan"}]}}
"""

    async def test():
        async with talking(scripted(script, tmp_path), str(project), session="s") as talk:
            assert [(said(turn, "user"), said(turn), turn.state) for turn in talk.conversation.turns] == [
                ("one", "answer to one", "done"),
                ("two", "answer to two", "done"),
            ]
            assert talk.conversation.status.mode == "plan"
            turn = await talk.done(await talk.ask("three"))
            assert said(turn) == "You said: three"
            assert len(talk.conversation.turns) == 3

    run(test())


def test_a_history_that_comes_after_the_answer_has_its_turns_too(project: Path, tmp_path: Path):
    script = """
def session_load(params):
    say("one", "user_message_chunk")
    number = [each["id"] for each in seen if each.get("method") == "session/load"][-1]
    send(id=number, result={})
    say("answer to one")
    say("two", "user_message_chunk"); say("answer to two")
    return "silence"
"""

    async def test():
        async with talking(scripted(script, tmp_path), str(project), session="s") as talk:
            await until(lambda: len(talk.conversation.turns) == 2 and said(talk.conversation.turns[1]))
            assert [(said(turn, "user"), said(turn), turn.state) for turn in talk.conversation.turns] == [
                ("one", "answer to one", "done"),
                ("two", "answer to two", "done"),
            ]
            assert (await talk.done(await talk.ask("three"))).state == "done"

    run(test())


def test_a_session_that_is_gone_or_can_not_be_loaded_is_said(project: Path, tmp_path: Path):
    gone = 'def session_load(params): raise Failure(-32002, "no such session")'
    never = 'def initialize(params): return {"protocolVersion": 1}'

    async def test():
        async with talking(scripted(gone, tmp_path), str(project), session=None) as talk:
            with pytest.raises(SessionGoneError, match="no such session"):
                await talk.open("s")
        async with talking(scripted(never, tmp_path), str(project), session=None) as talk:
            with pytest.raises(MissingFeatureError, match="can't resume"):
                await talk.open("s")
            with pytest.raises(MissingFeatureError, match="can't list"):
                await talk.client.sessions(str(project))

    run(test())


def test_sessions_are_listed_page_by_page(project: Path, tmp_path: Path):
    script = """
def initialize(params):
    return {"protocolVersion": 1, "agentCapabilities": {"sessionCapabilities": {"list": {}, "delete": {}}}}
def session_list(params):
    if "cursor" not in params:
        first = {"sessionId": "a", "title": "A", "updatedAt": "2026-01-01"}
        return {"sessions": [first, {"broken": 1}], "nextCursor": "x"}
    return {"sessions": [{"sessionId": "b", "cwd": "/b", "title": None}]}
def session_delete(params):
    return {}
"""

    async def test():
        async with talking(scripted(script, tmp_path), str(project)) as talk:
            page = await talk.client.sessions("/here")
            rest = await talk.client.sessions("/here", page.cursor)
            listed = [*page.sessions, *rest.sessions]
            assert [(each.id, each.folder, each.title) for each in listed] == [("a", "/here", "A"), ("b", "/b", "")]
            assert (page.cursor, rest.cursor) == ("x", "")
            await talk.client.delete(listed[0])

    run(test())


def test_modes_and_models_are_switched_by_the_way_that_the_agent_has(project: Path, tmp_path: Path):
    script = """
calls = []
def session_new(params):
    options = [{"id": "m", "category": "model", "type": "select", "currentValue": "a",
                "options": [{"group": "g", "name": "G", "options": [{"value": "a", "name": "A"}, {"value": "b"}]}]}]
    modes = {"currentModeId": "ask", "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "do"}]}
    return {"sessionId": "s", "modes": modes, "configOptions": options}
def session_set_mode(params):
    calls.append(params["modeId"]); return {}
def session_set_config_option(params):
    option = {"id": "m", "category": "model", "type": "select", "currentValue": params["value"]}
    return {"configOptions": [option | {"options": [{"value": "b"}]}]}
def session_prompt(params):
    update(sessionUpdate="current_mode_update", currentModeId="ask")
    return {"stopReason": "end_turn"}
"""

    async def test():
        async with talking(scripted(script, tmp_path), str(project)) as talk:
            status = talk.conversation.status
            assert ([each.id for each in status.models], status.model) == (["a", "b"], "a")
            assert ([each.name for each in status.modes], status.mode) == (["Ask", "do"], "ask")
            await talk.client.switch_model(talk.session, "b")
            await talk.client.switch_mode(talk.session, "do")
            await until(lambda: (talk.conversation.status.model, talk.conversation.status.mode) == ("b", "do"))
            await talk.done(await talk.ask("x"))
            assert talk.conversation.status.mode == "ask"

    run(test())


def test_how_long_the_model_thinks_is_an_option(project: Path, tmp_path: Path):
    script = """
def option(value):
    values = [{"value": "low", "name": "Low"}, {"value": "high"}]
    return {"id": "t", "category": "thought_level", "type": "select", "currentValue": value, "options": values}
def session_new(params):
    return {"sessionId": "s", "configOptions": [option("low"), {"broken": 1}]}
def session_set_config_option(params):
    return {"configOptions": [option(params["value"])]}
"""

    async def test():
        async with talking(scripted(script, tmp_path), str(project)) as talk:
            status = talk.conversation.status
            assert ([each.name for each in status.efforts], status.effort) == (["Low", "high"], "low")
            await talk.client.switch_effort(talk.session, "high")
            assert (await talk.client.choices(talk.session)).effort == "high"
        async with talking(scripted("", tmp_path), str(project)) as talk:
            with pytest.raises(MissingFeatureError):
                await talk.client.switch_effort(talk.session, "high")

    run(test())


def test_an_agent_with_models_of_the_older_form_gets_its_own_method(project: Path, tmp_path: Path):
    script = """
def session_new(params):
    models = {"currentModelId": "a", "availableModels": [{"modelId": "a", "name": "A"}, {"modelId": "b", "name": "B"}]}
    return {"sessionId": "s", "models": models}
def session_set_model(params):
    return {}
"""

    async def test():
        async with talking(scripted(script, tmp_path), str(project)) as talk:
            await talk.client.switch_model(talk.session, "b")
            await until(lambda: talk.conversation.status.model == "b")
            with pytest.raises(MissingFeatureError):
                await talk.client.switch_mode(talk.session, "x")

    run(test())


def test_what_the_agent_can_not_take_is_sent_as_text_or_refused(project: Path, tmp_path: Path):
    script = 'def initialize(params): return {"protocolVersion": 1, "agentInfo": {"name": "plain"}}'
    excerpt = {"type": "resource", "resource": {"uri": "file:///a.py", "text": "x = 1"}}

    async def test():
        async with talking(scripted(script, tmp_path), str(project)) as talk:
            key = await talk.client.prompt(talk.session, [{"type": "text", "text": "Look: "}, excerpt])
            assert said(await talk.done(key)) == "You said: Look: file:///a.py:\n```\nx = 1\n```\n"
            with pytest.raises(UnsendableError, match="plain takes no pictures"):
                await talk.client.prompt(talk.session, [{"type": "image", "data": "", "mimeType": "image/png"}])

    run(test())


# Permissions and files


def test_an_accepted_edit_is_written_with_the_endings_the_mark_and_the_encoding_of_the_file(
    project: Path, tmp_path: Path
):
    path = project / "a.txt"
    path.write_bytes("one\r\ntwo é\r\n".encode("cp1252"))

    async def test():
        async with talking(scripted(WRITES, tmp_path), str(project)) as talk:
            key = await talk.ask(edit(path, "one\ntwo é\n", "one\n2 é\nthree\n"))
            permission = await talk.asked()
            assert (permission.diffs[0].path, permission.diffs[0].new) == (str(path), "one\n2 é\nthree\n")
            await talk.vote(permission, "allow_once")
            turn = await talk.done(key)
            assert path.read_bytes() == "one\r\n2 é\r\nthree\r\n".encode("cp1252")
            assert tools(turn)[0].permissions[0].state == "selected"
            with pytest.raises(AlreadyAnsweredError):
                await talk.vote(permission, "allow_once")

    run(test())


def test_a_rejected_edit_is_not_written_and_a_cancel_cancels_the_question(project: Path, tmp_path: Path):
    path = project / "a.txt"
    path.write_text("one\n")

    async def test():
        async with talking(scripted(WRITES, tmp_path), str(project)) as talk:
            key = await talk.ask(edit(path, "one\n", "two\n"))
            await talk.vote(await talk.asked(), "reject_once")
            assert '"no"' in said(await talk.done(key))
            key = await talk.ask(edit(path, "one\n", "two\n"))
            await talk.asked()
            await talk.client.cancel(talk.session)
            turn = await talk.done(key)
            assert turn.state == "cancelled"
            assert not talk.conversation.status.permissions
            assert path.read_text() == "one\n"

    run(test())


@pytest.mark.parametrize("writes", [True, False], ids=["through the editor", "by itself"])
def test_an_edited_proposal_is_what_is_written_and_the_agent_is_told(project: Path, tmp_path: Path, writes: bool):
    path = project / "a.txt"
    path.write_text("one\n")
    own = 'Path = __import__("pathlib").Path; Path(path).write_text(new)'

    async def test():
        script = WRITES if writes else EDIT.replace("WRITE", own)
        script += """
first = session_prompt
def session_prompt(params):
    if params["prompt"][-1]["text"] != "Next":
        return first(params)
    say(params["prompt"][0]["text"])
    return {"stopReason": "end_turn"}
"""
        async with talking(scripted(script, tmp_path), str(project)) as talk:
            key = await talk.ask(edit(path, "one\n", "two\n"))
            permission = await talk.asked()
            await talk.client.edited(str(path), "two\n", "mine\n")
            await talk.vote(permission, "allow_once")
            await talk.done(key)
            assert path.read_text() == "mine\n"
            turn = await talk.done(await talk.ask("Next"))
            assert "edited your change" in said(turn)
            assert str(path) in said(turn)
            assert said(turn, "user") == "Next"
            assert not talk.editor.kept

    run(test())


def test_an_edited_proposal_that_the_agent_writes_otherwise_is_kept(project: Path, tmp_path: Path):
    path = project / "a.txt"
    path.write_text("one\n")
    other = 'ask("fs/write_text_file", path=path, content="other\\n")'

    async def test():
        async with talking(scripted(EDIT.replace("WRITE", other), tmp_path), str(project)) as talk:
            key = await talk.ask(edit(path, "one\n", "two\n"))
            permission = await talk.asked()
            await talk.client.edited(str(path), "two\n", "mine\n")
            await talk.vote(permission, "allow_once")
            await talk.done(key)
            assert path.read_text() == "other\n"
            assert talk.editor.kept == ["mine\n"]

    run(test())


ANY = """
def session_prompt(params):
    method, fields = json.loads(params["prompt"][-1]["text"])
    say(json.dumps(ask(method, **fields)))
    return {"stopReason": "end_turn"}
"""


def test_an_unsaved_text_is_read_and_an_open_file_is_written_in_the_editor(project: Path, tmp_path: Path):
    path = project / "a.txt"
    path.write_text("old\n")
    real = os.path.realpath(path)

    async def test():
        editor = MemoryFiles({real: "one\ntwo\nthree\n"})
        async with talking(scripted(ANY, tmp_path), str(project), editor=editor) as talk:

            async def ask(method: str, **fields: Any) -> Any:
                return json.loads(said(await talk.done(await talk.ask(json.dumps([method, fields])))))

            assert await ask("fs/read_text_file", path=str(path)) == {"content": "one\ntwo\nthree\n"}
            assert await ask("fs/read_text_file", path=str(path), line=2, limit=1) == {"content": "two"}
            await ask("fs/write_text_file", path=str(path), content="new\r\n")
            assert editor.open == {real: "new\n"}
            assert path.read_text() == "old\n"
            missing = await ask("fs/read_text_file", path=str(project / "none"))
            assert missing["code"] == -32002
            made = project / "new" / "b.txt"
            await ask("fs/write_text_file", path=str(made), content="b\n", _meta={"bom": True, "lineEnding": "crlf"})
            assert made.read_bytes() == b"\xef\xbb\xbfb\r\n"
            made.write_bytes(b"a\0b")
            assert "no text" in (await ask("fs/read_text_file", path=str(made)))["message"]
            assert "absolute" in (await ask("fs/read_text_file", path="a.txt"))["message"]
            assert (await ask("fs/write_text_file", path=str(made)))["code"] == -32602
            assert (await ask("_vendor/anything"))["code"] == -32601
            assert not editor.asked

    run(test())


def test_an_excluded_file_is_not_read_for_an_agent(project: Path, tmp_path: Path):
    (project / ".env").write_text("KEY=secret\n")

    async def test():
        async with talking(scripted(ANY, tmp_path), str(project)) as talk:
            turn = await talk.done(await talk.ask(json.dumps(["fs/read_text_file", {"path": str(project / ".env")}])))
            assert "context_exclude" in said(turn)
            assert "secret" not in said(turn)

    run(test())


def test_a_character_that_the_encoding_lacks_is_refused_and_the_file_stays(project: Path, tmp_path: Path):
    path = project / "a.txt"
    path.write_bytes("é\n".encode("cp1252"))

    async def test():
        async with talking(scripted(ANY, tmp_path), str(project)) as talk:
            fields = {"path": str(path), "content": "→\n"}
            turn = await talk.done(await talk.ask(json.dumps(["fs/write_text_file", fields])))
            assert "has no" in json.loads(said(turn))["message"]
            assert path.read_bytes() == "é\n".encode("cp1252")

    run(test())


def test_files_outside_the_folder_are_touched_only_after_a_question_asked_once(project: Path, tmp_path: Path):
    outside = tmp_path / "outside"
    outside.mkdir()
    secret = outside / "secret.txt"
    secret.write_text("s")
    real = os.path.realpath(secret)
    link = project / "link"
    if sys.platform != "win32":
        link.symlink_to(secret)
    script = """
def session_prompt(params):
    for path in json.loads(params["prompt"][-1]["text"]):
        say(json.dumps(ask("fs/read_text_file", path=path)) + "\\n")
    return {"stopReason": "end_turn"}
"""

    async def test():
        async with talking(scripted(script, tmp_path), str(project)) as talk:
            paths = [str(secret), str(project / ".." / "outside" / "secret.txt"), str(link)]
            for number in range(5):
                (tmp_path / str(number)).mkdir()
                paths.append(str(tmp_path / str(number) / "file"))
            key = await talk.ask(json.dumps(paths if sys.platform != "win32" else paths[:2] + paths[3:]))
            answers = [json.loads(line) for line in said(await talk.done(key)).splitlines()]
            assert all("content" not in answer for answer in answers)
            # One question for the folder, and no more than three in all.
            assert len(talk.editor.asked) == 3
            assert talk.editor.asked[0] == (real, False)
        async with talking(scripted(script, tmp_path), str(project), editor=MemoryFiles(allows=True)) as talk:
            key = await talk.ask(json.dumps([str(secret)]))
            assert json.loads(said(await talk.done(key))) == {"content": "s"}

    run(test())


# Terminals


def test_a_terminal_is_shown_live_without_colours_and_limited(project: Path, tmp_path: Path):
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

    async def test():
        async with talking(scripted(script, tmp_path), str(project)) as talk:
            turn = await talk.done(await talk.ask("Run"))
            ended, output, cut, gone, missing = json.loads(said(turn))
            assert ended == {"exitCode": 3, "signal": None}
            assert output == {"output": "red\n" + "x" * 100 + "\n", "truncated": False, "exitStatus": ended}
            assert (cut["output"], cut["truncated"]) == ("é" * 5 + "\n", True)
            assert "no such terminal" in gone["message"]
            assert "can't be run" in missing["message"]
            [tool] = tools(turn)
            assert tool.text == output["output"]

    run(test())


def test_a_cancel_kills_what_a_terminal_runs(project: Path, tmp_path: Path):
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

    async def test():
        async with talking(scripted(script, tmp_path), str(project)) as talk:
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

    run(test())


def test_one_terminal_is_stopped_and_the_turn_goes_on(project: Path, tmp_path: Path):
    """Issue 15, point 5: what a stopped shell has left in its group ends with it, another terminal runs on."""
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
    ask("terminal/wait_for_exit", **left)
    say("stopped ")
    ask("terminal/kill", **other)
    say(json.dumps(ask("terminal/wait_for_exit", **other)))
    ask("terminal/release", **other)
    return {"stopReason": "end_turn"}
"""

    async def test():
        async with talking(scripted(script, tmp_path), str(project)) as talk:
            key = await talk.ask("Run")
            shown = lambda: tools(turn) if (turn := talk.turn(key)) else []  # noqa: E731
            await until(lambda: len(shown()) == 2 and all(tool.text and tool.terminals for tool in shown()))
            left, other = shown()
            assert (left.terminals, other.terminals) == (("terminal-1",), ("terminal-2",))
            child = int(left.text)
            assert is_alive(child)
            assert await talk.client.stop_terminal("terminal-1")
            await until(lambda: not is_alive(child))
            turn = await talk.done(key)
            assert said(turn).startswith("stopped ")
            assert [(tool.terminals, tool.text) for tool in tools(turn)] == [((), left.text), ((), "other\n")]
            assert not await talk.client.stop_terminal("terminal-1")
            assert not await talk.client.stop_terminal("terminal-2")

    run(test())


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


# Agents that do harm


def test_junk_is_told_once_and_what_follows_is_read(project: Path, tmp_path: Path):
    script = r"""
def session_prompt(params):
    for junk in (b"Hello!\n", b"[1, 2]\n", b"\xff\xfe\n", b"{}\n", b"null\n", b"[" * 100000 + b"\n", b"\n"):
        raw(junk)
    send(id=999, result={})
    send(method="session/update", params=[1])
    send(method="session/update", params={"sessionId": "other", "update": {"sessionUpdate": "plan"}})
    send(method="nobody/knows", params={})
    update(sessionUpdate="from_the_future", x=1)
    update(sessionUpdate="_vendor", x=1)
    update(sessionUpdate="tool_call", title=5)
    update(sessionUpdate="plan_update", plan={"type": "markdown", "content": "x"})
    say("Still here.")
    return {"stopReason": "end_turn"}
"""

    async def test():
        async with talking(scripted(script, tmp_path), str(project)) as talk:
            turn = await talk.done(await talk.ask("x"))
            assert said(turn) == "Still here."
            told = " ".join(notices(turn))
            assert told.count("not of the protocol") == 1
            for what in ("no object", "no known form", "not asked", "from_the_future", "tool call", "plan"):
                assert what in told
            assert "_vendor" not in told

    run(test())


def test_an_answer_that_comes_twice_harms_nothing(project: Path, tmp_path: Path):
    script = """
def session_prompt(params):
    number = [each["id"] for each in seen if each.get("method") == "session/prompt"][-1]
    for reason in ("end_turn", "refusal"):
        send(id=number, result={"stopReason": reason})
    return "silence"
"""

    async def test():
        async with talking(scripted(script, tmp_path), str(project)) as talk:
            turn = await talk.done(await talk.ask("x"))
            assert turn.stop_reason == "end_turn"
            assert (await talk.done(await talk.ask("y"))).stop_reason == "end_turn"
            await until(lambda: any("not asked" in each for turn in talk.conversation.turns for each in notices(turn)))

    run(test())


def test_a_line_that_is_too_long_is_left_out_and_told(project: Path, tmp_path: Path):
    script = """
def session_prompt(params):
    number = [each["id"] for each in seen if each.get("method") == "session/prompt"][-1]
    if params["prompt"][0]["text"] == "answer":
        raw(b'{"jsonrpc": "2.0", "id": %d, "result": "' % number)
        for _ in range(100):
            raw(b"x" * 1024 * 1024)
        raw(b'"}\\n')
        return "silence"
    raw(b'{"jsonrpc": "2.0", "id": 77, "method": "fs/write_text_file", "params": "')
    for _ in range(100):
        raw(b"x" * 1024 * 1024)
    answers[77] = queue.Queue()
    raw(b'"}\\n')
    say(json.dumps(answers[77].get()))
    return {"stopReason": "end_turn"}
"""

    async def test():
        async with talking(scripted(script, tmp_path), str(project)) as talk:
            turn = await talk.done(await talk.ask("request"))
            assert "too long" in said(turn)
            assert "too long" in notices(turn)[0]
            turn = await talk.done(await talk.ask("answer"))
            assert turn.state == "failed"
            assert "too long" in turn.error

    run(test())


@pytest.mark.parametrize("half", [b"", b'{"jsonrpc": "2.0", "meth'], ids=["between lines", "in the middle of a line"])
def test_an_agent_that_dies_in_mid_turn_is_told_and_the_conversation_stays(project: Path, tmp_path: Path, half: bytes):
    script = f"""
def session_prompt(params):
    say("Half of")
    call = {{"sessionId": "s", "toolCall": {{"toolCallId": "t"}}, "options": []}}
    request("session/request_permission", call)
    raw({half!r})
    print("out of memory, key sk-123456789", file=sys.stderr, flush=True)
    os._exit(7)
"""

    async def test():
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
                await talk.client.switch_mode(talk.session, "x")

    run(test())


def test_an_agent_that_ends_at_once_is_told_with_its_last_words(project: Path, tmp_path: Path):
    script = 'print("\\x1b[31mNode.js is too old.\\x1b[0m", file=sys.stderr, flush=True); os._exit(1)'

    async def test():
        with pytest.raises(StartFailedError, match=r"ended at its start: Node\.js is too old\."):
            async with talking(scripted(script, tmp_path), str(project)):
                pass
        with pytest.raises(StartFailedError, match="it has returned 3"):
            async with talking(scripted("os._exit(3)", tmp_path), str(project)):
                pass

    run(test())


def test_a_missing_program_names_its_install_command(project: Path, tmp_path: Path):
    async def test():
        with pytest.raises(NoProgramError, match="npm install -g the-agent"):
            async with talking(["there-is-no-such-program"], str(project)):
                pass
        with pytest.raises(StartFailedError, match="there is no folder"):
            async with talking([sys.executable], str(tmp_path / "none")):
                pass

    run(test())


def test_an_agent_that_never_answers_is_told(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(client_module, "START_LIMIT", 0.5)

    async def test():
        script = 'def initialize(params): return "silence"'
        with pytest.raises(SilentError, match="didn't answer within"):
            async with talking(scripted(script, tmp_path), str(project)):
                pass

    run(test())


def test_a_turn_that_no_cancel_ends_is_given_up(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(client_module, "CANCEL_LIMIT", 0.1)

    async def test():
        script = 'def session_prompt(params): say("Working"); return "silence"'
        async with talking(scripted(script, tmp_path), str(project)) as talk:
            key = await talk.ask("x")
            await until(lambda: (turn := talk.turn(key)) and said(turn))
            await talk.client.cancel(talk.session)
            assert isinstance(await talk.ended(), SilentError)
            assert (await talk.done(key)).state == "failed"

    run(test())


def test_an_agent_that_speaks_another_version_is_told(project: Path, tmp_path: Path):
    async def test():
        with pytest.raises(VersionError, match="version 2"):
            async with talking(
                scripted('def initialize(params): return {"protocolVersion": 2}', tmp_path), str(project)
            ):
                pass

    run(test())


def test_an_agent_that_wants_a_sign_in_names_its_ways_and_goes_on_after_one(project: Path, tmp_path: Path):
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

    async def test():
        async with talking(scripted(script, tmp_path), str(project), session=None) as talk:
            with pytest.raises(SignInError, match="Log in with Google"):
                await talk.open()
            await talk.client.authenticate("g")
            await talk.open()
            assert (await talk.done(await talk.ask("x"))).state == "done"

    run(test())


def test_a_turn_that_the_agent_refuses_has_its_words(project: Path, tmp_path: Path):
    script = 'def session_prompt(params): raise Failure(-32603, "No credits are left")'

    async def test():
        async with talking(scripted(script, tmp_path), str(project)) as talk:
            turn = await talk.done(await talk.ask("x"))
            assert (turn.state, turn.error) == ("failed", "Scripted Agent refuses: No credits are left.")

    run(test())


def test_an_agent_that_opens_no_session_is_told(project: Path, tmp_path: Path):
    async def test():
        script = scripted("def session_new(params): return None", tmp_path)
        async with talking(script, str(project), session=None) as talk:
            with pytest.raises(AnswerError, match="no session"):
                await talk.open()

    run(test())


def test_a_flood_waits_in_the_pipe_and_the_loop_goes_on(project: Path, tmp_path: Path):
    script = """
def session_prompt(params):
    for number in range(20000):
        say("x" * 100)
    return {"stopReason": "end_turn"}
"""

    async def test():
        async with talking(scripted(script, tmp_path), str(project)) as talk:
            most = 0
            key = await talk.ask("x")
            while (turn := talk.turn(key)) is None or turn.state == "running":
                most = max(most, len(talk.client._stream._waiting))
                await asyncio.sleep(0)
            assert len(said(turn)) == 20000 * 100
            assert most <= 600

    run(test())


def test_too_many_requests_at_once_are_refused(project: Path, tmp_path: Path):
    script = """
def session_prompt(params):
    options = [{"optionId": "y", "name": "Y", "kind": "allow_once"}]
    call = {"sessionId": "s", "toolCall": {"toolCallId": "t"}, "options": options}
    numbers = [request("session/request_permission", call) for _ in range(100)]
    refused = sum("code" in answers[number].get() for number in numbers[64:])
    say(str(refused))
    return {"stopReason": "end_turn"}
"""

    async def test():
        async with talking(scripted(script, tmp_path), str(project)) as talk:
            assert said(await talk.done(await talk.ask("x"))) == "36"

    run(test())


# The process


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no login shells")
def test_the_environment_is_that_of_the_login_shell_without_the_variables_of_editors(
    home: Path, monkeypatch: pytest.MonkeyPatch
):
    (home / ".bash_profile").write_text("echo Welcome; export OWN='a\nb'; export PATH=/own/bin:$PATH\n")
    monkeypatch.setenv("SHELL", "/bin/bash")
    monkeypatch.setenv("QWEN_CODE_IDE_SERVER_PORT", "1")
    found = run(LoginEnvironment().get())
    assert found["PATH"].startswith("/own/bin:")
    assert found["OWN"] == "a\nb"
    assert "QWEN_CODE_IDE_SERVER_PORT" not in found


def test_without_an_answer_of_the_login_shell_the_editors_environment_does(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(environment_module, "usual_shell", lambda _: "/there/is/no/shell")
    monkeypatch.setenv("OWN", "a")
    assert run(LoginEnvironment().get())["OWN"] == "a"


def test_a_start_that_is_given_up_leaves_no_process(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pids: list[int] = []

    def write(pid: int, started: float, kind: str) -> None:
        pids.append(pid)
        raise OSError

    monkeypatch.setattr(process_module.records, "write", write)

    async def test():
        with pytest.raises(OSError):
            async with talking(scripted("", tmp_path), str(project)):
                pass
        assert not any(map(is_alive, pids))

    run(test())
    assert pids


def test_an_agent_and_what_it_has_started_end_with_its_client(project: Path, tmp_path: Path):
    script = """
import subprocess, signal
if os.name != "nt": signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
os._exit = lambda code: time.sleep(600)
def session_prompt(params):
    say(f"{os.getpid()} {child.pid}")
    return {"stopReason": "end_turn"}
"""

    async def test():
        async with talking(scripted(script, tmp_path), str(project)) as talk:
            pids = [int(pid) for pid in said(await talk.done(await talk.ask("x"))).split()]
            assert all(map(is_alive, pids))
        assert not any(map(is_alive, pids))

    run(test())


def test_the_agent_of_a_killed_editor_is_ended_at_the_next_start(project: Path, tmp_path: Path):
    async def test():
        async with talking(scripted("os._exit = lambda code: time.sleep(600)", tmp_path), str(project)) as talk:
            process = talk.client._process
            assert process
            assert process_module.end_leftovers() == []
            folder = next((tmp_path / "tmp").glob("qwen-companion*"))
            record = folder / f"agent-{process.pid}.json"
            assert set(json.loads(record.read_text())) == {"agent", "editor"}
            record.write_text(json.dumps(json.loads(record.read_text()) | {"editor": [os.getpid(), 1.0]}))
            assert await asyncio.to_thread(process_module.end_leftovers) == [process.pid]
            assert not record.exists()
            await talk.ended()

    run(test())


def test_nothing_but_an_agent_is_ended_whatever_a_record_says(tmp_path: Path):
    from companion.daemon.process import records  # noqa: PLC0415 - for this test alone

    own = psutil.Process()
    records.write(own.pid, own.create_time(), "agent")
    folder = next((tmp_path / "tmp").glob("qwen-companion*"))
    record = folder / f"agent-{own.pid}.json"
    record.write_text(json.dumps({"agent": [own.pid, own.create_time()], "editor": [own.pid, 1.0]}))
    assert process_module.end_leftovers() == []
    assert not record.exists()
