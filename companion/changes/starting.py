"""How a round begins, or goes on."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from contextlib import asynccontextmanager

from ..editor import WindowId
from ..platforms.files import reason_of
from ..platforms.paths import real_path
from ..snapshots.project import repository
from ..snapshots.store import TooLargeError
from . import places
from .folder import Folder
from .places import absolute, is_in
from .roots import Roots, WindowChanges, one_after_the_other

logger = logging.getLogger(__name__)

LARGE = (
    "What agents write in {name} isn't listed: it has {size}. “Qwen: Begin Review Round” takes snapshots all the same."
)
STAYS = "What waits in {source} isn't listed while {target} is a folder of the window: {why}."

RESUMED = 10.0
"""Seconds after a start in which the turns are known that a reload has left running."""


class RoundStarts:
    """Opens the folders of the windows, and begins the rounds in them. Runs on the companion thread.

    `watch` is called with each window of a folder that has a round by then.
    """

    def __init__(self, roots: Roots, watch: Callable[[WindowId], object]) -> None:
        self._roots = roots
        self._watch = watch
        self._large: dict[str, str] = {}
        """Why nothing is listed in each large folder; empty if the person has begun a round there all the same."""

    async def begin(self, window: WindowId, *, anew: bool = False) -> None:
        """Have a round in each folder, with `anew` another one."""
        async with self._arranged(window) as known:
            if known is None:
                return
            done: set[str] = set()
            while roots := self._roots_of(known, done):  # another window may change them meanwhile
                done.update(roots)
                await one_after_the_other(self._have(window, root, anew=anew) for root in roots)
            if anew:
                known.done.clear()
                await self._forget_nested(known)
        for folder in list(known.folders.values()):
            self._roots.publish_all(folder)
        self._roots.publish(window)
        self._go_on(known)

    async def _forget_nested(self, known: WindowChanges) -> None:
        """A round that was begun anew has what is no repository of its own any longer, or is gone."""
        outer = [root for root in self._roots_of(known) if self._roots.folder(root)]
        nested = {path for folder in list(known.folders.values()) for path in self._nested(folder)}
        for folder in list(known.folders.values()):
            if folder.root not in {*outer, *nested} and is_in(folder.root, outer):
                async with folder.lock:
                    if folder.windows:  # nobody has let it go meanwhile
                        await folder.call(folder.forget)
                        self._roots.release(folder)

    async def open(self, window: WindowId) -> None:
        """Take up what waits in the folders of a window, without beginning a round where there is none."""
        async with self._arranged(window) as known:
            if known:
                known.is_opening = True
                try:
                    await one_after_the_other(self._have(window, root, begins=False) for root in self._roots_of(known))
                finally:
                    known.is_opening = False
                    self._roots.publish(window)
                self._go_on(known)

    @asynccontextmanager
    async def _arranged(self, window: WindowId) -> AsyncGenerator[WindowChanges | None]:
        """Have a window whose folders are to be opened, or begun in; None if nothing is reviewed there."""
        if (found := self._roots.windows.get(window)) is None:
            yield None
            return
        async with found.beginning:
            try:
                yield await self._arrange(window)
            finally:  # what begins later is none of theirs
                found.left.clear()

    def _roots_of(self, known: WindowChanges, leaves_out: Collection[str] = ()) -> list[str]:
        """The roots of a window that are in no other one."""
        return [root for root in self._roots.outermost() if root in known.folders and root not in leaves_out]

    @asynccontextmanager
    async def _held(self, root: str, outer: Folder | None) -> AsyncGenerator[Folder | None]:
        """Have a root, or a repository in an `outer` one, with its lock; None if it is no root any longer."""
        while self._roots.folders.get(outer.root) is outer if outer else root in self._roots.outermost():
            folder = self._roots.join(root)
            folder.is_nested = folder.is_nested or outer is not None
            async with folder.lock:
                if self._roots.folders.get(root) is folder:
                    yield folder
                    return
        yield None

    def _go_on(self, known: WindowChanges) -> None:
        """What was to be undone when a turn ends is undone if that has ended with the editor, or in a reload."""
        if any(row.going for folder in known.folders.values() for row in folder.rows):
            asyncio.get_running_loop().call_later(RESUMED, self._roots.turn_over)

    async def _have(
        self, window: WindowId, root: str, outer: Folder | None = None, *, begins: bool = True, anew: bool = False
    ) -> None:
        """Go on with the rounds in a root and the repositories in it, and begin those that aren't there.

        If it `begins` none, only what waits is taken up.
        """
        async with self._held(root, outer) as folder:
            if folder is None or window not in self._roots.windows:  # it was closed meanwhile
                return
            had_round = folder.has_round
            goes_on = had_round and not anew and (folder.waits or not begins)
            is_there = goes_on or await self._have_one(window, folder, begins=begins, anew=anew)
            if folder.has_round:  # also if it can't be scanned now: that is tried again
                for each in folder.windows:
                    self._watch(each)
            if not is_there:
                return
            nested = self._nested(folder)
            self._roots.publish_all(folder)
        for path in nested:
            await self._have(window, path, folder, begins=begins, anew=anew)
        if begins or had_round:
            return
        async with self._held(root, outer) as folder:
            at_work = folder and any(self._roots.window(each).at_work for each in folder.windows)
            if folder and not folder.waits and not at_work:
                self._roots.release(folder)

    def _nested(self, folder: Folder) -> list[str]:
        """The repositories in a root, which are joined: what is told of their files waits until they are opened."""
        found = [absolute(path, folder.root) for path in folder.round.state.nested] if folder.has_round else []
        for path in found:
            self._roots.join(path).is_nested = True
        return found

    async def _arrange(self, window: WindowId) -> WindowChanges | None:
        """Have the one root for each tree of folders; a root that comes or goes takes what waits along.

        Returns what is known of the window; None if nothing is reviewed there.
        """
        known, given = self._roots.windows.get(window), self._roots.work.folders_of(window)
        is_off = self._roots.work.settings_of(window).review == "off"
        folders = [] if is_off else await asyncio.to_thread(_real, given)
        if known is None or window not in self._roots.windows:
            return None
        refused = {path: why for path in folders if (why := await asyncio.to_thread(places.refusal, path))}
        known.refused = tuple(refused.values())
        for why in refused.values():
            self._roots.say_once(why, window)
        known.given, known.own = given, tuple(path for path in folders if path not in refused)
        async with self._roots.arranging:
            await self._change_roots(self._roots.outermost())
        return None if is_off else known

    async def _change_roots(self, roots: Sequence[str]) -> None:
        before = set(self._roots.folders)
        for folder in list(self._roots.folders.values()):
            outer = [root for root in roots if is_in(folder.root, [root])]
            if folder.root in outer:
                continue
            others = [*outer, *(root for root in roots if is_in(root, [folder.root]))]
            if not others:  # it hands nothing over, so that nobody waits for its disk, which may hang
                self._roots.let_go(folder)
                continue
            folder.is_nested = folder.is_nested or await asyncio.to_thread(repository, folder.root) is not None
            if outer and folder.is_nested:
                continue
            async with folder.lock:  # until it is let go: what is decided later is decided in the others
                for root in others:
                    await self._hand_over(folder, self._roots.join(root))
                self._roots.release(folder)
        for folder in list(self._roots.folders.values()):
            for window in [window for window in folder.windows if not self._roots.has_part(folder, window)]:
                folder.windows.discard(window)
                self._roots.window(window).folders.pop(folder.root, None)
                self._roots.publish(window)
        for root in roots:
            folder = self._roots.join(root)
            self._nested(folder)
            if root not in before:
                await self._find_left(folder)

    async def _find_left(self, folder: Folder) -> None:
        """What waited in another root of the tree when the editor ended waits in this one."""
        for root in await asyncio.to_thread(places.related, folder.root, self._roots.stores):
            if not folder.windows:
                return
            if root in self._roots.folders:  # it was a repository, still has a round of its own, and holds its store
                continue
            source = Folder(root, self._roots.editor, self._roots, self._roots.stores)
            try:
                await self._open(min(folder.windows), source)
                await self._hand_over(source, folder)
            except OSError as error:
                logger.warning("What waits in %s can't be taken along: %s", root, error)
            finally:
                source.close()

    async def _hand_over(self, source: Folder, target: Folder) -> None:
        """Have what waits in one root wait in another one, which is in it or has it."""
        if not source.has_round or not target.windows:
            return
        window = min(target.windows)
        try:
            moved = await source.call(source.handed_over, target.root)
            if moved is None:
                return
            async with target.lock:
                await self._open(window, target)
                if source.root in self._nested(target):  # it has a round of its own, though git's folder may be gone
                    return
                during = await target.call(target.take_over, moved)
            self._say_unlisted(window, target, during)
            if is_in(source.root, [target.root]):
                await source.call(source.forget)
        except (OSError, TooLargeError) as error:
            logger.warning("What waits in %s stays there: %s", source.root, error)
            why = f"that has {error}" if isinstance(error, TooLargeError) else reason_of(error)
            said = STAYS.format(source=source.root, target=target.root, why=why)
            self._roots.say_once(said, window)

    async def _have_one(self, window: WindowId, folder: Folder, *, begins: bool, anew: bool) -> bool:
        """Go on with the round of a root, or begin it. Returns whether there is one."""
        root, name = folder.root, os.path.basename(folder.root) or folder.root
        has_round = folder.has_round or await asyncio.to_thread(places.has_round, root, self._roots.stores)
        if not begins and not has_round:
            self._roots.release(folder)
            return False
        if anew and root in self._large:
            self._large[root] = ""
        if not has_round and (trouble := self._large.get(root)):
            folder.trouble = trouble
            self._roots.say_trouble(folder, window)
            return False
        try:
            await self._open(window, folder)
            during: list[str] = []
            if folder.has_round and not anew:
                await folder.call(folder.resume)
            elif begins:
                during = await folder.call(folder.begin, may_be_large=self._large.get(root) == "")
        except TooLargeError as error:
            self._large[root] = folder.trouble = LARGE.format(name=name, size=error)
            self._roots.say_trouble(folder, window)
            return False
        except OSError as error:
            logger.warning("No snapshot of %s: %s", folder.root, error)
            await folder.call(folder.failed, error)
            self._roots.say_trouble(folder, window)
            return False
        self._roots.works_again(folder)
        self._say_unlisted(window, folder, during)
        return True

    def _say_unlisted(self, window: WindowId, folder: Folder, during: Sequence[str]) -> None:
        """Files were written while a baseline was made."""
        if during:
            name = os.path.basename(folder.root) or folder.root
            names = ", ".join(during[:3]) + (", …" if len(during) > 3 else "")
            why = f"Written while the first snapshot of {name} was made, and so not listed: {names}."
            self._roots.editor.messenger.say(why, window)

    async def _open(self, window: WindowId, folder: Folder) -> None:
        """Take the folder's store, and finish what was interrupted there. The lock is held."""
        said = await folder.call(folder.open)
        interrupted = await folder.go_on()
        for sentence in filter(None, (said, interrupted)):
            self._roots.editor.messenger.say(sentence, window)


def _real(folders: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(map(real_path, folders)))
