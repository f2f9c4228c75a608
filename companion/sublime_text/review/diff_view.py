"""One proposal on the screen: its two views, their texts, what is drawn in them, and what outlives them.

That are the tabs that the editor restores after a restart, and the views that a reload leaves open.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import sublime

from ...review.disk import Encodings, SourceText, holds
from .. import buffers
from ..buffers import edit, text_of
from ..own_views import VIEWS
from ..panels import say
from ..windows import (
    FocusBefore,
    GroupContents,
    focus_view,
    is_visible,
    put_caret,
    real_path,
    select,
    show_in_group,
    views_of_file,
)
from .answers import Attention, ChangeActions
from .diff_marks import (
    FILLERS,
    KEYS_STATUS,
    NARROW,
    MarkedChanges,
    RemovedLines,
    SideMarks,
    are_few,
    first_gap,
    gone_lines,
    proposal_links,
)
from .header import HEADER, Header, notes, original_headers, orphaned_header, proposal_headers, warnings_of
from .side_by_side import ScrollTogether

if TYPE_CHECKING:
    from ...review.changes import Count
    from ...review.marks import Marks
    from ...review.review import Review
    from ..adapter import Adapter
    from .side_by_side import ChangedPoints

SHOWN = "shown"
"""In the record of a view of a diff: a fingerprint of its initial text. Without it, edits can't be detected."""
Layout = Literal["side_by_side", "inline"]

CHUNK = 500_000
"""The number of characters that are inserted into a view at once."""
WATCH = 500
"""Milliseconds between two looks."""
SOON = 50
"""Milliseconds after which the editor has laid out what it has been told to show."""
Side = Literal["original", "proposal"]
KEYS = {
    "Accept": "accept_diff",
    "Reject": "reject_diff",
    "Next": "go_to_diff",
    "Keep": "keep_change",
    "Undo": "undo_change",
}
"""What the status bar names with its key while the focus is in a diff."""


def remember(view: sublime.View, text: str) -> None:
    """Record what a view of a diff shows, for `clear`. This is done off the UI thread: a large text takes a while."""

    def put() -> None:
        fingerprint = _fingerprint(text)
        sublime.set_timeout(lambda: _note(view, fingerprint))

    sublime.set_timeout_async(put)


def clear(view: sublime.View) -> bool:
    """Close a view of an old diff, or keep it as an ordinary tab if the person has edited it. True if it was kept."""
    own = VIEWS.of(view)
    if own and own.get(SHOWN) == _fingerprint(text_of(view)):
        view.set_scratch(True)
        view.close()
        return False
    release(view)
    return True


def release(view: sublime.View) -> None:
    """Turn a view of a diff into an ordinary one."""
    VIEWS.release(view)
    for key in (HEADER, FILLERS):
        view.erase_phantoms(key)
    view.erase_status(KEYS_STATUS)
    settings = view.settings()
    settings.erase("mini_diff")  # both are set by `diff_view.set_up`
    settings.erase("word_wrap")


def _note(view: sublime.View, fingerprint: str) -> None:
    if own := VIEWS.of(view):
        own.keep(**{SHOWN: fingerprint})


