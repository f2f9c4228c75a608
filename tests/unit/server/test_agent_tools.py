"""What the tools tell an agent of the editor, and what they keep back."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from companion.editor import WindowId
from companion.server import context, tools
from companion.server.window_screen import Selected, Selection, SymbolPlace, SymbolPlaces, SymbolQuestion, Tab
from companion.settings import AGENT_TOOLS, Settings

from ..conftest import Running, until
from ..test_problems import row
from ..wire import LIMIT, Cli

BRIDGE = Path(__file__).parents[3] / "companion" / "clis" / "mcp_bridge.mjs"


def configure(running: Running, **settings: Any) -> None:
    running.do(lambda companion: companion.configure(Settings(agents_use_editor=True, **settings)))


def call(agent: Cli, name: str, /, **arguments: Any) -> dict[str, Any]:
    """The answer of a tool, which is the same twice and as its schema says."""
    result = agent.tool(name, **arguments)["result"]
    assert not result["isError"], result
    [block] = result["content"]
    assert json.loads(block["text"]) == result["structuredContent"]
    [tool] = [each for each in listed(agent) if each["name"] == name]
    jsonschema.validate(result["structuredContent"], tool["outputSchema"])
    jsonschema.validate(arguments, tool["inputSchema"])
    return result["structuredContent"]


def why_not(agent: Cli, name: str, /, **arguments: Any) -> str:
    result = agent.tool(name, **arguments)["result"]
    assert result["isError"]
    return result["content"][0]["text"]


def listed(agent: Cli) -> list[dict[str, Any]]:
    return agent.ask("tools/list").json()["result"]["tools"]


@pytest.fixture
def file(project: Path) -> str:
    (project / "a.py").write_text("x = y\n")
    return str(project / "a.py")


def test_each_tool_can_be_switched_off(running: Running, agent: Cli):
    assert [each["name"] for each in listed(agent)] == list(AGENT_TOOLS)
    configure(running, agents_tools=("getOpenFiles",))
    assert [each["name"] for each in listed(agent)] == ["getOpenFiles"]
    assert "error" in agent.tool("getDiagnostics")
    configure(running, show_diffs=False)
    assert [each["name"] for each in listed(agent)] == list(AGENT_TOOLS[1:])
    assert "Unknown tool" in why_not(agent, "openDiff", filePath="/a", newContent="")


def test_the_problems_come_in_pages_with_the_gravest_that_are_wanted(running: Running, agent: Cli, file: str):
    running.editor.problems[file] = [row(n, f"p{n}", severity=1 + n % 4) for n in range(12)]
    everything = call(agent, "getDiagnostics", paths=[file])
    assert everything["total"] == 12
    assert everything["provider"] == "LSP"
    assert everything["isSettled"]
    assert everything["diagnostics"][0] == {
        "path": file,
        "start": {"line": 1, "character": 1},
        "end": {"line": 1, "character": 1},
        "severity": "error",
        "source": "pyright",
        "code": "",
        "message": "p0",
    }
    first = call(agent, "getDiagnostics", severity="warning", limit=4)
    rest = call(agent, "getDiagnostics", severity="warning", limit=4, cursor=first["nextCursor"])
    assert [each["message"] for each in first["diagnostics"] + rest["diagnostics"]] == [
        "p0",
        "p1",
        "p4",
        "p5",
        "p8",
        "p9",
    ]
    assert "nextCursor" not in rest
    assert call(agent, "getDiagnostics", paths=[file + "x"])["notOpen"] == [file + "x"]


def test_another_spelling_of_an_open_file_is_that_file(running: Running, agent: Cli, project: Path, file: str):
    """On Windows and macOS an agent may name it in other letters, everywhere through a link."""
    running.editor.problems[file] = [row(0, "p")]
    running.editor.tabs_shown = [Tab(str(project / "gone.py")), Tab(file, "Python")]
    os.link(file, spelled := str(project / "other.py"))  # as `A.py` is on a disk that knows no upper and lower case
    others = [spelled]
    if sys.platform != "win32":  # links want rights there
        (project / "linked").symlink_to(project, target_is_directory=True)
        others.append(str(project / "linked" / "a.py"))
    for other in others:
        found = call(agent, "getDiagnostics", paths=[other, file])
        assert ([each["path"] for each in found["diagnostics"]], found["notOpen"]) == ([file], [])
        running.editor.symbols[""] = SymbolPlaces("index", ())
        call(agent, "findReferences", path=other, line=1, character=1)
        assert running.editor.symbols_asked[-1].path == file


def test_what_is_asked_wrongly_is_said(agent: Cli):
    assert "severity" in why_not(agent, "getDiagnostics", severity="fatal")
    assert "limit" in why_not(agent, "getDiagnostics", limit=0)
    assert "cursor" in why_not(agent, "getOpenFiles", cursor="-1")
    assert "paths" in why_not(agent, "getDiagnostics", paths=["a.py"])
    assert "needs a name" in why_not(agent, "findReferences")
    assert "waitSeconds" in why_not(agent, "getDiagnostics", waitSeconds=-1)
    # The editor's own numbers have 32 or 64 bits.
    assert "line" in why_not(agent, "openFile", path=os.path.abspath("a.py"), line=10**30)
    for name in ("line", "character"):
        assert name in why_not(agent, "findReferences", path=os.path.abspath("a.py"), **{name: 10**30})


def test_a_cursor_behind_the_end_of_a_list_has_no_rows(running: Running, agent: Cli, file: str):
    running.editor.tabs_shown = [Tab(file)]
    assert call(agent, "getOpenFiles", cursor="900") == {"files": [], "total": 1}


def test_nothing_of_an_excluded_file_is_told(running: Running, agent: Cli, project: Path):
    secret, plain = str(project / ".env"), str(project / "a.py")
    for each in (secret, plain):
        Path(each).write_text("x\n")
    running.editor.problems = {secret: [row(0, "secret")], plain: [row(0, "plain")]}
    running.editor.tabs_shown = [Tab(secret), Tab(plain, "Python", is_active=True)]
    running.editor.selected_now = Selected(secret, ((Selection(1, 1, "key"), Selection(1, 4), False),))
    places = (SymbolPlace(secret, 1, 1, "x"), SymbolPlace(plain, 1, 1, "x", "variable"))
    running.editor.symbols["x"] = SymbolPlaces("index", places)
    assert [each["message"] for each in call(agent, "getDiagnostics")["diagnostics"]] == ["plain"]
    assert [each["path"] for each in call(agent, "getOpenFiles")["files"]] == [plain]
    assert call(agent, "getSelection") == {"selections": []}
    assert [each["path"] for each in call(agent, "findSymbol", name="x")["places"]] == [plain]
    assert [each["path"] for each in call(agent, "findReferences", name="x")["places"]] == [plain]
    for name, arguments in (
        ("getDiagnostics", {"paths": [secret]}),
        ("findReferences", {"path": secret, "line": 1, "character": 1}),
        ("openFile", {"path": secret}),
    ):
        assert "context_exclude" in why_not(agent, name, **arguments)
    assert running.editor.places == []
    assert all(question.path != secret for question in running.editor.symbols_asked)


def test_the_setting_context_keeps_texts_or_everything_back(running: Running, agent: Cli, file: str):
    running.editor.problems[file] = [row(0, "y is undefined")]
    running.editor.tabs_shown = [Tab(file)]
    running.editor.selected_now = Selected(file, ((Selection(1, 1, "x = y"), Selection(1, 6), False),))
    running.editor.symbols["x"] = SymbolPlaces("LSP", (SymbolPlace(file, 1, 1, "x"),))
    assert call(agent, "getSelection")["selections"][0]["text"] == "x = y"
    configure(running, context="files")
    answers = [call(agent, "getDiagnostics"), call(agent, "getSelection"), call(agent, "findSymbol", name="x")]
    assert "undefined" not in json.dumps(answers)
    assert "x = y" not in json.dumps(answers)
    configure(running, context="off")
    for name, arguments in (
        ("getDiagnostics", {}),
        ("getOpenFiles", {}),
        ("getSelection", {}),
        ("findSymbol", {"name": "x"}),
        ("findReferences", {"name": "x"}),
    ):
        assert "“off”" in why_not(agent, name, **arguments)


def test_a_symbol_is_found_by_its_name_or_its_place(running: Running, agent: Cli, file: str):
    running.editor.symbols["f"] = SymbolPlaces("LSP", tuple(SymbolPlace(file, n, 1, "f") for n in range(1, 4)))
    page = call(agent, "findReferences", name="f", limit=2)
    assert [each["line"] for each in page["places"]] == [1, 2]
    assert page["nextCursor"] == "2"
    call(agent, "findReferences", path=file, line=1, character=5)
    assert running.editor.symbols_asked[-1] == SymbolQuestion("", file, 1, 5, wants_references=True)


def test_only_a_file_that_is_there_is_shown(running: Running, agent: Cli, file: str, project: Path):
    assert call(agent, "openFile", path=file, line=3)["isShown"]
    assert running.editor.places == [(file, 3)]
    assert "no file" in why_not(agent, "openFile", path=str(project / "none.py"))
    assert "no file" in why_not(agent, "openFile", path=str(project))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")
@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("pipe", "is not a regular file"),
        ("pipe behind a link", "is not a regular file"),
        ("device", "is not a regular file"),
        ("folder", "is a folder"),
        ("sparse", "is larger than 64 MB"),
        ("loop", "is a loop of symbolic links"),
        ("below a file", "There is no file"),
        ("endless", "/pagemap "),
        ("elsewhere", "is on another computer"),
    ],
)
def test_what_the_editor_can_not_open_is_an_error_of_that_call(
    running: Running, agent: Cli, file: str, project: Path, kind: str, why: str
):
    """A sparse file of 600 MB took the editor's memory from 85 to 721 MB, and a pipe held it up."""
    assert sys.platform != "win32"
    path = project / "x"
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "pipe behind a link":
            os.mkfifo(project / "pipe")
            path.symlink_to("pipe")
        case "device":
            path.symlink_to("/dev/zero")
        case "folder":
            path.mkdir()
        case "sparse":
            with path.open("wb") as sparse:
                sparse.truncate(600 << 20)
        case "loop":
            path.symlink_to("x")
        case "below a file":
            path = Path(file) / "x"
        case "elsewhere":
            path = Path("//evil.example/share/x")
        case _:
            path = Path("/proc/self/pagemap")
            if not os.access(path, os.R_OK):
                pytest.skip("only Linux has such files")
    assert why in why_not(agent, "openFile", path=str(path))
    assert running.editor.places == []


