"""What a window's server needs from an editor, and the values that it gets. Standard library only."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
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
class Selection:
    """The caret of a view and the selected text.

    `line` and `character` count from 1, `character` in UTF-16 units. `text` may be cut: it has at
    least the length that was asked for.
    """

    line: int
    character: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class ContextRequest:
    """What is to be told of a window."""

    views: tuple[int, ...]
    """Those whose files are wanted."""
    is_whole: bool
    """Whether to look at everything that no event reports reliably. If the views show few files, those of other tabs
    are wanted too."""
    selected: int | None
    """The view whose selection is wanted."""
    limit: int
    """The first characters of its text that are enough."""


@dataclass(frozen=True, slots=True)
class WindowState:
    """A window's folders, the files of its views, and the selection of one of them.

    The files of the views that were asked for come first, in that order, then others in the order of the tabs.
    """

    folders: tuple[str, ...]
    files: tuple[OpenFile, ...] = ()
    selection: Selection | None = None


@dataclass(frozen=True, slots=True)
class ElsewhereOffer:
    """What a CLI needs that runs somewhere else."""

    port: int
    folders: tuple[str, ...]
    """Those of the window, as they are called here."""
    tokens: Mapping[str, str] = field(repr=False)
    """By the name of the CLI's family."""


@dataclass(frozen=True, slots=True)
class ElsewhereState:
    """Whether such a CLI has come."""

    clis: tuple[str, ...] = ()
    """The names of those that are connected."""
    refused: str = ""
    """What was wrong with a request since the offer, "host" or "token"; empty if none was refused."""


class ContextSource(Messages, Protocol):
    """What a window shows. An answer of None means that the window or the view is gone.

    Called on the companion thread; the answers come from the editor's UI thread.
    """

    async def window_state(self, window: int, question: ContextRequest) -> WindowState | None:
        """What a window shows."""
        ...

    async def selection(self, view: int, limit: int) -> Selection | None:
        """The caret and the selected text of a view; the first `limit` characters are enough."""
        ...
