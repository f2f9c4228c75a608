"""A function and a module are small enough to be read at once."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

FUNCTION = 50
"""Lines of the longest function."""


def modules(root: Path, *rooms: str) -> Iterator[Path]:
    yield root / "plugin.py"
    for room in rooms:
        yield from (path for path in sorted((root / room).rglob("*.py")) if "node_modules" not in path.parts)


def test_no_function_has_more_than_fifty_lines(root: Path) -> None:
    functions = [
        (node, path.relative_to(root).as_posix())
        for path in modules(root, "companion", "headless", "scripts")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    assert len(functions) > 3000
    lengths = {f"{path}: {node.name}": (node.end_lineno or 0) - node.lineno + 1 for node, path in functions}
    assert {name: length for name, length in lengths.items() if length > FUNCTION} == {}


@pytest.mark.parametrize(("rooms", "most"), [(("companion",), 400), (("tests", "headless/tests"), 600)])
def test_no_module_is_too_long(root: Path, rooms: tuple[str, ...], most: int) -> None:
    lengths = {path.relative_to(root).as_posix(): len(path.read_bytes().splitlines()) for path in modules(root, *rooms)}
    assert len(lengths) > 50
    assert {name: length for name, length in lengths.items() if length > most} == {}
