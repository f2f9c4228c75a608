"""One fault silences nobody: a text that can't be sent, a folder that can't be named, a disk that hangs."""

from __future__ import annotations

import asyncio
import builtins
import io
import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from companion import companion as companion_module
from companion.editor import WindowId
from companion.server import context
from companion.server.window import WindowServer
from companion.server.window_screen import ContextRequest, Selection, WindowState
from companion.settings import Settings

from ..conftest import Running, until
from ..memory_editor import MemoryEditor
from ..wire import LIMIT, Cli

HALF = "a\ud83d"
"""Half of a surrogate pair."""
posix = pytest.mark.skipif(os.name != "posix", reason="on Windows every name is Unicode")


def selected(running: Running, text: str, file: Path) -> None:
    """The person selects a text in a file."""
    file.touch()
    running.editor.selections[1] = Selection(1, len(text), text)
    running.focus(1, file)


def halves(running: Running) -> list[int | None]:
    """The windows in which a text with half of a character was said."""
    return [window for message, window in running.editor.said if "half a character" in message]


class TestHalfOfACharacter:
    """No message can hold a lone surrogate."""

    def test_a_selection_with_one_is_said_once_and_silences_no_session(self, running: Running, project: Path):
        (_, first), (_, second) = running.listening(), running.listening()
        for text in (HALF, HALF + "b"):
            selected(running, text, project / "a.txt")
            until(
                lambda text=text: (
                    repr(text)[1:-1] in repr(running.do(lambda it: it._windows[WindowId(1)].contexts._sent))
                )
            )
        assert halves(running)
        late = running.cli().connect()
        late.listen()
        until(lambda: len(running.sessions()) == 3)
        selected(running, "whole", project / "b.txt")
        for stream in (first, second):
            files = stream.take("ide/contextUpdate")["workspaceState"]["openFiles"]
            assert files[0]["selectedText"] == "whole"
        assert halves(running) == [1]
        selected(running, HALF, project / "b.txt")
        until(lambda: halves(running) == [1, 1])

    def test_an_accepted_text_with_one_is_kept_and_the_cli_is_not_left_waiting(self, running: Running, project: Path):
        cli, stream = running.listening()
        other, other_stream = running.listening()
        path, next_path = str(project / "a.txt"), str(project / "b.txt")
        cli.open_diff(path, "new\n")
        running.accept(path, HALF)
        assert stream.take() == {"filePath": path}
        until(lambda: [kept[2] for kept in running.editor.kept] == [HALF])
        for one, its in ((cli, stream), (other, other_stream)):
            one.open_diff(next_path, "new\n")
            running.accept(next_path)
            assert its.take("ide/diffAccepted")["filePath"] == next_path

    def test_a_closed_diff_gives_its_text_as_it_is(self, running: Running, project: Path):
        cli, _ = running.listening()
        path = str(project / "a.txt")
        cli.open_diff(path, "new\n")
        running.diff(path).text = HALF
        assert cli.close_diff(path) == {"content": HALF}


@posix
class TestFolderThatIsNotUtf8:
    """A CLI's variables and files are UTF-8."""

    @pytest.fixture
    def folder(self, tmp_path: Path) -> str:
        folder = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")
        os.mkdir(folder)
        return folder

    def test_at_a_start_all_windows_are_served(
        self, editor: MemoryEditor, start: Callable[..., Running], folder: str, project: Path
    ):
        editor.windows = {1: (folder, str(project)), 2: (str(project),), 3: (folder,)}
        running = start()
        assert running.lock(WindowId(1))["workspacePath"] == running.lock(WindowId(2))["workspacePath"] == str(project)
        for window in (1, 2, 3):
            assert running.listening(WindowId(window))[0].tools()

    def test_the_files_of_all_windows_are_healed(self, ticking: Running, folder: str, project: Path, lock_folder: Path):
        ticking.open_window(WindowId(2), (str(project),))
        ticking.editor.windows[1] = (folder,)
        path = lock_folder / f"{ticking.lock(WindowId(2))['port']}.lock"
        until(lambda: ticking.lock(WindowId(1))["workspacePath"] == "")
        for _ in range(3):
            path.unlink()
            until(path.exists)
        assert ticking.listening(WindowId(1))[0].tools()