def test_a_package_that_hangs_is_an_error_for_the_agent_alone(running: Running, agent: Cli):
    running.editor.is_hung = True
    assert "in time" in why_not(agent, "getDiagnostics")
    running.editor.is_hung = False
    assert call(agent, "getDiagnostics")["total"] == 0


def test_a_disk_that_hangs_is_an_error_for_the_agent_that_asks_for_the_context(
    running: Running, agent: Cli, file: str, monkeypatch: pytest.MonkeyPatch
):
    answers, listed_before = threading.Event(), context.listed
    monkeypatch.setattr(context, "listed", lambda *args: (answers.wait(LIMIT), listed_before(*args))[1])
    monkeypatch.setattr(tools, "DISK", 0.1)
    try:
        running.focus(1, file)
        assert "has not answered in time" in why_not(agent, "getContext")
    finally:
        answers.set()
    monkeypatch.setattr(tools, "DISK", LIMIT)
    assert call(agent, "getContext")


def test_the_problems_that_an_accepted_change_makes_come_with_the_next_answer(running: Running, agent: Cli, file: str):
    running.editor.problems[file] = [row(0, "old")]
    running.editor.tabs_shown = [Tab(file)]
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(lambda: agent.tool("openDiff", filePath=file, newContent="\nx = z\n"))
        until(lambda: running.editor.open_diffs)
        until(lambda: running.do(lambda companion: _looked(companion, file)))
        running.editor.awaited = {file}
        running.accept(file)
        assert json.loads(answer.result()["result"]["content"][0]["text"])["outcome"] == "accepted"
    Path(file).write_text("\nx = z\n")
    until(lambda: running.do(_is_due))
    running.editor.problems[file] = [row(1, "old"), row(1, "z is undefined"), row(1, "style", severity=4)]
    running.editor.awaited = set()
    told = call(agent, "getOpenFiles")
    assert [each["message"] for each in told["newProblems"]] == ["z is undefined"]
    assert "newProblems" not in call(agent, "getOpenFiles")


