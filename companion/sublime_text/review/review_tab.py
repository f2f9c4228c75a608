"""The Review's tab in one window: its text, its marks, its caret, and what its keys do.

Only what is in sight and around it has marks: a text of thousands of changes would have too many for the editor.
"""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import accumulate
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

import sublime

from ...changes.state import Decision, Lines
from ...chats.transcript.plain import flat
from ...review.document import (
    ADDED_KIND,
    CONTEXT_KIND,
    REMOVED_KIND,
    Arrangement,
    Block,
    Body,
    FileKey,
    ListedFile,
    ReviewTurn,
    arranged,
    is_open,
    to_come,
)
from ...review.marks import moved
from ..buffers import Edit, edit, smallest_edit, text_of
from ..chat import vim
from ..keys import KEYS
from ..minihtml import ACCEPTS, COLOURS, REJECTS, SIGN_COLOURS
from ..own_views import VIEWS
from ..panels import say
from ..windows import Focus, is_chat, is_in_front, is_terminal, is_visible, select
from .answers import JUST_APPEARED, LONGEST_NAME, SETTLED
from .diff_marks import OUTLINED, Kind, add_lines, add_words, caret_row, pieces, rows_in, selected_rows, words_between
from .feed import ReviewFeed
from .header import show_reason

if TYPE_CHECKING:
    from ..adapter import Adapter
    from .diff_view import DiffView

SIGNS = "qwen_companion.review.signs"
REMOVED, ADDED = "qwen_companion.review.removed", "qwen_companion.review.added"
DECIDED = "qwen_companion.review.decided"
"""Keys of the regions of lines. Those of words have the suffix `.words`."""
AROUND = 25
"""Lines above and below those in sight that have their marks."""
_BODY = '<body id="qwen-companion-review">{}</body>'.format
_LINKS = f"<style>{COLOURS} body {{ margin: 0; }} a {{ padding: 0 0 0 1rem; }}</style>"
# A colour for each and no style sheet: a sign has a hundred brothers, and each sheet takes the editor its time.
_SIGNS = {
    CONTEXT_KIND: "&nbsp;",
    REMOVED_KIND: f'<span style="color: {SIGN_COLOURS["removed"]}">-</span>',
    ADDED_KIND: f'<span style="color: {SIGN_COLOURS["added"]}">+</span>',
}
SYNTAX = "Packages/QwenCompanion/QwenCompanion Review.sublime-syntax"
_SETTINGS = {
    "word_wrap": False,
    "line_numbers": False,
    "fold_buttons": False,
    "draw_unicode_white_space": "none",
    "draw_white_space": [],
    "draw_indent_guides": False,
    "highlight_line": True,
    "rulers": [],
    "spell_check": False,
    "mini_diff": False,
    "scroll_past_end": True,
    "detect_indentation": False,
    "tab_completion": False,
    "auto_complete": False,
}
CARET = "caret"
"""What the view's record has for the next instance of the package, besides `ReviewFeed.kept`."""
FIRST = 300
"""Lines that are filled at first."""
MORE = 1_000
"""Lines that are filled at once when one comes near the end of what is filled."""
NEAR = 400
"""Lines from that end that are near."""
TICK = 100
"""Milliseconds between two looks at what is in sight, while the tab is on the screen: the editor tells of no scroll."""
_COMMANDS = {
    "next": ("review_go", {"to": "change"}),
    "previous": ("review_go", {"to": "change", "back": True}),
    "next file": ("review_go", {"to": "file"}),
    "previous file": ("review_go", {"to": "file", "back": True}),
    "keep": ("review_decide", {"what": "keep"}),
    "undo": ("review_decide", {"what": "undo"}),
    "keep file": ("review_decide", {"what": "keep", "file": True}),
    "undo file": ("review_decide", {"what": "undo", "file": True}),
    "take back": ("take_back", {}),
    "open": ("review_do", {"what": "open"}),
    "side by side": ("review_do", {"what": "beside"}),
    "comment": ("review_do", {"what": "comment"}),
    "dismiss note": ("review_do", {"what": "dismiss"}),
    "fold": ("review_do", {"what": "fold"}),
    "filter": ("review_do", {"what": "filter"}),
    "accept": ("review_decide", {"what": "accept"}),
    "reject": ("review_decide", {"what": "reject"}),
}
"""What the last lines name, in their order, with the command and its arguments."""
NO_CHANGE = "There is no change at the caret."
ACROSS = "Select lines of one file."
ANSWERED = "{} waits no longer."
ONE_BY_ONE = "Accept or reject each proposal; the palette has Reject All Diffs."
_FIRST = ("next", "keep", "undo", "open")
"""What the first line names, too."""
AGAIN = "A later prompt has changed all files of this turn again: they are under that one."
_WIDE = 80
"""Characters of a line that names keys."""
What = Literal["change", "file", "turn"]


