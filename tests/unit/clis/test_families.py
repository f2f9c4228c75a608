"""What each family of CLIs finds, and how the companion tells one from another."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from companion.clis.discovery import clear_leftovers
from companion.clis.families import (
    CLAUDE_CODE,
    FAMILIES,
    GEMINI_CLI,
    QWEN_CODE,
    DiscoveryName,
    Door,
    keeps_edits,
    temporary_folder,
)
from companion.editor import WindowId
from companion.server import endpoint as endpoint_module
from companion.server.endpoint import Caller, Endpoint
from companion.server.window_screen import ServedWindow
from companion.settings import Settings

from ..conftest import Running, until
from ..memory_editor import MemoryEditor
from ..wire import Cli


@pytest.fixture
def tmp(tmp_path: Path) -> Path:
    """What Node's os.tmpdir() names."""
    return tmp_path / "tmp"


@pytest.fixture
def endpoint(project: Path) -> Iterator[Endpoint]:
    endpoint = Endpoint.open(ServedWindow(WindowId(1), (str(project),)))
    endpoint.in_front = True
    yield endpoint
    endpoint.close()


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text("utf-8"))


def tokens(endpoint: Endpoint) -> dict[str, str]:
    return {one.family.name: one.token for one in endpoint.publications}


def files_below(folder: Path) -> set[Path]:
    return {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}


def test_every_name_of_every_version_is_written(endpoint: Endpoint, tmp: Path, lock_folder: Path):
    """And no other one, least of all the one that would win over every other file of Gemini CLI."""
    assert endpoint.publish() == []
    pid, port = os.getppid(), endpoint.port
    assert files_below(tmp) == {
        Path("qwen", "ide", f"qwen-code-ide-server-{pid}-{port}.json"),
        Path(f"qwen-code-ide-server-{pid}.json"),
        Path("gemini", "ide", f"qwen-code-ide-server-{pid}-{port}.json"),
        Path("gemini", "ide", f"gemini-ide-server-{pid}-{port}.json"),
    }
    assert files_below(lock_folder) == {Path(f"{port}.lock")}


def test_each_family_has_a_token_of_its_own_in_one_superset_body(endpoint: Endpoint, tmp: Path, project: Path):
    """The token says who calls."""
    endpoint.publish()
    found = [(path.name.startswith("gemini"), read(path)) for path in tmp.rglob("*.json")]
    for is_gemini, body in found:
        assert body == {
            "port": endpoint.port,
            "workspacePath": str(project),
            "authToken": tokens(endpoint)["Gemini CLI" if is_gemini else "Qwen Code"],
            "ppid": os.getpid(),
            "ideName": "Sublime Text",
            "ideInfo": {"name": "sublimetext", "displayName": "Sublime Text"},
        }
    assert len(set(tokens(endpoint).values())) == len(tokens(endpoint))


@pytest.mark.parametrize("door", ["http", "websocket", "socket"])
def test_a_token_opens_the_door_of_its_family_and_no_other(endpoint: Endpoint, door: Door):
    opened = {name: endpoint.caller(token, door) for name, token in tokens(endpoint).items()}
    assert opened == {one.name: Caller(one.name, door) if one.door == door else None for one in FAMILIES if one.files}


def test_withdrawing_leaves_nothing(endpoint: Endpoint, tmp: Path, lock_folder: Path):
    endpoint.publish()
    endpoint.withdraw()
    assert files_below(tmp) | files_below(lock_folder) == set()


def test_the_variables_of_every_family(endpoint: Endpoint, project: Path):
    """What says which editor this is belongs to terminals that we open ourselves, and to no other program."""
    pid, port = str(os.getppid()), str(endpoint.port)
    variables = {
        "QWEN_CODE_IDE_SERVER_PORT": port,
        "QWEN_CODE_IDE_WORKSPACE_PATH": str(project),
        "GEMINI_CLI_IDE_SERVER_PORT": port,
        "GEMINI_CLI_IDE_WORKSPACE_PATH": str(project),
        "GEMINI_CLI_IDE_AUTH_TOKEN": tokens(endpoint)["Gemini CLI"],
        "GEMINI_CLI_IDE_PID": pid,
    }
    assert endpoint.variables == variables
    assert endpoint.terminal_variables(QWEN_CODE) == variables | {"TERM_PROGRAM": "sublime"}
    assert endpoint.terminal_variables(GEMINI_CLI) == variables | {"TERM_PROGRAM": "sublime"}


