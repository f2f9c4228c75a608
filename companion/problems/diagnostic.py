"""One problem, whoever has found it, and the two ways in which its place is counted."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

Severity = Literal["error", "warning", "information", "hint"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "information", "hint")
"""From the gravest; LSP counts them from 1 in this order."""


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in a file. All numbers count from 1."""

    line: int
    character: int
    """In UTF-16 units, as LSP and the CLIs count."""
    column: int
    """In characters, as the editor counts."""

    @property
    def message(self) -> dict[str, int]:
        """As a JSON object."""
        return {"line": self.line, "character": self.character, "column": self.column}


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


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A problem in a file, from `start` up to `end`, which is not part of it."""

    path: str
    start: Position
    end: Position
    severity: Severity
    message: str
    source: str = ""
    """Who has found it: the language server's or the linter's name."""
    code: str = ""

    @property
    def what(self) -> tuple[str, str, str, str, str]:
        """What it is, wherever its line has moved."""
        return self.path, self.severity, self.source, self.code, self.message

    @property
    def order(self) -> tuple[str, Position, int]:
        """By which they are listed."""
        return self.path, self.start, SEVERITIES.index(self.severity)

    def touches(self, first: int, last: int) -> bool:
        """Whether it is in one of these lines. One that ends where a line begins is not in that line."""
        ends = self.end.line - 1 if self.end.character == 1 and self.end > self.start else self.end.line
        return self.start.line <= last and ends >= first
