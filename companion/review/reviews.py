"""Reviews: one proposed change each, from openDiff to its single outcome, and until that is written.

Texts are compared away from the loop. If a CLI never writes what was accepted, the person would have neither file nor
text; one that takes no edits writes what it has proposed, and what the person has made of that is written over it here.

All the rest happens on the companion thread, which decides alone: the first answer is the outcome, and later answers
find no open review.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from typing import Any

from ..clis import families
from ..editor import ReviewId, WindowId
from ..platforms.files import place, reason_of, resolved
from ..protocol import DiffOutcome
from .changes import Revert, TextEdit, taken_back
from .disk import DiskFile, SourceText, encode_like, endings_change, holds, read_bytes, read_file, stamp
from .marks import Marks, marks
from .review import Answered, DiskState, Outcome, Owner, Request, Review, Unclaimed, from_plain, to_plain
from .review_screen import ReviewHost, ReviewScreen

MOST_REVERTED = 50_000_000
"""Characters of the texts that a proposal keeps so that what was reverted can be taken back."""
TRIES = 5
"""How often the edits that take a revert back are computed again because the text has changed meanwhile."""

WRITE_LIMIT = 10.0
"""Seconds within which a CLI has to write what was accepted."""
MODEL_LIMIT = 300.0
"""The same for a model that was told the text: it may think, and do other things, before it writes it."""
WRITE_LOOK = 0.25
"""Seconds between two looks whether it has."""
MODEL_LOOK = 1.0
"""The same for a model."""
SOON = 0.02
"""The same just after the answer: what a CLI has written may be changed soon by its next edit or a formatter."""
LOOKS_SOON = 50
"""How many looks have this shorter pause."""

logger = logging.getLogger(__name__)

CLAIM_LIMIT = 30.0
"""Seconds that a chat has after a reload to ask again."""
BUSY_LIMIT = 5.0
"""Seconds that a CLI which closes a diff waits for the text of a busy editor."""
ANSWERS = 200
"""The last answers that can be taken back."""

EMPTY_REFUSED = (
    "An empty file can't be accepted: {cli} would write its own proposal instead. "
    "Reject the diff, or keep a line in it."
)


class ReviewTexts:
    """Compares the texts of reviews, and takes back what the person has reverted in them."""

    def __init__(self, reviews: Reviews) -> None:
        self._reviews = reviews

    async def compared(self, number: ReviewId, text: str) -> Marks | None:
        """What is marked in a proposal that has been edited; None if it is over, or the texts are too large."""
        if (review := self._reviews.find(number)) is None:
            return None
        review.reverts = [each for each in review.reverts if each.before != text]
        return await self.marks(review, text)

    def reverted(self, number: ReviewId, before: str, after: str) -> None:
        """The person has reverted changes of a proposal, which can be taken back. The texts are as a view has them."""
        if review := self._reviews.find(number):
            review.reverts.append(Revert(time.time(), before, after))
            kept = review.reverts
            while len(kept) > 1 and sum(len(before) + len(after) for _, before, after in kept) > MOST_REVERTED:
                del kept[0]

    async def take_back(self, review: Review) -> bool:
        """Take the last revert of a proposal back, or say that it was edited there. False if neither is needed."""
        revert, edits = review.reverts.pop(), list[TextEdit]()
        for _ in range(TRIES):
            text = await self._reviews.editor.diffs.review_text(review)
            if text is None or self._reviews.find(review.number) is not review:
                return False
            edits, is_edited = await asyncio.to_thread(taken_back, revert, text)
            if not edits or await self._reviews.editor.diffs.edit_text(review, edits, text):
                break
        else:
            is_edited = True
        if is_edited:
            why = f"{review.name} was edited where you had reverted it: that stays."
            self._reviews.editor.messenger.mention(why, review.window)
        return is_edited or bool(edits)

    def reload(self, number: ReviewId) -> None:
        """The person wants to see the file as it is now."""
        if review := self._reviews.find(number):
            self._reviews.background(self._reload(review))

    def keep_endings(self, number: ReviewId, *, keeps: bool) -> None:
        """Revert or restore the change of line endings and of the byte order mark."""
        if review := self._reviews.find(number):
            review.keeps_endings = keeps
            self._reviews.editor.diffs.update_header(review)

    async def marks(self, review: Review, text: str) -> Marks | None:
        """What is marked in a text of a review; None if the texts are too large."""
        if not self._is_comparable(review, text):
            return None
        return await asyncio.to_thread(marks, review.original, text, review.shown)

    async def endings(self, review: Review) -> str:
        """The change of line endings and of the byte order mark, in words; empty for none."""
        counts = self._is_comparable(review, review.shown)
        return await asyncio.to_thread(endings_change, review.disk.source, review.proposed, counts=counts)

    async def _reload(self, review: Review) -> None:
        try:
            disk = await asyncio.to_thread(read_file, review.file_path, review.encodings)
        except OSError as error:
            self._reviews.editor.messenger.say(f"{review.name} can't be read: {reason_of(error)}.", review.window)
            return
        if self._reviews.find(review.number) is review:
            review.disk, review.disk_state, review.seen = disk, "same", disk.stamp
            review.endings = await self.endings(review)
            self._reviews.editor.diffs.reload_review(review)

    def _is_comparable(self, review: Review, text: str) -> bool:
        """Whether a text can be compared with the file; the review notes why not."""
        review.unmarked = self._why_not(review, text)
        return not review.unmarked

    def _why_not(self, review: Review, text: str) -> str:
        limits = self._reviews.host.settings_of(review.window)
        if not review.disk.is_text:
            return "Not a text"
        # The limits apply to the file. Its proposal may be longer.
        for side, times in ((review.original, 1), (text, 2)):
            if len(side) > times * limits.max_marked_characters:
                return "Over “max_marked_characters”"
            if side.count("\n") > times * limits.max_marked_lines:
                return "Over “max_marked_lines”"
        return ""


class Writes:
    """The accepted reviews whose files have not been written yet."""

    def __init__(self, reviews: Reviews) -> None:
        self._reviews = reviews
        self.missing: dict[Review, str] = {}
        """The content that each of these files will have, for the proposals of CLIs."""

    def expect(self, review: Review, content: str) -> None:
        """The CLI or the agent is about to write this.

        If a CLI has not, the person hears of it, and the text is kept in a tab. A model has the text, and decides.
        """
        try:
            content.encode()
        except UnicodeEncodeError:  # nobody can write it; the CLI was not told
            return
        if review.request is None and not review.owner.is_model:
            self.missing[review] = content
        if review.is_here:
            self._reviews.background(self._await_write(review, content))

    async def _await_write(self, review: Review, content: str) -> None:
        cli, window = review.owner.cli, review.window
        is_written = await self._is_written(review, content)
        is_of_cli = self.missing.pop(review, None) is not None
        if is_written:
            self._reviews.host.proposal_written(review, content)
        elif is_of_cli:
            why = f"{cli} has not written {review.name} as you accepted it. The text that you accepted is kept here."
            self._reviews.editor.messenger.keep_text(window, review.name, SourceText(content).shown, why)

    async def _is_written(self, review: Review, content: str) -> bool:
        """Whether the file has the content before the time is over. It is read again when it has changed."""
        looked: object = ()
        proposed = review.proposed.source
        replaces = content != proposed and not families.takes_edits(review.owner.cli)
        # Where they differ in line endings or the mark alone, the file may have the text before the CLI writes it.
        is_alike = replaces and SourceText(content).shown == review.shown
        limit, pause = (MODEL_LIMIT, MODEL_LOOK) if review.owner.is_model else (WRITE_LIMIT, WRITE_LOOK)
        for look in range(LOOKS_SOON + int(limit / pause)):
            if (seen := await asyncio.to_thread(stamp, review.file_path)) != looked:
                looked = seen
                if replaces and await asyncio.to_thread(
                    holds, review.file_path, proposed, review.encodings, exactly=is_alike
                ):
                    replaces = is_alike = False
                    with contextlib.suppress(OSError, UnicodeEncodeError):  # the text is kept in a tab then
                        await self._write(review, content)
                may_be_old = is_alike and seen == review.seen
                if not may_be_old and await asyncio.to_thread(holds, review.file_path, content, review.encodings):
                    return True
            await asyncio.sleep(min(SOON, pause) if look < LOOKS_SOON else pause)
        return is_alike and await asyncio.to_thread(holds, review.file_path, content, review.encodings)

    async def _write(self, review: Review, content: str) -> None:
        """Write what the person has accepted over what the CLI has written. Raises OSError or UnicodeEncodeError."""
        path = await asyncio.to_thread(resolved, review.file_path)
        await self._reviews.editor.files.replace_buffer(path, SourceText(content).shown)
        await asyncio.to_thread(_to_disk, path, content, review)  # a tab is saved with line endings of its own


def _to_disk(path: str, content: str, review: Review) -> None:
    with place(path) as at:
        data, _ = read_bytes(path, at)
        # Whoever has written since then has not read this.
        texts = () if holds(path, content, review.encodings, exactly=True) else (review.proposed.source, content)
        if any(holds(path, text, review.encodings) for text in texts):
            at.replace(encode_like(content, data, review.encodings))


class Reviews:
    """The reviews that are open, in the order in which they were opened."""

    def __init__(
        self,
        editor: ReviewScreen,
        host: ReviewHost,
        background: Callable[[Coroutine[Any, Any, object]], object],
    ) -> None:
        self.host = host
        self._answers: list[Answered] = []
        """Those that can be taken back, but for what was accepted and is on the disk: a folder has that."""
        self.editor = editor
        self.background = background
        self._open: dict[tuple[Owner, str], Review] = {}
        self._ids = itertools.count(1)
        self._unclaimed: list[Review] = []
        """Reviews from before a reload that their chats have not asked for again. They may have their outcome."""
        self._writes = Writes(self)
        self._restoring: dict[Review, str] = {}
        """The texts of accepted reviews whose line endings are being restored. Their owners have not heard yet."""
        self._is_leaving = False
        self.texts = ReviewTexts(self)
        self._looking: set[Review] = set()
        """Those whose files are being looked at."""

    def __iter__(self) -> Iterator[Review]:
        return iter(list(self._open.values()))

    def open(
        self,
        owner: Owner,
        file_path: str,
        content: str,
        request: Request | None = None,
        reason: str = "",
        connected: float | None = None,
        title: str = "",
    ) -> Review:
        """A CLI or a chat proposes a change. It silently supersedes an open one of the same owner and path.

        A chat that asks again after a reload goes on with the review from before. `reason` is what the agent has said
        before it, if that is known already, and `title` what it calls the conversation; `connected` is when the CLI
        in a terminal has connected.
        """
        if request and (claimed := self._claim(owner, file_path, content, request)):
            return claimed
        if old := self._open.pop((owner, file_path), None):
            self.background(self._close_views(old, "was replaced by a new proposal"))
        number = ReviewId(next(self._ids))
        review = self._open[owner, file_path] = Review(
            owner,
            file_path,
            SourceText(content),
            number,
            request=request,
            reason=reason,
            connected=connected,
            title=title,
        )
        logger.debug("%s opens a diff of %s", owner.cli, file_path)
        self.host.changes_changed()
        self.host.change_proposed(review)
        self.background(self._show(review))
        return review

    def find(self, number: ReviewId) -> Review | None:
        """The open review with this number."""
        return next((review for review in self if review.number == number), None)

    def last_reverted(self, window: WindowId) -> Review | None:
        """The review of a window in which the person has reverted something last that can be taken back."""
        found = [review for review in self if review.window == window and review.reverts]
        return max(found, key=lambda review: review.reverts[-1].at, default=None)

    def last_answered(self, window: WindowId) -> Answered | None:
        """The last answer of a window that can be taken back."""
        found = (each for each in reversed(self._answers) if each.review.window == window)
        return next((each for each in found if not each.is_passed), None)

    @property
    def rejected(self) -> list[Answered]:
        """The answers with texts that were rejected and have not come back, the last one first."""
        return [each for each in reversed(self._answers) if each.review.outcome == "rejected"]

    def moved(self, number: ReviewId, window: WindowId) -> None:
        """The person has dragged a diff to this window."""
        if review := self.find(number):
            review.moved_to = None if window == review.owner.window else window
            self.host.changes_changed()

    def pass_answer(self, answered: Answered) -> None:
        """An answer can't be taken back yet: the decision before it comes next."""
        self._answers = [each._replace(is_passed=True) if each is answered else each for each in self._answers]

    def take_answer(self, review: Review) -> float:
        """The Unix time of the person's answer to a proposal, which is no longer known here; 0 if there is none."""
        found = next((each for each in self._answers if each.review is review), None)
        if found:
            self._answers.remove(found)
        return found.at if found else 0

    def accept(self, number: ReviewId, text: str) -> None:
        """The person accepts, with the text of the proposal's view."""
        review = self.find(number)
        if review is None:
            return
        if why := _refusal(review, text):
            self.editor.messenger.say(why, review.window)
            self.editor.diffs.refuse_answer(review)
            return
        self._settle(review, "accepted")
        self.editor.diffs.dismiss_review(review)
        self._answer(review, text)
        if not review.is_editable:
            self._accept(review, review.proposed.source)
        elif review.is_costly:
            self._restoring[review] = text
            self.background(self._accept_costly(review))
        else:
            self._accept(review, review.restored(text))

    def reject(self, number: ReviewId, text: str | None = None) -> None:
        """The person rejects, by command or by closing the view. `text` is that of the view, if it is known."""
        review = self.find(number)
        if review is not None:
            self._reject(review)
            self._answer(review, review.shown if text is None else text)
            self.editor.messenger.mention(f"Rejected the change of {review.name}.", review.window)

    def _answer(self, review: Review, text: str) -> None:
        self._answers = [*self._answers, Answered(time.time(), review, text)][-ANSWERS:]
        self.host.proposal_answered(review)

    def reject_window(self, window: WindowId) -> None:
        """A window or its project closes, and its diffs with it."""
        for review in self:
            if review.owner.window == window:
                self._reject(review)

    def reject_all(self) -> None:
        """The companion stops. What was accepted just now is not rejected.

        A CLI that is left waiting would never show a diff again (docs/protocols/qwen-ide.md#diffs).
        """
        restoring, self._restoring = self._restoring, {}
        for review, text in restoring.items():
            self._accept(review, review.restored(text))
        for review in self:
            self._reject(review)

    async def close(self, owner: Owner, file_path: str, *, is_answered: bool = False) -> str | None:
        """The CLI closes a diff, usually because the person has answered in the terminal.

        Returns the final text, or None if no such diff is open. No notification is sent. Edited text is kept in a tab,
        unless the CLI uses it as the answer (`is_answered`): Qwen Code 0.15 and later write their own proposal after a
        "yes" in the terminal (docs/protocols/qwen-ide.md#diffs).
        """
        review = self._open.pop((owner, file_path), None)
        logger.debug("%s closes its diff of %s", owner.cli, file_path)
        self.host.changes_changed()
        if review is None:
            return None
        keep = not (is_answered and families.keeps_edits(owner.cli))
        return await self._close_views(review, "was answered in the terminal", keep=keep)

    def withdraw(self, owner: Owner) -> None:
        """The owner no longer needs an answer: close its diffs without a notification. Edits are kept in a tab."""
        for review in self:
            if review.owner is owner and not self._is_leaving:
                self._settle(review)
                if review.is_editable:
                    self.background(self._close_views(review, "was answered elsewhere"))
                else:
                    self.editor.diffs.dismiss_review(review)

    def leaving(self) -> None:
        """The package is about to be unloaded: what is open stays open for the next instance."""
        self._is_leaving = True

    def hand_over(self) -> dict[WindowId, list[dict[str, Any]]]:
        """The reviews as plain data, by window: those that are open, in their order, and those that were answered.

        They are no longer this instance's.
        """
        more: dict[Review, dict[str, Any]] = {review: {} for review in self}
        for review, content in self._writes.missing.items():
            more.setdefault(review, {})["unwritten"] = content
        for review, text in self._restoring.items():
            more.setdefault(review, {})["accepted"] = text
        for answer in self._answers:
            more.setdefault(answer.review, {})["answered"] = answer.at, answer.text
        left: dict[WindowId, list[dict[str, Any]]] = {}
        for review, each in more.items():
            left.setdefault(review.owner.window, []).append(to_plain(review) | each)
        self._open.clear()
        return left

    def inherit(self, left: Sequence[Mapping[str, Any]], owner_of: Callable[[Mapping[str, Any]], Owner]) -> None:
        """Go on with reviews that the previous instance has left. `owner_of` finds the owner of one."""
        for one in left:
            is_over = "answered" in one and not {"unwritten", "accepted"} & one.keys()
            try:
                review = from_plain(one, owner_of({**one, "owner": {}} if is_over else one))
            except (LookupError, TypeError):
                logger.exception("The reviews of another version of the package can't be taken over")
                continue
            if "answered" in one:
                at, text = one["answered"]
                self._answers.append(Answered(at, review, text))
            if is_over:
                continue
            if "unwritten" in one:
                self._writes.expect(review, one["unwritten"])
                continue
            if "accepted" in one:
                self._restoring[review] = one["accepted"]
                self.background(self._accept_costly(review))
            else:
                self._open[review.owner, review.file_path] = review
            if isinstance(review.owner, Unclaimed):
                self._unclaimed.append(review)
                self.background(self._give_up(review))
        self._answers.sort(key=lambda each: each.at)  # those that are not written yet came first
        known = [*self, *(each.review for each in self._answers)]
        self._ids = itertools.count(max([next(self._ids), *(review.number + 1 for review in known)]))
        self.host.changes_changed()

    async def resume(self) -> None:
        """Show what was inherited: most of it is on the screen still."""
        left = [review for review in self if review.views]
        new = [review for review in self if not review.is_shown]
        try:
            closed = await self.editor.diffs.resume_reviews(left)
            for review in left:
                if review.number in closed and self.find(review.number) is review:
                    self._reject(review)
        finally:
            for review in new:
                if self.find(review.number) is review:
                    self.background(self._show(review))

    def pass_on(self, before: Owner, owner: Owner) -> None:
        """An owner is known by another object from now on."""
        for review in self._restoring:
            if review.owner is before:
                review.owner = owner
        for review in self:
            if review.owner is before:
                review.owner = owner
                review.orphaned = False
                self.editor.diffs.update_header(review)
        self._open = {(review.owner, review.file_path): review for review in self}

    def _claim(self, owner: Owner, file_path: str, content: str, request: Request) -> Review | None:
        """The review from before a reload that is now asked for again."""
        wanted = owner.window, file_path, content, request.old
        for review in self._unclaimed:
            asked = review.request.old if review.request else ""
            if (review.owner.window, review.file_path, review.proposed.source, asked) == wanted:
                before = review.owner
                self._unclaimed.remove(review)
                review.request = request
                self.pass_on(before, owner)
                for heard in before.heard if isinstance(before, Unclaimed) else ():
                    owner.notify(heard)
                return review
        return None

    async def _give_up(self, review: Review) -> None:
        """Close a review that no chat asks for again."""
        await asyncio.sleep(CLAIM_LIMIT)
        if review in self._unclaimed:
            self._unclaimed.remove(review)
            self.withdraw(review.owner)

    def orphan(self, owner: Owner) -> None:
        """A session is gone for good."""
        for review in self:
            if review.owner is owner and not review.orphaned:
                review.orphaned = True
                self.editor.diffs.update_header(review)

    def explain(self, number: ReviewId, reason: str) -> None:
        """It is known why something is proposed; an empty reason says that it isn't after all."""
        review = self.find(number)
        if review and review.reason != reason:
            review.reason = reason
            self.editor.diffs.update_header(review)

    async def check_disk(self) -> None:
        """Check whether the files of open reviews have changed on disk.

        A file that already matches the proposal needs no answer: a CLI that applies changes without asking may open
        diffs nevertheless, and wait for them (google-gemini/gemini-cli#11823).
        """
        watched = [review for review in self if review.is_shown and review.is_here and review not in self._looking]
        await asyncio.gather(*map(self._look_at, watched))

    async def _look_at(self, review: Review) -> None:
        """One file that can't be read, or takes for ever, is no reason to miss another."""
        self._looking.add(review)
        try:
            await self._compare_with_disk(review)
        except Exception:
            logger.exception("Can't look at the file of %s", review.name)
        finally:
            self._looking.discard(review)

    async def _compare_with_disk(self, review: Review) -> None:
        seen = await asyncio.to_thread(stamp, review.file_path)
        if seen == review.seen:
            return
        state: DiskState
        try:
            disk = await asyncio.to_thread(read_file, review.file_path, review.encodings)
        except OSError:
            disk, state = None, "unreadable"
        else:
            state = "changed" if disk.exists else "deleted"
        if self.find(review.number) is not review or review.orphaned:
            return
        review.seen = disk.stamp if disk else seen
        if disk and _holds_proposal(review, disk):
            await self._done_on_disk(review)
            return
        if disk and not _differs(disk, review):
            state = "same"
        if state != review.disk_state:
            review.disk_state = state
            self.editor.diffs.update_header(review)

    async def _show(self, review: Review) -> None:
        try:
            review.disk = await self._before(review)
            if self.find(review.number) is not review:
                return
            if _holds_proposal(review, review.disk):
                await self._done_on_disk(review)
                return
            review.seen = review.disk.stamp
            if review.disk.exists and review.disk.is_text and review.request is None:
                review.endings = await self.texts.endings(review)
            found = await self.texts.marks(review, review.shown)
            if self.find(review.number) is review:
                review.is_shown = True
                await self.editor.diffs.show_review(review, found)
        except Exception as error:
            logger.exception("Can't show the diff of %s", review.name)
            then = ". Answer in the chat" if review.request else " and was rejected"
            then += f": {reason_of(error)}" if isinstance(error, OSError) else ""
            self.editor.messenger.say(f"The diff of {review.name} could not be shown{then}.", review.window)
            if self.find(review.number) is review:
                if review.request:
                    self.withdraw(review.owner)
                else:
                    self._reject(review)

    async def _before(self, review: Review) -> DiskFile:
        """The file that the diff shows."""
        if review.request is None:
            with contextlib.suppress(TimeoutError):  # a busy editor; the defaults do
                review.encodings = await self.editor.files.encodings(review.file_path)
            return await asyncio.to_thread(read_file, review.file_path, review.encodings)
        seen = await asyncio.to_thread(stamp, review.file_path) if review.is_here else None
        return DiskFile(SourceText(review.request.old), exists=bool(review.request.old or seen), stamp=seen)

    async def _done_on_disk(self, review: Review) -> None:
        """The file already matches the proposal: tell the CLI so, and keep what the person has edited.

        The person has answered nothing, so it is a written change that they have yet to review.
        """
        self._settle(review)
        review.owner.notify(DiffOutcome(review.file_path, review.proposed.source))
        self.host.proposal_written(review, review.proposed.source)
        self.editor.messenger.mention(
            f"{review.name} already matches the proposal of {review.owner.cli}.", review.window
        )
        await self._close_views(review, "was closed because the file already matches the proposal")

    async def _accept_costly(self, review: Review) -> None:
        if (text := self._restoring.get(review)) is None:  # the companion has stopped before this began
            return
        content = await asyncio.to_thread(review.restored, text)
        # If this instance leaves, the next one does it.
        if not self._is_leaving and self._restoring.pop(review, None) is not None:
            self._accept(review, content)

    def _accept(self, review: Review, content: str) -> None:
        """Tell the owner of a review that is settled."""
        review.owner.notify(DiffOutcome(review.file_path, content))
        self._writes.expect(review, content)

    def _reject(self, review: Review) -> None:
        self._settle(review, "rejected")
        if not review.orphaned:
            review.owner.notify(DiffOutcome(review.file_path))
        self.editor.diffs.dismiss_review(review)

    def _settle(self, review: Review, outcome: Outcome = "") -> None:
        review.outcome = outcome
        del self._open[review.owner, review.file_path]
        self.host.changes_changed()

    async def _close_views(self, review: Review, what: str, *, keep: bool = True) -> str:
        """Close the views of a review that is no longer open; its final text.

        A busy editor closes them later. Its text comes too late for the answer then, and edits are kept.
        """
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.background(self._close_when_idle(review, what, answer, keep=keep))
        try:
            return await asyncio.wait_for(answer, BUSY_LIMIT)
        except TimeoutError:
            return review.proposed.source

    async def _close_when_idle(self, review: Review, what: str, answer: asyncio.Future[str], *, keep: bool) -> None:
        shown = await self.editor.diffs.review_text(review)
        self.editor.diffs.dismiss_review(review)
        is_edited = shown not in (None, review.shown)
        if is_edited and (keep or answer.done()):
            why = f"The diff of {review.name} {what}. Your edits are kept here: the CLI may not write them."
            self.editor.messenger.keep_text(review.window, review.name, shown or "", why)
        text = review.proposed.source if shown is None else await asyncio.to_thread(review.restored, shown)
        if not answer.done():
            answer.set_result(text)


def _holds_proposal(review: Review, disk: DiskFile) -> bool:
    """Whether a file, as it was read, is what a CLI proposes.

    The same text in another encoding is no change to the eye, but the CLI would write other bytes.
    """
    return review.request is None and disk.is_utf8 and disk.source == review.proposed


def _differs(disk: DiskFile, review: Review) -> bool:
    """Whether a file differs from what the diff shows. A daemon does not tell the line endings."""
    if review.request:
        return disk.source.shown != review.original
    return disk.source != review.disk.source


def _refusal(review: Review, text: str) -> str:
    """Why a text can't be accepted; empty if it can."""
    if review.request:
        return ""
    if not text and review.shown and not review.restored(text):
        return EMPTY_REFUSED.format(cli=review.owner.cli)
    return f"{review.owner.cli} has disconnected and can't write {review.name}." if review.orphaned else ""
