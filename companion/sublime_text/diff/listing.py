"""The list of a window's diffs in a panel that stays open: those that wait, and those answered since nothing waited."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import sublime

from ..buffers import write_all
from ..own_views import VIEWS, OwnView
from ..style import COLOURS
from .rows import Row, table, title

if TYPE_CHECKING:
    from ...changes.rows import ChangeRow as Change
    from ...comments.comment import Comment
    from .answers import Answers
    from .view import DiffView

logger = logging.getLogger(__name__)

PANEL = "QwenCompanion Diffs"
KEPT = 200
"""The number of answered diffs that a list keeps."""
_LINKS = "qwen_companion.diff_list"
_STYLE = f"<style>{COLOURS} body {{ margin: 0; }}</style>"


class WrittenRows(NamedTuple):
    """What agents have written in a window: each file with its state."""

    waiting: Sequence[tuple[Change, str]] = ()
    done: Sequence[tuple[Change, str]] = ()


class WrittenStates(Protocol):
    """What waits for a review after it was written."""

    def with_states(self, window: sublime.Window) -> WrittenRows:
        """The files of a window."""
        ...


class Written(Protocol):
    """What the list needs of the changes that are written already."""

    @property
    def listings(self) -> WrittenStates:
        """What waits."""
        ...

    def open(self, window: sublime.Window, row: Change) -> object:
        """Go to the first change of a file."""
        ...

    def decide_all(self, window: sublime.Window, what: Literal["keep", "undo"]) -> object:
        """Keep or undo everything."""
        ...


class Commented(NamedTuple):
    """What the list needs of the comments."""

    of_window: Callable[[sublime.Window], Sequence[Comment]]
    open: Callable[[sublime.Window, Comment], object]


class DiffList:
    """The list of one window. `waiting` gives its diffs, `opened` shows one, `act` gets the href of a link."""

    def __init__(
        self,
        window: sublime.Window,
        waiting: Callable[[], Sequence[DiffView]],
        written: Written,
        commented: Commented,
        opened: Callable[[int], object],
        act: Callable[[str], None],
    ) -> None:
        self._window = window
        self._waiting = waiting
        self._written = written
        self._commented = commented
        self._opened = opened
        self._act = act
        self._answered: list[Row] = []
        self._rows: list[Row] = []
        self._view: sublime.View | None = None
        self._record: OwnView | None = None
        self._phantoms: sublime.PhantomSet | None = None
        self._is_due = False

    @property
    def view(self) -> sublime.View | None:
        """The view in the panel, if the list was ever opened."""
        return self._view if self._view and self._view.is_valid() else None

    def begin(self) -> None:
        """A diff opens while none waits: what was answered before belongs to another turn."""
        self._answered.clear()

    def answered(self, diff: DiffView, answer: str) -> None:
        """A diff has its outcome."""
        self._answered = [*self._answered, Row.of(diff, answer)][-KEPT:]

    def show(self) -> sublime.View:
        """Open the panel."""
        if not (view := self.view):
            view = self._view = self._window.create_output_panel(PANEL)
            self._record = VIEWS.take(view, "diff list")
            view.settings().update({"word_wrap": False, "gutter": False, "scroll_past_end": False})
            self._phantoms = sublime.PhantomSet(view, _LINKS)
        self._draw()
        self._window.run_command("show_panel", {"panel": f"output.{PANEL}"})
        return view

    def changed(self) -> None:
        """Draw it again, soon and once."""
        if self.view and not self._is_due:
            self._is_due = True
            sublime.set_timeout(self._draw)

    def left(self, focused: sublime.View | None) -> dict[str, Any]:
        """What the next instance needs to show the same; `focused` is the view with the focus."""
        view = self.view
        return {
            "answered": [row.left for row in self._answered],
            "is_shown": view is not None and self._window.active_panel() == f"output.{PANEL}",
            "is_focused": view is not None and view == focused,
            "row": view.rowcol(view.sel()[0].b)[0] if view and len(view.sel()) else 0,
        }

    def take_up(self, left: Mapping[str, Any]) -> sublime.View | None:
        """Go on with what was left. Returns the list if it had the focus. Raises LookupError or TypeError."""
        self._answered = [Row.of_left(one) for one in left["answered"]]
        if not left["is_shown"]:
            return None
        view = self.show()
        view.sel().clear()
        view.sel().add(view.text_point(left["row"], 0))
        return view if left["is_focused"] else None

    def open_at_caret(self) -> None:
        """Show the diff in the caret's row."""
        row = self.row_at_caret()
        if row is None:
            return
        if row.number is not None:
            self._opened(row.number)
        elif row.comment:
            self._commented.open(self._window, row.comment)
        elif row.change:
            self._written.open(self._window, row.change)

    def row_at_caret(self) -> Row | None:
        """The caret's row; None on the title."""
        view = self.view
        at = view.rowcol(view.sel()[0].b)[0] - 1 if view and len(view.sel()) else -1
        return self._rows[at] if 0 <= at < len(self._rows) else None

    def close(self) -> None:
        """Remove the panel."""
        if self.view and self._window.is_valid():
            self._window.destroy_output_panel(PANEL)

    def _draw(self) -> None:
        self._is_due = False
        if not (view := self.view):
            return
        waiting = [Row.of(diff) for diff in self._waiting()]
        written = self._written.listings.with_states(self._window)
        left = [Row.of_change(change, self._window, state, waits=True) for change, state in written.waiting]
        done = [Row.of_change(change, self._window, state, waits=False) for change, state in written.done]
        files = [*waiting, *left, *done, *self._answered]
        comments = [Row.of_comment(comment, self._window) for comment in self._commented.of_window(self._window)]
        self._rows = [*files, *comments]
        text = "\n".join([title(len(waiting), len(left), len(files)), *table(self._rows)])
        if self._record:
            self._record.keep(rows=[row.plain for row in self._rows])
        if view.substr(sublime.Region(0, view.size())) != text:
            row = view.rowcol(view.sel()[0].b)[0] if len(view.sel()) else 0
            write_all(view, text)
            view.set_read_only(True)
            view.sel().clear()
            view.sel().add(view.text_point(max(1, row), 0))
        if self._phantoms:
            html = _links(has_diffs=bool(waiting), has_changes=bool(left))
            links = [sublime.Phantom(sublime.Region(0), html, sublime.PhantomLayout.BLOCK, self._act)]
            self._phantoms.update(links if waiting or left else [])


