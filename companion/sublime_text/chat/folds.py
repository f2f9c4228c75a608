"""What is folded away in a chat: thoughts, the details of tool calls. What the person opens stays open."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

import sublime

if TYPE_CHECKING:
    from ...chat.transcript.render import Fold, Render


class ChatFolds:
    """Folds what is new in a view."""

    def __init__(self, view: sublime.View) -> None:
        self._view = view
        self._folds: tuple[Fold, ...] = ()
        self._opened: set[str] = set()
        """The keys of those that were open when the text was last made anew."""
        self._closed: set[str] = set()
        """The keys of those that are folded before a frame is shown: what is replaced there unfolds it."""

    def look(self, frame: Render) -> bool:
        """Before a frame is shown: see what the person has opened. Returns whether `show` has anything to do."""
        if not frame.anew and frame.folds == self._folds:
            end = self._folds[-1].end if self._folds else -1
            if all(edit.start > end for edit in frame.edits):
                return False  # as when an answer streams in
        folded = _Folded(self._view)
        self._closed = {fold.key for fold in self._folds if folded.over(fold)}
        if frame.anew:
            self._opened |= {fold.key for fold in self._folds}
            self._opened -= self._closed
        return True

    def show(self, frame: Render) -> None:
        """After it: fold what is new, and what has grown or was grown by the text behind it."""
        known = set[str]() if frame.anew else {fold.key for fold in self._folds}
        self._folds = frame.folds
        folded = _Folded(self._view)
        wrong: list[sublime.Region] = []
        wanted: list[sublime.Region] = []
        for fold in frame.folds:
            region, there = _region(fold), folded.over(fold)
            if fold.key in known:
                if fold.key in self._closed and there != region:
                    if there:
                        wrong.append(there)
                    wanted.append(region)
            elif fold.key not in self._opened:
                wanted.append(region)
        if wrong:
            # Folds inside one another would have to be opened one by one.
            self._view.unfold(wrong)
        if wanted:
            self._view.fold(wanted)

    def toggle(self, point: int) -> bool:
        """Open or fold what begins in the line of a point. Returns whether there is something."""
        line, folded = self._view.line(point), _Folded(self._view)
        found = [fold for fold in self._folds if line.begin() <= fold.start <= line.end()]
        open_them = [region for fold in found if (region := folded.over(fold))]
        if open_them:
            self._view.unfold(open_them)
        elif found:
            self._view.fold([_region(fold) for fold in found])
        return bool(found)


class _Folded:
    """What is folded in a view now."""

    def __init__(self, view: sublime.View) -> None:
        self._regions = sorted(view.folded_regions())
        self._starts = [region.begin() for region in self._regions]

    def over(self, fold: Fold) -> sublime.Region | None:
        """The region that is folded where a fold is, as it should be or not."""
        at = bisect_right(self._starts, fold.start)
        for region in self._regions[max(0, at - 1) : at + 1]:
            if region.begin() < fold.end and fold.start < region.end():
                return region
        return None


def _region(fold: Fold) -> sublime.Region:
    return sublime.Region(fold.start, fold.end)
