"""What a window is, apart from what is in it."""

from __future__ import annotations

import time
from typing import Any

from headless.api.settings import Settings
from headless.api.sheet import sheet_handle
from headless.api.types import CommandArgsLike
from headless.host import app, locked, not_offered
from headless.window import SheetState, WindowState


def view_or_none(state: Any) -> Any:
    return app().view_handle(state) if state is not None else None


def sheet_or_none(state: SheetState | None) -> Any:
    return sheet_handle(state) if state is not None else None


class WindowIdentity:
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
        return isinstance(other, WindowIdentity) and other.window_id == self.window_id

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
        state = self._state()
        state.status_message, state.status_message_at = msg, time.monotonic()
        app().message("status", msg, window=self.window_id)

    def is_sidebar_visible(self) -> bool:
        """Whether the side bar is shown."""
        return self._state().visible["sidebar"]

    def set_sidebar_visible(self, flag: bool, animate: bool = True) -> None:
        """Show or hide the side bar."""
        self._state().visible["sidebar"] = flag

    def is_minimap_visible(self) -> bool:
        """Whether the minimap is shown."""
        return self._state().visible["minimap"]

    def set_minimap_visible(self, flag: bool) -> None:
        """Show or hide the minimap."""
        self._state().visible["minimap"] = flag

    def is_status_bar_visible(self) -> bool:
        """Whether the status bar is shown."""
        return self._state().visible["status_bar"]

    def set_status_bar_visible(self, flag: bool) -> None:
        """Show or hide the status bar."""
        self._state().visible["status_bar"] = flag

    def get_tabs_visible(self) -> bool:
        """Whether the tabs are shown."""
        return self._state().visible["tabs"]

    def set_tabs_visible(self, flag: bool) -> None:
        """Show or hide the tabs."""
        self._state().visible["tabs"] = flag

    def is_menu_visible(self) -> bool:
        """Whether the menu is shown."""
        return self._state().visible["menu"]

    def set_menu_visible(self, flag: bool) -> None:
        """Show or hide the menu."""
        self._state().visible["menu"] = flag
