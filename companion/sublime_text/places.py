"""Goes to a place in a file, which is looked for on another thread: its disk may hang."""

from __future__ import annotations

import sublime

from ..visits import is_file
from .calls import OffThread
from .panels import say


def open_place(window: sublime.Window, off_thread: OffThread, path: str, line: int | None) -> None:
    """Open a file, at a line from 1 if that is known, once it is known to be there; say so if it isn't."""

    def looked(is_there: bool) -> None:
        if not is_there:
            say(window, f"There is no file {path}.")
        elif line:
            window.open_file(f"{path}:{line}", sublime.NewFileFlags.ENCODED_POSITION)
        else:
            window.open_file(path)

    off_thread(lambda: is_file(path), looked)
