"""What other packages have is made into one list."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from companion.problems.diagnostic import LineUnits, Position
from companion.problems.formats import of_build, of_linter, of_lsp

TEXT = "x = 1\na = '😀' + é\n"


def lsp(start: tuple[int, int], end: tuple[int, int], **more: Any) -> dict[str, Any]:
    places = [{"line": line, "character": character} for line, character in (start, end)]
    return {"range": {"start": places[0], "end": places[1]}, **more}


def test_a_problem_of_a_language_server_counts_from_1_in_both_ways():
    found = of_lsp(
        "/a.py", lsp((1, 10), (1, 11), severity=2, message="é?", source="Pyright", code=7), "s", LineUnits(TEXT)
    )
    assert found
    assert found.start == Position(2, 11, 10)
    assert found.end == Position(2, 12, 11)
    assert (found.severity, found.message, found.source, found.code) == ("warning", "é?", "Pyright", "7")


def test_what_a_server_leaves_out_is_replaced():
    found = of_lsp("/a.py", lsp((0, 0), (0, 1)), "gopls", LineUnits(None))
    assert found
    assert (found.severity, found.message, found.source, found.code) == ("error", "", "gopls", "")
    markup = of_lsp("/a.py", lsp((0, 0), (0, 1), message={"kind": "markdown", "value": "so"}), "s", LineUnits(None))
    assert markup
    assert markup.message == "so"


@pytest.mark.parametrize("raw", [None, 1, {}, {"range": 1}, {"range": {}}, lsp(("0", 0), (0, 0)), {"range": None}])  # type: ignore[list-item, arg-type]
def test_a_problem_without_a_place_is_none(raw: object):
    assert of_lsp("/a.py", raw, "s", LineUnits(TEXT)) is None


def test_a_problem_of_a_linter_ends_where_its_text_ends():
    raw = {"line": 1, "start": 9, "offending_text": "é", "error_type": "error", "msg": "m", "linter": "l", "code": "E1"}
    found = of_linter("/a.py", raw, LineUnits(TEXT))
    assert found
    assert found.start == Position(2, 11, 10)
    assert found.end == Position(2, 12, 11)
    assert (found.severity, found.message, found.source, found.code) == ("error", "m", "l", "E1")
    longer = of_linter("/a.py", {**raw, "offending_text": "é\nab", "error_type": "style"}, LineUnits(TEXT))
    assert longer
    assert longer.end == Position(3, 3, 3)
    assert longer.severity == "warning"


@pytest.mark.parametrize(
    ("text", "severity"),
    [("error: no", "error"), ("Warning: hm", "warning"), (" note: see", "information"), ("undefined", "error")],
)
def test_a_result_of_a_build_says_how_grave_it_is(text: str, severity: str):
    found = of_build(("/a.c", 2, 10, text), LineUnits(TEXT))
    assert found.severity == severity
    assert found.start == Position(2, 11, 10)
    assert of_build(("/a.c", 0, 0, text), LineUnits(None)).start == Position(1, 1, 1)


@given(st.text(alphabet="aé😀", max_size=30), st.integers(0, 35))
def test_a_place_is_the_same_there_and_back(line: str, column: int):
    units = LineUnits(line)
    assert units.column(0, units.character(0, column)) == column
    assert units.character(0, min(column, len(line))) == len(line[:column].encode("utf-16-le")) // 2


def test_the_middle_of_a_character_is_its_beginning():
    assert LineUnits("😀a").column(0, 1) == 0
    assert LineUnits("😀a").column(5, 3) == 3
