"""The tests' own settings: a wrong mark or two tests of one name are errors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def test_pytest_is_strict(pytestconfig: pytest.Config) -> None:
    assert pytestconfig.getini("strict") is True


@pytest.mark.parametrize(
    ("mark", "why"),
    [
        pytest.param("lnog", "'lnog' not found in `markers`", id="a mark that nobody declares"),
        pytest.param("parametrize('value', [1, 1])", "Duplicate parametrization IDs", id="two cases of one name"),
    ],
)
def test_a_mistake_in_a_mark_is_an_error(root: Path, tmp_path: Path, mark: str, why: str) -> None:
    test = tmp_path / "test_marked.py"
    test.write_text(f"import pytest\n\n@pytest.mark.{mark}\ndef test_it(value):\n    pass\n", "utf-8")
    command = [sys.executable, "-m", "pytest", "-c", root / "pyproject.toml", "--rootdir", tmp_path, test]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode
    assert why in run.stdout
