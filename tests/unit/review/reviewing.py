"""Reviews as the tests need them."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from companion.editor import WindowId
from companion.review.changes import restore_edits, revert_edits
from companion.review.compare import Change
from companion.review.review import Review
from companion.review.reviews import Reviews
from companion.settings import Settings

from ..memory_editor import MemoryEditor


class NoHost:
    """The settings of a new installation; `written` are the texts of the proposals that are on the disk."""

    def __init__(self) -> None:
        self.settings = Settings()
        self.written: list[str] = []

    def settings_of(self, window: WindowId) -> Settings:
        return self.settings

    def changes_changed(self) -> None:
        """Nothing shows it."""

    def change_proposed(self, review: Review) -> None:
        """Nobody is told."""

    def proposal_answered(self, review: Review) -> None:
        """Nothing is offered."""

    def proposal_written(self, review: Review, text: str) -> None:
        self.written.append(text)


def reviews_in(
    editor: MemoryEditor, background: Callable[[Coroutine[Any, Any, object]], object], host: NoHost | None = None
) -> Reviews:
    """Reviews with the settings of a new installation, of which nobody hears but a host."""
    return Reviews(editor, host or NoHost(), background)


def revert(old: str, new: str, change: Change) -> str:
    """The new text with one of the changes undone."""
    return revert_edits(old, new, [change])[0].apply(new)


def restore(old: str, new: str, change: Change) -> str:
    """The old text with one of the changes made."""
    return restore_edits(old, new, [change])[0].apply(old)
