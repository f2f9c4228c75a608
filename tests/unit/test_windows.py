"""Windows: each with its own server, files and sessions, and one of them in front."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from companion import companion as companion_module
from companion.clis.discovery import IDE_INFO
from companion.editor import ViewId, WindowId
from companion.platforms import programs
from companion.server.window_screen import Selection
from companion.settings import Settings

from .conftest import VARIABLES, Running, is_refused, until
from .memory_editor import MemoryEditor


def variables() -> list[str | None]:
    return [os.environ.get(name) for name in VARIABLES[:2]]


def test_every_window_has_its_own_port_token_folders_and_files(
    editor: MemoryEditor, start: Callable[..., Running], tmp_path: Path, lock_folder: Path, published_folder: Path
):
    editor.windows[2] = (str(tmp_path), "/other")
    running = start()
    first, second = running.lock(WindowId(1)), running.lock(WindowId(2))
    assert second["workspacePath"] == f"{tmp_path}{os.pathsep}/other"
    for field in ("port", "authToken", "workspacePath"):
        assert first[field] != second[field]
    assert len(list(lock_folder.iterdir())) == len(list(published_folder.iterdir())) == 2


def test_the_first_window_is_in_front(editor: MemoryEditor, start: Callable[..., Running], project: Path):
    editor.windows[2] = ()
    running = start()
    port = running.lock(WindowId(1))["port"]
    assert variables() == [str(port), str(project)]


def test_the_variables_are_those_of_the_window_in_front(running: Running, tmp_path: Path, project: Path):
    """Terminals opened from now on belong to it; its files become the newest."""
    running.lock()
    running.open_window(WindowId(2), (str(tmp_path),))
    assert variables() == [str(running.lock(WindowId(1))["port"]), str(project)]
    running.do(lambda companion: companion.window_focused(WindowId(2)))
    assert variables() == [str(running.lock(WindowId(2))["port"]), str(tmp_path)]
    running.focus(1, "/a", window=WindowId(1))
    assert variables() == [str(running.lock(WindowId(1))["port"]), str(project)]


def test_the_files_of_the_window_in_front_are_the_newest(running: Running, lock_folder: Path):
    """Where a CLI finds several, it takes that one."""
    running.open_window(WindowId(2))
    files = [lock_folder / f"{running.lock(WindowId(window))['port']}.lock" for window in (1, 2)]
    before = time.time() - 1  # not from before this process: that would be a leftover
    for file in files:
        os.utime(file, (before, before))
    old = files[0].stat().st_mtime
    running.do(lambda companion: companion.window_focused(WindowId(2)))
    until(lambda: files[1].stat().st_mtime > old)
    assert files[0].stat().st_mtime == old


def test_a_window_that_opens_is_served(running: Running):
    running.open_window(WindowId(2))
    running.open_window(WindowId(2))
    cli, _ = running.listening(WindowId(2))
    assert cli.tools()
    assert len({running.lock(WindowId(window))["port"] for window in (1, 2)}) == 2


def test_a_companion_without_windows_waits_for_one(editor: MemoryEditor, start: Callable[..., Running]):
    """The editor may have none on macOS."""
    editor.windows = {}
    running = start()
    assert variables() == [None, None]
    running.open_window(WindowId(3), ("/x",))
    running.do(lambda companion: companion.window_focused(WindowId(3)))
    assert variables() == [str(running.lock(WindowId(3))["port"]), "/x"]
    assert running.listening(WindowId(3))[0].tools()


def test_a_window_that_closes_rejects_its_diffs_and_ends_its_sessions_cleanly(
    running: Running, lock_folder: Path, project: Path
):
    """And those of other windows stay."""
    running.open_window(WindowId(2))
    (first, first_stream), (second, second_stream) = running.listening(WindowId(1)), running.listening(WindowId(2))
    path = str(project / "a.txt")
    for cli in (first, second):
        cli.open_diff(path, "new\n")
    until(lambda: len(running.editor.open_diffs) == 2)
    running.close_window(WindowId(2))
    assert [message["params"] for message in second_stream] == [{"filePath": path}]
    assert [file.name for file in lock_folder.iterdir()] == [f"{first.port}.lock"]
    until(lambda: is_refused(second.port))
    running.accept(path)
    assert first_stream.take("ide/diffAccepted")["filePath"] == path


@pytest.mark.skipif(sys.platform == "win32", reason="the programs are shell scripts")
def test_no_program_is_taken_from_a_folder_of_any_window(running: Running, project: Path, tmp_path: Path):
    """Whatever thread asks: of a window that was there, of one that is opened, and of a folder that is added."""
    folders = [project, tmp_path / "second", tmp_path / "added"]
    for folder in folders:
        program = folder / "node_modules" / ".bin" / "qwen"
        program.parent.mkdir(parents=True)
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)

    def found() -> list[bool]:
        paths = [str(folder / "node_modules" / ".bin") for folder in folders]
        return [programs.find("qwen", {"PATH": path}) is not None for path in paths]

    assert found() == [False, True, True]
    running.open_window(WindowId(2), (str(folders[1]),))
    assert found() == [False, False, True]
    running.editor.windows[2] = tuple(map(str, folders[1:]))
    running.touch(WindowId(2))
    until(lambda: found() == [False, False, False])
    running.close_window(WindowId(2))
    assert found() == [False, True, True]


def test_a_window_that_closes_at_once_is_no_error(running: Running):
    """Its server may not have begun yet."""
    for number in range(2, 12):
        running.editor.windows[number] = ()
        opened = running.editor.window(WindowId(number))
        running.do(
            lambda companion, opened=opened: (companion.window_opened(opened), companion.window_closed(opened.id))
        )
        port = running.editor.ports[number]
        until(lambda port=port: is_refused(port))
    assert running.listening()[0].tools()


def test_events_of_a_window_that_is_gone_are_ignored(running: Running):
    """Events may come late."""
    running.do(lambda companion: companion.window_closed(WindowId(9)))
    running.do(lambda companion: companion.focused(WindowId(9), ViewId(1), 1))
    running.do(lambda companion: companion.seen(WindowId(9), ViewId(1), 1))
    running.do(lambda companion: companion.window_focused(WindowId(9)))
    running.do(lambda companion: companion.touched(WindowId(9)))
    running.do(lambda companion: companion.view_closed(ViewId(9)))
    assert running.listening()[0].tools()


def test_a_window_that_is_gone_from_the_editor_sends_nothing(running: Running, editor: MemoryEditor, project: Path):
    """Its state can't be asked any more."""
    _, stream = running.listening()
    file = project / "a.txt"
    file.touch()
    folders = editor.windows.pop(1)
    asked = running.cli().connect()
    other = asked.listen()
    running.touch()
    editor.windows[1] = folders
    running.focus(1, str(file))
    for one in (stream, other):
        assert one.take("ide/contextUpdate")["workspaceState"]["openFiles"][0]["path"] == str(file)