class PlacedBlock(NamedTuple):
    """A block, and where it begins."""

    block: Block
    row: int
    point: int


class ReviewMarks:
    """The marks in the view of a Review. `clicked` gets "accept", "reject" or "reason", and a proposal's number."""

    def __init__(self, view: sublime.View, feed: ReviewFeed, clicked: Callable[[str], None]) -> None:
        self._view = view
        self._feed = feed
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
                signs += _signs(body, lines, start)
        self._add(found)
        self._phantoms.update(signs)

    def _mark(
        self, found: defaultdict[str, list[sublime.Region]], block: Block, body: Body, lines: range, start: int
    ) -> None:
        decided = self._feed.decided(block.file.key, body) if block.file else set[int]()
        for line in lines:
            kind = body.kinds[line]
            if kind in (REMOVED_KIND, ADDED_KIND):
                key = DECIDED if body.owners[line] in decided else REMOVED if kind == REMOVED_KIND else ADDED
                region = sublime.Region(start + body.starts[line], start + body.starts[line + 1])
                found[key].append(region)
        if lines:
            first, last = body.starts[lines.start], body.starts[lines.stop]
            for key, words in ((REMOVED, body.removed_words), (ADDED, body.added_words)):
                in_sight = moved(words_between(words, first, last), start)
                found[f"{key}.words"] += [sublime.Region(*word) for word in in_sight]

    def _add(self, found: defaultdict[str, list[sublime.Region]]) -> None:
        kinds: tuple[tuple[str, Kind], ...] = ((REMOVED, "deleted"), (ADDED, "inserted"))
        for key, kind in kinds:
            add_lines(self._view, key, kind, found[key])
            add_words(self._view, f"{key}.words", kind, found[f"{key}.words"])
        self._view.add_regions(DECIDED, found[DECIDED], "comment", "circle", OUTLINED)

    def _links(self, shown: PlacedBlock) -> list[sublime.Phantom]:
        file = shown.block.file
        if file is None or file.key.back_end != "proposal":
            return []
        region = sublime.Region(shown.point + shown.block.text.index("\n"))
        return [sublime.Phantom(region, _answers(file), sublime.PhantomLayout.INLINE, self._clicked)]


def _answers(file: ListedFile) -> str:
    number = int(file.key.name)
    accept = f'<a class="accept" href="accept:{number}">{ACCEPTS} Accept</a>'
    reject = f'<a class="reject" href="reject:{number}">{REJECTS} Reject</a>'
    reason = f'<a href="reason:{number}">why</a>' if file.reason else ""
    return _BODY(_LINKS + accept + reject + reason)


def _signs(body: Body, lines: range, start: int) -> Iterator[sublime.Phantom]:
    width = max(3, len(str(body.highest)))
    for line in lines:
        if sign := _SIGNS.get(body.kinds[line]):
            number = str(body.numbers[line]).rjust(width).replace(" ", "&nbsp;")
            html = f'<span style="color: {SIGN_COLOURS["number"]}">{number}</span>&nbsp;{sign}&nbsp;'
            region = sublime.Region(start + body.starts[line])
            yield sublime.Phantom(region, _BODY(html), sublime.PhantomLayout.INLINE)


class _Place(NamedTuple):
    """Where the caret is, told by what is there: lines move."""

    key: Hashable
    line: int
    """In the block."""
    column: int
    at: int = 0
    """The number of the block."""
    change: int = -1
    ident: tuple[str, ...] = ()
    y: float | None = None
    """Where it is in sight, in pixels, if that is known."""


