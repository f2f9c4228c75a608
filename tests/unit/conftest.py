"""Fixtures of the unit tests: the companion with an editor in memory, real sockets and real files."""

from __future__ import annotations

import json
import logging
import os
import queue
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

import pytest

from companion import companion as companion_module
from companion.companion import Companion
from companion.editor import ViewId, WindowId
from companion.platforms.programs import OPEN_FOLDERS
from companion.server import context
from companion.settings import Settings
from companion.thread import CompanionThread

from . import loop_files
from .memory_editor import Diff, MemoryEditor
from .wire import LIMIT, Cli, Stream

T = TypeVar("T")
FIRST = WindowId(1)

VARIABLES = (
    "QWEN_CODE_IDE_SERVER_PORT",
    "QWEN_CODE_IDE_WORKSPACE_PATH",
    "GEMINI_CLI_IDE_SERVER_PORT",
    "GEMINI_CLI_IDE_WORKSPACE_PATH",
    "GEMINI_CLI_IDE_AUTH_TOKEN",
    "GEMINI_CLI_IDE_PID",
    "CLAUDE_CONFIG_DIR",
    "CLAUDE_CODE_SSE_PORT",
)


@pytest.fixture(scope="session", autouse=True)
def nothing_is_frozen() -> Iterator[None]:
    """Keep the companion from freezing the objects of all tests. Hypothesis, for one, looks for its referrers."""
    with patch("gc.freeze"):
        yield


@pytest.fixture(autouse=True)
def no_window_is_open() -> None:
    """What the windows of another test have open is not open in this one."""
    OPEN_FOLDERS._by_window.clear()


@pytest.fixture(scope="session")
def looks_on_loops() -> Iterator[list[str]]:
    """Where the package has looked at a file on an event loop."""
    with loop_files.noticed() as found:
        yield found


@pytest.fixture(autouse=True)
def no_file_is_looked_at_on_a_loop(looks_on_loops: list[str]) -> Iterator[None]:
    """A disk that hangs would stop all sessions. Those of other threads, which a test has left, count as well."""
    looks_on_loops.clear()
    yield
    assert looks_on_loops == []


ALONE = Path(__file__).with_name("alone.py")


def until(condition: Callable[[], T], limit: float = LIMIT) -> T:
    """Wait until a condition gives something true, and return it."""
    end = time.monotonic() + limit
    while not (found := condition()):
        assert time.monotonic() < end, "the condition never became true"
        time.sleep(0.005)
    return found


def is_refused(port: int) -> bool:
    """Say whether nothing listens on a port of this computer.

    A connection is reset if the listener closes while the connection waits to be accepted: ask again then.
    """
    try:
        socket.create_connection(("127.0.0.1", port), timeout=LIMIT).close()
    except ConnectionResetError:
        return False
    except ConnectionRefusedError:
        return True
    return False


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary home folder: no test reads or writes the real one."""
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "tmp").mkdir()
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(home))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setenv("QWEN_HOME", str(home / ".qwen"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    for name in ("TMP", "TEMP", *VARIABLES):
        # Set first: monkeypatch then also removes, after the test, what the companion has set.
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    return home


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder that is open in the editor."""
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def lock_folder(home: Path) -> Path:
    return home / ".qwen" / "ide"


@pytest.fixture
def published_folder(tmp_path: Path) -> Path:
    return tmp_path / "tmp" / "qwen" / "ide"


