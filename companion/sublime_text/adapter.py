"""The one object that is made when the package is loaded."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import sublime

from ..background import Executor, LoopTasks, guarded
from ..clis.mcp_configuration import renew
from ..editor import WindowId, sentence
from ..log import Log
from ..thread import CompanionThread
from .bridge import UiBridge
from .buffers import EditorFiles
from .chat.chats import ChatViews
from .chat.opening import Consent
from .comments.panel import CommentPanel
from .listeners import EditorEvents
from .messenger import EditorQuestions, Messenger
from .own_views import VIEWS
from .package_control import Libraries
from .places import Following
from .problems import EditorProblems
from .review.diffs import Diffs
from .review.review_tabs import ReviewTabs
from .review.unsaved import LoadedTexts, UnsavedTexts, hand_over, take_over
from .review.written import WrittenChanges
from .settings import SettingsFile
from .status import StatusBar, StatusReports
from .terminal.terminals import RunnableClis
from .window_tools import SCRIPT, WindowTools
from .windows import Focus, WindowStates, refusal, windows_to_serve

if TYPE_CHECKING:
    from ..companion import Companion

T = TypeVar("T")
logger = logging.getLogger(__name__)

STOP_LIMIT = 2.5
"""Seconds that the UI thread waits for the end: one for the last notifications, the rest for the server."""


class Adapter:
    """All that the package has in the editor: makes the parts, starts and ends them. Lives on the UI thread.

    The companion gets it as `companion.editor.Editor`, and uses the parts that this names.
    """

    def __init__(self) -> None:
        self.bridge = UiBridge()
        self._blocking = Executor()
        self.focus = Focus()
        self.settings = SettingsFile(self)
        self.status_bar = StatusBar(self)
        self.messenger = Messenger(self)
        self.files = EditorFiles(self.bridge)
        self.served = WindowStates(self)
        self.questions = EditorQuestions(self)
        self.libraries = Libraries(self)
        self._log = Log(print, debug=self.settings.value("debug"))
        self.runnable = RunnableClis(self)
        self.loaded = LoadedTexts(self)
        self.unsaved = UnsavedTexts(self)
        self.following = Following(self)
        self.written = WrittenChanges(self)
        self.problems = EditorProblems()
        self.diffs = Diffs(self)
        self.consent = Consent(self.settings)
        self.chats = ChatViews(self)
        self._questions = LoopTasks()
        """Those that are being answered. Lives on the companion thread."""
        self.reports = StatusReports(self)
        self.comments = CommentPanel(self)
        self.tools = WindowTools(self)
        self.review = ReviewTabs(self)
        self.events = EditorEvents(self)
        self.thread = CompanionThread(self, self.settings.read(), windows_to_serve)

    @property
    def is_starting(self) -> bool:
        """Whether the companion doesn't answer yet, but will: what is asked of it now is done then."""
        return self.thread.is_starting

    def start(self) -> None:
        """Start the companion, and tell it when each file had the focus last."""
        self.settings.start()
        self.configure()
        self.thread.start()
        self.events.start()
        guarded(take_over, self)  # another version may have left something else
        self.chats.adopt_visible()
        self.comments.start()
        self.review.start()
        self.on_another_thread(VIEWS.prune, lambda _: None)
        if self.settings.value("agents_use_editor"):
            script = sublime.load_binary_resource(SCRIPT)
            self.on_another_thread(lambda: renew(script), lambda _: None)

    def configure(self) -> None:
        """Apply the settings."""
        settings, windows, daemon = self.settings.read(), self.settings.by_window(), self.settings.daemon()
        self.thread.post(lambda companion: companion.configure(settings, windows, daemon), "configure")
        self.status_bar.draw()
        self.problems.is_wanted = self.settings.value("agents_use_editor")
        self._log.set_debug(debug=self.settings.value("debug"))
        for window in sublime.windows():
            for view in window.views():
                self.events.set_keys(view)

    def refusal(self, window: sublime.Window, paths: Sequence[str]) -> str | None:
        """A sentence about the first path that no CLI and no chat may be told of; None if all may be named."""
        return refusal(self.settings.sharing(window), paths, window.folders())

    def ask(self, question: Callable[[Companion], T], answer: Callable[[T], object]) -> None:
        """Ask the companion something. The answer comes later, on the UI thread, if the companion runs."""

        def put(companion: Companion) -> None:
            result = question(companion)
            self.bridge.post(lambda: answer(result))

        self.thread.post(put)

    def ask_later(
        self,
        window: sublime.Window,
        question: Callable[[Companion], Coroutine[Any, Any, T]],
        answer: Callable[[T], object],
        failed: Callable[[str], object] | None = None,
    ) -> None:
        """Ask the companion something that takes a while. It ends in `answer` or in `failed`, whatever happens.

        An error's sentence goes to `failed`, or into the window's status bar if `failed` is None.
        """
        identifier = WindowId(window.id())

        async def put(companion: Companion) -> None:
            import asyncio  # noqa: PLC0415 - it would stall the UI thread

            try:
                result = await question(companion)
            except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - a folder that is let go cancels
                why, tell = _why(error), failed or (lambda why: self.messenger.mention(why, identifier))
                self.bridge.post(lambda: tell(why))
            else:
                self.bridge.post(lambda: answer(result))

        self.thread.post(lambda companion: self._questions(put(companion)))

    def on_another_thread(
        self, call: Callable[[], T], done: Callable[[T], object], failed: Callable[[], object] = lambda: None
    ) -> None:
        """Call something that may take a while, and then `done` with its result on the UI thread, or else `failed`.

        The companion is not needed: it may be starting, or lack its libraries.
        """

        def run() -> None:
            try:
                result = call()
            except Exception:
                logger.exception("A call on another thread failed")
                self.bridge.post(failed)
            else:
                self.bridge.post(lambda: done(result))

        with contextlib.suppress(RuntimeError):  # the package is unloaded
            self._blocking.submit(run)

    def stop(self, *, hand_over: bool = False) -> None:
        """Stop the companion and wait. The CLIs are told that their diffs are rejected, and the discovery files go."""
        self.bridge.close()
        self._blocking.shutdown(wait=False)
        self.libraries.close()
        self.thread.stop(STOP_LIMIT, hand_over=hand_over)
        self.comments.kept.close()
        self._log.close()

    def unload(self) -> None:
        """Stop, and remove from the screen what the next instance doesn't go on with. It takes over the sessions."""
        # Whatever fails, this instance ends: two at once would serve each CLI half.
        for end in (
            self.diffs.hand_over,
            partial(hand_over, self),
            partial(self.stop, hand_over=True),
            self.settings.close,
            self.status_bar.close,
            self.comments.close,
            self.following.close,
            self.reports.close,
            self.written.close_all,
            self.review.close,
            self.unsaved.close_all,
            self.chats.close_all,
        ):
            guarded(end)

    def review_changed(self, window: sublime.Window) -> None:
        """What waits for a review in a window is other, or what is known of it."""
        self.review.changed(window)
        self.chats.review_changed(window)


def _why(error: BaseException) -> str:
    """Why a question has no answer, for the person. What nobody expects is logged."""
    import asyncio  # noqa: PLC0415 - it would stall the UI thread

    from ..conversation.failures import ChatError  # noqa: PLC0415 - its package is the companion thread's

    match error:
        case ChatError():
            return str(error)
        case OSError() if str(error):
            logger.warning("A question could not be answered: %s", error)
            return sentence(error)
        case asyncio.CancelledError():
            return "Its folder was closed meanwhile."
        case _:
            logger.error("A question could not be answered", exc_info=error)
            return "That could not be done. Sublime's console says why."
