"""Review Since…: the list of what the folders can be compared with, and what differs, for a Review of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import astuple
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import sublime

from ...changes.change_screen import SHORT, SinceListing, SincePoint
from ...changes.rows import ChangeRow
from ...changes.state import Chosen
from ...chats.transcript.plain import flat
from ...editor import WindowId
from ...review.changes import counted
from ...review.document import DoneLine, FileKey, ListedFile, ReviewTurn
from ..bridge import AskLater, unsaid
from ..own_views import Kind
from ..panels import PanelItem, choose, say
from .decisions import Decision
from .feed import ReviewFeed

if TYPE_CHECKING:
    from ...companion import Companion

SINCE = "since"
"""What the view's record has: with what is compared."""
_LONGEST = 100
_FIRST = ("main", "master", "origin/main", "origin/master")
"""Branches that come first."""
_DETAILS = {"branch": "what has changed since this branch left that one", "tag": "what has changed since the tag"}


def choose_point(window: sublime.Window, ask: AskLater, begin: Callable[[SincePoint], object]) -> None:
    """List the branches, tags and commits, and begin with one of them."""
    number = WindowId(window.id())

    def show(found: list[SincePoint] | str) -> None:
        if isinstance(found, str):
            say(window, found)
            return
        roots = {point.root for point in found}
        ordered = sorted(found, key=lambda point: point.name not in _FIRST)
        choices: list[PanelItem] = [
            (*_texts(point, is_only=len(roots) == 1), partial(begin, point)) for point in ordered
        ]
        choose(window, choices, "Review what has changed since…")

    ask(window, lambda companion: companion.since.points(number), show)


def _texts(point: SincePoint, *, is_only: bool) -> tuple[str, str]:
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(point.at)) if point.at else ""
    about = [_DETAILS.get(point.kind, f"{point.name} · {when}"), "" if is_only else flat(point.root, _LONGEST)]
    return flat(point.subject or point.name, _LONGEST), " · ".join(filter(None, about))


def kept_point(record: object) -> SincePoint | None:
    """What an earlier instance, or an earlier run, has compared with."""
    match record:
        case [str(), str(), "branch" | "tag" | "commit", str(), int() | float(), str()]:
            return SincePoint(*cast("Sequence[Any]", record))
        case _:
            return None


class SinceFeed(ReviewFeed):
    """What differs from a commit in one window."""

    kind: Kind = "review since"
    point: SincePoint
    _listing: SinceListing | None = None
    _is_stale = False
    _asks = False

    def begin(self, point: SincePoint) -> None:
        """Compare with a commit from now on."""
        self.point, self._listing, self.turns = point, None, None
        self._ask_listing()

    def end(self) -> None:
        """The tab is closed."""
        number = WindowId(self.window.id())

        async def end(companion: Companion) -> None:
            companion.since.end(number)

        self._ask(self.window, end, lambda _: None, unsaid)

    def refresh(self) -> None:
        """The disk may be another one by now."""
        self._is_stale = True

    def _ask_listing(self) -> None:
        self._asks, self._is_stale = True, False
        number, point = WindowId(self.window.id()), self.point

        def answer(listing: SinceListing) -> None:
            self._take(listing)
            self.changed()

        def failed(why: str) -> None:
            answer(SinceListing(point, trouble=why))

        self._ask(self.window, lambda companion: companion.since.listing(number, point), answer, failed)

    def _take(self, listing: SinceListing) -> None:
        self._asks, self._listing, self.point = False, listing, listing.point

    @property
    def title(self) -> str:
        """The name of the tab."""
        return f"Review Since {self._name}"

    @property
    def _name(self) -> str:
        return flat(self.point.name, _LONGEST)

    @property
    def kept(self) -> dict[str, Any]:
        """What the next instance needs."""
        return {SINCE: list(astuple(self.point))}

    def look(self) -> None:
        """Take on what differs by now."""
        self.comments = {comment.id: comment for comment in self._commented.of_window(self.window)}
        if self._is_stale and not self._asks:
            self._ask_listing()
        if self._listing is None:
            return
        self.rows = {FileKey("written", row.root, row.path): row for row in self._listing.rows}
        files = [self._written_file(key, row) for key, row in self.rows.items()]
        left = self._listing.left_out
        note = f"{counted(left, 'file')} left out: the content isn't there, or is too large" if left else ""
        commit = self.point.id[:SHORT] if self.point.id[:SHORT] != self.point.name else ""
        about = " · ".join(filter(None, (commit, note)))
        self.turns = [ReviewTurn((SINCE,), f"Since {self._name}", about, files=files)] if files else []
        self._listed = {file.key: file for file in files}
        self.bodies = {key: body for key, body in self.bodies.items() if key in self._listed}
        self.decisions.look()

    def note_answers(self) -> None:
        """No proposals are here."""

    @property
    def ended(self) -> list[DoneLine]:
        """The comments."""
        return self._comment_lines()

    @property
    def unsure(self) -> str:
        """Why nothing is listed."""
        trouble = self._listing.trouble if self._listing else ""
        return trouble or f"Nothing has changed since {self._name}."

    def _written_file(self, key: FileKey, row: ChangeRow) -> ListedFile:
        return ListedFile(key, self._shown(row.full_path), row.version, row.count, "", row.kind, row.note)

    def _bodies(self, companion: Companion, root: str, paths: Sequence[str]) -> Any:
        return companion.since.bodies(WindowId(self.window.id()), self.point, paths)

    def decide(
        self,
        rows: Collection[ChangeRow],
        what: Decision,
        found: Sequence[Chosen] | None,
        done: Callable[[], object],
        command: float = 0.0,
    ) -> None:
        """Undo one file, or changes of it: what differs then is known when it is `done`. Nothing waits to be kept."""
        if what == "keep":
            done()
            return
        [row], number, point = rows, WindowId(self.window.id()), self.point

        def answer(listing: SinceListing) -> None:
            self._take(listing)
            done()

        def failed(why: str) -> None:
            say(self.window, why)
            done()

        self._ask(self.window, lambda companion: companion.since.undo(number, point, row, found or ()), answer, failed)
