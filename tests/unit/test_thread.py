"""The companion's thread: what comes first, and what if a library is missing."""

from __future__ import annotations

import asyncio
import errno
import importlib.util
import os
import shutil
import socket
import sys
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

import companion
from companion import companion as companion_module
from companion import thread
from companion.companion import Companion
from companion.editor import ViewId, WindowId
from companion.libraries import guard
from companion.libraries.guard import culprit
from companion.server import endpoint
from companion.server.http.connections import Acceptor, HttpServer
from companion.settings import Settings

from .conftest import VARIABLES, Alone, Running, lock_in, until
from .memory_editor import MemoryEditor
from .wire import LIMIT, Cli


def test_the_files_are_published_before_the_libraries_are_imported(
    alone: Callable[..., Alone], lock_folder: Path, published_folder: Path, project: Path
):
    """A CLI that connects in between waits in the kernel's queue, and is then answered."""
    process = alone("--hold", "mcp")
    assert process.wait_for("loaded")["libraries"] == []
    process.wait_for("held")
    body = lock_in(lock_folder)
    assert body["workspacePath"] == str(project)
    assert len(list(published_folder.iterdir())) == 1
    answers: list[dict[str, Any]] = []
    with Cli(body) as cli:
        early = threading.Thread(target=lambda: answers.append(cli.initialize()))
        early.start()
        with socket.create_connection(("127.0.0.1", body["port"]), timeout=LIMIT):
            assert answers == []
            process.show()
            early.join()
        assert answers[0]["protocolVersion"] == "2025-11-25"
    assert process.stop() == ""
    assert list(lock_folder.iterdir()) == []


@pytest.mark.parametrize("library", ["uvicorn", "mcp", "pydantic", "psutil"])
def test_a_missing_library_is_named_in_one_sentence_and_waited_for(
    alone: Callable[..., Alone], lock_folder: Path, published_folder: Path, library: str
):
    """The plugin loads, nobody reads a traceback, and it starts as soon as the library is there."""
    process = alone("--hide", library)
    message = process.wait_for("say")["message"]
    assert f"“{library}” is missing" in message
    assert "run “Qwen: Repair Libraries”" in message
    until(lambda: [*lock_folder.iterdir(), *published_folder.iterdir()] == [])
    process.show()
    process.wait_for("listening")
    with Cli(lock_in(lock_folder)) as cli:
        assert cli.connect().tools() == {"openDiff", "closeDiff"}
    assert process.stop() == ""
    assert [*lock_folder.iterdir(), *published_folder.iterdir()] == []


def test_a_companion_that_waits_for_a_library_stops_at_once(alone: Callable[..., Alone], lock_folder: Path):
    process = alone("--hide", "uvicorn")
    process.wait_for("say")
    assert process.stop() == ""
    assert list(lock_folder.iterdir()) == []


@pytest.mark.parametrize(
    ("library", "error"),
    [
        ("pydantic", "SystemError('incompatible')"),
        ("uvicorn", "RuntimeError('no')"),
        ("psutil", "ImportError('no')"),
        ("starlette", "ImportError('no', name='starlette.types')"),
    ],
)
def test_a_broken_library_is_named(
    alone: Callable[..., Alone], lock_folder: Path, tmp_path: Path, library: str, error: str
):
    """A library of another version may raise anything."""
    broken = tmp_path / "broken" / library
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text(f"raise {error}\n")
    process = alone(path=broken.parent)
    message = process.wait_for("say")["message"]
    assert f"“{library}” is broken" in message
    assert "run “Qwen: Repair Libraries”" in message
    assert process.stop() == ""
    assert list(lock_folder.iterdir()) == []


@pytest.mark.parametrize(
    ("library", "module", "change"),
    [
        ("uvicorn", "", "class Config:\n    def __init__(self, app): pass\n"),
        ("uvicorn", "", "raise RuntimeError('half of it is missing')\n"),
        ("mcp", "server/lowlevel", "class Server:\n    pass\n"),
        ("mcp", "server/lowlevel", "del Server.add_notification_handler\n"),
    ],
)
def test_a_library_of_another_version_is_named_and_waited_for(
    alone: Callable[..., Alone], lock_folder: Path, tmp_path: Path, library: str, module: str, change: str
):
    """It may import and not take our arguments. No file stays, and it is tried again when it changes."""
    found = importlib.util.find_spec(library)
    assert found
    assert found.origin
    other = tmp_path / "other" / library
    shutil.copytree(Path(found.origin).parent, other, ignore=shutil.ignore_patterns("__pycache__"))
    with (other / module / "__init__.py").open("a", encoding="utf-8") as file:
        file.write(change)
    process = alone(path=other.parent)
    message = process.wait_for("say")["message"]
    assert f"“{library}” is broken" in message
    assert "run “Qwen: Repair Libraries”" in message
    until(lambda: list(lock_folder.iterdir()) == [])
    shutil.rmtree(other)
    process.wait_for("listening")
    until(lambda: list(lock_folder.iterdir()))
    with Cli(lock_in(lock_folder)) as cli:
        assert cli.connect().tools() == {"openDiff", "closeDiff"}
    assert process.stop() == ""
    assert list(lock_folder.iterdir()) == []


