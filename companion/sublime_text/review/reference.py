"""What the gutter compares a file with: its baseline while changes of it wait, and git's text again afterwards."""

from __future__ import annotations

from collections.abc import Callable

import sublime

from ..calls import AskLater
from .written_view import WrittenView

MERGE_AFTER = 400
"""Milliseconds after an edit until the gutter leaves it out."""


class ReferenceDocuments:
    """The reference documents of the views with changes; `marked` finds one of those by its id."""

    def __init__(self, ask: AskLater, marked: Callable[[int], WrittenView | None]) -> None:
        self._ask = ask
        self._marked = marked
        self._merging: set[int] = set()
        """The views whose unsaved edits are about to be merged in."""

    def edited(self, view: sublime.View) -> None:
        """A view with changes was edited: the person's unsaved edits are no changes of an agent."""
        number = view.id()
        if number not in self._merging:
            self._merging.add(number)
            sublime.set_timeout(lambda: self._merge(number), MERGE_AFTER)

    def _merge(self, number: int) -> None:
        self._merging.discard(number)
        marked = self._marked(number)
        window = marked.view.window() if marked else None
        if marked is None or window is None:
            return
        changes, mine = marked.changes, marked.view.substr(sublime.Region(0, marked.view.size()))

        def answer(text: str | None) -> None:
            if self._marked(number) is marked and marked.changes is changes:
                marked.refer_to(changes.baseline if text is None else text)

        self._ask(window, lambda companion: companion.changes.merged(changes.baseline, changes.text, mine), answer)

    def restore(self, marked: WrittenView) -> None:
        """Nothing of a file waits any more: its gutter compares with git again, as the person's settings say."""
        view, row = marked.view, marked.row
        window, settings = view.window(), view.settings()
        # `reset_reference_document` doesn't bring git's own text back (sublimehq/sublime_text#2689).
        if window is None or settings.get("mini_diff") != "auto":
            return

        def answer(text: str | None) -> None:
            if text is not None and view.is_valid() and self._marked(view.id()) is None:
                view.set_reference_document(text)

        is_index = settings.get("git_diff_target", "index") != "head"
        self._ask(window, lambda companion: companion.changes.committed(row.root, row.path, in_index=is_index), answer)
