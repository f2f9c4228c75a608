"""The decisions on written changes: how one is made, and those of the keys of a Review, one after the other.

A key only begins a decision. In the Review, the next change comes at once, and decisions are made in their order,
however fast they are pressed; until the companion has done one, its change is under way. What a key has decided of a
file meanwhile waits, and is found again in the file's next version.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

import sublime

from ...changes.rows import ChangeRow
from ...ids import WindowId
from ...review.document import NOTHING, Body, FileKey, ListedFile
from ..calls import AskLater
from ..panels import say

if TYPE_CHECKING:
    from ...changes.state import Chosen
    from ...companion import Companion
    from .feed import ReviewFeed

Decision = Literal["keep", "undo"]
Lines = tuple[int, int] | None
"""The first and the last line of the file, if only some of a change are meant."""


def decide(
    ask: AskLater,
    window: sublime.Window,
    row: ChangeRow,
    what: Decision,
    found: Sequence[Chosen] | None,
    done: Callable[[], object],
) -> None:
    """Keep or undo some changes of a file, or with None all of it. `done` is called when that is done, or refused."""
    number = WindowId(window.id())

    async def decision(companion: Companion) -> None:
        decisions = companion.decisions
        if found is not None:
            await (decisions.keep_changes if what == "keep" else decisions.undo_changes)(number, row, found)
        elif task := (decisions.keep_file if what == "keep" else decisions.undo_file)(number, row):
            await task

    ask(window, decision, lambda _: done())


class _Decided(NamedTuple):
    what: Decision
    change: int
    lines: Lines


@dataclass
class _UnderWay:
    """What is decided of a file and isn't done."""

    body: Body
    version: str
    waiting: list[_Decided] = field(default_factory=list[_Decided])
    sent: list[_Decided] = field(default_factory=list[_Decided])
    is_sent: bool = False
    """The companion has not answered yet."""
    is_whole: bool = False


class ReviewDecisions:
    """The decisions on the written changes of the window of a feed."""

    def __init__(self, feed: ReviewFeed) -> None:
        self._feed = feed
        self._of: dict[FileKey, _UnderWay] = {}

    def under_way(self, key: FileKey) -> set[int]:
        """The changes of a file's body that are decided."""
        entry = self._of.get(key)
        if entry is None or entry.is_whole:
            return set()
        return (
            {each.change for each in (*entry.sent, *entry.waiting)}
            if self._feed.bodies.get(key) is entry.body
            else set()
        )

    def is_whole(self, key: FileKey) -> bool:
        """Whether a file is decided as a whole."""
        entry = self._of.get(key)
        return entry is not None and entry.is_whole

    def decide(self, file: ListedFile, what: Decision, found: Sequence[tuple[int, Lines]]) -> None:
        """Keep or undo changes of a file."""
        body = self._feed.bodies.get(file.key)
        if body is None or self.is_whole(file.key):
            return
        entry = self._of.setdefault(file.key, _UnderWay(body, file.version))
        if entry.body is not body:
            return  # the version that the earlier ones were decided in is being replaced
        entry.waiting += [_Decided(what, change, lines) for change, lines in found]
        if not entry.sent:
            self._send(file.key, entry)

    def decide_file(self, file: ListedFile, what: Decision) -> None:
        """Keep or undo a file."""
        row = self._feed.rows.get(file.key)
        if row is None or self.is_whole(file.key):
            return
        entry = self._of[file.key] = _UnderWay(self._feed.bodies.get(file.key, NOTHING), file.version, is_whole=True)
        entry.is_sent = True
        self._feed.decide(row, what, None, lambda: self._done(file.key, entry))

    def look(self) -> None:
        """What waits, or a body, is another one now."""
        for key, entry in list(self._of.items()):
            row, body = self._feed.rows.get(key), self._feed.bodies.get(key)
            if row is None:
                del self._of[key]
            elif not entry.is_sent and body is not None and body is not entry.body:
                self._go_on(key, entry, body, row)

    def _send(self, key: FileKey, entry: _UnderWay) -> None:
        row = self._feed.rows.get(key)
        if row is None:
            del self._of[key]
            return
        what = entry.waiting[0].what
        count = next((at for at, each in enumerate(entry.waiting) if each.what != what), len(entry.waiting))
        entry.sent, entry.waiting = entry.waiting[:count], entry.waiting[count:]
        entry.is_sent = True
        chosen = sorted({each.change: each.lines for each in entry.sent}.items())
        found = [(entry.body.changes[change][4], lines) for change, lines in chosen]
        self._feed.decide(row, what, found, lambda: self._done(key, entry))

    def _done(self, key: FileKey, entry: _UnderWay) -> None:
        """The companion has done it, or has said why not. What waits now is known here."""
        entry.is_sent = False
        self._feed.look()
        row = self._feed.rows.get(key)
        if self._of.get(key) is entry and (row is None or entry.is_whole or row.version == entry.version):
            # Nothing has changed: it was refused, and what was decided after it is not made either.
            del self._of[key]
        self._feed.changed()

    def _go_on(self, key: FileKey, entry: _UnderWay, body: Body, row: ChangeRow) -> None:
        """The file's next version is there: find what was decided meanwhile in it."""
        sent = {each.change for each in entry.sent}
        left = [at for at in range(len(entry.body.changes)) if at not in sent]
        places = _places(entry.body, left, body)
        found = [each._replace(change=places[each.change]) for each in entry.waiting if each.change in places]
        if len(found) < len(entry.waiting):
            say(self._feed.window, f"{row.path} has changed meanwhile: look at it again.")
        if found:
            entry = self._of[key] = _UnderWay(body, row.version, found)
            self._send(key, entry)
        else:
            del self._of[key]


def _places(before: Body, left: Sequence[int], after: Body) -> dict[int, int]:
    """Where the changes of a body that are left are in the next one. Equal ones keep their order."""
    seen: Counter[tuple[str, ...]] = Counter()
    there: dict[tuple[tuple[str, ...], int], int] = {}
    for at in range(len(after.changes)):
        ident = after.ident(at)
        there[ident, seen[ident]] = at
        seen[ident] += 1
    counts: Counter[tuple[str, ...]] = Counter()
    found: dict[int, int] = {}
    for at in left:
        ident = before.ident(at)
        if (place := there.get((ident, counts[ident]))) is not None:
            found[at] = place
        counts[ident] += 1
    return found
