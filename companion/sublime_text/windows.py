"""The kinds of views, what a window shows, its focus, and what the companion asks about it."""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import time
from collections.abc import Collection, Generator, Mapping, Sequence
from typing import TYPE_CHECKING

import sublime

from ..editor import ViewId, WindowId
from ..exclusion import Sharing
from ..platforms.paths import RealPaths, path_key
from ..review.disk import Encodings
from ..server.window_screen import ContextRequest, OpenFile, Selection, ServedWindow, WindowState
from .bridge import asked, posted
from .own_views import REVIEWS, SIDES, VIEWS

if TYPE_CHECKING:
    from sublime_types import WindowLayout

    from .adapter import Adapter

CODES_KEPT = 20
"""How many of the person's tabs that had the focus are remembered; when one closes, the editor focuses another."""
SINGLE: WindowLayout = {"cols": [0.0, 1.0], "rows": [0.0, 1.0], "cells": [[0, 0, 1, 1]]}
"""The layout of a window with one group."""
SPLIT: WindowLayout = {"cols": [0.0, 0.5, 1.0], "rows": [0.0, 1.0], "cells": [[0, 0, 1, 1], [1, 0, 2, 1]]}
"""And of one with two groups side by side."""
PANEL_DELAY = 100
"""Milliseconds after which a view in a panel must have got the focus that it was given."""
HANGS = "Nothing was sent: a disk does not answer, so nobody knows what the setting “context_exclude” excludes."
_REAL_PATHS = RealPaths()


def find_window(identifier: int) -> sublime.Window | None:
    """The window of that id."""
    window = sublime.Window(identifier)
    return window if window.is_valid() else None


def is_folder_of(window: sublime.Window, folder: str) -> bool:
    """Whether a folder is one of a window's, in whichever spelling."""
    return bool(folder) and path_key(folder) in map(path_key, window.folders())


def is_terminal(view: sublime.View) -> bool:
    """Whether a view is a Terminus terminal. A file never is: a project gives its settings to each of its window."""
    return view.file_name() is None and bool(view.settings().get("terminus_view"))


def is_chat(view: sublime.View) -> bool:
    """Whether a view is a chat's."""
    return VIEWS.is_ours(view, "chat")


def is_code(view: sublime.View) -> bool:
    """Whether a view is a tab of the person's own: not a panel, an input, a terminal, a diff, a chat or the Review."""
    is_own = VIEWS.is_ours(view, "chat", *REVIEWS, *SIDES)
    return view.element() is None and not is_terminal(view) and not is_own


def is_visible(view: sublime.View) -> bool:
    """Whether a view is on the screen. A view in a panel always counts; a tab counts if it is selected in its group."""
    if not view.is_valid():
        return False
    sheet = view.sheet()
    return is_in_panel(view) or sheet is None or sheet.is_selected()


def is_in_panel(view: sublime.View) -> bool:
    """Whether a view is part of a panel or an input. `View.sheet()` does not tell: there it gives a sheet of id 0."""
    return view.sheet_id() == 0 or view.element() is not None


def views_of_file(path: str, *, is_exact: bool = False) -> list[sublime.View]:
    """The views that have a file open, by this path or by another one that leads to it.

    Links lead where they led at most a second ago, or where they lead now with `is_exact`.
    """
    named = [(view, name) for window in sublime.windows() for view in window.views() if (name := view.file_name())]
    real = _REAL_PATHS.of([path, *(name for _, name in named)], is_exact=is_exact)
    return [view for view, name in named if real[name] == real[path]]


def as_opened(window: sublime.Window, path: str) -> str:
    """A real path as a window has it: as the tab is named that shows the file, or as a folder leads to it."""
    if window.find_open_file(path):
        return path
    names = (view.file_name() for view in views_of_file(path) if view.window() == window)
    real = _REAL_PATHS.of(folders := window.folders())
    inside = (os.path.join(each, path[len(real[each]) :].lstrip(os.sep)) for each in folders if _has(real[each], path))
    return next((name for name in names if name), None) or next(inside, path)


def _has(folder: str, path: str) -> bool:
    """Whether a path is in a folder, as `real_path` gives that, in whatever case the path is."""
    return os.path.normcase(path).startswith(folder.rstrip(os.sep) + os.sep)


def encodings_of(path: str) -> Encodings:
    """How the editor decodes a file: its own encoding if the file is open, and the one in the person's settings."""
    # Looking at the paths of all tabs takes long with a thousand of them, and each asks for its own file.
    named = (found for window in sublime.windows() if (found := window.find_open_file(path)))
    view = next(named, None) or next(iter(views_of_file(path)), None)
    fallback = sublime.load_settings("Preferences.sublime-settings").get("fallback_encoding")
    default = Encodings()
    return Encodings(view.encoding() if view else "", fallback if isinstance(fallback, str) else default.fallback)


