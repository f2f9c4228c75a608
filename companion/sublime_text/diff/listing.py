"""The list of a window's diffs in a panel that stays open: those that wait, and those answered since nothing waited."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import sublime

from ...review.changes import Tally
from ..buffers import write_all
from ..style import COLOURS

if TYPE_CHECKING:
    from ...changes.rows import ChangeRow as Change
    from ...comments.comment import Comment
    from .view import DiffView

logger = logging.getLogger(__name__)

PANEL = "QwenCompanion Diffs"
JSON_SETTING = "qwen_companion.review_list"
"""On the view of a list: its rows as JSON."""
SETTING = "qwen_companion.diff_list"
"""On the view of a list. A key binding asks for it."""
KEPT = 200
"""The number of answered diffs that a list keeps."""
NAME_LENGTH = 40
"""Columns of a name, if there are longer ones."""
_LINKS = "qwen_companion.diff_list"
_STYLE = f"<style>{COLOURS} body {{ margin: 0; }}</style>"


class WrittenRows(NamedTuple):
    """What agents have written in a window: each file with its state."""

    waiting: Sequence[tuple[Change, str]] = ()
    done: Sequence[tuple[Change, str]] = ()


class Written(Protocol):
    """What the list needs of the changes that are written already."""

    def rows(self, window: sublime.Window) -> WrittenRows:
        """The files of a window."""
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


class Row(NamedTuple):
    """One file in a list."""

    number: int | None
    """That of its review, None if it was answered."""
    name: str
    counts: Tally | None
    state: str
    cli: str
    where: str
    """The file's folder in the window's folder, empty for that itself; the whole path of a file elsewhere."""
    path: str = ""
    note: str = ""
    change: Change | None = None
    """What is written already and waits; None for a proposal, and for what is reviewed."""
    comment: Comment | None = None

    @classmethod
    def of(cls, diff: DiffView, answer: str = "") -> Row:
        """The row of a diff, with the answer that it got."""
        review, where = diff.review, _where(diff.review.file_path, diff.window)
        number, state = (None, answer) if answer else (review.number, state_of(diff))
        return cls(number, review.name, diff.counts, state, review.owner.cli, where, review.file_path)

    @classmethod
    def of_change(cls, change: Change, window: sublime.Window, state: str, *, waits: bool) -> Row:
        """The row of a file that is written already."""
        path = change.full_path
        counts = Tally(change.inserted, change.deleted, change.changes)
        agents = ", ".join(change.agents) or "changed outside"
        note = "" if change.kind == "modified" else change.kind
        note = " · ".join(filter(None, (note, change.note)))
        name = PurePath(path).name
        return cls(None, name, counts, state, agents, _where(path, window), path, note, change if waits else None)

    @classmethod
    def of_comment(cls, comment: Comment, window: sublime.Window) -> Row:
        """The row of a comment."""
        name = f"{PurePath(comment.path).name}:{comment.first}"
        where, state = _where(comment.path, window), comment.state or "to send"
        note = " ".join(comment.words.split())
        return cls(None, name, None, state, comment.agent or "you", where, comment.path, f"💬 {note}", comment=comment)

    @property
    def left(self) -> dict[str, Any]:
        """The row of an answered diff for the next instance of the package."""
        return {**self._asdict(), "counts": asdict(self.counts) if self.counts else None}

    @classmethod
    def of_left(cls, left: Mapping[str, Any]) -> Row:
        """The row that was left. Raises TypeError if another version of the package has left it."""
        return cls(**{**left, "counts": Tally(**left["counts"]) if left["counts"] else None})

    @property
    def plain(self) -> dict[str, object]:
        """The row for readers outside."""
        counts = self.counts
        return {
            "path": self.path,
            "kind": self._kind,
            "agent": self.cli,
            "inserted": counts.inserted if counts else None,
            "deleted": counts.deleted if counts else None,
            "changes": counts.changes if counts else None,
            "state": self.state,
            "note": self.note,
        }

    @property
    def _kind(self) -> str:
        if self.comment:
            return "comment"
        return self.change.kind if self.change else "proposal" if self.number is not None else ""


def state_of(diff: DiffView) -> str:
    """What the person has done with a diff that waits."""
    return "edited" if diff.is_edited else "viewed" if diff.attention.was_shown else "not viewed"


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
            view.settings().update({SETTING: True, "word_wrap": False, "gutter": False, "scroll_past_end": False})
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
        if (view := self.view) and len(view.sel()):
            row = view.rowcol(view.sel()[0].b)[0] - 1
            if 0 <= row < len(self._rows) and (number := self._rows[row].number) is not None:
                self._opened(number)
            elif comment := self._rows[row].comment if 0 <= row < len(self._rows) else None:
                self._commented.open(self._window, comment)
            elif change := self.change_at_caret():
                self._written.open(self._window, change)

    def change_at_caret(self) -> Change | None:
        """The written file in the caret's row."""
        if (view := self.view) and len(view.sel()):
            row = view.rowcol(view.sel()[0].b)[0] - 1
            return self._rows[row].change if 0 <= row < len(self._rows) else None
        return None

    def close(self) -> None:
        """Remove the panel."""
        if self.view and self._window.is_valid():
            self._window.destroy_output_panel(PANEL)

    def _draw(self) -> None:
        self._is_due = False
        if not (view := self.view):
            return
        waiting = [Row.of(diff) for diff in self._waiting()]
        written = self._written.rows(self._window)
        left = [Row.of_change(change, self._window, state, waits=True) for change, state in written.waiting]
        done = [Row.of_change(change, self._window, state, waits=False) for change, state in written.done]
        files = [*waiting, *left, *done, *self._answered]
        comments = [Row.of_comment(comment, self._window) for comment in self._commented.of_window(self._window)]
        self._rows = [*files, *comments]
        text = "\n".join([_title(len(waiting), len(left), len(files)), *_lines(self._rows)])
        view.settings().set(JSON_SETTING, json.dumps([row.plain for row in self._rows]))
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
        accept_all: Callable[[sublime.Window], object],
        reject_all: Callable[[sublime.Window], object],
    ) -> None:
        self._in_window = in_window
        self._written = written
        self._commented = commented
        self._opened = opened
        self._acts = {
            "accept_all": accept_all,
            "reject_all": reject_all,
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
        for listed in self._lists.values():
            if listed.view == view:
                listed.open_at_caret()

    def written_at_caret(self, view: sublime.View) -> Change | None:
        """The written file in the caret's row of a list."""
        found = next((listed for listed in self._lists.values() if listed.view == view), None)
        return found.change_at_caret() if found else None

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

    def _of(self, window: sublime.Window) -> DiffList:
        if window.id() not in self._lists:

            def act(href: str) -> None:
                self._acts[href](window)

            self._lists[window.id()] = DiffList(
                window, lambda: self._in_window(window), self._written, self._commented, self._opened, act
            )
        return self._lists[window.id()]


def _title(diffs: int, changes: int, files: int) -> str:
    if not files:
        return "Nothing waits."
    waiting = diffs + changes
    counted = f"{waiting} of {files} file{'s' * (files != 1)} wait{'s' * (waiting == 1)} for an answer"
    return f"{counted} · open Enter · next F8 · previous Shift+F8" if waiting else "Every file is answered."


def _lines(rows: Sequence[Row]) -> list[str]:
    """The rows as text, in columns."""
    cells = [
        (
            _one_line(row.name),
            f"+{row.counts.inserted} −{row.counts.deleted}" if row.counts else "",
            row.state,
            row.cli,
            _one_line(row.note),
        )
        for row in rows
    ]
    widths = [max(map(len, column), default=0) for column in zip(*cells, strict=True)]
    widths[:1] = [min(widths[0], NAME_LENGTH)] if widths else []
    lines = [[cell.ljust(width) for cell, width in zip(row, widths, strict=True) if width] for row in cells]
    return [f"  {'  '.join(line)}  {_one_line(row.where)}".rstrip() for line, row in zip(lines, rows, strict=True)]


def _where(path: str, window: sublime.Window) -> str:
    for folder in window.folders():
        if (found := PurePath(path)).is_relative_to(folder):
            parent = found.relative_to(folder).parent
            return "" if parent == PurePath() else str(parent)
    return path


def _one_line(text: str) -> str:
    return "".join(character if character.isprintable() else "\ufffd" for character in text)


def _links(*, has_diffs: bool, has_changes: bool) -> str:
    accept = '<a class="accept" href="accept_all">✓ Accept the rest</a>'
    reject = '<a class="reject" href="reject_all">✗ Reject the rest</a>'
    keep = '<a class="accept" href="keep_all">✓ Keep all that is written</a>'
    undo = '<a class="reject" href="undo_all">↩ Undo all that is written</a>'
    links = " ".join([*([accept, reject] if has_diffs else []), *([keep, undo] if has_changes else [])])
    return f'<body id="qwen-companion-diff-list">{_STYLE}<div>{links}</div></body>'
