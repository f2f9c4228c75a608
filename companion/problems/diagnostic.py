"""One problem, whoever has found it."""

from __future__ import annotations

from dataclasses import dataclass
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
