"""The marks of changes, proposed or written: lines and words, fillers, links, and the lines that are gone.

The person goes from one marked change to another. The lines that are gone are shown by the editor's own inline diff:
all of them in a proposal, those of one change in a written file. Where that shows nothing (sublimehq/sublime_text#2666,
#2728 and #4747), or the person has its gutter off in a file, phantoms of the package do.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import sublime

from ...review.changes import counted, in_one
from ...review.marks import MAX_LINKS, moved
from ..buffers import edit, text_of
from ..keys import KEYS
from ..minihtml import LINK_COLOUR, columns, safe
from ..own_views import VIEWS
from ..panels import say
from ..windows import put_caret, select

if TYPE_CHECKING:
    from ...review.changes import TextEdit
    from ...review.marks import Filler, Marks, Points, Side

Kind = Literal["inserted", "deleted"]

CHANGES = "qwen_companion.changes"
"""Key of the regions of the changes. If there are many, further keys have the suffixes .1, .2 and so on."""
GAPS = "qwen_companion.gaps"
"""Key of the empty, invisible regions of changes that only delete lines. Their links are in fillers."""
FILLERS = "qwen_companion.fillers"
"""Key of the phantoms that stand for missing lines."""
AT_ONCE = 4_000
"""The number of regions that are added at once."""
MEASURED = 5
"""The number of fillers that are tried for one that can be measured."""
FILLERS_AT_ONCE = 100
"""The number of fillers that are changed at once."""
ANY_GENERATION = "any"
"""In the links of fillers, which stay if they are the same in the next drawing and go if they are not."""
LINK_COLUMNS = 40
"""The columns that are reserved for a filler's link."""
WORDS = "qwen_companion.words"

MAX_DECORATED = MAX_LINKS
"""With more changes than this there are no fillers and links: thousands of phantoms make an editor slow."""

REVERTED = "qwen_companion.reverted"

_FILLER = (
    "<body><style>"
    "html.light {{ --filler: color(var(--background) blend(black 97%)); }}"
    "html.dark {{ --filler: color(var(--background) blend(white 96%)); }}"
    "body {{ margin: 0; }}"
    "div {{ padding-top: {above}px; padding-right: {pad}px; line-height: {line}px; background-color: var(--filler); }}"
    "a {{ text-decoration: none; color: color(var(--bluish) min-contrast(var(--filler) 4.5)); }}"
    "span {{ color: color(var(--foreground) blend(var(--background) 75%) min-contrast(var(--filler) 4.5)); }}"
    "</style><div>{content}</div></body>"
)
NARROW = 60
"""With fewer columns than this, a link is one glyph."""
_ABOVE = "<span> above</span>"
_IN_ANNOTATION = f' style="color: {LINK_COLOUR}"'
_LINES = sublime.RegionFlags.NO_UNDO | sublime.RegionFlags.DRAW_NO_OUTLINE | sublime.RegionFlags.DRAW_EMPTY
_WORDS = sublime.RegionFlags.NO_UNDO | sublime.RegionFlags.DRAW_NO_OUTLINE
OUTLINED = sublime.RegionFlags.NO_UNDO | sublime.RegionFlags.DRAW_NO_FILL | sublime.RegionFlags.DRAW_EMPTY
_HIDDEN = sublime.RegionFlags.NO_UNDO | sublime.RegionFlags.HIDDEN
_NOT_DRAWN = _WORDS | sublime.RegionFlags.DRAW_NO_FILL

INLINE = "inline"
"""In the record of a proposal's view: whether its diff is inline."""
REMOVED = "qwen_companion.removed"
"""Key of the region of the one change whose removed lines are shown."""
LOOK = 150
"""Milliseconds after which the editor must show the lines that are gone."""
TRIES = 3
"""How often the editor is asked to show them."""
WIDEST_TAB = 16
"""Columns."""
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
    "a {{ text-decoration: none; color: color(var(--bluish) min-contrast(var(--gone) 4.5)); }}"
    "span {{ background-color: var(--word); color: color(var(--foreground) min-contrast(var(--word) 4.5)); }}"
    "</style>{lines}</body>"
)

