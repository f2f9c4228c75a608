"""What is folded away in a chat: thoughts, the details of tool calls. What the person opens stays open."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sublime

if TYPE_CHECKING:
    from ..daemon.frame import Fold, Frame


class ChatFolds:
    """Folds what is new in a view."""

    def __init__(self, view: sublime.View) -> None:
        self._view = view
        self._folds: tuple[Fold, ...] = ()
        self._opened: set[str] = set()
        """The keys of those that the person has opened."""

    def look(self, frame: Frame) -> list[Fold]:
        """Before a frame is shown: returns what is to be folded afterwards, having seen what the person has opened."""
        if frame.folds == self._folds and not frame.anew:
            return []
        known = {fold.key: fold for fold in self._folds}
        changed: list[Fold] = []
        for fold in frame.folds:
            old = known.get(fold.key)
            if old and not frame.anew and old.end - old.start == fold.end - fold.start:
                continue
            changed.append(fold)
            if old and old.start < old.end:
                if self._view.is_folded(_region(old)):
                    self._opened.discard(fold.key)
                    # Folds inside one another would have to be opened one by one.
                    self._view.unfold(_region(old))
                else:
                    self._opened.add(fold.key)
        return changed

    def show(self, frame: Frame, changed: list[Fold]) -> None:
        """After it: fold what `look` has found."""
        self._folds = frame.folds
        regions = [_region(fold) for fold in changed if fold.key not in self._opened and fold.start < fold.end]
        if regions:
            self._view.fold(regions)

    def toggle(self, point: int) -> bool:
        """Open or fold what begins in the line of a point. Returns whether there is something."""
        line = self._view.line(point)
        regions = [_region(fold) for fold in self._folds if line.begin() <= fold.start <= line.end()]
        folded = [region for region in regions if self._view.is_folded(region)]
        if folded:
            self._view.unfold(folded)
        elif regions:
            self._view.fold(regions)
        return bool(regions)


def _region(fold: Fold) -> sublime.Region:
    return sublime.Region(fold.start, fold.end)
