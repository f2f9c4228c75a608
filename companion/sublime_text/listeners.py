"""What Sublime tells, handed on to the adapter."""

from __future__ import annotations

import sublime
import sublime_plugin

from . import package


class QwenCompanionListener(sublime_plugin.EventListener):
    """Hears of views and windows. Does little: the companion thread does the rest."""

    def on_activated(self, view: sublime.View) -> None:
        """A view got the focus."""
        if adapter := package.adapter():
            adapter.activated(view)

    def on_load_async(self, view: sublime.View) -> None:
        """A file is loaded."""
        self.on_selection_modified_async(view)

    def on_reload_async(self, view: sublime.View) -> None:
        """A file was changed on disk and loaded again."""
        self.on_selection_modified_async(view)

    def on_post_save_async(self, view: sublime.View) -> None:
        """A view was saved, perhaps under a new name."""
        self.on_selection_modified_async(view)

    def on_selection_modified_async(self, view: sublime.View) -> None:
        """The carets have moved."""
        if adapter := package.adapter():
            adapter.touched(view)

    def on_close(self, view: sublime.View) -> None:
        """A view was closed."""
        if adapter := package.adapter():
            adapter.closed(view)

    def on_new_window(self, window: sublime.Window) -> None:
        """A window was opened."""
        if adapter := package.adapter():
            adapter.window_opened(window)

    def on_pre_close_window(self, window: sublime.Window) -> None:
        """A window is about to close."""
        if adapter := package.adapter():
            adapter.window_closed(window)

    def on_exit(self) -> None:
        """The editor quits."""
        package.leave()
