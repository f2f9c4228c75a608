"""One comment: what a person or an agent says about some lines, and where these lines are now."""

from __future__ import annotations

import secrets
import time
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, cast

Side = Literal["file", "proposal", "original", "removed"]
"""The file itself, what an agent proposes for it, what its proposal takes away, or what was taken away from the file.

The lines of the last one are nowhere: it is about the place where they were."""
MAX_LINES = 2_000
"""Lines whose text a comment keeps, to find them again."""
MAX_NOTES = 50
"""Notes of agents that a window has at once: an agent has to choose."""
MAX_TEXT = 100_000
"""Characters of them, with their endings. The last line that is kept may be cut by that."""
EFFORT = 200_000
"""Lines that are compared for all comments of a look that aren't where they were, in about 10 ms: those that are not
found by then are as if they were gone."""

_TEXTS = ("path", "words", "agent", "id")
_TIMES = ("sent", "written")
_MOST = 2**53
"""What no line and no time reaches; a damaged file may have any number."""


def _new_id() -> str:
    return secrets.token_hex(8)


@dataclass(frozen=True, slots=True)
class Comment:
    """What a person says about some lines; or an agent, which has `by` and is called a note."""

    path: str
    """The file's absolute path."""
    first: int
    """The first line, from 1."""
    lines: tuple[str, ...]
    """The text of the lines without their endings, as it was when the comment was written; the first of them if they
    are many (`kept_lines`)."""
    words: str
    side: Side = "file"
    agent: str = ""
    """Who has made the change that is commented; empty if nobody is known."""
    sent: float = 0.0
    """When it was sent, as a Unix time in seconds; 0 if it wasn't."""
    to: str = ""
    """Who has got it, or in whose prompt it is; empty for nobody."""
    is_in_prompt: bool = False
    """Whether it stands in that prompt, as far as is known. In a chat it isn't sent until the prompt is."""
    has_changed: bool = False
    """Whether its lines have other text now, or are gone."""
    left_out: int = 0
    """How many lines come after those whose text is kept."""
    by: str = ""
    """The agent whose words they are; empty for the person. A note is never sent."""
    rank: int = 0
    """Where an agent wants it among its notes: the lowest comes first."""
    written: float = field(default_factory=time.time)
    """When it was written, likewise."""
    id: str = field(default_factory=_new_id)

    @property
    def last(self) -> int:
        """The last line, from 1."""
        return self.first + max(len(self.lines), 1) - 1 + self.left_out

    @property
    def order(self) -> tuple[str, int, float]:
        """What comments are sorted by: their files, lines and times."""
        return self.path, self.first, self.written

    @property
    def is_sent(self) -> bool:
        """Whether an agent has got it."""
        return self.sent > 0

    @property
    def is_due(self) -> bool:
        """Whether it is still to be sent: it is the person's, nobody has got it, and it stands in no prompt."""
        return not self.by and not self.is_sent and not self.is_in_prompt

    @property
    def state(self) -> str:
        """How far it has come, in words; empty if it is still to be sent."""
        if self.is_in_prompt:
            return f"in the prompt of {self.to}" if self.to else "in a prompt"
        if self.is_sent:
            return f"sent to {self.to}" if self.to else "sent"
        return ""

    def moved(self, first: int, *, has_changed: bool = False) -> Comment:
        """The same comment where its lines are now."""
        return replace(self, first=first, has_changed=has_changed)

    def as_data(self) -> dict[str, Any]:
        """As an object of JSON."""
        return {**asdict(self), "lines": list(self.lines)}

    @classmethod
    def of(cls, data: object) -> Comment | None:
        """A comment from an object of JSON; None if it is none."""
        fields: Mapping[str, object] = cast("Mapping[str, object]", data) if isinstance(data, dict) else {}
        texts = {name: value for name in _TEXTS if isinstance(value := fields.get(name), str)}
        times = {
            name: float(value)
            for name in _TIMES
            if isinstance(value := fields.get(name), int | float) and 0 <= value < _MOST
        }
        first, side, lines = fields.get("first"), fields.get("side"), fields.get("lines")
        found = cast("list[object]", lines) if isinstance(lines, list) else []
        quoted = tuple(line for line in found if isinstance(line, str))
        if len(texts) < len(_TEXTS) or len(times) < len(_TIMES) or not isinstance(first, int) or not 1 <= first < _MOST:
            return None
        if side not in ("file", "proposal", "original", "removed"):
            return None
        return cls(
            path=texts["path"],
            first=first,
            lines=quoted,
            words=texts["words"],
            side=side,
            agent=texts["agent"],
            sent=times["sent"],
            to=found_to if isinstance(found_to := fields.get("to"), str) else "",
            is_in_prompt=fields.get("is_in_prompt") is True,
            has_changed=fields.get("has_changed") is True,
            left_out=left_out if isinstance(left_out := fields.get("left_out"), int) and 0 < left_out < _MOST else 0,
            by=by if isinstance(by := fields.get("by"), str) else "",
            rank=rank if isinstance(rank := fields.get("rank"), int) and 0 < rank < _MOST else 0,
            written=times["written"],
            id=texts["id"],
        )


