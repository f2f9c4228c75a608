"""Packages whose `__init__` waits until somebody asks for a name of theirs.

`mcp/__init__.py` and `mcp/server/__init__.py` import the SDK's client and its high-level server, and with them
cryptography, cffi and pywin32, which a low-level server never uses. Here such an `__init__` runs when a name that the
package doesn't have yet is asked for, by whoever asks: another plugin's `from mcp import ClientSession` works as ever.
Nothing is replaced by a stub, and nothing happens to a package that is imported already.

A `_Waiting` outlives this package, since it is in `sys.modules` for as long as the process runs. So it uses nothing but
the standard library and this module's own globals, which it keeps alive.
"""

from __future__ import annotations

import importlib.util
import sys
import threading
from types import ModuleType

SDK = ("mcp", "mcp.server")
"""The SDK's packages that import more than a server needs; a parent stands before its children."""

_lock = threading.RLock()


class _Waiting(ModuleType):
    """A package whose `__init__` has not run yet. Once it has, this is a module like any other."""

    def __getattr__(self, name: str) -> object:
        # Tools that look through all modules ask for names like __wrapped__, and mean nothing by it.
        if name.startswith("__") and name != "__all__":
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        _run(self)
        return getattr(self, name)

    def __dir__(self) -> list[str]:
        _run(self)
        return dir(self)


def put_off(packages: tuple[str, ...] = SDK) -> None:
    """Let the `__init__` of each package wait. One that is missing is left for its importer to complain about."""
    for name in packages:
        with _lock:
            spec = None if name in sys.modules else importlib.util.find_spec(name)
            if spec is None or spec.loader is None:
                return
            module = importlib.util.module_from_spec(spec)
            module.__class__ = _Waiting
            sys.modules[name] = module
            parent, _, child = name.rpartition(".")
            if parent:
                setattr(sys.modules[parent], child, module)


def take_back(packages: tuple[str, ...] = SDK) -> None:
    """Forget the packages that still wait: they were found where nothing could be imported."""
    with _lock:
        for name in reversed(packages):
            if _waits(sys.modules.get(name)):
                del sys.modules[name]


def _waits(module: ModuleType | None) -> bool:
    return type(module) is _Waiting


def _run(module: ModuleType) -> None:
    """Run the `__init__` of a package that waits, once."""
    with _lock:
        if not _waits(module):
            return
        spec = module.__spec__
        if spec is None or spec.loader is None:  # never: see `put_off`
            raise ImportError(f"{module.__name__} has no loader")
        module.__class__ = ModuleType  # what it imports may ask it for its names
        try:
            spec.loader.exec_module(module)
        except BaseException:
            module.__class__ = _Waiting  # the next one to ask hears of it as well
            raise
