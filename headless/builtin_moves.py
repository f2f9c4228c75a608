"""The editor's own commands that move carets and select."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from headless import classify
from headless.api.flags import PointClassification
from headless.builtin import text_command

if TYPE_CHECKING:
    from headless.editor import Editor
    from headless.window import ViewState

_STOPS = {
    "words": PointClassification.WORD_START | PointClassification.PUNCTUATION_START,
    "word_ends": PointClassification.WORD_END | PointClassification.PUNCTUATION_END,
    "subwords": PointClassification.SUB_WORD_START | PointClassification.PUNCTUATION_START,
    "subword_ends": PointClassification.SUB_WORD_END | PointClassification.PUNCTUATION_END,
}
_LINE_ENDS = PointClassification.LINE_START | PointClassification.LINE_END


@text_command
def move(app: Editor, view: ViewState, by: str, forward: bool = True, extend: bool = False) -> None:
    """Move the carets by `characters`, `lines`, `words`, `word_ends`, `subwords` or `subword_ends`.

    Without `extend`, a selection becomes a caret: at its end or beginning if `by` is `characters`, else where its caret
    moves to.
    """
    moved = []
    for a, b in view.selection:
        if a != b and by == "characters" and not extend:
            point = max(a, b) if forward else min(a, b)
        else:
            point = _moved(view, b, by, forward)
        moved.append((a if extend else point, point))
    _select(app, view, moved)


def _moved(view: ViewState, point: int, by: str, forward: bool) -> int:
    step = 1 if forward else -1
    if by == "characters":
        return view.buffer.clamp(point + step)
    if by == "lines":
        row, col = view.buffer.rowcol(point)
        if not 0 <= row + step < view.buffer.lines.count():
            return len(view.buffer) if forward else 0
        return view.buffer.text_point(row + step, col, True)
    return classify.find(view.buffer.text, point, forward, _STOPS[by] | _LINE_ENDS, view.separators, "_")


def _select(app: Editor, view: ViewState, spans: list[tuple[int, int]]) -> None:
    view.select(spans)
    app.selection_changed(view)


@text_command
def select_all(app: Editor, view: ViewState) -> None:
    """Select the whole text."""
    _select(app, view, [(0, len(view.buffer))])


@text_command
def single_selection(app: Editor, view: ViewState, index: int = 0) -> None:
    """Keep only one selection."""
    _select(app, view, view.selection[index : index + 1])


@text_command
def goto_line(app: Editor, view: ViewState, line: int | str) -> None:
    """Put the caret at the start of a line, counted from 1, and scroll it to the middle."""
    point = view.buffer.text_point(min(int(line), view.buffer.lines.count()) - 1, 0, True)
    _select(app, view, [(point, point)])
    app.metrics.show_at_center(view, point)


@text_command
def split_selection_into_lines(app: Editor, view: ViewState) -> None:
    """Split each selection into one for each of its lines."""
    parts = []
    for a, b in view.selection:
        begin, end = min(a, b), max(a, b)
        for line in view.buffer.text[begin:end].split("\n"):
            parts.append((begin, begin + len(line)))
            begin += len(line) + 1
    _select(app, view, parts)


@text_command
def expand_selection(app: Editor, view: ViewState, to: str, **_: Any) -> None:
    """Select the whole `line` or `word` of each caret; a selection of whole lines gets the next line too."""
    grown = []
    for a, b in view.selection:
        begin, end = min(a, b), max(a, b)
        if to == "word":
            grown.append(classify.word(view.buffer.text, begin, end, view.separators))
        elif to == "line":
            grown.append((view.buffer.line_span(begin)[0], view.buffer.clamp(view.buffer.line_span(end)[1] + 1)))
        else:
            grown.append((a, b))
    _select(app, view, grown)


@text_command
def move_to(app: Editor, view: ViewState, to: str, extend: bool = False) -> None:
    """Move the carets to `bof`, `eof`, `bol` or `eol`."""
    places: dict[str, Callable[[int], int]] = {
        "bof": lambda point: 0,
        "eof": lambda point: len(view.buffer),
        "bol": lambda point: view.buffer.line_span(point)[0],
        "hardbol": lambda point: view.buffer.line_span(point)[0],
        "eol": lambda point: view.buffer.line_span(point)[1],
        "hardeol": lambda point: view.buffer.line_span(point)[1],
    }
    ends = [(a, places[to](b)) for a, b in view.selection]
    _select(app, view, ends if extend else [(b, b) for _, b in ends])
