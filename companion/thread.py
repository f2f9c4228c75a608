"""The companion thread: it opens the endpoints, imports the libraries and runs the event loop.

The order matters. The discovery files are published at once, in a few milliseconds and with the standard library
only; the libraries take a second. A CLI that connects meanwhile waits in the kernel's queue.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import logging
import os
import re
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from . import handover
from .clis.discovery import EnvironmentVariables
from .editor import Editor
from .garbage import loading, thaw
from .server.endpoint import Endpoint
from .server.port import ServedWindow
from .settings import Settings

if TYPE_CHECKING:
    import asyncio

    from .companion import Companion

logger = logging.getLogger(__name__)

RETRY = 5.0
"""Seconds between checks for a missing library."""

LIBRARIES = ("anyio", "h11", "mcp", "mcp_types", "psutil", "pydantic", "sse_starlette", "starlette", "uvicorn")
"""The modules of the libraries that the companion can't do without."""
OURS = (__package__ or "").partition(".")[0]
UNKNOWN = "companion can't start with the libraries that are installed"

Call = Callable[["Companion"], object]


class CompanionThread:
    """Runs a Companion on its own thread, from `start` to `stop`."""

    def __init__(self, editor: Editor, settings: Settings, windows: Callable[[], Sequence[ServedWindow]]) -> None:
        """`windows` returns the open windows, the one in front first; it is called on the companion thread."""
        self._editor = editor
        self._settings = settings
        self._windows = windows
        self._variables = EnvironmentVariables()
        self._thread = threading.Thread(target=self._run, name="qwen-companion", daemon=True)
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._waiting: list[Call] = []
        self._predecessor: Any = None
        self._holder: handover.Holder | None = None
        """What the next instance gets, once that is wanted."""
        self._asleep = False
        self._running: tuple[asyncio.AbstractEventLoop, Companion, asyncio.Event] | None = None
        self._endpoints: list[Endpoint] = []
        self._chats: dict[int, dict[str, Any]] = {}

    def start(self) -> None:
        """Begin; returns at once."""
        self._predecessor = handover.claim()
        self._thread.start()

    @property
    def is_starting(self) -> bool:
        """Whether calls wait for the start, which may take many seconds on a slow machine. From any thread."""
        with self._lock:
            return self._running is None and not self._asleep and not self._stopping.is_set()

    def post(self, call: Call) -> None:
        """Call something on the companion thread, in the order of posting. From any thread; never waits."""
        with self._lock:
            if self._running is None:
                if not self._asleep and not self._stopping.is_set():
                    self._waiting.append(call)
                return
            loop, companion, _ = self._running
            loop.call_soon_threadsafe(_guarded, call, companion)

    def stop(self, timeout: float, *, hand_over: bool = False) -> bool:
        """Stop, and wait at most `timeout` seconds. Returns whether the thread has ended.

        The discovery files and the variables are removed in any case. With `hand_over` the next instance in this
        process can continue the sessions; then this one ends by itself and nothing is waited for.
        """
        if hand_over and not self._holder:
            self._holder = handover.announce()
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
                    with _yielding(), loading():
                        from . import companion as library  # noqa: PLC0415 - it imports the libraries, late and off the UI thread
                    self._serve(library.Companion)
                except Exception as error:
                    if self._stopping.is_set():
                        # Most likely a reload has taken our modules away while they were imported.
                        logger.debug("The companion did not end well", exc_info=error)
                        break
                    self._close_endpoints()
                    self._sleep(error)
                    _forget(set(sys.modules) - before)
        finally:
            self._leave_endpoints()

    def _is_left(self) -> bool:
        return self._holder is not None and self._holder.left.is_set()

    def _leave_endpoints(self) -> None:
        """Hand over what was never served, or close it."""
        if self._holder and not self._is_left():
            self._variables.remove()
            left = {endpoint.window: endpoint.leave() for endpoint in self._endpoints}
            for window, chat in self._chats.items():
                if window in left:
                    left[window].chat.update(chat)
            handover.leave(left, handover.Chores(end=thaw), self._holder)
            self._endpoints = []
        elif not self._is_left():
            self._close_endpoints()

    def _open_endpoints(self) -> None:
        left, self._predecessor = handover.receive(self._predecessor), None
        # Continuing or ending a chat needs the libraries.
        self._chats |= {window: one.chat for window, one in left.items() if one.chat}
        for window in self._windows():
            try:
                endpoint = Endpoint.open(window, left.pop(window.id, None))
            except OSError as error:
                self._editor.say(f"No CLI can find this window: {error}.", window.id)
            else:
                endpoint.in_front = not self._endpoints
                endpoint.legacy_files = self._settings.legacy_discovery_files
                self._endpoints.append(endpoint)
                self._editor.listening(window.id, endpoint.port)
                for problem in endpoint.publish():
                    self._editor.say(problem, window.id)
                if endpoint is self._endpoints[0]:
                    self._variables.set(endpoint.variables)
        handover.give_up(left)

    def _close_endpoints(self) -> None:
        self._variables.remove()
        for endpoint in self._endpoints:
            endpoint.close()
        self._endpoints = []

    def _serve(self, make: Callable[..., Companion]) -> None:
        import asyncio  # noqa: PLC0415 - it takes longer than opening the endpoints may

        def leave(left: dict[int, handover.Inheritance]) -> None:
            chores = handover.Chores(companion.chats.end_inherited, thaw)
            handover.leave(left, chores, self._holder)

        async def main() -> None:
            nonlocal companion
            stop = asyncio.Event()
            companion = make(self._editor, self._settings, self._variables)
            chats, self._chats = self._chats, {}
            companion.start(self._endpoints, chats)
            await companion.started()
            with self._lock:
                self._running = asyncio.get_running_loop(), companion, stop
                waiting, self._waiting = self._waiting, []
            for call in waiting:
                _guarded(call, companion)
            if self._stopping.is_set():
                stop.set()
            await stop.wait()
            with self._lock:
                self._running = None
            await (companion.hand_over(leave) if self._holder else companion.stop())

        companion: Companion
        try:
            asyncio.run(main())
        finally:
            with self._lock:
                self._running = None

    def _sleep(self, error: Exception) -> None:
        """Say what is wrong with the libraries, and wait until they change. Calls meanwhile are dropped."""
        with self._lock:
            self._waiting.clear()
            self._asleep = True
        library = culprit(error)
        watched = {*LIBRARIES, *([library] if library else [])}
        found = {name: _place(name) for name in watched}
        what = f"library “{library}” is {'broken' if found[library] else 'missing'}" if library else UNKNOWN
        self._editor.say(f"The {what}. Run “Package Control: Satisfy Libraries” from the command palette.")
        logger.debug("The companion can't start", exc_info=error)
        while not self._stopping.wait(RETRY) and {name: _place(name) for name in watched} == found:
            pass
        self._asleep = False


