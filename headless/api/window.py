"""Window: the handle to a window."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from headless import jsonc
from headless.api import functions
from headless.api.flags import (
    KindId,
    NewFileFlags,
    QuickPanelFlags,
    SymbolSource,
    SymbolType,
)
from headless.api.items import QuickPanelItem, SymbolLocation
from headless.api.settings import Settings
from headless.api.sheet import HtmlSheet, Sheet, sheet_handle
from headless.api.types import CommandArgsLike, Value, ValueLike
from headless.host import app, locked, not_offered
from headless.window import Panel, SheetState, WindowState

if TYPE_CHECKING:
    from headless.api.view import View


def _view(state: Any) -> Any:
    return app().view_handle(state) if state is not None else None


def _sheet(state: SheetState | None) -> Any:
    return sheet_handle(state) if state is not None else None


class _Identity:
    """What a window is, apart from what is in it."""

    window_id: int
    settings_object: Settings | None
    template_settings_object: Settings | None

    def __init__(self, id: int) -> None:
        self.window_id = id
        self.settings_object = None
        self.template_settings_object = None

    def __hash__(self) -> int:
        return self.window_id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and other.window_id == self.window_id

    def __bool__(self) -> bool:
        return self.window_id != 0

    def __repr__(self) -> str:
        return f"Window({self.window_id})"

    def _state(self) -> WindowState:
        window = app().window(self.window_id)
        if window is None:
            # As for views: the API also answers for a closed window, with nothing.
            store = app().settings
            window = WindowState(self.window_id, store.new(), store.new())
            window.valid = False
        return window

    def id(self) -> int:
        """Its number."""
        return self.window_id

    def is_valid(self) -> bool:
        """Whether it is open."""
        return app().window(self.window_id) is not None

    def hwnd(self) -> int:
        """Not offered."""
        raise not_offered("Window.hwnd")

    def run_command(self, cmd: str, args: CommandArgsLike | None = None) -> None:
        """Run a command of any kind here."""
        state = self._state()
        app().commands.run(cmd, dict(args) if args else None, state.active_view, state)

    def bring_to_front(self) -> None:
        """Make it the active window."""
        app().on_ui(lambda: app().bring_to_front(self._state()))

    @locked
    def settings(self) -> Settings:
        """Its own settings."""
        if self.settings_object is None:
            self.settings_object = Settings(self._state().settings.id)
        return self.settings_object

    @locked
    def template_settings(self) -> Settings:
        """Settings that new windows get too."""
        if self.template_settings_object is None:
            self.template_settings_object = Settings(self._state().template_settings.id)
        return self.template_settings_object

    def status_message(self, msg: str) -> None:
        """Show a message in the status bar."""
        self._state().status_message = msg
        app().message("status", msg, window=self.window_id)

    def _is_visible(self, part: str) -> bool:
        return self._state().visible[part]

    def _set_visible(self, part: str, flag: bool) -> None:
        self._state().visible[part] = flag

    def is_sidebar_visible(self) -> bool:
        """Whether the side bar is shown."""
        return self._is_visible("sidebar")

    def set_sidebar_visible(self, flag: bool, animate: bool = True) -> None:
        """Show or hide the side bar."""
        self._set_visible("sidebar", flag)

    def is_minimap_visible(self) -> bool:
        """Whether the minimap is shown."""
        return self._is_visible("minimap")

    def set_minimap_visible(self, flag: bool) -> None:
        """Show or hide the minimap."""
        self._set_visible("minimap", flag)

    def is_status_bar_visible(self) -> bool:
        """Whether the status bar is shown."""
        return self._is_visible("status_bar")

    def set_status_bar_visible(self, flag: bool) -> None:
        """Show or hide the status bar."""
        self._set_visible("status_bar", flag)

    def get_tabs_visible(self) -> bool:
        """Whether the tabs are shown."""
        return self._is_visible("tabs")

    def set_tabs_visible(self, flag: bool) -> None:
        """Show or hide the tabs."""
        self._set_visible("tabs", flag)

    def is_menu_visible(self) -> bool:
        """Whether the menu is shown."""
        return self._is_visible("menu")

    def set_menu_visible(self, flag: bool) -> None:
        """Show or hide the menu."""
        self._set_visible("menu", flag)


class _Project(_Identity):
    """Folders, project and symbols."""

    @locked
    def folders(self) -> list[str]:
        """The folders of the side bar."""
        return self._state().folders

    @locked
    def project_file_name(self) -> str | None:
        """The path of the project file."""
        return self._state().project_file

    @locked
    def workspace_file_name(self) -> str | None:
        """The path of the workspace file: where the project file's would be."""
        project = self._state().project_file
        return os.path.splitext(project)[0] + ".sublime-workspace" if project else None

    @locked
    def project_data(self) -> dict[str, Value] | None:
        """What is in the project file, or would be."""
        project = self._state().project
        return jsonc.loads(jsonc.dumps(project)) if project is not None else None

    def set_project_data(self, data: Mapping[str, ValueLike]) -> None:
        """Change the project, and its file if it has one."""

        def change() -> None:
            state = self._state()
            state.project = jsonc.loads(jsonc.dumps(dict(data or {})))
            if state.project_file:
                app().documents.save_project(state)
            app().settings.changed(state.settings)

        app().on_ui(change)

    def extract_variables(self) -> dict[str, str]:
        """The variables of build systems, such as `file` and `folder`."""
        state = self._state()
        variables = {"packages": app().paths.packages, "platform": _platform_name()}
        if state.folders:
            variables["folder"] = state.folders[0]
        view = state.active_view
        for name, path in (
            ("file", view.buffer.file_name if view else None),
            ("project", state.project_file),
        ):
            if path:
                stem, extension = os.path.splitext(os.path.basename(path))
                variables[name] = path
                variables[f"{name}_path"] = os.path.dirname(path)
                variables[f"{name}_name"] = os.path.basename(path)
                variables[f"{name}_base_name"] = stem
                variables[f"{name}_extension"] = extension.lstrip(".")
        return variables

    def file_history(self) -> list[str]:
        """Not offered."""
        raise not_offered("Window.file_history")

    def symbol_locations(
        self,
        sym: str,
        source: SymbolSource = SymbolSource.ANY,
        type: SymbolType = SymbolType.ANY,
        kind_id: KindId = KindId.AMBIGUOUS,
        kind_letter: str = "",
    ) -> list[SymbolLocation]:
        """Not offered: nothing is indexed."""
        raise not_offered("Window.symbol_locations")

    def lookup_symbol_in_index(self, symbol: str) -> list[SymbolLocation]:
        """Not offered."""
        raise not_offered("Window.lookup_symbol_in_index")

    def lookup_symbol_in_open_files(self, symbol: str) -> list[SymbolLocation]:
        """Not offered."""
        raise not_offered("Window.lookup_symbol_in_open_files")

    def lookup_references_in_index(self, symbol: str) -> list[SymbolLocation]:
        """Not offered."""
        raise not_offered("Window.lookup_references_in_index")

    def lookup_references_in_open_files(self, symbol: str) -> list[SymbolLocation]:
        """Not offered."""
        raise not_offered("Window.lookup_references_in_open_files")


