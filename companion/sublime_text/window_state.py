"""Windows as the companion serves them: their folders and ports, their files and what is selected."""

from __future__ import annotations

import itertools

import sublime

from ..ids import ViewId, WindowId
from ..server.window_screen import ContextRequest, OpenFile, Selection, ServedWindow, WindowState
from .bridge import UiBridge, asked, posted
from .own_views import VIEWS
from .settings import SettingsFile
from .windows import find_window, is_code

PORT = "port"
"""Remembered of a window: the port that it was served on."""
FILES_WANTED = 20
"""With fewer files of views that had the focus, those of other tabs are added; some may not be on disk."""


def windows_to_serve() -> list[ServedWindow]:
    """All windows, the one in front first."""
    front = sublime.active_window()
    return [to_serve(window) for window in sorted(sublime.windows(), key=lambda window: window != front)]


def to_serve(window: sublime.Window) -> ServedWindow:
    """A window with its folders and the port that it had."""
    port = VIEWS.remembered(window, PORT)
    return ServedWindow(WindowId(window.id()), tuple(window.folders()), port if isinstance(port, int) else 0)


class WindowStates:
    """What the windows show: `ServedWindows`. It is waited for as long as the editor lives."""

    def __init__(self, bridge: UiBridge, settings: SettingsFile) -> None:
        self.bridge = bridge
        self._settings = settings

    @posted
    def listening(self, window: WindowId, port: int) -> None:
        if found := find_window(window):
            VIEWS.remember(found, PORT, port)

    @asked(waits=True)
    def window_state(self, window: WindowId, question: ContextRequest) -> WindowState | None:
        found = find_window(window)
        if found is None:
            return None
        selected = question.selected
        if question.is_whole or selected is None:
            self._settings.look(found)
        else:
            self._settings.glance(found, sublime.View(selected))
        selection = None if selected is None else _selection(sublime.View(selected), question.limit)
        return WindowState(tuple(found.folders()), tuple(_files(found, question)), selection)

    @asked(waits=True)
    def selection(self, view: ViewId, limit: int) -> Selection | None:
        return _selection(sublime.View(view), limit)


def _files(window: sublime.Window, question: ContextRequest) -> list[OpenFile]:
    """The files of the views that were asked for, and of other tabs if these are few."""
    files: list[OpenFile] = []
    known = set(question.views)
    for number in question.views:
        view = sublime.View(number)
        if view.is_valid() and view.window() == window and (path := view.file_name()):
            files.append(OpenFile(number, path))
    if question.is_whole and len(files) < FILES_WANTED:
        # Open since before the package was installed, or opened in the background.
        others = (view for view in window.views() if view.id() not in known and view.file_name() and is_code(view))
        files += [
            OpenFile(ViewId(view.id()), view.file_name() or "")
            for view in itertools.islice(others, FILES_WANTED - len(files))
        ]
    return files


def _selection(view: sublime.View, limit: int) -> Selection | None:
    """The caret of a view and what is selected in it, at most `limit` characters; None if there is no caret."""
    regions = list(view.sel()) if view.is_valid() else []
    if not regions:
        return None
    selected = [region for region in regions if not region.empty()]
    row, column = view.rowcol_utf16((selected or regions)[0].b)
    return Selection(row + 1, column + 1, "\n".join(_texts(view, selected, limit)))


def _texts(view: sublime.View, regions: list[sublime.Region], limit: int) -> list[str]:
    """The selected texts. No more than `limit` characters are read, since a selection may be a whole large file."""
    texts: list[str] = []
    for region in regions:
        if limit <= 0:
            break
        texts.append(view.substr(sublime.Region(region.begin(), min(region.end(), region.begin() + limit))))
        limit -= len(texts[-1]) + 1
    return texts
