"""The UI thread's loop and the one worker thread beside it."""

from __future__ import annotations

import contextlib
import heapq
import itertools
import sys
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any

Callback = Callable[[], object]
HEARTBEAT = 0.02


def report_exception() -> None:
    """Print the current exception as the editor's console would; never fails."""
    with contextlib.suppress(Exception):
        traceback.print_exc(file=sys.stderr)


def guarded(function: Callable[..., Any], *args: Any) -> Any:
    """What a function of a plugin returns; None if it raises, which is printed."""
    try:
        return function(*args)
    except Exception:
        report_exception()
        return None


def notify(target: object, name: str, *args: Any) -> Any:
    """As `guarded`, of a method or hook that `target` may have."""
    method = getattr(target, name, None)
    return None if method is None else guarded(method, *args)


class TimerQueue:
    """Callbacks in the order of their time, and of their arrival where that is equal."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Callback]] = []
        self._numbers = itertools.count()
        self._wake = threading.Condition()

    def add(self, callback: Callback, delay: float = 0) -> None:
        """Call `callback` in `delay` seconds."""
        with self._wake:
            due = time.monotonic() + max(0.0, delay)
            heapq.heappush(self._heap, (due, next(self._numbers), callback))
            self._wake.notify()

    def due(self) -> list[Callback]:
        """Take out the callbacks whose time has come."""
        with self._wake:
            now, ready = time.monotonic(), []
            while self._heap and self._heap[0][0] <= now:
                ready.append(heapq.heappop(self._heap)[2])
            return ready

    def wait(self, longest: float) -> None:
        """Sleep until a callback is due, one is added, or `longest` seconds have passed."""
        with self._wake:
            if self._heap:
                longest = min(longest, self._heap[0][0] - time.monotonic())
            if longest > 0:
                self._wake.wait(longest)

    def clear(self) -> None:
        """Drop everything that waits."""
        with self._wake:
            self._heap.clear()
            self._wake.notify()


class Stopwatch:
    """How long the UI thread was away: in one callback, and between two heartbeats."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Start measuring again."""
        self._callback = 0.0
        self._gap = 0.0
        self._last_beat = time.perf_counter()

    def beat(self) -> None:
        """Note that the UI thread is back in its loop."""
        now = time.perf_counter()
        self._gap = max(self._gap, now - self._last_beat)
        self._last_beat = now

    def ran(self, seconds: float) -> None:
        """Note that a callback has held the UI thread for `seconds`."""
        self._callback = max(self._callback, seconds)

    def figures(self) -> dict[str, float]:
        """The longest times since the last reset, in milliseconds."""
        callback, gap = self._callback * 1000, self._gap * 1000
        return {
            "longest_callback_ms": round(callback, 3),
            "longest_gap_ms": round(gap, 3),
            "stall_ms": round(max(callback, gap - HEARTBEAT * 1000), 3),
        }


class Worker:
    """The thread of `set_timeout_async` and of the listeners' `*_async` methods."""

    def __init__(self) -> None:
        self._queue = TimerQueue()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="worker", daemon=True)
        self._thread.start()

    def post(self, callback: Callback, delay: float = 0) -> None:
        """Run `callback` on the worker thread in `delay` seconds."""
        if not self._stopping:
            self._queue.add(callback, delay)

    def _run(self) -> None:
        while not self._stopping:
            for callback in self._queue.due():
                if self._stopping:
                    return
                guarded(callback)
            self._queue.wait(1.0)

    def stop(self, timeout: float) -> None:
        """Start nothing more; wait at most `timeout` seconds for what is running."""
        self._stopping = True
        self._queue.clear()
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout)


class Loop:
    """The UI thread: timers, and work posted from other threads."""

    def __init__(self) -> None:
        self._queue = TimerQueue()
        self._stopping = False
        self.thread = threading.current_thread()
        self.stopwatch = Stopwatch()
        self.worker = Worker()
        # Called after each callback: what the editor does before it goes back to sleep.
        self.after_turn: Callback = lambda: None

    def on_ui_thread(self) -> bool:
        """Whether the caller runs on the UI thread."""
        return threading.current_thread() is self.thread

    def post(self, callback: Callback, delay: float = 0) -> None:
        """Run `callback` on the UI thread in `delay` seconds."""
        self._queue.add(callback, delay)

    def call(self, function: Callback, timeout: float | None = None) -> object:
        """Run `function` on the UI thread and wait for its result, from any thread.

        Raises what `function` raises, TimeoutError if the UI thread does not get to it, and
        RuntimeError if the loop ends before.
        """
        if self.on_ui_thread():
            return function()
        answer: Future[object] = Future()

        def run() -> None:
            try:
                answer.set_result(function())
            except BaseException as error:
                answer.set_exception(error)

        self.post(run)
        deadline = None if timeout is None else time.monotonic() + timeout
        while not wait([answer], 0.1).done:
            if self._stopping:
                raise RuntimeError("the UI thread has ended")
            if deadline is not None and time.monotonic() > deadline:
                raise TimeoutError("the UI thread did not answer in time")
        return answer.result()

    def run(self) -> None:
        """Turn until `stop` is called."""
        self.thread = threading.current_thread()
        self.stopwatch.reset()
        while not self._stopping:
            self.turn(HEARTBEAT)

    def turn(self, longest_wait: float) -> None:
        """Sleep until something is due, then do all that is due."""
        self._queue.wait(min(longest_wait, HEARTBEAT))
        for callback in self._queue.due():
            self.stopwatch.beat()
            self._call(callback)
            if self._stopping:
                break
        self.stopwatch.beat()
        # Also without a callback: whoever turns the loop may have done something before.
        guarded(self.after_turn)

    def _call(self, callback: Callback) -> None:
        start = time.perf_counter()
        guarded(callback)
        guarded(self.after_turn)
        self.stopwatch.ran(time.perf_counter() - start)

    def run_until(self, condition: Callable[[], object], timeout: float = 30.0) -> object:
        """Turn until `condition` is truthy and return its value.

        Raises TimeoutError after `timeout` seconds.
        """
        deadline = time.monotonic() + timeout
        while not (value := condition()):
            if time.monotonic() > deadline:
                raise TimeoutError("the condition did not come true")
            self.turn(0.01)
        return value

    def stop(self) -> None:
        """End `run` after the current callback."""
        self._stopping = True
        self._queue.add(lambda: None)
