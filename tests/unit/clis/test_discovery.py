from __future__ import annotations

import json
import os
import shutil
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from companion.clis import processes
from companion.clis.discovery import IDE_INFO, EnvironmentVariables, clear_leftovers, write_file
from companion.clis.families import FAMILIES, qwen_home, temporary_folder
from companion.clis.processes import wrote
from companion.editor import WindowId
from companion.server.endpoint import Endpoint
from companion.server.window_screen import ServedWindow

ON_WINDOWS = sys.platform == "win32"
posix = pytest.mark.skipif(ON_WINDOWS, reason="modes and owners are POSIX")


@pytest.fixture
def endpoint(project: Path) -> Iterator[Endpoint]:
    endpoint = Endpoint.open(ServedWindow(WindowId(1), (str(project),)))
    yield endpoint
    endpoint.close()


@pytest.fixture
def files(endpoint: Endpoint, lock_folder: Path, published_folder: Path) -> list[Path]:
    """The discovery files of the endpoint, which need not exist yet."""
    name = f"qwen-code-ide-server-{os.getppid()}-{endpoint.port}.json"
    return [lock_folder / f"{endpoint.port}.lock", published_folder / name]


@pytest.fixture
def dead() -> int:
    """The id of a process that has ended."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    return ended.pid


def leftover(path: Path, pid: object, **changes: object) -> Path:
    """A discovery file as an editor writes it."""
    body = {"port": 1, "workspacePath": "/", "authToken": "t", "ppid": pid, "ideInfo": IDE_INFO} | changes
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(body), "utf-8")
    return path


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text("utf-8"))


def everything(*folders: Path) -> list[Path]:
    """All files below some folders, hidden ones included."""
    return [path for folder in folders for path in folder.rglob("*") if not path.is_dir()]


def test_both_names_are_written_with_one_body(endpoint: Endpoint, files: list[Path], project: Path):
    """The folders are created, and the body has every field that a CLI reads."""
    assert endpoint.publish() == []
    body = {
        "port": endpoint.port,
        "workspacePath": str(project),
        "authToken": endpoint.publications[0].token,
        "ppid": os.getpid(),
        "ideName": "Sublime Text",
        "ideInfo": {"name": "sublimetext", "displayName": "Sublime Text"},
    }
    assert [read(file) for file in files] == [body, body]


@posix
def test_nobody_else_can_read_the_token(endpoint: Endpoint, files: list[Path], home: Path):
    """Files 0600 and the folders that we create 0700, whatever the umask."""
    before = os.umask(0)
    try:
        endpoint.publish()
    finally:
        os.umask(before)
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    folders = {files[0].parent, files[1].parent, files[1].parent.parent, home / ".qwen"}
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in folders} == {0o700}


@posix
def test_a_folder_that_was_there_keeps_its_mode(endpoint: Endpoint, home: Path):
    """~/.qwen is the CLI's."""
    (home / ".qwen").mkdir(mode=0o755)
    assert endpoint.publish() == []
    assert stat.S_IMODE((home / ".qwen").stat().st_mode) == 0o755


def test_the_files_are_rewritten_completely(endpoint: Endpoint, files: list[Path], tmp_path: Path):
    """By a rename, so nothing else is ever left in the folder."""
    endpoint.publish()
    endpoint.folders = (str(tmp_path),)
    assert endpoint.publish() == []
    assert {read(file)["workspacePath"] for file in files} == {str(tmp_path)}
    assert sorted(everything(files[0].parent, files[1].parent)) == sorted(files)