def _fingerprint(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


@dataclass(frozen=True)
class InheritedViews:
    """The views of a diff, and what goes with them. Between two instances they are a dictionary of these fields."""

    proposal: sublime.View
    original: sublime.View | None
    layout: Layout
    focus: sublime.View | None
    """The view that had the focus before the diff opened."""
    sheets: list[sublime.Sheet]
    """What the diff's group showed before."""
    active: sublime.Sheet | None
    """Which of it was active."""
    is_exact: bool
    is_seen: bool = False
    has_chosen_layout: bool = False
    """The person has switched the layout themselves."""

    @classmethod
    def of(cls, left: Mapping[str, Any]) -> InheritedViews:
        """What another instance has left, perhaps of another version. Raises TypeError if something is missing."""
        return cls(**{each.name: left[each.name] for each in fields(cls) if each.name in left})


def abandon(left: Sequence[Mapping[str, Any]]) -> None:
    """Nobody takes up these reviews, which are plain data: close their views, and keep edited proposals as tabs."""
    for one in left:
        if one.get("views"):
            _abandon(InheritedViews.of(one["views"]), SourceText(one["proposed"]).shown, one["file_path"])


def keep_unwritten(left: Sequence[Mapping[str, Any]]) -> None:
    """Keep the texts of these accepted reviews, which are plain data, that no CLI has written. Looks at files."""
    for one in left:
        path, content = one["file_path"], one.get("unwritten", one.get("accepted"))
        if content is not None and not holds(path, content, Encodings(**one["encodings"])):
            sublime.set_timeout(partial(_keep, os.path.basename(path), SourceText(content).shown, one["cli"]))


def _keep(name: str, text: str, cli: str) -> None:
    view = sublime.active_window().new_file()
    view.set_name(f"{name} (your edits)")
    buffers.fill(view, text)
    why = f"{cli} has not written {name} as you accepted it. The text that you accepted is kept in a tab."
    say(sublime.active_window(), why)


def _abandon(views: InheritedViews, shown: str, path: str) -> None:
    if views.original:
        views.original.close()
    proposal = views.proposal
    if not proposal.is_valid():
        return
    if text_of(proposal) == shown or not views.is_exact:
        proposal.close()
    else:
        removed = RemovedLines(proposal, lambda: None)
        removed.resume()
        removed.hide()
        SideMarks(proposal, "inserted").clear()
        for view in (proposal, *proposal.clones()):
            release(view)
        if window := proposal.window():
            why = f"The diff of {os.path.basename(path)} has ended. Your edits are kept in its tab."
            say(window, why)


def in_steps(steps: Sequence[Callable[[], object]], is_wanted: Callable[[], bool]) -> None:
    """Run the first step now and each further one on a later turn, as long as they are wanted."""
    if steps and is_wanted():
        steps[0]()
        if steps[1:]:
            sublime.set_timeout(lambda: in_steps(steps[1:], is_wanted))


def fill(view: sublime.View, text: str, then: Callable[[], object], *, detects_indentation: bool) -> None:
    """Put a text into an empty view, which is read-only from now on, and call `then`."""
    view.set_read_only(True)

    def insert(start: int) -> None:
        edit(view, [(view.size(), view.size(), text[start : start + CHUNK])])

    def finish() -> None:
        if detects_indentation and view.settings().get("detect_indentation"):
            view.run_command("detect_indentation", {"show_message": False})
        remember(view, text)
        view.clear_undo_stack()
        select(view, 0)
        then()

    last = max(0, (len(text) - 1) // CHUNK * CHUNK)
    steps = [lambda start=start: insert(start) for start in range(0, last, CHUNK)]
    in_steps([*steps, lambda: (insert(last), finish())], view.is_valid)


def set_up(view: sublime.View, review: Review, side: Side) -> None:
    """Make a view one of a diff: its record has the path exactly as the CLI sent it."""
    VIEWS.take(view, side, file_path=review.file_path)
    view.set_scratch(True)
    settings = view.settings()
    settings.set("mini_diff", False)  # it would say what our own marks say, perhaps a line apart
    settings.set("word_wrap", False)  # wrapped lines would make the sides uneven
    MarkedChanges(view, KEYS).show_place()


class DiffView:
    """One review on the screen, which may still wait for its tab.

    `open` makes its views: the proposal, editable unless a chat asks, and, side by side with it, the file on disk.
    """

    proposal: sublime.View
    """Only if `is_open`, as `marked`, `group` and `focus_before`."""
    marked: MarkedChanges
    group: int
    focus_before: FocusBefore
    _before: GroupContents

    def __init__(
        self,
        adapter: Adapter,
        window: sublime.Window,
        review: Review,
        marks: Marks | None,
        agent: str,
    ) -> None:
        """`agent` is the name of who proposes it, which no other one has in this window."""
        self.window = window
        self.review = review
        self.path = real_path(review.file_path) if review.is_here else ""
        """The file's real path; empty if it isn't on this machine."""
        self.is_file_dirty = any(view.is_dirty() for view in self._views_of_file())
        """A view has unsaved edits of the file, as far as the headers know."""
        self.actions = ChangeActions(adapter, self)
        self.attention = Attention()
        self.is_open = False
        """It has its tab."""
        self.is_kept = False
        """What the person has edited has been kept in a tab."""
        self.has_chosen_layout = False
        """The person has switched the layout themselves."""
        self.generation = 0
        """Counts the drawings of the links, so that one of an older drawing can be told."""
        self.original: sublime.View | None = None
        """Only side by side."""
        self.agent = agent
        self._title = f"{review.name} ← {agent}"
        self._act = partial(adapter.diffs.answers.follow, self)
        self._like: sublime.View | None = None
        self._marks = marks
        self._has_ended = False
        self._is_filled = False
        self._filled_version: int | None = None
        self._is_original_filled = False
        self._drawing: object = None
        self._is_drawn = False
        self._arrival: Literal[1, -1] | None = None
        """The person has come to a diff that is not marked yet: to its first change, or backwards to the last."""
        self.is_exact = True
        """The view of the proposal holds the very text; the editor may change characters such as NUL."""
        self._scroll: ScrollTogether | None = None
        self._drawn_widths: list[float] = []
        """The widths of the views for which they were drawn."""
        self.is_watching = False
        """Whether their widths are looked at again and again, as long as they are on the screen."""

    def open(self, group: int, layout: Layout, focus_before: FocusBefore, left: InheritedViews | None = None) -> None:
        """Make the views in a group of the window. `left` has those from before the package was loaded again."""
        self.group, self.focus_before = group, focus_before
        self._before = GroupContents(self.window, group)
        own = self._views_of_file()
        self._like = next((view for view in own if view.window() == self.window), next(iter(own), None))
        if left:
            self._resume(left)
            return
        if layout == "side_by_side":
            self._add_original()
        self._own(self._new_view("proposal", self._title))
        fill(self.proposal, self.review.shown, self._filled, detects_indentation=self._like is None)

    def _own(self, proposal: sublime.View) -> None:
        """Show the diff in this view of the proposal."""
        self.proposal = proposal
        self._buffer = proposal.buffer_id()
        self.marked = MarkedChanges(proposal, KEYS)
        self._proposal_header = Header(proposal, self._act)
        revert = self._act if self.review.is_editable else None
        self._proposal_marks = SideMarks(proposal, "inserted", revert)
        self._removed = RemovedLines(proposal, self._draw)
        self._scroll = None
        self.is_open = True

    def _own_original(self, original: sublime.View) -> None:
        self.original = original
        self._scroll = None
        self._original_header = Header(original, self._act)
        self._original_marks = SideMarks(original, "deleted")

    def _resume(self, left: InheritedViews) -> None:
        """Go on in the views of a diff from before."""
        for view in (left.original, left.proposal):
            for key in (HEADER, FILLERS):
                view.erase_phantoms(key) if view else None
        if left.original and left.original.is_valid():
            self._own_original(left.original)
        self._own(left.proposal)
        self.proposal.set_name(self._title)
        self._removed.resume()
        self.is_exact, self._is_filled, self._is_original_filled = left.is_exact, True, True
        self.has_chosen_layout = left.has_chosen_layout
        if left.is_seen:
            self.attention.entered()
        self._before.sheets, self._before.active = left.sheets, left.active
        self.wake()

    def hand_over(self) -> dict[str, Any] | None:
        """End without closing the views, which the next instance of the package takes up.

        None if there is nothing to take up: the text wasn't there yet.
        """
        self._has_ended = True
        if self._scroll:
            self._scroll.close()
        if not self.is_open:
            return None
        if not self._is_filled or not self.proposal.is_valid():
            self._drawing = None
            self.close()
            return None
        before = self._before
        left = InheritedViews(
            self.proposal,
            self.original if self.original and self.original.is_valid() else None,
            self.layout,
            self.focus_before.view,
            before.sheets,
            before.active,
            is_exact=self.is_exact,
            is_seen=self.attention.is_seen,
            has_chosen_layout=self.has_chosen_layout,
        )
        return dict(vars(left))

    @property
    def layout(self) -> Layout:
        """How it is shown."""
        return "side_by_side" if self.original else "inline"

    @property
    def _is_inline(self) -> bool:
        """Whether Sublime's inline diff is shown. A new file has nothing to compare with: its lines are marked."""
        return self.layout == "inline" and self.review.disk.exists

    @property
    def views(self) -> list[sublime.View]:
        """The open views, the original first."""
        return [view for view in (self.original, self.proposal) if view and view.is_valid()] if self.is_open else []

    @property
    def counts(self) -> Count | None:
        """The number of changes and lines, if known."""
        return self._marks.count if self._marks else None

    @property
    def is_shown(self) -> bool:
        """Whether it is on the screen."""
        return any(is_visible(view) for view in self.views)

    def show(self, beside: sublime.View | None = None) -> None:
        """Select the views side by side, or the proposal alone next to a view of the same group that has to stay."""
        views = [beside, self.proposal] if beside else self.views
        show_in_group(self.window, self.group, [sheet for view in views if (sheet := view.sheet())])
        self.wake()

    def arrive(self, step: Literal[1, -1]) -> None:
        """The person comes here: go to the first change, or to the last one if the step is backwards."""
        if self._is_drawn:
            self.marked.go_to_end(step)
        else:
            self._arrival = step

    def go_to_line(self, line: int) -> None:
        """Put the caret into a line of the proposal, from 1."""
        put_caret(self.proposal, self.proposal.text_point(line - 1, 0))

    @property
    def is_arriving(self) -> bool:
        """Whether its text is still put into its view, or the change to which the person has come is to be marked."""
        is_filling = self.is_open and not self._is_filled
        return is_filling or (self._arrival is not None and self._marks is not None)

    def _drawn(self) -> None:
        self._is_drawn = True
        self.marked.show_place()
        arrival, self._arrival = self._arrival, None
        if arrival and [(each.a, each.b) for each in self.proposal.sel()] == [(0, 0)]:  # they have not moved on
            self.marked.go_to_end(arrival)
        self.actions.run()

    def wake(self) -> None:
        """The diff may be on the screen again."""
        if self._scroll:
            self._scroll.wake()
        if self.is_open:
            if not self.is_watching:
                self._watch()
            sublime.set_timeout(self._look, SOON)

    def _watch(self) -> None:
        self.is_watching = self._look()
        if self.is_watching:
            sublime.set_timeout(self._watch, WATCH)

    def _look(self) -> bool:
        """Draw the views if their widths are others by now; whether they are on the screen."""
        is_on_screen = not self._has_ended and self.proposal.is_valid() and self.is_shown
        if is_on_screen and not self.is_drawn_to_fit:
            self._draw()
        return is_on_screen

    @property
    def is_drawn_to_fit(self) -> bool:
        """Whether the views have the widths for which they were drawn."""
        return self._drawn_widths == self._widths()

    def _widths(self) -> list[float]:
        return [view.viewport_extent()[0] for view in self.views]

    def text(self) -> str | None:
        """The current text of the proposal, or None if its view is closed."""
        if not self.is_open:
            return self.review.shown
        if not self.proposal.is_valid():
            return None
        if not self._is_filled or not self.is_exact:
            return self.review.shown
        return text_of(self.proposal)

    @property
    def is_edited(self) -> bool:
        """Whether the person has edited the proposal."""
        return self.text() not in (None, self.review.shown)

    @property
    def version(self) -> int | None:
        """What tells the texts of the proposal apart: 0 as long as it is as proposed; None if its view is closed."""
        if not self.is_open:
            return 0
        if not self.proposal.is_valid():
            return None
        edits = self.proposal.change_count()
        return 0 if not self._is_filled or edits == self._filled_version else edits

    def show_marks(self, marks: Marks | None) -> None:
        """Mark the changes. None means that the texts can't be compared."""
        self._marks = marks
        self._draw()

    def reload(self) -> None:
        """The file on disk has been read again: show it."""
        if not self.is_open:
            return
        if self.original and self.original.is_valid():
            self._fill_original(self.original)
        self.proposal.set_reference_document(self.review.original)
        self.show_headers()

    def file_edited(self, view: sublime.View) -> bool:
        """A view of the diff's file was edited. Returns whether there is something to warn of, or no longer."""
        if is_other := view.is_dirty() != self.is_file_dirty:
            self.show_headers()
        return is_other

    def toggle_layout(self) -> None:
        """Switch between side by side and inline. The proposal's view, text and undo history stay."""
        if not self.is_open:
            return
        original, self.original = self.original, None
        if original and original.is_valid():
            original.close()
        elif not original:
            self._removed.hide()
            self._add_original_before()
        self._draw()
        self.show()
        focus_view(self.window, self.proposal)

    def _add_original_before(self) -> None:
        self.group, index = self.window.get_view_index(self.proposal)
        self._add_original()
        if self.original and self.window.get_view_index(self.original)[1] > index:
            self.window.set_view_index(self.original, self.group, index)

    def move_to(self, window: sublime.Window) -> None:
        """The person has dragged the proposal to another window: the file follows it."""
        self.window, self.group = window, max(window.get_view_index(self.proposal)[0], 0)
        self._before = GroupContents(window, self.group)
        original, self.original = self.original, None
        if original and original.is_valid():
            original.close()
            self._add_original_before()
            self._draw()
            self.show()
            focus_view(window, self.proposal)

    @property
    def clones(self) -> list[sublime.View]:
        """Further views of the proposal, which the person has opened."""
        if not self.is_open:
            return []
        views = (view for window in sublime.windows() for view in window.views(include_transient=True))
        return [view for view in views if view.buffer_id() == self._buffer and view != self.proposal]

    def go_on_in(self, clone: sublime.View) -> None:
        """The view of the proposal was closed, and this one is still there."""
        self._own(clone)
        set_up(clone, self.review, "proposal")
        if (window := clone.window()) and window != self.window:
            self.move_to(window)
        self._draw()

    def has(self, view: sublime.View) -> bool:
        """Whether a view shows one of the two sides, be it a clone."""
        return view.buffer_id() in [own.buffer_id() for own in self.views]

    def go_inline(self) -> None:
        """The person has closed the original: show the diff inline."""
        if self.original and self.proposal.is_valid():
            self.has_chosen_layout = True
            self.toggle_layout()

    def take_over(self, closing: DiffView) -> None:
        """Another diff is about to close. If this one covers it, this one takes over what to restore later."""
        if not self.is_open or not closing.is_open:
            return
        if any(sheet in self._before.sheets for view in closing.views if (sheet := view.sheet())):
            self._before = closing._before
        if self.focus_before.view in closing.views:
            self.focus_before = closing.focus_before

    def close(self) -> None:
        """Close the views. If they were visible, show again what their group showed before."""
        was_shown = self.is_shown
        for view in [*self.clones, *self.views]:
            view.close()
        if was_shown and self.window.is_valid():
            self._before.restore()

    def _new_view(self, side: Side, title: str) -> sublime.View:
        """An empty view in the group, with the syntax and the indentation of one that has the file open."""
        view = self.window.new_file()
        if self.window.get_view_index(view)[0] != self.group:
            self.window.set_view_index(view, self.group, len(self.window.views_in_group(self.group)))
        view.set_name(title)
        set_up(view, self.review, side)
        syntax = self._like.syntax() if self._like else None
        if syntax := syntax or sublime.find_syntax_for_file(self.review.file_path, self.review.shown[:1000]):
            view.assign_syntax(syntax)
        if self._like:
            for name in ("tab_size", "translate_tabs_to_spaces"):
                view.settings().set(name, self._like.settings().get(name))
        return view

    def _add_original(self) -> None:
        """Show the file in a view of its own."""
        view = self._new_view("original", f"{self.review.name} (on disk)")
        self._own_original(view)
        self._fill_original(view)

    def _fill_original(self, view: sublime.View) -> None:
        self._is_original_filled = False

        def filled() -> None:
            self._is_original_filled = True
            if self.original in (None, view):  # it may be filled later than the proposal
                self._draw()

        buffers.write_all(view, "")
        fill(view, self.review.original, filled, detects_indentation=self._like is None)

    def _filled(self) -> None:
        self._filled_version = self.proposal.change_count()
        self.is_exact = text_of(self.proposal) == self.review.shown
        self._is_filled = True
        self.proposal.set_read_only(not self.review.is_editable or not self.is_exact)
        self.proposal.set_reference_document(self.review.original)
        self._draw()
        self.actions.run()

    def _draw(self) -> None:
        if not self._is_filled:
            return
        marks, side_by_side = self._marks, self.layout == "side_by_side"
        self.show_headers()
        if side_by_side and self.original and self._scroll is None:
            self._scroll = ScrollTogether(self.original, self.proposal, self._changed_points)
        if self._is_inline:
            self._show_removed(marks)
        else:
            self.proposal.settings().set("mini_diff", False)
        if marks is None:
            return
        self.generation += 1
        is_short = self.proposal.viewport_extent()[0] < NARROW * self.proposal.em_width()
        links = proposal_links(marks, self.generation, is_short=is_short) if self.review.is_editable else None
        is_own = self._is_inline and self._removed.is_own and are_few(marks.proposal)
        gone = gone_lines(self.proposal, marks, self.review.original, links) if is_own else None
        editors = self._is_inline and not self._removed.is_own
        steps = self._proposal_marks.steps(marks.proposal, inline=editors, links=links, gone=gone)
        if side_by_side and self.original and self._is_original_filled:
            steps += self._original_marks.steps(marks.original, inline=False)
        drawing = self._drawing = object()
        in_steps(
            [*steps, self._drawn],
            lambda: self._drawing is drawing and all(view.is_valid() for view in self.views),
        )

    def _show_removed(self, marks: Marks | None) -> None:
        """Show the lines that are gone in the inline diff. What the editor can't show is drawn with the marks."""
        removed, gap = self._removed, None
        removed.hide()
        if marks is not None and not removed.is_own:
            has_links = self.review.is_editable and are_few(marks.proposal)
            gap = first_gap(self.proposal, marks, has_links=has_links)
            removed.is_own = gap is None and any(start < end for start, end in marks.original.lines)
        # The editor's inline diff needs it (sublimehq/sublime_text#4747).
        self.proposal.settings().set("mini_diff", not removed.is_own)
        removed.show(gap)

    def show_headers(self) -> None:
        """Say in the headers what is so now."""
        self.is_file_dirty = any(view.is_dirty() for view in self._views_of_file())
        if not self.is_open:
            return
        self._drawn_widths = self._widths()
        review, warnings = self.review, self._warnings()
        is_beside = self.original is not None and self.original.is_valid()
        if is_beside:
            contents = proposal_headers(review, self.counts, self._notes())
            self._original_header.show(original_headers("Current file", warnings, offers_reload=review.can_reload))
        else:
            title = "" if review.disk.exists else "New file"
            reloads = review.can_reload
            contents = proposal_headers(review, self.counts, self.warnings, title=title, offers_reload=reloads)
        self._proposal_header.show([orphaned_header(review.owner.cli)] if review.orphaned else contents, review.reason)

    @property
    def warnings(self) -> list[str]:
        """What the headers warn of."""
        return [*self._notes(), *self._warnings()]

    def say_warnings(self) -> None:
        """Say in the status bar what the headers warn of."""
        say(self.window, " · ".join(self.warnings))

    def _notes(self) -> list[str]:
        own = ["removed lines"] if self._removed.is_own else []
        undrawn = ["alignment"] if self.layout == "side_by_side" else own
        return notes(self.review, self._marks, undrawn, is_exact=self.is_exact)

    def _warnings(self) -> list[str]:
        return warnings_of(self.review, self.window.folders(), is_dirty=self.is_file_dirty)

    def _views_of_file(self) -> list[sublime.View]:
        return views_of_file(self.review.file_path) if self.review.is_here else []

    def _changed_points(self) -> ChangedPoints | None:
        """The changes of both sides; None if the fillers keep these level, to a pixel."""
        marks, original = self._marks, self.original
        exact = self._proposal_marks.are_fillers_exact and (not original or self._original_marks.are_fillers_exact)
        is_level = marks is None or original is None or (exact and are_few(marks.proposal))
        return None if marks is None or is_level else (marks.original.lines, marks.proposal.lines)