def _looked(companion: Any, path: str) -> bool:
    changes = companion._windows[WindowId(1)].news._changes.values()
    return any(each.before and each.before.done() for each in changes if each.path == path)


def _is_due(companion: Any) -> bool:
    changes = companion._windows[WindowId(1)].news._changes.values()
    return any(each.looks is not None for each in changes)


@pytest.mark.parametrize(("name", "told"), [("a.py", []), ("new.py", ["wrong"])])
def test_only_what_is_wrong_in_a_new_file_is_new_where_nobody_looked_before(
    running: Running, agent: Cli, file: str, name: str, told: list[str]
):
    """A language server looks at a file once a tab shows it: what it finds then may be as old as the file."""
    path = str(Path(file).with_name(name))
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(lambda: agent.tool("openDiff", filePath=path, newContent="x = z\n"))
        until(lambda: running.editor.open_diffs)
        until(lambda: running.do(lambda companion: _looked(companion, path)))
        running.accept(path)
        answer.result()
    Path(path).write_text("x = z\n")
    until(lambda: running.do(_is_due))
    running.editor.problems[path] = [row(0, "wrong")]
    assert [each["message"] for each in call(agent, "getOpenFiles").get("newProblems", [])] == told


def test_new_problems_can_be_switched_off(running: Running, agent: Cli, file: str):
    configure(running, agents_new_problems=False)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(lambda: agent.tool("openDiff", filePath=file, newContent="x\n"))
        until(lambda: running.editor.open_diffs)
        running.accept(file)
        answer.result()
    running.editor.problems[file] = [row(1, "new")]
    assert "newProblems" not in call(agent, "getOpenFiles")


