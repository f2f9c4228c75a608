"""Messages to the person: one gate, and what fits into the status bar."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOM = Path(__file__).parents[2] / "companion" / "sublime_text"


def calls(name: str) -> Iterator[tuple[str, ast.Call]]:
    """The calls of a method, each with its module."""
    for path in sorted(ROOM.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == name:
                yield path.relative_to(ROOM).with_suffix("").as_posix(), node


def test_each_message_in_the_status_bar_passes_the_one_gate():
    assert [module for module, _ in calls("status_message")] == ["panels"]
    [(_, call)] = calls("status_message")
    assert ast.unparse(call.args[0]) == "in_one_line(text)"
