"""The marks of written changes in one view of the person's own.

Our own comparison says where a change is, and where *keep* and *undo* stand. The editor's gutter draws what has changed
since the baseline: that is the view's reference document. The view gets no lasting setting.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence

import sublime

from ...changes.port import GOES, FileChanges
from ...changes.rows import ChangeRow
from ...review.changes import lines_of, paired_lines
from ...review.compare import Change
from ...review.words import word_changes
from ..keys import KEYS
from ..style import ACCEPTS, COLOURS, UNDOES
from .leftovers import KEYS_STATUS
from .removed_lines import LOOK, gone_html

REGIONS = "qwen_companion.written"
"""Key of the regions of the changes, and the beginning of those of their links."""
MAX_LINKS = 500
"""With more changes than this there are no links at them."""
REMOVED = "qwen_companion.removed"
"""Key of the phantom with removed lines, of the change that they are of, and of the words that have come for them."""
MOST_PAIRED = 100
"""Lines of a change whose words are compared."""
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
        self.removed = RemovedLines(view)
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
        keep = f'<a class="accept" href="keep:{number}">{ACCEPTS} keep</a>'
        key, going = self.changes.changes[number][4], self.changes.going
        is_going = not going.isdisjoint({"", key})
        undo = f'<a class="reject" href="undo:{number}">{UNDOES} undo{" now" if is_going else ""}</a>'
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
        was_shown = self.removed.is_shown
        self.removed.hide()
        self.row, self.changes = row, changes
        self._draw()
        if was_shown and (number := self._at_caret()) is not None:
            self._reveal(number)
        self.caret_moved()

    def refer_to(self, text: str) -> None:
        """Have the editor's gutter compare with a text: the baseline with the person's unsaved edits."""
        self.view.set_reference_document(text)

    def clear(self) -> None:
        """Remove all marks. The editor's gutter compares with what the person's own settings say again."""
        view = self.view
        if not view.is_valid():
            return
        self.removed.hide()
        view.erase_status(KEYS_STATUS)
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
        """Put the caret at a change, and show what was removed there until it leaves."""
        point = region.begin()
        self.view.sel().clear()
        self.view.sel().add(sublime.Region(point))
        self.view.show_at_center(point)
        if (number := self._at_caret()) is not None:
            self._reveal(number)
        self.caret_moved()

    def _reveal(self, number: int) -> None:
        """Show what was removed at a change."""
        regions, changes = self.regions(), self.changes
        if len(regions) == len(changes.changes):
            old_start, old_end, new_start, new_end, _ = changes.changes[number]
            old, new = lines_of(changes.baseline)[old_start:old_end], lines_of(changes.text)[new_start:new_end]
            self.removed.show(regions[number], old, new)

    def caret_moved(self) -> None:
        """Say in the status bar which change the caret is in, with the keys; what was removed goes with the caret."""
        self.removed.leave()
        number = self._at_caret()
        if number is None:
            self.view.erase_status(KEYS_STATUS)
            return
        named = (("Keep", "keep_change"), ("Undo", "undo_change"), ("Next", "go_to_diff"))
        keys = " · ".join(KEYS.after(words, command) for words, command in named)
        self.view.set_status(KEYS_STATUS, f"Change {number + 1} of {len(self.regions())} · {keys}")

    def _at_caret(self) -> int | None:
        """The number of the change at the first caret; a change without lines is at the line below it."""
        regions, carets = self.regions(), [region.b for region in self.view.sel()][:1]
        if not carets:
            return None
        line = self.view.line(carets[0])
        at = bisect_right(regions, line.end(), key=lambda region: region.begin()) - 1
        if at < 0:
            return None
        last = regions[at].end() - (not regions[at].empty())
        return at if line.begin() <= max(last, regions[at].begin()) else None

    def _lines(self, region: sublime.Region) -> tuple[int, int]:
        first = self.view.rowcol(region.begin())[0]
        last, column = self.view.rowcol(region.end())
        return first, last - (column == 0 and last > first)


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


def _starts(text: str) -> list[int]:
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    return starts


def _points(starts: Sequence[int], first: int, after: int) -> tuple[int, int]:
    end = starts[-1] - 1
    return min(starts[min(first, len(starts) - 1)], end), min(starts[min(after, len(starts) - 1)], end)