class ReviewTab:
    """The Review of one window."""

    def __init__(self, adapter: Adapter, view: sublime.View, feed: ReviewFeed) -> None:
        self._adapter = adapter
        self.view = view
        self.feed = feed
        self._decisions = feed.decisions
        before = text_of(view)
        self._blocks = [Block("before", before, "M" * (before.count("\n") + 1))]
        self._rows: list[int] = [0, self._blocks[0].lines]
        """The first row of each block, and the row after the last."""
        self._points: list[int] = [0, len(before)]
        self._arrangement = Arrangement([], None, is_whole=False)
        self._folded: set[FileKey] = set()
        self._limit = FIRST
        self.wanted = ""
        """What is filtered by."""
        self._goes: Callable[[], bool] | None = None
        """Where the person is on their way to, until it is filled. Returns whether it is there."""
        self._marks = ReviewMarks(view, feed, self._clicked)
        self._is_polling = False
        self._in_sight: tuple[float, ...] = ()
        """The first and the last row there, and how far it is scrolled to the right."""
        self._since = 0.0
        self._seen: dict[FileKey, tuple[str, set[int]]] = {}
        """The lines of the blocks of proposals that were in front of the person, by the version."""
        self._proposed: dict[FileKey, str] | None = None
        """The proposals that are shown, with their versions; None before the first ones."""
        self._came = 0.0
        """When one of those came or went, by the monotonic clock; 0 if the person has moved since."""
        self._is_first = True
        """Whether the person was not led to the first change yet."""
        self._is_released = False
        self._record = VIEWS.take(view, feed.kind)
        feed.resume(self._record)
        self._left = _left_at(self._record.get(CARET))
        """Where the caret was before its lines went away, until they are there again or the person goes elsewhere."""
        self._caret = [*view.sel()]
        """Where the Review itself has put the caret, or left it."""
        view.set_name(feed.title)
        view.set_scratch(True)
        view.set_read_only(True)
        view.assign_syntax(SYNTAX)
        _set_up(view)

    @property
    def is_open(self) -> bool:
        """Whether its tab is there."""
        return not self._is_released and self.view.is_valid() and VIEWS.is_ours(self.view, self.feed.kind)

    def close(self) -> None:
        """The package is unloaded, and the next instance goes on with the view."""
        if self.is_open:
            if place := self._belongs():
                self._record.keep(**{CARET: [place.key, place.line, place.column]})
            self._marks.erase()
        self._is_released = True

    def release(self) -> None:
        """The person has saved it as a file, in which nothing looks like a Review, in no tab of it."""
        self._marks.erase()
        for view in (self.view, *self.view.clones()):
            for name in _SETTINGS:
                view.settings().erase(name)
            vim.leave_on(view)

    def go_on_in(self, view: sublime.View) -> None:
        """The person has gone to a clone: it is the one with the marks now, and its carets count.

        What they were on their way to was for the other view, and what came to the caret there has come here just now.
        """
        if view != self.view:
            self._marks.erase()
            self.view, self._marks = view, ReviewMarks(view, self.feed, self._clicked)
            _set_up(view)
            self._caret, self._left, self._goes = [*view.sel()], None, None
            self._is_first, self._in_sight = False, ()

    # Showing

    def draw(self) -> None:
        """Show what the feed has."""
        if not self.is_open:
            return
        self._record.keep(**self.feed.kept)
        self._draw()
        missing = self._arrangement.missing
        keys = to_come(self.feed.turns or (), self._folded, missing) if missing else []  # and what comes after it
        shown = [block.file.key for block in self._blocks if block.file and block.body]
        self.feed.want([*keys, *shown])
        if self._goes and self._goes():
            self._goes = None
        self.wake()

    def _draw(self) -> None:
        turns = self.feed.turns
        keys, hint = key_hints()
        empty = "Looking…" if turns is None else self.feed.unsure or "Nothing waits for a review."
        self._arrangement = arranged(
            turns or (),
            self.feed.bodies,
            folded=self._folded,
            wanted=self.wanted,
            limit=self._limit,
            notes=self.feed.notes,
            ended=self.feed.ended if turns is not None else (),
            empty=empty,
            keys=keys,
            hint=hint,
        )
        blocks = self._arrangement.blocks
        edits = _edits(self._blocks, self._points, blocks)
        place = self._belongs()
        self._blocks = blocks
        if edits:
            edit(self.view, edits)
            self.view.clear_undo_stack()
        self._rows = list(accumulate((block.lines for block in blocks), initial=0))
        self._points = list(accumulate((len(block.text) for block in blocks), initial=0))
        if place and (edits or self._left):
            self._put_back(place)
        if self._is_first and (self._left is None or (self._arrangement.is_whole and self.feed.is_settled)):
            select(self.view, 0)
            self._go("change", 1)
        self._caret = [*self.view.sel()]
        self._note_proposals()
        self._decorate(anew=True)

    def _note_proposals(self) -> None:
        """Where a proposal has come or gone, the second begins anew: other lines are in front of the person now."""
        if self.feed.turns is None:
            return
        proposed = {
            file.key: file.version for turn in self.feed.turns for file in turn.files if file.key.back_end == "proposal"
        }
        known, self._proposed = self._proposed, proposed
        if known is None or known == proposed:
            return
        self._in_sight = ()
        if known.keys() != proposed.keys():
            self._came = time.monotonic()

    def _belongs(self) -> _Place | None:
        """Where the caret is, or was before its lines went away; None if it has yet to be led to a change."""
        self._note_move()
        return self._left or (None if self._is_first else self._place())

    def _note_move(self) -> None:
        """If the person has moved the caret, nothing else does until they press a key again."""
        if self._caret != (carets := [*self.view.sel()]):
            self._caret, self._goes = carets, None
            self._left, self._is_first, self._came = None, False, 0.0

    def _place(self) -> _Place | None:
        if not self._blocks or not len(self.view.sel()):
            return None
        row, column = caret_row(self.view), self.view.rowcol(self.view.sel()[0].b)[1]
        at = self._at_row(row)
        block, line = self._blocks[at], row - self._rows[at]
        y = self.view.text_to_layout(self.view.text_point(row, column))[1] - self.view.viewport_position()[1]
        if block.body and block.body.changes and line:
            change = block.body.change_at(line - 1)
            return _Place(block.key, line, column, at, change, block.body.ident(change), y)
        return _Place(block.key, line, column, at, y=y)

    def _put_back(self, place: _Place) -> None:
        """Put the caret where it was, and keep that where it is in sight.

        If its lines are gone, it goes to what has come there; if they may come again, it waits for them.
        """
        at = next((at for at, block in enumerate(self._blocks) if block.key == place.key), None)
        is_cut = at is None or (place.line >= self._blocks[at].lines and place.key == self._arrangement.missing)
        if is_cut and (self._is_first or not self._arrangement.is_whole):
            has_waited, self._left = self._left is not None, place
            if has_waited:
                return
        else:
            self._left, self._is_first = None, False
        if at is None:
            at = min(place.at, len(self._blocks) - 1)
            start, column = self._rows[at] + next(iter(self._stops(at)), 0), 0
            rows = range(start, start + 1)
        else:
            rows, column = self._rows_of(at, place), place.column
        carets = [*self.view.sel()]
        if len(carets) == 1 and all(row in rows for row in rows_in(self.view, carets[0])):
            row = caret_row(self.view)  # the editor has moved the caret, or what is selected, with its lines
        else:
            row = rows.start
            select(self.view, self.view.text_point(row, column))
        if place.y is None:
            self._reveal(row)
            return
        x, y = self.view.viewport_position()
        extent = self.view.viewport_extent()[1]
        moved = self.view.text_to_layout(self.view.text_point(row, column))[1] - y - place.y
        if moved and 0 <= place.y <= extent:
            self.view.set_viewport_position((x, max(0.0, y + moved)), animate=False)

    def _rows_of(self, at: int, place: _Place) -> range:
        """Where a place is in a block now: the rows of its change, or the one that has come there."""
        body, row, last = self._blocks[at].body, self._rows[at], self._rows[at + 1] - 1
        if body is None or not body.changes or not place.ident:
            start = min(row + place.line, last)
            return range(start, start + 1)
        change = body.nearest(place.ident, place.change)
        start = min(row + 1 + body.firsts[change], last)
        return range(start, start + (len(place.ident) if body.ident(change) == place.ident else 1))

    def _visible_rows(self) -> tuple[int, int]:
        visible = self.view.visible_region()
        return self.view.rowcol(visible.begin())[0], self.view.rowcol(visible.end())[0]

    def _decorate(self, *, anew: bool = False) -> None:
        """Draw the marks of the lines in sight, and of those around them."""
        first, last = self._visible_rows()
        if anew or not self._marks.cover(first, last):
            shown = [
                PlacedBlock(self._blocks[at], self._rows[at], self._points[at])
                for at in self._between(first - AROUND, last + AROUND)
            ]
            self._marks.draw(shown, first, last)

    def _clicked(self, href: str) -> None:
        what, _, number = href.partition(":")
        key = FileKey("proposal", "", number)
        if what != "reason":
            self.answer(key, what)
        elif diff := self.feed.proposals.get(key):
            show_reason(self.view, diff.review)

    def _between(self, first: int, last: int) -> range:
        """The numbers of the blocks that have some rows."""
        start = bisect_right(self._rows, first) - 1
        return range(max(start, 0), min(bisect_right(self._rows, last), len(self._blocks)))

    def _at_row(self, row: int) -> int:
        """The number of the block that has a row."""
        return min(max(bisect_right(self._rows, row) - 1, 0), len(self._blocks) - 1)

    # What is in sight

    def wake(self) -> None:
        """The tab may be on the screen."""
        if not self._is_polling and self.is_open and is_visible(self.view):
            self._is_polling = True
            sublime.set_timeout(self._tick, TICK)

    def _tick(self) -> None:
        self._is_polling = False
        if not self.is_open or not is_visible(self.view):
            return
        first, last = self._visible_rows()
        if not self._arrangement.is_whole and last + NEAR > self._rows[-1] >= self._limit:
            self._limit = self._rows[-1] + MORE
            self.draw()
        self._decorate()
        self._look(first, last)
        self._is_polling = True
        sublime.set_timeout(self._tick, TICK)

    def _look(self, first: int, last: int) -> None:
        """Take note of what has been in front of the person for a second."""
        window = self.view.window()
        is_there = window is not None and is_in_front(window) and self._adapter.focus.last(window) == self.view
        now, in_sight = time.monotonic(), (first, last, self.view.viewport_position()[0])
        if not is_there or in_sight != self._in_sight:
            self._in_sight, self._since = in_sight if is_there else (), now
            return
        if now - self._since < SETTLED:
            return
        found = [self._blocks[at].file for at in self._between(first, last) if self._sees(at, first, last)]
        for file in filter(None, found):
            self.feed.proposals[file.key].attention.entered()
            self._seen.pop(file.key)
        if found:
            self.feed.look()
            self.draw()

    def _sees(self, at: int, first: int, last: int) -> bool:
        """Note the lines of a block that are in sight. Returns whether all changes of its proposal were, just now."""
        file, row = self._blocks[at].file, self._rows[at]
        diff = self.feed.proposals.get(file.key) if file else None
        if diff is None or file is None or diff.attention.is_seen or not self.feed.is_current(file.key, file.version):
            return False
        version, seen = self._seen.get(file.key, ("", set[int]()))
        lines = self._in_width(at, range(max(first - row, 0), min(last - row + 1, self._blocks[at].lines)))
        seen = lines if version != file.version else seen | lines
        self._seen[file.key] = file.version, seen
        wanted = self._lines_to_see(at)
        return bool(wanted) and all(line in seen for line in wanted)

    def _in_width(self, at: int, lines: range) -> set[int]:
        """Those lines of a block of which nothing that differs is out of sight to the right or to the left."""
        block, left, width = self._blocks[at], self.view.viewport_position()[0], self.view.viewport_extent()[0]
        found = {*lines}
        if body := block.body:
            start = self._points[at] + block.text.index("\n") + 1
            for line in found & {*range(1, body.lines + 1)}:
                if body.owners[line - 1] >= 0:
                    ends = (self.view.text_to_layout(start + point)[0] for point in _ends(body, line - 1))
                    if not all(left <= x <= left + width for x in ends):
                        found.discard(line)
        return found

    def _lines_to_see(self, at: int) -> Sequence[int]:
        """The lines of a block that show all of a proposal; none where they can't be shown, or are to be filled."""
        block = self._blocks[at]
        if (body := block.body) is None or not body.changes or block.lines <= body.lines:
            return ()
        # The first one says what the changes don't show.
        return [0, *(line + 1 for change in range(len(body.changes)) for line in body.lines_of(change))]

    # Moving

    def _stops(self, at: int, line: int = -1, *, back: bool = False) -> Iterator[int]:
        """The lines of a block at which something is to be decided, from below a line, or from above it backwards."""
        block = self._blocks[at]
        if block.file is None or self._decisions.is_whole(block.file.key):
            return
        if block.body is None or not block.body.changes or not block.file.has_parts:
            is_missing = block.body is None and is_open(block.file, self._folded)
            if not is_missing and (line > 0 if back else line < 0):
                yield 0
            return
        under_way, firsts = self._decisions.under_way(block.file.key, block.body), block.body.firsts
        below = range(bisect_right(firsts, line - 1), len(firsts))
        for change in range(bisect_left(firsts, line - 1) - 1, -1, -1) if back else below:
            if change not in under_way and 1 + firsts[change] < block.lines:
                yield 1 + firsts[change]

    def go(self, what: What, step: Literal[1, -1]) -> None:
        """Go to the next or the previous change, the first one of a file, or the heading of a turn.

        It may have to be filled first.
        """
        self._note_move()
        self._goes = None
        if not self._go(what, step):
            if step > 0 and not self._arrangement.is_whole:
                self._goes = lambda: self._go(what, step) or self._fill()
                self._fill()
                self.draw()
            else:
                self._say("No other change waits in this direction.")

    def _fill(self) -> bool:
        if not self._arrangement.missing and not self._arrangement.is_whole:
            self._limit = self._rows[-1] + MORE
            sublime.set_timeout(self.draw)
        return self._arrangement.is_whole

    def _go(self, what: What, step: Literal[1, -1]) -> bool:
        row = caret_row(self.view)
        here = self._at_row(row)
        blocks = range(here, len(self._blocks)) if step > 0 else range(here, -1, -1)
        for at in blocks:
            line = row - self._rows[at]
            if what == "change":
                found = next(self._stops(at, line, back=step < 0), None)
            elif what == "turn":
                key = self._blocks[at].key
                found = 0 if isinstance(key, tuple) and key[0] == "turn" else None
            else:
                found = next(self._stops(at), None) if at != here or step < 0 else None
            if found is not None and (found - line) * step > 0:
                self._show(self._rows[at] + found)
                return True
        return False

    def _show(self, row: int, column: int = 0) -> None:
        self._left, self._is_first = None, False
        select(self.view, self.view.text_point(row, column))
        self._reveal(row)
        self._decorate()

    def _reveal(self, row: int) -> None:
        first, last = self._visible_rows()
        if not first + 1 <= row <= last - 5:
            self.view.show_at_center(self.view.text_point(row, 0), animate=False)

    # Deciding

    def here(self) -> tuple[Block, int]:
        """The block of the caret, and the line in it."""
        row = caret_row(self.view)
        at = self._at_row(row)
        return self._blocks[at], row - self._rows[at]

    @property
    def _is_across(self) -> bool:
        """Whether more is selected than is of one file, or of one heading: nobody knows what is meant."""
        rows = {row for region in self.view.sel() for row in rows_in(self.view, region)}
        return len({self._at_row(row) for row in rows}) > 1

    @property
    def proposal(self) -> DiffView | None:
        """The proposal at the caret."""
        file = self.here()[0].file
        return self.feed.proposals.get(file.key) if file else None

    @property
    def turn(self) -> ReviewTurn | None:
        """The turn under whose heading the caret is."""
        block, _ = self.here()
        turns = self.feed.turns or ()
        if block.file:
            return next((turn for turn in turns if block.file.key in [file.key for file in turn.files]), None)
        return next((turn for turn in turns if ("turn", turn.key) == block.key), None)

    def lines_in_file(self) -> tuple[str, list[int]] | None:
        """The written file at the caret, by its absolute path, and the lines of the change that it has now, from 0."""
        block, line = self.here()
        row = self.feed.rows.get(block.file.key) if block.file else None
        if row is None or (body := block.body) is None or not line:
            return None
        change = body.owners[line - 1]
        lines = body.lines_of(change) if change >= 0 else [line - 1]
        shown = (at for at in lines if at + 1 < block.lines)  # the rest of it may be filled later
        found = [body.numbers[at] - 1 for at in shown if body.kinds[at] in (ADDED_KIND, CONTEXT_KIND)]
        return (row.full_path, found) if found else None

    def decide(self, what: Decision, *, is_file: bool = False) -> None:
        """Keep or undo what is at the caret: a change, or the selected lines of it, or all under a heading."""
        block, line = self.here()
        if self._is_across:
            self._say(ACROSS)
            return
        if block.file is None:
            self._decide_group(block, what)
            return
        is_proposed = block.file.key.back_end == "proposal"
        if what == "keep" and (is_proposed or self.feed.kind != "review"):  # there it decides nothing
            self.go("file" if is_file or not line else "change", 1)
            return
        if is_proposed:
            self._undo_in_proposal(block, block.file, line, is_file=is_file)
            return
        is_some = block.file.kind == "created" and not all(region.empty() for region in self.view.sel())
        if is_file or line == 0 or not (block.file.has_parts or is_some) or block.body is None:
            if self._decisions.decide_files([(block.file, block.body)], what):
                self._after("file")
        elif not (selected := self._selected(block.body, block)):
            self._say(NO_CHANGE)
        elif (found := self._chosen(block.body, selected)) and self._decisions.decide(
            block.file, block.body, what, found
        ):
            self._after("change")

    def _after(self, what: What) -> None:
        """Something is decided: go on to the next one."""
        if not self._go(what, 1):
            if self._arrangement.is_whole:
                self._go("change", -1)
            else:
                self.go(what, 1)
        self._decorate(anew=True)

    def _decide_group(self, block: Block, what: Decision) -> None:
        if block.key != "title" or self.feed.kind != "review":
            self.decide_turn(what)
        else:
            self._decide_turns(self.feed.turns or (), what)

    def decide_turn(self, what: Decision) -> None:
        """Keep or undo all written changes under the heading of the turn in which the caret is."""
        turn = self.turn
        if self.feed.kind != "review":
            self._say("Here each file is undone by itself.")
            return
        if turn and not turn.files:
            self._say(AGAIN)
            return
        self._decide_turns([turn] if turn else [], what)

    def _decide_turns(self, turns: Sequence[ReviewTurn], what: Decision) -> None:
        """Keep or undo the written files of some turns that the filter shows. Proposals wait for their own answers."""
        words = self.wanted.casefold().split()
        files = [file for turn in turns for file in turn.files if file.matches(words)]
        written = [file for file in files if file.key.back_end == "written"]
        if not files:
            self._say(NO_CHANGE)
        elif len(written) < len(files) and what == "undo":
            self._say(ONE_BY_ONE)
        shown = {block.key: block.body for block in self._blocks}
        is_decided = self._decisions.decide_files([(file, shown.get(file.key)) for file in written], what)
        if is_decided:
            self._after("file")
        elif files and not written and what == "keep":
            self.go("file", 1)

    def _undo_in_proposal(self, block: Block, file: ListedFile, line: int, *, is_file: bool) -> None:
        diff = self.feed.proposals.get(file.key)
        if diff is None:
            self._say(ANSWERED.format(flat(file.path, LONGEST_NAME)))
        elif is_file or not line or block.body is None:
            self._say("A proposal is answered as a whole: Accept or Reject.")
        elif chosen := self._selected(block.body, block):
            self._adapter.diffs.open_behind(diff)
            diff.actions.follow("revert", *(block.body.changes[change][4] for change in chosen))
        else:
            self._say(NO_CHANGE)

    def _selected(self, body: Body, block: Block) -> dict[int, set[int]]:
        """The lines of a block's body at the carets and selections, by the changes that they belong to, from the top.

        A caret means all lines of its change.
        """
        row = self._rows[self._blocks.index(block)] + 1
        under_way = self._decisions.under_way(block.file.key, body) if block.file else set[int]()
        lines = (body.lines_of(change) for change in range(len(body.changes)))
        found = selected_rows(self.view, [range(row + each.start, row + each.stop) for each in lines])
        return {change: {at - row for at in rows} for change, rows in found.items() if change not in under_way}

    def _chosen(self, body: Body, selected: Mapping[int, Collection[int]]) -> list[tuple[int, Lines]]:
        """These changes of a body, with the file's lines if only some are selected. What can't be decided is said."""
        found: list[tuple[int, Lines]] = []
        for change, lines in selected.items():
            added = [body.numbers[at] - 1 for at in lines if body.kinds[at] == ADDED_KIND]
            if len(lines) == len(body.lines_of(change)):
                found.append((change, None))
            elif added:
                found += [(change, piece) for piece in pieces(added)]
            else:
                self._say("Removed lines are decided with the new ones: select those.")
        return found

    def answer_here(self, what: str) -> None:
        """Accept or reject the proposal at the caret."""
        block, _ = self.here()
        if self._is_across:
            self._say(ACROSS)
        elif block.file and block.file.key.back_end == "proposal":
            self.answer(block.file.key, what)
        else:
            self._say("Go to a proposal to answer it.")

    def answer(self, key: FileKey, what: str) -> None:
        """Accept or reject a proposal."""
        diff = self.feed.proposals.get(key)
        if diff is None:
            self._say(ANSWERED.format("This proposal"))
            return
        # The second of waiting is for what has come by itself: the person has gone to it here.
        if self._has_just_come:
            self._say(JUST_APPEARED.format(flat(diff.review.name, LONGEST_NAME)))
        elif what == "reject":
            self._adapter.diffs.answers.reject(diff)
        elif diff.attention.is_seen or self._is_in_front(key):
            diff.attention.brought()
            self._adapter.diffs.answers.accept(diff)
        else:
            self._say(f"Go to the changes of {flat(diff.review.name, LONGEST_NAME)} before you accept it.")

    @property
    def _has_just_come(self) -> bool:
        """Whether what is in sight came by itself: a key or a click may be meant for what was there before."""
        return time.monotonic() - self._came < SETTLED and self._caret == [*self.view.sel()]

    def _is_in_front(self, key: FileKey) -> bool:
        """Whether all changes of a proposal are in sight, and its line."""
        at = next((at for at, block in enumerate(self._blocks) if block.key == key), None)
        if at is None:
            return False
        (first, last), wanted = self._visible_rows(), self._lines_to_see(at)
        seen = self._in_width(at, range(first - self._rows[at], last - self._rows[at] + 1))
        return bool(wanted) and all(line in seen for line in wanted)

    # The rest

    def fold(self, *, is_all: bool = False) -> None:
        """Fold or unfold the file at the caret, or all of them."""
        block, _ = self.here()
        if is_all:
            files = [file for turn in self.feed.turns or () for file in turn.files]
            is_any_open = any(is_open(file, self._folded) for file in files)
            self._folded = {file.key for file in files if is_open(file, set()) == is_any_open}
        elif block.file:
            self._folded ^= {block.file.key}
            row = self._rows[self._blocks.index(block)]
            select(self.view, self.view.text_point(row, 0))
        else:
            self._say("Put the caret on a file to fold it.")
        self.draw()

    def filter(self, words: str) -> None:
        """Show only the files that have some words in their line."""
        if words != self.wanted:
            self.wanted, self._limit = words, FIRST
            self.draw()

    def _say(self, message: str) -> None:
        say(self.view.window(), message)


