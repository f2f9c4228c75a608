"""Discovery files that others remove or change, and those of other editors."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from companion.clis.discovery import IDE_INFO
from companion.companion import TICK
from companion.editor import WindowId
from companion.server import window as window_module

from ..conftest import Running, until
from ..memory_editor import MemoryEditor

KINDS = ("lock", "published", "shared", "legacy", "gemini")
LOOKS = 5
"""Looks that a companion gets to do what it must not do."""


@pytest.fixture
def files(ticking: Running, tmp_path: Path, lock_folder: Path) -> dict[str, Path]:
    """The discovery files of the window, which are there."""
    port, pid, tmp = ticking.lock()["port"], os.getppid(), tmp_path / "tmp"
    files = {
        "lock": lock_folder / f"{port}.lock",
        "published": tmp / "qwen" / "ide" / f"qwen-code-ide-server-{pid}-{port}.json",
        "shared": tmp / f"qwen-code-ide-server-{pid}.json",
        "legacy": tmp / "gemini" / "ide" / f"qwen-code-ide-server-{pid}-{port}.json",
        "gemini": tmp / "gemini" / "ide" / f"gemini-ide-server-{pid}-{port}.json",
    }
    assert files.keys() == set(KINDS)
    until(lambda: all(file.exists() for file in files.values()))
    return files


def read(path: Path) -> dict[str, Any] | None:
    """What a file says; None for one that says nothing."""
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None


def stamps(files: dict[str, Path]) -> list[tuple[int, int]]:
    return [(found.st_ino, found.st_mtime_ns) for found in (file.stat() for file in files.values())]


def looks(running: Running) -> None:
    """Let the companion look some times, with its 20 ms between."""
    for _ in range(LOOKS):
        running.do(lambda companion: None)
        time.sleep(0.02)


def test_checks_are_frequent_enough():
    """A file is back within 5 s, whenever it goes."""
    assert TICK < 5 / 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_is_removed_is_back(files: dict[str, Path], kind: str):
    """A CLI in a container deletes lock files, as it doesn't see our process (docs/protocols/qwen-ide.md#discovery)."""
    before = read(files[kind])
    files[kind].unlink()
    until(files[kind].exists)
    assert read(files[kind]) == before


def test_the_others_keep_their_age(ticking: Running, files: dict[str, Path]):
    """The newest file wins, so none may become newer by itself."""
    others = {kind: file for kind, file in files.items() if kind != "published"}
    before = stamps(others)
    files["published"].unlink()
    until(files["published"].exists)
    looks(ticking)
    assert stamps(others) == before


def test_folders_that_are_removed_are_back(files: dict[str, Path], tmp_path: Path, lock_folder: Path):
    """A cleaner of temporary folders takes everything."""
    # Moved away at once: what is removed file by file is healed in between.
    lock_folder.rename(tmp_path / "removed")
    (tmp_path / "tmp").rename(tmp_path / "removed too")
    until(lambda: all(read(file) for file in files.values()))


@pytest.mark.parametrize("text", ["", "{", "[]", '{"port": 1}', '{"ppid": "x"}', '{"ppid": -1}', '{"ppid": 1e99}'])
def test_a_file_without_content_is_written_again(files: dict[str, Path], text: str):
    before = read(files["lock"])
    files["lock"].write_text(text, "utf-8")
    until(lambda: read(files["lock"]) == before)


@pytest.mark.skipif(sys.platform == "win32", reason="no named pipes in folders there")
def test_a_pipe_in_place_of_a_file_blocks_nothing(files: dict[str, Path]):
    """Somebody else may put one into the temporary folder."""
    before = read(files["shared"])
    pipe = files["shared"].with_name("pipe")
    assert sys.platform != "win32"
    os.mkfifo(pipe)
    pipe.replace(files["shared"])  # at once: else the file may be back before it
    until(lambda: files["shared"].is_file() and read(files["shared"]) == before)