def test_folders_that_change_are_published(ticking: Running, editor: MemoryEditor, tmp_path: Path):
    """No event tells of it."""
    token = ticking.lock()["authToken"]
    editor.windows[1] = (str(tmp_path),)
    until(lambda: ticking.lock()["workspacePath"] == str(tmp_path))
    assert ticking.lock()["authToken"] == token


def test_a_window_without_folders_has_those_of_its_files(running: Running, editor: MemoryEditor, tmp_path: Path):
    """A CLI refuses a window without any."""
    editor.windows[1] = ()
    files = [tmp_path / name for name in ("x/a.txt", "y/b.txt", "x/c.txt", "z/missing.txt")]
    for view, file in enumerate(files):
        file.parent.mkdir(exist_ok=True)
        if file.name != "missing.txt":
            file.touch()
        running.focus(view, str(file))
    expected = os.pathsep.join([str(tmp_path / "x"), str(tmp_path / "y")])
    until(lambda: running.lock()["workspacePath"] == expected)


def test_a_view_that_moves_to_another_window_is_listed_there(
    start: Callable[..., Running], project: Path, monkeypatch: pytest.MonkeyPatch
):
    """At once, before anybody looks at everything again."""
    monkeypatch.setattr(companion_module, "TICK", 600)
    running = start()
    running.open_window(WindowId(2))
    file = project / "a.txt"
    file.touch()
    (_, first), (_, second) = running.listening(WindowId(1)), running.listening(WindowId(2))
    running.focus(1, str(file), window=WindowId(1))
    assert len(first.take("ide/contextUpdate")["workspaceState"]["openFiles"]) == 1
    running.focus(1, str(file), window=WindowId(2))
    assert len(second.take("ide/contextUpdate")["workspaceState"]["openFiles"]) == 1
    assert first.take("ide/contextUpdate")["workspaceState"]["openFiles"] == []


