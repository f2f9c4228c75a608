"""What a Review shows: its files by turn, and the changes of each as lines.

It is what is to be reviewed in a window, or, for Review Since…, what differs from a commit that is chosen here.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Coroutine, Hashable, Sequence
from dataclasses import astuple
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, cast

import sublime

from ...changes.change_screen import SHORT, FileTurn, SinceListing, SincePoint
from ...changes.lines import Hunk, located
from ...changes.rows import ChangeRow
from ...changes.state import Chosen, Decision
from ...chats.transcript.plain import flat
from ...editor import WindowId
from ...review.changes import Count, changes, counted, lines_of, revert_fingerprint
from ...review.compare import Change
from ...review.document import NOTHING, Body, DoneLine, FileKey, ListedFile, ReviewTurn, body_of
from ..bridge import unsaid
from ..own_views import Kind
from ..panels import PanelItem, choose, say
from ..windows import real_path
from .decisions import ReviewDecisions
from .header import besides_changes, reason_line

if TYPE_CHECKING:
    from ...comments import Comment
    from ...companion import Companion
    from ..adapter import Adapter
    from ..own_views import OwnView
    from .diff_view import DiffView

AT_ONCE = 40
"""Files whose bodies are asked for together."""
KEPT = 200
"""Answered proposals that are listed."""
AGAIN = 3_000
"""Milliseconds after which what the companion could not tell is asked for again. It logs why."""
ANSWERED = "answered"
"""What the view's record has of those."""

SINCE = "since"
"""What the view's record has: with what is compared."""
_LONGEST = 100
_FIRST = ("main", "master", "origin/main", "origin/master")
"""Branches that come first."""
_DETAILS = {"branch": "what has changed since this branch left that one", "tag": "what has changed since the tag"}


