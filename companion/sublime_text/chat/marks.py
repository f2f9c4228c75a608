"""What a chat's view has over its text: folds, underlined file names, the bar, questions, buttons of code blocks.

What the person opens stays open.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Sequence
from itertools import islice, takewhile
from pathlib import PurePath
from typing import TYPE_CHECKING, Generic, TypeVar

import sublime

from ...chats.transcript.render import MARK, Code, Fold, Link, Mark, TurnStart
from ..own_views import VIEWS
from . import html

if TYPE_CHECKING:
    from ...chats.transcript.render import Render


SIZE = 64
"""Marks of a group."""


M = TypeVar("M", bound=Mark)
S = TypeVar("S")


class Groups(Generic[M]):
    """The marks of a text, which the editor moves along with it.

    `show` is called with the number of a group and its marks, none if it goes.
    """

    def __init__(self, show: Callable[[int, Sequence[M]], object]) -> None:
        self.marks: tuple[M, ...] = ()
        self._show = show
        self._groups: list[tuple[int, int]] = []
        """The numbers and the sizes, in the order of the text."""
        self._next = 0

    def update(self, now: tuple[M, ...], kept: int) -> None:
        """These are the marks now; the first `kept` are as they were."""
        before, self.marks = self.marks, now
        first = same(before, now, kept)
        if first == len(before) == len(now):
            return
        if new := _put_in_front(before, now):
            self._groups[:0] = self._shown(now[:new])
            return
        at = 0
        stays: list[tuple[int, int]] = []
        for group in self._groups:
            if at + group[1] > first or (group[1] < SIZE and at + group[1] == first):
                break
            stays.append(group)
            at += group[1]
        free = [number for number, _ in self._groups[len(stays) :]]
        again = self._shown(now[at:], free)
        for number in free[len(again) :]:
            self._show(number, ())
        self._groups = stays + again

    def inserted(self, points: Collection[int]) -> None:
        """Text was inserted at these points: show the last group again if one of its marks was stretched by that."""
        if self._groups:
            number, size = self._groups[-1]
            last = self.marks[-size:]
            if any(mark.end in points for mark in last):
                self._show(number, last)

    def _shown(self, marks: Sequence[M], numbers: Sequence[int] = ()) -> list[tuple[int, int]]:
        """Show marks in groups that have these numbers, and new ones."""
        groups: list[tuple[int, int]] = []
        for place, start in enumerate(range(0, len(marks), SIZE)):
            part = marks[start : start + SIZE]
            if place < len(numbers):
                number = numbers[place]
            else:
                number, self._next = self._next, self._next + 1
            self._show(number, part)
            groups.append((number, len(part)))
        return groups


def key(name: str, group: int) -> str:
    """What the editor calls a group of marks."""
    return f"{name}.{group}" if group else name


def same(before: Sequence[S], now: Sequence[S], kept: int) -> int:
    """How many of the first marks are as they were; `kept` of them are known to be."""
    pairs = zip(islice(before, kept, None), islice(now, kept, None), strict=False)
    return kept + sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _put_in_front(before: Sequence[Mark], now: Sequence[Mark]) -> int:
    """How many marks are new in front of all others, which have only moved along with the text; 0 if others changed."""
    new = len(now) - len(before)
    if new <= 0 or not before:
        return 0
    by = now[-1].start - before[-1].start
    moved = zip(before, islice(now, new, None), strict=True)
    is_moved = by > 0 and all((old.start + by, old.end + by) == (one.start, one.end) for old, one in moved)
    return new if is_moved else 0


BAR, ASKS, CODES = "qwen_companion.chat_bar", "qwen_companion.chat_asks", "qwen_companion.chat_codes"
RUNNING = "qwen_companion.chat_running"
EARLIER = "qwen_companion.chat_earlier"
SUGGESTION = "qwen_companion.chat_suggestion"
LINKS = "qwen_companion.chat_links"
TURNS = "qwen_companion.chat_turns"
_UNDERLINED = (
    sublime.RegionFlags.DRAW_NO_FILL
    | sublime.RegionFlags.DRAW_NO_OUTLINE
    | sublime.RegionFlags.DRAW_SOLID_UNDERLINE
    | sublime.RegionFlags.NO_UNDO
)


class ChatMarks:
    """The marks of a chat's view. `icon` stands for the agent, `clicked` is called with a link's href."""

    def __init__(self, view: sublime.View, icon: str, clicked: Callable[[str], None]) -> None:
        self.folds = Folds(view)
        self.context = ""
        """The name of what goes with the prompt by itself."""
        self.waiting = 0
        """How many files wait for a review."""
        self._view = view
        self._icon = icon
        self._clicked = clicked
        self._phantoms: dict[str, sublime.PhantomSet] = {}
        """By what the editor calls them."""
        self._links: Groups[Link] = Groups(self._underline)
        self._codes: Groups[Code] = Groups(self._show_codes)
        self._turns: Groups[TurnStart] = Groups(self._show_turns)

    def show(self, render: Render, attached: Sequence[str]) -> None:
        """The text is that of a render: update the marks. `attached` are names for the bar."""
        self.folds.show(render)
        self._links.update(render.links, render.kept.get(Link, 0))
        self._links.inserted({edit.start for edit in render.edits})
        self.show_bar(render, attached)
        self._put(ASKS, [(ask.end, html.ask(ask, is_first=at == 0)) for at, ask in enumerate(render.asks)])
        self._put(RUNNING, [(one.start, html.running(one)) for one in render.running])
        self._put(EARLIER, [(render.top, html.EARLIER)] if render.status.has_earlier else [])
        self._codes.update(render.codes, render.kept.get(Code, 0))
        self._turns.update(render.marks.of(TurnStart), render.kept.get(TurnStart, 0))

    def link_at(self, point: int) -> Link | None:
        """The file's name at a point."""
        return next((link for link in self._links.marks if link.start <= point < link.end), None)

    def show_bar(self, render: Render, attached: Sequence[str]) -> None:
        """Update the bar and its position."""
        self._put(BAR, [(max(0, render.length - len(MARK)), self.bar(render, attached))])

    def bar(self, render: Render, attached: Sequence[str]) -> str:
        """The minihtml of the bar."""
        return html.bar(render, attached, _folder(self._view), self.context, self._icon, self.waiting)

    def show_suggestion(self, suggestion: str) -> None:
        """Show it at the end, or remove it."""
        ghosts = [(self._view.size(), html.ghost(suggestion))] if suggestion else []
        self._put(SUGGESTION, ghosts, sublime.PhantomLayout.INLINE)

    def close(self) -> None:
        """Remove them from the view, except the folds."""
        for phantoms in self._phantoms.values():
            phantoms.update([])
        self._links.update((), 0)

    def _underline(self, group: int, links: Sequence[Link]) -> None:
        if links:
            regions = [sublime.Region(link.start, link.end) for link in links]
            self._view.add_regions(key(LINKS, group), regions, "markup.underline.link", flags=_UNDERLINED)
        else:
            self._view.erase_regions(key(LINKS, group))

    def _show_codes(self, group: int, codes: Sequence[Code]) -> None:
        # At the end of the fence above the first line.
        shown = [(max(0, code.start - 1), html.code(code)) for code in codes]
        self._put(key(CODES, group), shown, sublime.PhantomLayout.INLINE)

    def _show_turns(self, group: int, turns: Sequence[TurnStart]) -> None:
        self._put(key(TURNS, group), [(turn.start, html.TURN) for turn in turns])

    def _put(
        self,
        name: str,
        shown: Sequence[tuple[int, str]],
        layout: sublime.PhantomLayout = sublime.PhantomLayout.BLOCK,
    ) -> None:
        """Show minihtml at these points, in the place of what a set has shown. What has not changed is not touched."""
        if name not in self._phantoms:
            self._view.erase_phantoms(name)  # left by an instance that was not unloaded
            # A set erases its phantoms when it is collected.
            self._phantoms[name] = sublime.PhantomSet(self._view, name)
        self._phantoms[name].update(
            [sublime.Phantom(sublime.Region(at), content, layout, self._clicked) for at, content in shown]
        )


