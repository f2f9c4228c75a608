"""One folder with its round, as the companion thread sees it: every call runs on the folder's own worker thread."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import ParamSpec, Protocol, TypeVar

from ..editor import WindowId
from ..platforms.files import reason_of
from ..review.changes import counted
from ..review.disk import Encodings, SourceText, decoded
from ..review.document import NOTHING, Body, body_of
from ..review.review_screen import UnsavedTextError
from ..snapshots.entries import LINK, Difference, Entry, TreeSnapshot
from ..snapshots.files import WriteRefusedError
from ..snapshots.git import Git, GitError, GitMissingError, GitStoppedError, program
from ..snapshots.objects import StoreObjects
from ..snapshots.store import DamagedError, Store
from . import moving, places
from .change_screen import ChangeScreen, FileChanges, FileTurn
from .checkpoints import Checkpoints
from .journal import Intent, Journal
from .lines import Hunks, located
from .moving import Moved
from .places import absolute, relative
from .round import Round, Seen
from .rows import ChangeRow, is_as_listed
from .saves import Excluding, KeptWords, Left, Overwritten, Saves, Told
from .state import Chosen, Operation
from .undo import RoundUndo, Write, files_of

logger = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

_WHAT = {"undo": "The undo of", "person": "The undo of", "back": "Taking back", "restore": "The restore of"}
_NAMED = 5
"""Lines that a question names."""
QUIET = 60.0
"""Seconds without a change after which the next one begins another checkpoint, if no prompt says when."""

COPYING = 0.05
"""Seconds in which files of the baseline are copied before anything else that waits for the worker has its turn."""
RESTING = 4.0
"""How many times as long nothing is copied then: copying takes up to two cores, and half of one all in all."""

IS_GONE = "Make the folder again to have its files listed as deleted. Begin Review Round forgets them."


@dataclass(frozen=True, slots=True)
class WriteOutcome:
    """What has become of an undo, of taking one back, or of going back to a checkpoint."""

    written: Sequence[str]
    """The paths of the files that were written."""
    left: Sequence[str]
    """A sentence for each file or operation that was left alone, or is not as it should be."""
    unseen: str = ""
    """A sentence if what was written could not be looked at afterwards."""
    is_nothing: bool = False
    """Whether nothing was done."""


Contents = tuple[bytes, bytes, Hunks]
"""Both contents of a file, and its changes."""
_Plan = tuple[Intent, Sequence[str]]
"""What is to be written, and a sentence for each file that is left alone."""


class _RoundParts:
    """A round and what works on it."""

    def __init__(self, round_: Round) -> None:
        self.round = round_
        self.saves = Saves(round_)
        self.undo = RoundUndo(round_)
        self.checkpoints = Checkpoints(round_, self.undo)
        self.journal = Journal(round_, self.undo)
        self.told = KeptWords(round_.store.path)


@dataclass(frozen=True, slots=True)
class Working:
    """Who may be writing in a folder."""

    since: Mapping[str, int] = field(default_factory=dict[str, int])
    """Their names, and since when they may have written, in nanoseconds of Unix time."""
    named: Mapping[str, str] = field(default_factory=dict[str, str])
    """The agents that have named the files they write, by the files' paths, as `os.path.normcase` has them."""
    by_quiet: str = ""
    """A CLI that doesn't say when a turn begins: what it writes after a quiet minute begins one."""


class FolderOwner(Protocol):
    """What a folder needs from whoever has all of them. Used on the companion thread, but for `excluded`."""

    def excluded(self, root: str, paths: Sequence[str]) -> set[str]:
        """Those of some files of a root that are never read."""
        ...

    def working(self, folder: Folder) -> Working:
        """Who may be writing in a folder."""
        ...

    def take(self, folder: Folder, seen: Seen) -> None:
        """Take on what a scan of a folder has found, whoever has asked for it."""
        ...


class FolderClosedError(asyncio.CancelledError):
    """The folder was let go: whatever was to be done there ends."""


