"""The one way in which the package changes the text of a buffer: exactly as given, whatever the settings say.

The editor's own commands make something else of a text: they expand tabs and snippets, indent lines, and take blanks
away when a file is saved (`docs/protocols/sublime.md#views-and-windows`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import sublime
import sublime_plugin

from ..review.compare import common_head

_NUMBERS = itertools.count(1)
Edit = tuple[int, int, str]
"""Where a change starts and ends, and the text that replaces what is there. All points are in characters."""


def edit(view: sublime.View, edits: Sequence[Edit]) -> None:
    """Make changes one after the other, as one step of undo: the points of each are those after the ones before it.

    A read-only view is changed, too, and stays read-only.
    """
    # Setting even the same value would call everyone who listens to the settings.
    own = {"translate_tabs_to_spaces": False} if any("\t" in text for _, _, text in edits) else {}
    with _overriding(view.settings(), **own):
        is_read_only = view.is_read_only()
        view.set_read_only(False)
        try:
            view.run_command(*command(edits))
        finally:
            view.set_read_only(is_read_only)


def command(edits: Sequence[Edit]) -> tuple[str, dict[str, Any]]:
    """The command that makes these edits, in a view that can be written, once.

    The edits are no arguments of it: recorded in a macro or repeated, it does nothing, instead of putting one file's
    text into another.
    """
    number = next(_NUMBERS)
    QwenCompanionEditCommand.given[number] = edits
    return "qwen_companion_edit", {"number": number}


def text_of(view: sublime.View) -> str:
    """The whole text."""
    return view.substr(sublime.Region(0, view.size()))


def write_all(view: sublime.View, text: str) -> None:
    """Replace the whole text."""
    edit(view, [(0, view.size(), text)])


def fill(view: sublime.View, text: str) -> None:
    """Put a text into an empty view with the editor's own command, once ours have gone with the package."""
    with _overriding(view.settings(), translate_tabs_to_spaces=False, auto_indent=False):
        view.run_command("append", {"characters": text, "force": True, "scroll_to_end": False})


def save(view: sublime.View) -> None:
    """Save the file of a view with exactly its text."""
    exact = _overriding(view.settings(), trim_trailing_white_space_on_save="none", ensure_newline_at_eof_on_save=False)
    with exact:
        view.run_command("save", {"quiet": True})


def smallest_edit(before: str, after: str) -> Edit:
    """The smallest single change that makes one text of the other."""
    start = common_head(before, after)
    end = common_head(before[start:][::-1], after[start:][::-1])
    return start, len(before) - end, after[start : len(after) - end]


@contextmanager
def _overriding(settings: sublime.Settings, **own: bool | str) -> Iterator[None]:
    """Have other values of settings for a moment. A view that had none of its own has none afterwards."""
    before = {name: settings.get(name) for name in own}
    changed = [name for name, value in own.items() if before[name] != value]
    for name in changed:
        settings.set(name, own[name])
    try:
        yield
    finally:
        for name in changed:
            settings.erase(name)
            if settings.get(name) != before[name]:
                settings.set(name, before[name])


class QwenCompanionEditCommand(sublime_plugin.TextCommand):
    """Change the text of a view, exactly as given."""

    given: ClassVar[dict[int, Sequence[Edit]]] = {}
    """The edits that are about to be made, by their numbers."""

    def run(self, edit: sublime.Edit, number: int) -> None:
        """Make the edits that `given` has under a number."""
        for start, end, text in self.given.pop(number, ()):
            # `replace` would select what it inserts at a caret.
            if start < end:
                self.view.erase(edit, sublime.Region(start, end))
            self.view.insert(edit, start, text)

    def is_visible(self) -> bool:
        """It is not shown in menus."""
        return False
