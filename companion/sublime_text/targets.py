"""What a menu was opened on: the paths of the side bar, or a tab."""

from __future__ import annotations

import os
from collections.abc import Sequence

import sublime

from .windows import is_code


def given_paths(*parts: Sequence[str] | None) -> list[str] | None:
    """The paths that the side bar gives as `paths`, or as `files` and `dirs`; None if it was not the side bar."""
    if all(part is None for part in parts):
        return None
    return list(dict.fromkeys(path for part in parts if part for path in part))


def is_menu(paths: Sequence[str] | None, index: int | None) -> bool:
    """Whether a command was run from the side bar or from a tab's menu, which give it these arguments."""
    return paths is not None or index is not None


def chosen_paths(
    window: sublime.Window, paths: Sequence[str] | None, group: int | None, index: int | None
) -> list[str]:
    """The files and folders that a menu was opened on; empty if there are none, such as for a tab without a file."""
    if paths:
        return list(paths)
    view = tab(window, group, index)
    path = view.file_name() if view else None
    return [path] if path else []


def tab(window: sublime.Window, group: int | None, index: int | None) -> sublime.View | None:
    """The view of a tab of the person's own: that of a tab's menu, or the active one for -1."""
    if index is None:
        return None
    if index < 0 or group is None or group < 0:
        view = window.active_view()
    else:
        sheets = window.sheets_in_group(group)
        view = sheets[index].view() if index < len(sheets) else None
    return view if view and is_code(view) else None


def missing(paths: Sequence[str]) -> str | None:
    """A sentence about the first path that is no longer on the disk; None if all are there."""
    gone = next((path for path in paths if not os.path.exists(path)), None)
    return f"{gone} no longer exists." if gone else None
