"""Tabs: opening, showing, focusing, moving and closing them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from headless import variations
from headless.api.flags import NewFileFlags
from headless.buffer import TextBuffer
from headless.window import SheetState

if TYPE_CHECKING:
    from headless.editor import Editor
    from headless.window import ViewState, WindowState

_POSITION = re.compile(r"^(.*?)(?::(\d+))(?::(\d+))?$", re.DOTALL)


class Tabs:
    """What happens to the tabs of windows, on the UI thread."""

    def __init__(self, app: Editor) -> None:
        self._app = app

    # -- opening -------------------------------------------------------------------------------

    def open_file(self, window: WindowState, path: str, flags: int = 0, group: int = -1) -> ViewState:
        """Show the tab of a file; if there is none yet, open one, which loads later."""
        path, row, col = _split_position(path) if flags & NewFileFlags.ENCODED_POSITION else (
            path, 0, 0)  # fmt: skip
        path = os.path.abspath(path)
        number = window.group_number(group)
        view = self._open_view(window, path, flags, number)
        if view is None:
            view = self._new_view_for(window, path, flags, number)
        if row:
            self._go_to(view, row, col)
        return view

    def _open_view(self, window: WindowState, path: str, flags: int, number: int) -> ViewState | None:
        """Show an open tab of the file, if there is one that `flags` allow."""
        if flags & NewFileFlags.FORCE_CLONE:
            return None
        here = [v for v in window.groups[number].sheets if v.view and self._is_of(v.view, path)]
        anywhere = [s for s in window.sheets() if s.view and self._is_of(s.view, path)]
        candidates = here or ([] if flags & NewFileFlags.FORCE_GROUP else anywhere)
        if not candidates:
            return None
        sheet = candidates[0]
        if not flags & NewFileFlags.TRANSIENT:
            sheet.transient = False
        self._show(window, sheet, flags)
        return sheet.view

    def _is_of(self, view: ViewState, path: str) -> bool:
        return view.buffer.file_name is not None and os.path.normcase(view.buffer.file_name) == os.path.normcase(path)

    def _new_view_for(self, window: WindowState, path: str, flags: int, number: int) -> ViewState:
        existing = next((v for v in self._app.views.values() if self._is_of(v, path)), None)
        if existing is not None:
            return self.clone(existing, window, flags, number)
        view = self._app.new_view(window, TextBuffer(self._app.take_id(), file_name=path, loading=True))
        self.add(window, view, flags, number)
        self._app.listeners.emit_buffer("on_associate_buffer", view.buffer)
        self._app.loop.post(lambda: self._app.documents.load(view))
        return view

    def clone(self, view: ViewState, window: WindowState, flags: int, number: int) -> ViewState:
        """A second view into the same buffer."""
        clone = self._app.new_view(window, view.buffer)
        clone.settings.own.update(view.settings.own)
        clone.select(view.selection)
        clone.told_selection = clone.selection
        self.add(window, clone, flags, number)
        self._app.listeners.emit("on_clone", clone)
        return clone

    def _go_to(self, view: ViewState, row: int, col: int) -> None:
        def go() -> None:
            point = view.buffer.text_point(row - 1, max(0, col - 1), True)
            view.select([(point, point)])
            self._app.metrics.show_at_center(view, point)

        if view.buffer.loading:
            self._app.loop.post(go)
        else:
            go()

    def add(self, window: WindowState, view: ViewState, flags: int = 0, group: int = -1) -> SheetState:
        """A new tab for `view`, shown as `flags` say."""
        sheet = SheetState(self._app.take_id(), window, view)
        view.sheet = sheet
        self.add_sheet(sheet, flags, group)
        return sheet

    def add_sheet(self, sheet: SheetState, flags: int = 0, group: int = -1) -> None:
        """Put a new sheet into its window, after the focused tab."""
        window = sheet.window
        target = window.groups[window.group_number(group)]
        sheet.transient = bool(flags & NewFileFlags.TRANSIENT)
        sheet.semi_transient = bool(flags & NewFileFlags.SEMI_TRANSIENT)
        old = [s for s in target.sheets if s.transient] if sheet.transient else []
        active = target.active
        index = target.sheets.index(active) + 1 if active else -1
        self._app.sheets[sheet.id] = sheet
        target.insert(index, sheet)
        self._show(window, sheet, flags)
        for each in old:
            self.close_sheet(each)

    def _show(self, window: WindowState, sheet: SheetState, flags: int) -> None:
        number = window.group_of(sheet)
        assert number is not None
        group = window.groups[number]
        if flags & NewFileFlags.ADD_TO_SELECTION:
            kept = list(group.selected)
            if flags & NewFileFlags.CLEAR_TO_RIGHT and group.active in kept:
                kept = kept[: kept.index(group.active) + 1]
            group.select([*(each for each in kept if each is not sheet), sheet])
        elif flags & NewFileFlags.REPLACE_MRU:
            group.select([*(s for s in group.selected if s is not group.active), sheet])
        else:
            group.select([sheet])
        window.active_group = number
        window.panel_view = None
        self._app.focus_changed()

    def keep(self, view: ViewState) -> None:
        """Turn a modified preview into a tab of its own."""
        if view.sheet is not None:
            view.sheet.transient = view.sheet.semi_transient = False

    # -- focus ---------------------------------------------------------------------------------

    def focus(self, sheet: SheetState) -> None:
        """Give a tab the focus; the others shown beside it stay if it was shown already."""
        window, number = sheet.window, sheet.window.group_of(sheet)
        if number is None:
            return
        group = window.groups[number]
        if sheet in group.selected:
            group.touch(sheet)
        else:
            group.select([sheet])
        window.active_group = number
        window.panel_view = None
        window.is_panel_fresh = False
        self._app.focus_changed()
        if variations.chosen("focus-raises-window") == "yes" and window is not self._app.active_window():
            self._app.bring_to_front(window)

    def focus_view(self, view: ViewState) -> None:
        """Give a view the focus, whether it is in a tab or in a panel."""
        window = view.window
        if view.sheet is not None:
            self.focus(view.sheet)
        elif window is not None and view in window.all_views():
            if variations.chosen("panel-focus") == "no" and not window.is_panel_fresh:
                return
            window.panel_view = view
            self._app.focus_changed()

    def select(self, window: WindowState, sheets: list[SheetState]) -> None:
        """Show `sheets` in their groups; groups without any of them keep what they show."""
        if sheets and variations.chosen("select-sheets-groups") == "first-group":
            first = window.group_of(sheets[0])
            sheets = [sheet for sheet in sheets if window.group_of(sheet) == first]
        for group in window.groups:
            chosen = [sheet for sheet in sheets if sheet in group.sheets]
            if chosen:
                active = group.active
                group.select(chosen)
                if active in chosen:
                    group.touch(active)
            elif group.active is not None and variations.chosen("select-sheets-elsewhere") == "only-active":
                group.select([group.active])
        self._app.focus_changed()

    def move(self, sheets: list[SheetState], group: int, index: int = -1, select: bool = True) -> None:
        """Move tabs to another place or group of their window."""
        for sheet in sheets:
            window, old = sheet.window, sheet.window.group_of(sheet)
            if old is None or not 0 <= group < len(window.groups):
                continue
            if sheet.view:
                self._app.listeners.emit("on_pre_move", sheet.view)
            if old == group:
                window.groups[old].sheets.remove(sheet)
            else:
                window.groups[old].remove(sheet)
            window.groups[group].insert(index, sheet)
            index = index + 1 if index >= 0 else index
            if sheet.view:
                self._app.listeners.emit("on_post_move", sheet.view)
        if select and sheets:
            sheets[0].window.groups[group].select(sheets)
        elif sheets:
            self._ensure_shown(sheets[0].window)
        self._app.focus_changed()

    def _ensure_shown(self, window: WindowState) -> None:
        for group in window.groups:
            if group.sheets and not group.selected:
                group.select([group.sheets[0]])

    # -- closing -------------------------------------------------------------------------------

    def close_sheet(self, sheet: SheetState, on_close: Callable[[bool], object] | None = None) -> bool:
        """Close a tab; unsaved changes are asked about. False if the person cancelled."""
        view = sheet.view
        closed = sheet.id in self._app.sheets and self._may_close(view)
        if closed:
            if view is not None:
                self._app.listeners.emit("on_pre_close", view)
            if sheet.id in self._app.sheets:
                self._remove(sheet)
        if on_close is not None:
            on_close(closed)
        return closed

    def _may_close(self, view: ViewState | None) -> bool:
        if view is None or not view.buffer.dirty or len(self._app.views_of(view.buffer)) > 1:
            return True
        answer = self._app.ask("save_changes", view.title, "discard")
        if answer == "save":
            return self._app.documents.save(view)
        return answer != "cancel"

    def _remove(self, sheet: SheetState) -> None:
        window, number = sheet.window, sheet.window.group_of(sheet)
        if number is not None:
            window.groups[number].remove(sheet)
        del self._app.sheets[sheet.id]
        if sheet.view is not None:
            self._app.forget_view(sheet.view)
            self._app.listeners.emit("on_close", sheet.view)
            self._app.listeners.forget_view(sheet.view)
        self._app.focus_changed()


def _split_position(path: str) -> tuple[str, int, int]:
    """`path:row:col` in parts; 0 for what is missing."""
    match = _POSITION.match(path)
    # A path that exists as it is has no position, and neither has `C:\\…`.
    if match is None or os.path.exists(path):
        return path, 0, 0
    return match[1], int(match[2]), int(match[3] or 0)
