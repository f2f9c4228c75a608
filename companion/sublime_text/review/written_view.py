"""The marks of written changes in one view of the person's own.

Our own comparison says where a change is, and where *keep* and *undo* stand. The editor's gutter draws what has changed
since the baseline: that is the view's reference document, and git's text again when nothing waits any more. The view
gets no lasting setting.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import sublime

from ...changes.change_screen import FileChanges
from ...changes.lines import Weave
from ...changes.rows import ChangeRow
from ...changes.state import GOES
from ...review.changes import Range, carried, lines_of
from ...review.changes import changes as compared
from ...review.compare import Change
from ...review.marks import Marks, Side, marks_of, points_of, starts_of
from ..bridge import unsaid
from ..buffers import text_of
from ..minihtml import ACCEPTS, COLOURS, UNDOES
from ..panels import say
from .answers import FAILED
from .diff_marks import (
    KEYS_STATUS,
    Links,
    MarkedChanges,
    RemovedLines,
    SideMarks,
    gap_above,
    gone_lines,
    pieces,
    rows_in,
    selected_rows,
)

if TYPE_CHECKING:
    from ..adapter import Adapter

_STYLE = f"<style>{COLOURS} body {{ margin: 0; }} a {{ padding: 0 0.3rem; }}</style>"
_GONE = '<span class="deleted">−{lines}</span> '
KEYS = {"Keep": "keep_change", "Undo": "undo_change", "Next": "go_to_diff"}
"""What the status bar names with its key while the caret is in a change."""
MOST_PAIRED = 100
"""Lines of a change whose words are compared on the UI thread."""
MERGE_AFTER = 400
"""Milliseconds after an edit until the gutter leaves it out."""


class WrittenView(MarkedChanges):
    """One view of a file with written changes.

    `typed` is what differs between the text that was compared and that of the view.
    """

    def __init__(
        self, adapter: Adapter, view: sublime.View, row: ChangeRow, changes: FileChanges, typed: Sequence[Change]
    ) -> None:
        super().__init__(view, KEYS)
        self._adapter = adapter
        self.row = row
        self.changes = changes
        self._marks = SideMarks(view, "inserted", self._clicked)
        self._removed = RemovedLines(view, self._show_own)
        self._revealed: tuple[Marks, int] | None = None
        """The marks of the change whose removed lines are shown, and by how much it has moved since it was compared."""
        self._is_merging = False
        """Unsaved edits are about to be merged in."""
        self._draw(typed)

    def _draw(self, typed: Sequence[Change]) -> None:
        self.refer_to(self.changes.baseline)
        self._draw_marks(self._places(typed))

    def _places(self, typed: Sequence[Change]) -> list[Range]:
        return carried([change[2:4] for change in self.changes.changes], typed)

    def _draw_marks(self, places: Sequence[Range]) -> None:
        self._placed = self.view.change_count()
        starts = starts_of(lines_of(text_of(self.view)))
        lines = [points_of(starts, *place) for place in places]
        links = Links([self._links(number) for number in range(len(lines))])
        for step in self._marks.steps(Side(lines, [], []), inline=True, links=links):
            step()

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
        match what:
            case "keep" | "undo":
                found = [(self.changes.changes[int(number)][4], None)]
                self._adapter.written.decide(self, what, found, lambda: None)
            case _:
                pass

    @property
    def is_current(self) -> bool:
        """Whether the view has the text that was compared."""
        return text_of(self.view) == self.changes.text

    def shows(self, row: ChangeRow) -> bool:
        """Whether the changes are marked that the file has in this row, wherever the person has edited meanwhile."""
        return self.changes.after == row.after

    def update(self, row: ChangeRow, changes: FileChanges, typed: Sequence[Change]) -> None:
        """The file or its baseline has changed."""
        was_shown = self._revealed is not None
        self.hide_removed()
        self.row, self.changes = row, changes
        self._draw(typed)
        if was_shown and (number := self.at_caret(self.regions)) is not None:
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
        self.hide_removed()
        view.erase_status(KEYS_STATUS)
        self._marks.clear()
        view.reset_reference_document()

    @property
    def regions(self) -> list[sublime.Region]:
        """Where the changes are by now, from the top."""
        # The editor's undo brings the text back, but not where the changes were in it.
        if not self.is_placed and not self.view.is_dirty() and self.is_current:
            self._draw_marks(self._places(()))
        return super().regions

    @property
    def is_placed(self) -> bool:
        """Whether the marks are where the changes are in the text as it is now, and not only where they have moved."""
        return self._placed == self.view.change_count()

    def _place(self, typed: Sequence[Change]) -> None:
        """The person has edited the text: mark the changes where they are in it."""
        places = self._places(typed)
        if places != [(lines.new_start, lines.new_end) for lines in self.lines]:
            self._draw_marks(places)
            self.caret_moved()
        self._placed = self.view.change_count()

    @property
    def lines(self) -> list[Change]:
        """The lines of the changes in the baseline, and in the view by now."""
        found: list[Change] = []
        for change, region in zip(self.changes.changes, self.regions, strict=False):
            first, last = rows_in(self.view, region)
            found.append(Change(*change[:2], first, first if region.empty() else last + 1))
        return found

    def at_carets(self) -> list[tuple[str, tuple[int, int] | None]]:
        """The changes at the carets and selections: the key of each, and the lines if only some are selected.

        A change is there once for each piece of it that is selected. The lines fit as long as the view has the text
        that was compared.
        """
        regions = self.regions
        if len(regions) != len(self.changes.changes):
            return []
        found: list[tuple[str, tuple[int, int] | None]] = []
        ranges = [range(first, last + 1) for first, last in (rows_in(self.view, region) for region in regions)]
        for at, selected in selected_rows(self.view, ranges).items():
            _, _, start, _, key = self.changes.changes[at]
            if len(selected) == len(ranges[at]):
                found.append((key, None))
            else:
                shift = start - ranges[at].start
                found += [(key, (first + shift, last + shift)) for first, last in pieces(selected)]
        return found

    def beside_carets(self, baseline: sublime.View) -> list[sublime.Region]:
        """Where the changes are whose old lines are at the carets and selections of the baseline."""
        places = zip(self.lines, self.regions, strict=True)
        removing = [(range(change.old_start, change.old_end), region) for change, region in places if change.deleted]
        return [removing[at][1] for at in selected_rows(baseline, [rows for rows, _ in removing])]

    def go_on_from(self, row: int) -> None:
        """Go to the change at a row or the next one after it, otherwise to the first one."""
        regions = self.regions
        after = [region for region in regions if self.view.rowcol(region.begin())[0] >= row]
        if found := after or regions:
            self.show(found[0])

    def rows(self, key: str, lines: tuple[int, int] | None = None) -> tuple[int, int]:
        """The first and the last row of a change by now, or of what some lines of the compared text are of it."""
        number = [change[4] for change in self.changes.changes].index(key)
        first, last = rows_in(self.view, self.regions[number])
        if lines is None:
            return first, last
        shift = self.changes.changes[number][2] - first
        return max(first, lines[0] - shift), min(last, lines[1] - shift)

    def show(self, region: sublime.Region) -> None:
        """Put the caret at a change, and show what was removed there until it leaves."""
        super().show(region)
        if (number := self.at_caret(self.regions)) is not None:
            self._reveal(number)
        self.caret_moved()

    def _reveal(self, number: int) -> None:
        """Show what was removed at a change."""
        regions, changes = self.regions, self.changes
        if len(regions) == len(changes.changes):
            region, change = regions[number], Change(*changes.changes[number][:4])
            self.hide_removed()
            if not change.deleted:
                return
            found = marks_of([change], lines_of(changes.baseline), lines_of(changes.text), max_words=MOST_PAIRED)
            self._revealed = found, region.begin() - found.proposal.lines[0][0]
            self._removed.is_own = self.view.settings().get("mini_diff") is False
            self._removed.show(gap_above(self.view, region.begin()), region)
            if self._removed.is_own:
                self._show_own()

    def _show_own(self) -> None:
        """The editor doesn't show what was removed."""
        if self._revealed:
            found, moved = self._revealed
            gone = [
                (max(0, point + moved), html)
                for point, html in gone_lines(self.view, found, self.changes.baseline, None)
            ]
            self._marks.show_gone(gone, [(start + moved, end + moved) for start, end in found.proposal.words])

    def hide_removed(self) -> None:
        """Show the text alone again."""
        if self._revealed:
            self._revealed = None
            self._removed.hide()
            self._marks.show_gone((), ())

    def caret_moved(self) -> None:
        """Say in the status bar which change the caret is in, with the keys; what was removed goes with the caret."""
        if self._revealed and not self._removed.has_caret:
            self.hide_removed()
        if self.at_caret(self.regions) is None:
            self.view.erase_status(KEYS_STATUS)
        else:
            self.show_place()

    def edited(self) -> None:
        """The person has edited the view: their unsaved edits are no changes of an agent."""
        if not self._is_merging:
            self._is_merging = True
            sublime.set_timeout(self._merge, MERGE_AFTER)

    def _merge(self) -> None:
        self._is_merging = False
        if not self._is_known:
            return
        self.ask_places()
        changes, mine = self.changes, text_of(self.view)

        def refer(text: str) -> None:
            if self._is_known and self.changes is changes:
                self.refer_to(text)

        self._adapter.on_another_thread(lambda: _with_edits(changes.baseline, changes.text, mine), refer)

    def ask_places(self, then: Callable[[bool], object] | None = None) -> None:
        """Mark the changes where they are in an edited text. `then` gets whether they are: not if it is another one."""
        changes, mine, edition = self.changes, text_of(self.view), self.view.change_count()

        def answer(typed: Sequence[Change]) -> None:
            is_same = self._is_known and self.changes is changes
            if is_placed := is_same and self.view.change_count() == edition:
                self._place(typed)
            if then:
                then(is_placed)

        def failed() -> None:
            if then:
                say(self.view.window(), FAILED)

        self._adapter.on_another_thread(lambda: compared(changes.text, mine), answer, failed)

    @property
    def _is_known(self) -> bool:
        """Whether these are the marks of the view still."""
        return self._adapter.written.marked(self.view.id()) is self

    def restore_gutter(self) -> None:
        """Nothing of the file waits any more: the gutter compares with git again, as the person's settings say."""
        view, row = self.view, self.row
        window, settings = view.window(), view.settings()
        # `reset_reference_document` doesn't bring git's own text back (sublimehq/sublime_text#2689).
        if window is None or settings.get("mini_diff") != "auto":
            return

        def answer(text: str | None) -> None:
            if text is not None and view.is_valid() and self._adapter.written.marked(view.id()) is None:
                view.set_reference_document(text)

        is_index = settings.get("git_diff_target", "index") != "head"
        question = lambda companion: companion.changes.committed(row.root, row.path, in_index=is_index)  # noqa: E731
        self._adapter.ask_later(window, question, answer, unsaid)


def _with_edits(baseline: str, disk: str, mine: str) -> str:
    """The baseline with the unsaved edits of a text of the file."""
    before, after, now = (text.encode("utf-8", "surrogatepass") for text in (baseline, disk, mine))
    return Weave.of(before, after).saved(now).base.decode("utf-8", "surrogatepass")
