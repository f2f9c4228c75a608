"""The written changes of all windows, as they are on the screen."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

import sublime

from ...changes.port import FileChanges, Listing
from ...changes.rows import ChangeRow
from ...chats.transcript.plain import flat
from ...ids import WindowId
from ..calls import AskLater
from ..diff.listing import WrittenRows
from ..notices import NOTICES
from ..style import COLOURS
from ..windows import Focus, is_code, is_in_front, real_path, views_of_file
from .onward import Decision, Onward, behind
from .sides import Lines, Sides
from .view import WrittenView

if TYPE_CHECKING:
    from ...changes.decisions import Chosen
    from ...companion import Companion

NOTHING = "Nothing waits for a review."
NOTHING_ELSE = "Nothing else that was written waits."
UNSAVED = "This file has unsaved edits. Save it first; the change stays listed."
STALE = "This file is being compared again. Try again in a moment."

UNSEEN = frozenset({"deleted", "excluded", "link", "repository"})
"""Kinds of files that are not opened to be reviewed."""

IDLE = 5.0
"""Seconds without an edit after which a change may be opened by itself."""
IN_STATUS = 50
"""Files in the status report."""
MERGE_AFTER = 400
"""Milliseconds after an edit until the gutter leaves it out."""
_OFFER = (
    f'<body id="qwen-companion-overwritten"><style>{COLOURS} body {{ margin: 0; }}</style>'
    'Your save has overwritten what an agent had written. <a href="compare">Compare</a></body>'
)


class _Offer(NamedTuple):
    """What a save has overwritten."""

    phantoms: Sequence[sublime.PhantomSet]
    """In each view of the file."""
    text: str
    who: str


class WrittenChanges:
    """What waits in each window, and the marks in its views. Used on the UI thread only.

    `tell` calls something on the companion thread.
    """

    def __init__(
        self,
        focus: Focus,
        tell: Callable[[Callable[[Companion], object]], None],
        ask: AskLater,
        changed: Callable[[sublime.Window], object],
        opens_first: Callable[[], bool],
    ) -> None:
        """`opens_first` says whether the first change is opened by itself after a turn."""
        self._focus = focus
        self._tell = tell
        self._ask = ask
        self._changed = changed
        self._opens_first = opens_first
        self._typed_at = -IDLE
        """When a tab with code was edited last, by the monotonic clock."""
        self._listings: dict[int, Listing] = {}
        self._views: dict[int, WrittenView] = {}
        self._asked: dict[int, str] = {}
        """The state of the file for which a view's changes were asked."""
        self._going: dict[str, int] = {}
        """The files whose first change, or last for -1, the caret goes to as soon as it is known."""
        self._onward: dict[int, Onward] = {}
        """What was decided by a key in a view, after which the next change comes."""
        self._offers: dict[str, _Offer] = {}
        """The offers to compare what a save has overwritten, by the file's real path."""
        self._merging: set[int] = set()
        """The views whose unsaved edits are about to be merged into their reference documents."""
        self._sides: dict[int, Sides] = {}
        """What is shown side by side, by window."""
        self.viewed: set[tuple[str, str]] = set()
        """The files that had the focus, with what was on the disk then."""

    def show(self, window: sublime.Window, listing: Listing) -> None:
        """What waits in a window has changed."""
        self._listings[window.id()] = listing
        for view in window.views():
            self._refresh(view)
        self._changed(window)

    def listing(self, window: sublime.Window | None) -> Listing:
        """What waits in a window."""
        return self._listings.get(window.id(), Listing()) if window else Listing()

    def rows(self, window: sublime.Window) -> WrittenRows:
        """The files of a window with their states, for the list."""
        listing = self.listing(window)
        return WrittenRows([(row, self._state(row)) for row in listing.rows], listing.done)

    def _state(self, row: ChangeRow) -> str:
        if (row.full_path, row.after) in self.viewed:
            return "viewed"
        return "new" if row.is_new else "waits"

    def activated(self, window: sublime.Window, view: sublime.View) -> None:
        """A view got the focus."""
        if not self._listings:
            return
        self._refresh(view)
        if (row := self._row(view)) and (row.full_path, row.after) not in self.viewed:
            self.viewed.add((row.full_path, row.after))
            self._changed(window)

    def loaded(self, view: sublime.View) -> None:
        """A file was loaded, loaded again or saved."""
        if self._listings:
            self._asked.pop(view.id(), None)
            self._refresh(view)

    def closed(self, view: sublime.View) -> None:
        """A view was closed."""
        for number, sides in list(self._sides.items()):
            if view in (sides.left, sides.right):
                self._close_sides(number)
        self._views.pop(view.id(), None)
        self._asked.pop(view.id(), None)
        self._onward.pop(view.id(), None)

    def window_closed(self, window: sublime.Window) -> None:
        """A window closes."""
        self._listings.pop(window.id(), None)
        self._sides.pop(window.id(), None)

    def close_all(self) -> None:
        """The package is unloaded."""
        for number in list(self._sides):
            self._close_sides(number)
        for marked in self._views.values():
            marked.clear()
        for path in list(self._offers):
            self._end_offer(path)
        self._views.clear()
        self._listings.clear()

    def can_toggle(self, view: sublime.View) -> bool:
        """Whether a view can be shown beside its baseline, or is."""
        return view.id() in self._views or any(sides.has(view) for sides in self._sides.values())

    def toggle_layout(self, view: sublime.View) -> None:
        """Show a file beside its baseline, or alone again."""
        for number, sides in list(self._sides.items()):
            if sides.has(view):
                self._close_sides(number)
                return
        if marked := self._views.get(view.id()):
            at = time.strftime("%H:%M", time.localtime())
            title = f"{os.path.basename(marked.changes.path)} (before, {at})"
            self._show_sides(view, marked.changes.baseline, title, _lines_of(marked.changes), is_baseline=True)

    def _show_sides(
        self, view: sublime.View, text: str, title: str, changes: Sequence[Lines], *, is_baseline: bool
    ) -> None:
        window = view.window()
        if window is None:
            return
        if window.id() in self._sides:
            self._close_sides(window.id())
        self._sides[window.id()] = Sides(view, text, title, changes, is_baseline=is_baseline)
        self._refresh(self._sides[window.id()].right)

    def _close_sides(self, number: int) -> None:
        if sides := self._sides.pop(number, None):
            sides.close()

    def _row(self, view: sublime.View) -> ChangeRow | None:
        name = view.file_name()
        rows = self.listing(view.window()).rows
        if not name or not rows or not is_code(view):
            return None
        return _row_at(rows, name)

    def _refresh(self, view: sublime.View) -> None:
        row, window = self._row(view), view.window()
        if row is None or window is None:
            if marked := self._views.pop(view.id(), None):
                self._clear(marked)
            self._asked.pop(view.id(), None)
            return
        state = f"{row.before} {row.after}"
        if self._asked.get(view.id()) == state or view.is_loading():
            return
        self._asked[view.id()] = state

        def answer(changes: FileChanges | None) -> None:
            self._mark(view, row, changes)

        self._ask(window, lambda companion: companion.changes.file(row.root, row.path), answer)

    def _mark(self, view: sublime.View, row: ChangeRow, changes: FileChanges | None) -> None:
        if not view.is_valid() or self._row(view) is None:
            return
        marked = self._views.get(view.id())
        if changes is None:
            self._unmark(view, row)
            return
        if view.is_loading() or (not view.is_dirty() and _text(view) != changes.text):
            # The editor has not loaded the file again yet; `loaded` comes then.
            self._asked.pop(view.id(), None)
            return
        if marked:
            marked.update(row, changes)
            if view.is_dirty():
                self.edited(view)
        else:
            number = view.id()
            marked = self._views[number] = WrittenView(view, row, changes, lambda *act: self._clicked(number, *act))
        for sides in self._sides.values():
            if sides.right == view and sides.is_baseline:
                sides.show(changes.baseline, _lines_of(changes))
        self._arrive(marked, changes)

    def _unmark(self, view: sublime.View, row: ChangeRow) -> None:
        """A file waits, and nothing in its text does."""
        if marked := self._views.pop(view.id(), None):
            self._clear(marked)
        if self._goes_on(view) and (window := view.window()):
            _say_unseen(window, row)

    def _arrive(self, marked: WrittenView, changes: FileChanges) -> None:
        """The changes of a view are marked, to which the person may be on their way."""
        if step := self._going.pop(marked.row.full_path, 0):
            marked.go_to_end(step)
        if (onward := self._goes_on(marked.view)) and onward.is_done([change[4] for change in changes.changes]):
            marked.go_on_from(onward.row)

    def _goes_on(self, view: sublime.View) -> Onward | None:
        """What a key has decided in a view, if that is over now and the person is still there."""
        window, onward = view.window(), self._onward.get(view.id())
        if window is None or onward is None or not onward.is_over:
            return None
        del self._onward[view.id()]
        return onward if onward.stays(self._focus.last(window)) else None

    def edited(self, view: sublime.View) -> None:
        """A view was edited: the person's unsaved edits are no changes of an agent."""
        number = view.id()
        if is_code(view):
            self._typed_at = time.monotonic()
        if number not in self._views or number in self._merging:
            return
        self._merging.add(number)

        def merge() -> None:
            self._merging.discard(number)
            if (marked := self._views.get(number)) and view.is_valid() and (window := view.window()):
                changes, mine = marked.changes, _text(view)

                def answer(text: str | None) -> None:
                    if self._views.get(number) is marked and marked.changes is changes:
                        marked.refer_to(changes.baseline if text is None else text)

                self._ask(
                    window, lambda companion: companion.changes.merged(changes.baseline, changes.text, mine), answer
                )

        sublime.set_timeout(merge, MERGE_AFTER)

    def _clear(self, marked: WrittenView) -> None:
        """Nothing of a file waits any more: its gutter compares with git again, as the person's settings say."""
        marked.clear()
        for number, sides in list(self._sides.items()):
            if sides.right == marked.view and sides.is_baseline:
                self._close_sides(number)
        if not marked.view.is_valid():
            return
        view, row = marked.view, marked.row
        window, target = view.window(), view.settings().get("git_diff_target", "index")
        # `reset_reference_document` doesn't bring git's own text back (sublimehq/sublime_text#2689).
        if window is None or view.settings().get("mini_diff") != "auto":
            return

        def answer(text: str | None) -> None:
            if text is not None and view.is_valid() and view.id() not in self._views:
                view.set_reference_document(text)

        is_index = target != "head"
        self._ask(window, lambda companion: companion.changes.committed(row.root, row.path, in_index=is_index), answer)

    def _clicked(self, number: int, what: str, key: str) -> None:
        marked = self._views.get(number)
        match what:
            case "compare":
                self.compare_overwritten(sublime.View(number))
            case "keep" | "undo" if marked:
                self._decide(marked, what, [(key, None)], lambda: None)
            case _:
                pass

    def agent_of(self, view: sublime.View) -> str:
        """Who has written the changes that wait in a view's file; empty if nobody has, or several."""
        row = self._row(view)
        return row.agents[0] if row and len(row.agents) == 1 else ""

    def has_change_at_caret(self, view: sublime.View) -> bool:
        """Whether a caret is in a change."""
        marked = self._views.get(view.id()) if self._views else None
        return marked is not None and bool(marked.at_carets())

    def decide_at_carets(self, view: sublime.View, what: Decision) -> None:
        """Keep or undo the changes at the carets, or the selected lines of them. Then the next one comes."""
        marked, before = self._views.get(view.id()), self._onward.get(view.id())
        found = marked.at_carets() if marked else []
        if not marked or not found:
            _say(view, "There is no change at the caret.")
            return
        if before and before.is_under_way:  # the same key again: nobody has seen yet what comes next
            return
        onward = Onward(view, what, [key for key, _ in found], [marked.rows(key, lines) for key, lines in found])
        window = view.window()
        if window and self._decide(marked, what, found, lambda: self._decided(window, onward)):
            self._onward[view.id()] = onward

    def _decided(self, window: sublime.Window, onward: Onward) -> None:
        """What a key has begun is over: the next change of the file comes, else the next file."""
        onward.is_over = True
        view = onward.view
        if view.is_valid() and self._row(view):
            self._asked.pop(view.id(), None)
            self._refresh(view)
            return
        self._onward.pop(view.id(), None)
        listing = self.listing(window)
        done = next((row for row, _ in reversed(listing.done) if row.full_path == real_path(onward.path)), None)
        if done is None or not window.is_valid():
            return
        said = f"{done.path} is reviewed. {_counted(listing)}"
        if listing.rows and is_in_front(window) and onward.stays(self._focus.last(window)):
            self._open_at(window, listing.rows, behind(listing.rows, done), 1, said)
        else:
            window.status_message(f"QwenCompanion: {said}")

    def _decide(self, marked: WrittenView, what: Decision, found: Sequence[Chosen], done: Callable[[], object]) -> bool:
        """Begin to keep or undo some changes; `done` is called when that is over. Returns whether it has begun."""
        window = marked.view.window()
        if window is None:
            return False
        if what == "undo" and marked.view.is_dirty():
            _say(marked.view, UNSAVED)
            return False
        if not marked.view.is_dirty() and not marked.is_current:
            _say(marked.view, STALE)
            return False
        number, row = WindowId(window.id()), marked.row
        if what == "keep":
            self._ask(window, lambda companion: companion.decisions.keep_changes(number, row, found), lambda _: done())
        else:
            self._ask(window, lambda companion: companion.decisions.undo_changes(number, row, found), lambda _: done())
        return True

    def row_of(self, window: sublime.Window, path: str = "", view: sublime.View | None = None) -> ChangeRow | None:
        """The row of a file, or of the file in a view."""
        if path:
            rows = self.listing(window).rows
            known = next((row for row in rows if path in {row.full_path, row.path}), None)
            known = known or (_row_at(rows, path) if os.path.isabs(path) else None)
            return known or next((row for row in rows if path in _old_paths(row)), None)
        return self._row(view) if view else None

    def decide_file(self, window: sublime.Window, row: ChangeRow, what: Decision) -> None:
        """Keep or undo a file."""
        number = WindowId(window.id())
        if what == "keep":
            self._tell(lambda companion: companion.decisions.keep_file(number, row))
        else:
            self._tell(lambda companion: companion.decisions.undo_file(number, row))

    def decide_all(self, window: sublime.Window, what: Decision) -> None:
        """Keep or undo everything; *undo* asks first."""
        listing, number = self.listing(window), WindowId(window.id())
        if not listing.rows:
            window.status_message(f"QwenCompanion: {NOTHING}")
            return
        if what == "keep":
            self._tell(lambda companion: companion.decisions.keep_all(number))
            return
        files, changes = len(listing.rows), listing.changes
        counted = f"{changes} change{'s' * (changes != 1)} in {files} file{'s' * (files != 1)}"
        names = "\n".join(flat(row.path, 200) for row in listing.rows[:20]) + ("\n…" if files > 20 else "")
        question = f"Undo {counted}? Redo Change brings them back.\n\n{names}"
        if sublime.ok_cancel_dialog(question, "Undo All"):
            self._tell(lambda companion: companion.decisions.undo_all(number))

    def go(self, window: sublime.Window, view: sublime.View | None, step: Literal[1, -1] = 1) -> None:
        """Go to the next change from a view: in its file, then in the next file."""
        rows = self.listing(window).rows
        if not rows:
            window.status_message(f"QwenCompanion: {NOTHING}")
            return
        row = self._row(view) if view else None
        marked = self._views.get(view.id()) if view and row else None
        if marked and marked.go(step, wraps=len(rows) == 1):
            self._focus.give(window, marked.view)
            return
        at = rows.index(row) + step if row in rows else self._place(window, view) - (step < 0)
        self._open_at(window, rows, at, step)

    def _place(self, window: sublime.Window, view: sublime.View | None) -> int:
        """Where in the list a view's file was if it was reviewed, else 0."""
        listing, name = self.listing(window), real_path((view.file_name() if view else "") or "")
        done = next((row for row, _ in reversed(listing.done) if row.full_path == name), None)
        return behind(listing.rows, done) if done else 0

    def _open_at(
        self, window: sublime.Window, rows: Sequence[ChangeRow], at: int, step: Literal[1, -1], said: str = ""
    ) -> None:
        """Open the file of a row, or of the next one that can be opened. `said` is told unless one is passed."""
        found = [rows[(at + step * count) % len(rows)] for count in range(len(rows))]
        if said:
            window.status_message(f"QwenCompanion: {said}")
        self.open(window, next((each for each in found if each.kind not in UNSEEN), found[0]), step)
        if found[0].kind in UNSEEN:
            _say_unseen(window, found[0])

    def is_last(self, view: sublime.View, step: Literal[1, -1]) -> bool:
        """Whether no change of the window follows the caret of a view."""
        rows = [each for each in self.listing(view.window()).rows if each.kind not in UNSEEN]
        row, marked = self._row(view), self._views.get(view.id())
        if row is None or not rows or row != rows[-1 if step > 0 else 0]:
            return False
        carets = [region.b for region in view.sel()][:1]
        lines = [view.rowcol(region.begin())[0] for region in marked.regions()] if marked else []
        here = view.rowcol(carets[0])[0] if carets else 0
        return not any(line > here if step > 0 else line < here for line in lines)

    def open(self, window: sublime.Window, row: ChangeRow, step: int = 1) -> None:
        """Go to the first change of a file, or to the last one if the step is backwards."""
        if row.kind in {*UNSEEN, "large"}:
            _say_unseen(window, row)
            if row.kind in UNSEEN:
                return
        view = window.find_open_file(row.full_path)
        if view and (marked := self._views.get(view.id())):
            self._focus.give(window, view)
            marked.go_to_end(step)
            return
        self._going[row.full_path] = step
        opened = window.open_file(row.full_path)
        self._asked.pop(opened.id(), None)
        self._refresh(opened)

    def overwritten(self, window: sublime.Window, path: str, agents: Sequence[str], text: str) -> None:
        """A save has overwritten what an agent had written: offer once to compare them, in each view of the file."""
        real, who = real_path(path), ", ".join(agents)
        self._end_offer(real)
        views = [view for view in views_of_file(path) if is_code(view)]
        phantoms = [sublime.PhantomSet(view, "qwen_companion.overwritten") for view in views]
        for view, shown in zip(views, phantoms, strict=True):
            act = partial(self._clicked, view.id(), key="")
            shown.update([sublime.Phantom(sublime.Region(0), _OFFER, sublime.PhantomLayout.BLOCK, act)])
        self._offers[real] = _Offer(phantoms, text, who)
        for each in {found.id(): found for view in views if (found := view.window())}.values() or (window,):
            NOTICES.add(f"Your save of {os.path.basename(path)} has overwritten what {who} had written. Compare", each)

    def _end_offer(self, path: str) -> _Offer | None:
        offer = self._offers.pop(path, None)
        for phantoms in offer.phantoms if offer else ():
            if phantoms.view.is_valid():
                phantoms.update([])
        return offer

    def has_overwritten(self, view: sublime.View) -> bool:
        """Whether a save of this file has overwritten something that was not compared yet."""
        return bool(self._offers) and real_path(view.file_name() or "") in self._offers

    def compare_overwritten(self, view: sublime.View) -> None:
        """Show what a save has overwritten beside the file."""
        window = view.window()
        offer = self._end_offer(real_path(view.file_name() or "")) if window else None
        if offer is None or window is None:
            return
        title = f"{os.path.basename(view.file_name() or '')} ({offer.who}, overwritten)"
        theirs, mine = offer.text, _text(view)

        def answer(changes: Sequence[Lines]) -> None:
            self._show_sides(view, theirs, title, changes, is_baseline=False)

        self._ask(window, lambda companion: companion.changes.compared(theirs, mine), answer)

    def turn_changed(self, window: sublime.Window, agent: str, files: int) -> None:
        """A turn has changed some files: say so once."""
        NOTICES.add(f"{agent}: {files} file{'s' * (files != 1)} changed. Review (F8)", window)
        view = self._focus.last(window)
        is_idle = view is not None and is_code(view) and time.monotonic() - self._typed_at >= IDLE
        if is_idle and is_in_front(window) and self._opens_first():
            self.go(window, None)

    def facts(self, window: sublime.Window) -> tuple[str, ...]:
        """What waits in a window, a line for each file, for the status report."""
        rows = self.listing(window).rows
        lines = [
            f"{row.path}: {row.kind}, +{row.inserted} −{row.deleted}, "
            f"{', '.join(row.agents) or 'changed outside'}, {self._state(row)}"
            for row in rows[:IN_STATUS]
        ]
        return (*lines, *([f"and {len(rows) - IN_STATUS} more"] if len(rows) > IN_STATUS else []))


