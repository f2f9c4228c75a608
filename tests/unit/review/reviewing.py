"""Reviews as the tests need them."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from companion.review.changes import restore_edits, revert_edits
from companion.review.compare import Change
from companion.review.reviews import Reviews
from companion.settings import Settings

from ..memory_editor import MemoryEditor


def reviews_in(editor: MemoryEditor, background: Callable[[Coroutine[Any, Any, object]], object]) -> Reviews:
    """Reviews with the settings of a new installation, of which nobody else hears."""
    return Reviews(editor, background, lambda _: Settings(), lambda: None, lambda *_: None, lambda _: None)


def revert(old: str, new: str, change: Change) -> str:
    """The new text with one of the changes undone."""
    return revert_edits(old, new, [change])[0].apply(new)


def restore(old: str, new: str, change: Change) -> str:
    """The old text with one of the changes made."""
    return restore_edits(old, new, [change])[0].apply(old)
