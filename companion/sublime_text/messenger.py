"""Messages to the person: in the status bar, in the console, and in a tab if a text would be lost."""

from __future__ import annotations

from collections.abc import Sequence

import sublime

from ..ids import WindowId
from .bridge import UiBridge, posted
from .notices import NOTICES, OpenNotices, named
from .review.answers import open_kept
from .windows import Focus, find_window


class Messenger:
    """Tells the person something: `companion.messages.Messages`. Only `tell` is for the UI thread alone."""

    def __init__(self, bridge: UiBridge, notices: OpenNotices, focus: Focus) -> None:
        self.bridge = bridge
        self._notices = notices
        self._focus = focus

    @posted
    def mention(self, message: str, window: WindowId) -> None:
        if target := find_window(window):
            NOTICES.add(message, target)

    @posted
    def say(self, message: str, window: WindowId | None = None) -> None:
        self.tell(message, window)

    def tell(self, message: str, window: WindowId | None) -> None:
        """As `say`, at once."""
        _print(message)
        self._notices.add(message, find_window(window) if window is not None else None)

    @posted
    def settle(self, message: str) -> None:
        self._notices.settled([message])

    @posted
    def solved(self, message: str, problems: Sequence[str]) -> None:
        """These problems are over, and `message` says how."""
        self._notices.settled(problems)
        _note(message, None)

    @posted
    def keep_text(self, window: WindowId | None, title: str, text: str, why: str) -> None:
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
