"""The item in the status bar of each window: off, waiting, or the connected CLIs and what waits for the person."""

from __future__ import annotations

from collections import Counter

import sublime

from ...editor import WindowStatus

KEY = "zz_qwen_companion"
"""Sublime sorts the items of a status bar by their keys, so this one is among the last."""


class StatusBar:
    """Shows the status of each window in its views. Lives on the UI thread.

    In Sublime a status belongs to a view, so it is set in every view on the screen and in each one that gets the focus.
    """

    def __init__(self, *, is_wanted: bool) -> None:
        self._is_wanted = is_wanted
        self._statuses: dict[int, WindowStatus] = {}

    def show(self, window: sublime.Window, status: WindowStatus) -> None:
        """The status of a window has changed."""
        self._statuses[window.id()] = status
        self._draw(window)

    def want(self, *, is_wanted: bool) -> None:
        """Apply the setting."""
        self._is_wanted = is_wanted
        for window in sublime.windows():
            self._draw(window)

    def activated(self, window: sublime.Window, view: sublime.View) -> None:
        """A view got the focus."""
        self._set(view, self._text(window))

    def forget(self, window: sublime.Window) -> None:
        """A window closes."""
        self._statuses.pop(window.id(), None)

    def close(self) -> None:
        """Remove the item from every view."""
        self._statuses.clear()
        for window in sublime.windows():
            for view in window.views():
                view.erase_status(KEY)

    def _draw(self, window: sublime.Window) -> None:
        text = self._text(window)
        for sheet in window.selected_sheets():
            if view := sheet.view():
                self._set(view, text)
        if view := window.active_view():
            self._set(view, text)

    def _text(self, window: sublime.Window) -> str:
        return status_text(self._statuses.get(window.id())) if self._is_wanted else ""

    @staticmethod
    def _set(view: sublime.View, text: str) -> None:
        if view.get_status(KEY) != text:
            view.set_status(KEY, text)


def status_text(status: WindowStatus | None) -> str:
    """The text of a status. `status` is None for a window that is not served."""
    if status is None:
        return "Qwen Companion: off"
    counts = Counter(status.clis)
    clis = ", ".join(name if times == 1 else f"{name} ×{times}" for name, times in counts.items())
    waiting = [
        f"{count} {what}{'s' if count != 1 else ''}{key}"
        for count, what, key in ((status.diffs, "diff", " (F8)"), (status.questions, "question", ""))
        if count
    ]
    return " · ".join((clis or "Qwen Companion: waiting", *waiting))
