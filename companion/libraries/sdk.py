"""The server of the MCP SDK, from a copy of its modules that is this package's own.

`mcp/__init__.py` and `mcp/server/__init__.py` import the SDK's client and its high-level server, and with them
cryptography, cffi and pywin32, which a low-level server never uses and which are not on every platform
(docs/dev/decisions/0006-lazy-sdk.md). Other packages need what these two files do, so nothing may be left out of the
`mcp` that they import. Here the modules that the server needs are loaded once more, from the same files, under names
that begin with `COPY`: the two files are not run, and an import of `mcp` in one of these modules means the copy. All
other imports are Python's own, with its locks.

The copy outlives this package, as the other libraries do: the next instance after a reload goes on with it. So what it
needs of this module is nothing but the standard library and the module's own globals, which it keeps alive.
"""

from __future__ import annotations

import builtins
import importlib.util
import sys
import threading
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .guard import COPY, SDK, kept

__all__ = ["MCPError", "Server", "ServerRequestContext", "StreamableHTTPSessionManager"]

_BARE = frozenset({COPY, f"{COPY}.server"})
"""The packages of the copy whose `__init__` would import more than a server needs."""
_lock = kept("lock", threading.RLock)
"""Held while modules of the copy are loaded. The instances before and after a reload may want that at the same time."""


def _import(
    name: str,
    of: Mapping[str, Any] | None = None,
    local: Mapping[str, Any] | None = None,
    wanted: Sequence[str] | None = (),
    level: int = 0,
) -> ModuleType:
    """What an import statement in a module of the copy calls, with the parameters and errors of `__import__`."""
    absolute = importlib.util.resolve_name("." * level + name, str(of["__package__"])) if level and of else name
    top, dot, rest = absolute.partition(".")
    if top not in (SDK, COPY):
        return builtins.__import__(name, of, local, wanted or (), level)
    module = _load(COPY + dot + rest)
    if not wanted:
        return sys.modules[COPY]
    for each in wanted:
        if hasattr(module, "__path__") and not hasattr(module, each) and _spec(f"{module.__name__}.{each}"):
            _load(f"{module.__name__}.{each}")
    return module


def _load(name: str) -> ModuleType:
    """Return a module of the copy; loads it if it is not there yet. Raises ImportError, and what the module raises."""
    with _lock:
        if name in sys.modules:
            return sys.modules[name]
        parent, _, child = name.rpartition(".")
        if parent:
            _load(parent)
        spec = _spec(name)
        if spec is None or spec.loader is None:
            missing = SDK + name.removeprefix(COPY)
            raise ModuleNotFoundError(f"No module named {missing!r}", name=missing)
        module = importlib.util.module_from_spec(spec)
        vars(module)["__builtins__"] = {**vars(builtins), "__import__": _import}
        sys.modules[name] = module
        try:
            if name not in _BARE:
                spec.loader.exec_module(module)
        except BaseException:
            sys.modules.pop(name, None)
            raise
        if parent:
            setattr(sys.modules[parent], child, module)
        return module


def _spec(name: str) -> ModuleSpec | None:
    """Where a module of the copy is, whose parent is loaded."""
    parent = name.rpartition(".")[0]
    if parent:
        return PathFinder.find_spec(name, sys.modules[parent].__path__)
    # Not `importlib.util.find_spec`: that answers with whatever another package has loaded under this name.
    found = PathFinder.find_spec(SDK)
    if found is None or found.origin is None:
        return None
    return importlib.util.spec_from_file_location(
        name, found.origin, submodule_search_locations=found.submodule_search_locations
    )


# What this package uses of the SDK.
if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from mcp.shared.exceptions import MCPError
else:
    ServerRequestContext = _load(f"{COPY}.server.context").ServerRequestContext
    Server = _load(f"{COPY}.server.lowlevel").Server
    StreamableHTTPSessionManager = _load(f"{COPY}.server.streamable_http_manager").StreamableHTTPSessionManager
    MCPError = _load(f"{COPY}.shared.exceptions").MCPError
