"""Which agents the person follows in each window, and which files they were in last."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import sublime

from ...visits import RecentFiles, Visit, is_elsewhere, why_unopened
from ..calls import OffThread
from ..own_views import VIEWS
from ..panels import say
from ..places import open_place
from ..windows import is_visible
from .beside import show_beside

if TYPE_CHECKING:
    from ...exclusion import Told
    from ...ids import ChatId
    from ..windows import Focus

MARK = "qwen_companion.followed"
QUIET = 300
"""Milliseconds between two places that are shown."""
LOOK = 400
"""Milliseconds between two checks whether the person has scrolled."""
STARTED = "You follow {who} until you type or scroll in the file that is shown."
STOPPED = "You no longer follow the agent."
_FLAGS = sublime.RegionFlags.HIDDEN | sublime.RegionFlags.NO_UNDO


@dataclass
class _Followed:
    """What is followed in a window, and what was shown last."""

    chat: ChatId | None
    """None: all agents of the window."""
    view: sublime.View | None = None
    at: tuple[float, ...] = ()
    """Where the view was scrolled to, once that is settled."""
    version: int = 0
    due: Visit | None = None
    """What is shown as soon as the last one was shown long enough."""
    looked_at: Visit | None = None
    """What is shown once it is known to be a file."""
    is_busy: bool = False


class Following:
    """Follows agents. Lives on the UI thread."""

    def __init__(self, focus: Focus, off_thread: OffThread, told: Callable[[sublime.Window], Told]) -> None:
        """`told` is what may be told of the files of a window: what that leaves out is not shown by itself."""
        self._focus = focus
        self._off_thread = off_thread
        self._told = told
        self._followed: dict[int, _Followed] = {}
        self._recent: dict[int, RecentFiles] = {}

    def recent(self, window: sublime.Window) -> Sequence[Visit]:
        """The files of a window's agents, the one visited last first."""
        return list(self._recent.get(window.id(), ()))

    def follows(self, window: sublime.Window) -> bool:
        """Whether an agent is followed in a window."""
        return window.id() in self._followed

    def begin(self, window: sublime.Window, chat: ChatId | None, who: str) -> None:
        """Follow the agent of a chat; without a chat, all agents of the window."""
        self._followed[window.id()] = _Followed(chat)
        say(window, STARTED.format(who=who))
        self._look(window)

    def stop(self, window: sublime.Window) -> None:
        """Follow nobody any more."""
        if followed := self._followed.pop(window.id(), None):
            _unmark(followed)
            say(window, STOPPED)

    def open(self, window: sublime.Window, visit: Visit) -> None:
        """Go to a place that the person has chosen from the list."""
        open_place(window, self._off_thread, visit.path, visit.line)

    def visited(self, window: sublime.Window, visits: Sequence[Visit]) -> None:
        """Agents visited these places, in this order. A place on another computer can't be shown."""
        folders = window.folders()
        visits = [each for each in visits if not is_elsewhere(each.path, folders)]
        self._recent.setdefault(window.id(), RecentFiles()).add(visits)
        followed = self._followed.get(window.id())
        meant = [each for each in visits if followed and followed.chat in {None, each.chat} and each.what != "proposal"]
        if followed and meant:
            followed.due = meant[-1]
            if not followed.is_busy:
                self._show(window, followed)

    def edited(self, view: sublime.View) -> None:
        """The text of a view has changed: by the person, if they are in it."""
        window = view.window() if self._followed else None
        if window and self._is_shown(window, view) and window.active_view() == view and view.is_dirty():
            self.stop(window)

    def activated(self, window: sublime.Window, view: sublime.View) -> None:
        """A view has got the focus. Whoever goes into the file that is shown, works there."""
        if self._is_shown(window, view):
            # What opens a file gives the focus back at once.
            sublime.set_timeout(lambda: self._entered(window, view), QUIET)

    def forget(self, window: sublime.Window) -> None:
        """A window closes."""
        if followed := self._followed.pop(window.id(), None):
            _unmark(followed)
        self._recent.pop(window.id(), None)

    def close(self) -> None:
        """The package is unloaded."""
        for followed in self._followed.values():
            _unmark(followed)
        self._followed.clear()

    def _is_shown(self, window: sublime.Window, view: sublime.View) -> bool:
        followed = self._followed.get(window.id())
        return followed is not None and followed.view == view

    def _entered(self, window: sublime.Window, view: sublime.View) -> None:
        if window.is_valid() and self._is_shown(window, view) and window.active_view() == view:
            self.stop(window)

    def _show(self, window: sublime.Window, followed: _Followed) -> None:
        visit, followed.due = followed.due, None
        if visit is None or not window.is_valid() or self._followed.get(window.id()) is not followed:
            followed.is_busy = False
            return
        if self._was_scrolled(followed):
            self.stop(window)
            return
        followed.is_busy = True

        def shown(view: sublime.View) -> None:
            if self._followed.get(window.id()) is not followed:
                return  # it was stopped while the file was loaded
            _unmark(followed)
            followed.view, followed.at = view, ()
            if visit.line is not None:
                view.add_regions(MARK, [view.line(view.text_point(visit.line - 1, 0))], "region.bluish", "dot", _FLAGS)

        def looked(is_meant: bool) -> None:
            is_same = self._followed.get(window.id()) is followed and followed.looked_at is visit
            if is_meant and is_same and window.is_valid() and not _is_reviewing(window):
                show_beside(window, self._focus, visit.path, visit.line, shown)

        followed.looked_at = visit
        told, folders = self._told(window), window.folders()
        self._off_thread(lambda: not why_unopened(visit.path) and not told.is_excluded(visit.path, folders), looked)
        sublime.set_timeout(lambda: self._show(window, followed), QUIET)

    def _look(self, window: sublime.Window) -> None:
        """Stop once the person has scrolled."""
        followed = self._followed.get(window.id())
        if followed is None or not window.is_valid():
            return
        if self._was_scrolled(followed):
            self.stop(window)
            return
        if view := followed.view if followed.view and followed.view.is_valid() else None:
            followed.at, followed.version = tuple(view.viewport_position()), view.change_count()
        sublime.set_timeout(lambda: self._look_if_same(window, followed), LOOK)

    def _look_if_same(self, window: sublime.Window, followed: _Followed) -> None:
        if self._followed.get(window.id()) is followed:
            self._look(window)

    @staticmethod
    def _was_scrolled(followed: _Followed) -> bool:
        """Whether the view is elsewhere since the last look, and not because of another text."""
        view = followed.view
        if view is None or not view.is_valid() or not followed.at or view.change_count() != followed.version:
            return False
        return abs(view.viewport_position()[1] - followed.at[1]) > view.line_height() / 2


def _is_reviewing(window: sublime.Window) -> bool:
    """Whether a proposal is in sight: it waits for the person, and no file may cover it."""
    return any(map(is_visible, VIEWS.within(window, "proposal")))


def _unmark(followed: _Followed) -> None:
    if followed.view and followed.view.is_valid():
        followed.view.erase_regions(MARK)