def is_excluded(sharing: Sharing, path: str, folders: Sequence[str]) -> bool:
    """Whether a file is never named: as `Sharing.is_excluded`, on the editor's thread.

    While a disk hangs that this depends on, nobody knows, and so the file is excluded.
    """
    try:
        return sharing.is_excluded(path, folders, real=_known([path, *folders]).__getitem__)
    except KeyError:
        return True


def refusal(sharing: Sharing, paths: Sequence[str], folders: Sequence[str]) -> str | None:
    """As `Sharing.refusal`, on the editor's thread."""
    try:
        return sharing.refusal(paths, folders, real=_known([*paths, *folders]).__getitem__)
    except KeyError:
        return HANGS


def _known(paths: Sequence[str]) -> Mapping[str, str]:
    return _REAL_PATHS.known(map(os.path.normpath, paths))


def real_path(path: str) -> str:
    """The path without links, in the spelling of the file system, as it was at most a second ago: asked at each key."""
    return _REAL_PATHS.of([path])[path]


def open_files() -> dict[str, bool]:
    """The files that are open in any window, by their real paths, and whether they have unsaved edits."""
    views = [view for window in sublime.windows() for view in window.views() if not view.is_loading()]
    named = [(view, name) for view in views if (name := view.file_name())]
    real = _REAL_PATHS.of(name for _, name in named)
    found: dict[str, bool] = {}
    for view, name in named:
        found[real[name]] = found.get(real[name], False) or view.is_dirty()
    return found


class OwnSaves:
    """The files that the editor saves for an agent or for a command of ours: nobody has edited them by hand."""

    def __init__(self) -> None:
        self._paths: list[str] = []

    @contextlib.contextmanager
    def saving(self, path: str) -> Generator[None]:
        """A file is saved in here."""
        real = real_path(path)
        self._paths.append(real)
        try:
            yield
        finally:
            self._paths.remove(real)

    def is_own(self, path: str) -> bool:
        """Whether a save is not the person's."""
        return bool(self._paths) and real_path(path) in self._paths


OWN_SAVES = OwnSaves()


class FocusBefore:
    """Remembers which view of a window has the focus, to give it back later."""

    def __init__(self, window: sublime.Window, view: sublime.View | None, focus: Focus) -> None:
        self.view = view
        self._window = window
        self._focus = focus
        self._panel = window.active_panel() if view and is_in_panel(view) else None

    def restore(self) -> None:
        """Give the focus back, unless the view is no longer on the screen."""
        is_shown = self._panel in (None, self._window.active_panel())
        if self.view and is_visible(self.view) and is_shown:
            self._focus.give(self._window, self.view)


class GroupContents:
    """Remembers which sheets a group of a window shows, to show them again later."""

    def __init__(self, window: sublime.Window, group: int) -> None:
        self.window = window
        self.group = group
        self.sheets = window.selected_sheets_in_group(group)
        self.active = window.active_sheet_in_group(group)

    def restore(self) -> None:
        """Show those that still are in the group."""
        sheets = [sheet for sheet in self.sheets if self._is_here(sheet)]
        if sheets:
            show_in_group(self.window, self.group, sheets)
        if is_in_front(self.window) and self.active and self._is_here(self.active):
            focus_sheet(self.window, self.active)

    def shows(self, view: sublime.View | None) -> bool:
        """Whether a view is one of those that are shown."""
        return view is not None and any(sheet.id() == view.sheet_id() for sheet in self.sheets)

    def _is_here(self, sheet: sublime.Sheet) -> bool:
        return sheet.window() == self.window and sheet.group() == self.group


def show_in_group(window: sublime.Window, group: int, sheets: list[sublime.Sheet]) -> None:
    """Show some sheets of a group side by side. The other groups keep theirs. The focus may move."""
    # Nobody has written down whether the groups that are not named keep several tabs, and whether several can be named.
    others = [
        sheet
        for other in range(window.num_groups())
        if other != group
        for sheet in window.selected_sheets_in_group(other)
    ]
    window.select_sheets(others + sheets)
    if others and set(_ids(window.selected_sheets_in_group(group))) != set(_ids(sheets)):
        window.select_sheets(sheets)


def focus_sheet(window: sublime.Window, sheet: sublime.Sheet) -> None:
    """Focus a tab. Those that are selected beside it stay so."""
    before = window.selected_sheets()
    window.focus_sheet(sheet)
    _select_again(window, sheet.id(), before)


def focus_view(window: sublime.Window, view: sublime.View) -> None:
    """Focus a view. The tabs that are selected beside it stay so."""
    before = window.selected_sheets()
    window.focus_view(view)
    _select_again(window, view.sheet_id(), before)


def _select_again(window: sublime.Window, focused: int, before: list[sublime.Sheet]) -> None:
    if focused in _ids(before) and not set(_ids(before)) <= set(_ids(window.selected_sheets())):
        window.select_sheets(before)


def _ids(sheets: list[sublime.Sheet]) -> list[int]:
    return [sheet.id() for sheet in sheets]


