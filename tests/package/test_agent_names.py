"""The chat says which agent answers by a value, since there are several."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

NAMES = ("Qwen Code", "Gemini CLI")
ROOMS = ("chats", "conversation", "sublime_text/chat")


def literals(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The lines and the values of a module's strings that are no docstrings."""
    docstrings = {
        node.value for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docstrings:
            yield node.lineno, node.value


def test_no_text_of_the_chat_names_an_agent(root: Path) -> None:
    assert all((root / "companion" / room).is_dir() for room in ROOMS)
    found = [
        f"{path.relative_to(root)}:{line}: {value}"
        for room in ROOMS
        for path in sorted((root / "companion" / room).rglob("*.py"))
        for line, value in literals(ast.parse(path.read_text("utf-8")))
        if any(name in value for name in NAMES)
    ]
    assert found == []
