"""“How it compares”: each cell has its source, and no source is left over."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CELL = re.compile(r"\[(\d+)\]")


@pytest.fixture(scope="module")
def page(root: Path) -> str:
    return (root / "docs" / "compare.md").read_text(encoding="utf-8")


def cells(page: str) -> list[tuple[str, str]]:
    """The name of the row, and each cell in it."""
    rows = [line.strip("|").split("|") for line in page.splitlines() if line.startswith("| ")]
    return [(row[0].strip(), cell.strip()) for row in rows if row[0].strip() for cell in row[1:]]


def test_each_cell_has_a_source(page: str) -> None:
    found = cells(page)
    assert found
    assert [cell for cell in found if not CELL.search(cell[1])] == []


def test_each_source_is_a_page_at_a_version_and_is_used(page: str) -> None:
    sources = dict(re.findall(r"^(\d+)\. (.*(?:\n {4}.*)*)", page.partition("## Sources")[2], re.MULTILINE))
    assert set(CELL.findall(page.partition("## Sources")[0])) == set(sources)
    fixed = re.compile(r"/(?:tree|blob|commits)/[0-9a-f]{7,8}|/(?:pull|issues)/\d+|/releases/tag/v|README\.md")
    assert [text for text in sources.values() if not fixed.search(text)] == []


def test_each_row_has_a_cell_for_every_companion(page: str) -> None:
    rows = [line for line in page.splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in rows}) == 1