class Folder:
    """A root: a folder of a window, or a repository below it."""

    def __init__(self, root: str, editor: ChangeScreen, owner: FolderOwner, stores: str | None) -> None:
        self.root = root
        self.windows: set[WindowId] = set()
        self.is_nested = False
        """Whether it is a repository below another root."""
        self.gone: dict[str, int] = {}
        """Since when those may have written who were at work in windows that have closed, until that is scanned."""
        self.rows: list[ChangeRow] = []
        self._costs = (0.0, 0.0)
        """Seconds that the last two scans took."""
        self.trouble = ""
        """A sentence on why the last scan failed, and what to do about it; empty if it has not."""
        self.scanned_at = time.monotonic()
        """When a scan ended last, by the monotonic clock, or the folder came, or a question was answered."""
        self.is_asking = False
        """Whether the person is asked something while the lock is held."""
        self.has_scanned = False
        """Whether a scan of this instance has ended."""
        self.lock = asyncio.Lock()
        """Held by whoever changes something, from the plan to the scan afterwards, or opens it, or begins its round."""
        self.by_git: list[tuple[Seen, str]] = []
        """Scans that have found what git has changed, perhaps as the person used it, each with what was said of it."""
        self._editor = editor
        self._owner = owner
        self._by_quiet = ""
        self._stores = stores
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="qwen-companion-changes")
        self._place: places.Place | None = None
        self._git: Git | None = None
        self._parts: _RoundParts | None = None
        self._changed_at = 0.0
        self._is_closed = False
        self._is_copying = False

    async def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run something on the folder's worker thread. Raises FolderClosedError if it was let go."""
        if self._is_closed:
            raise FolderClosedError
        loop, working = asyncio.get_running_loop(), self._owner.working(self)

        def run() -> T:
            if self._parts:
                self._parts.round.named, self._parts.round.at_work = working.named, working.since
            self._by_quiet = working.by_quiet
            looked = self._looked_at
            try:
                return function(*args, **kwargs)
            finally:
                if looked != self._looked_at:
                    self.scanned_at, self.has_scanned, self.trouble = time.monotonic(), True, ""
                for seen in self._taken():
                    loop.call_soon_threadsafe(self._owner.take, self, seen)

        try:
            return await loop.run_in_executor(self._executor, run)
        except OSError:
            if self._is_closed:  # git was ended
                raise FolderClosedError from None
            raise

    async def decide(self, function: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
        """Have something decided in the round, as a whole or not at all. Raises OSError, FolderClosedError."""
        await self.call(lambda: self.round.decide(lambda: function(*args, **kwargs)))

    @property
    def _looked_at(self) -> int:
        """When the last scan began that has ended well, whoever has made it."""
        return self._parts.round.scanned_at if self._parts else 0

    def _taken(self) -> list[Seen]:
        """What the scans of a call have found, for the owner: it comes before the caller goes on."""
        found = self._parts.round.take() if self._parts and not self._is_closed else []
        try:
            for seen in found:
                if seen.changed and self._by_quiet and time.monotonic() - self._changed_at > QUIET:
                    self.checkpoints.add(self._by_quiet, "", seen=seen)
                self._changed_at = time.monotonic()
            if found:
                self.refresh()
        except OSError as error:
            logger.warning("Can't list what a scan of %s has found: %s", self.root, error)
        return found

    @property
    def _opened(self) -> _RoundParts:
        if self._parts is None:
            raise WriteRefusedError(f"there is no snapshot of {self.root}")
        return self._parts

    @property
    def round(self) -> Round:
        """The round. Raises WriteRefusedError if there is none, as those below do."""
        return self._opened.round

    @property
    def saves(self) -> Saves:
        """What the editor tells of the files of the round."""
        return self._opened.saves

    @property
    def undo(self) -> RoundUndo:
        """Undo and redo in the round."""
        return self._opened.undo

    @property
    def checkpoints(self) -> Checkpoints:
        """The checkpoints of the round."""
        return self._opened.checkpoints

    def full_path(self, path: str) -> str:
        """The absolute path of a file of the folder."""
        return absolute(path, self.root)

    def below(self, sees: Callable[[str], bool]) -> Callable[[str], bool]:
        """Says of a path in the folder what `sees` says of the absolute one."""
        return lambda path: sees(self.full_path(path))

    @property
    def has_round(self) -> bool:
        """Whether there is a baseline."""
        return self._parts is not None and self._parts.round.is_open

    @property
    def waits(self) -> bool:
        """Whether an agent has changed something that nobody has reviewed, by the last scan."""
        return any(row.agents for row in self.rows)

    def open(self) -> str:
        """Take the folder's store. Returns a sentence if it was damaged. On the worker thread. Raises OSError."""
        if self._parts is not None:
            return ""
        git = program()
        place = self._place = self._place or places.hold(self.root, self._stores, lambda: self._is_closed)
        try:
            try:
                self._make(git, place.path)
            except (DamagedError, GitStoppedError):  # a disk may fail for a moment
                if self._is_closed:
                    raise
                self._make(git, place.path)
        except DamagedError as error:
            logger.warning("The snapshots of %s are damaged: %s", self.root, error)
            places.read_through(place.path)  # a disk that fails is no damage, and git may not tell
            places.empty(place.path)
            self._make(git, place.path)
            name = os.path.basename(self.root)
            return (
                f"The snapshots of {name} were damaged, so new ones are made: what was written before counts as "
                "reviewed."
            )
        return ""

    def forget(self) -> bool:
        """Remove everything from the store, on the worker thread. Returns whether nothing of it is left."""
        self._parts = None
        self.rows = []
        if self._place:
            places.empty(self._place.path)
        return not os.path.lexists(self.store)

    @property
    def store(self) -> str:
        """The path of the store; empty if none is taken."""
        return self._place.path if self._place else ""

    def _make(self, program_path: str, store: str) -> None:
        self._git = Git(program_path, store, self.root)
        made = Round(Store(store, self.root, self._git, self._excluded), places.ignore_files)
        made.open()
        self._parts = _RoundParts(made)

    def _excluded(self, paths: Sequence[str]) -> set[str]:
        return self._owner.excluded(self.root, paths)

    def begin(self, *, may_be_large: bool) -> list[str]:
        """Begin a round: everything counts as reviewed. On the worker thread.

        Returns the files that were written while the baseline was made.
        """
        try:
            during = self.round.decide(lambda: self.round.begin(may_be_large=may_be_large))
        except GitError as error:  # its store may have been removed or damaged: that is found when it is opened
            logger.warning("The snapshots of %s are opened again: %s", self.root, error)
            told, self._parts = self._opened.told, None
            self.open()
            self._opened.told = told
            during = self.round.decide(lambda: self.round.begin(may_be_large=may_be_large))
        self.refresh()
        return during

    def resume(self) -> bool:
        """Go on with the round that there is. On the worker thread. Returns whether something waits.

        What was changed while nobody was at work is the person's, unless an agent's changes wait beside it.
        """
        self.scan()
        if (rows := self.round.rows()) and not any(row.agents for row in rows):
            self.round.follow_all()
        self.refresh()
        return self.waits

    def handed_over(self, root: str) -> Moved | None:
        """What is known here of another root, which is in this one or has it; None if nothing is.

        On the worker thread.
        """
        nested = [self.full_path(path) for path in self.round.state.nested]
        if places.is_in(root, nested):
            return None
        self.scan()
        return moving.handed_over(self.round, root)

    def take_over(self, moved: Moved) -> list[str]:
        """Have what is known in another root known here. On the worker thread.

        Returns the files that were written while a baseline was made for that.
        """
        during: list[str] = []
        if self.round.is_open:
            self.scan()
        else:
            during = self.round.decide(self.round.begin)
        self.round.decide(lambda: moving.take_over(self.round, moved))
        self.refresh()
        return during

    def scan(self) -> Seen:
        """Scan the folder, on the worker thread."""
        started = time.perf_counter()
        try:
            seen = self.round.scan()
        except OSError as error:
            self.failed(error)
            raise
        self._costs = self._costs[1], time.perf_counter() - started
        return seen

    @property
    def cost(self) -> float:
        """Seconds that a scan takes, if it isn't one in which much is copied that was written at once."""
        return min(self._costs)

    async def copy(self) -> None:
        """Copy the files of the baseline into the store until all are there, or something stops that."""
        while self.left_to_copy and not self._is_copying:
            self._is_copying = True
            started = time.monotonic()
            try:
                await self.call(self._copy_some)
                if self.copies_stopped:
                    return
                await asyncio.sleep(RESTING * (time.monotonic() - started))
            finally:
                self._is_copying = False

    def _copy_some(self) -> None:
        if self.has_round:
            self.round.complete()
            if not self.round.store.copies.more(COPYING):
                self.round.prune()

    @property
    def left_to_copy(self) -> int:
        """How many files of the baseline are still to be copied."""
        return self.round.store.copies.left if self.has_round else 0

    @property
    def copies_stopped(self) -> str:
        """A sentence on why no more is copied, and what to do about it; empty if nothing stops the copies."""
        why = self.round.store.copies.stopped if self.has_round else ""
        name = os.path.basename(self.root) or self.root
        return f"Not all files of {name} are copied for an undo: {why}. Free some space." if why else ""

    @contextlib.asynccontextmanager
    async def deciding(self, window: WindowId, command: float = 0.0) -> AsyncGenerator[None]:
        """What is decided meanwhile is decided in a window, by a command. The lock is held."""
        self.round.deciding, self.round.command = window, command
        try:
            yield
        finally:
            if self._parts:
                self._parts.round.deciding, self._parts.round.command = 0, 0.0

    async def confirm(self, window: WindowId, question: str, yes: str, no: str = "") -> bool:
        """Ask the person with the lock held. No scan that waits for the answer is late."""
        self.is_asking = True
        try:
            return await self._editor.questions.confirm(window, question, yes, no)
        finally:
            self.is_asking, self.scanned_at = False, time.monotonic()

    def take_dropped(self) -> int:
        """How many checkpoints had to go since the last call because the store had too much in it."""
        dropped = self._parts.round.dropped if self._parts else 0
        if self._parts and dropped:
            self._parts.round.dropped -= dropped
        return dropped

    def failed(self, error: OSError) -> None:
        """A scan or a beginning has failed. On the worker thread."""
        self.trouble = trouble_of(error, self.root, is_nested=self.is_nested)
        if self._parts:
            self._parts.round.store.unlock()

    def refresh(self) -> None:
        """Make the rows again, on the worker thread."""
        self.rows = self.round.rows() if self.has_round else []

    async def tell_below(self, path: str, before: TreeSnapshot) -> None:
        """Tell the editor that an agent has written a file that is open there."""
        if below := await self.call(self.saves.written_below, path, before):
            self._editor.unsaved.written_below(self.full_path(path), *below)

    async def tell_overwritten(self, window: WindowId, path: str, lost: Overwritten) -> None:
        """Tell the editor that a save has overwritten what an agent had written."""
        full = self.full_path(path)
        if (text := _shown(lost.data, await self._editor.files.encodings(full))) is not None:
            self._editor.written.save_overwritten(window, full, lost.agents, text)

    async def committed(self, path: str, *, in_index: bool) -> str | None:
        """The text of a file in the person's own repository, as a view shows it; None if there is none."""
        encodings = await self._editor.files.encodings(self.full_path(path))
        data = await self.call(self.round.committed, path, in_index=in_index)
        return None if data is None else _shown(data, encodings)

    def texts_of_turn(self, turn: str) -> list[tuple[str, str, str]] | None:
        """Path, old and new text of each file that was changed in a turn of a chat. On the worker thread."""
        files = self.checkpoints.of_turn(turn)
        return (
            None
            if files is None
            else [(self.full_path(path), _lenient(old), _lenient(new)) for path, old, new in files]
        )

    def paths_since_turn(self, turn: str) -> list[str] | None:
        """The absolute paths that going back to before a turn would write; None if it has no checkpoint."""
        point = self.checkpoints.begin_of(turn)
        return [self.full_path(each.path) for each in self.checkpoints.back_to(point)] if point else None

    async def undo_changes(self, window: WindowId, path: str, chosen: Sequence[Chosen]) -> WriteOutcome:
        """Undo changes of a file, or some lines of them, in the editor if the file is open there."""

        def plan(*, is_all: bool) -> _Plan:
            return Intent("undo", self.undo.plan_changes(path, chosen, is_all=is_all), path, chosen, is_all), []

        return await self._ask_and_write(window, plan, lambda: self.undo.protected([self.round.wanted(path)], chosen))

    async def undo_files(self, window: WindowId, found: Sequence[Difference]) -> WriteOutcome:
        """Undo some of the files that wait."""

        def plan(*, is_all: bool) -> _Plan:
            writes, refused = self.undo.plan(found, is_all=is_all)
            return Intent("undo", writes), refused

        return await self._ask_and_write(window, plan, lambda: self.undo.protected(found))

    def as_listed(
        self, rows: Mapping[str, ChangeRow], sees: Callable[[str], bool]
    ) -> tuple[list[Difference], list[str]]:
        """The files that a window sees and that still are as it has listed them: these rows, by full path.

        Also returns a sentence for each of the others. On the worker thread.
        """
        saves = self.round.state.saves
        waiting = {self.full_path(each.path): each for each in self.round.waiting()}
        found: list[Difference] = []
        left: list[str] = []
        for full, row in rows.items():
            each, path = waiting.get(full), relative(full, self.root)
            if each is None:
                left.append(f"nothing of {path} waits for a review")
            elif not all(map(sees, each.paths)):
                left.append(f"{path} is excluded by the setting “context_exclude” of this window")
            elif not is_as_listed(each, row, saves):
                left.append(f"{path} has changed since")
            else:
                found.append(each)
        return found, left

    async def _ask_and_write(
        self, window: WindowId, plan: Callable[..., _Plan], protected: Callable[[], Sequence[str]]
    ) -> WriteOutcome:
        """Write what is planned. It is asked once, before, about what is the person's, too, or may be.

        `plan` gives what is to be written, with those or without, and a sentence for each file that is left alone.
        """

        def begin(*, is_all: bool = False) -> _Plan:
            intent, left = plan(is_all=is_all)
            self._opened.journal.begin(intent)
            return intent, left

        def begin_unless_protected() -> tuple[Sequence[str], _Plan | None]:
            found = protected()
            return found, None if found else begin()

        found, begun = await self.call(begin_unless_protected)
        if begun is None:
            question = f"You have edited this yourself, or may have: {named(found)}. Keep it?"
            keeps_mine = await self.confirm(window, question, "Keep Mine", "Undo Those Too")
            begun = await self.call(begin, is_all=not keeps_mine)
        intent, left = begun
        outcome = await self._carry_out(intent)
        return replace(outcome, left=[*left, *outcome.left])

    async def write_as_person(self, plan: Callable[[], Write]) -> WriteOutcome:
        """Write a file as the person would: it is nobody else's change then, and can be taken back."""

        def begin() -> Intent:
            intent = Intent("person", [plan()])
            self._opened.journal.begin(intent)  # from now on the store keeps what was made for it
            return intent

        return await self._carry_out(await self.call(begin))

    def decided(self, window: WindowId, sees: Callable[[str], bool]) -> list[Operation]:
        """What was decided in a window, or before a restart, in what it sees: the last decision comes first."""
        decided = self.round.state.decided if self.has_round else []
        return [each for each in reversed(decided) if _is_of(each, window, sees)]

    async def take_back(self, window: WindowId, sees: Callable[[str], bool], stamp: float) -> WriteOutcome:
        """Take back what a command in a window has decided here, as far as that is possible."""
        written: list[str] = []
        left: list[str] = []
        unseen, is_nothing = "", True
        for operation in self.decided(window, sees):
            if operation.stamp != stamp or operation not in self.round.state.decided:  # it went with another one
                continue
            try:
                writes, apart = await self.call(self.undo.plan_back, operation)
            except WriteRefusedError as error:
                left.append(str(error))
                continue
            left += apart
            if operation.is_edited:
                question = f"You have edited what you accepted in {', '.join(operation.disk)}. Take it back?"
                if not await self.confirm(window, question, "Take Back"):
                    return WriteOutcome([], left)
            outcome = await self._begin_and_carry_out(Intent("back", writes, operation=operation.at))
            written += outcome.written
            left += outcome.left
            unseen = unseen or outcome.unseen
            is_nothing = is_nothing and outcome.is_nothing  # of a checkpoint perhaps the baseline alone
        return WriteOutcome(written, left, unseen, is_nothing)

    async def restore(
        self, window: WindowId, number: int, is_shown: Callable[[Difference], bool], sees: Callable[[str], bool]
    ) -> tuple[WriteOutcome, list[Difference]]:
        """Go back to a checkpoint, in what a window sees and the person was shown of it.

        Also returns how the files differ from it by now.
        """
        await self.call(self.scan)
        found = await self.call(lambda: self.checkpoints.back_to(self.checkpoints.point(number)))
        later = [each for each in found if not is_shown(each)]
        changed = [f"{each.path} has changed since" for each in later if sees(each.path)]
        if later and len(later) == len(found):
            return WriteOutcome([], changed, is_nothing=True), found
        unknown = {path for each in later for path in each.paths}

        def is_meant(path: str) -> bool:
            return path not in unknown and sees(path)

        def plan(*, is_all: bool) -> _Plan:
            writes, base, left = self.checkpoints.plan(number, is_all=is_all)
            base = {path: entry for path, entry in base.items() if is_meant(path)}
            apart = {write.whole or write.path for write in writes if not is_meant(write.path)}
            meant = [write for write in writes if (write.whole or write.path) not in apart]
            return Intent("restore", meant, point=number, base=base), [*changed, *left]

        return await self._ask_and_write(window, plan, lambda: self.checkpoints.protected(number, is_meant)), found

    async def go_on(self) -> str:
        """Finish what an editor that has ended was about to write, and note what it was told.

        Returns a sentence if something was interrupted.
        """
        if not self.has_round:
            return ""
        said = await self._finish_pending()
        await self.call(self._note_left)
        return said

    async def _finish_pending(self) -> str:
        intent = await self.call(self._opened.journal.pending)
        if intent is None:
            return ""
        done, rest, left = await self.call(self._opened.journal.sorted_out, intent)
        known = {write.path for write in (*done, *rest)} | (intent.base.keys() - {each.path for each in intent.writes})
        base = {path: entry for path, entry in intent.base.items() if path in known}
        outcome = await self._carry_out(replace(intent, writes=rest, base=base), done)
        left = [*left, *outcome.left]
        files = counted(files_of(intent.writes), "file")
        said = f"{_WHAT[intent.kind]} {files} was interrupted when the editor ended. It is finished now"
        return f"{said}, but: {'; '.join(left[:3])}." if left else f"{said}."

    async def _begin_and_carry_out(self, intent: Intent) -> WriteOutcome:
        """Write what is intended, with it in the journal."""
        await self.call(self._opened.journal.begin, intent)
        return await self._carry_out(intent)

    async def _carry_out(self, intent: Intent, before: Sequence[Write] = ()) -> WriteOutcome:
        """Write what is intended and in the journal. `before` was written by an editor that has ended."""
        done, left = await self._write(intent.writes)
        done = [*before, *done]
        if not done and not intent.base and (intent.writes or intent.kind != "back"):  # a keep is taken back unwritten
            await self.call(self._opened.journal.end)
            return WriteOutcome([], left, is_nothing=True)
        unseen = ""
        try:
            failed = await self.call(self._finish, intent, done)
        except OSError as error:
            if not done:
                raise
            files = counted(files_of(done), "file")
            failed = await self.call(self.undo.failed, done)
            unseen = f"what was written in {files} could not be looked at: {error}"
        written = sorted({write.path for write in done} - {*failed})
        return WriteOutcome(written, [*left, *(f"{path} is not as it should be" for path in failed)], unseen)

    def _finish(self, intent: Intent, done: Sequence[Write]) -> Sequence[str]:
        """Note in the round what was written, on the worker thread. Returns the paths that are not as they should be.

        Raises OSError: the journal has what was written then, and if nothing was, all is as before.
        """
        if done:
            failed = self._noted(intent, done)
        else:
            try:
                failed = self.round.decide(lambda: self._noted(intent, done))
            except OSError:
                self._opened.journal.end()
                raise
        self._opened.journal.end()
        self.refresh()
        return failed

    def _noted(self, intent: Intent, done: Sequence[Write]) -> Sequence[str]:
        match intent.kind:
            case "undo":
                notes: Mapping[str, Sequence[str]] = {}
                with contextlib.suppress(OSError):  # what was written is noted in any case
                    notes = self.undo.notes(done)
                if intent.chosen:
                    self.undo.follow_going(intent.path, intent.chosen, done, is_all=intent.is_all)
                return self.undo.finish(done, notes)
            case "person":
                return self.undo.finish_as_person(done)
            case "back":
                operation = next(each for each in self.round.state.decided if each.at == intent.operation)
                return self.undo.finish_back(operation, done)
            case "restore":
                lost = {write.path for write in intent.writes} - {write.path for write in done}
                kept = {path: entry for path, entry in intent.base.items() if path not in lost}
                return self.checkpoints.finish_restore(done, kept, intent.point)

    async def _write(self, writes: Sequence[Write]) -> tuple[list[Write], list[str]]:
        """What was written, and a sentence for each file that was not."""
        opened = await self._editor.files.open_files()
        full = {write.path: os.path.normcase(self.full_path(write.path)) for write in writes}
        unsaved = {write.path for write in writes if opened.get(full[write.path])}
        wholes = {write.whole for write in writes if write.whole and write.path in unsaved}
        possible = [write for write in writes if write.path not in unsaved and write.whole not in wholes]
        shown = [
            write
            for write in possible
            if write.target and write.target.mode != LINK and not write.whole and full[write.path] in opened
        ]
        paths = {write.path for write in shown}
        closed = [write for write in possible if write.path not in paths]
        # All at once: on a busy machine each way to the other thread and back takes longer than the write.
        write_all = self._opened.journal.write_all
        done, refused = await self.call(write_all, closed, lambda: self._is_closed) if closed else ([], [])
        for write in shown:
            try:
                await self._apply_in_editor(full[write.path], write)
            except UnsavedTextError:  # it was typed since
                unsaved.add(write.path)
            except OSError as error:
                refused.append(str(error))
            else:
                done.append(write)
        refused += [f"{write.path} has unsaved edits: save it first" for write in writes if write.path in unsaved]
        return done, refused

    async def _apply_in_editor(self, full: str, write: Write) -> None:
        data = await self.call(self.undo.check, write)
        text = _shown(data or b"", await self._editor.files.encodings(full))
        if text is None and (await self._editor.files.open_files()).get(full):
            raise UnsavedTextError(f"{write.path} has unsaved text")
        saved = None if text is None else await self._editor.files.replace_buffer(full, text)
        if saved is None:
            await self.call(self.undo.write, write)
            return
        # A format or a trim on save, or mixed line endings: the editor reloads the file.
        await self.call(self.undo.force, write, saved)

    async def file(self, path: str) -> FileChanges | None:
        """The changes of a file for its view; None if nothing of it waits, or they can't be shown in the text."""
        full = self.full_path(path)
        encodings = await self._editor.files.encodings(full)
        return await self.call(self._file, path, full, encodings)

    def _file(self, path: str, full: str, encodings: Encodings) -> FileChanges | None:
        row = next((each for each in self.rows if each.path == path), None)
        contents = self.round.contents(path) if row else None
        if row is None or contents is None or not contents[2].is_text:
            return None
        before, after, found = contents
        baseline, text = _shown(before, encodings), _shown(after, encodings)
        if baseline is None or text is None:
            return None
        new = frozenset(self.round.new_changes(path, found)) if row.is_new else frozenset[str]()
        return FileChanges(full, baseline, text, found.plain, row.agents, row.after, new, _going(row, found))

    async def bodies(self, paths: Sequence[str]) -> dict[str, tuple[str, Body]]:
        """The changes of files that wait as lines, each with the version of its row, by path."""
        return await self.bodies_of(paths, lambda: self._contents(paths))

    async def bodies_of(
        self, paths: Sequence[str], contents: Callable[[], Mapping[str, tuple[str, Contents | None]]]
    ) -> dict[str, tuple[str, Body]]:
        """The changes of files as lines. `contents` blocks, and gives a version and what is compared, by path.

        A file whose contents can't be shown as text has the empty body.
        """
        opened = await self._editor.files.open_files()
        full = {path: self.full_path(path) for path in paths}
        # All files that are not open are read in the same way: asking for each takes a turn of the editor's thread.
        closed = [path for path in paths if os.path.normcase(full[path]) not in opened]
        encodings = {path: await self._editor.files.encodings(full[path]) for path in {*paths} - {*closed[1:]}}
        encodings |= dict.fromkeys(closed, encodings[closed[0]]) if closed else {}
        return await self.call(lambda: _bodies(contents(), encodings))

    def _contents(self, paths: Sequence[str]) -> dict[str, tuple[str, Contents | None]]:
        rows = {row.path: row for row in self.rows if row.path in paths}
        contents = self.round.contents_of([each for each in self.round.waiting() if each.path in rows])
        return {path: (row.version, contents.get(path)) for path, row in rows.items()}

    def turns(self) -> dict[str, tuple[FileTurn, ...]]:
        """The prompts after which each file that waits was changed, by path, the last one first.

        On the worker thread.
        """
        found = self.checkpoints.turns_of(row.path for row in self.rows)
        return {
            path: tuple(
                FileTurn(self.checkpoints.key_of(point), point.agent, point.at, point.words) for point in points
            )
            for path, points in found.items()
        }

    def note(self, words: Mapping[str, Told]) -> dict[str, Overwritten]:
        """Note what the editor has told of files, on the worker thread: see `Saves.saved`."""
        saved = {name: word for name, word in words.items() if word.is_save}
        lost = self.saves.saved(saved) if saved else {}
        for name in words.keys() - saved.keys():
            word = words[name]
            try:
                if word.accepted:
                    before, text, proposed = word.accepted
                    self.saves.reviewed(name, before, text, word.encodings, proposed)
                    self.round.settle()
                else:
                    self.saves.handled(name, is_renamed=False, since=word.saved.since)
            except OSError as error:
                logger.warning("What was told of %s can't be noted yet: %s", name, error)
            else:
                word.is_noted = True
        self.noted()
        return lost

    def noted(self) -> None:
        """Something that was told is in the round: the store has it besides no longer. On the worker thread."""
        with contextlib.suppress(OSError):  # else it is noted once more
            self._opened.told.noted()
        self.refresh()

    def keep_told(self, words: Sequence[tuple[Told, str]], excluded: Excluding) -> None:
        """Have what was told of files in the store until it is noted. On a thread beside, as the worker is busy."""
        if parts := self._parts:
            try:
                parts.told.keep(words, self._apart(parts.round.store.path, words, excluded))
            except OSError as error:
                logger.warning("What was told of files in %s can't be kept: %s", self.root, error)

    def _apart(self, store: str, words: Sequence[tuple[Told, str]], excluded: Excluding) -> set[str]:
        """Those of the files that were told of whose texts may not be in the store, or that it hasn't."""
        names = [name for _, name in words]
        known: dict[str, Entry] = {}
        with contextlib.suppress(OSError):
            objects = StoreObjects(store, self.root, Git(program(), store, self.root))  # the other git may be busy
            for snapshot in (self.round.state.base, self.round.state.now):
                known |= objects.entries(snapshot, names) if snapshot.is_made else {}
        return excluded(self.root, names) | {name for name in names if name not in known or known[name].why}

    def _note_left(self) -> None:
        """Note what was told of files before the store was opened, by those who were at work then."""
        words, count = self._opened.told.words, 0
        while words and len(words) != count:  # what can't be noted is left for the next time
            count = len(words)
            self.note({word.path: word for word in reversed(words)})  # of each file the oldest
            words = self._opened.told.words

    def close(self, left: Left | None = None) -> None:
        """End the process that runs, and let another editor have the store, with what is left. Doesn't wait."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._git:
            self._git.close()
        self._executor.submit(self._release, left)
        self._executor.shutdown(wait=False)

    def settle_git(self, answered: Sequence[tuple[Seen, str]] = ()) -> None:
        """Ask no longer about scans of `by_git` that are answered, and those of which nothing waits any more."""
        waiting = {row.path for row in self.rows}
        for each in list(self.by_git):
            if each in answered or waiting.isdisjoint(each[0].by_git):
                self.by_git.remove(each)
                self._editor.messenger.settle(each[1])

    def _release(self, left: Left | None) -> None:
        if self._place:
            try:
                self._leave(left, self._place.path)
            except OSError as error:
                logger.warning("What was told of files in %s is lost: %s", self.root, error)
            finally:
                self._place.release()
                self._place = None

    def _leave(self, left: Left | None, store: str) -> None:
        words = left.of(self.root) if left and os.path.isfile(os.path.join(store, places.ROUND)) else []
        kept = self._parts.told if self._parts else KeptWords(store) if words else None
        if kept:
            kept.end(words, self._apart(store, words, left.excluded) if left and words else ())


def _going(row: ChangeRow, found: Hunks) -> frozenset[str]:
    """The keys of the changes that are undone when the turn ends; an empty one stands for all."""
    if row.going is None or not row.going.changes:
        return frozenset([""] if row.going else [])
    places = [located(found.found, each) for each in row.going.changes]
    return frozenset(found.found[place[0]].key for place in places if place)


def named(lines: Sequence[str]) -> str:
    """Some lines, as a question has them."""
    more = f"; and {len(lines) - _NAMED} more" if len(lines) > _NAMED else ""
    return f"{'; '.join(lines[:_NAMED])}{more}"


def _is_of(operation: Operation, window: WindowId, sees: Callable[[str], bool]) -> bool:
    return operation.window in (0, window) and all(map(sees, operation.paths))


def trouble_of(error: OSError, root: str, *, is_nested: bool = False) -> str:
    """A sentence on why what agents write in a folder isn't listed, and what to do about it."""
    name, text = os.path.basename(root) or root, str(error)
    if isinstance(error, GitMissingError):
        return f"What agents write can't be reviewed: {error}. Install it, or set “review” to “off”."
    if any(words in text for words in ("No space left", "Disk quota exceeded")):
        return f"What agents write in {name} isn't listed: the disk of the snapshots is full. Free some space."
    if "Read-only file system" in text or "insufficient permission" in text or isinstance(error, places.PlaceError):
        why = f"the snapshots can't be written ({reason_of(error)})"
        return f"What agents write in {name} isn't listed: {why}. Make their folder writable: {places.stores()}."
    is_there = os.path.isdir(root)
    if not is_there or not os.access(root, os.R_OK | os.X_OK):
        why = "can't be read" if is_there else "is gone"
        way = IS_GONE if is_nested and not is_there else "Bring it back, or remove it: Project → Remove Folder."
        return f"{root} {why}, so nothing of it can be reviewed. {way}"
    if isinstance(error, GitStoppedError):
        return f"What agents write in {name} isn't listed: git could not go on ({text}). It is tried again."
    return f"What agents write in {name} isn't listed: {reason_of(error)}. Begin Review Round starts anew."


def _bodies(
    contents: Mapping[str, tuple[str, Contents | None]], encodings: Mapping[str, Encodings]
) -> dict[str, tuple[str, Body]]:
    found: dict[str, tuple[str, Body]] = {}
    for path, (version, compared) in contents.items():
        found[path] = version, NOTHING
        if compared and compared[2].is_text:
            old, new = (_shown(data, encodings[path]) for data in compared[:2])
            if old is not None and new is not None:
                found[path] = version, body_of(old, new, compared[2].plain)
    return found


def _shown(data: bytes, encodings: Encodings) -> str | None:
    """Some bytes as a view shows them; None if they are no text."""
    text, is_text = decoded(data, encodings)
    return SourceText(text).shown if is_text else None


def _lenient(data: bytes) -> str:
    return _shown(data, Encodings()) or ""
