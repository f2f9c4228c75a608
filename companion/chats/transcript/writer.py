"""A text that is being written, and its marks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from .render import Ask, Code, Fold, Link, Running, Said


@dataclass(slots=True)
class TranscriptMarks:
    """What is where in a text: folds, links, code blocks, questions, messages of the person, what runs."""

    folds: list[Fold] = field(default_factory=list[Fold])
    links: list[Link] = field(default_factory=list[Link])
    codes: list[Code] = field(default_factory=list[Code])
    asks: list[Ask] = field(default_factory=list[Ask])
    said: list[Said] = field(default_factory=list[Said])
    running: list[Running] = field(default_factory=list[Running])

    def add(self, others: Iterable[TranscriptMarks], by: int = 0) -> None:
        """Add others, moved by `by` characters."""
        for other in others:
            if by:
                self.folds += [Fold(each.key, each.start + by, each.end + by) for each in other.folds]
                self.links += [Link(each.start + by, each.end + by, each.path, each.line) for each in other.links]
                self.codes += [replace(each, start=each.start + by, end=each.end + by) for each in other.codes]
                self.asks += [replace(each, start=each.start + by, at=each.at + by) for each in other.asks]
                self.said += [Said(each.start + by, each.end + by) for each in other.said]
                self.running += [Running(each.terminals, each.at + by) for each in other.running]
            else:
                self.folds += other.folds
                self.links += other.links
                self.codes += other.codes
                self.asks += other.asks
                self.said += other.said
                self.running += other.running


class Writer:
    """A text that is written from its beginning to its end, with its marks."""

    def __init__(self, text: str = "") -> None:
        self.marks = TranscriptMarks()
        self.length = len(text)
        self._parts = [text]

    @property
    def text(self) -> str:
        """What has been written."""
        return "".join(self._parts)

    def write(self, text: str) -> None:
        """Go on."""
        self._parts.append(text)
        self.length += len(text)

    def link(self, text: str, path: str, line: int | None = None) -> None:
        """Go on with the name of a file."""
        start = self.length
        self.write(text)
        if path.strip() and self.length > start:
            self.marks.links.append(Link(start, self.length, path, line))

    def fold(self, key: str, start: int) -> None:
        """Fold what has been written from `start` on."""
        if start < self.length:
            self.marks.folds.append(Fold(key, start, self.length))
