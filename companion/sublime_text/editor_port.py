"""The editor's port on Sublime Text: what the companion asks of the editor, and has it show."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import sublime

from ..ids import ViewId, WindowId
from ..review.document import NOTHING, Body
from ..visits import Visit
from .bridge import UiBridge
from .calls import AskLater, Post
from .parts import Parts
from .problems import tabs
from .problems.symbols import SymbolSearch
from .review.written import offer_take_back
from .window_state import remember_port, selection_of, window_state
from .windows import find_window

if TYPE_CHECKING:
    from ..changes.port import Listing
    from ..changes.rows import ChangeRow
    from ..chats.prompt import Draft
    from ..chats.transcript.render import Render
    from ..comments.comment import Comment
    from ..editor import WindowStatus
    from ..ids import ChatId
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

    def show_visits(self, window: WindowId, visits: Sequence[Visit]) -> None:
        """The agent of a chat reads or writes at these places, in this order."""
        self._bridge.post(lambda: self._visited(window, visits))

    def show_changes(self, window: WindowId, listing: Listing) -> None:
        """Show what waits in a window. Called when that changes."""
        self._bridge.post(lambda: self._show_changes(window, listing))

    def overwritten(self, window: WindowId, path: str, agents: Sequence[str], text: str) -> None:
        """A save of the person has overwritten what agents had written in a file: the text that was lost there."""
        self._bridge.post(lambda: self._overwritten(window, path, agents, text))

    def offer_take_back(self, window: WindowId, said: str) -> None:
        """Say for ten seconds what the person has decided, and how that is taken back."""
        self._bridge.post(lambda: offer_take_back(window, said))

    def turn_changed(self, window: WindowId, agent: str, files: int) -> None:
        """A turn is over, or a CLI has been quiet for a while, and this many files have changed in it."""
        self._bridge.post(lambda: self._turn_changed(window, agent, files))

    def written_below(self, path: str, agents: Sequence[str], before: bytes | None) -> None:
        """Agents have written a file that is open. `path` is absolute."""
        self._bridge.post(lambda: self._parts.unsaved.written_below(path, agents, before))

    async def show_chat(self, chat: ChatId, render: Render) -> bool:
        """Update the view of a chat, by the view's id. Returns False if there is none."""
        return await self._bridge.ask(lambda done: done(self._parts.chats.show(chat, render)))

    def take_up_chat(self, chat: ChatId) -> None:
        """Somebody works for a chat of the instance before this one: connect it, even if its tab is hidden."""
        self._bridge.post(lambda: self._parts.chats.take_up(chat))

    def return_draft(self, chat: ChatId, draft: Draft, why: str) -> None:
        """Put a draft back into the chat's prompt, and say why."""
        self._bridge.post(lambda: self._return_draft(chat, draft, why))

    def _return_draft(self, number: ChatId, draft: Draft, why: str) -> None:
        chat = self._parts.chats.take_back(number, draft)
        self._parts.comments.prompt_returned(chat.agent if chat else None, draft.text)
        if chat:
            self.messenger.say(why, WindowId(chat.window.id()))
        else:
            self.messenger.keep_text(None, "Prompt", draft.as_text, why)

    def _visited(self, window: WindowId, visits: Sequence[Visit]) -> None:
        if visits and (target := find_window(window)):
            self._parts.following.visited(target, visits)

    def _follow_written(self, window: sublime.Window, listing: Listing) -> None:
        """What a CLI has written is known from the files alone; a chat says where it writes."""
        before = {(row.full_path, row.after) for row in self._parts.written.listings.of(window).rows}
        by_root: dict[str, list[ChangeRow]] = {}
        for row in listing.rows:
            is_its = set(row.agents) & set(self._parts.status_bar.clis(window))
            if is_its and row.kind != "deleted" and (row.full_path, row.after) not in before:
                by_root.setdefault(row.root, []).append(row)
        for root, rows in by_root.items():
            self._ask_where(window, root, rows)

    def _ask_where(self, window: sublime.Window, root: str, rows: Sequence[ChangeRow]) -> None:
        """Ask for all files at once: they may be hundreds, and whoever asks for something else waits meanwhile."""
        number, paths = WindowId(window.id()), [row.path for row in rows]

        def answer(found: Mapping[str, tuple[str, Body]]) -> None:
            clis = set(self._parts.status_bar.clis(window))
            visits: list[Visit] = []
            for row in rows:
                _, body = found.get(row.path, ("", NOTHING))
                line = body.changes[-1][2] + 1 if body.changes else None
                visits += [Visit(row.full_path, line, agent, "written") for agent in sorted(clis & set(row.agents))[:1]]
            if visits:
                self._parts.following.visited(window, visits)

        self._ask_later(window, lambda companion: companion.changes.bodies(number, root, paths), answer)

    def _point_out(self, window: WindowId, note: Comment) -> int | None:
        target = find_window(window)
        notes = self._parts.comments.point_out(target, note) if target else None
        if notes:
            self.messenger.mention(
                f"{note.by} points out a place in {os.path.basename(note.path)}: see the Review.", window
            )
        return notes

    def _show_changes(self, window: WindowId, listing: Listing) -> None:
        if target := find_window(window):
            waited = self._parts.written.listings.of(target).rows
            self._follow_written(target, listing)
            self._parts.written.show(target, listing)
            if waited and listing.done and not listing.rows:
                self._parts.comments.forget_notes(target)

    def _overwritten(self, window: WindowId, path: str, agents: Sequence[str], text: str) -> None:
        if target := find_window(window) or sublime.active_window():
            self._parts.written.overwritten.offer(target, path, agents, text)

    def _turn_changed(self, window: WindowId, agent: str, files: int) -> None:
        if target := find_window(window):
            self._parts.written.turn_changed(target, agent, files)

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
