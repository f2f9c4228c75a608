"""Completions: asking the listeners, showing those that match what is typed, and inserting one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headless import jsonc, scopes, snippets
from headless.api.flags import AutoCompleteFlags, CompletionFormat, CompletionItemFlags
from headless.api.items import CompletionItem, CompletionList
from headless.changes import Span
from headless.window import Completions

if TYPE_CHECKING:
    from headless.editor import Editor
    from headless.window import ViewState


def _prefix_start(view: ViewState, point: int) -> int:
    separators, start = view.separators, point
    while start and not view.buffer.text[start - 1].isspace() and view.buffer.text[start - 1] not in separators:
        start -= 1
    return start


def ask(app: Editor, view: ViewState) -> None:
    """Ask all listeners for completions at the carets."""
    carets = [max(span) for span in view.selection]
    if not carets:
        return
    start = _prefix_start(view, carets[0])
    answers = app.listeners.query_completions(view, view.buffer.text[start : carets[0]], carets)
    view.completions = Completions(start, carets[0], [_listed(answer) for answer in answers])


def _listed(answer: Any) -> CompletionList:
    if isinstance(answer, CompletionList):
        return answer
    items, flags = answer if isinstance(answer, tuple) else (answer, AutoCompleteFlags.NONE)
    return CompletionList(items, flags)


def shown(view: ViewState) -> list[CompletionItem]:
    """The completions that match what is typed; none if the caret has moved elsewhere."""
    asked, caret = view.completions, max(view.selection[0]) if view.selection else -1
    if asked is None or _prefix_start(view, caret) != asked.start:
        return []
    prefix = view.buffer.text[asked.start : caret]
    items = [_item(item) for each in asked.lists for item in each.completions or ()]
    return [item for item in items if _fits(prefix.lower(), item.trigger.lower())]


def _item(value: Any) -> CompletionItem:
    if isinstance(value, CompletionItem):
        return value
    trigger, text = (value, value) if isinstance(value, str) else value
    trigger, _, annotation = trigger.partition("\t")
    return CompletionItem(trigger, annotation, text.partition("\t")[0])


def _fits(prefix: str, trigger: str) -> bool:
    """Whether the trigger has the letters of the prefix, in the same order."""
    rest = iter(trigger)
    return all(letter in rest for letter in prefix)


def commit(app: Editor, view: ViewState, index: int = 0) -> None:
    """Replace what is typed by one of the completions that are shown."""
    asked, items = view.completions, shown(view)
    if asked is None or index >= len(items):
        return
    item, carets = items[index], [max(span) for span in view.selection]
    view.completions = None
    if item.flags & CompletionItemFlags.KEEP_PREFIX:
        # The flag keeps what was typed before the completions were asked for, not what has been typed since.
        typed = max(0, carets[0] - asked.asked_at)
    else:
        typed = carets[0] - asked.start + _overlap(view.buffer.text[: asked.start], item.trigger)
    is_command = item.completion_format == CompletionFormat.COMMAND
    text = "" if is_command else item.completion or item.trigger
    if typed or text:
        spans = [(max(0, caret - typed), caret) for caret in carets]
        if item.completion_format == CompletionFormat.SNIPPET:
            put_snippet(app, view, text, spans, "commit_completion")
        else:
            app.change_text(view, "commit_completion", [(span, text) for span in spans])
            view.select([(end, end) for _, end in view.spans])
            app.tell_selection(view)
    if is_command:
        name, _, args = item.completion.partition(" ")
        app.commands.run(name, jsonc.loads(args) if args else None, view, view.window)


def put_snippet(
    app: Editor,
    view: ViewState,
    contents: str,
    spans: list[Span],
    command: str,
    variables: dict[str, str] | None = None,
) -> None:
    """Replace each span by a snippet, as one step, and select the first field of each."""
    selected: list[Span] = []
    with app.editing(view, command, {"contents": contents}) as edit:
        for begin, end in sorted(spans, reverse=True):
            line = view.buffer.text[view.buffer.line_span(begin)[0] : begin]
            indent = line[: len(line) - len(line.lstrip())]
            selected_text = view.buffer.text[begin:end]
            values = {"SELECTION": selected_text, "TM_SELECTED_TEXT": selected_text, **(variables or {})}
            snippet = snippets.parse(snippets.indented(contents, indent), values)
            size = len(view.buffer)
            app.edits.change(view, edit, begin, end, snippet.text)
            moved = len(view.buffer) - size
            selected = [(a + moved, b + moved) for a, b in selected]
            selected += [(begin + a, begin + b) for a, b in snippet.first()]
        view.select(selected)
    app.tell_selection(view)


def _overlap(before: str, trigger: str) -> int:
    """How many characters of the trigger stand before what counts as typed, such as the `$` of a variable."""
    return next((n for n in range(min(len(before), len(trigger)), 0, -1) if before.endswith(trigger[:n])), 0)


def typed(app: Editor, view: ViewState, text: str) -> None:
    """Ask for completions if the typed text is one of the view's triggers, or if the lists shown are dynamic."""
    asked = view.completions
    is_dynamic = asked is not None and any(each.flags & AutoCompleteFlags.DYNAMIC_COMPLETIONS for each in asked.lists)
    if is_dynamic or (view.settings.get("auto_complete", True) and _triggers(view, text)):
        ask(app, view)


def _triggers(view: ViewState, text: str) -> bool:
    triggers = view.settings.get("auto_complete_triggers") or []
    return any(
        text[-1:] in each.get("characters", "") and scopes.score(view.scope, each.get("selector", "")) > 0
        for each in triggers
        if text
    )
