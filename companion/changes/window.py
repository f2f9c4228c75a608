"""What is known of one window's changes."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace

from ..exclusion import Told
from .folder import Folder
from .places import is_in
from .port import Listing
from .rows import ChangeRow


class WindowChanges:
    """What is known of one window."""

    def __init__(self) -> None:
        self.clis: tuple[str, ...] = ()
        self.unasking: set[str] = set()
        """Those of them that change files without asking."""
        self.asking: set[str] = set()
        """Those that have proposed a change: what they write without a question, the person has allowed them."""
        self.turns: dict[tuple[int, str], str] = {}
        """The agents of the turns in which something may be written, by the chat and the turn's key."""
        self.own: tuple[str, ...] = ()
        """The real paths of its folders that may be reviewed."""
        self.refused: tuple[str, ...] = ()
        """Why some of its folders are not reviewed, a sentence for each."""
        self.folders: dict[str, Folder] = {}
        """The roots that have a part of those, or are below them, by their paths."""
        self.has_since = False
        """Whether its folders are compared with a commit, too."""
        self.done: list[tuple[ChangeRow, str]] = []
        self.listing = Listing()
        self.watching: asyncio.Task[object] | None = None
        self.beginning = asyncio.Lock()
        self.taking_back = asyncio.Lock()
        self.changed_at = 0.0
        self.turn_files: set[str] = set()
        """The files that have changed since the last turn was announced."""

    def sees(self, path: str) -> bool:
        """Whether a file, by its real path, is in a folder of the window."""
        return is_in(path, self.own)

    def shown(self, row: ChangeRow, told: Told) -> ChangeRow | None:
        """A row as the window lists it: without what its setting excludes; None for a file of another one's folders."""
        old = os.path.join(row.root, *row.renamed_from.split("/")) if row.renamed_from else row.full_path
        if not self.sees(row.full_path) or not self.sees(old):
            return None
        if row.kind == "excluded" or not any(told.leaves_out(path, self.own) for path in (row.full_path, old)):
            return row
        return replace(row, kind="excluded", note="changed, excluded", inserted=0, deleted=0, changes=1)

    @property
    def at_work(self) -> tuple[str, ...]:
        """The CLIs that are connected and the agents whose turns run."""
        return tuple(dict.fromkeys((*self.clis, *self.turns.values())))
