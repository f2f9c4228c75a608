"""What a window's server asks of an editor, and the plain values that it gets. Standard library alone."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ..messages import Messages


@dataclass(frozen=True, slots=True)
class ServedWindow:
    """A window that is to be served, and the port that it had before; 0 for none."""

    id: int
    folders: tuple[str, ...]
    port: int = 0


@dataclass(frozen=True, slots=True)
class OpenFile:
    """A view of a window that shows a file, which need not exist on disk."""

    view: int
    path: str

    @property
    def folder(self) -> str:
        """The folder that the file is in."""
        return os.path.dirname(self.path)


@dataclass(frozen=True, slots=True)
class WindowState:
    """A window's folders, and those of the asked views that are still in it and show a file, in the asked order."""

    folders: tuple[str, ...]
    files: tuple[OpenFile, ...] = ()


@dataclass(frozen=True, slots=True)
class Selection:
    """Where the caret of a view is and what is selected there.

    `line` and `character` count from 1, `character` in UTF-16 units. `text` may be cut: it holds at least the first
    units that were asked for.
    """

    line: int
    character: int
    text: str = ""


class ContextSource(Messages, Protocol):
    """What a window shows. An answer of None means that the window or the view is gone.

    Called on the companion thread; the answers come from the editor's own thread.
    """

    async def window_state(self, window: int, views: Sequence[int]) -> WindowState | None:
        """The window's folders and what the given views show."""
        ...

    async def selection(self, view: int, limit: int) -> Selection | None:
        """The caret and the selected text of a view, of which the first `limit` characters are enough."""
        ...
