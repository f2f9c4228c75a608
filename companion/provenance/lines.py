"""Which tool call has written which line, and where these lines are in a text of now.

A turn is done again on the text that was there before it. What a call says is believed only as far as the file has it
in the end: the text after the turn decides which lines there are, and no call gets more lines of one kind than the turn
has added. What else was written meanwhile, by the person, a formatter or another agent, is nobody's, also if a call
that doesn't say what it replaces has written it again. What would cost too much to find out is nobody's either.

Later a line may have moved, be indented otherwise, or be among others like it. It is what the latest writer has made of
it whose lines fit to the place. If they fit to another place as well, or the line is so short that it may be anybody's,
nothing is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain

from ..changes.lines import differences
from .calls import TextReplacement
from .log import LoggedCall, LoggedTurn, Run, hash_of

CONTEXT = 2
"""Lines that are remembered above and below those that a call has written."""
EFFORT = 50_000_000
"""What may be spent on the steps in one file, in characters that are gone over: each takes at most 0.1 µs."""
_LINE = 100
"""What it costs to compare a line that has changed, or is between such lines, in the same unit."""
_HERE = -1
"""A line that was there before, or that somebody else has written."""


@dataclass(frozen=True, slots=True)
class ReplayStep:
    """A replacement of one call, in the order of the turn."""

    call: int
    replaced: TextReplacement


class TooMuchError(Exception):
    """To find something out costs more than it may."""


class Effort:
    """What is left to spend."""

    def __init__(self) -> None:
        self.left = EFFORT

    def spend(self, characters: int) -> None:
        """Call it before they are gone over. Raises TooMuchError."""
        self.left -= characters
        if self.left < 0:
            raise TooMuchError


def runs_of(
    before: str | None, after: str, steps: Sequence[ReplayStep], others: Container[str] = ()
) -> dict[int, tuple[Run, ...]]:
    """The lines of a file that each call has written, by the call's number; of none if that would cost too much.

    Args:
        before: the text of the file before the turn, with what the person has saved meanwhile; None if it isn't known.
        after: the text after it.
        steps: the replacements in this file.
        others: the hashes of lines that others have written during the turn. A call that does not say what it has
            replaced may only have kept them.
    """
    start, end = before, _plain(after)
    try:
        if start is None:
            start = _undone(end, steps)
        if start is None:
            return {}
        start = _plain(start)
        lines = _Lines(start, others)
        for step in steps:
            lines.replace(step)
        lines.become(end, _HERE)
    except TooMuchError:
        return {}
    return _runs(_lines(end), lines.written(Counter(map(hash_of, _lines(start)))))


class _Lines:
    """The lines of a text, and which call has written each."""

    def __init__(self, text: str, others: Container[str] = ()) -> None:
        self._text = text
        self._others = others
        self._calls = [_HERE] * len(_lines(text))
        self._effort = Effort()

    def replace(self, step: ReplayStep) -> None:
        """Do what a call says. If it doesn't fit to the text, nobody knows what it has written.

        Raises TooMuchError.
        """
        self._effort.spend(len(self._text))
        old, new = step.replaced.old, _plain(step.replaced.new)
        if not old:
            self.become(new, step.call, self._others if old is None else ())
            return
        old = _plain(old)
        if step.replaced.is_whole:
            self.become(old, _HERE)  # somebody may have changed it since the call before
        if old == self._text:
            self.become(new, step.call)
            return
        for gone, come in ((old, new), (old.rstrip("\n"), new.rstrip("\n"))):
            many = self._text.count(gone) if gone else 0
            if many == 1 or (many and step.replaced.is_everywhere):
                self._effort.spend(many * len(come))  # a text may double with each call
                self.become(self._text.replace(gone, come), step.call)
                return

    def become(self, text: str, call: int, kept: Container[str] = ()) -> None:
        """The text is another one now, and what is new in it was written by a call, but for the hashes of `kept`.

        Raises TooMuchError.
        """
        if text == self._text:
            return
        self._effort.spend(len(text))
        old, new = _lines(self._text), _lines(text)
        calls: list[int] = []
        at = 0
        if found := differences(old, new):
            first, last = found[0], found[-1]
            compared = last.old_end - first.old_start + last.new_end - first.new_start
            self._effort.left -= _LINE * compared  # that is done: it counts for the next call
        for change in found:
            calls += self._calls[at : change.old_start]
            come = new[change.new_start : change.new_end]
            calls += [_HERE if kept and hash_of(line) in kept else call for line in come]
            at = change.old_end
        self._text, self._calls = text, [*calls, *self._calls[at:]]

    def written(self, before: Counter[str]) -> list[int]:
        """Who has written each line. Of lines alike no more were written than there are more now."""
        hashes = [hash_of(line) for line in _lines(self._text)]
        now = Counter(hashes)
        told = Counter(each for each, call in zip(hashes, self._calls, strict=True) if call != _HERE)
        doubtful = {each for each, many in told.items() if many > now[each] - before[each]}
        return [_HERE if each in doubtful or not each else call for each, call in zip(hashes, self._calls, strict=True)]


def _undone(after: str, steps: Sequence[ReplayStep]) -> str | None:
    """The text before some steps, if undoing them one by one leads there; None if it doesn't.

    Raises TooMuchError.
    """
    text, effort = after, Effort()
    for step in reversed(steps):
        effort.spend(len(text))
        old, new = step.replaced.old, _plain(step.replaced.new)
        if old is None:  # there may have been a file
            return None
        old = _plain(old)
        if new == text:
            text = old
        elif new and text.count(new) == 1:
            text = text.replace(new, old)
        else:
            return None
    return text


def _runs(lines: Sequence[str], calls: Sequence[int]) -> dict[int, tuple[Run, ...]]:
    """The lines of each call in runs, with what is above and below them."""
    full = [(each, call) for line, call in zip(lines, calls, strict=True) if (each := hash_of(line))]
    hashes = tuple(each for each, _ in full)
    found: dict[int, list[Run]] = {}
    start = 0
    while start < len(full):
        call, end = full[start][1], start
        while end < len(full) and full[end][1] == call:
            end += 1
        if call != _HERE:
            above, below = hashes[max(0, start - CONTEXT) : start], hashes[end : end + CONTEXT]
            found.setdefault(call, []).append(Run(above, hashes[start:end], below))
        start = end
    return {call: tuple(runs) for call, runs in found.items()}


def is_seen(before: str, after: str, steps: Sequence[ReplayStep]) -> bool:
    """Whether one of some steps has left a file as it says, but for the line endings: to the byte.

    The texts of the file have line feeds. Only so many steps are looked at.
    """
    effort = Effort()
    with suppress(TooMuchError):
        for step in steps:
            effort.spend(len(before) + len(after))
            old, new = step.replaced.old and _plain(step.replaced.old), _plain(step.replaced.new)
            if step.replaced.is_whole or old is None:
                found = new == after != before
            else:
                found = bool(old.strip()) and old in before and new in after and new not in before
            if found:
                return True
    return False


def added_runs(before: str, after: str, known: frozenset[str] | None = None) -> tuple[Run, ...]:
    """The lines that somebody has added between two texts. With `known`, only those whose hashes it has."""
    before, after = _plain(before), _plain(after)
    lines = _Lines(before)
    lines.become(after, 0)
    calls = lines.written(Counter(map(hash_of, _lines(before))))
    if known is not None:
        hashes = [hash_of(line) for line in _lines(after)]
        calls = [call if each in known else _HERE for each, call in zip(hashes, calls, strict=True)]
    return _runs(_lines(after), calls).get(0, ())


def _plain(text: str) -> str:
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


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
_MOST_PLACES = 60_000
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
        self._left = _MOST_PLACES

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
