"""The editor's own commands for texts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from headless import classify, completions, diff
from headless.api.flags import PointClassification
from headless.builtin import text_command
from headless.host import not_offered
from headless.metrics import LINE_HEIGHT

if TYPE_CHECKING:
    from headless.editor import Editor
    from headless.window import ViewState

WORD_ENDS = PointClassification.WORD_END | PointClassification.PUNCTUATION_END | PointClassification.LINE_START
WORD_STARTS = (
    PointClassification.WORD_START
    | PointClassification.PUNCTUATION_START
    | PointClassification.LINE_END
    | PointClassification.LINE_START
)
"""Where deleting a word stops, forward and backward."""
INDENTATION_SAMPLE = 2**14
"""How many characters at the start of a text are examined for its indentation."""
INDENTATION_SHARES = {8: 1.0, 7: 0.95, 6: 0.9, 5: 0.9, 4: 0.8, 3: 0.9, 2: 0.8}
"""The sizes of an indent, the largest first, and the share of the lines whose indent must be a multiple of each."""


@text_command
def insert(app: Editor, view: ViewState, characters: str = "") -> None:
    """Type `characters` at every caret, over what is selected.

    Each line and each line feed is a separate change. A new line is indented like the line before it.
    """
    with app.editing(view, "insert", {"characters": characters}) as edit:
        for part in re.findall(r"\n|[^\n]+", characters) or [""]:
            for begin, end in sorted(view.spans, reverse=True):
                indent = _indent(view, begin) if part == "\n" and view.settings.get("auto_indent") else ""
                app.edits.change(view, edit, begin, end, part + indent)
            view.select([(end, end) for _, end in view.spans])
    app.tell_selection(view)
    completions.typed(app, view, characters)


def _indent(view: ViewState, point: int) -> str:
    """The white space at the start of a point's line, up to the point."""
    before = view.buffer.text[view.buffer.line_span(point)[0] : point]
    return before[: len(before) - len(before.lstrip(" \t"))]


@text_command
def insert_snippet(app: Editor, view: ViewState, contents: str = "", name: str = "", **variables: Any) -> None:
    """Replace each selection by a snippet, and select the snippet's first field; `name` is that of a resource.

    All other arguments, and SELECTION, are variables of the snippet.
    """
    if name:
        text = app.packages.read(name).decode("utf-8")
        found = re.search(r"<content>(?:<!\[CDATA\[)?(.*?)(?:\]\]>)?</content>", text, re.DOTALL)
        contents = found[1].removeprefix("\n").removesuffix("\n") if found else ""
    given = {name: str(value) for name, value in variables.items()}
    completions.put_snippet(app, view, contents, view.spans, "insert_snippet", given)


@text_command
def auto_complete(app: Editor, view: ViewState, **_: Any) -> None:
    """Ask for completions and show them."""
    completions.ask(app, view)


@text_command
def commit_completion(app: Editor, view: ViewState) -> None:
    """Insert the first of the completions that are shown."""
    completions.commit(app, view)


@text_command
def hide_auto_complete(app: Editor, view: ViewState) -> None:
    """Hide the completions."""
    view.completions = None


@text_command
def append(
    app: Editor,
    view: ViewState,
    characters: str = "",
    force: bool = False,
    scroll_to_end: bool = False,
    disable_tab_translation: bool = False,
) -> None:
    """Add `characters` at the end; `force` also to a read-only buffer."""
    buffer, end = view.buffer, len(view.buffer)
    read_only, translate = buffer.read_only, view.settings.own.get("translate_tabs_to_spaces")
    try:
        buffer.read_only = read_only and not force
        if disable_tab_translation:
            view.settings.own["translate_tabs_to_spaces"] = False
        app.change_text(view, "append", [((end, end), characters)], {"characters": characters})
    finally:
        buffer.read_only = read_only
        if disable_tab_translation:
            del view.settings.own["translate_tabs_to_spaces"]
            if translate is not None:
                view.settings.own["translate_tabs_to_spaces"] = translate
    if scroll_to_end:
        app.metrics.show(view, len(buffer), False)