class ModelOfCli(Cli):
    """What `mcp_bridge.mjs` does for a CLI."""

    path = "/tools/Claude Code"


def test_a_cli_reaches_the_tools_only_if_the_person_wants_it(running: Running, agent: Cli, file: str):
    running.editor.problems[file] = [row(0)]
    with ModelOfCli(running.lock()) as model:
        model.connect()
        assert model.tools() == set(AGENT_TOOLS)
        assert call(model, "getDiagnostics")["total"] == 1
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(lambda: model.tool("openDiff", filePath=file, newContent="x\n"))
            until(lambda: running.editor.open_diffs)
            assert running.diff(file).review.owner.cli == "Claude Code (MCP)"
            running.reject(file)
            assert answer.result()["result"]["structuredContent"] == {"outcome": "rejected"}
        assert running.do(lambda companion: companion.statuses.of(WindowId(1))).clis == ()
        running.do(lambda companion: companion.configure(Settings()))
        refused = model.ask("tools/list")
        assert refused.status_code == 403
        assert "agents_use_editor" in refused.text


def test_a_cli_that_only_its_model_connects_has_its_transcripts_read(running: Running, agent: Cli):
    with ModelOfCli(running.lock()) as model:
        model.path = "/tools/Codex"
        model.connect()
        model.listen()
        until(lambda: running.read_transcripts() == {"codex"})


@pytest.mark.parametrize(
    "method", ["__proto__", "constructor", "toString", "hasOwnProperty", "valueOf", ["ping"], {}, 1]
)
def test_the_bridge_knows_no_method_that_every_object_has(method: object):
    messages = [
        {"jsonrpc": "2.0", "id": "__proto__", "method": method},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "__proto__"}},
        {"jsonrpc": "2.0", "id": "constructor", "method": "ping"},
    ]
    lines = "".join(f"{json.dumps(message)}\n" for message in messages)
    node = os.environ.get("NODE") or "node"
    done = subprocess.run([node, BRIDGE, "CLI"], input=lines, capture_output=True, text=True, timeout=LIMIT, check=True)
    [unknown, answered] = [json.loads(line) for line in done.stdout.splitlines()]
    assert (unknown["id"], unknown["error"]["code"]) == ("__proto__", -32601)
    assert (answered["id"], answered["result"]) == ("constructor", {})


