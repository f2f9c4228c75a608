"""The environment of the login shell: read as soon as it is printed, and asked for again if that fails."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

import psutil
import pytest

from companion.clis import environment as environment_module
from companion.clis.environment import LoginEnvironment

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no login shells")


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The start-up file of the person's shell."""
    monkeypatch.setenv("SHELL", "/bin/bash")
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path / ".bash_profile"


def test_a_shell_that_leaves_a_process_behind_costs_no_time(shell: Path, monkeypatch: pytest.MonkeyPatch):
    """The process keeps the shell's output open for as long as it runs."""
    monkeypatch.setattr(environment_module, "LIMIT", 300)
    shell.write_text("sleep 600 &\necho $! >$HOME/pid\nexport OWN=yes\n")
    before = time.monotonic()
    found = asyncio.run(LoginEnvironment().get())
    left = int((shell.parent / "pid").read_text())
    try:
        assert found["OWN"] == "yes"
        assert time.monotonic() - before < environment_module.LIMIT / 3
        assert psutil.Process(left).is_running()
    finally:
        psutil.Process(left).kill()


@pytest.mark.parametrize("awk", [True, False], ids=["awk", "neither"])
def test_an_env_without_the_option_0_gives_way_to_awk(shell: Path, tmp_path: Path, awk: bool):
    """`env -0` came with macOS 13."""
    (tmp_path / "env").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "env").chmod(0o755)
    if not awk:
        (tmp_path / "awk").symlink_to(tmp_path / "env")
    shell.write_text(f"PATH={tmp_path}:$PATH\nexport OWN='a\n=b \\\\ é' EMPTY=\n")
    found = asyncio.run(LoginEnvironment().get())
    if awk:
        assert (found["OWN"], found["EMPTY"]) == ("a\n=b \\\\ é", "")
        assert found["PATH"].startswith(f"{tmp_path}:")
    else:
        assert "OWN" not in found
        assert found["PATH"] == os.environ["PATH"]


def test_a_shell_that_does_not_answer_is_ended(shell: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(environment_module, "LIMIT", 0.5)
    shell.write_text("echo $$ >$HOME/pid\nsleep 60\n")
    assert asyncio.run(LoginEnvironment().get())["PATH"] == os.environ["PATH"]
    assert not psutil.pid_exists(int((tmp_path / "pid").read_text()))


async def test_a_failure_is_not_remembered(monkeypatch: pytest.MonkeyPatch):
    def fails() -> dict[str, str]:
        raise RuntimeError("can't start new thread")

    login = LoginEnvironment()
    monkeypatch.setattr(environment_module, "read_login_environment", fails)
    with pytest.raises(RuntimeError):
        await login.get()
    monkeypatch.setattr(environment_module, "read_login_environment", lambda: {"PATH": "/bin"})
    assert await login.get() == {"PATH": "/bin"}


def test_the_editors_path_follows_the_one_that_the_shell_sets(shell: Path, monkeypatch: pytest.MonkeyPatch):
    """A start-up file may set a PATH that has nothing of the one from before."""
    monkeypatch.setenv("PATH", "/only/the/editor", prepend=os.pathsep)
    shell.write_text("PATH=/usr/bin:/of/the/shell\n")
    folders = asyncio.run(LoginEnvironment().get())["PATH"].split(os.pathsep)
    assert folders[:3] == ["/usr/bin", "/of/the/shell", "/only/the/editor"]
    assert len(folders) == len(set(folders))


def test_a_shell_that_does_not_exist_gives_way_to_another_one(shell: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SHELL", "/no/such/folder/zsh")
    (shell.parent / ".profile").write_text("export OWN=yes\n")
    shell.write_text("export OWN=yes\n")
    assert asyncio.run(LoginEnvironment().get())["OWN"] == "yes"
