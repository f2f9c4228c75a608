"""Key bindings: `.sublime-keymap` files, their contexts, and pressing keys."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from headless import completions, jsonc, scopes
from headless.api.flags import QueryOperator
from headless.loop import report_exception
from headless.paths import platform, platform_title

if TYPE_CHECKING:
    from headless.editor import Editor
    from headless.window import ViewState

_MODIFIERS = ("ctrl", "alt", "shift", "super")
ANY_CHARACTER = "<character>"
"""A binding to whichever character is typed, which the command gets as `character`."""
_ALIASES = {"control": "ctrl", "option": "alt", "command": "super", "return": "enter"}
OPERATORS = {operator.name.lower(): operator for operator in QueryOperator}


def normalized(key: str, mac: bool) -> str:
    """A key with its modifiers in one order: `shift+ctrl+a` → `ctrl+shift+a`."""
    parts = [_ALIASES.get(part, part) for part in re.split(r"\+(?!$)", key.lower())]
    primary = "super" if mac else "ctrl"
    parts = [primary if part == "primary" else part for part in parts]
    held = [modifier for modifier in _MODIFIERS if modifier in parts[:-1]]
    return "+".join([*held, parts[-1]])


def bindings(app: Editor) -> list[dict[str, Any]]:
    """All bindings; a later one takes precedence over an earlier one."""
    files = ["Default.sublime-keymap", f"Default ({platform_title()}).sublime-keymap"]
    found: list[dict[str, Any]] = []
    for text in app.packages.texts(files):
        try:
            found += jsonc.loads(text) or []
        except ValueError:
            report_exception()
    return found


def press(app: Editor, view: ViewState, keys: list[str]) -> str | None:
    """Run what the keys are bound to; returns the command's name, None if nothing is bound.

    A single character that is not bound is typed.
    """
    mac = platform() == "osx"
    wanted = [normalized(key, mac) for key in keys]
    for binding in reversed(bindings(app)):
        have = [normalized(key, mac) for key in binding.get("keys", [])]
        if have == [ANY_CHARACTER] and len(keys) == 1 and _character(keys[0]):
            args = {**(binding.get("args") or {}), "character": _character(keys[0])}
        elif have == wanted:
            args = binding.get("args")
        else:
            continue
        if matches(app, view, binding.get("context") or []):
            app.commands.run(binding["command"], args, view, view.window)
            return str(binding["command"])
    for key in keys:
        text = {"enter": "\n", "tab": "\t"}.get(key) or _character(key)
        if text:
            app.commands.run("insert", {"characters": text}, view, view.window)
    return None


def _character(key: str) -> str | None:
    """The character that a key types; None if it types none."""
    text = " " if key == "space" else key
    return text if len(text) == 1 else None


def matches(app: Editor, view: ViewState, contexts: list[dict[str, Any]]) -> bool:
    """Whether all contexts of a binding hold."""
    return all(_holds(app, view, context) for context in contexts)


def _holds(app: Editor, view: ViewState, context: dict[str, Any]) -> bool:
    key = str(context["key"])
    operator = OPERATORS[context.get("operator", "equal")]
    operand = context.get("operand", True)
    match_all = bool(context.get("match_all", False))
    answer = app.listeners.query_context(view, key, operator, operand, match_all)
    if answer is not None:
        return answer
    values = _values(app, view, key)
    if values is None:
        return False  # an unknown key: the binding does not apply
    if key in ("selector", "eol_selector"):
        hits = [_selects(value, operator, str(operand)) for value in values]
    else:
        hits = [_compare(value, operator, operand) for value in values]
    return bool(hits) and (all(hits) if match_all else any(hits))


def _values(app: Editor, view: ViewState, key: str) -> list[Any] | None:
    """The values of a built-in context key: one, or one for each selected region."""
    if key.startswith("setting."):
        name = key.removeprefix("setting.")
        return [view.settings.get(name, False)]
    text = view.buffer.text
    each: dict[str, Callable[[tuple[int, int]], Any]] = {
        "selection_empty": lambda span: span[0] == span[1],
        "text": lambda span: text[min(span) : max(span)],
        "preceding_text": lambda span: text[view.buffer.line_span(span[1])[0] : span[1]],
        "following_text": lambda span: text[span[1] : view.buffer.line_span(span[1])[1]],
        "selector": lambda span: view.scope,
        "eol_selector": lambda span: view.scope,
    }
    if key in each:
        return [each[key](span) for span in view.selection]
    window = view.window
    question = window.question if window else None
    one: dict[str, Callable[[], Any]] = {
        "num_selections": lambda: len(view.selection),
        "read_only": lambda: view.buffer.read_only,
        "has_unsaved_changes": lambda: view.buffer.dirty,
        "group_has_multiselect": lambda: bool(window and len(window.group.selected) > 1),
        "group_has_transient_sheet": lambda: bool(window and any(sheet.transient for sheet in window.group.sheets)),
        "is_javadoc": lambda: False,
        "is_recording_macro": lambda: False,
        "last_command": lambda: getattr(view.buffer.history.command(0), "command", None),
        "overlay_has_focus": lambda: question is not None and question.view is None,
        "overlay_visible": lambda: question is not None,
        "panel": lambda: window.active_panel if window else None,
        "panel_has_focus": lambda: question is not None and question.view is view,
        "panel_visible": lambda: bool(window and window.active_panel),
        "popup_visible": lambda: view.popup is not None,
        "auto_complete_visible": lambda: bool(completions.shown(view)),
        "has_next_field": lambda: False,
        "has_prev_field": lambda: False,
    }
    return [one[key]()] if key in one else None


def _selects(scope: str, operator: QueryOperator, selector: str) -> bool:
    hit = scopes.score(scope, selector) > 0
    return hit if operator == QueryOperator.EQUAL else not hit


def _compare(value: Any, operator: QueryOperator, operand: Any) -> bool:
    if operator in (QueryOperator.EQUAL, QueryOperator.NOT_EQUAL):
        return (value == operand) == (operator == QueryOperator.EQUAL)
    contains = operator in (QueryOperator.REGEX_CONTAINS, QueryOperator.NOT_REGEX_CONTAINS)
    search = re.search if contains else re.fullmatch
    hit = search(str(operand), str(value)) is not None
    negated = operator in (QueryOperator.NOT_REGEX_MATCH, QueryOperator.NOT_REGEX_CONTAINS)
    return hit != negated
