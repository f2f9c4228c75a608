"""The windows and the folders with rounds, and what is shown of them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ..editor import WindowId
from ..exclusion import Sharing
from ..platforms.paths import real_path
from ..review.reviews import Reviews
from .change_screen import ChangeScreen, Listing, Work
from .folder import Folder, FolderClosedError, Working
from .places import absolute, is_in, is_inside, place_of, relative
from .round import Seen
from .rows import ChangeRow
from .saves import Excluding, Left, Told

logger = logging.getLogger(__name__)

T = TypeVar("T")
_Note = Callable[[Folder, str], Coroutine[Any, Any, object]]

NOT_YET = "What agents have written is not known yet: the first scan has not ended."
SOON = 0.25
"""Seconds in which what the editor tells is noted, unless the worker is busy: to keep it takes as long."""
LONG = 1.0
"""Seconds for which one folder holds up the next ones: its disk may hang."""
NOTED = 10.0
"""Seconds that a decision waits for what the editor has told before: the disk that a file is on may hang."""


async def one_after_the_other(work: Iterable[Coroutine[Any, Any, object]]) -> None:
    """Do something in each folder, once it is done in the one before or takes long there.

    A folder that was let go meanwhile ends nothing in the others.
    """
    tasks: list[asyncio.Future[object]] = []
    try:
        for each in work:
            tasks.append(asyncio.ensure_future(each))
            await asyncio.wait(tasks[-1:], timeout=LONG)
        await asyncio.gather(*tasks, return_exceptions=True)
        for task in tasks:
            if not task.cancelled():
                task.result()
    finally:
        for task in tasks:
            task.cancel()


@dataclass(slots=True)
class _FileEvent:
    """Something that has happened to a file in the editor."""

    find: Callable[[str], str]
    """Finds its real path."""
    note: _Note
    told: Told | None
    """What is kept of it for whoever opens the store next, if it can't be noted before the folder is let go."""
    real: str = ""
    """The real path, once it is found."""


class WindowChanges:
    """What is known of one window."""

    def __init__(self) -> None:
        self.clis: tuple[str, ...] = ()
        self.unasking: set[str] = set()
        """Those of them that change files without asking."""
        self.asking: set[str] = set()
        """Those that have proposed a change: what they write without a question, the person has allowed them."""
        self.turns: dict[tuple[int, str], str] = {}
        """The agents of the turns in which something may be written, by the chat and the turn's key."""
        self.came: dict[str, int] = {}
        """Since when each of those may have written, in nanoseconds of Unix time, until a scan has seen all of it."""
        self.left: dict[str, int] = {}
        """The same of those who have gone while rounds begin here, for the folders that nobody has scanned yet."""
        self.given: tuple[str, ...] = ()
        """Its folders, as far as it is known which of them may be reviewed."""
        self.own: tuple[str, ...] = ()
        """The real paths of those that may be."""
        self.refused: tuple[str, ...] = ()
        """Why some of its folders are not reviewed, a sentence for each."""
        self.folders: dict[str, Folder] = {}
        """The roots that have a part of those, or are below them, by their paths."""
        self.has_since = False
        """Whether its folders are compared with a commit, too."""
        self.done: list[tuple[ChangeRow, str]] = []
        self.listing = Listing()
        self.watching: asyncio.Future[object] | None = None
        self.beginning = asyncio.Lock()
        """Held while its folders are opened, or rounds begin there."""
        self.is_opening = False
        """Whether what waits in its folders is being taken up."""
        self.deciding = set[asyncio.Future[object]]()
        """The decisions that are under way."""
        self.taking_back = asyncio.Lock()
        self.changed_at = 0.0
        self.turn_files: set[str] = set()
        """The files that have changed since the last turn was announced."""

    def sees(self, path: str) -> bool:
        """Whether a file, by its real path, is in a folder of the window."""
        return is_in(path, self.own)

    def shown(self, row: ChangeRow, sharing: Sharing) -> ChangeRow | None:
        """A row as the window lists it: without what its setting excludes; None for a file of another one's folders."""
        old = absolute(row.renamed_from, row.root) if row.renamed_from else row.full_path
        if not self.sees(row.full_path) or not self.sees(old):
            return None
        if row.kind == "excluded" or not any(sharing.leaves_out(path, self.own) for path in (row.full_path, old)):
            return row
        return replace(row, kind="excluded", note="changed, excluded", inserted=0, deleted=0, changes=1)

    @property
    def at_work(self) -> tuple[str, ...]:
        """The CLIs that are connected and the agents whose turns run."""
        return tuple(self.came)

    @property
    def gone(self) -> set[str]:
        """Those who are connected no longer, and in no turn, of whom a scan is still to see what they have written."""
        return self.came.keys() - {*self.clis, *self.turns.values()}

    def scanned(self, gone: AbstractSet[str]) -> None:
        """What these have written, who had gone before a scan, is known."""
        left = self.gone & gone
        if self.beginning.locked():
            self.left |= {name: since for name, since in self.came.items() if name in left}
        self.came = {name: since for name, since in self.came.items() if name not in left}