def kept_lines(text: str) -> tuple[str, ...]:
    """The lines of a text that a comment keeps: the first ones, without their endings."""
    return tuple(text[:MAX_TEXT].split("\n", MAX_LINES)[:MAX_LINES])


class CommentedLines:
    """The lines of a text, in which comments are looked for."""

    def __init__(self, lines: Sequence[str]) -> None:
        """`lines` are without their endings."""
        self._lines = lines
        self._rows: dict[str, list[int]] | None = None
        """Where each line is, from 0; made when a comment isn't where it was."""
        self._left = EFFORT

    def __len__(self) -> int:
        """How many there are."""
        return len(self._lines)

    def find(self, comment: Comment) -> int | None:
        """The first of a comment's lines, from 1: as near as possible to where they were; None if they are gone.

        A comment on an empty file stays at its line. Beyond a limit of effort, only where they were is looked at.
        """
        lines, was = comment.lines, comment.first - 1
        if not lines:
            return min(comment.first, max(len(self), 1))
        is_cut = sum(map(len, lines)) + len(lines) - 1 >= MAX_TEXT
        if self._same(lines, was, is_cut=is_cut) == len(lines):
            return comment.first
        if self._left <= 0:
            return None
        # Of a line that was cut only the beginning is known, but if it is alone that is as long as what is indexed.
        offset, rows = self._rarest(lines[:-1] if is_cut and len(lines) > 1 else lines)
        for row in _nearest(rows, was + offset):
            same = self._same(lines, row - offset, is_cut=is_cut)
            if same == len(lines):
                return row - offset + 1
            self._left -= 1 + same
            if self._left <= 0:
                break
        return None

    def _same(self, lines: Sequence[str], at: int, *, is_cut: bool) -> int:
        """How many of some lines are at a row, from the first one on. The last of them may be cut."""
        if not 0 <= at <= len(self) - len(lines):
            return 0
        for offset, line in enumerate(lines):
            here = self._lines[at + offset]
            if here != line and not (is_cut and offset == len(lines) - 1 and here.startswith(line)):
                return offset
        return len(lines)

    def _rarest(self, lines: Sequence[str]) -> tuple[int, Sequence[int]]:
        """Which of some lines is in the fewest places, and its rows."""
        if self._rows is None:
            self._rows = {}
            for at, each in enumerate(self._lines):
                self._rows.setdefault(each[:MAX_TEXT], []).append(at)
        places = [self._rows.get(line, ()) for line in lines]
        return min(enumerate(places), key=lambda place: len(place[1]))


def _nearest(rows: Sequence[int], was: int) -> Iterator[int]:
    """Some rows, which ascend, in the order −1, 1, −2, 2 … rows from where a line was."""
    below = bisect_left(rows, was)
    above = below - 1
    while above >= 0 or below < len(rows):
        if below >= len(rows) or (above >= 0 and was - rows[above] <= rows[below] - was):
            yield rows[above]
            above -= 1
        else:
            yield rows[below]
            below += 1
