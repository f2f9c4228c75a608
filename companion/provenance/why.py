"""Hears of each turn that is over and of what the person saves, and says why a line is there.

Everything here runs on the companion thread and touches no file: that is done on other threads, one turn at a time.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..background import answered
from ..changes.hunks import MAX_COMPARED, differences
from ..changes.places import PlaceError
from ..exclusion import Told
from ..ids import WindowId
from ..platforms import files
from .calls import ToldTurn, below
from .lines import Found, LoggedLines
from .log import LoggedCall, LoggedTurn, ProvenanceLog
from .replay import ReplayStep, added_runs, runs_of

logger = logging.getLogger(__name__)

MOST_ROWS = 1_000
"""Lines that are asked about at once."""


class TurnTexts(Protocol):
    """Knows what was changed in a turn, by the snapshots."""

    async def turn_texts(self, window: WindowId, turn: str) -> list[tuple[str, str, str]] | None:
        """Path, old and new text of each file that was changed in a turn; None if no snapshots were taken of it."""
        ...


@dataclass(frozen=True, slots=True)
class Reason:
    """Why some lines of a file are there."""

    rows: tuple[int, ...]
    """From 0."""
    turn: LoggedTurn
    call: LoggedCall


class Provenance:
    """The reasons of all windows. `stores` is the folder of the snapshots; None for the user's own."""

    def __init__(
        self,
        texts: TurnTexts,
        told: Callable[[WindowId], Told],
        background: Callable[[Coroutine[Any, Any, object]], asyncio.Task[object]],
        stores: str | None = None,
    ) -> None:
        """`told` gives what may be told of a window's files, and its folders."""
        self.log = ProvenanceLog(stores)
        self._texts = texts
        self._told = told
        self._background = background
        self._one = asyncio.Lock()
        """Held while something is written, in the order in which it has come."""

    def start(self) -> None:
        """Remove what is older than a year."""
        self._background(asyncio.to_thread(self.log.forget_old))

    def turn_over(self, window: WindowId, turn: ToldTurn) -> None:
        """A turn is over."""
        if turn.calls:
            self._background(self._log_turn(window, turn))

    async def _log_turn(self, window: WindowId, turn: ToldTurn) -> None:
        async with self._one:
            texts = await self._texts.turn_texts(window, turn.turn) if turn.is_chat else None
            await asyncio.to_thread(log_turn, self.log, self._told(window), turn, texts)

    def saved(self, window: WindowId, path: str, before: str, after: str) -> None:
        """The person has saved a file: a line that an agent has written once, and they have written anew, is theirs."""
        if before != after:
            self._background(self._log_save(window, path, before, after))

    async def _log_save(self, window: WindowId, path: str, before: str, after: str) -> None:
        async with self._one:
            await asyncio.to_thread(log_save, self.log, self._told(window), path, before, after)

    async def why(self, window: WindowId, path: str, text: str, rows: Sequence[int], *, is_saved: bool) -> list[Reason]:
        """Why lines of a file are there, from 0, as far as that is known.

        `text` is what its view has, with plain line feeds; a line that was not saved yet is the person's.
        """
        told = self._told(window)
        return await answered(path, lambda: reasons(self.log, told, path, text, rows, is_saved=is_saved))

    async def forget(self) -> None:
        """Remove all logs."""
        async with self._one:
            await asyncio.to_thread(self.log.forget)


def log_turn(
    log: ProvenanceLog, told: Told, turn: ToldTurn, texts: Sequence[tuple[str, str, str]] | None, at: float = 0.0
) -> list[LoggedTurn]:
    """Write a turn into the log of each folder in which it has written. Returns what was written. It blocks."""
    roots = [os.path.realpath(folder) for folder in told.folders]
    known = {os.path.normcase(path): (before, after) for path, before, after in texts or ()}
    steps: dict[str, list[ReplayStep]] = {}
    for number, call in enumerate(turn.calls):
        for replaced in call.replaced:
            steps.setdefault(os.path.normcase(os.path.realpath(replaced.path)), []).append(ReplayStep(number, replaced))
    logged: dict[str, dict[int, list[LoggedCall]]] = {}
    for path, done in steps.items():
        root = below(path, roots)
        if root is None or told.is_excluded(path, roots):
            continue
        before, after = known[path] if path in known else (None, _text(path))
        if after is None:
            continue
        name = os.path.relpath(path, root).replace(os.sep, "/")
        for number, runs in runs_of(before, after, done).items():
            call = turn.calls[number]
            entry = LoggedCall(name, runs, call.id, call.name, call.reason, call.asked)
            logged.setdefault(root, {}).setdefault(number, []).append(entry)
    written: list[LoggedTurn] = []
    for root, calls in logged.items():
        each = LoggedTurn(
            at or time.time(),
            turn.agent,
            tuple(call for _, found in sorted(calls.items()) for call in found),
            turn.model,
            turn.session,
            turn.turn,
            turn.prompt,
            turn.place,
            turn.command,
            turn.is_chat,
        )
        _add(log, root, each)
        written.append(each)
    return written


def log_save(log: ProvenanceLog, told: Told, path: str, before: str, after: str) -> None:
    """Write down which lines that an agent has written once the person has written anew. It blocks."""
    path = os.path.realpath(path)
    turns = log.turns(path)
    known = frozenset(each for _, turn in turns for call in turn.calls for run in call.runs for each in run.added)
    if not known or max(len(before), len(after)) > MAX_COMPARED:
        return
    roots = [os.path.realpath(folder) for folder in told.folders]
    root = below(os.path.normcase(path), roots) or turns[-1][0]
    if runs := added_runs(before, after, known):
        name = os.path.relpath(path, root).replace(os.sep, "/")
        _add(log, root, LoggedTurn(time.time(), "", (LoggedCall(name, runs),)))


def reasons(
    log: ProvenanceLog, told: Told, path: str, text: str, rows: Sequence[int], *, is_saved: bool
) -> list[Reason]:
    """Why lines of a file are there: see `Provenance.why`. It blocks."""
    real = os.path.realpath(path)
    roots = [os.path.realpath(folder) for folder in told.folders]
    turns = log.turns(os.path.normcase(real))
    if not turns or told.is_excluded(real, roots):
        return []
    lines = text.split("\n")
    unsaved: set[int] = set()
    if not is_saved:
        if (disk := _text(real)) is None:
            return []
        changed = differences(disk.replace("\r\n", "\n").split("\n"), lines)
        unsaved = {row for each in changed for row in range(each.new_start, each.new_end)}
    logged = LoggedLines(lines, turns)
    found: dict[tuple[int, int], tuple[Found, list[int]]] = {}
    for row in rows[:MOST_ROWS]:
        if row not in unsaved and (who := logged.of(row)):
            found.setdefault((id(who.turn), id(who.call)), (who, []))[1].append(row)
    return [Reason(tuple(own), who.turn, who.call) for who, own in found.values()]


def _add(log: ProvenanceLog, root: str, turn: LoggedTurn) -> None:
    try:
        log.add(root, turn)
    except (OSError, PlaceError) as error:
        logger.warning("Why lines were written in %s can't be logged: %s", root, error)


def _text(path: str) -> str | None:
    """The text of a file; None if there is none that can be compared."""
    try:
        data = files.read(path, MAX_COMPARED, follows_links=True).data
    except OSError:
        return None
    return None if b"\0" in data else data.decode("utf-8", "replace")