class Roots:
    """Knows the folders of all windows, and who is at work in them. `stores` is None for the user's own."""

    def __init__(
        self,
        editor: ChangeScreen,
        work: Work,
        reviews: Reviews,
        background: Callable[[Coroutine[Any, Any, object]], asyncio.Future[object]],
        stores: str | None,
    ) -> None:
        self.editor = editor
        self.work = work
        self.reviews = reviews
        self.stores = stores
        self.windows: dict[WindowId, WindowChanges] = {}
        self.folders: dict[str, Folder] = {}
        self.arranging = asyncio.Lock()
        """Held while roots come and go, and what waits goes from one to another."""
        self._background = background
        self._is_closed = False
        self.takes: Callable[[Folder, Seen], object]
        """Takes on what a scan of a folder has found."""
        self.turn_over: Callable[[], object] = lambda: None
        """Is called when a turn has ended and was scanned."""
        self.named: dict[str, str] = {}
        """The agents that have named the files they write, by the file's real path."""
        self._troubles: dict[str, set[str]] = {}
        """What was said of each folder that could not be scanned."""
        self._said: set[str] = set()
        """What was said, so that it is said once."""
        self._noting: dict[str, asyncio.Future[object]] = {}
        """What notes what the editor has told of a file, until all of that is noted."""
        self._late: set[asyncio.Future[object]] = set()
        """Those of them for which no decision waits any longer."""
        self._told: dict[str, list[_FileEvent]] = {}
        """What it has told of each file and is not noted yet, the oldest first: if it can't be, after the next scan."""
        self._keeping: asyncio.Future[object] | None = None
        """What has that in the stores meanwhile."""

    def background(self, work: Coroutine[Any, Any, object]) -> asyncio.Future[object] | None:
        """Do something in the background, unless the companion ends."""
        if self._is_closed:
            work.close()
            return None
        return self._background(work)

    def window(self, window: WindowId) -> WindowChanges:
        """What is known of a window: of one that has closed that is nothing, and nothing of it is kept."""
        return self.windows.get(window) or WindowChanges()

    def entered(self, window: WindowId) -> WindowChanges:
        """What is known of a window that may be new."""
        return self.windows.setdefault(window, WindowChanges())

    def opened(self, window: WindowId) -> list[Folder]:
        """The folders of a window that have a baseline."""
        return [folder for folder in self.window(window).folders.values() if folder.has_round]

    def join(self, root: str) -> Folder:
        """The folder at a root, for all windows that have a part of it, or a folder that it is in."""
        folder = self.folders.get(root)
        if folder is None:
            folder = self.folders[root] = Folder(root, self.editor, self, self.stores)
        for window, known in self.windows.items():
            if self.has_part(folder, window):
                folder.windows.add(window)
                known.folders[root] = folder
        return folder

    def has_part(self, folder: Folder, window: WindowId) -> bool:
        """Whether a window has a part of a folder, or one that it is in."""
        own = self.window(window).own
        return is_in(folder.root, own) or any(is_in(each, [folder.root]) for each in own)

    def release(self, folder: Folder, left: Left | None = None) -> None:
        """No window has a folder any longer. What is `left` to be noted there waits in its store."""
        for window in folder.windows:
            self.window(window).folders.pop(folder.root, None)
        folder.windows.clear()
        self.folders.pop(folder.root, None)
        folder.settle_git(folder.by_git)
        folder.close(left)

    def let_go(self, folder: Folder) -> None:
        """The same of one that no other folder takes over: what was told of its files and is not noted is left."""
        windows = list(folder.windows)
        self.release(folder, self._left())
        for window in windows:
            self.publish(window)

    def _left(self) -> Left:
        told = [event.told for events in self._told.values() for event in events if event.told]
        return Left(told, list(self.folders), self._excluding())

    def outermost(self) -> list[str]:
        """The folders of all windows that are in no other one of them: each is the one root of its tree."""
        own = sorted({path for known in self.windows.values() for path in known.own})
        # One that is gone may be spelled in two ways: the one that is known already is meant.
        spelled = {os.path.normcase(path): path for path in sorted(own, key=self.folders.__contains__)}
        return sorted(path for path in spelled.values() if not any(is_inside(path, other) for other in own))

    def close_window(self, window: WindowId) -> None:
        """A window closes: its folders are let go, unless another window has them."""
        left = self._left()
        known = self.windows.pop(window, None)
        if known and known.watching:
            known.watching.cancel()
        for folder in list(known.folders.values()) if known else ():
            folder.windows.discard(window)
            if not folder.windows:
                self.release(folder, left)
            elif known:
                folder.gone = known.came | folder.gone

    def close(self) -> None:
        """The companion ends. What waits goes on with the next one."""
        self._is_closed = True
        for window in list(self.windows):
            self.close_window(window)

    def is_in_turn(self, folder: Folder) -> bool:
        """Whether the turn of an agent runs in a folder."""
        return any(self.window(window).turns for window in folder.windows)

    def sees(self, window: WindowId) -> Callable[[str], bool]:
        """Says of an absolute path whether a window may decide about it: it has the file and doesn't exclude it."""
        own, sharing = self.window(window).own, self.work.settings_of(window).sharing

        def sees(path: str) -> bool:
            return is_in(path, own) and not sharing.leaves_out(path, own)

        return sees

    def working(self, folder: Folder) -> Working:
        """Who may be writing in a folder."""
        found = [(path, name) for path, name in self.named.items() if is_in(path, [folder.root])]
        named = {os.path.normcase(relative(path, folder.root)): name for path, name in found}
        known = [self.window(window) for window in folder.windows]
        came = [item for each in known for item in each.came.items()]
        came += [item for each in known for item in each.left.items() if not folder.has_scanned]
        came += folder.gone.items()
        since = {name: min(at for other, at in came if other == name) for name, _ in came}
        quiet = [each.clis[-1] for each in known if each.clis and not each.turns]
        return Working(since, named, quiet[0] if quiet else "")

    def take(self, folder: Folder, seen: Seen) -> None:
        """Take on what a scan of a folder has found, whoever has asked for it."""
        if not self._is_closed and folder.windows:
            self.takes(folder, seen)

    def folder(self, root: str) -> Folder | None:
        """The folder with a baseline at this root."""
        found = self.folders.get(root)
        return found if found and found.has_round else None

    def place_of(self, path: str, root: str = "") -> Folder | None:
        """The folder with a baseline that a file is in, by its real path: the one at this root if that has it."""
        if given := self.folder(root):
            return given
        folder = self._innermost(path)
        return folder if folder and folder.has_round else None

    def _innermost(self, path: str) -> Folder | None:
        found = [folder for root, folder in self.folders.items() if is_inside(path, root)]
        return max(found, key=lambda folder: len(folder.root), default=None)

    @asynccontextmanager
    async def holding(self, find: Callable[[], Folder | None]) -> AsyncGenerator[Folder | None]:
        """Have a folder with its lock, to change something there; None if there is no such one.

        Roots that are being arranged are waited for, and a folder that was let go meanwhile is looked for again:
        whatever was decided is decided on what there is.
        """
        while True:
            async with self.arranging:
                folder = find()
            if folder is None:
                yield None
                return
            async with folder.lock:
                if self.folders.get(folder.root) is folder and folder.has_round:
                    yield folder
                    return

    async def in_folder(self, find: Callable[[], Folder | None], do: Callable[[Folder], Awaitable[T]]) -> list[T]:
        """Do something in a folder after what the editor has told so far, and show what is left; empty without one."""
        await self.events_noted()
        async with self.holding(find) as folder:
            if folder is None:
                return []
            results = [await do(folder)]
        self.publish_all(folder)
        return results

    async def in_each(
        self,
        window: WindowId,
        do: Callable[[Folder], Awaitable[T]],
        is_meant: Callable[[Folder], object] = lambda _: True,
    ) -> list[T]:
        """The same in each folder of a window that has a baseline, one after the other."""
        results: list[T] = []
        done: set[str] = set()

        def find() -> Folder | None:
            left = (folder for folder in self.opened(window) if folder.root not in done and is_meant(folder))
            return next(left, None)

        async def do_once(folder: Folder) -> T:
            done.add(folder.root)
            return await do(folder)

        while found := await self.in_folder(find, do_once):
            results += found
        return results

    def note_event(self, path: str, note: _Note, told: Told | None = None, *, is_link: bool = False) -> None:
        """The editor has told something of a file. `note` is called after what was told of it before.

        It gets the folder with a baseline that the file is in, with its lock, and the file's path in it. It is not
        called if there is none. With `is_link`, a link is meant itself and not the file to which it leads. What is
        `told` is not lost if the folder is let go meanwhile.
        """
        find = place_of if is_link else real_path
        self._told.setdefault(path, []).append(_FileEvent(find, note, told))
        self._listen(path)
        if told and (self._keeping is None or self._keeping.done()):
            self._keeping = self.background(self._keep_told())

    def _listen(self, path: str) -> None:
        before = self._noting.get(path)
        if (before is None or before.done()) and (task := self.background(self._note_events(path))):
            self._noting[path] = task

    async def _note_events(self, path: str) -> None:
        while events := self._told.get(path):
            is_over = True
            try:
                is_over = await self._note_event(path, events[0])
            except FolderClosedError:
                is_over = events[0].told is None or events[0].told.is_noted
                raise
            finally:  # whatever else it has raised, nobody tries it again
                if is_over:
                    del events[0]
            if not is_over:
                return
        del self._told[path], self._noting[path]

    async def _note_event(self, path: str, event: _FileEvent) -> bool:
        """Note what was told of a file. Returns False if it can't be noted yet."""
        event.real = real = await asyncio.to_thread(event.find, path)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(NOTED):
                for known in self._beginning(real):
                    await known.beginning.acquire()
                    known.beginning.release()
        async with self.holding(lambda: self.place_of(real)) as folder:
            if self._beginning(real):
                return False
            if folder is None or (event.told and event.told.is_noted):
                return True
            try:
                await event.note(folder, relative(real, folder.root))
            except OSError as error:
                logger.warning("What the editor has told of %s can't be noted yet: %s", path, error)
                return False
        self.publish_all(folder)
        return True

    def saves_in(self, folder: Folder) -> dict[str, Told]:
        """What was told of saves in a folder and is not noted yet, by the files' paths in it: of each the oldest."""
        words = self._words_in(folder, [events[:1] for events in self._told.values()])
        return {name: told for told, name in words if told.is_save}

    def _words_in(self, folder: Folder, events: Iterable[Sequence[_FileEvent]]) -> list[tuple[Told, str]]:
        """What is told by events of files in a folder and is not noted yet, each with the file's path in it."""
        words = [(each.told, each.real or found[0].real) for found in events for each in found]
        known = [(told, real) for told, real in words if told and not told.is_noted and real]
        return [(told, relative(real, folder.root)) for told, real in known if self.place_of(real) is folder]

    async def _keep_told(self) -> None:
        """Have what can't be noted soon in the stores: a kill gives nobody the time for that.

        None waits for the one of another folder, whose disk may hang.
        """
        keeping: dict[str, asyncio.Future[object] | None] = {}
        while any(
            each.told and not (each.told.is_noted or each.told.is_kept)
            for events in self._told.values()
            for each in events
        ):
            await asyncio.sleep(SOON)
            for folder in list(self.folders.values()):
                words, before = self._words_in(folder, self._told.values()), keeping.get(folder.root)
                if words and (before is None or before.done()):
                    kept = asyncio.to_thread(folder.keep_told, words, self._excluding())
                    keeping[folder.root] = self.background(kept)

    def _beginning(self, path: str) -> list[WindowChanges]:
        """The windows for which a folder that may have a file is being opened, or its first round begins."""
        folder = self._innermost(path)
        if folder and folder.has_scanned:
            return []
        return [
            known
            for window, known in self.windows.items()
            if known.beginning.locked() and (known.sees(path) or known.given != self.work.folders_of(window))
        ]

    async def events_noted(self) -> None:
        """Wait until what the editor has told so far is noted: a decision comes after what was saved before it."""
        self._listen_again()
        if waited := {*self._noting.values()} - self._late:
            _, late = await asyncio.wait(waited, timeout=NOTED)
            self._late = (self._late | late) & {*self._noting.values()}

    def _listen_again(self) -> None:
        for path in self._told:
            self._listen(path)

    def publish_all(self, folder: Folder) -> None:
        """Show what waits in each window that has a folder, and say what its store had no room for."""
        folder.settle_git()
        dropped, name = folder.take_dropped(), os.path.basename(folder.root) or folder.root
        for window in list(folder.windows):
            if dropped:
                points = f"{dropped} of the oldest checkpoint{'s' * (dropped != 1)}"
                self.editor.messenger.mention(f"The snapshots of {name} became too large: {points} went.", window)
            self.publish(window)

    def publish(self, window: WindowId) -> None:
        """Show what waits in a window, if that has changed."""
        known = self.windows.get(window)
        if known is None:  # it has closed
            return
        sharing = self.work.settings_of(window).sharing
        all_rows = (row for folder in known.folders.values() for row in folder.rows)
        rows = tuple(row for each in all_rows if (row := known.shown(each, sharing)))
        waiting = {(row.root, row.path) for row in rows}
        if rows and not known.listing.rows:
            known.done.clear()  # what was reviewed before belongs to another time
        done = tuple(each for each in known.done if (each[0].root, each[0].path) not in waiting)
        by_git = {
            (root, path) for root, folder in known.folders.items() for seen, _ in folder.by_git for path in seen.by_git
        }
        has_checkpoints = any(folder.round.state.checkpoints for folder in self.opened(window))
        sees = self.sees(window)
        can_take_back = self.reviews.last_answered(window) is not None or any(
            folder.decided(window, folder.below(sees)) for folder in self.opened(window)
        )
        scans = [each.round.state.now for each in self.opened(window)] if known.has_since else []
        disk = tuple(scan.tree if scan.is_made else "" for scan in scans)  # to make one would block
        unsure, mine, rejected = self._unsure(window), len(by_git & waiting), bool(self.reviews.rejected)
        listing = Listing(rows, done, unsure, mine, has_checkpoints, can_take_back, rejected, disk)
        if listing != known.listing:
            known.listing = listing
            self.editor.written.show_changes(window, listing)
            self.work.changes_changed()

    def say_trouble(self, folder: Folder, window: WindowId) -> None:
        """A folder can't be scanned: say why, but not twice."""
        if folder.trouble:
            self._troubles.setdefault(folder.root, set()).add(folder.trouble)
            self.say_once(folder.trouble, window)
        self.publish_all(folder)

    def works_again(self, folder: Folder) -> None:
        """A scan has ended: what was said of the folder is over."""
        for sentence in self._troubles.pop(folder.root, ()):
            self._said.discard(sentence)
            self.editor.messenger.settle(sentence)
        self.publish_all(folder)
        self._listen_again()
        if folder.left_to_copy:
            self.background(self._copy(folder))

    async def _copy(self, folder: Folder) -> None:
        before = folder.copies_stopped
        await folder.copy()
        if folder.copies_stopped and folder.windows:
            self.say_once(folder.copies_stopped, min(folder.windows))
        elif before:
            self._said.discard(before)
            self.editor.messenger.settle(before)

    def troubles(self, window: WindowId) -> tuple[str, ...]:
        """What is wrong with the review of a window, each with what to do about it."""
        known = self.window(window)
        found = [why for folder in known.folders.values() for why in (folder.trouble, folder.copies_stopped) if why]
        return tuple(dict.fromkeys([*known.refused, *found]))

    def copying(self, window: WindowId) -> tuple[str, ...]:
        """What is still to be copied of the folders of a window, a line for each of them."""
        left = {folder.root: folder.left_to_copy for folder in self.window(window).folders.values()}
        return tuple(f"{files:,} file{'s' * (files != 1)} of {root}" for root, files in left.items() if files)

    def _unsure(self, window: WindowId) -> str:
        """Why nobody can say that nothing waits; empty if somebody can."""
        known = self.window(window)
        if trouble := next((each.trouble for each in known.folders.values() if each.trouble), ""):
            return trouble
        folders = known.folders.values()
        is_new = any(each.has_round and not each.has_scanned for each in folders) or (
            bool(known.at_work or known.is_opening) and not (folders and all(each.has_scanned for each in folders))
        )
        return NOT_YET if is_new and self.work.settings_of(window).review != "off" else ""

    def say_once(self, what: str, window: WindowId, *, needs_action: bool = True) -> None:
        """Tell the person something, but not twice."""
        if what not in self._said:
            self._said.add(what)
            (self.editor.messenger.say if needs_action else self.editor.messenger.mention)(what, window)

    def excluded(self, root: str, paths: Sequence[str]) -> set[str]:
        """Those of some files of a root that no window may read that has them in a folder. On any thread."""
        return self._excluding()(root, paths)

    def _excluding(self) -> Excluding:
        """Says the same with the windows of now."""
        windows = [(known.own, self.work.settings_of(window).sharing) for window, known in list(self.windows.items())]

        def excludes(path: str) -> bool:
            having = [(own, sharing) for own, sharing in windows if is_in(path, own)] or windows
            return bool(having) and all(sharing.leaves_out(path, own) for own, sharing in having)

        def excluded(root: str, paths: Sequence[str]) -> set[str]:
            suspects = {path for _, sharing in windows for path in sharing.suspects(root, paths)}
            return {path for path in suspects if excludes(os.path.join(root, path))}

        return excluded
