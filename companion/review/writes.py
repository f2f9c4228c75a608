"""What was accepted, until the CLI has written it: if it never does, the person would have neither file nor text."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from .disk import holds, stamp
from .port import ReviewViews
from .review import Review
from .source_text import SourceText

LIMIT = 10.0
"""Seconds within which a CLI has to write what was accepted."""
LOOK = 0.25
"""Seconds between two looks whether it has."""


class Writes:
    """The accepted reviews whose files have not been written yet."""

    def __init__(self, editor: ReviewViews, background: Callable[[Coroutine[Any, Any, object]], object]) -> None:
        self._editor = editor
        self._background = background
        self.missing: dict[Review, str] = {}
        """The content that each of these files will have."""

    def expect(self, review: Review, content: str) -> None:
        """The CLI is about to write this. The person hears whether it has; if not, the text is kept in a tab."""
        self.missing[review] = content
        self._background(self._await_write(review, content))

    async def _await_write(self, review: Review, content: str) -> None:
        cli, window = review.owner.cli, review.owner.window
        is_written = await _is_written(review, content)
        del self.missing[review]
        if is_written:
            self._editor.mention(f"{cli} has written {review.name}.", window)
        else:
            why = f"{cli} has not written {review.name}. The text that you accepted is kept here."
            self._editor.keep_text(window, review.name, SourceText(content).shown, why)


async def _is_written(review: Review, content: str) -> bool:
    """Whether the file has the content before the time is over. It is read again when it has changed."""
    looked: object = ()
    for _ in range(int(LIMIT / LOOK)):
        if (seen := await asyncio.to_thread(stamp, review.file_path)) != looked:
            looked = seen
            if await asyncio.to_thread(holds, review.file_path, content, review.encodings):
                return True
        await asyncio.sleep(LOOK)
    return False
