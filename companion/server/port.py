"""What a window's server needs from an editor, and the values that it gets. Standard library only."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ..messages import Messages


@dataclass(frozen=True, slots=True)
class ServedWindow:
    """A window to serve, and the port that it had before; 0 for none."""

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
    """A window's folders, and the files of its views: first those of the views that were asked for, in that order.

    If these are few, the views of the other tabs follow, in the order of the tabs.
    """

    folders: tuple[str, ...]
    files: tuple[OpenFile, ...] = ()


@dataclass(frozen=True, slots=True)
class Selection:
    """The caret of a view and the selected text.

    `line` and `character` count from 1, `character` in UTF-16 units. `text` may be cut: it has at
    least the length that was asked for.
    """

    line: int
    character: int
    text: str = ""


class ContextSource(Messages, Protocol):
    """What a window shows. An answer of None means that the window or the view is gone.

    Called on the companion thread; the answers come from the editor's UI thread.
    """

    async def window_state(self, window: int, views: Sequence[int]) -> WindowState | None:
        """The window's folders and what its views show, the given ones first."""
        ...

    async def selection(self, view: int, limit: int) -> Selection | None:
        """The caret and the selected text of a view; the first `limit` characters are enough."""
        ...
