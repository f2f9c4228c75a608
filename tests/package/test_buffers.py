"""The text of a buffer is changed by one command, which has all guards."""

from __future__ import annotations

import ast
from pathlib import Path

ROOM = Path(__file__).parents[2] / "companion" / "sublime_text"
CHANGES = {"insert", "erase", "replace"}
"""The methods of a view that take an edit."""
TYPES = {"append", "insert", "insert_snippet", "paste", "reindent"}
"""Commands of the editor that put a text into a buffer, as the settings say."""
TYPED = {("chat/chat_commands.py", "insert")}
"""What changes buffers in another way: the key that was just pressed."""


def found(path: Path) -> set[tuple[str, str]]:
    """What a module changes buffers with: its name with that of each method or command."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        first = node.args[0] if node.args else None
        if node.func.attr in CHANGES and isinstance(first, ast.Name) and first.id == "edit":
            names.add(node.func.attr)
        if node.func.attr == "run_command" and isinstance(first, ast.Constant) and first.value in TYPES:
            names.add(str(first.value))
    return {(path.relative_to(ROOM).as_posix(), name) for name in names}


def test_every_text_gets_into_a_buffer_by_the_one_command() -> None:
    everywhere = {one for path in ROOM.rglob("*.py") for one in found(path)}
    # The editor's own command is for when the package has gone, and its command with it.
    assert {name for path, name in everywhere if path == "buffers.py"} == {"insert", "erase", "append"}
    assert {one for one in everywhere if one[0] != "buffers.py"} <= TYPED
