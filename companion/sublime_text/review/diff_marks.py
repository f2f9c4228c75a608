"""Draws the marks of changes, proposed or written: changed lines and words, fillers, and links at each change."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import sublime

from ...review.changes import counted
from ...review.marks import MAX_LINKS
from ..minihtml import LINK_COLOUR

if TYPE_CHECKING:
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

    `clicked` is called with the href of a change's link; without it there are no links. With `marks_gaps`, a change
    without lines on this side is marked by an empty region.
    """

    def __init__(
        self,
        view: sublime.View,
        kind: Kind,
        clicked: Callable[[str], None] | None = None,
        *,
        marks_gaps: bool = False,
    ) -> None:
        self._view = view
        self._kind: Kind = kind
        self._clicked = clicked
        self._marks_gaps = marks_gaps
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
        steps += [lambda at=at, part=part: self._hide(_key(GAPS, at), part) for at, part in enumerate(_parts(gaps))]
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
        self._erase_fillers()

    def _parted(self, side: Side, links: Links | None) -> tuple[list[Points], list[Points]]:
        """The changes with lines on this side, and those without, which nothing marks but their fillers."""
        if links:
            pairs = list(zip(side.lines, links.lines, strict=True))
            gaps = [points for points, link in pairs if link is None]
            lines = [points for points, link in pairs if link is not None]
        else:
            gaps = [points for points in side.lines if points[0] == points[1]]
            lines = [points for points in side.lines if points[0] < points[1]]
        return lines, gaps if self._marks_gaps else []

    def _hide(self, key: str, gaps: Sequence[Points]) -> None:
        self._view.add_regions(key, _regions(gaps), flags=_HIDDEN)

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

    def _erase_fillers(self) -> None:
        self._change_fillers(list(self._fillers), [])

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
