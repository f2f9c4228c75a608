"""The decisions of the keys of a Review on written changes, one after the other.

A key only begins a decision. In the Review, the next change comes at once, and decisions are made in their order,
however fast they are pressed; until the companion has done one, its change is under way. What a key has decided of a
file meanwhile waits, and is found again in the file's next version.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from ...changes.rows import ChangeRow
from ...changes.state import Decision, Lines
from ...review.document import NOTHING, Body, FileKey, ListedFile
from ..panels import say

if TYPE_CHECKING:
    from .feed import ReviewFeed

CHANGED = "{} has changed meanwhile: look at it again."


class _Decided(NamedTuple):
    what: Decision
    change: int
    lines: Lines


@dataclass
class _UnderWay:
    """What is decided of a file and isn't done."""

    body: Body
    """The last one that is known: all changes here are those of that one."""
    waiting: list[list[_Decided]] = field(default_factory=list[list[_Decided]])
    """By the keys that were pressed: each is a decision of its own."""
    sent: list[_Decided] = field(default_factory=list[_Decided])
    is_sent: bool = False
    """The companion has not answered yet."""
    is_whole: bool = False
    then: tuple[ListedFile, Body, Decision, float] | None = None
    """What is decided of the whole file after that, with what was seen of it, and by which command."""

    @property
    def changes(self) -> set[int]:
        """Those that are decided."""
        return {each.change for found in (self.sent, *self.waiting) for each in found}

    def follow(self, body: Body) -> bool:
        """Another body has come. Returns whether everything that waits is in it."""
        places = _places(self.body, body, {each.change for each in self.sent})
        self.sent = _moved(self.sent, self.body, body, places)
        moved = [_moved(each, self.body, body, places) for each in self.waiting]
        is_all = all(len(found) == len(each) for found, each in zip(moved, self.waiting, strict=True))
        self.waiting, self.body = list(filter(None, moved)), body
        return is_all