def test_a_change_that_a_cli_has_proposed_itself_is_told_to_its_model(running: Running, agent: Cli, file: str):
    running.editor.problems[file] = []
    with ModelOfCli(running.lock()) as model, running.cli() as cli:
        model.path = "/tools/Qwen Code"
        model.connect()
        cli.connect()
        cli.tool("openDiff", filePath=file, newContent="x = z\n")
        until(lambda: running.editor.open_diffs)
        until(lambda: running.do(lambda companion: _looked(companion, file)))
        running.accept(file)
        Path(file).write_text("x = z\n")
        until(lambda: running.do(_is_due))
        running.editor.problems[file] = [row(0, "z is undefined", severity=2)]
        assert "newProblems" not in call(agent, "getOpenFiles")
        [told] = call(model, "getOpenFiles")["newProblems"]
        assert (told["message"], told["severity"]) == ("z is undefined", "warning")


def test_the_two_ways_in_do_not_mix(running: Running, agent: Cli):
    with ModelOfCli(running.lock()) as model, running.cli() as cli:
        model.connect()
        cli.connect()
        assert cli.tools() == {"openDiff", "closeDiff"}
        model.session, cli.session = cli.session, model.session
        assert model.ask("tools/list").status_code == 404
        assert cli.ask("tools/list").status_code == 404
        assert agent.send("POST", "/tools/x", {}).status_code == 404
        assert cli.send("POST", "/tools/" + "x" * 41, {}).status_code == 404


def test_a_call_that_is_cancelled_ends_and_its_diff_stays(running: Running, agent: Cli, file: str):
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(lambda: agent.tool("openDiff", filePath=file, newContent="x\n"))
        diff = until(lambda: next(iter(running.editor.open_diffs.values()), None))
        assert diff

        def calls(companion: Any) -> list[list[int | str]]:
            return [list(each.calls) for each in companion._windows[WindowId(1)].sessions]

        [waiting] = running.do(calls)
        with Cli({"port": agent.port, "authToken": agent.token}) as other:
            other.session = agent.session
            message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": waiting[0]}}
            assert other.send("POST", "/mcp", message).status_code == 202
        assert answer.result()["result"]["isError"]
    until(lambda: diff.review.orphaned)
    assert running.editor.open_diffs


def test_the_page_of_users_lists_the_tools_with_what_they_take(agent: Cli, root: Path):
    page = (root / "docs" / "talk.md").read_text(encoding="utf-8")
    rows = [line.split("|") for line in page.splitlines() if line.startswith("| `") and line.count("|") == 4]
    told = {cells[1].strip(" `"): set(re.findall(r"`(\w+)`", cells[3])) for cells in rows}
    assert told == {each["name"]: set(each["inputSchema"].get("properties", ())) for each in listed(agent)}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only there a pipe can be made smaller")
@pytest.mark.skipif("NODE" not in os.environ and not shutil.which("node"), reason="needs Node.js")
def test_a_hook_tells_all_to_who_reads_late(running: Running, agent: Cli, file: str, project: Path):
    """The pipes of macOS take 16 KiB at once."""
    assert sys.platform == "linux"
    import fcntl  # noqa: PLC0415 - not on Windows

    running.editor.problems[file] = [row(n, "p" * 900) for n in range(20)]
    running.lock()
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    program = os.environ.get("NODE") or shutil.which("node") or ""
    with (
        subprocess.Popen(
            [program, str(BRIDGE), "--hook"], stdin=subprocess.PIPE, stdout=writing, cwd=project
        ) as process,
        open(reading, "rb") as answer,
    ):
        os.close(writing)
        assert process.stdin
        process.stdin.write(json.dumps({"hook_event_name": "PostToolUse", "tool_input": {"file_path": file}}).encode())
        process.stdin.close()
        assert select.select([answer], [], [], LIMIT)[0]
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.5)
        told = json.loads(answer.read())
    assert told["hookSpecificOutput"]["additionalContext"].count("p" * 900) == 20
