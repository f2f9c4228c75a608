"""A read-only text in a tab of its own."""

from __future__ import annotations

from collections.abc import Sequence

import sublime

from .buffers import write_all
from .own_views import VIEWS, Kind, OwnView


class Page:
    """A scratch, read-only tab. A window has one of each kind."""

    def __init__(self, window: sublime.Window, kind: Kind, title: str) -> None:
        found = VIEWS.within(window, kind)
        self._kind: Kind = kind
        self._view = found[0] if found else window.new_file()
        self.record: OwnView = VIEWS.take(self._view, kind)
        """What is known about its view."""
        self._view.set_name(title)
        self._view.set_scratch(True)
        self._view.settings().update({"word_wrap": True, "wrap_width": 0, "line_numbers": False})
        window.focus_view(self._view)

    @property
    def view(self) -> sublime.View:
        """Its view."""
        return self._view

    @property
    def is_open(self) -> bool:
        """Whether its tab is there: neither closed, nor saved as a file of the person's."""
        return self._view.is_valid() and VIEWS.is_ours(self._view, self._kind)

    def show(self, text: str) -> None:
        """Replace the text. The caret stays on its line, and the view where it is scrolled to."""
        view = self._view
        if not self.is_open:
            return
        position = view.viewport_position()
        rows = [view.rowcol(region.b)[0] for region in view.sel()] or [0]
        write_all(view, text)
        view.set_read_only(True)
        view.clear_undo_stack()
        view.sel().clear()
        view.sel().add(view.text_point(rows[0], 0))
        view.set_viewport_position(position, animate=False)


def show_turn(window: sublime.Window, turn: str, diffs: Sequence[str], about: str = "", first: int = -1) -> None:
    """Show the diffs of a turn in a tab, with what is said about them, at the one with a number."""
    page = Page(window, "changes of a turn", "Qwen: Changes of a Turn")
    page.record.keep(turn=turn)
    if syntax := next(iter(sublime.find_syntax_by_scope("source.diff")), None):
        page.view.assign_syntax(syntax)
    head = f"{about}\n\n" if about else ""
    page.show(head + "\n".join(diffs))
    at = len(head) + sum(len(each) + 1 for each in diffs[: max(first, 0)])
    page.view.sel().clear()
    page.view.sel().add(at)
    page.view.show_at_center(at) if first >= 0 else page.view.show(0)
