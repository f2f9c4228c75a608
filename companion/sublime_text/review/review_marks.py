"""The marks of the Review: the lines and words that are removed and new, their numbers and signs, a proposal's links.

Only what is in sight and around it has marks: a text of thousands of changes would have too many for the editor.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import sublime

from ...review.document import Block, Body, Kind, ListedFile
from ...review.marks import Points
from ..style import COLOURS, SIGN_COLOURS

if TYPE_CHECKING:
    from .decisions import ReviewDecisions

SIGNS = "qwen_companion.review.signs"
REMOVED, ADDED = "qwen_companion.review.removed", "qwen_companion.review.added"
DECIDED = "qwen_companion.review.decided"
"""Keys of the regions of lines. Those of words have the suffix `.words`."""
AROUND = 25
"""Lines above and below those in sight that have their marks."""
_LINES = sublime.RegionFlags.NO_UNDO | sublime.RegionFlags.DRAW_NO_OUTLINE | sublime.RegionFlags.DRAW_EMPTY
_OUTLINED = sublime.RegionFlags.NO_UNDO | sublime.RegionFlags.DRAW_NO_FILL | sublime.RegionFlags.DRAW_EMPTY
_BODY = '<body id="qwen-companion-review">{}</body>'.format
_LINKS = f"<style>{COLOURS} body {{ margin: 0; }} a {{ padding: 0 0 0 1rem; }}</style>"
# A colour for each and no style sheet: a sign has a hundred brothers, and each sheet takes the editor its time.
_SIGNS: dict[Kind, str] = {
    "context": "&nbsp;",
    "removed": f'<span style="color: {SIGN_COLOURS["removed"]}">-</span>',
    "added": f'<span style="color: {SIGN_COLOURS["added"]}">+</span>',
}


class PlacedBlock(NamedTuple):
    """A block, and where it begins."""

    block: Block
    row: int
    point: int


class ReviewMarks:
    """The marks in the view of a Review. `clicked` gets "accept" or "reject", a colon, and a proposal's number."""

    def __init__(self, view: sublime.View, decisions: ReviewDecisions, clicked: Callable[[str], None]) -> None:
        self._view = view
        self._decisions = decisions
        self._clicked = clicked
        self._phantoms = sublime.PhantomSet(view, SIGNS)
        self._rows = range(0)
        """Those that have their marks."""

    def cover(self, first: int, last: int) -> bool:
        """Whether these rows have their marks."""
        return first in self._rows and last in self._rows

    def erase(self) -> None:
        """Remove all of them."""
        self._phantoms.update([])
        for key in (REMOVED, ADDED):
            self._view.erase_regions(key)
            self._view.erase_regions(f"{key}.words")
        self._view.erase_regions(DECIDED)

    def draw(self, shown: Sequence[PlacedBlock], first: int, last: int) -> None:
        """Draw those of some rows, and of the ones around them, in these blocks."""
        rows = self._rows = range(max(first - AROUND, 0), last + AROUND + 1)
        found: defaultdict[str, list[sublime.Region]] = defaultdict(list)
        signs: list[sublime.Phantom] = []
        for each in shown:
            signs += self._links(each)
            if (body := each.block.body) is not None:
                # The numbers of a file's lines are as wide as the widest.
                lines = range(max(rows.start - each.row - 1, 0), min(rows.stop - each.row - 1, each.block.lines - 1))
                start = each.point + each.block.text.index("\n") + 1
                self._mark(found, each.block, body, lines, start)
                signs += _signs(each.block, body, lines, start)
        self._add(found)
        self._phantoms.update(signs)

    def _mark(
        self, found: defaultdict[str, list[sublime.Region]], block: Block, body: Body, lines: range, start: int
    ) -> None:
        under_way = self._decisions.under_way(block.file.key) if block.file else set[int]()
        for line in lines:
            kind = block.kind(line + 1)
            if kind in ("removed", "added"):
                key = DECIDED if body.owners[line] in under_way else REMOVED if kind == "removed" else ADDED
                region = sublime.Region(start + body.starts[line], start + body.starts[line + 1])
                found[key].append(region)
        if lines:
            first, last = body.starts[lines.start], body.starts[lines.stop]
            for key, words in ((REMOVED, body.removed_words), (ADDED, body.added_words)):
                found[f"{key}.words"] += _within(words, first, last, start)

    def _add(self, found: defaultdict[str, list[sublime.Region]]) -> None:
        for key, kind in ((REMOVED, "deleted"), (ADDED, "inserted")):
            # Without a background for it the scheme would paint whole lines in the colour of a diff's text.
            is_tinted = "background" in self._view.style_for_scope(f"diff.{kind}")
            line, word = (f"diff.{kind}", f"diff.{kind}.char") if is_tinted else (f"markup.{kind}", f"markup.{kind}")
            flags = _LINES if is_tinted else _OUTLINED
            self._view.add_regions(key, found[key], line, "dot", flags)
            self._view.add_regions(f"{key}.words", found[f"{key}.words"], word, "", flags)
        self._view.add_regions(DECIDED, found[DECIDED], "comment", "circle", _OUTLINED)

    def _links(self, shown: PlacedBlock) -> list[sublime.Phantom]:
        file = shown.block.file
        if file is None or file.key.back_end != "proposal":
            return []
        region = sublime.Region(shown.point + shown.block.text.index("\n"))
        return [sublime.Phantom(region, _answers(file), sublime.PhantomLayout.INLINE, self._clicked)]


def _answers(file: ListedFile) -> str:
    number = int(file.key.name)
    accept = f'<a class="accept" href="accept:{number}">✓ Accept</a>'
    reject = f'<a class="reject" href="reject:{number}">✗ Reject</a>'
    return _BODY(_LINKS + accept + reject)


def _signs(block: Block, body: Body, lines: range, start: int) -> Iterator[sublime.Phantom]:
    width = max(3, len(str(body.highest)))
    for line in lines:
        if sign := _SIGNS.get(block.kind(line + 1)):
            number = str(body.numbers[line]).rjust(width).replace(" ", "&nbsp;")
            html = f'<span style="color: {SIGN_COLOURS["number"]}">{number}</span>&nbsp;{sign}&nbsp;'
            region = sublime.Region(start + body.starts[line])
            yield sublime.Phantom(region, _BODY(html), sublime.PhantomLayout.INLINE)


def _within(words: Sequence[Points], first: int, last: int, start: int) -> Iterator[sublime.Region]:
    """The words between two points of a body that begins at `start`."""
    for at in range(bisect_left(words, (first, -1)), bisect_left(words, (last, -1))):
        yield sublime.Region(start + words[at][0], start + words[at][1])
