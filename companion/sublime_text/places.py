"""Opens files that nobody has chosen from the disk: the person follows a link, an agent, a change or a comment.

Each is looked at first, on another thread: its disk may hang, and by now its path may lead to a pipe, to a device or to
more than the memory takes.
"""

from __future__ import annotations

from collections.abc import Callable

import sublime

from ..visits import why_unopened
from .calls import OffThread
from .panels import say


def open_place(window: sublime.Window, off_thread: OffThread, path: str, line: int | None) -> None:
    """Open a file, at a line from 1 if that is known, once it is known to be one; say so if it isn't."""

    def open_it() -> None:
        if line:
            window.open_file(f"{path}:{line}", sublime.NewFileFlags.ENCODED_POSITION)
        else:
            window.open_file(path)

    if_openable(window, off_thread, path, open_it)


def if_openable(window: sublime.Window, off_thread: OffThread, path: str, then: Callable[[], object]) -> None:
    """Go on if the editor may open a file; otherwise say why not."""

    def looked(why: str) -> None:
        if why:
            say(window, why)
        elif window.is_valid():
            then()

    off_thread(lambda: why_unopened(path), looked)
