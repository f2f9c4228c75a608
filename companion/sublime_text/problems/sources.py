"""Where problems come from besides language servers: SublimeLinter's linters, and the results of a build."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any, cast

import sublime

from ...ids import WindowId
from ...problems.formats import Result, of_build, of_linter
from ...problems.shown import FileProblems
from ..windows import find_window

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