def test_a_reader_sees_the_old_text_or_the_new_and_never_a_part(tmp_path: Path):
    """A CLI may scan at any time."""
    path = tmp_path / "1.lock"
    texts = {letter * 100_000 for letter in "ab"}
    write_file(path, min(texts))
    done = threading.Event()
    seen: set[str] = set()

    def look() -> None:
        while not done.is_set():
            seen.add(path.read_text("utf-8"))

    reader = threading.Thread(target=look)
    reader.start()
    for _ in range(50):
        for text in texts:
            write_file(path, text)
    done.set()
    reader.join()
    assert seen <= texts
    assert [path.name for path in tmp_path.glob("*.lock*")] == ["1.lock"]


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A full disk, or a folder in the way."""
    folder = tmp_path / "ide"
    folder.mkdir()
    path = folder / "1.lock"
    write_file(path, "old")

    def fail(source: object, target: object, **_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError):
        write_file(path, "new")
    assert [(found.name, found.read_text()) for found in folder.iterdir()] == [("1.lock", "old")]


def test_a_linked_folder_is_refused_and_the_other_file_still_written(
    endpoint: Endpoint, files: list[Path], tmp_path: Path
):
    """Somebody may have put a link into the temporary folder to get at the token."""
    trap = tmp_path / "trap"
    trap.mkdir()
    files[1].parent.parent.mkdir(parents=True)
    files[1].parent.symlink_to(trap, target_is_directory=True)
    [problem] = endpoint.publish()
    assert str(files[1].parent) in problem
    assert "symbolic link" in problem
    assert everything(trap) == []
    assert read(files[0])["port"] == endpoint.port


def test_a_linked_parent_folder_is_refused(endpoint: Endpoint, files: list[Path], tmp_path: Path):
    """Every folder on the way below the temporary one."""
    trap = tmp_path / "trap"
    trap.mkdir()
    files[1].parent.parent.symlink_to(trap, target_is_directory=True)
    [problem] = endpoint.publish()
    assert "symbolic link" in problem
    assert everything(trap) == []


def test_a_home_folder_that_is_a_link_is_all_right(endpoint: Endpoint, files: list[Path], home: Path, tmp_path: Path):
    """People keep ~/.qwen among their dotfiles."""
    (tmp_path / "dotfiles").mkdir()
    (home / ".qwen").symlink_to(tmp_path / "dotfiles", target_is_directory=True)
    assert endpoint.publish() == []
    assert (tmp_path / "dotfiles" / "ide" / files[0].name).is_file()


def test_a_file_in_a_folders_place_is_refused(endpoint: Endpoint, files: list[Path]):
    files[0].parent.parent.mkdir()
    files[0].parent.touch()
    [problem] = endpoint.publish()
    assert "not a folder" in problem
    assert files[1].is_file()


@posix
def test_a_folder_of_another_user_is_refused(endpoint: Endpoint, files: list[Path], monkeypatch: pytest.MonkeyPatch):
    """Whoever owns the folder could put a file of their own in our file's place."""
    assert sys.platform != "win32"
    user = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: user + 1)
    problems = endpoint.publish()
    assert len(problems) == 5
    assert all("belongs to another user" in problem for problem in problems)
    assert everything(files[0].parent, files[1].parent) == []


def test_an_administrator_is_told_of_a_folder_that_is_made(
    endpoint: Endpoint, files: list[Path], home: Path, monkeypatch: pytest.MonkeyPatch
):
    """Without these rights, the person may not be able to remove it."""
    monkeypatch.setattr("companion.platforms.files.is_elevated", lambda: True)
    made = [home / ".qwen", home / ".claude", home / ".copilot"]
    for folder in made:
        shutil.rmtree(folder, ignore_errors=True)
    said = endpoint.publish()
    assert all(each.startswith("Sublime Text runs as an administrator") for each in said)
    assert len(said) == len(made)
    assert all(str(folder) in each for folder, each in zip(made, said, strict=True))
    assert endpoint.publish() == []


def test_a_problem_is_one_sentence_that_says_whose(endpoint: Endpoint, files: list[Path]):
    files[0].parent.parent.mkdir()
    files[0].parent.touch()
    [problem] = endpoint.publish()
    assert problem.startswith("Qwen Code can't find this editor through ")
    assert problem.endswith(".")
    assert "\n" not in problem


def test_withdrawing_removes_our_files_and_only_ours(endpoint: Endpoint, files: list[Path]):
    """Another editor may have taken the port, and its file the name."""
    endpoint.publish()
    foreign = leftover(files[0].parent / "1.lock", os.getpid())
    leftover(files[1], os.getpid(), authToken="another")
    endpoint.withdraw()
    endpoint.withdraw()
    assert sorted(everything(files[0].parent, files[1].parent)) == sorted([foreign, files[1]])


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '"text"', "\x00"])
def test_a_file_that_is_no_longer_ours_is_left_alone(endpoint: Endpoint, files: list[Path], text: str):
    """Whatever is in it."""
    endpoint.publish()
    files[0].write_text(text)
    endpoint.withdraw()
    assert files[0].read_text() == text
    assert not files[1].exists()


def test_withdrawing_files_that_are_gone_is_no_error(endpoint: Endpoint, files: list[Path]):
    """A CLI in a container deletes them."""
    endpoint.publish()
    for file in files:
        file.unlink()
    endpoint.withdraw()


def test_the_repr_of_an_endpoint_does_not_contain_the_token(endpoint: Endpoint):
    assert endpoint.publications[0].token not in repr(endpoint)


def test_each_endpoint_has_a_token_of_32_random_bytes(endpoint: Endpoint):
    other = Endpoint.open(ServedWindow(WindowId(2), ()))
    try:
        tokens = {one.publications[0].token for one in (endpoint, other)}
    finally:
        other.close()
    assert len(tokens) == 2
    assert all(len(token) == 43 for token in tokens)


def test_the_system_chooses_a_port_on_the_loopback_interface(endpoint: Endpoint):
    assert endpoint.state.listener.getsockname() == ("127.0.0.1", endpoint.port)
    assert endpoint.port > 1023


