"""Puts a text into a view, in parts, so that the UI thread stays responsive."""

from __future__ import annotations

from collections.abc import Callable

import sublime

from ..buffers import edit
from .leftovers import remember
from .steps import in_steps

CHUNK = 500_000
"""The number of characters that are inserted into a view at once."""


def fill(view: sublime.View, text: str, then: Callable[[bool], None], *, detects_indentation: bool) -> None:
    """Put a text into an empty view. `then` gets whether nobody has edited the view meanwhile."""
    seen = view.change_count()
    is_untouched = True

    def insert(start: int) -> None:
        nonlocal seen, is_untouched
        is_untouched = is_untouched and view.change_count() == seen
        edit(view, [(view.size(), view.size(), text[start : start + CHUNK])])
        seen = view.change_count()

    def finish() -> None:
        if detects_indentation and view.settings().get("detect_indentation"):
            view.run_command("detect_indentation", {"show_message": False})
        remember(view, text)
        view.clear_undo_stack()
        view.sel().clear()
        view.sel().add(0)
        then(is_untouched)

    last = max(0, (len(text) - 1) // CHUNK * CHUNK)
    steps = [lambda start=start: insert(start) for start in range(0, last, CHUNK)]
    in_steps([*steps, lambda: (insert(last), finish())], view.is_valid)