@contextlib.contextmanager
def _yielding() -> Generator[None]:
    """Let the UI thread run after at most 1 ms of Python instead of 5: an import would be felt as a stutter."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(0.001)
    try:
        yield
    finally:
        sys.setswitchinterval(usual)


def _place(library: str) -> tuple[str, int, int] | None:
    """A library's folder, and when that and its first module were changed; None if it is missing."""
    importlib.invalidate_caches()
    try:
        spec = importlib.util.find_spec(library)
        origin = spec.origin if spec and spec.origin else ""
        folder = os.path.dirname(origin)
        return (folder, os.stat(folder).st_mtime_ns, os.stat(origin).st_mtime_ns) if folder else None
    except (ImportError, ValueError, OSError):
        return None


def culprit(error: BaseException) -> str:
    """The library that made an import or the start fail; empty if nothing says so."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    if isinstance(error, SyntaxError) and error.filename:
        inside = [
            os.path.relpath(error.filename, path) for path in sys.path if error.filename.startswith(path + os.sep)
        ]
        return min(inside, key=len, default=error.filename).partition(os.sep)[0].removesuffix(".py")
    if isinstance(error, ImportError) and error.name:
        return error.name.partition(".")[0]
    trace = error.__traceback__
    namespace: dict[str, Any] = {}
    while trace:
        namespace = trace.tb_frame.f_globals
        trace = trace.tb_next
    library = str(namespace.get("__name__", "")).partition(".")[0]
    return _called(error, namespace) if library == OURS else library


def _called(error: BaseException, namespace: dict[str, Any]) -> str:
    """The library of what our own code could not use: the message begins with its name."""
    used = error.obj if isinstance(error, AttributeError) else None
    if isinstance(error, TypeError) and (name := re.match(r"\w+", str(error))):
        modules = (value for value in namespace.values() if isinstance(value, ModuleType))
        used = namespace.get(name[0]) or next((module for module in modules if hasattr(module, name[0])), None)
    module = used.__name__ if isinstance(used, ModuleType) else getattr(used, "__module__", None)
    library = str(module or "").partition(".")[0]
    return "" if library in (OURS, "builtins") else library


def _forget(names: set[str]) -> None:
    """Have modules imported again: ours and the libraries', but for those with compiled code, which can't be."""
    wanted = {name for name in names if name.partition(".")[0] in (OURS, *LIBRARIES)}
    files = {name: getattr(sys.modules.get(name), "__file__", None) or "" for name in wanted}
    compiled = {name.partition(".")[0] for name, file in files.items() if file.endswith((".so", ".pyd"))}
    for name in wanted:
        module = sys.modules.get(name)
        if module is None or name.partition(".")[0] in compiled:
            continue
        del sys.modules[name]
        parent, _, last = name.rpartition(".")
        if getattr(sys.modules.get(parent), last, None) is module:
            delattr(sys.modules[parent], last)


def _guarded(call: Call, companion: Companion) -> None:
    try:
        call(companion)
    except Exception:
        logger.exception("Unexpected")
