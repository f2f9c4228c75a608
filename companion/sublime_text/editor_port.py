"""The editor's port on Sublime Text: what the companion asks of the editor, and has it show."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import sublime

from ..ids import ViewId, WindowId
from .bridge import UiBridge
from .calls import AskLater, Post
from .parts import Parts
from .problems import tabs
from .problems.symbols import SymbolSearch
from .window_state import remember_port, selection_of, window_state
from .windows import find_window

if TYPE_CHECKING:
    from ..comments.comment import Comment
    from ..editor import WindowStatus
    from ..libraries.guard import Trouble
    from ..problems.shown import ShownProblems
    from ..server.port import ContextRequest, Selected, Selection, SymbolPlaces, SymbolQuestion, Tab, WindowState


class EditorPort:
    """Sublime Text as the companion sees it: `companion.editor.Editor`. Called on the companion thread."""

    def __init__(
        self,
        bridge: UiBridge,
        post: Post,
        ask_later: AskLater,
        parts: Parts,
    ) -> None:
        self.messenger = parts.messenger
        self.diffs = parts.diffs
        self.files = parts.files
        self.written = parts.written
        self.unsaved = parts.unsaved
        self.chats = parts.chats
        self.following = parts.following
        self.questions = parts.questions
        self._bridge = bridge
        self._post = post
        self._ask_later = ask_later
        self._parts = parts

    def listening(self, window: WindowId, port: int) -> None:
        """A window is served on this port. It should have the same port after a reload or a restart."""
        self._bridge.post(lambda: remember_port(window, port))

    def libraries_wrong(self, trouble: Trouble) -> None:
        """Tell the person what is wrong with the libraries, and offer the remedy."""
        self._bridge.post(lambda: self._parts.libraries.wrong(trouble))

    def show_status(self, window: WindowId, status: WindowStatus) -> None:
        """Show which CLIs are connected and how many diffs and questions wait. Called when that changes."""
        self._bridge.post(lambda: self._show_status(window, status))

    async def window_state(self, window: WindowId, question: ContextRequest) -> WindowState | None:
        """What a window shows."""
        return await self._bridge.ask(lambda done: done(self._window_state(window, question)), waits=True)

    async def selection(self, view: ViewId, limit: int) -> Selection | None:
        """The caret and the selected text of a view; the first `limit` characters are enough."""
        return await self._bridge.ask(lambda done: done(selection_of(sublime.View(view), limit)), waits=True)

    async def shown_problems(self, window: WindowId, paths: Sequence[str] | None) -> ShownProblems | None:
        """The problems of some files of a window, or of all."""
        return await self._bridge.ask(lambda done: self._parts.problems.read(window, paths, done))

    async def tabs(self, window: WindowId) -> Sequence[Tab] | None:
        """The tabs of a window that show files, in their order."""
        return await self._bridge.ask(lambda done: done(tabs.tabs(window, self._parts.focus)))

    async def selected(self, window: WindowId, limit: int) -> Selected | None:
        """What the person has selected; `limit` is that of each text. None too if the tab has no file."""
        return await self._bridge.ask(lambda done: done(tabs.selected(window, self._parts.focus, limit)))

    async def find_symbols(self, window: WindowId, question: SymbolQuestion) -> SymbolPlaces | None:
        """Where a symbol is defined or used."""
        begun: list[SymbolSearch] = []

        def begin(done: Callable[[SymbolPlaces | None], None]) -> None:
            begun.append(SymbolSearch(window, question, done))
            begun[0].begin()

        try:
            return await self._bridge.ask(begin)
        finally:
            for search in begun:
                search.cancel()

    async def show_place(self, window: WindowId, path: str, line: int) -> bool:
        """Show a line of a file, from 1, without taking the focus. Returns whether the file is shown."""
        return await self._bridge.ask(lambda done: done(tabs.show_place(window, self._parts.focus, path, line)))

    async def point_out(self, window: WindowId, note: Comment) -> int | None:
        """Show a note of an agent, in the Review and at its lines.

        Returns how many there are then; 0 if there is no room for another one.
        """
        return await self._bridge.ask(lambda done: done(self._point_out(window, note)))

    async def save_file(self, window: WindowId, path: str) -> bool:
        """Save a file that a tab shows. Returns whether it has no unsaved changes then."""
        return await self._bridge.ask(lambda done: done(tabs.save_file(window, path)))

    def _point_out(self, window: WindowId, note: Comment) -> int | None:
        target = find_window(window)
        notes = self._parts.comments.point_out(target, note) if target else None
        if notes:
            self.messenger.mention(
                f"{note.by} points out a place in {os.path.basename(note.path)}: see the Review.", window
            )
        return notes

    def _show_status(self, window: WindowId, status: WindowStatus) -> None:
        if target := find_window(window):
            self._parts.status_bar.show(target, status)

    def _window_state(self, window: WindowId, question: ContextRequest) -> WindowState | None:
        found = find_window(window)
        if found is None:
            return None
        if question.is_whole or question.selected is None:
            self._parts.settings.look(found)
        else:
            self._parts.settings.glance(found, sublime.View(question.selected))
        return window_state(found, question)
