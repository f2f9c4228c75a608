"""The headless editor in this process, with the package loaded, and a CLI that is connected to it."""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from headless import modules

modules.install()

import sublime  # noqa: E402

from headless import diff, importer  # noqa: E402
from headless.app import Application  # noqa: E402
from tests.sublime.cli import Cli  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
LIMIT = 60.0
TURN = 0.001
"""The longest time that an idle UI thread sleeps, in seconds."""


class Editor:
    """An editor with one window on a folder. It runs on the main thread, and only inside `wait` and `rest`."""

    def __init__(self, folder: str, *, counts_collections: bool = False) -> None:
        self.app = Application()
        self._stall = self._busy = 0.0
        self._left_out = self._left_out_busy = 0.0
        """Seconds of the turn, and of its CPU time, that are not the package's."""
        self._began = self._collection = 0.0
        """When the turn has begun, and the collection that runs; 0 if none does."""
        self._is_comparing = False
        self._hunks, diff.hunks = diff.hunks, self._compare
        if not counts_collections:
            gc.callbacks.append(self._collected)
        self.app.new_window([folder])
        # An installed package is a zip, of which the editor keeps nothing that was compiled.
        importer.COMPILED = os.devnull  # pyright: ignore[reportConstantRedefinition]
        self.app.loader.add(str(ROOT), "QwenCompanion")

    def start(self) -> None:
        """Load the package."""
        self.app.start()

    def wait(self, condition: Callable[[], Any]) -> None:
        """Run the UI thread until a condition holds."""
        end = time.perf_counter() + LIMIT
        while not condition():
            if time.perf_counter() > end:
                raise TimeoutError(condition)
            self._turn()

    def rest(self, seconds: float) -> None:
        """Run the UI thread for a while."""
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            self._turn()

    def take_stall_ms(self) -> float:
        """The longest time that the UI thread was busy since the last call, in ms."""
        stall, self._stall = self._stall, 0.0
        return stall * 1000

    def take_busy_ms(self) -> float:
        """The same in CPU time of the UI thread alone: what else the machine does hardly counts."""
        busy, self._busy = self._busy, 0.0
        return busy * 1000

    def _turn(self) -> None:
        self._left_out = self._left_out_busy = 0.0
        self._began, began = time.perf_counter(), time.thread_time()
        self.app.loop.turn(TURN)
        self._leave_collection_out()  # it may go on: another thread has run it, and hasn't come to its end yet
        self._stall = max(self._stall, time.perf_counter() - self._began - TURN - self._left_out)
        self._busy = max(self._busy, time.thread_time() - began - self._left_out_busy)

    def _compare(self, buffer: Any) -> list[diff.Hunk]:
        """What differs from the reference document. It is the editor's own work, and the real one has a thread for it.

        So it counts for nothing here.
        """
        started, began = time.perf_counter(), time.thread_time()
        self._is_comparing = True
        try:
            return self._hunks(buffer)
        finally:
            self._is_comparing = False
            self._left_out += time.perf_counter() - started
            self._left_out_busy += time.thread_time() - began

    def _collected(self, phase: str, info: Mapping[str, int]) -> None:
        """A full garbage collection stops every thread of the plugin host, whichever package's objects it was due to.

        `start.stall_ms` has one; in the other figures it would come by chance.
        """
        if info["generation"] == 2:
            if phase == "start":
                self._collection = time.perf_counter()
            else:
                self._leave_collection_out()
                self._collection = 0.0

    def _leave_collection_out(self) -> None:
        if self._collection and not self._is_comparing:
            now = time.perf_counter()
            self._left_out += now - max(self._began, self._collection)
            self._collection = now

    def connect(self) -> Cli:
        """Connect a CLI that runs in a terminal of this window."""
        self.wait(lambda: "QWEN_CODE_IDE_SERVER_PORT" in os.environ)
        cli = Cli()
        self.wait(cli.connected.done)
        cli.connected.result()
        return cli

    def leave(self) -> None:
        """Quit, even if threads are still running."""
        self.app.shut_down()
        sys.stdout.flush()
        threading.Timer(5, lambda: os._exit(0)).start()


def views(side: str) -> list[sublime.View]:
    """The views on one side of all open diffs."""
    own = sys.modules["QwenCompanion.companion.sublime_text.own_views"].VIEWS
    return [view for window in sublime.windows() for view in own.within(window, side)]
