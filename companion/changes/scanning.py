"""When the folders are scanned, and what is said of what was found."""

from __future__ import annotations

import asyncio
import logging
import os
import time

from ..clis import families
from ..editor import WindowId
from ..review.changes import counted
from .folder import Folder, FolderClosedError
from .roots import Roots
from .round import Seen

logger = logging.getLogger(__name__)

PAUSE = 2.0
"""Seconds between two scans while an agent is at work, at least."""
LATE = 30.0
"""Seconds without a scan that ended, while an agent is at work, after which that is said."""
SHARE = 75
"""A scan that takes a second is followed by as many seconds without one: git uses two cores, so at most 5 % of one."""
COMMANDS = frozenset({"checkout", "cherry-pick", "merge", "pull", "rebase", "reset", "revert", "stash"})
"""What git calls a change of the files as the person does."""
SETTLED = 6.0
"""Seconds without a change after which a CLI that doesn't say when a turn ends is taken to be done."""
THEY_ARE_MINE = "Qwen: They Are Mine"
"""The command that answers."""
UNASKED = "To be asked first, {how}: {agent} writes files without asking."


class Scans:
    """Scans the folders of the windows. Runs on the companion thread."""

    def __init__(self, roots: Roots) -> None:
        self._roots = roots
        roots.takes = self._take

    def named(self, agent: str, path: str) -> None:
        """An agent says that it writes a file, in the turn that runs."""
        self._roots.named[os.path.normcase(path)] = agent

    def turn_over(self, agent: str) -> None:
        """A turn of an agent is over: what it has named is its own no longer."""
        at_work = {name for known in self._roots.windows.values() for name in known.turns.values()}
        if agent not in at_work:
            named = self._roots.named
            self._roots.named = {path: name for path, name in named.items() if name != agent}

    def watch(self, window: WindowId) -> None:
        """Scan again and again, for as long as somebody is at work."""
        known = self._roots.window(window)
        if known.watching is None or known.watching.done():
            known.watching = self._roots.background(self._keep_scanning(window))

    async def _keep_scanning(self, window: WindowId) -> None:
        while (known := self._roots.windows.get(window)) and known.at_work:
            await asyncio.sleep(max([PAUSE, *(SHARE * folder.cost for folder in known.folders.values())]))
            late = asyncio.create_task(self._say_late(window))
            try:
                await self.scan(window)
            except Exception as error:  # what one scan stumbles over must not end all that follow
                logger.warning("A scan of the folders of a window failed: %s", error, exc_info=True)
            finally:
                late.cancel()
            is_quiet = known.turn_files and time.monotonic() - known.changed_at > SETTLED
            if is_quiet and known.clis and not known.turns:
                self.announce(window, known.clis[-1])

    async def _say_late(self, window: WindowId) -> None:
        """No scan has ended for a while, though somebody is at work, and none waits for an answer of the person."""
        while True:
            await asyncio.sleep(LATE)
            folders = self._roots.opened(window)
            if any(folder.is_asking for folder in folders):
                continue
            for folder in folders:
                if time.monotonic() - folder.scanned_at > LATE and not folder.trouble:
                    name = os.path.basename(folder.root)
                    folder.trouble = (
                        f"What agents write in {name} has not been listed for {LATE:.0f} seconds: its disk, or git, "
                        "doesn't answer. What is written until then is listed as soon as it does."
                    )
                    self._roots.say_trouble(folder, window)

    async def arrived(self, window: WindowId) -> None:
        """Somebody has come to work in a window: the rounds that are open there go on, whatever else is begun."""
        if self._roots.opened(window):
            self.watch(window)
            await self.scan(window, goes_on=True)

    async def scan(self, window: WindowId, *, goes_on: bool = False) -> None:
        """Scan all folders of a window that have a baseline: see `Folder.resume` for a round that `goes_on`."""
        for folder in self._roots.opened(window):
            await self._scan(window, folder, goes_on=goes_on)
            self._roots.publish_all(folder)
        self._roots.publish(window)

    async def _scan(self, window: WindowId, folder: Folder, *, goes_on: bool) -> None:
        try:
            async with folder.lock:
                await folder.call(folder.resume if goes_on else folder.scan)
            self._roots.works_again(folder)
        except OSError as error:
            logger.warning("Can't scan %s: %s", folder.root, error)
            self._roots.say_trouble(folder, window)
        except FolderClosedError:
            return  # it is a folder of the window no longer; the others still are

    def _take(self, folder: Folder, seen: Seen) -> None:
        """Take on what a scan has found: whoever has asked for it, nothing of it is lost."""
        for window in folder.windows:
            known = self._roots.window(window)
            if known.at_work:
                known.changed_at = time.monotonic()
                known.turn_files |= {os.path.join(folder.root, path) for path in seen.changed}
        window = min(folder.windows, key=lambda window: (not self._roots.window(window).at_work, window))
        # An agent at work is the first suspect.
        if seen.by_git and not any(self._roots.window(each).turns for each in folder.windows):
            how = f"“git {seen.moved_by}”" if seen.moved_by in COMMANDS else "git"
            said = f"{how} changed {counted(len(seen.by_git), 'file')}. You? “{THEY_ARE_MINE}”."
            folder.by_git.append((seen, said))
            self._roots.editor.messenger.say(said, window)
        self._roots.publish_all(folder)
        self._roots.background(self._tell_below(folder, seen))

    async def _tell_below(self, folder: Folder, seen: Seen) -> None:
        """Tell of each file that is open: whether its tab has unsaved text is known there when it is told."""
        opened = await self._roots.editor.files.open_files()
        for path in seen.changed:
            if os.path.normcase(folder.full_path(path)) in opened:
                try:
                    await folder.tell_below(path, seen.before)
                except Exception as error:  # the other tabs are told in any case
                    logger.warning("Can't tell of %s: %s", path, error, exc_info=True)

    def announce(self, window: WindowId, agent: str, *, is_chat: bool = False) -> None:
        """Say once which files a turn has changed, if any of them waits, and that their CLI doesn't ask.

        A chat has its mode above its prompt. The daemon behind it may be a CLI of the window, of the same name.
        """
        known = self._roots.window(window)
        waiting = {(row.root, row.path) for row in known.listing.rows}
        files = len({each for each in waiting if os.path.join(*each) in known.turn_files})
        known.turn_files.clear()
        if files:
            self._roots.editor.written.turn_changed(window, agent, files)
            if not is_chat and agent in known.clis and agent not in known.unasking | known.asking:
                known.unasking.add(agent)
                self._roots.work.changes_changed()
                how = families.to_be_asked(agent)
                if how and self._roots.work.settings_of(window).review != "after":  # else the person has chosen that
                    self._roots.mention_once(UNASKED.format(agent=agent, how=how), window)
