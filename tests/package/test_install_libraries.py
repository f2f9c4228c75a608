"""scripts/install-libraries, where there is no Package Control."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from companion.libraries import guard

from .building import relabelled
from .control import NAME, Sublime, address


@pytest.fixture(scope="module")
def folder(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    into = tmp_path_factory.mktemp("Lib") / "python314"
    command = [shutil.which("bash") or "bash", root / "scripts/install-libraries", "--into", into]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stderr
    return into


def test_all_libraries_are_there_and_nothing_else(root: Path, folder: Path) -> None:
    declared = json.loads((root / "dependencies.json").read_text(encoding="utf-8"))["*"][">=4205"]
    found = {path.name.partition("-")[0].replace("_", "-") for path in folder.glob("*.dist-info")}
    assert found == set(declared)
    assert guard.look([str(folder)]) == []


def test_package_control_takes_them_for_its_own(control: Path, offline: Path, folder: Path) -> None:
    """It upgrades one that is too old, and removes all of them with the package."""
    if sys.version_info < (3, 14):
        pytest.skip("the editor needs Python 3.14")
    sublime = Sublime(control, [address(offline)])
    try:
        shutil.copytree(folder, sublime.libraries, dirs_exist_ok=True)
        relabelled(sublime.libraries, "uvicorn", "0.1.0")
        editor = sublime.start()
        editor.install()
        editor.served()
        assert "uvicorn" in sublime.versions()
        assert sublime.versions()["uvicorn"] != "0.1.0"
        editor.control("remove_packages", packages=[NAME])
        editor.wait("removed libraries", lambda: not sublime.versions())
        editor.quit()
    finally:
        sublime.remove()