@pytest.fixture(autouse=True)
def calm(caplog: pytest.LogCaptureFixture, request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that logs an error, unless it uses `stormy` because it causes one."""
    yield
    if "stormy" not in request.fixturenames:
        records = [record for phase in ("setup", "call", "teardown") for record in caplog.get_records(phase)]
        # The SDK's client logs an error if a message arrives while it disconnects.
        ours = [record for record in records if not record.name.startswith("mcp.client.")]
        assert [record.getMessage() for record in ours if record.levelno >= logging.ERROR] == []


@pytest.fixture
def stormy(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """The log, for a test that makes something fail."""
    return caplog


class Running:
    """A companion running on its own thread, and what a person does in its editor."""

    def __init__(self, editor: MemoryEditor, settings: Settings) -> None:
        self.editor = editor
        self.thread = CompanionThread(editor, settings, editor.listed)
        self._clients: list[Cli] = []
        self._clock = 1_700_000_000_000

    def do(self, call: Callable[[Companion], T]) -> T:
        """Call something on the companion thread and return its result."""
        future: Future[T] = Future()

        def run(companion: Companion) -> None:
            try:
                future.set_result(call(companion))
            except BaseException as error:  # noqa: BLE001 - it is raised where the result is awaited
                future.set_exception(error)

        self.thread.post(run)
        return future.result(LIMIT)

    def lock(self, window: WindowId = FIRST) -> dict[str, Any]:
        """The content of a window's lock file."""
        port = self.do(lambda companion: companion._windows[WindowId(window)].endpoint.port)
        path = Path(os.environ["QWEN_HOME"], "ide", f"{port}.lock")
        until(path.exists)
        return json.loads(path.read_text("utf-8"))

    def open_window(self, window: WindowId, folders: tuple[str, ...] = ()) -> None:
        """The person opens a window."""
        self.editor.windows[window] = folders
        self.do(lambda companion: companion.window_opened(self.editor.window(window)))

    def close_window(self, window: WindowId) -> None:
        del self.editor.windows[window]
        self.do(lambda companion: companion.window_closed(WindowId(window)))

    def cli(self, window: WindowId = FIRST, version: str = "2025-11-25") -> Cli:
        """A CLI that isn't connected yet."""
        self._clients.append(cli := Cli(self.lock(window), version))
        return cli

    def agent(self, window: WindowId = FIRST) -> Cli:
        """An agent that a chat has started, connected."""
        _, token = self.do(lambda companion: companion._windows[window].admit("My Agent"))
        self._clients.append(cli := Cli({**self.lock(window), "authToken": token}))
        return cli.connect()

    def listening(self, window: WindowId = FIRST) -> tuple[Cli, Stream]:
        """A connected CLI that has received its first context."""
        # The first look at a window counts as a change. A CLI that connects before it gets the context twice.
        self.touch(window)
        until(lambda: self.do(lambda companion: companion._windows[WindowId(window)].contexts._sent))
        cli = self.cli(window).connect()
        stream = cli.listen()
        stream.take("ide/contextUpdate")
        return cli, stream

    def focus(self, view: int, path: str | os.PathLike[str], window: WindowId = FIRST) -> None:
        """The person puts the focus on the view of a file."""
        self.editor.views[view] = window, os.fspath(path)
        self._clock += 1000
        at = self._clock
        self.do(lambda companion: companion.focused(WindowId(window), ViewId(view), at))

    def touch(self, window: WindowId = FIRST) -> None:
        self.do(lambda companion: companion.touched(WindowId(window)))

    def diff(self, path: str) -> Diff:
        """The diff of a path, once it is on the screen."""
        until(lambda: any(diff.review.file_path == path for diff in list(self.editor.open_diffs.values())))
        return self.editor.diff(path)

    def accept(self, path: str, text: str | None = None) -> None:
        """The person accepts a diff, after replacing its text with `text` if that is given."""
        diff = self.diff(path)
        if text is not None:
            diff.text = text
        self.do(lambda companion: companion.reviews.accept(diff.review.number, diff.text))

    def reject(self, path: str) -> None:
        number = self.diff(path).review.number
        self.do(lambda companion: companion.reviews.reject(number))

    def read_transcripts(self) -> set[str]:
        """The kinds of CLIs whose transcripts are read, or asked about."""

        def look(companion: Companion) -> set[str]:
            with patch.object(companion.provenance, "look") as looked:
                companion._read_transcripts()
            return {kind for kind, _ in looked.call_args.args[0]}

        return self.do(look)

    def sessions(self, window: WindowId = FIRST) -> set[str]:
        return self.do(
            lambda companion: {session.identifier for session in companion._windows[WindowId(window)].sessions}
        )

    def close(self) -> None:
        for cli in self._clients:
            cli.__exit__()
        assert self.thread.stop(LIMIT)


@pytest.fixture
def editor(project: Path) -> MemoryEditor:
    """An editor with one window, 1, in which the project is open."""
    return MemoryEditor(windows={1: (str(project),)})


@pytest.fixture
def start(editor: MemoryEditor) -> Iterator[Callable[..., Running]]:
    """Starts companions, and stops them after the test."""
    started: list[Running] = []

    def start(settings: Settings | None = None) -> Running:
        started.append(running := Running(editor, settings or Settings()))
        running.thread.start()
        return running

    yield start
    for running in started:
        running.close()


@pytest.fixture
def ticking(monkeypatch: pytest.MonkeyPatch, start: Callable[..., Running]) -> Iterator[Running]:
    """A companion that checks every 20 ms for changes that come without an event."""
    monkeypatch.setattr(companion_module, "TICK", 0.02)
    # Every tick postpones the update, so the quiet time must be shorter than a tick.
    monkeypatch.setattr(context, "QUIET", 0.001)
    yield start()
    # Let ticks that have begun finish before the companion stops.
    monkeypatch.setattr(companion_module, "TICK", 60)
    time.sleep(0.1)


@pytest.fixture
def running(start: Callable[..., Running]) -> Running:
    """A companion that serves the editor's windows."""
    return start()


class Alone:
    """A companion in a process of its own."""

    def __init__(self, folder: Path, *arguments: str, path: Path | None = None) -> None:
        environment = os.environ | ({"PYTHONPATH": str(path)} if path else {})
        command = [sys.executable, "-X", "faulthandler", str(ALONE), str(folder), *arguments]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True
        )
        self._events: queue.Queue[dict[str, Any]] = queue.Queue()
        self._errors = ""
        self._readers = [threading.Thread(target=read) for read in (self._read, self._read_errors)]
        for reader in self._readers:
            reader.start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self._events.put(json.loads(line))

    def _read_errors(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            self._errors += line

    def wait_for_error(self, text: str) -> None:
        """Wait until it has written a text to stderr."""
        until(lambda: text in self._errors)

    def wait_for(self, event: str) -> dict[str, Any]:
        while (found := self._events.get(timeout=3 * LIMIT))["event"] != event:
            pass
        return found

    def show(self) -> None:
        """Bring back what is hidden."""
        assert self.process.stdin
        self.process.stdin.write("show\n")
        self.process.stdin.flush()

    def stop(self) -> str:
        """Stop it, and return what it wrote to stderr."""
        assert self.process.stdin
        if not self.process.stdin.closed:
            self.process.stdin.close()
            assert self.wait_for("stopped")["ended"] is True
        assert self.process.wait(LIMIT) == 0
        self._join()
        return self._errors

    def _join(self) -> None:
        for reader in self._readers:
            reader.join(LIMIT)
            assert not reader.is_alive()

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self._join()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe
            pipe.close()


@pytest.fixture
def alone(project: Path) -> Iterator[Callable[..., Alone]]:
    started: list[Alone] = []

    def start(*arguments: str, path: Path | None = None) -> Alone:
        started.append(process := Alone(project, *arguments, path=path))
        return process

    yield start
    for process in started:
        process.close()


def lock_in(folder: Path) -> dict[str, Any]:
    """The only lock file, as soon as it is there."""
    [path] = until(lambda: list(folder.glob("*.lock")))
    return json.loads(path.read_text("utf-8"))