@text_command
def left_delete(app: Editor, view: ViewState) -> None:
    """Delete what is selected, or the character before each caret."""
    spans = [(a, b) if a != b else (max(0, a - 1), b) for a, b in view.selection]
    app.change_text(view, "left_delete", [((min(s), max(s)), "") for s in spans])


@text_command
def right_delete(app: Editor, view: ViewState) -> None:
    """Delete what is selected, or the character after each caret."""
    spans = [(a, b) if a != b else (a, view.buffer.clamp(b + 1)) for a, b in view.selection]
    app.change_text(view, "right_delete", [((min(s), max(s)), "") for s in spans])


@text_command
def scroll_lines(app: Editor, view: ViewState, amount: float) -> None:
    """Scroll by lines: up for a positive amount, down for a negative one."""
    left, top = view.scroll
    app.metrics.scroll_to(view, left, top - amount * LINE_HEIGHT)


@text_command
def noop(app: Editor, view: ViewState) -> None:
    """Do nothing."""


@text_command
def delete_word(app: Editor, view: ViewState, forward: bool = True) -> None:
    """Delete what is selected, or from each caret up to the end or beginning of a word, punctuation or line."""
    classes = WORD_ENDS if forward else WORD_STARTS

    def reach(point: int) -> int:
        return classify.find(view.buffer.text, point, forward, classes, view.separators, "_")

    spans = [(a, b) if a != b else (reach(a), b) for a, b in view.selection]
    app.change_text(view, "delete_word", [((min(s), max(s)), "") for s in spans])


@text_command
def run_macro_file(app: Editor, view: ViewState, file: str) -> None:
    """Not offered; a listener may run something else instead."""
    raise not_offered("the command run_macro_file")


@text_command
def drag_select(
    app: Editor,
    view: ViewState,
    event: dict[str, Any] | None = None,
    by: str = "",
    extend: bool = False,
    additive: bool = False,
) -> None:
    """Do what a click does: put the caret at the event's place, or select the word there if `by` is "words"."""
    left, top = view.scroll
    at = event or {}
    point = app.metrics.point(view, left + float(at.get("x", 0)), top + float(at.get("y", 0)))
    span = classify.word(view.buffer.text, point, point, view.separators) if by == "words" else (point, point)
    if extend and view.selection:
        span = (view.selection[-1][0], point)
    view.select([*view.selection, span] if additive else [span])
    app.selection_changed(view)


@text_command
def undo(app: Editor, view: ViewState) -> None:
    """Undo the last step."""
    app.edits.undo(view)


@text_command
def redo(app: Editor, view: ViewState) -> None:
    """Redo the step that was undone last."""
    app.edits.redo(view)


@text_command
def mark_undo_groups_for_gluing(app: Editor, view: ViewState) -> None:
    """Start collecting the steps that `glue_marked_undo_groups` joins."""
    view.buffer.history.mark()


@text_command
def maybe_mark_undo_groups_for_gluing(app: Editor, view: ViewState) -> None:
    """As `mark_undo_groups_for_gluing`, unless steps are being collected already."""
    view.buffer.history.mark(again=False)


@text_command
def unmark_undo_groups_for_gluing(app: Editor, view: ViewState) -> None:
    """Stop collecting steps."""
    view.buffer.history.unmark()


@text_command
def glue_marked_undo_groups(app: Editor, view: ViewState) -> None:
    """Join the collected steps into one."""
    view.buffer.history.glue()


@text_command
def revert(app: Editor, view: ViewState) -> None:
    """Replace the buffer's text by what is on disk."""
    app.documents.revert(view)


@text_command
def detect_indentation(app: Editor, view: ViewState, show_message: bool = True, threshold: int = 10) -> None:
    """Set the tab settings from the first lines, if enough of them are indented and most in the same way."""
    lines = view.buffer.text[:INDENTATION_SAMPLE].split("\n")
    with_tabs = sum(line.startswith("\t") for line in lines)
    blanks = [len(line) - len(rest) for line in lines if (rest := line.lstrip(" ")) and len(line) - len(rest) > 1]
    if with_tabs + len(blanks) < threshold:
        return
    if len(blanks) > with_tabs:
        for size, share in INDENTATION_SHARES.items():
            if sum(count % size == 0 for count in blanks) >= share * len(blanks):
                app.settings.set(view.settings, "translate_tabs_to_spaces", True)
                app.settings.set(view.settings, "tab_size", size)
                return
    elif with_tabs >= INDENTATION_SHARES[4] * (with_tabs + len(blanks)):
        app.settings.set(view.settings, "translate_tabs_to_spaces", False)


