"""Another package that uses the same libraries sees nothing of this one: each test in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

STARTS = [pytest.param(number, marks=pytest.mark.long if number > 1 else ()) for number in range(12)]


def wrong(root: Path, folder: Path, way: str) -> list[str]:
    """What the neighbour has to complain about."""
    home = {name: str(folder) for name in ("HOME", "USERPROFILE", "TMPDIR", "TEMP", "TMP", "XDG_CONFIG_HOME")}
    (folder / "project").mkdir()
    done = subprocess.run(
        [sys.executable, root / "tests/unit/neighbour.py", folder / "project", way],
        env={name: value for name, value in os.environ.items() if "QWEN" not in name} | home,
        stdout=subprocess.PIPE,
        timeout=300,
        check=True,
    )
    return json.loads(done.stdout)


def test_what_belongs_to_the_process_is_the_same_while_the_package_runs_and_after_it(root: Path, tmp_path: Path):
    """Loggers, collector, hooks, signals, paths, the classes of the libraries, and so on: `neighbour.settings`."""
    assert wrong(root, tmp_path, "first") == []


@pytest.mark.parametrize("start", STARTS)
def test_the_libraries_can_be_imported_and_used_on_other_threads_while_the_package_loads(
    root: Path, tmp_path: Path, start: int
):
    """No import fails with a deadlock, and models that are defined meanwhile are like any others."""
    assert wrong(root, tmp_path, "meanwhile") == []


def test_a_neighbour_that_disables_the_collector_while_the_package_loads_finds_it_disabled(root: Path, tmp_path: Path):
    """And its thresholds as it has set them; and nothing was imported under the name of the SDK."""
    assert wrong(root, tmp_path, "settings") == []
