"""A window's tabs and groups."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headless import builtin_window, jsonc
from headless.api.flags import NewFileFlags
from headless.api.sheet import HtmlSheet, Sheet, sheet_handle
from headless.api.window_identity import WindowIdentity, sheet_or_none, view_or_none
from headless.host import app, locked
from headless.window import GroupState, SheetState

if TYPE_CHECKING:
    from headless.api.view import View


class WindowSheets(WindowIdentity):
    """Tabs and groups."""

    @locked
    def active_sheet(self) -> Sheet | None:
        """The focused tab."""
        return sheet_or_none(self._state().active_sheet)

    @locked
    def active_view(self) -> View | None:
        """The focused tab's view."""
        return view_or_none(self._state().active_view)

    def new_html_sheet(
        self,
        name: str,
        contents: str,
        flags: NewFileFlags = NewFileFlags.NONE,
        group: int = -1,
    ) -> Sheet:
        """Open a tab with HTML."""

        def open_() -> HtmlSheet:
            sheet = SheetState(app().take_id(), self._state(), html=contents, name=name)
            app().tabs.add_sheet(sheet, flags, group)
            return HtmlSheet(sheet.id)

        return app().on_ui(open_)

    def new_file(self, flags: NewFileFlags = NewFileFlags.NONE, syntax: str = "") -> View:
        """Open an empty tab."""

        def open_() -> View:
            state = self._state()
            view = app().new_view(state)
            if syntax:
                view.settings.own["syntax"] = syntax
            app().tabs.add(state, view, flags)
            app().listeners.emit("on_new", view)
            return view_or_none(view)

        return app().on_ui(open_)

    def open_file(self, fname: str, flags: NewFileFlags = NewFileFlags.NONE, group: int = -1) -> View:
        """Open a file, or show its tab; it loads at the loop's next turn."""
        return app().on_ui(lambda: view_or_none(app().tabs.open_file(self._state(), fname, int(flags), group)))

    @locked
    def find_open_file(self, fname: str, group: int = -1) -> View | None:
        """The view of an open file."""
        state = self._state()
        groups = [state.groups[group]] if 0 <= group < len(state.groups) else state.groups
        wanted = os.path.normcase(os.path.abspath(fname))
        for sheet in (sheet for each in groups for sheet in each.sheets):
            name = sheet.view.buffer.file_name if sheet.view else None
            if name is not None and os.path.normcase(name) == wanted:
                return view_or_none(sheet.view)
        return None

    @locked
    def num_groups(self) -> int:
        """How many groups there are; a closed window has none."""
        state = self._state()
        return len(state.groups) if state.valid else 0

    @locked
    def active_group(self) -> int:
        """The number of the focused group."""
        return self._state().active_group

    def focus_group(self, idx: int) -> None:
        """Focus a group; no listener is told of a command."""
        app().on_ui(lambda: builtin_window.focus_group(app(), self._state(), idx))

    def focus_sheet(self, sheet: Sheet) -> None:
        """Focus a tab."""
        state = sheet._state() if sheet is not None else None
        if state is not None:
            app().on_ui(lambda: app().tabs.focus(state))

    def focus_view(self, view: View) -> None:
        """Focus a view's tab."""
        state = app().view(view.view_id) if view is not None else None
        if state is not None and state.valid:
            app().on_ui(lambda: app().tabs.focus_view(state))

    def select_sheets(self, sheets: list[Sheet]) -> None:
        """Show these tabs side by side."""
        states = [state for state in (sheet._state() for sheet in sheets) if state is not None]
        app().on_ui(lambda: app().tabs.select(self._state(), states))

    @locked
    def get_sheet_index(self, sheet: Sheet | None) -> tuple[int, int]:
        """The group of a tab and its place in it; (-1, -1) if it is not here. A preview has the place -1."""
        return self._index_of(sheet._state() if sheet is not None else None)

    def _index_of(self, state: SheetState | None) -> tuple[int, int]:
        number = self._state().group_of(state) if state is not None else None
        if state is None or number is None:
            return -1, -1
        if state.transient:
            return number, -1
        return number, self._state().groups[number].sheets.index(state)

    @locked
    def get_view_index(self, view: View | None) -> tuple[int, int]:
        """As `get_sheet_index`, of a view."""
        return self._index_of(app().view(view.view_id).sheet if view is not None else None)

    def set_sheet_index(self, sheet: Sheet, group: int, index: int) -> None:
        """Move a tab."""
        self.move_sheets_to_group([sheet], group, index)

    def set_view_index(self, view: View, group: int, index: int) -> None:
        """Move a view's tab."""
        sheet = sheet_or_none(app().view(view.view_id).sheet)
        if sheet is not None:
            self.move_sheets_to_group([sheet], group, index)

    def move_sheets_to_group(
        self, sheets: list[Sheet], group: int, insertion_idx: int = -1, select: bool = True
    ) -> None:
        """Move tabs to another group; TypeError if one of them is no sheet."""
        if not all(isinstance(sheet, Sheet) for sheet in sheets):
            raise TypeError("list must contain items of type sublime.Sheet only")
        states = [state for state in (sheet._state() for sheet in sheets) if state is not None]
        app().on_ui(lambda: app().tabs.move(states, group, insertion_idx, select))

    @locked
    def sheets(self) -> list[Sheet]:
        """All tabs."""
        return [sheet_handle(sheet) for sheet in self._state().sheets()]

    @locked
    def views(self, *, include_transient: bool = False) -> list[View]:
        """The views of all tabs."""
        return [
            view_or_none(sheet.view)
            for sheet in self._state().sheets()
            if sheet.view is not None and (include_transient or not sheet.transient)
        ]

    @locked
    def selected_sheets(self) -> list[Sheet]:
        """The tabs that the focused group shows."""
        return [sheet_handle(sheet) for sheet in self._state().group.selected]

    def _group(self, group: int) -> GroupState:
        """The group of a number; one without tabs if there is none."""
        groups = self._state().groups
        return groups[group] if 0 <= group < len(groups) else GroupState()

    @locked
    def selected_sheets_in_group(self, group: int) -> list[Sheet]:
        """The tabs that a group shows."""
        return [sheet_handle(sheet) for sheet in self._group(group).selected]

    @locked
    def active_sheet_in_group(self, group: int) -> Sheet | None:
        """The tab that has the focus when the group has it."""
        return sheet_or_none(self._group(group).active)

    @locked
    def active_view_in_group(self, group: int) -> View | None:
        """The view of that tab."""
        active = self._group(group).active
        return view_or_none(active.view) if active else None

    @locked
    def sheets_in_group(self, group: int) -> list[Sheet]:
        """The tabs of a group."""
        return [sheet_handle(sheet) for sheet in self._group(group).sheets]

    @locked
    def views_in_group(self, group: int) -> list[View]:
        """The views of a group's tabs."""
        return [view_or_none(s.view) for s in self._group(group).sheets if s.view and not s.transient]

    def num_sheets_in_group(self, group: int) -> int:
        """How many tabs a group has."""
        return len(self.sheets_in_group(group))

    def num_views_in_group(self, group: int) -> int:
        """How many views a group has."""
        return len(self.views_in_group(group))

    @locked
    def transient_sheet_in_group(self, group: int) -> Sheet | None:
        """The preview of a group."""
        return sheet_or_none(next((s for s in self._group(group).sheets if s.transient), None))

    def transient_view_in_group(self, group: int) -> View | None:
        """The view of the preview of a group."""
        sheet = self.transient_sheet_in_group(group)
        return sheet.view() if sheet is not None else None

    @locked
    def promote_sheet(self, sheet: Sheet) -> None:
        """Make a preview a tab of its own."""
        state = sheet._state()
        if state is not None:
            state.transient = state.semi_transient = False

    @locked
    def layout(self) -> dict[str, Any]:
        """How the groups divide the window."""
        return jsonc.loads(jsonc.dumps(self._state().layout))

    def get_layout(self) -> dict[str, Any]:
        """As `layout`."""
        return self.layout()

    def set_layout(self, layout: Mapping[str, Any]) -> None:
        """Divide the window into other groups; no listener is told of a command."""
        app().on_ui(lambda: builtin_window.set_layout(app(), self._state(), **layout))
