"""The written changes of all windows, as they are on the screen.

A key only begins a decision. In a file, the next change comes when it is done; whoever has moved the caret, typed or
gone elsewhere by then stays there.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

import sublime

from ...changes.change_screen import FileChanges, Listing
from ...changes.rows import ChangeRow
from ...editor import Visit, WindowId
from ...exclusion import shortened
from ...review.changes import changes as compared
from ...review.changes import counted
from ...review.compare import Change
from ...review.document import NOTHING as NO_BODY
from ...review.document import Body
from ..bridge import posted, unsaid
from ..buffers import text_of
from ..keys import KEYS
from ..own_views import REVIEWS, VIEWS
from ..panels import LONGEST_MESSAGE, NOTICES, say
from ..places import if_openable, open_line
from ..windows import as_opened, find_window, focus_view, is_code, is_in_front, is_in_panel, real_path, select
from .side_by_side import SidesByWindow
from .unsaved import OverwrittenTexts
from .written_view import WrittenView

if TYPE_CHECKING:
    from ...changes.state import Chosen, Decision
    from ..adapter import Adapter

IN_STATUS = 50
"""Files in the status report."""
NOTHING = "Nothing waits for a review."
NOTHING_ELSE = "Nothing else that was written waits"
UNSAVED = "This file has unsaved edits. Save it first; the change stays listed."
MEANWHILE = "Nothing was decided: the text or the caret is another one by now."
STALE = "This file is being compared again. Try again in a moment."
BELOW = "This file was written again below your unsaved text. Decide in the Review."
UNSEEN = frozenset({"deleted", "excluded", "link", "repository"})
"""Kinds of files that are not opened to be reviewed."""
IDLE = 5.0
"""Seconds without an edit after which a change may be opened by itself."""
OFFERED = 10_000
"""Milliseconds for which it is said how a decision is taken back."""
_OFFER = "qwen_companion.take_back"


class Onward:
    """What was decided by a key in a view: some changes, or the whole file.

    `found` are the changes by their keys, with the lines if only some are meant, and none for a file. `rows` are the
    first and the last row of each, from the top.
    """

    def __init__(
        self, view: sublime.View, what: Decision, found: Sequence[Chosen], rows: Sequence[tuple[int, int]]
    ) -> None:
        self.view = view
        self.found = found
        self.what: Decision = what
        self.path = view.file_name() or ""
        self.is_over = False
        """Whether the companion has done it, or refused to."""
        self._text = view.change_count()
        self._lines = view.rowcol(view.size())[0]
        self._carets = [*view.sel()]
        carets = [view.rowcol(end)[0] for caret in self._carets for end in (caret.a, caret.b)]
        self._hull = min([*carets, rows[0][0]]), max([*carets, rows[-1][1]])
        self._last = rows[-1][0]

    def is_done(self, keys: Collection[str]) -> bool:
        """Whether nothing of it is among the changes of the file by now."""
        return not any(key in keys for key, _ in self.found)

    @property
    def row(self) -> int:
        """The row from which the next change is looked for."""
        return self._last + (self._growth if len(self.found) > 1 else 0)

    @property
    def _growth(self) -> int:
        return self.view.rowcol(self.view.size())[0] - self._lines

    def stays(self, focused: sublime.View | None) -> bool:
        """Whether the person is where they were; `focused` is the view with the focus."""
        view = self.view
        if focused != view:
            return False
        if self.what == "undo" and not self.found:
            return True  # it is loaded again, or gone from the disk
        if self.what == "keep":
            return view.change_count() == self._text and [*view.sel()] == self._carets
        # The edit that undoes it moves the carets in its lines.
        first, last = self._hull[0], self._hull[1] + max(self._growth, 0) + 1
        return not view.is_dirty() and all(first <= view.rowcol(caret.b)[0] <= last for caret in view.sel())


@dataclass(slots=True)
class _Going:
    """What the person has opened a file for. Whoever has left it, types in it or moves the carets is not disturbed."""

    step: Literal[-1, 0, 1] = 0
    """The caret goes to the first change, or to the last one for -1."""
    is_beside: bool = False
    """The file is shown beside its baseline."""
    carets: list[sublime.Region] | None = None
    """Where they were when the changes were asked for, in the text that is loaded."""


class WrittenListings:
    """The listings of all windows. Used on the UI thread only."""

    def __init__(self) -> None:
        self._by_window: dict[int, Listing] = {}
        self._viewed: set[tuple[str, str]] = set()
        """The files that had the focus, with what was on the disk then."""

    @property
    def has_rejected(self) -> bool:
        """Whether the person has rejected a text that can be reopened, in whatever window."""
        return any(listing.has_rejected for listing in self._by_window.values())

    def set(self, window: sublime.Window, listing: Listing) -> None:
        """What waits in a window has changed."""
        self._by_window[window.id()] = listing

    def forget(self, window: sublime.Window) -> None:
        """A window closes."""
        self._by_window.pop(window.id(), None)

    def of(self, window: sublime.Window | None) -> Listing:
        """What waits in a window."""
        return self._by_window.get(window.id(), Listing()) if window else Listing()

    def _state(self, row: ChangeRow) -> str:
        if self.was_viewed(row):
            return "viewed"
        return "new" if row.is_new else "waits"

    def was_viewed(self, row: ChangeRow) -> bool:
        """Whether a file had the focus as it is on the disk now."""
        return (row.full_path, row.after) in self._viewed

    def viewed(self, row: ChangeRow) -> None:
        """A file got the focus."""
        self._viewed.add((row.full_path, row.after))

    def row_in(self, view: sublime.View) -> ChangeRow | None:
        """The row of the file in a tab of the person's own."""
        name, listing = view.file_name(), self.of(view.window())
        return _row_at(listing, name) if name and listing.rows and is_code(view) else None

    def row_of(self, window: sublime.Window, path: str) -> ChangeRow | None:
        """The row of a file, by its absolute path, by the one in the list, or by the one that it had before."""
        listing = self.of(window)
        if os.path.isabs(path):
            known = _row_at(listing, path)
        else:
            known = next((row for row in listing.rows if row.path == path), None)
        return known or next((row for row in listing.rows if path in _old_paths(row)), None)

    def done_of(self, window: sublime.Window, path: str) -> ChangeRow | None:
        """The row of a file of which nothing waits any more, by a path that leads to it."""
        real = real_path(path)
        done = (row for row, _ in reversed(self.of(window).done))
        return next((row for row in done if os.path.normcase(row.full_path) == real), None)

    def agent_of(self, view: sublime.View) -> str:
        """Who has written the changes that wait in a view's file; empty if nobody has, or several."""
        row = self.row_in(view)
        return row.agents[0] if row and len(row.agents) == 1 else ""

    def facts(self, window: sublime.Window) -> tuple[str, ...]:
        """What waits in a window, a line for each file, for the status report."""
        rows = self.of(window).rows
        lines = [
            f"{row.path}: {row.kind}, +{row.inserted} −{row.deleted}, "
            f"{', '.join(row.agents) or 'changed outside'}, {self._state(row)}"
            for row in rows[:IN_STATUS]
        ]
        return (*lines, *([f"and {len(rows) - IN_STATUS} more"] if len(rows) > IN_STATUS else []))


