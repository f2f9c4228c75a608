"""What happens in weeks, in a short run: nothing is lost and nothing is left."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.soak import PARTS, problems

from .qwen import PROJECT


def soak(tmp_path: Path, *arguments: str) -> dict[str, float]:
    """The figures of `scripts/soak`."""
    command = [sys.executable, "-m", "benchmarks.soak", "--json", *arguments]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=3600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("part", PARTS)
def test_a_short_run_leaves_nothing_and_loses_nothing(tmp_path: Path, part: str) -> None:
    figures = soak(tmp_path, part)
    assert figures
    if part == "reloads":
        assert figures["reloads.requests"] > 50
        assert figures["reloads.outcomes"] > 0


@pytest.mark.long
def test_a_long_run_grows_by_nothing(tmp_path: Path) -> None:
    assert soak(tmp_path, "--all")


def test_what_grows_or_is_lost_is_said() -> None:
    figures = {"reloads.lost": 1.0, "sessions.left.files": 2.0, "sessions.kb_each": 5.0, "reloads.outcomes": 7.0}
    assert problems(figures, everything=False) == [
        "reloads.lost is 1, more than 0.",
        "sessions.left.files is 2, more than 0.",
    ]
    assert "sessions.kb_each is 5, more than 1." in problems(figures, everything=True)


def test_a_part_that_is_unknown_is_an_error() -> None:
    command = [sys.executable, "-m", "benchmarks.soak", "nothing"]
    assert subprocess.run(command, cwd=PROJECT, capture_output=True, timeout=60, check=False).returncode != 0
