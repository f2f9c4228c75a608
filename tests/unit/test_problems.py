"""What other packages have is made into one list, and what is new in it is found."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from companion.exclusion import Sharing
from companion.problems import (
    STEP,
    FileProblems,
    LineUnits,
    Position,
    ShownProblems,
    fresh,
    of_build,
    of_linter,
    of_lsp,
    problems_text,
    settled,
)

from .memory_editor import of_pyright

PLACE = {"line": 0, "character": 0}
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


def row(line: int, message: str = "wrong", severity: int = 1) -> dict[str, Any]:
    place = {"line": line, "character": 0}
    return {"range": {"start": place, "end": place}, "message": message, "severity": severity}


def shown(*rows: dict[str, Any], path: str = "/p/a.py", awaited: tuple[str, ...] = ()) -> ShownProblems:
    return ShownProblems("LSP", [FileProblems(path, rows, of_pyright)], ("/p",), awaited=awaited)


def test_a_file_that_is_never_told_has_no_problems(tmp_path: Path):
    secret = str(tmp_path / "secrets" / "a.py")
    assert shown(row(0), path=secret).diagnostics(Sharing()) == []
    assert len(shown(row(0), path=secret).diagnostics()) == 1


def test_each_problem_is_listed_once_in_the_order_of_the_lines():
    found = shown(row(5), row(1), row(5)).diagnostics()
    assert [each.start.line for each in found] == [2, 6]


def test_a_problem_whose_line_has_moved_is_not_new():
    before = shown(row(1, "old"), row(2, "twice")).diagnostics()
    after = shown(row(8, "old"), row(2, "twice"), row(3, "twice"), row(4, "new")).diagnostics()
    assert [each.message for each in fresh(before, after)] == ["twice", "new"]
    assert fresh(after, before) == []


def test_a_problem_that_ends_where_a_line_begins_is_not_in_that_line():
    [found] = shown(row(0) | {"range": {"start": PLACE, "end": {"line": 1, "character": 0}}}).diagnostics()
    assert found.touches(1, 1)
    assert not found.touches(2, 2)
    [empty] = shown(row(1)).diagnostics()
    assert empty.touches(2, 2)


def test_what_was_published_once_more_is_not_the_same():
    first = row(1)
    assert shown(first).is_same(shown(first))
    assert not shown(first).is_same(shown(row(1)))


def test_a_changed_file_is_waited_for_and_nothing_longer_than_asked():
    said = [shown(row(1, "old"), awaited=("/p/a.py",))] * 3
    new = shown(row(1, "new"))

    async def read() -> ShownProblems | None:
        return said.pop() if said else new

    reads: list[None] = []

    async def never() -> ShownProblems | None:
        reads.append(None)
        return shown(row(1), awaited=("/p/a.py",))

    async def both() -> None:
        assert await settled(read) == (new, True)
        found, is_settled = await settled(never, 0.2)
        assert found
        assert not is_settled
        assert len(reads) <= 2 + 0.2 / STEP

    asyncio.run(both())


def test_a_message_can_press_no_key_in_a_terminal():
    found = shown(row(0, "a\x1b[201~\nb\u202ec" + "x" * 2000)).diagnostics()
    text = problems_text(found, lambda path, _lines: f"@{path}")
    assert text.startswith("@/p/a.py\n- 1:1 error: a [201~ b cx")
    assert not set("\x1b\u202e") & set(text)
    assert len(text) < 1200


@pytest.mark.parametrize(("limit", "tail"), [(1, "… and 2 more"), (3, "- 3:1 error: wrong (pyright)")])
def test_what_is_beyond_the_limit_is_counted(limit: int, tail: str):
    found = shown(row(0), row(1), row(2)).diagnostics()
    assert problems_text(found, lambda path, _lines: path, limit).endswith(tail)
