"""The diffs on the screen, in every window."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import sublime

from .diff_view import DiffView
from .windows import Focus, find_window, is_terminal, is_visible

if TYPE_CHECKING:
    from ..review import Review


class Diffs:
    """Opens and closes diffs, and knows which one a view belongs to. Lives on the UI thread."""

    def __init__(self, focus: Focus, *, accept: Callable[[int, str], None], reject: Callable[[int], None]) -> None:
        self._focus = focus
        self._accept = accept
        self._reject = reject
        self._open: dict[int, DiffView] = {}

    def open(self, review: Review, original: str) -> None:
        """Show a review in its session's window. The focus stays where it is, unless the diff covers that."""
        window = find_window(review.owner.window)
        if window is None:
            self._reject(review.number)
            return
        focus = self._focus.last(window)
        code = self._focus.last_code(window)
        group = window.get_view_index(code)[0] if code else window.active_group()
        diff = DiffView(window, max(group, 0), review, original, lambda href: self._clicked(diff, href))
        self._open[review.number] = diff
        beside = focus if focus and is_terminal(focus) and window.get_view_index(focus)[0] == diff.group else None
        diff.show(beside)
        window.focus_view(focus if focus and is_visible(focus) else diff.proposal)

    def text(self, review: Review) -> str | None:
        """The text of a review's proposal; None if it isn't on the screen."""
        diff = self._open.get(review.number)
        return diff.text() if diff else None

    def close(self, review: Review) -> None:
        """A review has its outcome: close its views and give the focus back."""
        diff = self._open.pop(review.number, None)
        if diff is None:
            return
        window = diff.window
        focus = self._focus.last(window) if window.is_valid() else None
        diff.close()
        if focus and is_visible(focus):
            window.focus_view(focus)

    def orphan(self, review: Review) -> None:
        """Nobody waits for a review any more."""
        if diff := self._open.get(review.number):
            diff.orphan()

    def find(self, view: sublime.View) -> DiffView | None:
        """The diff that a view belongs to."""
        return next((diff for diff in self._open.values() if view in (diff.original, diff.proposal)), None)

    def meant(self, view: sublime.View) -> DiffView | None:
        """The diff that a command means: that of the view, else the only one of the window."""
        if found := self.find(view):
            return found
        in_window = [diff for diff in self._open.values() if diff.window == view.window()]
        return in_window[0] if len(in_window) == 1 else None

    def accept(self, diff: DiffView) -> None:
        """The person accepts."""
        text = diff.text()
        if text is not None:
            self._accept(diff.review.number, text)

    def reject(self, diff: DiffView) -> None:
        """The person rejects."""
        self._reject(diff.review.number)

    def view_closed(self, view: sublime.View) -> None:
        """A view was closed; closing the proposal rejects it."""
        diff = self.find(view)
        if diff and view == diff.proposal:
            self.reject(diff)

    def close_all(self) -> None:
        """The package is unloaded: its diffs go, but for those that the person has edited."""
        for diff in self._open.values():
            if diff.text() in (None, diff.review.shown):
                diff.close()
            else:
                diff.release()
        self._open.clear()

    def _clicked(self, diff: DiffView, href: str) -> None:
        if href == "accept":
            self.accept(diff)
        else:
            self.reject(diff)
