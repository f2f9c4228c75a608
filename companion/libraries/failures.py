"""The library that made the start fail, where the installed versions seemed to fit."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
from types import ModuleType
from typing import Any, cast

from .bounds import BOUNDS
from .guard import LibraryError, Trouble
from .installed import canonical, installed

OURS = (__package__ or "").partition(".")[0]
LIBRARIES = frozenset(name.replace("-", "_") for name in BOUNDS)
"""The modules of the libraries; each is named like its library."""
UNKNOWN = "The companion can't start with the libraries that are installed"

Place = tuple[str, int, int]


def trouble(error: BaseException) -> Trouble:
    """What to say about the error, and which libraries to reinstall: all of them if none is known to be wrong."""
    if isinstance(error, LibraryError):
        return error.trouble
    module = culprit(error)
    if not module:
        return Trouble("damaged", tuple(BOUNDS), UNKNOWN)
    owners = [name for name, ones in installed(BOUNDS).items() if module in ones[0].modules()]
    what = f"The library “{module}” is {'broken' if _place(module) else 'missing'}"
    return Trouble("damaged", tuple(owners) or (canonical(module),), what)


def places(error: BaseException) -> dict[str, Place | None]:
    """Where each library is and when it was changed. What is different later may have repaired the error."""
    importlib.invalidate_caches()
    return {module: _place(module) for module in {*LIBRARIES, culprit(error)} if module}


def _place(module: str) -> Place | None:
    """A module's folder, and when that and its file were changed; None if it is missing."""
    importlib.invalidate_caches()
    try:
        spec = importlib.util.find_spec(module)
        origin = spec.origin if spec and spec.origin else ""
        folder = os.path.dirname(origin)
        return (folder, os.stat(folder).st_mtime_ns, os.stat(origin).st_mtime_ns) if folder else None
    except (ImportError, ValueError, OSError):
        return None


def culprit(error: BaseException) -> str:
    """The top-level module that made an import or the start fail; empty if nothing says so."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    if isinstance(error, SyntaxError) and error.filename:
        inside = [
            os.path.relpath(error.filename, path) for path in sys.path if error.filename.startswith(path + os.sep)
        ]
        return min(inside, key=len, default=error.filename).partition(os.sep)[0].removesuffix(".py")
    if isinstance(error, ImportError) and error.name:
        return error.name.partition(".")[0]
    trace = error.__traceback__
    namespace: dict[str, Any] = {}
    while trace:
        namespace = trace.tb_frame.f_globals
        trace = trace.tb_next
    library = str(namespace.get("__name__", "")).partition(".")[0]
    return _called(error, namespace) if library == OURS else library


def _called(error: BaseException, namespace: dict[str, Any]) -> str:
    """The library of what our own code could not use: the message begins with its name."""
    used = error.obj if isinstance(error, AttributeError) else None
    if isinstance(error, TypeError) and (name := re.match(r"\w+", str(error))):
        modules = (value for value in namespace.values() if isinstance(value, ModuleType))
        used = namespace.get(name[0]) or next((module for module in modules if hasattr(module, name[0])), None)
    module = used.__name__ if isinstance(used, ModuleType) else getattr(used, "__module__", None)
    library = str(module or "").partition(".")[0]
    return "" if library in (OURS, "builtins") else library


def forget(names: set[str]) -> None:
    """Remove modules of ours and of the libraries, to import them again. Compiled ones can't be imported twice."""
    wanted = {name for name in names if name.partition(".")[0] in {OURS, *LIBRARIES}}
    files = {name: getattr(sys.modules.get(name), "__file__", None) or "" for name in wanted}
    compiled = {name.partition(".")[0] for name, file in files.items() if file.endswith((".so", ".pyd"))}
    for name in wanted:
        module = sys.modules.get(name)
        if module is None or name.partition(".")[0] in compiled:
            continue
        del sys.modules[name]
        parent, _, last = name.rpartition(".")
        if getattr(sys.modules.get(parent), last, None) is module:
            delattr(sys.modules[parent], last)
