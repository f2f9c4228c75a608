"""The editor's own commands that change whole lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headless.builtin import text_command
from headless.changes import Span

if TYPE_CHECKING:
    from headless.buffer import TextBuffer
    from headless.editor import Editor
    from headless.window import ViewState


def _blocks(view: ViewState) -> list[Span]:
    """The whole lines of each selection, without the last line feed; blocks that touch are joined."""
    blocks: list[Span] = []
    for a, b in sorted(view.spans):
        begin, end = _whole_lines(view.buffer, a, b)
        if blocks and begin <= blocks[-1][1] + 1:
            begin = blocks.pop()[0]
        blocks.append((begin, end))
    return blocks


def _whole_lines(buffer: TextBuffer, begin: int, end: int) -> Span:
    """The lines of a span; one that ends behind a line feed has nothing of the next line."""
    last = end - 1 if end > begin and buffer.text[end - 1] == "\n" else end
    return buffer.line_span(begin)[0], buffer.line_span(last)[1]


@text_command
def sort_lines(
    app: Editor, view: ViewState, case_sensitive: bool = False, reverse: bool = False, remove_duplicates: bool = False
) -> None:
    """Sort the selected lines, or all lines if nothing is selected."""
    buffer = view.buffer
    spans = [span for span in view.spans if span[0] != span[1]] or [(0, len(buffer))]
    changes = []
    for span in spans:
        start, stop = _whole_lines(buffer, *span)
        lines = buffer.text[start:stop].split("\n")
        if remove_duplicates:
            lines = list(dict.fromkeys(lines))
        lines.sort(key=None if case_sensitive else str.lower, reverse=reverse)
        changes.append(((start, stop), "\n".join(lines)))
    app.change_text(view, "sort_lines", changes)


@text_command
def duplicate_line(app: Editor, view: ViewState) -> None:
    """Insert a copy of each selection, or of a caret's line, before it."""
    changes = []
    for a, b in view.selection:
        begin, end = (min(a, b), max(a, b)) if a != b else view.buffer.line_span(a)
        text = view.buffer.text[begin:end] + ("" if a != b else "\n")
        changes.append(((begin, begin), text))
    app.change_text(view, "duplicate_line", changes)


@text_command
def swap_line_up(app: Editor, view: ViewState) -> None:
    """Move the lines of each selection up by one line."""
    changes = []
    for begin, end in _blocks(view):
        if begin:
            above, _ = view.buffer.line_span(begin - 1)
            changes += [((above, begin), ""), ((end, end), "\n" + view.buffer.text[above : begin - 1])]
    app.change_text(view, "swap_line_up", changes)


@text_command
def swap_line_down(app: Editor, view: ViewState) -> None:
    """Move the lines of each selection down by one line."""
    changes = []
    for begin, end in _blocks(view):
        if end < len(view.buffer):
            below = view.buffer.line_span(end + 1)[1]
            changes += [((end, below), ""), ((begin, begin), view.buffer.text[end + 1 : below] + "\n")]
    app.change_text(view, "swap_line_down", changes)


@text_command
def indent(app: Editor, view: ViewState) -> None:
    """Indent the lines of each selection, except empty ones."""
    step = " " * view.tab_size if view.settings.get("translate_tabs_to_spaces") else "\t"
    app.change_text(view, "indent", [((start, start), step) for start, line in _lines(view) if line])


@text_command
def unindent(app: Editor, view: ViewState) -> None:
    """Unindent the lines of each selection."""
    changes = []
    for start, line in _lines(view):
        blank = len(line) - len(line.lstrip(" "))
        gone = 1 if line.startswith("\t") else min(view.tab_size, blank)
        changes.append(((start, start + gone), ""))
    app.change_text(view, "unindent", changes)


def _lines(view: ViewState) -> list[tuple[int, str]]:
    """The offset and the text of each selected line."""
    found = []
    for begin, end in _blocks(view):
        start = begin
        for line in view.buffer.text[begin:end].split("\n"):
            found.append((start, line))
            start += len(line) + 1
    return found