def _row_at(listing: Listing, name: str) -> ChangeRow | None:
    """The row of a file by its absolute path; a link has its own, else it is its target."""
    own = os.path.join(real_path(os.path.dirname(name)), os.path.basename(name))
    return listing.row_at(own) or listing.row_at(real_path(name))


def _old_paths(row: ChangeRow) -> tuple[str, ...]:
    old = row.renamed_from
    return (old, os.path.join(row.root, *old.split("/"))) if old else ()


def _withdraw(view: sublime.View, shown: str) -> None:
    if view.is_valid() and view.get_status(_OFFER) == shown:
        view.erase_status(_OFFER)


class WrittenChanges:
    """What waits in each window, and the marks in its views. Used on the UI thread, but for `ChangeViews`."""

    def __init__(self, adapter: Adapter) -> None:
        self.bridge = adapter.bridge
        self._adapter = adapter
        self._typed_at = -IDLE
        """When a tab with code was edited last, by the monotonic clock."""
        self.listings = WrittenListings()
        self._views: dict[int, WrittenView] = {}
        self._asked: dict[int, str] = {}
        """The state of the file for which a view's changes were asked."""
        self._going: dict[int, _Going] = {}
        """What follows in a view as soon as its changes are known."""
        self._onward: dict[int, Onward] = {}
        """What was decided by a key in a view, after which the next change comes."""
        self.sides = SidesByWindow(adapter.focus)
        self.overwritten = OverwrittenTexts(adapter)

    @posted
    def show_changes(self, window: WindowId, listing: Listing) -> None:
        if (target := find_window(window)) is None:
            return
        before = self.listings.of(target)
        self._follow(target, before, listing)
        self.listings.set(target, listing)
        for view in target.views(include_transient=True):
            self._refresh(view)
        self._adapter.review_changed(target)
        if before.rows and listing.done and not listing.rows:
            self._adapter.comments.forget_notes(target)

    def _follow(self, window: sublime.Window, before: Listing, listing: Listing) -> None:
        """What a CLI has written is known from the files alone; a chat says where it writes."""
        known = {(row.full_path, row.after) for row in before.rows}
        by_root: dict[str, list[ChangeRow]] = {}
        for row in listing.rows:
            is_its = set(row.agents) & set(self._adapter.status_bar.clis(window))
            if is_its and row.kind != "deleted" and (row.full_path, row.after) not in known:
                by_root.setdefault(row.root, []).append(row)
        for root, rows in by_root.items():
            self._ask_where(window, root, rows)

    def _ask_where(self, window: sublime.Window, root: str, rows: Sequence[ChangeRow]) -> None:
        """Ask for all files at once: they may be hundreds, and whoever asks for something else waits meanwhile."""
        number, paths = WindowId(window.id()), [row.path for row in rows]

        def answer(found: Mapping[str, tuple[str, Body]]) -> None:
            clis = set(self._adapter.status_bar.clis(window))
            visits: list[Visit] = []
            for row in rows:
                _, body = found.get(row.path, ("", NO_BODY))
                line = body.changes[-1][2] + 1 if body.changes else None
                visits += [Visit(row.full_path, line, agent, "written") for agent in sorted(clis & set(row.agents))[:1]]
            if visits:
                self._adapter.following.visited(window, visits)

        self._adapter.ask_later(window, lambda companion: companion.changes.bodies(number, root, paths), answer, unsaid)

    @posted
    def offer_take_back(self, window: WindowId, said: str) -> None:
        target = find_window(window)
        view = target.active_view() if target else None
        if target and view:
            key = KEYS.of("take_back", works_everywhere=not VIEWS.is_ours(view, *REVIEWS))
            then = f" · Take Back {key or '(in the palette)'}"
            shown = f"{shortened(said, LONGEST_MESSAGE - len(then))}{then}"
            NOTICES.note(shown, target)
            view.set_status(_OFFER, shown)
            sublime.set_timeout(lambda: _withdraw(view, shown), OFFERED)

    @posted
    def save_overwritten(self, window: WindowId, path: str, agents: Sequence[str], text: str) -> None:
        if target := find_window(window) or sublime.active_window():
            self.overwritten.offer(target, path, agents, text)

    def activated(self, window: sublime.Window, view: sublime.View) -> None:
        """A view got the focus."""
        self.sides.activated(window, view)
        if not is_in_panel(view):
            for marked in self._views.values():
                if marked.view != view and marked.view.window() == window:
                    marked.hide_removed()
        self._refresh(view)
        if row := self.listings.row_in(view):
            self.listings.viewed(row)

    def caret_moved(self, view: sublime.View) -> None:
        """The carets of a view have moved."""
        if self._views and (marked := self._views.get(view.id())):
            marked.caret_moved()

    def loaded(self, view: sublime.View) -> None:
        """A file was loaded, loaded again or saved."""
        if going := self._going.get(view.id()):
            going.carets = None
        self._refresh(view, again=True)

    def closed(self, view: sublime.View) -> None:
        """A view was closed."""
        self.sides.close_with(view)
        self._views.pop(view.id(), None)
        self._asked.pop(view.id(), None)
        self._onward.pop(view.id(), None)
        self._going.pop(view.id(), None)

    def window_closed(self, window: sublime.Window) -> None:
        """A window closes."""
        self.listings.forget(window)
        self.sides.forget(window)

    def close_all(self) -> None:
        """The package is unloaded."""
        self.sides.close_all()
        for marked in self._views.values():
            marked.clear()
        self._views.clear()
        self.overwritten.close_all()

    def marked(self, number: int) -> WrittenView | None:
        """The marks of a view with changes, by its id."""
        return self._views.get(number)

    def can_toggle(self, view: sublime.View) -> bool:
        """Whether a view can be shown beside its baseline, or is."""
        return view.id() in self._views or self.sides.has(view)

    def toggle_layout(self, view: sublime.View) -> None:
        """Show a file beside its baseline, or alone again."""
        if self.sides.close_with(view):
            return
        if marked := self._views.get(view.id()):
            at = time.strftime("%H:%M", time.localtime())
            title = f"{os.path.basename(marked.changes.path)} (before, {at})"
            self.sides.show(view, marked.changes.baseline, title, marked.lines, is_baseline=True)

    def _refresh(self, view: sublime.View, *, again: bool = False) -> None:
        """Have the changes of a view's file if others wait there by now, or `again`."""
        row, window = self.listings.row_in(view), view.window()
        if row is None or window is None:
            if marked := self._views.pop(view.id(), None):
                self._clear(marked)
            self._asked.pop(view.id(), None)
            self._going.pop(view.id(), None)
            return
        state = f"{row.before} {row.after} {row.note}"
        if (self._asked.get(view.id()) == state and not again) or view.is_loading():
            return
        self._asked[view.id()] = state
        if (going := self._going.get(view.id())) and going.carets is None:
            going.carets = [*view.sel()]

        def answer(changes: FileChanges | None) -> None:
            self._mark(view, row, changes)

        def failed(_: str) -> None:
            self._asked.pop(view.id(), None)  # it is asked for again when something waits, or the view gets the focus

        self._adapter.ask_later(window, lambda companion: companion.changes.file(row.root, row.path), answer, failed)

    def _mark(self, view: sublime.View, row: ChangeRow, changes: FileChanges | None) -> None:
        if not view.is_valid() or self.listings.row_in(view) is None:
            return
        if changes is None:
            self._unmark(view, row)
        elif view.is_loading() or (not view.is_dirty() and text_of(view) != changes.text):
            # The editor has not loaded the file again yet; `loaded` comes then.
            self._asked.pop(view.id(), None)
        elif not view.is_dirty():
            self._draw(view, row, changes, ())
        elif self._is_edit_of(view, changes.text):
            self._ask_places(view, row, changes)
        else:
            # What was written since the tab was loaded isn't in it. The marks that it has stay until it is.
            self._asked.pop(view.id(), None)
            if self._going.pop(view.id(), None):
                say(view.window(), BELOW)

    def _is_edit_of(self, view: sublime.View, text: str) -> bool:
        """Whether a tab with unsaved text was loaded from this text."""
        if (known := self._adapter.loaded.text(view)) is not None:
            return known == text
        marked = self._views.get(view.id())
        return marked is not None and marked.changes.text == text

    def _ask_places(self, view: sublime.View, row: ChangeRow, changes: FileChanges) -> None:
        """Ask where the changes are in a tab with unsaved text."""
        mine, edition = text_of(view), view.change_count()

        def answer(found: Sequence[Change]) -> None:
            if not view.is_valid():
                return
            if self.listings.row_in(view) == row and view.change_count() == edition:
                self._draw(view, row, changes, found)
            else:
                self._refresh(view, again=True)

        def failed() -> None:
            self._asked.pop(view.id(), None)

        self._adapter.on_another_thread(lambda: compared(changes.text, mine), answer, failed)

    def _draw(self, view: sublime.View, row: ChangeRow, changes: FileChanges, typed: Sequence[Change]) -> None:
        if marked := self._views.get(view.id()):
            marked.update(row, changes, typed)
        else:
            marked = self._views[view.id()] = WrittenView(self._adapter, view, row, changes, typed)
        if view.is_dirty():
            marked.edited()
        if sides := self.sides.with_baseline(view):
            sides.show(changes.baseline, marked.lines)
        self._arrive(marked, changes)

    def _unmark(self, view: sublime.View, row: ChangeRow) -> None:
        """A file waits, and nothing in its text does."""
        self._going.pop(view.id(), None)
        if marked := self._views.pop(view.id(), None):
            self._clear(marked)
        if self._goes_on(view) and (window := view.window()):
            _say_unseen(window, row)

    def _arrive(self, marked: WrittenView, changes: FileChanges) -> None:
        """The changes of a view are marked, to which the person may be on their way."""
        view, going = marked.view, self._going.pop(marked.view.id(), None)
        if going and (window := view.window()) and self._adapter.focus.last(window) == view:
            if going.step and going.carets == [*view.sel()]:
                marked.go_to_end(going.step)
            if going.is_beside:
                self.toggle_layout(view)
        if (onward := self._goes_on(view)) and onward.is_done([change[4] for change in changes.changes]):
            marked.go_on_from(onward.row)

    def _goes_on(self, view: sublime.View) -> Onward | None:
        """What a key has decided in a view, if that is over now and the person is still there."""
        window, onward = view.window(), self._onward.get(view.id())
        if window is None or onward is None or not onward.is_over:
            return None
        del self._onward[view.id()]
        return onward if onward.stays(self._adapter.focus.last(window)) else None

    def edited(self, view: sublime.View) -> None:
        """A view was edited: the person's unsaved edits are no changes of an agent."""
        if is_code(view):
            self._typed_at = time.monotonic()
        if view.is_dirty():
            self._going.pop(view.id(), None)
        if marked := self._views.get(view.id()):
            marked.edited()

    def _clear(self, marked: WrittenView) -> None:
        """Nothing of a file waits any more: its gutter compares with git again, as the person's settings say."""
        marked.clear()
        if sides := self.sides.with_baseline(marked.view):
            self.sides.close_with(sides.right)
        marked.restore_gutter()

    def has_change_at_caret(self, view: sublime.View) -> bool:
        """Whether a caret is in a change, or in what it has removed from a baseline."""
        if not self._views:
            return False
        marked = self._views.get(view.id())
        return bool(marked.at_carets()) if marked else bool(self._beside_carets(view))

    def _beside_carets(self, view: sublime.View) -> list[sublime.Region]:
        """Where the changes are in a file that have removed what is at the carets of the baseline beside it."""
        file = self.sides.right_of(view)
        marked, sides = self._views.get(file.id()), self.sides.with_baseline(file)
        return marked.beside_carets(view) if marked and sides and view == sides.left else []

    def decide_at_carets(self, view: sublime.View, what: Decision) -> None:
        """Keep or undo the changes at the carets, or the selected lines of them. Then the next one comes.

        From a baseline those that have removed what is at the carets; one goes on in the file.
        """
        if (beside := self._beside_carets(view)) and (window := view.window()):
            view = self.sides.right_of(view)
            focus_view(window, view)
            select(view, *(region.begin() for region in beside))
        marked, before = self._views.get(view.id()), self._onward.get(view.id())
        if marked and view.is_dirty() and not marked.is_placed:
            marked.ask_places(partial(self._decide_if_same, view, what, [*view.sel()]))
            return
        found = marked.at_carets() if marked else []
        if not marked or not found:
            say(view.window(), "There is no change at the caret.")
            return
        if before and not before.is_over and (before.what, before.found) == (what, found):
            return  # the same key again: nobody has seen yet what comes next
        onward = Onward(view, what, found, [marked.rows(key, lines) for key, lines in found])
        window = view.window()
        if window and self.decide(marked, what, found, lambda: self._decided(window, onward)):
            self._onward[view.id()] = onward

    def _decide_if_same(
        self, view: sublime.View, what: Decision, carets: Sequence[sublime.Region], is_placed: bool
    ) -> None:
        if is_placed and [*view.sel()] == carets:
            self.decide_at_carets(view, what)
        else:
            say(view.window(), MEANWHILE)

    def _decided(self, window: sublime.Window, onward: Onward) -> None:
        """What a key has begun is over: the next change of the file comes, else the next file."""
        onward.is_over = True
        view = onward.view
        if view.is_valid() and self.listings.row_in(view):
            self._refresh(view, again=True)
            return
        self._onward.pop(view.id(), None)
        listing = self.listings.of(window)
        done = self.listings.done_of(window, onward.path)
        if done is None or not window.is_valid():
            return
        still = f"still wait{'s' * (listing.count.changes == 1)}{KEYS.in_brackets('go_to_diff')}"
        rest = (
            f"{listing.count.changes_in_files} {still}" if listing.rows else listing.unsure.rstrip(".") or NOTHING_ELSE
        )
        said = f"{done.path} is reviewed. {rest}."
        if listing.rows and is_in_front(window) and onward.stays(self._adapter.focus.last(window)):
            self._open_at(window, listing.rows, _behind(listing.rows, done), 1, said)
        else:
            say(window, said)

    def decide(self, marked: WrittenView, what: Decision, found: Sequence[Chosen], done: Callable[[], object]) -> bool:
        """Begin to keep or undo some changes; `done` is called when that is over. Returns whether it has begun."""
        window = marked.view.window()
        if window is None:
            return False
        if marked.view.is_dirty():
            if what == "undo" or any(lines for _, lines in found):  # nobody knows which lines those of the file are
                say(window, UNSAVED)
                return False
        elif not marked.is_current:
            say(window, STALE)
            return False
        self._adapter.review.feed(window).decide([marked.row], what, found, done)
        return True

    def decide_file(self, window: sublime.Window, row: ChangeRow, what: Decision) -> None:
        """Keep or undo a file. Then the next one comes if the person is in it."""
        view = self._adapter.focus.last(window)
        is_here = view is not None and self.listings.row_in(view) == row
        marked = self._views.get(view.id()) if view and is_here else None
        if view and is_here and not (marked.shows(row) if marked else not view.is_dirty()):
            say(window, BELOW if view.is_dirty() else STALE)
            return
        onward = Onward(view, what, (), [(0, view.rowcol(view.size())[0])]) if view and is_here else None
        done = lambda: self._decided(window, onward) if onward else None  # noqa: E731
        self._adapter.review.feed(window).decide([row], what, None, done)

    def decide_all(self, window: sublime.Window, what: Decision) -> None:
        """Keep or undo everything."""
        listing = self.listings.of(window)
        if listing.rows:
            self._adapter.review.feed(window).decide(listing.rows, what, None, lambda: None)
        else:
            say(window, listing.unsure or NOTHING)

    def go(self, window: sublime.Window, view: sublime.View | None, step: Literal[1, -1] = 1) -> bool:
        """Go to the next change from a view: in its file, then in the next file. Returns whether one can be opened."""
        rows = self.listings.of(window).rows
        if not rows:
            say(window, self.listings.of(window).unsure or NOTHING)
            return False
        row = self.listings.row_in(view) if view else None
        marked = self._views.get(view.id()) if view and row else None
        if marked and marked.go(step, wraps=len(rows) == 1):
            self._adapter.focus.give(window, marked.view)
            return True
        at = rows.index(row) + step if row in rows else self._place(window, view) - (step < 0)
        return self._open_at(window, rows, at, step)

    def _place(self, window: sublime.Window, view: sublime.View | None) -> int:
        """Where in the list a view's file was if it was reviewed, else 0."""
        done = self.listings.done_of(window, (view.file_name() if view else "") or "")
        return _behind(self.listings.of(window).rows, done) if done else 0

    def _open_at(
        self, window: sublime.Window, rows: Sequence[ChangeRow], at: int, step: Literal[1, -1], said: str = ""
    ) -> bool:
        """Open the file of a row, or of the next one that can be opened. `said` is told unless one is passed.

        Returns whether there is one.
        """
        found = [rows[(at + step * count) % len(rows)] for count in range(len(rows))]
        if said:
            say(window, said)
        row = next((each for each in found if each.kind not in UNSEEN), None)
        if row:
            self.open(window, row, step)
        if found[0].kind in UNSEEN:
            _say_unseen(window, found[0])
        return row is not None

    def is_last(self, view: sublime.View, step: Literal[1, -1]) -> bool:
        """Whether no change of the window follows the caret of a view."""
        rows = [each for each in self.listings.of(view.window()).rows if each.kind not in UNSEEN]
        row, marked = self.listings.row_in(view), self._views.get(view.id())
        if row is None or not rows or row != rows[-1 if step > 0 else 0]:
            return False
        return marked is None or marked.further(step) is None

    def open(self, window: sublime.Window, row: ChangeRow, step: Literal[1, -1] = 1) -> None:
        """Go to the first change of a file, or to the last one if the step is backwards."""
        if row.kind in {*UNSEEN, "large"}:
            _say_unseen(window, row)
            if row.kind in UNSEEN:
                return
        view = window.find_open_file(as_opened(window, row.full_path))
        if view and (marked := self._views.get(view.id())):
            self._adapter.focus.give(window, view)
            marked.go_to_end(step)
            return
        if view is None:
            if_openable(self._adapter, window, row.full_path, lambda: self._open_file(window, row, step))
        else:
            self._open_file(window, row, step)

    def open_line(self, window: sublime.Window, row: ChangeRow, line: int, *, beside: bool = False) -> None:
        """Open a file at a line of what is on the disk, from 1; beside its baseline if that is wanted.

        The file is known to be one.
        """

        def opened(view: sublime.View) -> None:
            if beside and not self.sides.has(view):
                self._going[view.id()] = _Going(is_beside=True)
                self._refresh(view, again=True)

        open_line(self._adapter, window, row.full_path, line, opened)

    def _open_file(self, window: sublime.Window, row: ChangeRow, step: Literal[1, -1]) -> None:
        opened = window.open_file(as_opened(window, row.full_path))
        self._going[opened.id()] = _Going(step)
        self._refresh(opened, again=True)

    @posted
    def turn_changed(self, window: WindowId, agent: str, files: int) -> None:
        if (target := find_window(window)) is None:
            return
        rows, front = self.listings.of(target).rows, target.active_view()
        is_in_review = front is not None and VIEWS.is_ours(front, "review")
        if is_in_review or not rows or all(self.listings.was_viewed(row) for row in rows):
            return  # the person is reviewing them already
        NOTICES.add(f"{agent}: {counted(files, 'file')} changed. {KEYS.after('Review', 'go_to_diff')}", target)
        view = self._adapter.focus.last(target)
        is_idle = view is not None and is_code(view) and time.monotonic() - self._typed_at >= IDLE
        if is_idle and is_in_front(target) and self._adapter.settings.value("open_first_change"):
            self.go(target, None)


def _behind(rows: Sequence[ChangeRow], done: ChangeRow) -> int:
    """Where in a list a file was that waits no longer: the number of the row that has come into its place."""
    own = [at for at, row in enumerate(rows) if row.root == done.root]
    return next((at for at in own if rows[at].path > done.path), own[-1] + 1 if own else 0)


def _say_unseen(window: sublime.Window, row: ChangeRow) -> None:
    note = f" ({row.note})" if row.note else ""
    say(window, f"{row.path} is {row.kind}{note}. Keep or undo it in the Review.")
