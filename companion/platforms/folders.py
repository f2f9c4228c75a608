"""Where a person's programs keep what can be made again, and what can't."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

_NAME = "qwen-companion" if sys.platform not in {"win32", "darwin"} else "QwenCompanion"


def cache(environment: Mapping[str, str] = os.environ) -> str:
    """The folder of the package in the user's cache folder. It need not be there."""
    home = os.path.expanduser("~")
    if sys.platform == "win32":
        base = environment.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
    elif sys.platform == "darwin":
        base = os.path.join(home, "Library", "Caches")
    else:
        base = _absolute(environment.get("XDG_CACHE_HOME")) or os.path.join(home, ".cache")
    return os.path.join(base, _NAME)


def data(environment: Mapping[str, str] = os.environ) -> str:
    """The folder of the package among the user's data. It need not be there."""
    home = os.path.expanduser("~")
    if sys.platform == "win32":
        return cache(environment)
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Application Support", _NAME)
    return os.path.join(_absolute(environment.get("XDG_DATA_HOME")) or os.path.join(home, ".local", "share"), _NAME)


def _absolute(path: str | None) -> str | None:
    """A folder of a variable; a relative one is to be ignored, as the XDG Base Directory Specification says."""
    return path if path and os.path.isabs(path) else None
