"""Finds the library that made the start fail although the installed versions fit."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
import traceback
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any, cast

from ..platforms.local_sockets import SCARCE
from .bounds import BOUNDS
from .guard import COPY, SDK, LibraryError, Trouble, untried
from .installed import canonical, installed

OURS = (__package__ or "").partition(".")[0]
LIBRARIES = frozenset(name.replace("-", "_") for name in BOUNDS)
"""The modules of the libraries. Each has the name of its library."""
ENDPOINT = f"{(__package__ or '').rpartition('.')[0]}.server.endpoint"
"""The module whose function `listen` opens a port."""
UNKNOWN = "The companion can't start with the libraries that are installed"

Place = tuple[str, int, int]


def trouble(error: BaseException) -> Trouble:
    """Return what to say about the error and which libraries to reinstall: all of them if the culprit is unknown."""
    if isinstance(error, LibraryError):
        return error.trouble
    module = culprit(error)
    owners = [name for name, ones in installed(BOUNDS).items() if module in ones[0].modules()] if module else []
    newer = untried()
    if suspects := {name: newer[name] for name in owners if name in newer} or ({} if module else newer):
        named = " and ".join(f"{name} {version}" for name, version in suspects.items())
        verb = "is" if len(suspects) == 1 else "are"
        what = f"QwenCompanion does not run with {named}, which {verb} newer than it knows"
        return Trouble("newer", tuple(suspects), what)
    if not module:
        return Trouble("damaged", tuple(BOUNDS), UNKNOWN)
    what = f"The library “{module}” is {'broken' if _place(module) else 'missing'}"
    return Trouble("damaged", tuple(owners) or (canonical(module),), what)


def is_of_machine(error: BaseException) -> bool:
    """Return whether the machine lacks something at the moment, such as file descriptors, memory or a port."""
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno in SCARCE):
        return True
    frames = traceback.walk_tb(error.__traceback__) if isinstance(error, OSError) else ()
    opens = ENDPOINT, "listen"
    return any((frame.f_globals.get("__name__"), frame.f_code.co_name) == opens for frame, _ in frames)


def places(error: BaseException) -> dict[str, Place | None]:
    """Return where each library is and when it was changed. If this differs later, the error may be repaired."""
    importlib.invalidate_caches()
    return {module: _place(module) for module in {*LIBRARIES, culprit(error)} if module}


def _place(module: str) -> Place | None:
    """Return a module's folder and when the folder and the module's file were changed, or None if it is missing."""
    importlib.invalidate_caches()
    try:
        # Of the SDK we use what is installed, whatever another package has loaded under its name.
        spec = PathFinder.find_spec(module) if module == SDK else importlib.util.find_spec(module)
        origin = spec.origin if spec and spec.origin else ""
        folder = os.path.dirname(origin)
        return (folder, os.stat(folder).st_mtime_ns, os.stat(origin).st_mtime_ns) if folder else None
    except (ImportError, ValueError, OSError):
        return None


def culprit(error: BaseException) -> str:
    """Return the top-level module that made an import or the start fail, or an empty string if it is unknown."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    if isinstance(error, SyntaxError) and error.filename:
        inside = [
            os.path.relpath(error.filename, path) for path in sys.path if error.filename.startswith(path + os.sep)
        ]
        return min(inside, key=len, default=error.filename).partition(os.sep)[0].removesuffix(".py")
    if isinstance(error, ImportError) and error.name:
        return _library(error.name)
    trace = error.__traceback__
    namespace: dict[str, Any] = {}
    while trace:
        namespace = trace.tb_frame.f_globals
        trace = trace.tb_next
    library = _library(namespace.get("__name__", ""))
    return _called(error, namespace) if library == OURS else library


def _called(error: BaseException, namespace: dict[str, Any]) -> str:
    """Return the library whose object our own code could not use. The message begins with the object's name."""
    used = error.obj if isinstance(error, AttributeError) else None
    if isinstance(error, TypeError) and (name := re.match(r"\w+", str(error))):
        modules = (value for value in namespace.values() if isinstance(value, ModuleType))
        used = namespace.get(name[0]) or next((module for module in modules if hasattr(module, name[0])), None)
    module = used.__name__ if isinstance(used, ModuleType) else getattr(used, "__module__", None)
    library = _library(module or "")
    return "" if library in (OURS, "builtins") else library


def _library(module: object) -> str:
    """Return the top-level name of a module; that of the library for a module of our copy."""
    top = str(module).partition(".")[0]
    return SDK if top == COPY else top


def forget(names: set[str], error: BaseException) -> None:
    """Remove modules of this package and of the library that made the start fail, so that they are imported again.

    All others stay: another package may have imported them meanwhile. Libraries with compiled modules stay too, since
    those can't be imported twice.
    """
    wanted = {name for name in names if name.partition(".")[0] in {OURS, COPY, culprit(error)}}
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
