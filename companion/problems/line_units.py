"""The lines of a text, in which a place is counted in two ways."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate


class LineUnits:
    """The lines of a text, as the editor has them: a line feed ends one. Without a text, both ways agree."""

    def __init__(self, text: str | None) -> None:
        self._lines = None if text is None or text.isascii() else text.split("\n")
        self._sums: dict[int, list[int]] = {}
        """For a line with characters of two units: how many units there are up to each character."""

    def column(self, line: int, character: int) -> int:
        """The column of a character in UTF-16 units. All count from 0; beyond the line's end is its end's distance."""
        if (sums := self._of(line)) is None:
            return character
        if character >= sums[-1]:
            return len(sums) - 1 + character - sums[-1]
        return bisect_right(sums, character) - 1

    def character(self, line: int, column: int) -> int:
        """The character in UTF-16 units of a column. All count from 0."""
        if (sums := self._of(line)) is None:
            return column
        return sums[column] if column < len(sums) else sums[-1] + column - len(sums) + 1

    def _of(self, line: int) -> list[int] | None:
        """The sums of a line; None if each of its characters is one unit."""
        if self._lines is None or not 0 <= line < len(self._lines) or self._lines[line].isascii():
            return None
        if line not in self._sums:
            units = (2 if each > "\uffff" else 1 for each in self._lines[line])
            self._sums[line] = list(accumulate(units, initial=0))
        return self._sums[line]
