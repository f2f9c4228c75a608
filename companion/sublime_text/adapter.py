"""The companion's editor port on Sublime Text, and the one object that is made when the package is loaded."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import sublime

from ..editor import OpenFile, Selection, Window, WindowState
from ..thread import CompanionThread
from .bridge import UiBridge
from .diffs import Diffs
from .settings import SettingsFile
from .windows import Focus, GroupContents, find_window, is_code

if TYPE_CHECKING:
    from ..changes import Edit
    from ..marks import Marks
    from ..review import Review

FOCUSED_SETTING = "qwen_companion.focused_at"
"""On a view: when it last had the focus, in Unix milliseconds. Sublime keeps it over restarts."""
PORT_SETTING = "qwen_companion.port"
"""On a window: the port that it was served on, kept over reloads and restarts."""
STOP_LIMIT = 2.5
"""Seconds that the UI thread waits for the end: one for the last notifications, the rest for the server."""


class Adapter:
    """Sublime Text as the companion sees it. Its methods of the port are called on the companion thread."""

    def __init__(self) -> None:
        self._bridge = UiBridge()
        self._settings = SettingsFile()
        self.focus = Focus()
        self.thread = CompanionThread(self, self._settings.read(), _windows)
        self.diffs = Diffs(
            self.focus,
            lambda call: self.thread.post(lambda companion: call(companion.reviews)),
            lambda: self._settings.layout,
        )
        self._settings.on_change(lambda settings: self.thread.post(lambda companion: companion.configure(settings)))

    def start(self) -> None:
        """Start the companion, and tell it which files were looked at when."""
        self.thread.start()
        for window in sublime.windows():
            for view in window.views():
                at = view.settings().get(FOCUSED_SETTING)
                if isinstance(at, int):
                    self._seen(window, view, at)
            if view := window.active_view():
                self.focus.activated(window, view)
                self._seen(window, view, _now())

    def _seen(self, window: sublime.Window, view: sublime.View, at: int) -> None:
        identifier, number = window.id(), view.id()
        self.thread.post(lambda companion: companion.seen(identifier, number, at))

    def stop(self, *, hand_over: bool = False) -> None:
        """End the companion: the CLIs hear that their diffs are rejected, the discovery files go. Waits for that."""
        self._bridge.close()
        self.thread.stop(STOP_LIMIT, hand_over=hand_over)

    def unload(self) -> None:
        """Stop, and take what is ours from the screen. An instance that is loaded next goes on with the sessions."""
        self.stop(hand_over=True)
        self._settings.close()
        self.diffs.close_all()

    def activated(self, view: sublime.View) -> None:
        """A view got the focus."""
        window = view.window()
        if window is None:
            return
        self.focus.activated(window, view)
        identifier, number, now = window.id(), view.id(), _now()
        if is_code(view):
            view.settings().set(FOCUSED_SETTING, now)
            self.thread.post(lambda companion: companion.focused(identifier, number, now))
        else:
            self.thread.post(lambda companion: companion.window_focused(identifier))

    def touched(self, view: sublime.View) -> None:
        """The selection or the file of a view has changed."""
        if (window := view.window()) and is_code(view):
            identifier = window.id()
            self.thread.post(lambda companion: companion.touched(identifier))

    def closed(self, view: sublime.View) -> None:
        """A view was closed."""
        self.diffs.view_closed(view)
        number = view.id()
        self.thread.post(lambda companion: companion.view_closed(number))

    def window_opened(self, window: sublime.Window) -> None:
        """There is a new window."""
        opened = _to_serve(window)
        self.thread.post(lambda companion: companion.window_opened(opened))

    def project_closed(self, window: sublime.Window) -> None:
        """The project of a window is about to close."""
        identifier = window.id()
        self.thread.post(lambda companion: companion.reviews.reject_window(identifier))

    def window_closed(self, window: sublime.Window) -> None:
        """A window is about to close."""
        self.focus.forget(window)
        identifier = window.id()
        self.thread.post(lambda companion: companion.window_closed(identifier))

    def listening(self, window: int, port: int) -> None:
        """See Editor."""
        self._bridge.post(lambda: _remember_port(window, port))

    async def window_state(self, window: int, views: Sequence[int]) -> WindowState | None:
        """See Editor."""
        return await self._bridge.call(lambda: _window_state(window, views))

    async def selection(self, view: int, limit: int) -> Selection | None:
        """See Editor."""
        return await self._bridge.call(lambda: _selection(sublime.View(view), limit))

    async def show_review(self, review: Review, marks: Marks | None) -> None:
        """See Editor."""
        await self._bridge.call(lambda: self.diffs.open(review, marks))

    def show_marks(self, review: Review, marks: Marks, version: int) -> None:
        """See Editor."""
        self._bridge.post(lambda: self.diffs.show_marks(review, marks, version))

    def edit_review(self, review: Review, edit: Edit, version: int) -> None:
        """See Editor."""
        self._bridge.post(lambda: self.diffs.apply(review, edit, version))

    def review_changed_on_disk(self, review: Review) -> None:
        """See Editor."""
        self._bridge.post(lambda: self.diffs.changed_on_disk(review))

    async def review_text(self, review: Review) -> str | None:
        """See Editor."""
        return await self._bridge.call(lambda: self.diffs.text(review))

    def dismiss_review(self, review: Review) -> None:
        """See Editor."""
        self._bridge.post(lambda: self.diffs.close(review))

    def orphan_review(self, review: Review) -> None:
        """See Editor."""
        self._bridge.post(lambda: self.diffs.orphan(review))

    def keep_text(self, window: int, title: str, text: str, why: str) -> None:
        """See Editor."""
        self._bridge.post(lambda: self._keep_text(window, title, text, why))

    def mention(self, message: str, window: int) -> None:
        """See Editor."""
        self._bridge.post(lambda: _mention(message, window))

    def say(self, message: str, window: int | None = None) -> None:
        """See Editor."""
        self._bridge.post(lambda: _say(message, window))

    def _keep_text(self, window: int, title: str, text: str, why: str) -> None:
        target = find_window(window) or sublime.active_window()
        focus = self.focus.last(target)
        before = GroupContents(target, target.active_group())
        view = target.new_file()
        view.set_name(f"{title} (your edits)")
        view.set_scratch(True)
        view.run_command("qwen_companion_edit_diff", {"start": 0, "end": 0, "text": text})
        before.restore()
        if focus and focus.is_valid():
            target.focus_view(focus)
        _say(why, window)


def _windows() -> list[Window]:
    front = sublime.active_window()
    return [_to_serve(window) for window in sorted(sublime.windows(), key=lambda window: window != front)]


def _to_serve(window: sublime.Window) -> Window:
    port = window.settings().get(PORT_SETTING)
    return Window(window.id(), tuple(window.folders()), port if isinstance(port, int) else 0)


def _remember_port(identifier: int, port: int) -> None:
    if window := find_window(identifier):
        window.settings().set(PORT_SETTING, port)


def _window_state(window: int, views: Sequence[int]) -> WindowState | None:
    found = find_window(window)
    if found is None:
        return None
    files: list[OpenFile] = []
    for number in views:
        view = sublime.View(number)
        if view.is_valid() and view.window() == found and (path := view.file_name()):
            files.append(OpenFile(number, path))
    return WindowState(tuple(found.folders()), tuple(files))


def _selection(view: sublime.View, limit: int) -> Selection | None:
    regions = list(view.sel()) if view.is_valid() else []
    if not regions:
        return None
    selected = [region for region in regions if not region.empty()]
    row, column = view.rowcol_utf16((selected or regions)[0].b)
    return Selection(row + 1, column + 1, "\n".join(_texts(view, selected, limit)))


def _texts(view: sublime.View, regions: list[sublime.Region], limit: int) -> list[str]:
    """What is selected, as Sublime copies it; never more than is wanted, for a selection may be a whole large file."""
    texts: list[str] = []
    for region in regions:
        if limit <= 0:
            break
        texts.append(view.substr(sublime.Region(region.begin(), min(region.end(), region.begin() + limit))))
        limit -= len(texts[-1]) + 1
    return texts


def _say(message: str, window: int | None) -> None:
    print(f"QwenCompanion: {message}")  # noqa: T201 - Sublime's console
    target = find_window(window) if window is not None else None
    (target or sublime.active_window()).status_message(f"QwenCompanion: {message}")


def _mention(message: str, window: int) -> None:
    if target := find_window(window):
        target.status_message(f"QwenCompanion: {message}")


def _now() -> int:
    return time.time_ns() // 1_000_000
