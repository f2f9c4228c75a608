"""Shows the lines that are gone: all of them in the inline diff of a proposal, those of one change in a written file.

The editor's own inline diff does it. Where that shows nothing (sublimehq/sublime_text#2666, #2728 and #4747),
phantoms of the package do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import sublime

from ...review.changes import paired_lines
from ...review.compare import Change
from ...review.words import word_changes
from ..minihtml import columns, safe
from ..own_views import VIEWS

if TYPE_CHECKING:
    from ...review.marks import Marks
    from .diff_marks import Links

INLINE = "inline"
"""In the record of a proposal's view: whether its diff is inline."""
REMOVED = "qwen_companion.removed"
"""Key of the phantom with removed lines, of the change that they are of, and of the words that have come for them."""
MOST_PAIRED = 100
"""Lines of a change whose words are compared."""
LOOK = 150
"""Milliseconds after which the editor must show the lines that are gone."""
TRIES = 3
"""How often the editor is asked to show them."""
MOST_LINES = 200
"""Lines that a phantom shows."""
LONGEST_LINE = 500
"""Characters of a line that a phantom shows."""

_GONE = (
    "<body><style>"
    "html {{ --gone: color(var(--background) blend(var(--redish) 85%));"
    " --word: color(var(--background) blend(var(--redish) 70%)); }}"
    "body {{ margin: 0; }}"
    "div {{ padding-right: {pad}px; background-color: var(--gone);"
    " color: color(var(--foreground) min-contrast(var(--gone) 4.5)); }}"
    "span {{ background-color: var(--word); color: color(var(--foreground) min-contrast(var(--word) 4.5)); }}"
    "</style>{lines}</body>"
)


class _Gap(NamedTuple):
    """A place where the layout tells whether lines are shown: two points, and the height between them if none are."""

    above: int | None
    below: int
    height: float


class InlineDiff:
    """The inline diff of one view. `missing` is called if the editor shows nothing: then `is_own` is true."""

    def __init__(self, view: sublime.View, missing: Callable[[], object]) -> None:
        self.is_own = False
        """The package's phantoms show the lines that are gone."""
        self._view = view
        self._missing = missing
        self._is_toggled = False
        self._look: object = None

    def show(self, marks: Marks | None, *, has_links: bool) -> None:
        """Show what differs from the reference document, after an edit once more.

        With `has_links`, a place where lines were only removed has a line of ours with a link.
        """
        self._look = None
        self._note(shown=True)
        self._toggle(shown=False)
        gap = None
        if marks is not None and not self.is_own:
            gap = self._gap(marks, has_links=has_links)
            self.is_own = gap is None and any(start < end for start, end in marks.original.lines)
        # The editor's inline diff needs it (sublimehq/sublime_text#4747).
        self._view.settings().set("mini_diff", not self.is_own)
        if not self.is_own:
            self._toggle(shown=True)
            if gap:
                self._look_later(gap, 1)

    def take_up(self) -> None:
        """The view is that of a diff from before, which may have been shown inline."""
        own = VIEWS.of(self._view)
        self._is_toggled = bool(own and own.get(INLINE)) and not self.is_own

    def hide(self) -> None:
        """Show the proposal alone."""
        self._look = None
        self._note(shown=False)
        self._view.settings().set("mini_diff", False)
        self._toggle(shown=False)

    def _note(self, *, shown: bool) -> None:
        if own := VIEWS.of(self._view):
            own.keep(**{INLINE: shown})

    def _toggle(self, *, shown: bool) -> None:
        if not shown and not self._is_toggled:
            return
        carets = list(self._view.sel())
        self._view.run_command("select_all")
        if self._is_toggled:
            # After an edit only some changes may be shown: hide all, then show all.
            self._view.run_command("toggle_inline_diff", {"prefer_hide": True})
        if shown:
            self._view.run_command("toggle_inline_diff")
        self._is_toggled = shown
        self._view.sel().clear()
        self._view.sel().add_all(carets)

    def _look_later(self, gap: _Gap, number: int) -> None:
        look = self._look = object()
        version = self._view.change_count()

        def at() -> None:
            if self._look is not look or not self._view.is_valid() or self._view.change_count() != version:
                return
            if self._height(gap) > gap.height + self._view.line_height() / 2:
                return
            if number == TRIES:
                self.is_own = True
                self._missing()
            else:
                self._toggle(shown=True)
                self._look_later(gap, number + 1)

        sublime.set_timeout(at, LOOK)

    def _height(self, gap: _Gap) -> float:
        above = 0.0 if gap.above is None else self._view.text_to_layout(gap.above)[1]
        return self._view.text_to_layout(gap.below)[1] - above

    def _gap(self, marks: Marks, *, has_links: bool) -> _Gap | None:
        """Where to look. None if nothing is gone, or all of it is behind the last line."""
        view = self._view
        found: list[_Gap] = []
        for at, ((start, end), (gone_from, gone_to)) in enumerate(
            zip(marks.proposal.lines, marks.original.lines, strict=True)
        ):
            if has_links and at < len(marks.gone) and marks.gone[at]:
                continue  # our line is there, too
            row, column = view.rowcol(start)
            if gone_from == gone_to or (start == end and (column or start == view.size())):
                continue
            if row >= 2:  # the header is below the first row
                return _Gap(view.text_point(row - 1, 0), start, view.line_height())
            found.append(_Gap(view.text_point(row - 1, 0) if row else None, start, 0.0))
        return found[0]._replace(height=self._height(found[0])) if found else None


