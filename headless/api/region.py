"""Region, and the records of text changes."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from dataclasses import dataclass

from headless.api.types import DIP, Point


class Region:
    """Two points of a text; `b` is the caret's end and may be before `a`."""

    __slots__ = ("a", "b", "xpos")

    def __init__(self, a: Point, b: Point | None = None, xpos: DIP = -1) -> None:
        self.a = a
        self.b = a if b is None else b
        self.xpos = xpos

    def __iter__(self) -> Iterator[int]:
        return iter((self.a, self.b))

    def __str__(self) -> str:
        return f"({self.a}, {self.b})"

    def __repr__(self) -> str:
        xpos = "" if self.xpos == -1 else f", xpos={self.xpos}"
        return f"Region({self.a}, {self.b}{xpos})"

    def __len__(self) -> int:
        return abs(self.b - self.a)

    def __eq__(self, rhs: object) -> bool:
        return isinstance(rhs, Region) and self.a == rhs.a and self.b == rhs.b

    # Mutable, as in the editor: two equal regions may become different ones.
    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, rhs: Region) -> bool:
        return (self.begin(), self.end()) < (rhs.begin(), rhs.end())

    def __contains__(self, v: Region | Point) -> bool:
        if isinstance(v, Region):
            return self.begin() <= v.begin() and v.end() <= self.end()
        return self.begin() <= v <= self.end()

    def to_tuple(self) -> tuple[Point, Point]:
        """`(a, b)`."""
        return self.a, self.b

    def empty(self) -> bool:
        """Whether `a == b`."""
        return self.a == self.b

    def begin(self) -> Point:
        """The smaller end."""
        return min(self.a, self.b)

    def end(self) -> Point:
        """The larger end."""
        return max(self.a, self.b)

    def size(self) -> int:
        """How many characters it spans."""
        return len(self)

    def contains(self, x: Region | Point) -> bool:
        """Whether `x` lies in the region, its ends included."""
        return x in self

    def cover(self, region: Region) -> Region:
        """The region from the first to the last point of both; reversed unless this one runs forward."""
        begin, end = min(self.begin(), region.begin()), max(self.end(), region.end())
        return Region(begin, end) if self.a < self.b else Region(end, begin)

    def intersection(self, region: Region) -> Region:
        """What both regions span; `Region(0)` if they share no character."""
        if self.end() <= region.begin() or region.end() <= self.begin():
            return Region(0)
        return Region(max(self.begin(), region.begin()), min(self.end(), region.end()))

    def intersects(self, region: Region) -> bool:
        """Whether both share a character, or are the same, or one is empty inside the other."""
        if self == region:
            return True
        return self.begin() < region.end() and region.begin() < self.end()


@dataclass(slots=True, eq=False)
class HistoricPosition:
    """Where a point was before a change."""

    pt: Point
    row: int
    col: int
    col_utf16: int
    col_utf8: int


class TextChange:
    """One replacement in a buffer: where it was, and the new text."""

    __slots__ = ("a", "b", "len_utf8", "len_utf16", "str")

    def __init__(
        self,
        pa: HistoricPosition,
        pb: HistoricPosition,
        len_utf16: int,
        len_utf8: int,
        s: builtins.str,
    ) -> None:
        self.a = pa
        self.b = pb
        self.len_utf16 = len_utf16
        self.len_utf8 = len_utf8
        self.str = s

    def __repr__(self) -> builtins.str:
        return (
            f"TextChange({self.a!r}, {self.b!r}, "
            f"len_utf16={self.len_utf16!r}, len_utf8={self.len_utf8!r}, str={self.str!r})"
        )


class Edit:
    """The right to change a view's text while its command runs."""

    def __init__(self, token: int) -> None:
        self.edit_token = token

    def __repr__(self) -> str:
        return f"Edit({self.edit_token!r})"
