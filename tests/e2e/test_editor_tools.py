"""What the editor knows reaches a model: the real packages LSP and SublimeLinter, a real language server, real CLIs."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import mcp_types as types
import pytest
from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

from companion.clis.mcp_configuration import CLIENTS, configuration
from companion.settings import AGENT_TOOLS

from ..agents.published import CODEX_CONFIGURATION, INSTALLED, codex_call
from . import gemini
from .cli import STEP
from .clis import pinned
from .editor import Editor
from .language_server import archive, offered, unpacked, with_lsp
from .model import Call, Model, Script
from .qwen import PROJECT, Home, Qwen, node, node_modules, pinned_command

BRIDGE = PROJECT / "companion" / "clis" / "mcp_bridge.mjs"
RIGHT = 'def greet(name):\n    print(f"hi {name}")\n\n\ngreet("Ada")\n'
WRONG = RIGHT.replace("{name}", "{nobody}")
needs_lsp = pytest.mark.skipif(not archive("LSP").is_file(), reason="the archive of LSP is kept beside the project")
needs_linter = pytest.mark.skipif(
    not archive("SublimeLinter").is_file(), reason="the archive of SublimeLinter is kept beside the project"
)
pytestmark = pytest.mark.usefixtures("programs")
CLIENT = {client.key: client for client in CLIENTS}


def codex() -> Path | None:
    """The program of Codex for this system, which its agent for chats brings along."""
    found = (INSTALLED / "codex-acp" / "node_modules" / "@openai").glob("codex-*/vendor/*/bin/codex*")
    return next(found, None)


@pytest.fixture
def home() -> Iterator[Home]:
    with Home.make() as home:
        home.write("greet.py", RIGHT)
        yield home


@pytest.fixture
def watched(home: Home) -> Iterator[Editor]:
    """An editor with LSP and pyright, which has greet.py open."""
    with with_lsp(home) as editor:
        editor.lock()
        editor.open_file(home.workspace / "greet.py")
        yield editor


@pytest.fixture
def plain(home: Home) -> Iterator[Editor]:
    """An editor without such packages."""
    with offered(home) as editor:
        editor.lock()
        editor.open_file(home.workspace / "greet.py")
        yield editor


def environment(home: Home) -> dict[str, str]:
    """For a program that starts the bridge as "node"."""
    return home.environment(PATH=f"{node().parent}:/usr/bin:/bin", NODE_MODULES=str(node_modules()))


def path_of_node(home: Home) -> dict[str, str]:
    """The variable of a CLI that starts the bridge as "node"."""
    return {"PATH": environment(home)["PATH"]}


def copied(cli: str, *, hook: bool = False) -> dict[str, Any]:
    """What *Copy MCP Configuration* copies for a CLI whose settings are JSON."""
    return json.loads(configuration(CLIENT[cli], str(BRIDGE), with_hook=hook))


def asked(home: Home, *calls: Sequence[Any], meanwhile: Callable[[Popen[str]], None] | None = None) -> dict[str, Any]:
    """What the Node SDK's client gets from the bridge. `meanwhile` may write lines to it."""
    command = [str(node()), str(Path(__file__).with_name("stdio_client.mjs")), str(node()), str(BRIDGE), "Node"]
    pipes: dict[str, Any] = {"stdin": PIPE, "stdout": PIPE, "stderr": PIPE, "encoding": "utf-8"}
    with Popen(command, cwd=home.workspace, env=environment(home), **pipes) as process:
        try:
            assert process.stdin
            process.stdin.write(json.dumps(calls) + "\n")
            process.stdin.flush()
            if meanwhile:
                meanwhile(process)
            answer, errors = process.communicate(timeout=120)
        finally:
            process.kill()
    assert process.returncode == 0, errors
    return json.loads(answer)


@contextlib.asynccontextmanager
async def bridged(home: Home) -> AsyncGenerator[ClientSession]:
    """A session of the Python SDK's client with the bridge."""
    server = StdioServerParameters(
        command=str(node()), args=[str(BRIDGE), "Python"], env=environment(home), cwd=home.workspace
    )
    async with stdio_client(server) as (reader, writer), ClientSession(reader, writer) as session:
        await session.initialize()
        yield session


