"""What a diff says about itself: notes on what is shown, warnings about the file, the place of the caret."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import sublime

from ..windows import real_path
from .diff_marks import are_few

if TYPE_CHECKING:
    from ...review.marks import Marks, Points
    from ...review.review import Review

_DISK = {"changed": "changed on disk", "deleted": "deleted on disk", "unreadable": "can't be read now"}


def notes(review: Review, layout: str, marks: Marks | None, *, is_exact: bool) -> list[str]:
    """Why something is missing in a diff."""
    if review.request and review.request.is_part:
        return ["Only a part of the file: the agent doesn't say where it belongs."]
    if not is_exact:
        return ["The editor can't show this text exactly: read-only."]
    if marks is None:
        return [f"{review.unmarked}: changes are not marked."] if review.unmarked else []
    if are_few(marks.proposal):
        return []
    missing = ["links"] if review.is_editable else []
    if layout == "side_by_side":
        missing.append("alignment")
    return [f"Too many changes: no {' and no '.join(missing)}."] if missing else []


def warnings_of(review: Review, window: sublime.Window, *, is_dirty: bool) -> list[str]:
    """What the person should know about the file. `is_dirty`: a view has unsaved edits of it."""
    warnings = ["open with unsaved edits"] if is_dirty else []
    folders = window.folders() if review.is_here else []
    if folders and not any(_is_below(review.file_path, folder) for folder in folders):
        warnings.append("outside this window's folders")
    if review.disk_state != "same":
        warnings.append(_DISK[review.disk_state])
    return warnings


def place(lines: Sequence[Points], caret: int) -> str:
    """Where a caret is among the changes, such as "Change 3 of 7 · "; empty without changes."""
    count = len(lines)
    if not count:
        return ""
    before = bisect_right(lines, caret, key=lambda points: points[0])
    is_in = before and caret <= max(lines[before - 1][1] - 1, lines[before - 1][0])
    return f"Change {before} of {count} · " if is_in else f"{count} change{'s' * (count != 1)} · "


def _is_below(path: str, folder: str) -> bool:
    return any(Path(spell(path)).is_relative_to(spell(folder)) for spell in (os.path.normcase, real_path))
