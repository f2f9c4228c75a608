"""What a chat's view has over its text: folds, underlined file names, the bar, questions, buttons of code blocks.

What the person opens stays open.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Sequence
from functools import partial
from itertools import islice, takewhile
from pathlib import PurePath
from typing import TYPE_CHECKING, Generic, TypeVar

import sublime

from ...chats.transcript.render import MARK, Code, Fold, Link, Mark, Said
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
SAID = "qwen_companion.chat_said"
"""The frames around the person's messages."""
_FRAMED = sublime.RegionFlags.DRAW_NO_FILL | sublime.RegionFlags.NO_UNDO
_UNDERLINED = (
    sublime.RegionFlags.DRAW_NO_FILL
    | sublime.RegionFlags.DRAW_NO_OUTLINE
    | sublime.RegionFlags.DRAW_SOLID_UNDERLINE
    | sublime.RegionFlags.NO_UNDO
)


class ChatMarks:
    """The marks of a chat's view. `icon` stands for the agent, `clicked` is called with a link's href."""

    def __init__(self, view: sublime.View, icon: str, clicked: Callable[[str], None]) -> None:
        self._view = view
        self._folds = _Folds(view)
        self.phantoms = ChatPhantoms(view, icon, clicked)
        self._links: Groups[Link] = Groups(partial(self._draw, LINKS, "markup.underline.link", _UNDERLINED))
        self._said: Groups[Said] = Groups(partial(self._draw, SAID, "meta.said-by-person comment", _FRAMED))
        self._must_fold = False

    def before(self, render: Render) -> None:
        """A render is about to change the text."""
        self._must_fold = self._folds.look(render)

    def show(self, render: Render, attached: Sequence[str]) -> None:
        """The text is that of a render: update the marks. `attached` are names for the bar."""
        if self._must_fold:
            self._folds.show(render)
        self._said.update(render.marks.of(Said), render.kept.get(Said, 0))
        self._links.update(render.links, render.kept.get(Link, 0))
        points = {edit.start for edit in render.edits}
        self._said.inserted(points)
        self._links.inserted(points)
        self.phantoms.show(render, attached)

    def link_at(self, point: int) -> Link | None:
        """The file's name at a point."""
        return next((link for link in self._links.marks if link.start <= point < link.end), None)

    def toggle_fold(self, point: int) -> None:
        """Unfold or fold what begins in the line of a point."""
        self._folds.toggle(point)

    def close(self) -> None:
        """Remove them from the view, except the folds."""
        self.phantoms.close()
        self._links.update((), 0)
        self._said.update((), 0)

    def _draw(
        self, name: str, scope: str, flags: sublime.RegionFlags, group: int, marks: Sequence[Link] | Sequence[Said]
    ) -> None:
        regions = [sublime.Region(mark.start, mark.end) for mark in marks]
        if regions:
            self._view.add_regions(key(name, group), regions, scope, flags=flags)
        else:
            self._view.erase_regions(key(name, group))


class _Folds:
    """Folds what is new in a view."""

    def __init__(self, view: sublime.View) -> None:
        self._view = view
        self._folds: tuple[Fold, ...] = ()
        self._opened: set[str] = set()
        """The keys of those that were open when the whole text was last replaced."""
        self._same = 0
        """How many of the first folds the render that is shown leaves as they are."""
        self._closed: set[str] = set()
        """The keys of those that were folded before a render: replacing text unfolds it."""

    def look(self, render: Render) -> bool:
        """Before a render is shown: note what the person has unfolded. Returns whether `show` has to be called."""
        folds = render.folds
        self._same = 0 if render.replaces_all else same(self._folds, folds, render.kept.get(Fold, 0))
        first = min((edit.start for edit in render.edits), default=render.length)
        while self._same and folds[self._same - 1].end >= first:
            self._same -= 1
        gone = self._folds[self._same :]
        if not gone and len(folds) == self._same and not render.replaces_all:
            return False  # as when an answer streams in
        folded = _Folded(self._view) if gone else None
        self._closed = {fold.key for fold in gone if folded and folded.over(fold)}
        if render.replaces_all:
            self._opened |= {fold.key for fold in self._folds}
            self._opened -= self._closed
        return True

    def show(self, render: Render) -> None:
        """After it: fold what is new, and what has grown."""
        known = set[str]() if render.replaces_all else {fold.key for fold in self._folds[self._same :]}
        self._folds = render.folds
        folded = _Folded(self._view) if known else None
        wrong: list[sublime.Region] = []
        wanted: list[sublime.Region] = []
        for fold in self._folds[self._same :]:
            region = _region(fold)
            if folded and fold.key in known:
                there = folded.over(fold)
                if fold.key in self._closed and there != region:
                    if there:
                        wrong.append(there)
                    wanted.append(region)
            elif fold.key not in self._opened:
                wanted.append(region)
        if wrong:
            # Folds inside one another would have to be opened one by one.
            self._view.unfold(wrong)
        if wanted:
            self._view.fold(wanted)

    def toggle(self, point: int) -> None:
        """Unfold or fold what begins in the line of a point."""
        line, folded = self._view.line(point), _Folded(self._view)
        found = [fold for fold in self._folds if line.begin() <= fold.start <= line.end()]
        open_them = [region for fold in found if (region := folded.over(fold))]
        if open_them:
            self._view.unfold(open_them)
        elif found:
            self._view.fold([_region(fold) for fold in found])


