"""The facts of the status report, from real processes, files and the companion."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil
import pytest

from companion.clis.families import (
    CLAUDE_CODE,
    COPILOT_CLI,
    GEMINI_CLI,
    OPENCODE,
    QWEN_CODE,
    CliFamily,
    DiscoveryFolder,
)
from companion.clis.processes import RunningCli, running_clis, started_as
from companion.clis.shell import Command, has_cli
from companion.clis.starting import UNKNOWN, settings_folder
from companion.editor import WindowId
from companion.settings import Settings
from companion.status import survey
from companion.status.facts import (
    Facts,
    Rival,
    WindowStatus,
)
from companion.status.findings import approval_mode, findings, report

from ..conftest import Running, until
from ..memory_editor import MemoryEditor
from ..wire import LIMIT
from .test_status import cli, facts

# -- processes -----------------------------------------------------------------------------------

PACKAGE = "node_modules/@qwen-code/qwen-code"


@pytest.mark.parametrize(
    ("command", "family", "arguments"),
    [
        (["node", f"/usr/lib/{PACKAGE}/cli-entry.js"], QWEN_CODE, ()),
        (["/opt/node", "--expose-gc", "-r", "x.js", f"/usr/lib/{PACKAGE}/cli.js", "-y", "z"], QWEN_CODE, ("-y", "z")),
        ([r"C:\node.exe", rf"C:\npm\{PACKAGE.replace('/', chr(92))}\cli.js"], QWEN_CODE, ()),
        (["node", "/usr/local/bin/gemini", "--approval-mode", "plan"], GEMINI_CLI, ("--approval-mode", "plan")),
        (["node", "/x/node_modules/@google/gemini-cli/bundle/gemini.js"], GEMINI_CLI, ()),
        (["/usr/bin/qwen"], QWEN_CODE, ()),
        (["bun", "qwen.js"], QWEN_CODE, ()),
        (["/opt/claude", "--continue"], CLAUDE_CODE, ("--continue",)),
        ([r"C:\Users\me\AppData\Local\Microsoft\WindowsApps\qwen.exe"], QWEN_CODE, ()),
        (["node", "/x/node_modules/@github/copilot/npm-loader.js", "--yolo"], COPILOT_CLI, ("--yolo",)),
        (["/x/node_modules/opencode-linux-x64/bin/opencode"], OPENCODE, ()),
    ],
)
def test_a_command_line_that_runs_a_cli(command: list[str], family: CliFamily, arguments: tuple[str, ...]):
    found = started_as(command)
    assert found is not None
    assert (found[0], found[2]) == (family, arguments)


@pytest.mark.parametrize(
    "command",
    [
        [],
        ["node"],
        ["node", "-r"],
        ["bash", "-c", "qwen"],
        ["vim", "qwen"],
        ["node", "server.js", "qwen"],
        ["node", "/x/qwenish.js"],
        ["qwen", "serve"],
        ["qwen", "mcp", "list"],
        ["qwen", "--acp"],
        ["node", "gemini", "-p", "--version"],
        ["claude", "--model", "x", "-p", "hello"],
        ["claude", "mcp", "serve"],
        ["copilot", "-p", "hello"],
        ["opencode", "run", "hello"],
        ["node", "-e", "require('x')/qwen"],
        ["node", "-pe", "x/qwen"],
        ["node", "--eval=1", "qwen"],
        ["node", "--print", "x/qwen"],
        [f"/usr/lib/{PACKAGE}/vendor/ripgrep/rg", "x"],
        [f"/usr/lib/{PACKAGE}/node_modules/.bin/editor"],
        ["node", f"/usr/lib/{PACKAGE}/node_modules/other/server.js"],
        ["/Applications/Claude.app/Contents/MacOS/Claude"],
        [r"C:\Users\me\AppData\Local\AnthropicClaude\app-1.1.3189\claude.exe", "--type=renderer"],
        [r"C:\Program Files\WindowsApps\Claude_1.1.4173.0_x64__pzs8sxrjxfjjc\app\Claude.exe"],
    ],
)
def test_a_command_line_that_runs_none(command: list[str]):
    assert started_as(command) is None


PROGRAM = """
import os, socket, subprocess, sys, time
levels, port = int(sys.argv[1]), int(sys.argv[2])
if port and not levels:
    connection = socket.create_connection(("127.0.0.1", port))
