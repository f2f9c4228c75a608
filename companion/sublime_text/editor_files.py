"""Files that are open: what agents and decisions read and write there, whose tabs stay as they are."""

from __future__ import annotations

import threading
from collections.abc import Callable

import sublime

from ..review.disk import Encodings, Stamp, stamp
from ..review.review_screen import UnsavedTextError
from . import buffers
from .bridge import UiBridge, asked
from .windows import OWN_SAVES, encodings_of, open_files, views_of_file


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

    async def replace_buffer(self, path: str, text: str, *, keeps_unsaved: bool = False) -> Stamp:
        """As `OpenFiles` has it."""

        def begin(done: Callable[[Stamp], None]) -> None:
            if replace(path, text, keeps_unsaved=keeps_unsaved):
                # At once, before others write it, and not here, where its disk may hang.
                threading.Thread(target=lambda: done(stamp(path)), name="qwen-companion-stamp", daemon=True).start()
            else:
                done(None)

        return await self.bridge.ask(begin, waits=True)

    @asked(waits=True)
    def encodings(self, path: str) -> Encodings:
        return encodings_of(path)


def replace(path: str, text: str, *, keeps_unsaved: bool) -> bool:
    """Replace the text of an open file as one step of undo, and save it. Returns whether it is open.

    Raises:
        UnsavedTextError: it has unsaved text, with `keeps_unsaved`.
        OSError: it can't be saved.
    """
    views = [view for view in views_of_file(path, is_exact=True) if not view.is_loading()]
    # An unsaved text is what was read.
    view = max(views, key=sublime.View.is_dirty, default=None)
    if view is None:
        return False
    if keeps_unsaved and view.is_dirty():
        raise UnsavedTextError(f"{path} has unsaved text")
    if view.is_dirty():
        # What the person has typed is theirs: it is saved as a save of theirs, before an agent writes.
        buffers.save(view)
        if view.is_dirty():
            raise OSError(f"{path} could not be saved")
    before = view.substr(sublime.Region(0, view.size()))
    if before != text:
        # The smallest one, so that carets and folds stay where they are.
        buffers.edit(view, [buffers.smallest_edit(before, text)])
    with OWN_SAVES.saving(path):
        buffers.save(view)
    if view.is_dirty():
        if before != text:
            # The person would save it later without knowing what it is.
            view.run_command("undo")
        raise OSError(f"{path} could not be saved")
    return True
