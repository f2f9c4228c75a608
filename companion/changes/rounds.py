"""The rounds of all windows: when one begins, who is at work, when to look, and what the person does.

Everything here runs on the companion thread and touches no file: that is done by each folder's worker thread.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from ..ids import ChatId, WindowId
from ..review.review import Review
from . import places
from .folder import Folder
from .git import GitMissingError
from .port import ChangeViews, FileChanges, Listing, Work
from .round import Seen
from .store import TooLargeError
from .window import WindowChanges

logger = logging.getLogger(__name__)

LOOK = 2.0
"""Seconds between two looks while an agent is at work, at least."""
SHARE = 20
"""A look that takes a second is followed by as many seconds without one: at most 5 % of a core."""
SETTLED = 6.0
"""Seconds without a change after which a CLI that doesn't say when a turn ends is taken to be done."""


UNASKED = (
    "{agent} has written files without a proposal here. Show Review List has them. To be asked first, switch its "
    "approval mode, or start it with Run {agent}."
)


class Rounds:
    """The rounds of all windows. `stores` is the folder of the stores, None for the user's own."""

    def __init__(
        self,
        editor: ChangeViews,
        work: Work,
        background: Callable[[Coroutine[Any, Any, object]], asyncio.Task[object]],
        stores: str | None = None,
    ) -> None:
        self.editor = editor
        self._work = work
        self._background = background
        self._is_closed = False
        self._stores = stores
        self._windows: dict[WindowId, WindowChanges] = {}
        self._folders: dict[str, Folder] = {}
        self._told: set[str] = set()
        """What was said of a folder, so that it is said once."""
        self._large: dict[str, bool] = {}
        """Whether a large folder may be copied."""
        self._named: dict[str, str] = {}
        """The agents that have named the files they write, by the file's real path."""

    def background(self, work: Coroutine[Any, Any, object]) -> asyncio.Task[object] | None:
        """Do something in the background, unless the companion ends."""
        if self._is_closed:
            work.close()
            return None
        return self._background(work)

    def clis(self, window: WindowId, names: tuple[str, ...]) -> None:
        """The CLIs that are connected to a window."""
        known = self.window(window)
        before, is_new = known.at_work, bool(set(names) - set(known.clis))
        known.clis = names
        if is_new:
            self.background(self._begin(window, before))
        elif len(known.at_work) < len(before):
            self.background(self._leave(window, before))

    async def _leave(self, window: WindowId, before: Sequence[str]) -> None:
        """Somebody is at work no longer: what they have written until now is theirs, and nothing later."""
        await self._look(window, before)
        await self._look(window)

    def turn_began(self, window: WindowId, chat: ChatId, agent: str, turn: str, words: str) -> None:
        """A prompt is on its way to the agent of a chat. `turn` is the key of its turn."""
        known = self.window(window)
        before = known.at_work
        known.turns[chat] = agent
        self.background(self._begin_turn(window, before, agent, turn, words))

    def turn_ended(self, window: WindowId, chat: ChatId, turn: str) -> None:
        """The agent of a chat has finished."""
        known = self.window(window)
        if agent := known.turns.get(chat):
            self.background(self._end_turn(window, chat, agent, turn))

    async def turn_texts(self, window: WindowId, turn: str) -> list[tuple[str, str, str]] | None:
        """What was changed in a turn: path, old and new text of each file; None if no snapshots were taken of it."""
        found: list[tuple[str, str, str]] | None = None
        for folder in list(self.window(window).folders.values()):
            if folder.has_round and (files := await folder.call(folder.texts_of_turn, turn)) is not None:
                found = [*(found or []), *files]
        return found

    def named(self, agent: str, path: str) -> None:
        """An agent says that it writes a file."""
        self._named[os.path.normcase(path)] = agent

    def listing(self, window: WindowId) -> Listing:
        """What waits in a window."""
        return self._windows[window].listing if window in self._windows else Listing()

    def window_closed(self, window: WindowId) -> None:
        """A window closes: its folders are let go, unless another window has them."""
        known = self._windows.pop(window, None)
        if known and known.watching:
            known.watching.cancel()
        for folder in known.folders.values() if known else ():
            self._let_go(folder, window)

    def _let_go(self, folder: Folder, window: WindowId) -> None:
        folder.windows.discard(window)
        if not folder.windows:
            self._folders.pop(folder.root, None)
            folder.close()

    def close(self) -> None:
        """The companion ends. What waits goes on with the next one."""
        self._is_closed = True
        for window in list(self._windows):
            self.window_closed(window)

    def window(self, window: WindowId) -> WindowChanges:
        """What is known of a window."""
        return self._windows.setdefault(window, WindowChanges())

    def begin(self, window: WindowId) -> None:
        """The person begins a round: everything up to now counts as reviewed."""
        self.window(window)
        self.background(self._begin(window, (), anew=True))

    def forget(self, window: WindowId) -> None:
        """Remove all snapshots. Rounds that are open begin anew."""
        self.background(self._forget(window))

    async def _forget(self, window: WindowId) -> None:
        for folder in list(self._folders.values()):
            async with folder.lock:
                await folder.call(folder.forget)
        gone = await asyncio.to_thread(places.shrink, self._stores, everything=True)
        self.editor.mention(f"Snapshots removed: {len(gone) + len(self._folders)}.", window)
        for number in list(self._windows):
            self.publish(number)
            if self.window(number).at_work:
                await self._begin(number, ())

    async def _begin(self, window: WindowId, before: Sequence[str], *, anew: bool = False) -> None:
        """Begin, or go on. `before` are those who were at work until now."""
        known = self._windows.get(window)
        if known is None or self._work.settings_of(window).review == "off":
            return
        async with known.beginning:
            roots = await asyncio.to_thread(_real, self._work.folders_of(window))
            for root in [root for root in known.folders if not _is_in(root, roots)]:
                self._let_go(known.folders.pop(root), window)
            for root in roots:
                await self._begin_root(window, root, before, anew=anew)
            if anew:
                known.done.clear()
            self.publish(window)
        self._watch(window)

    async def _begin_root(self, window: WindowId, root: str, before: Sequence[str], *, anew: bool) -> None:
        if not await self._may_begin(window, root) or window not in self._windows:  # it was closed meanwhile
            return
        folder = self._folders.get(root)
        if folder is None:
            folder = self._folders[root] = Folder(root, self.editor, self._excludes, self._stores)
        folder.windows.add(window)
        self._windows[window].folders[root] = folder
        if folder.has_round and not anew and folder.waits:
            return
        name = os.path.basename(root) or root
        try:
            if said := await folder.call(folder.open):
                self.editor.say(said, window)
            during = await self._first_look(window, folder, before, anew=anew)
        except GitMissingError as error:
            self._say_once(f"What agents write can't be reviewed: {error}.", window)
            return
        except TooLargeError:
            return  # the person was asked
        except OSError as error:
            logger.warning("No snapshot of %s: %s", root, error)
            self._say_once(f"What agents write in {name} can't be reviewed: {error}.", window)
            return
        if during:
            names = ", ".join(during[:3]) + (", …" if len(during) > 3 else "")
            why = f"Written while the first snapshot of {name} was made, and so not listed: {names}."
            self.editor.say(why, window)
        for nested in folder.round.state.nested:
            await self._begin_root(window, os.path.join(root, *nested.split("/")), before, anew=anew)

    async def _may_begin(self, window: WindowId, root: str) -> bool:
        if why := await asyncio.to_thread(places.refusal, root):
            self._say_once(why, window)
            return False
        return window in self._windows  # it may have closed in the meantime

    async def _first_look(self, window: WindowId, folder: Folder, before: Sequence[str], *, anew: bool) -> list[str]:
        may_be_large = self._large.get(folder.root, False)
        async with folder.lock:
            try:
                return await folder.call(folder.begin, before, anew=anew, may_be_large=may_be_large)
            except TooLargeError as error:
                if folder.root in self._large:
                    raise
                question = f"{folder.root} has {error}. Take snapshots of it, to review what agents write there?"
                self._large[folder.root] = await self.editor.confirm(window, question, "Take Snapshots")
                if not self._large[folder.root]:
                    raise
                return await folder.call(folder.begin, before, anew=anew, may_be_large=True)

    async def _begin_turn(self, window: WindowId, before: Sequence[str], agent: str, turn: str, words: str) -> None:
        await self._look(window, before)
        await self._begin(window, before)
        known = self.window(window)
        known.turn_files.clear()
        for folder in list(known.folders.values()):
            if folder.has_round:
                await folder.call(folder.checkpoints.add, agent, words, turn)

    async def _end_turn(self, window: WindowId, chat: ChatId, agent: str, turn: str) -> None:
        await self._look(window)
        known = self.window(window)
        known.turns.pop(chat, None)
        for folder in list(known.folders.values()):
            if folder.has_round:
                await folder.call(folder.checkpoints.end, turn)
        self._announce(window, agent)

    def _announce(self, window: WindowId, agent: str) -> None:
        known = self.window(window)
        waiting = {(row.root, row.path) for row in known.listing.rows}
        files = len({each for each in waiting if os.path.join(*each) in known.turn_files})
        known.turn_files.clear()
        if files:
            self.editor.turn_changed(window, agent, files)
            if agent in known.clis:
                self._mention_once(UNASKED.format(agent=agent), window)

    def _excludes(self, path: str) -> bool:
        for window, known in self._windows.items():
            told = self._work.settings_of(window).told
            if told.leaves_out(path, tuple(known.folders)):
                return True
        return False

    def _say_once(self, why: str, window: WindowId) -> None:
        if why not in self._told:
            self._told.add(why)
            self.editor.say(why, window)

    def _mention_once(self, what: str, window: WindowId) -> None:
        if what not in self._told:
            self._told.add(what)
            self.editor.mention(what, window)

    def look(self, window: WindowId) -> None:
        """Something may have been written: a window got the focus, a file was loaded again."""
        if any(folder.has_round for folder in self.window(window).folders.values()):
            self.background(self._look(window))

    def _watch(self, window: WindowId) -> None:
        known = self.window(window)
        if known.watching is None or known.watching.done():
            known.watching = self.background(self._keep_looking(window))

    async def _keep_looking(self, window: WindowId) -> None:
        while (known := self._windows.get(window)) and known.at_work:
            await asyncio.sleep(max([LOOK, *(SHARE * folder.cost for folder in known.folders.values())]))
            await self._look(window)
            is_quiet = known.turn_files and time.monotonic() - known.changed_at > SETTLED
            if is_quiet and known.clis and not known.turns:
                self._announce(window, known.clis[-1])

    async def _look(self, window: WindowId, at_work: Sequence[str] | None = None) -> None:
        known = self.window(window)
        for folder in list(known.folders.values()):
            if folder.has_round:
                await self._look_at(window, folder, at_work)
        self.publish(window)

    async def _look_at(self, window: WindowId, folder: Folder, at_work: Sequence[str] | None) -> None:
        named = {
            _relative(path, folder.root): agent for path, agent in self._named.items() if _is_in(path, [folder.root])
        }
        known = self.window(window)
        by_quiet = known.clis[-1] if known.clis and not known.turns else ""
        try:
            async with folder.lock:
                names = self.at_work(folder) if at_work is None else at_work
                seen = await folder.call(folder.look, names, named, by_quiet)
                if seen.changed:
                    await folder.call(folder.refresh)
        except OSError as error:
            if not await asyncio.to_thread(os.path.isdir, folder.root):
                self._say_once(f"{folder.root} is gone, so nothing of it can be reviewed.", window)
            else:
                logger.warning("Can't look at %s: %s", folder.root, error)
            return
        if seen.changed:
            known.changed_at = time.monotonic()
            known.turn_files |= {os.path.join(folder.root, path) for path in seen.changed}
        if seen.moved_by and seen.changed:
            await self._ask_of_git(window, folder, seen)

    async def _ask_of_git(self, window: WindowId, folder: Folder, seen: Seen) -> None:
        files = len(seen.changed)
        question = f"Git has changed {files} file{'s' * (files != 1)} ({seen.moved_by}). Review them?"
        if await self.editor.confirm(window, question, "Review Them") or seen.before is None:
            return
        async with folder.lock:
            await folder.call(folder.round.belongs_to_the_person, seen.changed, seen.before)
            await folder.call(folder.refresh)

    def at_work(self, folder: Folder) -> tuple[str, ...]:
        """Who may be writing in a folder."""
        names = [name for window in folder.windows for name in self.window(window).at_work]
        return tuple(dict.fromkeys(names))

    def publish(self, window: WindowId) -> None:
        """Show what waits in a window, if that has changed."""
        known = self.window(window)
        rows = tuple(row for folder in known.folders.values() for row in folder.rows)
        waiting = {(row.root, row.path) for row in rows}
        if rows and not known.listing.rows:
            known.done.clear()  # what was reviewed before belongs to another time
        done = tuple(each for each in known.done if (each[0].root, each[0].path) not in waiting)
        listing = Listing(rows, done)
        if listing != known.listing:
            known.listing = listing
            self.editor.show_changes(window, listing)
            self._work.changes_changed()

    def saved(self, path: str, text: bytes | None = None) -> None:
        """The person has saved a file; `text` is what they saved, if that is known."""
        self.background(self._saved(path, text))

    async def _saved(self, path: str, text: bytes | None) -> None:
        folder, name = await self._place_of(path)
        if folder:
            async with folder.lock:
                await folder.call(folder.round.saved, name, self.at_work(folder), text)
                await folder.call(folder.refresh)
            self._publish_all(folder)

    def written(self, review: Review, text: str) -> None:
        """A proposal that the person has accepted is on the disk: it counts as reviewed."""
        before = review.disk.source.source if review.disk.exists else None
        self.background(self._reviewed(review.file_path, before, text))

    async def _reviewed(self, path: str, before: str | None, text: str) -> None:
        folder, name = await self._place_of(path)
        if folder:
            async with folder.lock:
                await folder.call(folder.round.reviewed, name, before, text)
                await folder.call(folder.refresh)
            self._publish_all(folder)

    def _publish_all(self, folder: Folder) -> None:
        for window in list(folder.windows):
            self.publish(window)

    async def _place_of(self, path: str) -> tuple[Folder | None, str]:
        """The folder with a baseline that a file is in, and the file's path in it."""
        real = os.path.normcase(await asyncio.to_thread(os.path.realpath, path))
        folder = self._folder_of(real)
        if folder is None or not folder.has_round:
            return None, ""
        return folder, _relative(real, folder.root)

    def folder(self, root: str) -> Folder | None:
        """The folder with a baseline at this root."""
        found = self._folders.get(root)
        return found if found and found.has_round else None

    def _folder_of(self, path: str) -> Folder | None:
        found = [folder for root, folder in self._folders.items() if _is_in(path, [root])]
        return max(found, key=lambda folder: len(folder.root), default=None)

    async def file(self, root: str, path: str) -> FileChanges | None:
        """The changes of a file that waits, for its view."""
        folder = self.folder(root)
        return await folder.file(path) if folder else None

    async def committed(self, root: str, path: str, *, in_index: bool) -> str | None:
        """The text of a file in the person's own repository, for the editor's gutter."""
        folder = self.folder(root)
        return await folder.committed(path, in_index=in_index) if folder else None


def _is_in(path: str, roots: Sequence[str]) -> bool:
    return any(path == root or path.startswith(root.rstrip(os.sep) + os.sep) for root in roots)


def _relative(path: str, root: str) -> str:
    return path[len(root.rstrip(os.sep)) + 1 :].replace(os.sep, "/")


def _real(folders: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(os.path.normcase(os.path.realpath(folder)) for folder in folders))
