"""A blank line above the first line of the original, beside lines that are new at the top of the proposal.

A phantom can only be below a line. Without the blank line, the first line of the original would be beside the first new
line, and the insertion would look like a change of it.
"""

from __future__ import annotations

import sublime

from .leftovers import remember


class TopLine:
    """The blank line of one view, which is read-only."""

    def __init__(self, view: sublime.View, text: str) -> None:
        self._view = view
        self._text = text
        self.is_there = False

    def show(self, *, wanted: bool) -> None:
        """Add or remove it. The numbers of the lines would be wrong with it, so they are hidden."""
        if wanted == self.is_there:
            return
        self.is_there = wanted
        view = self._view
        view.set_read_only(False)
        view.run_command("qwen_companion_edit_diff", {"edits": [[0, 0, "\n"] if wanted else [0, 1, ""]]})
        view.set_read_only(True)
        view.clear_undo_stack()
        if wanted:
            view.settings().set("line_numbers", False)
        else:
            view.settings().erase("line_numbers")
        remember(view, "\n" * wanted + self._text)