def test_a_window_whose_healing_fails_is_no_reason_to_forget_another(
    stormy: pytest.LogCaptureFixture, ticking: Running, monkeypatch: pytest.MonkeyPatch, lock_folder: Path
):
    """Whatever it is that fails."""
    ticking.open_window(WindowId(2))
    ports = {window: ticking.lock(WindowId(window))["port"] for window in (1, 2)}
    heal = WindowServer.heal

    def fail(server: WindowServer, *arguments: Any) -> None:
        if server.endpoint.window == 1:
            raise RuntimeError("a mistake")
        heal(server, *arguments)

    monkeypatch.setattr(WindowServer, "heal", fail)
    path = lock_folder / f"{ports[2]}.lock"
    path.unlink()
    until(path.exists)
    until(lambda: "a mistake" in stormy.text)


def test_a_busy_editor_is_asked_once(running: Running, editor: MemoryEditor, monkeypatch: pytest.MonkeyPatch):
    """A modal dialog, say: what happens meanwhile is asked for in one further question."""
    monkeypatch.setattr(context, "QUIET", 0.001)
    running.listening()
    gates: list[asyncio.Event] = []
    state = MemoryEditor.window_state

    async def slow(self: MemoryEditor, window: WindowId, question: ContextRequest) -> WindowState | None:
        gates.append(gate := asyncio.Event())
        await gate.wait()
        return await state(self, window, question)

    monkeypatch.setattr(MemoryEditor, "window_state", slow)
    running.touch()
    until(lambda: gates)
    for _ in range(40):
        running.touch()
        running.do(lambda it: it._windows[WindowId(1)].contexts._send_soon())
    late = running.cli().connect().listen()
    assert len(gates) == 1
    assert running.do(lambda it: sum("_send_context" in repr(task) for task in it._background._tasks)) == 1
    running.do(lambda _: gates[0].set())
    assert late.take("ide/contextUpdate")
    until(lambda: len(gates) == 2)
    running.do(lambda _: gates[1].set())
    running.do(lambda _: None)
    assert len(gates) == 2


@pytest.fixture
def hung(monkeypatch: pytest.MonkeyPatch) -> Iterator[set[str]]:
    """Folders on a disk that hangs."""
    hung: set[str] = set()
    go_on = threading.Event()

    def hanging(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Any, *arguments: Any, **named: Any) -> Any:
            if isinstance(path, (str, os.PathLike)) and any(os.fspath(path).startswith(one) for one in hung):
                go_on.wait(60)
            return real(path, *arguments, **named)

        return call

    for name in ("stat", "lstat", "open", "replace", "unlink", "utime", "mkdir", "scandir", "listdir"):
        monkeypatch.setattr(os, name, hanging(getattr(os, name)))
    for module in (io, builtins):
        monkeypatch.setattr(module, "open", hanging(module.open))
    yield hung
    hung.clear()
    go_on.set()


def test_a_hung_project_holds_up_no_other_and_no_executor(
    running: Running, hung: set[str], tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
):
    """More requests than a usual executor has threads, for files on a network that is gone."""
    good = tmp_path / "good"
    good.mkdir()
    cli, stream = running.listening()
    paths = [str(project / f"{number}.txt") for number in range(3)]
    for path in paths:
        cli.open_diff(path, "new\n")
    for path in paths[:2]:
        running.diff(path)
    hung.add(str(project))
    running.accept(paths[0])
    running.reject(paths[1])
    assert stream.skip_to("ide/diffRejected") == {"filePath": paths[1]}
    asking = [threading.Thread(target=_open_hung, args=(running.lock(), paths[2])) for _ in range(40)]
    for one in asking:
        one.start()
    running.focus(1, project / "0.txt")
    for number in range(5):
        path = str(good / f"{number}.txt")
        cli.open_diff(path, "new\n")
        running.accept(path)
        assert stream.skip_to("ide/diffAccepted")["filePath"] == path
    hung.clear()


