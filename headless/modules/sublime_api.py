"""The module `sublime_api`, the editor's private half of `sublime`: packages that import it can be loaded.

Most of its functions are not offered; calling one raises NotImplementedError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headless.host import app, not_offered


def view_run_command(view_id: int, cmd: str, args: dict[str, Any] | None) -> None:
    """What View.run_command does."""
    view = app().view(view_id)
    if view.valid:
        app().commands.run_text(cmd, args, view)


def window_run_command(window_id: int, cmd: str, args: dict[str, Any] | None) -> None:
    """What Window.run_command does."""
    window = app().window(window_id)
    if window is not None:
        app().commands.run(cmd, args, window.active_view, window)


def __getattr__(name: str) -> Callable[..., Any]:
    """A function that is not offered."""
    if name.startswith("__"):
        raise AttributeError(name)

    def function(*args: Any) -> Any:
        raise not_offered(f"sublime_api.{name}")

    return function
