"""A read-only text in a tab of its own."""

from __future__ import annotations

import sublime

from .buffers import write_all


class Page:
    """A scratch, read-only tab. A window has one for each `setting`, which marks its view."""

    def __init__(self, window: sublime.Window, setting: str, title: str) -> None:
        found = [view for view in window.views() if view.settings().get(setting)]
        self._view = found[0] if found else window.new_file()
        self._view.set_name(title)
        self._view.set_scratch(True)
        self._view.settings().update({setting: True, "word_wrap": True, "wrap_width": 0, "line_numbers": False})
        window.focus_view(self._view)

    @property
    def view(self) -> sublime.View:
        """Its view."""
        return self._view

    def show(self, text: str) -> None:
        """Replace the text. The caret stays on its line, and the view where it is scrolled to."""
        view = self._view
        if not view.is_valid():
            return
        position = view.viewport_position()
        rows = [view.rowcol(region.b)[0] for region in view.sel()] or [0]
        write_all(view, text)
        view.set_read_only(True)
        view.clear_undo_stack()
        view.sel().clear()
        view.sel().add(view.text_point(rows[0], 0))
        view.set_viewport_position(position, animate=False)
