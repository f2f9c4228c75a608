"""What goes to the screen: a chat's text and its marks, as immutable values. Standard library alone.

Points count code points from the beginning of the chat's text, as the editor counts them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...conversation.snapshot import Locality, Permission, Status, Unsent
from ...review.changes import TextEdit
from .plain import GAP

MARK = f"\n❯{GAP}"
"""What a chat's text ends with; behind it is what the person writes."""


def columns(text: str) -> int:
    """The width of what a line begins with, in which a tab reaches to the next multiple of four."""
    return len(text.expandtabs(4))


@dataclass(frozen=True, slots=True)
class Fold:
    """A range that is folded until the person opens it: a thought, the details of a tool call."""

    key: str
    """Stays the same while the range grows or moves."""
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Link:
    """A file's name in the text."""

    start: int
    end: int
    path: str
    """On the daemon's machine; absolute, or relative to the chat's folder. Or the address of a page."""
    line: int | None = None
    """From 1."""

    @property
    def is_web(self) -> bool:
        """Whether it is the address of a page."""
        return self.path[:8].lower().startswith(("http://", "https://"))


@dataclass(frozen=True, slots=True)
class Code:
    """The lines of a code block that is complete, without its fences."""

    key: str
    start: int
    end: int
    language: str = ""
    indent: int = 0
    """Columns before each line that belong to a list, not to the code."""
    depth: int = 0
    """How many quotes it is in: each line begins with that many `>`."""

    def text(self, shown: str) -> str:
        """The code itself, from the text between `start` and `end`."""
        return "\n".join(map(self._bare, shown.split("\n")))

    def _bare(self, line: str) -> str:
        for _ in range(self.depth):
            before, sign, behind = line.partition(">")
            line = behind.removeprefix(" ") if sign and not before.strip() else line
        blanks = len(line) - len(line.lstrip(" \t"))
        while blanks and columns(line[:blanks]) > self.indent:
            blanks -= 1
        return line[blanks:]


@dataclass(frozen=True, slots=True)
class Said:
    """A message of the person, with its heading."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Ask:
    """A permission that waits for an answer."""

    permission: Permission
    start: int
    """Where what it asks begins."""
    at: int
    """Where that ends, and where the buttons are."""
    hidden: int = 0
    """Characters of it that are not shown; the person is told before they allow it."""


@dataclass(frozen=True, slots=True)
class Running:
    """A tool call for which the editor runs something, and the beginning of its line, below which its Stop is."""

    terminals: tuple[str, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Kept:
    """Numbers of marks."""

    folds: int = 0
    links: int = 0
    codes: int = 0
    said: int = 0


@dataclass(frozen=True, slots=True)
class Render:
    """A snapshot of a chat as changes of the text that the render before has left."""

    replaces_all: bool
    """Whether the one edit replaces the whole text."""
    edits: tuple[TextEdit, ...]
    """In order; the points of each are those after the edits before it."""
    length: int
    """Of the text afterwards. The prompt comes behind it."""
    folds: tuple[Fold, ...]
    links: tuple[Link, ...]
    codes: tuple[Code, ...]
    asks: tuple[Ask, ...]
    said: tuple[Said, ...]
    running: tuple[Running, ...]
    status: Status
    locality: Locality
    session: str = ""
    """The session's id, to be resumed after a reload."""
    unsent: tuple[Unsent, ...] = ()
    """Prompts that the conversation doesn't have yet."""
    top: int = 0
    """Where the first turn begins. What is shown of earlier turns comes in there."""
    kept: Kept = Kept()
    """How many of the first marks are those of the render before, at the same points."""
    chosen: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What the person has chosen for the session, to be set again then."""


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
