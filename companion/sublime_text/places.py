"""What a menu was opened on, and how files are opened that nobody has chosen from the disk.

The person follows a link, an agent, a change or a comment. Each file is looked at first, on another thread: its disk
may hang, and by now its path may lead to a pipe, to a device or to more than the memory takes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sublime

from ..platforms.files import why_unopened
from ..review.changes import carried, changes
from ..review.disk import Encodings, read_file
from .bridge import OffThread
from .buffers import text_of
from .panels import say
from .windows import encodings_of, is_code, put_caret


@dataclass(frozen=True, slots=True)
class Menu:
    """What a menu was opened on, from the arguments that it gives to a command."""

    paths: list[str] | None = None
    """Those of the side bar; None if it was not the side bar."""
    group: int | None = None
    index: int | None = None
    """The tab's place in the group: -1 for the active one; None if it was not a tab."""

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> Menu:
        """The side bar gives its paths as `paths`, or as `files` and `dirs`; a tab gives its `group` and `index`."""
        parts = [part for name in ("paths", "files", "dirs") if (part := arguments.get(name)) is not None]
        paths = list(dict.fromkeys(path for part in parts for path in part)) if parts else None
        return cls(paths, arguments.get("group"), arguments.get("index"))

    @property
    def was_used(self) -> bool:
        """Whether the command was run from the side bar or from a tab's menu."""
        return self.paths is not None or self.index is not None

    def tab(self, window: sublime.Window) -> sublime.View | None:
        """The view of a tab of the person's own: that of the tab's menu, or the active one for -1."""
        if self.index is None:
            return None
        if self.index < 0 or self.group is None or self.group < 0:
            view = window.active_view()
        else:
            sheets = window.sheets_in_group(self.group)
            view = sheets[self.index].view() if self.index < len(sheets) else None
        return view if view and is_code(view) else None

    def chosen(self, window: sublime.Window) -> list[str]:
        """The files and folders that it was opened on; empty if there are none, such as for a tab without a file."""
        if self.paths:
            return self.paths
        view = self.tab(window)
        path = view.file_name() if view else None
        return [path] if path else []


def if_there(
    off_thread: OffThread, window: sublime.Window, paths: Sequence[str], then: Callable[[Collection[str]], object]
) -> None:
    """Go on if these paths are on the disk, which may be slow; otherwise say which is gone.

    `then` gets those that are folders.
    """

    def look() -> tuple[str | None, Collection[str]]:
        gone = next((path for path in paths if not os.path.exists(path)), None)
        return gone, [path for path in paths if os.path.isdir(path)]

    def looked(found: tuple[str | None, Collection[str]]) -> None:
        gone, folders = found
        if gone:
            say(window, f"{gone} no longer exists.")
        else:
            then(folders)

    off_thread(look, looked)


def open_place(window: sublime.Window, off_thread: OffThread, path: str, line: int | None) -> None:
    """Open a file, at a line from 1 if that is known, once it is known to be one; say so if it isn't."""

    def open_it() -> None:
        if line:
            open_line(window, off_thread, path, line)
        else:
            window.open_file(path)

    if_openable(window, off_thread, path, open_it)


def open_line(
    window: sublime.Window,
    off_thread: OffThread,
    path: str,
    line: int,
    then: Callable[[sublime.View], object] | None = None,
) -> None:
    """Open a path that is known to be a file's, at a line of what is on the disk, from 1. `then` gets the view."""
    view = window.find_open_file(path)
    if view is None or not view.is_dirty():
        view = window.open_file(f"{path}:{line}", sublime.NewFileFlags.ENCODED_POSITION)
        if then:
            then(view)
        return
    opened = window.open_file(path)

    def go(line: int) -> None:
        put_caret(opened, opened.text_point(line - 1, 0))
        if then:
            then(opened)

    line_in_tab(opened, line, off_thread, go)


def line_in_tab(view: sublime.View, line: int, off_thread: OffThread, then: Callable[[int], object]) -> None:
    """Call `then` with the line of a tab that a line of its file is in by now, both from 1.

    With unsaved text that is another one, and `then` is not called if the person goes on there before it is found.
    """
    name = view.file_name()
    if name is None or not view.is_dirty():
        then(line)
        return
    mine, encodings, before = text_of(view), encodings_of(name), (view.change_count(), list(view.sel()))

    def found(line: int) -> None:
        if view.is_valid() and (view.change_count(), list(view.sel())) == before:
            then(line)

    off_thread(lambda: _line_in(mine, name, encodings, line), found)


def _line_in(text: str, path: str, encodings: Encodings, line: int) -> int:
    """The line of a text that a line of a file is in. Blocks."""
    try:
        disk = read_file(path, encodings).source.shown
    except OSError:
        return line
    [(first, _)] = carried([(line - 1, line)], changes(disk, text))
    return first + 1


def if_openable(window: sublime.Window, off_thread: OffThread, path: str, then: Callable[[], object]) -> None:
    """Go on if the editor may open a file; otherwise say why not."""

    def looked(why: str) -> None:
        if why:
            say(window, why)
        elif window.is_valid():
            then()

    off_thread(lambda: why_unopened(path), looked)