KEYS_STATUS = "zy_qwen_companion_keys"
"""Key of what the status bar says of the change at the caret."""
MANY_EDITS = 500
"""More edits than this are made as one: the editor takes a while for each."""


def filler(lines: int, height: float, content: str = "&nbsp;", pad: int = 0) -> str:
    """The minihtml of a phantom that stands for lines of a height in pixels, with the content in its last line.

    `pad` is a number of pixels behind the content.
    """
    return _FILLER.format(above=(lines - 1) * height, line=height, content=content, pad=pad)


def are_few(side: Side) -> bool:
    """Whether the changes have fillers and links."""
    return len(side.lines) <= MAX_DECORATED


def add_lines(
    view: sublime.View,
    key: str,
    kind: Kind,
    regions: list[sublime.Region],
    icon: str = "dot",
    *,
    is_drawn: bool = True,
    links: Sequence[str] = (),
    clicked: Callable[[str], None] | None = None,
) -> None:
    """Mark whole lines, with a link for each region. What is not drawn has its links all the same."""
    scope, is_tinted = _scope(view, kind)
    flags = (_LINES if is_tinted else OUTLINED) if is_drawn else _NOT_DRAWN
    # A region may not fill its row to the end in the editor; the icon marks it all the same.
    colour = view.style_for_scope(f"markup.{kind}").get("foreground", "")
    view.add_regions(key, regions, scope, icon if is_drawn else "", flags, list(links), colour, clicked)


def add_words(view: sublime.View, key: str, kind: Kind, regions: list[sublime.Region]) -> None:
    """Mark words in lines that are marked."""
    view.add_regions(key, regions, _scope(view, kind, ".char")[0], flags=_WORDS)


def _scope(view: sublime.View, kind: Kind, part: str = "") -> tuple[str, bool]:
    """A scope of the editor's inline diff, and whether the colour scheme has a background for it.

    If not, it is the scope of a diff's text, whose colour is too strong for whole lines.
    """
    is_tinted = "background" in view.style_for_scope(f"diff.{kind}{part}")
    return (f"diff.{kind}{part}" if is_tinted else f"markup.{kind}"), is_tinted


@dataclass(frozen=True, slots=True)
class Links:
    """The links at the changes of a side, as minihtml."""

    lines: Sequence[str | None]
    """For each change that at its lines; None if it is in the change's filler."""
    fillers: Sequence[tuple[Filler, str]] = ()
    """Those in fillers, from the top."""
    reverted: Sequence[tuple[Points, str]] = ()
    """Those of changes that were reverted."""


