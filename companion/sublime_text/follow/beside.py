"""Shows a place of a file beside what has the focus, which stays where it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import sublime

from ..windows import show_in_group

if TYPE_CHECKING:
    from ..windows import Focus

_LOAD = 20
"""Milliseconds between two checks whether a file is loaded."""
_LOADS = 250


def show_beside(
    window: sublime.Window, focus: Focus, path: str, line: int | None, shown: Callable[[sublime.View], object]
) -> None:
    """Show a line of a file, from 1, in another group if there is one, else side by side with the focused tab.

    `shown` gets the view once it is scrolled there. Nothing happens to a file that has the focus itself.
    """
    focused = focus.last(window)
    view = window.find_open_file(path)
    if focused is not None and view == focused:
        return
    before = focus.before(window, focused)
    beside = focused.sheet() if focused else None
    group = _group(window, view, beside)
    if view is None:
        view = window.open_file(
            path, sublime.NewFileFlags.SEMI_TRANSIENT | sublime.NewFileFlags.ADD_TO_SELECTION, group
        )
    sheet = view.sheet()
    if sheet is not None:
        is_same_group = beside is not None and beside.group() == group
        show_in_group(window, group, [beside, sheet] if beside is not None and is_same_group else [sheet])
    before.restore()
    _scroll(view, line, shown)


def _group(window: sublime.Window, view: sublime.View | None, beside: sublime.Sheet | None) -> int:
    """The group of a view that is open; else the last one without the focus."""
    if view is not None:
        return max(window.get_view_index(view)[0], 0)
    focused = beside.group() if beside is not None else None
    others = [group for group in range(window.num_groups()) if group != focused]
    return others[-1] if others else window.active_group()


def _scroll(view: sublime.View, line: int | None, shown: Callable[[sublime.View], object], looks: int = _LOADS) -> None:
    if not view.is_valid() or not looks:
        return
    if view.is_loading():
        sublime.set_timeout(lambda: _scroll(view, line, shown, looks - 1), _LOAD)
        return
    if line is not None:
        view.show_at_center(view.text_point(line - 1, 0), animate=False)
    shown(view)
