"""Where the lines of a text start, computed on demand."""

from __future__ import annotations

from bisect import bisect_right

_CHUNK = 1 << 16


class LineIndex:
    """The offsets of line starts of one text.

    The index grows on demand and forgets everything after an edit, so that typing near the end of a large buffer costs
    nothing and typing at its start costs one scan.
    """

    def __init__(self, text: str = "") -> None:
        self._text = text
        self._starts = [0]
        self._scanned = 0

    def edited(self, text: str, at: int) -> None:
        """Take the new text, in which nothing before the offset `at` has changed."""
        self._text = text
        del self._starts[bisect_right(self._starts, at) :]
        self._scanned = min(self._scanned, at)

    def _scan(self, upto: int) -> None:
        text, starts = self._text, self._starts
        while self._scanned < upto:
            end = min(max(upto, self._scanned + _CHUNK), len(text))
            at = self._scanned
            for part in text[at:end].split("\n")[:-1]:
                at += len(part) + 1
                starts.append(at)
            self._scanned = end

    def row(self, point: int) -> int:
        """The number of the line that holds `point`, from 0."""
        self._scan(point)
        return bisect_right(self._starts, point) - 1

    def start(self, row: int) -> int:
        """Where line `row` starts; the end of the text for a line beyond the last."""
        while len(self._starts) <= row and self._scanned < len(self._text):
            self._scan(min(len(self._text), self._scanned + _CHUNK))
        return self._starts[row] if row < len(self._starts) else len(self._text)

    def count(self) -> int:
        """How many lines the text has; an empty text has one."""
        self._scan(len(self._text))
        return len(self._starts)