class ReviewFeed:
    """What is to be reviewed in one window."""

    kind: Kind = "review"
    """That of its view."""

    def __init__(self, adapter: Adapter, window: sublime.Window) -> None:
        self.window = window
        self.bodies: dict[FileKey, Body] = {}
        """As far as they were asked for. One may be that of a version before."""
        self.rows: dict[FileKey, ChangeRow] = {}
        self.answered: list[str] = []
        """A line for each proposal that was answered since one came while none waited."""
        self.turns: list[ReviewTurn] | None = None
        """In their order: what agents wait for first, then the oldest; None until they are known."""
        self._adapter = adapter
        self._listed: dict[FileKey, ListedFile] = {}
        self._made: dict[tuple[ChangeRow, tuple[str, ...]], ListedFile] = {}
        """With the folders of the window, whose names may be shown."""
        self._versions: dict[FileKey, str] = {}
        self._asked: dict[FileKey, str] = {}
        """The versions of the bodies that were asked for and have not come."""
        self._turns_of: dict[tuple[str, ...], tuple[FileTurn, ...]] = {}
        """The last one first, by what `_contents` says of a row."""
        self._asks_turns = False
        self._real: dict[str, str] = {}
        """The folders without links. The disk is asked once: one that hangs would hold up each look."""
        self.decisions = ReviewDecisions(self)
        self._is_over = True
        """Whether a proposal that comes while none waits begins another turn."""

    def changed(self) -> None:
        """There is something new to show."""
        self._adapter.review.look_soon(self)

    def look(self) -> None:
        """Take on what waits by now."""
        listing = self._adapter.written.listings.of(self.window)
        self.rows = {FileKey("written", row.root, row.path): row for row in listing.rows}
        if all(_contents(row) in self._turns_of for row in listing.rows):
            self.turns = [*self._proposing(), *self._turns()]
            self._listed = {file.key: file for turn in self.turns for file in turn.files}
            self.bodies = {key: body for key, body in self.bodies.items() if key in self._listed}
        elif not self._asks_turns:
            self._ask_turns(listing.rows)
        self.decisions.look()

    @property
    def comments(self) -> dict[Hashable, Comment]:
        """Comments and notes, by the keys of their lines."""
        return {_key_of(each): each for each in self._adapter.comments.of_window(self.window)}

    @property
    def proposals(self) -> dict[FileKey, DiffView]:
        """The proposals that wait."""
        diffs = self._adapter.diffs.in_window(self.window)
        return {FileKey("proposal", "", str(diff.review.number)): diff for diff in diffs}

    def note_proposal(self) -> None:
        """A proposal comes while none waits."""
        if self._is_over:
            self.answered = []  # what was answered before belongs to another turn

    def note_answer(self, diff: DiffView) -> None:
        """A proposal waits no longer."""
        self._is_over = True
        lines = f" · {diff.counts.lines}" if diff.counts else ""
        said = f"{self._shown(diff.review.file_path)}{lines} · {diff.review.outcome or 'closed'} · {diff.agent}"
        self.answered = [*self.answered, said][-KEPT:]

    @property
    def title(self) -> str:
        """The name of the tab."""
        return "Review"

    @property
    def kept(self) -> dict[str, Any]:
        """What the view's record has for the next instance of the package."""
        return {ANSWERED: self.answered}

    def resume(self, record: OwnView) -> None:
        """Go on with what an earlier instance has `kept`; the proposals are about to come."""
        left = record.get(ANSWERED)
        if isinstance(left, list) and not self.answered and not self.proposals:
            self.answered = [line for line in cast("list[object]", left) if isinstance(line, str)]
            self._is_over = False

    def refresh(self) -> None:
        """The person looks at it: what waits is always told."""

    def end(self) -> None:
        """Its tab is closed."""

    def is_current(self, key: FileKey, version: str) -> bool:
        """Whether a file's body is that of a version."""
        return key in self.bodies and self._versions.get(key) == version

    def decided(self, key: FileKey, body: Body) -> set[int]:
        """The changes of a file's body that are decided: it is being done, or is done when the turn ends."""
        row, found = self.rows.get(key), self.decisions.under_way(key, body)
        if row is None or row.going is None:
            return found
        hunks = [Hunk(Change(*each[:4]), each[4]) for each in body.changes]
        places = [located(hunks, each) for each in row.going.changes]
        return found | ({place[0] for place in places if place} if places else {*range(len(hunks))})

    @property
    def ended(self) -> list[DoneLine]:
        """The lines at the end: what was answered, and the comments."""
        done = [
            DoneLine(("done", row.root, row.path), f"{self._shown(row.full_path)} · {row.count.lines} · {state}")
            for row, state in self._adapter.written.listings.of(self.window).done
        ]
        answered = [DoneLine(("answered", at), words) for at, words in enumerate(self.answered)]
        return [*done, *answered, *self._comment_lines()]

    def _comment_lines(self) -> list[DoneLine]:
        return [_line_of(each) for each in self.comments.values() if not each.by]

    @property
    def notes(self) -> list[DoneLine]:
        """The lines at the beginning: what agents point out, in their order."""
        return [_line_of(each) for each in self._adapter.comments.notes(self.window)]

    @property
    def unsure(self) -> str:
        """Why nobody can say that nothing waits; empty if somebody can."""
        return self._adapter.written.listings.of(self.window).unsure

    @property
    def is_settled(self) -> bool:
        """Whether nothing may come any more that waited before the package was loaded.

        After a reload, the proposals come one by one.
        """
        if self._adapter.thread.is_reload or self.unsure:
            return False
        # The turns of what was listed just now may still be asked for.
        rows = self._adapter.written.listings.of(self.window).rows
        return all(FileKey("written", row.root, row.path) in self._listed for row in rows)

    def want(self, keys: Sequence[FileKey]) -> None:
        """Have the bodies of some files, of which the first are wanted first."""
        found = [file for key in dict.fromkeys(keys) if (file := self._listed.get(key))]
        lacking = [each for each in found if not self.is_current(each.key, each.version)]
        wanted = [each for each in lacking if self._asked.get(each.key) != each.version]
        by_root: dict[str, list[ListedFile]] = {}
        for file in wanted[:AT_ONCE]:
            self._asked[file.key] = file.version
            if diff := self.proposals.get(file.key):
                self._read_proposal(file, diff)
            elif file.key.back_end == "written":  # a proposal that was answered is listed until the next look
                by_root.setdefault(file.key.root, []).append(file)
        for root, files in by_root.items():
            self._ask_bodies(root, files)

    def _ask_bodies(self, root: str, files: Sequence[ListedFile]) -> None:
        paths = [file.key.name for file in files]

        def answer(found: dict[str, tuple[str, Body]]) -> None:
            for file in files:
                self._came(file.key, *found.get(file.key.name, (file.version, NOTHING)))
            self.changed()

        def failed(_: str) -> None:
            for file in files:
                self._asked.pop(file.key, None)
            sublime.set_timeout(self.changed, AGAIN)

        self._adapter.ask_later(self.window, lambda companion: self._bodies(companion, root, paths), answer, failed)

    def _bodies(
        self, companion: Companion, root: str, paths: Sequence[str]
    ) -> Coroutine[Any, Any, dict[str, tuple[str, Body]]]:
        return companion.changes.bodies(WindowId(self.window.id()), root, paths)

    def decide(
        self,
        rows: Collection[ChangeRow],
        what: Decision,
        found: Sequence[Chosen] | None,
        done: Callable[[], object],
        command: float = 0.0,
    ) -> None:
        """Keep or undo some files, or of the only one these changes. `done` is called when that is over in any way.

        Files that have the same `command` are taken back together: the Unix time at which it was given.
        """
        number = WindowId(self.window.id())

        async def decision(companion: Companion) -> None:
            if found is not None:
                [row] = rows
                await companion.decisions.decide_changes(number, row, what, found)
            elif task := companion.decisions.decide_files(number, rows, what, command):
                await task

        self._decide(decision, lambda _: done(), done)

    def _decide(
        self,
        decision: Callable[[Companion], Coroutine[Any, Any, Any]],
        answer: Callable[[Any], object],
        done: Callable[[], object],
    ) -> None:
        def failed(why: str) -> None:
            say(self.window, why)
            done()

        self._adapter.ask_later(self.window, decision, answer, failed)

    def _read_proposal(self, file: ListedFile, diff: DiffView) -> None:
        old, new = diff.review.original, diff.text() or ""

        def answer(body: Body) -> None:
            self._came(file.key, file.version, body)
            self.changed()

        if diff.review.unmarked:
            answer(NOTHING)
        else:
            self._adapter.on_another_thread(lambda: _proposed(old, new), answer)

    def _came(self, key: FileKey, version: str, body: Body) -> None:
        self._asked.pop(key, None)
        self.bodies[key], self._versions[key] = body, version

    def _ask_turns(self, rows: Sequence[ChangeRow]) -> None:
        number = WindowId(self.window.id())
        self._asks_turns = True

        def answer(found: dict[tuple[str, str], tuple[FileTurn, ...]]) -> None:
            self._asks_turns = False
            self._turns_of = {_contents(row): found.get((row.root, row.path), ()) for row in rows}
            self.changed()

        def failed(_: str) -> None:
            self._asks_turns = False
            sublime.set_timeout(self.changed, AGAIN)

        self._adapter.ask_later(self.window, lambda companion: companion.changes.turns(number), answer, failed)

    def _proposing(self) -> list[ReviewTurn]:
        conversations: dict[tuple[str, str], list[ListedFile]] = {}
        for key, diff in self.proposals.items():
            conversations.setdefault((diff.agent, diff.review.title), []).append(self._proposal(key, diff))
        return [
            ReviewTurn(("proposals", agent, title), agent, words=reason_line(title), at="proposes", files=files)
            for (agent, title), files in conversations.items()
        ]

    def _proposal(self, key: FileKey, diff: DiffView) -> ListedFile:
        review = diff.review
        state = "edited" if diff.is_edited else "seen" if diff.attention.is_seen else "not seen yet"
        version = _proposal_version(diff)
        count = diff.counts or Count(1, changes=1)
        path = self._shown(review.file_path)
        reason = reason_line(review.reason)
        note = besides_changes(review, is_exact=diff.is_exact, is_dirty=diff.is_file_dirty)
        return ListedFile(
            key, path, version, count, diff.agent, "proposal", note, state, reason=reason, place=diff.path
        )

    def _turns(self) -> list[ReviewTurn]:
        found: dict[str, tuple[FileTurn | None, list[ListedFile], list[str]]] = {}
        # Hundreds of files, of which one or two have changed since.
        folders = tuple(self.window.folders())
        self._made = {
            (row, folders): self._made.get((row, folders)) or self._written_file(key, row)
            for key, row in self.rows.items()
        }
        for (row, _), file in self._made.items():
            turns = self._turns_of[_contents(row)]
            last = next(iter(turns), None)
            found.setdefault(last.key if last else f"before {row.agents}", (last, [], []))[1].append(file)
            for turn in turns[1:]:
                found.setdefault(turn.key, (turn, [], []))[2].append(file.path)
        ordered = sorted(found.items(), key=lambda each: each[1][0].at if each[1][0] else 0.0)
        return [
            ReviewTurn(name, turn.agent, time.strftime("%H:%M", time.localtime(turn.at)), turn.words, files, again)
            if turn
            else ReviewTurn(name, files[0].agent, files=files)
            for name, (turn, files, again) in ordered
        ]

    def _written_file(self, key: FileKey, row: ChangeRow) -> ListedFile:
        state, agent = "new" if row.is_new else "", ", ".join(row.agents)
        note = row.note if not row.renamed_from else ""
        path, place = self._shown(row.full_path), row.full_path
        return ListedFile(
            key, path, row.version, row.count, agent, row.kind, note, state, row.renamed_from, place=place
        )

    def _shown(self, path: str) -> str:
        """A path as it is shown: in its folder, with that one's name if the window has several."""
        folders = self.window.folders()
        # What is written is known by its real path, what is proposed by the one that the CLI has sent.
        self._real |= {folder: real_path(folder) for folder in folders if folder not in self._real}
        for folder, spelled in ((each, spell) for each in folders for spell in (each, self._real[each])):
            inside = spelled.rstrip(os.sep) + os.sep
            if os.path.normcase(path).startswith(os.path.normcase(inside)):
                inner = path[len(inside) :].replace(os.sep, "/")
                return f"{os.path.basename(folder.rstrip(os.sep))}/{inner}" if len(folders) > 1 else inner
        return path


