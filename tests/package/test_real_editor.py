"""docs/real-editor.md, the assumptions of the package and the probes of Check Editor agree."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from companion.sublime_text.assumptions import ASSUMPTIONS, UNTOLD
from headless import variations

TRIED, NOT_TRIED = "Tried by Check Editor", "Not tried by Check Editor"
NAMED = re.compile(r"^Check Editor: `(\w+)`$")


ASKED = re.compile(r"EDITOR\.(?:holds|fails)\(\"(\w+)\"\)")


class Row(NamedTuple):
    assumption: str
    source: str
    variation: str
    otherwise: str
    chooses: str
    shown: str


@pytest.fixture(scope="module")
def tables(root: Path) -> dict[str, list[Row]]:
    page = (root / "docs/real-editor.md").read_text(encoding="utf-8")
    tables: dict[str, list[Row]] = {}
    for part in page.split("\n## ")[1:]:
        rows = [line.strip("|").split("|") for line in part.splitlines() if line.startswith("| ")]
        cells = [[cell.strip() for cell in row] for row in rows[1:]]
        # The second table has no answers that could choose something.
        full = [row if len(row) == 6 else [*row[:4], "Nothing.", row[4]] for row in cells]
        tables[part.partition("\n")[0]] = [Row(*row) for row in full]
    return tables


def probes(root: Path) -> list[str]:
    files = sorted((root / "companion/sublime_text/check").glob("*.py"))
    nodes = [node for file in files for node in ast.parse(file.read_text(encoding="utf-8")).body]
    return [
        node.name
        for node in nodes
        if isinstance(node, ast.FunctionDef) and node.returns and ast.unparse(node.returns) == "Steps"
    ]


def test_each_row_of_the_first_table_is_an_assumption_in_its_words(tables: dict[str, list[Row]]) -> None:
    rows = {match[1]: row for row in tables[TRIED] if (match := NAMED.match(row.shown))}
    assert len(rows) == len(tables[TRIED])
    assert {name: (row.assumption, row.otherwise) for name, row in rows.items()} == ASSUMPTIONS


def test_what_no_check_can_try_begins_the_second_table_in_its_words(tables: dict[str, list[Row]]) -> None:
    rows = tables[NOT_TRIED][: len(UNTOLD)]
    assert [(row.assumption, row.otherwise) for row in rows] == list(UNTOLD.values())


def test_each_assumption_has_one_probe(root: Path) -> None:
    assert sorted(probes(root)) == sorted(ASSUMPTIONS)


def test_no_row_leaves_a_cell_empty(tables: dict[str, list[Row]]) -> None:
    assert set(tables) == {TRIED, NOT_TRIED}
    assert [row for rows in tables.values() for row in rows if not all(row)] == []
    assert [row.shown for row in tables[NOT_TRIED] if NAMED.match(row.shown)] == []


def chosen(tables: dict[str, list[Row]]) -> set[str]:
    """The assumptions whose answers choose something."""
    named = {match[1]: row for row in tables[TRIED] if (match := NAMED.match(row.shown))}
    return {name for name, row in named.items() if not row.chooses.startswith("Nothing")}


def test_an_answer_chooses_something_or_the_table_says_that_it_chooses_nothing(
    root: Path, tables: dict[str, list[Row]]
) -> None:
    texts = [file.read_text(encoding="utf-8") for file in (root / "companion").rglob("*.py")]
    asked = {name for text in texts for name in ASKED.findall(text)}
    assert asked == chosen(tables)


def test_each_fallback_that_an_answer_chooses_has_a_test_of_both_answers(
    root: Path, tables: dict[str, list[Row]]
) -> None:
    tests = (root / "tests/sublime/test_fallbacks.py").read_text(encoding="utf-8")
    for name in chosen(tables):
        assert f"{name}=True" in tests, name
        assert f"{name}=False" in tests, name


def test_each_variation_of_the_stand_in_is_in_a_row(tables: dict[str, list[Row]]) -> None:
    named = [row.variation.strip("`") for rows in tables.values() for row in rows if row.variation != "–"]
    assert sorted(named) == sorted(variations.REGISTRY)


@pytest.fixture(scope="module")
def answers(root: Path) -> dict[str, dict[str, bool]]:
    """What the check finds by default, and under each variation alone."""
    run = subprocess.run(
        [sys.executable, root / "tests/package/checked_variations.py"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


@pytest.mark.parametrize("setting", list(variations.alone()))
def test_check_editor_reports_each_variation_right_when_the_stand_in_is_set_to_it(
    setting: str, answers: dict[str, dict[str, bool]], tables: dict[str, list[Row]]
) -> None:
    [row] = [row for rows in tables.values() for row in rows if row.variation.strip("`") == setting.partition("=")[0]]
    probed = NAMED.match(row.shown)
    differs = {name for name, holds in answers[setting].items() if holds != answers[""][name]}
    assert differs == ({probed[1]} if probed else set())
