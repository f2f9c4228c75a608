"""A machine that misbehaves: the companion in a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from ..file_systems import fill, mounted, root
from .conftest import Alone, lock_in, until
from .wire import LIMIT, Cli

Start = Callable[..., Alone]
linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets one set another process's limits")
posix = pytest.mark.skipif(os.name != "posix", reason="Windows has no such signals")


@posix
@pytest.mark.parametrize("seconds", [1, pytest.param(180, marks=pytest.mark.long)])
def test_an_editor_that_is_suspended_goes_on_where_it_was(alone: Start, lock_folder: Path, seconds: float) -> None:
    """A laptop that sleeps: requests wait, and sessions live on."""
    process = alone()
    process.wait_for("listening")
    with Cli(lock_in(lock_folder)) as cli:
        stream = cli.connect().listen()
        stream.take("ide/contextUpdate")
        assert sys.platform != "win32"
        os.kill(process.process.pid, signal.SIGSTOP)
        waiting = socket.create_connection(("127.0.0.1", cli.port), timeout=LIMIT)
        time.sleep(seconds)
        os.kill(process.process.pid, signal.SIGCONT)
        waiting.close()
        assert cli.tools() == {"openDiff", "closeDiff"}
    assert process.stop() == ""


@linux
def test_without_free_file_descriptors_connections_wait(alone: Start, lock_folder: Path) -> None:
    """Whoever is connected goes on, and whoever comes is served when there is room again."""
    process = alone()
    process.wait_for("listening")
    editor = psutil.Process(process.process.pid)
    with Cli(lock_in(lock_folder)) as cli:
        cli.connect().listen().take("ide/contextUpdate")
        cli.tools()  # on the connection that it keeps
        assert sys.platform == "linux"
        limits = editor.rlimit(psutil.RLIMIT_NOFILE)
        editor.rlimit(psutil.RLIMIT_NOFILE, (editor.num_fds() + 3, limits[1]))
        many = [socket.create_connection(("127.0.0.1", cli.port), timeout=LIMIT) for _ in range(60)]
        assert cli.tools() == {"openDiff", "closeDiff"}
        process.wait_for_error("socket.accept() out of system resource")
        for one in many:
            one.close()
        editor.rlimit(psutil.RLIMIT_NOFILE, limits)
        with Cli({"port": cli.port, "authToken": cli.token}) as late:
            assert late.connect().tools() == {"openDiff", "closeDiff"}
    process.stop()


@linux
def test_a_full_disk_is_said_and_the_server_runs(alone: Start, lock_folder: Path, tmp_path: Path) -> None:
    """A file that can't be written is no half-written file, and is there when there is room again."""
    process = alone("--hold", "mcp")
    process.wait_for("held")
    editor = psutil.Process(process.process.pid)
    assert sys.platform == "linux"
    limits = editor.rlimit(psutil.RLIMIT_FSIZE)
    body = lock_in(lock_folder)
    editor.rlimit(psutil.RLIMIT_FSIZE, (10, limits[1]))
    shutil.rmtree(lock_folder)
    process.show()
    with Cli(body) as cli:
        assert cli.connect().tools()
        said = process.wait_for("say")["message"]
        assert "can't find this editor through" in said
        assert list(lock_folder.iterdir()) == []
        editor.rlimit(psutil.RLIMIT_FSIZE, limits)
        until(lambda: list(lock_folder.iterdir()))
    assert lock_in(lock_folder)["authToken"] == body["authToken"]
    assert process.stop() == ""


@root
def test_a_file_system_without_room_is_said_and_used_when_there_is_room(
    alone: Start, lock_folder: Path, home: Path, project: Path
) -> None:
    """A quota. The CLIs that look elsewhere find the editor, and no file is left half written."""
    with mounted(home / ".qwen", "size=64k"):
        filler = fill(home / ".qwen")
        process = alone()
        assert "can't find this editor through" in process.wait_for("say")["message"]
        [published] = until(lambda: list(home.parent.glob("tmp/qwen/ide/*.json")))
        with Cli(json.loads(published.read_text("utf-8"))) as cli:
            assert cli.connect().tools()
            assert not lock_folder.exists() or list(lock_folder.iterdir()) == []
            filler.unlink()
            assert until(lambda: list(lock_folder.glob("*.lock")))
            assert lock_in(lock_folder)["authToken"] == cli.token
        assert process.stop() == ""


@root
def test_a_home_that_is_read_only_is_said_once_and_the_server_runs(alone: Start, home: Path) -> None:
    with mounted(home, "ro,size=64k"):
        process = alone()
        assert "can't find this editor through" in process.wait_for("say")["message"]
        [published] = until(lambda: list(home.parent.glob("tmp/qwen/ide/*.json")))
        with Cli(json.loads(published.read_text("utf-8"))) as cli:
            assert cli.connect().tools()
        assert process.stop() == ""


def test_a_body_that_comes_slowly_holds_nobody_up_and_is_answered(alone: Start, lock_folder: Path) -> None:
    """A slow writer."""
    process = alone()
    process.wait_for("listening")
    with Cli(lock_in(lock_folder)) as cli:
        cli.connect()
        body = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": {}}).encode().ljust(100_000)
        head = "".join(f"{name}: {value}\r\n" for name, value in cli.headers(host=f"127.0.0.1:{cli.port}").items())
        slow = socket.create_connection(("127.0.0.1", cli.port), timeout=LIMIT)
        slow.sendall(f"POST /mcp HTTP/1.1\r\n{head}content-length: {len(body)}\r\n\r\n".encode())
        for start in range(0, len(body), 10_000):
            slow.sendall(body[start : start + 10_000])
            assert cli.tools() == {"openDiff", "closeDiff"}
        assert slow.recv(15) == b"HTTP/1.1 200 OK"
        slow.close()
    assert process.stop() == ""


def test_half_open_connections_are_closed(alone: Start, lock_folder: Path) -> None:
    """A client that sends no more, in the middle of a request, of a stream, or before it has said anything."""
    process = alone()
    process.wait_for("listening")
    with Cli(lock_in(lock_folder)) as cli:
        cli.connect().listen().take("ide/contextUpdate")
        head = "".join(f"{name}: {value}\r\n" for name, value in cli.headers(host=f"127.0.0.1:{cli.port}").items())
        for request in (b"", b"POST /mcp", f"POST /mcp HTTP/1.1\r\n{head}content-length: 9\r\n\r\n{{".encode()):
            with socket.create_connection(("127.0.0.1", cli.port), timeout=LIMIT) as half:
                half.sendall(request)
                half.shutdown(socket.SHUT_WR)
                while half.recv(1000):
                    pass
        assert cli.tools() == {"openDiff", "closeDiff"}
    assert process.stop() == ""


def test_a_cli_that_is_killed_ends_its_session_and_nobody_elses(alone: Start, lock_folder: Path) -> None:
    """With half a request on its way."""
    process = alone()
    process.wait_for("listening")
    body = lock_in(lock_folder)
    program = (
        "import socket, time\n"
        f"s = socket.create_connection(('127.0.0.1', {body['port']}))\n"
        f"s.sendall(b'POST /mcp HTTP/1.1\\r\\nhost: 127.0.0.1:{body['port']}\\r\\n"
        f"authorization: Bearer {body['authToken']}\\r\\ncontent-length: 100\\r\\n\\r\\n{{')\n"
        "print('sent', flush=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as killed:
        assert killed.stdout
        killed.stdout.readline()
        killed.kill()
    with Cli(body) as cli:
        assert cli.connect().tools()
    assert process.stop() == ""
