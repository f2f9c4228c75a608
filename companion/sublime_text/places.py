"""Opens files that nobody has chosen from the disk: the person follows a link, an agent, a change or a comment.

Each is looked at first, on another thread: its disk may hang, and by now its path may lead to a pipe, to a device or to
more than the memory takes.
"""

from __future__ import annotations

from collections.abc import Callable

import sublime

from ..review.changes import carried, changes
from ..review.disk import Encodings, read_file
from ..visits import why_unopened
from .buffers import text_of
from .calls import OffThread
from .panels import say
from .windows import encodings_of, put_caret


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
