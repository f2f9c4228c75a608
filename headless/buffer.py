"""The text of a file or an unnamed tab, shared by all the views into it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from headless.changes import Change, Span
from headless.files import FileFormat, FileStamp
from headless.textindex import LineIndex
from headless.undo import History


def utf16_length(text: str) -> int:
    """How many UTF-16 code units `text` has."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf8_length(text: str) -> int:
    """How many bytes `text` has in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


@dataclass(eq=False)
class TextBuffer:
    """A text with its history, its file and its way of being written to disk."""

    id: int
    text: str = ""
    file_name: str | None = None
    name: str = ""
    format: FileFormat = field(default_factory=FileFormat)
    stamp: FileStamp | None = None
    scratch: bool = False
    read_only: bool = False
    loading: bool = False
    reference: str | None = None
    change_count: int = 0

    def __post_init__(self) -> None:
        self.lines = LineIndex(self.text)
        self.history = History()
        # Every change since the buffer exists, as (at, old length, new length): what
        # View.transform_region_from replays.
        self.journal: list[tuple[int, int, int]] = []
        # The change count for which the longest line has been looked for, and its length.
        self._widest = (-1, 0)
        self.watchers: list[Callable[[Change], None]] = []

    def __len__(self) -> int:
        return len(self.text)

    @property
    def dirty(self) -> bool:
        """Whether the text differs from what was last loaded or saved; never when scratch."""
        return not self.scratch and self.history.modified

    def apply(self, change: Change) -> None:
        """Make `change` and tell the watchers; the caller records it in the history."""
        end = change.at + len(change.old)
        self.text = f"{self.text[: change.at]}{change.new}{self.text[end:]}"
        self.lines.edited(self.text, change.at)
        self.change_count += 1
        self.journal.append((change.at, len(change.old), len(change.new)))
        for watcher in self.watchers:
            watcher(change)

    def widest_line(self) -> int:
        """The length of the longest line."""
        if self._widest[0] != self.change_count:
            width = max(map(len, self.text.split("\n")))
            self._widest = self.change_count, width
        return self._widest[1]

    def clamp(self, point: int) -> int:
        """`point`, moved into the text."""
        return max(0, min(int(point), len(self.text)))

    def clamped(self, spans: Iterable[Span]) -> list[Span]:
        """All `spans` moved into the text."""
        return [(self.clamp(a), self.clamp(b)) for a, b in spans]

    def line_span(self, point: int) -> Span:
        """The line that holds `point`, without its newline."""
        start = self.text.rfind("\n", 0, point) + 1
        end = self.text.find("\n", point)
        return start, len(self.text) if end < 0 else end

    def rowcol(self, point: int) -> tuple[int, int]:
        """The line and the column of `point`, both from 0, in characters."""
        point = self.clamp(point)
        row = self.lines.row(point)
        return row, point - self.lines.start(row)

    def rowcol_measured(self, point: int, measure: Callable[[str], int]) -> tuple[int, int]:
        """As `rowcol`, with the column measured by `measure` of the text before it."""
        row, col = self.rowcol(point)
        start = self.lines.start(row)
        return row, measure(self.text[start : start + col])

    def row_span(self, row: int) -> Span:
        """The line number `row`, without its newline."""
        return self.line_span(self.lines.start(row))

    def text_point(self, row: int, col: int, clamp_column: bool) -> int:
        """The offset of a line and column; a column past the line's end runs on if not clamped."""
        if row < 0:
            return 0
        start = self.lines.start(row)
        if clamp_column:
            return min(start + max(0, col), self.line_span(start)[1])
        return self.clamp(start + col)

    def text_point_measured(self, row: int, units: int, clamp_column: bool, measure: Callable[[str], int]) -> int:
        """As `text_point`, for a column given in code units."""
        start = self.text_point(row, 0, True)
        end = self.line_span(start)[1] if clamp_column else len(self.text)
        point = start
        while point < end and units > 0:
            units -= measure(self.text[point])
            point += 1
        return point

    def moved(self, span: Span, since: int) -> Span:
        """Where `span`, true when the journal had `since` entries, is now."""
        a, b = span
        for at, old, new in self.journal[since:]:
            change = Change(at, "\0" * old, "\0" * new)
            a, b = change.move(a), change.move(b)
        return a, b
