"""The companion's editor port on Sublime Text, and the one object that is made when the package is loaded."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import sublime

from ..clis.families import FAMILIES
from ..clis.mcp_configuration import renew
from ..ids import ViewId, WindowId
from ..log import Log
from ..review.disk import Encodings, Stamp
from ..server.path_maps import PathMaps
from ..thread import CompanionThread
from ..visits import Visit
from .bridge import LIMIT, UiBridge
from .changes.checkpoints import CheckpointPicker
from .changes.unsaved import UnsavedTexts
from .changes.written import WrittenChanges
from .chat import files, vim
from .chat.chats import ChatViews
from .chat.consent import Consent
from .chat.context import context_of
from .chat.forms import ask_form
from .check.run import EditorCheck
from .check.scratch import ScratchWindow, close
from .comments.opening import go_to
from .comments.panel import CommentPanel
from .comments.sending import send_after_answer
from .diff.diffs import Diffs
from .diff.kept import open_kept
from .diff.left_views import abandon, keep_unwritten
from .follow.following import Following
from .libraries.libraries import Libraries
from .notices import NOTICES, OpenNotices, named
from .notify import notify
from .problems import tabs
from .problems.problems import EditorProblems
from .problems.symbols import SymbolSearch
from .settings import SettingsFile
from .status.bar import StatusBar
from .status.live import LiveReport
from .status.view import Show, StatusReport, editor_facts
from .window_state import remember_port, selection_of, to_serve, window_state, windows_to_serve
from .windows import OWN_SAVES, Focus, find_window, is_chat, is_code, open_files, views_of_file

if TYPE_CHECKING:
    import asyncio

    from ..changes.port import FileChanges, Listing
    from ..changes.rows import ChangeRow
    from ..chats.prompt import Draft, Excerpt
    from ..chats.transcript.render import Render
    from ..comments.comment import Comment
    from ..companion import Companion
    from ..conversation.forms import Form, Values
    from ..editor import WindowStatus
    from ..ids import ChatId, ReviewId
    from ..libraries.guard import Trouble
    from ..problems.shown import ShownProblems
    from ..review.changes import TextEdit
    from ..review.marks import Marks
    from ..review.review import Review
    from ..server.port import ContextRequest, Selected, Selection, SymbolPlaces, SymbolQuestion, Tab, WindowState
    from ..settings import Problem
    from .diff.view import DiffView

T = TypeVar("T")
logger = logging.getLogger(__name__)

SCRIPT = "Packages/QwenCompanion/companion/clis/mcp_bridge.mjs"
"""What the CLIs start that have our MCP server in their configuration."""
FOCUSED_SETTING = "qwen_companion.focused_at"
"""On a view: when it last had the focus, in Unix milliseconds. Sublime keeps it over restarts."""
MAX_WORDS = 200
"""Characters of comments that name a checkpoint."""
MAX_LOADED = 1_000_000
"""Characters of a file of which the changes are told what was loaded: what the person saves is compared with that."""
MESSAGES_KEPT = 20
"""How many of the latest messages a status report lists."""
STOP_LIMIT = 2.5
"""Seconds that the UI thread waits for the end: one for the last notifications, the rest for the server."""


class Adapter:
    """Sublime Text as the companion sees it. The methods of the port are called on the companion thread."""

    def __init__(self) -> None:
        self._bridge = UiBridge()
        self.settings = SettingsFile(self._wrong_setting, self._configure)
        self.libraries = Libraries(self.settings, self.say, self._libraries_settled)
        self._log = Log(print, debug=self.settings.value("debug"))
        self.focus = Focus()
        self.own_saves = OWN_SAVES
        self.scratch = ScratchWindow()
        self.check: EditorCheck | None = None
        """The check of the editor while it runs."""
        self.thread = CompanionThread(self, self.settings.read(), windows_to_serve)
        self.unsaved = UnsavedTexts(self.on_another_thread, _encodings, self.loaded)
        self.written = WrittenChanges(
            self.focus,
            self.thread.post,
            self.ask_later,
            self._list_changed,
            lambda: bool(self.settings.value("open_first_change")),
        )
        self.problems = EditorProblems()
        self.checkpoints = CheckpointPicker(self.ask_later, self.thread.post)
        self.diffs = Diffs(
            self.focus,
            lambda call: self.thread.post(lambda companion: call(companion.reviews)),
            self.settings.of,
            self.written,
            comments=self._comments_of,
            open_comment=lambda window, comment: go_to(window, self.comments.views, comment),
            accepted=self._accepted,
            is_reload=lambda: self.thread.is_reload,
        )
        self.following = Following(self.focus, self.on_another_thread, self.settings.told)
        self.consent = Consent(lambda: self.settings.daemon().agents, lambda: self.settings.daemon().agents_mcp_servers)
        self.chats = ChatViews(
            self.focus,
            lambda call: self.thread.post(lambda companion: call(companion.chats)),
            self.consent,
            is_on=lambda: self.settings.value("daemon.enabled"),
            context=self._chat_context,
            notify=lambda text: notify(text) if self.settings.value("chat_notifications") else None,
            is_starting=lambda: self.is_starting,
            sent=lambda chat, draft: self.comments.prompt_sent(chat.agent, draft.text),
            here=lambda window, path: PathMaps(tuple(self.settings.of(window, "path_maps").items())).here(path),
        )
        self._saving: dict[int, int] = {}
        """When the editor began to save a view, in nanoseconds of Unix time."""
        self._questions: set[asyncio.Task[None]] = set()
        """Questions that are being answered. Lives on the companion thread."""
        self.reports: dict[int, LiveReport] = {}
        """The status reports on the screen, by the ids of their views."""
        self.status_bar = StatusBar(
            self.settings.value("show_status"),
            lambda window: len(self.comments.unsent(window)),
            lambda window: len(self.notices.within(window)),
        )
        self.notices = OpenNotices(NOTICES, self.status_bar.draw)
        self.comments = CommentPanel(
            self.diffs,
            self.written,
            self.on_another_thread,
            self.say,
            self._comments_changed,
            self._offer_comments,
            self._comments_went,
        )
        self._problems: set[str] = set()
        """The wrong settings that the person was told of."""

    @property
    def is_starting(self) -> bool:
        """Whether the companion doesn't answer yet, but will: what is asked of it now is done then."""
        return self.thread.is_starting

    def start(self) -> None:
        """Start the companion, and tell it when each file had the focus last."""
        self.settings.start()
        self._configure()
        self.thread.start()
        self.diffs.inherit(self.thread.left_on_screen)
        for window in sublime.windows():
            if self.scratch.is_scratch(window):  # an instance or an editor that ended during a check left it
                close(window)
                continue
            self.restored(window)
            for view in window.views():
                at = view.settings().get(FOCUSED_SETTING)
                if isinstance(at, int):
                    self._tell_focus(window, view, at, is_active=False)
            if view := window.active_view():
                self.focus.activated(window, view)
                self._tell_focus(window, view, _now(), is_active=True)
        self.chats.adopt_visible()
        self.comments.start()
        if self.settings.value("agents_use_editor"):
            script = sublime.load_binary_resource(SCRIPT)
            self.on_another_thread(lambda: renew(script), lambda _: None)

    def _tell_focus(self, window: sublime.Window, view: sublime.View, at: int, *, is_active: bool) -> None:
        identifier, number = WindowId(window.id()), ViewId(view.id())
        self.thread.post(lambda companion: (companion.active if is_active else companion.seen)(identifier, number, at))

    def _configure(self) -> None:
        """Apply the settings."""
        settings, windows, daemon = self.settings.read(), self.settings.by_window(), self.settings.daemon()
        self.thread.post(lambda companion: companion.configure(settings, windows, daemon), "configure")
        self.status_bar.want(self.settings.value("show_status"))
        self.problems.is_wanted = self.settings.value("agents_use_editor")
        problems = set(map(str, self.settings.problems))
        self.notices.settled(self._problems - problems)
        self._problems = problems
        self._log.set_debug(debug=self.settings.value("debug"))
        for window in sublime.windows():
            for view in window.views():
                self._set_keys(view)

    def _set_keys(self, view: sublime.View) -> None:
        if is_chat(view):
            (vim.leave_on if self.settings.value("chat_vim_keys") else vim.turn_off)(view)

    def report(self, window: sublime.Window, show: Show) -> None:
        """Make a status report. `show` gets the facts so far, and whether they are complete."""
        facts = editor_facts(
            window, self.settings.problems, NOTICES.latest(MESSAGES_KEPT), self.chats.shown, self.written.facts
        )

        def ask(call: Callable[[Companion], object]) -> None:
            self.thread.post(call, ("report", show))

        commands = [self.settings.value(f"{family.launch.key}_command") for family in FAMILIES]
        StatusReport(facts, show, lambda: self.is_starting, commands).begin(ask, self._bridge.post)

    def show_report(self, window: sublime.Window) -> None:
        """Show the status report in a tab and keep it up to date while it is visible."""
        live = LiveReport(window, lambda show: self.report(window, show), self._report_closed)
        if before := self.reports.get(live.view.id()):
            before.close()
        self.reports[live.view.id()] = live
        live.start()

    def _report_closed(self, live: LiveReport) -> None:
        live.close()
        if self.reports.get(live.view.id()) is live:
            del self.reports[live.view.id()]

    def _chat_context(self, window: sublime.Window) -> Excerpt | None:
        """What goes with a prompt of a window's chats by itself."""
        view = self.focus.last_code(window) if self.settings.value("chat_context") else None
        return context_of(view, self.settings.told(window))

    def refusal(self, window: sublime.Window, paths: Sequence[str]) -> str | None:
        """A sentence about the first path that no CLI and no chat may be told of; None if all may be named."""
        return self.settings.told(window).refusal(paths, window.folders())

    def _wrong_setting(self, problem: Problem, window: WindowId | None) -> None:
        self._tell(str(problem), window)

    def ask(self, question: Callable[[Companion], T], answer: Callable[[T], object]) -> None:
        """Ask the companion something. The answer comes later, on the UI thread, if the companion runs."""

        def put(companion: Companion) -> None:
            result = question(companion)
            self._bridge.post(lambda: answer(result))

        self.thread.post(put)

    def ask_later(
        self,
        window: sublime.Window,
        question: Callable[[Companion], Coroutine[Any, Any, T]],
        answer: Callable[[T], object],
        failed: Callable[[str], object] | None = None,
    ) -> None:
        """Ask the companion something that takes a while.

        An error's sentence goes to `failed`, or into the window's status bar if `failed` is None.
        """
        identifier = WindowId(window.id())

        async def put(companion: Companion) -> None:
            from ..conversation.failures import ChatError  # noqa: PLC0415 - its package is the companion thread's

            try:
                result = await question(companion)
            except ChatError as error:
                why, tell = str(error), failed or (lambda why: self.say(why, identifier))
                self._bridge.post(lambda: tell(why))
            else:
                self._bridge.post(lambda: answer(result))

        def begin(companion: Companion) -> None:
            import asyncio  # noqa: PLC0415 - it would stall the UI thread

            task = asyncio.get_running_loop().create_task(put(companion))
            self._questions.add(task)
            task.add_done_callback(self._questions.discard)

        self.thread.post(begin)

    def on_another_thread(self, call: Callable[[], T], done: Callable[[T], object]) -> None:
        """Call something that may take a while, and then `done` with its result on the UI thread."""

        async def put(_: Companion) -> T:
            import asyncio  # noqa: PLC0415 - it would stall the UI thread

            return await asyncio.to_thread(call)

        self.ask_later(sublime.active_window(), put, done)

    def stop(self, *, hand_over: bool = False, screen: dict[str, Any] | None = None) -> None:
        """Stop the companion and wait. The CLIs are told that their diffs are rejected, and the discovery files go."""
        self._bridge.close()
        self.libraries.close()
        self.thread.stop(STOP_LIMIT, hand_over=hand_over, screen=screen)
        self.comments.kept.close()
        self._log.close()

    def unload(self) -> None:
        """Stop, and remove from the screen what the next instance doesn't go on with. It takes over the sessions."""
        # Whatever fails, this instance ends: two at once would serve each CLI half.
        screen = _guarded(self.diffs.leave)
        _guarded(lambda: self.stop(hand_over=True, screen=screen))
        for end in (
            self.settings.close,
            self.status_bar.close,
            self.comments.close,
            self.following.close,
            *(live.close for live in list(self.reports.values())),
            self.written.close_all,
            self.unsaved.close_all,
            self.chats.close_all,
        ):
            _guarded(end)

    def activated(self, view: sublime.View) -> None:
        """A view got the focus."""
        window = view.window()
        if window is None or self.scratch.is_scratch(window):
            return
        self.focus.activated(window, view)
        self.settings.glance(window, view)
        self._set_keys(view)
        self.status_bar.activated(window, view)
        self.chats.activated(window, view)
        self.diffs.activated(window, view)
        self.comments.activated(view)
        self.following.activated(window, view)
        self.written.activated(window, view)
        identifier, number, now = WindowId(window.id()), ViewId(view.id()), _now()
        if is_code(view):
            view.settings().set(FOCUSED_SETTING, now)
            self.thread.post(lambda companion: companion.focused(identifier, number, now), ("focused", number))
        else:
            self.thread.post(lambda companion: companion.window_focused(identifier), "window_focused")

    def touched(self, view: sublime.View) -> None:
        """The selection or the file of a view has changed."""
        if (window := view.window()) and is_code(view) and not self.scratch.is_scratch(window):
            identifier, number = WindowId(window.id()), ViewId(view.id())
            self.thread.post(lambda companion: companion.touched(identifier, number), ("touched", number))

    def closed(self, view: sublime.View) -> None:
        """A view was closed."""
        self.diffs.view_closed(view)
        self.written.closed(view)
        self.unsaved.closed(view)
        self.chats.closed(view)
        self.comments.views.forget(view)
        number = view.id()
        self.thread.post(lambda companion: companion.view_closed(ViewId(number)))

    def saving(self, view: sublime.View) -> None:
        """A view is about to be saved."""
        self._saving[view.id()] = time.time_ns()

    def saved(self, view: sublime.View) -> None:
        """The person has saved a view."""
        self.unsaved.settled(view, _loaded_text(view))
        name, since = view.file_name(), self._saving.pop(view.id(), 0)
        if name and is_code(view) and not self.own_saves.is_own(name):
            self.thread.post(lambda companion: companion.changes.saved(name, since))

    def loaded(self, view: sublime.View) -> None:
        """A file was loaded, or loaded again because it has changed on the disk."""
        if (window := view.window()) and is_code(view):
            identifier = WindowId(window.id())
            text = _loaded_text(view)
            self.written.loaded(view)
            self.unsaved.settled(view, text)
            self.comments.loaded(view)
            if name := view.file_name():
                self.thread.post(lambda companion: companion.changes.loaded(identifier, name, text), ("loaded", name))

    def window_opened(self, window: sublime.Window) -> None:
        """A window was opened."""
        if self.scratch.is_scratch(window):
            return
        self.restored(window)
        opened = to_serve(window)
        self.settings.look(window)
        self.thread.post(lambda companion: companion.window_opened(opened))

    def restored(self, window: sublime.Window) -> None:
        """Clear the diffs that a window was restored with, after a restart or when its project was opened again."""
        if self.diffs.awaits_reviews:  # nobody knows yet which diffs are still waited for
            return
        for name in self.diffs.clear_leftovers(window):
            what = f"“{name}” is a diff from before this session started."
            self.say(f"{what} No CLI waits for it any more. Your edits are kept in its tab.", WindowId(window.id()))

    def project_closed(self, window: sublime.Window) -> None:
        """The project of a window is about to close."""
        identifier = WindowId(window.id())
        self.diffs.window_closing(window, elsewhere=False)
        self.thread.post(lambda companion: companion.reviews.reject_window(identifier))

    def window_closed(self, window: sublime.Window) -> None:
        """A window is about to close."""
        self.diffs.window_closing(window, elsewhere=True)
        self.written.window_closed(window)
        self.focus.forget(window)
        self.following.forget(window)
        self.settings.forget(window)
        self.status_bar.forget(window)
        self.notices.forget(window)
        self.chats.window_closed(window)
        identifier = WindowId(window.id())
        self.thread.post(lambda companion: companion.window_closed(identifier))

    def listening(self, window: WindowId, port: int) -> None:
        """A window is served on this port. It should have the same port after a reload or a restart."""
        self._bridge.post(lambda: remember_port(window, port))

    def libraries_wrong(self, trouble: Trouble) -> None:
        """Tell the person what is wrong with the libraries, and offer the remedy."""
        self._bridge.post(lambda: self.libraries.wrong(trouble))

    def show_status(self, window: WindowId, status: WindowStatus) -> None:
        """Show which CLIs are connected and how many diffs and questions wait. Called when that changes."""
        self._bridge.post(lambda: self._show_status(window, status))

    async def window_state(self, window: WindowId, question: ContextRequest) -> WindowState | None:
        """What a window shows."""
        return await self._bridge.call(lambda: self._window_state(window, question))

    async def selection(self, view: ViewId, limit: int) -> Selection | None:
        """The caret and the selected text of a view; the first `limit` characters are enough."""
        return await self._bridge.call(lambda: selection_of(sublime.View(view), limit))

    async def shown_problems(self, window: WindowId, paths: Sequence[str] | None) -> ShownProblems | None:
        """The problems of some files of a window, or of all."""
        return await self._bridge.ask(lambda done: self.problems.read(window, paths, done), LIMIT)

    async def tabs(self, window: WindowId) -> Sequence[Tab] | None:
        """The tabs of a window that show files, in their order."""
        return await self._bridge.call(lambda: tabs.tabs(window, self.focus), LIMIT)

    async def selected(self, window: WindowId, limit: int) -> Selected | None:
        """What the person has selected; `limit` is that of each text. None too if the tab has no file."""
        return await self._bridge.call(lambda: tabs.selected(window, self.focus, limit), LIMIT)

    async def find_symbols(self, window: WindowId, question: SymbolQuestion) -> SymbolPlaces | None:
        """Where a symbol is defined or used."""
        begun: list[SymbolSearch] = []

        def begin(done: Callable[[SymbolPlaces | None], None]) -> None:
            begun.append(SymbolSearch(window, question, done))
            begun[0].begin()

        try:
            return await self._bridge.ask(begin, LIMIT)
        finally:
            for search in begun:
                search.cancel()

    async def show_place(self, window: WindowId, path: str, line: int) -> bool:
        """Show a line of a file, from 1, without taking the focus. Returns whether the file is shown."""
        return await self._bridge.call(lambda: tabs.show_place(window, self.focus, path, line), LIMIT)

    async def show_review(self, review: Review, marks: Marks | None) -> None:
        """Open the diff of a review without taking the focus; without marks if the texts can't be compared."""
        await self._bridge.call(lambda: self._show_review(review, marks))

    def show_visits(self, window: WindowId, visits: Sequence[Visit]) -> None:
        """The agent of a chat reads or writes at these places, in this order."""
        self._bridge.post(lambda: self._visited(window, visits))

    def show_marks(self, review: Review, marks: Marks, version: int) -> None:
        """Mark the changes of an edited proposal, if it is still at this version."""
        self._bridge.post(lambda: self.diffs.show_marks(review, marks, version))

    def edit_review(self, review: Review, edits: Sequence[TextEdit], version: int) -> None:
        """Answer `Reviews.edit`: make these edits, in order from the top, if the proposal is still at this version."""
        self._bridge.post(lambda: self.diffs.apply(review, edits, version))

    def show_changes(self, window: WindowId, listing: Listing) -> None:
        """Show what waits in a window. Called when that changes."""
        self._bridge.post(lambda: self._show_changes(window, listing))

    async def open_files(self) -> dict[str, bool]:
        """The files that are open in any window, by their real paths, and whether they have unsaved edits."""
        return await self._bridge.call(open_files)

    async def confirm(self, window: WindowId, question: str, yes: str, no: str = "") -> bool:
        """Ask a question with a button for yes; True if the person clicks that."""
        return await self._bridge.call(lambda: _confirm(question, yes, no))

    def overwritten(self, window: WindowId, path: str, agents: Sequence[str], text: str) -> None:
        """A save of the person has overwritten what agents had written in a file: the text that was lost there."""
        self._bridge.post(lambda: self._overwritten(window, path, agents, text))

    def turn_changed(self, window: WindowId, agent: str, files: int) -> None:
        """A turn is over, or a CLI has been quiet for a while, and this many files have changed in it."""
        self._bridge.post(lambda: self._turn_changed(window, agent, files))

    def written_below(self, window: WindowId, path: str, agents: Sequence[str], before: bytes, after: bytes) -> None:
        """Agents have written a file of which a tab has unsaved text. `path` is absolute."""
        self._bridge.post(lambda: self.unsaved.written_below(path, agents, before, after))

    async def buffer(self, path: str) -> str | None:
        """The unsaved text of a file that is open, with plain line feeds; None if it isn't open or has no edits."""
        return await self._bridge.call(lambda: files.buffer(path))

    async def replace_buffer(self, path: str, text: str) -> Stamp:
        """Replace the text of an open file as one step of undo, and save it.

        Returns its stamp then; None if it isn't open.
        """
        return await self._bridge.call(lambda: files.replace(path, text))

    async def may_touch(self, window: WindowId, agent: str, path: str, *, writes: bool) -> bool:
        """Ask the person whether an agent may read or write a file that is outside the chat's folders."""
        return await self._bridge.call(lambda: files.may_touch(agent, path, writes=writes))

    async def elicit(self, window: WindowId, agent: str, message: str, form: Form) -> tuple[str | None, Values]:
        """Have the person fill in a form, or go to a page, while there is no conversation that could show it."""
        import asyncio  # noqa: PLC0415 - it would stall the UI thread

        answer: asyncio.Future[tuple[str | None, Values]] = asyncio.get_running_loop().create_future()

        def answered(option: str | None, values: Values) -> None:
            self.thread.post(lambda _: answer.done() or answer.set_result((option, values)))

        def ask() -> None:
            ask_form(sublime.Window(window), agent, message, form, form.defaults, answered, lambda: answered(None, {}))

        self._bridge.post(ask)
        return await answer

    async def encodings(self, path: str) -> Encodings:
        """How the editor decodes a file."""
        return await self._bridge.call(lambda: _encodings(path))

    def review_disk_changed(self, review: Review) -> None:
        """`review.disk_state` has changed: the file differs from what the diff shows, or no longer does."""
        self._bridge.post(lambda: self.diffs.update_header(review))

    def reload_review(self, review: Review) -> None:
        """Show the file again, which has been read again, and ask for the marks."""
        self._bridge.post(lambda: self.diffs.reload(review))

    async def review_text(self, review: Review) -> str | None:
        """The current text of the proposal's view, with plain line feeds. A busy editor answers when it is idle."""
        return await self._bridge.call(lambda: self.diffs.text(review))

    async def take_up_reviews(self, reviews: Sequence[Review]) -> Sequence[ReviewId]:
        """Go on with the diffs of reviews from before a reload, in their `views`, which show the proposal's text."""
        return await self._bridge.call(lambda: self._take_up_reviews(reviews))

    def _take_up_reviews(self, reviews: Sequence[Review]) -> Sequence[ReviewId]:
        closed = self.diffs.take_up(reviews)
        for window in sublime.windows():
            self.restored(window)
        return closed

    def abandon_reviews(self, left: Sequence[Mapping[str, Any]]) -> None:
        """No instance of the package goes on with these reviews, which are plain data (`left_reviews.to_plain`)."""
        sublime.set_timeout(lambda: abandon(left))  # the bridge is closed by now
        # A disk that hangs must not hold up whoever waits for an answer.
        threading.Thread(target=keep_unwritten, args=(left,), name="qwen-companion-kept", daemon=True).start()

    def refuse_answer(self, review: Review) -> None:
        """The person's answer can't be taken: the diff waits for another one."""
        self._bridge.post(lambda: self.diffs.answer_refused(review))

    def dismiss_review(self, review: Review) -> None:
        """Close the diff's views; the review has its outcome."""
        self._bridge.post(lambda: self.diffs.close(review))

    def orphan_review(self, review: Review) -> None:
        """Mark the diff as one that nobody waits for. Its views stay until the person closes them."""
        self._bridge.post(lambda: self.diffs.update_header(review))

    def keep_text(self, window: WindowId, title: str, text: str, why: str) -> None:
        """Show text that would be lost in a new view, and say why."""
        self._bridge.post(lambda: self._keep_text(window, title, text, why))

    async def show_chat(self, chat: ChatId, render: Render) -> bool:
        """Update the view of a chat, by the view's id. Returns False if there is none."""
        return await self._bridge.call(lambda: self.chats.show(chat, render), LIMIT)

    def take_up_chat(self, chat: ChatId) -> None:
        """Somebody works for a chat of the instance before this one: connect it, even if its tab is hidden."""
        self._bridge.post(lambda: self.chats.take_up(chat))

    def return_draft(self, chat: ChatId, draft: Draft, why: str) -> None:
        """Put a draft back into the chat's prompt, and say why."""
        self._bridge.post(lambda: self._return_draft(chat, draft, why))

    def mention(self, message: str, window: WindowId) -> None:
        """Show one sentence for a moment."""
        self._bridge.post(lambda: _mention(message, window))

    def say(self, message: str, window: WindowId | None = None) -> None:
        """Show a problem and keep it for the status report. Without a window, the one in front shows it."""
        self._bridge.post(lambda: self._tell(message, window))

    def _tell(self, message: str, window: WindowId | None) -> None:
        _print(message)
        self.notices.add(message, find_window(window) if window is not None else None)

    def _libraries_settled(self, message: str, problems: Sequence[str]) -> None:
        def show() -> None:
            self.notices.settled(problems)
            _note(message, None)

        self._bridge.post(show)

    def settle(self, message: str) -> None:
        """The problem that `say` told is over."""
        self._bridge.post(lambda: self.notices.settled([message]))

    def _return_draft(self, number: ChatId, draft: Draft, why: str) -> None:
        if chat := self.chats.take_back(number, draft):
            self.comments.prompt_returned(chat.agent, draft.text)
            self.say(why, WindowId(chat.window.id()))
        else:
            self._keep_text(None, "Prompt", draft.text, why)

    def _comments_of(self, window: sublime.Window) -> Sequence[Comment]:
        return self.comments.of_window(window)

    def _accepted(self, diff: DiffView) -> None:
        self.comments.accepted(diff)

    def _comments_changed(self) -> None:
        self.status_bar.draw()
        for window in sublime.windows():
            self.diffs.lists.changed(window)

    def _comments_went(self, comments: Sequence[Comment], agent: str) -> None:
        """What is changed from now on is new to the person."""
        words = " ".join(" ".join(comment.words for comment in comments).split())[:MAX_WORDS]
        for window in {WindowId(window.id()) for comment in comments for window in self.comments.windows_of(comment)}:
            self.thread.post(lambda companion, number=window: companion.changes.checkpoint(number, words, agent))

    def _offer_comments(self, window: sublime.Window, comments: Sequence[Comment]) -> None:
        many = f"{len(comments)} comments" if len(comments) > 1 else "comment"
        question = f"Send your {many} on what you have accepted as well?"
        if sublime.ok_cancel_dialog(question, "Send Comments"):
            send_after_answer(self, window, comments)

    def _list_changed(self, window: sublime.Window) -> None:
        self.diffs.lists.changed(window)

    def _show_review(self, review: Review, marks: Marks | None) -> None:
        self.diffs.open(review, marks)
        owner = review.owner
        self._visited(owner.window, [Visit(review.file_path, None, owner.cli, "proposal")] if review.is_here else [])

    def _visited(self, window: WindowId, visits: Sequence[Visit]) -> None:
        if visits and (target := find_window(window)):
            self.following.visited(target, visits)

    def _follow_written(self, window: sublime.Window, listing: Listing) -> None:
        """What a CLI has written is known from the files alone; a chat says where it writes."""
        before = {(row.full_path, row.after) for row in self.written.listing(window).rows}
        for row in listing.rows:
            agents = set(row.agents) & set(self.status_bar.clis(window))
            if agents and row.kind != "deleted" and (row.full_path, row.after) not in before:
                self._ask_where(window, row, min(agents))

    def _ask_where(self, window: sublime.Window, row: ChangeRow, agent: str) -> None:
        def answer(changes: FileChanges | None) -> None:
            line = changes.changes[-1][2] + 1 if changes and changes.changes else None
            self.following.visited(window, [Visit(row.full_path, line, agent, "written")])

        self.ask_later(window, lambda companion: companion.changes.file(row.root, row.path), answer)

    def _show_changes(self, window: WindowId, listing: Listing) -> None:
        if target := find_window(window):
            self._follow_written(target, listing)
            self.written.show(target, listing)

    def _overwritten(self, window: WindowId, path: str, agents: Sequence[str], text: str) -> None:
        if target := find_window(window) or sublime.active_window():
            self.written.overwritten(target, path, agents, text)

    def _turn_changed(self, window: WindowId, agent: str, files: int) -> None:
        if target := find_window(window):
            self.written.turn_changed(target, agent, files)

    def _show_status(self, window: WindowId, status: WindowStatus) -> None:
        if target := find_window(window):
            self.status_bar.show(target, status)

    def _window_state(self, window: WindowId, question: ContextRequest) -> WindowState | None:
        found = find_window(window)
        if found is None:
            return None
        if question.is_whole or question.selected is None:
            self.settings.look(found)
        else:
            self.settings.glance(found, sublime.View(question.selected))
        return window_state(found, question)

    def _keep_text(self, window: WindowId | None, title: str, text: str, why: str) -> None:
        target = (find_window(window) if window is not None else None) or sublime.active_window()
        focus = self.focus.last(target)
        open_kept(target, title, text)
        if focus and focus.is_valid():
            self.focus.give(target, focus)
        _note(why, target)


