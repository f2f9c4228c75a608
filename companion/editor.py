"""The port: what the companion asks of an editor. Each room says in its `port.py` what it needs itself.

Every method is called on the companion thread; an adapter brings the call to the thread that the editor wants.
This module is imported before the libraries are, so it needs the standard library alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from .chat.port import ChatScreen
from .libraries.guard import Trouble
from .review.port import ReviewViews
from .server.port import ContextSource


@dataclass(frozen=True, slots=True)
class WindowStatus:
    """What there is to say of a window in a few words."""

    clis: tuple[str, ...] = ()
    """The names of the CLIs that are connected, in the order in which they came."""
    diffs: int = 0
    """How many diffs wait for the person."""
    questions: int = 0
    """How many questions of the chat do that no diff shows."""


class Editor(ContextSource, ReviewViews, ChatScreen, Protocol):
    """All that the companion asks of an editor."""

    def listening(self, window: int, port: int) -> None:
        """A window is served on this port, which it should have again after a reload or a restart."""
        ...

    def libraries_wrong(self, trouble: Trouble) -> None:
        """Tell the person what is wrong with the libraries, and offer what mends it."""
        ...

    def show_status(self, window: int, status: WindowStatus) -> None:
        """Say in passing which CLIs are connected, how many diffs and questions wait. Called when that changes."""
        ...
