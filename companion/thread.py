"""The companion thread: it opens the endpoints, imports the libraries and runs the event loop.

The order matters. The discovery files are published at once, in a few milliseconds and with the standard library
only; the libraries take a second. A CLI that connects meanwhile waits in the kernel's queue.
"""

from __future__ import annotations

import errno
import gc
import importlib
import logging
import sys
import threading
from collections.abc import Callable, Generator, Hashable, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from . import handover
from .background import Executor, guarded
from .clis.discovery import EnvironmentVariables
from .editor import WindowId
from .libraries import guard
from .libraries.guard import LibraryError
from .platforms.local_sockets import no_port
from .platforms.programs import OPEN_FOLDERS
from .server.endpoint import Endpoint
from .server.window_screen import ServedWindow
from .settings import Settings
from .status.facts import Stop

if TYPE_CHECKING:
    import asyncio

    from .companion import Companion, Editor

logger = logging.getLogger(__name__)

RETRY = 1.0
"""Seconds between looks whether the libraries fit."""
PAUSED = 10_007
"""Younger collections until a full one, while the libraries are imported. Nobody else chooses this number."""

Call = Callable[["Companion"], object]


@contextmanager
def no_collection() -> Generator[None]:
    """Pause full garbage collections: each scans the objects of all plugins, and stops every thread for 60 ms.

    The collector belongs to all packages of the editor (docs/dev/decisions/0005-garbage-collector.md). It is neither
    disabled nor enabled, so that another package that does so meanwhile keeps what it has chosen; so does one that sets
    the thresholds. Of two instances that import at once, around a reload, the first one ends the pause.
    """
    new, middle, usual = gc.get_threshold()
    gc.set_threshold(new, middle, PAUSED)
    try:
        yield
    finally:
        new, middle, full = gc.get_threshold()
        if full == PAUSED != usual:
            gc.set_threshold(new, middle, usual)


