"""What an import that failed says about a library, where nothing seemed wrong with what is installed."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys

from .bounds import BOUNDS
from .guard import LibraryError, Trouble
from .installed import canonical, installed


def trouble(error: BaseException) -> Trouble:
    """The library on account of which an import failed."""
    if isinstance(error, LibraryError):
        return error.trouble
    module = culprit(error)
    owners = [name for name, ones in installed(BOUNDS).items() if module in ones[0].modules()]
    what = f"The library “{module}” is {'broken' if place(module) else 'missing'}"
    return Trouble("damaged", tuple(owners) or (canonical(module),), what)


def place(library: str) -> tuple[str, int] | None:
    """Where a module is and since when, None if it is missing."""
    importlib.invalidate_caches()
    try:
        spec = importlib.util.find_spec(library)
        folder = os.path.dirname(spec.origin) if spec and spec.origin else ""
        return (folder, os.stat(folder).st_mtime_ns) if folder else None
    except (ImportError, ValueError, OSError):
        return None


def culprit(error: BaseException) -> str:
    """The top-level module on account of which an import failed."""
    if isinstance(error, SyntaxError) and error.filename:
        inside = [
            os.path.relpath(error.filename, path) for path in sys.path if error.filename.startswith(path + os.sep)
        ]
        return min(inside, key=len, default=error.filename).partition(os.sep)[0].removesuffix(".py")
    if isinstance(error, ImportError) and error.name:
        return error.name.partition(".")[0]
    trace = error.__traceback__
    name = ""
    while trace:
        name = trace.tb_frame.f_globals.get("__name__", name)
        trace = trace.tb_next
    return name.partition(".")[0]
