"""What each further window costs, and what a window with a thousand views costs the UI thread."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import psutil
import sublime

from .editor import Editor

WINDOWS = 20
VIEWS = 1_000


def served() -> int:
    """How many windows have a lock file."""
    return len(list(Path(os.path.expanduser("~"), ".qwen", "ide").glob("*.lock")))


def figures() -> dict[str, float]:
    """Ms and MB for each of 20 further windows; ms of the UI thread for one context of a window with 1,000 views."""
    process = psutil.Process()
    with tempfile.TemporaryDirectory() as folder:
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
        for number in range(VIEWS):
            file = Path(folder, f"{number}.txt")
            file.write_text("text\n", encoding="utf-8")
            window.open_file(str(file))
            editor.rest(0)
        editor.rest(1)
        editor.wait(lambda: cli.active.get("path") == str(Path(folder, f"{VIEWS - 1}.txt")))
        editor.take_stall_ms()
        view = window.active_view()
        assert view
        for point in range(1, 4):
            view.sel().clear()
            view.sel().add(point)
            editor.wait(lambda point=point: cli.active["cursor"]["character"] == point + 1)
        context_ms = editor.take_stall_ms()
        cli.close()
        editor.leave()
    return {"windows.each_ms": each_ms, "windows.each_mb": each_mb, "context.1000_views_ui_ms": context_ms}
