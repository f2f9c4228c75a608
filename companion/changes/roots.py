"""The windows and the folders with rounds, and what is shown of them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from ..ids import WindowId
from .folder import Folder
from .port import ChangeViews, Listing, Work
from .window import WindowChanges

HEARD = 10.0
"""Seconds that a decision waits for what the editor has told before: the disk that a file is on may hang."""


class Roots:
    """Knows the folders of all windows, and who is at work in them. `stores` is None for the user's own."""

    def __init__(
        self,
        editor: ChangeViews,
        work: Work,
        background: Callable[[Coroutine[Any, Any, object]], asyncio.Task[object]],
        stores: str | None,
    ) -> None:
        self.editor = editor
        self.work = work
        self.stores = stores
        self.windows: dict[WindowId, WindowChanges] = {}
        self.folders: dict[str, Folder] = {}
        self._background = background
        self._is_closed = False
        self._told: set[str] = set()
        """What was said, so that it is said once."""
        self._hearing: dict[str, asyncio.Task[object]] = {}
        """What the editor has told of each file last, while that is being noted."""

    def background(self, work: Coroutine[Any, Any, object]) -> asyncio.Task[object] | None:
        """Do something in the background, unless the companion ends."""
        if self._is_closed:
            work.close()
            return None
        return self._background(work)

    def window(self, window: WindowId) -> WindowChanges:
        """What is known of a window."""
        return self.windows.setdefault(window, WindowChanges())

    def opened(self, window: WindowId) -> list[Folder]:
        """The folders of a window that have a baseline."""
        known = self.windows.get(window)
        return [folder for folder in known.folders.values() if folder.has_round] if known else []

    def join(self, window: WindowId, root: str) -> Folder:
        """The folder at a root, for one more window."""
        folder = self.folders.get(root)
        if folder is None:
            folder = self.folders[root] = Folder(root, self.editor, self._excludes, self.stores)
        folder.windows.add(window)
        self.window(window).folders[root] = folder
        return folder

    def let_go(self, folder: Folder, window: WindowId) -> None:
        """A window has a folder no longer."""
        folder.windows.discard(window)
        if not folder.windows:
            self.folders.pop(folder.root, None)
            folder.close()

    def close_window(self, window: WindowId) -> None:
        """A window closes: its folders are let go, unless another window has them."""
        known = self.windows.pop(window, None)
        if known and known.watching:
            known.watching.cancel()
        for folder in known.folders.values() if known else ():
            self.let_go(folder, window)

    def close(self) -> None:
        """The companion ends. What waits goes on with the next one."""
        self._is_closed = True
        for window in list(self.windows):
            self.close_window(window)

    def at_work(self, folder: Folder) -> tuple[str, ...]:
        """Who may be writing in a folder."""
        names = [name for window in folder.windows for name in self.window(window).at_work]
        return tuple(dict.fromkeys(names))

    def folder(self, root: str) -> Folder | None:
        """The folder with a baseline at this root."""
        found = self.folders.get(root)
        return found if found and found.has_round else None

    async def place_of(self, path: str) -> tuple[Folder | None, str]:
        """The folder with a baseline that a file is in, and the file's path in it."""
        real = os.path.normcase(await asyncio.to_thread(os.path.realpath, path))
        found = [folder for root, folder in self.folders.items() if is_in(real, [root])]
        folder = max(found, key=lambda folder: len(folder.root), default=None)
        if folder is None or not folder.has_round:
            return None, ""
        return folder, relative(real, folder.root)

    def hear(self, path: str, note: Callable[[Folder, str], Coroutine[Any, Any, object]]) -> None:
        """The editor has told something of a file. `note` is called after what was told of it before.

        It gets the folder with a baseline that the file is in, if there is one, and the file's path in it.
        """
        if task := self.background(self._hear(path, note, self._hearing.get(path))):
            self._hearing[path] = task
            task.add_done_callback(lambda _: self._hearing.pop(path) if self._hearing.get(path) is task else None)

    async def _hear(
        self, path: str, note: Callable[[Folder, str], Coroutine[Any, Any, object]], before: asyncio.Task[object] | None
    ) -> None:
        if before:
            await asyncio.wait({before})
        folder, name = await self.place_of(path)
        if folder:
            await note(folder, name)

    async def heard(self) -> None:
        """Wait until what the editor has told so far is noted: a decision comes after what was saved before it."""
        if self._hearing:
            _, late = await asyncio.wait(set(self._hearing.values()), timeout=HEARD)
            self._hearing = {path: task for path, task in self._hearing.items() if task not in late}

    def publish_all(self, folder: Folder) -> None:
        """Show what waits in each window that has a folder."""
        for window in list(folder.windows):
            self.publish(window)

    def publish(self, window: WindowId) -> None:
        """Show what waits in a window, if that has changed."""
        known = self.windows.get(window)
        if known is None:  # it has closed
            return
        rows = tuple(row for folder in known.folders.values() for row in folder.rows)
        waiting = {(row.root, row.path) for row in rows}
        if rows and not known.listing.rows:
            known.done.clear()  # what was reviewed before belongs to another time
        done = tuple(each for each in known.done if (each[0].root, each[0].path) not in waiting)
        listing = Listing(rows, done)
        if listing != known.listing:
            known.listing = listing
            self.editor.show_changes(window, listing)
            self.work.changes_changed()

    def say_once(self, why: str, window: WindowId) -> None:
        """Tell the person something that needs an action, but not twice."""
        if why not in self._told:
            self._told.add(why)
            self.editor.say(why, window)

    def mention_once(self, what: str, window: WindowId) -> None:
        """Tell the person something, but not twice."""
        if what not in self._told:
            self._told.add(what)
            self.editor.mention(what, window)

    def _excludes(self, path: str) -> bool:
        for window, known in self.windows.items():
            told = self.work.settings_of(window).told
            if told.leaves_out(path, tuple(known.folders)):
                return True
        return False


def is_in(path: str, roots: Sequence[str]) -> bool:
    """Whether a path is one of some folders, or in it."""
    return any(path == root or path.startswith(root.rstrip(os.sep) + os.sep) for root in roots)


def relative(path: str, root: str) -> str:
    """A path below a folder, with slashes."""
    return path[len(root.rstrip(os.sep)) + 1 :].replace(os.sep, "/")
