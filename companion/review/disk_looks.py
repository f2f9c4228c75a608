"""Looks at the files of open reviews, which may change while their diffs are on the screen."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable

from .disk import DiskFile, has_bytes, read_file, stamp
from .port import ReviewScreen
from .review import DiskState, Review

logger = logging.getLogger(__name__)


class DiskLooks:
    """Compares the files with what the diffs show."""

    def __init__(
        self,
        editor: ReviewScreen,
        is_open: Callable[[Review], bool],
        done: Callable[[Review], Awaitable[None]],
    ) -> None:
        """`done` is called for a CLI's review whose file holds the proposal already."""
        self._editor = editor
        self._is_open = is_open
        self._done = done
        self._looking: set[Review] = set()

    async def look(self, reviews: Iterable[Review]) -> None:
        """Look at the files of reviews, except those that are still being looked at."""
        watched = [review for review in reviews if review.is_shown and review.is_here and review not in self._looking]
        await asyncio.gather(*map(self._look_at, watched))

    async def _look_at(self, review: Review) -> None:
        """One file that can't be read, or takes for ever, is no reason to miss another."""
        self._looking.add(review)
        try:
            await self._compare_with_disk(review)
        except Exception:
            logger.exception("Can't look at the file of %s", review.name)
        finally:
            self._looking.discard(review)

    async def _compare_with_disk(self, review: Review) -> None:
        seen = await asyncio.to_thread(stamp, review.file_path)
        if seen == review.seen:
            return
        state: DiskState
        try:
            disk = await asyncio.to_thread(read_file, review.file_path, review.encodings)
        except OSError:
            disk, state = None, "unreadable"
        else:
            state = "changed" if disk.exists else "deleted"
        is_same = disk is not None and review.request is None and disk.exists and disk.source == review.proposed
        # The same text in another encoding is no change to the eye, but the CLI would write other bytes.
        is_done = is_same and await asyncio.to_thread(has_bytes, review.file_path, review.proposed.source)
        if not self._is_open(review) or review.orphaned:
            return
        review.seen = disk.stamp if disk else seen
        if is_done:
            await self._done(review)
            return
        if disk and not _differs(disk, review):
            state = "same"
        if state != review.disk_state:
            review.disk_state = state
            self._editor.diffs.update_header(review)


def _differs(disk: DiskFile, review: Review) -> bool:
    """Whether a file differs from what the diff shows. A daemon does not tell the line endings."""
    if review.request:
        return disk.source.shown != review.original
    return disk.source != review.disk.source
