"""One word for one thing: see docs/dev/glossary.md."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path


def test_no_two_public_classes_have_one_name(root: Path) -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in sorted((root / "companion").rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(path.relative_to(root).as_posix())
    assert places
    assert {name: where for name, where in places.items() if len(where) > 1} == {}
