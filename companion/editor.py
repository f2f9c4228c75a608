"""The port: what the companion needs from an editor. Each room says in a file of its own what it needs.

An editor hands over the objects that show something. Their methods are called on the companion thread, and move the
call to the editor's own thread themselves. This module is imported before the libraries, so it uses the standard
library only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from .changes.change_screen import ChangeScreen
from .chats.chat_screen import ChatScreen
from .ids import WindowId
from .libraries.guard import Trouble
from .review.changes import Count
from .review.review_screen import ReviewScreen
from .server.window_screen import WindowScreen


@dataclass(frozen=True, slots=True)
class WindowStatus:
    """What the status bar shows of a window."""

    clis: tuple[str, ...] = ()
    """The names of the connected CLIs, in the order of their connection."""
    diffs: int = 0
    """How many diffs wait for the person."""
    questions: int = 0
    """How many questions of the chats wait that no diff shows."""
    asking: tuple[str, ...] = ()
    """The agents that ask them."""
    written: Count = field(default_factory=Count)
    """What is written and nobody has reviewed."""
    authors: tuple[str, ...] = ()
    """The agents that have written them."""
    unasking: tuple[str, ...] = ()
    """Those of the connected CLIs that change files without asking, as far as that is known."""


class StatusViews(Protocol):
    """The status of each window on the screen, called on the companion thread."""

    def show_status(self, window: WindowId, status: WindowStatus) -> None:
        """Show which CLIs are connected and how many diffs and questions wait. Called when that changes."""
        ...


class LibraryTroubles(Protocol):
    """Whoever mends the libraries, called on the companion thread."""

    def wrong(self, trouble: Trouble) -> None:
        """Tell the person what is wrong with the libraries, and offer the remedy."""
        ...


class Editor(WindowScreen, ReviewScreen, ChangeScreen, ChatScreen, Protocol):
    """Everything that the companion needs from an editor."""

    @property
    def status_bar(self) -> StatusViews:
        """The status of each window."""
        ...

    @property
    def libraries(self) -> LibraryTroubles:
        """Who mends the libraries."""
        ...
