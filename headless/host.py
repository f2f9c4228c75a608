"""The running editor that the API's functions and objects speak to: one per process."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from headless.editor import Editor

Function = TypeVar("Function", bound=Callable[..., Any])
_current: Editor | None = None


def app() -> Editor:
    """The running editor.

    Raises RuntimeError before it has started and once the API has shut down.
    """
    if _current is None:
        raise RuntimeError("the plugin API is not available: no editor, or it has shut down")
    return _current


def install(application: Editor | None) -> None:
    """Make `application` the running editor; None shuts the API down."""
    global _current  # noqa: PLW0603 - the API is the process's, so its editor is too
    _current = application


def locked(function: Function) -> Function:
    """Run an API function that calls no plugin code under the editor's one lock."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with app().lock:
            return function(*args, **kwargs)

    return cast("Function", wrapper)


def not_offered(name: str) -> NotImplementedError:
    """The error for an API that the stand-in does not have."""
    return NotImplementedError(f"headless does not implement {name}")