def _ends(body: Body, line: int) -> list[int]:
    """Where the words that differ in a line of a change begin and end; where all of it differs, the end of the line."""
    first, after = body.starts[line], body.starts[line + 1]
    if line not in body.compared:
        return [first + len(body.line(line).rstrip())]
    words = (*words_between(body.removed_words, first, after), *words_between(body.added_words, first, after))
    return [point for word in words for point in word]


def _set_up(view: sublime.View) -> None:
    view.settings().update(_SETTINGS)
    vim.turn_off(view)


def key_hints() -> tuple[str, str]:
    """The keys as the first and the last line of a Review name them: those that the person has."""
    keys = {words: KEYS.of(command, **args) for words, (command, args) in _COMMANDS.items()}
    named = {words: f"{key} {words}" for words, key in keys.items() if key}
    lines = [""]
    for words in named.values():
        longer = f"{lines[-1]} · {words}" if lines[-1] else words
        lines[-1:] = [longer] if len(longer) <= _WIDE else [lines[-1], words]
    return " · ".join(named[words] for words in _FIRST if words in named), "\n".join(lines)


def group_for(window: sublime.Window, focus: Focus) -> int:
    """The group beside the code if there is one, but not one that shows a terminal or a chat; else that of the code."""
    own = focus.code_group(window)
    groups = [(own + step) % window.num_groups() for step in range(1, window.num_groups())]
    shown = {group: window.active_view_in_group(group) for group in groups}
    return next(
        (group for group in groups if not (view := shown[group]) or not (is_terminal(view) or is_chat(view))), own
    )


def _left_at(record: object) -> _Place | None:
    """Where an earlier instance has left the caret."""
    match record:
        case [[*_] | str() as key, int(line), int(column)]:
            return _Place(_key_of(key), line, column)
        case _:
            return None


def _key_of(kept: object) -> Hashable:
    """The key of a block, from a record in which tuples may have become lists."""
    return tuple(map(_key_of, cast("Sequence[object]", kept))) if isinstance(kept, list | tuple) else kept


def _edits(before: Sequence[Block], points: Sequence[int], after: Sequence[Block]) -> list[Edit]:
    """The edits that make one text of another, from the bottom."""
    old, new = [block.key for block in before], [block.key for block in after]
    parts = (
        [("equal", 0, len(old), 0, len(new))]
        if old == new
        else SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    )
    edits: list[Edit] = []
    for tag, start, end, new_start, new_end in parts:
        if tag == "equal":
            for at, block in zip(range(start, end), after[new_start:new_end], strict=True):
                if before[at].text != block.text:
                    first, last, text = smallest_edit(before[at].text, block.text)
                    edits.append((points[at] + first, points[at] + last, text))
        else:
            edits.append((points[start], points[end], "".join(block.text for block in after[new_start:new_end])))
    return edits[::-1]
