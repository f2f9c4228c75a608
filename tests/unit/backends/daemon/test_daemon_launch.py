from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from companion.backends.daemon import errors, private

from ...fake_daemon import run

ENVIRONMENT = {"PATH": os.environ["PATH"]} | {
    name: os.environ[name] for name in ("SYSTEMROOT", "TEMP", "TMP") if name in os.environ
}
Qwen = Callable[[str], list[str]]
LISTENS = """
import json, os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
json.dump([sys.argv, dict(os.environ), child.pid], open("seen.json", "w"))
print("qwen serve: daemon log", flush=True)
print("qwen serve listening on http://127.0.0.1:4242 (mode=http-bridge)", flush=True)
time.sleep(60)
"""


def has_ended(pid: int) -> bool:
    """Whether a process has ended, be it that nobody has heard of it yet."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.fixture
def qwen(tmp_path: Path):
    """Makes the command of a Qwen Code that does what a script says."""

    def make(script: str) -> list[str]:
        path = tmp_path / "fake_qwen.py"
        path.write_text(script, encoding="utf-8")
        return [sys.executable, str(path)]

    return make


def test_the_program_is_found(tmp_path: Path):
    program = tmp_path / ("qwen.bat" if sys.platform == "win32" else "qwen")
    program.write_text("")
    program.chmod(0o755)
    environment = {"PATH": str(tmp_path)}
    assert private.find("qwen", environment) == [str(program)]
    assert private.find(["qwen", "--debug"], environment) == [str(program), "--debug"]
    assert private.find([], environment) == [str(program)]
    assert private.find(str(program), {}) == [str(program)]
    with pytest.raises(errors.DaemonError, match="“missing” is not on the PATH"):
        private.find("missing", environment)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such shells")
def test_a_line_for_a_shell_gets_the_arguments_at_its_end(qwen: Qwen, project: Path, tmp_path: Path):
    fish = tmp_path / "fish"
    fish.write_text("#!/bin/sh\n")
    fish.chmod(0o755)
    assert private.find("a b", {"SHELL": str(fish)}) == [str(fish), "-l", "-c", "a b $argv"]
    line = f"export MARK='a b' && exec {' '.join(qwen(LISTENS))}"
    command = private.find(line, {"PATH": os.environ["PATH"], "SHELL": "/bin/sh"})
    daemon = run(private.start(command, str(project), ENVIRONMENT))
    try:
        arguments, environment, _ = json.loads((project / "seen.json").read_text(encoding="utf-8"))
        assert arguments[1:3] == ["serve", "--hostname"]
        assert environment["MARK"] == "a b"
        assert daemon.folder == os.path.realpath(project)
    finally:
        daemon.end()


def test_on_windows_a_line_is_a_program_that_may_be_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """`cmd.exe` would have been given the folder of the project too."""
    node = tmp_path / "Program Files" / "node.exe"
    node.parent.mkdir()
    node.touch(mode=0o755)
    monkeypatch.setattr(sys, "platform", "win32")
    assert private.find(f'"{node}" cli.js "a b"', {}) == [str(node), "cli.js", "a b"]
    assert private.find(f'"%ROOT%{os.sep}node.exe" cli.js', {"ROOT": str(node.parent)}) == [str(node), "cli.js"]
    with pytest.raises(errors.DaemonError, match="“call” is not"):
        private.find("call qwen", {"PATH": str(tmp_path)})


def test_a_daemon_is_started_found_again_and_ended_with_its_children(qwen: Qwen, project: Path):
    variables = {"QWEN_CODE_IDE_SERVER_PORT": "1", "QWEN_CODE_IDE_WORKSPACE_PATH": "/x", "KEPT": "yes"}
    daemon = run(private.start(qwen(LISTENS), str(project), ENVIRONMENT | variables))
    arguments, environment, child = json.loads((project / "seen.json").read_text(encoding="utf-8"))
    assert daemon.address.url == "http://127.0.0.1:4242"
    assert daemon.folder == os.path.realpath(project)
    assert daemon.address.token
    token = daemon.address.token.reveal()
    assert environment["QWEN_SERVER_TOKEN"] == token
    assert token not in " ".join(arguments) + repr(daemon)
    assert arguments[1:] == [
        "serve", "--hostname", "127.0.0.1", "--port", "0", "--workspace", daemon.folder, "--no-web", "--require-auth",
    ]  # fmt: skip
    assert environment["KEPT"] == "yes"
    assert variables.keys() & environment.keys() == {"KEPT"}
    assert daemon.is_running
    assert not has_ended(child)
    daemon.end(private.STOP_LIMIT)
    assert not daemon.is_running
    assert has_ended(child)
    daemon.end(private.STOP_LIMIT)


def test_another_process_with_the_same_number_is_none_of_ours(project: Path):
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        daemon = private.Daemon(
            process.pid, psutil.Process(process.pid).create_time() - 5, "/w", private.Address("http://x")
        )
        assert not daemon.is_running
        daemon.end()
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()


def test_one_that_doesnt_end_by_itself_is_ended(qwen: Qwen, project: Path):
    script = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)" + LISTENS
    daemon = run(private.start(qwen(script), str(project), ENVIRONMENT))
    daemon.end(0.2)
    assert not daemon.is_running
    daemon = run(private.start(qwen(LISTENS), str(project), ENVIRONMENT))
    daemon.end()
    assert not daemon.is_running


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("print('\\x1b[31mRefusing to start.\\x1b[0m\\n')", "ended as soon as it was started: Refusing to start\\."),
        ("", "ended as soon as it was started\\."),
    ],
)
def test_one_that_ends_at_once_leaves_its_last_words(qwen: Qwen, project: Path, script: str, words: str):
    with pytest.raises(errors.DaemonError, match=words):
        run(private.start(qwen(script), str(project), ENVIRONMENT))


def is_fake(process: psutil.Process) -> bool:
    """Whether it is a stand-in that still runs."""
    try:
        return "fake_qwen.py" in " ".join(process.cmdline())
    except psutil.NoSuchProcess:  # or a zombie, which somebody is about to wait for
        return False


def test_one_that_doesnt_listen_is_ended(qwen: Qwen, project: Path):
    before = time.monotonic()
    with pytest.raises(errors.DaemonError, match="didn't listen within 0 s"):
        run(private.start(qwen("import time; time.sleep(60)"), str(project), ENVIRONMENT, limit=0.2))
    assert time.monotonic() - before < 30
    assert [child for child in psutil.Process().children() if is_fake(child)] == []


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in for Node is a shell script")
@pytest.mark.parametrize(
    ("version", "words"),
    [("v18.20.1", r"Node\.js 18\.20\.1 is too old"), ("v22.1.0", "SyntaxError"), ("", "SyntaxError")],
)
def test_an_old_node_is_named(tmp_path: Path, project: Path, version: str, words: str):
    node = tmp_path / "node"
    node.write_text(
        f"#!/bin/sh\n[ \"$1\" = --version ] && echo {version} && exit\necho 'SyntaxError: Unexpected token'\nexit 1\n"
    )
    node.chmod(0o755)
    for command in ([str(node), "cli.js"], [str(tmp_path / "qwen")]):
        (tmp_path / "qwen").write_text("#!/bin/sh\nexec node cli.js\n")
        (tmp_path / "qwen").chmod(0o755)
        environment = {"PATH": f"{tmp_path}{os.pathsep}/bin{os.pathsep}/usr/bin"}
        with pytest.raises(errors.DaemonError, match=words):
            run(private.start(command, str(project), environment))


@pytest.mark.parametrize(
    ("script", "limit"), [("print('Unknown arguments: hostname'); sys.exit(1)", 60), ("time.sleep(60)", 0.2)]
)
def test_a_qwen_without_serve_is_named_with_the_command_that_updates_it(
    qwen: Qwen, project: Path, script: str, limit: float
):
    old = f"import sys, time\nif '--version' in sys.argv: sys.exit(print('0.15.10'))\n{script}"
    with pytest.raises(errors.DaemonError, match=r"0\.15\.10 .* 0\.21\.2 .*npm install -g @qwen-code/qwen-code"):
        run(private.start(qwen(old), str(project), ENVIRONMENT, limit=limit))


@pytest.mark.skipif(sys.platform == "win32", reason="the program is a shell script")
@pytest.mark.parametrize(
    "words", ["env: node: No such file or directory", "exec: node: not found", "node: command not found"]
)
def test_a_qwen_without_node_says_what_to_install(tmp_path: Path, project: Path, words: str):
    program = tmp_path / "qwen"
    program.write_text(f"#!/bin/sh\necho '{words}' >&2\nexit 127\n", encoding="utf-8")
    program.chmod(0o755)
    with pytest.raises(errors.DaemonError, match=r"Node\.js 22"):
        run(private.start([str(program)], str(project), {"PATH": "/nowhere"}))


def test_without_a_node_to_ask_the_last_words_must_do(
    qwen: Qwen, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    empty = ENVIRONMENT | {"PATH": str(tmp_path)}
    with pytest.raises(errors.DaemonError, match="ended as soon as it was started: SyntaxError"):
        run(private.start(qwen("print('SyntaxError: x')"), str(project), empty))
    monkeypatch.setattr(private.programs, "find", lambda name, environment: str(tmp_path / "gone"))
    with pytest.raises(errors.DaemonError, match="ended as soon as it was started: SyntaxError"):
        run(private.start(qwen("print('SyntaxError: x')"), str(project), ENVIRONMENT))


def test_a_program_or_a_folder_that_has_gone(qwen: Qwen, project: Path, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(errors.DaemonError, match="is not on the PATH"):
        run(private.start([str(project / "missing")], str(project), ENVIRONMENT))
    with pytest.raises(errors.DaemonError, match="no folder"):
        run(private.start(qwen(""), str(project / "missing"), ENVIRONMENT))

    def fails(*_: object, **__: object) -> None:
        raise OSError(8, "Exec format error")

    monkeypatch.setattr(private.subprocess, "Popen", fails)
    with pytest.raises(errors.DaemonError, match="Exec format error"):
        run(private.start(qwen(""), str(project), ENVIRONMENT))