class ReviewDecisions:
    """The decisions on the written changes of the window of a feed."""

    def __init__(self, feed: ReviewFeed) -> None:
        self._feed = feed
        self._of: dict[FileKey, _UnderWay] = {}
        self._then: list[Callable[[], object]] = []
        """What comes after that."""

    def under_way(self, key: FileKey, body: Body) -> set[int]:
        """The changes of a file's body that are decided."""
        entry = self._of.get(key)
        return entry.changes if entry and not entry.is_whole and entry.body is body else set()

    def is_whole(self, key: FileKey) -> bool:
        """Whether a file is decided as a whole, be it after changes of it that are under way."""
        entry = self._of.get(key)
        return entry is not None and (entry.is_whole or entry.then is not None)

    def decide(self, file: ListedFile, seen: Body, what: Decision, found: Sequence[tuple[int, Lines]]) -> bool:
        """Keep or undo changes of a file, in the body in which the person has seen them.

        Returns whether they were found. If not, that is said.
        """
        body, entry = self._feed.bodies.get(file.key), self._of.get(file.key)
        if body is None or file.key not in self._feed.rows or self.is_whole(file.key):
            return self._refused(file, is_decided=entry is not None)
        if entry is None:
            entry = self._of[file.key] = _UnderWay(body)
        elif entry.body is not body:
            self._follow(file.path, entry, body)
        decided = [_Decided(what, *each) for each in found]
        if seen is not body:
            decided = _moved(decided, seen, body, _places(seen, body))
        if new := [each for each in decided if each.change not in entry.changes]:
            entry.waiting.append(new)
        if not entry.is_sent and not entry.sent:
            self._send(file.key, entry)
        return len(decided) == len(found) or self._refused(file)

    def decide_files(self, files: Sequence[tuple[ListedFile, Body | None]], what: Decision) -> bool:
        """Keep or undo some files as the person has seen them: with this body, or with None only the line of one.

        Returns whether one of them is what waits. Of those that aren't, that is said.
        """
        rows: dict[FileKey, ChangeRow] = {}
        waits, command = False, time.time()
        for file, seen in files:
            row, entry = self._feed.rows.get(file.key), self._of.get(file.key)
            # The row comes first, then what is shown of it: see `ReviewFeed.look`.
            is_shown = seen is None or (
                seen is self._feed.bodies.get(file.key) and self._feed.is_current(file.key, file.version)
            )
            if row is None or self.is_whole(file.key):
                self._refused(file, is_decided=row is not None)
            elif entry and (entry.is_sent or entry.sent or entry.waiting):
                # Decisions are made in their order. Of a folded file the person knows what they have decided in.
                entry.then = file, seen if seen is not None else entry.body, what, command
                waits = True
            elif row.version == file.version and is_shown:
                rows[file.key] = row
            else:
                self._refused(file)
        self._send_files(rows, what, command)
        return waits or bool(rows)

    def _send_files(self, rows: Mapping[FileKey, ChangeRow], what: Decision, command: float) -> None:
        if rows:
            entries = {key: _UnderWay(self._feed.bodies.get(key, NOTHING), is_sent=True, is_whole=True) for key in rows}
            self._of |= entries
            self._feed.decide([*rows.values()], what, None, lambda: self._done(entries.values()), command)

    @property
    def is_under_way(self) -> bool:
        """Whether something is decided and isn't done."""
        return bool(self._of)

    def after(self, then: Callable[[], object]) -> None:
        """Do something as soon as what is decided is done."""
        self._then.append(then)
        self._go_on()

    def _go_on(self) -> None:
        if not self._of:
            then, self._then = self._then, []
            for each in then:
                each()

    def look(self) -> None:
        """What waits, or a body, is another one now. What is decided goes on in its file's body, shown or not."""
        lacking: list[FileKey] = []
        for key, entry in list(self._of.items()):
            row, body = self._feed.rows.get(key), self._feed.bodies.get(key)
            if row is None or (entry.is_whole and not entry.is_sent):
                del self._of[key]
            elif not entry.is_whole:
                if body is not None and body is not entry.body:
                    self._follow(row.path, entry, body)
                if not self._feed.is_current(key, row.version):
                    lacking.append(key)
                elif not entry.is_sent:
                    if entry.then and any(each.what != entry.then[2] for each in entry.sent):
                        self._refused(entry.then[0])  # what is not done was not meant so
                        entry.then = None
                    entry.sent = []
                    self._send(key, entry)
        self._feed.want(lacking)
        self._go_on()

    def _send(self, key: FileKey, entry: _UnderWay) -> None:
        row = self._feed.rows.get(key)
        if row is None or not entry.waiting:
            del self._of[key]
            if row and entry.then:
                file, seen, what, command = entry.then
                if _is_part(entry.body, seen):
                    self._send_files({key: row}, what, command)
                else:
                    self._refused(file)
            return
        entry.sent, entry.is_sent = entry.waiting.pop(0), True
        found = [(entry.body.changes[each.change][4], each.lines) for each in entry.sent]
        self._feed.decide([row], entry.sent[0].what, found, lambda: self._done([entry]))

    def _done(self, entries: Collection[_UnderWay]) -> None:
        """The companion has done it, or has said why not. What waits now is known here: the next look goes on."""
        for entry in entries:
            entry.is_sent = False
        self._feed.changed()

    def _follow(self, path: str, entry: _UnderWay, body: Body) -> None:
        if not entry.follow(body):
            entry.then = None
            say(self._feed.window, CHANGED.format(path))

    def _refused(self, file: ListedFile, *, is_decided: bool = False) -> bool:
        say(self._feed.window, f"{file.path} is decided already." if is_decided else CHANGED.format(file.path))
        return False


def _places(before: Body, after: Body, gone: Collection[int] = ()) -> dict[int, int]:
    """Where the changes of a body are in a later one, in which some may be gone.

    Equal ones keep their order. Where their number says that it is not known which is which, they are left out.
    """
    there, here = _by_ident(after), _by_ident(before)
    found: dict[int, int] = {}
    for ident, known in here.items():
        now = there.get(ident, [])
        left = known if len(now) == len(known) else [change for change in known if change not in gone]
        if len(now) == len(left):
            found |= zip(left, now, strict=True)
    return found


def _by_ident(body: Body) -> dict[tuple[str, ...], list[int]]:
    found: dict[tuple[str, ...], list[int]] = {}
    for change in range(len(body.changes)):
        found.setdefault(body.ident(change), []).append(change)
    return found


def _is_part(body: Body, seen: Body) -> bool:
    """Whether a body has no change that wasn't seen in one before."""
    known = _by_ident(seen)
    return all(len(found) <= len(known.get(ident, ())) for ident, found in _by_ident(body).items())


def _moved(decided: Sequence[_Decided], before: Body, after: Body, places: Mapping[int, int]) -> list[_Decided]:
    """What was decided of one body, in another one."""
    found: list[_Decided] = []
    for what, change, lines in decided:
        if (place := places.get(change)) is not None:
            by = after.changes[place][2] - before.changes[change][2]
            found.append(_Decided(what, place, (lines[0] + by, lines[1] + by) if lines else None))
    return found
