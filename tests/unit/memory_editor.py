"""An editor in memory. It implements the companion's port and records what would be on the screen."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from companion.changes.change_screen import Listing
from companion.chats.prompt import Draft
from companion.chats.transcript.render import Render
from companion.comments import MAX_NOTES, Comment
from companion.conversation.forms import Form, Values
from companion.editor import ReviewId, Visit, WindowId
from companion.libraries.guard import Trouble
from companion.problems import FileProblems, LineUnits, ShownProblems, of_lsp
from companion.review.changes import TextEdit
from companion.review.disk import Encodings, Stamp, stamp
from companion.review.marks import Marks
from companion.review.review import Review
from companion.review.review_screen import QuestionClosedError, UnsavedTextError
from companion.server.window_screen import (
    ContextRequest,
    OpenFile,
    Selected,
    Selection,
    ServedWindow,
    SymbolPlaces,
    SymbolQuestion,
    Tab,
    WindowState,
)
from companion.status.facts import WindowStatus


def of_pyright(path: str, row: object, lines: LineUnits) -> Any:
    return of_lsp(path, row, "pyright", lines)


@dataclass
class Diff:
    """A diff that is on the screen."""

    review: Review
    original: str
    text: str
    marks: Marks | None
    disk_states: list[str] = field(default_factory=list)
    """What was said of the file on disk, the latest last."""


@dataclass
class MemoryEditor:
    """Implements `companion.companion.Editor`."""

    windows: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """The folders of each window. The first window is in front."""
    ports: dict[int, int] = field(default_factory=dict)
    """The port of each window, which is kept when the companion stops."""
    views: dict[int, tuple[int, str]] = field(default_factory=dict)
    """The window and the file of each view."""
    selections: dict[int, Selection] = field(default_factory=dict)
    open_diffs: dict[ReviewId, Diff] = field(default_factory=dict)
    """The diffs on the screen, by the review's number."""
    seen: list[Diff] = field(default_factory=list)
    """Every diff that has ever been on the screen."""
    dismissed: list[int] = field(default_factory=list)
    abandoned: list[int] = field(default_factory=list)
    """The reviews that nobody has gone on with."""
    refused: list[int] = field(default_factory=list)
    """The reviews whose answer was refused."""
    orphaned: list[int] = field(default_factory=list)
    kept: list[tuple[int | None, str, str, str]] = field(default_factory=list)
    below: list[tuple[str, tuple[str, ...], bytes | None]] = field(default_factory=list)
    """The files with unsaved text that agents have written: path, agents, before and after."""
    said: list[tuple[str, int | None]] = field(default_factory=list)
    settled: list[str] = field(default_factory=list)
    """The problems that are over."""
    mentioned: list[tuple[str, int]] = field(default_factory=list)
    statuses: dict[int, list[WindowStatus]] = field(default_factory=dict)
    """The statuses shown for each window, the latest last."""
    lost: list[tuple[str, tuple[str, ...], str]] = field(default_factory=list)
    """What a save has overwritten."""
    listings: dict[int, Listing] = field(default_factory=dict)
    """What waits for a review in each window, after it was written."""
    unsaved_files: set[str] = field(default_factory=set)
    """The open files with unsaved edits."""
    confirmed: list[str] = field(default_factory=list)
    """The questions that were asked."""
    saved: list[str] = field(default_factory=list)
    """The files that a CLI had saved."""
    says_yes: bool | None = True
    """None if the person closes a question without an answer."""
    turns: list[tuple[int, str, int]] = field(default_factory=list)
    offered: list[str] = field(default_factory=list)
    """The decisions of which it was said how they are taken back."""
    """The turns that have changed files."""
    show_fails: Exception | None = None
    requests: list[ContextRequest] = field(default_factory=list)
    """What was asked of any window."""
    asked: list[int] = field(default_factory=list)
    """The limits in the requests for a selection."""
    taken_up: list[int] = field(default_factory=list)
    """The chats from before that were to be connected at once."""
    renders: dict[int, list[Render]] = field(default_factory=dict)
    """The renders shown in each window's chat, the latest last."""
    chat_texts: dict[int, str] = field(default_factory=dict)
    """The text of each window's chat."""
    visits: list[tuple[int, Visit]] = field(default_factory=list)
    returned: list[tuple[int, Draft, str]] = field(default_factory=list)
    chat_fails: list[type[Exception]] = field(default_factory=list)
    """The errors that the next renders raise."""
    has_chat: bool = True
    """Whether the windows show their chats."""
    is_busy: bool = False
    """Whether the editor answers nothing at the moment."""
    buffers: dict[str, str] = field(default_factory=dict)
    """The unsaved texts of open files, by path."""
    problems: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """What a language server says of each file that is open."""
    awaited: set[str] = field(default_factory=set)
    """The files that the server has not looked at since they were changed."""
    tabs_shown: list[Tab] = field(default_factory=list)
    selected_now: Selected | None = None
    symbols: dict[str, SymbolPlaces] = field(default_factory=dict)
    """What is known of each symbol's name."""
    symbols_asked: list[SymbolQuestion] = field(default_factory=list)
    places: list[tuple[str, int]] = field(default_factory=list)
    """The places that were shown."""
    notes: list[Comment] = field(default_factory=list)
    """What agents have pointed out."""
    is_hung: bool = False
    """Whether a package that is asked never answers."""
    allows_outside: bool = False
    """Whether the person lets an agent touch files outside its folder."""

    def __post_init__(self) -> None:
        self.messenger = self.files = self.questions = self.diffs = self
        self.written = self.unsaved = self.chats = self.following = self
        self.served = self.tools = self.status_bar = self.libraries = self

    async def idle(self) -> None:
        """Wait until the editor isn't busy."""
        while self.is_busy:  # noqa: ASYNC110 - a test sets it, on whatever thread
            await asyncio.sleep(0.001)

    def listed(self) -> list[ServedWindow]:
        return [self.window(WindowId(window)) for window in self.windows]

    def window(self, window: WindowId) -> ServedWindow:
        """A window as the companion receives it."""
        return ServedWindow(WindowId(window), self.windows[window], self.ports.get(window, 0))

    def diff(self, path: str) -> Diff:
        """The diff of a path that is on the screen."""
        [found] = [diff for diff in list(self.open_diffs.values()) if diff.review.file_path == path]
        return found

    async def buffer(self, path: str) -> str | None:
        return self.buffers.get(path)

    async def replace_buffer(self, path: str, text: str, *, known: str | None = None) -> Stamp:
        if path not in self.buffers:
            return None
        if path in self.unsaved_files and self.buffers[path] != known:
            raise UnsavedTextError(path)
        self.buffers[path] = text
        return stamp(path) or (0, 0, 0)

    async def shown_problems(self, window: int, paths: Sequence[str] | None) -> ShownProblems | None:
        if self.is_hung:
            raise TimeoutError
        wanted = list(self.problems) if paths is None else paths
        found = [FileProblems(path, self.problems.get(path, ()), of_pyright) for path in wanted]
        unchecked = [path for path in paths or () if path not in self.problems]
        awaited = [path for path in self.awaited if paths is None or path in paths]
        seen = {path: time.time() for path in self.problems if path not in self.awaited}
        return ShownProblems("LSP", found, self.windows[window], unchecked=unchecked, seen=seen, awaited=awaited)

    async def tabs(self, window: int) -> Sequence[Tab] | None:
        return self.tabs_shown

    async def selected(self, window: int, limit: int) -> Selected | None:
        return self.selected_now

    async def find_symbols(self, window: int, question: SymbolQuestion) -> SymbolPlaces | None:
        self.symbols_asked.append(question)
        return self.symbols.get(question.name, SymbolPlaces("index", ()))

    async def save_file(self, window: int, path: str) -> bool:
        self.saved.append(path)
        return True

    async def point_out(self, window: int, note: Comment) -> int | None:
        if len(self.notes) >= MAX_NOTES:
            return 0
        self.notes.append(note)
        return len(self.notes)

    async def show_place(self, window: int, path: str, line: int) -> bool:
        self.places.append((path, line))
        return True

    def save_overwritten(self, window: int, path: str, agents: Sequence[str], text: str) -> None:
        self.lost.append((path, tuple(agents), text))

    def show_changes(self, window: int, listing: Listing) -> None:
        self.listings[window] = listing

    async def open_files(self) -> dict[str, bool]:
        return {path: path in self.unsaved_files for path in self.buffers}

    async def confirm(self, window: int, question: str, yes: str, no: str = "") -> bool:
        self.confirmed.append(question)
        if no and self.says_yes is None:
            raise QuestionClosedError
        return bool(self.says_yes)

    def turn_changed(self, window: WindowId, agent: str, files: int) -> None:
        self.turns.append((window, agent, files))

    async def elicit(self, window: int, agent: str, message: str, form: Form) -> tuple[str | None, Values]:
        return None, {}

    def written_below(self, path: str, agents: Sequence[str], before: bytes | None) -> None:
        self.below.append((path, tuple(agents), before))

    async def may_touch(self, agent: str, path: str, *, writes: bool) -> bool:
        return self.allows_outside

    def listening(self, window: WindowId, port: int) -> None:
        self.ports[window] = port

    def wrong(self, trouble: Trouble) -> None:
        self.say(trouble.sentence())

    def show_status(self, window: WindowId, status: WindowStatus) -> None:
        self.statuses.setdefault(window, []).append(status)

    async def window_state(self, window: WindowId, question: ContextRequest) -> WindowState | None:
        self.requests.append(question)
        if window not in self.windows:
            return None
        here = [(view, *self.views[view]) for view in question.views if view in self.views]
        files = tuple(OpenFile(view, path) for view, its_window, path in here if its_window == window)
        selected = question.selected
        selection = None if selected is None else await self.selection(selected, question.limit)
        return WindowState(self.windows[window], files, selection)

    async def selection(self, view: int, limit: int) -> Selection | None:
        self.asked.append(limit)
        return self.selections.get(view)

    async def show_review(self, review: Review, marks: Marks | None) -> None:
        if self.show_fails:
            raise self.show_fails
        assert review.number not in self.dismissed
        self.open_diffs[review.number] = diff = Diff(review, review.original, review.shown, marks)
        self.seen.append(diff)

    async def edit_text(self, review: Review, edits: Sequence[TextEdit], text: str) -> bool:
        diff = self.open_diffs.get(review.number)
        if diff is None or diff.text != text:
            return False
        for edit in reversed(edits):
            diff.text = edit.apply(diff.text)
        return True

    async def encodings(self, path: str) -> Encodings:
        return Encodings()

    def update_header(self, review: Review) -> None:
        if review.orphaned:
            self.orphaned += [review.number] if review.number not in self.orphaned else []
        elif diff := self.open_diffs.get(review.number):
            diff.disk_states.append(review.disk_state)

    def reload_review(self, review: Review) -> None:
        if diff := self.open_diffs.get(review.number):
            diff.original = review.original

    def show_visits(self, window: int, visits: Sequence[Visit]) -> None:
        self.visits += [(window, visit) for visit in visits]

    async def review_text(self, review: Review) -> str | None:
        await self.idle()
        diff = self.open_diffs.get(review.number)
        return diff.text if diff else None

    async def resume_reviews(self, reviews: Sequence[Review]) -> Sequence[ReviewId]:
        closed = [review.number for review in reviews if review.number not in self.open_diffs]
        for review in reviews:
            if diff := self.open_diffs.get(review.number):
                diff.review, review.views = review, None
        return closed

    def abandon_reviews(self, left: Sequence[Mapping[str, Any]]) -> None:
        self.abandoned += [one["number"] for one in left]

    def leave(self) -> None:
        """The package is unloaded: its diffs stay on the screen."""
        for diff in self.open_diffs.values():
            diff.review.views = {"there": True}

    def refuse_answer(self, review: Review) -> None:
        self.refused.append(review.number)

    def dismiss_review(self, review: Review) -> None:
        self.open_diffs.pop(review.number, None)
        self.dismissed.append(review.number)

    def keep_text(self, window: WindowId | None, title: str, text: str, why: str) -> None:
        self.kept.append((window, title, text, why))

    async def show_chat(self, chat: int, render: Render) -> bool:
        if self.chat_fails:
            raise self.chat_fails.pop(0)
        if not self.has_chat:
            return False
        text = "" if render.replaces_all else self.chat_texts[chat]
        for edit in (replace(render.edits[0], start=0, end=0),) if render.replaces_all else render.edits:
            text = edit.apply(text)
        assert len(text) == render.length
        self.chat_texts[chat] = text
        self.renders.setdefault(chat, []).append(render)
        return True

    def resume_chat(self, chat: int) -> None:
        self.taken_up.append(chat)

    def return_draft(self, chat: int, draft: Draft, why: str) -> None:
        self.returned.append((chat, draft, why))

    def offer_take_back(self, window: WindowId, said: str) -> None:
        self.offered.append(said)

    def mention(self, message: str, window: WindowId) -> None:
        self.mentioned.append((message, window))

    def say(self, message: str, window: WindowId | None = None) -> None:
        self.said.append((message, window))

    def settle(self, message: str) -> None:
        self.settled.append(message)
