"""Captions are written as the editor writes its own: “Rename…”, without a space before the dots."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILES = (
    *sorted((ROOT / "companion").rglob("*.py")),
    *sorted(path for path in ROOT.glob("*.sublime-*") if path.suffix in {".sublime-commands", ".sublime-menu"}),
)
_SPACED = re.compile(r"[^\s,…] …")


def texts(path: Path) -> Iterator[str]:
    """The texts of a file that a person may see: not those that a function or a class is described with."""
    if path.suffix != ".py":
        yield path.read_text("utf-8")
        return
    tree = ast.parse(path.read_text("utf-8"))
    described = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    parts: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts |= set(map(id, node.values))
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in described | parts:
            yield node.value


def test_no_space_stands_before_the_dots():
    found = [(path.relative_to(ROOT).as_posix(), text) for path in FILES for text in texts(path)]
    assert [each for each in found if _SPACED.search(each[1])] == [("companion/log.py", "x …")]  # where it was cut off


def test_a_space_is_found(tmp_path: Path):
    (tmp_path / "a.py").write_text('"""Not …"""\nA = "Rename …", f"{1} …", "a, …", "b…", "  … and 1 more"\n', "utf-8")
    assert [text for text in texts(tmp_path / "a.py") if _SPACED.search(text)] == ["Rename …", "x …"]
