"""The marks of written changes in one view of the person's own.

Our own comparison says where a change is, and where *keep* and *undo* stand. The editor's gutter draws what has changed
since the baseline: that is the view's reference document. The view gets no lasting setting.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import sublime

from ...changes.port import GOES, FileChanges
from ...changes.rows import ChangeRow
from ..style import COLOURS

REGIONS = "qwen_companion.written"
"""Key of the regions of the changes, and the beginning of those of their links."""
MAX_LINKS = 500
"""With more changes than this there are no links at them."""
_STYLE = f"<style>{COLOURS} body {{ margin: 0; }} a {{ padding: 0 0.3rem; }}</style>"
_GONE = '<span class="deleted">−{lines}</span> '


class WrittenView:
    """One view of a file with written changes. `act` gets "keep" or "undo" and the key of a change."""

    def __init__(
        self, view: sublime.View, row: ChangeRow, changes: FileChanges, act: Callable[[str, str], None]
    ) -> None:
        self.view = view
        self.row = row
        self.changes = changes
        self._act = act
        self._count = 0
        self._draw()

    def _draw(self) -> None:
        view, starts = self.view, _starts(self.changes.text)
        self.refer_to(self.changes.baseline)
        regions = [sublime.Region(*_points(starts, change[2], change[3])) for change in self.changes.changes]
        links = len(regions) <= MAX_LINKS
        flags = sublime.RegionFlags.HIDDEN | sublime.RegionFlags.NO_UNDO
        view.add_regions(REGIONS, regions, "markup.changed", flags=flags)
        for number, region in enumerate(regions if links else []):
            view.add_regions(
                f"{REGIONS}.{number}",
                [region],
                "markup.changed",
                flags=flags,
                annotations=[self._links(number)],
                annotation_color="",
                on_navigate=self._clicked,
            )
        for number in range(len(regions) if links else 0, self._count):
            view.erase_regions(f"{REGIONS}.{number}")
        self._count = len(regions) if links else 0

    def _links(self, number: int) -> str:
        deleted = self.changes.changes[number][1] - self.changes.changes[number][0]
        gone = _GONE.format(lines=deleted) if deleted else ""
        keep = f'<a class="accept" href="keep:{number}">✓ keep</a>'
        key, going = self.changes.changes[number][4], self.changes.going
        is_going = not going.isdisjoint({"", key})
        undo = f'<a class="reject" href="undo:{number}">↩ undo{" now" if is_going else ""}</a>'
        new = "<b>new</b> " if key in self.changes.new else ""
        goes = f"<b>{GOES}</b> " if is_going else ""
        return f'<body id="qwen-companion-written">{_STYLE}{new}{goes}{gone}{keep}{undo}</body>'

    def _clicked(self, href: str) -> None:
        what, _, number = href.partition(":")
        self._act(what, self.changes.changes[int(number)][4])

    @property
    def is_current(self) -> bool:
        """Whether the view has the text that was compared."""
        return self.view.substr(sublime.Region(0, self.view.size())) == self.changes.text

    def update(self, row: ChangeRow, changes: FileChanges) -> None:
        """The file or its baseline has changed."""
        self.row, self.changes = row, changes
        self._draw()

    def refer_to(self, text: str) -> None:
        """Have the editor's gutter compare with a text: the baseline with the person's unsaved edits."""
        self.view.set_reference_document(text)

    def clear(self) -> None:
        """Remove all marks. The editor's gutter compares with what the person's own settings say again."""
        view = self.view
        if not view.is_valid():
            return
        view.erase_regions(REGIONS)
        for number in range(self._count):
            view.erase_regions(f"{REGIONS}.{number}")
        view.reset_reference_document()

    def regions(self) -> list[sublime.Region]:
        """Where the changes are by now, from the top."""
        return self.view.get_regions(REGIONS)

    def at_carets(self) -> list[tuple[str, tuple[int, int] | None]]:
        """The changes at the carets and selections: the key of each, and the lines if only some are selected."""
        found: dict[int, tuple[int, int] | None] = {}
        regions = self.regions()
        if len(regions) != len(self.changes.changes):
            return []
        for selected in self.view.sel():
            first, last = self._lines(selected)
            for number, region in enumerate(regions):
                start = self.view.rowcol(region.begin())[0]
                end = self._lines(region)[1] if not region.empty() else start
                if start <= last and first <= end:
                    is_part = not selected.empty() and not region.empty() and (first > start or last < end)
                    lines = self.changes.changes[number][2:4]
                    shift = lines[0] - start
                    found[number] = (first + shift, last + shift) if is_part else None
        return [(self.changes.changes[number][4], found[number]) for number in sorted(found)]

    def go(self, step: int, *, wraps: bool = False) -> bool:
        """Go to the next or the previous change from the caret. Returns False if there is none."""
        regions = self.regions()
        caret = self.view.sel()[0].b if len(self.view.sel()) else 0
        row = self.view.rowcol(caret)[0]
        rows = [self.view.rowcol(region.begin())[0] for region in regions]
        after = [at for at, each in enumerate(rows) if (each > row if step > 0 else each < row)]
        if not after and not (wraps and rows):
            return False
        at = (after[0] if step > 0 else after[-1]) if after else (0 if step > 0 else len(rows) - 1)
        self.show(regions[at])
        return True

    def go_on_from(self, row: int) -> None:
        """Go to the change at a row or the next one after it, otherwise to the first one."""
        regions = self.regions()
        after = [region for region in regions if self.view.rowcol(region.begin())[0] >= row]
        if found := after or regions:
            self.show(found[0])

    def rows(self, key: str, lines: tuple[int, int] | None = None) -> tuple[int, int]:
        """The first and the last row of a change by now, or of what some lines of the compared text are of it."""
        number = [change[4] for change in self.changes.changes].index(key)
        first, last = self._lines(self.regions()[number])
        if lines is None:
            return first, last
        shift = self.changes.changes[number][2] - first
        return max(first, lines[0] - shift), min(last, lines[1] - shift)

    def go_to_end(self, step: int) -> None:
        """Go to the first change, or to the last one if the step is backwards."""
        if regions := self.regions():
            self.show(regions[0 if step > 0 else -1])

    def show(self, region: sublime.Region) -> None:
        """Put the caret at a change."""
        point = region.begin()
        self.view.sel().clear()
        self.view.sel().add(sublime.Region(point))
        self.view.show_at_center(point)

    def _lines(self, region: sublime.Region) -> tuple[int, int]:
        first = self.view.rowcol(region.begin())[0]
        last, column = self.view.rowcol(region.end())
        return first, last - (column == 0 and last > first)


def _starts(text: str) -> list[int]:
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    return starts


def _points(starts: Sequence[int], first: int, after: int) -> tuple[int, int]:
    end = starts[-1] - 1
    return min(starts[min(first, len(starts) - 1)], end), min(starts[min(after, len(starts) - 1)], end)
