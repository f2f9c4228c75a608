"""Questions to the companion that take a while."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import sublime

if TYPE_CHECKING:
    from ...companion import Companion

T = TypeVar("T")


class AskLater(Protocol):
    """Asks the companion something; the answer comes on the UI thread."""

    def __call__(
        self,
        window: sublime.Window,
        question: Callable[[Companion], Coroutine[Any, Any, T]],
        answer: Callable[[T], object],
    ) -> None:
        """Ask."""
        ...