def test_a_start_that_fails_for_another_reason_is_said_too(
    start: Callable[..., Running], editor: MemoryEditor, lock_folder: Path, monkeypatch: pytest.MonkeyPatch
):
    """One sentence, no files; and it is tried again when a library changes."""
    places = [1]
    monkeypatch.setattr(thread, "RETRY", 0.02)
    monkeypatch.setattr(guard, "_place", lambda _: places[-1])
    with monkeypatch.context() as broken:
        broken.setattr("companion.server.http.app.FAMILIES", ())
        running = start()
        [(message, _)] = until(lambda: editor.said)
        assert "can't start with the libraries" in message
        until(lambda: running.thread._asleep)
        assert list(lock_folder.iterdir()) == []
        assert not os.environ.keys() & set(VARIABLES)
    places.append(2)
    until(lambda: running.thread._running)
    assert running.cli().connect().tools()
    assert len(editor.said) == 1


@pytest.mark.skipif(
    sys.version_info < (3, 14), reason="uvicorn needs the module there; only the editor's own Python may lack it"
)
def test_a_python_without_multiprocessing_serves(alone: Callable[..., Alone], lock_folder: Path):
    """Sublime Text's own build may lack that module."""
    process = alone("--hide", "_multiprocessing")
    process.wait_for("listening")
    with Cli(lock_in(lock_folder)) as cli:
        assert cli.connect().tools() == {"openDiff", "closeDiff"}
    assert process.stop() == ""


class TestMissing:
    """A missing library once more, in this process."""

    @pytest.fixture
    def missing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(thread, "RETRY", 0.02)
        monkeypatch.delattr(companion, "companion")
        light = {"companion.server", "companion.server.endpoint", "companion.server.window_screen"}
        for name in [name for name in sys.modules if name.startswith(("companion.companion", "companion.server"))]:
            if name in light:
                continue
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, "uvicorn", None)

    def test_what_was_posted_while_a_library_was_missing_is_done_once_it_is_there(
        self, missing: None, start: Callable[..., Running], editor: MemoryEditor, monkeypatch: pytest.MonkeyPatch
    ):
        """The windows are looked at anew once it is there."""
        from companion.server.window_screen import ServedWindow  # noqa: PLC0415

        running = start()
        until(lambda: editor.said)
        until(lambda: "QWEN_CODE_IDE_SERVER_PORT" not in os.environ)
        called: list[object] = []
        until(lambda: running.thread._asleep)
        reason = running.thread.stop_reason
        assert reason
        assert reason.is_of_libraries
        assert "Repair Libraries" in reason.why
        running.thread.post(called.append)
        editor.windows = {2: ()}
        monkeypatch.delitem(sys.modules, "uvicorn")
        until(lambda: running.thread._running)
        assert running.thread.stop_reason is None
        assert running.do(lambda it: list(it._windows)) == [2]
        assert called == [running.do(lambda it: it)]
        assert isinstance(editor.window(WindowId(2)), ServedWindow)

    def test_settings_that_were_read_while_a_library_was_missing_hold_before_anything_is_told(
        self,
        missing: None,
        start: Callable[..., Running],
        editor: MemoryEditor,
        project: Path,
        monkeypatch: pytest.MonkeyPatch,
    ):
        """As at a first install: a project says that nothing is told."""
        file = project / "a.txt"
        file.touch()
        running = start()
        until(lambda: running.thread._asleep)
        editor.views[1] = 1, str(file)
        running.thread.post(lambda it: it.configure(Settings(), {WindowId(1): Settings(context="off")}))
        running.thread.post(lambda it: it.focused(WindowId(1), ViewId(1), 1_700_000_000_000))
        monkeypatch.delitem(sys.modules, "uvicorn")
        until(lambda: running.thread._running, 60)
        stream = running.cli().connect().listen()
        assert stream.take("ide/contextUpdate")["workspaceState"]["openFiles"] == []
        assert running.do(lambda it: it._windows[WindowId(1)].contexts._order.at(ViewId(1)))

    def test_of_calls_that_replace_each_other_only_the_last_one_waits(
        self, missing: None, start: Callable[..., Running], monkeypatch: pytest.MonkeyPatch
    ):
        """A day without a library must not fill the memory."""
        running = start()
        until(lambda: running.thread._asleep)
        called: list[object] = []
        for number in range(1000):
            running.thread.post(lambda _, number=number: called.append(number), replaces="touched")
            running.thread.post(lambda _: None, replaces=("focused", number % 3))
        assert len(running.thread._waiting) == 4
        monkeypatch.delitem(sys.modules, "uvicorn")
        until(lambda: called)
        assert called == [999]

    def test_the_companion_can_be_stopped_while_a_library_is_missing(
        self, missing: None, start: Callable[..., Running], editor: MemoryEditor, lock_folder: Path
    ):
        running = start()
        until(lambda: editor.said)
        assert running.thread.stop(LIMIT)
        assert list(lock_folder.glob("*")) == []  # it may not have come to the folder
        assert not os.environ.keys() & set(VARIABLES)


