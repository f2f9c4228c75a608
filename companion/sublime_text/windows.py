"""What a window shows, and how to show something in it without disturbing the person."""

from __future__ import annotations

import os
from functools import lru_cache

import sublime

DIFF_SETTING = "qwen_companion.diff"
"""On the views of a diff: "original" or "proposal"."""
CHAT_SETTING = "qwen_companion.chat"
"""On the view of a chat."""


def find_window(identifier: int) -> sublime.Window | None:
    """The window of that id."""
    window = sublime.Window(identifier)
    return window if window.is_valid() else None


def is_terminal(view: sublime.View) -> bool:
    """Whether a view is a Terminus terminal."""
    return bool(view.settings().get("terminus_view"))


def is_chat(view: sublime.View) -> bool:
    """Whether a view is a chat's."""
    return bool(view.settings().get(CHAT_SETTING))


def is_code(view: sublime.View) -> bool:
    """Whether a view is a tab of the person's own: no panel, no input, no terminal, no diff, no chat."""
    if view.element() is not None or is_terminal(view) or is_chat(view):
        return False
    return not view.settings().get(DIFF_SETTING)


def is_visible(view: sublime.View) -> bool:
    """Whether a view is on the screen: a panel's always counts, a tab's if it is selected in its group."""
    if not view.is_valid():
        return False
    sheet = view.sheet()
    return view.element() is not None or sheet is None or sheet.is_selected()


def views_of_file(path: str) -> list[sublime.View]:
    """The views that have a file open, by this path or by another one that leads to it."""
    real = real_path(path)
    return [
        view
        for window in sublime.windows()
        for view in window.views()
        if (name := view.file_name()) and real_path(name) == real
    ]


@lru_cache(maxsize=4_096)
def real_path(path: str) -> str:
    """The path without symbolic links, and in the spelling of the file system. Remembered: this is asked often."""
    return os.path.normcase(os.path.realpath(path))


FOCUS_CHECK = 50
"""Milliseconds after which a panel should have the focus that it was given."""


class FocusBefore:
    """What has the focus in a window, to restore it later."""

    def __init__(self, focus: Focus, window: sublime.Window) -> None:
        self.view = view = focus.last(window)
        self._focus = focus
        self._window = window
        self._panel = window.active_panel() if view and view.element() is not None else None

    def restore(self) -> None:
        """Restore the focus, unless the view is no longer on the screen."""
        is_hidden_panel = self._panel is not None and self._window.active_panel() != self._panel
        if self.view and is_visible(self.view) and not is_hidden_panel:
            self._focus.give(self._window, self.view)
            if self._panel:
                sublime.set_timeout(self._check_panel, FOCUS_CHECK)

    def _check_panel(self) -> None:
        """Focus the panel by its name: `focus_view` may not reach a panel (the editor's issue 3349)."""
        is_lost = self._window.is_valid() and self._focus.last(self._window) != self.view
        if is_lost and self._window == sublime.active_window() and self._window.active_panel() == self._panel:
            self._window.run_command("show_panel", {"panel": self._panel})


class GroupContents:
    """What a group of a window shows, to show it again later."""

    def __init__(self, window: sublime.Window, group: int) -> None:
        self.window = window
        self.group = group
        self.sheets = window.selected_sheets_in_group(group)
        self.active = window.active_sheet_in_group(group)

    def restore(self) -> None:
        """Show it again, as far as it is still there."""
        sheets = [sheet for sheet in self.sheets if self._is_here(sheet)]
        if sheets:
            show_in_group(self.window, self.group, sheets)
        if self.active and self._is_here(self.active) and self.window == sublime.active_window():
            self.window.focus_sheet(self.active)

    def shows(self, view: sublime.View | None) -> bool:
        """Whether a view is one of those that are shown."""
        return view is not None and any(sheet.id() == view.sheet_id() for sheet in self.sheets)

    def _is_here(self, sheet: sublime.Sheet) -> bool:
        return sheet.window() == self.window and sheet.group() == self.group


def show_in_group(window: sublime.Window, group: int, sheets: list[sublime.Sheet]) -> None:
    """Show some sheets of a group side by side; the other groups keep what they show. The focus may move."""
    others = [
        sheet
        for other in range(window.num_groups())
        if other != group
        for sheet in window.selected_sheets_in_group(other)
    ]
    window.select_sheets(others + sheets)


class Focus:
    """Which view had the focus last, in each window, and which tab of the person's own. Knows panels and inputs too."""

    def __init__(self) -> None:
        self._last: dict[int, sublime.View] = {}
        self._codes: dict[int, list[sublime.View]] = {}
        self._given: dict[int, sublime.View] = {}
        """The views that get the focus as soon as their windows are in front."""

    def give(self, window: sublime.Window, view: sublime.View) -> None:
        """Focus a view of a window, at once or when the window comes to the front.

        `focus_view` would raise a window that is behind (the editor's issue 4407).
        """
        if window == sublime.active_window():
            window.focus_view(view)
        else:
            self._given[window.id()] = self._last[window.id()] = view

    def activated(self, window: sublime.Window, view: sublime.View) -> None:
        """A view got the focus."""
        if window == sublime.active_window():
            given = _still_in(window, self._given.pop(window.id(), None))
            if given and given != view and is_visible(given):
                window.focus_view(given)
                return
        elif window.id() in self._given:
            return
        self._last[window.id()] = view
        if is_code(view):
            before = [one for one in self._codes.get(window.id(), []) if one != view and _still_in(window, one)]
            self._codes[window.id()] = [*before, view]

    def last(self, window: sublime.Window) -> sublime.View | None:
        """The view that has the focus, or had it when the window was in front last."""
        return _still_in(window, self._last.get(window.id())) or window.active_view()

    def last_code(self, window: sublime.Window) -> sublime.View | None:
        """The tab of the person's own that had the focus last."""
        codes = reversed(self._codes.get(window.id(), []))
        # A tab of ours is like any other when it is opened.
        return next((view for view in codes if _still_in(window, view) and is_code(view)), None)

    def forget(self, window: sublime.Window) -> None:
        """A window closes."""
        self._last.pop(window.id(), None)
        self._codes.pop(window.id(), None)
        self._given.pop(window.id(), None)


def _still_in(window: sublime.Window, view: sublime.View | None) -> sublime.View | None:
    return view if view and view.is_valid() and view.window() == window else None