def test_a_window_has_its_old_port_again(endpoint: Endpoint, project: Path):
    """Terminals keep the port that they were opened with."""
    port = endpoint.port
    with socket.create_connection(("127.0.0.1", port), timeout=60):
        endpoint.close()
    again = Endpoint.open(ServedWindow(WindowId(1), (), port))
    assert again.port == port
    again.close()


def test_an_old_port_that_is_taken_gives_way_to_a_new_one(endpoint: Endpoint):
    other = Endpoint.open(ServedWindow(WindowId(2), (), endpoint.port))
    assert other.port not in {0, endpoint.port}
    other.close()


def test_a_connection_before_the_server_runs_waits(endpoint: Endpoint):
    """The kernel queues it."""
    with socket.create_connection(("127.0.0.1", endpoint.port), timeout=60) as early:
        assert early.getpeername()[1] == endpoint.port


def test_a_leftover_of_a_dead_editor_is_removed(dead: int, lock_folder: Path, published_folder: Path):
    """For a crash removes nothing."""
    names = lock_folder / "12345.lock", published_folder / "qwen-code-ide-server-1-12345.json"
    files = [leftover(path, dead) for path in names]
    assert sorted(clear_leftovers(FAMILIES, wrote)) == sorted(files)
    assert everything(lock_folder, published_folder) == []


def test_the_files_of_a_living_editor_stay(endpoint: Endpoint, files: list[Path]):
    """Several editors may run."""
    endpoint.publish()
    assert clear_leftovers(FAMILIES, wrote) == []
    assert all(file.exists() for file in files)


def test_a_pid_that_was_used_again_does_not_keep_a_leftover(lock_folder: Path):
    """The process is younger than the file."""
    path = leftover(lock_folder / "12345.lock", os.getpid())
    os.utime(path, (1, 1))
    assert clear_leftovers(FAMILIES, wrote) == [path]


@pytest.mark.parametrize(
    "name",
    [
        "config.json",
        "12345.lock.bak",
        "x12345.lock",
        "12345.LOCK",
        ".12345.lock.1.abcd",
        "qwen-code-ide-server-1-2.json",
        "lock",
    ],
)
def test_a_file_of_another_name_is_never_touched(dead: int, lock_folder: Path, name: str):
    """Even if it looks like ours inside."""
    path = leftover(lock_folder / name, dead)
    assert clear_leftovers(FAMILIES, wrote) == []
    assert path.exists()


@pytest.mark.parametrize(
    "changes",
    [
        {"ideInfo": {"name": "vscode", "displayName": "VS Code"}},
        {"ideInfo": {"name": "sublimetext", "displayName": "Sublime Text", "more": 1}},
        {"ideInfo": None},
        {"ideInfo": "sublimetext"},
        {"ppid": None},
        {"ppid": "12"},
        {"ppid": 1.5},
    ],
    ids=str,
)
def test_another_programs_lock_file_is_never_touched(dead: int, lock_folder: Path, changes: dict[str, object]):
    """VS Code's companion writes into the same folder."""
    path = leftover(lock_folder / "12345.lock", **{"pid": dead, **changes})
    assert clear_leftovers(FAMILIES, wrote) == []
    assert path.exists()


@pytest.mark.parametrize("data", [b"", b"{", b"[1]", b"\xff\xfe", b"null"])
def test_a_lock_file_that_cannot_be_read_is_never_touched(lock_folder: Path, data: bytes):
    lock_folder.mkdir(parents=True)
    path = lock_folder / "12345.lock"
    path.write_bytes(data)
    assert clear_leftovers(FAMILIES, wrote) == []
    assert path.read_bytes() == data


def test_a_link_to_a_leftover_is_never_touched(dead: int, lock_folder: Path, tmp_path: Path):
    lock_folder.mkdir(parents=True)
    (lock_folder / "12345.lock").symlink_to(leftover(tmp_path / "elsewhere.lock", dead))
    assert clear_leftovers(FAMILIES, wrote) == []
    assert (lock_folder / "12345.lock").exists()


def test_a_pid_that_another_process_has_after_an_hour_does_not_count():
    """The process must be as old as the file."""
    since = psutil.Process().create_time()
    assert wrote(os.getpid(), since)
    assert not wrote(os.getpid(), since - 3600)


def test_a_closed_endpoint_has_neither_files_nor_a_socket(endpoint: Endpoint, files: list[Path]):
    """Also if it is closed twice."""
    endpoint.publish()
    assert all(file.exists() for file in files)
    endpoint.close()
    endpoint.close()
    assert not any(file.exists() for file in files)
    assert endpoint.state.listener.fileno() == -1


