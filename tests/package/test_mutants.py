"""Each mutant of tests/mutants has its place in the code, and its tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_every_mutant_has_its_place_and_its_tests(root: Path) -> None:
    command = [sys.executable, root / "tests" / "mutants" / "run.py", "--places"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def test_a_mutant_runs_in_a_copy_of_the_folder_and_is_noticed(root: Path) -> None:
    command = [sys.executable, root / "tests" / "mutants" / "run.py", "unchanged runs are too short"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.endswith("1 mutants, 0 of them survive without a reason.\n")
