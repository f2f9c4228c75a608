"""The one way in which the package changes the text of a buffer: exactly as given, whatever the settings say.

The editor's own commands make something else of a text: they expand tabs and snippets, indent lines, and take blanks
away when a file is saved (`docs/protocols/sublime.md#views-and-windows`). Through `EditorFiles`, agents and decisions
read and write the files in tabs.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import sublime
import sublime_plugin

from ..review.compare import common_head
from ..review.disk import Encodings, Stamp, stamp
from ..review.review_screen import UnsavedTextError
from .bridge import UiBridge, asked
from .windows import OWN_SAVES, encodings_of, open_files, views_of_file

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


# Files that are open, whose tabs stay as they are.


class EditorFiles:
    """The files in tabs: `OpenFiles`. They are waited for as long as the editor lives."""

    def __init__(self, bridge: UiBridge) -> None:
        self.bridge = bridge

    @asked(waits=True)
    def open_files(self) -> dict[str, bool]:
        return open_files()

    @asked(waits=True)
    def buffer(self, path: str) -> str | None:
        view = next((view for view in views_of_file(path, is_exact=True) if view.is_dirty()), None)
        return view.substr(sublime.Region(0, view.size())) if view else None

    async def replace_buffer(self, path: str, text: str, *, known: str | None = None) -> Stamp:
        """As `OpenFiles` has it."""

        def begin(done: Callable[[Stamp], None]) -> None:
            if replace(path, text, known):
                # At once, before others write it, and not here, where its disk may hang.
                threading.Thread(target=lambda: done(stamp(path)), name="qwen-companion-stamp", daemon=True).start()
            else:
                done(None)

        return await self.bridge.ask(begin, waits=True)

    @asked(waits=True)
    def encodings(self, path: str) -> Encodings:
        return encodings_of(path)


def replace(path: str, text: str, known: str | None) -> bool:
    """Replace the text of an open file as one step of undo, and save it. Returns whether it is open.

    Raises:
        UnsavedTextError: it has an unsaved text that isn't `known`.
        OSError: it can't be saved.
    """
    views = [view for view in views_of_file(path, is_exact=True) if not view.is_loading()]
    # An unsaved text is what was read.
    view = max(views, key=sublime.View.is_dirty, default=None)
    if view is None:
        return False
    if view.is_dirty() and text_of(view) != known:
        raise UnsavedTextError(f"{path} has unsaved text")
    if view.is_dirty():
        # What the person has typed is theirs: it is saved as a save of theirs, before an agent writes.
        save(view)
        if view.is_dirty():
            raise OSError(f"{path} could not be saved")
    before = view.substr(sublime.Region(0, view.size()))
    if before != text:
        # The smallest one, so that carets and folds stay where they are.
        edit(view, [smallest_edit(before, text)])
    with OWN_SAVES.saving(path):
        save(view)
    if view.is_dirty():
        if before != text:
            # The person would save it later without knowing what it is.
            view.run_command("undo")
        raise OSError(f"{path} could not be saved")
    return True
