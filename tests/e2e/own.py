"""Which views of an editor are the package's own: what their private records say."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from .qwen import Home

CACHES = (".cache/sublime-text/Cache", "Library/Caches/Sublime Text/Cache", "Sublime Text/Cache")
"""Where the editor keeps its cache, on each system."""
PATIENCE = 3.0
"""Seconds until the record of a view is written."""


def kind_of(home: Home, view: dict[str, Any]) -> str:
    """What a view of ours is; empty for any other."""
    return str(_record(home, view).get("kind", ""))


def value(home: Home, view: dict[str, Any], name: str) -> Any:
    """What the record of a view has; None for nothing."""
    return _record(home, view).get("data", {}).get(name)


def _record(home: Home, view: dict[str, Any]) -> dict[str, Any]:
    marker = view["settings"].get("qwen_companion.view")
    if not marker or view["file"]:
        return {}
    paths = [Path(home.home, cache, "QwenCompanion", "views", f"{marker}.json") for cache in CACHES]
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        for path in paths:
            if path.exists():
                return json.loads(path.read_text("utf-8"))
        time.sleep(0.02)
    return {}  # it was closed meanwhile