def _guarded(end: Callable[[], T]) -> T | None:
    """Do a part of the end; None if it fails, so that the other parts are done too."""
    try:
        return end()
    except Exception:
        logger.exception("The package could not end as it should")
        return None


def _confirm(question: str, yes: str, no: str) -> bool:
    if no:
        return sublime.yes_no_cancel_dialog(question, yes, no) != sublime.DialogResult.NO
    return sublime.ok_cancel_dialog(question, yes)


def _encodings(path: str) -> Encodings:
    own = [view.encoding() for view in views_of_file(path)]
    fallback = sublime.load_settings("Preferences.sublime-settings").get("fallback_encoding")
    default = Encodings()
    return Encodings(own[0] if own else "", fallback if isinstance(fallback, str) else default.fallback)


def _print(message: str) -> None:
    print(named(message))  # noqa: T201 - Sublime's console


def _note(message: str, window: sublime.Window | None) -> None:
    _print(message)
    NOTICES.add(message, window)


def _mention(message: str, window: WindowId) -> None:
    if target := find_window(window):
        NOTICES.add(message, target)


def _now() -> int:
    return time.time_ns() // 1_000_000


def _loaded_text(view: sublime.View) -> str | None:
    """The text that a view has in common with its file; None if it is too large."""
    return view.substr(sublime.Region(0, view.size())) if view.size() <= MAX_LOADED else None