def test_folders_that_do_not_exist_hold_no_leftovers():
    assert clear_leftovers(FAMILIES, wrote) == []


def test_a_process_that_we_may_not_look_at_counts_as_alive(monkeypatch: pytest.MonkeyPatch):
    """In doubt a file stays."""

    def denied(pid: int) -> None:
        raise psutil.AccessDenied(pid)

    monkeypatch.setattr(processes.psutil, "Process", denied)
    assert wrote(1, 0)


def test_variables_are_set_and_removed(endpoint: Endpoint, project: Path):
    """Terminals inherit them."""
    variables = EnvironmentVariables()
    variables.set(endpoint.variables)
    assert os.environ["QWEN_CODE_IDE_SERVER_PORT"] == str(endpoint.port)
    assert os.environ["QWEN_CODE_IDE_WORKSPACE_PATH"] == str(project)
    variables.remove()
    variables.remove()
    assert not os.environ.keys() & {"QWEN_CODE_IDE_SERVER_PORT", "QWEN_CODE_IDE_WORKSPACE_PATH"}


def test_a_variable_that_somebody_else_has_set_since_stays(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch):
    """Only our values are removed."""
    variables = EnvironmentVariables()
    variables.set(endpoint.variables)
    monkeypatch.setenv("QWEN_CODE_IDE_SERVER_PORT", "1")
    monkeypatch.delenv("QWEN_CODE_IDE_WORKSPACE_PATH")
    variables.remove()
    assert os.environ["QWEN_CODE_IDE_SERVER_PORT"] == "1"


def test_a_variable_holds_afterwards_what_it_held_before(monkeypatch: pytest.MonkeyPatch):
    """The editor was started in a terminal of another one, or another package has set it."""
    monkeypatch.setenv("QWEN_TEST_A", "theirs")
    variables = EnvironmentVariables()
    variables.set({"QWEN_TEST_A": "1"})
    variables.set({"QWEN_TEST_A": "2"})
    assert os.environ["QWEN_TEST_A"] == "2"
    variables.remove()
    assert os.environ["QWEN_TEST_A"] == "theirs"
    variables.set({"QWEN_TEST_A": "3"})
    monkeypatch.setenv("QWEN_TEST_A", "theirs since")
    variables.set({"QWEN_TEST_A": "4"})
    variables.set({})
    assert os.environ["QWEN_TEST_A"] == "theirs since"


def test_the_variables_of_the_next_window_replace_those_of_the_last(monkeypatch: pytest.MonkeyPatch):
    variables = EnvironmentVariables()
    for name in ("QWEN_TEST_A", "QWEN_TEST_B", "QWEN_TEST_C"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    variables.set({"QWEN_TEST_A": "1", "QWEN_TEST_B": "1"})
    variables.set({"QWEN_TEST_B": "2", "QWEN_TEST_C": "2"})
    assert "QWEN_TEST_A" not in os.environ
    assert (os.environ["QWEN_TEST_B"], os.environ["QWEN_TEST_C"]) == ("2", "2")
    variables.remove()
    assert not os.environ.keys() & {"QWEN_TEST_B", "QWEN_TEST_C"}


def test_the_home_of_qwen_can_be_moved(monkeypatch: pytest.MonkeyPatch, home: Path, tmp_path: Path):
    """By $QWEN_HOME."""
    assert qwen_home() == home / ".qwen"
    monkeypatch.setenv("QWEN_HOME", str(tmp_path / "elsewhere"))
    assert qwen_home() == tmp_path / "elsewhere"
    monkeypatch.setenv("QWEN_HOME", "~/q")
    assert qwen_home() == home / "q"
    monkeypatch.setenv("QWEN_HOME", "")
    assert qwen_home() == home / ".qwen"
    monkeypatch.delenv("QWEN_HOME")
    assert qwen_home() == home / ".qwen"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("QWEN_HOME", "relative")
    assert qwen_home() == tmp_path / "relative"


@pytest.mark.parametrize(
    ("platform", "order", "default"),
    [
        ("linux", ("TMPDIR", "TMP", "TEMP"), "/tmp"),  # noqa: S108
        ("darwin", ("TMPDIR", "TMP", "TEMP"), "/tmp"),  # noqa: S108
        ("win32", ("TEMP", "TMP"), os.path.join("windows", "temp")),
    ],
)
def test_the_temporary_folder_is_that_of_node(
    monkeypatch: pytest.MonkeyPatch, platform: str, order: tuple[str, ...], default: str
):
    """Os.tmpdir() reads these variables in this order, and skips empty ones."""
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setenv("SYSTEMROOT", "windows")
    for name in order:
        monkeypatch.setenv(name, f"/{name}")
    for name in order:
        assert temporary_folder() == Path(f"/{name}")
        monkeypatch.setenv(name, "")
    assert temporary_folder() == Path(default)
