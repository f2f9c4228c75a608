"""How a person is told something: the part of an editor that every room needs. Standard library alone."""

from __future__ import annotations

from typing import Protocol


class Messages(Protocol):
    """Messages to the person, from the companion thread."""

    def mention(self, message: str, window: int) -> None:
        """Tell the person one sentence in passing."""
        ...

    def say(self, message: str, window: int | None = None) -> None:
        """Tell the person of a problem so that it can be read later too; without a window, in the one in front."""
        ...

    def keep_text(self, window: int, title: str, text: str, why: str) -> None:
        """Show text that would be lost in a view of its own, and say why it is there."""
        ...
