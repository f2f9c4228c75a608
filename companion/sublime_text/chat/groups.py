"""Many marks of a text in groups, so that a change costs as much as the groups that it concerns. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import islice, takewhile
from typing import Generic, Protocol, TypeVar

SIZE = 64
"""Marks of a group."""


class Mark(Protocol):
    """Something from a point of the text to another one."""

    @property
    def start(self) -> int:
        """Where it begins."""
        ...

    @property
    def end(self) -> int:
        """Where it ends."""
        ...


M = TypeVar("M", bound=Mark)
S = TypeVar("S")


class Groups(Generic[M]):
    """The marks of a text, which the editor moves along with it.

    `show` is called with the number of a group and its marks, none if it goes.
    """

    def __init__(self, show: Callable[[int, Sequence[M]], object]) -> None:
        self.marks: tuple[M, ...] = ()
        self._show = show
        self._groups: list[tuple[int, int]] = []
        """The numbers and the sizes, in the order of the text."""
        self._next = 0

    def update(self, now: tuple[M, ...], kept: int) -> None:
        """These are the marks now; the first `kept` are as they were."""
        before, self.marks = self.marks, now
        first = same(before, now, kept)
        if first == len(before) == len(now):
            return
        if new := _put_in_front(before, now):
            self._groups[:0] = self._shown(now[:new])
            return
        at = 0
        stays: list[tuple[int, int]] = []
        for group in self._groups:
            if at + group[1] > first or (group[1] < SIZE and at + group[1] == first):
                break
            stays.append(group)
            at += group[1]
        free = [number for number, _ in self._groups[len(stays) :]]
        again = self._shown(now[at:], free)
        for number in free[len(again) :]:
            self._show(number, ())
        self._groups = stays + again

    def inserted(self, points: Collection[int]) -> None:
        """Text was inserted at these points: show the last group again if one of its marks was stretched by that."""
        if self._groups:
            number, size = self._groups[-1]
            last = self.marks[-size:]
            if any(mark.end in points for mark in last):
                self._show(number, last)

    def _shown(self, marks: Sequence[M], numbers: Sequence[int] = ()) -> list[tuple[int, int]]:
        """Show marks in groups that have these numbers, and new ones."""
        groups: list[tuple[int, int]] = []
        for place, start in enumerate(range(0, len(marks), SIZE)):
            part = marks[start : start + SIZE]
            if place < len(numbers):
                number = numbers[place]
            else:
                number, self._next = self._next, self._next + 1
            self._show(number, part)
            groups.append((number, len(part)))
        return groups


def key(name: str, group: int) -> str:
    """What the editor calls a group of marks."""
    return f"{name}.{group}" if group else name


def same(before: Sequence[S], now: Sequence[S], kept: int) -> int:
    """How many of the first marks are as they were; `kept` of them are known to be."""
    pairs = zip(islice(before, kept, None), islice(now, kept, None), strict=False)
    return kept + sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _put_in_front(before: Sequence[Mark], now: Sequence[Mark]) -> int:
    """How many marks are new in front of all others, which have only moved along with the text; 0 if others changed."""
    new = len(now) - len(before)
    if new <= 0 or not before:
        return 0
    by = now[-1].start - before[-1].start
    moved = zip(before, islice(now, new, None), strict=True)
    is_moved = by > 0 and all((old.start + by, old.end + by) == (one.start, one.end) for old, one in moved)
    return new if is_moved else 0
