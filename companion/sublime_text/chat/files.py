"""The editor's side of an agent's files: what is open is read and written here (companion/backends/port.py)."""

from __future__ import annotations

import sublime

from ...changes.port import UnsavedTextError
from ...chats.transcript.plain import flat, spelled
from .. import buffers
from ..windows import OWN_SAVES, views_of_file


def buffer(path: str) -> str | None:
    """The text of a file that is open with edits that aren't saved; None if there is none."""
    view = next((view for view in views_of_file(path, is_exact=True) if view.is_dirty()), None)
    return view.substr(sublime.Region(0, view.size())) if view else None


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


def may_touch(agent: str, path: str, *, writes: bool) -> bool:
    """Ask whether an agent may touch a file outside its folder."""
    verb = "write to" if writes else "read"
    question = (
        f"{flat(agent, 80)} wants to {verb} a file outside the folder of the chat:\n\n    {spelled(path)}\n\n"
        "Your answer counts for the folder of that file, until the chat ends."
    )
    return sublime.ok_cancel_dialog(question, "Allow", "QwenCompanion")
