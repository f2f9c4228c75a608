from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

BUILD = ">=4205"
# The SDK imports it at its start, on Windows alone.
ON_WINDOWS = "pywin32"


@pytest.fixture(scope="module")
def dependencies(root: Path) -> dict[str, dict[str, list[str]]]:
    return json.loads((root / "dependencies.json").read_text(encoding="utf-8"))


def test_the_declared_libraries_are_those_that_the_running_server_and_a_chat_have_loaded(
    root: Path, tmp_path: Path, dependencies: dict[str, Any]
) -> None:
    home = {name: str(tmp_path) for name in ("HOME", "USERPROFILE", "TMPDIR", "TEMP", "TMP")}
    run = subprocess.run(
        [sys.executable, root / "tests/package/served_libraries.py"],
        cwd=tmp_path,
        env=os.environ | home,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    platform = "windows" if sys.platform == "win32" else "*"
    assert {canonicalize_name(name) for name in json.loads(run.stdout)} == set(dependencies[platform][BUILD])


def test_windows_needs_one_library_more(dependencies: dict[str, Any]) -> None:
    assert dependencies.keys() == {"*", "windows"}
    assert set(dependencies["windows"][BUILD]) == {*dependencies["*"][BUILD], ON_WINDOWS}


def test_every_declared_library_is_pinned(root: Path, dependencies: dict[str, Any]) -> None:
    lines = (root / "requirements/runtime.txt").read_text(encoding="utf-8").splitlines()
    pinned = {canonicalize_name(Requirement(line.rstrip(" \\")).name) for line in lines if line[:1].isalnum()}
    for builds in dependencies.values():
        for libraries in builds.values():
            assert set(libraries) <= pinned
            assert libraries == sorted(libraries)
