"""Places in files: what a menu was opened on, how what nobody has chosen from the disk is opened, following an agent.

The person follows a link, an agent, a change or a comment. Each file is looked at first, on another thread: its disk
may hang, and by now its path may lead to a pipe, to a device or to more than the memory takes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import sublime
import sublime_plugin

from ..editor import RecentFiles, Visit
from ..platforms.files import is_elsewhere, why_unopened
from ..review.changes import carried, changes
from ..review.disk import Encodings, read_file
from . import package
from .bridge import posted
from .buffers import text_of
from .own_views import VIEWS
from .panels import PanelItem, choose, say
from .windows import as_opened, encodings_of, find_window, is_code, is_visible, put_caret, show_in_group

if TYPE_CHECKING:
    from ..editor import ChatId, WindowId
    from .adapter import Adapter
    from .windows import Focus


@dataclass(frozen=True, slots=True)
class Menu:
    """What a menu was opened on, from the arguments that it gives to a command."""

    paths: list[str] | None = None
    """Those of the side bar; None if it was not the side bar."""
    group: int | None = None
    index: int | None = None
    """The tab's place in the group: -1 for the active one; None if it was not a tab."""

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> Menu:
        """The side bar gives its paths as `paths`, or as `files` and `dirs`; a tab gives its `group` and `index`."""
        parts = [part for name in ("paths", "files", "dirs") if (part := arguments.get(name)) is not None]
        paths = list(dict.fromkeys(path for part in parts for path in part)) if parts else None
        return cls(paths, arguments.get("group"), arguments.get("index"))

    @property
    def was_used(self) -> bool:
        """Whether the command was run from the side bar or from a tab's menu."""
        return self.paths is not None or self.index is not None

    def tab(self, window: sublime.Window) -> sublime.View | None:
        """The view of a tab of the person's own: that of the tab's menu, or the active one for -1."""
        if self.index is None:
            return None
        if self.index < 0 or self.group is None or self.group < 0:
            view = window.active_view()
        else:
            sheets = window.sheets_in_group(self.group)
            view = sheets[self.index].view() if self.index < len(sheets) else None
        return view if view and is_code(view) else None

    def chosen(self, window: sublime.Window) -> list[str]:
        """The files and folders that it was opened on; empty if there are none, such as for a tab without a file."""
        if self.paths:
            return self.paths
        view = self.tab(window)
        path = view.file_name() if view else None
        return [path] if path else []


def if_there(
    adapter: Adapter, window: sublime.Window, paths: Sequence[str], then: Callable[[Collection[str]], object]
) -> None:
    """Go on if these paths are on the disk, which may be slow; otherwise say which is gone.

    `then` gets those that are folders.
    """

    def look() -> tuple[str | None, Collection[str]]:
        gone = next((path for path in paths if not os.path.exists(path)), None)
        return gone, [path for path in paths if os.path.isdir(path)]

    def looked(found: tuple[str | None, Collection[str]]) -> None:
        gone, folders = found
        if gone:
            say(window, f"{gone} no longer exists.")
        else:
            then(folders)

    adapter.on_another_thread(look, looked)


def open_place(adapter: Adapter, window: sublime.Window, path: str, line: int | None) -> None:
    """Open a file, at a line from 1 if that is known, once it is known to be one; say so if it isn't."""

    def open_it() -> None:
        if line:
            open_line(adapter, window, path, line)
        else:
            window.open_file(as_opened(window, path))

    if_openable(adapter, window, path, open_it)


def open_line(
    adapter: Adapter,
    window: sublime.Window,
    path: str,
    line: int,
    then: Callable[[sublime.View], object] | None = None,
) -> None:
    """Open a path that is known to be a file's, at a line of what is on the disk, from 1. `then` gets the view."""
    path = as_opened(window, path)
    view = window.find_open_file(path)
    if view is None or not view.is_dirty():
        view = window.open_file(f"{path}:{line}", sublime.NewFileFlags.ENCODED_POSITION)
        if then:
            then(view)
        return
    opened = window.open_file(path)

    def go(line: int) -> None:
        put_caret(opened, opened.text_point(line - 1, 0))
        if then:
            then(opened)

    line_in_tab(adapter, opened, line, go)