def test_the_culprit_of_a_failed_import_is_the_library():
    assert culprit(ImportError("no", name="a.b.c")) == "a"
    assert culprit(ValueError("never raised")) == ""


def test_calls_run_in_the_order_of_their_posting(running: Running):
    """Also those that were posted before there was anybody to call, and from any thread."""
    called: list[tuple[int, int]] = []

    def post(number: int) -> None:
        for i in range(200):
            running.thread.post(lambda _, i=i: called.append((number, i)))

    threads = [threading.Thread(target=post, args=(number,)) for number in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    running.do(lambda _: None)
    assert len(called) == 800
    for number in range(4):
        assert [i for by, i in called if by == number] == list(range(200))


def test_calls_run_on_the_companion_thread(running: Running):
    assert running.do(lambda _: threading.current_thread().name) == "qwen-companion"


def test_a_call_that_raises_stops_nothing(stormy: pytest.LogCaptureFixture, running: Running):
    """It is logged."""

    def fail(_: Companion) -> None:
        raise ValueError("a mistake")

    cli, _ = running.listening()
    running.thread.post(fail)
    assert running.do(lambda _: 7) == 7
    assert cli.tools()
    assert "a mistake" in stormy.text


def test_a_call_after_the_stop_is_ignored(running: Running):
    """An editor's events go on."""
    running.do(lambda _: None)
    assert running.thread.stop(LIMIT)
    running.thread.post(lambda _: pytest.fail("nobody is there"))


def test_a_companion_may_be_stopped_at_any_moment(start: Callable[..., Running], lock_folder: Path):
    """Right after its start too."""
    for wait in (lambda one: None, lambda one: until(lambda: one.thread._running)):
        running = start()
        wait(running)
        assert running.thread.stop(LIMIT)
        assert list(lock_folder.glob("*")) == []  # it may not have come to the folder
        assert not os.environ.keys() & set(VARIABLES)


def test_what_begins_after_the_end_is_cancelled_too(start: Callable[..., Running]):
    """As a stream that opens while everything ends. A task that nobody ends is an error in the log."""
    running = start()
    kept: list[asyncio.Task[None]] = []
    begun: list[asyncio.Future[object]] = []

    async def wait(companion: Companion) -> None:
        """As a library's task, which ends with the loop."""
        try:
            await asyncio.Event().wait()
        finally:
            begun.append(companion._background(asyncio.Event().wait()))

    running.do(lambda companion: kept.append(asyncio.get_running_loop().create_task(wait(companion))))
    assert running.thread.stop(LIMIT)
    [one] = begun
    assert one.cancelled()


def test_a_stop_that_takes_too_long_leaves_no_files(
    stormy: pytest.LogCaptureFixture, running: Running, lock_folder: Path, published_folder: Path
):
    """The editor doesn't wait. The server then finds its listener closed, and may say so."""
    running.lock()
    go_on = threading.Event()
    running.thread.post(lambda _: go_on.wait(LIMIT))
    assert running.thread.stop(0.01) is False
    assert [*lock_folder.iterdir(), *published_folder.iterdir()] == []
    assert not os.environ.keys() & set(VARIABLES)
    go_on.set()


def test_an_unsafe_folder_is_reported_in_the_window(
    start: Callable[..., Running], editor: MemoryEditor, published_folder: Path, tmp_path: Path
):
    """And the other file is there all the same."""
    (tmp_path / "trap").mkdir()
    published_folder.parent.mkdir()
    published_folder.symlink_to(tmp_path / "trap")
    running = start()
    assert running.lock()
    [(message, window)] = until(lambda: editor.said)
    assert "symbolic link" in message
    assert window == 1


def test_a_window_without_a_port_is_reported_and_served_when_there_is_one(
    start: Callable[..., Running], editor: MemoryEditor, monkeypatch: pytest.MonkeyPatch
):
    """The system may have none to give, at the start or when a window opens. It is said once."""
    editor.windows[2] = ()
    monkeypatch.setattr(companion_module, "TICK", 0.02)
    listen, asked = endpoint.listen, [0]
    refused = {1, 2}

    def fail(port: int = 0) -> socket.socket:
        asked[0] += 1
        if asked[0] in refused or is_full:
            raise OSError(errno.EMFILE, "Too many open files")
        return listen(port)

    is_full = False
    monkeypatch.setattr(endpoint, "listen", fail)
    running = start()
    assert running.lock(WindowId(2))
    assert running.lock(WindowId(1))
    assert editor.said == []  # there was a port before anybody could be told
    is_full = True
    running.open_window(WindowId(3))
    before = asked[0]
    until(lambda: asked[0] > before + 10)
    assert len(editor.said) == 1
    assert editor.said[0][0] == "No CLI can find this window: too many open files. Close some tabs or programs."
    assert running.cli(WindowId(1)).connect().tools()
    is_full = False
    until(lambda: running.do(lambda it: 3 in it._windows))
    assert running.cli(WindowId(3)).connect().tools()
    is_full = True
    running.open_window(WindowId(4))
    assert list(running.do(lambda it: it._unserved)) == [4]
    running.close_window(WindowId(4))
    assert running.do(lambda it: it._unserved) == {}
    is_full = False


def test_a_window_whose_server_cannot_start_is_reported_once_and_served_when_it_can(
    start: Callable[..., Running], editor: MemoryEditor, monkeypatch: pytest.MonkeyPatch
):
    """Each try fails later than that of a window without a port."""
    monkeypatch.setattr(companion_module, "TICK", 0.05)
    opened, tries = HttpServer.open, 0

    async def fail(server: HttpServer, *arguments: Any) -> None:
        nonlocal tries
        tries += 1
        if is_failing:
            raise OSError(errno.ENOBUFS, "No buffer space available")
        await opened(server, *arguments)

    is_failing = False
    monkeypatch.setattr(HttpServer, "open", fail)
    running = start()
    assert running.lock(WindowId(1))
    is_failing = True
    running.open_window(WindowId(3))
    until(lambda: tries > 5)
    assert [window for _, window in editor.said] == [3]
    assert running.cli(WindowId(1)).connect().tools()
    is_failing = False
    until(lambda: running.do(lambda it: 3 in it._windows and not it._unserved))
    assert running.cli(WindowId(3)).connect().tools()
    assert len(editor.said) == 1


def test_a_start_for_which_the_machine_has_no_file_descriptor_is_tried_again(
    start: Callable[..., Running], editor: MemoryEditor, monkeypatch: pytest.MonkeyPatch
):
    """Nothing is wrong with the libraries, so no repair is offered. It is said once."""
    monkeypatch.setattr(thread, "RETRY", 0.01)
    failures = [OSError(errno.EMFILE, "Too many open files") for _ in range(5)]
    run = asyncio.run

    def fail(main: Coroutine[Any, Any, None]) -> None:
        if failures:
            main.close()
            raise failures.pop()
        run(main)

    monkeypatch.setattr(asyncio, "run", fail)
    running = start()
    until(lambda: running.thread._running)
    assert running.cli().connect().tools()
    [(message, _)] = editor.said
    assert "too many open files" in message
    assert "libraries" not in message
    until(lambda: editor.settled)
    assert editor.settled == [message]


def test_a_port_for_which_the_machine_has_no_file_descriptor_left_is_served_when_it_has(
    start: Callable[..., Running], editor: MemoryEditor, monkeypatch: pytest.MonkeyPatch
):
    """Nothing is wrong with the libraries, so no repair is offered."""
    monkeypatch.setattr(thread, "RETRY", 0.01)
    failures = [OSError(errno.EMFILE, "Too many open files") for _ in range(3)]
    accept = Acceptor.start

    def begin(acceptor: Acceptor) -> None:
        if failures:
            raise failures.pop()
        accept(acceptor)

    monkeypatch.setattr(Acceptor, "start", begin)
    running = start()
    until(lambda: running.thread._running)
    assert running.cli().connect().tools()
    [(message, _)] = editor.said
    assert "too many open files" in message
    assert "libraries" not in message


def test_a_port_that_somebody_else_closes_during_the_start_is_opened_again(
    start: Callable[..., Running], editor: MemoryEditor, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(thread, "RETRY", 0.01)
    ports: list[int] = []
    accept = HttpServer.open

    async def close_first(server: HttpServer, listener: socket.socket, *more: Any) -> None:
        if listener.family == socket.AF_INET:
            ports.append(listener.getsockname()[1])
            if len(ports) == 1:
                socket.close(listener.fileno())
        await accept(server, listener, *more)

    monkeypatch.setattr(HttpServer, "open", close_first)
    running = start()
    until(lambda: running.thread._running)
    assert running.cli().connect().tools()
    assert len(ports) == 2
    assert ports[0] == ports[1]
    [(message, _)] = editor.said
    assert "libraries" not in message