def _platform_name() -> str:
    return {"osx": "OSX", "linux": "Linux", "windows": "Windows"}[functions.platform()]


class _Sheets(_Identity):
    """Tabs and groups."""

    @locked
    def active_sheet(self) -> Sheet | None:
        """The focused tab."""
        return _sheet(self._state().active_sheet)

    @locked
    def active_view(self) -> View | None:
        """The focused tab's view."""
        return _view(self._state().active_view)

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
            return _view(view)

        return app().on_ui(open_)

    def open_file(self, fname: str, flags: NewFileFlags = NewFileFlags.NONE, group: int = -1) -> View:
        """Open a file, or show its tab; it loads at the loop's next turn."""
        return app().on_ui(lambda: _view(app().tabs.open_file(self._state(), fname, int(flags), group)))

    @locked
    def find_open_file(self, fname: str, group: int = -1) -> View | None:
        """The view of an open file."""
        state = self._state()
        groups = [state.groups[group]] if 0 <= group < len(state.groups) else state.groups
        wanted = os.path.normcase(os.path.abspath(fname))
        for sheet in (sheet for each in groups for sheet in each.sheets):
            name = sheet.view.buffer.file_name if sheet.view else None
            if name is not None and os.path.normcase(name) == wanted:
                return _view(sheet.view)
        return None

    @locked
    def num_groups(self) -> int:
        """How many groups there are."""
        return len(self._state().groups)

    @locked
    def active_group(self) -> int:
        """The number of the focused group."""
        return self._state().active_group

    def focus_group(self, idx: int) -> None:
        """Focus a group."""
        self.run_command("focus_group", {"group": idx})

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
    def get_sheet_index(self, sheet: Sheet) -> tuple[int, int]:
        """The group of a tab and its place in it; (-1, -1) if it is not here."""
        state = sheet._state()
        return self._index_of(state)

    def _index_of(self, state: SheetState | None) -> tuple[int, int]:
        number = self._state().group_of(state) if state is not None else None
        if state is None or number is None:
            return -1, -1
        return number, self._state().groups[number].sheets.index(state)

    @locked
    def get_view_index(self, view: View) -> tuple[int, int]:
        """The group of a view and its place in it; (-1, -1) if it is not here."""
        return self._index_of(app().view(view.view_id).sheet)

    def set_sheet_index(self, sheet: Sheet, group: int, index: int) -> None:
        """Move a tab."""
        self.move_sheets_to_group([sheet], group, index)

    def set_view_index(self, view: View, group: int, index: int) -> None:
        """Move a view's tab."""
        sheet = _sheet(app().view(view.view_id).sheet)
        if sheet is not None:
            self.move_sheets_to_group([sheet], group, index)

    def move_sheets_to_group(
        self,
        sheets: list[Sheet],
        group: int,
        insertion_idx: int = -1,
        select: bool = True,
    ) -> None:
        """Move tabs to another group."""
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
            _view(sheet.view)
            for sheet in self._state().sheets()
            if sheet.view is not None and (include_transient or not sheet.transient)
        ]

    @locked
    def selected_sheets(self) -> list[Sheet]:
        """The tabs that the focused group shows."""
        return [sheet_handle(sheet) for sheet in self._state().group.selected]

    def _group_sheets(self, group: int) -> list[SheetState]:
        groups = self._state().groups
        return groups[group].sheets if 0 <= group < len(groups) else []

    @locked
    def selected_sheets_in_group(self, group: int) -> list[Sheet]:
        """The tabs that a group shows."""
        groups = self._state().groups
        shown = groups[group].selected if 0 <= group < len(groups) else []
        return [sheet_handle(sheet) for sheet in shown]

    @locked
    def active_sheet_in_group(self, group: int) -> Sheet | None:
        """The tab that has the focus when the group has it."""
        groups = self._state().groups
        return _sheet(groups[group].active) if 0 <= group < len(groups) else None

    @locked
    def active_view_in_group(self, group: int) -> View | None:
        """The view of that tab."""
        groups = self._state().groups
        active = groups[group].active if 0 <= group < len(groups) else None
        return _view(active.view) if active else None

    @locked
    def sheets_in_group(self, group: int) -> list[Sheet]:
        """The tabs of a group."""
        return [sheet_handle(sheet) for sheet in self._group_sheets(group)]

    @locked
    def views_in_group(self, group: int) -> list[View]:
        """The views of a group's tabs."""
        return [_view(s.view) for s in self._group_sheets(group) if s.view and not s.transient]

    def num_sheets_in_group(self, group: int) -> int:
        """How many tabs a group has."""
        return len(self.sheets_in_group(group))

    def num_views_in_group(self, group: int) -> int:
        """How many views a group has."""
        return len(self.views_in_group(group))

    @locked
    def transient_sheet_in_group(self, group: int) -> Sheet | None:
        """The preview of a group."""
        return _sheet(next((s for s in self._group_sheets(group) if s.transient), None))

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
        """Divide the window into other groups."""
        self.run_command("set_layout", dict(layout))


