"""What the keys have decided of written changes, and what comes after it.

A key only begins a decision. In the Review, the next change comes at once, and decisions are made one after the other,
however fast they are pressed; until the companion has done one, its change is under way. What a key has decided of a
file meanwhile waits, and is found again in the file's next version. In a file, the next change comes when it is done;
whoever has moved the caret, typed or gone elsewhere by then stays there.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

import sublime

from ...changes.rows import ChangeRow
from ...ids import WindowId
from ...review.document import NOTHING, Body, FileKey, ListedFile
from ..calls import AskLater

if TYPE_CHECKING:
    from ...companion import Companion
    from .feed import ReviewFeed

Decision = Literal["keep", "undo"]
UNDER_WAY = 10.0
"""Seconds after which nobody waits for a decision any more: the folder may have been closed."""
Lines = tuple[int, int] | None
"""The first and the last line of the file, if only some of a change are meant."""


class Onward:
    """What was decided by a key in a view. `rows` are the first and the last row of each change, from the top."""

    def __init__(
        self, view: sublime.View, what: Decision, keys: Collection[str], rows: Sequence[tuple[int, int]]
    ) -> None:
        self.view = view
        self.what: Decision = what
        self.path = view.file_name() or ""
        self.is_over = False
        """Whether the companion has done it, or refused to."""
        self._keys = frozenset(keys)
        self._began = time.monotonic()
        self._text = view.change_count()
        self._lines = view.rowcol(view.size())[0]
        self._carets = _carets(view)
        carets = [view.rowcol(end)[0] for caret in self._carets for end in caret]
        self._hull = min([*carets, rows[0][0]]), max([*carets, rows[-1][1]])
        self._last = rows[-1][0]
        self._is_one = len(rows) == 1
        self._is_file = False

    @classmethod
    def of_file(cls, view: sublime.View, what: Decision) -> Onward:
        """All changes of the file in a view."""
        onward = cls(view, what, (), [(0, view.rowcol(view.size())[0])])
        onward._is_file = True
        return onward

    @property
    def is_under_way(self) -> bool:
        """Whether it was not done yet."""
        return not self.is_over and time.monotonic() - self._began < UNDER_WAY

    def is_done(self, keys: Collection[str]) -> bool:
        """Whether nothing of it is among the changes of the file by now."""
        return self._keys.isdisjoint(keys)

    @property
    def row(self) -> int:
        """The row from which the next change is looked for."""
        return self._last + (0 if self._is_one else self._growth)

    @property
    def _growth(self) -> int:
        return self.view.rowcol(self.view.size())[0] - self._lines

    def stays(self, focused: sublime.View | None) -> bool:
        """Whether the person is where they were; `focused` is the view with the focus."""
        view = self.view
        if not view.is_valid():  # it was shown beside its baseline, which ends with the file's last change
            return focused is not None and focused.file_name() == self.path
        if focused != view:
            return False
        if self._is_file and self.what == "undo":
            return True  # it is loaded again, or gone from the disk
        if self.what == "keep":
            return view.change_count() == self._text and _carets(view) == self._carets
        # The edit that undoes it moves the carets in its lines.
        first, last = self._hull[0], self._hull[1] + max(self._growth, 0) + 1
        return not view.is_dirty() and all(first <= view.rowcol(caret[1])[0] <= last for caret in _carets(view))


def behind(rows: Sequence[ChangeRow], done: ChangeRow) -> int:
    """Where in a list a file was that waits no longer: the number of the row that has come into its place."""
    own = [at for at, row in enumerate(rows) if row.root == done.root]
    return next((at for at in own if rows[at].path > done.path), own[-1] + 1 if own else 0)


def _carets(view: sublime.View) -> list[tuple[int, int]]:
    return [(region.a, region.b) for region in view.sel()]


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
    """The decisions on the written changes of one window. `changed` is called when one is over."""

    def __init__(
        self, feed: ReviewFeed, ask: AskLater, say: Callable[[str], object], changed: Callable[[], object]
    ) -> None:
        self._feed = feed
        self._ask = ask
        self._say = say
        self._changed = changed
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
        row, number = self._feed.rows.get(file.key), WindowId(self._feed.window.id())
        if row is None or self.is_whole(file.key):
            return
        entry = self._of[file.key] = _UnderWay(self._feed.bodies.get(file.key, NOTHING), file.version, is_whole=True)
        entry.is_sent = True

        async def decide(companion: Companion) -> None:
            decisions = companion.decisions
            if task := (decisions.keep_file if what == "keep" else decisions.undo_file)(number, row):
                await task

        self._ask(self._feed.window, decide, lambda _: self._done(file.key, entry))

    def look(self) -> None:
        """What waits, or a body, is another one now."""
        for key, entry in list(self._of.items()):
            row, body = self._feed.rows.get(key), self._feed.bodies.get(key)
            if row is None:
                del self._of[key]
            elif not entry.is_sent and body is not None and body is not entry.body:
                self._go_on(key, entry, body, row)

    def _send(self, key: FileKey, entry: _UnderWay) -> None:
        row, number = self._feed.rows.get(key), WindowId(self._feed.window.id())
        if row is None:
            del self._of[key]
            return
        what = entry.waiting[0].what
        count = next((at for at, each in enumerate(entry.waiting) if each.what != what), len(entry.waiting))
        entry.sent, entry.waiting = entry.waiting[:count], entry.waiting[count:]
        entry.is_sent = True
        chosen = sorted({each.change: each.lines for each in entry.sent}.items())
        found = [(entry.body.changes[change][4], lines) for change, lines in chosen]

        async def decide(companion: Companion) -> None:
            decisions = companion.decisions
            await (decisions.keep_changes if what == "keep" else decisions.undo_changes)(number, row, found)

        self._ask(self._feed.window, decide, lambda _: self._done(key, entry))

    def _done(self, key: FileKey, entry: _UnderWay) -> None:
        """The companion has done it, or has said why not. What waits now is known here."""
        entry.is_sent = False
        self._feed.look()
        row = self._feed.rows.get(key)
        if self._of.get(key) is entry and (row is None or entry.is_whole or row.version == entry.version):
            # Nothing has changed: it was refused, and what was decided after it is not made either.
            del self._of[key]
        self._changed()

    def _go_on(self, key: FileKey, entry: _UnderWay, body: Body, row: ChangeRow) -> None:
        """The file's next version is there: find what was decided meanwhile in it."""
        sent = {each.change for each in entry.sent}
        left = [at for at in range(len(entry.body.changes)) if at not in sent]
        places = _places(entry.body, left, body)
        found = [each._replace(change=places[each.change]) for each in entry.waiting if each.change in places]
        if len(found) < len(entry.waiting):
            self._say(f"{row.path} has changed meanwhile: look at it again.")
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
