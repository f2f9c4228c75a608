"""docs/dev/real-editor.md, the tests of tests/real_editor and the variations of the stand-in agree."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from headless import variations

TRIED, NOT_TRIED = "Tried by tests/real_editor", "Not tried"
NAMED = re.compile(r"^`(test_\w+)`$")
AT_ONCE = 3
FOLDERS = ("tests/real_editor", "tests/sublime")
AS_UNITTESTING = """
import sys, unittest
from headless import modules
from headless.unittesting import cases
modules.install()
cases.install()
packages, folder = sys.argv[1:]
loader = unittest.TestLoader()
loader.discover(f"{packages}/QwenCompanion/{folder}", "test_*.py", top_level_dir=packages)
sys.exit("\\n".join(loader.errors) or None)
"""
"""Finds the tests as UnitTesting 1.11.1 does it (`unittesting/unit.py`) where the folder has an `__init__.py`."""


class Row(NamedTuple):
    assumption: str
    source: str
    variation: str
    otherwise: str
    shown: str


@pytest.fixture(scope="module")
def tables(root: Path) -> dict[str, list[Row]]:
    page = (root / "docs/dev/real-editor.md").read_text(encoding="utf-8")
    tables: dict[str, list[Row]] = {}
    for part in page.split("\n## ")[1:]:
        rows = [line.strip("|").split("|") for line in part.splitlines() if line.startswith("| ")]
        if rows:
            tables[part.partition("\n")[0]] = [Row(*(cell.strip() for cell in row)) for row in rows[1:]]
    return tables


def names(folder: Path) -> set[str]:
    """The tests of a folder."""
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in folder.glob("test_*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return {node.name for node in nodes if node.name.startswith("test_")}


def test_each_row_of_the_first_table_names_its_test_and_each_test_has_a_row(
    root: Path, tables: dict[str, list[Row]]
) -> None:
    named = [match[1] for row in tables[TRIED] if (match := NAMED.match(row.shown))]
    assert len(named) == len(tables[TRIED])
    assert sorted(named) == sorted(names(root / "tests/real_editor"))


def test_the_second_table_names_tests_of_the_package(root: Path, tables: dict[str, list[Row]]) -> None:
    named = {match[1] for row in tables[NOT_TRIED] if (match := NAMED.match(row.shown))}
    known = names(root / "tests/sublime") | {file.stem for file in (root / "tests/sublime").glob("test_*.py")}
    assert named <= known


def test_no_row_leaves_a_cell_empty(tables: dict[str, list[Row]]) -> None:
    assert set(tables) == {TRIED, NOT_TRIED}
    assert [row for rows in tables.values() for row in rows if not all(row)] == []


def test_each_variation_of_the_stand_in_is_in_a_row(tables: dict[str, list[Row]]) -> None:
    named = [row.variation.strip("`") for rows in tables.values() for row in rows if row.variation != "–"]
    assert sorted(named) == sorted(variations.REGISTRY)


@pytest.mark.parametrize("folder", FOLDERS)
def test_unittesting_can_import_the_tests(folder: str, root: Path, tmp_path: Path) -> None:
    assert (root / folder / "__init__.py").is_file(), "without it, UnitTesting takes each module for one of no package"
    (tmp_path / "QwenCompanion").symlink_to(root, target_is_directory=True)
    run = subprocess.run(
        [sys.executable, "-c", AS_UNITTESTING, tmp_path, folder],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 0, run.stderr


@pytest.fixture(scope="module")
def outcomes(root: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """How the tests of tests/real_editor end in the stand-in, by default and under each variation alone."""

    def tried(setting: str) -> dict[str, str]:
        report = tmp_path_factory.mktemp("tried") / "report.json"
        options = ["--package", ".", "--name", "QwenCompanion", "--tests", "tests/real_editor", "--report", report]
        run = subprocess.run(
            [sys.executable, "-m", "headless.unittesting", *options, *(["--variation", setting] if setting else [])],
            cwd=root,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert report.exists(), run.stderr
        ends: dict[str, str] = json.loads(report.read_text("utf-8"))["tests"]
        return {name.rpartition(".")[2]: outcome for name, outcome in ends.items()}

    settings = ["", *variations.alone()]
    with ThreadPoolExecutor(AT_ONCE) as pool:  # they wait more than they compute
        return dict(zip(settings, pool.map(tried, settings), strict=True))


def test_all_tests_pass_in_the_stand_in(outcomes: dict[str, dict[str, str]], tables: dict[str, list[Row]]) -> None:
    assert len(outcomes[""]) == len(tables[TRIED])
    skipped = {name for name, outcome in outcomes[""].items() if outcome == "skipped"}
    assert {name: outcome for name, outcome in outcomes[""].items() if outcome not in ("passed", "skipped")} == {}
    assert skipped <= {"test_there_is_a_program_for_notifications"}


@pytest.mark.parametrize("setting", list(variations.alone()))
def test_under_a_variation_the_test_of_its_row_fails_and_no_other(
    setting: str, outcomes: dict[str, dict[str, str]], tables: dict[str, list[Row]]
) -> None:
    [row] = [row for rows in tables.values() for row in rows if row.variation.strip("`") == setting.partition("=")[0]]
    named = NAMED.match(row.shown)
    differs = {name for name, outcome in outcomes[setting].items() if outcome != outcomes[""][name]}
    assert differs == ({named[1]} if named else set())
