"""What the tools for agents tell of a window, and how they show a place without taking the focus."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import sublime

from ...comments.comment import Comment
from ...ids import WindowId
from ...problems.shown import ShownProblems
from ...server.window_screen import Selected, Selection, SymbolPlaces, SymbolQuestion, Tab
from ..bridge import UiBridge, asked
from ..comments.panel import CommentPanel
from ..follow import scroll_to, show_beside
from ..messenger import Messenger
from ..windows import Focus, find_window, is_code, is_visible
from .problems import EditorProblems
from .symbols import SymbolSearch

MOST_SELECTIONS = 100


class WindowTools:
    """What the tools ask: `EditorTools`."""

    def __init__(
        self, bridge: UiBridge, focus: Focus, messenger: Messenger, problems: EditorProblems, comments: CommentPanel
    ) -> None:
        self.bridge = bridge
        self._focus = focus
        self._messenger = messenger
        self._problems = problems
        self._comments = comments

    async def shown_problems(self, window: WindowId, paths: Sequence[str] | None) -> ShownProblems | None:
        """As `EditorTools` has it."""
        return await self.bridge.ask(lambda done: self._problems.read(window, paths, done))

    @asked()
    def tabs(self, window: WindowId) -> list[Tab] | None:
        found = find_window(window)
        if found is None:
            return None
        active = self._focus.last_code(found)
        shown: list[Tab] = []
        for view in found.views():
            name, syntax = view.file_name(), view.syntax()
            if name and is_code(view):
                language = syntax.name if syntax else ""
                shown.append(Tab(name, language, view == active, is_visible(view), view.is_dirty()))
        return shown

    @asked()
    def selected(self, window: WindowId, limit: int) -> Selected | None:
        found = find_window(window)
        view = self._focus.last_code(found) if found else None
        name = view.file_name() if view else None
        if view is None or name is None:
            return None
        parts = tuple(_part(view, region, limit) for region in list(view.sel())[:MOST_SELECTIONS])
        return Selected(name, parts)

    async def find_symbols(self, window: WindowId, question: SymbolQuestion) -> SymbolPlaces | None:
        """As `EditorTools` has it."""
        begun: list[SymbolSearch] = []

        def begin(done: Callable[[SymbolPlaces | None], None]) -> None:
            begun.append(SymbolSearch(window, question, done))
            begun[0].begin()

        try:
            return await self.bridge.ask(begin)
        finally:
            for search in begun:
                search.cancel()

    @asked()
    def show_place(self, window: WindowId, path: str, line: int) -> bool:
        found = find_window(window)
        if found is None:
            return False
        show_beside(found, self._focus, path, lambda view: scroll_to(view, line))
        view = found.find_open_file(path)
        return view is not None and is_visible(view)

    @asked()
    def point_out(self, window: WindowId, note: Comment) -> int | None:
        target = find_window(window)
        notes = self._comments.point_out(target, note) if target else None
        if notes:
            place = f"{note.by} points out a place in {os.path.basename(note.path)}: see the Review."
            self._messenger.mention(place, window)
        return notes

    @asked()
    def save_file(self, window: WindowId, path: str) -> bool:
        # As the person's own command would.
        found = find_window(window)
        view = found.find_open_file(path) if found else None
        if view is None:
            return False
        if view.is_dirty():
            view.run_command("save", {"async": False, "quiet": True})
        return not view.is_dirty()


def _part(view: sublime.View, region: sublime.Region, limit: int) -> tuple[Selection, Selection, bool]:
    length = min(region.size(), limit)
    text = view.substr(sublime.Region(region.begin(), region.begin() + length))
    is_cut = length < region.size()
    return _at(view, region.begin(), text), _at(view, region.end()), is_cut


def _at(view: sublime.View, point: int, text: str = "") -> Selection:
    row, character = view.rowcol_utf16(point)
    return Selection(row + 1, character + 1, text)