class SideMarks:
    """The marks of one side, where lines were inserted or deleted.

    `clicked` is called with the href of a change's link; without it there are no links. Where lines were inserted, a
    change without lines is marked by an empty region.
    """

    def __init__(self, view: sublime.View, kind: Kind, clicked: Callable[[str], None] | None = None) -> None:
        self._view = view
        self._kind: Kind = kind
        self._clicked = clicked
        self._fillers: dict[int, str] = {}
        """The phantoms and what they show."""
        self.are_fillers_exact = False
        """Each filler is as high as the lines that it stands for: one was measured, or there is none."""

    def steps(
        self,
        side: Side,
        *,
        inline: bool,
        links: Links | None = None,
        gone: Sequence[tuple[int, str]] | None = None,
    ) -> list[Callable[[], None]]:
        """The steps that draw the marks. Each is short, so that the UI thread stays responsive.

        In an inline diff, Sublime draws the lines itself; fillers are drawn only for the links of changes that delete
        lines and insert none. With `gone`, those phantoms take the place of the fillers.
        """
        few = are_few(side)
        lines, gaps = self._parted(side, links if few else None)
        texts = [text for text in links.lines if text is not None] if links and few else []
        steps: list[Callable[[], None]] = [
            lambda at=at, part=part: self._draw_lines(_key(CHANGES, at), part, texts, inline=inline)
            for at, part in enumerate(_parts(lines))
        ]
        steps += [
            lambda at=at, part=part: self._view.add_regions(_key(GAPS, at), _regions(part), flags=_HIDDEN)
            for at, part in enumerate(_parts(gaps))
        ]
        words = [] if inline else side.words
        if few and gone is None:
            gone = self._contents(side, links, inline=inline)
        return [
            *steps,
            lambda: self._erase(CHANGES, len(_parts(lines))),
            lambda: self._erase(GAPS, len(_parts(gaps))),
            lambda: add_words(self._view, WORDS, self._kind, _regions(words)),
            lambda: self._draw_reverted(links),
            *self._filler_steps(gone if few and gone else []),
            lambda: self._measure(side) if few and not inline else None,
        ]

    def show_gone(self, gone: Sequence[tuple[int, str]], words: Sequence[Points]) -> None:
        """Show phantoms of lines that are gone, and the words that have come for them, at once."""
        for step in self._filler_steps(gone):
            step()
        add_words(self._view, WORDS, self._kind, _regions(words))

    def clear(self) -> None:
        """Remove all marks."""
        self._erase(CHANGES, 0)
        self._erase(GAPS, 0)
        self._view.erase_regions(WORDS)
        self._view.erase_regions(REVERTED)
        self._change_fillers(list(self._fillers), [])

    def _parted(self, side: Side, links: Links | None) -> tuple[list[Points], list[Points]]:
        """The changes with lines on this side, and those without, which nothing marks but their fillers."""
        own = links.lines if links else [None] * len(side.lines)
        lines: list[Points] = []
        gaps: list[Points] = []
        for points, link in zip(side.lines, own, strict=True):
            (gaps if link is None and points[0] == points[1] else lines).append(points)
        return lines, gaps if self._kind == "inserted" else []

    def _draw_lines(self, key: str, lines: Sequence[Points], links: Sequence[str], *, inline: bool) -> None:
        regions = _regions(lines)
        add_lines(self._view, key, self._kind, regions, is_drawn=not inline, links=links, clicked=self._clicked)

    def _draw_reverted(self, links: Links | None) -> None:
        if self._clicked:
            places, texts = zip(*links.reverted, strict=True) if links and links.reverted else ((), ())
            self._view.add_regions(
                REVERTED, _regions(places), "comment", "circle", OUTLINED, list(texts), "", self._clicked
            )

    def _erase(self, base: str, start: int) -> None:
        while self._view.get_regions(_key(base, start)):
            self._view.erase_regions(_key(base, start))
            start += 1

    def _contents(self, side: Side, links: Links | None, *, inline: bool) -> list[tuple[int, str]]:
        """Where there are fillers, and what they show."""
        height, em, width = self._view.line_height(), self._view.em_width(), self._view.viewport_extent()[0]
        # A phantom may be as wide as its content only (sublimehq/sublime_text#3261).
        plain, with_link = (max(0, int(width - columns * em)) for columns in (2, LINK_COLUMNS))
        named = links.fillers if links else ()
        if inline:
            return [(point, filler(1, height, link, with_link)) for (point, _), link in named]
        waiting = deque(named)
        found: list[tuple[int, str]] = []
        for at, (point, lines) in enumerate(side.fillers):
            # No phantom can be above the first line, so the filler is below it and says so.
            above = _ABOVE if at == 0 and side.is_top_missing else ""
            if waiting and waiting[0][0] == (point, lines):
                content = filler(lines, height, waiting.popleft()[1] + above, with_link)
            elif above:
                content = filler(lines, height, f"<span>↑ {counted(lines, 'new line')}</span>{above}", with_link)
            else:
                content = filler(lines, height, pad=plain)
            found.append((point, content))
        return found

    def _filler_steps(self, fillers: Sequence[tuple[int, str]]) -> list[Callable[[], None]]:
        """Only the fillers that differ are changed, a few at once, since each moves the text below it."""
        there: defaultdict[tuple[int, str], list[int]] = defaultdict(list)
        for region, phantom in zip(self._view.query_phantoms(list(self._fillers)), self._fillers, strict=True):
            there[region.a, self._fillers[phantom]].append(phantom)
        new: list[tuple[int, str]] = []
        for filler in fillers:
            if same := there.get(filler):
                same.pop()
            else:
                new.append(filler)
        old = [phantom for phantoms in there.values() for phantom in phantoms]
        if len(old) + len(new) <= FILLERS_AT_ONCE:
            return [lambda: self._holding_the_caret(lambda: self._change_fillers(old, new))] if old or new else []
        return [
            lambda: self._change_fillers(old, []),
            *(
                lambda at=at: self._change_fillers([], new[at : at + FILLERS_AT_ONCE])
                for at in range(0, len(new), FILLERS_AT_ONCE)
            ),
        ]

    def _change_fillers(self, old: Sequence[int], new: Sequence[tuple[int, str]]) -> None:
        for phantom in old:
            self._view.erase_phantom_by_id(phantom)
            del self._fillers[phantom]
        for point, content in new:
            phantom = self._view.add_phantom(
                FILLERS, sublime.Region(point), content, sublime.PhantomLayout.BLOCK, self._clicked
            )
            self._fillers[phantom] = content

    def _holding_the_caret(self, change: Callable[[], None]) -> None:
        """Keep the caret's line where it is on the screen: phantoms above it move it (sublimehq/sublime_text#5894).

        A side without the focus follows the other one.
        """
        view, window = self._view, self._view.window()
        is_focused = window is not None and window.active_view() == view
        carets = [region.b for region in view.sel() if is_focused and view.visible_region().contains(region.b)]
        before = view.text_to_layout(carets[0])[1] if carets else 0
        change()
        if carets and (moved := view.text_to_layout(carets[0])[1] - before):
            x, y = view.viewport_position()
            view.set_viewport_position((x, y + moved), animate=False)

    def _measure(self, side: Side) -> None:
        """Whether a filler is as high as its lines, to a pixel. If none can be measured, nobody knows."""
        view = self._view
        self.are_fillers_exact = not side.fillers
        for point, lines in side.fillers[:MEASURED]:
            row = view.rowcol(point)[0]
            after = view.text_point(row + 1, 0)
            found = view.text_to_layout(after)[1] - view.text_to_layout(point)[1]
            # The header is below the first row. An editor that is slow to draw does not have the filler yet.
            if row and view.rowcol(after)[0] == row + 1 and found > view.line_height() + 1:
                self.are_fillers_exact = abs(found - (lines + 1) * view.line_height()) <= 1
                return