async def called(session: ClientSession, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """What a tool answers."""
    result = await session.call_tool(name, arguments)
    assert isinstance(result, types.CallToolResult)
    assert not result.is_error
    assert result.structured_content
    return result.structured_content


def every_call(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """A call of each tool but openDiff, which waits for the person."""
    return [
        ("getContext", {}),
        ("getDiagnostics", {"paths": [str(path)]}),
        ("getOpenFiles", {"limit": 1}),
        ("getSelection", {}),
        ("findSymbol", {"name": "greet"}),
        ("findReferences", {"name": "greet"}),
        ("openFile", {"path": str(path), "line": 5}),
        ("pointOut", {"path": str(path), "startLine": 1, "endLine": 2, "note": "look"}),
    ]


def test_the_node_client_lists_and_calls_every_tool(plain: Editor, home: Home) -> None:
    path = home.workspace / "greet.py"
    found = asked(home, *every_call(path))
    assert found["tools"] == found["schemas"] == list(AGENT_TOOLS)
    answers = {name: answer["structuredContent"] for name, answer in found["answers"].items()}
    assert answers["getOpenFiles"]["files"][0]["path"] == str(path)
    assert answers["getContext"]["workspaceState"]["openFiles"][0]["path"] == str(path)
    assert answers["getSelection"]["path"] == str(path)
    assert answers["findSymbol"] == {
        "places": [
            {"path": str(path), "line": 1, "character": 5, "name": "greet", "kind": "", "container": ""},
        ],
        "total": 1,
        "provider": "index",
    }
    assert [place["line"] for place in answers["findReferences"]["places"]] == [5]
    assert answers["openFile"] == {"isShown": True}
    assert answers["pointOut"] == {"notes": 1}


async def test_the_python_client_lists_and_calls_every_tool(plain: Editor, home: Home) -> None:
    async with bridged(home) as session:
        assert [tool.name for tool in (await session.list_tools()).tools] == list(AGENT_TOOLS)
        for name, arguments in every_call(home.workspace / "greet.py"):
            assert await called(session, name, arguments)


def test_the_node_client_turns_pages_has_a_diff_answered_and_cancels_one(plain: Editor, home: Home) -> None:
    greet, other = home.workspace / "greet.py", home.write("other.py", "x = 1\n")
    plain.open_file(other)

    def meanwhile(process: Popen[str]) -> None:
        plain.accept(plain.wait_diff(greet))
        plain.wait_diff(other)
        assert process.stdin
        process.stdin.write("\n")
        process.stdin.flush()

    first, second, accepted, cancelled, after = asked(
        home,
        ("getOpenFiles", {"limit": 1}),
        ("getOpenFiles", {"limit": 1, "cursor": "1"}),
        ("openDiff", {"filePath": str(greet), "newContent": WRONG}),
        ("openDiff", {"filePath": str(other), "newContent": "x = 2\n"}, "cancel"),
        ("getSelection", {}),
        meanwhile=meanwhile,
    )["all"]
    pages = [first["structuredContent"], second["structuredContent"]]
    assert [page["files"][0]["path"] for page in pages] == [str(greet), str(other)]
    assert [page.get("nextCursor") for page in pages] == ["1", None]
    assert accepted["structuredContent"] == {"outcome": "accepted", "content": WRONG}
    assert "not wanted any more" in cancelled["failed"]
    assert not after["isError"]
    assert plain.wait_diff(other)


async def test_the_python_client_turns_pages_has_a_diff_answered_and_cancels_one(plain: Editor, home: Home) -> None:
    greet, other = home.workspace / "greet.py", home.write("other.py", "x = 1\n")
    plain.open_file(other)
    async with bridged(home) as session:
        assert all(tool.output_schema for tool in (await session.list_tools()).tools)
        first = await called(session, "getOpenFiles", {"limit": 1})
        second = await called(session, "getOpenFiles", {"limit": 1, "cursor": first["nextCursor"]})
        assert [page["files"][0]["path"] for page in (first, second)] == [str(greet), str(other)]
        assert "nextCursor" not in second
        asking = asyncio.create_task(called(session, "openDiff", {"filePath": str(greet), "newContent": WRONG}))
        await asyncio.to_thread(lambda: plain.accept(plain.wait_diff(greet)))
        assert await asking == {"outcome": "accepted", "content": WRONG}
        asking = asyncio.create_task(called(session, "openDiff", {"filePath": str(other), "newContent": "x = 2\n"}))
        await asyncio.to_thread(plain.wait_diff, other)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert (await called(session, "getSelection", {}))["path"] == str(other)
    assert plain.wait_diff(other)


def test_the_tools_are_there_whenever_the_editor_is(home: Home) -> None:
    assert asked(home)["tools"] == []
    answer = asked(home, ("getOpenFiles", {}))["answers"]["getOpenFiles"]
    assert answer["isError"]
    assert "No window of Sublime Text" in answer["content"][0]["text"]
    for _ in range(2):
        with offered(home) as editor:
            editor.lock()
            assert asked(home)["tools"] == list(AGENT_TOOLS)


@needs_lsp
def test_an_error_made_by_an_accepted_change_reaches_the_model_in_the_same_turn(watched: Editor, home: Home) -> None:
    """With the hook that is copied: nobody asks for the problems."""
    with_model(watched, home, asks=False)


@needs_lsp
def test_the_model_of_qwen_code_asks_for_the_problems(watched: Editor, home: Home) -> None:
    with_model(watched, home, asks=True)


def with_model(editor: Editor, home: Home, *, asks: bool, says: str = "is not defined") -> None:
    """Qwen Code makes a change that is accepted and has an error, of which the model is told."""
    path = home.workspace / "greet.py"
    also = copied("qwen", hook=not asks)
    with closing(Model()) as model, closing(Qwen(home, model, more=path_of_node(home), also=also)) as qwen:
        qwen.wait_ready()
        qwen.wait_connected()
        name = "mcp__sublime-text__getDiagnostics"
        more = [
            [Call("tool_search", {"query": f"select:{name}"})],
            [Call("tool_call", {"name": name, "arguments": {"paths": [str(path)], "severity": "error"}})],
        ]
        edit = Call("edit", {"file_path": str(path), "old_string": "{name}", "new_string": "{nobody}"})
        rounds = [[Call("read_file", {"file_path": str(path)})], [edit], *(more if asks else [])]
        script = qwen.ask("Edit greet.py", *rounds)
        editor.accept(editor.wait_diff(path))
        qwen.terminal.wait("end of the turn", lambda: _goes_on(qwen, script), 2 * STEP)
        assert path.read_text() == WRONG
        told = json.dumps([each.body for each in model.requests_of(script)])
        assert "nobody" in told
        assert says in told


def _goes_on(qwen: Qwen, script: Script) -> bool:
    """Whether the turn is over. The person allows each tool of the editor once."""
    screen = qwen.terminal.text()
    if "Yes, allow once" in screen and "getdiagnostics" in screen.lower() and qwen.terminal.quiet_for() > 0.3:
        qwen.terminal.press("\r")
    return script.done in screen


@needs_lsp
def test_an_error_made_by_an_accepted_change_reaches_the_model_of_gemini_cli(watched: Editor, home: Home) -> None:
    """With the hook that is copied."""
    path = home.workspace / "greet.py"
    also = copied("gemini", hook=True)
    with closing(Model()) as model, closing(gemini.Gemini(home, model, more=path_of_node(home), also=also)) as cli:
        cli.wait_ready()
        cli.wait_connected()
        script = cli.ask_to_edit(path, "{name}", "{nobody}")
        watched.accept(watched.wait_diff(path))
        cli.terminal.wait_text(script.done, 2 * STEP)
        assert path.read_text() == WRONG
        told = json.dumps([each.body for each in model.requests_of(script)])
        assert "<hook_context>" in told
        assert "is not defined" in told


PULLED = """
import json, sys

def messages():
    while head := sys.stdin.buffer.readline():
        length = int(head.split(b":")[1])
        while sys.stdin.buffer.readline().strip():
            pass
        yield json.loads(sys.stdin.buffer.read(length))

def answer(message):
    if message["method"] == "initialize":
        pulled = {"interFileDependencies": False, "workspaceDiagnostics": False}
        return {"capabilities": {"textDocumentSync": 1, "diagnosticProvider": pulled}}
    if message["method"] != "textDocument/diagnostic":
        return None
    if message["params"].get("previousResultId"):
        return {"kind": "unchanged", "resultId": "1"}
    place = {"line": 0, "character": 0}
    return {"kind": "full", "resultId": "1", "items": [{"range": {"start": place, "end": place}, "message": "pulled"}]}

for message in messages():
    if message.get("method") == "exit":
        break
    if "id" in message and "method" in message:
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answer(message)}).encode()
        sys.stdout.buffer.write(b"Content-Length: %d\\r\\n\\r\\n" % len(body) + body)
        sys.stdout.buffer.flush()
"""


@needs_lsp
async def test_a_language_server_that_says_that_nothing_has_changed_is_not_waited_for(home: Home) -> None:
    """LSP asks it for problems after a change, and it answers that they are the same."""
    path, program = home.workspace / "greet.py", home.root / "server.py"
    program.write_text(PULLED, encoding="utf-8")
    # An edit that nobody has answered for is forgotten after five seconds.
    asked_for = {"paths": [str(path)], "waitSeconds": 3}
    with with_lsp(home, [sys.executable, str(program)]) as editor:
        editor.lock()
        editor.open_file(path)
        async with bridged(home) as session, asyncio.timeout(4 * STEP):
            found: list[dict[str, Any]] = []
            while [each["message"] for each in found] != ["pulled"]:
                found = (await called(session, "getDiagnostics", asked_for))["diagnostics"]
            for number in range(5):  # a busy machine may need longer than the answer waits
                path.write_text(f"{RIGHT}# {number}\n")
                if (await called(session, "getDiagnostics", asked_for))["isSettled"]:
                    break
            else:
                pytest.fail("it was waited for")


LINTER = """
from SublimeLinter.lint import Linter

class Ruff(Linter):
    cmd = ({python!r}, "-m", "ruff", "check", "--no-cache", "--isolated", "--output-format", "concise",
           "--stdin-filename", "a.py", "-")
    regex = r"^.+?:(?P<line>\\d+):(?P<col>\\d+): (?P<code>[A-Z]+\\d+) (?:\\[\\*\\] )?(?P<message>.+)$"
    error_stream = 1
    multiline = False
    defaults = {{"selector": "source.python"}}
"""


def with_linter(home: Home) -> Editor:
    """Start an editor whose SublimeLinter runs Ruff for Python."""
    linter = home.root / "other packages" / "SublimeLinter-ruff"
    linter.mkdir(parents=True)
    (linter / "linter.py").write_text(LINTER.format(python=sys.executable))
    return offered(home, unpacked(home, "SublimeLinter"), linter)


@needs_linter
def test_what_sublimelinter_finds_after_a_change_reaches_the_model_in_the_same_turn(home: Home) -> None:
    with with_linter(home) as editor:
        editor.lock()
        view = editor.open_file(home.workspace / "greet.py")
        editor.do("command", name="sublime_linter_lint", view=view)
        with_model(editor, home, asks=False, says="Undefined name")


@needs_linter
def test_what_sublimelinter_has_found_is_told(home: Home) -> None:
    path = home.write("wrong.py", "x = '😀' + nobody\n")
    with with_linter(home) as editor:
        editor.lock()
        view = editor.open_file(path)

        def told() -> dict[str, Any] | None:
            # A file that is opened while the linters are being loaded is not linted by itself.
            editor.do("command", name="sublime_linter_lint", view=view)
            answer = asked(home, ("getDiagnostics", {"paths": [str(path)]}))["answers"]["getDiagnostics"]
            return answer["structuredContent"] if answer["structuredContent"]["total"] else None

        found = editor.wait("problems of the linter", told)
        assert found
        assert found["provider"] == "SublimeLinter"
        [problem] = found["diagnostics"]
        assert problem["source"] == "ruff"
        assert problem["code"] == "F821"
        assert problem["start"] == {"line": 1, "character": 12}


@pytest.mark.parametrize("cli", ["qwen", "gemini", "claude"])
def test_each_cli_takes_what_is_copied_for_it(plain: Editor, home: Home, cli: str) -> None:
    """Each has a command that starts its MCP servers and says whether they answer; none needs an account for it."""
    command = command_of(cli)
    text = configuration(CLIENT[cli], str(BRIDGE), with_hook=True)
    file = home.home / (".claude.json" if cli == "claude" else f".{cli}/settings.json")
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [*command, "mcp", "list"],
        capture_output=True,
        text=True,
        cwd=home.workspace,
        env={**environment(home), "GEMINI_CLI_TRUST_WORKSPACE": "true"},
        timeout=120,
        check=False,
    )
    [line] = [line for line in (done.stdout + done.stderr).splitlines() if "sublime-text" in line and "node" in line]
    assert "Connected" in line, done.stdout + done.stderr


def command_of(cli: str) -> list[str]:
    if cli == "qwen":
        return pinned_command()
    if cli == "gemini":
        return pinned("gemini", gemini.NEWEST)
    [program] = (PROJECT / "tests" / "npm" / "agents").glob("claude-agent-acp/node_modules/@anthropic-ai/*/claude*")
    return [str(program)]


@pytest.mark.skipif(codex() is None, reason="scripts/setup --agents installs Codex")
def test_the_model_of_codex_uses_the_tools_with_what_is_copied_for_it(plain: Editor, home: Home) -> None:
    program, model = codex(), Model()
    assert program
    folder = home.home / ".codex"
    folder.mkdir()
    of_the_model = CODEX_CONFIGURATION.format(url=model.base_url.removesuffix("/v1"))
    text = of_the_model + configuration(CLIENT["codex"], str(BRIDGE))
    (folder / "config.toml").write_text(text, encoding="utf-8")
    script = model.script([codex_call("mcp__sublime_text__getOpenFiles", {})])
    # Its model would begin without the tools of a server that has not started yet.
    waits = ["-c", "mcp_servers.sublime-text.required=true", "-c", "mcp_servers.sublime-text.startup_timeout_sec=60"]
    try:
        done = subprocess.run(
            [str(program), *waits, "exec", "--skip-git-repo-check", f"Which files? {script.tag}"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            cwd=home.workspace,
            env={**environment(home), "CODEX_HOME": str(folder), "OPENAI_API_KEY": "sk-none-needed"},
            timeout=180,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        told = str(model.requests_of(script)[-1].messages[-1]["content"])
        assert str(home.workspace / "greet.py") in told
        assert "isActive" in told
    finally:
        model.close()
