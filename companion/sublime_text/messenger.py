"""Messages to the person: in the status bar, in the console, and in a tab if a text would be lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import sublime

from ..ids import WindowId
from .notices import NOTICES, OpenNotices, named
from .review.answers import open_kept
from .windows import Focus, find_window


class Messenger:
    """Tells the person something. Its public methods may be called on any thread, but for `tell`."""

    def __init__(self, post: Callable[[Callable[[], object]], None], notices: OpenNotices, focus: Focus) -> None:
        """`post` runs a function on the UI thread."""
        self._post = post
        self._notices = notices
        self._focus = focus

    def mention(self, message: str, window: WindowId) -> None:
        """Show one sentence for a moment."""
        self._post(lambda: _mention(message, window))

    def say(self, message: str, window: WindowId | None = None) -> None:
        """Show a problem and keep it for the status report. Without a window, the one in front shows it."""
        self._post(lambda: self.tell(message, window))

    def tell(self, message: str, window: WindowId | None) -> None:
        """The same at once, on the UI thread."""
        _print(message)
        self._notices.add(message, find_window(window) if window is not None else None)

    def settle(self, message: str) -> None:
        """The problem that `say` told is over."""
        self._post(lambda: self._notices.settled([message]))

    def solved(self, message: str, problems: Sequence[str]) -> None:
        """These problems are over, and `message` says how."""

        def show() -> None:
            self._notices.settled(problems)
            _note(message, None)

        self._post(show)

    def keep_text(self, window: WindowId | None, title: str, text: str, why: str) -> None:
        """Show text that would be lost in a new view, and say why. Without a window, in the one in front."""
        self._post(lambda: self._keep_text(window, title, text, why))

    def _keep_text(self, window: WindowId | None, title: str, text: str, why: str) -> None:
        target = (find_window(window) if window is not None else None) or sublime.active_window()
        focus = self._focus.last(target)
        open_kept(target, title, text)
        if focus and focus.is_valid():
            self._focus.give(target, focus)
        _note(why, target)


def _print(message: str) -> None:
    print(named(message))  # noqa: T201 - Sublime's console


def _note(message: str, window: sublime.Window | None) -> None:
    _print(message)
    NOTICES.add(message, window)


def _mention(message: str, window: WindowId) -> None:
    if target := find_window(window):
        NOTICES.add(message, target)
