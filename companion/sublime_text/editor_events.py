"""What happens in the editor, as the listeners hear it: told to the parts on the screen and to the companion.

`WindowStates` says of a window what the companion asks: its folders, its files and what is selected.
"""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING, cast

import sublime

from ..editor import ViewId, WindowId
from ..server.window_screen import ContextRequest, OpenFile, Selection, ServedWindow, WindowState
from .bridge import asked, posted
from .chat import vim
from .keys import KEYS
from .own_views import VIEWS
from .windows import OWN_SAVES, encodings_of, find_window, is_chat, is_code

if TYPE_CHECKING:
    from .adapter import Adapter

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


FOCUSED = "focused"
"""Remembered of a window: from the paths of its files to when they last had the focus, in Unix milliseconds."""
FOCUSED_KEPT = 50
"""How many of them."""


class EditorEvents:
    """Passes on what happens to views and windows. Lives on the UI thread."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter

    def start(self) -> None:
        """Tell the companion when each file had the focus last, and clear what an earlier session has left."""
        for window in sublime.windows():
            VIEWS.restore(window)
            self.restored(window)
            focused = _focused(window)
            for view in window.views():
                self._adapter.loaded.loaded(view)
                at = focused.get(view.file_name() or "")
                if isinstance(at, int):
                    self._tell_focus(window, view, at, is_active=False)
            if view := window.active_view():
                self._adapter.focus.activated(window, view)
                self._tell_focus(window, view, _now(), is_active=True)

    def activated(self, view: sublime.View) -> None:
        """A view got the focus."""
        window = view.window()
        if window is None:
            return
        VIEWS.activated(window, view)
        self._adapter.focus.activated(window, view)
        self._adapter.settings.glance(window, view)
        self.set_keys(view)
        self._adapter.status_bar.activated(window, view)
        self._adapter.chats.activated(window, view)
        self._adapter.diffs.activated(window, view)
        self._adapter.comments.activated(view)
        self._adapter.following.activated(window, view)
        self._adapter.written.activated(window, view)
        self._adapter.review.activated(window, view)
        identifier, number, now = WindowId(window.id()), ViewId(view.id()), _now()
        if is_code(view):
            if path := view.file_name():
                others = {name: at for name, at in _focused(window).items() if name != path}
                latest = list(others.items())[1 - FOCUSED_KEPT :]
                VIEWS.remember(window, FOCUSED, {**dict(latest), path: now})
            self._adapter.thread.post(lambda companion: companion.focused(identifier, number, now), ("focused", number))
        else:
            self._adapter.thread.post(lambda companion: companion.window_focused(identifier), "window_focused")

    def touched(self, view: sublime.View) -> None:
        """The selection or the file of a view has changed."""
        if (window := view.window()) and is_code(view):
            identifier, number = WindowId(window.id()), ViewId(view.id())
            self._adapter.thread.post(lambda companion: companion.touched(identifier, number), ("touched", number))

    def closed(self, view: sublime.View) -> None:
        """A view was closed."""
        self._adapter.diffs.view_closed(view)
        self._adapter.written.closed(view)
        self._adapter.unsaved.closed(view)
        self._adapter.loaded.closed(view)
        self._adapter.chats.closed(view)
        self._adapter.comments.views.forget(view)
        self._adapter.review.closed(view)
        VIEWS.closed(view)
        number = view.id()
        self._adapter.thread.post(lambda companion: companion.view_closed(ViewId(number)))

    def saving(self, view: sublime.View) -> None:
        """A view is about to be saved."""
        self._adapter.loaded.saving(view)

    def saved(self, view: sublime.View) -> None:
        """The person has saved a view."""
        if VIEWS.has_become_file(view):
            self._adapter.chats.became_file(view)
            self._adapter.diffs.became_file(view)
            self._adapter.review.became_file(view)
            VIEWS.release(view)
        self._adapter.unsaved.settled(view)
        name, saved = view.file_name(), self._adapter.loaded.saved(view)
        if name and name.endswith(".sublime-keymap"):
            KEYS.forget()
            self._adapter.status_bar.draw()
        if name and is_code(view) and not OWN_SAVES.is_own(name):
            encodings = encodings_of(name)
            self._adapter.thread.post(lambda companion: companion.changes.saved(name, saved, encodings))
            if (window := view.window()) and saved.loaded is not None and saved.text is not None:
                number, before, after = WindowId(window.id()), saved.loaded, saved.text
                self._adapter.thread.post(lambda companion: companion.provenance.saved(number, name, before, after))

    def loaded(self, view: sublime.View) -> None:
        """A file was loaded, or loaded again because it has changed on the disk."""
        if (window := view.window()) and is_code(view):
            identifier = WindowId(window.id())
            self._adapter.written.loaded(view)
            self._adapter.unsaved.settled(view)
            before = self._adapter.loaded.text(view)
            self._adapter.loaded.loaded(view)
            self._adapter.comments.loaded(view, before)
            if view.file_name():
                self._adapter.thread.post(lambda companion: companion.changes.scan(identifier), ("loaded", identifier))

    def window_opened(self, window: sublime.Window) -> None:
        """A window was opened."""
        VIEWS.opened(window)
        self.restored(window)
        opened = to_serve(window)
        self._adapter.settings.look(window)
        self._adapter.thread.post(lambda companion: companion.window_opened(opened))

    def restored(self, window: sublime.Window) -> None:
        """Clear the diffs that a window was restored with, after a restart or when its project was opened again."""
        if not window.is_valid():
            return
        VIEWS.restore(window)
        self._adapter.review.restored(window)
        if self._adapter.diffs.awaited:  # nobody knows yet which diffs are still waited for
            self._adapter.diffs.awaited.later(lambda: self.restored(window))
            return
        for name in self._adapter.diffs.clear_leftovers(window):
            what = f"“{name}” is a diff from before this session started."
            self._adapter.messenger.say(
                f"{what} No CLI waits for it any more. Your edits are kept in its tab.", WindowId(window.id())
            )

    def project_closed(self, window: sublime.Window) -> None:
        """The project of a window is about to close."""
        identifier = WindowId(window.id())
        VIEWS.closing(window)
        self._adapter.diffs.window_closing(window, elsewhere=False)
        self._adapter.thread.post(lambda companion: companion.reviews.reject_window(identifier))

    def window_closed(self, window: sublime.Window) -> None:
        """A window is about to close."""
        VIEWS.closing(window)
        self._adapter.diffs.window_closing(window, elsewhere=True)
        self._adapter.written.window_closed(window)
        self._adapter.review.forget(window)
        self._adapter.focus.forget(window)
        self._adapter.following.forget(window)
        self._adapter.settings.forget(window)
        self._adapter.status_bar.forget(window)
        self._adapter.notices.forget(window)
        self._adapter.chats.window_closed(window)
        identifier = WindowId(window.id())
        self._adapter.thread.post(lambda companion: companion.window_closed(identifier))

    def _tell_focus(self, window: sublime.Window, view: sublime.View, at: int, *, is_active: bool) -> None:
        identifier, number = WindowId(window.id()), ViewId(view.id())
        self._adapter.thread.post(
            lambda companion: (companion.active if is_active else companion.seen)(identifier, number, at)
        )

    def set_keys(self, view: sublime.View) -> None:
        """Give a chat the keys of Vim, or take them, as the settings say."""
        if is_chat(view):
            (vim.leave_on if self._adapter.settings.value("chat_vim_keys") else vim.turn_off)(view)


def _focused(window: sublime.Window) -> dict[str, object]:
    found = VIEWS.remembered(window, FOCUSED)
    return cast("dict[str, object]", found) if isinstance(found, dict) else {}


def _now() -> int:
    return time.time_ns() // 1_000_000
