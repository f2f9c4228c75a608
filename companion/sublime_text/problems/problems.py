"""Reads the problems that the editor shows: those of LSP if a server runs, else SublimeLinter's, else a build's."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, cast

import sublime

from ...ids import WindowId
from ...problems.formats import Result, of_build, of_linter
from ...problems.quiet import LONGEST
from ...problems.shown import FileProblems, ShownProblems
from ..buffers import text_of
from ..windows import find_window
from . import lsp

BUILD_PANEL = "exec"
"""The output panel of the editor's own build system."""


def linter_errors() -> Mapping[str, Sequence[Any]] | None:
    """What SublimeLinter has found, by file; None if it is not loaded.

    `SublimeLinter.lint.persist` is part of what that package offers to others (SublimeLinter/lint/__init__.py).
    """
    module: Any = sys.modules.get("SublimeLinter.lint")
    errors = getattr(getattr(module, "persist", None), "file_errors", None)
    return cast("Mapping[str, Sequence[Any]]", errors) if isinstance(errors, Mapping) else None


def linter_problems(window: sublime.Window, paths: Sequence[str] | None) -> list[FileProblems] | None:
    """What SublimeLinter has found in some files, or in all that are of this window; None if it is not loaded."""
    errors = linter_errors()
    if errors is None:
        return None
    for _ in range(3):  # it writes on another thread
        try:
            known = {path: FileProblems(path, list(rows), of_linter, rows) for path, rows in errors.items()}
            break
        except RuntimeError:
            continue
    else:
        return []
    if paths is None:
        shown = {view.file_name() for view in window.views()}
        folders = window.folders()
        paths = [
            path for path in known if path in shown or any(PurePath(path).is_relative_to(each) for each in folders)
        ]
    # It makes a new list whenever a linter has looked, with the same problems too.
    return [known.get(path) or FileProblems(path, [], of_linter) for path in paths]


def lint(view: sublime.View) -> None:
    """Have SublimeLinter look at a view that was loaded again, which it doesn't notice."""
    module: Any = sys.modules.get("SublimeLinter.lint")
    assigned = getattr(getattr(module, "persist", None), "assigned_linters", None)
    if isinstance(assigned, Mapping) and assigned.get(view.buffer_id()):  # without one it would say so each time
        sublime.set_timeout(lambda: view.run_command("sublime_linter_lint"))


def build_problems(window: sublime.Window, paths: Sequence[str] | None) -> list[FileProblems] | None:
    """What the last build of a window has reported, in some files or in all; None if there is no result."""
    panel = window.find_output_panel(BUILD_PANEL)
    results = _results(panel) if panel else []
    if not results:
        return None
    by_path: dict[str, list[Result]] = {}
    for result in results:
        by_path.setdefault(result[0], []).append(result)
    wanted = by_path if paths is None else paths
    return [FileProblems(path, by_path.get(path, []), _of_build) for path in wanted]


def has_build(window: WindowId) -> bool:
    """Whether the last build of a window has reported anything."""
    found = find_window(window)
    panel = found.find_output_panel(BUILD_PANEL) if found else None
    return bool(panel and _results(panel))


_KEPT: dict[int, tuple[int, list[Result]]] = {}
"""The results of a panel by its id, with its change count, so that the same are the same objects."""


def _results(panel: sublime.View) -> list[Result]:
    count = panel.change_count()
    kept = _KEPT.get(panel.id())
    if kept is None or kept[0] != count:
        kept = _KEPT[panel.id()] = count, list(panel.find_all_results_with_text())
    return kept[1]


def _of_build(path: str, row: Any, lines: Any) -> Any:  # noqa: ARG001 - a result has its path
    return of_build(row, lines)


MAX_TEXT = 5 * 1024 * 1024
"""Characters of a file; in a longer one both ways of counting are taken for the same."""
AGAIN = 0.5
"""Seconds after which the problems of a file that is being edited are remembered again."""
Done = Callable[[ShownProblems | None], object]