def _open_hung(lock: dict[str, Any], path: str) -> None:
    with Cli(lock) as cli:
        cli.connect()
        cli.http.timeout = 0.5
        try:
            cli.open_diff(path, "new\n")
        except OSError:
            pass
        except Exception:  # noqa: BLE001, S110 - nobody waits for it
            pass


def test_a_hung_home_holds_up_neither_a_window_nor_the_end(
    ticking: Running, hung: set[str], home: Path, tmp_path: Path
):
    """The discovery files are on a disk as well."""
    cli, _ = ticking.listening()
    hung.add(str(home))
    for window in (2, 3):
        ticking.open_window(WindowId(window), (str(tmp_path),))
        ticking.do(lambda it, window=window: it.window_focused(WindowId(window)))
    assert os.environ["QWEN_CODE_IDE_SERVER_PORT"] == str(ticking.editor.ports[3])
    assert cli.tools()
    with Cli({"port": ticking.editor.ports[2], "authToken": _token(ticking, WindowId(2))}) as other:
        assert other.connect().tools()
    ticking.close_window(WindowId(2))
    ticking.touch()
    assert ticking.do(lambda it: sum("_work_on_disk" in repr(task) for task in it._background._tasks)) <= 3
    assert ticking.thread.stop(LIMIT)


def _token(running: Running, window: WindowId) -> str:
    return running.do(lambda it: it._windows[WindowId(window)].endpoint.publications[0].token)


def test_the_loop_touches_no_file(
    start: Callable[..., Running], project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """From a window that opens to the end: any file may be on a disk that hangs."""
    monkeypatch.setattr(companion_module, "TICK", 0.02)
    monkeypatch.setattr(context, "QUIET", 0.001)
    touched: list[str] = []

    def watched(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Any, *arguments: Any, **named: Any) -> Any:
            if asyncio._get_running_loop() and isinstance(path, (str, os.PathLike)):
                touched.append(f"{name} {os.fspath(path)}")
            return real(path, *arguments, **named)

        return call

    running = start()
    cli, stream = running.listening()
    for name in ("stat", "lstat", "open", "replace", "unlink", "utime", "mkdir", "scandir", "listdir", "readlink"):
        monkeypatch.setattr(os, name, watched(name, getattr(os, name)))
    for module in (io, builtins):
        monkeypatch.setattr(module, "open", watched("open", module.open))
    (file := project / "a.txt").write_text("old\n")
    running.open_window(WindowId(2), (str(tmp_path),))
    for window in (2, 1, 1):
        running.focus(window, file, WindowId(window))
    running.do(lambda it: it.configure(Settings(legacy_discovery_files=False)))
    for path, text in ((file, "new\n"), (project / "b.txt", "edited\n")):
        cli.open_diff(str(path), "new\n")
        running.accept(str(path), text)
        assert stream.skip_to("ide/diffAccepted")["filePath"] == str(path)
    cli.open_diff(str(file), "newer\n")
    running.diff(str(file))
    cli.close_diff(str(file))
    running.editor.windows[1] = (str(tmp_path),)
    until(lambda: running.lock()["workspacePath"] == str(tmp_path))
    running.close_window(WindowId(2))
    assert running.thread.stop(LIMIT)
    assert touched == []


def test_a_window_that_is_served_anew_at_once_keeps_its_new_server(running: Running):
    """Its old server may still be ending: a CLI that reads nothing keeps it for a second."""
    cli, stream = running.listening()
    folders = running.editor.windows[1]

    def again(it: companion_module.Companion) -> None:
        it.window_closed(WindowId(1))
        it.window_opened(running.editor.window(WindowId(1)))

    running.do(again)
    assert list(stream) == []
    until(lambda: running.do(lambda it: len(it._servers) == 1))
    assert running.editor.windows[1] == folders
    new, _ = running.listening()
    assert new.port != cli.port or new.token != cli.token
    assert new.tools()
    assert json.loads(json.dumps(running.lock()))["authToken"] == new.token
