"""The incremental diff: how a buffer differs from its reference document, line by line."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from functools import lru_cache

from headless.buffer import TextBuffer
from headless.changes import Span


@dataclass(frozen=True)
class Hunk:
    """`count` lines, beginning at `row`, that replace the reference document's text `old`."""

    row: int
    count: int
    old: str

    @property
    def kind(self) -> str:
        """`inserted`, `deleted` or `modified`, as the gutter marks it."""
        if not self.count:
            return "deleted"
        return "modified" if self.old else "inserted"

    @property
    def old_lines(self) -> list[str]:
        """The lines of `old`, without line endings."""
        return self.old.removesuffix("\n").split("\n") if self.old else []


def hunks(buffer: TextBuffer) -> list[Hunk]:
    """What has changed since the reference document; nothing if there is none."""
    return [] if buffer.reference is None else list(_hunks(buffer.reference, buffer.text))


@lru_cache(maxsize=8)
def _hunks(reference: str, text: str) -> tuple[Hunk, ...]:
    if reference == text:
        return ()
    old, new = _lines(reference), _lines(text)
    # The equal beginning and end are cut off first: difflib is slow, and most of a file is unchanged.
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    matcher = difflib.SequenceMatcher(None, old[head : len(old) - tail], new[head : len(new) - tail], autojunk=False)
    return tuple(
        Hunk(head + j1, j2 - j1, "".join(old[head + i1 : head + i2]))
        for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        if tag != "equal"
    )


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def hunk_at(found: list[Hunk], row: int) -> Hunk | None:
    """The hunk at a row; one with nothing but deleted lines belongs to the rows above and below it."""
    for hunk in found:
        if hunk.row <= row < hunk.row + hunk.count:
            return hunk
    return next((h for h in found if not h.count and row in (h.row, h.row - 1)), None)


def span(buffer: TextBuffer, hunk: Hunk) -> Span:
    """Where the hunk's lines are in the buffer."""
    return buffer.lines.start(hunk.row), buffer.lines.start(hunk.row + hunk.count)