def line_in_tab(adapter: Adapter, view: sublime.View, line: int, then: Callable[[int], object]) -> None:
    """Call `then` with the line of a tab that a line of its file is in by now, both from 1.

    With unsaved text that is another one, and `then` is not called if the person goes on there before it is found.
    """
    name = view.file_name()
    if name is None or not view.is_dirty():
        then(line)
        return
    mine, encodings, before = text_of(view), encodings_of(name), (view.change_count(), list(view.sel()))

    def found(line: int) -> None:
        if view.is_valid() and (view.change_count(), list(view.sel())) == before:
            then(line)

    adapter.on_another_thread(lambda: _line_in(mine, name, encodings, line), found)


def _line_in(text: str, path: str, encodings: Encodings, line: int) -> int:
    """The line of a text that a line of a file is in. Blocks."""
    try:
        disk = read_file(path, encodings).source.shown
    except OSError:
        return line
    [(first, _)] = carried([(line - 1, line)], changes(disk, text))
    return first + 1


def if_openable(adapter: Adapter, window: sublime.Window, path: str, then: Callable[[], object]) -> None:
    """Go on if the editor may open a file; otherwise say why not."""

    def looked(why: str) -> None:
        if why:
            say(window, why)
        elif window.is_valid():
            then()

    adapter.on_another_thread(lambda: why_unopened(path), looked)


# Follow the agent: the place where it reads or writes is shown beside, without taking the focus.

_LOAD = 20
"""Milliseconds between two checks whether a file is loaded."""
_LOADS = 250


def show_beside(window: sublime.Window, focus: Focus, path: str, shown: Callable[[sublime.View], object]) -> None:
    """Show a file in another group if there is one, else side by side with the focused tab.

    `shown` gets the view once it is loaded. Nothing happens to a file that has the focus itself.
    """
    focused, path = focus.last(window), as_opened(window, path)
    view = window.find_open_file(path)
    if focused is not None and view == focused:
        return
    before = focus.before(window, focused)
    beside = focused.sheet() if focused else None
    group = _group(window, view, beside)
    if view is None:
        view = window.open_file(
            path, sublime.NewFileFlags.SEMI_TRANSIENT | sublime.NewFileFlags.ADD_TO_SELECTION, group
        )
    sheet = view.sheet()
    if sheet is not None:
        is_same_group = beside is not None and beside.group() == group
        show_in_group(window, group, [beside, sheet] if beside is not None and is_same_group else [sheet])
    before.restore()
    _when_loaded(view, shown)


def scroll_to(view: sublime.View, line: int) -> sublime.Region:
    """Show a line of a view, from 1. Returns it."""
    region = view.line(view.text_point(line - 1, 0))
    view.show_at_center(region.begin(), animate=False)
    return region


def _group(window: sublime.Window, view: sublime.View | None, beside: sublime.Sheet | None) -> int:
    """The group of a view that is open; else the last one without the focus."""
    if view is not None:
        return max(window.get_view_index(view)[0], 0)
    focused = beside.group() if beside is not None else None
    others = [group for group in range(window.num_groups()) if group != focused]
    return others[-1] if others else window.active_group()


def _when_loaded(view: sublime.View, shown: Callable[[sublime.View], object], looks: int = _LOADS) -> None:
    if not view.is_valid() or not looks:
        return
    if view.is_loading():
        sublime.set_timeout(lambda: _when_loaded(view, shown, looks - 1), _LOAD)
    else:
        shown(view)


MARK = "qwen_companion.followed"
QUIET = 300
"""Milliseconds between two places that are shown, and between two checks whether the person has scrolled."""
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
    """Whether something was shown since the last check."""
    timer: object = None
    """Stands for the next check: there is one."""


