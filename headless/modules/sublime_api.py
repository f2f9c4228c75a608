"""The module `sublime_api`, the editor's private half of `sublime`: packages that import it can be loaded.

Its functions are not offered; calling one raises NotImplementedError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headless.host import not_offered


def __getattr__(name: str) -> Callable[..., Any]:
    """A function that is not offered."""
    if name.startswith("__"):
        raise AttributeError(name)

    def function(*args: Any) -> Any:
        raise not_offered(f"sublime_api.{name}")

    return function
