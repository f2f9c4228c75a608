"""The item in the status bar of each window: off, waiting, or the connected CLIs and what waits for the person."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import sublime

from ...editor import WindowId
from ...review.changes import counted
from ...status.facts import WindowStatus
from ..bridge import posted
from ..keys import KEYS
from ..notices import parts_in_one_line
from ..windows import find_window

if TYPE_CHECKING:
    from ..adapter import Adapter

WAITING = "QwenCompanion: no CLI is connected"
KEY = "zz_qwen_companion"
"""Sublime sorts the items of a status bar by their keys, so this one is among the last."""


class StatusBar:
    """Shows the status of each window in its views. Lives on the UI thread, but for `show_status`.

    In Sublime a status belongs to a view, so it is set in every view on the screen and in each one that gets the focus.
    """

    def __init__(self, adapter: Adapter) -> None:
        self.bridge = adapter.bridge
        self._adapter = adapter
        self._statuses: dict[int, WindowStatus] = {}

    @posted
    def show_status(self, window: WindowId, status: WindowStatus) -> None:
        if (target := find_window(window)) is None:
            return
        before = self._statuses.get(window)
        self._statuses[window] = status
        if status.diffs != (before.diffs if before else 0):
            self.draw()  # each other window says so, too
        else:
            self._draw(target)

    def clis(self, window: sublime.Window) -> tuple[str, ...]:
        """The names of the CLIs that are connected to a window."""
        status = self._statuses.get(window.id())
        return status.clis if status else ()

    def draw(self) -> None:
        """Bring the item of every window up to date."""
        for window in sublime.windows():
            self._draw(window)

    def activated(self, window: sublime.Window, view: sublime.View) -> None:
        """A view got the focus."""
        self._set(view, self._text(window))

    def forget(self, window: sublime.Window) -> None:
        """A window closes."""
        self._statuses.pop(window.id(), None)
        self.draw()

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
        wanted = self._adapter.settings.value("show_status")
        if wanted == "never":
            return ""
        status = self._statuses.get(window.id())
        words = "" if _is_idle(window, status, wanted) else status_text(status)
        # A status may come just after its window has closed.
        known = [self._statuses.get(other.id()) for other in sublime.windows() if other.id() != window.id()]
        others = sum(other.diffs for other in known if other)
        elsewhere = "" if status is not None and status.diffs else elsewhere_text(others)
        notices = len(self._adapter.notices.within(window))
        unsent = len(self._adapter.comments.unsent(window))
        return parts_in_one_line((words, elsewhere, notices_text(notices), comments_text(unsent)))

    @staticmethod
    def _set(view: sublime.View, text: str) -> None:
        if view.get_status(KEY) != text:
            view.set_status(KEY, text)


def status_text(status: WindowStatus | None) -> str:
    """The text of a status. `status` is None for a window that is not served."""
    if status is None:
        return "QwenCompanion: off"
    counts = Counter(status.clis)
    clis = ", ".join(
        (name if times == 1 else f"{name} ×{times}") + (" · doesn't ask" if name in status.unasking else "")
        for name, times in counts.items()
    )
    asking = f" ({', '.join(status.asking)})" if status.asking else ""
    key = KEYS.in_brackets("go_to_diff")
    waiting = [
        f"{count} {what}{'s' if count != 1 else ''}{more}"
        for count, what, more in ((status.diffs, "diff", key), (status.questions, "question", asking))
        if count
    ]
    if status.written.files:
        files, changes = counted(status.written.files, "file"), counted(status.written.changes, "change")
        others = [name for name in status.authors if name not in counts]
        waiting.insert(0, f"{', '.join(others)}: {files}" if others else files)
        waiting.insert(1, f"{changes} to review")
        waiting[:2] = [", ".join(waiting[:2])]
        return f"{clis}: {' · '.join(waiting)}" if clis and not others else " · ".join(filter(None, (clis, *waiting)))
    return " · ".join((clis or ("" if waiting else WAITING), *waiting)).removeprefix(" · ")


def elsewhere_text(diffs: int) -> str:
    """The text for diffs that wait in other windows."""
    key = KEYS.in_brackets("go_to_diff")
    return f"{diffs} diff{'s' if diffs != 1 else ''} in another window{key}" if diffs else ""


def notices_text(count: int) -> str:
    """The text for messages that need an action; "Show Log" shows them."""
    return f"⚠ {count} message{'s' if count != 1 else ''}: Show Log" if count else ""


def comments_text(count: int) -> str:
    """The text for comments that were not sent."""
    return f"{count} comment{'s' * (count != 1)} to send" if count else ""


def _is_idle(window: sublime.Window, status: WindowStatus | None, wanted: str) -> bool:
    """Whether nothing of the status is worth a word; `wanted` is the setting `show_status`."""
    if status and (status.clis or status.diffs or status.questions or status.written.files):
        return False
    return wanted == "connected" or not window.folders()