def test_what_was_seen_before_the_start_does_not_bring_a_window_to_the_front(running: Running, project: Path):
    """Views are told with the time of their focus when the plugin starts."""
    running.open_window(WindowId(2))
    file = project / "a.txt"
    file.touch()
    running.editor.views[5] = 2, str(file)
    running.do(lambda companion: companion.seen(WindowId(2), ViewId(5), 1000))
    assert variables()[0] == str(running.lock(WindowId(1))["port"])
    stream = running.cli(WindowId(2)).connect().listen()
    until(lambda: stream.take("ide/contextUpdate")["workspaceState"]["openFiles"])


def test_the_leftovers_of_a_crashed_editor_are_cleared_at_the_start(
    start: Callable[..., Running], lock_folder: Path, project: Path
):
    """And ours are there."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    lock_folder.mkdir(parents=True)
    (lock_folder / "1.lock").write_text(json.dumps({"ppid": ended.pid, "ideInfo": IDE_INFO}))
    running = start()
    until(lambda: not (lock_folder / "1.lock").exists())
    assert running.lock()["workspacePath"] == str(project)


def test_a_window_keeps_its_port_over_a_restart(start: Callable[..., Running]):
    """Terminals keep the variable that they were opened with."""
    running = start()
    port = running.lock()["port"]
    cli, stream = running.listening()
    stopping = threading.Thread(target=running.thread.stop, args=(20,))
    stopping.start()
    assert list(stream) == []
    stopping.join()
    again = start()
    assert again.lock()["port"] == port
    assert again.lock()["authToken"] != cli.token
    assert cli.ask("tools/list").status_code == 401


def test_the_folder_of_an_excluded_file_is_not_published(ticking: Running, editor: MemoryEditor, tmp_path: Path):
    """A window without folders has those of its files."""
    for name in ("secrets", "plain"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").touch()
    editor.windows[1] = ()
    ticking.focus(2, tmp_path / "plain" / "a.txt")
    ticking.focus(1, tmp_path / "secrets" / "a.txt")
    until(lambda: ticking.lock()["workspacePath"] == str(tmp_path / "plain"))


def test_a_stricter_setting_reaches_a_cli_that_is_connected(running: Running, project: Path):
    """At once, for each window by its own project."""
    file = project / "a.txt"
    file.touch()
    running.editor.selections[1] = Selection(1, 2, "chosen")
    running.focus(1, file)
    _, stream = running.listening()

    def told(**settings: Any) -> list[dict[str, Any]]:
        running.do(lambda companion: companion.configure(Settings(), {WindowId(1): Settings(**settings)}))
        return stream.take("ide/contextUpdate")["workspaceState"]["openFiles"]

    [files] = told(context="files")
    assert (files["isActive"], files["cursor"]) == (True, {"line": 1, "character": 2})
    assert "selectedText" not in files
    assert running.editor.asked[-1] == 0, "the editor isn't asked for the text at all"
    assert told(context="off") == []
    [files] = told()
    assert files["selectedText"] == "chosen"
    assert told(context_exclude=("*.txt",)) == []