def _counted(listing: Listing) -> str:
    """How much still waits, as a sentence."""
    if not listing.rows:
        return NOTHING_ELSE
    files, changes = len(listing.rows), listing.changes
    waits = "wait" if changes != 1 else "waits"
    return f"{changes} change{'s' * (changes != 1)} in {files} file{'s' * (files != 1)} still {waits} (F8)."


def _lines_of(changes: FileChanges) -> list[Lines]:
    return [each[:4] for each in changes.changes]


def _text(view: sublime.View) -> str:
    return view.substr(sublime.Region(0, view.size()))


def _row_at(rows: Sequence[ChangeRow], name: str) -> ChangeRow | None:
    """The row of a file by its absolute path; a link has its own, else it is its target."""
    by_path = {row.full_path: row for row in rows}
    own = os.path.join(real_path(os.path.dirname(name)), os.path.basename(name))
    return by_path.get(own) or by_path.get(real_path(name))


def _old_paths(row: ChangeRow) -> tuple[str, ...]:
    old = row.renamed_from
    return (old, os.path.join(row.root, *old.split("/"))) if old else ()


def _say_unseen(window: sublime.Window, row: ChangeRow) -> None:
    note = f" ({row.note})" if row.note else ""
    window.status_message(f"QwenCompanion: {row.path} is {row.kind}{note}. Keep or undo it in the review list.")


def _say(view: sublime.View, message: str) -> None:
    if window := view.window():
        window.status_message(f"QwenCompanion: {message}")
