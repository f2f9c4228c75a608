"""How the parts on the screen call the companion, and each other, across threads."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Hashable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import sublime

if TYPE_CHECKING:
    from ..companion import Companion

T = TypeVar("T")


class Post(Protocol):
    """Calls something on the companion thread, as `CompanionThread.post`."""

    def __call__(self, call: Callable[[Companion], object], replaces: Hashable = None) -> None:
        """Call it; until the companion has started, only the last of the calls that `replaces` names alike is kept."""
        ...


class AskLater(Protocol):
    """Asks the companion something; the answer comes on the UI thread, or an error's sentence does."""

    def __call__(
        self,
        window: sublime.Window,
        question: Callable[[Companion], Coroutine[Any, Any, T]],
        answer: Callable[[T], object],
        failed: Callable[[str], object] | None = None,
    ) -> None:
        """Ask. One of both is called, or with None the status bar tells the error."""
        ...


def unsaid(_: str) -> None:
    """Tell nobody why something could not be done that no person has asked for. It is logged."""


class OffThread(Protocol):
    """Calls something that may block on another thread, and then what takes its result on the UI thread."""

    def __call__(self, call: Callable[[], T], done: Callable[[T], object]) -> None:
        """Call `call` on another thread, then `done` with its result."""
        ...
