"""Finds what the log says of the lines of a text as they are now: moved, indented otherwise, or among others like them.

A line is what the latest writer has made of it whose lines fit to the place. If they fit to another place as well, or
the line is so short that it may be anybody's, nothing is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from .log import LoggedCall, LoggedTurn, Run, hash_of

ENOUGH = 4
"""Lines in a row, the line itself among them, that make a place sure."""
LONG = 10
"""Letters and digits of a line that is sure by itself if there is no other one like it."""
SHORT = 6
"""The same with a line beside it that fits, too."""
COMMON = 100
"""Lines alike in a text: of more, one is only known by what is around it."""
_FAR = 40
"""Lines that are looked at on each side."""
_EFFORT = 60_000
"""Places that are compared for one question, each in about 1 µs: beyond that, nothing is known."""


@dataclass(frozen=True, slots=True)
class Found:
    """Who has written a line."""

    root: str
    turn: LoggedTurn
    call: LoggedCall


class _Written:
    """Where one call has written lines with the same hash, by the lines above and below."""

    def __init__(self, wanted: str, runs: Sequence[Run]) -> None:
        self.above: dict[str, list[tuple[Sequence[str], int]]] = {}
        self.below: dict[str, list[tuple[Sequence[str], int]]] = {}
        for run in runs:
            if wanted not in run.added:
                continue
            lines, first = (*run.before, *run.added, *run.after), len(run.before)
            for at in range(first, first + len(run.added)):
                if lines[at] == wanted:
                    self.above.setdefault(lines[at - 1] if at else "", []).append((lines, at))
                    self.below.setdefault(lines[at + 1] if at + 1 < len(lines) else "", []).append((lines, at))


class LoggedLines:
    """The lines of a text of now beside the log of its file, the oldest turn first."""

    def __init__(self, lines: Sequence[str], turns: Sequence[tuple[str, LoggedTurn]]) -> None:
        self._texts = ["".join(line.split()) for line in lines] if turns else []
        self._full = list(filter(None, self._texts))
        self._hashes: dict[str, str] = {}
        self._writers = [
            (Found(root, turn, call), frozenset(chain.from_iterable(run.added for run in call.runs)))
            for root, turn in reversed(turns)
            for call in reversed(turn.calls)
        ]
        """With the hashes of what they have written."""
        self._written: dict[str, list[tuple[Found, _Written]]] = {}
        self._left = _EFFORT

    def of(self, row: int) -> Found | None:
        """Who has written a line, from 0: without an agent, it was the person. None if that isn't known for sure."""
        if (at := self._place(row)) is None:
            return None
        text = self._full[at]
        others = self._others(text, at) if self._full.count(text) > 1 else []
        for found, written in self._writers_of(self._hash(at)):
            here = self._fit(written, at)
            if here < ENOUGH and len(others) > COMMON:
                return None
            is_twice = False
            for place in others:
                elsewhere = self._fit(written, place)
                is_twice = is_twice or elsewhere == here
                if elsewhere > here or self._left <= 0:
                    break  # what this one has written is somewhere else
            else:
                is_sure = not is_twice and _is_enough(text, here, is_only=not others)
                return found if is_sure else None
            if self._left <= 0:
                return None
        return None

    def may_be_the_persons(self, row: int) -> bool:
        """Whether the person has written such a line, wherever that was."""
        at = self._place(row)
        return at is not None and any(not found.turn.agent for found, _ in self._writers_of(self._hash(at)))

    def _others(self, text: str, at: int) -> list[int]:
        """The other places with a text."""
        return [place for place, each in enumerate(self._full) if each == text and place != at]

    def _place(self, row: int) -> int | None:
        """Where a row is among those that are not blank; None for a blank one."""
        if row >= len(self._texts) or not self._texts[row]:
            return None
        return row - self._texts[:row].count("")

    def _writers_of(self, wanted: str) -> Sequence[tuple[Found, _Written]]:
        """The calls that have written a line with this hash, the latest first, each with where it has done so."""
        known = self._written.get(wanted)
        if known is None:
            known = self._written[wanted] = [
                (found, _Written(wanted, found.call.runs)) for found, added in self._writers if wanted in added
            ]
        return known

    def _fit(self, written: _Written, place: int) -> int:
        """How many lines in a row around a place are as a writer has left them, the line itself among them."""
        above = self._hash(place - 1) if place else ""
        below = self._hash(place + 1) if place + 1 < len(self._full) else ""
        near = [*written.above.get(above, ()), *written.below.get(below, ())]
        self._left -= 1 + len(near)
        if self._left <= 0:
            return 0
        return max((1 + self._same(*each, place, -1) + self._same(*each, place, 1) for each in near), default=1)

    def _same(self, lines: Sequence[str], at: int, place: int, step: int) -> int:
        count = 0
        while count < _FAR:
            at, place = at + step, place + step
            if not (0 <= at < len(lines) and 0 <= place < len(self._full)) or self._hash(place) != lines[at]:
                break
            count += 1
        return count

    def _hash(self, place: int) -> str:
        text = self._full[place]
        found = self._hashes.get(text)
        if found is None:
            found = self._hashes[text] = hash_of(text)
        return found


def _is_enough(text: str, fits: int, *, is_only: bool) -> bool:
    letters = sum(map(str.isalnum, text))
    return fits >= ENOUGH or (is_only and (letters >= LONG or (letters >= SHORT and fits > 1)))
