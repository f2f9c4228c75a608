"""Reviews: one proposed change each, from openDiff to its single outcome (design.md, "A review").

All of this happens on the companion thread, which alone decides: whatever comes first is the outcome, and what
comes after it finds no open review.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from .editor import Editor
from .protocol import DiffAccepted, DiffAcceptedParams, DiffOutcomeParams, DiffRejected, Notification
from .text import SourceText, decode

logger = logging.getLogger(__name__)

EMPTY_REFUSED = (
    "An empty file can't be accepted: {cli} would write its own proposal instead. "
    "Reject the diff, or keep a line in it."
)


class Owner(Protocol):
    """The session that opened a diff, and alone hears of its outcome."""

    @property
    def window(self) -> int:
        """The window that the session belongs to."""
        ...

    @property
    def cli(self) -> str:
        """The name of the CLI, for messages."""
        ...

    def notify(self, notification: Notification) -> None:
        """Send a notification on the session's stream, or as soon as that is back."""
        ...


@dataclass(eq=False)
class Review:
    """One proposed change. `file_path` is the very string that openDiff got, and is said back as it is."""

    owner: Owner
    file_path: str
    proposed: SourceText
    number: int = field(default_factory=itertools.count(1).__next__)
    orphaned: bool = False
    """The session is gone: nobody waits for the outcome."""

    @property
    def name(self) -> str:
        """The file's name."""
        return os.path.basename(self.file_path)

    @property
    def shown(self) -> str:
        """The proposal as a view shows it."""
        return self.proposed.shown


class Reviews:
    """The reviews that are open, in the order in which they were opened."""

    def __init__(self, editor: Editor, background: Callable[[Coroutine[Any, Any, object]], object]) -> None:
        self._editor = editor
        self._background = background
        self._open: dict[tuple[Owner, str], Review] = {}

    def __iter__(self) -> Iterator[Review]:
        return iter(list(self._open.values()))

    def open(self, owner: Owner, file_path: str, content: str) -> Review:
        """A CLI proposes a change. An open review of the same session and path is superseded, silently."""
        if old := self._open.pop((owner, file_path), None):
            self._background(self._close_views(old, "was proposed anew"))
        review = self._open[owner, file_path] = Review(owner, file_path, SourceText(content))
        self._background(self._show(review))
        return review

    def find(self, number: int) -> Review | None:
        """The open review of that number."""
        return next((review for review in self if review.number == number), None)

    def accept(self, number: int, text: str) -> None:
        """The person accepts, with the text of the proposal's view."""
        review = self.find(number)
        if review is None:
            return
        content = review.proposed.restore(text)
        if not content and review.proposed.source:
            self._editor.say(EMPTY_REFUSED.format(cli=review.owner.cli), review.owner.window)
            return
        if review.orphaned:
            self._editor.say(f"{review.owner.cli} is gone, so nobody writes {review.name}.", review.owner.window)
            return
        self._settle(review)
        review.owner.notify(DiffAccepted(params=DiffAcceptedParams(file_path=review.file_path, content=content)))
        self._editor.dismiss_review(review)

    def reject(self, number: int) -> None:
        """The person rejects, by command or by closing the view."""
        review = self.find(number)
        if review is not None:
            self._reject(review)

    def reject_window(self, window: int) -> None:
        """A window closes, and its diffs with it."""
        for review in self:
            if review.owner.window == window:
                self._reject(review)

    def reject_all(self) -> None:
        """The companion stops: a CLI that is left waiting would never show a diff again (qwen-ide.md §6)."""
        for review in self:
            self._reject(review)

    async def close(self, owner: Owner, file_path: str) -> str | None:
        """The CLI closes a diff, most often because the person has answered in the terminal.

        Returns the final text, None if no such diff is open. Nothing is notified. Text that the person has edited is
        kept: Qwen Code 0.15 and later write their own proposal after a "yes" in the terminal (qwen-ide.md §6).
        """
        review = self._open.pop((owner, file_path), None)
        return None if review is None else await self._close_views(review, "was answered in the terminal")

    def orphan(self, owner: Owner) -> None:
        """A session is gone for good."""
        for review in self:
            if review.owner is owner and not review.orphaned:
                review.orphaned = True
                self._editor.orphan_review(review)

    def _reject(self, review: Review) -> None:
        self._settle(review)
        if not review.orphaned:
            review.owner.notify(DiffRejected(params=DiffOutcomeParams(file_path=review.file_path)))
        self._editor.dismiss_review(review)

    def _settle(self, review: Review) -> None:
        del self._open[review.owner, review.file_path]

    async def _show(self, review: Review) -> None:
        try:
            original = await asyncio.to_thread(read_text, Path(review.file_path))
            if self.find(review.number):
                await self._editor.show_review(review, original)
        except Exception:
            logger.exception("Can't show the diff of %s", review.name)
            self._editor.say(f"The diff of {review.name} could not be shown, so it is rejected.", review.owner.window)
            self.reject(review.number)

    async def _close_views(self, review: Review, what: str) -> str:
        shown = await self._editor.review_text(review)
        self._editor.dismiss_review(review)
        if shown is None or shown == review.shown:
            return review.proposed.source
        why = f"The diff of {review.name} {what}. Your edits are kept here: the CLI may not write them."
        self._editor.keep_text(review.owner.window, review.name, shown, why)
        return review.proposed.restore(shown)


def read_text(path: Path) -> str:
    """A file's text as a view shows it; empty if there is no such file. Raises OSError if it can't be read."""
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return ""
    return SourceText(decode(data)).shown