class CompanionThread:
    """Runs a Companion on its own thread, from `start` to `stop`."""

    def __init__(self, editor: Editor, settings: Settings, windows: Callable[[], Sequence[ServedWindow]]) -> None:
        """`windows` returns the open windows, the one in front first. `start` and the companion thread call it."""
        self._editor = editor
        self._settings = settings
        self._windows = windows
        self._variables = EnvironmentVariables()
        self._thread = threading.Thread(target=self._run, name="qwen-companion", daemon=True)
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._waiting: dict[Hashable, Call] = {}
        """The calls of before the start, in their order."""
        self._predecessor: Any = None
        self.is_reload = False
        """Whether there was an instance before, which may have left open reviews: `resume_reviews` follows."""
        self._holder: handover.Holder | None = None
        """What the next instance gets, once that is wanted."""
        self.stop_reason: Stop | None = None
        """Why the companion doesn't run, for the status report."""
        self._asleep = False
        self._told: list[str] = []
        """What the person was told about a start that failed."""
        self._running: tuple[asyncio.AbstractEventLoop, Companion, asyncio.Event] | None = None
        self._endpoints: list[Endpoint] = []
        self._chats: dict[WindowId, dict[str, Any]] = {}
        self._reviews: dict[WindowId, list[dict[str, Any]]] = {}
        """What the previous instance has left of these, by window, until there is a companion for it."""

    def start(self) -> None:
        """Begin; returns at once."""
        self._predecessor = handover.claim()
        self.is_reload = self._predecessor is not None
        for window in self._windows():
            OPEN_FOLDERS.set(window.id, window.folders)
        self._thread.start()

    @property
    def is_starting(self) -> bool:
        """Whether calls wait for the start, which may take many seconds on a slow machine. From any thread."""
        with self._lock:
            return self._running is None and not self._asleep and not self._stopping.is_set()

    def post(self, call: Call, replaces: Hashable = None) -> None:
        """Call something on the companion thread, in the order of posting. From any thread; never waits.

        Until the start, which may have to wait for libraries, calls are kept. Of those that `replaces` names alike only
        the last is: what the person does meanwhile must not fill the memory.
        """
        with self._lock:
            if self._running is None:
                if not self._stopping.is_set():
                    key = object() if replaces is None else replaces
                    self._waiting.pop(key, None)
                    self._waiting[key] = call
                return
            loop, companion, _ = self._running
            loop.call_soon_threadsafe(guarded, call, companion)

    def stop(self, timeout: float, *, hand_over: bool = False) -> bool:
        """Stop, and wait at most `timeout` seconds. Returns whether the thread has ended.

        The discovery files and the variables are removed in any case. With `hand_over` the next instance in this
        process can continue the sessions; then this one ends by itself and nothing is waited for.
        """
        if hand_over and not self._holder:
            self._holder = handover.announce(self._thread)
        self._stopping.set()
        with self._lock:
            if self._running:
                loop, _, stop = self._running
                loop.call_soon_threadsafe(stop.set)
        if hand_over:
            return True
        self._thread.join(timeout)
        ended = not self._thread.is_alive()
        if not ended:
            # The loop still owns the sockets.
            self._variables.remove()
            for endpoint in self._endpoints:
                endpoint.withdraw()
        return ended

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                self._open_endpoints()
                before = set(sys.modules)
                try:
                    trouble = guard.check()
                    with no_collection():
                        from . import companion as library  # noqa: PLC0415 - it imports the libraries, late and off the UI thread
                    guard.remember()
                    if trouble:
                        self._editor.libraries.wrong(trouble)
                    self._serve(library.Companion)
                except Exception as error:
                    if self._stopping.is_set():
                        # Most likely a reload has taken our modules away while they were imported.
                        logger.debug("The companion did not end well", exc_info=error)
                        break
                    self._set_aside()
                    self._sleep(guard.first(error))
                    guard.forget(set(sys.modules) - before, guard.first(error))
        finally:
            self._leave_endpoints()

    def _is_left(self) -> bool:
        return self._holder is not None and self._holder.left.is_set()

    def _leave_endpoints(self) -> None:
        """Hand over what was never served, or close it."""
        if self._holder and not self._is_left():
            self._variables.remove()
            # It has not been received if the stop came before this thread began.
            left = handover.receive(self._predecessor)
            left |= {endpoint.window: endpoint.hand_over() for endpoint in self._endpoints}
            for window, chat in self._chats.items():
                if window in left:
                    left[window].chat.update(chat)
            for window, reviews in self._reviews.items():
                if window in left:
                    left[window].reviews.extend(reviews)
            chores = replace(handover.NO_CHORES, abandon_reviews=self._editor.diffs.abandon_reviews)
            handover.hand_over(left, chores, self._holder)
            self._endpoints = []
        elif not self._is_left():
            self._close_endpoints()
            if self._predecessor and self._predecessor.left.is_set():
                handover.give_up(handover.receive(self._predecessor), handover.NO_CHORES)

    def _set_aside(self) -> None:
        """Withdraw the discovery files, but keep the ports, tokens and sessions for the next attempt.

        Terminals know them, and so do CLIs that were connected before a reload. Whoever asks meanwhile is told that the
        companion isn't loaded.
        """
        self._variables.remove()
        holder = handover.Holder()
        handover.hand_over({one.window: one.hand_over() for one in self._endpoints}, handover.NO_CHORES, holder)
        self._predecessor, self._endpoints = holder, []

    def _open_endpoints(self) -> None:
        left, self._predecessor = handover.receive(self._predecessor), None
        # Continuing or ending a chat needs the libraries.
        for window, one in left.items():
            if one.chat:
                self._chats[window] = one.chat
            if one.reviews:
                self._reviews[window] = one.reviews
            one.chat, one.reviews = {}, []
        for window in self._windows():
            try:
                endpoint = Endpoint.open(window, left.pop(window.id, None))
            except OSError:
                self.post(lambda companion, window=window: companion.window_opened(window))  # it tries again
            else:
                endpoint.in_front = not self._endpoints
                endpoint.legacy_files = self._settings.legacy_discovery_files
                self._endpoints.append(endpoint)
                self._editor.served.listening(window.id, endpoint.port)
                self._publish(endpoint)
        handover.give_up(left, handover.NO_CHORES)

    def _publish(self, endpoint: Endpoint) -> None:
        """One window's failure is no reason to serve nobody."""
        try:
            for problem in endpoint.publish():
                self._editor.messenger.say(problem, endpoint.window)
            if endpoint is self._endpoints[0]:
                self._variables.set(endpoint.variables)
        except Exception:
            logger.exception("Can't publish the window %d", endpoint.window)

    def _close_endpoints(self) -> None:
        self._variables.remove()
        for endpoint in self._endpoints:
            endpoint.close()
        self._endpoints = []

    def _serve(self, make: Callable[..., Companion]) -> None:
        import asyncio  # noqa: PLC0415 - it takes longer than opening the endpoints may

        def give(left: dict[WindowId, handover.Inheritance]) -> None:
            chores = handover.Chores(companion.chats.end_inherited, self._editor.diffs.abandon_reviews)
            handover.hand_over(left, chores, self._holder)

        async def main() -> None:
            nonlocal companion
            loop = asyncio.get_running_loop()
            loop.set_default_executor(Executor())
            loop.set_exception_handler(_of_loop)
            stop = asyncio.Event()
            companion = make(self._editor, self._settings, self._variables)
            companion.start(self._endpoints)
            companion.inherit_reviews(self._reviews)  # a CLI that comes back finds them
            await companion.started()
            self._reviews = {}
            if self.is_reload:
                companion.resume_reviews()
            chats, self._chats = self._chats, {}
            companion.inherit_chats(chats)
            with self._lock:
                self._running = loop, companion, stop
                waiting, self._waiting = self._waiting, {}
            for call in waiting.values():
                guarded(call, companion)
            companion.begin_telling()
            for message in self._told:
                self._editor.messenger.settle(message)
            self._told.clear()
            if self._stopping.is_set():
                stop.set()
            await stop.wait()
            with self._lock:
                self._running = None
            await (companion.hand_over(give) if self._holder else companion.stop())

        companion: Companion
        try:
            asyncio.run(main())
        finally:
            with self._lock:
                self._running = None

    def _sleep(self, error: Exception) -> None:
        """Say why nothing starts, and wait until it may be different."""
        # Before anybody hears of it and mends it: what is compared with must be how things were.
        found = guard.places(error)
        is_passing = guard.is_of_machine(error)
        trouble = None if is_passing else guard.trouble_of(error)
        why = trouble.sentence() if trouble else f"No CLI can find this editor: {no_port(error)}"
        self.stop_reason = Stop(why, is_of_libraries=not is_passing)
        self._asleep = True
        is_first = not self._told
        if why not in self._told:
            self._told.append(why)
        if trouble:
            self._editor.libraries.wrong(trouble)
        elif is_first:
            self._editor.messenger.say(why, None)
        logger.debug("The companion can't start", exc_info=error)
        while not self._stopping.wait(RETRY):
            is_repaired = not any(one.stops for one in guard.look())
            if is_repaired and (is_passing or isinstance(error, LibraryError) or guard.places(error) != found):
                break
        importlib.invalidate_caches()
        self._asleep, self.stop_reason = False, None


def _of_loop(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """On Windows, asyncio fails to shut down a connection that the client has reset, which is nobody's concern."""
    error = context.get("exception")
    if isinstance(error, ConnectionError) or getattr(error, "errno", None) == errno.ENOTCONN:
        logger.debug("A connection did not end well: %s", error)
    else:
        loop.default_exception_handler(context)