def _proposal_version(diff: DiffView) -> str:
    """Identifies both texts of a proposal as they are now."""
    edition = f"{diff.proposal.id()} {diff.proposal.change_count()}" if diff.is_open else "no tab"
    return f"{edition} {diff.review.disk.stamp} {diff.review.unmarked}"


def _contents(row: ChangeRow) -> tuple[str, ...]:
    """A file with what is in the baseline and on the disk: a keep changes which prompts something waits of."""
    return row.root, row.path, row.before, row.after


def _key_of(comment: Comment) -> Hashable:
    return "comment", comment.id


def _line_of(comment: Comment) -> DoneLine:
    place = f"{PurePath(comment.path).name}:{comment.first}"
    if comment.by:
        words = f"{comment.by} points out · {place} · {comment.words}"
    else:
        words = f"{place} · {comment.words} · {comment.state or 'to send'} · {comment.agent or 'you'}"
    return DoneLine(_key_of(comment), words, is_comment=True)


def _proposed(old: str, new: str) -> Body:
    """The changes of a proposal, each with the fingerprint that reverts it."""
    before, after = lines_of(old), lines_of(new)
    found = [
        (
            change.old_start if old else 0,
            change.old_end if old else 0,
            change.new_start if new else 0,
            change.new_end if new else 0,
            revert_fingerprint(change, after),
        )
        for change in changes(before, after)
    ]
    return body_of(old, new, found)


