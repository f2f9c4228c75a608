"""What is outside headless/ uses its documented entry points alone: headless is a product of its own."""

from __future__ import annotations

import ast
import re
from pathlib import Path

# The stand-ins for libraries belong to the suites that scripts/fidelity runs inside headless.
INSIDE = {"scripts/fidelity.d/sublime_aio.py"}


def _imported(file: Path) -> set[str]:
    """The modules of headless that a file imports, such as `headless.app`."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "headless":
            found.update(f"headless.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("headless."):
            found.add(str(node.module))
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names if alias.name.partition(".")[0] == "headless")
    return found


def test_only_documented_modules_of_headless_are_imported(root: Path) -> None:
    readme = (root / "headless" / "README.md").read_text("utf-8")
    section = readme.partition("## Use it from Python\n")[2].partition("\n## ")[0]
    documented = set(re.findall(r"^- `(headless\.\w+)`", section, re.MULTILINE))
    assert documented
    users = [
        file
        for folder in ("companion", "tests", "benchmarks", "scripts")
        for file in (root / folder).rglob("*.py")
        if "node_modules" not in file.parts and file.relative_to(root).as_posix() not in INSIDE
    ]
    used = {file.relative_to(root).as_posix(): _imported(file) - documented for file in [root / "plugin.py", *users]}
    assert {file: modules for file, modules in used.items() if modules} == {}


def test_headless_knows_nothing_of_this_package(root: Path) -> None:
    told = [
        file.name
        for file in (root / "headless").rglob("*")
        if file.suffix in {".py", ".md", ".toml"}
        and re.search(r"qwen|companion", file.read_text("utf-8"), re.IGNORECASE)
    ]
    assert told == []