def select(view: sublime.View, *places: int | sublime.Region) -> None:
    """Select these regions of a view and nothing else; a point is a caret."""
    view.sel().clear()
    view.sel().add_all(places)


def selected_lines(view: sublime.View) -> list[tuple[int, int]]:
    """The first and the last line of each selection, from 1. One that ends where a line begins is without that line."""
    ends = [(region.begin(), max(region.begin(), region.end() - 1)) for region in view.sel()]
    return [(view.rowcol(begin)[0] + 1, view.rowcol(end)[0] + 1) for begin, end in ends]


def put_caret(view: sublime.View, point: int) -> None:
    """Put the caret at a point, in the middle of the screen."""
    select(view, point)
    view.show_at_center(point)


def is_in_front(window: sublime.Window) -> bool:
    """Whether a window is in front. Focusing something in another one may raise that (sublimehq/sublime_text#4407)."""
    return window == sublime.active_window()


class Focus:
    """Which view had the focus last in each window, panels and inputs included, and which tab of the person's own."""

    def __init__(self) -> None:
        self._last: dict[int, sublime.View] = {}
        self._codes: dict[int, list[sublime.View]] = {}
        self._due: dict[int, sublime.View] = {}
        """The view that gets the focus when its window comes to the front."""
        self.typed_at = -math.inf
        """When the person has typed last, anywhere in the editor, by the monotonic clock."""
        self._awaited: dict[int, sublime.View] = {}
        """The view of a panel that was given the focus and has not been activated yet."""

    def before(self, window: sublime.Window, view: sublime.View | None) -> FocusBefore:
        """Remember that a view has the focus."""
        return FocusBefore(window, view, self)

    def give(self, window: sublime.Window, view: sublime.View) -> None:
        """Give a view the focus of its window, without raising the window: if it is behind, when it comes to the front.

        A view in a panel is looked at again: where the focus did not go to it, the panel is shown
        (sublimehq/sublime_text#3349).
        """
        self._due.pop(window.id(), None)
        if not is_in_front(window):
            self._due[window.id()] = view
            return
        if is_in_panel(view) and self._last.get(window.id()) != view and (panel := window.active_panel()):
            self._awaited[window.id()] = view
            sublime.set_timeout(lambda: self._look_again(window, view, panel), PANEL_DELAY)
        focus_view(window, view)

    def _look_again(self, window: sublime.Window, view: sublime.View, panel: str) -> None:
        # The person may have hidden the panel in the meantime, or shown another one.
        is_due = self._awaited.pop(window.id(), None) == view and window.active_panel() == panel
        if is_due and _still_in(window, view) and is_in_front(window):
            window.run_command("show_panel", {"panel": panel})
            window.focus_view(view)

    def activated(self, window: sublime.Window, view: sublime.View) -> None:
        """A view got the focus."""
        self._last[window.id()] = view
        if self._awaited.get(window.id()) == view:
            del self._awaited[window.id()]
        due = self._due.get(window.id())
        if due and is_in_front(window):
            del self._due[window.id()]
            if due != view and _still_in(window, due) and is_visible(due):
                sublime.set_timeout(lambda: self.give(window, due))
        if is_code(view):
            before = [one for one in self._codes.get(window.id(), []) if one != view]
            self._codes[window.id()] = [*before[-CODES_KEPT:], view]

    def last(self, window: sublime.Window) -> sublime.View | None:
        """The view with the focus, or the one that had it when the window was last in front."""
        return _still_in(window, self._last.get(window.id())) or window.active_view()

    def was_in(self, window: sublime.Window, views: Collection[sublime.View]) -> bool:
        """Whether one of these views has the focus of a window, or had it until it was closed."""
        return self._last.get(window.id()) in views or self.last(window) in views

    def last_code(self, window: sublime.Window) -> sublime.View | None:
        """The tab of the person's own that had the focus last."""
        codes = reversed(self._codes.get(window.id(), []))
        # A tab of ours becomes ours only after its activation.
        return next((view for view in codes if _still_in(window, view) and is_code(view)), None)

    def code_group(self, window: sublime.Window) -> int:
        """The group of the person's code: the one that had the focus last, else the active one."""
        code = self.last_code(window)
        return max(window.get_view_index(code)[0] if code else window.active_group(), 0)

    def typed(self, view: sublime.View) -> None:
        """A view was edited, or a key went to a terminal: by the person if it has the focus."""
        if (window := view.window()) and self._last.get(window.id()) == view and is_in_front(window):
            self.typed_at = time.monotonic()

    def forget(self, window: sublime.Window) -> None:
        """A window closes."""
        for by_window in (self._last, self._codes, self._due, self._awaited):
            by_window.pop(window.id(), None)


def _still_in(window: sublime.Window, view: sublime.View | None) -> sublime.View | None:
    return view if view and view.is_valid() and view.window() == window else None


# What the companion asks about a window: its folders, its files and what is selected.


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

    def __init__(self, adapter: Adapter) -> None:
        self.bridge = adapter.bridge
        self._settings = adapter.settings

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