def _folder(view: sublime.View) -> str:
    """The name of the chat's folder, "" unless its window has several folders."""
    window = view.window()
    has_several = window is not None and len(window.folders()) > 1
    own = VIEWS.of(view)
    return PurePath(own.text("folder")).name if has_several and own else ""


class Folds:
    """Folds what is new in a view. What is in a row of calls is folded by itself only while the row is open."""

    def __init__(self, view: sublime.View) -> None:
        self._view = view
        self._folds: tuple[Fold, ...] = ()
        self._opened: set[str] = set()
        """The keys of those that were open when the whole text was last replaced."""
        self._same = 0
        """How many of the first folds the render that is shown leaves as they are."""
        self._closed: set[str] = set()
        """The keys of those that were folded before a render: replacing text unfolds it."""
        self._have_changed = False

    def look(self, render: Render) -> None:
        """Before a render is shown: note what the person has unfolded."""
        folds = render.folds
        self._same = 0 if render.replaces_all else same(self._folds, folds, render.kept.get(Fold, 0))
        first = min((edit.start for edit in render.edits), default=render.length)
        while self._same and folds[self._same - 1].end >= first:
            self._same -= 1
        gone = self._folds[self._same :]
        # No, as when an answer streams in.
        self._have_changed = bool(gone) or len(folds) > self._same or render.replaces_all
        if not self._have_changed:
            return
        folded = _Folded(self._view) if gone else None
        self._closed = {fold.key for fold in gone if folded and folded.at(fold)}
        if render.replaces_all:
            self._opened |= {fold.key for fold in self._folds}
            self._opened -= self._closed

    def show(self, render: Render) -> None:
        """After it: fold what is new, and what has grown."""
        if not self._have_changed:
            return
        known = set[str]() if render.replaces_all else {fold.key for fold in self._folds[self._same :]}
        self._folds = render.folds
        wanted: list[sublime.Region] = []
        for fold in reversed(self._folds[self._same :]):
            region = _region(fold)
            is_wanted = fold.key in self._closed if fold.key in known else fold.key not in self._opened
            if is_wanted and not (wanted and wanted[-1].contains(region)):
                wanted.append(region)
        self._fold(wanted)

    def toggle(self, point: int) -> None:
        """Unfold or fold what begins in the line of a point."""
        found, folded = self._beginning(point), _Folded(self._view)
        if open_them := [region for fold in found if (region := folded.at(fold))]:
            self._view.unfold(open_them)
            self.fold_within(point)
        else:
            self._fold([_region(fold) for fold in found])

    def fold_within(self, point: int) -> None:
        """Fold what is in the row that begins in the line of a point, if it is open."""
        folded = _Folded(self._view)
        for row in self._beginning(point):
            if not folded.at(row):
                within = (fold for fold in self._folds if row.start < fold.start and fold.end <= row.end)
                self._fold([_region(fold) for fold in within])

    def _beginning(self, point: int) -> list[Fold]:
        line = self._view.line(point)
        return [fold for fold in self._folds if line.begin() <= fold.start <= line.end()]

    def _fold(self, wanted: Sequence[sublime.Region]) -> None:
        """Fold these regions, and nothing that is in one of them."""
        if not wanted:
            return
        folded = _Folded(self._view)
        wrong = [there for region in wanted for there in folded.within(region) if there != region]
        if wrong:
            # Folds inside one another would have to be opened one by one.
            self._view.unfold(wrong)
        self._view.fold(list(wanted))


class _Folded:
    """What is folded in a view now."""

    def __init__(self, view: sublime.View) -> None:
        self._regions = sorted(view.folded_regions())
        self._starts = [region.begin() for region in self._regions]

    def at(self, fold: Fold) -> sublime.Region | None:
        """The folded region that a fold begins in, whether it ends there or not."""
        before = bisect_right(self._starts, fold.start) - 1
        return region if before >= 0 and (region := self._regions[before]).end() > fold.start else None

    def within(self, region: sublime.Region) -> Sequence[sublime.Region]:
        """The folded regions that overlap a region."""
        first = max(0, bisect_right(self._starts, region.begin()) - 1)
        found = takewhile(lambda each: each.begin() < region.end(), islice(self._regions, first, None))
        return [each for each in found if each.end() > region.begin()]


def _region(fold: Fold) -> sublime.Region:
    return sublime.Region(fold.start, fold.end)
