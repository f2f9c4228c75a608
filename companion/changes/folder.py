"""One folder with its round, as the companion thread sees it: every call runs on the folder's own worker thread."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

from ..ids import WindowId
from ..review.disk import Encodings, decoded
from ..review.source_text import SourceText
from . import places
from .checkpoints import Checkpoints
from .entries import LINK, TreeSnapshot
from .files import WriteRefusedError
from .git import Git, program
from .port import ChangeViews, FileChanges, UnsavedTextError
from .recent import Below
from .round import Round, Seen
from .rows import ChangeRow
from .saves import Saves
from .store import DamagedError, Store
from .undo import RoundUndo, UnseenError, Write

logger = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

QUIET = 60.0
"""Seconds without a change after which the next one begins another checkpoint, if no prompt says when."""


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
    """Whether there was nothing to take back."""


class _RoundParts:
    """A round and what works on it."""

    def __init__(self, round_: Round) -> None:
        self.round = round_
        self.saves = Saves(round_)
        self.undo = RoundUndo(round_)
        self.checkpoints = Checkpoints(round_, self.undo)


class FolderClosedError(asyncio.CancelledError):
    """The folder was let go: whatever was to be done there ends."""


class Folder:
    """A root: a folder of a window, or a repository below it. `excludes` says which absolute paths are never read."""

    def __init__(self, root: str, editor: ChangeViews, excludes: Callable[[str], bool], stores: str | None) -> None:
        self.root = root
        self.windows: set[WindowId] = set()
        self.rows: list[ChangeRow] = []
        self.cost = 0.0
        """Seconds that the last look took."""
        self.lock = asyncio.Lock()
        """Held by whoever changes something, from the plan to the look afterwards."""
        self._editor = editor
        self._excludes = excludes
        self._stores = stores
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="qwen-companion-changes")
        self._place: places.Place | None = None
        self._git: Git | None = None
        self._parts: _RoundParts | None = None
        self._changed_at = 0.0
        self._resumed: tuple[str, ...] = ()
        """Who was at work when the instance before this one looked last."""
        self._is_closed = False

    async def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run something on the folder's worker thread. Raises FolderClosedError if it was let go."""
        if self._is_closed:
            raise FolderClosedError
        try:
            return await asyncio.get_running_loop().run_in_executor(self._executor, lambda: function(*args, **kwargs))
        except OSError:
            if self._is_closed:  # git was ended
                raise FolderClosedError from None
            raise

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
        return os.path.join(self.root, *path.split("/"))

    @property
    def has_round(self) -> bool:
        """Whether there is a baseline."""
        return self._parts is not None and self._parts.round.is_open

    @property
    def waits(self) -> bool:
        """Whether an agent has changed something that nobody has reviewed, by the last look."""
        return any(row.agents for row in self.rows)

    def open(self) -> str:
        """Take the folder's store. Returns a sentence if it was damaged. On the worker thread. Raises OSError."""
        if self._parts is not None:
            return ""
        git = program([self.root])
        self._place = self._place or places.hold(self.root, self._stores)
        said = ""
        try:
            self._make(git)
        except DamagedError as error:
            logger.warning("The snapshots of %s are damaged: %s", self.root, error)
            places.empty(self._place.path)
            self._make(git)
            name = os.path.basename(self.root)
            said = (
                f"The snapshots of {name} were damaged, so new ones are made: what was written before counts as "
                "reviewed."
            )
        return said

    def forget(self) -> None:
        """Remove everything from the store, on the worker thread."""
        self._parts = None
        self.rows = []
        if self._place:
            places.empty(self._place.path)

    def _make(self, program_path: str) -> None:
        if self._place is None:
            raise WriteRefusedError("the store is closed")
        self._git = Git(program_path, self._place.path, self.root)
        store = Store(self._place.path, self.root, self._git, self._leaves_out)
        made = Round(store, places.ignore_files)
        made.open()
        self._resumed = tuple(made.state.working)
        self._parts = _RoundParts(made)

    def _leaves_out(self, path: str) -> bool:
        return self._excludes(os.path.join(self.root, path))

    def begin(self, at_work: Sequence[str], *, anew: bool, may_be_large: bool) -> list[str]:
        """Begin a round, or go on with one that has unreviewed changes of agents. On the worker thread.

        `anew` takes everything as reviewed. Returns the files that were written while the baseline was made.
        """
        if self.round.is_open and not anew:
            self.look(at_work or self._resumed, {})
            self._resumed = ()
            self.refresh()
            if self.waits or not self.rows:
                return []
        during = self.round.begin(may_be_large=may_be_large)
        self.refresh()
        return during

    def look(self, at_work: Sequence[str], named: Mapping[str, str], by_quiet: str = "") -> Seen:
        """Look at the folder, on the worker thread.

        `by_quiet` is a CLI that doesn't say when a turn begins: what it writes after a quiet minute begins one.
        """
        started = time.perf_counter()
        before = self.round.state
        disk, base, saves = before.now, before.base, len(before.saves)
        seen = self.round.look(at_work, named)
        if seen.changed:
            if by_quiet and time.monotonic() - self._changed_at > QUIET:
                self.checkpoints.add(by_quiet, "", before=(disk, base, saves))
            self._changed_at = time.monotonic()
        self.cost = time.perf_counter() - started
        return seen

    def refresh(self) -> None:
        """Make the rows again, on the worker thread."""
        self.rows = self.round.rows() if self.has_round else []

    async def tell_below(self, window: WindowId, path: str, before: TreeSnapshot) -> None:
        """Tell the editor that an agent has written a file of which a buffer has unsaved edits."""
        if below := await self.call(self.saves.written_below, path, before):
            self._editor.written_below(window, self.full_path(path), below.agents, below.before, below.after)

    async def tell_overwritten(self, window: WindowId, path: str, below: Below) -> None:
        """Tell the editor that a save has overwritten what an agent had written."""
        full = self.full_path(path)
        if (text := _shown(below.after, await self._editor.encodings(full))) is not None:
            self._editor.overwritten(window, full, below.agents, text)

    async def committed(self, path: str, *, in_index: bool) -> str | None:
        """The text of a file in the person's own repository, as a view shows it; None if there is none."""
        encodings = await self._editor.encodings(self.full_path(path))
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
        paths = self.checkpoints.paths_since(point) if point else None
        return None if paths is None else [self.full_path(path) for path in paths]

    async def apply(
        self, writes: Sequence[Write], at_work: Sequence[str], notes: Mapping[str, Sequence[str]]
    ) -> WriteOutcome:
        """Write what was planned: in the editor if a file is open there. `notes` has the lines for the agents."""
        done, left = await self._write(writes)
        if not done:
            return WriteOutcome([], left)
        return await self._noted(done, left, self.undo.finish, done, at_work, notes)

    async def redo(self, at_work: Sequence[str]) -> WriteOutcome:
        """Take the last undo back, or the last one before it of which something can be."""
        left: list[str] = []
        tried: list[float] = []
        while True:
            try:
                operation, writes = await self.call(self.undo.plan_redo, left, tried)
            except WriteRefusedError as error:
                return WriteOutcome([], left or [str(error)], is_nothing=True)
            done, refused = await self._write(writes)
            left += refused
            if not done and writes:
                tried.append(operation.at)
                continue
            outcome = await self._noted(done, left, self.undo.finish_redo, operation, done, at_work)
            if done or operation.base:  # of a checkpoint perhaps the baseline alone
                return outcome
            tried.append(operation.at)

    async def restore(self, number: int, at_work: Sequence[str]) -> WriteOutcome:
        """Go back to a checkpoint."""
        writes, base, left = await self.call(self.checkpoints.plan, number)
        done, refused = await self._write(writes)
        lost = {write.path for write in writes} - {write.path for write in done}
        kept = {path: entry for path, entry in base.items() if path not in lost}
        return await self._noted(done, [*left, *refused], self.checkpoints.finish_restore, done, kept, at_work)

    async def _noted(
        self,
        done: Sequence[Write],
        left: Sequence[str],
        finish: Callable[P, Sequence[str]],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> WriteOutcome:
        """Have `finish` look at what was written and note it. It returns the paths that are not as they should be."""
        unseen = ""
        try:
            failed = await self.call(finish, *args, **kwargs)
            await self.call(self.refresh)
        except UnseenError as error:
            files = f"{len(done)} file{'s' * (len(done) != 1)}"
            failed, unseen = error.failed, f"what was written in {files} could not be looked at: {error}"
        written = sorted({write.path for write in done} - {*failed})
        return WriteOutcome(written, [*left, *(f"{path} is not as it should be" for path in failed)], unseen)

    async def _write(self, writes: Sequence[Write]) -> tuple[list[Write], list[str]]:
        """What was written, and a sentence for each file that was not."""
        opened = await self._editor.open_files()
        unsaved = {write.path for write in writes if opened.get(self._full(write))}
        shown = [write for write in writes if self._full(write) in opened and write.data is not None]
        shown = [write for write in shown if write.mode != LINK and write.path not in unsaved]
        closed = [write for write in writes if write.path not in unsaved and write not in shown]
        # All at once: on a busy machine each way to the other thread and back takes longer than the write.
        done, refused = await self.call(self.undo.write_all, closed) if closed else ([], [])
        for write in shown:
            try:
                await self._apply_in_editor(self._full(write), write)
            except UnsavedTextError:  # it was typed since
                unsaved.add(write.path)
            except OSError as error:
                refused.append(str(error))
            else:
                done.append(write)
        refused += [f"{write.path} has unsaved edits: save it first" for write in writes if write.path in unsaved]
        return done, refused

    def _full(self, write: Write) -> str:
        return os.path.normcase(self.full_path(write.path))

    async def _apply_in_editor(self, full: str, write: Write) -> None:
        await self.call(self.undo.check, write)
        text = _shown(write.data or b"", await self._editor.encodings(full))
        if text is None and (await self._editor.open_files()).get(full):
            raise UnsavedTextError(f"{write.path} has unsaved text")
        saved = None if text is None else await self._editor.replace_buffer(full, text, keeps_unsaved=True)
        if saved is None:
            await self.call(self.undo.write, write)
            return
        # A format or a trim on save, or mixed line endings: the editor reloads the file.
        await self.call(self.undo.force, write, saved)

    async def file(self, path: str) -> FileChanges | None:
        """The changes of a file for its view; None if nothing of it waits, or they can't be shown in the text."""
        full = self.full_path(path)
        encodings = await self._editor.encodings(full)
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
        changes = tuple(
            (each.change.old_start, each.change.old_end, each.change.new_start, each.change.new_end, each.key)
            for each in found.found
        )
        new = frozenset(self.round.new_changes(path, after, found)) if row.is_new else frozenset[str]()
        return FileChanges(full, baseline, text, changes, row.agents, row.after, new)

    def close(self) -> None:
        """End the process that runs, and let another editor have the store. Doesn't wait."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._git:
            self._git.close()
        self._executor.submit(self._release)
        self._executor.shutdown(wait=False)

    def _release(self) -> None:
        if self._place:
            self._place.release()
            self._place = None


def _shown(data: bytes, encodings: Encodings) -> str | None:
    """Some bytes as a view shows them; None if they are no text."""
    text, is_text = decoded(data, encodings)
    return SourceText(text).shown if is_text else None


def _lenient(data: bytes) -> str:
    return _shown(data, Encodings()) or ""