def proposal_links(marks: Marks, generation: int, *, is_short: bool = False) -> Links:
    """The links of a proposal's changes; with `is_short`, each is a glyph."""

    def link(href: str, glyph: str, words: str, style: str = _IN_ANNOTATION) -> str:
        return f'<a{style} href="{href}">{glyph if is_short else f"{glyph} {words}"}</a>'

    def restore(name: str, lines: int) -> str:
        return link(f"revert:{ANY_GENERATION}:{name}", "↩", f"restore {counted(lines, 'line')}", style="")

    pairs = list(zip(marks.fingerprints, marks.gone, strict=False))
    return Links(
        [None if gone else link(f"revert:{generation}:{name}", "↩", "undo") for name, gone in pairs],
        [(gone, restore(name, gone[1])) for name, gone in pairs if gone],
        [(one.points, link(f"restore:{generation}:{one.fingerprint}", "↪", "restore")) for one in marks.reverted],
    )


def change_regions(view: sublime.View) -> list[sublime.Region]:
    """The current regions of a view's changes, in order. A region is empty where lines are missing."""
    found: list[sublime.Region] = []
    for base in (CHANGES, GAPS):
        part = 0
        while regions := view.get_regions(_key(base, part)):
            found += regions
            part += 1
    return sorted(found)


def _key(base: str, part: int) -> str:
    return f"{base}.{part}" if part else base


def _parts(points: Sequence[Points]) -> list[Sequence[Points]]:
    return [points[at : at + AT_ONCE] for at in range(0, len(points), AT_ONCE)] or [[]]


def _regions(points: Sequence[Points]) -> list[sublime.Region]:
    return [sublime.Region(start, end) for start, end in points]


class Gap(NamedTuple):
    """A place where the layout tells whether lines are shown: two points, and the height between them if none are."""

    above: int | None
    below: int
    height: float


