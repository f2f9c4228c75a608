"""dependencies.json, the bounds of the guard, and what is really imported say the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from companion.libraries.bounds import BOUNDS
from scripts.release import bounds

BUILD = ">=4205"
FOR_CHATS = {"httpcore2", "httpx2", "idna", "truststore"}
"""What only a chat needs."""
NEVER = {"attrs", "cffi", "cryptography", "jsonschema", "pyjwt", "pywin32", "rpds-py"}
"""What the SDK brings for its client and its high-level server."""


@pytest.fixture(scope="module")
def dependencies(root: Path) -> dict[str, dict[str, list[str]]]:
    return json.loads((root / "dependencies.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def loaded(root: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """Whose modules are loaded without and with a chat."""
    folder = tmp_path_factory.mktemp("home")
    home = {name: str(folder) for name in ("HOME", "USERPROFILE", "TMPDIR", "TEMP", "TMP")}
    run = subprocess.run(
        [sys.executable, root / "tests/package/served_libraries.py"],
        cwd=folder,
        env=os.environ | home,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return {when: {canonicalize_name(name) for name in names} for when, names in json.loads(run.stdout).items()}


def test_the_declared_libraries_are_those_that_the_running_server_and_a_chat_have_loaded(
    loaded: dict[str, set[str]], dependencies: dict[str, dict[str, list[str]]]
) -> None:
    assert loaded["with chat"] == set(dependencies["*"][BUILD])
    assert not loaded["with chat"] & NEVER


def test_what_a_chat_needs_is_loaded_with_the_first_chat(loaded: dict[str, set[str]]) -> None:
    assert loaded["with chat"] - loaded["without chat"] == FOR_CHATS


def test_the_back_ends_of_chats_are_no_part_of_the_start(root: Path) -> None:
    program = "import sys, companion.companion; print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=root, capture_output=True, text=True, timeout=120, check=True
    )
    assert "companion.backends.connector" in run.stdout.split()
    assert not {"companion.backends.acp.client", "companion.backends.daemon.client"} & set(run.stdout.split())


def test_the_libraries_are_the_same_on_every_system(dependencies: dict[str, dict[str, list[str]]]) -> None:
    assert dependencies.keys() == {"*"}
    assert dependencies["*"].keys() == {BUILD}


def test_every_declared_library_is_pinned(root: Path, dependencies: dict[str, dict[str, list[str]]]) -> None:
    lines = (root / "requirements/runtime.txt").read_text(encoding="utf-8").splitlines()
    pinned = {canonicalize_name(Requirement(line.rstrip(" \\")).name) for line in lines if line[:1].isalnum()}
    for builds in dependencies.values():
        for libraries in builds.values():
            assert set(libraries) <= pinned
            assert libraries == sorted(libraries)


def test_the_guard_knows_the_pinned_versions(root: Path, dependencies: dict[str, dict[str, list[str]]]) -> None:
    """`scripts/lock` writes both."""
    assert (root / bounds.TARGET).read_text(encoding="utf-8") == bounds.text(root)
    assert list(BOUNDS) == dependencies["*"][BUILD]
