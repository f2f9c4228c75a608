"""One folder with its round, as the companion thread sees it: every call runs on the folder's own worker thread."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from ..ids import WindowId
from ..review.disk import Encodings, decoded
from ..review.source_text import SourceText
from . import places
from .checkpoints import Checkpoints
from .entries import LINK, TreeSnapshot
from .files import WriteRefusedError
from .git import Git, program
from .port import ChangeViews, FileChanges
from .recent import Below
from .round import Round, Seen
from .rows import ChangeRow
from .store import DamagedError, Store
from .undo import RoundUndo, Write

logger = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

QUIET = 60.0
"""Seconds without a change after which the next one begins another checkpoint, if no prompt says when."""


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
        self._round: Round | None = None
        self._undo: RoundUndo | None = None
        self._checkpoints: Checkpoints | None = None
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
    def round(self) -> Round:
        """The round. Raises WriteRefusedError if there is none."""
        if self._round is None:
            raise WriteRefusedError(f"there is no snapshot of {self.root}")
        return self._round

    @property
    def undo(self) -> RoundUndo:
        """Undo and redo in the round."""
        if self._undo is None:
            raise WriteRefusedError(f"there is no snapshot of {self.root}")
        return self._undo

    @property
    def checkpoints(self) -> Checkpoints:
        """The checkpoints of the round."""
        if self._checkpoints is None:
            raise WriteRefusedError(f"there is no snapshot of {self.root}")
        return self._checkpoints

    def full_path(self, path: str) -> str:
        """The absolute path of a file of the folder."""
        return os.path.join(self.root, *path.split("/"))

    @property
    def has_round(self) -> bool:
        """Whether there is a baseline."""
        return self._round is not None and self._round.is_open

    @property
    def waits(self) -> bool:
        """Whether an agent has changed something that nobody has reviewed, by the last look."""
        return any(row.agents for row in self.rows)

    def open(self) -> str:
        """Take the folder's store. Returns a sentence if it was damaged. On the worker thread. Raises OSError."""
        if self._round is not None:
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
        self._round = self._undo = self._checkpoints = None
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
        self._round, self._undo = made, RoundUndo(made)
        self._checkpoints = Checkpoints(made, self._undo)

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
        if below := await self.call(self.round.written_below, path, before):
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
        return None if files is None else [(row.full_path, _lenient(old), _lenient(new)) for row, old, new in files]

    def paths_since_turn(self, turn: str) -> list[str] | None:
        """The absolute paths that going back to before a turn would write; None if it has no checkpoint."""
        point = self.checkpoints.begin_of(turn)
        paths = self.checkpoints.paths_since(point) if point else None
        return None if paths is None else [self.full_path(path) for path in paths]

    async def apply(
        self, what: str, writes: Sequence[Write], at_work: Sequence[str], notes: Mapping[str, Sequence[str]]
    ) -> tuple[list[Write], list[str]]:
        """Write what was planned: in the editor if a file is open there. Returns what was written and what was not.

        The second list has a sentence for each file that was left alone. `notes` has the lines for the agents.
        """
        done, refused = await self._write(writes)
        failed = await self.call(self.undo.finish, what, done, at_work, notes) if done else []
        await self.call(self.refresh)
        return done, refused + [f"{path} is not as it should be" for path in failed]

    async def redo(self, at_work: Sequence[str]) -> tuple[bool, list[str]]:
        """Take the last undo back, or the last one before it of which something can be.

        Returns whether anything was, and a sentence for each file or operation that was left alone.
        """
        left: list[str] = []
        tried: list[float] = []
        while True:
            try:
                operation, writes = await self.call(self.undo.plan_redo, left, tried)
            except WriteRefusedError as error:
                return False, list(dict.fromkeys(left or [str(error)]))
            done, refused = await self._write(writes)
            left = list(dict.fromkeys([*left, *refused]))
            paths = None if len(done) == len(writes) else [write.path for write in done]
            if paths != []:
                is_back = bool(done or operation.base)  # of a checkpoint perhaps the baseline alone
                await self.call(self.undo.finish_redo, operation, at_work, paths)
                await self.call(self.refresh)
                if is_back:
                    return True, left
            tried.append(operation.at)

    async def restore(self, number: int, at_work: Sequence[str]) -> tuple[list[str], list[str]]:
        """Go back to a checkpoint. Returns the files that were written, and a sentence for each that was left alone."""
        writes, base, left = await self.call(self.checkpoints.plan, number)
        done, refused = await self._write(writes)
        paths = {write.path for write in done}
        lost = {write.path for write in writes} - paths
        kept = {path: entry for path, entry in base.items() if path not in lost}
        failed = await self.call(self.checkpoints.finish_restore, done, kept, at_work)
        await self.call(self.refresh)
        written = sorted(paths - set(failed))
        return written, [*left, *refused, *(f"{path} is not as it should be" for path in failed)]

    async def _write(self, writes: Sequence[Write]) -> tuple[list[Write], list[str]]:
        """What was written, and a sentence for each file that was not."""
        opened = await self._editor.open_files()
        unsaved = {write.path for write in writes if opened.get(self._full(write))}
        shown = [write for write in writes if self._full(write) in opened and write.data is not None]
        shown = [write for write in shown if write.mode != LINK and write.path not in unsaved]
        closed = [write for write in writes if write.path not in unsaved and write not in shown]
        # All at once: on a busy machine each way to the other thread and back takes longer than the write.
        done, refused = await self.call(self.undo.write_all, closed) if closed else ([], [])
        if closed and shown:  # that took a while
            opened = await self._editor.open_files()
            unsaved |= {write.path for write in shown if opened.get(self._full(write))}
        for write in shown:
            if write.path in unsaved:
                continue
            try:
                await self._apply_in_editor(self._full(write), write)
            except OSError as error:
                refused.append(str(error))
            else:
                done.append(write)
        refused += [f"{write.path} has unsaved edits: save it, then undo" for write in writes if write.path in unsaved]
        return done, refused

    def _full(self, write: Write) -> str:
        return os.path.normcase(self.full_path(write.path))

    async def _apply_in_editor(self, full: str, write: Write) -> None:
        await self.call(self.undo.check, write)
        text = _shown(write.data or b"", await self._editor.encodings(full))
        saved = None if text is None else await self._editor.replace_buffer(full, text)
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