class DiffLists:
    """The lists of all windows. `in_window` gives the diffs of one, `opened` shows the diff of a review."""

    def __init__(
        self,
        in_window: Callable[[sublime.Window], Sequence[DiffView]],
        written: Written,
        commented: Commented,
        opened: Callable[[int], object],
        answers: Answers,
    ) -> None:
        self._in_window = in_window
        self._written = written
        self._commented = commented
        self._opened = opened
        self._acts = {
            "accept_all": answers.accept_all,
            "reject_all": answers.reject_all,
            "keep_all": lambda window: written.decide_all(window, "keep"),
            "undo_all": lambda window: written.decide_all(window, "undo"),
        }
        self._lists: dict[int, DiffList] = {}
        self._left: dict[int, dict[str, Any]] = {}
        """What the previous instance has left, by window, until the diffs are known."""

    def begin(self, window: sublime.Window) -> None:
        """A diff opens while none waits."""
        self._of(window).begin()

    def answered(self, diff: DiffView) -> None:
        """A diff has its outcome."""
        if listed := self._lists.get(diff.window.id()):
            listed.answered(diff, diff.review.outcome or "closed")

    def changed(self, window: sublime.Window) -> None:
        """Something that a list says may have changed."""
        if listed := self._lists.get(window.id()):
            listed.changed()

    def show(self, window: sublime.Window) -> sublime.View:
        """Open the list of a window."""
        return self._of(window).show()

    def open_at_caret(self, view: sublime.View) -> None:
        """Show the diff in the caret's row of a list."""
        if listed := self._find(view):
            listed.open_at_caret()

    def written_at_caret(self, view: sublime.View) -> Change | None:
        """The written file in the caret's row of a list."""
        row = listed.row_at_caret() if (listed := self._find(view)) else None
        return row.change if row else None

    def forget(self, window: sublime.Window) -> None:
        """A window closes."""
        self._lists.pop(window.id(), None)

    def left(self, focused: Mapping[int, sublime.View | None]) -> dict[int, dict[str, Any]]:
        """The lists as plain data, by window, for the next instance. `focused` has the view with the focus of each."""
        return {**self._left, **{window: one.left(focused.get(window)) for window, one in self._lists.items()}}

    def inherit(self, left: Mapping[int, dict[str, Any]]) -> None:
        """Remember what the previous instance has left."""
        self._left = dict(left)

    def take_up(self) -> list[sublime.View]:
        """Show the lists that were shown before a reload. Returns those that had the focus."""
        windows = {window.id(): window for window in sublime.windows()}
        found: list[sublime.View] = []
        for number in self._left.keys() & windows.keys():
            try:
                focused = self._of(windows[number]).take_up(self._left[number])
            except (LookupError, TypeError):
                logger.exception("The list of another version of the package can't be taken over")
                continue
            found += [focused] if focused else []
        self._left = {}
        return found

    def close(self) -> None:
        """The package is unloaded."""
        for listed in self._lists.values():
            listed.close()
        self._lists.clear()

    def _find(self, view: sublime.View) -> DiffList | None:
        return next((listed for listed in self._lists.values() if listed.view == view), None)

    def _of(self, window: sublime.Window) -> DiffList:
        if window.id() not in self._lists:

            def act(href: str) -> None:
                self._acts[href](window)

            self._lists[window.id()] = DiffList(
                window, lambda: self._in_window(window), self._written, self._commented, self._opened, act
            )
        return self._lists[window.id()]


def _links(*, has_diffs: bool, has_changes: bool) -> str:
    accept = '<a class="accept" href="accept_all">✓ Accept what you have seen</a>'
    reject = '<a class="reject" href="reject_all">✗ Reject the rest</a>'
    keep = '<a class="accept" href="keep_all">✓ Keep all that is written</a>'
    undo = '<a class="reject" href="undo_all">↩ Undo all that is written</a>'
    links = " ".join([*([accept, reject] if has_diffs else []), *([keep, undo] if has_changes else [])])
    return f'<body id="qwen-companion-diff-list">{_STYLE}<div>{links}</div></body>'
