"""What goes to the screen: a chat's text and its marks, as immutable values. Standard library alone.

Points count code points from the beginning of the chat's text, as the editor counts them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ...conversation.snapshot import Locality, Permission, Status, Unsent
from ...review.changes import TextEdit
from .plain import GAP

if TYPE_CHECKING:
    from ..prompt import Returned

MARK = f"\n❯{GAP}"
"""What a chat's text ends with; behind it is what the person writes."""


def columns(text: str) -> int:
    """The width of what a line begins with, in which a tab reaches to the next multiple of four."""
    return len(text.expandtabs(4))


@dataclass(frozen=True, slots=True)
class Mark:
    """Something at a place in the text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Fold(Mark):
    """A range that is folded until the person opens it: a thought, the details of a tool call, a row of calls.

    What is folded in a row comes before it in the order of the marks.
    """

    key: str
    """Stays the same while the range grows or moves."""


@dataclass(frozen=True, slots=True)
class Link(Mark):
    """A file's name in the text."""

    path: str
    """On the daemon's machine; absolute, or relative to the chat's folder. Or the address of a page."""
    line: int | None = None
    """From 1."""

    @property
    def is_web(self) -> bool:
        """Whether it is the address of a page."""
        return self.path[:8].lower().startswith(("http://", "https://"))


@dataclass(frozen=True, slots=True)
class Code(Mark):
    """The lines of a code block that is complete, without its fences."""

    key: str
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
class TurnStart(Mark):
    """The blank line above a turn, and its prompt."""

    key: str
    """The turn's."""


@dataclass(frozen=True, slots=True)
class Ask(Mark):
    """A permission that waits for an answer: what it asks. The buttons are at its end."""

    permission: Permission
    hidden: int = 0
    """Characters of it that are not shown; the person is told before they allow it."""


@dataclass(frozen=True, slots=True)
class Running(Mark):
    """A tool call for which the editor runs something. Its Stop is below the line that begins there."""

    terminals: tuple[str, ...]


M = TypeVar("M", bound=Mark)


class TranscriptMarks:
    """What is where in a text, by kind: folds, links, code blocks, questions, where turns start, what runs."""

    def __init__(self) -> None:
        self._by_kind: dict[type[Mark], list[Mark]] = {}

    def of(self, kind: type[M]) -> tuple[M, ...]:
        """The marks of a kind, in the order of the text."""
        return tuple(cast("list[M]", self._by_kind.get(kind, ())))

    def put(self, mark: Mark) -> None:
        """Add a mark behind the others of its kind."""
        self._by_kind.setdefault(type(mark), []).append(mark)

    def add(self, others: Iterable[TranscriptMarks], by: int = 0) -> None:
        """Add others, moved by `by` characters."""
        for other in others:
            for kind, marks in other._by_kind.items():  # noqa: SLF001 - another of its own
                moved = (replace(each, start=each.start + by, end=each.end + by) for each in marks) if by else marks
                self._by_kind.setdefault(kind, []).extend(moved)

    def clear(self, kind: type[Mark], after: int = 0) -> None:
        """Remove the marks of a kind, but for the first ones."""
        del self._by_kind.get(kind, [])[after:]

    def count(self, kind: type[Mark]) -> int:
        """How many there are of a kind."""
        return len(self._by_kind.get(kind, ()))

    def counts(self) -> Mapping[type[Mark], int]:
        """How many there are of each kind."""
        return {kind: len(marks) for kind, marks in self._by_kind.items()}


@dataclass(frozen=True, slots=True)
class Render:
    """A snapshot of a chat as changes of the text that the render before has left."""

    replaces_all: bool
    """Whether the one edit replaces the whole text."""
    edits: tuple[TextEdit, ...]
    """In order; the points of each are those after the edits before it."""
    length: int
    """Of the text afterwards. The prompt comes behind it."""
    marks: TranscriptMarks
    status: Status
    locality: Locality
    session: str = ""
    """The session's id, to be resumed after a reload."""
    unsent: tuple[Unsent, ...] = ()
    """Prompts that the conversation doesn't have yet."""
    top: int = 0
    """Where the first turn begins. What is shown of earlier turns comes in there."""
    kept: Mapping[type[Mark], int] = field(default_factory=dict[type[Mark], int])
    """How many of the first marks of a kind are those of the render before, at the same points."""
    chosen: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What the person has chosen for the session, to be set again then."""
    waiting: tuple[Returned, ...] = ()
    """The prompts that would be lost if the editor ended now, to come back after a restart."""

    @property
    def asks(self) -> tuple[Ask, ...]:
        """The permissions that wait for an answer."""
        return self.marks.of(Ask)

    @property
    def links(self) -> tuple[Link, ...]:
        """The names of files, and the addresses of pages."""
        return self.marks.of(Link)

    @property
    def folds(self) -> tuple[Fold, ...]:
        """What is folded until the person opens it."""
        return self.marks.of(Fold)

    @property
    def codes(self) -> tuple[Code, ...]:
        """The code blocks that are complete."""
        return self.marks.of(Code)

    @property
    def running(self) -> tuple[Running, ...]:
        """The tool calls for which the editor runs something."""
        return self.marks.of(Running)


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
            self.marks.put(Link(start, self.length, path, line))

    def fold(self, key: str, start: int) -> None:
        """Fold what has been written from `start` on."""
        if start < self.length:
            self.marks.put(Fold(start, self.length, key))
