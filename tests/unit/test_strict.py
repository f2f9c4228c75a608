"""The tests' own settings: a mark that nobody declares and two cases of one name are errors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TEST = "import pytest\n\n@pytest.mark.{}\ndef test_it(value):\n    pass\n"


def test_pytest_is_strict(pytestconfig: pytest.Config) -> None:
    assert pytestconfig.getini("strict") is True


def test_a_mistake_in_a_mark_is_an_error(root: Path, tmp_path: Path) -> None:
    for name, mark in (("unknown", "lnog"), ("twice", "parametrize('value', [1, 1])")):
        (tmp_path / f"test_{name}.py").write_text(TEST.format(mark), "utf-8")
    command = [sys.executable, "-m", "pytest", "-c", root / "pyproject.toml", "--rootdir", tmp_path, tmp_path]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode
    assert "'lnog' not found in `markers`" in run.stdout
    assert "Duplicate parametrization IDs" in run.stdout