def test_the_port_for_claude_code_is_in_its_own_terminal_and_in_no_other(endpoint: Endpoint):
    """OpenCode, which would inherit it, connects without the token then, and never looks at the lock file."""
    own = {"CLAUDE_CODE_SSE_PORT": str(endpoint.port), "ENABLE_IDE_INTEGRATION": "true"}
    assert endpoint.terminal_variables(CLAUDE_CODE) == endpoint.variables | own | {"TERM_PROGRAM": "sublime"}
    assert own.keys().isdisjoint(endpoint.variables)
    assert own.keys().isdisjoint(endpoint.terminal_variables(QWEN_CODE))


def test_no_token_is_in_the_environment_of_a_running_companion(running: Running):
    """What the plugin host has, each program inherits that any package starts; terminals of ours get it beside that."""
    variables = running.do(lambda companion: companion._windows[WindowId(1)].endpoint.variables)
    assert os.environ["GEMINI_CLI_IDE_SERVER_PORT"] == variables["GEMINI_CLI_IDE_SERVER_PORT"]
    assert "GEMINI_CLI_IDE_AUTH_TOKEN" not in os.environ
    assert variables["GEMINI_CLI_IDE_AUTH_TOKEN"] not in os.environ.values()


def test_folders_are_joined_by_the_systems_delimiter():
    for family in FAMILIES:
        assert family.workspace_path(()) == ""
        assert family.workspace_path(("/a",)) == "/a"
        assert family.workspace_path(("/a b", "/é")) == f"/a b{os.pathsep}/é"


def test_a_percent_sign_stays_as_it_is():
    """Gemini CLI decodes it, from 0.27 on, in the folder that it runs in too (docs/protocols/gemini-ide.md#folders)."""
    assert GEMINI_CLI.workspace_path(("/a%20b", "/100%")) == f"/a%20b{os.pathsep}/100%"


def test_a_folder_with_the_delimiter_is_written_as_json_if_the_family_reads_it():
    """Joined, it would be another folder's name, so the one that reads no JSON doesn't hear of it."""
    folders = (f"/a{os.pathsep}b", "/é")
    text = QWEN_CODE.workspace_path(folders)
    assert json.loads(text) == list(folders)
    assert "é" in text
    assert GEMINI_CLI.workspace_path(folders) == "/é"
    assert GEMINI_CLI.workspace_path(folders[:1]) == ""


def test_the_name_of_a_cli_comes_from_its_token(running: Running, tmp_path: Path):
    """Both send the same client name."""
    path = str(tmp_path / "file")
    with gemini(running) as cli:
        cli.open_diff(path, "new\n")
        assert running.diff(path).review.owner.cli == "Gemini CLI"
        with running.cli() as other:
            other.connect().open_diff(path, "newer\n")
            until(lambda: len(running.editor.open_diffs) == 2)
            names = sorted(diff.review.owner.cli for diff in running.editor.open_diffs.values())
            assert names == ["Gemini CLI", "Qwen Code"]


def gemini(running: Running) -> Cli:
    """A Gemini CLI that is connected and listens."""
    variables = running.do(lambda companion: companion._windows[WindowId(1)].endpoint.variables)
    port, token = int(variables["GEMINI_CLI_IDE_SERVER_PORT"]), variables["GEMINI_CLI_IDE_AUTH_TOKEN"]
    cli = Cli({"port": port, "authToken": token}).connect()
    cli.listen()
    return cli


