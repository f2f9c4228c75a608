"""What the tools for agents tell of a window's tabs, and how they show a place without taking the focus."""

from __future__ import annotations

import sublime

from ...ids import WindowId
from ...server.port import Selected, Selection, Tab
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


def show_place(window: WindowId, focus: Focus, path: str, line: int, character: int) -> bool:
    """Show a place of a file. The focus stays with what has it, in this window and in others."""
    found = find_window(window)
    if found is None:
        return False
    before = focus.before(found, focus.last(found))
    view = found.find_open_file(path)
    if view is None:
        view = found.open_file(path, sublime.NewFileFlags.ADD_TO_SELECTION)
    elif not is_visible(view):
        beside = [*found.selected_sheets_in_group(view.sheet().group() or 0), view.sheet()]  # pyright: ignore[reportOptionalMemberAccess]
        found.select_sheets([sheet for sheet in beside if sheet])
    before.restore()
    _scroll(view, line, character)
    return is_visible(view)


def _scroll(view: sublime.View, line: int, character: int, tries: int = 100) -> None:
    """Scroll to a place, as soon as the file is loaded. The carets stay."""
    if not view.is_valid() or not tries:
        return
    if view.is_loading():
        sublime.set_timeout(lambda: _scroll(view, line, character, tries - 1), 20)
    else:
        view.show_at_center(view.text_point_utf16(line - 1, character - 1, clamp_column=True))


def _part(view: sublime.View, region: sublime.Region, limit: int) -> tuple[Selection, Selection, bool]:
    length = min(region.size(), limit)
    text = view.substr(sublime.Region(region.begin(), region.begin() + length))
    is_cut = length < region.size()
    return _at(view, region.begin(), text), _at(view, region.end()), is_cut


def _at(view: sublime.View, point: int, text: str = "") -> Selection:
    row, character = view.rowcol_utf16(point)
    return Selection(row + 1, character + 1, text)