class RemovedLines:
    """The lines that are gone in one view: of all its changes, or of one.

    `missing` is called if the editor turns out to show nothing. Then `is_own` is true: phantoms are to show them.
    """

    def __init__(self, view: sublime.View, missing: Callable[[], object]) -> None:
        self.is_own = False
        self._view = view
        self._missing = missing
        self._is_toggled = False
        self._look: object = None

    def show(self, gap: Gap | None, at: sublime.Region | None = None) -> None:
        """Have the editor show what differs from the reference document, or that at a region, unless `is_own`.

        After an edit this is done once more. `gap` is where it is looked whether the editor does it.
        """
        self.hide()
        self._note(shown=True)
        if at is not None:
            flags = sublime.RegionFlags.HIDDEN | sublime.RegionFlags.NO_UNDO
            self._view.add_regions(REMOVED, [at], flags=flags)
        if not self.is_own:
            self._toggle(shown=True)
            if gap:
                self._look_later(gap, 1)

    def resume(self) -> None:
        """The view is that of a diff from before, which may have been shown inline."""
        own = VIEWS.of(self._view)
        self._is_toggled = bool(own and own.get(INLINE)) and not self.is_own

    def hide(self) -> None:
        """Show the text alone."""
        self._look = None
        if self._view.is_valid():
            self._note(shown=False)
            self._toggle(shown=False)
            self._view.erase_regions(REMOVED)

    @property
    def has_caret(self) -> bool:
        """Whether a caret is in the one change whose lines are shown."""
        view = self._view
        found = view.get_regions(REMOVED)
        places = [view.line(sublime.Region(each.begin(), max(each.begin(), each.end() - 1))) for each in found]
        return any(place.contains(region.b) for place in places for region in view.sel())

    def _note(self, *, shown: bool) -> None:
        if own := VIEWS.of(self._view):
            own.keep(**{INLINE: shown})

    def _toggle(self, *, shown: bool) -> None:
        if not shown and not self._is_toggled:
            return
        carets = list(self._view.sel())
        if places := self._view.get_regions(REMOVED):
            select(self._view, places[0].begin())
        else:
            self._view.run_command("select_all")
        if self._is_toggled:
            # After an edit only some changes may be shown: hide all, then show all.
            self._view.run_command("toggle_inline_diff", {"prefer_hide": True})
        if shown:
            self._view.run_command("toggle_inline_diff")
        self._is_toggled = shown
        select(self._view, *carets)

    def _look_later(self, gap: Gap, number: int) -> None:
        look = self._look = object()
        version = self._view.change_count()

        def at() -> None:
            if self._look is not look or not self._view.is_valid() or self._view.change_count() != version:
                return
            if _height(self._view, gap.above, gap.below) > gap.height + self._view.line_height() / 2:
                return
            if number == TRIES:
                self.is_own = True
                self._missing()
            else:
                self._toggle(shown=True)
                self._look_later(gap, number + 1)

        sublime.set_timeout(at, LOOK)


def gap_above(view: sublime.View, point: int) -> Gap:
    """Where to look for the lines above a change."""
    row = view.rowcol(point)[0]
    above = view.text_point(row - 1, 0) if row else None
    return Gap(above, point, _height(view, above, point))


def first_gap(view: sublime.View, marks: Marks, *, has_links: bool) -> Gap | None:
    """Where to look in a proposal. None if nothing is gone, or all of it is behind the last line.

    With `has_links`, a place where lines were only removed has a line of ours with a link.
    """
    found: list[int] = []
    for at, ((start, end), (gone_from, gone_to)) in enumerate(
        zip(marks.proposal.lines, marks.original.lines, strict=True)
    ):
        if has_links and at < len(marks.gone) and marks.gone[at]:
            continue  # our line is there, too
        row, column = view.rowcol(start)
        if gone_from == gone_to or (start == end and (column or start == view.size())):
            continue
        if row >= 2:  # the header is below the first row
            return Gap(view.text_point(row - 1, 0), start, view.line_height())
        found.append(start)
    return gap_above(view, found[0]) if found else None


def _height(view: sublime.View, above: int | None, below: int) -> float:
    return view.text_to_layout(below)[1] - (0.0 if above is None else view.text_to_layout(above)[1])