def test_two_families_with_a_diff_of_one_file_get_their_own_outcome(running: Running, tmp_path: Path):
    path = str(tmp_path / "file")
    qwen, of_qwen = running.listening()
    with gemini(running) as cli:
        cli.open_diff(path, "of Gemini\n")
        qwen.open_diff(path, "of Qwen\n")
        until(lambda: len(running.editor.open_diffs) == 2)
        number = next(n for n, diff in running.editor.open_diffs.items() if diff.review.owner.cli == "Qwen Code")
        running.do(lambda companion: companion.reviews.reject(number))
        assert of_qwen.skip_to("ide/diffRejected") == {"filePath": path}
        assert running.diff(path).review.owner.cli == "Gemini CLI"
        assert cli.close_diff(path) == {"content": "of Gemini\n"}


@pytest.mark.parametrize(
    ("name", "suppress", "kept"),
    [("Qwen Code", True, True), ("Gemini CLI", True, False), ("Gemini CLI", False, True)],
)
def test_edits_are_kept_in_a_view_unless_the_cli_writes_them(
    running: Running, tmp_path: Path, name: str, suppress: bool, kept: bool
):
    """Gemini CLI takes the text of closeDiff after an answer in the terminal, and nothing of it when it quits."""
    path = str(tmp_path / "file")
    with gemini(running) if name == "Gemini CLI" else running.cli().connect() as cli:
        cli.open_diff(path, "new\n")
        running.diff(path).text = "mine\n"
        arguments = {"filePath": path} | ({"suppressNotification": True} if suppress else {})
        answer = cli.ask("tools/call", {"name": "closeDiff", "arguments": arguments}).json()["result"]
        assert json.loads(answer["content"][0]["text"]) == {"content": "mine\n"}
        assert [text for _, _, text, _ in running.editor.kept] == (["mine\n"] if kept else [])


def test_only_families_that_keep_edits_do():
    assert [keeps_edits(name) for name in ("Qwen Code", "Gemini CLI", "Other")] == [False, True, False]


def test_a_diff_that_the_person_can_still_decide_on_is_not_an_error(running: Running, tmp_path: Path):
    """After isError nobody can approve the edit any more (docs/protocols/gemini-ide.md#diffs)."""
    binary = tmp_path / "binary"
    binary.write_bytes(bytes(range(256)))
    with gemini(running) as cli:
        for path in (binary, tmp_path / "no" / "such" / "folder" / "file", tmp_path / ("x" * 50)):
            answer = cli.ask(
                "tools/call", {"name": "openDiff", "arguments": {"filePath": str(path), "newContent": "new\n"}}
            ).json()["result"]
            assert not answer.get("isError")
            assert answer["content"] == []


def test_a_third_family_is_a_few_lines(monkeypatch: pytest.MonkeyPatch, tmp: Path, project: Path):
    """One module describes each family in one place."""
    third = replace(
        GEMINI_CLI,
        name="Third CLI",
        port_variable="THIRD_PORT",
        workspace_variable="THIRD_FOLDERS",
        token_variable=None,
        pid_variable=None,
        files=(DiscoveryName(temporary_folder, ("third",), "{port}.json"),),
    )
    monkeypatch.setattr(endpoint_module, "FAMILIES", (*FAMILIES, third))
    endpoint = Endpoint.open(ServedWindow(WindowId(1), (str(project),)))
    try:
        assert endpoint.publish() == []
        body = read(tmp / "third" / f"{endpoint.port}.json")
        assert endpoint.caller(body["authToken"]) == Caller("Third CLI")
        assert endpoint.variables["THIRD_FOLDERS"] == str(project)
    finally:
        endpoint.close()


def shared(tmp: Path) -> Path:
    """The file that all windows share."""
    return tmp / f"qwen-code-ide-server-{os.getppid()}.json"


def owner(running: Running, tmp: Path) -> int | None:
    """The window that the shared file leads to."""
    if not shared(tmp).exists():
        return None
    port = read(shared(tmp))["port"]
    ports = running.do(lambda companion: {one.endpoint.port: window for window, one in companion._windows.items()})
    return ports.get(port, 0)


