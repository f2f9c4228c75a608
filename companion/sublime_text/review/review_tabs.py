"""The Reviews of all windows. Lives on the UI thread."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import sublime

from ..own_views import REVIEWS, VIEWS, Kind
from .feed import ANSWERED, SINCE, ReviewFeed, SinceFeed, choose_point, kept_point
from .review_tab import CARET, ReviewTab, group_for

if TYPE_CHECKING:
    from ...changes.change_screen import SincePoint
    from ...changes.rows import ChangeRow
    from ..adapter import Adapter


class ReviewTabs:
    """Opens the Reviews, and brings them up to date."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        self._feeds: dict[int, ReviewFeed] = {}
        self._tabs: dict[tuple[int, Kind], ReviewTab] = {}
        """By window and kind: the Review, and what differs from a commit."""
        self._due: set[ReviewFeed] = set()
        """Those that are looked at again soon."""

    def start(self) -> None:
        """The package is loaded: go on with the tabs that an earlier instance, or an earlier run, has left."""
        for window in sublime.windows():
            self.restored(window)

    def restored(self, window: sublime.Window) -> None:
        """A window has its views back."""
        for view in VIEWS.within(window, *REVIEWS):
            self._resume(window, view)

    def _resume(self, window: sublime.Window, view: sublime.View) -> None:
        """Go on with a tab that no Review is in: it was restored or dragged here, or it is a clone of a closed one."""
        if any(tab.is_open and tab.view.buffer_id() == view.buffer_id() for tab in self._tabs.values()):
            return
        record = VIEWS.of(view)
        if record and record.kind == "review":
            self._adopt(view, self.feed(window))
        elif record and (point := kept_point(record.get(SINCE))):
            self._adopt(view, SinceFeed(self._adapter, window, point))

    def show(self, window: sublime.Window) -> sublime.View:
        """Open the Review of a window, and go to it."""
        tab = self.tab(window) or self._adopt(self._new_view(window), self.feed(window))
        self._adapter.focus.give(window, tab.view)
        return tab.view

    def choose_since(self, window: sublime.Window) -> None:
        """Ask since when, and show what has changed in a Review of its own, in place of the last one of that kind."""
        choose_point(self._adapter, window, lambda point: self._show_since(window, point))

    def _show_since(self, window: sublime.Window, point: SincePoint) -> None:
        open_one = self.tab(window, "review since")
        view = open_one.view if open_one else self._new_view(window)
        if open_one:
            open_one.close()
            if record := VIEWS.of(view):
                record.keep(**{CARET: None})  # that was in the other comparison
        tab = self._adopt(view, SinceFeed(self._adapter, window, point))
        self._adapter.focus.give(window, tab.view)

    def _new_view(self, window: sublime.Window) -> sublime.View:
        group = group_for(window, self._adapter.focus)
        view = window.new_file()
        if window.get_view_index(view)[0] != group:
            window.set_view_index(view, group, len(window.views_in_group(group)))
        return view

    def tab(self, window: sublime.Window | None, kind: Kind = "review") -> ReviewTab | None:
        """The Review of a window, if it is open."""
        tab = self._tabs.get((window.id(), kind)) if window else None
        return tab if tab and tab.is_open else None

    def of(self, view: sublime.View) -> ReviewTab | None:
        """The Review that a view shows, of either kind."""
        tabs = (self.tab(view.window(), kind) for kind in REVIEWS)
        return next((tab for tab in tabs if tab and tab.view.buffer_id() == view.buffer_id()), None)

    def row_at_caret(self, view: sublime.View) -> ChangeRow | None:
        """The file at the caret of a Review that waits for a decision."""
        tab = self.of(view)
        file = tab.here()[0].file if tab and tab.feed.kind == "review" else None
        return tab.feed.rows.get(file.key) if tab and file else None

    def feed(self, window: sublime.Window) -> ReviewFeed:
        """What is to be reviewed in a window."""
        if window.id() not in self._feeds:
            self._feeds[window.id()] = ReviewFeed(self._adapter, window)
        return self._feeds[window.id()]

    def after_decisions(self, window: sublime.Window, then: Callable[[], object]) -> None:
        """Do something as soon as what is decided in the Reviews of a window is done."""
        since = self.tab(window, "review since")
        for feed in (self.feed(window), *([since.feed] if since else [])):
            then = partial(feed.decisions.after, then)
        then()

    def changed(self, window: sublime.Window) -> None:
        """What waits in a window, or what is known of it, may be another one. It is shown soon and once."""
        for kind in REVIEWS:
            if tab := self.tab(window, kind):
                tab.feed.refresh()
                self.look_soon(tab.feed)

    def look_soon(self, feed: ReviewFeed) -> None:
        """Take on soon, and once, what is to be reviewed now, and show it if the tab is open.

        What was decided in a tab that is closed is done all the same.
        """
        if feed not in self._due:
            self._due.add(feed)
            sublime.set_timeout(lambda: self._look(feed) if feed in self._due else None)

    def activated(self, window: sublime.Window, view: sublime.View) -> None:
        """A view got the focus."""
        if not VIEWS.is_ours(view, *REVIEWS):
            return
        for place, tab in list(self._tabs.items()):
            if tab.view.buffer_id() == view.buffer_id() and place[0] != window.id():  # it was dragged, or a clone of it
                tab.close()
                if record := VIEWS.of(view):
                    record.keep(**{ANSWERED: []})  # that was in the other window
                self._end(place)
        self._resume(window, view)
        if tab := self.of(view):
            tab.go_on_in(view)
            tab.feed.refresh()
            tab.wake()
            self.look_soon(tab.feed)

    def closed(self, view: sublime.View) -> None:
        """A view was closed."""
        for place, tab in list(self._tabs.items()):
            if tab.view == view:
                self._end(place)

    def became_file(self, view: sublime.View) -> None:
        """The person has saved a Review as a file: it is theirs, and what it shows stays as it is."""
        for place, tab in list(self._tabs.items()):
            if tab.view.buffer_id() == view.buffer_id():
                tab.release()
                self._end(place)

    def _end(self, place: tuple[int, Kind]) -> None:
        self.look_soon(self._tabs.pop(place).feed)

    def forget(self, window: sublime.Window) -> None:
        """A window closes."""
        self._tabs = {place: tab for place, tab in self._tabs.items() if place[0] != window.id()}
        self._feeds.pop(window.id(), None)

    def close(self) -> None:
        """The package is unloaded. The tabs stay, and the next instance goes on with them."""
        for tab in self._tabs.values():
            tab.close()
        self._tabs.clear()
        self._due.clear()

    def _adopt(self, view: sublime.View, feed: ReviewFeed) -> ReviewTab:
        if before := self._tabs.get((feed.window.id(), feed.kind)):
            before.close()  # its tab goes on as soon as it has the focus
        tab = ReviewTab(self._adapter, view, feed)
        self._tabs[feed.window.id(), feed.kind] = tab
        self._look(feed)
        return tab

    def _look(self, feed: ReviewFeed) -> None:
        self._due.discard(feed)
        tab = self.tab(feed.window, feed.kind)
        is_shown, is_valid = tab is not None and tab.feed is feed, feed.window.is_valid()
        if is_valid and (is_shown or feed.decisions.is_under_way):
            feed.look()
        if tab and is_shown:
            tab.draw()
        elif not tab and not (is_valid and feed.decisions.is_under_way):
            feed.end()