class _Panels(_Identity):
    """Panels and what asks the person."""

    def create_output_panel(self, name: str, unlisted: bool = False) -> View:
        """The view of an output panel, made if there is none; an existing one is emptied."""
        return app().on_ui(lambda: self._output_panel(name, unlisted, None)[0])

    def create_io_panel(self, name: str, on_input: Callable[[str], None], unlisted: bool = False) -> tuple[View, View]:
        """The views of an output panel with an input box."""
        return app().on_ui(lambda: self._output_panel(name, unlisted, on_input))

    def _output_panel(self, name: str, unlisted: bool, on_input: Callable[[str], None] | None) -> tuple[Any, Any]:
        state = self._state()
        panel = state.panels.get(name)
        if panel is None:
            panel = state.panels[name] = Panel(self._panel_view("output:output"), unlisted)
        else:
            self._empty(panel)
        if on_input is not None and panel.input is None:
            panel.input = self._panel_view("input:input")
        panel.on_input = on_input
        return _view(panel.view), _view(panel.input)

    def _panel_view(self, element: str) -> Any:
        view = app().new_view(self._state())
        view.element = element
        view.buffer.scratch = True
        if element.endswith(":input"):
            view.settings.own["is_widget"] = True
        return view

    def _empty(self, panel: Panel) -> None:
        read_only, panel.view.buffer.read_only = panel.view.buffer.read_only, False
        app().replace_text(panel.view, "")
        panel.view.buffer.read_only = read_only

    def get_output_panel(self, name: str) -> View:
        """As `create_output_panel`."""
        return self.create_output_panel(name)

    @locked
    def find_output_panel(self, name: str) -> View | None:
        """The view of an output panel."""
        panel = self._state().panels.get(name)
        return _view(panel.view) if panel else None

    @locked
    def find_io_panel(self, name: str) -> tuple[View | None, View | None]:
        """The views of an output panel with an input box."""
        panel = self._state().panels.get(name)
        return (_view(panel.view), _view(panel.input)) if panel else (None, None)

    def destroy_output_panel(self, name: str) -> None:
        """Remove an output panel."""
        app().on_ui(lambda: self._destroy_panel(name))

    def _destroy_panel(self, name: str) -> None:
        state = self._state()
        panel = state.panels.pop(name, None)
        if panel is None:
            return
        for view in (panel.view, panel.input):
            if view is not None:
                app().forget_view(view)
        if state.active_panel == f"output.{name}":
            state.active_panel = None
        if state.panel_view in (panel.view, panel.input):
            state.panel_view = None
        app().focus_changed()

    @locked
    def active_panel(self) -> str | None:
        """The name of the panel that is shown."""
        return self._state().active_panel

    @locked
    def panels(self) -> list[str]:
        """The names of the panels in the panel switcher."""
        listed = [f"output.{n}" for n, panel in self._state().panels.items() if not panel.unlisted]
        return ["console", "find", "find_in_files", "replace", *listed]

    def show_input_panel(
        self,
        caption: str,
        initial_text: str,
        on_done: Callable[[str], None] | None,
        on_change: Callable[[str], None] | None,
        on_cancel: Callable[[], None] | None,
    ) -> View:
        """Ask for a line of text."""
        return app().on_ui(
            lambda: _view(
                app().questions.input_panel(self._state(), caption, initial_text, on_done, on_change, on_cancel)
            )
        )

    def show_quick_panel(
        self,
        items: list[str] | list[list[str]] | list[QuickPanelItem],
        on_select: Callable[[int], None],
        flags: QuickPanelFlags = QuickPanelFlags.NONE,
        selected_index: int = -1,
        on_highlight: Callable[[int], None] | None = None,
        placeholder: str | None = None,
    ) -> None:
        """Show a list to choose from."""
        app().on_ui(
            lambda: app().questions.quick_panel(
                self._state(),
                list(items),
                on_select,
                flags,
                selected_index,
                on_highlight,
                placeholder,
            )
        )


class Window(_Project, _Sheets, _Panels):
    """A window of the editor."""
