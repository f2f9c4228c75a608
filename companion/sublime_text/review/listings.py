"""What waits for a review in each window, file by file."""

from __future__ import annotations

import os
from collections.abc import Sequence

import sublime

from ...changes.port import Listing
from ...changes.rows import ChangeRow
from ..windows import is_code, real_path

IN_STATUS = 50
"""Files in the status report."""


class WrittenListings:
    """The listings of all windows. Used on the UI thread only."""

    def __init__(self) -> None:
        self._by_window: dict[int, Listing] = {}
        self._viewed: set[tuple[str, str]] = set()
        """The files that had the focus, with what was on the disk then."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing was ever listed."""
        return not self._by_window

    def set(self, window: sublime.Window, listing: Listing) -> None:
        """What waits in a window has changed."""
        self._by_window[window.id()] = listing

    def forget(self, window: sublime.Window) -> None:
        """A window closes."""
        self._by_window.pop(window.id(), None)

    def of(self, window: sublime.Window | None) -> Listing:
        """What waits in a window."""
        return self._by_window.get(window.id(), Listing()) if window else Listing()

    def _state(self, row: ChangeRow) -> str:
        if self.was_viewed(row):
            return "viewed"
        return "new" if row.is_new else "waits"

    def was_viewed(self, row: ChangeRow) -> bool:
        """Whether a file had the focus as it is on the disk now."""
        return (row.full_path, row.after) in self._viewed

    def is_first_view(self, row: ChangeRow) -> bool:
        """A file got the focus: whether it had not before, as it is on the disk now."""
        seen = row.full_path, row.after
        is_first = seen not in self._viewed
        self._viewed.add(seen)
        return is_first

    def row_in(self, view: sublime.View) -> ChangeRow | None:
        """The row of the file in a tab of the person's own."""
        name, rows = view.file_name(), self.of(view.window()).rows
        return _row_at(rows, name) if name and rows and is_code(view) else None

    def row_of(self, window: sublime.Window, path: str) -> ChangeRow | None:
        """The row of a file, by its absolute path, by the one in the list, or by the one that it had before."""
        rows = self.of(window).rows
        known = next((row for row in rows if path in {row.full_path, row.path}), None)
        known = known or (_row_at(rows, path) if os.path.isabs(path) else None)
        return known or next((row for row in rows if path in _old_paths(row)), None)

    def done_of(self, window: sublime.Window, path: str) -> ChangeRow | None:
        """The row of a file of which nothing waits any more, by a path that leads to it."""
        real = real_path(path)
        return next((row for row, _ in reversed(self.of(window).done) if row.full_path == real), None)

    def agent_of(self, view: sublime.View) -> str:
        """Who has written the changes that wait in a view's file; empty if nobody has, or several."""
        row = self.row_in(view)
        return row.agents[0] if row and len(row.agents) == 1 else ""

    def facts(self, window: sublime.Window) -> tuple[str, ...]:
        """What waits in a window, a line for each file, for the status report."""
        rows = self.of(window).rows
        lines = [
            f"{row.path}: {row.kind}, +{row.inserted} −{row.deleted}, "
            f"{', '.join(row.agents) or 'changed outside'}, {self._state(row)}"
            for row in rows[:IN_STATUS]
        ]
        return (*lines, *([f"and {len(rows) - IN_STATUS} more"] if len(rows) > IN_STATUS else []))


def _row_at(rows: Sequence[ChangeRow], name: str) -> ChangeRow | None:
    """The row of a file by its absolute path; a link has its own, else it is its target."""
    by_path = {row.full_path: row for row in rows}
    own = os.path.join(real_path(os.path.dirname(name)), os.path.basename(name))
    return by_path.get(own) or by_path.get(real_path(name))


def _old_paths(row: ChangeRow) -> tuple[str, ...]:
    old = row.renamed_from
    return (old, os.path.join(row.root, *old.split("/"))) if old else ()
