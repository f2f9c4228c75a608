"""The diffs on the screen, in every window."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import sublime

from ..windows import DIFF_SETTING, Focus, find_window, is_chat, is_terminal, is_visible
from .leftovers import clear
from .view import DiffView, Layout

if TYPE_CHECKING:
    from ...review.changes import Edit
    from ...review.marks import Marks
    from ...review.review import Review
    from ...review.reviews import Reviews

QUIET = 150
"""Milliseconds without an edit before the changes are marked again."""


class Diffs:
    """Opens and closes diffs, and knows which one a view belongs to. Used on the UI thread only.

    `tell` runs a function with the reviews on the companion thread, which decides alone.
    """

    def __init__(
        self,
        focus: Focus,
        tell: Callable[[Callable[[Reviews], object]], None],
        layout: Callable[[sublime.Window], Layout],
    ) -> None:
        self._focus = focus
        self._tell = tell
        self._layout = layout
        self._open: dict[int, DiffView] = {}

    def open(self, review: Review, marks: Marks | None) -> None:
        """Show a review in its session's window. The focus stays where it is, unless the diff covers that view."""
        window = find_window(review.owner.window)
        if window is None:
            self._tell(lambda reviews: reviews.reject(review.number))
            return
        focus = self._focus.last(window)
        code = self._focus.last_code(window)
        group = window.get_view_index(code)[0] if code else window.active_group()
        layout, before = self._layout(window), self._focus.before(window, focus)
        diff = DiffView(window, max(group, 0), review, layout, before, lambda href: self._clicked(diff, href))
        self._open[review.number] = diff
        diff.show_marks(marks)
        stays = focus is not None and (is_terminal(focus) or is_chat(focus))
        diff.show(focus if focus and stays and window.get_view_index(focus)[0] == diff.group else None)
        self._focus.give(window, focus if focus and is_visible(focus) else diff.proposal)

    def text(self, review: Review) -> str | None:
        """The text of a review's proposal, or None if it isn't open."""
        diff = self._open.get(review.number)
        return diff.text() if diff else None

    def show_marks(self, review: Review, marks: Marks, version: int) -> None:
        """Mark the changes of a proposal, unless it has been edited since."""
        diff = self._open.get(review.number)
        if diff and diff.proposal.is_valid() and diff.proposal.change_count() == version:
            diff.show_marks(marks)

    def apply(self, review: Review, edit: Edit, version: int) -> None:
        """Edit a proposal, unless it has been edited since."""
        diff = self._open.get(review.number)
        if diff and diff.proposal.is_valid() and diff.proposal.change_count() == version:
            diff.apply(edit)

    def close(self, review: Review) -> None:
        """A review has its outcome: close its views and restore the focus."""
        diff = self._open.pop(review.number, None)
        if diff is None:
            return
        window = diff.window
        focus = self._focus.last(window) if window.is_valid() else None
        after = diff.focus_before if focus in diff.views else self._focus.before(window, focus)
        for other in self._open.values():
            other.take_over(diff)
        diff.close()
        after.restore()

    def changed_on_disk(self, review: Review) -> None:
        """The file differs from what the diff shows."""
        if diff := self._open.get(review.number):
            diff.warn_changed_on_disk()

    def orphan(self, review: Review) -> None:
        """Nobody waits for this review."""
        if diff := self._open.get(review.number):
            diff.orphan()

    def find(self, view: sublime.View) -> DiffView | None:
        """The diff that a view belongs to."""
        return next((diff for diff in self._open.values() if view in (diff.original, diff.proposal)), None)

    def in_window(self, window: sublime.Window | None) -> list[DiffView]:
        """The diffs of a window, in the order of their opening."""
        return [diff for diff in self._open.values() if diff.window == window]

    def meant(self, view: sublime.View) -> DiffView | None:
        """The diff that a command refers to: the one of the view, else the only one of the window."""
        if found := self.find(view):
            return found
        in_window = self.in_window(view.window())
        return in_window[0] if len(in_window) == 1 else None

    def accept(self, diff: DiffView) -> None:
        """The person accepts."""
        text = diff.text()
        if text is not None:
            self._tell(lambda reviews: reviews.accept(diff.review.number, text))

    def reject(self, diff: DiffView) -> None:
        """The person rejects."""
        self._tell(lambda reviews: reviews.reject(diff.review.number))

    def revert(self, diff: DiffView, line: int | None = None) -> None:
        """Undo the change at a line, or at the caret."""
        self._at_line(diff, line, lambda reviews, *where: reviews.revert(*where))

    def restore(self, diff: DiffView) -> None:
        """Restore the change at the caret as it was proposed."""
        self._at_line(diff, None, lambda reviews, *where: reviews.restore(*where))

    def show(self, diff: DiffView) -> None:
        """Show a diff and focus its proposal."""
        diff.show()
        diff.window.focus_view(diff.proposal)

    def edited(self, view: sublime.View) -> None:
        """A view was edited. The marks of a proposal are updated after a short pause."""
        diff = self.find(view) if self._open else None
        if diff and view == diff.proposal:
            version = view.change_count()
            sublime.set_timeout(lambda: self._compare(diff, version), QUIET)
        for other in self._open.values() if view.file_name() else ():
            other.file_edited(view)

    def view_closed(self, view: sublime.View) -> None:
        """A view was closed. Closing the proposal rejects it."""
        diff = self.find(view)
        if diff and view == diff.proposal:
            self.reject(diff)

    def clear_leftovers(self, window: sublime.Window) -> list[str]:
        """Sublime has restored a window's views. Close those of old diffs; the result names the tabs that were kept."""
        live = {view.buffer_id() for diff in self._open.values() for view in diff.views}
        left = [view for view in window.views() if _is_of_diff(view) and view.buffer_id() not in live]
        return [name for view in left for name in [view.name()] if clear(view)]

    def close_all(self) -> None:
        """The package is unloaded: close its diffs, except those that the person has edited."""
        for diff in self._open.values():
            if diff.text() in (None, diff.review.shown):
                diff.close()
            else:
                diff.release()
        self._open.clear()

    def _compare(self, diff: DiffView, version: int) -> None:
        if diff.needs_marks(version) and (text := diff.text()) is not None:
            self._tell(lambda reviews: reviews.compare(diff.review.number, text, version))

    def _at_line(self, diff: DiffView, line: int | None, call: Callable[[Reviews, int, str, int, int], None]) -> None:
        text = diff.text()
        selection = diff.proposal.sel()
        if text is not None and (line is not None or len(selection)):
            at = line if line is not None else diff.proposal.rowcol(selection[0].b)[0]
            version = diff.proposal.change_count()
            self._tell(lambda reviews: call(reviews, diff.review.number, text, at, version))

    def _clicked(self, diff: DiffView, href: str) -> None:
        what, _, index = href.partition(":")
        match what:
            case "accept":
                self.accept(diff)
            case "reject":
                self.reject(diff)
            case "next":
                diff.go(1)
            case "previous":
                diff.go(-1)
            case "revert" if (line := diff.line_of_change(int(index))) is not None:
                self.revert(diff, line)
            case _:
                pass


def _is_of_diff(view: sublime.View) -> bool:
    return view.settings().get(DIFF_SETTING) in ("original", "proposal")
