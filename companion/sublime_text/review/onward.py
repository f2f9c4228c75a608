"""What comes after a key has kept or undone changes: the next one of the file, then the next file.

The key has only begun it, and it may take a moment. Whoever has moved the caret, typed or gone elsewhere by then stays
there.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from typing import Literal

import sublime

from ...changes.rows import ChangeRow

Decision = Literal["keep", "undo"]
UNDER_WAY = 10.0
"""Seconds after which nobody waits for a decision any more: the folder may have been closed."""


class Onward:
    """What was decided by a key in a view. `rows` are the first and the last row of each change, from the top."""

    def __init__(
        self, view: sublime.View, what: Decision, keys: Collection[str], rows: Sequence[tuple[int, int]]
    ) -> None:
        self.view = view
        self.what: Decision = what
        self.path = view.file_name() or ""
        self.is_over = False
        """Whether the companion has done it, or refused to."""
        self._keys = frozenset(keys)
        self._began = time.monotonic()
        self._text = view.change_count()
        self._lines = view.rowcol(view.size())[0]
        self._carets = _carets(view)
        carets = [view.rowcol(end)[0] for caret in self._carets for end in caret]
        self._hull = min([*carets, rows[0][0]]), max([*carets, rows[-1][1]])
        self._last = rows[-1][0]
        self._is_one = len(rows) == 1
        self._is_file = False

    @classmethod
    def of_file(cls, view: sublime.View, what: Decision) -> Onward:
        """All changes of the file in a view."""
        onward = cls(view, what, (), [(0, view.rowcol(view.size())[0])])
        onward._is_file = True
        return onward

    @property
    def is_under_way(self) -> bool:
        """Whether it was not done yet."""
        return not self.is_over and time.monotonic() - self._began < UNDER_WAY

    def is_done(self, keys: Collection[str]) -> bool:
        """Whether nothing of it is among the changes of the file by now."""
        return self._keys.isdisjoint(keys)

    @property
    def row(self) -> int:
        """The row from which the next change is looked for."""
        return self._last + (0 if self._is_one else self._growth)

    @property
    def _growth(self) -> int:
        return self.view.rowcol(self.view.size())[0] - self._lines

    def stays(self, focused: sublime.View | None) -> bool:
        """Whether the person is where they were; `focused` is the view with the focus."""
        view = self.view
        if not view.is_valid():  # it was shown beside its baseline, which ends with the file's last change
            return focused is not None and focused.file_name() == self.path
        if focused != view:
            return False
        if self._is_file and self.what == "undo":
            return True  # it is loaded again, or gone from the disk
        if self.what == "keep":
            return view.change_count() == self._text and _carets(view) == self._carets
        # The edit that undoes it moves the carets in its lines.
        first, last = self._hull[0], self._hull[1] + max(self._growth, 0) + 1
        return not view.is_dirty() and all(first <= view.rowcol(caret[1])[0] <= last for caret in _carets(view))


def behind(rows: Sequence[ChangeRow], done: ChangeRow) -> int:
    """Where in a list a file was that waits no longer: the number of the row that has come into its place."""
    own = [at for at, row in enumerate(rows) if row.root == done.root]
    return next((at for at in own if rows[at].path > done.path), own[-1] + 1 if own else 0)


def _carets(view: sublime.View) -> list[tuple[int, int]]:
    return [(region.a, region.b) for region in view.sel()]