def choose_point(adapter: Adapter, window: sublime.Window, begin: Callable[[SincePoint], object]) -> None:
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

    adapter.ask_later(window, lambda companion: companion.since.points(number), show)


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

    def __init__(self, adapter: Adapter, window: sublime.Window, point: SincePoint) -> None:
        super().__init__(adapter, window)
        self.point = point
        self._listing: SinceListing | None = None
        self._ask_listing()

    def end(self) -> None:
        """The tab is closed."""
        number = WindowId(self.window.id())

        async def end(companion: Companion) -> None:
            companion.since.end(number)

        self._adapter.ask_later(self.window, end, lambda _: None, unsaid)

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

        self._adapter.ask_later(self.window, lambda companion: companion.since.listing(number, point), answer, failed)

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
        if self._is_stale and not self._asks:
            self._ask_listing()
        if self._listing is None:
            return
        self.rows = {FileKey("written", row.root, row.path): row for row in self._listing.rows}
        files = [self._written_file(key, row) for key, row in self.rows.items()]
        commit = self.point.id[:SHORT] if self.point.id[:SHORT] != self.point.name else ""
        about = " · ".join(filter(None, (commit, self._left_out)))
        self.turns = [ReviewTurn((SINCE,), f"Since {self._name}", about, files=files)] if files else []
        self._listed = {file.key: file for file in files}
        self.bodies = {key: body for key, body in self.bodies.items() if key in self._listed}
        self.decisions.look()

    @property
    def proposals(self) -> dict[FileKey, DiffView]:
        """None are here."""
        return {}

    @property
    def ended(self) -> list[DoneLine]:
        """The comments."""
        return self._comment_lines()

    @property
    def unsure(self) -> str:
        """Why nothing is listed."""
        trouble = self._listing.trouble if self._listing else ""
        left = f"{self._left_out}." if self._left_out else ""
        return trouble or left or f"Nothing has changed since {self._name}."

    @property
    def _left_out(self) -> str:
        left = self._listing.left_out if self._listing else 0
        return f"{counted(left, 'file')} left out: the content isn't there, or is too large" if left else ""

    @property
    def is_settled(self) -> bool:
        """Whether what differs is known."""
        return self._listing is not None

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

        self._decide(lambda companion: companion.since.undo(number, point, row, found or ()), answer, done)
