"""A window's panels, and what asks the person."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from headless.api.flags import QuickPanelFlags
from headless.api.items import QuickPanelItem
from headless.api.window_identity import WindowIdentity, view_or_none
from headless.host import app, locked
from headless.window import Panel

if TYPE_CHECKING:
    from headless.api.view import View


class WindowPanels(WindowIdentity):
    """Panels and what asks the person."""

    def create_output_panel(self, name: str, unlisted: bool = False) -> View:
        """The view of an output panel, made if there is none; an existing one is emptied."""
        return app().on_ui(lambda: self._output_panel(name, unlisted, has_input=False)[0])

    def create_io_panel(self, name: str, on_input: Callable[[str], None], unlisted: bool = False) -> tuple[View, View]:
        """The views of an output panel with an input box."""
        return app().on_ui(lambda: self._output_panel(name, unlisted, has_input=True))

    def _output_panel(self, name: str, unlisted: bool, *, has_input: bool) -> tuple[Any, Any]:
        state = self._state()
        panel = state.panels.get(name)
        if panel is None:
            panel = state.panels[name] = Panel(self._panel_view("output:output"), unlisted)
        else:
            self._empty(panel)
        if has_input and panel.input is None:
            panel.input = self._panel_view("input:input")
        return view_or_none(panel.view), view_or_none(panel.input)

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
        return view_or_none(panel.view) if panel else None

    @locked
    def find_io_panel(self, name: str) -> tuple[View | None, View | None]:
        """The views of an output panel with an input box."""
        panel = self._state().panels.get(name)
        return (view_or_none(panel.view), view_or_none(panel.input)) if panel else (None, None)

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
            lambda: view_or_none(
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
                self._state(), list(items), on_select, flags, selected_index, on_highlight, placeholder
            )
        )
