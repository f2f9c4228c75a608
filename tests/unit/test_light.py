"""The UI thread imports what is light: the libraries come later, on the companion thread (docs/dev/architecture.md)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

HEAVY = {"asyncio", "httpx2", "mcp", "psutil", "pydantic", "starlette", "uvicorn"}
PROGRAM = """
import importlib, json, sys
from headless import modules
modules.install()
before = set(sys.modules)
import companion.sublime_text, pkgutil
for module in pkgutil.walk_packages(companion.sublime_text.__path__, "companion.sublime_text."):
    importlib.import_module(module.name)
print(json.dumps(sorted({name.partition(".")[0] for name in set(sys.modules) - before})))
"""


def test_no_library_is_imported_with_the_package(root: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=root, capture_output=True, text=True, timeout=60, check=True
    )
    imported = set(json.loads(done.stdout))
    assert "companion" in imported
    assert imported & HEAVY == set()
