"""What the tools for agents tell of a window's tabs, and how they show a place without taking the focus."""

from __future__ import annotations

import sublime

from ...ids import WindowId
from ...server.port import Selected, Selection, Tab
from ..follow import show_beside
from ..windows import Focus, find_window, is_code, is_visible

MOST_SELECTIONS = 100


def tabs(window: WindowId, focus: Focus) -> list[Tab] | None:
    """The tabs of a window that show files; None if it is gone."""
    found = find_window(window)
    if found is None:
        return None
    active = focus.last_code(found)
    shown: list[Tab] = []
    for view in found.views():
        name, syntax = view.file_name(), view.syntax()
        if name and is_code(view):
            language = syntax.name if syntax else ""
            shown.append(Tab(name, language, view == active, is_visible(view), view.is_dirty()))
    return shown


def selected(window: WindowId, focus: Focus, limit: int) -> Selected | None:
    """The selections of the tab that had the focus last; None if it has no file or there is none."""
    found = find_window(window)
    view = focus.last_code(found) if found else None
    name = view.file_name() if view else None
    if view is None or name is None:
        return None
    parts = tuple(_part(view, region, limit) for region in list(view.sel())[:MOST_SELECTIONS])
    return Selected(name, parts)


def show_place(window: int, focus: Focus, path: str, line: int) -> bool:
    """Show a line of a file beside what has the focus, which stays. Nothing moves where the person types."""
    found = find_window(window)
    if found is None:
        return False
    show_beside(found, focus, path, line, lambda _: None)
    view = found.find_open_file(path)
    return view is not None and is_visible(view)


def save_file(window: int, path: str) -> bool:
    """Save a file that a tab shows, as the person's own command would. Returns whether nothing in it is unsaved."""
    found = find_window(window)
    view = found.find_open_file(path) if found else None
    if view is None:
        return False
    if view.is_dirty():
        view.run_command("save", {"async": False, "quiet": True})
    return not view.is_dirty()


def _part(view: sublime.View, region: sublime.Region, limit: int) -> tuple[Selection, Selection, bool]:
    length = min(region.size(), limit)
    text = view.substr(sublime.Region(region.begin(), region.begin() + length))
    is_cut = length < region.size()
    return _at(view, region.begin(), text), _at(view, region.end()), is_cut


def _at(view: sublime.View, point: int, text: str = "") -> Selection:
    row, character = view.rowcol_utf16(point)
    return Selection(row + 1, character + 1, text)