@text_command
def save(app: Editor, view: ViewState, **_: Any) -> None:
    """Write the view's text to its file."""
    app.documents.save(view)


@text_command
def copy(app: Editor, view: ViewState) -> None:
    """Copy what is selected, or the lines of the carets."""
    app.clipboard = _selected_text(view)


@text_command
def cut(app: Editor, view: ViewState) -> None:
    """Copy what is selected, or the lines of the carets, and delete it."""
    app.clipboard = _selected_text(view)
    app.change_text(view, "cut", [(span, "") for span in _spans_to_copy(view)])


def _spans_to_copy(view: ViewState) -> list[tuple[int, int]]:
    """What is selected or, if nothing is, the carets' whole lines, each once."""
    if not _copies_lines(view):
        return view.spans
    lines = dict.fromkeys(view.buffer.line_span(a) for a, _ in view.spans)
    return [(begin, view.buffer.clamp(end + 1)) for begin, end in lines]


def _selected_text(view: ViewState) -> str:
    separator = "" if _copies_lines(view) else "\n"
    return separator.join(view.buffer.text[a:b] for a, b in _spans_to_copy(view))


def _copies_lines(view: ViewState) -> bool:
    return all(a == b for a, b in view.selection) and bool(view.settings.get("copy_with_empty_selection", True))


@text_command
def paste(app: Editor, view: ViewState) -> None:
    """Replace what is selected by the clipboard's text; if it has as many lines as there are carets, each gets one."""
    lines, count = app.clipboard.split("\n"), len(view.selection)
    texts = lines if len(lines) == count else [app.clipboard] * count
    app.change_text(view, "paste", list(zip(view.spans, texts, strict=True)))
    view.select([(end, end) for _, end in view.spans])
    app.tell_selection(view)


@text_command
def set_setting(app: Editor, view: ViewState, setting: str, value: Any) -> None:
    """Set one of the view's settings."""
    app.settings.set(view.settings, setting, value)


@text_command
def toggle_setting(app: Editor, view: ViewState, setting: str) -> None:
    """Turn one of the view's settings on or off."""
    app.settings.set(view.settings, setting, not view.settings.get(setting))


@text_command
def toggle_inline_diff(app: Editor, view: ViewState, **_: Any) -> None:
    """Show or hide the differences from the reference document in the text."""
    view.inline_diff = not view.inline_diff


@text_command
def revert_hunk(app: Editor, view: ViewState) -> None:
    """Restore the reference document's lines at each caret."""
    hunks = diff.hunks(view.buffer)
    at = {diff.hunk_at(hunks, view.buffer.lines.row(b)) for _, b in view.selection}
    changes = [(diff.span(view.buffer, hunk), hunk.old) for hunk in hunks if hunk in at]
    if changes:
        app.change_text(view, "revert_hunk", changes)


@text_command
def next_modification(app: Editor, view: ViewState) -> None:
    """Move the caret to the next difference from the reference document; the first one follows the last."""
    _go_to_modification(app, view, forward=True)


@text_command
def prev_modification(app: Editor, view: ViewState) -> None:
    """Move the caret to the previous difference; the last one precedes the first."""
    _go_to_modification(app, view, forward=False)


def _go_to_modification(app: Editor, view: ViewState, forward: bool) -> None:
    rows = [hunk.row for hunk in diff.hunks(view.buffer)]
    if not rows or not view.selection:
        return
    here = view.buffer.lines.row(view.selection[0][1])
    if forward:
        row = next((row for row in rows if row > here), rows[0])
    else:
        row = next((row for row in reversed(rows) if row < here), rows[-1])
    point = view.buffer.text_point(row, 0, True)
    view.select([(point, point)])
    app.metrics.show(view, point)
    app.selection_changed(view)
