"""Goes from change to change in a proposal, and makes edits of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import sublime

from ...review.changes import in_one
from ..buffers import edit
from ..panels import say
from ..windows import focus_view
from .diff_marks import WORDS, change_regions
from .side_by_side import show_sideways

if TYPE_CHECKING:
    from ...review.changes import TextEdit


KEYS_STATUS = "zy_qwen_companion_keys"
"""Key of what the status bar says of the change at the caret."""
MANY_EDITS = 500
"""More edits than this are made as one: the editor takes a while for each."""


def make_edits(proposal: sublime.View, edits: Sequence[TextEdit], *, moves_carets: bool) -> None:
    """Make edits of a proposal as one undo step. The carets may go where the edits can be undone."""
    is_one = len(edits) > MANY_EDITS
    made = [in_one(edits, proposal.substr(sublime.Region(0, proposal.size())))] if is_one else edits
    edit(proposal, [(each.start, each.end, each.text) for each in reversed(made)])
    if moves_carets:
        carets = _carets_after(made, proposal.size())
        if is_one:  # as many carets would be as slow as the edits
            carets = [sublime.Region(made[0].start, carets[0].b)]
        proposal.sel().clear()
        proposal.sel().add_all(carets)


def go_to_change(window: sublime.Window, proposal: sublime.View, step: Literal[1, -1], *, wraps: bool) -> bool:
    """Go to the next or the previous change from the caret. Returns whether there is one.

    With `wraps`, the first one from the other end comes after the last.
    """
    regions = change_regions(proposal)
    starts = [region.begin() for region in regions]
    caret = proposal.sel()[0].b if len(proposal.sel()) else 0
    further = [start for start in starts if (start - caret) * step > 0]
    if not further and not (wraps and starts):
        return False
    at = starts.index(min(further) if step > 0 else max(further)) if further else (0 if step > 0 else len(starts) - 1)
    focus_view(window, proposal)
    show_change(proposal, regions[at])
    if not further:
        wrapped = "from the top again" if step > 0 else "from the bottom again"
        say(window, f"Change {at + 1} of {len(starts)}, {wrapped}")
    return True


def show_change(proposal: sublime.View, region: sublime.Region) -> None:
    """Put the caret at a change, in the middle of the screen."""
    proposal.sel().clear()
    proposal.sel().add(region.begin())
    proposal.show_at_center(region.begin())
    if word := next((word for word in proposal.get_regions(WORDS) if region.contains(word)), None):
        show_sideways(proposal, word)


def no_change(window: sublime.Window) -> None:
    """Say that there is nothing to go to."""
    say(window, "There is no change.")


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
