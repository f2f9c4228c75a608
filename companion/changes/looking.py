"""When the folders are looked at, and what is said of what was found."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Mapping, Sequence

from ..ids import WindowId
from .folder import Folder, FolderClosedError
from .roots import Roots, is_in, relative
from .round import Seen

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


class Looks:
    """Looks at the folders of the windows. Runs on the companion thread."""

    def __init__(self, roots: Roots) -> None:
        self._roots = roots
        self._named: dict[str, str] = {}
        """The agents that have named the files they write, by the file's real path."""

    def named(self, agent: str, path: str) -> None:
        """An agent says that it writes a file, in the turn that runs."""
        self._named[os.path.normcase(path)] = agent

    def turn_over(self, agent: str) -> None:
        """A turn of an agent is over: what it has named is its own no longer."""
        at_work = {name for known in self._roots.windows.values() for name in known.turns.values()}
        if agent not in at_work:
            self._named = {path: name for path, name in self._named.items() if name != agent}

    def watch(self, window: WindowId) -> None:
        """Look again and again, for as long as somebody is at work."""
        known = self._roots.window(window)
        if known.watching is None or known.watching.done():
            known.watching = self._roots.background(self._keep_looking(window))

    async def _keep_looking(self, window: WindowId) -> None:
        while (known := self._roots.windows.get(window)) and known.at_work:
            await asyncio.sleep(max([LOOK, *(SHARE * folder.cost for folder in known.folders.values())]))
            try:
                await self.look(window)
            except Exception as error:  # what one look stumbles over must not end all that follow
                logger.warning("A look at the folders of a window failed: %s", error, exc_info=True)
            is_quiet = known.turn_files and time.monotonic() - known.changed_at > SETTLED
            if is_quiet and known.clis and not known.turns:
                self.announce(window, known.clis[-1])

    async def look(self, window: WindowId, at_work: Sequence[str] | None = None) -> None:
        """Look at all folders of a window. `at_work` are those who may have written, None for those of now."""
        for folder in self._roots.opened(window):
            await self._look_at(window, folder, at_work)
            self._roots.publish_all(folder)
        self._roots.publish(window)

    async def _look_at(self, window: WindowId, folder: Folder, at_work: Sequence[str] | None) -> None:
        known = self._roots.window(window)
        by_quiet = known.clis[-1] if known.clis and not known.turns else ""
        named = self._named_in(folder)
        try:
            async with folder.lock:
                names = self._roots.at_work(folder) if at_work is None else at_work
                seen = await folder.call(folder.look, names, named, by_quiet)
                if seen.changed:
                    await folder.call(folder.refresh)
            if seen.changed:
                self._note_changed(window, folder, seen.changed)
                await self._tell_below(window, folder, seen)
            if seen.by_git:
                await self._ask_of_git(window, folder, seen)
        except OSError as error:
            if not await asyncio.to_thread(os.path.isdir, folder.root):
                self._roots.say_once(f"{folder.root} is gone, so nothing of it can be reviewed.", window)
            else:
                logger.warning("Can't look at %s: %s", folder.root, error)
        except FolderClosedError:
            return  # it is a folder of the window no longer; the others still are

    def _note_changed(self, window: WindowId, folder: Folder, changed: Sequence[str]) -> None:
        """A look of one window has found what the agents of all windows with the folder have written."""
        for number in {window, *folder.windows}:
            known = self._roots.windows.get(number)
            if known and (number == window or known.at_work):
                known.changed_at = time.monotonic()
                known.turn_files |= {os.path.join(folder.root, path) for path in changed}

    async def _tell_below(self, window: WindowId, folder: Folder, seen: Seen) -> None:
        opened = await self._roots.editor.open_files()
        for path in seen.changed if seen.before and any(opened.values()) else ():
            if seen.before and opened.get(os.path.normcase(folder.full_path(path))):
                await folder.tell_below(window, path, seen.before)

    def _named_in(self, folder: Folder) -> Mapping[str, str]:
        named = {path: agent for path, agent in self._named.items() if is_in(path, [folder.root])}
        return {relative(path, folder.root): agent for path, agent in named.items()}

    async def _ask_of_git(self, window: WindowId, folder: Folder, seen: Seen) -> None:
        files = len(seen.by_git)
        question = f"Git has changed {files} file{'s' * (files != 1)} ({seen.moved_by})."
        if await self._roots.editor.confirm(window, question, "Review Them", "They Are Mine") or seen.before is None:
            return
        async with folder.lock:
            await folder.call(folder.saves.belongs_to_the_person, seen.by_git, seen.before)
            await folder.call(folder.refresh)

    def announce(self, window: WindowId, agent: str) -> None:
        """Say once which files a turn has changed, if any of them waits."""
        known = self._roots.window(window)
        waiting = {(row.root, row.path) for row in known.listing.rows}
        files = len({each for each in waiting if os.path.join(*each) in known.turn_files})
        known.turn_files.clear()
        if files:
            self._roots.editor.turn_changed(window, agent, files)
            if agent in known.clis and agent not in known.unasking:
                known.unasking.add(agent)
                self._roots.work.changes_changed()
                self._roots.mention_once(UNASKED.format(agent=agent), window)
