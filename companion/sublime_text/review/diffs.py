"""The diffs on the screen, in every window."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import sublime

from ...editor import Visit, WindowId
from ..bridge import asked, posted
from ..buffers import text_of
from ..own_views import SIDES, VIEWS
from ..panels import NOTICES
from ..windows import FocusBefore, GroupContents, find_window, is_in_panel, is_visible, real_path
from .answers import SETTLED, Answers, accepted
from .diff_marks import make_edits
from .diff_view import DiffView, InheritedViews, abandon, clear, keep_unwritten

if TYPE_CHECKING:
    from ...editor import ReviewId
    from ...review.changes import TextEdit
    from ...review.marks import Marks
    from ...review.review import Review
    from ...review.reviews import Reviews
    from ..adapter import Adapter
    from .diff_view import Layout

logger = logging.getLogger(__name__)
CALM = 50
"""Milliseconds after which the next diff opens where one has closed or gone: its CLI may close several."""
SIDE_COLUMNS = 80
"""With fewer columns for each side, a diff is inline if the setting leaves that open."""
QUIET = 150
"""Milliseconds without an edit before the changes are marked again."""


class Diffs:
    """Opens and closes diffs, and knows which one a view belongs to. Used on the UI thread, but for `DiffViews`."""

    def __init__(self, adapter: Adapter) -> None:
        self.bridge = adapter.bridge
        self._adapter = adapter
        self._open: dict[int, DiffView] = {}
        self._later: list[Callable[[], object]] | None = []
        """What waits until it is known which diffs from before a reload go on; None since then."""
        self.answers = Answers(adapter)

    @property
    def are_awaited(self) -> bool:
        """Whether it is not known yet which diffs from before a reload go on."""
        return self._later is not None and self._adapter.thread.is_reload

    def awaits(self, view: sublime.View) -> bool:
        """Whether a view is that of such a diff."""
        return self.are_awaited and VIEWS.is_ours(view, *SIDES)

    def later(self, command: Callable[[], object]) -> None:
        """Run a command as soon as that is known."""
        if self._later is not None:
            self._later.append(command)

    def tell(self, call: Callable[[Reviews], object]) -> None:
        """Call something with the companion's reviews on the companion thread, which decides alone."""
        self._adapter.thread.post(lambda companion: call(companion.reviews))

    @asked(waits=True)
    def show_review(self, review: Review, marks: Marks | None) -> None:
        # In a tab at once if no other diff has one there; else when the person goes to it, or the one before is over.
        window = find_window(review.owner.window)
        if window is None:
            self.tell(lambda reviews: reviews.reject(review.number))
            return
        if not self.in_window(window):
            self._adapter.review.feed(window).note_proposal()
        diff = self._begin(window, review, marks)
        if not any(other.is_open for other in self.in_window(window)):
            self._open_by_itself(diff)
        if review.is_here:
            self._adapter.following.visited(window, [Visit(review.file_path, None, review.owner.cli, "proposal")])

    def _open_by_itself(self, diff: DiffView) -> None:
        """Open the tab of a diff. The focus stays where it is, and the view that has it stays beside the proposal."""
        window = diff.window
        focus = self._adapter.focus.last(window)
        is_focused = focus is not None and is_visible(focus)
        before, group = self._adapter.focus.before(window, focus), self._adapter.focus.code_group(window)
        beside = focus if is_focused and GroupContents(window, group).shows(focus) else None
        diff.open(group, self._layout(diff.review, window, group, is_alone=beside is None), before)
        diff.show(beside)
        diff.attention.appeared()
        if focus and is_focused:
            self._adapter.focus.give(window, focus)
        else:
            diff.attention.has_landed = True
            self._adapter.focus.give(window, diff.proposal)

    def _open_for_person(self, diff: DiffView, before: FocusBefore | None = None) -> None:
        """Open the tab of a diff to which the person goes. `before` is where the focus goes back to afterwards."""
        if not diff.is_open:
            window, group = diff.window, self._adapter.focus.code_group(diff.window)
            before = before or self._adapter.focus.before(window, self._adapter.focus.last(window))
            diff.open(group, self._layout(diff.review, window, group), before)

    def open_behind(self, diff: DiffView) -> None:
        """Open the tab of a diff that the person edits from elsewhere. The focus stays where it is."""
        if not diff.is_open and (focus := self._adapter.focus.last(diff.window)):
            self._open_for_person(diff)
            self._adapter.focus.give(diff.window, focus)

    def _layout(self, review: Review, window: sublime.Window, group: int, *, is_alone: bool = True) -> Layout:
        """How a diff is to be shown in a group. With "auto", side by side only if each side has its columns."""
        if not review.disk.exists:  # a new file has nothing on the left
            return "inline"
        wanted: Literal["auto", "side_by_side", "inline"] = self._adapter.settings.of(window, "diff_layout")
        if wanted != "auto":
            return wanted
        return "side_by_side" if is_alone and _columns(window, group) >= 2 * SIDE_COLUMNS else "inline"

    @asked(waits=True)
    def review_text(self, review: Review) -> str | None:
        diff = self._open.get(review.number)
        return diff.text() if diff else None

    @asked(waits=True)
    def edit_text(self, review: Review, edits: Sequence[TextEdit], text: str) -> bool:
        diff = self._open.get(review.number)
        if not diff or not diff.is_open or not diff.proposal.is_valid() or text_of(diff.proposal) != text:
            return False
        make_edits(diff.proposal, edits, moves_carets=False)
        return True

    def after_commands(self, window: sublime.Window, then: Callable[[], object]) -> None:
        """Run something as soon as the commands that were given on the changes of a window's diffs are done."""
        if self.are_awaited:
            self.later(lambda: self.after_commands(window, then))
            return
        for diff in self.in_window(window):
            if diff.actions.is_busy and not diff.attention.is_answered:
                then = partial(diff.actions.add, then)
        then()

    @posted
    def dismiss_review(self, review: Review) -> None:
        if (diff := self._open.get(review.number)) is None:
            return
        order = self.in_window(diff.window)
        del self._open[review.number]
        diff.is_kept = True
        window = diff.window
        self._adapter.review.feed(window).note_answer(diff)
        self._adapter.review_changed(window)
        focus = self._adapter.focus.last(window) if window.is_valid() else None
        was_in_diff = focus is not None and diff.has(focus)
        # If the CLI has closed the diff, the person may be typing in it: that must not go on in the next one.
        goes_on = was_in_diff and diff.attention.is_answered
        keeps_focus = not diff.is_open or (focus is not None and not was_in_diff)
        after = self._adapter.focus.before(window, focus) if keeps_focus else diff.focus_before
        was_shown = diff.is_shown
        for other in self._open.values():
            other.take_over(diff)
        hidden = [other for other in self.in_window(window) if not other.is_shown]
        diff.close()
        if diff.attention.is_answered and diff.review.outcome == "accepted" and window.is_valid():
            rest = [other for other in self.in_window(window) if not other.attention.is_answered]
            NOTICES.add(accepted(diff, rest), window)
        at = order.index(diff)
        following = (*order[at + 1 :], *order[:at])
        waiting = [other for other in following if not other.attention.is_answered]
        here = [other for other in waiting if other.is_open and diff.is_open and other.group == diff.group]
        if goes_on and waiting:
            self._open_for_person(waiting[0], after)
            waiting[0].arrive(1)
            waiting[0].show()
            hidden.append(waiting[0])
            self._adapter.focus.give(window, waiting[0].proposal)
            waiting[0].attention.focused()  # a new tab has the focus before it is known whose it is
        elif was_shown and here and not any(other.is_shown for other in here):
            self._uncover(here[0], after)
        else:
            after.restore()
        for other in hidden:
            if other.is_shown:
                other.attention.appeared()
        sublime.set_timeout(lambda: self._open_next(window), CALM)

    def _open_next(self, window: sublime.Window) -> None:
        """Open the oldest diff that waits in a window, if none has a tab there."""
        diffs = [diff for diff in self.in_window(window) if not diff.attention.is_answered]
        if window.is_valid() and diffs and not any(diff.is_open for diff in self.in_window(window)):
            self._open_by_itself(diffs[0])

    @staticmethod
    def _uncover(diff: DiffView, after: FocusBefore) -> None:
        """Show the next diff in the place of one that has closed by itself; the focus goes back to where it was."""
        view = after.view
        diff.show(view if view and is_visible(view) and diff.window.get_view_index(view)[0] == diff.group else None)
        after.restore()

    @posted
    def refuse_answer(self, review: Review) -> None:
        if diff := self._open.get(review.number):
            diff.attention.is_answered = False

    @posted
    def update_header(self, review: Review) -> None:
        if diff := self._open.get(review.number):
            diff.show_headers()
            self._adapter.review_changed(diff.window)

    @posted
    def reload_review(self, review: Review) -> None:
        if diff := self._open.get(review.number):
            diff.reload()
            diff.actions.compare()

    def find(self, view: sublime.View) -> DiffView | None:
        """The diff that a view belongs to."""
        if not self._open or not VIEWS.is_ours(view, *SIDES):
            return None
        return next((diff for diff in self._open.values() if diff.has(view)), None)

    def in_window(self, window: sublime.Window | None) -> list[DiffView]:
        """The diffs of a window, the oldest first, with those that have no tab yet."""
        return [self._open[number] for number in sorted(self._open) if self._open[number].window == window]

    def elsewhere(self, window: sublime.Window | None) -> DiffView | None:
        """A diff that waits in another window."""
        return next((diff for diff in self._open.values() if diff.window != window), None)

    def meant(self, view: sublime.View) -> DiffView | None:
        """The diff that a command refers to: the one of the view, else the only one of the window.

        In a view of a diff that is over, no other diff is meant.
        """
        if (found := self.find(view)) or VIEWS.is_ours(view, *SIDES):
            return found
        in_window = self.in_window(view.window())
        return in_window[0] if len(in_window) == 1 else None

    def show(self, diff: DiffView, step: Literal[1, -1] | None = None) -> None:
        """Go to a diff, as the person wants: show it and focus its proposal.

        With a step they come from the change before it, or after it. At the first time they come to its first change.
        """
        self._open_for_person(diff)
        if step or not diff.attention.is_seen:
            diff.arrive(step or 1)
        diff.attention.brought()
        self._widen(diff)
        self._adapter.review_changed(diff.window)
        diff.show()
        self._adapter.focus.give(diff.window, diff.proposal)

    def entered(self, diff: DiffView) -> None:
        """The person goes on in a diff that has the focus."""
        if diff.is_shown:
            diff.attention.entered()
        if self._widen(diff) or not all(map(is_visible, diff.views)):
            diff.show()

    def _widen(self, diff: DiffView) -> bool:
        """Show both sides of a diff that is inline only because it opened beside the code. Returns whether it was."""
        is_auto = self._adapter.settings.of(diff.window, "diff_layout") == "auto" and not diff.has_chosen_layout
        if not is_auto or diff.layout != "inline" or self._layout(diff.review, diff.window, diff.group) == "inline":
            return False
        diff.toggle_layout()
        return True

    def activated(self, window: sublime.Window, view: sublime.View) -> None:
        """A view got the focus."""
        if not self._open or (window.active_view() != view and not is_in_panel(view)):
            return
        own = self.find(view)
        if own and own.window != window and view == own.proposal:
            before = own.window
            own.move_to(window)
            self._moved(own, before)
        elif own and own.window != window and view == own.original:
            own.go_inline()
            return
        for diff in self._open.values():
            if diff.window == window:
                diff.wake()
            if diff is not own:  # in whatever window: the person is here now
                diff.attention.left()
        if own:
            own.attention.focused()
            sublime.set_timeout(lambda: self._adapter.review_changed(window), int(SETTLED * 1000))
        self._adapter.review_changed(window)

    def _moved(self, diff: DiffView, before: sublime.Window) -> None:
        """A diff has come to its window from the one before."""
        number, window = diff.review.number, WindowId(diff.window.id())
        diff.focus_before = self._adapter.focus.before(diff.window, None)
        self.tell(lambda reviews: reviews.moved(number, window))
        self._adapter.review_changed(before)
        self._adapter.review_changed(diff.window)
        sublime.set_timeout(lambda: self._open_next(before), CALM)

    def brought(self, view: sublime.View) -> None:
        """A key of the person has brought a tab to the front."""
        if self._open and (diff := self.find(view)):
            diff.attention.brought()
            self._adapter.review_changed(diff.window)

    def clicked(self, view: sublime.View) -> None:
        """The person has clicked into a view."""
        if self._open and (diff := self.find(view)):
            diff.attention.entered()

    def caret_moved(self, view: sublime.View) -> None:
        """The carets of a view have moved."""
        if self._open and (diff := self.find(view)) and view == diff.proposal:
            diff.marked.show_place()

    def edited(self, view: sublime.View) -> None:
        """A view was edited. The marks of a proposal are updated after a short pause."""
        diff = self.find(view) if self._open else None
        if diff and view.buffer_id() == diff.proposal.buffer_id():
            version = diff.version
            sublime.set_timeout(lambda: self._edited(diff, version), QUIET)
        elif self._open and (name := view.file_name()):
            path = real_path(name)
            for other in self._open.values():
                if other.path == path and other.file_edited(view):
                    self._adapter.review_changed(other.window)

    def _edited(self, diff: DiffView, version: int | None) -> None:
        if version and diff.version == version and diff.review.number in self._open:
            diff.actions.compare()

    def view_closing(self, view: sublime.View) -> None:
        """A view is about to close. Closing the proposal rejects it, and keeps what the person has edited."""
        diff = self.find(view)
        if diff and view == diff.proposal and diff.is_edited and not diff.clones:
            self._keep_edits(diff, diff.window)

    def view_closed(self, view: sublime.View) -> None:
        """A view was closed. Without its original, a diff is inline."""
        for diff in self._with_tabs:
            if view == diff.proposal and (clones := diff.clones):
                before = diff.window
                diff.go_on_in(clones[0])
                if diff.window != before:
                    self._moved(diff, before)
                diff.actions.compare()
            elif view == diff.proposal:
                self.answers.closed(diff)
            elif view == diff.original:
                diff.go_inline()

    def became_file(self, view: sublime.View) -> None:
        """The person has saved a side of a diff as a file, which is theirs: the diff has ended for them."""
        for diff in self._with_tabs:
            if view.buffer_id() == diff.proposal.buffer_id():
                diff.is_kept = True
                self.answers.closed(diff)
            elif diff.original and view.buffer_id() == diff.original.buffer_id():
                diff.go_inline()

    def window_closing(self, window: sublime.Window, *, elsewhere: bool) -> None:
        """A window or its project is about to close: keep what the person has edited in its diffs."""
        for diff in self._open.values():
            if diff.review.owner.window == window.id():
                diff.attention.is_answered = True  # all are closed now, and none opens in the place of another one
            if not diff.is_edited:
                continue
            if diff.window != window and diff.review.owner.window == window.id():  # it was moved out of its window
                self._keep_edits(diff, diff.window)
            elif diff.window == window:
                others = [other for other in sublime.windows() if other != window] if elsewhere else [window]
                self._keep_edits(diff, others[0] if others else window)

    def _keep_edits(self, diff: DiffView, window: sublime.Window) -> None:
        """Keep the text of a diff that closes without an answer, in a tab of this window or of another one."""
        text, name, syntax = diff.text(), diff.review.name, diff.proposal.syntax() if diff.is_open else None
        if text is not None and not diff.is_kept:
            diff.is_kept = True
            why = f"The diff of {name} was closed without an answer. Your edits are kept in a tab."
            self._adapter.messenger.keep_text(WindowId(window.id()), name, text, why, syntax)

    @property
    def _with_tabs(self) -> list[DiffView]:
        return [diff for diff in self._open.values() if diff.is_open]

    def clear_leftovers(self, window: sublime.Window) -> list[str]:
        """Sublime has restored a window's views. Close those of old diffs; the result names the tabs that were kept."""
        live = {view.buffer_id() for diff in self._open.values() for view in diff.views}
        left = [view for view in VIEWS.within(window, *SIDES) if view.buffer_id() not in live]
        return [name for view in left for name in [view.name()] if clear(view)]

    def hand_over(self) -> None:
        """The package is unloaded: the next instance goes on with the diffs, in the same views."""
        self._later = []  # what was to be done yet is for that one to decide
        for diff in self._open.values():
            try:
                diff.review.views = diff.hand_over()
            except Exception:
                logger.exception("The diff of %s can't be left to the next instance", diff.review.name)
                diff.review.views = None  # it shows it anew
        self._open.clear()

    @asked(waits=True)
    def resume_reviews(self, reviews: Sequence[Review]) -> list[ReviewId]:
        closed: list[ReviewId] = []
        try:
            for review in reviews:
                try:
                    is_there = self._resume(review)
                except Exception:
                    logger.exception("The diff of %s can't go on", review.name)
                    self._open.pop(review.number, None)
                    is_there = False
                if not is_there:
                    closed.append(review.number)
        finally:  # whatever happens, other diffs are answered
            commands, self._later = self._later or (), None
            for command in commands:
                sublime.set_timeout(command)
        return closed

    @staticmethod
    def abandon_reviews(left: Sequence[Mapping[str, Any]]) -> None:
        """As `DiffViews` has it."""
        sublime.set_timeout(lambda: abandon(left))  # the bridge is closed by now
        # A disk that hangs must not hold up whoever waits for an answer.
        threading.Thread(target=keep_unwritten, args=(left,), name="qwen-companion-kept", daemon=True).start()

    def _resume(self, review: Review) -> bool:
        """Go on with a diff; False if its views were closed meanwhile."""
        left = InheritedViews.of(review.views or {})
        window = left.proposal.window()
        if window is None:
            if left.original:
                left.original.close()
            return False
        review.views = None
        group = window.get_view_index(left.proposal)[0]
        diff = self._begin(window, review, None)
        diff.open(group, left.layout, self._adapter.focus.before(window, left.focus), left)
        diff.actions.compare()
        return True

    def _begin(self, window: sublime.Window, review: Review, marks: Marks | None) -> DiffView:
        diff = DiffView(self._adapter, window, review, marks, self._agent(window, review))
        self._open[review.number] = diff
        self._adapter.review_changed(window)
        return diff

    def _agent(self, window: sublime.Window, review: Review) -> str:
        """Who proposes a change. A number tells apart those of the same name, as long as one of their diffs is open."""
        owner = review.owner
        known = {diff.review.owner: diff.agent for diff in self.in_window(window) if diff.review.owner.cli == owner.cli}
        names = (owner.cli, *(f"{owner.cli} ({number})" for number in range(2, len(known) + 2)))
        return known.get(owner) or next(name for name in names if name not in known.values())


def _columns(window: sublime.Window, group: int) -> float:
    """The columns that a group has for text, told from what it shows; infinite if it shows nothing."""
    view = window.active_view_in_group(group)
    if view is None or not view.em_width():
        return math.inf
    return view.viewport_extent()[0] / view.em_width() * max(1, len(window.selected_sheets_in_group(group)))
