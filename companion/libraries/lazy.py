"""Delays the `__init__` of packages until one of their names is needed.

`mcp/__init__.py` and `mcp/server/__init__.py` import the SDK's client and its high-level server, and with them
cryptography, cffi and pywin32, which a low-level server never uses. Here such an `__init__` runs at the first access
to a name that the package doesn't have yet, so another plugin's `from mcp import ClientSession` works as usual. Nothing
is replaced by a stub, and a package that is already imported is left alone.

A `_Waiting` outlives this package, since it is in `sys.modules` for as long as the process runs. So it uses nothing but
the standard library and this module's own globals, which it keeps alive.
"""

from __future__ import annotations

import contextlib
import importlib.util
import sys
import threading
from collections.abc import Generator
from types import ModuleType

SDK = ("mcp", "mcp.server")
"""The SDK's packages that import more than a server needs, each parent before its children."""

PATIENCE = 30.0
"""Seconds that a thread waits for an `__init__` that another thread runs."""

_lock = threading.RLock()
_running: list[ModuleType] = []
"""The packages whose `__init__` is running, in the thread that holds the lock."""


class _Waiting(ModuleType):
    """A package whose `__init__` has not run yet. Once it has, this is a module like any other."""

    def __getattr__(self, name: str) -> object:
        # Tools that inspect all modules look up names like __wrapped__. That is no reason to load the package.
        if name.startswith("__") and name != "__all__":
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        _run(self)
        return ModuleType.__getattribute__(self, name)

    def __dir__(self) -> list[str]:
        _run(self)
        return dir(self) if not _waits(self) else list(vars(self))


@contextlib.contextmanager
def models_later() -> Generator[None]:
    """Let pydantic build the validators of each model that is defined meanwhile when it is first used.

    The SDK has some 600 models, of which a server needs 30, and those of the chats are not needed before there is one.
    A model of another plugin that is defined at this very moment is built later too, which it notices as little.
    """
    from pydantic import BaseModel  # noqa: PLC0415 - this module is imported before the libraries are

    BaseModel.model_config["defer_build"] = True
    try:
        yield
    finally:
        BaseModel.model_config.pop("defer_build", None)


def put_off(packages: tuple[str, ...] = SDK) -> None:
    """Delay the `__init__` of each package. A missing package is left to fail where it is imported."""
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
    """Remove the packages that still wait, after an import that failed."""
    with _lock:
        for name in reversed(packages):
            if _waits(sys.modules.get(name)):
                del sys.modules[name]


def _waits(module: ModuleType | None) -> bool:
    return type(module) is _Waiting


def _run(module: ModuleType) -> None:
    """Run the `__init__` of a package that waits, once. Other threads that ask for a name wait until it has run.

    Two threads that import each other's modules could wait for each other. After `PATIENCE` seconds the name is missing
    instead, as in a circular import.
    """
    if not _lock.acquire(timeout=PATIENCE):
        return
    try:
        # What the `__init__` imports may ask this module for its names, in this thread.
        if not _waits(module) or module in _running:
            return
        spec = module.__spec__
        if spec is None or spec.loader is None:  # never: see `put_off`
            raise ImportError(f"{module.__name__} has no loader")
        _running.append(module)
        try:
            spec.loader.exec_module(module)
        finally:
            _running.remove(module)
        module.__class__ = ModuleType
    finally:
        _lock.release()
