"""What each further window costs, and what a window with a thousand views costs the UI thread."""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import sublime

from .editor import Editor

WINDOWS = 20
VIEWS = 1_000
EVENTS = 30


def served() -> int:
    """How many windows have a lock file."""
    return len(list(Path(os.path.expanduser("~"), ".qwen", "ide").glob("*.lock")))


def ui_time() -> list[float]:
    """From now on, how long each call of the package keeps the UI thread busy, in seconds of its own CPU time.

    Calls are those of the listener that hears of carets and of the focus, and those that the companion thread asks for.
    """
    times: list[float] = []

    def timed(call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            started = time.thread_time()
            try:
                return call(*arguments)
            finally:
                times.append(time.thread_time() - started)

        return run

    adapter = "QwenCompanion.companion.sublime_text"
    bridge, listener = sys.modules[f"{adapter}.bridge"].UiBridge, sys.modules[f"{adapter}.listeners"]
    plain = bridge.post
    bridge.post = lambda self, function: plain(self, timed(function))
    carets = listener.QwenCompanionListener
    carets.on_selection_modified = timed(carets.on_selection_modified)
    carets.on_activated = timed(carets.on_activated)
    return times


def figures() -> dict[str, float]:
    """Ms and MB for each of 20 further windows; ms of the UI thread for a caret and a focus among 1,000 views."""
    process = psutil.Process()
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, f"{number}.txt") for number in range(VIEWS)]
        for file in files:  # before the CLI comes, whose changes they would be
            file.write_text("text\n", encoding="utf-8")
        editor = Editor(folder)
        editor.start()
        cli = editor.connect()
        editor.rest(0.5)
        # The editor's own work for a window is left out: it opens all windows before the package learns of them.
        memory, started = process.memory_info().rss, time.perf_counter()
        for number in range(WINDOWS):
            editor.app.new_window([folder])
            editor.wait(lambda number=number: served() == number + 2)
        each_ms = (time.perf_counter() - started) * 1000 / WINDOWS
        editor.rest(0.5)
        each_mb = (process.memory_info().rss - memory) / WINDOWS / 1e6

        window = sublime.windows()[0]
        window.bring_to_front()
        for file in files:
            window.open_file(str(file))
            editor.rest(0)
        editor.rest(1)
        editor.wait(lambda: cli.active.get("path") == str(files[-1]))
        view = window.active_view()
        assert view
        held = ui_time()
        each: list[float] = []
        for event in range(EVENTS):
            held.clear()
            view.sel().clear()
            view.sel().add(event % 4)
            editor.wait(lambda event=event: cli.active["cursor"]["character"] == event % 4 + 1)
            each.append(sum(held) * 1000)
        context_ms = statistics.median(each)
        each.clear()
        for event in range(EVENTS):
            held.clear()
            path = str(files[event])
            window.open_file(path)
            editor.wait(lambda path=path: cli.active.get("path") == path)
            each.append(sum(held) * 1000)
        focus_ms = statistics.median(each)
        cli.close()
        editor.leave()
    return {
        "windows.each_ms": each_ms,
        "windows.each_mb": each_mb,
        "context.1000_views_ui_ms": context_ms,
        "context.1000_focus_ui_ms": focus_ms,
    }
