"""Goes from change to change in a view: in a proposal, and in a file that is written already."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import sublime

from ...review.changes import counted, in_one
from ..buffers import edit, text_of
from ..keys import KEYS
from ..panels import say
from ..windows import put_caret, select
from .diff_marks import WORDS, change_regions
from .side_by_side import show_sideways

if TYPE_CHECKING:
    from ...review.changes import TextEdit


KEYS_STATUS = "zy_qwen_companion_keys"
"""Key of what the status bar says of the change at the caret."""
MANY_EDITS = 500
"""More edits than this are made as one: the editor takes a while for each."""
IN_PIECES = "Select the lines of a change without a gap."


def make_edits(proposal: sublime.View, edits: Sequence[TextEdit], *, moves_carets: bool) -> None:
    """Make edits of a proposal as one undo step. The carets may go where the edits can be undone."""
    is_one = len(edits) > MANY_EDITS
    made = [in_one(edits, text_of(proposal))] if is_one else edits
    edit(proposal, [(each.start, each.end, each.text) for each in reversed(made)])
    if moves_carets:
        carets = _carets_after(made, proposal.size())
        if is_one:  # as many carets would be as slow as the edits
            carets = [sublime.Region(made[0].start, carets[0].b)]
        select(proposal, *carets)


class MarkedChanges:
    """Goes from change to change in a view in which they are marked: a proposal, or a file that is written already."""

    def __init__(self, view: sublime.View, keys: Mapping[str, str]) -> None:
        """`keys` are what the status bar names with its key: its words, and the command."""
        self.view = view
        self._keys = keys

    @property
    def regions(self) -> list[sublime.Region]:
        """Where the changes are by now, from the top. A region is empty where lines are missing."""
        return change_regions(self.view)

    @property
    def _line(self) -> sublime.Region:
        return self.view.line(self.view.text_point(caret_row(self.view), 0))

    def at_caret(self, regions: Sequence[sublime.Region]) -> int | None:
        """The number of the change at the first caret, from 0; one without lines is at the line below it.

        `regions` are those of the changes.
        """
        line = self._line
        at = bisect_right(regions, line.end(), key=sublime.Region.begin) - 1
        return at if at >= 0 and line.begin() <= max(regions[at].end() - 1, regions[at].begin()) else None

    def further(self, step: Literal[1, -1]) -> int | None:
        """The number of the next or the previous change from the line of the first caret; None if there is none."""
        regions, line = self.regions, self._line
        if step > 0:
            return next((at for at, region in enumerate(regions) if region.begin() > line.end()), None)
        before = [at for at, region in enumerate(regions) if region.begin() < line.begin()]
        return before[-1] if before else None

    def go(self, step: Literal[1, -1], *, wraps: bool) -> bool:
        """Go to the next or the previous change from the caret. Returns whether there is one.

        With `wraps`, the first one from the other end comes after the last, which is said.
        """
        regions, at = self.regions, self.further(step)
        if at is None and wraps and regions:
            at = 0 if step > 0 else len(regions) - 1
            end = "top" if step > 0 else "bottom"
            say(self.view.window(), f"Change {at + 1} of {len(regions)}, from the {end} again")
        if at is not None:
            self.show(regions[at])
        return at is not None

    def go_to_end(self, step: int) -> None:
        """Go to the first change, or to the last one if the step is backwards."""
        if regions := self.regions:
            self.show(regions[0 if step > 0 else -1])

    def show(self, region: sublime.Region) -> None:
        """Put the caret at a change, in the middle of the screen."""
        put_caret(self.view, region.begin())
        if word := next((word for word in self.view.get_regions(WORDS) if region.contains(word)), None):
            show_sideways(self.view, word)

    def show_place(self) -> None:
        """Say in the status bar which change the caret is in, and the keys."""
        regions = self.regions
        at = self.at_caret(regions)
        place = counted(len(regions), "change") if at is None else f"Change {at + 1} of {len(regions)}"
        keys = [KEYS.after(words, command) for words, command in self._keys.items()]
        self.view.set_status(KEYS_STATUS, " · ".join([place, *keys] if regions else keys))


def rows_in(view: sublime.View, region: sublime.Region) -> tuple[int, int]:
    """The first and the last row of a region. The row after a selected line feed doesn't count."""
    first = view.rowcol(region.begin())[0]
    last, column = view.rowcol(region.end())
    return first, last - (column == 0 and last > first)


def caret_row(view: sublime.View) -> int:
    """The row of the first caret, which is the last one of a selection."""
    return rows_in(view, view.sel()[0])[1] if len(view.sel()) else 0


def pieces(rows: Iterable[int]) -> list[tuple[int, int]]:
    """The first and the last one of each run of rows, from the top."""
    known = set(rows)
    firsts = sorted(row for row in known if row - 1 not in known)
    lasts = sorted(row for row in known if row + 1 not in known)
    return list(zip(firsts, lasts, strict=True))


def _carets_after(edits: Sequence[TextEdit], size: int) -> list[sublime.Region]:
    """A caret at the end of each edit that was made in a text, which has this size now."""
    carets: list[sublime.Region] = []
    moved = 0
    for each in edits:
        caret = each.start + moved + len(each.text)
        if each.text.endswith("\n") and not (each.text == "\n" and caret == size):
            caret -= 1  # into the last inserted line
        carets.append(sublime.Region(caret))
        moved += len(each.text) - (each.end - each.start)
    return carets
