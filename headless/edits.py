"""Changing texts: edits inside a command, undo and redo, and who is told of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headless import variations
from headless.api.region import Edit, HistoricPosition, TextChange
from headless.buffer import TextBuffer, utf8_length, utf16_length
from headless.changes import Change
from headless.regions import merged, replaced
from headless.undo import Step

if TYPE_CHECKING:
    from headless.editor import Editor
    from headless.window import ViewState


class Edits:
    """All changes to texts go through here, on the UI thread."""

    def __init__(self, app: Editor) -> None:
        self._app = app
        self._next_token = 0
        self._changes: dict[int, list[TextChange]] = {}
        # Buffers whose changes have yet to be reported; the first one is being reported.
        self._to_tell: list[TextBuffer] = []

    # -- inside a command ----------------------------------------------------------------------

    def run_text_command(self, command: Any, args: dict[str, Any] | None) -> None:
        """Run a package's TextCommand with a fresh edit token."""
        self._next_token += 1
        command.run_(self._next_token, args)

    def begin(self, view: ViewState, token: int, command: str, args: Any) -> Edit:
        """Begin a command, whose changes become one step of the undo history."""
        if view.edit_depth == 0:
            view.step = Step(command, dict(args) if args else None)
            view.step.before = self._undo_states(view.buffer)
        view.edit_depth += 1
        return Edit(token)

    def end(self, view: ViewState, edit: Edit) -> None:
        """End a command; its edit is no longer valid."""
        edit.edit_token = 0
        view.edit_depth -= 1
        if view.edit_depth:
            return
        step, view.step = view.step, None
        if step is not None and step.changes:
            step.after = self._undo_states(view.buffer)
            view.buffer.history.record(step)
            self._tell(view.buffer)
        self._app.tell_selection(view)

    def _undo_states(self, buffer: TextBuffer) -> dict[int, Any]:
        return {view.id: view.undo_state() for view in self._app.views_of(buffer)}

    def change(self, view: ViewState, edit: Edit, at: int, end: int, text: str) -> int:
        """Replace the characters from `at` to `end`; returns how many have been inserted.

        Raises ValueError if `edit` is not the one of the view's running command.
        """
        if edit.edit_token == 0 or not view.edit_depth or view.step is None:
            raise ValueError("Edit objects may not be used after the TextCommand's run method has returned")
        buffer = view.buffer
        if buffer.read_only or not view.valid:
            return 0
        at, end = sorted((buffer.clamp(at), buffer.clamp(end)))
        if "\t" in text and view.settings.get("translate_tabs_to_spaces"):
            text = self._without_tabs(view, at, text)
        change = Change(at, buffer.text[at:end], text)
        if change.old or change.new:
            with self._app.lock:
                self._note(buffer, change)
                buffer.apply(change)
                view.step.changes.append(change)
        return len(text)

    def replace(self, view: ViewState, edit: Edit, at: int, end: int, text: str) -> None:
        """Do what View.replace does: change the text, and move the selections as no other change does."""
        buffer = view.buffer
        at, end = sorted((buffer.clamp(at), buffer.clamp(end)))
        views = self._app.views_of(buffer)
        selections = [each.selection for each in views]
        regions = [(marks, marks.spans) for each in views for marks in each.regions.values()]
        inserted = self.change(view, edit, at, end, text)
        if buffer.read_only or not view.valid:
            return
        for each, spans in zip(views, selections, strict=True):
            each.selection = merged(replaced(spans, at, end, inserted))
        if variations.chosen("replace-moves-regions") == "yes":
            for marks, spans in regions:
                marks.spans = replaced(spans, at, end, inserted)

    def _without_tabs(self, view: ViewState, at: int, text: str) -> str:
        size = view.tab_size
        start = view.buffer.line_span(at)[0]
        column = len(view.buffer.text[start:at].expandtabs(size))
        padding = " " * column
        return (padding + text).expandtabs(size)[column:]

    def _note(self, buffer: TextBuffer, change: Change) -> None:
        if not self._app.listeners.by_buffer.get(buffer.id):
            return
        record = TextChange(
            _position(buffer, change.at),
            _position(buffer, change.at + len(change.old)),
            utf16_length(change.old),
            utf8_length(change.old),
            change.new,
        )
        self._changes.setdefault(buffer.id, []).append(record)

    def _tell(self, buffer: TextBuffer) -> None:
        if variations.chosen("nested-on-modified") == "at-once":
            self._tell_now(buffer)
            return
        self._to_tell.append(buffer)
        if len(self._to_tell) > 1:
            return
        try:
            while self._to_tell:
                self._tell_now(self._to_tell[0])
                del self._to_tell[0]
        finally:
            self._to_tell.clear()

    def _tell_now(self, buffer: TextBuffer) -> None:
        changes = self._changes.pop(buffer.id, [])
        if changes:
            self._app.listeners.emit_text("on_text_changed", buffer, changes)
        for view in self._app.views_of(buffer):
            self._app.tabs.keep(view)
            self._app.listeners.emit("on_modified", view)
            self._app.tell_selection(view)

    # -- outside of commands -------------------------------------------------------------------

    def undo(self, view: ViewState) -> None:
        """Undo the last step."""
        step = None if view.buffer.read_only else view.buffer.history.undo()
        if step is not None:
            self._replay(view, [change.inverted() for change in reversed(step.changes)])
            self._restore(view.buffer, step.before)
            self._tell(view.buffer)

    def redo(self, view: ViewState) -> None:
        """Redo the step that was undone last."""
        step = None if view.buffer.read_only else view.buffer.history.redo()
        if step is not None:
            self._replay(view, step.changes)
            self._restore(view.buffer, step.after)
            self._tell(view.buffer)

    def _replay(self, view: ViewState, changes: list[Change]) -> None:
        with self._app.lock:
            for change in changes:
                self._note(view.buffer, change)
                view.buffer.apply(change)

    def _restore(self, buffer: TextBuffer, states: dict[int, Any]) -> None:
        for view in self._app.views_of(buffer):
            if view.id in states:
                view.restore(states[view.id])

    def load_text(self, buffer: TextBuffer, text: str) -> None:
        """Replace the text by what is on disk, keeping carets and regions in place where possible.

        Only the part from the first to the last difference is replaced.
        """
        old = buffer.text
        if old != text:
            start = _common_prefix(old, text)
            rest = min(len(old), len(text)) - start
            tail = _common_prefix(old[::-1][:rest], text[::-1][:rest])
            change = Change(start, old[start : len(old) - tail], text[start : len(text) - tail])
            with self._app.lock:
                buffer.apply(change)
        buffer.history.clear()
        buffer.history.mark_clean()


def _position(buffer: TextBuffer, point: int) -> HistoricPosition:
    row, col = buffer.rowcol(point)
    before = buffer.text[point - col : point]
    return HistoricPosition(point, row, col, utf16_length(before), utf8_length(before))


def _common_prefix(first: str, second: str) -> int:
    """The length of the common beginning, by bisection: slices compare fast."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