class Following:
    """Follows agents. Lives on the UI thread, but for `show_visits`."""

    def __init__(self, adapter: Adapter) -> None:
        self.bridge = adapter.bridge
        self._adapter = adapter
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
        self._followed[window.id()] = followed = _Followed(chat)
        say(window, STARTED.format(who=who))
        self._go_on(window, followed)

    def stop(self, window: sublime.Window) -> None:
        """Follow nobody any more."""
        if followed := self._followed.pop(window.id(), None):
            _unmark(followed)
            say(window, STOPPED)

    @posted
    def show_visits(self, window: WindowId, visits: Sequence[Visit]) -> None:
        if visits and (target := find_window(window)):
            self.visited(target, visits)

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
                self._go_on(window, followed)

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

    def _go_on(self, window: sublime.Window, followed: _Followed) -> None:
        """Stop once the person has scrolled; else show what is due, now and from time to time."""
        if self._followed.get(window.id()) is not followed or not window.is_valid():
            return
        followed.is_busy = False
        self._show(window, followed)
        if (view := followed.view) and view.is_valid():
            followed.at, followed.version = tuple(view.viewport_position()), view.change_count()
        followed.timer = timer = object()
        sublime.set_timeout(lambda: self._go_on(window, followed) if followed.timer is timer else None, QUIET)

    def _show(self, window: sublime.Window, followed: _Followed) -> None:
        if self._was_scrolled(followed):
            self.stop(window)
            return
        visit, followed.due = followed.due, None
        if visit is None:
            return
        followed.is_busy = True

        def shown(view: sublime.View) -> None:
            if self._followed.get(window.id()) is not followed:
                return  # it was stopped while the file was loaded
            _unmark(followed)
            followed.view, followed.at = view, ()
            if visit.line is not None:
                line_in_tab(self._adapter, view, visit.line, partial(self._mark, window, followed, view, visit))

        def looked(is_meant: bool) -> None:
            is_same = self._followed.get(window.id()) is followed and followed.looked_at is visit
            if is_meant and is_same and window.is_valid() and not _is_reviewing(window):
                show_beside(window, self._adapter.focus, visit.path, shown)

        followed.looked_at = visit
        # What may not be told of the files of a window is not shown by itself.
        sharing, folders = self._adapter.settings.sharing(window), window.folders()
        self._adapter.on_another_thread(
            lambda: not why_unopened(visit.path) and not sharing.is_excluded(visit.path, folders), looked
        )

    def _mark(self, window: sublime.Window, followed: _Followed, view: sublime.View, visit: Visit, line: int) -> None:
        """Scroll to a line of the view that is shown, unless the agent is elsewhere by now."""
        if self._followed.get(window.id()) is followed and followed.view == view and followed.looked_at is visit:
            followed.at = ()
            view.add_regions(MARK, [scroll_to(view, line)], "region.bluish", "dot", _FLAGS)

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


_WORDS = {"edit": "written", "written": "written", "proposal": "proposed", "search": "searched"}
"""What an agent did, where the word isn't the same."""


class QwenCompanionFollowCommand(sublime_plugin.WindowCommand):
    """Follow the agent: show where it reads and writes, beside what you do; or stop that."""

    def run(self) -> None:
        """In a chat, its agent; elsewhere, all agents of the window."""
        adapter, view = package.adapter(), self.window.active_view()
        if adapter is None:
            return
        if adapter.following.follows(self.window):
            adapter.following.stop(self.window)
            return
        chat = adapter.chats.find(view) if view else None
        adapter.following.begin(self.window, chat.id if chat else None, chat.agent if chat else "the agents")

    def is_enabled(self) -> bool:
        """Whether an agent is here."""
        adapter = package.adapter()
        if adapter is None:
            return False
        is_connected = adapter.chats.within(self.window) or adapter.status_bar.clis(self.window)
        return bool(is_connected or adapter.following.follows(self.window))

    is_visible = is_enabled

    def is_checked(self) -> bool:
        """Whether an agent is followed."""
        adapter = package.adapter()
        return adapter is not None and adapter.following.follows(self.window)


class QwenCompanionRecentFilesCommand(sublime_plugin.WindowCommand):
    """List the files that agents were in last, and go to one."""

    def run(self) -> None:
        """The one visited last comes first."""
        if adapter := package.adapter():
            items = [self._item(visit) for visit in adapter.following.recent(self.window)]
            choose(self.window, items, "The files of the agents")

    def is_enabled(self) -> bool:
        """Whether there are any."""
        adapter = package.adapter()
        return adapter is not None and bool(adapter.following.recent(self.window))

    def is_visible(self) -> bool:
        """The same, but not in a diff."""
        return self.is_enabled() and not package.is_in_diff(self.window.active_view())

    def _item(self, visit: Visit) -> PanelItem:
        name = os.path.basename(visit.path) + (f":{visit.line}" if visit.line else "")
        about = f"{visit.agent}, {_WORDS.get(visit.what, visit.what)} · {visit.path}"
        return name, about, partial(self._open, visit)

    def _open(self, visit: Visit) -> None:
        if adapter := package.adapter():
            open_place(adapter, self.window, visit.path, visit.line)