if levels:
    again = {**os.environ, "QWEN_CODE_NO_RELAUNCH": "true"} if levels == 1 else None
    child = subprocess.Popen([os.environ["NODE"], sys.argv[0], str(levels - 1), str(port)], env=again)
print("up", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def run(tmp_path: Path, project: Path) -> Iterator[Callable[..., list[int]]]:
    """Runs a program that looks like Qwen Code: so many processes below one another, the last of which connects."""
    node = tmp_path / "bin" / "node"
    node.parent.mkdir()
    node.symlink_to(os.path.realpath(sys.executable))
    entry = tmp_path / PACKAGE / "cli.js"
    entry.parent.mkdir(parents=True)
    entry.write_text(PROGRAM)
    (entry.parent / "package.json").write_text(json.dumps({"name": "@qwen-code/qwen-code", "version": "0.24.4-x"}))
    started: list[subprocess.Popen[str]] = []

    def run(levels: int = 0, port: int = 0, cwd: Path = project, **variables: str) -> list[int]:
        command = [str(node), str(entry), str(levels), str(port)]
        environment = {**os.environ, "NODE": str(node), **variables}
        one = subprocess.Popen(
            command, cwd=cwd, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        started.append(one)
        assert one.stdout
        assert [one.stdout.readline() for _ in range(levels + 1)] == ["up\n"] * (levels + 1)
        return [one.pid, *(child.pid for child in psutil.Process(one.pid).children(recursive=True))]

    yield run
    for one in started:
        assert one.stdin
        assert one.stdout
        one.stdin.close()  # all of them read from it
        one.stdout.read()
        one.stdout.close()
        one.wait(LIMIT)


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener


needs_links = pytest.mark.skipif(sys.platform == "win32", reason="a link takes rights there that few have")


def running(pids: Sequence[int]) -> RunningCli:
    [found] = [one for one in running_clis() if one.pids[0] == pids[0]]
    return found


@needs_links
def test_a_running_cli_is_seen(run: Callable[..., list[int]], project: Path, listener: socket.socket):
    before = time.time()
    port = listener.getsockname()[1]
    found = running(run(port=port, QWEN_HOME="/somewhere"))
    assert found.family is QWEN_CODE
    assert found.cwd == str(project)
    assert found.arguments == ("0", str(port))
    assert found.ports == {port}
    assert found.variables is not None
    assert found.variables["QWEN_HOME"] == "/somewhere"
    assert before - 2 < found.started < time.time() + 2
    assert survey.version(found) == (0, 24, 4)


@needs_links
def test_a_cli_that_starts_itself_again_counts_once(run: Callable[..., list[int]], listener: socket.socket):
    pids = run(levels=2, port=listener.getsockname()[1])
    found = running(pids)
    assert list(found.pids) == pids
    assert found.pid == pids[2]
    assert found.ports == {listener.getsockname()[1]}
    assert [one for one in running_clis() if one.pid in pids] == [found]


@needs_links
def test_what_the_system_does_not_let_us_see(run: Callable[..., list[int]], monkeypatch: pytest.MonkeyPatch):
    pids = run()

    def refuse(self: psutil.Process, *_: object) -> Any:
        raise psutil.AccessDenied(self.pid)

    for name in ("cwd", "environ", "net_connections"):
        monkeypatch.setattr(psutil.Process, name, refuse)
    found = running(pids)
    assert (found.cwd, found.variables, found.ports) == (None, None, None)
    assert survey.look_at(found).settings_path.endswith("settings.json")
    monkeypatch.setattr(psutil.Process, "create_time", refuse)
    assert running_clis([QWEN_CODE]) == []
    monkeypatch.setattr(psutil.Process, "cmdline", refuse)
    assert running_clis() == []


@needs_links
def test_the_processes_of_others_are_not_looked_at(run: Callable[..., list[int]], monkeypatch: pytest.MonkeyPatch):
    run()
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000)
    assert running_clis() == []


@needs_links
def test_a_system_without_user_ids(run: Callable[..., list[int]], monkeypatch: pytest.MonkeyPatch):
    pids = run()
    monkeypatch.setattr(sys, "platform", "win32")
    assert running(pids).pid == pids[0]
    mine = psutil.Process().username()
    monkeypatch.setattr(psutil.Process, "username", lambda self: mine if self.pid == os.getpid() else "other")
    assert running_clis() == []


# -- files ---------------------------------------------------------------------------------------


def write(path: Path, body: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(body if isinstance(body, str) else json.dumps(body))


@pytest.mark.parametrize(
    ("user", "project", "ide_mode", "approval"),
    [
        (None, None, False, None),
        ({"ide": {"enabled": True}, "tools": {"approvalMode": "yolo"}}, None, True, "yolo"),
        ({"ideMode": True}, None, True, None),
        ('{ // mine\n "ide": {"enabled": true}, /* "ide": 1, */ "url": "http://x" }', None, True, None),
        ({"ide": {"enabled": True}}, {"ide": {"enabled": False}, "tools": {"approvalMode": "plan"}}, False, "plan"),
        ("{ broken", None, None, None),
        ({"ide": True, "tools": 5}, None, False, None),
    ],
)
def test_the_settings_of_a_cli(
    home: Path, tmp_path: Path, user: object, project: object, ide_mode: bool | None, approval: str | None
):
    if user is not None:
        write(home / ".qwen" / "settings.json", user)
    if project is not None:
        write(tmp_path / ".qwen" / "settings.json", project)
    found = survey.look_at(cli(cwd=str(tmp_path), variables=None).running)
    assert found.settings_path == str(home / ".qwen" / "settings.json")
    assert (found.ide_mode, found.approval) == (ide_mode, approval)
    assert found.version is None


def test_where_the_settings_of_a_cli_are(tmp_path: Path):
    folder = lambda family, **variables: settings_folder(family, variables, str(tmp_path))  # noqa: E731
    assert folder(QWEN_CODE, QWEN_HOME="/q", HOME="/h", USERPROFILE="/h") == Path("/q")
    assert folder(QWEN_CODE, QWEN_HOME="here") == tmp_path / "here"
    assert folder(QWEN_CODE, HOME="/h", USERPROFILE="/h") == Path("/h/.qwen")
    assert folder(GEMINI_CLI, GEMINI_CLI_HOME="/g", HOME="/h") == Path("/g/.gemini")
    assert folder(GEMINI_CLI) == Path.home() / ".gemini"
    assert folder(OPENCODE, HOME="/h", USERPROFILE="/h") == Path("/h/.config/opencode")
    assert folder(OPENCODE, HOME="/h", XDG_CONFIG_HOME="/c") == Path("/c/opencode")
    assert folder(OPENCODE, OPENCODE_CONFIG_DIR="/o", XDG_CONFIG_HOME="/c") == Path("/o")
    assert folder(QWEN_CODE, HOME="/h", USERPROFILE="/h", XDG_CONFIG_HOME="/c") == Path("/h/.qwen")


def test_where_a_cli_looks_for_editors(home: Path, tmp_path: Path):
    def looks(family: CliFamily, **variables: str) -> str:
        return survey.looks_elsewhere(cli(family, cwd=str(tmp_path), variables=variables).running)

    assert looks(QWEN_CODE, QWEN_HOME=str(home / ".qwen")) == ""
    assert looks(QWEN_CODE, HOME=str(home), USERPROFILE=str(home)) == ""
    assert looks(QWEN_CODE, QWEN_HOME="/other") == str(Path("/other"))
    assert looks(GEMINI_CLI, TMPDIR=str(tmp_path / "tmp"), TEMP=str(tmp_path / "tmp")) == ""
    assert looks(GEMINI_CLI, TMP=str(tmp_path)) == str(tmp_path)
    assert survey.looks_elsewhere(cli(variables=None).running) == ""
    if sys.platform != "win32":
        assert looks(GEMINI_CLI) == "/tmp"  # noqa: S108 - Node's default


def test_the_approval_mode_of_gemini_cli(home: Path):
    write(home / ".gemini" / "settings.json", {"general": {"defaultApprovalMode": "auto_edit"}})
    assert survey.look_at(cli(GEMINI_CLI, variables=None).running).approval == "auto_edit"


def test_the_settings_of_claude_code_and_of_opencode(home: Path, tmp_path: Path):
    """Those of a project are in its `.claude`, and in the project itself."""
    (tmp_path / ".git").mkdir()
    write(home / ".claude" / "settings.json", {"permissions": {"defaultMode": "acceptEdits"}})
    write(home / ".config" / "opencode" / "opencode.json", {"permission": {"edit": "ask"}})
    for family, approval in ((CLAUDE_CODE, "acceptEdits"), (OPENCODE, "ask")):
        assert survey.look_at(cli(family, cwd=str(tmp_path), variables=None).running).approval == approval
    write(tmp_path / ".claude" / "settings.json", {"permissions": {"defaultMode": "plan"}})
    write(tmp_path / "opencode.json", {"permission": {"edit": "allow"}})
    for family, approval in ((CLAUDE_CODE, "plan"), (OPENCODE, "allow")):
        assert survey.look_at(cli(family, cwd=str(tmp_path), variables=None).running).approval == approval


@pytest.mark.parametrize(
    ("home_files", "project_files", "mode"),
    [
        ({"config.json": "ask"}, {}, "ask"),
        ({"opencode.json": {"edit": "deny"}}, {}, "deny"),
        ({"opencode.json": "ask"}, {}, "ask"),
        ({"opencode.json": {"*": "ask"}}, {}, "ask"),
        ({"opencode.json": {"edit": {"*": "ask"}}}, {}, UNKNOWN),
        ({"opencode.json": {"bash": "ask"}}, {}, None),
        ({"opencode.json": "ask"}, {"opencode.json": {"bash": "allow"}}, "ask"),
        ({"opencode.json": {"edit": "ask"}}, {"opencode.json": "allow"}, "allow"),
        ({"opencode.json": {"edit": "allow"}, "opencode.jsonc": {"edit": "ask"}}, {}, "ask"),
        ({}, {"opencode.json": "deny", "opencode.jsonc": "ask"}, "ask"),
        ({}, {"opencode.jsonc": "allow", ".opencode/opencode.json": "ask"}, "ask"),
        ({}, {".opencode/opencode.json": "allow", ".opencode/opencode.jsonc": "ask"}, "ask"),
        ({"opencode.json": '{"permission": {"edit": "ask", /* all */ }, // mine\n}'}, {}, "ask"),
        ({"opencode.json": '{"agent": {"build": {"permission": {"edit": "ask"}}}, "permission": "allow"}'}, {}, "ask"),
    ],
)
def test_what_opencode_does_before_it_changes_a_file(
    home: Path, tmp_path: Path, home_files: dict[str, object], project_files: dict[str, object], mode: str | None
):
    """Each case was seen with `opencode debug config` and `opencode debug agent build` of 1.18.34."""
    (tmp_path / ".git").mkdir()
    for folder, files in ((home / ".config" / "opencode", home_files), (tmp_path, project_files)):
        for name, said in files.items():
            write(folder / name, said if str(said).startswith('{"') else {"permission": said})
    assert survey.look_at(cli(OPENCODE, cwd=str(tmp_path), variables=None).running).approval == mode


@pytest.mark.parametrize(
    ("files", "mode"),
    [
        ({"opencode.json": "ask"}, "ask"),
        ({"opencode.json": "ask", "a/opencode.json": "allow"}, "allow"),
        ({"a/opencode.jsonc": "deny", "a/b/opencode.json": "ask"}, "ask"),
        ({"a/b/opencode.json": "allow", ".opencode/opencode.json": "ask"}, "ask"),
        ({".opencode/opencode.json": "deny", "a/.opencode/opencode.json": "ask"}, "deny"),
        ({"../opencode.json": "ask"}, None),
    ],
)
def test_opencode_reads_the_settings_of_all_folders_of_a_work_tree(
    home: Path, tmp_path: Path, files: dict[str, str], mode: str | None
):
    """Each case was seen with `opencode debug config` of 1.18.34."""
    root = tmp_path / "root"
    (root / "a" / "b").mkdir(parents=True)
    (root / ".git").mkdir()
    for name, said in files.items():
        write(root / name, {"permission": {"edit": said}})
    assert survey.look_at(cli(OPENCODE, cwd=str(root / "a" / "b"), variables=None).running).approval == mode


@pytest.mark.parametrize(
    ("family", "name", "value", "mode"),
    [
        *((OPENCODE, f"OPENCODE_{name}", "{}", UNKNOWN) for name in ("CONFIG", "CONFIG_CONTENT", "PERMISSION")),
        (OPENCODE, "OPENCODE_CONFIG_DIR", "/nowhere", UNKNOWN),
        (OPENCODE, "OPENCODE_PERMISSION", "", None),
        (COPILOT_CLI, "COPILOT_ALLOW_ALL", " Yes", "allow-all"),
        (COPILOT_CLI, "COPILOT_ALLOW_ALL", "off", None),
        (CLAUDE_CODE, "COPILOT_ALLOW_ALL", "true", None),
    ],
)
def test_a_variable_that_decides_what_is_asked_counts_more_than_settings(
    tmp_path: Path, family: CliFamily, name: str, value: str, mode: str | None
):
    """Where it takes more than a look to know, nothing is claimed."""
    (tmp_path / ".git").mkdir()
    write(tmp_path / "opencode.json", {"permission": "allow"} if mode else {})
    variables = {"HOME": str(tmp_path / "home"), "USERPROFILE": str(tmp_path / "home"), name: value}
    found = survey.look_at(cli(family, cwd=str(tmp_path), variables=variables).running)
    assert found.approval == mode
    if mode:
        assert approval_mode(found) == (mode, name)
        assert (mode in family.silent_modes) is (family is COPILOT_CLI)


def test_the_local_settings_of_claude_code_win(home: Path, tmp_path: Path):
    for path, mode in (
        (home / ".claude" / "settings.json", "acceptEdits"),
        (tmp_path / ".claude" / "settings.json", "plan"),
        (tmp_path / ".claude" / "settings.local.json", "dontAsk"),
    ):
        write(path, {"permissions": {"defaultMode": mode}})
        assert survey.look_at(cli(CLAUDE_CODE, cwd=str(tmp_path), variables=None).running).approval == mode


def test_a_version_that_is_none(tmp_path: Path):
    write(tmp_path / "package.json", {"name": "@qwen-code/qwen-code", "version": "next"})
    assert survey.version(cli(program="cli.js", cwd=str(tmp_path)).running) is None


def test_a_discovery_folder_that_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refused(*parts: str) -> str:
        return survey.refusal(DiscoveryFolder(tmp_path, parts))

    assert refused("ide") == ""  # it will be made
    (tmp_path / "ide").mkdir()
    assert refused("ide") == ""
    (tmp_path / "file").write_text("")
    assert refused("file") == "it is not a folder"
    assert refused("file", "ide") == f"{tmp_path / 'file'} is not a folder"
    if sys.platform != "win32":
        (tmp_path / "link").symlink_to(tmp_path / "ide")
        assert refused("link") == "it is a symbolic link"
        assert refused("x" * 300) == "it can't be read (File name too long)"
        monkeypatch.setattr(os, "getuid", lambda: 4_000_000)
        assert refused("ide") == "it belongs to another user"
        monkeypatch.undo()
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert refused("ide") == "it can't be written to"


# -- the companion -------------------------------------------------------------------------------


class Look:
    """The facts that a companion tells."""

    def __init__(self, companion: Running, monkeypatch: pytest.MonkeyPatch) -> None:
        self._companion = companion
        # Whatever else runs on this machine is no matter of these tests.
        monkeypatch.setattr(survey, "running_clis", lambda _: [])
        monkeypatch.setattr(survey, "running_commands", list)

    def __call__(self) -> tuple[Facts, Facts]:
        """As they are known at once, and all of them."""
        told: list[Facts] = []
        begun = replace(facts(clis=None), served={})
        at_once = self._companion.do(lambda companion: (companion.look_around(begun, told.append), len(told))[1])
        assert at_once == 1
        until(lambda: len(told) == 2)
        return told[0], told[1]


@pytest.fixture
def look(running: Running, monkeypatch: pytest.MonkeyPatch) -> Look:
    return Look(running, monkeypatch)


def test_a_disk_that_hangs_is_said_until_it_answers(running: Running, look: Look, monkeypatch: pytest.MonkeyPatch):
    del look  # no other processes
    disk, told, plain = threading.Event(), list[Facts](), survey.full_disks
    monkeypatch.setattr(survey, "DISK", 0.1)
    monkeypatch.setattr(survey, "full_disks", lambda folders: plain(folders) if disk.wait(LIMIT) else ())
    running.do(lambda companion: companion.look_around(replace(facts(clis=None), served={}), told.append))
    until(lambda: len(told) == 2)
    assert (told[1].clis, told[1].note) == (None, survey.HANGS)
    disk.set()
    until(lambda: len(told) == 3)
    assert (told[2].clis, told[2].note) == ((), "")


def test_a_window_with_a_session_and_a_diff(running: Running, look: Look, project: Path):
    path = str(project / "a.txt")
    client, _ = running.listening()
    client.open_diff(path, "x")
    running.diff(path)
    first, last = look()
    for told in (first, last):
        served = told.served[WindowId(1)]
        assert served.port == running.lock()["port"]
        assert [folder.path for folder in served.folders] == [str(project)]
        assert served.folders[0].since <= time.time()
        assert [(session.cli, session.listens) for session in served.sessions] == [("Qwen Code", True)]
        assert served.diffs == (f"{path} (Qwen Code)",)
    assert first.clis is None
    assert first.served[WindowId(1)].files == ()
    assert last.clis == ()
    assert {file.state for file in last.served[WindowId(1)].files} == {"ours"}
    assert dict(last.libraries)["mcp"][0].isdigit()
    assert running.lock()["authToken"] not in report(last)


def test_a_reload_does_not_change_since_when_a_folder_is_found(start: Callable[[], Running]):
    def since(running: Running) -> dict[str, float]:
        running.lock()
        return running.do(lambda companion: dict(companion._windows[WindowId(1)].endpoint.state.folders_since))

    first = start()
    client, _ = first.listening()
    before = since(first)
    assert before
    assert first.thread.stop(LIMIT, hand_over=True)
    second = start()
    assert since(second) == before
    assert client.tools() == {"openDiff", "closeDiff"}


def test_a_lock_file_of_another(running: Running, look: Look, lock_folder: Path):
    path = lock_folder / f"{running.lock()['port']}.lock"
    another = json.dumps({**running.lock(), "authToken": "other", "ppid": 1})

    def is_told() -> bool:
        # The companion writes its own again when it looks.
        path.write_text(another)
        [state] = [file.state for file in look()[1].served[WindowId(1)].files if file.path == str(path)]
        return state == "another's"

    assert until(is_told)


def test_every_discovery_file_of_each_window(running: Running, look: Look):
    """Those for old CLIs while the setting allows them, that of all windows for the one in front."""
    running.open_window(WindowId(2))
    running.lock(WindowId(2))

    def names(window: WindowId) -> set[str]:
        files = look()[1].served[WindowId(window)].files
        assert {file.state for file in files} == {"ours"}
        port, pid = str(running.lock(window)["port"]), str(os.getppid())
        return {Path(file.path).name.replace(port, "PORT").replace(pid, "PID") for file in files}

    new = {"PORT.lock", "qwen-code-ide-server-PID-PORT.json", "gemini-ide-server-PID-PORT.json"}
    if sys.platform != "win32":  # where the pipe is served first
        new |= {"7b0ca9b1-1de0-4d5e-8c0b-0000000PORT.lock"}
    assert names(WindowId(1)) == {*new, "qwen-code-ide-server-PID.json"}
    assert [len(look()[1].served[WindowId(window)].files) for window in (1, 2)] == [len(new) + 3, len(new) + 2]
    running.do(lambda companion: companion.window_focused(WindowId(2)))
    assert [len(look()[1].served[WindowId(window)].files) for window in (1, 2)] == [len(new) + 2, len(new) + 3]
    running.do(lambda companion: companion.configure(Settings(legacy_discovery_files=False)))
    assert names(WindowId(1)) == names(WindowId(2)) == new


def test_a_legacy_file_that_is_gone_is_no_finding(running: Running, look: Look, monkeypatch: pytest.MonkeyPatch):
    running.lock()
    monkeypatch.setattr(survey, "refusal", lambda folder: "it is a symbolic link" if folder.parts == () else "")
    found = running.do(lambda companion: next(iter(companion._windows.values())).endpoint.publications[0].written)
    [shared] = [path for path in found if path.name == f"qwen-code-ide-server-{os.getppid()}.json"]

    def seen_without_it() -> Facts | None:
        # The companion writes it again when it looks.
        shared.unlink(missing_ok=True)
        told = look()[1]
        state = {file.path: file.state for file in told.served[WindowId(1)].files}[str(shared)]
        return told if state == "missing" else None

    told = until(seen_without_it)
    assert told is not None
    assert findings(told) == []


def test_another_editor_on_the_same_folder(running: Running, look: Look, lock_folder: Path, project: Path):
    theirs = {"workspacePath": str(project.parent), "ppid": os.getppid(), "ideInfo": {"displayName": "VS Code"}}
    path = lock_folder / "9.lock"
    write(path, theirs)
    now = time.time()
    os.utime(path, (now + 60, now + 60))
    [rival] = look()[1].served[WindowId(1)].rivals
    assert rival == Rival("VS Code", str(path), 9, str(project), is_newer=True, family=QWEN_CODE)

    os.utime(lock_folder / f"{running.lock()['port']}.lock", (now + 120, now + 120))
    write(lock_folder / "10.lock", {**theirs, "workspacePath": json.dumps(["/x", str(project)]), "ideInfo": None})
    write(lock_folder / "11.lock", {**theirs, "workspacePath": "/somewhere/else"})
    write(lock_folder / "12.lock", {**theirs, "workspacePath": "[broken"})
    write(lock_folder / "13.lock", {**theirs, "ppid": 2**30})
    write(lock_folder / "14.lock", {"workspacePath": str(project)})
    found = {rival.path: rival for rival in look()[1].served[WindowId(1)].rivals}
    assert set(found) == {str(lock_folder / "9.lock"), str(lock_folder / "10.lock")}
    assert not found[str(lock_folder / "9.lock")].is_newer
    assert found[str(lock_folder / "10.lock")].editor == "Another editor"


def test_no_folder_of_lock_files(running: Running, look: Look, lock_folder: Path, monkeypatch: pytest.MonkeyPatch):
    running.lock()
    monkeypatch.setattr(survey, "qwen_home", lambda: lock_folder / "nowhere")
    assert look()[1].served[WindowId(1)].rivals == ()


def test_a_library_that_is_missing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(survey, "LIBRARIES", ("psutil", "no-such-library"))
    assert survey.library_versions() == (("psutil", psutil.__version__), ("no-such-library", "missing"))


def test_the_status_of_a_window_follows_its_sessions_and_diffs(running: Running, editor: MemoryEditor, project: Path):
    path = str(project / "a.txt")
    client, stream = running.listening()
    until(lambda: editor.statuses[1][-1] == WindowStatus(("Qwen Code",)))
    client.open_diff(path, "x")
    until(lambda: editor.statuses[1][-1] == WindowStatus(("Qwen Code",), 1))
    running.reject(path)
    until(lambda: editor.statuses[1][-1] == WindowStatus(("Qwen Code",), 0))
    stream.close()
    until(lambda: editor.statuses[1][-1] == WindowStatus())
    shown = editor.statuses[1]
    assert [one for one, other in pairwise(shown) if one == other] == []


def test_the_status_of_a_window_counts_the_questions_of_its_chat(
    running: Running, editor: MemoryEditor, monkeypatch: pytest.MonkeyPatch
):
    """A question in a hidden chat must not go unnoticed."""
    chats = running.do(lambda companion: companion.chats)
    monkeypatch.setattr(chats, "questions", {1: 2}.__getitem__)
    running.do(lambda companion: companion.statuses.changed())
    until(lambda: WindowStatus(questions=2) in editor.statuses.get(1, []))


@pytest.mark.skipif(sys.platform == "win32", reason="its program is a script for a shell")
@pytest.mark.parametrize(
    ("commands", "expected"),
    [
        ([], True),
        ([["qwen"], ["gemini"]], False),
        ([["gemini"], ["my-qwen", "-x"]], True),
        (["my-qwen"], True),
        (["npx qwen", ["gemini"]], True),
    ],
)
def test_whether_a_cli_is_installed(tmp_path: Path, commands: list[Command], expected: bool):
    program = tmp_path / "my-qwen"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert has_cli(commands, {"PATH": str(tmp_path)}) is expected


def test_each_full_disk_is_named_once(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    assert survey.full_disks([str(tmp_path), str(tmp_path / "gone")]) == ()
    monkeypatch.setattr(survey, "ROOM", 1 << 62)
    assert len(survey.full_disks([str(tmp_path), str(home)])) == 1


def test_another_package_that_claims_the_folder_for_claude_code_is_found(home: Path, project: Path):
    folder = home / ".claude" / "ide"
    folder.mkdir(parents=True)
    body = {"pid": os.getpid(), "workspaceFolders": [str(project)], "ideName": "Sublime Text", "transport": "ws"}
    (folder / "9.lock").write_text(json.dumps(body))
    (folder / "8.lock").write_text(json.dumps(body))
    (folder / "7.lock").write_text(json.dumps({**body, "workspaceFolders": {"a": 1}}))
    [rival] = survey.rivals([str(project)], 8, [8])
    assert (rival.editor, rival.port, rival.family) == ("Sublime Text", 9, CLAUDE_CODE)
