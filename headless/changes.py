"""One replacement in a text, and where it moves points."""

from __future__ import annotations

from dataclasses import dataclass

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Change:
    """One replacement: the characters `old` at the offset `at` became `new`."""

    at: int
    old: str
    new: str

    def inverted(self) -> Change:
        """The change that takes this one back."""
        return Change(self.at, self.new, self.old)

    def move(self, point: int) -> int:
        """Where `point` is after this change.

        An insertion pushes a point at its place along, so that a caret stays behind what
        was typed. A replacement leaves the start of the replaced text where it is.
        """
        if point < self.at or (point == self.at and self.old):
            return point
        if point < self.at + len(self.old):
            return self.at + len(self.new)
        return point + len(self.new) - len(self.old)
