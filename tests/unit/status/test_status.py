"""The status report: what is wrong and what to do, from facts alone; and the facts, from real files and processes."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil
import pytest

from companion.clis.families import GEMINI_CLI, QWEN_CODE, CliFamily, DiscoveryFolder
from companion.clis.processes import RunningCli, running_clis, started_as
from companion.clis.settings import names_approval_mode, settings_folder
from companion.editor import WindowStatus
from companion.settings import Settings
from companion.status import survey
from companion.status.facts import (
    Cli,
    ConnectedCli,
    DiscoveryFile,
    Facts,
    Folder,
    Rival,
    Served,
    ShownWindow,
    TerminalVariables,
)
from companion.status.findings import Finding, approval_mode, findings, verdicts
from companion.status.report import report, without_secrets

from ..conftest import Running, until
from ..memory_editor import MemoryEditor
from ..wire import LIMIT

PORT = 41535
START = 1_700_000_000.0


def cli(family: CliFamily = QWEN_CODE, **changes: Any) -> Cli:
    """A CLI that is as it should be, but for what is given."""
    running = RunningCli(
        family=family,
        pid=12,
        pids=(11, 12),
        started=START + 60,
        cwd="/srv/app",
        program="qwen",
        arguments=(),
        variables={},
        ports=frozenset(),
    )
    of_running = {name: value for name, value in changes.items() if hasattr(running, name)}
    running = replace(running, **of_running)
    rest = {name: value for name, value in changes.items() if name not in of_running}
    values = {"version": (0, 24, 4), "settings_path": "/home/ada/.qwen/settings.json", "ide_mode": True}
    return Cli(**{"running": running, "approval": "default", **values, **rest})


def facts(*clis: Cli, served: Served | None = None, window: ShownWindow | None = None, **more: Any) -> Facts:
    """A window on /srv/app with these CLIs."""
    served = served or Served(PORT, (Folder("/srv/app", "/srv/app", START),))
    window = window or ShownWindow(1, "Window 1", ("/srv/app",))
    about = (("QwenCompanion", "0.1.0"),)
    return Facts(**{"at": START, "about": about, "windows": (window,), "served": {1: served}, "clis": clis, **more})


def only(found: Facts) -> Finding:
    [finding] = findings(found)
    return finding


def test_nothing_is_wrong_with_a_connected_cli():
    found = facts(cli(ports=frozenset({PORT})))
    assert findings(found) == []
    assert verdicts(found)[0].window == 1
    assert "Nothing is wrong." in report(found)
    assert "Qwen Code 0.24.4, process 12" in report(found)
    assert "in /srv/app: connected to Window 1" in report(found)


def test_nothing_is_wrong_without_any_cli():
    assert findings(facts()) == []
    assert "Running CLIs\n  none" in report(facts())


def test_a_window_without_folder_and_files():
    finding = only(facts(served=Served(PORT, ()), window=ShownWindow(1, "Window 1", ())))
    assert finding.kind == "no folder"
    assert "no CLI can find it. Open one: Project → Add Folder to Project…" in finding.text


def test_a_window_without_folder_but_with_files():
    finding = only(facts(window=ShownWindow(1, "Window 1", ())))
    assert finding.kind == "no folder"
    assert "beside one of its files" in finding.text
    assert "Add Folder" in finding.text


def test_a_window_that_is_not_served():
    finding = only(facts(served=None, windows=(ShownWindow(2, "Window 2", ("/x",)),)))
    assert finding.kind == "not served"
    assert "restart Sublime Text" in finding.text
    assert "  not served" in report(facts(windows=(ShownWindow(2, "Window 2", ("/x",)),)))


def test_a_cli_above_the_folder():
    finding = only(facts(cli(cwd="/srv")))
    assert finding.kind == "above"
    assert finding.text.endswith("runs in /srv, above /srv/app. Start it in /srv/app, or open /srv.")


@pytest.mark.parametrize("cwd", ["/elsewhere", "/srv/app2", "/srv/other/app"])
def test_a_cli_in_another_folder(cwd: str):
    finding = only(facts(cli(cwd=cwd)))
    assert finding.kind == "elsewhere"
    assert finding.text.endswith("Open that folder, or start it in one that is open.")


def test_a_cli_below_the_folder_is_found():
    assert only(facts(cli(cwd="/srv/app/src"))).kind == "not connected"


def test_a_cli_in_a_folder_that_is_a_link():
    served = Served(PORT, (Folder("/link", "/srv/app", START),))
    assert only(facts(cli(), served=served)).kind == "not connected"


def test_a_cli_that_was_started_before_the_window_was_found():
    finding = only(facts(cli(started=START - 9)))
    assert finding.kind == "before"
    assert finding.text.endswith("and it looks only once. Quit it and start it again.")


def test_a_cli_that_was_started_at_the_same_time():
    assert only(facts(cli(started=START - 1))).kind == "not connected"


def test_a_cli_that_found_another_window_with_its_folder():
    early = Served(PORT + 1, (Folder("/srv", "/srv", START - 99),))
    found = facts(cli(started=START - 9))
    served = {**found.served, 2: early}
    windows = (*found.windows, ShownWindow(2, "Window 2", ("/srv",)))
    assert only(replace(found, served=served, windows=windows)).kind == "not connected"


def test_a_cli_with_its_ide_mode_off():
    finding = only(facts(cli(ide_mode=False)))
    assert finding.kind == "ide mode"
    assert "Type “/ide enable” in it." in finding.text
    assert "“Yes”" not in finding.text


def test_the_yes_of_gemini_cli_does_not_help():
    finding = only(facts(cli(GEMINI_CLI, ide_mode=False, version=(0, 61, 0))))
    assert "Type “/ide enable” in it." in finding.text
    assert "“Yes” does not help" in finding.text


def test_settings_that_cannot_be_read_are_no_finding():
    assert only(facts(cli(ide_mode=None))).kind == "not connected"


def test_a_connected_cli_is_not_told_to_enable_what_is_on():
    assert findings(facts(cli(ide_mode=False, started=START - 9, ports=frozenset({PORT, 1})))) == []


@pytest.mark.parametrize(
    ("changes", "mode"),
    [
        ({"approval": "auto"}, "auto"),
        ({"approval": "yolo"}, "yolo"),
        ({"arguments": ("--approval-mode", "auto-edit")}, "auto-edit"),
        ({"arguments": ("-p", "x", "--approval-mode=yolo")}, "yolo"),
        ({"arguments": ("--yolo",)}, "yolo"),
        ({"arguments": ("-y",)}, "yolo"),
        ({"approval": None}, "auto"),
        ({"approval": None, "version": None}, "auto"),
        ({"approval": None, "version": (0, 21, 2)}, "auto"),
    ],
)
def test_an_approval_mode_that_never_asks(changes: dict[str, Any], mode: str):
    finding = only(facts(cli(ports=frozenset({PORT}), **changes)))
    assert finding.kind == "approval"
    assert f"“{mode}”" in finding.text
    assert "Shift+Tab" in finding.text
    assert "--approval-mode default" in finding.text


@pytest.mark.parametrize(
    ("changes", "mode"),
    [
        ({"approval": "plan"}, "plan"),
        ({"approval": None, "version": (0, 15, 10)}, "default"),
        ({"approval": "yolo", "arguments": ("--approval-mode", "default")}, "default"),
        ({"family": GEMINI_CLI, "approval": None, "version": (0, 61, 0)}, "default"),
    ],
)
def test_an_approval_mode_that_asks(changes: dict[str, Any], mode: str):
    one = cli(ports=frozenset({PORT}), **changes)
    assert approval_mode(one)[0] == mode
    assert findings(facts(one)) == []


def test_a_terminal_with_an_old_port():
    old = TerminalVariables("qwen", {QWEN_CODE.port_variable: "4000", GEMINI_CLI.port_variable: "4000"})
    fresh = TerminalVariables("fresh", {QWEN_CODE.port_variable: str(PORT)})
    odd = TerminalVariables("odd", {QWEN_CODE.port_variable: ""})
    finding = only(facts(window=ShownWindow(1, "Window 1", ("/srv/app",), (old, fresh, odd))))
    assert finding.kind == "old port"
    assert "“qwen” has the port 4000 of an earlier session. Close it" in finding.text


def test_a_cli_with_an_old_port():
    finding = only(facts(cli(variables={QWEN_CODE.port_variable: "4000"})))
    assert finding.kind == "old port"
    assert "Open a new terminal" in finding.text
    assert only(facts(cli(variables={QWEN_CODE.port_variable: str(PORT)}))).kind == "not connected"
    assert only(facts(cli(variables=None))).kind == "not connected"


def test_an_old_cli_in_another_terminal():
    finding = only(facts(cli(version=(0, 8, 2))))
    assert finding.kind == "variables"
    assert "“Run Qwen Code”" in finding.text
    assert "0.12" in finding.text


def test_a_cli_without_a_token():
    finding = only(facts(cli(GEMINI_CLI, version=(0, 5, 5), ide_mode=False)))
    assert finding.kind == "too old"
    assert "Update it to 0.6 or later." in finding.text


def test_a_cli_that_looks_for_editors_elsewhere():
    finding = only(facts(cli(looks_in="/other/.qwen", ide_mode=False)))
    assert finding.kind == "other folder"
    assert "looks for editors in /other/.qwen" in finding.text
    assert "Start both from a terminal with the same variables." in finding.text


def test_a_cli_whose_folder_cannot_be_seen():
    finding = only(facts(cli(cwd=None, ports=None)))
    assert finding.kind == "hidden"
    assert "/ide status" in finding.text


def test_a_discovery_folder_that_is_not_ours():
    file = DiscoveryFile("Qwen Code", "/home/ada/.qwen/ide/1.lock", "missing", None, "it is a symbolic link")
    served = Served(PORT, (Folder("/srv/app", "/srv/app", START),), (file,))
    finding = only(facts(served=served))
    assert finding.kind == "folder refused"
    assert "through /home/ada/.qwen/ide: it is a symbolic link. Put a folder there" in finding.text


def test_another_editor_with_a_newer_lock_file():
    newer = Rival("VS Code", "/home/ada/.qwen/ide/9.lock", 9, "/srv/app", is_newer=True)
    rivals = (newer, replace(newer, is_newer=False))
    served = Served(PORT, (Folder("/srv/app", "/srv/app", START),), rivals=rivals)
    finding = only(facts(served=served))
    assert finding.kind == "rival"
    assert "VS Code (port 9) has a newer lock file for /srv/app" in finding.text
    assert "Click into Window 1" in finding.text


def test_a_cli_that_another_editor_has():
    rival = Rival("VS Code", "/home/ada/.qwen/ide/9.lock", 9, "/srv/app", is_newer=False)
    served = Served(PORT, (Folder("/srv/app", "/srv/app", START),), rivals=(rival,))
    other = facts(cli(ports=frozenset({9})), served=served)
    windows = (ShownWindow(2, "Window 2", ("/x",)), *other.windows)
    found = replace(other, windows=windows, note="Only one of them is served.")
    finding = only(found)
    assert finding.kind == "rival"
    assert "is connected to VS Code (port 9), which has its folder open too. Click into Window 1" in finding.text
    assert "not connected: is connected to another editor" in report(found)


def test_what_is_wrong_in_the_settings():
    finding = only(facts(settings=("“debug” must be true or false, not 1; the default is used.",)))
    assert finding.kind == "setting"


def test_the_report_tells_everything():
    sessions = (
        ConnectedCli("Qwen Code", START, START + 1, listens=True, round_trip=0.0042),
        ConnectedCli("Gemini CLI", START, START + 1, listens=True, round_trip=None),
        ConnectedCli("Gemini CLI", START, START + 1, listens=False, round_trip=None),
    )
    files = (DiscoveryFile("Qwen Code", "/home/ada/.qwen/ide/1.lock", "ours", START),)
    served = Served(PORT, (Folder("/srv/app", "/srv/app", START),), files, sessions, ("/srv/app/a.py (Qwen Code)",))
    text = report(
        facts(
            cli(ports=frozenset({PORT})),
            cli(version=None),
            cli(cwd=None),
            cli(ide_mode=False, started=START - 9),
            served=served,
            libraries=(("mcp", "2.3.0"), ("h11", "missing")),
            messages=((START, "Something went wrong."),),
        )
    )
    for part in (
        "QwenCompanion 0.1.0",
        str(PORT),
        "/home/ada/.qwen/ide/1.lock: ours, written ",
        "round trip: 4.2 ms",
        "round trip: no answer",
        "round trip: its stream is gone",
        "/srv/app/a.py (Qwen Code)",
        "connected to Window 1",
        "can reach this editor, is not connected",
        "a folder that can't be seen: not connected: its folder can't be seen",
        "not connected: was started before, its IDE mode is off",
        "mcp  2.3.0",
        "Something went wrong.",
    ):
        assert part in text


def test_the_report_of_what_is_known_so_far():
    looking = report(facts(clis=None))
    assert "Looking for the CLIs that run" in looking
    assert "Nothing is wrong" not in looking
    assert "Running CLIs" not in looking
    noted = report(replace(facts(), clis=None, served={}, note="The companion does not run."))
    assert "Findings" not in noted
    assert "The companion does not run." in noted
    assert "not served" in noted


def test_a_report_for_others_has_no_secrets():
    token = "aB3_-" * 8 + "xyz"
    text = f"/home/ada/.qwen/ide/1.lock /home/adam/x /srv/ada/b /ada: adagio Bearer {token} /home/ada\n/mnt/ada\n"
    shared = without_secrets(text, "/home/ada", "ada")
    assert shared == "~/.qwen/ide/1.lock /home/adam/x /srv/USER/b /USER: adagio Bearer … ~\n/mnt/USER\n"
    assert without_secrets(r"C:\Users\ada\x D:\ada", r"C:\Users\ada", "ada") == r"~\x D:\USER"
    assert without_secrets("/var/x", "/", "") == "/var/x"


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


@pytest.mark.parametrize(
    ("values", "expected"),
    [(None, False), ({"tools": {}}, False), ({"tools": {"approvalMode": "auto-edit"}}, True), ("{ broken", False)],
)
def test_whether_the_person_has_set_an_approval_mode(home: Path, values: object, expected: bool):
    if values is not None:
        write(home / ".qwen" / "settings.json", values)
    assert names_approval_mode(QWEN_CODE) is expected
    assert not names_approval_mode(GEMINI_CLI)


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


def test_a_window_with_a_session_and_a_diff(running: Running, look: Look, project: Path):
    path = str(project / "a.txt")
    client, _ = running.listening()
    client.open_diff(path, "x")
    running.diff(path)
    first, last = look()
    for told in (first, last):
        served = told.served[1]
        assert served.port == running.lock()["port"]
        assert [folder.path for folder in served.folders] == [str(project)]
        assert served.folders[0].since <= time.time()
        assert [(session.cli, session.listens) for session in served.sessions] == [("Qwen Code", True)]
        assert served.diffs == (f"{path} (Qwen Code)",)
    assert first.clis is None
    assert first.served[1].files == ()
    assert last.clis == ()
    assert {file.state for file in last.served[1].files} == {"ours"}
    assert dict(last.libraries)["mcp"][0].isdigit()
    assert running.lock()["authToken"] not in report(last)


def test_a_reload_does_not_change_since_when_a_folder_is_found(start: Callable[[], Running]):
    def since(running: Running) -> dict[str, float]:
        running.lock()
        return running.do(lambda companion: dict(companion._windows[1].endpoint.folders_since))

    first = start()
    client, _ = first.listening()
    before = since(first)
    assert before
    assert first.thread.stop(LIMIT, hand_over=True)
    second = start()
    assert since(second) == before
    assert client.tools() == {"openDiff", "closeDiff"}


def test_a_lock_file_that_is_gone_or_of_another(running: Running, look: Look, lock_folder: Path):
    path = lock_folder / f"{running.lock()['port']}.lock"
    body = running.lock()
    state = lambda: next(file.state for file in look()[1].served[1].files if file.path == str(path))  # noqa: E731
    path.write_text(json.dumps({**body, "authToken": "other", "ppid": 1}))
    assert state() == "another's"
    path.write_text(json.dumps(body))


def test_every_discovery_file_of_each_window(running: Running, look: Look):
    """Those for old CLIs while the setting allows them, that of all windows for the one in front."""
    running.open_window(2)
    running.lock(2)

    def names(window: int) -> set[str]:
        files = look()[1].served[window].files
        assert {file.state for file in files} == {"ours"}
        port, pid = str(running.lock(window)["port"]), str(os.getppid())
        return {Path(file.path).name.replace(port, "PORT").replace(pid, "PID") for file in files}

    new = {"PORT.lock", "qwen-code-ide-server-PID-PORT.json", "gemini-ide-server-PID-PORT.json"}
    assert names(1) == {*new, "qwen-code-ide-server-PID.json"}
    assert [len(look()[1].served[window].files) for window in (1, 2)] == [5, 4]
    running.do(lambda companion: companion.window_focused(2))
    assert [len(look()[1].served[window].files) for window in (1, 2)] == [4, 5]
    running.do(lambda companion: companion.configure(Settings(legacy_discovery_files=False)))
    assert names(1) == names(2) == new


def test_a_legacy_file_that_is_gone_is_no_finding(running: Running, look: Look, monkeypatch: pytest.MonkeyPatch):
    running.lock()
    monkeypatch.setattr(survey, "refusal", lambda folder: "it is a symbolic link" if folder.parts == () else "")
    found = running.do(lambda companion: next(iter(companion._windows.values())).endpoint.publications[0].written)
    [shared] = [path for path in found if path.name == f"qwen-code-ide-server-{os.getppid()}.json"]
    shared.unlink()
    told = look()[1]
    assert {file.path: file.state for file in told.served[1].files}[str(shared)] == "missing"
    assert findings(told) == []


def test_another_editor_on_the_same_folder(running: Running, look: Look, lock_folder: Path, project: Path):
    theirs = {"workspacePath": str(project.parent), "ppid": os.getppid(), "ideInfo": {"displayName": "VS Code"}}
    path = lock_folder / "9.lock"
    write(path, theirs)
    now = time.time()
    os.utime(path, (now + 60, now + 60))
    [rival] = look()[1].served[1].rivals
    assert rival == Rival("VS Code", str(path), 9, str(project), is_newer=True)
    os.utime(lock_folder / f"{running.lock()['port']}.lock", (now + 120, now + 120))
    write(lock_folder / "10.lock", {**theirs, "workspacePath": json.dumps(["/x", str(project)]), "ideInfo": None})
    write(lock_folder / "11.lock", {**theirs, "workspacePath": "/somewhere/else"})
    write(lock_folder / "12.lock", {**theirs, "workspacePath": "[broken"})
    write(lock_folder / "13.lock", {**theirs, "ppid": 2**30})
    write(lock_folder / "14.lock", {"workspacePath": str(project)})
    found = {rival.path: rival for rival in look()[1].served[1].rivals}
    assert set(found) == {str(lock_folder / "9.lock"), str(lock_folder / "10.lock")}
    assert not found[str(lock_folder / "9.lock")].is_newer
    assert found[str(lock_folder / "10.lock")].editor == "Another editor"


def test_no_folder_of_lock_files(running: Running, look: Look, lock_folder: Path, monkeypatch: pytest.MonkeyPatch):
    running.lock()
    monkeypatch.setattr(survey, "qwen_home", lambda: lock_folder / "nowhere")
    assert look()[1].served[1].rivals == ()


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
    running.do(lambda companion: companion._status_changed())
    until(lambda: WindowStatus(questions=2) in editor.statuses.get(1, []))
