"""What a window's server needs from an editor and from its host, and the values that it gets. Standard library only."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from ..comments import Comment
from ..editor import Screen, ViewId, WindowId
from ..problems import ShownProblems
from ..settings import Settings

if TYPE_CHECKING:
    import asyncio


@dataclass(frozen=True, slots=True)
class ServedWindow:
    """A window to serve, and the port that it had before; 0 for none."""

    id: WindowId
    folders: tuple[str, ...]
    port: int = 0


@dataclass(frozen=True, slots=True)
class OpenFile:
    """A view of a window that shows a file, which need not exist on disk."""

    view: ViewId
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

    views: tuple[ViewId, ...]
    """Those whose files are wanted."""
    is_whole: bool
    """Whether to look at everything that no event reports reliably. If the views show few files, those of other tabs
    are wanted too."""
    selected: ViewId | None
    """The view whose selection is wanted."""
    limit: int
    """How many characters of its text are enough."""


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


class ServedWindows(Protocol):
    """What the windows show. An answer of None means that the window or the view is gone.

    Called on the companion thread; the answers come from the editor's UI thread.
    """

    async def window_state(self, window: WindowId, question: ContextRequest) -> WindowState | None:
        """What a window shows."""
        ...

    async def selection(self, view: ViewId, limit: int) -> Selection | None:
        """The caret and the selected text of a view; the first `limit` characters are enough."""
        ...

    def listening(self, window: WindowId, port: int) -> None:
        """A window is served on this port. It should have the same port after a reload or a restart."""
        ...


@dataclass(frozen=True, slots=True)
class Tab:
    """A tab of a window that shows a file."""

    path: str
    language: str = ""
    """The name of its syntax."""
    is_active: bool = False
    """Whether it had the focus last."""
    is_visible: bool = False
    has_unsaved_changes: bool = False


@dataclass(frozen=True, slots=True)
class Selected:
    """The selections of the tab that had the focus last."""

    path: str
    parts: tuple[tuple[Selection, Selection, bool], ...]
    """For each selection its start, which has the text, its end, and whether the text was cut."""


@dataclass(frozen=True, slots=True)
class SymbolQuestion:
    """What is to be looked up: a name, or the symbol at a place. The place counts from 1, in UTF-16 units."""

    name: str = ""
    path: str = ""
    line: int = 0
    character: int = 0
    wants_references: bool = False
    """Whether to find where it is used instead of where it is defined."""


@dataclass(frozen=True, slots=True, order=True)
class SymbolPlace:
    """Where a symbol is. The place counts from 1, in UTF-16 units."""

    path: str
    line: int
    character: int
    name: str = ""
    kind: str = ""
    """What it is, such as "function"; empty if nobody says."""
    container: str = ""
    """What it is in, such as the name of its class."""


@dataclass(frozen=True, slots=True)
class SymbolPlaces:
    """What was found, and by whom: "LSP" or "index", which is the editor's own."""

    provider: str
    places: tuple[SymbolPlace, ...]
    why_none: str = ""
    """A sentence, if it could not be looked up."""


class EditorTools(Protocol):
    """What the tools for agents ask an editor. An answer of None means that the window is gone.

    Called on the companion thread. Each raises TimeoutError if the editor or one of its packages is busy for too long.
    """

    async def shown_problems(self, window: WindowId, paths: Sequence[str] | None) -> ShownProblems | None:
        """The problems of some files of a window, or of all."""
        ...

    async def tabs(self, window: WindowId) -> Sequence[Tab] | None:
        """The tabs of a window that show files, in their order."""
        ...

    async def selected(self, window: WindowId, limit: int) -> Selected | None:
        """What the person has selected; `limit` is that of each text. None too if the tab has no file."""
        ...

    async def find_symbols(self, window: WindowId, question: SymbolQuestion) -> SymbolPlaces | None:
        """Where a symbol is defined or used."""
        ...

    async def show_place(self, window: WindowId, path: str, line: int) -> bool:
        """Show a line of a file, from 1, without taking the focus. Returns whether the file is shown."""
        ...

    async def point_out(self, window: WindowId, note: Comment) -> int | None:
        """Show a note of an agent, in the Review and at its lines.

        Returns how many there are then; 0 if there is no room for another one.
        """
        ...

    async def save_file(self, window: WindowId, path: str) -> bool:
        """Save a file that a tab shows. Returns whether it has no unsaved changes then."""
        ...


class WindowScreen(Screen, Protocol):
    """What a window's server needs of the screen."""

    @property
    def served(self) -> ServedWindows:
        """The windows."""
        ...

    @property
    def tools(self) -> EditorTools:
        """What the tools ask."""
        ...


class ServerHost(Protocol):
    """Who has the servers of all windows. Called on the companion thread."""

    @property
    def may_tell(self) -> asyncio.Event:
        """Set as soon as the settings are known, without which nothing of a file is told."""
        ...

    def settings_of(self, window: WindowId) -> Settings:
        """The settings of a window."""
        ...

    def folders_changed(self, window: WindowId) -> None:
        """A window has other folders, or they have been published."""
        ...

    def streams_changed(self) -> None:
        """The stream of a session has opened or closed."""
        ...