def gone_lines(view: sublime.View, marks: Marks, original: str, links: Links | None) -> list[tuple[int, str]]:
    """The phantoms of the lines of the original that are there no more: where, and their minihtml.

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
        words = [*moved(words_between(marks.original.words, gone_from, gone_to), -gone_from)]
        html = gone_html(view, original[gone_from:gone_to].removesuffix("\n"), words, link)
        found.append((filler[0] if filler else max(0, start - 1), html))
    return found


def gone_html(view: sublime.View, text: str, words: Sequence[Points] = (), link: str = "") -> str:
    """The minihtml of lines that are gone, with words of them marked, and a link in a line of its own."""
    given = view.settings().get("tab_size")  # a project may have anything there
    tab_size = given if isinstance(given, int) and 1 <= given <= WIDEST_TAB else 4
    em = view.em_width()
    lines, at = text.split("\n"), 0
    more = [f"… {len(lines) - MOST_LINES} more"] if len(lines) > MOST_LINES else []
    shown: list[str] = []
    for line in lines[:MOST_LINES]:
        marked = [*moved(words_between(words, at, at + len(line)), -at)]
        parts = list(_parted(line[:LONGEST_LINE], marked))
        shown.append(_line(parts, tab_size) + ("…" if len(line) > LONGEST_LINE else ""))
        at += len(line) + 1
    widest = max(columns(line[:LONGEST_LINE].expandtabs(tab_size)) for line in [*lines[:MOST_LINES], *more])
    # A phantom may be as wide as its content only (sublimehq/sublime_text#3261).
    pad = max(0, int(view.viewport_extent()[0] - (widest + 3) * em))
    html = "".join(f"<div>{line or '&nbsp;'}</div>" for line in [*shown, *more])
    return _GONE.format(pad=pad, lines=html + (f"<div>{link}</div>" if link else ""))


def words_between(words: Sequence[Points], start: int, end: int) -> Sequence[Points]:
    """The words that begin between two points."""
    return words[bisect_left(words, (start, -1)) : bisect_left(words, (end, -1))]


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
            _show_sideways(self.view, word)

    def show_place(self) -> None:
        """Say in the status bar which change the caret is in, and the keys."""
        regions = self.regions
        at = self.at_caret(regions)
        place = counted(len(regions), "change") if at is None else f"Change {at + 1} of {len(regions)}"
        keys = [KEYS.after(words, command) for words, command in self._keys.items()]
        self.view.set_status(KEYS_STATUS, " · ".join([place, *keys] if regions else keys))


def _show_sideways(view: sublime.View, word: sublime.Region) -> None:
    """Scroll to a word that is out of sight to the right or to the left."""
    x, y = view.viewport_position()
    width = view.viewport_extent()[0]
    at = view.text_to_layout(word.begin())[0]
    if not x <= at < x + width:
        view.set_viewport_position((max(0.0, at - width / 2), y), animate=False)


def rows_in(view: sublime.View, region: sublime.Region) -> tuple[int, int]:
    """The first and the last row of a region. The row after a selected line feed doesn't count."""
    first = view.rowcol(region.begin())[0]
    last, column = view.rowcol(region.end())
    return first, last - (column == 0 and last > first)


def caret_row(view: sublime.View) -> int:
    """The row of the first caret, which is the last one of a selection."""
    return rows_in(view, view.sel()[0])[1] if len(view.sel()) else 0


def selected_rows(view: sublime.View, ranges: Sequence[range]) -> dict[int, set[int]]:
    """The rows at the carets and selections of a view, by the number of the range that has them, from the top.

    The ranges are ascending. A caret means all rows of its range.
    """
    found: defaultdict[int, set[int]] = defaultdict(set)
    for region in view.sel():
        first, last = rows_in(view, region)
        for at in range(bisect_left(ranges, first, key=lambda rows: rows[-1]), len(ranges)):
            if ranges[at].start > last:
                break
            selected = range(max(first, ranges[at].start), min(last + 1, ranges[at].stop))
            found[at].update(ranges[at] if region.empty() else selected)
    return dict(sorted(found.items()))


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