def test_a_file_that_was_only_touched_is_left_alone(ticking: Running, files: dict[str, Path]):
    later = time.time() + 10  # a file from before our process would be one that a crash has left
    for file in files.values():
        os.utime(file, (later, later))
    before = stamps(files)
    looks(ticking)
    assert stamps(files) == before


@pytest.mark.parametrize("lives", [True, False], ids=["lives", "is dead"])
def test_a_file_of_another_editor_stays_while_that_editor_is_alive(
    ticking: Running, files: dict[str, Path], monkeypatch: pytest.MonkeyPatch, lives: bool
):
    """It may have our port, in a container with the same home. With the focus comes our turn again."""
    monkeypatch.setattr(window_module, "wrote", lambda _pid, _at: lives)
    ticking.do(lambda companion: None)  # a look that has begun still asks the real one
    ours = read(files["lock"])
    theirs = {"port": 1, "workspacePath": "/", "authToken": "theirs", "ppid": os.getpid() + 1, "ideInfo": IDE_INFO}
    (new := files["lock"].with_suffix(".new")).write_text(json.dumps(theirs), "utf-8")
    new.replace(files["lock"])  # at once: an empty file would be healed
    looks(ticking)
    if lives:
        assert read(files["lock"]) == theirs
        ticking.open_window(WindowId(2))
        ticking.do(lambda companion: companion.window_focused(WindowId(2)))
        ticking.do(lambda companion: companion.window_focused(WindowId(1)))
    until(lambda: read(files["lock"]) == ours)


def test_the_focus_makes_the_files_the_newest(ticking: Running, files: dict[str, Path], tmp_path: Path):
    """Of several editors with one folder the CLI takes the one that was used last; nothing is rewritten for it."""
    own = files["lock"].stat().st_ino
    theirs = tmp_path / "theirs.lock"
    theirs.touch()
    time.sleep(0.05)  # the clock of files ticks more coarsely
    ticking.focus(1, tmp_path / "file")
    until(lambda: all(file.stat().st_mtime_ns > theirs.stat().st_mtime_ns for file in files.values()))
    assert files["lock"].stat().st_ino == own


def become_a_link(folder: Path, target: Path) -> None:
    while not folder.is_symlink():  # the file may be written again in between
        shutil.rmtree(folder, ignore_errors=True)
        with contextlib.suppress(OSError):
            folder.unlink(missing_ok=True)
            folder.symlink_to(target, target_is_directory=True)


def test_another_reason_is_reported_in_the_place_of_the_first(
    editor: MemoryEditor, files: dict[str, Path], ticking: Running, tmp_path: Path
):
    folder = files["published"].parent
    while not folder.is_file():  # the file may be written again in between
        shutil.rmtree(folder, ignore_errors=True)
        with contextlib.suppress(OSError):
            folder.touch(exist_ok=False)
    until(lambda: len(editor.said))
    first = editor.said[0][0]
    become_a_link(folder, tmp_path)
    until(lambda: any("symbolic link" in message for message, _ in editor.said))
    until(lambda: first in editor.settled)
    assert "symbolic link" not in first


def test_a_refused_folder_is_reported_once(
    editor: MemoryEditor, files: dict[str, Path], ticking: Running, tmp_path: Path
):
    """And not at each look; when it is a folder again, the file is back."""
    folder = files["published"].parent
    become_a_link(folder, tmp_path)
    until(lambda: any("symbolic link" in message for message, _ in editor.said))
    looks(ticking)
    assert len([message for message, _ in editor.said if "symbolic link" in message]) == 1
    folder.unlink()
    until(files["published"].exists)


def test_a_legacy_name_that_cannot_be_written_is_not_reported(
    editor: MemoryEditor, start: Callable[..., Running], tmp_path: Path
):
    """Whoever has a newer CLI would only wonder."""
    (tmp_path / "tmp" / f"qwen-code-ide-server-{os.getppid()}.json").mkdir()
    start().lock()
    assert editor.said == []


def test_no_file_is_written_after_the_end(ticking: Running, files: dict[str, Path]):
    ticking.close_window(WindowId(1))
    looks(ticking)
    assert not [file for file in files.values() if file.exists()]
