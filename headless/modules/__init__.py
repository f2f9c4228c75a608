"""The modules `sublime`, `sublime_plugin` and `sublime_types`, put where `import` finds them."""

from __future__ import annotations

import importlib
import sys

NAMES = ("sublime_types", "sublime", "sublime_plugin")


def install() -> None:
    """Let `import sublime` and its like find the stand-in's modules."""
    for name in NAMES:
        sys.modules[name] = importlib.import_module(f"headless.modules.{name}")
