"""The Reviews of all windows. Lives on the UI thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sublime

from ..calls import AskLater, OffThread
from ..own_views import VIEWS
from ..windows import Focus
from .decisions import ReviewDecisions
from .feed import ReviewFeed
from .review_tab import ReviewTab, group_for

if TYPE_CHECKING:
    from ...changes.rows import ChangeRow
    from ..comments.panel import CommentPanel
    from .diffs import Diffs
    from .written import WrittenChanges


class ReviewTabs:
    """Opens the Reviews, and brings them up to date."""

    def __init__(
        self,
        focus: Focus,
        diffs: Diffs,
        written: WrittenChanges,
        comments: CommentPanel,
        ask: AskLater,
        off_thread: OffThread,
    ) -> None:
        self._focus = focus
        self._diffs = diffs
        self._written = written
        self._comments = comments
        self._ask = ask
        self._off_thread = off_thread
        self._feeds: dict[int, ReviewFeed] = {}
        self._tabs: dict[int, ReviewTab] = {}
        self._due: set[int] = set()
        """The windows whose Review is drawn again soon."""

    def start(self) -> None:
        """The package is loaded: go on with the tabs that an earlier instance, or an earlier run, has left."""
        for window in sublime.windows():
            self.restored(window)

    def restored(self, window: sublime.Window) -> None:
        """A window has its views back."""
        for view in VIEWS.within(window, "review"):
            if window.id() not in self._tabs or self._tabs[window.id()].view != view:
                self._adopt(window, view)

    def show(self, window: sublime.Window) -> sublime.View:
        """Open the Review of a window, and go to it."""
        tab = self.tab(window)
        if tab is None:
            group = group_for(window, self._focus)
            view = window.new_file()
            if window.get_view_index(view)[0] != group:
                window.set_view_index(view, group, len(window.views_in_group(group)))
            tab = self._adopt(window, view)
        self._focus.give(window, tab.view)
        return tab.view

    def tab(self, window: sublime.Window | None) -> ReviewTab | None:
        """The Review of a window, if it is open."""
        tab = self._tabs.get(window.id()) if window else None
        return tab if tab and tab.is_open else None

    def of(self, view: sublime.View) -> ReviewTab | None:
        """The Review that a view shows."""
        tab = self.tab(view.window())
        return tab if tab and tab.view.buffer_id() == view.buffer_id() else None

    def row_at_caret(self, view: sublime.View) -> ChangeRow | None:
        """The written file at the caret of a Review."""
        tab, window = self.of(view), view.window()
        file = tab.here()[0].file if tab else None
        return self.feed(window).rows.get(file.key) if file and window else None

    def feed(self, window: sublime.Window) -> ReviewFeed:
        """What is to be reviewed in a window."""
        if window.id() not in self._feeds:
            self._feeds[window.id()] = ReviewFeed(
                window,
                self._diffs,
                self._written,
                self._comments,
                self._ask,
                self._off_thread,
                lambda: self.changed(window),
            )
        return self._feeds[window.id()]

    def changed(self, window: sublime.Window) -> None:
        """What waits in a window, or what is known of it, may be another one. It is shown soon and once."""
        feed = self.feed(window)
        feed.note_answers()
        if window.id() in self._tabs and window.id() not in self._due:
            self._due.add(window.id())
            sublime.set_timeout(lambda: self._draw(window))

    def activated(self, window: sublime.Window, view: sublime.View) -> None:
        """A view got the focus."""
        if (tab := self._tabs.get(window.id())) and tab.view == view:
            tab.wake()

    def closed(self, view: sublime.View) -> None:
        """A view was closed."""
        self._tabs = {number: tab for number, tab in self._tabs.items() if tab.view != view}

    def forget(self, window: sublime.Window) -> None:
        """A window closes."""
        self._tabs.pop(window.id(), None)
        self._feeds.pop(window.id(), None)

    def close(self) -> None:
        """The package is unloaded. The tabs stay, and the next instance goes on with them."""
        for tab in self._tabs.values():
            tab.close()
        self._tabs.clear()

    def _adopt(self, window: sublime.Window, view: sublime.View) -> ReviewTab:
        feed = self.feed(window)
        tab = ReviewTab(view, feed, ReviewDecisions(feed, self._ask), self._diffs, self._focus)
        self._tabs[window.id()] = tab
        self._draw(window)
        return tab

    def _draw(self, window: sublime.Window) -> None:
        self._due.discard(window.id())
        if window.is_valid() and (tab := self.tab(window)):
            self.feed(window).look()
            tab.draw()
