"""What was accepted, until the CLI has written it: if it never does, the person would have neither file nor text.

A CLI that takes no edits writes what it has proposed. What the person has made of that is written over it here.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any

from ..clis import families
from ..platforms.files import place, resolved
from .disk import encode_like, holds, read_bytes, stamp
from .review import Review
from .review_screen import ReviewScreen
from .source_text import SourceText

LIMIT = 10.0
"""Seconds within which a CLI has to write what was accepted."""
MODEL_LIMIT = 300.0
"""The same for a model that was told the text: it may think, and do other things, before it writes it."""
LOOK = 0.25
"""Seconds between two looks whether it has."""
MODEL_LOOK = 1.0
"""The same for a model."""
SOON = 0.02
"""The same just after the answer: what a CLI has written may be changed soon by its next edit or a formatter."""
LOOKS_SOON = 50
"""How many looks have this shorter pause."""


class Writes:
    """The accepted reviews whose files have not been written yet."""

    def __init__(
        self,
        editor: ReviewScreen,
        background: Callable[[Coroutine[Any, Any, object]], object],
        written: Callable[[Review, str], object],
    ) -> None:
        """`written` is called with each accepted proposal and its content once that was read from the disk."""
        self._editor = editor
        self._background = background
        self._written = written
        self.missing: dict[Review, str] = {}
        """The content that each of these files will have, for the proposals of CLIs."""

    def expect(self, review: Review, content: str) -> None:
        """The CLI or the agent is about to write this.

        If a CLI has not, the person hears of it, and the text is kept in a tab. A model has the text, and decides.
        """
        try:
            content.encode()
        except UnicodeEncodeError:  # nobody can write it; the CLI was not told
            return
        if review.request is None and not review.owner.is_model:
            self.missing[review] = content
        if review.is_here:
            self._background(self._await_write(review, content))

    async def _await_write(self, review: Review, content: str) -> None:
        cli, window = review.owner.cli, review.window
        is_written = await self._is_written(review, content)
        is_of_cli = self.missing.pop(review, None) is not None
        if is_written:
            self._written(review, content)
        elif is_of_cli:
            why = f"{cli} has not written {review.name} as you accepted it. The text that you accepted is kept here."
            self._editor.messenger.keep_text(window, review.name, SourceText(content).shown, why)

    async def _is_written(self, review: Review, content: str) -> bool:
        """Whether the file has the content before the time is over. It is read again when it has changed."""
        looked: object = ()
        proposed = review.proposed.source
        replaces = content != proposed and not families.takes_edits(review.owner.cli)
        limit, pause = (MODEL_LIMIT, MODEL_LOOK) if review.owner.is_model else (LIMIT, LOOK)
        for look in range(LOOKS_SOON + int(limit / pause)):
            if (seen := await asyncio.to_thread(stamp, review.file_path)) != looked:
                looked = seen
                if await asyncio.to_thread(holds, review.file_path, content, review.encodings):
                    return True
                if replaces and await asyncio.to_thread(holds, review.file_path, proposed, review.encodings):
                    replaces = False
                    with contextlib.suppress(OSError, UnicodeEncodeError):  # the text is kept in a tab then
                        await self._write(review, content)
            await asyncio.sleep(min(SOON, pause) if look < LOOKS_SOON else pause)
        return False

    async def _write(self, review: Review, content: str) -> None:
        """Write what the person has accepted over what the CLI has written. Raises OSError or UnicodeEncodeError."""
        path = await asyncio.to_thread(resolved, review.file_path)
        if not await self._editor.files.replace_buffer(path, SourceText(content).shown, keeps_unsaved=True):
            await asyncio.to_thread(_to_disk, path, content, review)


def _to_disk(path: str, content: str, review: Review) -> None:
    with place(path) as at:
        data, _ = read_bytes(path, at)
        # Whoever has written since then has not read this.
        if holds(path, review.proposed.source, review.encodings):
            at.replace(encode_like(content, data, review.encodings))
