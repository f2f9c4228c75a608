"""What hundreds of written changes cost the UI thread, and how soon all of them are undone, in the editor."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import sublime

from .editor import Editor

FILES = 300
LINES = 200
CHANGES = 1_000
"""Of all files together."""
LONG = 10_000
"""Lines of the file in which single changes are kept and undone."""
AT = range(50, LONG, 100)
"""Its lines that are changed."""
TRIES = 5
REST = 3.0
"""Seconds after which nothing more is expected to happen on the UI thread."""


def lines(count: int) -> list[str]:
    """A text, by its lines."""
    return [f"line {number} of a text\n" for number in range(count)]


class Written:
    """An editor with a round of one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._command = 0.0
        self.editor = Editor(str(folder))
        self.editor.start()
        self.editor.connect()
        self.window = sublime.active_window()
        self.editor.wait(lambda: self.waits(0) and self.has_begun())

    @property
    def adapter(self) -> Any:
        module: Any = sys.modules["QwenCompanion.companion.sublime_text.package"]
        return module.adapter()

    @property
    def listing(self) -> Any:
        return self.adapter.written.listings.of(self.window)

    def has_begun(self) -> bool:
        """Whether there is a baseline of the folder."""
        rounds = self.adapter.thread._running[1].changes
        known = rounds.roots.windows.get(self.window.id())
        return bool(known and known.folders and all(each.has_round for each in known.folders.values()))

    def waits(self, files: int, changes: int | None = None) -> bool:
        """Whether exactly so much waits."""
        found = self.listing
        return len(found.rows) == files and changes in (None, found.count.changes)

    def run(self, target: sublime.Window | sublime.View, command: str) -> None:
        """Run a command as the UI thread does."""
        began = time.thread_time()
        target.run_command(command)
        self._command = max(self._command, 1000 * (time.thread_time() - began))

    def held(self) -> float:
        """The longest command or turn of the UI thread until nothing more happens, in ms of its own CPU time."""
        self.editor.rest(REST)
        command, self._command = self._command, 0.0
        return max(command, self.editor.take_busy_ms())


def many(written: Written) -> dict[str, float]:
    """Hundreds of files that an agent has changed: listed, the list opened, all undone."""
    editor, window = written.editor, written.window
    paths = [written.folder / f"f{number}.txt" for number in range(FILES)]
    per_file = [CHANGES // FILES + (number < CHANGES % FILES) for number in range(FILES)]
    before = lines(LINES)
    editor.take_busy_ms()
    for path, count in zip(paths, per_file, strict=True):
        changed = list(before)
        for at in range(count):
            changed[10 + at * 40] = "changed\n"
        path.write_text("".join(changed), encoding="utf-8", newline="")
    editor.wait(lambda: written.waits(FILES, CHANGES))
    figures = {"written.round_ui_ms": written.held()}
    figures |= reviewed(written)
    started, used = time.perf_counter(), sum(os.times()[:4])
    written.run(window, "qwen_companion_undo_all_changes")
    editor.wait(lambda: written.waits(0))
    figures["written.undo_all_s"] = time.perf_counter() - started
    figures["written.undo_all_cpu_s"] = sum(os.times()[:4]) - used
    figures["written.undo_all_ui_ms"] = written.held()
    # What was kept in the Review is in one file or two.
    text = "".join(before)
    if sum(path.read_text(encoding="utf-8") != text for path in paths) > TRIES:
        raise RuntimeError("not everything is undone")
    return figures


def reviewed(written: Written) -> dict[str, float]:
    """The Review of all of them: until its first lines have their marks, and until the next change is in front."""
    editor, window = written.editor, written.window
    started = time.perf_counter()
    written.run(window, "qwen_companion_review")
    view = written.adapter.review.tab(window).view
    editor.wait(lambda: view.get_regions("qwen_companion.review.added"))
    figures = {"written.review_shown_ms": 1000 * (time.perf_counter() - started)}
    figures["written.review_ui_ms"] = written.held()
    took: list[float] = []
    costs: list[float] = []
    for _ in range(TRIES):
        before = view.sel()[0].b
        started = time.perf_counter()
        view.run_command("qwen_companion_review_decide", {"what": "keep"})
        took.append(1000 * (time.perf_counter() - started))
        if view.sel()[0].b == before:
            raise RuntimeError("the next change did not come")
        costs.append(written.held())
    figures |= {"written.review_decision_ms": median(took), "written.review_decision_ui_ms": median(costs)}
    editor.wait(lambda: written.listing.count.changes == CHANGES - TRIES)
    started = time.perf_counter()
    for _ in range(FILES):
        view.run_command("qwen_companion_review_go", {"to": "file"})
        editor.rest(0.001)
    editor.wait(lambda: f"f{FILES - 1}.txt" in view.substr(sublime.Region(0, view.size())))
    figures["written.review_300_files_ui_ms"] = written.held()
    return figures


def long(written: Written) -> dict[str, float]:
    """A long file: one change after the other is kept or undone."""
    editor, window, path = written.editor, written.window, written.folder / "long.txt"
    changed = lines(LONG)
    for at in AT:
        changed[at] = "changed\n"
    path.write_text("".join(changed), encoding="utf-8", newline="")
    editor.wait(lambda: written.waits(1, len(AT)))
    view = window.open_file(str(path))
    regions = lambda: view.get_regions("qwen_companion.changes")  # noqa: E731
    editor.wait(lambda: len(regions()) == len(AT))
    left = len(AT)
    found: dict[str, list[float]] = {"keep": [], "undo": []}
    for _ in range(TRIES):
        for what, costs in found.items():
            view.sel().clear()
            view.sel().add(sublime.Region(regions()[left // 2].begin()))
            written.held()
            written.run(view, f"qwen_companion_{what}_change")
            left -= 1
            editor.wait(lambda: len(regions()) == left and written.waits(1, left))  # noqa: B023 - in the same turn
            costs.append(written.held())
    return {"written.keep_10k_ui_ms": median(found["keep"]), "written.undo_10k_ui_ms": median(found["undo"])}


def figures() -> dict[str, float]:
    """All figures by name."""
    with tempfile.TemporaryDirectory() as base:
        folder = Path(base).resolve() / "project"
        folder.mkdir()
        for number in range(FILES):
            (folder / f"f{number}.txt").write_text("".join(lines(LINES)), encoding="utf-8", newline="")
        (folder / "long.txt").write_text("".join(lines(LONG)), encoding="utf-8", newline="")
        written = Written(folder)
        found = many(written) | long(written)
        written.editor.leave()
        return found