class RemovedLines:
    """The removed lines of the change to which the person has come, above it until they leave.

    The editor's inline diff shows them. Where it shows nothing (sublimehq/sublime_text#2666, #2728 and #4747), or the
    person has its gutter off, a phantom does.
    """

    def __init__(self, view: sublime.View) -> None:
        self._view = view
        self.is_shown = False
        self._is_editors = False
        self._phantom = 0
        self._look: object = None

    def show(self, region: sublime.Region, old: Sequence[str], new: Sequence[str]) -> None:
        """Show the old lines of a change at its region, at which the caret is; `new` are the lines that came."""
        self.hide()
        if not old:
            return
        flags = sublime.RegionFlags.HIDDEN | sublime.RegionFlags.NO_UNDO
        self._view.add_regions(REMOVED, [region], flags=flags)
        self.is_shown = True
        if self._view.settings().get("mini_diff") is False:
            self._show_own(region, old, new)
            return
        before, version = self._height(region), self._view.change_count()
        self._is_editors = True
        self._view.run_command("toggle_inline_diff")
        look = self._look = object()

        def at() -> None:
            if self._look is not look or not self._view.is_valid() or self._view.change_count() != version:
                return
            if self._height(region) <= before + self._view.line_height() / 2:
                self._is_editors = False
                self._show_own(region, old, new)

        sublime.set_timeout(at, LOOK)

    def leave(self) -> None:
        """The caret may have left the change."""
        if not self.is_shown:
            return
        view = self._view
        found = view.get_regions(REMOVED)
        places = [view.line(sublime.Region(each.begin(), max(each.begin(), each.end() - 1))) for each in found]
        if not any(place.contains(region.b) for place in places for region in view.sel()):
            self.hide()

    def hide(self) -> None:
        """Show the text alone again."""
        if not self.is_shown or not self._view.is_valid():
            return
        self.is_shown, self._look = False, None
        view, places = self._view, self._view.get_regions(REMOVED)
        if self._is_editors and places:
            carets = list(view.sel())
            view.sel().clear()
            view.sel().add(places[0].begin())
            view.run_command("toggle_inline_diff", {"prefer_hide": True})
            view.sel().clear()
            view.sel().add_all(carets)
        self._is_editors = False
        view.erase_phantom_by_id(self._phantom)
        for key in (REMOVED, f"{REMOVED}.words"):
            view.erase_regions(key)

    def _show_own(self, region: sublime.Region, old: Sequence[str], new: Sequence[str]) -> None:
        view, start = self._view, region.begin()
        gone: dict[int, list[tuple[int, int]]] = {}
        come: list[sublime.Region] = []
        change = Change(0, len(old), 0, len(new))
        for before, after in paired_lines(old, new, change) if max(len(old), len(new)) <= MOST_PAIRED else ():
            gone[before], inserted = word_changes(old[before], new[after])
            at = view.text_point(view.rowcol(start)[0] + after, 0)
            come += [sublime.Region(at + first, at + last) for first, last in inserted]
        flags = sublime.RegionFlags.DRAW_NO_OUTLINE | sublime.RegionFlags.NO_UNDO
        view.add_regions(f"{REMOVED}.words", come, "diff.inserted.char", flags=flags)
        html = gone_html(view, old, words=gone)
        self._phantom = view.add_phantom(REMOVED, sublime.Region(max(0, start - 1)), html, sublime.PhantomLayout.BLOCK)

    def _height(self, region: sublime.Region) -> float:
        """From the top of the line above a change to the change."""
        row = self._view.rowcol(region.begin())[0]
        above = self._view.text_to_layout(self._view.text_point(row - 1, 0))[1] if row else 0.0
        return self._view.text_to_layout(region.begin())[1] - above


