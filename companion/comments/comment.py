"""One comment: what a person says about some lines, and where these lines are now."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, cast

Side = Literal["file", "proposal", "original"]
"""The file itself, what an agent proposes for it, or what its proposal takes away."""
MAX_LINES = 2_000
"""Lines whose text a comment keeps, to find them again."""


_TEXTS = ("path", "words", "agent", "id")
_TIMES = ("sent", "written")


def _new_id() -> str:
    return secrets.token_hex(8)


@dataclass(frozen=True, slots=True)
class Comment:
    """What a person says about some lines."""

    path: str
    """The file's absolute path."""
    first: int
    """The first line, from 1."""
    lines: tuple[str, ...]
    """The text of the lines without their endings, as it was when the comment was written."""
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
    written: float = field(default_factory=time.time)
    """When it was written, likewise."""
    id: str = field(default_factory=_new_id)

    @property
    def last(self) -> int:
        """The last line, from 1."""
        return self.first + max(len(self.lines), 1) - 1

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
        """Whether it is still to be sent: nobody has got it, and it stands in no prompt."""
        return not self.is_sent and not self.is_in_prompt

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
        times = {name: float(value) for name in _TIMES if isinstance(value := fields.get(name), int | float)}
        first, side, lines = fields.get("first"), fields.get("side"), fields.get("lines")
        found = cast("list[object]", lines) if isinstance(lines, list) else []
        quoted = tuple(line for line in found if isinstance(line, str))
        if len(texts) < len(_TEXTS) or len(times) < len(_TIMES) or not isinstance(first, int) or first < 1:
            return None
        if side not in ("file", "proposal", "original"):
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
            written=times["written"],
            id=texts["id"],
        )


def find(comment: Comment, lines: Sequence[str]) -> int | None:
    """The first of a comment's lines in a text, from 1: as near as possible to where they were; None if they are gone.

    A comment on an empty file stays at its line.
    """
    wanted = list(comment.lines[:MAX_LINES])
    if not wanted:
        return min(comment.first, max(len(lines), 1))
    size = len(wanted)
    places = range(len(lines) - size + 1)
    # The nearest first: 0, 1, −1, 2, −2 … lines from where it was.
    was = comment.first - 1
    for at in sorted((at for at in places if lines[at] == wanted[0]), key=lambda at: (abs(at - was), at)):
        if list(lines[at : at + size]) == wanted:
            return at + 1
    return None
