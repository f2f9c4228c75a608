"""What is computed of the texts of open reviews, away from the loop: marks, edits, and the file read again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any
from weakref import WeakKeyDictionary

from ..editor import ReviewId, WindowId
from ..platforms.files import reason_of
from ..settings import Settings
from .changes import TextEdit, in_one
from .disk import read_file
from .marks import Marks, marks
from .review import Review
from .review_screen import ReviewScreen
from .source_text import endings_change
from .targets import Revert, Target, edits_of, taken_back

MOST_REVERTED = 50_000_000
"""Characters of the texts that a proposal keeps so that what was reverted can be taken back."""
NOT_EDITABLE = "Accept or reject {name} as a whole: {cli} takes no edits."
EDITED = "This change was edited meanwhile: look at it again."
NO_CHANGE = "There is no change at the caret."
TRIES = 5
"""How often the edits that take a revert back are computed again because the text has changed meanwhile."""


class ReviewTexts:
    """Compares and edits the texts of reviews, and has the editor show the outcome."""

    def __init__(
        self,
        editor: ReviewScreen,
        background: Callable[[Coroutine[Any, Any, object]], object],
        settings_of: Callable[[WindowId], Settings],
        find: Callable[[ReviewId], Review | None],
    ) -> None:
        """`settings_of` gives the settings of a window, `find` the open review with a number."""
        self._editor = editor
        self._background = background
        self._settings_of = settings_of
        self._find = find
        self._reverting: WeakKeyDictionary[Review, tuple[str, str]] = WeakKeyDictionary()
        """The text before and after the last edits of a proposal, if those revert something, until they are made."""

    def compare(self, number: ReviewId, text: str, version: int) -> None:
        """The proposal has been edited: mark its changes again."""
        if review := self._find(number):
            review.reverts = [each for each in review.reverts if each.before != text]
            if self._is_comparable(review, text):
                self._background(self._compare(review, text, version))
            else:
                self._editor.diffs.update_header(review)  # its header says why there are no marks

    def edit(self, number: ReviewId, target: Target, text: str, version: int) -> None:
        """Revert or restore changes of a proposal whose text is `text` at this version of its view.

        The answer is `edit_review`, whatever happens.
        """
        if review := self._editable(number):
            self._background(self._edit(review, target, text, version))
        elif review := self._find(number):
            self._editor.diffs.edit_review(review, [], version)

    def edited(self, number: ReviewId) -> None:
        """The last edits of `edit_review` were made: if they have reverted something, that can be taken back."""
        if (review := self._find(number)) and (texts := self._reverting.pop(review, None)):
            review.reverts.append(Revert(time.time(), *texts))
            kept = review.reverts
            while len(kept) > 1 and sum(len(before) + len(after) for _, before, after in kept) > MOST_REVERTED:
                del kept[0]

    async def take_back(self, review: Review) -> bool:
        """Take the last revert of a proposal back, or say that it was edited there. False if neither is needed."""
        revert, edits = review.reverts.pop(), list[TextEdit]()
        for _ in range(TRIES):
            text = await self._editor.diffs.review_text(review)
            if text is None or self._find(review.number) is not review:
                return False
            edits, is_edited = await asyncio.to_thread(taken_back, revert, text)
            if not edits or await self._editor.diffs.edit_text(review, edits, text):
                break
        else:
            is_edited = True
        if is_edited:
            why = f"{review.name} was edited where you had reverted it: that stays."
            self._editor.messenger.mention(why, review.window)
        return is_edited or bool(edits)

    def reload(self, number: ReviewId) -> None:
        """The person wants to see the file as it is now."""
        if review := self._editable(number):
            self._background(self._reload(review))

    def keep_endings(self, number: ReviewId, *, keeps: bool) -> None:
        """Revert or restore the change of line endings and of the byte order mark."""
        if review := self._editable(number):
            review.keeps_endings = keeps
            self._editor.diffs.update_header(review)

    async def marks(self, review: Review, text: str) -> Marks | None:
        """What is marked in a text of a review; None if the texts are too large."""
        return await asyncio.to_thread(marks, review.original, text) if self._is_comparable(review, text) else None

    async def endings(self, review: Review) -> str:
        """The change of line endings and of the byte order mark, in words; empty for none."""
        counts = self._is_comparable(review, review.shown)
        return await asyncio.to_thread(endings_change, review.disk.source, review.proposed, counts=counts)

    async def _compare(self, review: Review, text: str, version: int) -> None:
        found = await asyncio.to_thread(marks, review.original, text, review.shown)
        self._editor.diffs.show_marks(review, found, version)

    async def _edit(self, review: Review, target: Target, text: str, version: int) -> None:
        edits: list[TextEdit] = []
        try:
            action, edits = await asyncio.to_thread(edits_of, target, review.original, review.shown, text)
            self._reverting.pop(review, None)
            if edits and action == "revert":
                whole = await asyncio.to_thread(in_one, edits, text)
                self._reverting[review] = text, whole.apply(text)
            elif not edits:
                self._editor.messenger.mention(EDITED if target.fingerprints else NO_CHANGE, review.window)
        finally:
            self._editor.diffs.edit_review(review, edits, version)

    async def _reload(self, review: Review) -> None:
        try:
            disk = await asyncio.to_thread(read_file, review.file_path, review.encodings)
        except OSError as error:
            self._editor.messenger.say(f"{review.name} can't be read: {reason_of(error)}.", review.window)
            return
        if self._find(review.number) is review:
            review.disk, review.disk_state, review.seen = disk, "same", disk.stamp
            review.endings = await self.endings(review)
            self._editor.diffs.reload_review(review)

    def _editable(self, number: ReviewId) -> Review | None:
        """The open review with this number. None, and a message, if it can't be edited."""
        review = self._find(number)
        if review and not review.is_editable:
            self._editor.messenger.mention(NOT_EDITABLE.format(cli=review.owner.cli, name=review.name), review.window)
            return None
        return review

    def _is_comparable(self, review: Review, text: str) -> bool:
        """Whether a text can be compared with the file; the review notes why not."""
        review.unmarked = self._why_not(review, text)
        return not review.unmarked

    def _why_not(self, review: Review, text: str) -> str:
        limits = self._settings_of(review.window)
        if not review.disk.is_text:
            return "Not a text"
        # The limits apply to the file. Its proposal may be longer.
        for side, times in ((review.original, 1), (text, 2)):
            if len(side) > times * limits.max_marked_characters:
                return "Over “max_marked_characters”"
            if side.count("\n") > times * limits.max_marked_lines:
                return "Over “max_marked_lines”"
        return ""
