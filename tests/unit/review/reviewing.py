"""Reviews as the tests need them."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from companion.review.reviews import Reviews
from companion.settings import Settings

from ..memory_editor import MemoryEditor


def reviews_in(editor: MemoryEditor, background: Callable[[Coroutine[Any, Any, object]], object]) -> Reviews:
    """Reviews with the settings of a new installation, of which nobody else hears."""
    return Reviews(editor, background, lambda _: Settings(), lambda: None, lambda *_: None, lambda _: None)