class EditorProblems:
    """The problems of the editor's windows. What is remembered of changes is the editor's worker thread's alone."""

    def __init__(self) -> None:
        self.is_wanted = False
        """Whether anybody asks for problems right after a change."""
        self._seen: dict[str, float] = {}
        self._edited: dict[str, tuple[float, Sequence[FileProblems]]] = {}
        """When a file was changed whose problems nobody has published since, and the problems from before."""

    def has_provider(self, window: sublime.Window) -> bool:
        """Whether anything could know problems of a window's files. To be called on the UI thread."""
        return lsp.api() is not None or linter_errors() is not None or has_build(WindowId(window.id()))

    def read(self, window: WindowId, paths: Sequence[str] | None, done: Done) -> None:
        """Read the problems of some files, or of all. May be called on any thread.

        `done` gets them on the UI thread, later; None if the window is gone.
        """

        def on_worker() -> None:
            read = self._read(window, paths)
            sublime.set_timeout(lambda: done(_complete(window, paths, read)))

        sublime.set_timeout_async(on_worker)

    def edited(self, view: sublime.View, *, is_new: bool = False) -> None:
        """The text of a view has changed, or it `is_new`. To be called on the worker thread, soon after it."""
        window, path = view.window(), view.file_name()
        if window is None or path is None or not self.is_wanted:
            return
        self._seen[path] = time.time()
        now = time.monotonic()
        before = self._edited.get(path)
        if before and now - before[0] < AGAIN:
            stored: Sequence[FileProblems] | None = before[1]
        elif lsp.api() and (is_new or lsp.watches(view, window)):  # its server may begin to look only now
            stored = lsp.problems(window, [path]) or []
        else:
            stored = linter_problems(window, [path])
        if stored is not None:
            self._edited[path] = now, stored

    def reloaded(self, view: sublime.View) -> None:
        """A view was loaded again because its file has changed. To be called on the worker thread."""
        self.edited(view)
        window = view.window()
        if window and self.is_wanted and not lsp.watches(view, window):
            lint(view)

    def closing(self, view: sublime.View) -> None:
        """A view is about to close: afterwards it has no file. May be called on any thread."""
        if (path := view.file_name()) and not view.clones():
            sublime.set_timeout_async(lambda: self._forget(path))

    def _forget(self, path: str) -> None:
        self._seen.pop(path, None)
        self._edited.pop(path, None)

    def _read(self, window: WindowId, paths: Sequence[str] | None) -> _Read | None:
        found = find_window(window)
        if found is None:
            return None
        provider, problems = "LSP", lsp.problems(found, paths)
        if problems is None:
            provider, problems = "SublimeLinter", linter_problems(found, paths)
        return _Read(provider, problems, self._awaited(problems or [], paths), dict(self._seen))

    def _awaited(self, problems: Sequence[FileProblems], paths: Sequence[str] | None) -> list[str]:
        """The files that were changed, if nothing new is known of them yet."""
        by_path: dict[str, list[FileProblems]] = {}
        for each in problems:
            by_path.setdefault(each.path, []).append(each)
        now = time.monotonic()
        for path, (at, before) in list(self._edited.items()):
            after = by_path.get(path, [])
            is_known = paths is None or path in paths
            was_looked_at = any(each.rows or each.published is not None for each in before)
            if any(each.is_latest for each in after):
                is_new = True
            elif is_known and not was_looked_at and not any(each.rows for each in after):
                self._edited[path] = at, after  # the server has only just begun to look at the file
                is_new = False
            else:
                is_new = is_known and not (len(before) == len(after) and all(map(FileProblems.is_same, before, after)))
            if is_new or now - at > LONGEST:
                self._edited.pop(path, None)
        return [path for path in self._edited if paths is None or path in paths]


@dataclass(frozen=True, slots=True)
class _Read:
    """What the worker thread hands over to the UI thread."""

    provider: str
    problems: Sequence[FileProblems] | None
    """None if there are neither language servers nor linters."""
    awaited: Sequence[str]
    seen: Mapping[str, float]


def _complete(window: WindowId, paths: Sequence[str] | None, read: _Read | None) -> ShownProblems | None:
    """With the results of a build if nobody else knows anything, and with the texts. On the UI thread."""
    found = find_window(window)
    if found is None or read is None:
        return None
    provider, problems = read.provider, read.problems
    if problems is None:
        provider, problems = "build", build_problems(found, paths) or []
    open_views = {name: view for view in found.views() if (name := view.file_name())}
    shown = {file.path for file in problems if file.rows}
    texts = {path: text_of(view) for path, view in open_views.items() if path in shown and view.size() <= MAX_TEXT}
    unchecked = [path for path in paths or () if path not in open_views]
    seen = {path: read.seen[path] for path in open_views if path in read.seen}
    return ShownProblems(provider, problems, tuple(found.folders()), texts, unchecked, seen, read.awaited)
