"""The scratch window of the check, which the companion does not serve."""

from __future__ import annotations

import sublime

CHECK_SETTING = "qwen_companion.check"
"""Set on the scratch window and on everything that is opened in it."""


class ScratchWindow:
    """Opens and closes the window. Lives on the UI thread."""

    def __init__(self) -> None:
        self._before: set[int] | None = None

    def open(self) -> None:
        """Ask the editor for a new window. `found` gives it once it is there."""
        self._before = {window.id() for window in sublime.windows()}
        sublime.run_command("new_window")

    def found(self) -> sublime.Window | None:
        """The new window, marked as the check's."""
        if self._before is None:
            return None
        fresh = [window for window in sublime.windows() if window.id() not in self._before]
        if not fresh:
            return None
        fresh[0].settings().set(CHECK_SETTING, True)
        self._before = None
        return fresh[0]

    def is_scratch(self, window: sublime.Window) -> bool:
        """Whether a window is the check's, or about to be: the editor may report it before it can be marked."""
        return bool(window.settings().get(CHECK_SETTING)) or (
            self._before is not None and window.id() not in self._before
        )

    def give_up(self) -> None:
        """No window came."""
        self._before = None


def close(window: sublime.Window) -> None:
    """Close a scratch window, without a question."""
    if window.is_valid():
        for view in window.views():
            view.set_scratch(True)
        window.run_command("close_window")