def gone_lines(view: sublime.View, marks: Marks, original: str, links: Links | None) -> list[tuple[int, str]]:
    """The phantoms of the lines of the original that the proposal has no more: where, and their minihtml.

    If a change only deletes lines, the last line of its phantom has its link.
    """
    waiting = deque(links.fillers if links else ())
    found: list[tuple[int, str]] = []
    for at, ((start, _), (gone_from, gone_to)) in enumerate(
        zip(marks.proposal.lines, marks.original.lines, strict=True)
    ):
        if gone_from == gone_to:
            continue
        filler = marks.gone[at]
        link = waiting.popleft()[1] if filler and waiting else ""
        lines = original[gone_from:gone_to].removesuffix("\n").split("\n")
        found.append((filler[0] if filler else max(0, start - 1), gone_html(view, lines, link)))
    return found


def gone_html(
    view: sublime.View,
    lines: Sequence[str],
    link: str = "",
    words: Mapping[int, Sequence[tuple[int, int]]] = MappingProxyType({}),
) -> str:
    """The minihtml of lines that are gone, with a link in a line of its own; `words` has what to mark in each line."""
    tab_size, em = int(view.settings().get("tab_size") or 4), view.em_width()  # pyright: ignore[reportArgumentType]
    more = [f"… {len(lines) - MOST_LINES} more"] if len(lines) > MOST_LINES else []
    parts = [list(_parted(line[:LONGEST_LINE], words.get(at, ()))) for at, line in enumerate(lines[:MOST_LINES])]
    cut = ["…" if len(line) > LONGEST_LINE else "" for line in lines[:MOST_LINES]]
    widest = max(columns(line[:LONGEST_LINE].expandtabs(tab_size)) for line in [*lines[:MOST_LINES], *more])
    # A phantom may be as wide as its content only (sublimehq/sublime_text#3261).
    pad = max(0, int(view.viewport_extent()[0] - (widest + 3) * em))
    shown = [_line(each, tab_size) + end for each, end in zip(parts, cut, strict=True)]
    text = "".join(f"<div>{line or '&nbsp;'}</div>" for line in [*shown, *more])
    return _GONE.format(pad=pad, lines=text + (f"<div>{link}</div>" if link else ""))


def _parted(line: str, words: Sequence[tuple[int, int]]) -> Iterator[tuple[str, bool]]:
    """The pieces of a line, and whether each is a marked word."""
    at = 0
    for start, end in words:
        yield line[at:start], False
        yield line[start:end], True
        at = end
    yield line[at:], False


def _line(parts: Sequence[tuple[str, bool]], tab_size: int) -> str:
    """The minihtml of a line in pieces."""
    found, column = "", 0
    for text, is_word in parts:
        piece = (" " * column + text).expandtabs(tab_size)[column:]
        column += len(piece)
        html = safe(piece).replace(" ", "&nbsp;")
        found += f"<span>{html}</span>" if is_word and html else html
    return found
