"""The editor's own commands, as far as packages and tests use them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from headless.window import WindowState

if TYPE_CHECKING:
    from headless.editor import Editor
    from headless.window import ViewState

TextFunction = WindowFunction = ApplicationFunction = Callable[..., object]
TEXT: dict[str, TextFunction] = {}
WINDOW: dict[str, WindowFunction] = {}
APPLICATION: dict[str, ApplicationFunction] = {}


def run(
    app: Editor,
    name: str,
    args: dict[str, Any],
    view: ViewState | None,
    window: WindowState | None,
) -> bool:
    """Run a built-in command; False if there is none of that name, or nothing to run it on.

    The editor ignores unknown commands silently, and so does this.
    """
    if name in TEXT and view is not None:
        TEXT[name](app, view, **_known(TEXT[name], args))
    elif name in WINDOW and window is not None:
        WINDOW[name](app, window, **_known(WINDOW[name], args))
    elif name in APPLICATION:
        APPLICATION[name](app, **_known(APPLICATION[name], args))
    else:
        return False
    return True


def _known(function: Callable[..., object], args: dict[str, Any]) -> dict[str, Any]:
    """The arguments that a command takes; the editor ignores others, such as `panel` of hide_panel."""
    parameters = inspect.signature(function).parameters
    if any(each.kind is each.VAR_KEYWORD for each in parameters.values()):
        return args
    return {name: value for name, value in args.items() if name in parameters}


def text_command(function: TextFunction) -> TextFunction:
    """Register a command that runs on a view."""
    TEXT[function.__name__] = function
    return function


def window_command(function: WindowFunction) -> WindowFunction:
    """Register a command that runs on a window."""
    WINDOW[function.__name__] = function
    return function


def application_command(function: ApplicationFunction) -> ApplicationFunction:
    """Register a command of the application."""
    APPLICATION[function.__name__] = function
    return function
