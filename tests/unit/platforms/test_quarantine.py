"""macOS' mark on what was downloaded."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from companion.platforms import folders, quarantine


def test_the_mark_is_taken_off_on_macos_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    ran: list[Any] = []

    def run(words: list[str], *_: Any) -> None:
        ran.append(words)
        raise subprocess.TimeoutExpired(words, 1)

    monkeypatch.setattr(quarantine, "run", run)
    monkeypatch.setattr(quarantine.sys, "platform", "linux")
    quarantine.release(str(tmp_path))
    assert ran == []
    monkeypatch.setattr(quarantine.sys, "platform", "darwin")
    quarantine.release(str(tmp_path))
    assert ran == [["/usr/bin/xattr", "-dr", "com.apple.quarantine", str(tmp_path)]]


def test_a_relative_folder_in_a_variable_is_ignored(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(folders.sys, "platform", "linux")
    monkeypatch.setattr(folders, "_NAME", "qwen-companion")
    assert folders.cache({"XDG_CACHE_HOME": "/c"}) == "/c/qwen-companion"
    assert folders.data({"XDG_DATA_HOME": "/d"}) == "/d/qwen-companion"
    for variables in ({}, {"XDG_CACHE_HOME": "c", "XDG_DATA_HOME": "d"}):
        assert folders.cache(variables).endswith("/.cache/qwen-companion")
        assert folders.data(variables).endswith("/.local/share/qwen-companion")
    monkeypatch.setattr(folders.sys, "platform", "darwin")
    assert folders.data({}).endswith("/Library/Application Support/qwen-companion")
    monkeypatch.setattr(folders.sys, "platform", "win32")
    assert folders.cache({"LOCALAPPDATA": "/l"}) == folders.data({"LOCALAPPDATA": "/l"}) == "/l/qwen-companion"
