"""What the person does with what was written: keep, undo, restore, and taking back what was decided last."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Callable, Collection, Coroutine, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..editor import WindowId, sentence
from ..review.changes import counted
from ..review.review import Answered, Review
from ..review.reviews import Reviews
from ..snapshots.entries import Difference
from ..snapshots.files import WriteRefusedError
from .folder import Folder, WriteOutcome
from .places import relative
from .roots import Roots
from .rows import ChangeRow
from .state import GOES, Chosen, Decision

NOTHING = "There is nothing to review."
_OUTCOMES: Mapping[Decision, str] = {"keep": "kept", "undo": "undone"}
"""What is said of a file after a decision."""
KEPT = 200
"""Reviewed files that a list keeps."""


@dataclass(frozen=True, slots=True)
class Point:
    """A checkpoint in the list."""

    root: str
    number: int
    at: float
    """Unix time."""
    agent: str
    words: str
    files: int
    """How many files going back to it changes."""


@dataclass(frozen=True, slots=True)
class Preview:
    """What going back to a checkpoint does, or has done."""

    changed: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    back: tuple[str, ...] = ()
    """Files that were deleted since."""
    moved: tuple[str, ...] = ()
    """Files that have another path then: both paths."""
    left: tuple[str, ...] = ()
    """A sentence for each file that is left alone."""
    shown: tuple[Difference, ...] = field(default=(), compare=False)
    """All of these files, as they are now and as they are then."""

    @classmethod
    def of(cls, found: Sequence[Difference], written: Collection[str], left: Iterable[str] = ()) -> Preview:
        """Of the files that differ, those that are written."""
        done = [each for each in found if set(each.paths) <= set(written)]
        kept = [each for each in done if each.before and each.after and not each.renamed_from]
        return cls(
            tuple(each.path for each in kept),
            tuple(each.path for each in done if each.after is None),
            tuple(each.path for each in done if each.before is None),
            tuple(f"{each.renamed_from} → {each.path}" for each in done if each.renamed_from),
            tuple(left),
            tuple(found),
        )

    @property
    def files(self) -> int:
        """How many files that are."""
        return len(self.changed) + len(self.deleted) + len(self.back) + len(self.moved)

    def __str__(self) -> str:
        """Such as “3 files: 2 changed, 1 deleted”."""
        parts = (
            (self.changed, "changed"),
            (self.deleted, "deleted"),
            (self.back, "brought back"),
            (self.moved, "moved back"),
        )
        return f"{counted(self.files, 'file')}: {', '.join(f'{len(paths)} {what}' for paths, what in parts if paths)}"


class Decisions:
    """The person's decisions on the changes of all windows. Each is made in the order in which it is given."""

    def __init__(self, roots: Roots, reviews: Reviews) -> None:
        self._roots = roots
        self._reviews = reviews
        roots.turn_over = self._turn_over

    def decide_files(
        self, window: WindowId, rows: Collection[ChangeRow], what: Decision, command: float = 0.0
    ) -> asyncio.Future[object] | None:
        """Keep or undo what is written in some files, as it was listed: nobody has seen what is found meanwhile.

        That is one decision, with all that has the same `command`, the Unix time at which it was given. What is undone
        in a folder in which a turn runs is undone when that ends.
        """
        return self._begin(window, self._decide_files(window, rows, what, command or time.time()))

    def _begin(self, window: WindowId, decision: Coroutine[Any, Any, object]) -> asyncio.Future[object] | None:
        """Begin a decision: *Take Back* comes after it."""
        task, deciding = self._roots.background(decision), self._roots.window(window).deciding
        if task:
            deciding.add(task)
            task.add_done_callback(deciding.discard)
        return task

    async def _decide_files(
        self, window: WindowId, rows: Collection[ChangeRow], what: Decision, command: float
    ) -> None:
        """Decide files in the roots in which they are when it is their turn."""
        sees, undone = self._roots.sees(window), list[int]()

        def is_in(folder: Folder, row: ChangeRow) -> bool:
            return self._roots.place_of(row.full_path, row.root) is folder

        async def decide(folder: Folder) -> None:
            listed = {row.full_path: row for row in rows if is_in(folder, row)}
            async with self._deciding(window, folder, _OUTCOMES[what], listed, command):
                if what == "keep":
                    found, left = await folder.call(folder.as_listed, listed, folder.below(sees))
                    await folder.decide(folder.round.keep, [path for each in found for path in each.paths])
                    self._say_left(window, "Not kept", left, "")
                else:
                    await self._undo_listed(window, folder, listed, undone)

        if not await self._roots.in_each(window, decide, lambda folder: any(is_in(folder, row) for row in rows)):
            self._roots.editor.messenger.mention(NOTHING, window)
        self._offer_take_back(window, undone)

    async def _undo_listed(
        self, window: WindowId, folder: Folder, listed: Mapping[str, ChangeRow], undone: list[int]
    ) -> None:
        """Write files as they were, if they still are as they were listed, or do so when the turn ends."""
        sees = folder.below(self._roots.sees(window))
        if self._roots.is_in_turn(folder):
            found, left = await folder.call(folder.as_listed, listed, sees)
            if await self._puts_off(window, folder, {each.path: () for each in found}):
                self._say_left(window, "Not undone", left, "")
                return
        await folder.call(folder.scan)
        found, left = await folder.call(folder.as_listed, listed, sees)
        await self._undo_files(window, folder, found, undone, left)

    async def decide_changes(self, window: WindowId, row: ChangeRow, what: Decision, found: Sequence[Chosen]) -> None:
        """Keep or undo changes of a file, in the root and by the path that it has when it is its turn.

        Ends when that is done, put off until a turn ends, or was refused and said.
        """
        full = row.full_path

        async def decide(folder: Folder) -> None:
            path = relative(full, folder.root)
            async with self._deciding(window, folder, _OUTCOMES[what], [full], time.time()):
                # All at once: what is done of one gives other keys to the others.
                if what == "keep":
                    await folder.decide(folder.round.keep_changes, path, found)
                elif not await self._puts_off(window, folder, {path: found}):
                    await folder.call(folder.scan)
                    await self._undo_changes(window, folder, path, found)

        deciding = self._decide_at(window, lambda: self._roots.place_of(full, row.root), decide)
        if task := self._begin(window, deciding):
            await task

    async def _puts_off(self, window: WindowId, folder: Folder, wanted: Mapping[str, Sequence[Chosen]]) -> bool:
        """Whether an undo waits for the end of the turn that runs in its folder, whose next edit builds on the lines.

        The second time it doesn't, nor with the setting `undo_while_working`.
        """
        is_now = self._roots.work.settings_of(window).undo_while_working == "now"
        if is_now or not self._roots.is_in_turn(folder):
            return False
        late = await folder.call(folder.round.not_going, wanted)
        if not late:
            return False
        await folder.decide(folder.round.put_off, window, late)
        first, more = min(late), f" and {len(late) - 1} more" if len(late) > 1 else ""
        self._roots.editor.messenger.mention(f"{first}{more} {GOES}. Undo again does it now.", window)
        return True

    def _turn_over(self) -> None:
        """A turn has ended: what was to be undone then is undone, unless another one runs there."""
        for window in self._roots.windows:
            self._roots.background(self._go_in_each(window))

    async def _go_in_each(self, window: WindowId) -> None:
        undone: list[int] = []

        async def go(folder: Folder) -> None:
            if any(row.going for row in folder.rows):  # most turns end with nothing to undo
                async with self._deciding(window, folder, "undone"):
                    await self._go(window, folder, undone)

        await self._roots.in_each(window, go)
        self._offer_take_back(window, undone)

    async def _go(self, window: WindowId, folder: Folder, undone: list[int]) -> None:
        """Undo what was decided in a window; in the first of those that have the folder if it was before a restart."""
        if self._roots.is_in_turn(folder):
            return
        own = (window, 0) if window == min(folder.windows) else (window,)
        going = [
            (row, row.going.changes)
            for row in folder.rows
            if row.going and (row.going.window if row.going.window in folder.windows else 0) in own
        ]
        whole = {path for row, changes in going if not changes for path in (row.path, row.renamed_from) if path}
        sees = folder.below(self._roots.sees(window))
        if whole:
            with self._saying_why(window):
                await folder.call(folder.scan)
                waiting = await folder.call(folder.round.waiting)
                found = [each for each in waiting if whole.issuperset(each.paths) and all(map(sees, each.paths))]
                await self._undo_files(window, folder, found, undone)
        for row, changes in going:
            if changes:
                with self._saying_why(window):
                    await folder.call(folder.scan)
                    there = await folder.call(folder.round.located, row.path, changes)
                    left = [f"{row.path} has changed since"] if len(there) < len(changes) else []
                    await self._undo_changes(window, folder, row.path, there, left)
        if going:
            await folder.call(folder.round.stay, {row.path: () for row, _ in going})
            await folder.call(folder.round.save)

    async def _undo_changes(
        self, window: WindowId, folder: Folder, path: str, found: Sequence[Chosen], left: Sequence[str] = ()
    ) -> None:
        """Undo changes of a file. Call it after a scan."""
        if not self._roots.sees(window)(folder.full_path(path)):
            raise WriteRefusedError(f"{path} is excluded by the setting “context_exclude” of this window")
        outcome = await folder.undo_changes(window, path, found)
        self._say_left(window, "Not undone", [*left, *outcome.left], outcome.unseen)

    def _say_left(self, window: WindowId, what: str, left: Iterable[str], unseen: str) -> None:
        found = list(dict.fromkeys(left))
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        said = [f"{what}: {found[0]}{more}."] if found else []
        said += [sentence(unseen)] if unseen else []
        if said:
            self._roots.editor.messenger.mention(" ".join(said), window)

    def they_are_mine(self, window: WindowId) -> None:
        """What git has changed in a window, and was asked about, the person has done. That is one decision."""
        command = time.time()

        async def decide(folder: Folder) -> None:
            async with self._deciding(window, folder, "", command=command):
                asked = list(folder.by_git)
                await folder.decide(folder.saves.belong_to_the_person, [seen for seen, _ in asked])
                folder.settle_git(asked)

        self._begin(window, self._roots.in_each(window, decide))

    async def _undo_files(
        self,
        window: WindowId,
        folder: Folder,
        found: Sequence[Difference],
        undone: list[int],
        left: Sequence[str] = (),
    ) -> None:
        """Undo files. `undone` gets how many that were, as a whole."""
        outcome = await folder.undo_files(window, found)
        self._say_left(window, "Not undone", [*left, *outcome.left], outcome.unseen)
        undone.append(len({each.path for each in found} & {*outcome.written}))  # a renamed one is one file

    def _offer_take_back(self, window: WindowId, undone: Iterable[int]) -> None:
        if count := sum(undone):
            self._roots.editor.written.offer_take_back(window, f"Undone: {counted(count, 'file')}")

    def answered(self, review: Review) -> None:
        """The person has accepted a proposal, or rejected it."""
        window = review.window
        if review.outcome == "accepted":
            self._roots.editor.written.offer_take_back(window, f"Accepted {review.name}")
        self._publish_answers()

    def _publish_answers(self) -> None:
        for window in list(self._roots.windows):
            self._roots.publish(window)

    async def rejected(self) -> list[tuple[str, str]]:
        """The names and the texts of the proposals that were rejected, the last one first."""
        return [(each.review.name, each.text) for each in self._reviews.rejected]

    def take_back(self, window: WindowId) -> None:
        """Take the last decision of a window back that can be, of whatever kind it is."""
        self._roots.background(self._take_back_in_turn(window))

    async def _take_back_in_turn(self, window: WindowId) -> None:
        known = self._roots.window(window)
        async with known.taking_back:
            if known.deciding:
                await asyncio.wait({*known.deciding})
            while not await self._take_back(window):  # a revert that isn't there any more is no decision
                pass

    async def _take_back(self, window: WindowId) -> bool:
        await self._roots.events_noted()
        found = await self._decided(window)
        reverted = self._reviews.last_reverted(window)
        answered = self._reviews.last_answered(window)
        last = max([answered.at if answered else 0, *(at for at, _, _ in found)])
        if reverted and reverted.reverts[-1].at >= last:
            return await self._reviews.texts.take_back(reverted)
        if answered and answered.at == last:
            self._take_answer_back(window, answered)
        elif found:
            await self._take_written_back(window)
        else:
            self._roots.editor.messenger.mention("There is no decision to take back.", window)
        return True

    def _take_answer_back(self, window: WindowId, answered: Answered) -> None:
        """A CLI has had its answer: the text of a rejected proposal comes back.

        One that was accepted is not there yet. The decision before comes next, and this one once it is written.
        """
        review = answered.review
        if review.outcome == "accepted":
            self._reviews.pass_answer(answered)
            self._roots.publish(window)
            why = f"{review.owner.cli} was not seen to write {review.name}, so that can't be taken back yet."
            self._roots.editor.messenger.mention(why, window)
        else:
            self._reviews.take_answer(review)
            self._publish_answers()
            why = f"{review.owner.cli} was told that you reject its change of {review.name}. This is its text."
            self._roots.editor.messenger.keep_text(window, review.name, answered.text, why)

    async def _take_written_back(self, window: WindowId) -> None:
        """Take back what the last command has decided of which something can be, in all roots."""
        outcomes: list[WriteOutcome] = []
        sees = self._roots.sees(window)
        tried: set[float] = set()
        while all(each.is_nothing for each in outcomes):
            decided = [each for each in await self._decided(window) if each[1] not in tried]
            if not decided:
                break
            stamp = decided[0][1]
            tried.add(stamp)

            async def take_back(folder: Folder, stamp: float = stamp) -> None:
                outcomes.append(await folder.take_back(window, folder.below(sees), stamp))

            for root in dict.fromkeys(root for _, each, root in decided if each == stamp):
                await self._decide_in(window, root, "", take_back)
        left = (sentence for each in outcomes for sentence in each.left)
        self._say_left(window, "Not brought back", left, next((each.unseen for each in outcomes if each.unseen), ""))

    async def _decided(self, window: WindowId) -> list[tuple[float, float, str]]:
        """What can be taken back in a window, the last one first: its moment, that of its command, and its root."""
        sees = self._roots.sees(window)
        async with self._roots.arranging:
            found = [
                (each.at, each.stamp, folder.root)
                for folder in self._roots.opened(window)
                for each in folder.decided(window, folder.below(sees))
            ]
        return sorted(found, reverse=True)

    async def _decide_in(
        self, window: WindowId, root: str, outcome: str, action: Callable[[Folder], Coroutine[Any, Any, object]]
    ) -> None:
        """Decide something in a root."""

        async def decide(folder: Folder) -> None:
            async with self._deciding(window, folder, outcome):
                await action(folder)

        await self._decide_at(window, lambda: self._roots.folder(root), decide)

    async def _decide_at(
        self,
        window: WindowId,
        find: Callable[[], Folder | None],
        decide: Callable[[Folder], Coroutine[Any, Any, object]],
    ) -> None:
        if not await self._roots.in_folder(find, decide):
            self._roots.editor.messenger.mention(NOTHING, window)

    @contextlib.asynccontextmanager
    async def _deciding(
        self,
        window: WindowId,
        folder: Folder,
        outcome: str,
        paths: Collection[str] | None = None,
        command: float = 0.0,
    ) -> AsyncGenerator[None]:
        """Decide in a folder, and note of which of these files nothing waits any more, or of which at all.

        `paths` are absolute. What has the same `command`, a Unix time, is taken back together; 0 is for one of its own.
        """
        known = self._roots.window(window)
        async with folder.deciding(window, command):
            before = {each.path: each for each in folder.rows if known.sees(each.full_path)}
            meant = [path for path, each in before.items() if paths is None or each.full_path in paths]
            along = await folder.call(folder.round.apart, meant)  # what was renamed from there
            with self._saying_why(window):
                yield
            with self._saying_why(window):
                await folder.call(folder.refresh)
        gone = before.keys() - {each.path for each in folder.rows}
        if outcome:
            done = [path for path in (*meant, *along) if path in gone]
            known.done = [*known.done, *((before[path], outcome) for path in done)][-KEPT:]
            self._say_left(
                window, f"Also {outcome}", [f"{new}, which was {along[new]}" for new in along if new in gone], ""
            )

    @contextlib.contextmanager
    def _saying_why(self, window: WindowId) -> Generator[None]:
        """Say why if something can't be done."""
        try:
            yield
        except OSError as error:
            self._roots.editor.messenger.say(sentence(error), window)

    def restore(self, window: WindowId, root: str, number: int, shown: Collection[Difference]) -> None:
        """Go back to a checkpoint in what the person was shown of it, as far as it still is as they have seen it."""

        async def restore(folder: Folder) -> None:
            sees = folder.below(self._roots.sees(window))
            outcome, found = await folder.restore(window, number, {*shown}.__contains__, sees)
            for each in map(self._roots.window, folder.windows):  # what was kept of them is not what is there now
                each.done = [
                    (row, "restored" if (row.root, row.path in outcome.written) == (folder.root, True) else state)
                    for row, state in each.done
                ]
            if (done := Preview.of(found, outcome.written)).files:
                self._roots.editor.messenger.mention(f"Restored {done}.", window)
            self._say_left(window, "Not restored", outcome.left, outcome.unseen)

        self._begin(window, self._decide_in(window, root, "undone", restore))

    async def points(self, window: WindowId) -> list[Point]:
        """The checkpoints of a window, the latest first."""
        found: list[Point] = []
        for folder in self._roots.opened(window):
            found += await folder.call(_points, folder)
        return sorted(found, key=lambda point: point.at, reverse=True)

    async def planned(self, point: Point) -> Preview:
        """What going back to a checkpoint does, with the disk as it is now."""

        async def plan(folder: Folder) -> Preview:
            await folder.call(folder.scan)
            writes, _, left = await folder.call(folder.checkpoints.plan, point.number)
            found = await folder.call(lambda: folder.checkpoints.back_to(folder.checkpoints.point(point.number)))
            return Preview.of(found, [write.path for write in writes], left)

        planned = await self._roots.in_folder(lambda: self._roots.folder(point.root), plan)
        return planned[0] if planned else Preview()


def _points(folder: Folder) -> list[Point]:
    return [
        Point(folder.root, each.number, each.at, each.agent, each.words, len(folder.checkpoints.back_to(each)))
        for each in folder.round.state.checkpoints
    ]
