"""macOS' mark on what was downloaded."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from companion.platforms import paths, programs


def test_the_mark_is_taken_off_on_macos_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    ran: list[Any] = []

    def run(words: list[str], *_: Any) -> None:
        ran.append(words)
        raise subprocess.TimeoutExpired(words, 1)

    monkeypatch.setattr(programs, "run", run)
    monkeypatch.setattr(programs.sys, "platform", "linux")
    programs.unquarantine(str(tmp_path))
    assert ran == []
    monkeypatch.setattr(programs.sys, "platform", "darwin")
    programs.unquarantine(str(tmp_path))
    assert ran == [["/usr/bin/xattr", "-dr", "com.apple.quarantine", str(tmp_path)]]


def test_a_relative_folder_in_a_variable_is_ignored(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(paths.sys, "platform", "linux")
    monkeypatch.setattr(paths, "_NAME", "qwen-companion")
    assert paths.user_cache({"XDG_CACHE_HOME": "/c"}) == "/c/qwen-companion"
    assert paths.user_data({"XDG_DATA_HOME": "/d"}) == "/d/qwen-companion"
    for variables in ({}, {"XDG_CACHE_HOME": "c", "XDG_DATA_HOME": "d"}):
        assert paths.user_cache(variables).endswith("/.cache/qwen-companion")
        assert paths.user_data(variables).endswith("/.local/share/qwen-companion")
    monkeypatch.setattr(paths.sys, "platform", "darwin")
    assert paths.user_data({}).endswith("/Library/Application Support/qwen-companion")
    monkeypatch.setattr(paths.sys, "platform", "win32")
    assert paths.user_cache({"LOCALAPPDATA": "/l"}) == paths.user_data({"LOCALAPPDATA": "/l"}) == "/l/qwen-companion"
