"""What is known of one window's changes."""

from __future__ import annotations

import asyncio

from .folder import Folder
from .port import Listing
from .rows import ChangeRow


class WindowChanges:
    """What is known of one window."""

    def __init__(self) -> None:
        self.clis: tuple[str, ...] = ()
        self.unasking: set[str] = set()
        """Those of them that change files without asking."""
        self.turns: dict[tuple[int, str], str] = {}
        """The agents of the turns in which something may be written, by the chat and the turn's key."""
        self.folders: dict[str, Folder] = {}
        self.done: list[tuple[ChangeRow, str]] = []
        self.listing = Listing()
        self.watching: asyncio.Task[object] | None = None
        self.beginning = asyncio.Lock()
        self.changed_at = 0.0
        self.turn_files: set[str] = set()
        """The files that have changed since the last turn was announced."""

    @property
    def at_work(self) -> tuple[str, ...]:
        """The CLIs that are connected and the agents whose turns run."""
        return tuple(dict.fromkeys((*self.clis, *self.turns.values())))
