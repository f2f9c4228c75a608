"""Messages to the person: the part of the editor's port that every room needs. Standard library only."""

from __future__ import annotations

from typing import Protocol

from .ids import WindowId


class Messages(Protocol):
    """Messages to the person, from the companion thread."""

    def mention(self, message: str, window: WindowId) -> None:
        """Show one sentence for a moment."""
        ...

    def say(self, message: str, window: WindowId | None = None) -> None:
        """Show a problem and keep it for the status report. Without a window, the one in front shows it."""
        ...

    def settle(self, message: str) -> None:
        """The problem that `say` told is over."""
        ...

    def keep_text(self, window: WindowId, title: str, text: str, why: str) -> None:
        """Show text that would be lost in a new view, and say why."""
        ...