class _Folded:
    """What is folded in a view now."""

    def __init__(self, view: sublime.View) -> None:
        self._regions = sorted(view.folded_regions())
        self._starts = [region.begin() for region in self._regions]

    def over(self, fold: Fold) -> sublime.Region | None:
        """The folded region that overlaps a fold, whether it matches or not."""
        at = bisect_right(self._starts, fold.start)
        for region in self._regions[max(0, at - 1) : at + 1]:
            if region.begin() < fold.end and fold.start < region.end():
                return region
        return None


def _region(fold: Fold) -> sublime.Region:
    return sublime.Region(fold.start, fold.end)


class ChatPhantoms:
    """The phantoms of a chat's view. `icon` stands for the agent, `clicked` is called with a link's href."""

    def __init__(self, view: sublime.View, icon: str, clicked: Callable[[str], None]) -> None:
        for name in (BAR, ASKS, RUNNING, EARLIER, SUGGESTION):
            view.erase_phantoms(name)  # left by an instance that was not unloaded
        # The sets erase their phantoms when they are collected.
        self._bar, self._asks, self._earlier = (sublime.PhantomSet(view, name) for name in (BAR, ASKS, EARLIER))
        self._running = sublime.PhantomSet(view, RUNNING)
        self._suggestion = sublime.PhantomSet(view, SUGGESTION)
        self._icon = icon
        self._clicked = clicked
        self._shown_asks: object = None
        self._shown_running: object = ()
        self._shown_earlier: object = None
        self.context = ""
        """The name of what goes with the prompt by itself."""
        self._code_sets: dict[int, sublime.PhantomSet] = {}
        self._codes: Groups[Code] = Groups(self._show_codes)
        self._view = view

    def show(self, render: Render, attached: Sequence[str]) -> None:
        """Update them."""
        self.show_bar(render, attached)
        if render.asks != self._shown_asks:
            self._shown_asks = render.asks
            asks = [(ask.end, html.ask(ask, is_first=at == 0)) for at, ask in enumerate(render.asks)]
            self._asks.update([self._phantom(at, content, sublime.PhantomLayout.BLOCK) for at, content in asks])
        running = render.running
        if running != self._shown_running:
            self._shown_running = running
            block = sublime.PhantomLayout.BLOCK
            self._running.update([self._phantom(one.start, html.running(one), block) for one in running])
        earlier = render.status.has_earlier, render.top
        if earlier != self._shown_earlier:
            self._shown_earlier = earlier
            block = [self._phantom(render.top, html.EARLIER, sublime.PhantomLayout.BLOCK)] if earlier[0] else []
            self._earlier.update(block)
        self._codes.update(render.codes, render.kept.get(Code, 0))

    def show_bar(self, render: Render, attached: Sequence[str]) -> None:
        """Update the bar and its position."""
        at = max(0, render.length - len(MARK))
        content = html.bar(render, attached, _folder(self._bar.view), self.context, self._icon)
        self._bar.update([self._phantom(at, content, sublime.PhantomLayout.BLOCK)])

    def show_suggestion(self, suggestion: str) -> None:
        """Show it at the end, or remove it."""
        end = self._suggestion.view.size()
        content = html.ghost(suggestion) if suggestion else ""
        inline = sublime.PhantomLayout.INLINE
        self._suggestion.update([self._phantom(end, content, inline)] if suggestion else [])

    def close(self) -> None:
        """Remove them from the view."""
        for phantoms in (
            self._bar,
            self._asks,
            self._running,
            self._earlier,
            self._suggestion,
            *self._code_sets.values(),
        ):
            phantoms.update([])

    def _show_codes(self, group: int, codes: Sequence[Code]) -> None:
        if group not in self._code_sets:
            self._view.erase_phantoms(key(CODES, group))
            self._code_sets[group] = sublime.PhantomSet(self._view, key(CODES, group))
        # At the end of the fence above the first line.
        at = [(max(0, code.start - 1), html.code(code)) for code in codes]
        self._code_sets[group].update([self._phantom(*each, sublime.PhantomLayout.INLINE) for each in at])

    def _phantom(self, at: int, content: str, layout: sublime.PhantomLayout) -> sublime.Phantom:
        return sublime.Phantom(sublime.Region(at), content, layout, self._clicked)


def _folder(view: sublime.View) -> str:
    """The name of the chat's folder, "" unless its window has several folders."""
    window = view.window()
    has_several = window is not None and len(window.folders()) > 1
    own = VIEWS.of(view)
    return PurePath(own.text("folder")).name if has_several and own else ""