def test_the_shared_file_is_that_of_the_window_in_front(
    editor: MemoryEditor, start: Callable[..., Running], tmp: Path, tmp_path: Path
):
    """At the start, when the focus moves, and when windows close."""
    editor.windows[2] = (str(tmp_path / "second"),)
    running = start()
    running.touch()
    until(shared(tmp).exists)
    until(lambda: owner(running, tmp) == 1)
    running.do(lambda companion: companion.window_focused(WindowId(2)))
    until(lambda: owner(running, tmp) == 2)
    running.open_window(WindowId(3), (str(tmp_path / "third"),))
    until(lambda: owner(running, tmp) == 2)
    running.do(lambda companion: companion.window_focused(WindowId(3)))
    running.close_window(WindowId(2))
    until(lambda: owner(running, tmp) == 3)
    running.close_window(WindowId(3))
    until(lambda: owner(running, tmp) == 1)
    assert os.environ["QWEN_CODE_IDE_SERVER_PORT"] == str(running.lock()["port"])
    running.close_window(WindowId(1))
    until(lambda: owner(running, tmp) is None)


def test_after_the_window_in_front_comes_the_one_before(editor: MemoryEditor, start: Callable[..., Running], tmp: Path):
    """Whatever the order in which they were opened."""
    editor.windows |= {2: (), 3: (), 4: ()}
    running = start()
    for window in (3, 2):
        running.do(lambda companion, window=window: companion.window_focused(WindowId(window)))
    for window, then in ((2, 3), (3, 1)):
        running.close_window(WindowId(window))
        until(lambda then=then: owner(running, tmp) == then)


def test_a_change_of_folders_behind_leaves_the_shared_file_alone(
    editor: MemoryEditor, start: Callable[..., Running], tmp: Path, tmp_path: Path
):
    editor.windows[2] = ()
    running = start()
    running.lock()
    editor.windows[2] = (str(tmp_path),)
    running.touch(WindowId(2))
    until(lambda: running.lock(WindowId(2))["workspacePath"] == str(tmp_path))
    until(lambda: owner(running, tmp) == 1)


def test_old_names_can_be_left_out(start: Callable[..., Running], tmp: Path):
    """The setting `legacy_discovery_files`, at the start and while it runs."""
    running = start(Settings(legacy_discovery_files=False))
    port = running.lock()["port"]
    new = {
        Path("qwen", "ide", f"qwen-code-ide-server-{os.getppid()}-{port}.json"),
        Path("gemini", "ide", f"gemini-ide-server-{os.getppid()}-{port}.json"),
    }
    until(lambda: files_below(tmp) == new)
    running.open_window(WindowId(2))
    running.do(lambda companion: companion.configure(Settings()))
    until(lambda: len(files_below(tmp)) == 2 * 3 + 1)
    until(lambda: owner(running, tmp) == 1)
    running.close_window(WindowId(2))
    running.do(lambda companion: companion.configure(Settings(legacy_discovery_files=False)))
    until(lambda: files_below(tmp) == new)


@pytest.mark.parametrize(
    "name",
    [name for family in FAMILIES for name in family.files],
    ids=lambda name: "/".join((name.base().name, *name.parts, name.name)),
)
def test_what_a_crash_has_left_is_removed_under_every_name(endpoint: Endpoint, name: DiscoveryName):
    """Of a dead process; nobody else's."""
    endpoint.publish()
    left = name.folder.path / name.file(os.getppid() + 1, 2)
    other = left.with_name(f"{left.name}.bak")
    body = read(next(iter(endpoint.publications[0].written)))
    for path in (left, other):
        path.write_text(json.dumps(body | {"ppid": 1}), "utf-8")
    assert clear_leftovers(FAMILIES, lambda pid, _at: pid == os.getpid()) == [left]
    assert other.exists()
    assert all(path.exists() for one in endpoint.publications for path in one.written)
