"""How the file system spells a path: on macOS, as a stand-in of its `fcntl` says."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from companion.editor import WindowId
from companion.platforms.paths import own_spelling
from companion.server.endpoint import Endpoint
from companion.server.window_screen import ServedWindow


@pytest.fixture
def macos(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """A disk on which one path is spelled in another way."""
    disk: dict[int, str] = {}
    real = os.open

    def opened(path: str | os.PathLike[str], flags: int, *rest: int, **named: int) -> int:
        descriptor = real(paths.get(os.fspath(path), path), flags, *rest, **named)
        if os.fspath(path) in paths:
            disk[descriptor] = paths[os.fspath(path)]
        return descriptor

    def fcntl(descriptor: int, command: int, buffer: bytes) -> bytes:
        assert (command, len(buffer)) == (50, 1024)
        return disk[descriptor].encode().ljust(1024, b"\0")

    paths: dict[str, str] = {}
    monkeypatch.setattr(os, "open", opened)
    monkeypatch.setitem(sys.modules, "fcntl", SimpleNamespace(fcntl=fcntl))
    monkeypatch.setattr("companion.platforms.paths.sys", SimpleNamespace(platform="darwin"))
    return lambda path, on_disk: paths.update({path: on_disk})


def test_the_disks_own_spelling_is_published_beside_the_one_that_was_opened(
    tmp_path: Path, macos: Callable[[str, str], None]
):
    """A CLI compares the path of its folder with it as a text."""
    (real := tmp_path / "Café").mkdir()
    opened = str(tmp_path / unicodedata.normalize("NFD", "café"))
    macos(opened, str(real))
    assert own_spelling(opened) == str(real)
    endpoint = Endpoint.open(ServedWindow(WindowId(1), (opened,)))
    try:
        assert endpoint.publish() == []
        both = f"{opened}{os.pathsep}{real}"
        assert endpoint.variables["QWEN_CODE_IDE_WORKSPACE_PATH"] == both
        assert both in next(iter(endpoint.publications[0].written)).read_text("utf-8")
        assert set(endpoint.state.folders_since) == {opened}
    finally:
        endpoint.close()


def test_a_folder_that_is_spelled_as_on_disk_is_published_once(tmp_path: Path, macos: Callable[[str, str], None]):
    macos(str(tmp_path), str(tmp_path))
    endpoint = Endpoint.open(ServedWindow(WindowId(1), (str(tmp_path),)))
    try:
        endpoint.publish()
        assert endpoint.variables["QWEN_CODE_IDE_WORKSPACE_PATH"] == str(tmp_path)
    finally:
        endpoint.close()


def test_a_folder_that_is_gone_keeps_its_spelling(tmp_path: Path, macos: Callable[[str, str], None]):
    assert own_spelling(str(tmp_path / "gone")) == str(tmp_path / "gone")


def test_elsewhere_a_path_is_what_it_is(tmp_path: Path):
    if sys.platform != "darwin":
        assert own_spelling(str(tmp_path / "gone")) == str(tmp_path / "gone")
